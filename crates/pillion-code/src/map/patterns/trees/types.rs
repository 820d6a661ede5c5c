//! Rules for types that hold in every language: builders, observers, chains, repositories,
//! and those of which there is one.

use std::collections::BTreeSet;

use super::super::classes::STORED;
use super::super::relations;
use super::Signs;
use super::facts::{Call, Facts, Function, listed, mentions, snake, word};

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
    name: &'t str,
    methods: Vec<&'f Function<'t>>,
}

/// What a rule says: which pattern it is, how sure that is, and what was seen.
type Seen = Option<(&'static str, u8, String)>;

pub(super) fn look<'t>(facts: &Facts<'t>, signs: &mut Signs) {
    let declared = facts.types.iter().map(|one| one.name);
    let owners = facts.functions.iter().filter_map(|function| function.owner);
    let names: BTreeSet<&'t str> = declared.chain(owners).collect();
    for name in names {
        let whole = Whole {
            facts,
            name,
            methods: facts
                .methods(name)
                .filter(|method| method.has_body)
                .collect(),
        };
        let declared = facts.types.iter().find(|one| one.name == name);
        let first = whole.methods.first().map(|method| method.at);
        let Some(at) = declared.map(|one| one.at).or(first) else {
            continue;
        };
        let observer = whole.observer();
        let registry = whole.registry().filter(|_| observer.is_none());
        let rules = [observer, registry, whole.builder(), whole.chain()];
        for (kind, sure, what) in rules.into_iter().chain([whole.repository()]).flatten() {
            signs.add(kind, at, sure, format!("`{name}` {what}"));
        }
    }
}

impl<'t> Whole<'_, 't> {
    fn observer(&self) -> Seen {
        let mut best: Option<(u8, &str, bool, [&str; 2])> = None;
        for keeper in &self.methods {
            for (field, is_keyed) in self.kept(keeper) {
                for teller in &self.methods {
                    let Some(is_called) = self.told(teller, field) else {
                        continue;
                    };
                    let names = [snake(keeper.name), snake(teller.name)];
                    let sure = relations::confidence(&names[0], &names[1], is_called);
                    if best.as_ref().is_none_or(|(known, ..)| *known < sure) {
                        best = Some((sure, field, is_keyed, [keeper.name, teller.name]));
                    }
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

    /// Whether a method goes through a field and calls its items, or asks them to do
    /// something.
    fn told(&self, method: &Function<'t>, field: &str) -> Option<bool> {
        let loops = self.facts.loops_in(&method.range).iter();
        let through = loops.filter(|one| {
            let held = self.facts.held(method, one.over);
            held.is_some_and(|(name, _)| name == field) || self.is_taken(method, one.over, field)
        });
        let mut told = None;
        for one in through {
            for call in self.facts.calls_in(&one.range) {
                let is_called = call.on.is_empty() && one.items.contains(&call.name);
                let is_asked = one.items.contains(&call.on)
                    && (call.name == method.name || relations::tells(&snake(method.name)));
                match (is_called, is_asked) {
                    (true, _) => return Some(true),
                    (_, true) => told = Some(false),
                    _ => {}
                }
            }
        }
        told
    }

    /// Whether a name was given what is in a field: `const all = this.all.get(key)`.
    fn is_taken(&self, method: &Function<'t>, over: &str, field: &str) -> bool {
        let assigns = self.facts.assigns_in(&method.range).iter();
        let mut values = assigns.filter(|assign| word(assign.to) == over);
        values.any(|assign| {
            let held = self.facts.held(method, assign.value);
            held.is_some_and(|(name, _)| name == field)
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

    fn repository(&self) -> Seen {
        let is_named = REPOSITORIES.iter().any(|end| self.name.ends_with(end));
        let methods = self.facts.methods(self.name);
        let stored: BTreeSet<&str> = methods
            .filter(|method| {
                let name = snake(method.name);
                STORED.iter().any(|word| name.starts_with(word))
            })
            .map(|method| method.name)
            .collect();
        let what = format!("keeps things: {}", listed(&stored));
        (is_named && stored.len() > 1).then_some(("repository", 85, what))
    }
}
