//! What was read of the files of other languages, kept until they change.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use pillion_catalogue::{CancellationToken, Result, wanted};
use pillion_index::content_hash;
use pillion_index::language::{Language, is_source};
use pillion_index::source::Source;
use pillion_workspace::{Clock, FileEntry, Snapshot, Stamp};
use rayon::prelude::*;

use super::super::{Pattern, layout};
use super::{Read, interfaces, is_of_tests, read};
use crate::languages::{MAX_TEXT, Mistake};

/// The readings of a workspace, by language.
#[derive(Debug, Default)]
pub struct Trees {
    by_language: Mutex<HashMap<Language, Arc<Mutex<State>>>>,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<Arc<str>, Known>,
    /// What was told last, and when that was true.
    told: Option<(Clock, Leaves)>,
}

/// A file, with what shows that it is the same.
#[derive(Debug, Clone)]
struct Known {
    stamp: Stamp,
    settled: bool,
    hash: [u8; 16],
    read: Arc<Read>,
}

/// What is known of the files of a language.
#[derive(Debug, Clone)]
pub struct Leaves {
    /// By kind and place.
    pub patterns: Arc<[Pattern]>,
    /// By file and place.
    pub mistakes: Arc<[(Arc<str>, Mistake)]>,
    /// All files.
    pub files: Arc<[Arc<str>]>,
}

impl Trees {
    /// What the files of a snapshot show. Blocks: it reads and parses files, until nobody
    /// waits for it any more; what it has read by then is used the next time.
    pub fn follow(
        &self,
        language: Language,
        snapshot: &Snapshot,
        token: &CancellationToken,
    ) -> Result<Leaves> {
        let state = {
            let mut all = self
                .by_language
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(language).or_default())
        };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((clock, leaves)) = &state.told
            && *clock == snapshot.clock()
        {
            return Ok(leaves.clone());
        }
        let all = snapshot.files().iter();
        let sources: Vec<&FileEntry> = all.filter(|f| is_source(language, &f.path)).collect();
        let known = std::mem::take(&mut state.files);
        state.files = sources
            .into_par_iter()
            .filter_map(|file| {
                let before = known.get(&file.path);
                if token.is_cancelled() {
                    return Some((Arc::clone(&file.path), before?.clone()));
                }
                let now = known_now(language, snapshot.root(), file, before)?;
                Some((Arc::clone(&file.path), now))
            })
            .collect();
        wanted(token)?;
        let leaves = leaves(language, &state.files);
        state.told = Some((snapshot.clock(), leaves.clone()));
        Ok(leaves)
    }
}

/// A file as it is now: what is known of it if its bytes are.
fn known_now(
    language: Language,
    root: &Path,
    file: &FileEntry,
    before: Option<&Known>,
) -> Option<Known> {
    let (stamp, settled) = (file.stamp, file.settled);
    if let Some(known) = before.filter(|known| known.settled && known.stamp == stamp) {
        return Some(known.clone());
    }
    let bytes = match stamp.size > MAX_TEXT {
        true => Vec::new(),
        false => std::fs::read(root.join(&*file.path)).ok()?,
    };
    let hash = content_hash(&bytes);
    let read = match before.filter(|known| known.hash == hash) {
        Some(known) => Arc::clone(&known.read),
        None => Arc::new(read(language, &file.path, &Source::decode(&bytes))),
    };
    Some(Known {
        stamp,
        settled,
        hash,
        read,
    })
}

fn leaves(language: Language, files: &BTreeMap<Arc<str>, Known>) -> Leaves {
    let mut patterns: Vec<Pattern> = Vec::new();
    let mut mistakes = Vec::new();
    for (path, known) in files {
        let found = known.read.found.iter();
        patterns.extend(found.map(|one| one.clone().in_file(path)));
        let wrong = known.read.mistakes.iter();
        mistakes.extend(wrong.map(|one| (Arc::clone(path), one.clone())));
    }
    let shared = files.iter().map(|(path, known)| (path, &known.read.shared));
    patterns.extend(interfaces::patterns(&shared));
    let code = files.keys().filter(|path| !is_of_tests(language, path));
    patterns.extend(layout::patterns(code));
    patterns.sort();
    patterns.dedup();
    Leaves {
        patterns: patterns.into(),
        mistakes: mistakes.into(),
        files: files.keys().cloned().collect(),
    }
}
