//! The sketches of all files at one moment, with what is needed to look from one into another.

use std::collections::HashMap;
use std::sync::Arc;

use super::graph::own_name;
use super::keys::{Key, scope_keys};
use super::languages::Role;
use super::modules::{FileId, Modules};
use super::sketch::{MODULE, ScopeId, ScopeKind, Sketch};
use crate::index::facts::name_hash;

/// The name of the node for a module's own code.
pub(crate) const MODULE_NODE: &str = "<module>";

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum NodeKind {
    Module,
    Class,
    Function,
    Method,
    /// A variable of a module, in Python.
    Variable,
}

/// A node as its file knows it. Definitions of one name, such as overloads, are one node.
#[derive(Debug)]
pub(crate) struct LocalNode {
    pub(crate) key: Key,
    pub(crate) kind: NodeKind,
    /// `Class.method`.
    pub(crate) name: Box<str>,
    /// [`name_hash`] of the last part of its name.
    pub(crate) own: u32,
    /// The scope that defines it first.
    pub(crate) scope: ScopeId,
    /// Who calls it besides the workspace, in languages other than Python.
    pub(crate) role: Role,
}

/// A file with its sketch.
#[derive(Debug)]
pub(crate) struct Sketched {
    pub(crate) path: Arc<str>,
    pub(crate) hash: [u8; 16],
    pub(crate) sketch: Sketch,
    pub(crate) keys: Box<[Key]>,
    pub(crate) nodes: Box<[LocalNode]>,
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
    pub(crate) files: Vec<Arc<Sketched>>,
    pub(crate) modules: Arc<Modules>,
}

impl World {
    pub(crate) fn file(&self, id: FileId) -> Option<&Sketched> {
        self.files.get(id as usize).map(|file| &**file)
    }
}
