//! Patterns in code: what its classes and functions are for.
//!
//! Each rule looks at what the code does, and at names only where they add to that; how
//! sure it is, it says. A file is read once per change ([`file`]), with rules for
//! `classes` and `functions`; `layout` looks at how files are laid out. This is Python's;
//! the `trees` are those of other languages.

mod ast;
mod class;
mod classes;
mod contract;
mod file;
mod frameworks;
mod functions;
mod layout;
mod reader;
mod relations;
mod trees;

pub use contract::patterns as of_contract;
pub use layout::scripts;
pub use trees::{Trees, programs};

/// Read the patterns of a text, for whoever wants to know that it can be read. What is no
/// syntax of its language, unless that is Python.
pub fn try_text(language: Language, path: &str, source: &Source) -> Vec<String> {
    if language == Language::Python {
        drop(file::patterns(source, path));
        return Vec::new();
    }
    trees::read(language, path, source).messages()
}

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use pillion_catalogue::{CancellationToken, Result, wanted};
use pillion_index::language::Language;
use pillion_index::source::Source;
use pillion_index::{Index, MAX_FILE};
use rayon::prelude::*;

/// A pattern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern {
    /// What it is called in answers.
    pub kind: &'static str,
    /// The file that it was found in.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
    /// Of a hundred.
    pub confidence: u8,
    /// What it is about, for people.
    pub description: String,
}

/// What was found in a file, before anybody says which file it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    kind: &'static str,
    line: u32,
    confidence: u8,
    description: String,
}

/// The patterns of a workspace, kept until its files change.
#[derive(Debug, Default)]
pub struct Memo {
    state: Mutex<State>,
}

/// What was found in a file, with a hash of the bytes that were read.
type Read = ([u8; 16], Arc<[Found]>);

#[derive(Debug, Default)]
struct State {
    /// By path.
    files: HashMap<Arc<str>, Read>,
    /// All of them, and what they are in step with.
    all: Option<(Index, Arc<[Pattern]>)>,
}

impl Memo {
    /// The patterns in the files of an index, by kind and place. Blocks: it reads files, until
    /// nobody waits for it any more; what it has read by then is used the next time.
    pub fn follow(
        &self,
        index: &Index,
        root: &Path,
        token: &CancellationToken,
    ) -> Result<Arc<[Pattern]>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, all)) = &state.all
            && known.is_same(index)
        {
            return Ok(Arc::clone(all));
        }
        let known = std::mem::take(&mut state.files);
        let hashes: Vec<(&Arc<str>, [u8; 16])> = index.hashes().collect();
        let files: HashMap<_, _> = hashes
            .into_par_iter()
            .filter_map(|(path, hash)| {
                let found = match known.get(path).filter(|(known, _)| *known == hash) {
                    Some((_, found)) => Arc::clone(found),
                    None if token.is_cancelled() => return None,
                    None => read(root, path).into(),
                };
                Some((Arc::clone(path), (hash, found)))
            })
            .collect();
        if let Err(stopped) = wanted(token) {
            state.files = files;
            return Err(stopped);
        }
        let mut all: Vec<Pattern> = Vec::new();
        for (path, (_, found)) in &files {
            all.extend(found.iter().map(|one| one.clone().in_file(path)));
        }
        let code = index.iter().map(|(path, _)| path);
        all.extend(layout::patterns(
            code.filter(|path| !file::is_of_tests(path)),
        ));
        all.sort();
        all.dedup();
        let all: Arc<[Pattern]> = all.into();
        state.files = files;
        state.all = Some((index.clone(), Arc::clone(&all)));
        Ok(all)
    }
}

fn read(root: &Path, path: &str) -> Vec<Found> {
    let file = root.join(path);
    let is_small = file.metadata().is_ok_and(|data| data.len() <= MAX_FILE);
    match std::fs::read(file).ok().filter(|_| is_small) {
        Some(bytes) => file::patterns(&Source::decode(&bytes), path),
        None => Vec::new(),
    }
}

impl Found {
    fn in_file(self, file: &Arc<str>) -> Pattern {
        Pattern {
            kind: self.kind,
            file: Arc::clone(file),
            line: self.line,
            confidence: self.confidence,
            description: self.description,
        }
    }
}

#[cfg(test)]
mod golden;
