//! Rust: programs, axum, actix and Rocket, tower, and what is made once.

use tree_sitter::Node;

use super::super::frameworks::frameworks;
use super::Signs;
use super::collect::{
    Dialect, base_name, child, children, function, marks_before, modifiers, range,
};
use super::facts::{Facts, Function, Global, Kind, Mark, Type};

pub(super) const DIALECT: Dialect = Dialect {
    assigns: &[
        ("assignment_expression", "left", "right"),
        ("let_declaration", "pattern", "value"),
    ],
    loops: &[("for_expression", "pattern", "value")],
    has_bare_fields: false,
    take,
};

fn take<'t>(node: Node<'t>, facts: &mut Facts<'t>) -> bool {
    match node.kind() {
        "use_declaration" => facts.imports.push(facts.field(node, "argument")),
        "mod_item" => {
            // Tests beside the code are none of the program.
            let marks = marks_before(node, "attribute_item", facts);
            return !marks
                .iter()
                .any(|mark| mark.name == "cfg" && mark.args == "test");
        }
        "impl_item" => {
            let owner = base_name(facts.field(node, "type"));
            facts.spans.push((range(node), owner));
            if let Some(of) = node.child_by_field_name("trait") {
                facts.fulfils.push((owner, base_name(facts.text_of(of))));
            }
        }
        "struct_item" | "enum_item" | "trait_item" => facts.declare(declared(node, facts)),
        "function_item" | "function_signature_item" => {
            let found = named(node, facts);
            let tail = found.as_ref().and_then(|_| tail(node));
            facts
                .returns
                .extend(tail.map(|tail| (tail.start_byte(), facts.text_of(tail))));
            facts.add_function(found);
        }
        "static_item" => facts.add_global(Global {
            name: facts.field(node, "name"),
            kind: facts.field(node, "type"),
            value: facts.field(node, "value"),
            at: node.start_byte(),
        }),
        _ => {}
    }
    true
}

fn declared<'t>(node: Node<'t>, facts: &Facts<'t>) -> Option<Type<'t>> {
    let name = node.child_by_field_name("name")?;
    let is_trait = node.kind() == "trait_item";
    let body = child(node, "field_declaration_list").map_or_else(Vec::new, children);
    let fields = body
        .into_iter()
        .filter(|node| node.kind() == "field_declaration");
    Some(Type {
        name: facts.text_of(name),
        at: name.start_byte(),
        range: range(node),
        kind: if is_trait {
            Kind::Interface
        } else {
            Kind::Class
        },
        bases: Vec::new(),
        fields: fields
            .map(|field| (facts.field(field, "name"), facts.field(field, "type")))
            .collect(),
        marks: marks_before(node, "attribute_item", facts),
    })
}

fn named<'t>(node: Node<'t>, facts: &Facts<'t>) -> Option<Function<'t>> {
    let name = node.child_by_field_name("name")?;
    let list = node
        .child_by_field_name("parameters")
        .map_or_else(Vec::new, children);
    let is_own = list.iter().any(|one| one.kind() == "self_parameter");
    let params = list.into_iter().filter(|one| one.kind() == "parameter");
    Some(Function {
        owner: facts.around(node.start_byte()),
        me: if is_own { "self" } else { "" },
        params: params
            .map(|one| {
                let name = facts.field(one, "pattern").trim_start_matches("mut ");
                (name, facts.field(one, "type"))
            })
            .collect(),
        result: facts.field(node, "return_type"),
        words: modifiers(node, facts),
        marks: marks_before(node, "attribute_item", facts),
        ..function(node, name, facts)
    })
}

/// The expression that a function ends with.
fn tail(node: Node<'_>) -> Option<Node<'_>> {
    let body = node.child_by_field_name("body")?;
    let last = children(body)
        .into_iter()
        .rfind(|node| !node.kind().contains("comment"))?;
    let is_value = !last.kind().ends_with("_statement") && !last.kind().ends_with("_item");
    (is_value && last.kind() != "let_declaration").then_some(last)
}

pub(super) fn look(facts: &Facts<'_>, signs: &mut Signs<'_>) {
    let path = facts.path;
    let is_program =
        path.ends_with("src/main.rs") || path == "main.rs" || path.contains("src/bin/");
    for function in &facts.functions {
        if is_program && function.name == "main" && function.owner.is_none() {
            let what = "`main` of a program".to_owned();
            signs.add("cli_entry_point", function.at, 95, what);
        }
        attributed(facts, function, signs);
        between(facts, function, signs);
    }
    for one in &facts.types {
        let is_parser = |mark: &Mark<'_>| mark.name == "derive" && mark.args.contains("Parser");
        if facts.imports_any(&["clap"]) && one.marks.iter().any(is_parser) {
            let what = format!("`{}` is read from the command line by clap", one.name);
            signs.add("cli_entry_point", one.at, 95, what);
        }
    }
    routes(facts, signs);
    once(facts, signs);
    dynamic(facts, signs);
}

/// `#[get("/path")]` of actix and Rocket.
fn attributed(facts: &Facts<'_>, function: &Function<'_>, signs: &mut Signs<'_>) {
    let known = &frameworks().rust;
    let is_known = facts.imports_any(&["actix_web", "rocket"]);
    let is_route = |mark: &&Mark<'_>| known.verbs.has(mark.name) && mark.args.starts_with('"');
    if let Some(mark) = function.marks.iter().find(is_route).filter(|_| is_known) {
        let path = mark.args.split('"').nth(1).unwrap_or_default();
        let verb = mark.name.to_uppercase();
        let what = format!("`{}` answers {verb} {path}", function.name);
        signs.add("http_handler", function.at, 95, what);
    }
}

/// `.route("/path", get(handler))` of axum.
fn routes(facts: &Facts<'_>, signs: &mut Signs<'_>) {
    if !facts.imports_any(&["axum"]) {
        return;
    }
    for call in facts.calls.iter().filter(|call| call.name == "route") {
        if let [path, _] = call.args[..] {
            let path = facts.text_of(path);
            if path.starts_with("\"/") {
                let what = format!("routes {}", path.trim_matches('"'));
                // A chain begins far above its end.
                let at = call.args.first().map_or(call.at, Node::start_byte);
                signs.add("http_handler", at, 95, what);
            }
        }
    }
}

/// Functions that run the next one, and layers of tower.
fn between(facts: &Facts<'_>, function: &Function<'_>, signs: &mut Signs<'_>) {
    let next = function
        .params
        .iter()
        .find(|(_, kind)| base_name(kind) == "Next");
    let runs = |name: &str| {
        let mut calls = facts.calls_in(&function.range).iter();
        calls.any(|call| call.on == name && call.name == "run")
    };
    if let Some((name, _)) = next.filter(|(name, _)| runs(name)) {
        let what = format!(
            "`{}` lets the next one go on with `{name}.run`",
            function.name
        );
        signs.add("middleware", function.at, 95, what);
    }
    let owner = function.owner.unwrap_or_default();
    let is_layer = facts.fulfils.contains(&(owner, "Layer")) && function.name == "layer";
    if is_layer && facts.imports_any(&["tower", "tower_layer"]) {
        let what = format!("`{owner}` is a layer around services");
        signs.add("middleware", function.at, 95, what);
    }
}

/// Functions that give a variable which is made at its first use.
fn once(facts: &Facts<'_>, signs: &mut Signs<'_>) {
    let is_once = |kind: &str| frameworks().rust.once.has(base_name(kind));
    for global in facts.globals.iter().filter(|global| is_once(global.kind)) {
        let gives = |function: &&Function<'_>| {
            let mut values = facts.returns_in(&function.range);
            function.result.starts_with("&'static")
                && values.any(|value| super::facts::word(super::facts::bare(value)) == global.name)
        };
        if let Some(function) = facts.functions.iter().find(gives) {
            let what = format!(
                "`{}` gives `{}`, which is made once",
                function.name, global.name
            );
            signs.add("singleton", function.at, 90, what);
        }
    }
}

/// Functions that give one of several types behind a trait, in the arms of a `match`.
fn dynamic(facts: &Facts<'_>, signs: &mut Signs<'_>) {
    for function in facts
        .functions
        .iter()
        .filter(|f| f.result.contains("<dyn "))
    {
        let calls = facts.calls_in(&function.range).iter();
        let boxed = calls.filter(|call| {
            call.name == "new" && matches!(call.on, "Box" | "Rc" | "Arc") && call.args.len() == 1
        });
        let made = boxed.filter_map(|call| {
            let text = facts.text_of(*call.args.first()?);
            let name = text.split([':', '(', '{', ' ']).next()?;
            name.starts_with(char::is_uppercase).then_some(name)
        });
        let made: std::collections::BTreeSet<&str> = made.collect();
        if made.len() > 1 {
            let names = super::facts::listed(&made);
            let what = format!("`{}` makes one of {names}", function.name);
            signs.add("factory", function.at, 90, what);
        }
    }
}

/// Fixtures of rstest.
pub(super) fn fixtures(facts: &Facts<'_>, signs: &mut Signs<'_>) {
    for function in &facts.functions {
        if function.marks.iter().any(|mark| mark.name == "fixture") {
            let what = format!("`{}` is given to tests", function.name);
            signs.add("test_fixture", function.at, 98, what);
        }
    }
}
