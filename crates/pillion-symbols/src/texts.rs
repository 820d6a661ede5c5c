//! The files that a question has read: each is opened and parsed once, whoever asks for it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pillion_index::source::Source;
use pillion_index::{Facts, extract_facts};

/// Bytes of texts that are kept for one question. What comes after is read again.
const MAX_KEPT: usize = 64 << 20;

/// The files that were read for one view.
#[derive(Debug, Default)]
pub(crate) struct Texts(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    texts: HashMap<PathBuf, Option<Arc<Source>>>,
    bytes: usize,
    facts: HashMap<PathBuf, Arc<Facts>>,
}

impl Texts {
    /// The text of a file as it was when it was first asked for, if it can be read.
    pub(crate) fn get(&self, path: &Path) -> Option<Arc<Source>> {
        if let Some(text) = self.known().texts.get(path) {
            return text.clone();
        }
        let read = std::fs::read(path).ok();
        let text = read.map(|bytes| Arc::new(Source::decode(&bytes)));
        let size = text.as_ref().map_or(0, |text| text.text().len());
        let mut known = self.known();
        if known.bytes + size <= MAX_KEPT {
            known.bytes += size;
            known.texts.insert(path.to_owned(), text.clone());
        }
        text
    }

    /// What such a file defines; `name` is how answers call it.
    pub(crate) fn facts(&self, path: &Path, name: &str) -> Option<Arc<Facts>> {
        if let Some(facts) = self.known().facts.get(path) {
            return Some(Arc::clone(facts));
        }
        let text = self.get(path)?;
        let facts = Arc::new(extract_facts(&text, name));
        let mut known = self.known();
        known.facts.insert(path.to_owned(), Arc::clone(&facts));
        Some(facts)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_parsed_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.py");
        std::fs::write(&path, "def total(): pass\n").unwrap();
        let texts = Texts::default();
        let (first, facts) = (texts.get(&path).unwrap(), texts.facts(&path, "shop.py"));
        std::fs::write(&path, "def sum(): pass\n").unwrap();
        assert!(Arc::ptr_eq(&first, &texts.get(&path).unwrap()));
        let again = texts.facts(&path, "shop.py");
        assert!(Arc::ptr_eq(&facts.unwrap(), &again.unwrap()));
        let next = Texts::default().get(&path).unwrap();
        assert_eq!(next.text(), "def sum(): pass\n", "another view reads anew");
    }

    #[test]
    fn what_cannot_be_read_is_not_asked_for_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.py");
        let texts = Texts::default();
        assert!(texts.get(&path).is_none());
        std::fs::write(&path, "x = 1\n").unwrap();
        assert!(texts.get(&path).is_none(), "it is one moment");
    }

    #[test]
    fn no_more_is_kept_than_fits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.py");
        std::fs::write(&path, "x = 1\n").unwrap();
        let texts = Texts::default();
        texts.known().bytes = MAX_KEPT;
        let first = texts.get(&path).unwrap();
        assert!(!Arc::ptr_eq(&first, &texts.get(&path).unwrap()));
        assert!(texts.known().texts.is_empty());
    }
}
