//! TypeScript and JavaScript: Express and its like, Nest, Next.js, Node's own servers.

use tree_sitter::Node;

use super::super::frameworks::frameworks;
use super::Signs;
use super::collect::{
    Dialect, base_name, child, children, function, mark, marks_before, modifiers, range, unsigned,
};
use super::facts::{Call, Facts, Function, Global, Kind, Mark, Type, word};
use super::singletons::kept_instance;

pub(super) const DIALECT: Dialect = Dialect {
    assigns: &[
        ("assignment_expression", "left", "right"),
        ("augmented_assignment_expression", "left", "right"),
        ("variable_declarator", "name", "value"),
    ],
    loops: &[("for_in_statement", "left", "right")],
    has_bare_fields: false,
    take,
};

fn take<'t>(node: Node<'t>, facts: &mut Facts<'t>) -> bool {
    match node.kind() {
        "import_statement" => {
            let source = facts.field(node, "source");
            facts.imports.push(source.trim_matches(['"', '\'']));
        }
        "call_expression" => {
            let name = facts.field(node, "function");
            let first = child(node, "arguments").and_then(|args| args.named_child(0));
            if let (true, Some(first)) = (matches!(name, "require" | "import"), first) {
                facts
                    .imports
                    .push(facts.text_of(first).trim_matches(['"', '\'']));
            }
        }
        "class_declaration" | "abstract_class_declaration" | "class" | "interface_declaration" => {
            facts.declare(declared(node, facts));
        }
        "function_declaration" | "generator_function_declaration" | "method_definition" => {
            facts.add_function(named(node, node, facts));
        }
        "variable_declarator" => {
            if let Some(value) = node.child_by_field_name("value") {
                match value.kind() {
                    "arrow_function" | "function_expression" => {
                        facts.add_function(named(node, value, facts));
                    }
                    _ if is_of_file(facts) => facts.add_global(Global {
                        name: facts.field(node, "name"),
                        kind: facts
                            .field(node, "type")
                            .trim_start_matches(':')
                            .trim_start(),
                        value: facts.text_of(value),
                        at: node.start_byte(),
                    }),
                    _ => {}
                }
            }
        }
        "public_field_definition" if modifiers(node, facts).contains(&"static") => {
            facts.add_global(Global {
                name: facts.field(node, "name"),
                kind: facts.field(node, "type"),
                value: facts.field(node, "value"),
                at: node.start_byte(),
            });
        }
        _ => {}
    }
    true
}

/// Whether a variable stands right in the file.
fn is_of_file(facts: &Facts<'_>) -> bool {
    matches!(facts.kind_above(2), "program" | "export_statement")
}

fn declared<'t>(node: Node<'t>, facts: &Facts<'t>) -> Option<Type<'t>> {
    let name = node.child_by_field_name("name")?;
    let body = node.child_by_field_name("body")?;
    let heritage = child(node, "class_heritage").map_or_else(Vec::new, children);
    let bases = heritage.into_iter().flat_map(children);
    let bases = bases.map(|base| base_name(facts.text_of(base)));
    let is_field = |node: &Node<'_>| {
        matches!(
            node.kind(),
            "public_field_definition" | "property_signature"
        )
    };
    let fields = children(body).into_iter().filter(is_field);
    // What a constructor is given, it mostly keeps.
    let is_constructor = |node: &Node<'_>| {
        node.kind() == "method_definition" && facts.field(*node, "name") == "constructor"
    };
    let given = children(body).into_iter().find(is_constructor);
    let given = given.map_or_else(Vec::new, |node| params(node, facts));
    let own = children(node)
        .into_iter()
        .filter(|child| child.kind() == "decorator");
    let own = own.map(|node| mark(unsigned(facts.text_of(node)), node.start_byte()));
    let is_interface = node.kind() == "interface_declaration" || node.kind().contains("abstract");
    Some(Type {
        name: facts.text_of(name),
        at: name.start_byte(),
        range: range(node),
        kind: if is_interface {
            Kind::Interface
        } else {
            Kind::Class
        },
        bases: bases.collect(),
        fields: fields
            .map(|field| (facts.field(field, "name"), facts.field(field, "type")))
            .chain(given)
            .collect(),
        marks: own.chain(marks_before(node, "decorator", facts)).collect(),
    })
}

/// A function by its name; `code` has its parameters and its body.
fn named<'t>(node: Node<'t>, code: Node<'t>, facts: &Facts<'t>) -> Option<Function<'t>> {
    let name = node.child_by_field_name("name")?;
    let is_method = node.kind() == "method_definition";
    let words = modifiers(node, facts);
    let is_own = is_method && !words.contains(&"static");
    Some(Function {
        owner: match is_method {
            true => facts.around(node.start_byte()),
            false => None,
        },
        me: if is_own { "this" } else { "" },
        params: params(code, facts),
        result: facts
            .field(code, "return_type")
            .trim_start_matches(':')
            .trim_start(),
        words,
        marks: marks_before(node, "decorator", facts),
        has_body: code.child_by_field_name("body").is_some(),
        ..function(node, name, facts)
    })
}

fn params<'t>(code: Node<'t>, facts: &Facts<'t>) -> Vec<(&'t str, &'t str)> {
    if let Some(one) = code.child_by_field_name("parameter") {
        return vec![(facts.text_of(one), "")];
    }
    let list = code.child_by_field_name("parameters");
    let all = list.map_or_else(Vec::new, children).into_iter();
    all.map(|one| {
        let kind = facts
            .field(one, "type")
            .trim_start_matches(':')
            .trim_start();
        (facts.field(one, "pattern"), kind)
    })
    .collect()
}

pub(super) fn look(facts: &Facts<'_>, signs: &mut Signs<'_>) {
    if facts.text.starts_with("#!") {
        let first = facts.text.lines().next().unwrap_or_default();
        signs.add("cli_entry_point", 0, 95, format!("begins with `{first}`"));
    }
    if let Some(at) = facts.text.find("require.main === module") {
        let what = "runs as a script".to_owned();
        signs.add("cli_entry_point", at, 90, what);
    }
    for call in &facts.calls {
        called(facts, call, signs);
    }
    for function in &facts.functions {
        nested(facts, function, signs);
        between(
            facts,
            function.name,
            function.at,
            &function.params,
            &function.range,
            signs,
        );
        next_route(facts, function, signs);
    }
    let known = &frameworks().typescript;
    for one in &facts.types {
        let is_injected = |mark: &&Mark<'_>| mark.name == "Injectable";
        if one.marks.iter().any(|mark| is_injected(&mark)) {
            let what = format!("`{}` is given to those who ask for it", one.name);
            signs.add("dependency_injection", one.at, 95, what);
        }
        if one.bases.contains(&"EventEmitter") && facts.imports_any(&known.emitters) {
            let emitted = facts.calls_in(&one.range).iter();
            let emitted = emitted
                .filter(|call| call.on == "this" && call.name == "emit")
                .count();
            let sure = if emitted > 0 { 95 } else { 80 };
            let what = format!("`{}` is an `EventEmitter`", one.name);
            signs.add("event_bus", one.at, sure, what);
        }
        kept_instance(facts, one, signs);
    }
}

fn called(facts: &Facts<'_>, call: &Call<'_>, signs: &mut Signs<'_>) {
    let known = &frameworks().typescript;
    let first = call.args.first().map_or("", |arg| facts.text_of(*arg));
    let path = first.trim_matches(['"', '\'', '`']);
    let is_path = path.len() < first.len() && path.starts_with('/');
    let last = call.args.last();
    let is_function =
        last.is_some_and(|arg| matches!(arg.kind(), "arrow_function" | "function_expression"));
    let is_named = last.is_some_and(|arg| matches!(arg.kind(), "identifier" | "member_expression"));
    let is_app = ["app", "router", "server", "api"].contains(&word(call.on));
    match call.name {
        verb if known.verbs.has(verb) && is_path && call.args.len() > 1 => {
            let sure = match facts.imports_any(&known.routers) {
                true if is_function || is_named => 95,
                false if is_function && is_app => 80,
                _ => return,
            };
            let what = format!("routes {} {path}", verb.to_uppercase());
            signs.add("http_handler", call.at, sure, what);
        }
        "createServer" if is_function && facts.imports_any(&known.servers) => {
            let what = "answers requests of a server".to_owned();
            signs.add("http_handler", call.at, 90, what);
        }
        "parse"
            if facts.imports_any(&known.commands)
                && (first.is_empty() || first == "process.argv") =>
        {
            let what = "reads the command line".to_owned();
            signs.add("cli_entry_point", call.at, 85, what);
        }
        "use" => {
            for arg in call
                .args
                .iter()
                .filter(|arg| arg.kind().contains("function"))
            {
                let (params, range) = (params(*arg, facts), range(*arg));
                between(facts, "", arg.start_byte(), &params, &range, signs);
            }
        }
        _ => {}
    }
}

/// A function that is given a request and `next`, and calls that.
fn between(
    facts: &Facts<'_>,
    name: &str,
    at: usize,
    params: &[(&str, &str)],
    range: &std::ops::Range<usize>,
    signs: &mut Signs<'_>,
) {
    let Some(((next, _), before)) = params.split_last() else {
        return;
    };
    let known = &frameworks().typescript;
    let is_request = |(name, kind): &(&str, &str)| {
        known.requests.has(name.trim_start_matches('_')) || kind.contains("Request")
    };
    let is_called = || {
        let mut calls = facts.calls_in(range).iter();
        calls.any(|call| call.on.is_empty() && call.name == "next")
    };
    if *next == "next" && before.first().is_some_and(is_request) && is_called() {
        let shown = match name {
            "" => "a function".to_owned(),
            name => format!("`{name}`"),
        };
        let what = format!("{shown} lets the next one go on with `next`");
        signs.add("middleware", at, 90, what);
    }
}

/// Methods of Nest's controllers.
fn nested(facts: &Facts<'_>, function: &Function<'_>, signs: &mut Signs<'_>) {
    let known = &frameworks().typescript;
    let owner = function.owner.and_then(|name| facts.type_named(name));
    let controller = owner.and_then(|one| one.marks.iter().find(|mark| mark.name == "Controller"));
    let verb = |mark: &&Mark<'_>| known.verbs.has(&mark.name.to_lowercase());
    if let (Some(_), Some(mark)) = (controller, function.marks.iter().find(verb)) {
        let path = mark.args.trim_matches(['"', '\'', '`']);
        let verb = mark.name.to_uppercase();
        let what = format!("`{}` answers {verb} {path}", function.name);
        signs.add("http_handler", function.at, 95, what.trim_end().to_owned());
    }
}

/// `GET` and its like that the `route` file of Next.js offers.
fn next_route(facts: &Facts<'_>, function: &Function<'_>, signs: &mut Signs<'_>) {
    let known = &frameworks().typescript;
    let name = facts.path.rsplit('/').next().unwrap_or(facts.path);
    let is_route = matches!(name, "route.ts" | "route.js" | "route.tsx" | "route.jsx");
    let in_app = facts.path.split('/').any(|part| part == "app");
    let is_verb = known.verbs.has(&function.name.to_lowercase());
    let is_upper = function.name.chars().all(char::is_uppercase);
    if is_route && in_app && is_verb && is_upper {
        let folder = facts.path.rsplit_once("app/").map_or("", |(_, path)| path);
        let folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
        let what = format!("`{}` answers /{folder}", function.name);
        signs.add("http_handler", function.at, 95, what);
    }
}

pub(super) fn fixtures(facts: &Facts<'_>, signs: &mut Signs<'_>) {
    let known = &frameworks().typescript;
    for call in facts.calls.iter().filter(|call| call.on.is_empty()) {
        let is_function = call
            .args
            .first()
            .is_some_and(|arg| arg.kind().contains("function"));
        if known.around_tests.has(call.name) && is_function {
            let what = format!("`{}` runs around tests", call.name);
            signs.add("test_fixture", call.at, 95, what);
        }
    }
}
