//! A folder of its own for each test, with Pythons in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pillion_process::Launch;
use pillion_runtime::{Dirs, Interpreter};

/// A test's own little world.
pub(crate) struct World {
    _folder: tempfile::TempDir,
    /// Everything is below this.
    pub(crate) home: PathBuf,
    /// The project's root.
    pub(crate) root: PathBuf,
    /// Where pillion keeps its things.
    pub(crate) dirs: Dirs,
    /// The real Python of this machine, behind any shim.
    pub(crate) python: Interpreter,
}

impl World {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let root = home.join("project");
        std::fs::create_dir(&root).unwrap();
        let python = Interpreter::probe(&on_path("python3")).await.unwrap();
        Self {
            _folder: folder,
            root,
            dirs: Dirs::under(home.join("pillion")),
            home,
            python,
        }
    }

    /// Put the fake of that name at a place below the home. It is linked, not written: a
    /// program that was just written can be busy while another test forks.
    pub(crate) fn fake(&self, name: &str, place: &str) -> PathBuf {
        let fakes = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes");
        self.link(&fakes.join(name).canonicalize().unwrap(), place)
    }

    /// Put the real Python at a place below the home.
    pub(crate) fn real(&self, place: &str) -> PathBuf {
        self.link(&self.python.executable, place)
    }

    fn link(&self, target: &Path, place: &str) -> PathBuf {
        let path = self.home.join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, &path).unwrap();
        path
    }

    /// Make a virtual environment below the home.
    pub(crate) async fn environment(&self, place: &str, options: &[&str]) -> PathBuf {
        let path = self.home.join(place);
        run(
            &self.python.executable,
            ["-I", "-m", "venv", "--without-pip"],
            |launch| launch.args(options).arg(&path),
        )
        .await;
        path
    }

    /// A `PATH` of folders below the home.
    pub(crate) fn search_path(&self, folders: &[&str]) -> OsString {
        std::env::join_paths(folders.iter().map(|folder| self.home.join(folder))).unwrap()
    }
}

/// Run a program that has to succeed; its output.
pub(crate) async fn run<const N: usize>(
    program: &Path,
    args: [&str; N],
    more: impl FnOnce(Launch) -> Launch,
) -> String {
    let launch = more(Launch::new(program).args(args));
    let output = launch.output(Duration::from_secs(120)).await.unwrap();
    assert!(
        output.exit.success(),
        "{} {args:?}: {}",
        program.display(),
        output.stderr
    );
    output.stdout
}

fn on_path(name: &str) -> PathBuf {
    std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .unwrap()
}
