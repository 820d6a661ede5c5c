//! Functions that nobody reaches.
//!
//! What is alive without being called in the workspace: what Python, a test runner or a
//! decorator calls; what is offered to others; what may be called by a name that only shows
//! at run time. From there everything is alive that is used, or overrides what is.

use std::collections::HashSet;

use pillion_index::facts::name_hash;
use pillion_index::language::Language;

use super::graph::{Graph, GraphFile};
use super::layers::is_among_tests;
use super::possible::NOBODY;
use super::sketch::{Expr, ScopeId, Sketch, prefix_hash};
use super::tests_of::{is_around_module, is_around_tests, is_conftest, is_test_file};
use super::vocabulary::{is_common, is_special};
use super::world::{LocalNode, NodeId, NodeKind, Role, own_name};

/// Decorators that leave it to others to call a function.
const TRANSPARENT: &[&str] = &[
    "property",
    "cached_property",
    "setter",
    "getter",
    "deleter",
    "staticmethod",
    "classmethod",
    "abstractmethod",
    "overload",
    "override",
    "final",
    "lru_cache",
    "cache",
    "wraps",
    "contextmanager",
    "asynccontextmanager",
    "no_type_check",
];

/// A function that nobody reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreached {
    /// The function.
    pub node: NodeId,
    /// Whether it is private, and nothing leads to it that others may use.
    pub is_sure: bool,
}

impl Graph {
    /// The functions that nobody reaches, sorted, and how many functions there are. `given`
    /// are alive; `mentioned` are names that something outside of the code mentions.
    pub fn dead(&self, given: &[NodeId], mentioned: &HashSet<String>) -> (Vec<Unreached>, usize) {
        let mut alive = self.alive.get_or_init(|| self.find_alive()).clone();
        let mut open: Vec<NodeId> = given.to_vec();
        for name in mentioned {
            let named = self.named(name);
            open.extend(named.filter(|node| own_name(self.name(*node)) == name));
        }
        self.spread(&mut alive, open);
        let functions: Vec<NodeId> = self
            .nodes()
            .filter(|node| self.is_function(*node))
            .collect();
        let total = functions.len();
        let dead = functions.into_iter();
        let dead: Vec<NodeId> = dead.filter(|node| !alive[*node as usize]).collect();
        // What only others may use keeps alive what it uses itself, if they do.
        let open = dead.iter().filter(|node| !self.is_private(**node));
        self.spread(&mut alive, open.copied().collect());
        let unreached = dead.into_iter().map(|node| Unreached {
            node,
            is_sure: !alive[node as usize],
        });
        (unreached.collect(), total)
    }

    /// Whether the name of a function says that it is for nobody else, or that of a function
    /// that it is inside of.
    fn is_private(&self, node: NodeId) -> bool {
        let mut at = node;
        loop {
            if own_name(self.name(at)).starts_with('_') {
                return true;
            }
            let around = match self.language {
                Language::Python => self.relations().around.get(at as usize),
                _ => None,
            };
            match around {
                Some(around) if *around != NOBODY && self.kind(*around) != NodeKind::Class => {
                    at = *around;
                }
                _ => return false,
            }
        }
    }

    /// What is alive without anybody's saying so.
    fn find_alive(&self) -> Vec<bool> {
        let mut loose: HashSet<u32> = HashSet::new();
        for file in &self.files {
            loose.extend(&file.sketched.sketch.loose);
            loose.extend(&file.sketched.sketch.strings);
            loose.extend(&file.links.loose);
        }
        let affixes = self
            .files
            .iter()
            .flat_map(|file| &file.sketched.sketch.affixes);
        let affixes: HashSet<&(Box<str>, Box<str>)> = affixes.collect();
        let is_spelled = |name: &str| {
            let mut affixes = affixes.iter();
            affixes.any(|(before, after)| {
                name.len() > before.len() + after.len()
                    && name.starts_with(&**before)
                    && name.ends_with(&**after)
            })
        };
        let mut open: Vec<NodeId> = Vec::new();
        for file in &self.files {
            let is_open: HashSet<u32> = file.links.open.iter().copied().collect();
            for (at, node) in (0..).zip(&file.sketched.nodes) {
                let is_alive = match self.language {
                    Language::Python => {
                        is_root(file, node, &loose, &is_open) || is_spelled(own_name(&node.name))
                    }
                    _ => is_kept(file, node, &loose, &is_open),
                };
                if is_alive {
                    open.push(file.first + at);
                }
            }
        }
        let mut alive = vec![false; self.nodes().count()];
        self.spread(&mut alive, open);
        alive
    }

    /// Everything that is used by what is alive is alive.
    fn spread(&self, alive: &mut [bool], mut open: Vec<NodeId>) {
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut alive[node as usize], true) {
                continue;
            }
            open.extend(self.out(node).iter().map(|edge| edge.node));
            open.extend(self.below(node));
            open.extend(self.above(node));
        }
    }

    /// Whether a node is a function with a body: stubs have none.
    fn is_function(&self, node: NodeId) -> bool {
        let path = self.path(node);
        matches!(self.kind(node), NodeKind::Function | NodeKind::Method)
            && !path.ends_with(".pyi")
            && !path.ends_with(".d.ts")
    }
}

/// What is alive in other languages: what they call themselves, what other projects can see,
/// and what may be meant by a name that leads nowhere.
fn is_kept(
    file: &GraphFile,
    node: &LocalNode,
    loose: &HashSet<u32>,
    is_open: &HashSet<u32>,
) -> bool {
    let sketched = &file.sketched;
    let parent = sketched
        .sketch
        .scope(node.scope)
        .map_or(0, |scope| scope.parent);
    let is_below = node.kind == NodeKind::Method && is_open.contains(&sketched.node(parent));
    matches!(node.kind, NodeKind::Module | NodeKind::Class)
        || node.role != Role::Plain
        || is_below
        || loose.contains(&node.own)
}

fn is_root(
    file: &GraphFile,
    node: &LocalNode,
    loose: &HashSet<u32>,
    is_open: &HashSet<u32>,
) -> bool {
    let sketched = &file.sketched;
    let sketch = &sketched.sketch;
    let name = own_name(&node.name);
    let path = &*sketched.path;
    match node.kind {
        // Modules and classes are run as they are read.
        NodeKind::Module | NodeKind::Class | NodeKind::Variable => return true,
        NodeKind::Function => {
            let is_top = !node.name.contains('.');
            let is_offered = sketch
                .names
                .find(name)
                .is_some_and(|id| sketch.all.as_ref().is_some_and(|all| all.contains(&id)));
            let is_hook = name.starts_with("pytest_")
                || name == "load_tests"
                || name == "setup" && is_configuration_of_sphinx(path);
            if is_top && (is_offered || is_hook || name == "main" || is_around_module(name)) {
                return true;
            }
        }
        NodeKind::Method => {
            let class = sketch.scope(node.scope).map_or(0, |scope| scope.parent);
            if is_open.contains(&sketched.node(class)) || imitates(sketch, class, name) {
                return true;
            }
        }
    }
    let in_tests = is_test_file(path) || is_conftest(path) || is_among_tests(path);
    is_special(name)
        || is_of_notebooks(name)
        || in_tests && (name.starts_with("test") || is_around_tests(name))
        || is_registered(sketch, node.scope)
        || loose.contains(&name_hash(name))
        || begins_as_spelled(name, loose)
}

/// Whether a method is one of several that make a class look like a file or another of Python's
/// own types: whoever takes such a thing calls them.
fn imitates(sketch: &Sketch, class: ScopeId, name: &str) -> bool {
    let bindings = sketch.scope(class).map_or(&[][..], |s| &s.bindings);
    let mut others = bindings.iter().map(|(other, _)| sketch.names.get(*other));
    let is_like = |name: &str| is_common(name) && !is_special(name);
    is_like(name) && others.any(|other| other != name && is_like(other))
}

/// Whether notebooks ask for a method: `_repr_html_`.
fn is_of_notebooks(name: &str) -> bool {
    (name.starts_with("_repr_") || name.starts_with("_ipython_")) && name.ends_with('_')
}

/// Whether a file is the configuration of a documentation, which Sphinx runs.
fn is_configuration_of_sphinx(path: &str) -> bool {
    path.rsplit('/').next() == Some("conf.py")
}

/// Whether a string spells how the name begins, as in `getattr(self, f"visit_{kind}")`.
fn begins_as_spelled(name: &str, loose: &HashSet<u32>) -> bool {
    let ends = name.match_indices('_').map(|(at, _)| at + 1);
    let mut beginnings = ends.filter(|end| *end > 1 && *end < name.len());
    beginnings.any(|end| loose.contains(&prefix_hash(&name[..end])))
}

/// Whether a decorator may keep the function and call it.
fn is_registered(sketch: &Sketch, scope: ScopeId) -> bool {
    let decorators = sketch.scope(scope).map_or(&[][..], |s| &s.decorators);
    decorators.iter().any(|decorator| {
        let mut expr = sketch.expr(*decorator);
        while let Expr::Call(callee) = expr {
            expr = sketch.expr(callee);
        }
        match expr {
            Expr::Name(name) | Expr::Attribute(_, name) => {
                !TRANSPARENT.contains(&sketch.names.get(name))
            }
            _ => true,
        }
    })
}
