//! Rust.

use std::sync::LazyLock;

use tree_sitter::Node;

use super::super::world::Role;
use super::nodes::{Step, children, field_text, line_of, lines_of, text_of, walked};
use super::outline::{Bound, Def, DefId, Outline, OutlineImport, Path};
use super::reader::{Grammar, Hooks, Token};

const QUERY: &str = r#"
(function_item name: (_) @name parameters: (_) @params) @function
(function_signature_item name: (_) @name parameters: (_) @params) @function
(struct_item name: (_) @name) @class
(enum_item name: (_) @name) @class
(union_item name: (_) @name) @class
(trait_item name: (_) @name) @class
(mod_item name: (_) @name body: (_)) @namespace

(impl_item trait: (_) @fulfils type: (_) @type)
(trait_item bounds: (trait_bounds [(type_identifier) (scoped_type_identifier) (generic_type)] @base))

(use_declaration) @import
(mod_item !body) @import

(parameter pattern: (identifier) @local type: (_) @type)
(let_declaration pattern: (identifier) @local)
(let_declaration pattern: (identifier) @local type: (_) @type)
(let_declaration pattern: (identifier) @local value: (struct_expression name: (_) @type))
(let_declaration pattern: (identifier) @local value: (call_expression function: (_) @value))
(closure_parameters (identifier) @local)
(for_expression pattern: (identifier) @local)
(tuple_pattern (identifier) @local)
(tuple_struct_pattern (identifier) @local)
(slice_pattern (identifier) @local)
(mut_pattern (identifier) @local)
(ref_pattern (identifier) @local)
(reference_pattern (identifier) @local)
(captured_pattern . (identifier) @local)
(field_pattern name: (shorthand_field_identifier) @local)
(field_pattern pattern: (identifier) @local)
(match_pattern (identifier) @local)
(const_item name: (identifier) @local type: (_) @type)
(static_item name: (identifier) @local type: (_) @type)
(field_declaration name: (field_identifier) @field type: (_) @type)

(call_expression function: (_) @call)
(macro_invocation (token_tree) @tokens)
(identifier) @ref
(type_identifier) @ref
(scoped_identifier) @ref
(scoped_type_identifier) @ref
(string_literal (string_content) @string)
"#;

const HOOKS: Hooks = Hooks {
    path,
    define,
    import,
    tokens,
};

static RUST: LazyLock<Option<Grammar>> =
    LazyLock::new(|| Grammar::new(tree_sitter_rust::LANGUAGE.into(), QUERY, HOOKS));

/// Types that lead to what is in them.
const TRANSPARENT: &[&str] = &["Arc", "Box", "Cow", "Pin", "Rc"];
/// Attributes that call nothing.
const INERT: &[&str] = &[
    "allow",
    "cfg",
    "cfg_attr",
    "cold",
    "deny",
    "deprecated",
    "derive",
    "doc",
    "expect",
    "forbid",
    "inline",
    "must_use",
    "rustfmt",
    "track_caller",
    "warn",
];
/// Macros in which words are code like any other.
const PLAIN: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_matches",
    "assert_ne",
    "bail",
    "dbg",
    "debug",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "ensure",
    "eprint",
    "eprintln",
    "error",
    "format",
    "format_args",
    "info",
    "matches",
    "panic",
    "print",
    "println",
    "prop_assert",
    "prop_assert_eq",
    "trace",
    "try_join",
    "unreachable",
    "vec",
    "warn",
    "write",
    "writeln",
];

/// The outline of a text.
pub(super) fn outline(_: &str, text: &str) -> Outline {
    RUST.as_ref()
        .map_or_else(Outline::default, |grammar| grammar.read(text))
}

fn path(node: Node<'_>, text: &str) -> Path {
    let kind = match node.kind() {
        "generic_function" => node
            .child_by_field_name("function")
            .map_or("", |function| function.kind()),
        kind => kind,
    };
    walked(node, kind == "field_expression", |at| {
        let field = |name: &str| at.child_by_field_name(name);
        match at.kind() {
            "field_expression" => Step::Part(field_text(at, "field", text), field("value")),
            "scoped_identifier" | "scoped_type_identifier" => {
                Step::Part(field_text(at, "name", text), field("path"))
            }
            "generic_type" | "generic_type_with_turbofish" => {
                let name = field_text(at, "type", text);
                let inner = field("type_arguments").and_then(|list| list.named_child(0));
                let inner = inner.filter(|_| TRANSPARENT.contains(&name));
                Step::Inner(inner.or_else(|| field("type")))
            }
            "generic_function" => Step::Inner(field("function")),
            "reference_type" => Step::Inner(field("type")),
            "dynamic_type" | "abstract_type" => Step::Inner(field("trait")),
            "parenthesized_expression" | "reference_expression" => Step::Inner(at.named_child(0)),
            "identifier" | "type_identifier" | "field_identifier" | "self" | "super" | "crate" => {
                Step::First(text_of(at, text))
            }
            _ => Step::Unknown,
        }
    })
}

/// Attributes and comments before a definition that are looked at: each takes as long as there
/// are others.
const MAX_BEFORE: usize = 100;

fn define(node: Node<'_>, text: &str, def: &mut Def) {
    def.has_body = node.child_by_field_name("body").is_some();
    let mut is_kept = false;
    let mut before = node.prev_sibling();
    for _ in 0..MAX_BEFORE {
        let Some(above) = before else { break };
        match above.kind() {
            "attribute_item" => {
                def.lines.0 = line_of(above);
                let words = text_of(above, text).trim_start_matches(['#', '[', ' ']);
                let end = words.find(|c: char| c != '_' && c != ':' && !c.is_alphanumeric());
                let name = &words[..end.unwrap_or(words.len())];
                let last = name.rsplit(':').next().unwrap_or(name);
                if matches!(last, "test" | "rstest" | "test_case") {
                    def.role = Role::Test;
                }
                is_kept |= !INERT.contains(&last);
            }
            "line_comment" | "block_comment" => {}
            _ => break,
        }
        before = above.prev_sibling();
    }
    let mut all = children(node).into_iter();
    let visibility = all.find(|child| child.kind() == "visibility_modifier");
    let is_offered = visibility.is_some_and(|v| text_of(v, text) == "pub");
    def.is_private = visibility.is_none();
    if !node.kind().starts_with("function") {
        return;
    }
    let returns = node.child_by_field_name("return_type");
    def.returns = returns.map(|node| path(node, text));
    let around = node.parent().and_then(|list| list.parent());
    let mut is_asked = false;
    if let Some(block) = around.filter(|block| block.kind() == "impl_item") {
        let owner = block.child_by_field_name("type");
        def.owner = owner.map(|owner| path(owner, text));
        is_asked = block.child_by_field_name("trait").is_some();
    }
    let is_root = is_kept || is_offered || is_asked || &*def.name == "main";
    if is_root && def.role == Role::Plain {
        def.role = Role::Root;
    }
}

fn import(node: Node<'_>, text: &str, def: DefId, outline: &mut Outline) {
    let mut all = children(node).into_iter();
    let is_offered = all.any(|child| child.kind() == "visibility_modifier");
    let lines = lines_of(node);
    let mut add = |module: &[&str], bound: Bound| {
        let module = module.join("::");
        let shown = match &bound {
            Bound::Name { name, .. } if module.is_empty() => name.to_string(),
            Bound::Name { name, .. } => format!("{module}::{name}"),
            Bound::All => format!("{module}::*"),
            _ => String::new(),
        };
        outline.imports.push(OutlineImport {
            shown: shown.into(),
            module: module.into(),
            bound,
            def,
            lines,
            is_offered,
            is_local: true,
        });
    };
    if node.kind() == "mod_item" {
        let name = node
            .child_by_field_name("name")
            .map_or("", |n| text_of(n, text));
        add(&["mod", name], Bound::Module(name.into()));
        return;
    }
    if let Some(argument) = node.child_by_field_name("argument") {
        used(argument, text, &[], 0, &mut add);
    }
}

/// One branch of a `use`.
fn used(
    node: Node<'_>,
    text: &str,
    before: &[&str],
    depth: u32,
    add: &mut dyn FnMut(&[&str], Bound),
) {
    // Nobody nests them so deep.
    if depth > 16 {
        return;
    }
    let words = |node: Node<'_>| -> Vec<String> {
        text_of(node, text)
            .split("::")
            .map(|part| part.trim().to_owned())
            .collect()
    };
    let joined = |node: Node<'_>| -> Vec<String> {
        let mut all: Vec<String> = before.iter().map(|part| (*part).to_owned()).collect();
        all.extend(words(node));
        all
    };
    let mut leaf = |mut parts: Vec<String>, by: Option<&str>| {
        if parts.last().is_some_and(|last| last == "self") && parts.len() > 1 {
            parts.pop();
        }
        let Some(name) = parts.pop() else {
            return;
        };
        let module: Vec<&str> = parts.iter().map(|part| &**part).collect();
        let by = by.unwrap_or(&name).into();
        add(
            &module,
            Bound::Name {
                name: (&*name).into(),
                by,
            },
        );
    };
    match node.kind() {
        "use_as_clause" => {
            let by = node.child_by_field_name("alias").map(|n| text_of(n, text));
            if let Some(path) = node.child_by_field_name("path") {
                leaf(joined(path), by);
            }
        }
        "use_wildcard" => {
            let parts = node.named_child(0).map_or_else(
                || before.iter().map(|part| (*part).to_owned()).collect(),
                joined,
            );
            let module: Vec<&str> = parts.iter().map(|part| &**part).collect();
            add(&module, Bound::All);
        }
        "scoped_use_list" | "use_list" => {
            let path = node.child_by_field_name("path");
            let parts = path.map_or_else(
                || before.iter().map(|part| (*part).to_owned()).collect(),
                joined,
            );
            let parts: Vec<&str> = parts.iter().map(|part| &**part).collect();
            let list = node.child_by_field_name("list").unwrap_or(node);
            for branch in children(list) {
                used(branch, text, &parts, depth + 1, add);
            }
        }
        "identifier" | "scoped_identifier" | "self" | "super" | "crate" => leaf(joined(node), None),
        _ => {}
    }
}

/// The calls and names in what is given to a macro.
fn tokens(node: Node<'_>, text: &str, found: &mut dyn FnMut(Token)) {
    let name = node
        .parent()
        .and_then(|call| call.child_by_field_name("macro"));
    let name = name.map_or("", |name| text_of(name, text));
    let is_loose = !PLAIN.contains(&name.rsplit("::").next().unwrap_or(name));
    let mut open = vec![node];
    while let Some(tree) = open.pop() {
        let mut path: Option<Path> = None;
        let mut joint = "";
        let mut cursor = tree.walk();
        for child in tree.children(&mut cursor) {
            let mut emit = |path: &mut Option<Path>, is_call: bool| {
                let path = path
                    .take()
                    .filter(|p| p.parts.len() <= 8 && !p.last().is_empty());
                if let Some(path) = path {
                    found(Token {
                        path,
                        is_call,
                        line: line_of(child),
                        is_loose,
                    });
                }
            };
            let word = text_of(child, text);
            match child.kind() {
                "identifier" | "self" | "super" | "crate" => {
                    path = match (path.take(), joint) {
                        (Some(path), "::") => Some(path.then(word, false)),
                        (Some(path), ".") => Some(path.then(word, true)),
                        (None, "." | "::") => Some(Path::unknown().then(word, true)),
                        (mut other, _) => {
                            emit(&mut other, false);
                            Some(Path::one(word))
                        }
                    };
                    joint = "";
                }
                "::" | "." => joint = if child.kind() == "." { "." } else { "::" },
                "token_tree" => {
                    emit(&mut path, word.starts_with('('));
                    open.push(child);
                    joint = "";
                }
                // The name of a macro in a macro.
                "!" => path = None,
                _ => {
                    emit(&mut path, false);
                    joint = "";
                }
            }
        }
    }
}
