//! The tree that questions are about: Django's source archive with its tests, fetched once
//! and kept in pillion's cache, or a folder of the user's.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pillion_catalogue::work;
use pillion_catalogue::{Code, Error, Result};
use pillion_index::Index;
use pillion_process::Launch;
use pillion_runtime::Dirs;
use pillion_runtime::managed::ProgressListener;
use pillion_terminal::Spinner;
use pillion_workspace::{Workspace, WorkspaceOptions};
use sha2::{Digest, Sha256};

use super::super::stage::{Stage, cannot};

const PACKAGE: &str = "Django==5.2";
const ARCHIVE: &str = "Django-5.2.tar.gz";
const FOLDER: &str = "django-5.2";
const SHA256: &str = "1a47f7a7a3d43ce64570d350e008d2949abe8c7e21737b351b6a1611277c6d89";
/// How long fetching, and unpacking, may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// A source archive is kept only after a build backend was asked about it: this one
/// answers without running anything of the package.
const BACKEND: &str = include_str!("build_meta.py");
const UNPACK: &str = "\
import os, sys, tarfile
archive, target = sys.argv[1:]
with tarfile.open(archive) as tar:
    safely = {'filter': 'data'} if hasattr(tarfile, 'data_filter') else {}
    tar.extractall(target, **safely)
";

/// Django, from pillion's cache or fetched into it.
pub(crate) async fn django(stage: &Stage, uv: Option<&Path>) -> Result<PathBuf> {
    let cache = Dirs::from_env()
        .writable_cache()
        .map_err(|error| Error::new(Code::InternalError, error.to_string()).hint(error.hint()))?;
    let folder = cache.join("bench");
    let kept = folder.join(FOLDER);
    if kept.is_dir() {
        return Ok(kept);
    }
    fs::create_dir_all(&folder).map_err(|error| cannot(&error))?;
    // Beside its place, so that it gets there whole or not at all.
    let temp = tempfile::tempdir_in(&folder).map_err(|error| cannot(&error))?;
    let bar = Spinner::start();
    let fetched = fetch(stage, uv, temp.path(), &bar).await;
    bar.0.finish_and_clear();
    let unpacked = fetched.map_err(|error| {
        error.hint("`pillion bench code --tree DIR` asks about a folder that is here already")
    })?;
    match fs::rename(unpacked, &kept) {
        // Another bench was faster.
        Err(_) if kept.is_dir() => Ok(kept),
        done => done.map(|()| kept).map_err(|error| cannot(&error)),
    }
}

async fn fetch(stage: &Stage, uv: Option<&Path>, folder: &Path, bar: &Spinner) -> Result<PathBuf> {
    bar.step(&format!("fetching {PACKAGE}"));
    let backend = folder.join("backend");
    let package = backend.join("setuptools");
    fs::create_dir_all(&package)
        .and_then(|()| fs::write(package.join("__init__.py"), ""))
        .and_then(|()| fs::write(package.join("build_meta.py"), BACKEND))
        .map_err(|error| cannot(&error))?;
    let mut said = Vec::new();
    let python = Launch::new(&stage.interpreter.executable).args(["-m", "pip"]);
    let by_uv = uv.map(|uv| {
        let words = [
            "run",
            "--no-project",
            "--with",
            "pip",
            "python",
            "-m",
            "pip",
        ];
        Launch::new(uv).args(words)
    });
    for launch in std::iter::once(python).chain(by_uv) {
        let launch = launch
            .args(["download", "--no-deps", "--no-binary", ":all:"])
            .args(["--no-build-isolation", "--disable-pip-version-check"])
            .args([
                OsStr::new("--dest"),
                folder.as_os_str(),
                OsStr::new(PACKAGE),
            ])
            .cwd(folder)
            .env("PYTHONPATH", &backend);
        match run(launch).await {
            Ok(()) => break,
            Err(error) => said.push(error.message),
        }
    }
    let archive = folder.join(ARCHIVE);
    let bytes = fs::read(&archive).map_err(|_| {
        let what = format!("cannot fetch {PACKAGE}: {}", said.join("; "));
        Error::new(Code::NotFound, what)
    })?;
    let digest = hex::encode(Sha256::digest(&bytes));
    if digest != SHA256 {
        let what = format!("`{ARCHIVE}` is not the one that is known: its SHA-256 is {digest}");
        return Err(Error::new(Code::Conflict, what));
    }
    bar.step(&format!("unpacking {ARCHIVE}"));
    let target = folder.join("unpacked");
    run(Launch::new(&stage.interpreter.executable)
        .args(["-I", "-c", UNPACK])
        .args([&archive, &target]))
    .await?;
    let mut inside = fs::read_dir(&target).map_err(|error| cannot(&error))?;
    let only = inside.next().and_then(|entry| Some(entry.ok()?.path()));
    only.ok_or_else(|| Error::new(Code::NotFound, format!("`{ARCHIVE}` is empty")))
}

async fn run(launch: Launch) -> Result<()> {
    let failed = |what: String| Error::new(Code::StartFailed, what);
    let output = launch.output(FETCH_TIMEOUT).await;
    let output = output.map_err(|error| failed(error.to_string()))?;
    if output.exit.success() {
        return Ok(());
    }
    // The last line says what it was about.
    let last = output.stderr.trim().lines().last().unwrap_or_default();
    Err(failed(format!("it {}: {last}", output.exit)))
}

/// Copy a tree as pillion sees it, and index the copy.
pub(crate) async fn copy(source: &Path, root: &Path) -> Result<Index> {
    let from = Workspace::new(source.to_owned(), WorkspaceOptions::default());
    let files = from.synced().await?;
    for file in files.files().iter() {
        let to = root.join(&*file.path);
        to.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::copy(source.join(&*file.path), &to))
            .map_err(|error| cannot(&error))?;
    }
    fs::create_dir_all(root).map_err(|error| cannot(&error))?;
    let copied = Workspace::new(root.to_owned(), WorkspaceOptions::default());
    let snapshot = copied.synced().await?;
    let mut index = Index::default();
    work(move |token| index.follow(&snapshot, token).map(|_| index)).await?
}
