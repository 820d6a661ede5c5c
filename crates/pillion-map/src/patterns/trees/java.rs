//! Java: Spring, JAX-RS, servlets.

use tree_sitter::Node;

use super::super::frameworks::frameworks;
use super::Signs;
use super::collect::{Dialect, base_name, child, children, function, mark, range, unsigned};
use super::facts::{Facts, Function, Global, Kind, Mark, Type, listed, words};
use super::singletons::kept_instance;

pub(super) const DIALECT: Dialect = Dialect {
    assigns: &[
        ("assignment_expression", "left", "right"),
        ("variable_declarator", "name", "value"),
    ],
    loops: &[("enhanced_for_statement", "name", "value")],
    has_bare_fields: true,
    take,
};

fn take<'t>(node: Node<'t>, facts: &mut Facts<'t>) -> bool {
    match node.kind() {
        "import_declaration" => {
            let path = node.named_child(0).map_or("", |path| facts.text_of(path));
            facts.imports.push(path);
        }
        "class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration" => facts.declare(declared(node, facts)),
        "method_declaration" | "constructor_declaration" => {
            facts.add_function(named(node, facts));
        }
        "field_declaration" => {
            let is_static = words_of(node, facts).contains(&"static");
            let one = node.child_by_field_name("declarator").filter(|_| is_static);
            facts.globals.extend(one.map(|one| Global {
                name: facts.field(one, "name"),
                kind: facts.field(node, "type"),
                value: facts.field(one, "value"),
                at: node.start_byte(),
            }));
        }
        "annotation" | "marker_annotation" => {
            let text = unsigned(facts.text_of(node));
            facts.marks.push(mark(text, node.start_byte()));
        }
        _ => {}
    }
    true
}

/// The words before a declaration, without its annotations.
fn words_of<'t>(node: Node<'t>, facts: &Facts<'t>) -> Vec<&'t str> {
    let Some(list) = child(node, "modifiers") else {
        return Vec::new();
    };
    let mut cursor = list.walk();
    let plain = list.children(&mut cursor).filter(|child| !child.is_named());
    plain
        .flat_map(|child| words(facts.text_of(child)))
        .collect()
}

fn marks_of<'t>(node: Node<'t>, facts: &Facts<'t>) -> Vec<Mark<'t>> {
    let list = child(node, "modifiers").map_or_else(Vec::new, children);
    let marks = list
        .into_iter()
        .filter(|node| node.kind().ends_with("annotation"));
    marks
        .map(|node| mark(unsigned(facts.text_of(node)), node.start_byte()))
        .collect()
}

fn declared<'t>(node: Node<'t>, facts: &Facts<'t>) -> Option<Type<'t>> {
    let name = node.child_by_field_name("name")?;
    let body = node.child_by_field_name("body")?;
    let above = ["superclass", "super_interfaces", "extends_interfaces"];
    let above = above
        .iter()
        .filter_map(|kind| child(node, kind))
        .flat_map(children);
    let above = above.flat_map(|node| match node.kind() {
        "type_list" => children(node),
        _ => vec![node],
    });
    let fields = children(body)
        .into_iter()
        .filter(|node| node.kind() == "field_declaration");
    let fields = fields.filter_map(|field| {
        let one = field.child_by_field_name("declarator")?;
        Some((facts.field(one, "name"), facts.field(field, "type")))
    });
    let words = words_of(node, facts);
    let is_interface = node.kind() == "interface_declaration" || words.contains(&"abstract");
    Some(Type {
        name: facts.text_of(name),
        at: name.start_byte(),
        range: range(node),
        kind: if is_interface {
            Kind::Interface
        } else {
            Kind::Class
        },
        bases: above.map(|base| base_name(facts.text_of(base))).collect(),
        fields: fields.collect(),
        marks: marks_of(node, facts),
    })
}

fn named<'t>(node: Node<'t>, facts: &Facts<'t>) -> Option<Function<'t>> {
    let name = node.child_by_field_name("name")?;
    let list = node
        .child_by_field_name("parameters")
        .map_or_else(Vec::new, children);
    let params = list.into_iter();
    let words = words_of(node, facts);
    Some(Function {
        owner: facts.around(node.start_byte()),
        me: if words.contains(&"static") {
            ""
        } else {
            "this"
        },
        params: params
            .map(|one| (facts.field(one, "name"), facts.field(one, "type")))
            .collect(),
        result: facts.field(node, "type"),
        marks: marks_of(node, facts),
        words,
        ..function(node, name, facts)
    })
}

pub(super) fn look(facts: &Facts<'_>, signs: &mut Signs<'_>) {
    for function in &facts.functions {
        let is_main = function.name == "main"
            && function.words.contains(&"static")
            && function
                .params
                .iter()
                .any(|(_, kind)| kind.starts_with("String"));
        if is_main {
            let what = "`main` of a program".to_owned();
            signs.add("cli_entry_point", function.at, 95, what);
        }
        mapped(facts, function, signs);
    }
    let known = &frameworks().java;
    for one in &facts.types {
        doors(facts, one, signs);
        kept_instance(facts, one, signs);
        let mut marks = facts.marks_in(&one.range).iter();
        if let Some(mark) = marks.find(|mark| known.injected.has(mark.name)) {
            let what = format!("`{}` is given what it needs by `@{}`", one.name, mark.name);
            signs.add("dependency_injection", mark.at, 95, what);
        }
    }
    let loads = |call: &&super::facts::Call<'_>| call.on == "ServiceLoader" && call.name == "load";
    for call in facts.calls.iter().filter(loads) {
        let what = "loads plugins with `ServiceLoader`".to_owned();
        signs.add("plugin_registry", call.at, 95, what);
    }
}

/// Methods that annotations route requests to.
fn mapped(facts: &Facts<'_>, function: &Function<'_>, signs: &mut Signs<'_>) {
    let known = &frameworks().java;
    let is_spring = facts.imports_any(&["org.springframework"]);
    let is_rest = facts.imports_any(&["jakarta.ws.rs", "javax.ws.rs"]);
    let is_mapped = |mark: &&Mark<'_>| {
        is_spring && known.mappings.has(mark.name) || is_rest && known.verbs.has(mark.name)
    };
    let Some(mark) = function.marks.iter().find(is_mapped) else {
        return;
    };
    let path = mark.args.split('"').nth(1).unwrap_or_default();
    let verb = mark.name.trim_end_matches("Mapping").to_uppercase();
    let what = format!("`{}` answers {verb} {path}", function.name);
    signs.add("http_handler", function.at, 95, what.trim_end().to_owned());
}

/// Classes that answer requests, or stand between them and answers.
fn doors(facts: &Facts<'_>, one: &Type<'_>, signs: &mut Signs<'_>) {
    let has = |name: &str| facts.methods(one.name).any(|method| method.name == name);
    let known = &frameworks().java;
    for (base, method) in &known.between {
        if one.bases.contains(&base.as_str()) && has(method) {
            let what = format!("`{}` stands between requests and answers", one.name);
            signs.add("middleware", one.at, 95, what);
        }
    }
    let answers = known.answers.iter().map(String::as_str);
    let answers: Vec<&str> = answers.filter(|name| has(name)).collect();
    if one.bases.contains(&"HttpServlet") && !answers.is_empty() {
        let what = format!("`{}` answers requests: {}", one.name, listed(&answers));
        signs.add("http_handler", one.at, 95, what);
    }
}

pub(super) fn fixtures(facts: &Facts<'_>, signs: &mut Signs<'_>) {
    let known = &frameworks().java;
    for function in &facts.functions {
        let around = function
            .marks
            .iter()
            .find(|mark| known.around_tests.has(mark.name));
        if let Some(mark) = around {
            let what = format!("`{}` runs around tests: `@{}`", function.name, mark.name);
            signs.add("test_fixture", function.at, 95, what);
        }
    }
}
