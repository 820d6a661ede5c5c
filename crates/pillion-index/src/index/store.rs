//! What was read from files, on disk, with proof that the files are still the same.
//!
//! One file per workspace and kind, replaced as a whole. A reader believes it only if the
//! format, the root and the checksum fit; each entry only if its file does.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::facts::FORMAT;
use super::{Index, IndexEntry};

/// Workspaces whose index is kept; the ones that were not written for longest go first.
const MAX_FILES: usize = 64;
/// Entries that are decoded together.
const CHUNK: usize = 256;
/// A larger file is not believed: it would have to be read into memory first.
const MAX_BYTES: u64 = 512 << 20;

/// Where what is known about the files of one workspace is kept.
#[derive(Debug, Clone)]
pub struct IndexStore {
    file: PathBuf,
    root: PathBuf,
    format: u32,
}

#[derive(Serialize, Deserialize)]
struct Written {
    format: u32,
    root: PathBuf,
    checksum: [u8; 32],
    chunks: Vec<Vec<u8>>,
}

/// What is known about files, by path.
type Entries<T> = Vec<(Box<str>, T)>;

impl IndexStore {
    /// The store for the index of the workspace at `root`, below the cache folder.
    pub fn new(cache: &Path, root: &Path) -> Self {
        Self::of_kind(cache, root, "index", FORMAT)
    }

    /// The store for something else, in a folder and a format of its own.
    pub fn of_kind(cache: &Path, root: &Path, kind: &str, format: u32) -> Self {
        let mut name = hex::encode(Sha256::digest(root.as_os_str().as_encoded_bytes()));
        name.truncate(24);
        Self {
            file: cache.join(kind).join(name),
            root: root.to_owned(),
            format,
        }
    }

    /// The index as it was written last; an empty one if there is none to be believed.
    pub fn load(&self) -> Index {
        let read: Entries<IndexEntry> = self.read().unwrap_or_default();
        let entries: BTreeMap<Arc<str>, Arc<IndexEntry>> = read
            .into_iter()
            .map(|(path, entry)| (path.into(), Arc::new(entry)))
            .collect();
        Index {
            entries: Arc::new(entries),
            clock: None,
        }
    }

    /// Write the index, as a whole or not at all.
    pub fn save(&self, index: &Index) -> std::io::Result<()> {
        let all: Vec<(&str, &IndexEntry)> = index
            .entries
            .iter()
            .map(|(path, entry)| (&**path, &**entry))
            .collect();
        self.write(&all)
    }

    /// What was written last, if it is to be believed.
    pub fn read<T: DeserializeOwned + Send>(&self) -> Option<Entries<T>> {
        if fs::metadata(&self.file).ok()?.len() > MAX_BYTES {
            return None;
        }
        let bytes = fs::read(&self.file).ok()?;
        let written: Written = postcard::from_bytes(&bytes).ok()?;
        drop(bytes);
        if written.format != self.format || written.root != self.root {
            return None;
        }
        if checksum(&written.chunks) != written.checksum {
            tracing::warn!(file = %self.file.display(), "what is on disk is damaged: parsing anew");
            return None;
        }
        let chunks: Option<Vec<Entries<T>>> = written
            .chunks
            .par_iter()
            .map(|chunk| postcard::from_bytes(chunk).ok())
            .collect();
        Some(chunks?.into_iter().flatten().collect())
    }

    /// Write everything, as a whole or not at all.
    pub fn write<T: Serialize + Sync>(&self, all: &[(&str, T)]) -> std::io::Result<()> {
        let folder = self.file.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder)?;
        let chunks: Vec<Vec<u8>> = all
            .par_chunks(CHUNK)
            .map(|chunk| postcard::to_stdvec(chunk).map_err(std::io::Error::other))
            .collect::<Result<_, _>>()?;
        let written = Written {
            format: self.format,
            root: self.root.clone(),
            checksum: checksum(&chunks),
            chunks,
        };
        let bytes = postcard::to_stdvec(&written).map_err(std::io::Error::other)?;
        let temporary = self
            .file
            .with_extension(format!("{}.new", std::process::id()));
        fs::write(&temporary, bytes)?;
        fs::rename(&temporary, &self.file)?;
        prune(folder);
        Ok(())
    }
}

fn checksum(chunks: &[Vec<u8>]) -> [u8; 32] {
    let mut digest = Sha256::new();
    chunks.iter().for_each(|chunk| digest.update(chunk));
    digest.finalize().into()
}

/// Forget the workspaces that were not used for longest.
fn prune(folder: &Path) {
    let Ok(files) = fs::read_dir(folder) else {
        return;
    };
    let mut files: Vec<(SystemTime, PathBuf)> = files
        .filter_map(|file| {
            let file = file.ok()?;
            Some((file.metadata().ok()?.modified().ok()?, file.path()))
        })
        .collect();
    files.sort();
    let surplus = files.len().saturating_sub(MAX_FILES);
    for (_, file) in files.drain(..surplus) {
        let _ = fs::remove_file(file);
    }
}
