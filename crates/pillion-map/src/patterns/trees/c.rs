//! C: programs, tables of functions, callbacks, and what is made and given back in pairs.

use tree_sitter::Node;

use super::super::relations;
use super::Signs;
use super::collect::{Dialect, base_name, child, children, function, range};
use super::facts::{Facts, Function, Global, Kind, Type, mentions, snake, word, words};

pub(super) const DIALECT: Dialect = Dialect {
    assigns: &[("assignment_expression", "left", "right")],
    loops: &[],
    has_bare_fields: false,
    take,
};

/// Function pointers that make a struct a table of functions.
const MIN_POINTERS: usize = 2;
/// How functions are called that make something, and those that give it back.
const MAKERS: &[&str] = &["_new", "_create", "_alloc", "_open", "_init"];
const ENDS: &[&str] = &["_free", "_destroy", "_delete", "_close", "_release"];

/// Variables of a function that are looked at closely.
const MAX_KEPT: usize = 20;

fn take<'t>(node: Node<'t>, facts: &mut Facts<'t>) -> bool {
    match node.kind() {
        "preproc_include" => {
            let path = facts.field(node, "path");
            facts.imports.push(path.trim_matches(['<', '>', '"']));
        }
        "struct_specifier" => facts.declare(declared(node, facts)),
        "function_definition" => facts.add_function(named(node, facts)),
        "declaration" => variable(node, facts),
        _ => {}
    }
    true
}

fn declared<'t>(node: Node<'t>, facts: &Facts<'t>) -> Option<Type<'t>> {
    let body = node.child_by_field_name("body")?;
    let above = facts.above.last().copied();
    let above = above.filter(|parent| parent.kind() == "type_definition");
    let alias = above.and_then(|parent| parent.child_by_field_name("declarator"));
    let name = alias.or_else(|| node.child_by_field_name("name"))?;
    let fields = children(body)
        .into_iter()
        .filter(|node| node.kind() == "field_declaration");
    let fields: Vec<(&str, &str)> = fields
        .filter_map(|field| {
            let declarator = field.child_by_field_name("declarator")?;
            let is_pointer = declarator.kind() == "function_declarator";
            let kind = if is_pointer {
                "(*)"
            } else {
                facts.field(field, "type")
            };
            Some((innermost(declarator, facts), kind))
        })
        .collect();
    let pointers = fields.iter().filter(|(_, kind)| *kind == "(*)").count();
    Some(Type {
        name: facts.text_of(name),
        at: name.start_byte(),
        range: range(node),
        kind: if pointers >= MIN_POINTERS {
            Kind::Interface
        } else {
            Kind::Class
        },
        bases: Vec::new(),
        fields,
        marks: Vec::new(),
    })
}

/// The name in a declarator, whatever is around it.
fn innermost<'t>(node: Node<'t>, facts: &Facts<'t>) -> &'t str {
    let mut at = node;
    for _ in 0..8 {
        let next = at.child_by_field_name("declarator");
        let next = next.or_else(|| {
            at.named_child(0)
                .filter(|_| at.kind() == "parenthesized_declarator")
        });
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    facts.text_of(at)
}

fn named<'t>(node: Node<'t>, facts: &Facts<'t>) -> Option<Function<'t>> {
    let mut at = node.child_by_field_name("declarator")?;
    let mut stars = 0;
    while at.kind() == "pointer_declarator" {
        stars += 1;
        at = at.child_by_field_name("declarator")?;
    }
    let name = at.child_by_field_name("declarator")?;
    let list = at
        .child_by_field_name("parameters")
        .map_or_else(Vec::new, children);
    let params = list.into_iter().filter_map(|one| {
        let declarator = one.child_by_field_name("declarator")?;
        Some((innermost(declarator, facts), facts.field(one, "type")))
    });
    Some(Function {
        params: params.collect(),
        result: facts.field(node, "type"),
        words: if stars > 0 { vec!["*"] } else { Vec::new() },
        ..function(node, name, facts)
    })
}

/// Variables, wherever they are kept as long as the program runs; and tables of functions.
fn variable<'t>(node: Node<'t>, facts: &mut Facts<'t>) {
    let is_static =
        child(node, "storage_class_specifier").is_some_and(|node| facts.text_of(node) == "static");
    let is_of_file = facts.kind_above(1) == "translation_unit";
    if !is_static && !is_of_file {
        return;
    }
    let mut cursor = node.walk();
    let all: Vec<Node<'t>> = node
        .children_by_field_name("declarator", &mut cursor)
        .collect();
    for declarator in all {
        let kind = facts.field(node, "type");
        let name = innermost(declarator, facts);
        let value = declarator.child_by_field_name("value");
        if let Some(value) = value.filter(|value| value.kind() == "initializer_list") {
            let is_pair = |node: &Node<'_>| node.kind() == "initializer_pair";
            if children(value).iter().any(is_pair) {
                facts
                    .fulfils
                    .push((name, words(kind).last().unwrap_or_default()));
            }
        }
        let is_array = facts.text_of(declarator).contains('[');
        facts.add_global(Global {
            name,
            kind: if is_array { "[]" } else { kind },
            value: value.map_or("", |value| facts.text_of(value)),
            at: node.start_byte(),
        });
    }
}

pub(super) fn look(facts: &Facts<'_>, signs: &mut Signs<'_>) {
    for function in &facts.functions {
        if function.name == "main" && matches!(function.result, "int" | "void") {
            let what = "`main` of a program".to_owned();
            signs.add("cli_entry_point", function.at, 95, what);
        }
        listeners(facts, function, signs);
        only(facts, function, signs);
        pair(facts, function, signs);
    }
    let is_option = |name: &str| matches!(name, "getopt" | "getopt_long" | "argp_parse");
    if let Some(call) = facts.calls.iter().find(|call| is_option(call.name)) {
        let what = format!("reads the command line with {}", call.name);
        signs.add("cli_entry_point", call.at, 90, what);
    }
}

/// A function that keeps callbacks in an array, which another calls one after the other.
fn listeners(facts: &Facts<'_>, function: &Function<'_>, signs: &mut Signs<'_>) {
    let given = |text: &str| function.params.iter().any(|(name, _)| mentions(text, name));
    let kept = facts
        .assigns_in(&function.range)
        .iter()
        .filter(|assign| given(assign.value));
    let kept = kept.filter_map(|assign| {
        let name = word(assign.to);
        let global = facts.global(name)?;
        (global.kind == "[]").then_some(name)
    });
    for name in kept.take(MAX_KEPT) {
        let tells = |teller: &&Function<'_>| {
            let mut calls = facts.calls_in(&teller.range).iter();
            calls.any(|call| {
                let called = if call.on.is_empty() {
                    call.name
                } else {
                    call.on
                };
                word(called) == name && called.contains('[')
            })
        };
        if let Some(teller) = facts.functions.iter().find(tells) {
            let names = [snake(function.name), snake(teller.name)];
            let names = names.map(|name| {
                name.split_once('_')
                    .map_or(name.clone(), |(_, n)| n.to_owned())
            });
            let sure = relations::confidence(&names[0], &names[1], true).max(80);
            let what = format!(
                "`{}` keeps callbacks in `{name}`, which `{}` calls",
                function.name, teller.name
            );
            signs.add("observer", function.at, sure, what);
            return;
        }
    }
}

/// A function that makes what it gives only if it is not there yet.
fn only(facts: &Facts<'_>, function: &Function<'_>, signs: &mut Signs<'_>) {
    let code = facts.text.get(function.range.clone()).unwrap_or_default();
    let given = facts.returns_in(&function.range);
    let mut given = given.filter(|value| facts.global(value).is_some());
    let kept = given.by_ref().take(MAX_KEPT).find(|value| {
        let mut made = facts.assigned_to(&function.range, word(value));
        let is_made = made.any(|assign| assign.to == *value);
        let asks = [
            format!("(!{value})"),
            format!("({value} == NULL)"),
            format!("(NULL == {value})"),
        ];
        is_made && asks.iter().any(|ask| code.contains(ask))
    });
    if let Some(kept) = kept.filter(|_| function.words.contains(&"*")) {
        let what = format!("`{}` makes `{kept}` once, and gives it", function.name);
        signs.add("singleton", function.at, 90, what);
    }
}

/// A function that makes something in memory, and one that gives it back.
fn pair(facts: &Facts<'_>, function: &Function<'_>, signs: &mut Signs<'_>) {
    let stem = MAKERS
        .iter()
        .find_map(|end| function.name.strip_suffix(end));
    let mut calls = facts.calls_in(&function.range).iter();
    let is_made = calls.any(|call| matches!(call.name, "malloc" | "calloc"));
    let Some(stem) = stem.filter(|_| is_made && function.words.contains(&"*")) else {
        return;
    };
    let is_end = |other: &&Function<'_>| {
        let end = other.name.strip_prefix(stem);
        let frees = || {
            facts
                .calls_in(&other.range)
                .iter()
                .any(|call| call.name == "free")
        };
        end.is_some_and(|end| ENDS.contains(&end)) && frees()
    };
    if let Some(end) = facts.functions.iter().find(is_end) {
        let kind = base_name(words(function.result).last().unwrap_or_default());
        let what = format!(
            "`{}` makes a `{kind}`, which `{}` frees",
            function.name, end.name
        );
        signs.add("factory", function.at, 85, what);
    }
}
