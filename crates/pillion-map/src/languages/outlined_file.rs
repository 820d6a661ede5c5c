//! A file as the map keeps it: its outline, and the nodes that the graph makes of it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use pillion_index::facts::name_hash;

use super::super::keys::{Key, scope_key};
use super::super::sketch::{Names, Nature, Scope, ScopeKind, Sketch};
use super::super::world::{LocalNode, MODULE_NODE, NodeKind, Role, Sketched, own_name};
use super::outline::{Def, DefId, DefKind, FILE, How, Outline};

/// A file with its outline.
#[derive(Debug)]
pub struct OutlinedFile {
    pub outline: Outline,
    pub(crate) sketched: Arc<Sketched>,
    /// The same as long as other files see the same in it.
    pub(crate) surface: u64,
    /// Definitions by what they lie in and their names.
    named: HashMap<(DefId, Box<str>), Vec<DefId>>,
}

impl OutlinedFile {
    pub fn new(path: Arc<str>, hash: [u8; 16], mut outline: Outline) -> Self {
        if outline.defs.is_empty() {
            outline.defs.push(empty());
        }
        let mut named: HashMap<(DefId, Box<str>), Vec<DefId>> = HashMap::new();
        for (id, def) in (0..).zip(&outline.defs).skip(1) {
            // A method that stands beside its type is no name of the file.
            if def.owner.is_none() {
                let key = (def.parent, def.name.clone());
                named.entry(key).or_default().push(id);
            }
        }
        Self {
            surface: outline.surface(),
            sketched: Arc::new(sketched(path, hash, &outline)),
            outline,
            named,
        }
    }

    pub fn path(&self) -> &str {
        &self.sketched.path
    }

    /// The definitions right in another that have a name.
    pub fn named(&self, of: DefId, name: &str) -> &[DefId] {
        let found = self.named.get(&(of, name.into()));
        found.map_or(&[], |found| found)
    }

    pub fn key(&self, def: DefId) -> Key {
        self.sketched.key(def)
    }
}

fn empty() -> Def {
    Def {
        kind: DefKind::File,
        name: "".into(),
        parent: FILE,
        owner: None,
        lines: (1, 1),
        line: 1,
        params: Vec::new(),
        bases: Vec::new(),
        returns: None,
        role: Role::Plain,
        is_private: false,
        has_body: true,
    }
}

/// The nodes of an outline, as the graph takes them.
fn sketched(path: Arc<str>, hash: [u8; 16], outline: &Outline) -> Sketched {
    let mut words: BTreeSet<&str> = outline.defs.iter().map(|def| &*def.name).collect();
    let calls = outline.uses.iter().filter(|used| used.how == How::Call);
    words.extend(calls.map(|used| used.path.last()));
    let names = Names::of(&words.into_iter().collect::<Vec<_>>());
    let mut scopes: Vec<Scope> = Vec::with_capacity(outline.defs.len());
    let mut keys: Vec<Key> = Vec::with_capacity(outline.defs.len());
    let mut nodes: Vec<LocalNode> = Vec::new();
    let mut node_of: Vec<u32> = Vec::with_capacity(outline.defs.len());
    let mut known: HashMap<Key, u32> = HashMap::new();
    for (id, def) in (0..).zip(&outline.defs) {
        let qualified = outline.qualified(id);
        let key = scope_key(&path, &qualified);
        keys.push(key);
        let (kind, node_kind) = match def.kind {
            DefKind::File => (ScopeKind::Module, NodeKind::Module),
            DefKind::Class => (ScopeKind::Class, NodeKind::Class),
            DefKind::Function if outline.is_method(id) => (ScopeKind::Function, NodeKind::Method),
            DefKind::Function => (ScopeKind::Function, NodeKind::Function),
            // Its code is that of what it lies in.
            DefKind::Namespace => (ScopeKind::Inner, NodeKind::Module),
        };
        scopes.push(Scope {
            kind,
            name: names.find(&def.name).unwrap_or_default(),
            parent: def.parent,
            lines: def.lines,
            line: def.line,
            bindings: Box::default(),
            heads: Box::default(),
            decorators: Box::default(),
            nature: Nature::Plain,
        });
        if def.kind == DefKind::Namespace {
            let parent = node_of.get(def.parent as usize).copied();
            node_of.push(parent.unwrap_or_default());
            continue;
        }
        let node = *known.entry(key).or_insert_with(|| {
            let name: Box<str> = match id {
                FILE => MODULE_NODE.into(),
                _ => qualified.into(),
            };
            nodes.push(LocalNode {
                key,
                kind: node_kind,
                own: name_hash(own_name(&name)),
                name,
                scope: id,
                role: def.role,
            });
            u32::try_from(nodes.len() - 1).unwrap_or(u32::MAX)
        });
        if let Some(same) = nodes
            .get_mut(node as usize)
            .filter(|n| n.role == Role::Plain)
        {
            same.role = def.role;
        }
        node_of.push(node);
    }
    Sketched {
        path,
        hash,
        sketch: Sketch {
            names,
            scopes: scopes.into(),
            ..Sketch::default()
        },
        keys: keys.into(),
        nodes: nodes.into(),
        node_of: node_of.into(),
    }
}
