//! The end of reading: names are sorted, and what can lead nowhere is left out.

use std::collections::HashSet;

use pillion_index::facts::name_hash;

use super::super::sketch::{
    Binding, Built, Expr, ExprId, Fixture, Head, MODULE, Name, Names, Scope, ScopeId, ScopeKind,
    Site, Sketch, Use,
};
use super::super::vocabulary::{is_common, is_special};
use super::Reader;

impl Reader<'_> {
    /// The sketch of what was read; `all` are the names that the module says it offers.
    pub(super) fn finish(mut self, all: Option<&[Box<str>]>) -> Sketch {
        let all: Option<Box<[Name]>> =
            all.map(|all| all.iter().map(|name| self.name(name)).collect());
        // Made now, while expressions can still be added.
        let unknown = self.expr(Expr::Unknown);
        let mut anonymous = Vec::new();
        for at in 0..self.exprs.len() {
            if let Some(Expr::Attribute(_, name)) = self.exprs.get(at).copied() {
                anonymous.push((at, self.expr(Expr::Attribute(unknown, name))));
            }
        }
        let built = self.built();
        let receivers: Vec<ExprId> = self.sites.iter().map(|(_, from)| *from).collect();
        let mut sketch = self.sorted(all);
        sketch.built = built;
        let sites = sketch.sites.iter().zip(receivers);
        let is_open = |site: &Site, receiver| {
            !is_special(sketch.names.get(site.name)) && sketch.is_unclear(site.scope, receiver)
        };
        let open = sites.filter(|(site, receiver)| is_open(site, *receiver));
        let mut open: Box<[Site]> = open.map(|(site, _)| *site).collect();
        open.sort_by_key(|site| site.at);
        sketch.sites = open;
        let mut stripped = vec![unknown; sketch.exprs.len()];
        for (at, expr) in anonymous {
            stripped[at] = expr;
        }
        prune(&mut sketch, &stripped);
        sketch
    }

    /// Names that are put together where they are looked up: from a text of the same function,
    /// else from one of its class or module.
    fn built(&self) -> Box<[Built]> {
        let own = |scope: ScopeId| self.function_around(scope);
        let mut built: Vec<Built> = Vec::new();
        for lookup in &self.lookups {
            let scope = own(lookup.scope);
            let among = self.among(lookup);
            let here: Vec<_> = self
                .spellings
                .iter()
                .filter(|(at, ..)| own(*at) == scope)
                .collect();
            let chosen = match here.is_empty() {
                false => here,
                // What is only an ending is mostly a name of its own there.
                true => self
                    .spellings
                    .iter()
                    .filter(|(at, before, _)| {
                        self.kind(own(*at)) != Some(ScopeKind::Function) && !before.is_empty()
                    })
                    .collect(),
            };
            built.extend(chosen.into_iter().map(|(_, before, after)| Built {
                scope,
                before: before.clone(),
                after: after.clone(),
                among,
                line: lookup.line,
            }));
        }
        let key = |one: &Built| {
            let affixes = (one.before.clone(), one.after.clone());
            (one.scope, one.among, affixes)
        };
        built.sort_by_cached_key(|one| (key(one), one.line));
        built.dedup_by_key(|one| key(one));
        built.into()
    }

    /// The function whose code a scope is: comprehensions and lambdas are a part of it.
    pub(super) fn function_around(&self, mut scope: ScopeId) -> ScopeId {
        while let Some(ScopeKind::Inner) = self.kind(scope) {
            scope = self.scopes.get(scope as usize).map_or(MODULE, |s| s.parent);
        }
        scope
    }

    /// Everything with names in their order.
    fn sorted(self, all: Option<Box<[Name]>>) -> Sketch {
        let mut names: Vec<(&str, Name)> = self
            .names
            .iter()
            .map(|(text, name)| (&**text, *name))
            .collect();
        names.sort_unstable();
        let mut place = vec![0; names.len()];
        for (new, (_, old)) in (0..).zip(&names) {
            place[*old as usize] = new;
        }
        let texts: Vec<&str> = names.iter().map(|(text, _)| *text).collect();
        let moved = |name: Name| place.get(name as usize).copied().unwrap_or(name);
        let rebound = |(name, binding): (Name, Binding)| {
            let binding = match binding {
                Binding::Module(module) => Binding::Module(moved(module)),
                Binding::Package(module) => Binding::Package(moved(module)),
                Binding::Import(module, name) => Binding::Import(moved(module), moved(name)),
                other => other,
            };
            (moved(name), binding)
        };
        let scopes = self.scopes.into_iter().map(|draft| {
            let mut bindings: Vec<_> = draft.bindings.into_iter().map(rebound).collect();
            bindings.sort_by_key(|(name, _)| *name);
            bindings.dedup();
            Scope {
                kind: draft.kind,
                name: moved(draft.name),
                parent: draft.parent,
                lines: draft.lines,
                line: draft.line,
                bindings: bindings.into(),
                heads: draft.heads.into(),
                decorators: draft.decorators.into(),
                nature: draft.nature,
            }
        });
        let exprs = self.exprs.iter().map(|expr| match *expr {
            Expr::Name(name) => Expr::Name(moved(name)),
            Expr::Attribute(value, name) => Expr::Attribute(value, moved(name)),
            other => other,
        });
        let mut sites: Vec<Site> = self.sites.into_iter().map(|(site, _)| site).collect();
        for site in &mut sites {
            site.name = moved(site.name);
        }
        let mut strings: Box<[u32]> = self.strings.into_iter().collect();
        strings.sort_unstable();
        let fixtures = self.fixtures.into_iter().map(|fixture| Fixture {
            name: moved(fixture.name),
            ..fixture
        });
        let mut asked: Vec<(ScopeId, Name)> = self.asked;
        for (_, name) in &mut asked {
            *name = moved(*name);
        }
        asked.sort_unstable();
        asked.dedup();
        Sketch {
            exprs: exprs.collect(),
            scopes: scopes.collect(),
            uses: self.uses.into(),
            sites: sites.into(),
            stars: self.stars.into_iter().map(moved).collect(),
            all: all.map(|all| all.iter().map(|name| moved(*name)).collect()),
            loose: Box::default(),
            strings,
            affixes: self.affixes.into_iter().collect(),
            built: Box::default(),
            fills: self.fills.into_iter().collect(),
            spelled: self.spelled.into_iter().collect(),
            fixtures: fixtures.collect(),
            asked: asked.into(),
            names: Names::of(&texts),
        }
    }
}

/// What becomes of a use.
enum Fate {
    Keep,
    /// It is taken from something that nobody knows.
    Anonymous,
    Drop,
}

/// Leave out the uses that can lead nowhere, and say each of the others once.
fn prune(sketch: &mut Sketch, stripped: &[ExprId]) {
    let mut loose = HashSet::new();
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    for used in &sketch.uses {
        // Whatever a variable of the module is: who names it uses what it was given.
        if let Some(root) = variable(sketch, used)
            && seen.insert((used.scope, used.of, root, false))
        {
            kept.push(Use {
                expr: root,
                is_call: false,
                ..*used
            });
        }
        let (expr, is_call) = match fate(sketch, used) {
            Fate::Keep => (used.expr, used.is_call),
            Fate::Drop => continue,
            Fate::Anonymous => {
                let Expr::Attribute(_, name) = sketch.expr(used.expr) else {
                    continue;
                };
                let text = sketch.names.get(name);
                loose.insert(name_hash(text));
                if !used.is_call || is_common(text) {
                    continue;
                }
                (stripped[used.expr as usize], true)
            }
        };
        if seen.insert((used.scope, used.of, expr, is_call)) {
            kept.push(Use { expr, ..*used });
        }
    }
    let mut loose: Box<[u32]> = loose.into_iter().collect();
    loose.sort_unstable();
    let alive = alive(sketch, &kept);
    sketch.uses = kept.into();
    sketch.loose = loose;
    // What is not used any more takes no room.
    for (at, expr) in sketch.exprs.iter_mut().enumerate() {
        if !alive.contains(&at) {
            *expr = Expr::Unknown;
        }
    }
}

fn alive(sketch: &Sketch, kept: &[Use]) -> HashSet<usize> {
    let mut open: Vec<ExprId> = kept.iter().map(|used| used.expr).collect();
    for scope in &sketch.scopes {
        open.extend(&scope.decorators);
        open.extend(scope.heads.iter().map(|head| match head {
            Head::Base(expr) | Head::Annotated(expr) | Head::Returned(expr) => *expr,
        }));
        open.extend(
            scope
                .bindings
                .iter()
                .filter_map(|(_, binding)| match binding {
                    Binding::Value(expr, _) | Binding::Instance(expr, _) => Some(*expr),
                    _ => None,
                }),
        );
    }
    let mut alive = HashSet::new();
    while let Some(expr) = open.pop() {
        if alive.insert(expr as usize) {
            match sketch.expr(expr) {
                Expr::Attribute(value, _) | Expr::Call(value) => open.push(value),
                _ => {}
            }
        }
    }
    alive
}

/// The name of a variable of the module of which nobody knows what it is, if a use begins
/// with one.
fn variable(sketch: &Sketch, used: &Use) -> Option<ExprId> {
    let mut root = used.expr;
    while let Expr::Attribute(value, _) | Expr::Call(value) = sketch.expr(root) {
        root = value;
    }
    let Expr::Name(name) = sketch.expr(root) else {
        return None;
    };
    let is_module = sketch.lexical(used.scope, name) == Some(MODULE);
    (is_module && is_opaque(sketch, MODULE, name)).then_some(root)
}

fn fate(sketch: &Sketch, used: &Use) -> Fate {
    let mut root = sketch.expr(used.expr);
    while let Expr::Attribute(value, _) | Expr::Call(value) = root {
        root = sketch.expr(value);
    }
    match root {
        Expr::Literal => Fate::Drop,
        Expr::Name(name) => match sketch.lexical(used.scope, name) {
            None if sketch.names.get(name) == "super" => Fate::Keep,
            // A name of Python's own.
            None if sketch.stars.is_empty() => Fate::Drop,
            None => Fate::Keep,
            Some(scope) if is_opaque(sketch, scope, name) => Fate::Anonymous,
            Some(_) => Fate::Keep,
        },
        _ => Fate::Anonymous,
    }
}

fn is_opaque(sketch: &Sketch, scope: ScopeId, name: Name) -> bool {
    let is_class = sketch
        .scope(scope)
        .is_some_and(|s| s.kind == ScopeKind::Class);
    !is_class
        && sketch.bound(scope, name).iter().all(|(_, binding)| {
            matches!(
                binding,
                Binding::Opaque | Binding::Nothing | Binding::Parameter
            )
        })
}
