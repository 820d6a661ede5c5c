//! A transaction on disk: a folder with the bytes of every file before and after, and a
//! manifest that says which is which.
//!
//! The manifest is put in its place last, by a rename: where it stands, all is there. That is
//! the commit mark. Once the files are written, an empty file `done` stands beside it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::content::{Content, PathChange, folder_mode, folders_above, hash};

const MANIFEST: &str = "manifest.json";
const CONTENTS: &str = "contents";
const DONE: &str = "done";
/// Raised when older manifests cannot be understood any more.
const FORMAT: u32 = 1;

/// Folders that exist, with their modes.
pub(super) type Folders = BTreeMap<String, u32>;

/// What a transaction does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Manifest {
    format: u32,
    pub(super) id: String,
    /// When, in seconds since 1970.
    pub(super) at: i64,
    /// What it was for.
    pub(super) title: String,
    /// The transaction that it takes back.
    pub(super) undoes: Option<String>,
    steps: Vec<Step>,
    /// The folders above the files that exist before.
    pub(super) folders: Folders,
    /// The ones that are to exist after, if that is known.
    pub(super) wanted: Option<Folders>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Step {
    path: String,
    before: Option<Kept>,
    after: Option<Kept>,
}

/// A piece of the contents.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    start: usize,
    length: usize,
    hash: String,
    mode: Option<u32>,
    owner: Option<(u32, u32)>,
}

/// What a transaction is to be called.
#[derive(Debug, Clone)]
pub(super) struct Label {
    pub(super) id: String,
    pub(super) at: i64,
    pub(super) title: String,
    pub(super) undoes: Option<String>,
    pub(super) wanted: Option<Folders>,
}

impl Manifest {
    /// Put a transaction on disk, in a folder of its own. It is committed when this returns.
    pub(super) fn stage(
        folder: &Path,
        root: &Path,
        label: Label,
        changes: &[PathChange],
    ) -> io::Result<Self> {
        fs::create_dir(folder)?;
        let mut contents = Vec::new();
        let mut steps = Vec::new();
        let mut folders = Folders::new();
        for change in changes {
            steps.push(Step {
                path: change.path.clone(),
                before: change.before.as_ref().map(|c| keep(&mut contents, c)),
                after: change.after.as_ref().map(|c| keep(&mut contents, c)),
            });
            for above in folders_above(&change.path) {
                if let Some(mode) = folder_mode(&root.join(above)) {
                    folders.insert(above.to_owned(), mode);
                }
            }
        }
        let manifest = Self {
            format: FORMAT,
            id: label.id,
            at: label.at,
            title: label.title,
            undoes: label.undoes,
            steps,
            folders,
            wanted: label.wanted,
        };
        write_synced(&folder.join(CONTENTS), &contents)?;
        let temporary = folder.join("manifest.new");
        let bytes = serde_json::to_vec(&manifest).map_err(io::Error::other)?;
        write_synced(&temporary, &bytes)?;
        sync_folder(folder)?;
        if let Some(journal) = folder.parent() {
            sync_folder(journal)?;
        }
        fs::rename(&temporary, folder.join(MANIFEST))?;
        sync_folder(folder)?;
        Ok(manifest)
    }

    /// The transaction in a folder; nothing if it was never committed.
    pub(super) fn load(folder: &Path) -> io::Result<Option<Self>> {
        let bytes = match fs::read(folder.join(MANIFEST)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let manifest: Self = serde_json::from_slice(&bytes).map_err(io::Error::other)?;
        if manifest.format != FORMAT {
            return Err(io::Error::other("it is from another version of pillion"));
        }
        Ok(Some(manifest))
    }

    /// What it changes, with the bytes.
    pub(super) fn changes(&self, folder: &Path) -> io::Result<Vec<PathChange>> {
        let contents = fs::read(folder.join(CONTENTS))?;
        let get = |kept: &Option<Kept>| match kept {
            Some(kept) => take(&contents, kept).map(Some),
            None => Ok(None),
        };
        let change = |step: &Step| {
            Ok(PathChange {
                path: step.path.clone(),
                before: get(&step.before)?,
                after: get(&step.after)?,
            })
        };
        self.steps.iter().map(change).collect()
    }

    pub(super) fn paths(&self) -> Vec<String> {
        self.steps.iter().map(|step| step.path.clone()).collect()
    }

    pub(super) fn is_done(folder: &Path) -> bool {
        folder.join(DONE).exists()
    }

    pub(super) fn mark_done(folder: &Path) -> io::Result<()> {
        write_synced(&folder.join(DONE), b"")?;
        sync_folder(folder)
    }
}

fn keep(contents: &mut Vec<u8>, content: &Content) -> Kept {
    let start = contents.len();
    contents.extend_from_slice(&content.bytes);
    Kept {
        start,
        length: content.bytes.len(),
        hash: hash(&content.bytes),
        mode: content.mode,
        owner: content.owner,
    }
}

fn take(contents: &[u8], kept: &Kept) -> io::Result<Content> {
    let end = kept.start.saturating_add(kept.length);
    let bytes = contents.get(kept.start..end);
    let bytes = bytes.filter(|bytes| hash(bytes) == kept.hash);
    let bytes = bytes.ok_or_else(|| io::Error::other("what was kept is damaged"))?;
    Ok(Content {
        bytes: bytes.into(),
        mode: kept.mode,
        owner: kept.owner,
    })
}

fn write_synced(path: &PathBuf, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Make the names in a folder last.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
