//! Which notebook belongs to which kernel: what Jupyter calls its sessions.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pillion_catalogue::{Code, Error, Result};

/// Notebooks that are remembered.
const MOST: usize = 256;
/// Characters of a path or a name.
const LONGEST: usize = 4096;

/// A notebook that somebody has open. Nothing is read from its path: it is a name.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    pub(crate) id: String,
    pub(crate) path: String,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) kernel: String,
}

/// All that are open.
#[derive(Debug, Default)]
pub(crate) struct Notebooks(Mutex<Vec<Opened>>);

impl Notebooks {
    /// All of them, in the order they were opened.
    pub(crate) fn all(&self) -> Vec<Opened> {
        self.list().clone()
    }

    /// The one of this id.
    pub(crate) fn find(&self, id: &str) -> Result<Opened> {
        let found = self.list().iter().find(|opened| opened.id == id).cloned();
        found.ok_or_else(|| not_found(id))
    }

    /// The one of this path.
    pub(crate) fn at(&self, path: &str) -> Option<Opened> {
        let list = self.list();
        list.iter().find(|opened| opened.path == path).cloned()
    }

    /// One more, or another state of one.
    pub(crate) fn put(&self, opened: Opened) -> Result<()> {
        if [&opened.path, &opened.name, &opened.kind]
            .iter()
            .any(|text| text.len() > LONGEST)
        {
            let what = format!("a path or name of more than {LONGEST} bytes");
            return Err(Error::new(Code::InvalidParams, what));
        }
        let mut list = self.list();
        if let Some(known) = list.iter_mut().find(|known| known.id == opened.id) {
            *known = opened;
            return Ok(());
        }
        if list.len() >= MOST {
            let what = format!("{MOST} notebooks are open");
            return Err(Error::new(Code::Busy, what).hint("close some of them"));
        }
        list.push(opened);
        Ok(())
    }

    /// Take one out.
    pub(crate) fn remove(&self, id: &str) -> Result<Opened> {
        let mut list = self.list();
        let at = list.iter().position(|opened| opened.id == id);
        at.map(|at| list.remove(at)).ok_or_else(|| not_found(id))
    }

    /// A kernel is gone, and its notebooks have none.
    pub(super) fn forget(&self, kernel: &str) {
        self.list().retain(|opened| opened.kernel != kernel);
    }

    fn list(&self) -> MutexGuard<'_, Vec<Opened>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_found(id: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no open notebook `{id}`"))
        .hint("`pillion kernel sessions` shows those there are")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(id: &str, path: &str, kernel: &str) -> Opened {
        let [id, path, kernel] = [id, path, kernel].map(ToOwned::to_owned);
        Opened {
            id,
            path,
            kernel,
            name: String::new(),
            kind: "notebook".to_owned(),
        }
    }

    #[test]
    fn a_notebook_goes_with_its_kernel() {
        let notebooks = Notebooks::default();
        notebooks.put(opened("1", "a.ipynb", "x")).unwrap();
        notebooks.put(opened("2", "b.ipynb", "y")).unwrap();
        notebooks.put(opened("1", "c.ipynb", "x")).unwrap();
        assert!(notebooks.at("a.ipynb").is_none());
        assert_eq!(notebooks.at("c.ipynb").unwrap().id, "1");
        notebooks.forget("x");
        assert_eq!(notebooks.find("1").unwrap_err().code, Code::NotFound);
        assert_eq!(notebooks.all().len(), 1);
        assert_eq!(notebooks.remove("2").unwrap().path, "b.ipynb");
    }

    #[test]
    fn there_are_only_so_many_and_their_names_are_short() {
        let notebooks = Notebooks::default();
        let long = opened("0", &"x".repeat(LONGEST + 1), "k");
        assert_eq!(notebooks.put(long).unwrap_err().code, Code::InvalidParams);
        for number in 0..MOST {
            notebooks
                .put(opened(&number.to_string(), "p", "k"))
                .unwrap();
        }
        let more = notebooks.put(opened("more", "p", "k"));
        assert_eq!(more.unwrap_err().code, Code::Busy);
        assert!(notebooks.put(opened("0", "q", "k")).is_ok());
    }
}
