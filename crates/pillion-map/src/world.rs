//! The sketches of all files at one moment, with what is needed to look from one into another.

use std::collections::HashMap;
use std::sync::Arc;

use pillion_index::facts::name_hash;

use super::keys::{Key, scope_keys};
use super::modules::{FileId, Modules};
use super::sketch::{MODULE, ScopeId, ScopeKind, Sketch};

/// The name of the node for a module's own code.
pub const MODULE_NODE: &str = "<module>";

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeKind {
    /// The own code of a module.
    Module,
    /// A class, or what is like one.
    Class,
    /// A function that is no method.
    Function,
    /// A function of a class.
    Method,
    /// A variable of a module, in Python.
    Variable,
}

/// A node, by its place in the graph.
pub type NodeId = u32;

/// What calls a function without the workspace's doing so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Role {
    #[default]
    Plain,
    /// A test runner, as a test.
    Test,
    /// A test runner, around tests.
    Around,
    /// The language, a framework, or other projects.
    Root,
}

/// The last part of `Class.method`.
pub(crate) fn own_name(qualified: &str) -> &str {
    qualified.rsplit('.').next().unwrap_or(qualified)
}

/// A node as its file knows it. Definitions of one name, such as overloads, are one node.
#[derive(Debug)]
pub(crate) struct LocalNode {
    pub key: Key,
    pub kind: NodeKind,
    /// `Class.method`.
    pub name: Box<str>,
    /// [`name_hash`] of the last part of its name.
    pub own: u32,
    /// The scope that defines it first.
    pub scope: ScopeId,
    /// Who calls it besides the workspace, in languages other than Python.
    pub(crate) role: Role,
}

/// A file with its sketch.
#[derive(Debug)]
pub(crate) struct Sketched {
    pub path: Arc<str>,
    pub(crate) hash: [u8; 16],
    pub(crate) sketch: Sketch,
    pub(crate) keys: Box<[Key]>,
    pub nodes: Box<[LocalNode]>,
    /// The node of each scope.
    pub(crate) node_of: Box<[u32]>,
}

impl Sketched {
    pub(crate) fn new(path: Arc<str>, hash: [u8; 16], sketch: Sketch) -> Self {
        let keys = scope_keys(&path, &sketch);
        let mut nodes: Vec<LocalNode> = Vec::new();
        let mut known: HashMap<Key, u32> = HashMap::new();
        let mut node_of: Vec<u32> = Vec::with_capacity(keys.len());
        for ((id, scope), key) in (0..).zip(&sketch.scopes).zip(&keys) {
            let kind = match scope.kind {
                ScopeKind::Module => NodeKind::Module,
                ScopeKind::Class => NodeKind::Class,
                ScopeKind::Function if sketch.is_method(id) => NodeKind::Method,
                ScopeKind::Function => NodeKind::Function,
                ScopeKind::Variable => NodeKind::Variable,
                ScopeKind::Inner => {
                    let parent = node_of.get(scope.parent as usize).copied();
                    node_of.push(parent.unwrap_or_default());
                    continue;
                }
            };
            let node = *known.entry(*key).or_insert_with(|| {
                let name: Box<str> = match id {
                    MODULE => MODULE_NODE.into(),
                    _ => sketch.qualified(id).into(),
                };
                nodes.push(LocalNode {
                    key: *key,
                    kind,
                    own: name_hash(own_name(&name)),
                    name,
                    scope: id,
                    role: Role::Plain,
                });
                u32::try_from(nodes.len() - 1).unwrap_or(u32::MAX)
            });
            node_of.push(node);
        }
        Self {
            path,
            hash,
            sketch,
            keys,
            nodes: nodes.into(),
            node_of: node_of.into(),
        }
    }

    /// The node whose code a scope is.
    pub(crate) fn node(&self, scope: ScopeId) -> u32 {
        self.node_of.get(scope as usize).copied().unwrap_or(MODULE)
    }

    pub(crate) fn key(&self, scope: ScopeId) -> Key {
        self.keys.get(scope as usize).copied().unwrap_or_default()
    }
}

/// All files at one moment, sorted by path.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub files: Vec<Arc<Sketched>>,
    pub modules: Arc<Modules>,
}

impl World {
    pub(crate) fn file(&self, id: FileId) -> Option<&Sketched> {
        self.files.get(id as usize).map(|file| &**file)
    }
}
