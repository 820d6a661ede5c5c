//! What is read from single nodes of a tree: texts, lines, paths, parameters, errors.

use std::collections::HashSet;

use tree_sitter::Node;

use super::outline::{Path, UNKNOWN};
use super::tree::each_error;

/// Lines with errors that are kept of a file.
const MAX_ERRORS: usize = 20;
/// Parts of a path; longer ones begin with something unknown.
const MAX_PARTS: usize = 8;
/// Nodes that are looked at for a path.
const MAX_STEPS: usize = 32;

/// The text of a node.
pub(super) fn text_of<'t>(node: Node<'_>, text: &'t str) -> &'t str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// The line of a node from 1.
pub(super) fn line_of(node: Node<'_>) -> u32 {
    u32::try_from(node.start_position().row).unwrap_or(u32::MAX - 1) + 1
}

pub(super) fn lines_of(node: Node<'_>) -> (u32, u32) {
    let end = u32::try_from(node.end_position().row).unwrap_or(u32::MAX - 1) + 1;
    (line_of(node), end)
}

/// What a node adds to a path that is read from its end.
pub(super) enum Step<'t, 'x> {
    /// A name, taken from another node.
    Part(&'x str, Option<Node<'t>>),
    /// The same as another node.
    Inner(Option<Node<'t>>),
    /// The first name.
    First(&'x str),
    Unknown,
}

/// The path that a node is. One that is too long begins with something unknown.
pub(super) fn walked<'t, 'x>(
    node: Node<'t>,
    is_member: bool,
    step: impl Fn(Node<'t>) -> Step<'t, 'x>,
) -> Path {
    let mut parts: Vec<Box<str>> = Vec::new();
    let mut at = Some(node);
    let mut first = UNKNOWN;
    for _ in 0..MAX_STEPS {
        let Some(here) = at.filter(|_| parts.len() < MAX_PARTS) else {
            break;
        };
        match step(here) {
            Step::Part(name, from) => {
                parts.push(name.into());
                at = from;
            }
            Step::Inner(inner) => at = inner,
            Step::First(name) => {
                first = name;
                break;
            }
            Step::Unknown => break,
        }
    }
    parts.push(first.into());
    parts.reverse();
    Path { parts, is_member }
}

/// The text of a field of a node.
pub(super) fn field_text<'x>(node: Node<'_>, field: &str, text: &'x str) -> &'x str {
    let found = node.child_by_field_name(field);
    found.map_or(UNKNOWN, |found| text_of(found, text))
}

/// The named children of a node.
pub(super) fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

/// Names that mean something only together with what stands before them: `b` of `a::b`, the
/// key of a field. Found in one walk, because to ask a node for its parent is slow.
pub(super) fn labels(root: Node<'_>) -> HashSet<usize> {
    let mut found = HashSet::new();
    let mut cursor = root.walk();
    loop {
        label(cursor.node(), &mut found);
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}

/// The labels right in a node.
fn label(node: Node<'_>, found: &mut HashSet<usize>) {
    let first = node.named_child(0);
    match node.kind() {
        "scoped_identifier"
        | "scoped_type_identifier"
        | "nested_type_identifier"
        | "nested_identifier"
        | "qualified_type"
        | "field_access" => {
            let all = children(node);
            let behind = usize::from(all.len() > 1);
            found.extend(all.iter().skip(behind).map(Node::id));
        }
        "method_invocation" => {
            found.extend(node.child_by_field_name("name").map(|name| name.id()));
        }
        "keyed_element" => {
            let key = first.and_then(|first| first.named_child(0));
            found.extend(key.map(|key| key.id()));
        }
        "element_value_pair" | "jsx_closing_element" => found.extend(first.map(|n| n.id())),
        _ => {}
    }
}

/// The name of a parameter, as far as it has one.
pub(super) fn param(node: Node<'_>, text: &str) -> Option<Box<str>> {
    let fields = ["name", "pattern", "declarator", "left"];
    let mut at = node;
    for _ in 0..MAX_PARTS {
        if at.kind().contains("comment") || at.kind() == "attribute_item" {
            return None;
        }
        match fields
            .iter()
            .find_map(|field| at.child_by_field_name(field))
        {
            Some(inner) => at = inner,
            None => break,
        }
    }
    let name = text_of(at, text).trim_start_matches(['*', '&']).trim();
    let name: String = name.chars().take(80).collect();
    (!name.is_empty()).then(|| name.into())
}

/// The first lines that the parser did not understand.
pub(super) fn errors(root: Node<'_>) -> Vec<u32> {
    let mut lines = Vec::new();
    each_error(root, &mut |node| {
        lines.push(line_of(node));
        lines.len() < MAX_ERRORS
    });
    lines.dedup();
    lines
}
