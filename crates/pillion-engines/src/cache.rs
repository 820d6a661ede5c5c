//! What engines answered, kept until a file changes.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pillion_index::source::{Position, Span};
use pillion_workspace::Clock;
use pillion_workspace::config::EngineChoice;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{LspHover, LspLocation};
use crate::surroundings::SurroundingsId;

/// Answers that are kept; then all are forgotten.
const MAX: usize = 4096;

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum About {
    /// Where a name is defined.
    Definition,
    /// Where it is used.
    References,
    /// Places that nobody can rule out.
    Possible,
    /// What is known about it, for people.
    Hover,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CacheKey {
    /// Which engine was asked.
    pub engine: EngineChoice,
    /// What that engine depended on beside the files.
    pub around: SurroundingsId,
    /// What was asked about the place.
    pub about: About,
    /// The file, relative to the root.
    pub path: String,
    /// The place in it.
    pub at: Position,
}

/// An answer.
#[derive(Debug, Clone)]
pub enum CachedAnswer {
    /// Definitions or uses, as the engine named them.
    Places(Arc<Vec<LspLocation>>),
    /// Places that may mean the name, too.
    Possible(Arc<Vec<(PathBuf, Span)>>),
    /// What the engine says about a name, if it says anything.
    Hover(Arc<Option<LspHover>>),
}

/// Answers of engines that are kept until a file changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheStatus {
    /// How many are kept.
    pub size: usize,
    /// Files that they are about.
    #[serde(default)]
    pub files: usize,
    /// How many questions they answered.
    pub hits: u64,
    /// How often a change of files made them worthless.
    pub invalidations: u64,
}

/// Answers that hold as long as the clock stands still.
#[derive(Debug, Default)]
pub struct Cache {
    answers: Mutex<HashMap<CacheKey, (Clock, CachedAnswer)>>,
    hits: AtomicU64,
    invalidations: AtomicU64,
}

impl Cache {
    /// The answer to a question, if it was given at this very moment of the clock.
    pub fn get(&self, question: &CacheKey, now: Clock) -> Option<CachedAnswer> {
        let answers = self.answers();
        let (_, kept) = answers.get(question).filter(|(clock, _)| *clock == now)?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(kept.clone())
    }

    /// Keep an answer to a question that was asked at this moment of the clock.
    pub fn keep(&self, question: CacheKey, asked: Clock, answer: CachedAnswer) {
        let mut answers = self.answers();
        if answers.len() >= MAX {
            answers.clear();
        }
        answers.insert(question, (asked, answer));
    }

    /// A file has changed.
    pub(crate) fn invalidate(&self) {
        self.answers().clear();
        self.invalidations.fetch_add(1, Ordering::Relaxed);
    }

    /// How many answers there are, and how often they were of use.
    pub fn status(&self) -> CacheStatus {
        let answers = self.answers();
        let files: HashSet<&str> = answers.keys().map(|asked| &*asked.path).collect();
        CacheStatus {
            size: answers.len(),
            files: files.len(),
            hits: self.hits.load(Ordering::Relaxed),
            invalidations: self.invalidations.load(Ordering::Relaxed),
        }
    }

    fn answers(&self) -> MutexGuard<'_, HashMap<CacheKey, (Clock, CachedAnswer)>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
