//! What is handed to something that may call it later: functions that a decorator registers,
//! names that are looked up in a module, classes that a base keeps a list of.

use std::collections::HashMap;

use pillion_index::facts::name_hash;

use super::graph::{Graph, GraphFile};
use super::keys::Key;
use super::possible::NOBODY;
use super::relations::Relations;
use super::sketch::{Among, Expr, MODULE, Sketch};
use super::world::{LocalNode, NodeId, NodeKind, own_name};

/// Decorators that keep nothing: what Python itself does with a function.
const KEEPS_NOTHING: &[&str] = &[
    "abstractmethod",
    "deleter",
    "final",
    "getter",
    "overload",
    "override",
    "setter",
    "wraps",
];

/// A decorator, as far as it says where it keeps a function.
struct Decorator {
    /// `app` of `@app.route("/")`.
    holder: Option<u32>,
    /// `route` of it.
    own: u32,
}

impl Graph {
    /// Pairs of what something is handed to, and that.
    pub(super) fn handed(&self, relations: &Relations) -> Vec<(NodeId, NodeId)> {
        let mut pairs = Vec::new();
        for file in &self.files {
            for (local, node) in (0..).zip(&file.sketched.nodes) {
                self.by_decorators(relations, file, (file.first + local, node), &mut pairs);
            }
        }
        self.by_names(&mut pairs);
        self.by_paths(&mut pairs);
        self.below_keepers(relations, &mut pairs);
        pairs.retain(|(holder, handed)| holder != handed);
        pairs
    }

    /// A decorated function may be called by whoever uses what the decorator belongs to:
    /// `app` of `@app.route("/")`; by whoever uses what the decorator puts it into; and if that
    /// is of its own class, by whoever uses the class.
    fn by_decorators(
        &self,
        relations: &Relations,
        file: &GraphFile,
        (id, node): (NodeId, &LocalNode),
        pairs: &mut Vec<(NodeId, NodeId)>,
    ) {
        let sketch = &file.sketched.sketch;
        let Some(scope) = sketch.scope(node.scope).filter(|_| node.scope != MODULE) else {
            return;
        };
        for decorator in scope.decorators.iter().filter_map(|e| read(sketch, *e)) {
            let named = |own: u32| {
                let used = self.out(id).iter().map(|edge| edge.node);
                used.filter(move |other| self.node(*other).is_some_and(|n| n.own == own))
            };
            if let Some(holder) = decorator.holder {
                let holders = named(holder).filter(|other| {
                    matches!(self.kind(*other), NodeKind::Variable | NodeKind::Function)
                        && own_name(self.name(*other)) != own_name(&node.name)
                });
                pairs.extend(holders.map(|other| (other, id)));
                let of_class = sketch.bound_as(scope.parent, holder);
                let class = relations.class_of.get(id as usize).copied();
                pairs.extend(
                    class
                        .filter(|class| *class != NOBODY && of_class)
                        .map(|class| (class, id)),
                );
            }
            for keeper in named(decorator.own) {
                let kept = self.filled_by(relations, keeper).into_iter();
                pairs.extend(kept.map(|variable| (variable, id)));
            }
        }
    }

    /// The variables that a function, or one inside it, puts something into.
    fn filled_by(&self, relations: &Relations, function: NodeId) -> Vec<NodeId> {
        let mut found = Vec::new();
        let mut open = vec![function];
        while let Some(next) = open.pop() {
            if !matches!(self.kind(next), NodeKind::Function | NodeKind::Method) {
                continue;
            }
            open.extend(relations.inside.get(next));
            let (Some(file), Some(local)) = (self.file(next), self.node(next)) else {
                continue;
            };
            let sketch = &file.sketched.sketch;
            let variables = self.out(next).iter().map(|edge| edge.node);
            found.extend(variables.filter(|variable| {
                self.kind(*variable) == NodeKind::Variable
                    && self
                        .node(*variable)
                        .is_some_and(|node| sketch.is_filled(local.scope, node.own))
            }));
        }
        found
    }

    /// What a module defines may be used by whoever looks its names up by texts that fit.
    fn by_names(&self, pairs: &mut Vec<(NodeId, NodeId)>) {
        let mut modules: HashMap<Key, &GraphFile> = HashMap::new();
        for file in &self.files {
            modules.insert(file.sketched.key(MODULE), file);
        }
        for file in &self.files {
            let built = file.sketched.sketch.built.iter();
            for built in built.filter(|built| built.among != Among::Members) {
                let from = file.first + file.sketched.node(built.scope);
                let imported = file.links.imports.iter();
                let imported = imported.filter_map(|key| modules.get(key).copied());
                let own = (built.among == Among::Module).then_some(file);
                for of in own.into_iter().chain(imported) {
                    let nodes = (0..).zip(&of.sketched.nodes);
                    let fits = nodes.filter(|(_, node)| {
                        matches!(node.kind, NodeKind::Function | NodeKind::Class)
                            && !node.name.contains('.')
                            && built.fits(&node.name)
                    });
                    pairs.extend(fits.map(|(local, _)| (from, of.first + local)));
                }
            }
        }
    }

    /// What a text spells with its module, `"pkg.mod.name"`, may be imported by whoever reads
    /// the text.
    fn by_paths(&self, pairs: &mut Vec<(NodeId, NodeId)>) {
        let mut modules: HashMap<String, u32> = HashMap::new();
        for (at, file) in (0..).zip(&self.files) {
            modules.insert(dotted(file.path()), at);
        }
        for file in &self.files {
            for (scope, text) in &file.sketched.sketch.spelled {
                let from = file.first + file.sketched.node(*scope);
                let found = text.match_indices('.').find_map(|(at, _)| {
                    let of = self.files.get(*modules.get(&text[..at])? as usize)?;
                    let name = &text[at + 1..];
                    let mut nodes = (0..).zip(&of.sketched.nodes);
                    let (local, _) = nodes.find(|(_, node)| &*node.name == name)?;
                    Some((from, of.first + local))
                });
                pairs.extend(found);
            }
        }
    }

    /// Classes below one that keeps a list of those below it, each with that: who uses the base
    /// may have taken them from there.
    fn below_keepers(&self, relations: &Relations, pairs: &mut Vec<(NodeId, NodeId)>) {
        let walks = name_hash("__subclasses__");
        let keeps = |class: NodeId| {
            let is_walked = self.file(class).is_some_and(|file| {
                let loose = [&file.sketched.sketch.loose, &file.links.loose];
                loose.iter().any(|all| all.binary_search(&walks).is_ok())
            });
            is_walked
                || relations.inside.get(class).iter().any(|method| {
                    let (Some(file), Some(local)) = (self.file(*method), self.node(*method)) else {
                        return false;
                    };
                    own_name(&local.name) == "__init_subclass__"
                        && file.sketched.sketch.fills_any(local.scope)
                })
        };
        let mut known: HashMap<NodeId, bool> = HashMap::new();
        for (class, above) in &relations.above {
            let keepers = above
                .iter()
                .filter(|base| *known.entry(**base).or_insert_with(|| keeps(**base)));
            pairs.extend(keepers.map(|base| (*base, *class)));
        }
    }
}

/// The module that a file is: as Python's own rules say for one below the root or `src`.
fn dotted(path: &str) -> String {
    let path = path.strip_prefix("src/").unwrap_or(path);
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let stem = stem.strip_suffix("/__init__").unwrap_or(stem);
    stem.replace('/', ".")
}

fn read(sketch: &Sketch, decorator: u32) -> Option<Decorator> {
    let mut expr = sketch.expr(decorator);
    while let Expr::Call(callee) = expr {
        expr = sketch.expr(callee);
    }
    let (holder, own) = match expr {
        Expr::Name(name) => (None, name),
        Expr::Attribute(value, name) => match sketch.expr(value) {
            Expr::Name(holder) | Expr::Attribute(_, holder) => (Some(holder), name),
            _ => return None,
        },
        _ => return None,
    };
    let text = sketch.names.get(own);
    (KEEPS_NOTHING.binary_search(&text).is_err()).then(|| Decorator {
        holder: holder.map(|name| name_hash(sketch.names.get(name))),
        own: name_hash(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decorators_are_found() {
        assert!(KEEPS_NOTHING.is_sorted());
    }
}
