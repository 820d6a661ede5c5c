//! Which file a module's name means, as the map asks for it: what was looked up on the way is
//! noted as keys. How modules are found is [`pillion_index::modules`]'.

use pillion_index::modules::{Looked, Lookup};

pub(crate) use pillion_index::modules::{
    FileId, ModuleLocation, is_init, key as stem, parent as folder,
};

use super::keys::{Key, path_key, top_key};

/// All modules of a workspace.
#[derive(Debug, Default)]
pub(crate) struct Modules(Lookup);

fn key_of(looked: Looked<'_>) -> Key {
    match looked {
        Looked::Path(path) => path_key(path),
        Looked::Top(name) => top_key(name),
    }
}

impl Modules {
    /// The modules that files, sorted by path, are.
    pub(crate) fn of<'a>(paths: impl Iterator<Item = &'a str> + Clone) -> Self {
        Self(Lookup::of(paths))
    }

    /// The path of a folder of modules.
    pub(crate) fn folder(&self, id: u32) -> &str {
        self.0.folder(id)
    }

    /// What is at a path; `saw` is told what was looked for.
    pub(crate) fn at(&self, path: &str, saw: &mut impl FnMut(Key)) -> Option<ModuleLocation> {
        saw(path_key(path));
        self.0.at(path)
    }

    /// What a name means in a file: `..pkg.mod` or `pkg.mod`.
    pub(crate) fn find(
        &self,
        from: &str,
        name: &str,
        saw: &mut impl FnMut(Key),
    ) -> Option<ModuleLocation> {
        let found = self.0.find(from, name, &mut |looked| saw(key_of(looked)));
        found.map(|found| found.at)
    }

    /// What is known differently once a file has come or gone.
    pub(crate) fn touched(&self, path: &str, saw: &mut impl FnMut(Key)) {
        Lookup::touched(path, &mut |looked| saw(key_of(looked)));
    }
}
