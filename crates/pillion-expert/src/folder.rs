//! The folder of a consultation, `expert_workspace/consultations/consult_NNNN`.
//!
//! It is claimed by making it, so no two consultations share one. Every file in it is written
//! beside its place, synced and renamed, so each is whole or absent; `result.json` says `lost`
//! from the beginning and something else only after everything else is there. A process that
//! is killed therefore leaves a folder that says so itself.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// Where consultations are, below the expert workspace.
const CONSULTATIONS: &str = "consultations";
/// What their folders are called, before the number.
const PREFIX: &str = "consult_";
/// What a folder is called that is being taken away.
const LEAVING: &str = ".leaving-";
/// Names that are looked through for the highest number.
const MOST_NAMES: usize = 100_000;
/// Numbers that are tried before somebody must be making folders all the time.
const TRIES: u64 = 1000;
/// The largest `result.json` and `request.json` that is read.
const MOST_BYTES: u64 = 1 << 20;
/// The longest `transcript.jsonl`.
const TRANSCRIPT: u64 = 1 << 20;
/// The longest name of a file that a skill made.
const NAME: usize = 80;

/// The request, as it was asked.
pub(crate) const REQUEST: &str = "request.json";
/// The letter to the expert.
pub(crate) const LETTER: &str = "letter.md";
/// What was done, line by line.
pub(crate) const LOG: &str = "transcript.jsonl";
/// What the expert wrote.
pub(crate) const REPORT: &str = "report.md";
/// How it ended.
pub(crate) const RESULT: &str = "result.json";

/// How a consultation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsultationStatus {
    /// It has not ended, or the process that did it is gone.
    Lost,
    /// Its report is there.
    Complete,
    /// It came to nothing.
    Failed,
}

/// The folder of a consultation that goes on. It is taken away unless it is kept.
#[derive(Debug)]
pub(crate) struct Claim {
    path: PathBuf,
    id: String,
    kept: bool,
}

impl Claim {
    /// Claim the next number. Blocks.
    pub(crate) fn next(expert_workspace: &Path) -> io::Result<Self> {
        let all = expert_workspace.join(CONSULTATIONS);
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        DirBuilder::new().recursive(true).mode(0o700).create(&all)?;
        let first = highest(&all)? + 1;
        for number in first..first + TRIES {
            let id = format!("{PREFIX}{number:04}");
            let path = all.join(&id);
            match builder.create(&path) {
                Ok(()) => {
                    let kept = false;
                    return Ok(Self { path, id, kept });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("no number is free"))
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Keep the folder, which is removed otherwise.
    pub(crate) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.kept {
            remove(&self.path);
        }
    }
}

/// Take a folder away: its name is free at once, the rest happens on a thread of its own, as
/// this may be the thread that everybody waits for.
fn remove(path: &Path) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let aside = path.with_file_name(format!("{LEAVING}{}-{number}", std::process::id()));
    if let Err(error) = fs::rename(path, &aside) {
        if error.kind() != io::ErrorKind::NotFound {
            tracing::warn!(%error, "the folder of a cancelled consultation is left");
        }
        return;
    }
    let job = move || {
        if let Err(error) = fs::remove_dir_all(&aside) {
            tracing::warn!(%error, "the folder of a cancelled consultation is left");
        }
    };
    if let Err(error) = std::thread::Builder::new().spawn(job) {
        tracing::warn!(%error, "the folder of a cancelled consultation is left");
    }
}

/// The highest number there is, or 0.
fn highest(all: &Path) -> io::Result<u64> {
    let mut highest = 0;
    for entry in all.read_dir()?.take(MOST_NAMES) {
        let name = entry?.file_name();
        highest = highest.max(name.to_str().and_then(number).unwrap_or(0));
    }
    Ok(highest)
}

/// The number in the name of a consultation.
fn number(id: &str) -> Option<u64> {
    let digits = id.strip_prefix(PREFIX)?;
    let fits = (4..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    fits.then(|| digits.parse().ok()).flatten()
}

/// Write a whole file, or nothing. Blocks.
pub(crate) fn write(folder: &Path, name: &str, contents: &[u8]) -> io::Result<()> {
    let draft = folder.join(format!(".{name}.draft"));
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = (|| {
        let mut file = options.open(&draft)?;
        file.write_all(contents)?;
        file.sync_all()?;
        fs::rename(&draft, folder.join(name))?;
        File::open(folder)?.sync_all()
    })();
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Add a line to the transcript; one that has no room any more is left out. Blocks.
pub(crate) fn note(folder: &Path, entry: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    let mut options = File::options();
    options.append(true).create(true).mode(0o600);
    let mut file = options.open(folder.join(LOG))?;
    match file.metadata()?.len() + line.len() as u64 > TRANSCRIPT {
        true => Ok(()),
        false => file.write_all(&line),
    }
}

/// A name for a file that a skill called `wanted`: plain, visible, and not `taken`.
pub(crate) fn free_name(wanted: &str, taken: impl Fn(&str) -> bool) -> String {
    let last = wanted.rsplit('/').next().unwrap_or_default();
    let plain: String = last
        .chars()
        .map(|c| match c.is_ascii_alphanumeric() || "._-".contains(c) {
            true => c,
            false => '_',
        })
        .collect();
    let plain = plain.trim_start_matches('.');
    let (stem, end) = match plain.rsplit_once('.') {
        Some((stem, end)) if !stem.is_empty() && (1..=8).contains(&end.len()) => {
            (stem, format!(".{end}"))
        }
        _ => (plain, String::new()),
    };
    let stem = &stem[..stem.len().min(NAME)];
    let stem = if stem.is_empty() { "file" } else { stem };
    let is_taken = |name: &str| {
        [REQUEST, LETTER, LOG, REPORT, RESULT]
            .iter()
            .any(|own| own.eq_ignore_ascii_case(name))
            || taken(name)
    };
    let mut name = format!("{stem}{end}");
    let mut number = 2;
    while is_taken(&name) {
        name = format!("{stem}_{number}{end}");
        number += 1;
    }
    name
}

/// How the consultation `id` stands, by what its folder says. Blocks.
pub fn status(expert_workspace: &Path, id: &str) -> Option<ConsultationStatus> {
    #[derive(Deserialize)]
    struct Said {
        status: ConsultationStatus,
    }
    number(id)?;
    let folder = expert_workspace.join(CONSULTATIONS).join(id);
    let is_folder = folder.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let said =
        read::<Said>(&folder.join(RESULT)).map_or(ConsultationStatus::Lost, |said| said.status);
    is_folder.then_some(said)
}

/// Take away the consultation `id`, such as that of a turn which was not committed. Blocks for
/// one system call.
pub fn discard(expert_workspace: &Path, id: &str) {
    if number(id).is_some() {
        remove(&expert_workspace.join(CONSULTATIONS).join(id));
    }
}

/// Take away consultations of turns that were never committed: those of the turn `next` and
/// later ones, and what a killed process was taking away. Blocks. Nothing may be going on in
/// this session. Says how many there were.
pub fn sweep(expert_workspace: &Path, next: u64) -> usize {
    #[derive(Deserialize)]
    struct Asked {
        turn_index: Option<u64>,
    }
    let all = expert_workspace.join(CONSULTATIONS);
    let entries = all.read_dir().into_iter().flatten().take(MOST_NAMES);
    let mut swept = 0;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let is_left = name.starts_with(LEAVING);
        let is_early = || {
            number(name).is_some()
                && match read::<Asked>(&entry.path().join(REQUEST)) {
                    Some(asked) => asked.turn_index.is_some_and(|turn| turn >= next),
                    // It was killed before the first file: nothing of it was ever told.
                    None => !entry.path().join(REQUEST).exists(),
                }
        };
        if is_left || is_early() {
            swept += usize::from(fs::remove_dir_all(entry.path()).is_ok());
        }
    }
    swept
}

/// A small JSON file, if it is one.
fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Option<T> {
    let file = File::open(path).ok()?;
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, MOST_BYTES), &mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
