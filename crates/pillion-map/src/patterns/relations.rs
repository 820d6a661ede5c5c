//! Rules for classes that hold on to others: observers, chains, composites, proxies.

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{Expr, StmtFor};

use super::ast::{Parts, attribute_of, is_name, last_of, string};
use super::class::{Class, Method};

/// Methods that take in those who want to know.
const SUBSCRIBE: &[&str] = &[
    "subscribe",
    "on",
    "attach",
    "connect",
    "register",
    "listen",
    "observe",
    "watch",
    "add_listener",
    "add_observer",
    "add_handler",
    "add_callback",
    "add_subscriber",
    "bind",
];
/// Methods that tell them.
const TELL: &[&str] = &[
    "notify",
    "emit",
    "publish",
    "fire",
    "dispatch",
    "send",
    "trigger",
    "broadcast",
    "signal",
];

/// Things that are kept in an attribute.
struct Kept<'a> {
    attribute: &'a str,
    by: &'a str,
    /// Under a key, such as the name of an event.
    is_keyed: bool,
}

/// An attribute whose items are called, or asked to do something.
struct CalledAttribute<'a> {
    attribute: &'a str,
    by: &'a str,
    is_called: bool,
}

/// What keeps what it is given and later calls all of it: an observer, an event bus or a
/// composite; how sure that is, and what was seen.
pub(super) fn kept_and_told(class: &Class<'_>) -> Option<(&'static str, u8, String)> {
    let kept: Vec<Kept<'_>> = class.methods.iter().flat_map(kept).collect();
    let told: Vec<CalledAttribute<'_>> = class.methods.iter().flat_map(told).collect();
    let pairs = kept.iter().flat_map(|kept| {
        let told = told.iter().filter(|told| told.attribute == kept.attribute);
        told.map(move |told| (kept, told))
    });
    let judged = pairs.map(|(kept, told)| {
        let sure = confidence(kept.by, told.by, told.is_called);
        (sure, kept, told)
    });
    let (sure, kept, told) = judged.max_by_key(|(sure, ..)| *sure)?;
    verdict(sure, kept.attribute, kept.is_keyed, [kept.by, told.by])
}

/// How sure it is that what one method keeps and another calls are listeners; 0 if they are
/// but asked to do what the whole is asked to do. Names are in snake case.
pub(super) fn confidence(kept_by: &str, told_by: &str, is_called: bool) -> u8 {
    let names = [begins(kept_by, SUBSCRIBE), begins(told_by, TELL)];
    let named = names.iter().filter(|is| **is).count();
    match (is_called, named) {
        (_, 2) => 95,
        (true, 1) => 85,
        (false, 1) | (true, _) => 70,
        (false, _) => 0,
    }
}

/// What something is that keeps others in a field with one method, and calls them with
/// another.
pub(super) fn verdict(
    sure: u8,
    field: &str,
    is_keyed: bool,
    [by, teller]: [&str; 2],
) -> Option<(&'static str, u8, String)> {
    Some(match (sure, is_keyed) {
        (0, false) if teller != "__init__" => {
            let what = format!("does with `{teller}` what all in `{field}` do");
            ("composite", 75, what)
        }
        (0, _) => return None,
        (sure, is_keyed) => {
            let kind = if is_keyed { "event_bus" } else { "observer" };
            let what = format!("takes listeners with `{by}` and tells them with `{teller}`");
            (kind, sure, what)
        }
    })
}

/// Whether a name begins with one of some words.
fn begins(name: &str, words: &[&str]) -> bool {
    words.iter().any(|word| name.starts_with(word))
}

/// Whether a method is called as those that take listeners are.
pub(super) fn subscribes(name: &str) -> bool {
    begins(name, SUBSCRIBE)
}

/// Whether a method is called as those that tell listeners are.
pub(super) fn tells(name: &str) -> bool {
    begins(name, TELL)
}

fn kept<'a>(method: &Method<'a>) -> Vec<Kept<'a>> {
    let is_name = |expr: &Expr| method.given.iter().any(|name| is_name(expr, name));
    // Alone, or with more that is known about it.
    let is_given = |expr: &Expr| match expr {
        Expr::Tuple(all) => all.iter().any(is_name),
        other => is_name(other),
    };
    let by_call = method.parts.calls().filter_map(|call| {
        let callee = call.func.as_attribute_expr()?;
        let is_kept = matches!(callee.attr.as_str(), "append" | "add" | "insert");
        call.arguments.args.iter().find(|arg| is_given(arg))?;
        let (attribute, is_keyed) = held(&callee.value, method.me)?;
        is_kept.then_some(Kept {
            attribute,
            by: method.name,
            is_keyed,
        })
    });
    by_call.collect()
}

/// The attribute of `self.x`, or of `self.x[key]` and `self.x.setdefault(key, [])`.
fn held<'a>(expr: &'a Expr, me: &str) -> Option<(&'a str, bool)> {
    if me.is_empty() {
        return None;
    }
    match expr {
        Expr::Subscript(part) => Some((attribute_of(&part.value, me)?, true)),
        Expr::Call(call) => {
            let callee = call.func.as_attribute_expr()?;
            let is_key = matches!(callee.attr.as_str(), "setdefault" | "get");
            Some((attribute_of(&callee.value, me)?, true)).filter(|_| is_key)
        }
        _ => Some((attribute_of(expr, me)?, false)),
    }
}

fn told<'a>(method: &Method<'a>) -> Vec<CalledAttribute<'a>> {
    let loops = method
        .parts
        .stmts
        .iter()
        .filter_map(|stmt| stmt.as_for_stmt());
    let told = loops.filter_map(|part| {
        let is_called = calls_item(part, method.name)?;
        let attribute = Attributes::of(&part.iter, method.me).into_iter().next()?;
        Some(CalledAttribute {
            attribute,
            by: method.name,
            is_called,
        })
    });
    told.collect()
}

/// Whether a loop calls its item, or a method of it that is called as the one around it.
fn calls_item(part: &StmtFor, around: &str) -> Option<bool> {
    let items: Vec<&str> = match &*part.target {
        Expr::Tuple(all) => all.iter().filter_map(last_of).collect(),
        other => last_of(other).into_iter().collect(),
    };
    let parts = Parts::of(&part.body);
    let callees: Vec<&Expr> = parts.calls().map(|call| &*call.func).collect();
    let is_item = |callee: &&Expr| items.iter().any(|item| is_name(callee, item));
    if callees.iter().any(is_item) {
        return Some(true);
    }
    let is_told = |callee: &Expr| {
        let method = items.iter().find_map(|item| attribute_of(callee, item));
        method.is_some_and(|method| method == around || TELL.contains(&around))
    };
    callees.into_iter().any(is_told).then_some(false)
}

/// The attributes of `self` in an expression.
struct Attributes<'a, 'm> {
    me: &'m str,
    found: Vec<&'a str>,
}

impl<'a, 'm> Attributes<'a, 'm> {
    fn of(expr: &'a Expr, me: &'m str) -> Vec<&'a str> {
        let mut all = Attributes {
            me,
            found: Vec::new(),
        };
        all.visit_expr(expr);
        all.found
    }
}

impl<'a> Visitor<'a> for Attributes<'a, '_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        self.found.extend(attribute_of(expr, self.me));
        walk_expr(self, expr);
    }
}

/// One that hands on what it does not do itself: it keeps the next one, and each method
/// that hands on calls the method of the same name.
pub(super) fn chain(class: &Class<'_>) -> Option<(u8, String)> {
    let mut next = class.methods.iter().flat_map(|method| {
        let is_given = |expr: &Expr| method.given.iter().any(|name| is_name(expr, name));
        let assigned = method.parts.assigned();
        let kept = assigned.filter(|(_, value)| is_given(value));
        let kept: Vec<&str> = kept
            .filter_map(|(to, _)| attribute_of(to, method.me))
            .filter(|name| name.contains("next") || name.contains("successor"))
            .collect();
        kept
    });
    next.find_map(|attribute| {
        let hands_on = |method: &&Method<'_>| {
            method.parts.calls().any(|call| {
                let callee = call.func.as_attribute_expr();
                callee.is_some_and(|callee| {
                    callee.attr == *method.name
                        && attribute_of(&callee.value, method.me) == Some(attribute)
                })
            })
        };
        let name = class.methods.iter().find(hands_on)?.name;
        Some((90, format!("hands `{name}` on to `{attribute}`")))
    })
}

/// One that takes what it does not have from another: `getattr(self.x, name)`.
pub(super) fn proxy(class: &Class<'_>) -> Option<(u8, String)> {
    let method = class.method("__getattr__")?;
    let name = method.given.first()?;
    let behind = method.parts.calls().find_map(|call| {
        let [whose, what, ..] = &*call.arguments.args else {
            return None;
        };
        let is_it = is_name(&call.func, "getattr") && is_name(what, name);
        attribute_of(whose, method.me).filter(|_| is_it && string(what).is_none())
    })?;
    Some((85, format!("takes what it does not have from `{behind}`")))
}
