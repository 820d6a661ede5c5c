//! What belongs to what in a graph, and who takes which name from something unknown.

use std::collections::HashMap;

use super::edge_lists::Lists;
use super::world::NodeId;

/// What belongs to what, and who takes which name from something unknown.
#[derive(Debug, Default)]
pub(crate) struct Relations {
    /// The class of each method, else [`NOBODY`].
    pub(super) class_of: Vec<NodeId>,
    /// What a class or function is defined in, if that is a function.
    pub(super) around: Vec<NodeId>,
    /// The methods of each class, and what is defined in each function.
    pub(super) inside: Lists<NodeId>,
    /// Whether a class is below one that is not of the workspace.
    pub(super) is_open: Vec<bool>,
    /// The classes above one, in the order in which members are looked for.
    pub(super) above: HashMap<NodeId, Vec<NodeId>>,
    /// Whether its methods may be called from there.
    pub(super) is_hooked: Vec<bool>,
    /// Places among `names` for each node: what it takes from something unknown.
    pub(super) taken: Lists<u32>,
    /// Names that methods have: each with them, and with those who take it.
    pub(super) names: Vec<NameUse>,
    pub(super) by_name: HashMap<u32, u32>,
    /// What may run where something else is used: methods of classes that do what a protocol
    /// asks for, and what is handed to something (`callbacks.rs`), each by that other.
    pub(super) stands_in: HashMap<NodeId, Vec<NodeId>>,
    /// The other way round.
    pub(super) stood_for: HashMap<NodeId, Vec<NodeId>>,
}

/// A name that methods have.
#[derive(Debug, Default)]
pub(super) struct NameUse {
    pub(super) own: u32,
    pub(super) methods: Vec<NodeId>,
    pub(super) takers: Vec<Taker>,
}

/// A place where a name is taken from something unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Taker {
    pub(super) node: NodeId,
    pub(super) is_call: bool,
    pub(super) line: u32,
}
