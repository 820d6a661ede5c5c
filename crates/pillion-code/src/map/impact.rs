//! Who is affected if a function changes: its callers, their callers, and so on.

use std::collections::HashSet;

use super::graph::{Graph, NodeId};
use super::link::Way;
use super::world::NodeKind;

/// Nodes in all trees of one answer.
const MAX_NODES: usize = 5_000;

/// How one node leads to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Via {
    Call,
    /// It is passed on or kept: whoever gets it may call it.
    Reference,
    /// What it overrides is called: the call may end here.
    Override,
}

/// Who uses a node, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct User {
    pub(crate) node: NodeId,
    pub(crate) via: Via,
    pub(crate) is_sure: bool,
    pub(crate) line: u32,
}

/// A node with those who use it.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) node: NodeId,
    /// How it leads to the one above; nothing for the first.
    pub(crate) user: Option<User>,
    /// How many use it.
    pub(crate) count: usize,
    pub(crate) users: Vec<Tree>,
    /// Whether some of those are not shown here.
    pub(crate) is_cut: bool,
}

impl Graph {
    /// Everyone who uses a node, each once, in its surest way.
    pub(crate) fn users(&self, node: NodeId) -> Vec<User> {
        let mut all: Vec<User> = Vec::new();
        let mut add = |of: NodeId, overridden: bool| {
            for edge in self.into(of).iter().filter(|edge| edge.node != node) {
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
        all.sort_by_key(|user| (user.node, !user.is_sure, user.via, user.line));
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
    pub(crate) fn impact(&self, targets: &[NodeId], depth: usize) -> Vec<Tree> {
        let mut shown: HashSet<NodeId> = targets.iter().copied().collect();
        let mut room = MAX_NODES;
        let mut trees = Vec::new();
        for target in targets {
            trees.push(self.tree(*target, None, depth, &mut shown, &mut room));
        }
        trees
    }

    fn tree(
        &self,
        node: NodeId,
        user: Option<User>,
        depth: usize,
        shown: &mut HashSet<NodeId>,
        room: &mut usize,
    ) -> Tree {
        let all = self.users(node);
        let mut tree = Tree {
            node,
            user,
            count: all.len(),
            users: Vec::new(),
            is_cut: false,
        };
        let is_elsewhere = user.is_some() && !shown.insert(node);
        if depth == 0 || is_elsewhere {
            tree.is_cut = tree.count > 0;
            return tree;
        }
        for user in all {
            if *room == 0 {
                tree.is_cut = true;
                break;
            }
            *room -= 1;
            let below = self.tree(user.node, Some(user), depth - 1, shown, room);
            tree.users.push(below);
        }
        tree
    }
}
