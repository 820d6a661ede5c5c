//! The modules of a crate, and the paths that each of them names.
//!
//! They are read from the sources with the compiler's own lexer and without the compiler:
//! files and `mod` declarations make the tree, and a path is names with `::` between them,
//! wherever it stands: in a `use`, a signature, a body or the arguments of a macro. What is
//! built for tests only is left out. [`resolve`] says where a path leads, [`cycles`] which
//! modules lead back to each other.

pub(crate) mod cycles;
mod read;
mod resolve;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The modules of a crate. The first is its root.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    modules: Vec<Module>,
}

/// A module: what it declares, and what it names.
#[derive(Debug, Default)]
struct Module {
    name: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// Names of its own items.
    items: BTreeSet<String>,
    /// What `use` gives another name here, and the path it had. A type and a function of
    /// one name can come from two places.
    aliases: BTreeMap<String, Vec<Vec<String>>>,
    /// Modules all of whose names are used here.
    globs: Vec<Vec<String>>,
    uses: Vec<Use>,
}

/// A path in a file.
#[derive(Debug, Clone)]
struct Use {
    path: Vec<String>,
    file: PathBuf,
    line: usize,
    kind: Kind,
}

/// How a path is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// By `use`, or with `::` in it.
    Path,
    /// One name, which may be anything: a variable, a field, or what a glob brought.
    Name,
}

/// Where the text of a file comes from: the disk, or a fixture of a test.
trait Source {
    /// The text, or nothing if there is no such file.
    fn text(&self, file: &Path) -> Result<Option<String>>;
}

/// Files on the disk, named from a folder on.
struct Disk<'a>(&'a Path);

impl Source for Disk<'_> {
    fn text(&self, file: &Path) -> Result<Option<String>> {
        let path = self.0.join(file);
        if !path.is_file() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(&path);
        text.map(Some).map_err(|error| Error::file(&path, &error))
    }
}

impl Tree {
    /// The crate with this root, such as `crates/NAME/src/lib.rs` below the folder.
    pub(crate) fn read(folder: &Path, root: &Path) -> Result<Self> {
        read::tree(&Disk(folder), root)
    }

    /// A module from itself up to the root.
    fn ancestors(&self, module: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(module), |at| self.modules[*at].parent)
    }

    /// The path of a module from the root of its crate on: `crate::a::b`.
    fn path(&self, module: usize) -> String {
        let mut names: Vec<&str> = self
            .ancestors(module)
            .map(|at| self.modules[at].name.as_str())
            .collect();
        names.reverse();
        names.join("::")
    }
}
