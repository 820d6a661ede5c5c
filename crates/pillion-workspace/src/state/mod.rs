//! Bringing what is known up to date: the quick look, and the work when there is news.

mod partial_scan;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use pillion_process::stamp::RACY;
use pillion_protocol::{Code, Error, Result};

use crate::files::{FileEntry, LeftOutPath};
use crate::known_files::{Cause, Known};
use crate::options::WorkspaceOptions;
use crate::rules::rules_above::Outer;
use crate::rules::{Library, Rules};
use crate::scan::{self, Folder, Scan, Stop};
use crate::watch::{self, News, Watch};

/// While things keep happening, news is asked for so often in one sync. What was written
/// before it began is in the first.
const ROUNDS: usize = 8;
/// Names of what is left out that are kept.
const MAX_LEFT_OUT: usize = 1_000;
/// So often, at most, is watching tried again after a limit was reached.
const TRIES: u32 = 20;

/// How changes are found.
#[derive(Debug)]
pub(crate) enum Finding {
    Unknown,
    Watching(Watch),
    Sweeping { why: String, again: Option<Instant> },
}

/// Everything that a workspace knows.
#[derive(Debug)]
pub(crate) struct WorkspaceState {
    pub(crate) root: Arc<Path>,
    options: WorkspaceOptions,
    /// Why nothing is to be watched.
    unwatched: Option<String>,
    pub(crate) known: Known,
    /// Folders that are not ignored; the root is the empty path.
    folders: BTreeMap<Arc<str>, Folder>,
    /// How many of them are listed, and how much could not be.
    pub(crate) listed: usize,
    pub(crate) skipped: u64,
    /// The first of what could not be.
    pub(crate) left_out: Arc<[LeftOutPath]>,
    /// The folders are others than when these were counted.
    reshaped: bool,
    pub(crate) finding: Finding,
    /// The times of stamps are not relied on.
    distrust: bool,
    library: Library,
    outer: Option<Outer>,
    root_is: Option<(u64, u64)>,
    /// False until everything was looked at, and again after a failure.
    complete: bool,
    /// When the last look at everything began.
    swept: Option<Instant>,
    /// When unsettled files were last looked at.
    settled: Instant,
    tries: u32,
}

/// What a quick look found.
pub(crate) enum Glance {
    /// All that is known is so.
    Current,
    /// There is work.
    News(News),
}

impl WorkspaceState {
    pub(crate) fn new(root: PathBuf, options: WorkspaceOptions, unwatched: Option<String>) -> Self {
        Self {
            root: root.into(),
            options,
            unwatched,
            known: Known::new(),
            folders: BTreeMap::new(),
            listed: 0,
            skipped: 0,
            left_out: Arc::default(),
            reshaped: false,
            finding: Finding::Unknown,
            distrust: false,
            library: Library::default(),
            outer: None,
            root_is: None,
            complete: false,
            swept: None,
            settled: Instant::now(),
            tries: TRIES,
        }
    }

    /// See whether there is news for a read that came at `arrived`. It takes microseconds.
    pub(crate) fn glance(&mut self, arrived: Instant) -> Result<Glance> {
        let root_is = scan::identity(&self.root).map_err(|error| {
            self.complete = false;
            no_root(&self.root, &error)
        })?;
        let everything = || {
            let everything = true;
            Ok(Glance::News(News {
                everything,
                ..News::default()
            }))
        };
        let same = self.root_is.replace(root_is) == Some(root_is);
        if !same || !self.complete || !self.outer.as_mut().is_some_and(Outer::is_current) {
            self.complete = false;
            return everything();
        }
        let Finding::Watching(watch) = &mut self.finding else {
            // A look at everything that began after this read came is good for it too.
            return match self.swept.is_some_and(|swept| swept > arrived) {
                true => Ok(Glance::Current),
                false => everything(),
            };
        };
        let news = watch.drain();
        let unsettled = self.known.unsettled().len();
        if news.is_empty() && (unsettled == 0 || self.settled.elapsed() < RACY) {
            return Ok(Glance::Current);
        }
        // The news is out of the queue: should the work fail, panic or never begin, nothing
        // is relied on.
        self.complete = false;
        if news.is_little() && unsettled <= 32 && partial_scan::folders_to_list(&news).is_empty() {
            // Less work than handing it to another thread.
            return self.work(news).map(|()| Glance::Current);
        }
        Ok(Glance::News(news))
    }

    /// Take in what happened.
    pub(crate) fn work(&mut self, mut news: News) -> Result<()> {
        let mut done = Ok(());
        for round in 1..=ROUNDS {
            done = self.apply(&news);
            let Finding::Watching(watch) = &mut self.finding else {
                break;
            };
            if done.is_err() || round == ROUNDS {
                break;
            }
            news = watch.drain();
            if news.is_empty() {
                break;
            }
        }
        if done.is_ok() && self.settled.elapsed() >= RACY {
            done = self.settle();
        }
        if done.is_ok() && self.known.files.len() > self.options.max_files {
            done = Err(Stop::TooMany);
        }
        if std::mem::take(&mut self.reshaped) {
            let folders = self.folders.values();
            self.listed = folders.clone().filter(|folder| !folder.marked).count();
            let left_out = folders.flat_map(|folder| &folder.left_out);
            self.skipped = left_out.clone().count() as u64;
            self.left_out = left_out.take(MAX_LEFT_OUT).cloned().collect();
        }
        self.known.commit();
        done.map_err(|stop| self.error(stop))?;
        self.complete = true;
        Ok(())
    }

    fn apply(&mut self, news: &News) -> Result<(), Stop> {
        let parts = match news.everything {
            true => Ok(false),
            false => self.parts(news).map(|()| true),
        };
        match parts {
            Ok(true) => Ok(()),
            Ok(false) => self.everything(),
            Err(Stop::Limit(why) | Stop::Distrust(why)) => {
                self.sweep(why, true);
                self.everything()
            }
            Err(stop) => Err(stop),
        }
    }

    /// Nothing is watched from now on.
    fn sweep(&mut self, why: String, again: bool) {
        tracing::info!(root = %self.root.display(), why, "files are not watched");
        self.tries = self.tries.saturating_sub(1);
        let again = (again && self.tries > 0).then(|| Instant::now() + self.options.retry);
        self.finding = Finding::Sweeping { why, again };
    }

    /// Start to watch if that may be tried.
    fn try_watch(&mut self) {
        let due = |again: &Option<Instant>| again.is_some_and(|at| at <= Instant::now());
        let distrust = watch::distrust(&self.root);
        self.distrust |= distrust.is_some();
        match &self.finding {
            Finding::Sweeping { again, .. } if !due(again) => return,
            // The old watches end here, so that they do not count against the limits.
            _ => self.finding = Finding::Unknown,
        }
        self.distrust = distrust.is_some();
        if let Some(why) = &self.unwatched {
            return self.sweep(why.clone(), false);
        }
        match distrust.map_or_else(
            || Watch::open(self.options.max_watches),
            |why| Err(watch::Refused::Limit(why)),
        ) {
            Ok(watch) => self.finding = Finding::Watching(watch),
            Err(watch::Refused::Limit(why)) => self.sweep(why, true),
            Err(watch::Refused::This(error)) => self.sweep(error.to_string(), true),
        }
    }

    /// Look at everything.
    fn everything(&mut self) -> Result<(), Stop> {
        self.swept = Some(Instant::now());
        self.library.turn();
        let global = self.options.global_excludes.as_deref();
        let outer = Outer::read(&self.root, global, &mut self.library);
        let rules = outer.rules.clone();
        self.outer = Some(outer);
        self.try_watch();
        let dev = self.root_is.map_or(0, |root| root.0);
        let files = loop {
            self.folders.clear();
            match self.scan("".into(), dev, rules.clone()) {
                Err(Stop::Limit(why)) => self.sweep(why, true),
                Err(Stop::Distrust(why)) => {
                    self.distrust = true;
                    if let Finding::Watching(_) = self.finding {
                        self.sweep(why, true);
                    }
                }
                files => break files?,
            }
        };
        let watching = matches!(self.finding, Finding::Watching(_));
        if watching {
            self.tries = TRIES;
        }
        self.known.hashing = !watching;
        self.known.replace(&self.root, "", files, |_| Cause::Untold);
        Ok(())
    }

    /// List a folder and what is beneath it.
    fn scan(&mut self, path: Arc<str>, dev: u64, rules: Rules) -> Result<Vec<FileEntry>, Stop> {
        let watch = match &mut self.finding {
            Finding::Watching(watch) => Some(watch),
            _ => None,
        };
        let mut scan = Scan {
            root: &self.root,
            watch,
            library: &mut self.library,
            max_files: self.options.max_files,
            distrust: self.distrust,
            files: Vec::new(),
            folders: Vec::new(),
        };
        let done = scan.run(path, dev, rules);
        self.reshaped = true;
        self.folders.extend(scan.folders);
        done.map(|()| scan.files)
    }

    fn error(&self, stop: Stop) -> Error {
        match stop {
            Stop::Root(error) => no_root(&self.root, &error),
            Stop::TooMany => Error::new(
                Code::InvalidParams,
                format!(
                    "`{}` holds more than {} files",
                    self.root.display(),
                    self.options.max_files
                ),
            )
            .hint("name the project's folder with `root`, or folders to leave out in `.pillionignore`"),
            Stop::Limit(why) | Stop::Distrust(why) => Error::internal(why),
        }
    }
}

fn no_root(root: &Path, error: &std::io::Error) -> Error {
    Error::new(
        Code::NotFound,
        format!("the folder `{}` cannot be read: {error}", root.display()),
    )
    .hint("the root of the workspace was deleted, moved or closed to you; put it back or open another")
}
