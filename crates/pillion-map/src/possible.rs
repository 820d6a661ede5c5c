//! Who may use a node although no resolved edge says so: by its name, by operators, by a base
//! class that is not of the workspace, or because it is defined there.

use std::collections::{BTreeMap, HashMap, HashSet};

use pillion_index::facts::name_hash;

use super::edge_lists::Lists;
use super::graph::Graph;
use super::impact::{User, Via};
use super::keys::Key;
use super::link::Way;
use super::relations::{NameUse, Relations, Taker};
use super::sketch::{Among, Expr, Head, ScopeKind};
use super::typed::Types;
use super::vocabulary::is_special;
use super::world::{NodeId, NodeKind, own_name};

/// No node.
pub(super) const NOBODY: NodeId = NodeId::MAX;

/// Methods that Python calls when a class is made.
const AT_DEFINITION: &[&str] = &["__init_subclass__", "__set_name__", "__prepare__"];

impl Graph {
    /// What belongs to what; made when it is first asked for.
    pub(crate) fn relations(&self) -> &Relations {
        self.relations.get_or_init(|| self.weave())
    }

    fn weave(&self) -> Relations {
        let count = self.len();
        let mut relations = Relations {
            class_of: vec![NOBODY; count],
            around: vec![NOBODY; count],
            is_open: vec![false; count],
            is_hooked: vec![false; count],
            ..Relations::default()
        };
        let mut inside: Vec<(NodeId, NodeId)> = Vec::new();
        let mut names: BTreeMap<u32, NameUse> = BTreeMap::new();
        let mut classes: HashMap<Key, NodeId> = HashMap::new();
        for (node, local) in self.nodes().filter_map(|id| Some((id, self.node(id)?))) {
            if local.kind == NodeKind::Class {
                classes.insert(local.key, node);
            }
        }
        for file in &self.files {
            for (class, base) in &file.links.bases {
                if let Some(base) = classes.get(base) {
                    let above = relations.above.entry(file.first + class).or_default();
                    above.push(*base);
                }
            }
            let sketch = &file.sketched.sketch;
            for (list, is) in [
                (&file.links.open, &mut relations.is_open),
                (&file.links.hooked, &mut relations.is_hooked),
            ] {
                for class in list {
                    is[(file.first + class) as usize] = true;
                }
            }
            for (local, node) in (0..).zip(&file.sketched.nodes) {
                let id = file.first + local;
                let Some(scope) = sketch.scope(node.scope).filter(|_| node.scope != 0) else {
                    continue;
                };
                let parent = file.first + file.sketched.node(scope.parent);
                match sketch.scope(scope.parent).map(|around| around.kind) {
                    Some(ScopeKind::Class) if node.kind == NodeKind::Method => {
                        relations.class_of[id as usize] = parent;
                        inside.push((parent, id));
                        let name = names.entry(node.own).or_default();
                        name.methods.push(id);
                    }
                    Some(ScopeKind::Function | ScopeKind::Inner | ScopeKind::Class)
                        if parent != file.first =>
                    {
                        relations.around[id as usize] = parent;
                        inside.push((parent, id));
                    }
                    _ => {}
                }
            }
        }
        let mut taken: Vec<(NodeId, u32)> = Vec::new();
        for (at, (own, name)) in (0..).zip(&mut names) {
            name.own = *own;
            relations.by_name.insert(*own, at);
        }
        relations.names = names.into_values().collect();
        for file in &self.files {
            let sketch = &file.sketched.sketch;
            for site in &sketch.sites {
                let own = name_hash(sketch.names.get(site.name));
                let Some(name) = relations.by_name.get(&own) else {
                    continue;
                };
                let node = file.first + file.sketched.node(site.scope);
                if self.explains(node, own, site, &sketch.sites) {
                    continue;
                }
                taken.push((node, *name));
                relations.names[*name as usize].takers.push(Taker {
                    node,
                    is_call: site.is_call,
                    line: site.at.line + 1,
                });
            }
            for lost in &file.links.lost {
                if let Some(name) = relations.by_name.get(&lost.own) {
                    let node = file.first + lost.from;
                    taken.push((node, *name));
                    relations.names[*name as usize].takers.push(Taker {
                        node,
                        is_call: lost.is_call,
                        line: lost.line,
                    });
                }
            }
        }
        self.take_built(&mut relations, &mut taken);
        taken.sort_unstable();
        taken.dedup();
        relations.inside = Lists::of(count, &inside);
        relations.taken = Lists::of(count, &taken);
        let mut pairs = self.fulfilled(&relations);
        pairs.extend(self.handed(&relations));
        pairs.sort_unstable();
        pairs.dedup();
        for (asked, standing) in pairs {
            relations.stands_in.entry(asked).or_default().push(standing);
            relations.stood_for.entry(standing).or_default().push(asked);
        }
        relations
    }

    /// Names that are put together where they are looked up are taken from something unknown.
    fn take_built(&self, relations: &mut Relations, taken: &mut Vec<(NodeId, u32)>) {
        let texts: Vec<&str> = relations
            .names
            .iter()
            .map(|name| name.methods.first().map_or("", |m| own_name(self.name(*m))))
            .collect();
        for file in &self.files {
            let sketch = &file.sketched.sketch;
            for built in &sketch.built {
                let node = file.first + file.sketched.node(built.scope);
                if built.among == Among::Module {
                    continue;
                }
                for (at, _) in (0..)
                    .zip(&texts)
                    .filter(|(_, text)| !is_special(text) && built.fits(text))
                {
                    taken.push((node, at));
                    relations.names[at as usize].takers.push(Taker {
                        node,
                        is_call: true,
                        line: built.line,
                    });
                }
            }
        }
    }

    /// Methods of protocols, each with one of a class that has all of the protocol's.
    fn fulfilled(&self, relations: &Relations) -> Vec<(NodeId, NodeId)> {
        let mut pairs = Vec::new();
        let own_of = |method: NodeId| self.node(method).map_or(0, |node| node.own);
        let methods = |class: NodeId| {
            let inside = relations.inside.get(class).iter().copied();
            inside.filter(|node| self.kind(*node) == NodeKind::Method)
        };
        let with_above = |class: NodeId| {
            let above = relations.above.get(&class).into_iter().flatten().copied();
            std::iter::once(class).chain(above)
        };
        let classes = self
            .nodes()
            .filter(|node| self.kind(*node) == NodeKind::Class);
        for protocol in classes.filter(|node| self.is_protocol(*node)) {
            let all = with_above(protocol).filter(|class| self.is_protocol(*class));
            let asked: Vec<(NodeId, u32)> = all
                .flat_map(methods)
                .map(|method| (method, own_of(method)))
                .collect();
            let mut owns: Vec<u32> = asked
                .iter()
                .filter(|(method, _)| !is_special(own_name(self.name(*method))))
                .map(|(_, own)| *own)
                .collect();
            owns.sort_unstable();
            owns.dedup();
            let named = |own: &u32| {
                let at = relations.by_name.get(own).copied();
                at.and_then(|at| relations.names.get(at as usize))
            };
            // Whoever has the rarest of them may have all.
            let rarest = owns
                .iter()
                .filter_map(named)
                .min_by_key(|n| n.methods.len());
            let Some(rarest) = rarest else {
                continue;
            };
            let mut holders: HashSet<NodeId> = rarest
                .methods
                .iter()
                .filter_map(|method| relations.class_of.get(*method as usize).copied())
                .filter(|class| *class != NOBODY)
                .collect();
            let heirs = relations.above.iter().filter(|(_, above)| {
                let mut above = above.iter();
                above.any(|class| holders.contains(class))
            });
            let heirs: Vec<NodeId> = heirs.map(|(class, _)| *class).collect();
            holders.extend(heirs);
            for class in holders {
                if self.is_protocol(class) || with_above(class).any(|above| above == protocol) {
                    continue;
                }
                let have: Vec<(u32, NodeId)> = with_above(class)
                    .flat_map(methods)
                    .map(|method| (own_of(method), method))
                    .collect();
                let first = |own: u32| have.iter().find(|(other, _)| *other == own);
                if !owns.iter().all(|own| first(*own).is_some()) {
                    continue;
                }
                for (method, own) in &asked {
                    pairs.extend(first(*own).map(|(_, found)| (*method, *found)));
                }
            }
        }
        pairs
    }

    fn is_protocol(&self, class: NodeId) -> bool {
        self.has_base(class, |name| name == "Protocol")
    }

    /// The methods of a class.
    pub(super) fn methods_of(&self, class: NodeId) -> &[NodeId] {
        self.relations().inside.get(class)
    }

    /// Whether Python calls a method when a class is made.
    pub(super) fn is_called_at_definition(&self, node: NodeId) -> bool {
        let name = own_name(self.name(node));
        if AT_DEFINITION.contains(&name) {
            return true;
        }
        let class = self.relations().class_of.get(node as usize).copied();
        let class = class.filter(|class| *class != NOBODY);
        is_special(name) && class.is_some_and(|class| self.is_metaclass(class))
    }

    fn is_metaclass(&self, class: NodeId) -> bool {
        self.has_base(class, |name| {
            name == "type" || name.ends_with("Meta") || name.ends_with("MetaClass")
        })
    }

    /// Whether a class names such a base itself.
    fn has_base(&self, class: NodeId, is_it: impl Fn(&str) -> bool) -> bool {
        let (Some(file), Some(local)) = (self.file(class), self.node(class)) else {
            return false;
        };
        let sketch = &file.sketched.sketch;
        let heads = sketch
            .scope(local.scope)
            .map_or(&[][..], |scope| &scope.heads);
        heads.iter().any(|head| match *head {
            Head::Base(expr) => match sketch.expr(expr) {
                Expr::Name(name) | Expr::Attribute(_, name) => is_it(sketch.names.get(name)),
                _ => false,
            },
            _ => false,
        })
    }

    /// Everyone who uses a node, with those who may although no words of the code say so.
    pub fn possible_users(&self, node: NodeId, types: &Types) -> Vec<User> {
        let mut all = self.users_with(node, types);
        if self.language != pillion_index::language::Language::Python {
            return all;
        }
        let relations = self.relations();
        let mut known: HashSet<NodeId> = all.iter().map(|user| user.node).collect();
        known.insert(node);
        let mut more: Vec<User> = Vec::new();
        let mut add = |user: NodeId, via: Via, line: u32| {
            if known.insert(user) {
                more.push(User {
                    node: user,
                    via,
                    is_sure: false,
                    by_types: false,
                    line,
                });
            }
        };
        let class = relations
            .class_of
            .get(node as usize)
            .copied()
            .unwrap_or(NOBODY);
        let own = self.node(node).map_or(0, |node| node.own);
        if class != NOBODY && !is_special(own_name(self.name(node))) {
            let name = relations
                .by_name
                .get(&own)
                .and_then(|at| relations.names.get(*at as usize));
            for taker in name.map_or(&[][..], |name| &name.takers[..]) {
                if !types.rules_out(self, taker.node, node) {
                    add(taker.node, Via::Name, taker.line);
                }
            }
        }
        for asked in relations.stood_for.get(&node).into_iter().flatten() {
            // What a function is registered with calls it, and is called by its users itself.
            if class == NOBODY || self.kind(*asked) != NodeKind::Method {
                add(*asked, Via::Reference, self.line(*asked));
                continue;
            }
            for user in self.users_with(*asked, types) {
                add(user.node, Via::Override, user.line);
            }
        }
        let is_nobodys = all.is_empty();
        if class != NOBODY {
            let name = own_name(self.name(node));
            let is_open = relations
                .is_open
                .get(class as usize)
                .copied()
                .unwrap_or(false);
            let is_made = matches!(name, "__init__" | "__new__" | "__post_init__");
            if is_special(name) && (is_nobodys || !is_made) {
                self.namers(class, &mut |user, line| add(user, Via::Operator, line));
            } else if is_open && is_nobodys {
                self.namers(class, &mut |user, line| add(user, Via::Base, line));
            }
        }
        let around = relations
            .around
            .get(node as usize)
            .copied()
            .unwrap_or(NOBODY);
        if around != NOBODY && self.kind(around) != NodeKind::Class {
            add(around, Via::Definition, self.line(node));
        }
        all.extend(more);
        all
    }

    /// Who names a class, or one below it, other than the code around it.
    fn namers(&self, class: NodeId, found: &mut dyn FnMut(NodeId, u32)) {
        let mut seen: HashSet<NodeId> = HashSet::from([class]);
        let mut open = vec![class];
        while let Some(next) = open.pop() {
            // Who keeps a class makes its instances.
            for keeper in self.relations().stood_for.get(&next).into_iter().flatten() {
                found(*keeper, self.line(*keeper));
            }
            let own = self.into(next).iter();
            let made = self.methods_of(next).iter();
            let made = made
                .filter(|method| matches!(own_name(self.name(**method)), "__init__" | "__new__"));
            let made = made.flat_map(|method| self.into(*method));
            for edge in own.chain(made) {
                match self.kind(edge.node) {
                    NodeKind::Class if edge.way == Way::Reference => {
                        if seen.insert(edge.node) {
                            open.push(edge.node);
                        }
                    }
                    NodeKind::Module => {}
                    _ => found(edge.node, edge.line),
                }
            }
        }
    }
}
