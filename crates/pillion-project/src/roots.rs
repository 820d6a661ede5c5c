//! The roots that folders belong to, as they were found, for as long as nothing can have
//! changed that: a nearer one may appear at any time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pillion_catalogue::Result;
use pillion_process::watch::Watch;
use pillion_workspace::root;

use crate::MAX_PROJECTS;

/// Folders whose roots are remembered. Many may belong to one project; when there are too many
/// all are looked for again.
const MAX_ROOTS: usize = 4 * MAX_PROJECTS;

#[derive(Debug, Default)]
pub(crate) struct Roots(Mutex<HashMap<PathBuf, Arc<Found>>>);

#[derive(Debug)]
struct Found {
    root: PathBuf,
    watch: Watch,
}

impl Roots {
    /// The root that a folder belongs to now.
    pub(crate) fn find(&self, start: &Path) -> Result<PathBuf> {
        let known = self.known().get(start).cloned();
        if let Some(found) = known.filter(|found| found.holds(start)) {
            return Ok(found.root.clone());
        }
        let root = root::find(start)?;
        let mut known = self.known();
        if known.len() >= MAX_ROOTS {
            known.clear();
        }
        let found = Found {
            root: root.clone(),
            watch: Watch::default(),
        };
        known.insert(start.to_owned(), Arc::new(found));
        Ok(root)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<Found>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Found {
    fn holds(&self, start: &Path) -> bool {
        let look = || root::find(start).is_ok_and(|root| root == self.root);
        self.watch.holds(|| root::marks(start), look)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// However often it was asked for, and so whether it is watched or not, the root is the one
    /// that a new search finds.
    #[test]
    fn a_root_that_appears_or_goes_is_seen_at_once() {
        for often in [1, 10] {
            let temp = tempfile::tempdir().unwrap();
            let base = temp.path().canonicalize().unwrap();
            let deep = base.join("a/b/c");
            fs::create_dir_all(&deep).unwrap();
            symlink("a", base.join("way")).unwrap();
            let by_link = base.join("way/b/c");
            let roots = Roots::default();
            let is = |expected: &Path| {
                for start in [&deep, &by_link] {
                    assert_eq!(root::find(start).unwrap(), expected);
                    for _ in 0..often {
                        assert_eq!(roots.find(start).unwrap(), expected);
                    }
                }
            };
            is(&deep);
            fs::create_dir(base.join("a/b/.git")).unwrap();
            is(&base.join("a/b"));
            fs::write(base.join("a/pyproject.toml"), "").unwrap();
            is(&base.join("a"));
            fs::write(deep.join("other.py"), "").unwrap();
            is(&base.join("a"));
            fs::write(deep.join("pillion.toml"), "").unwrap();
            is(&deep);
            fs::remove_file(deep.join("pillion.toml")).unwrap();
            is(&base.join("a"));
            fs::remove_file(base.join("a/pyproject.toml")).unwrap();
            fs::rename(base.join("a/b/.git"), base.join("a/b/away")).unwrap();
            is(&deep);
        }
    }

    #[test]
    fn a_link_that_is_turned_leads_to_another_root() {
        for often in [1, 10] {
            let temp = tempfile::tempdir().unwrap();
            let base = temp.path().canonicalize().unwrap();
            let roots = Roots::default();
            for name in ["one", "two"] {
                fs::create_dir(base.join(name)).unwrap();
                symlink(name, base.join("new")).unwrap();
                fs::rename(base.join("new"), base.join("way")).unwrap();
                for _ in 0..often {
                    assert_eq!(roots.find(&base.join("way")).unwrap(), base.join(name));
                }
            }
            fs::remove_file(base.join("way")).unwrap();
            assert!(roots.find(&base.join("way")).is_err(), "nothing is there");
        }
    }
}
