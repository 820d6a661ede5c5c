//! The byte-code of the worker package: compiled by us, all of it, and believed only as long as
//! it is what was written.
//!
//! A Python that compiles what it imports keeps the result beside it, and up to 3.13 it does not
//! notice when only a part of it went to a full disk: the next one fails on that part, for ever.
//! So no worker writes byte-code into the package. It is compiled in one go by a program that
//! notices ([`compile`]), and a record made afterwards proves each file; while there is no such
//! record, or it does not fit, byte-code is removed and Python reads the sources ([`is_ready`]).

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use pillion_process::Launch;
use pillion_process::stamp::Stamp;
use serde::{Deserialize, Serialize};

use crate::Interpreter;
use crate::file;

/// What compiles a package. Buffered writing fails if a disk is full, and nothing half done
/// gets its name.
const SCRIPT: &str = include_str!("compile.py");
/// How long compiling may take.
const LIMIT: Duration = Duration::from_secs(60);

/// What is being compiled by this process.
static COMPILING: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Record {
    /// What was not on disk when the machine stopped is not there afterwards.
    boot: String,
    files: BTreeMap<PathBuf, Stamp>,
}

/// Whether the package in `worker` is compiled for this Python. Byte-code that cannot be
/// believed is removed.
pub fn is_ready(worker: &Path, python: &Interpreter) -> bool {
    if python.cache_tag.is_empty() {
        return false;
    }
    let record = record_of(worker, python);
    if is_compiling(&record) {
        // What is there is whole; there will be more.
        return false;
    }
    let sound = sound(&record);
    if sound.is_none() {
        let _ = std::fs::remove_file(&record);
    }
    let known = sound.as_ref().map(|record| &record.files);
    for path in found(worker, &python.cache_tag) {
        if !known.is_some_and(|known| known.contains_key(&path)) {
            let _ = std::fs::remove_file(path);
        }
    }
    sound.is_some()
}

/// Records of byte-code in `worker`, of whatever Python, that is not what was written. They are
/// removed, so that nobody believes it any more.
pub(crate) fn forget_damaged(worker: &Path) -> Vec<PathBuf> {
    let Ok(entries) = worker.read_dir() else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let record = entry.path();
            let name = record.file_name()?.to_str()?;
            name.strip_prefix(RECORD)?;
            let is_damaged = sound(&record).is_none() && std::fs::remove_file(&record).is_ok();
            is_damaged.then_some(record)
        })
        .collect()
}

/// Compile the package for this Python, and wait for it. Without it everything works, only
/// later.
pub async fn compile(worker: &Path, python: &Interpreter) {
    let record = record_of(worker, python);
    let Some(_compiling) = Compiling::begin(&record) else {
        return;
    };
    let launch = Launch::new(&python.executable)
        .args(["-I", "-S", "-B", "-c", SCRIPT])
        .arg(worker.join("pillion"));
    let compiled = match launch.output(LIMIT).await {
        Ok(output) if output.exit.success() => write_record(worker, python, &record),
        Ok(output) => Err(io::Error::other(file::tail(&output.stderr))),
        Err(error) => Err(io::Error::other(error)),
    };
    if let Err(error) = compiled {
        tracing::debug!(%error, "the worker package is not compiled");
    }
}

/// Compile it while others go on.
pub fn compile_soon(worker: PathBuf, python: Interpreter) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move { compile(&worker, &python).await });
    }
}

/// The beginning of a record's name; the rest is the kind of Python.
const RECORD: &str = ".compiled-";
/// The folders of the package.
pub(crate) const FOLDERS: [&str; 3] = ["pillion", "pillion/lane", "pillion/rope_engine"];

fn record_of(worker: &Path, python: &Interpreter) -> PathBuf {
    worker.join(format!("{RECORD}{}", python.cache_tag))
}

fn write_record(worker: &Path, python: &Interpreter, record: &Path) -> io::Result<()> {
    let files = found(worker, &python.cache_tag);
    // A source that was written again has another time, and its byte-code is of no use.
    let sources = FOLDERS.iter().flat_map(|name| below(&worker.join(name)));
    let sources = sources.filter(|path| path.extension().is_some_and(|end| end == "py"));
    let files: io::Result<BTreeMap<_, _>> = files
        .into_iter()
        .chain(sources)
        .map(|path| {
            let meta = path.metadata()?;
            Ok((path, Stamp::from(&meta)))
        })
        .collect();
    let made = Record {
        boot: file::boot(),
        files: files?,
    };
    file::write_atomically(record, &serde_json::to_vec(&made)?)
}

/// The record, if all that it names is still so.
fn sound(record: &Path) -> Option<Record> {
    let bytes = std::fs::read(record).ok()?;
    let known: Record = serde_json::from_slice(&bytes).ok()?;
    let holds = known.boot == file::boot()
        && known
            .files
            .iter()
            .all(|(path, stamp)| Stamp::of(path) == *stamp);
    holds.then_some(known)
}

/// All byte-code for this kind of Python, sorted.
fn found(worker: &Path, tag: &str) -> Vec<PathBuf> {
    let middle = format!(".{tag}.");
    let folders = FOLDERS.iter();
    let mut all: Vec<PathBuf> = folders
        .flat_map(|name| below(&worker.join(name).join("__pycache__")))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.contains(&middle)
        })
        .collect();
    all.sort();
    all
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn is_compiling(record: &Path) -> bool {
    let all = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    all.contains(record)
}

/// One at a time in this process.
struct Compiling(PathBuf);

impl Compiling {
    fn begin(record: &Path) -> Option<Self> {
        let mut all = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(record.to_owned())
            .then(|| Self(record.to_owned()))
    }
}

impl Drop for Compiling {
    fn drop(&mut self) {
        let mut all = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&self.0);
    }
}
