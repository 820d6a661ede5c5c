//! Probe results on disk, each with the evidence that it still holds.
//!
//! One file, `interpreters.json` in the cache folder. A result is believed while the
//! executable behind all links and the environment's `pyvenv.cfg` are the very files that
//! were there when it was asked. Failures are never kept, and neither is what a shim
//! said: a shim chooses anew each time, by the folder and the environment it runs in.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use pillion_process::stamp::Stamp;
use serde::{Deserialize, Serialize};

use crate::file;
use crate::{Dirs, Interpreter, ProbeError, confined_probe, probe, shim};

/// How many results are kept; the oldest go first.
const ENTRIES: usize = 64;
/// Raised whenever the meaning of an entry changes.
const FORMAT: u32 = 2;
/// Variables on which Python's own list of package folders depends.
const VARIABLES: [&str; 3] = ["HOME", "PYTHONUSERBASE", "PYTHONNOUSERSITE"];

/// Remembers what interpreters answered.
#[derive(Debug, Clone)]
pub struct ProbeCache {
    /// None if no folder can be written: then nothing is remembered.
    file: Option<PathBuf>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Contents {
    format: u32,
    entries: Vec<Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    path: PathBuf,
    proof: Evidence,
    /// Seconds since the epoch.
    asked: u64,
    interpreter: Interpreter,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Evidence {
    executable: Stamp,
    configuration: Stamp,
    variables: Vec<Option<String>>,
}

impl ProbeCache {
    /// The cache in these folders. Nothing is read yet.
    pub fn new(dirs: &Dirs) -> Self {
        let file = dirs
            .writable_cache()
            .ok()
            .map(|cache| cache.join("interpreters.json"));
        Self { file }
    }

    /// What the Python at `path` is: remembered, or else asked, started in `folder`, or behind
    /// walls.
    pub async fn probe(
        &self,
        path: &Path,
        folder: &Path,
        walled: bool,
    ) -> Result<Interpreter, ProbeError> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let path = shim::behind(&path, folder).unwrap_or(path);
        let before = evidence(&path);
        let known = before.as_ref().and_then(|proof| self.recall(&path, proof));
        // What it once said without walls may be anything.
        if let Some(found) =
            known.filter(|found| !walled || confined_probe::is_plausible(found, &path))
        {
            return Ok(found);
        }
        let found = Interpreter::probe_in(&path, Some(folder), probe::LIMIT, walled).await?;
        if let Some(proof) = before
            && is_same_file(&path, &found.executable)
        {
            self.remember(Entry {
                path,
                proof,
                asked: now(),
                interpreter: found.clone(),
            });
        }
        Ok(found)
    }

    fn recall(&self, path: &Path, proof: &Evidence) -> Option<Interpreter> {
        let entries = self.read().entries;
        let entry = entries.into_iter().find(|entry| entry.path == path)?;
        (entry.proof == *proof).then_some(entry.interpreter)
    }

    /// Two writers at once: one of the two results is asked for again later, no more.
    fn remember(&self, entry: Entry) {
        let Some(file) = &self.file else { return };
        let mut entries = self.read().entries;
        entries.retain(|other| other.path != entry.path);
        entries.push(entry);
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.asked));
        entries.truncate(ENTRIES);
        let contents = Contents {
            format: FORMAT,
            entries,
        };
        let written = serde_json::to_vec(&contents)
            .map_err(Into::into)
            .and_then(|bytes| file::write_atomically(file, &bytes));
        if let Err(error) = written {
            tracing::debug!(file = %file.display(), %error, "cannot keep a probe result");
        }
    }

    /// A file that cannot be understood is as good as none, and is removed.
    fn read(&self) -> Contents {
        let Some(file) = &self.file else {
            return Contents::default();
        };
        let Ok(bytes) = std::fs::read(file) else {
            return Contents::default();
        };
        match serde_json::from_slice::<Contents>(&bytes) {
            Ok(contents) if contents.format == FORMAT => contents,
            _ => {
                tracing::debug!(file = %file.display(), "removing an unreadable probe cache");
                let _ = std::fs::remove_file(file);
                Contents::default()
            }
        }
    }
}

/// Without an executable there is nothing to prove.
fn evidence(path: &Path) -> Option<Evidence> {
    let here = path.parent()?;
    let configuration = [Some(here), here.parent()]
        .into_iter()
        .flatten()
        .map(|folder| Stamp::of(&folder.join("pyvenv.cfg")))
        .find(|stamp| !stamp.is_missing());
    let executable = Stamp::of(path);
    if executable.is_missing() {
        return None;
    }
    Some(Evidence {
        executable,
        configuration: configuration.unwrap_or(Stamp::MISSING),
        variables: VARIABLES.map(|name| std::env::var(name).ok()).into(),
    })
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PythonVersion;

    fn entry(number: u64) -> Entry {
        let path = PathBuf::from(format!("/python/{number}"));
        let interpreter = Interpreter {
            executable: path.clone(),
            version: PythonVersion::MINIMUM,
            prefix: "/python".into(),
            base_prefix: "/python".into(),
            implementation: "cpython".into(),
            site_packages: Vec::new(),
            platform: "linux-x86_64".into(),
            cache_tag: "cpython-310".into(),
        };
        let proof = evidence(Path::new("/bin/sh")).unwrap();
        Entry {
            path,
            proof,
            asked: number,
            interpreter,
        }
    }

    #[test]
    fn the_oldest_results_make_room() {
        let home = tempfile::tempdir().unwrap();
        let cache = ProbeCache::new(&Dirs::under(home.path()));
        for number in 0..ENTRIES as u64 + 10 {
            cache.remember(entry(number));
            cache.remember(entry(number));
        }
        let kept: Vec<u64> = cache
            .read()
            .entries
            .iter()
            .map(|entry| entry.asked)
            .collect();
        assert_eq!(kept, (10..ENTRIES as u64 + 10).rev().collect::<Vec<_>>());
    }

    #[test]
    fn writers_at_the_same_time_leave_a_whole_file() {
        let home = tempfile::tempdir().unwrap();
        let cache = ProbeCache::new(&Dirs::under(home.path()));
        std::thread::scope(|scope| {
            for writer in 0..6 {
                let cache = &cache;
                scope.spawn(move || {
                    for number in 0..20 {
                        cache.remember(entry(writer * 100 + number));
                        let bytes = std::fs::read(cache.file.as_ref().unwrap()).unwrap();
                        serde_json::from_slice::<Contents>(&bytes).unwrap();
                    }
                });
            }
        });
        assert_eq!(home.path().join("cache").read_dir().unwrap().count(), 1);
    }
}
