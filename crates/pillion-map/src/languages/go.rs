//! Go.

use std::sync::LazyLock;

use tree_sitter::Node;

use super::super::world::Role;
use super::nodes::{Step, children, field_text, lines_of, text_of, walked};
use super::outline::{Bound, Def, DefId, Outline, OutlineImport, Path};
use super::reader::{Grammar, Hooks, no_tokens};

const QUERY: &str = r#"
(function_declaration name: (_) @name parameters: (_) @params) @function
(method_declaration name: (_) @name parameters: (_) @params) @function
(interface_type (method_elem name: (_) @name parameters: (_) @params) @function)
(type_spec name: (_) @name) @class

(struct_type (field_declaration_list (field_declaration !name type: (_) @base)))
(interface_type (type_elem . (_) @base .))

(import_spec) @import
(package_clause (package_identifier) @export)

(parameter_declaration name: (identifier) @local type: (_) @type)
(variadic_parameter_declaration name: (identifier) @local)
(short_var_declaration left: (expression_list (identifier) @local))
(short_var_declaration left: (expression_list . (identifier) @local .)
  right: (expression_list . (composite_literal type: (_) @type) .))
(short_var_declaration left: (expression_list . (identifier) @local .)
  right: (expression_list . (unary_expression operand: (composite_literal type: (_) @type)) .))
(short_var_declaration left: (expression_list . (identifier) @local)
  right: (expression_list . (call_expression function: (_) @value) .))
(var_spec name: (identifier) @local)
(var_spec name: (identifier) @local type: (_) @type)
(var_spec . name: (identifier) @local . value: (expression_list . (composite_literal type: (_) @type) .))
(var_spec . name: (identifier) @local . value: (expression_list
  . (unary_expression operand: (composite_literal type: (_) @type)) .))
(var_spec . name: (identifier) @local value: (expression_list . (call_expression function: (_) @value) .))
(const_spec name: (identifier) @local)
(range_clause left: (expression_list (identifier) @local))
(receive_statement left: (expression_list (identifier) @local))
(type_switch_statement alias: (expression_list (identifier) @local))
(field_declaration name: (field_identifier) @field type: (_) @type)

(call_expression function: (_) @call)
(identifier) @ref
(type_identifier) @ref
(qualified_type) @ref
(selector_expression) @ref
(interpreted_string_literal (interpreted_string_literal_content) @string)
"#;

const HOOKS: Hooks = Hooks {
    path,
    define,
    import,
    tokens: no_tokens,
};

static GO: LazyLock<Option<Grammar>> =
    LazyLock::new(|| Grammar::new(tree_sitter_go::LANGUAGE.into(), QUERY, HOOKS));

/// The outline of a text.
pub(super) fn outline(file: &str, text: &str) -> Outline {
    let mut outline = GO
        .as_ref()
        .map_or_else(Outline::default, |grammar| grammar.read(text));
    let is_test = file.ends_with("_test.go");
    let is_program = &*outline.package == "main";
    for def in &mut outline.defs {
        let is_top = def.owner.is_none();
        let tests = ["Test", "Benchmark", "Example", "Fuzz"];
        let is_offered = def.name.starts_with(char::is_uppercase);
        def.is_private = !is_offered;
        def.role = match &*def.name {
            "TestMain" if is_test && is_top => Role::Around,
            name if is_test && is_top && tests.iter().any(|t| name.starts_with(t)) => Role::Test,
            "main" | "init" if is_top => Role::Root,
            // Others may call it, or ask for it through an interface.
            _ if is_offered && !(is_top && (is_program || is_test)) => Role::Root,
            _ => Role::Plain,
        };
    }
    outline
}

fn path(node: Node<'_>, text: &str) -> Path {
    walked(node, node.kind() == "selector_expression", |at| {
        match at.kind() {
            "selector_expression" => Step::Part(
                field_text(at, "field", text),
                at.child_by_field_name("operand"),
            ),
            "qualified_type" => Step::Part(
                field_text(at, "name", text),
                at.child_by_field_name("package"),
            ),
            "generic_type" => Step::Inner(at.child_by_field_name("type")),
            "pointer_type" | "parenthesized_expression" | "parenthesized_type" | "type_elem" => {
                Step::Inner(at.named_child(0))
            }
            // A generic function looks like an index where it is the one that is called.
            "index_expression" if at == node => Step::Inner(at.child_by_field_name("operand")),
            "identifier" | "type_identifier" | "package_identifier" | "field_identifier" => {
                Step::First(text_of(at, text))
            }
            _ => Step::Unknown,
        }
    })
}

fn define(node: Node<'_>, text: &str, def: &mut Def) {
    def.has_body = node.kind() == "type_spec" || node.child_by_field_name("body").is_some();
    if node.kind() == "type_spec" {
        return;
    }
    def.params.clear();
    let list = node.child_by_field_name("parameters");
    for parameter in list.map(children).unwrap_or_default() {
        let mut cursor = parameter.walk();
        for name in parameter.children_by_field_name("name", &mut cursor) {
            def.params.push(text_of(name, text).into());
        }
    }
    if let Some(result) = node.child_by_field_name("result") {
        let first = match result.kind() {
            "parameter_list" => {
                let first = result.named_child(0);
                first.and_then(|first| first.child_by_field_name("type"))
            }
            _ => Some(result),
        };
        def.returns = first.map(|node| path(node, text));
    }
    let receiver = node.child_by_field_name("receiver");
    let receiver = receiver.and_then(|list| list.named_child(0));
    let receiver = receiver.and_then(|one| one.child_by_field_name("type"));
    def.owner = receiver.map(|node| path(node, text));
}

fn import(node: Node<'_>, text: &str, def: DefId, outline: &mut Outline) {
    if node.kind() == "package_identifier" {
        outline.package = text_of(node, text).into();
        return;
    }
    let Some(module) = node.child_by_field_name("path") else {
        return;
    };
    let module = text_of(module, text).trim_matches(['"', '`']);
    // A package is named by the last part of its path; a version is no name.
    let mut parts = module.rsplit('/');
    let last = parts.next().unwrap_or_default();
    let is_version = |part: &str| {
        part.len() > 1 && part.starts_with('v') && part[1..].chars().all(|c| c.is_ascii_digit())
    };
    let last = match is_version(last) {
        true => parts.next().unwrap_or(last),
        false => last,
    };
    let bound = match node.child_by_field_name("name").map(|n| text_of(n, text)) {
        Some("_") => Bound::Nothing,
        Some(".") => Bound::All,
        Some(name) => Bound::Module(name.into()),
        None => Bound::Module(last.into()),
    };
    outline.imports.push(OutlineImport {
        shown: module.into(),
        module: module.into(),
        bound,
        def,
        lines: lines_of(node),
        is_offered: false,
        is_local: true,
    });
}
