//! A project of its own for each test, and the real ty.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::Activity;
use pillion_engines::engine::{
    LanguageServer, LspChangeKind, LspLocation, LspPosition, Make, ServerKind, limits, ty_program,
};
use pillion_runtime::discovery::{self, DiscoveryRequest};
use pillion_runtime::managed::Silent;
use pillion_runtime::{Dirs, Interpreter, Managed};
use pillion_supervisor::Supervisor;

/// Long enough for a busy machine; a test that works never waits for it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// A project with a language server.
pub(crate) struct World {
    _folder: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) server: LanguageServer,
}

impl World {
    /// A project with these files.
    pub(crate) async fn new(files: &[(&str, &str)]) -> Self {
        let (program, python) = ty().await;
        Self::with(files, program, python)
    }

    /// A project whose packages come from `python`.
    pub(crate) fn with(files: &[(&str, &str)], program: PathBuf, python: Interpreter) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        for (name, text) in files {
            write(&root.join(name), text.as_bytes());
        }
        let make = Make {
            engine: ServerKind::Ty,
            program,
            root: root.clone(),
            python: Some(python),
            cache: shared().cache,
            limits: limits(None, Some(4 << 30), None),
        };
        let supervisor = Arc::new(Supervisor::new(Activity::default()));
        Self {
            server: LanguageServer::new(&supervisor, &make),
            _folder: folder,
            root,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Write a file and say so.
    pub(crate) fn edit(&self, name: &str, text: &str, kind: LspChangeKind) {
        let path = self.path(name);
        write(&path, text.as_bytes());
        self.server.changed(&[(path, kind)]);
    }

    /// Where `needle` is, counted in code points; the cursor stands at its `|`.
    pub(crate) fn find(&self, name: &str, needle: &str) -> LspPosition {
        let text = std::fs::read_to_string(self.path(name)).unwrap();
        find(&text, needle)
    }

    /// The definitions of what is at the needle, as `file:line:column`.
    pub(crate) async fn definition(&self, name: &str, needle: &str) -> Vec<String> {
        let at = self.find(name, needle);
        let path = self.path(name);
        let found = self.server.definition(&path, at, DEADLINE).await.unwrap();
        self.short(&found)
    }

    /// The references to what is at the needle, sorted.
    pub(crate) async fn references(&self, name: &str, needle: &str, own: bool) -> Vec<String> {
        let at = self.find(name, needle);
        let path = self.path(name);
        let found = self.server.references(&path, at, own, DEADLINE).await;
        let mut found = self.short(&found.unwrap());
        found.sort();
        found
    }

    pub(crate) fn short(&self, places: &[LspLocation]) -> Vec<String> {
        let short = |place: &LspLocation| {
            let start = place.range.start;
            let path = place.path.strip_prefix(&self.root).unwrap_or(&place.path);
            format!("{}:{}:{}", path.display(), start.line, start.character)
        };
        places.iter().map(short).collect()
    }

    /// The process id of its ty.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.server.pool().status().first()?.pid
    }
}

/// Where the cursor `|` of a needle stands in a text.
pub(crate) fn find(text: &str, needle: &str) -> LspPosition {
    let cursor = needle.find('|').unwrap_or(0);
    let needle = needle.replacen('|', "", 1);
    let offset = text.find(&needle).unwrap() + cursor;
    let before = &text[..offset];
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap().chars().count();
    LspPosition::new(line.try_into().unwrap(), column.try_into().unwrap())
}

/// Write a file as editors do: nobody ever sees half of it.
pub(crate) fn write(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let half = path.with_extension("half");
    std::fs::write(&half, bytes).unwrap();
    std::fs::rename(half, path).unwrap();
}

/// Folders that all tests and runs share: an environment is built once.
pub(crate) fn shared() -> Dirs {
    Dirs::under(Path::new(env!("CARGO_TARGET_TMPDIR")).join("managed"))
}

/// The real ty, built into the managed environment by whoever comes first, and the Python
/// below it.
pub(crate) async fn ty() -> (PathBuf, Interpreter) {
    let dirs = shared();
    let nowhere = std::env::temp_dir();
    let choice = discovery::find(DiscoveryRequest::new(&nowhere), &dirs).await;
    let python = choice.unwrap().interpreter;
    let managed = Managed::new(&dirs, &python);
    let program = ty_program(&managed, &Silent).await.unwrap();
    (program, python)
}
