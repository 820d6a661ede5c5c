//! Classes that keep one instance of themselves: in TypeScript and Java.

use super::Signs;
use super::facts::{Facts, Function, Type};
use super::functions::own_name;

/// Methods of a class that are looked at.
const MAX_METHODS: usize = 200;

/// A class with a static method that gives a variable of the class which is an instance.
pub(super) fn kept_instance(facts: &Facts<'_>, one: &Type<'_>, signs: &mut Signs<'_>) {
    let made = format!("new {}(", one.name);
    let owner = Some(one.name);
    let is_made = |field: &str| {
        let mut global = facts.globals_in(&one.range).iter();
        let mut set = facts.assigns_in(&one.range).iter();
        global.any(|global| global.name == field && global.value.contains(&made))
            || set.any(|set| own_name(set.to, owner) == field && set.value.contains(&made))
    };
    let is_global = |field: &str| {
        let mut all = facts.globals_in(&one.range).iter();
        all.any(|global| global.name == field)
    };
    let gives = |method: &&Function<'_>| {
        let mut returned = facts.returns_in(&method.range);
        method.words.contains(&"static")
            && returned.any(|value| {
                let field = own_name(value, owner);
                is_global(field) && is_made(field)
            })
    };
    let Some(method) = facts.methods(one.name).take(MAX_METHODS).find(gives) else {
        return;
    };
    let is_constructor =
        |method: &&Function<'_>| method.name == "constructor" || method.name == one.name;
    let constructor = facts.methods(one.name).find(is_constructor);
    let is_private = constructor.is_some_and(|method| method.words.contains(&"private"));
    let sure = if is_private { 95 } else { 85 };
    let what = format!(
        "`{}` keeps one instance, which `{}` gives",
        one.name, method.name
    );
    signs.add("singleton", one.at, sure, what);
}
