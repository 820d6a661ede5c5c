//! Which modules move, and where they are afterwards.

use pillion_index::modules::Modules;

/// A module that is somewhere else afterwards, with all that lies in it.
#[derive(Debug)]
pub(super) struct Relocation {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) before: Modules,
    pub(super) after: Modules,
}

impl Relocation {
    /// Whether a module is moved.
    pub(super) fn moves(&self, key: &str) -> bool {
        let below = key.strip_prefix(&self.from);
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    }

    /// Where a module, a file or a folder is afterwards.
    pub(super) fn moved(&self, key: &str) -> String {
        let Some(below) = key.strip_prefix(&self.from) else {
            return key.to_owned();
        };
        match below.is_empty() || below.starts_with(['/', '.']) {
            true => format!("{}{below}", self.to),
            false => key.to_owned(),
        }
    }
}
