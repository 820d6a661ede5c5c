//! Java.

use std::sync::LazyLock;

use tree_sitter::Node;

use super::super::world::Role;
use super::nodes::{Step, children, field_text, lines_of, text_of, walked};
use super::outline::{Bound, Def, DefId, DefKind, Outline, OutlineImport, Path};
use super::reader::{Grammar, Hooks, no_tokens};

const QUERY: &str = r#"
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(annotation_type_declaration name: (_) @name) @class
(method_declaration name: (_) @name parameters: (_) @params) @function
(constructor_declaration name: (_) @name parameters: (_) @params) @function
(compact_constructor_declaration name: (_) @name) @function

(superclass (_) @base)
(super_interfaces (type_list (_) @base))
(extends_interfaces (type_list (_) @base))

(import_declaration) @import
(package_declaration) @import

(formal_parameter type: (_) @type name: (identifier) @local)
(spread_parameter (variable_declarator name: (identifier) @local))
(local_variable_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @local))
(field_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @local))
(record_declaration parameters: (formal_parameters
  (formal_parameter type: (_) @type name: (identifier) @local)))
(enhanced_for_statement type: (_) @type name: (identifier) @local)
(catch_formal_parameter name: (identifier) @local)
(resource type: (_) @type name: (identifier) @local)
(inferred_parameters (identifier) @local)
(lambda_expression parameters: (identifier) @local)
(instanceof_expression right: (_) @type name: (identifier) @local)
(type_pattern (_) @type (identifier) @local)
(enum_constant name: (identifier) @local)

(method_invocation) @call
(object_creation_expression type: (_) @new)
(explicit_constructor_invocation constructor: (_) @call)
(method_reference) @ref
(identifier) @ref
(type_identifier) @ref
(scoped_type_identifier) @ref
(field_access) @ref
(string_literal (string_fragment) @string)
"#;

const HOOKS: Hooks = Hooks {
    path,
    define,
    import,
    tokens: no_tokens,
};

static JAVA: LazyLock<Option<Grammar>> =
    LazyLock::new(|| Grammar::new(tree_sitter_java::LANGUAGE.into(), QUERY, HOOKS));

/// Annotations that call nothing.
const INERT: &[&str] = &[
    "CheckForNull",
    "Deprecated",
    "FunctionalInterface",
    "NonNull",
    "NotNull",
    "Nullable",
    "Override",
    "SafeVarargs",
    "SuppressWarnings",
    "VisibleForTesting",
];

/// The outline of a text.
pub(super) fn outline(file: &str, text: &str) -> Outline {
    let mut outline = JAVA
        .as_ref()
        .map_or_else(Outline::default, |grammar| grammar.read(text));
    let classes: Vec<Box<str>> = outline.defs.iter().map(|def| def.name.clone()).collect();
    let in_tests = super::testing::is_java_test(file);
    for def in &mut outline.defs {
        let is_old_test = def.name.starts_with("test") && def.kind == DefKind::Function;
        if in_tests && is_old_test && def.role != Role::Around {
            def.role = Role::Test;
        }
        // A class is made as others like: by a container, a test, a serializer.
        if def.kind == DefKind::Function && classes.get(def.parent as usize) == Some(&def.name) {
            def.role = Role::Root;
        }
    }
    outline
}

fn path(node: Node<'_>, text: &str) -> Path {
    let mut path = walked(node, false, |at| {
        let field = |name: &str| at.child_by_field_name(name);
        match at.kind() {
            "method_invocation" if at == node => match field("object") {
                Some(object) => Step::Part(field_text(at, "name", text), Some(object)),
                None => Step::First(field_text(at, "name", text)),
            },
            "field_access" => Step::Part(field_text(at, "field", text), field("object")),
            "scoped_identifier" => Step::Part(field_text(at, "name", text), field("scope")),
            "method_reference" | "scoped_type_identifier" => {
                let all = children(at);
                let last = all.last().filter(|_| all.len() > 1);
                let name = last.map_or("new", |last| text_of(*last, text));
                Step::Part(name, all.first().copied())
            }
            "generic_type" | "parenthesized_expression" => Step::Inner(at.named_child(0)),
            "identifier" | "type_identifier" | "this" | "super" => Step::First(text_of(at, text)),
            _ => Step::Unknown,
        }
    });
    path.is_member = path.parts.len() > 1 && node.kind() != "scoped_type_identifier";
    path
}

fn define(node: Node<'_>, text: &str, def: &mut Def) {
    def.has_body = node.child_by_field_name("body").is_some();
    let mut all = children(node).into_iter();
    let modifiers = all.find(|child| child.kind() == "modifiers");
    let words = modifiers.map_or("", |node| text_of(node, text));
    let has = |word: &str| words.split_whitespace().any(|other| other == word);
    def.is_private = has("private");
    if def.kind != DefKind::Function {
        return;
    }
    let returns = node.child_by_field_name("type");
    def.returns = returns.map(|node| path(node, text));
    let in_interface = node
        .parent()
        .is_some_and(|body| body.kind() == "interface_body");
    if has("public") || has("protected") || in_interface || &*def.name == "main" {
        def.role = Role::Root;
    }
    for annotation in modifiers.map(children).unwrap_or_default() {
        let name = annotation.child_by_field_name("name");
        let name = name.map_or("", |n| text_of(n, text));
        match name.rsplit('.').next().unwrap_or(name) {
            "Test" | "ParameterizedTest" | "RepeatedTest" | "TestFactory" | "TestTemplate" => {
                def.role = Role::Test;
            }
            "BeforeEach" | "AfterEach" | "BeforeAll" | "AfterAll" | "Before" | "After"
            | "BeforeClass" | "AfterClass" => def.role = Role::Around,
            other if INERT.contains(&other) => {}
            _ if def.role == Role::Plain => def.role = Role::Root,
            _ => {}
        }
    }
}

fn import(node: Node<'_>, text: &str, def: DefId, outline: &mut Outline) {
    let all = children(node);
    let name = all
        .iter()
        .find(|n| matches!(n.kind(), "scoped_identifier" | "identifier"));
    let Some(name) = name.map(|name| text_of(*name, text)) else {
        return;
    };
    let name: String = name.chars().filter(|c| !c.is_whitespace()).collect();
    if node.kind() == "package_declaration" {
        outline.package = name.into();
        return;
    }
    let is_star = all.iter().any(|child| child.kind() == "asterisk");
    let (module, bound) = match (is_star, name.rsplit_once('.')) {
        (true, _) => (&*name, Bound::All),
        (false, Some((module, last))) => {
            let (name, by) = (last.into(), last.into());
            (module, Bound::Name { name, by })
        }
        (false, None) => return,
    };
    let shown = if is_star {
        format!("{name}.*")
    } else {
        name.clone()
    };
    outline.imports.push(OutlineImport {
        shown: shown.into(),
        module: module.into(),
        bound,
        def,
        lines: lines_of(node),
        is_offered: false,
        is_local: true,
    });
}
