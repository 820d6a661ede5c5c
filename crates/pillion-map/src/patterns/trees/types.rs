//! Rules for types that hold in every language: builders, observers, chains, repositories,
//! and those of which there is one.

use std::collections::{BTreeMap, BTreeSet};

use super::super::classes::STORED;
use super::super::relations;
use super::Signs;
use super::facts::{Call, Facts, Function, listed, mentions, snake};

/// Methods that keep what they are given in a list.
const KEEPS: &[&str] = &[
    "push",
    "add",
    "append",
    "push_back",
    "insert",
    "unshift",
    "addLast",
];
/// Methods that keep what they are given under a key.
const KEEPS_BY_KEY: &[&str] = &["set", "put", "insert", "putIfAbsent"];
/// Methods that end the putting together of something.
const BUILDS: &[&str] = &["build", "finish", "to_sql", "compile", "done"];
/// How those are called that keep others for later.
const REPOSITORIES: &[&str] = &["Repository", "Dao", "DAO", "Repo"];

/// A type with its methods in the file.
struct Whole<'f, 't> {
    facts: &'f Facts<'t>,
    methods: Vec<&'f Function<'t>>,
}

/// What a rule says: which pattern it is, how sure that is, and what was seen.
type Seen = Option<(&'static str, u8, String)>;

pub(super) fn look<'t>(facts: &Facts<'t>, signs: &mut Signs) {
    let owners: BTreeSet<&'t str> = facts.by_owner.keys().copied().collect();
    for name in owners {
        let methods: Vec<&Function<'t>> = facts.methods(name).collect();
        let first = methods.first().map(|method| method.at);
        let Some(at) = facts.type_named(name).map(|one| one.at).or(first) else {
            continue;
        };
        let stored = repository(name, &methods);
        let methods = methods.into_iter().filter(|method| method.has_body);
        let whole = Whole {
            facts,
            methods: methods.collect(),
        };
        let observer = whole.observer();
        let registry = whole.registry().filter(|_| observer.is_none());
        let rules = [observer, registry, whole.builder(), whole.chain()];
        for (kind, sure, what) in rules.into_iter().chain([stored]).flatten() {
            signs.add(kind, at, sure, format!("`{name}` {what}"));
        }
    }
}

impl<'t> Whole<'_, 't> {
    fn observer(&self) -> Seen {
        // The one that is called as those are that take listeners, if there is one.
        let mut keepers: BTreeMap<&str, (bool, bool, &str)> = BTreeMap::new();
        for method in &self.methods {
            let is_named = relations::subscribes(&snake(method.name));
            for (field, is_keyed) in self.kept(method) {
                let known = keepers
                    .entry(field)
                    .or_insert((is_named, is_keyed, method.name));
                if is_named && !known.0 {
                    *known = (is_named, is_keyed, method.name);
                }
            }
        }
        let mut best: Option<(u8, &str, bool, [&str; 2])> = None;
        for teller in self.methods.iter().filter(|_| !keepers.is_empty()) {
            for (field, is_called) in self.told(teller) {
                let Some((_, is_keyed, keeper)) = keepers.get(field) else {
                    continue;
                };
                let names = [snake(keeper), snake(teller.name)];
                let sure = relations::confidence(&names[0], &names[1], is_called);
                if best.as_ref().is_none_or(|(known, ..)| *known < sure) {
                    best = Some((sure, field, *is_keyed, [keeper, teller.name]));
                }
            }
        }
        let (sure, field, is_keyed, names) = best?;
        relations::verdict(sure, field, is_keyed, names)
    }

    /// The fields that a method adds what it is given to, and whether under a key.
    fn kept(&self, method: &Function<'t>) -> Vec<(&'t str, bool)> {
        let calls = self.facts.calls_in(&method.range).iter();
        let by_call = calls
            .filter(|call| KEEPS.contains(&call.name) && self.is_given(method, call))
            .filter_map(|call| self.facts.held(method, call.on));
        // `all = append(all, it)`.
        let assigns = self.facts.assigns_in(&method.range).iter();
        let appended = assigns.filter(|assign| {
            assign.value.starts_with("append(")
                && method
                    .params
                    .iter()
                    .any(|(name, _)| mentions(assign.value, name))
        });
        let appended = appended.filter_map(|assign| self.facts.held(method, assign.to));
        by_call.chain(appended).collect()
    }

    fn is_given(&self, method: &Function<'t>, call: &Call<'t>) -> bool {
        let args = call.args.iter().map(|arg| self.facts.text_of(*arg));
        let mut args = args.filter(|arg| method.params.iter().any(|(name, _)| mentions(arg, name)));
        args.next().is_some()
    }

    /// The fields that a method goes through, and whether it calls their items or only asks
    /// them to do something.
    fn told(&self, method: &Function<'t>) -> Vec<(&'t str, bool)> {
        let mut told = Vec::new();
        for one in self.facts.loops_in(&method.range) {
            let Some(field) = self.gone_through(method, one.over) else {
                continue;
            };
            for call in self.facts.calls_in(&one.range) {
                let is_called = call.on.is_empty() && one.items.contains(&call.name);
                let is_asked = one.items.contains(&call.on)
                    && (call.name == method.name || relations::tells(&snake(method.name)));
                if is_called || is_asked {
                    told.push((field, is_called));
                }
            }
        }
        told
    }

    /// The field that a loop goes through, also if it has a name of its own by then:
    /// `const all = this.all.get(key)`.
    fn gone_through(&self, method: &Function<'t>, over: &'t str) -> Option<&'t str> {
        let held = |expr| self.facts.held(method, expr).map(|(field, _)| field);
        held(over).or_else(|| {
            let mut values = self.facts.assigned_to(&method.range, over);
            values.find_map(|assign| held(assign.value))
        })
    }

    /// A method that keeps what it is given under a name, and says that it registers.
    fn registry(&self) -> Seen {
        let register = |method: &&&Function<'t>| snake(method.name).starts_with("regist");
        self.methods.iter().filter(register).find_map(|method| {
            let field = self.kept_by_key(method)?;
            let what = format!("keeps with `{}` what it is given in `{field}`", method.name);
            Some(("plugin_registry", 85, what))
        })
    }

    fn kept_by_key(&self, method: &Function<'t>) -> Option<&'t str> {
        let given = |text: &str| method.params.iter().any(|(name, _)| mentions(text, name));
        let calls = self.facts.calls_in(&method.range).iter();
        let mut by_call = calls
            .filter(|call| KEEPS_BY_KEY.contains(&call.name) && call.args.len() == 2)
            .filter(|call| {
                call.args
                    .last()
                    .is_some_and(|arg| given(self.facts.text_of(*arg)))
            })
            .filter_map(|call| self.facts.held(method, call.on));
        let assigns = self.facts.assigns_in(&method.range).iter();
        let mut by_key = assigns
            .filter(|assign| given(assign.value))
            .filter_map(|assign| self.facts.held(method, assign.to))
            .filter(|(_, is_keyed)| *is_keyed);
        let found = by_call.next().or_else(|| by_key.next());
        found.map(|(field, _)| field)
    }

    fn builder(&self) -> Seen {
        let is_fluent = |method: &&&Function<'t>| {
            let mut returned = self.facts.returns_in(&method.range).peekable();
            !method.me.is_empty()
                && returned.peek().is_some()
                && returned.all(|value| value == method.me)
        };
        let fluent = self.methods.iter().filter(is_fluent).count();
        let is_build = |method: &&&Function<'t>| BUILDS.contains(&&*snake(method.name));
        let build = self.methods.iter().find(is_build);
        match (build, fluent) {
            (Some(build), 2..) => {
                let what = format!("is put together by {fluent} methods, then `{}`", build.name);
                Some(("builder", 90, what))
            }
            (None, 4..) => {
                let what = format!("gives itself back from {fluent} methods");
                Some(("builder", 70, what))
            }
            _ => None,
        }
    }

    /// One that hands on what it does not do itself to the next of its kind.
    fn chain(&self) -> Seen {
        self.methods.iter().find_map(|method| {
            let calls = self.facts.calls_in(&method.range).iter();
            let mut handed = calls.filter(|call| call.name == method.name);
            handed.find_map(|call| {
                let (field, is_keyed) = self.facts.held(method, call.on)?;
                let named = field.to_lowercase();
                let is_next = named.contains("next") || named.contains("successor");
                let what = format!("hands `{}` on to `{field}`", method.name);
                (is_next && !is_keyed).then_some(("handler_chain", 90, what))
            })
        })
    }
}

fn repository(name: &str, methods: &[&Function<'_>]) -> Seen {
    let is_named = REPOSITORIES.iter().any(|end| name.ends_with(end));
    if !is_named {
        return None;
    }
    let is_stored = |method: &&&Function<'_>| {
        let name = snake(method.name);
        STORED.iter().any(|word| name.starts_with(word))
    };
    let stored: BTreeSet<&str> = methods.iter().filter(is_stored).map(|m| m.name).collect();
    let what = format!("stores things: {}", listed(&stored));
    (stored.len() > 1).then_some(("repository", 85, what))
}
