//! Folders of sessions: one for each, below one root, and nothing in it leads out.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pillion_catalogue::{Code, Error, Result};
use pillion_process::private;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Files that are listed.
const MOST_LISTED: usize = 1000;
/// Files and folders that change hands, where pillion is root.
const MOST_OWNED: usize = 100_000;

/// A file that a run made or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// Its name in the folder.
    pub name: String,
    /// Its length.
    pub size_bytes: u64,
}

/// Whether this is the name of a session.
pub(crate) fn check_id(id: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || ['_', '-', '.'].contains(&c);
    let fits = !id.is_empty() && id.len() <= 128 && id.chars().all(plain);
    if fits && ![".", ".."].contains(&id) {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidParams,
        format!("`{id}` is no name of a session"),
    )
    .hint("letters, digits, `_`, `-` and `.`, at most 128"))
}

/// The folder of a session below `root`, made if it is not there.
pub(crate) fn folder(root: &Path, id: &str) -> Result<PathBuf> {
    check_id(id)?;
    let failed = |error: &dyn std::fmt::Display| {
        Error::new(
            Code::StartFailed,
            format!("no folder for the session: {error}"),
        )
        .hint("set `PILLION_HOME` to a folder that you can write")
    };
    let folder = root.join(id);
    for path in [root, &folder] {
        private_for_lanes(path).map_err(|error| failed(&error))?;
    }
    Ok(folder)
}

/// A folder for whoever runs code, and nobody else.
fn private_for_lanes(path: &Path) -> Result<(), private::PrivateDirError> {
    let stranger = pillion_sandbox::stranger();
    let given = |path: &Path| {
        let meta = std::fs::symlink_metadata(path);
        meta.is_ok_and(|meta| meta.is_dir() && Some(meta.uid()) == stranger)
    };
    if given(path) {
        return Ok(());
    }
    private::ensure(path)?;
    let Some(id) = stranger else {
        return Ok(());
    };
    std::os::unix::fs::lchown(path, Some(id), Some(id)).map_err(|source| {
        private::PrivateDirError::Io {
            path: path.to_owned(),
            source,
        }
    })
}

/// Where pillion is root, what is in a folder must belong to whoever runs code.
pub(crate) fn give_to_stranger(folder: &Path) -> io::Result<()> {
    let Some(id) = pillion_sandbox::stranger() else {
        return Ok(());
    };
    let mut open = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(path) = open.pop() {
        let meta = std::fs::symlink_metadata(&path)?;
        if meta.uid() != id {
            std::os::unix::fs::lchown(&path, Some(id), Some(id))?;
        }
        seen += 1;
        if seen > MOST_OWNED {
            return Err(io::Error::other("too many files in the folder"));
        }
        if meta.is_dir() {
            open.extend(
                std::fs::read_dir(&path)?
                    .flatten()
                    .map(|entry| entry.path()),
            );
        }
    }
    Ok(())
}

/// What is in a folder, with the time of its last change.
pub(crate) fn listed(folder: &Path) -> Vec<(Artifact, (i64, i64))> {
    let mut open = vec![PathBuf::new()];
    let mut all = Vec::new();
    while let Some(inside) = open.pop() {
        let entries = std::fs::read_dir(folder.join(&inside));
        for entry in entries.into_iter().flatten().flatten() {
            let place = inside.join(entry.file_name());
            let (Ok(meta), Some(name)) = (entry.metadata(), place.to_str()) else {
                continue;
            };
            if meta.is_dir() {
                open.push(place);
            } else if meta.is_file() && all.len() < MOST_LISTED {
                let artifact = Artifact {
                    name: name.to_owned(),
                    size_bytes: meta.len(),
                };
                all.push((artifact, (meta.mtime(), meta.mtime_nsec())));
            }
        }
    }
    all.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    all
}

/// What is new or different in `after`.
pub(crate) fn made(
    before: &[(Artifact, (i64, i64))],
    after: Vec<(Artifact, (i64, i64))>,
) -> Vec<Artifact> {
    let is_new = |file: &(Artifact, (i64, i64))| !before.contains(file);
    after
        .into_iter()
        .filter(is_new)
        .map(|(file, _)| file)
        .collect()
}
