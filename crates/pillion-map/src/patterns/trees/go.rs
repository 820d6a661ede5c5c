//! Go: packages, methods by their receivers, `net/http` and those who build upon it.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::super::frameworks::frameworks;
use super::Signs;
use super::collect::{Dialect, base_name, child, children, function, range};
use super::facts::{Facts, Function, Global, Kind, Type, listed};

pub(super) const DIALECT: Dialect = Dialect {
    assigns: &[
        ("assignment_statement", "left", "right"),
        ("short_var_declaration", "left", "right"),
    ],
    loops: &[("for_statement", "left", "right")],
    has_bare_fields: false,
    take,
};

fn take<'t>(node: Node<'t>, facts: &mut Facts<'t>) -> bool {
    let text = |node: Node<'t>| facts.text.get(node.byte_range()).unwrap_or_default();
    match node.kind() {
        "package_clause" => facts.package = node.named_child(0).map_or("", text),
        "import_spec" => {
            let path = facts.field(node, "path").trim_matches(['"', '`']);
            facts.imports.push(path);
        }
        "type_spec" => facts.declare(declared(node, facts)),
        "function_declaration" | "method_declaration" => {
            facts.add_function(named(node, facts));
        }
        "method_elem" => {
            if let Some(name) = node.child_by_field_name("name") {
                let owner = facts.around(node.start_byte());
                let params = params(node, facts);
                facts.add_function(Some(Function {
                    owner,
                    params,
                    ..function(node, name, facts)
                }));
            }
        }
        // Variables in functions are none of the file.
        "var_spec" if !is_inner(facts) => {
            let (kind, value) = (facts.field(node, "type"), facts.field(node, "value"));
            let name = facts.field(node, "name");
            if name == "_" {
                let made = value.trim_start_matches(['(', '&', '*']);
                let made = made.split(['{', ')', '(']).next().unwrap_or(made);
                facts.fulfils.push((base_name(made), base_name(kind)));
            }
            let at = node.start_byte();
            facts.add_global(Global {
                name,
                kind,
                value,
                at,
            });
        }
        _ => {}
    }
    true
}

/// Whether a declaration stands in a function: what is around it is no list of the file.
fn is_inner(facts: &Facts<'_>) -> bool {
    (1..=4).any(|levels| facts.kind_above(levels) == "block")
}

fn declared<'t>(node: Node<'t>, facts: &Facts<'t>) -> Option<Type<'t>> {
    let name = node.child_by_field_name("name")?;
    let kind = node.child_by_field_name("type")?;
    let is_interface = kind.kind() == "interface_type";
    let list = child(kind, "field_declaration_list").map_or_else(Vec::new, children);
    let fields = list
        .into_iter()
        .map(|field| (facts.field(field, "name"), facts.field(field, "type")));
    // A function type has itself as its only field.
    let own = (kind.kind() == "function_type").then(|| ("", facts.text_of(kind)));
    Some(Type {
        name: facts.text_of(name),
        at: name.start_byte(),
        range: range(node),
        kind: if is_interface {
            Kind::Interface
        } else {
            Kind::Class
        },
        bases: Vec::new(),
        fields: fields.chain(own).collect(),
        marks: Vec::new(),
    })
}

fn named<'t>(node: Node<'t>, facts: &Facts<'t>) -> Option<Function<'t>> {
    let name = node.child_by_field_name("name")?;
    let receiver = node.child_by_field_name("receiver");
    let receiver = receiver.and_then(|list| list.named_child(0));
    let owner = receiver.map(|one| base_name(facts.field(one, "type")));
    Some(Function {
        owner,
        me: receiver.map_or("", |one| facts.field(one, "name")),
        params: params(node, facts),
        result: facts.field(node, "result"),
        ..function(node, name, facts)
    })
}

fn params<'t>(node: Node<'t>, facts: &Facts<'t>) -> Vec<(&'t str, &'t str)> {
    let list = node.child_by_field_name("parameters");
    let mut all = Vec::new();
    for one in list.map_or_else(Vec::new, children) {
        let kind = match one.kind() {
            "variadic_parameter_declaration" => facts.text_of(one),
            _ => facts.field(one, "type"),
        };
        let mut cursor = one.walk();
        let names = one.children_by_field_name("name", &mut cursor);
        let before = all.len();
        all.extend(names.map(|name| (facts.text_of(name), kind)));
        if all.len() == before {
            all.push(("", kind));
        }
    }
    all
}

pub(super) fn look(facts: &Facts<'_>, signs: &mut Signs) {
    for function in &facts.functions {
        entry(facts, function, signs);
        served(facts, function, signs);
        only(facts, function, signs);
    }
    routes(facts, signs);
    options(facts, signs);
    for call in &facts.calls {
        let seen = match (call.on, call.name) {
            ("flag", "Parse") if facts.imports_any(&["flag"]) => {
                ("cli_entry_point", 85, "reads the command line with flag")
            }
            ("fx", "Provide") if facts.imports_any(&["go.uber.org/fx"]) => (
                "dependency_injection",
                95,
                "says with fx what can be provided",
            ),
            ("wire", "Build") if facts.imports_any(&["github.com/google/wire"]) => {
                ("dependency_injection", 95, "is put together by wire")
            }
            ("mcp", "NewTool") => ("mcp_tool", 95, "makes a tool for agents"),
            ("plugin", "Open") if facts.imports_any(&["plugin"]) => {
                ("plugin_registry", 90, "loads plugins as it runs")
            }
            _ => continue,
        };
        signs.add(seen.0, call.at, seen.1, seen.2.to_owned());
    }
}

fn entry(facts: &Facts<'_>, function: &Function<'_>, signs: &mut Signs) {
    let is_main = function.name == "main" && function.owner.is_none() && facts.package == "main";
    if is_main && function.params.is_empty() {
        let what = "`main` of a program".to_owned();
        signs.add("cli_entry_point", function.at, 95, what);
    }
}

/// Those that answer requests, and those that wrap them.
fn served(facts: &Facts<'_>, function: &Function<'_>, signs: &mut Signs) {
    if !function.has_body {
        return;
    }
    let name = function.name;
    let kinds: Vec<&str> = function.params.iter().map(|(_, kind)| *kind).collect();
    let is_handler = |kind: &str| matches!(base_name(kind), "Handler" | "HandlerFunc");
    match kinds[..] {
        ["http.ResponseWriter", "*http.Request"] => {
            let sure = if name == "ServeHTTP" { 95 } else { 85 };
            let what = format!("`{name}` answers requests");
            signs.add("http_handler", function.at, sure, what);
        }
        [one] if is_handler(one) && is_handler(function.result) => {
            let what = format!("`{name}` wraps a `{one}`");
            signs.add("middleware", function.at, 95, what);
        }
        ["*gin.Context" | "*fiber.Ctx"] => {
            let next = |call: &super::facts::Call<'_>| {
                call.name == "Next" && function.params.iter().any(|(name, _)| *name == call.on)
            };
            if facts.calls_in(&function.range).iter().any(next) {
                let what = format!("`{name}` lets the next one go on with `Next`");
                signs.add("middleware", function.at, 90, what);
            }
        }
        _ => {}
    }
}

fn routes(facts: &Facts<'_>, signs: &mut Signs) {
    let known = &frameworks().go;
    let has_http = facts.imports_any(&["net/http"]);
    let has_router = facts.imports_any(&known.routers);
    for call in facts.calls.iter().filter(|call| call.args.len() >= 2) {
        let path = call.args.first().map_or("", |arg| facts.text_of(*arg));
        let path = path.trim_matches(['"', '`']);
        let is_path = path.contains('/') && !path.contains(['"', '\n']);
        let verb = call.name.to_uppercase();
        let what = match call.name {
            "HandleFunc" | "Handle" if has_http && is_path => format!("routes {path}"),
            _ if has_router && path.starts_with('/') && known.verbs.has(&verb) => {
                format!("routes {verb} {path}")
            }
            _ => continue,
        };
        signs.add("http_handler", call.at, 95, what);
    }
}

/// A function that makes a variable of the file once, and gives it.
fn only(facts: &Facts<'_>, function: &Function<'_>, signs: &mut Signs) {
    let is_once = |on: &str| {
        facts
            .global(on)
            .is_some_and(|global| global.kind == "sync.Once")
    };
    let calls = facts.calls_in(&function.range).iter();
    let once = calls
        .filter(|call| call.name == "Do" && is_once(call.on))
        .count();
    let is_kept = |value: &str| {
        let is_global = facts.global(value).is_some();
        let mut made = facts.assigns_in(&function.range).iter();
        is_global && made.any(|assign| assign.to == value)
    };
    let kept = facts
        .returns_in(&function.range)
        .find(|value| is_kept(value));
    if let Some(kept) = kept.filter(|_| once > 0) {
        let what = format!("`{}` makes `{kept}` once, and gives it", function.name);
        signs.add("singleton", function.at, 95, what);
    }
}

/// Functions that give options, and one that takes any number of them.
fn options(facts: &Facts<'_>, signs: &mut Signs) {
    let is_function = |kind: &&Type<'_>| {
        let mut fields = kind.fields.iter();
        fields.any(|(name, of)| name.is_empty() && of.starts_with("func("))
    };
    for kind in facts.types.iter().filter(is_function) {
        let given = facts
            .functions
            .iter()
            .filter(|f| f.result == kind.name && f.has_body);
        let given: BTreeSet<&str> = given.map(|function| function.name).collect();
        let takes = |function: &&Function<'_>| {
            let all = function.params.iter();
            all.into_iter().any(|(_, of)| {
                of.contains("...") && base_name(of.rsplit("...").next().unwrap_or(of)) == kind.name
            })
        };
        let taker = facts.functions.iter().find(takes);
        if let Some(taker) = taker.filter(|_| given.len() > 1) {
            let what = format!(
                "`{}` is put together by options: {}",
                taker.name,
                listed(&given)
            );
            signs.add("builder", taker.at, 90, what);
        }
    }
}

/// What runs around tests.
pub(super) fn fixtures(facts: &Facts<'_>, signs: &mut Signs) {
    let is_around = |f: &&Function<'_>| {
        f.name == "TestMain" && f.params.iter().any(|(_, kind)| *kind == "*testing.M")
    };
    if let Some(found) = facts.functions.iter().find(is_around) {
        let what = "`TestMain` runs around tests".to_owned();
        signs.add("test_fixture", found.at, 95, what);
    }
}
