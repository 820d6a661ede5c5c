//! C.

use std::sync::LazyLock;

use tree_sitter::Node;

use super::super::world::Role;
use super::nodes::{Step, children, field_text, lines_of, text_of, walked};
use super::outline::{Bound, Def, DefId, DefKind, Export, FILE, Outline, OutlineImport, Path};
use super::reader::{Grammar, Hooks, no_tokens};

const QUERY: &str = r#"
(function_definition declarator: (function_declarator
  declarator: (identifier) @name parameters: (_) @params)) @function
(function_definition declarator: (pointer_declarator declarator: (function_declarator
  declarator: (identifier) @name parameters: (_) @params))) @function
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator
  declarator: (function_declarator declarator: (identifier) @name parameters: (_) @params)))) @function
(preproc_function_def name: (_) @name parameters: (_) @params) @function
(struct_specifier name: (_) @name body: (_)) @class
(union_specifier name: (_) @name body: (_)) @class
(enum_specifier name: (_) @name body: (_)) @class
(type_definition type: (struct_specifier !name) declarator: (type_identifier) @name) @class

(preproc_include) @import
(declaration declarator: (function_declarator declarator: (identifier) @export))
(declaration declarator: (pointer_declarator declarator: (function_declarator
  declarator: (identifier) @export)))

(parameter_declaration declarator: (identifier) @local)
(parameter_declaration declarator: (pointer_declarator declarator: (identifier) @local))
(parameter_declaration declarator: (function_declarator declarator: (parenthesized_declarator
  (pointer_declarator declarator: (identifier) @local))))
(declaration declarator: (identifier) @local)
(declaration declarator: (pointer_declarator declarator: (identifier) @local))
(declaration declarator: (array_declarator declarator: (identifier) @local))
(init_declarator declarator: (identifier) @local)
(init_declarator declarator: (pointer_declarator declarator: (identifier) @local))
(init_declarator declarator: (array_declarator declarator: (identifier) @local))
(function_declarator declarator: (parenthesized_declarator
  (pointer_declarator declarator: (identifier) @local)))

(call_expression function: (_) @call)
(identifier) @ref
(type_identifier) @ref
(string_literal (string_content) @string)
"#;

const HOOKS: Hooks = Hooks {
    path,
    define,
    import,
    tokens: no_tokens,
};

static C: LazyLock<Option<Grammar>> =
    LazyLock::new(|| Grammar::new(tree_sitter_c::LANGUAGE.into(), QUERY, HOOKS));

/// The outline of a text.
pub(super) fn outline(file: &str, text: &str) -> Outline {
    let mut outline = C
        .as_ref()
        .map_or_else(Outline::default, |grammar| grammar.read(text));
    // The names in prototypes are nobody's, and variables of a file call nothing.
    outline.locals.retain(|local| local.def != FILE);
    let in_tests = super::testing::is_c_test(file);
    for def in &mut outline.defs {
        let is_function = def.kind == DefKind::Function;
        if is_function && in_tests && def.name.starts_with("test") {
            def.role = Role::Test;
        } else if is_function && &*def.name == "main" {
            def.role = Role::Root;
        }
    }
    outline
}

fn path(node: Node<'_>, text: &str) -> Path {
    walked(node, node.kind() == "field_expression", |at| {
        match at.kind() {
            "field_expression" => Step::Part(
                field_text(at, "field", text),
                at.child_by_field_name("argument"),
            ),
            "parenthesized_expression" => Step::Inner(at.named_child(0)),
            "identifier" | "type_identifier" => Step::First(text_of(at, text)),
            _ => Step::Unknown,
        }
    })
}

fn define(node: Node<'_>, text: &str, def: &mut Def) {
    def.has_body = true;
    let mut all = children(node).into_iter();
    def.is_private = node.kind() == "preproc_function_def"
        || all.any(|c| c.kind() == "storage_class_specifier" && text_of(c, text) == "static");
    def.params.retain(|name| &**name != "void");
}

fn import(node: Node<'_>, text: &str, def: DefId, outline: &mut Outline) {
    if node.kind() == "identifier" {
        let name: Box<str> = text_of(node, text).into();
        outline.exports.push(Export {
            local: name.clone(),
            name,
        });
        return;
    }
    let Some(module) = node.child_by_field_name("path") else {
        return;
    };
    let module = text_of(module, text).trim_matches('"');
    outline.imports.push(OutlineImport {
        shown: module.into(),
        module: module.into(),
        bound: Bound::All,
        def,
        lines: lines_of(node),
        is_offered: true,
        is_local: true,
    });
}
