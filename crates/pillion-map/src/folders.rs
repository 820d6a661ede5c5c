//! Folders, and the calls that cross their borders.

use std::collections::BTreeMap;

/// Where a folder stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// It calls others and nobody calls it.
    Entry,
    /// It calls others and others call it, neither of which is almost all.
    Middle,
    /// Others call it and it calls nobody.
    Leaf,
    /// It has nothing to do with other folders.
    Isolated,
}

/// A folder, with the calls that cross its border.
#[derive(Debug, Clone, Default)]
pub struct FolderCalls {
    /// Calls of what is in it to other folders.
    pub calls_out: usize,
    /// Calls from other folders.
    pub calls_in: usize,
    /// How many functions there are in it.
    pub functions: usize,
}

impl FolderCalls {
    /// Where it stands.
    pub fn layer(&self) -> Layer {
        match (self.calls_out, self.calls_in) {
            (0, 0) => Layer::Isolated,
            (_, 0) => Layer::Entry,
            (0, _) => Layer::Leaf,
            // Almost all of one is that one.
            (out, into) if out >= 4 * into => Layer::Entry,
            (out, into) if into >= 4 * out => Layer::Leaf,
            _ => Layer::Middle,
        }
    }
}

/// Folders by path, and pairs of them that call each other.
#[derive(Debug, Default)]
pub struct Layers {
    /// The folders, by path.
    pub folders: BTreeMap<Box<str>, FolderCalls>,
    /// Pairs of folders that call each other.
    pub circles: Vec<(Box<str>, Box<str>)>,
}
