//! TypeScript and JavaScript. JavaScript is read by the grammar of TSX, which includes it.

use std::sync::LazyLock;

use tree_sitter::Node;

use super::super::world::Role;
use super::nodes::{Step, children, field_text, lines_of, text_of, walked};
use super::outline::{Bound, Def, DefId, Export, Outline, OutlineImport, Path};
use super::reader::{Grammar, Hooks, no_tokens};

const QUERY: &str = r#"
(function_declaration name: (_) @name parameters: (_) @params) @function
(generator_function_declaration name: (_) @name parameters: (_) @params) @function
(function_signature name: (_) @name parameters: (_) @params) @function
(variable_declarator name: (identifier) @name
  value: [(arrow_function parameters: (_) @params) (function_expression parameters: (_) @params)
          (generator_function parameters: (_) @params)]) @function
(variable_declarator name: (identifier) @name value: (arrow_function parameter: (_))) @function
(class_body (method_definition name: [(property_identifier) (private_property_identifier)] @name
  parameters: (_) @params) @function)
(class_body (abstract_method_signature name: (property_identifier) @name
  parameters: (_) @params) @function)
(class_body (public_field_definition name: [(property_identifier) (private_property_identifier)] @name
  value: [(arrow_function parameters: (_) @params) (function_expression parameters: (_) @params)]) @function)
(interface_body (method_signature name: (property_identifier) @name parameters: (_) @params) @function)
(class_declaration name: (_) @name) @class
(abstract_class_declaration name: (_) @name) @class
(variable_declarator name: (identifier) @name value: (class)) @class
(interface_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(internal_module name: (identifier) @name) @namespace

(extends_clause value: (_) @base)
(implements_clause (_) @base)
(extends_type_clause type: (_) @base)

(import_statement) @import
(export_statement source: (string)) @import
(export_statement (export_clause)) @import
(export_statement declaration: (_)) @export
(export_statement value: (identifier)) @export
(variable_declarator value: (call_expression function: (identifier) @_require
  arguments: (arguments (string))) (#eq? @_require "require")) @import
(assignment_expression left: (member_expression)) @export

(required_parameter pattern: (identifier) @local)
(required_parameter pattern: (identifier) @local type: (type_annotation) @type)
(optional_parameter pattern: (identifier) @local)
(optional_parameter pattern: (identifier) @local type: (type_annotation) @type)
(required_parameter (accessibility_modifier) pattern: (identifier) @field type: (type_annotation) @type)
(arrow_function parameter: (identifier) @local)
(shorthand_property_identifier_pattern) @local
(array_pattern (identifier) @local)
(pair_pattern value: (identifier) @local)
(rest_pattern (identifier) @local)
(assignment_pattern left: (identifier) @local)
(variable_declarator name: (identifier) @local)
(variable_declarator name: (identifier) @local type: (type_annotation) @type)
(variable_declarator name: (identifier) @local value: (new_expression constructor: (_) @value))
(variable_declarator name: (identifier) @local value: (call_expression function: (_) @value))
(assignment_expression left: (identifier) @local)
(catch_clause parameter: (identifier) @local)
(for_in_statement left: (identifier) @local)
(public_field_definition name: (property_identifier) @field)
(public_field_definition name: (property_identifier) @field type: (type_annotation) @type)
(public_field_definition name: (property_identifier) @field value: (new_expression constructor: (_) @value))
(interface_body (property_signature name: (property_identifier) @field type: (type_annotation) @type))
(assignment_expression left: (member_expression object: (this) property: (property_identifier) @field))
(assignment_expression left: (member_expression object: (this) property: (property_identifier) @field)
  right: (new_expression constructor: (_) @value))

(call_expression function: (_) @call)
(new_expression constructor: (_) @new)
(identifier) @ref
(type_identifier) @ref
(shorthand_property_identifier) @ref
(member_expression property: (property_identifier)) @ref
(decorator (identifier) @call)
(string (string_fragment) @string)
"#;

/// What only TSX has.
const JSX: &str = "
(jsx_opening_element name: [(identifier) (member_expression)] @call)
(jsx_self_closing_element name: [(identifier) (member_expression)] @call)
";

const HOOKS: Hooks = Hooks {
    path,
    define,
    import,
    tokens: no_tokens,
};

static TYPESCRIPT: LazyLock<Option<Grammar>> = LazyLock::new(|| {
    Grammar::new(
        tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        QUERY,
        HOOKS,
    )
});
static TSX: LazyLock<Option<Grammar>> = LazyLock::new(|| {
    let query = format!("{QUERY}{JSX}");
    Grammar::new(tree_sitter_typescript::LANGUAGE_TSX.into(), &query, HOOKS)
});

/// The outline of a text.
pub(super) fn outline(file: &str, text: &str) -> Outline {
    let is_typescript = [".ts", ".mts", ".cts"]
        .iter()
        .any(|end| file.ends_with(end));
    let grammar = if is_typescript { &TYPESCRIPT } else { &TSX };
    grammar
        .as_ref()
        .map_or_else(Outline::default, |grammar| grammar.read(text))
}

fn path(node: Node<'_>, text: &str) -> Path {
    walked(node, node.kind() == "member_expression", |at| {
        match at.kind() {
            "member_expression" | "nested_identifier" => {
                let from = at.child_by_field_name("object");
                Step::Part(field_text(at, "property", text), from)
            }
            "nested_type_identifier" => Step::Part(
                field_text(at, "name", text),
                at.child_by_field_name("module"),
            ),
            "generic_type" => Step::Inner(at.child_by_field_name("name")),
            "type_annotation" | "non_null_expression" | "parenthesized_expression" => {
                Step::Inner(at.named_child(0))
            }
            "identifier"
            | "type_identifier"
            | "property_identifier"
            | "shorthand_property_identifier"
            | "this"
            | "super" => Step::First(text_of(at, text)),
            _ => Step::Unknown,
        }
    })
}

fn define(node: Node<'_>, text: &str, def: &mut Def) {
    let function = match node.kind() {
        "variable_declarator" | "public_field_definition" => {
            node.child_by_field_name("value").unwrap_or(node)
        }
        _ => node,
    };
    def.has_body = function.child_by_field_name("body").is_some();
    let returns = function.child_by_field_name("return_type");
    def.returns = returns.map(|node| path(node, text));
    if let Some(one) = function.child_by_field_name("parameter") {
        def.params = vec![text_of(one, text).into()];
    }
    let mut cursor = node.walk();
    let is_accessor = node
        .children(&mut cursor)
        .any(|c| matches!(c.kind(), "get" | "set"));
    let before = node
        .prev_named_sibling()
        .filter(|_| node.kind() == "method_definition");
    let is_decorated = before.is_some_and(|before| before.kind() == "decorator");
    let parent = node
        .parent()
        .filter(|parent| parent.kind() == "export_statement");
    let is_default = parent.is_some_and(|parent| is_default(parent));
    if is_accessor || is_decorated || is_default || &*def.name == "constructor" {
        def.role = Role::Root;
    }
}

/// Whether a statement exports something as the one that a module is for.
fn is_default(export: Node<'_>) -> bool {
    let mut cursor = export.walk();
    export
        .children(&mut cursor)
        .any(|child| child.kind() == "default")
}

fn unquoted(node: Node<'_>, text: &str) -> Box<str> {
    text_of(node, text).trim_matches(['"', '\'', '`']).into()
}

fn import(node: Node<'_>, text: &str, def: DefId, outline: &mut Outline) {
    match node.kind() {
        "import_statement" => imported(node, text, def, outline),
        "variable_declarator" => required(node, text, def, outline),
        "assignment_expression" => assigned(node, text, outline),
        _ => exported(node, text, def, outline),
    }
}

fn one(module: &str, bound: Bound, def: DefId, node: Node<'_>) -> OutlineImport {
    OutlineImport {
        shown: module.into(),
        module: module.into(),
        bound,
        def,
        lines: lines_of(node),
        is_offered: false,
        is_local: true,
    }
}

fn imported(node: Node<'_>, text: &str, def: DefId, outline: &mut Outline) {
    let mut bound = Vec::new();
    let mut source = node.child_by_field_name("source");
    for clause in children(node) {
        if clause.kind() == "import_require_clause" {
            source = clause.child_by_field_name("source");
            let name = clause.named_child(0).map(|n| text_of(n, text));
            bound.extend(name.map(|name| Bound::Module(name.into())));
        }
        for part in children(clause) {
            let name = part.named_child(0).map_or("", |n| text_of(n, text));
            match part.kind() {
                "identifier" if clause.kind() == "import_clause" => bound.push(Bound::Name {
                    name: "default".into(),
                    by: text_of(part, text).into(),
                }),
                "namespace_import" => bound.push(Bound::Module(name.into())),
                "named_imports" => bound.extend(children(part).into_iter().map(|s| named(s, text))),
                _ => {}
            }
        }
    }
    let Some(module) = source.map(|source| unquoted(source, text)) else {
        return;
    };
    if bound.is_empty() {
        bound.push(Bound::Nothing);
    }
    let all = bound
        .into_iter()
        .map(|bound| one(&module, bound, def, node));
    outline.imports.extend(all);
}

/// `name as by`, in imports and exports.
fn named(specifier: Node<'_>, text: &str) -> Bound {
    let field = |name| {
        specifier
            .child_by_field_name(name)
            .map(|n| unquoted(n, text))
    };
    let name = field("name").unwrap_or_default();
    let by = field("alias").unwrap_or_else(|| name.clone());
    Bound::Name { name, by }
}

/// `const name = require("module")`.
fn required(node: Node<'_>, text: &str, def: DefId, outline: &mut Outline) {
    let value = node.child_by_field_name("value");
    let arguments = value.and_then(|value| value.child_by_field_name("arguments"));
    let source = arguments.and_then(|arguments| arguments.named_child(0));
    let (Some(source), Some(name)) = (source, node.child_by_field_name("name")) else {
        return;
    };
    let module = unquoted(source, text);
    let mut bound = Vec::new();
    match name.kind() {
        "identifier" => bound.push(Bound::Module(text_of(name, text).into())),
        "object_pattern" => {
            for part in children(name) {
                let field = |name| part.child_by_field_name(name).map(|n| text_of(n, text));
                let whole = text_of(part, text);
                bound.push(Bound::Name {
                    name: field("key").unwrap_or(whole).into(),
                    by: field("value").unwrap_or(whole).into(),
                });
            }
        }
        _ => {}
    }
    let all = bound
        .into_iter()
        .map(|bound| one(&module, bound, def, node));
    outline.imports.extend(all);
}

/// `exports.name = local`, `module.exports = { name: local }`, `module.exports = local`.
fn assigned(node: Node<'_>, text: &str, outline: &mut Outline) {
    let field = |name| node.child_by_field_name(name);
    let (Some(left), Some(right)) = (field("left"), field("right")) else {
        return;
    };
    let left = path(left, text);
    let parts: Vec<&str> = left.parts.iter().map(|part| &**part).collect();
    let mut offer = |name: &str, value: Node<'_>| {
        if matches!(value.kind(), "identifier" | "shorthand_property_identifier") {
            outline.exports.push(Export {
                name: name.into(),
                local: text_of(value, text).into(),
            });
        }
    };
    match parts[..] {
        ["exports", name] | ["module", "exports", name] => offer(name, right),
        ["module", "exports"] if right.kind() == "object" => {
            for pair in children(right) {
                let key = pair.child_by_field_name("key");
                let value = pair.child_by_field_name("value");
                offer(text_of(key.unwrap_or(pair), text), value.unwrap_or(pair));
            }
        }
        ["module", "exports"] => offer("default", right),
        _ => {}
    }
}

fn exported(node: Node<'_>, text: &str, def: DefId, outline: &mut Outline) {
    let source = node
        .child_by_field_name("source")
        .map(|n| unquoted(n, text));
    if let Some(module) = source {
        let mut is_named = false;
        for part in children(node) {
            let bound: Vec<Bound> = match part.kind() {
                "export_clause" => children(part).into_iter().map(|s| named(s, text)).collect(),
                "namespace_export" => {
                    let name = part.named_child(0).map_or("", |n| text_of(n, text));
                    vec![Bound::Module(name.into())]
                }
                _ => continue,
            };
            is_named = true;
            outline
                .imports
                .extend(bound.into_iter().map(|bound| OutlineImport {
                    is_offered: true,
                    is_local: false,
                    ..one(&module, bound, def, node)
                }));
        }
        if !is_named {
            outline.imports.push(OutlineImport {
                is_offered: true,
                is_local: false,
                ..one(&module, Bound::All, def, node)
            });
        }
        return;
    }
    let mut offer = |name: &str, local: &str| {
        outline.exports.push(Export {
            name: name.into(),
            local: local.into(),
        });
    };
    for part in children(node) {
        match part.kind() {
            "export_clause" => {
                for specifier in children(part) {
                    if let Bound::Name { name, by } = named(specifier, text) {
                        offer(&by, &name);
                    }
                }
            }
            "identifier" => offer("default", text_of(part, text)),
            "lexical_declaration" | "variable_declaration" => {
                for declarator in children(part) {
                    let name = declarator.child_by_field_name("name");
                    let name = name.filter(|name| name.kind() == "identifier");
                    if let Some(name) = name.map(|name| text_of(name, text)) {
                        offer(name, name);
                    }
                }
            }
            _ => {
                if let Some(name) = part.child_by_field_name("name") {
                    let local = text_of(name, text);
                    offer(if is_default(node) { "default" } else { local }, local);
                }
            }
        }
    }
}
