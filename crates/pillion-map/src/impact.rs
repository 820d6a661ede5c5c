//! Who is affected if a function changes: its callers, their callers, and so on.

use std::collections::HashSet;

use super::graph::Graph;
use super::link::Way;
use super::typed::Types;
use super::world::{NodeId, NodeKind};

/// Nodes in all trees of one answer.
const MAX_NODES: usize = 5_000;

/// How one node leads to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Via {
    Call,
    /// It is passed on or kept: whoever gets it may call it.
    Reference,
    /// What it overrides is called: the call may end here.
    Override,
    /// Its name is taken from something of which nobody knows what it is.
    Name,
    /// Its class is named: an operator may call it there.
    Operator,
    /// Its class is named, and a base that is not of the workspace may call it.
    Base,
    /// It is defined there.
    Definition,
}

impl Via {
    /// As answers say it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Reference => "reference",
            Self::Override => "override",
            Self::Name => "name",
            Self::Operator => "operator",
            Self::Base => "base",
            Self::Definition => "definition",
        }
    }
}

/// Who uses a node, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct User {
    pub node: NodeId,
    pub via: Via,
    pub is_sure: bool,
    /// Whether the code's own words do not say it, and types do.
    pub by_types: bool,
    pub line: u32,
}

/// A node with those who use it.
#[derive(Debug)]
pub struct ImpactTree {
    /// The node.
    pub node: NodeId,
    /// How it leads to the one above; nothing for the first.
    pub user: Option<User>,
    /// How many use it.
    pub count: usize,
    /// Those who use it, each with its own users.
    pub users: Vec<ImpactTree>,
    /// Whether some of those are not shown here.
    pub is_cut: bool,
}

impl Graph {
    /// Everyone who uses a node, each once, in its surest way.
    pub fn users(&self, node: NodeId) -> Vec<User> {
        self.users_with(node, &Types::default())
    }

    /// The same, with what types say.
    pub fn users_with(&self, node: NodeId, types: &Types) -> Vec<User> {
        let mut all: Vec<User> = Vec::new();
        let mut add = |of: NodeId, overridden: bool| {
            let own = self.into(of).iter();
            let own = own.filter(|edge| edge.is_sure || !types.rules_out(self, edge.node, of));
            let typed = types.into(of).iter().map(|edge| (edge, true));
            let both = own.map(|edge| (edge, false)).chain(typed);
            for (edge, by_types) in both.filter(|(edge, _)| edge.node != node) {
                let via = match edge.way {
                    _ if overridden => Via::Override,
                    Way::Call => Via::Call,
                    Way::Reference => Via::Reference,
                };
                // What is only named may be called, and need not be.
                let is_sure = edge.is_sure && via == Via::Call;
                all.push(User {
                    node: edge.node,
                    via,
                    is_sure,
                    by_types,
                    line: edge.line,
                });
            }
        };
        add(node, false);
        if self.kind(node) == NodeKind::Class {
            // Its instances are made by its `__init__`.
            let init = format!("{}.__init__", self.name(node));
            let own = self.file(node).and_then(|file| {
                let found = file.sketched.nodes.iter().position(|n| *n.name == *init);
                Some(file.first + u32::try_from(found?).ok()?)
            });
            if let Some(init) = own {
                add(init, false);
            }
        }
        for above in self.all_above(node) {
            add(above, true);
        }
        // The surest first; then one for each.
        all.sort_by_key(|user| (user.node, !user.is_sure, user.by_types, user.via, user.line));
        all.dedup_by_key(|user| user.node);
        all
    }

    /// Everything that a method overrides, also through others.
    pub(crate) fn all_above(&self, node: NodeId) -> Vec<NodeId> {
        let mut found: Vec<NodeId> = Vec::new();
        let mut open = vec![node];
        while let Some(next) = open.pop() {
            for above in self.above(next) {
                if *above != node && !found.contains(above) {
                    found.push(*above);
                    open.push(*above);
                }
            }
        }
        found
    }

    /// The trees of users of some nodes, up to a depth. A node that was shown with its users
    /// elsewhere is cut.
    pub fn impact(&self, targets: &[NodeId], depth: usize, types: &Types) -> Vec<ImpactTree> {
        let mut planter = Planter {
            graph: self,
            types,
            shown: targets.iter().copied().collect(),
            room: MAX_NODES,
        };
        let trees = targets.iter();
        trees.map(|node| planter.tree(*node, None, depth)).collect()
    }
}

/// Makes the trees of one answer.
struct Planter<'g> {
    graph: &'g Graph,
    types: &'g Types,
    /// Nodes that are shown with their users.
    shown: HashSet<NodeId>,
    /// How many nodes there may still be.
    room: usize,
}

impl Planter<'_> {
    fn tree(&mut self, node: NodeId, user: Option<User>, depth: usize) -> ImpactTree {
        // Of those who only may use it, everything is possible anyway. Who calls what it
        // overrides is no guess.
        let is_caller = |user: User| user.is_sure || user.via == Via::Override;
        let all = match user.is_none_or(is_caller) {
            true => self.graph.possible_users(node, self.types),
            false => self.graph.users_with(node, self.types),
        };
        let mut tree = ImpactTree {
            node,
            user,
            count: all.len(),
            users: Vec::new(),
            is_cut: false,
        };
        let is_elsewhere = user.is_some() && !self.shown.insert(node);
        if depth == 0 || is_elsewhere {
            tree.is_cut = tree.count > 0;
            return tree;
        }
        for user in all {
            if self.room == 0 {
                tree.is_cut = true;
                break;
            }
            self.room -= 1;
            let below = self.tree(user.node, Some(user), depth - 1);
            tree.users.push(below);
        }
        tree
    }
}
