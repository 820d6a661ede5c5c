//! From a tree to [`Facts`]: one walk, driven by a table of how a language writes things.

use std::collections::HashMap;
use std::ops::Range;

use pillion_index::steps;
use tree_sitter::Node;

use super::facts::{Assign, Call, Facts, Function, Loop, Mark, head, word, words};

/// Siblings before a node that are looked at: each takes as long as there are others.
const MAX_BEFORE: usize = 100;

/// How a language writes what all of them have.
pub(super) struct Dialect {
    /// Kinds of nodes that assign, with their sides.
    pub(super) assigns: &'static [(&'static str, &'static str, &'static str)],
    /// Kinds of loops over items, with the items and what they are taken from.
    pub(super) loops: &'static [(&'static str, &'static str, &'static str)],
    pub(super) has_bare_fields: bool,
    /// Types, functions, imports: what is particular. Whether to look into the node, too.
    pub(super) take: for<'t> fn(Node<'t>, &mut Facts<'t>) -> bool,
}

/// The facts of a tree.
pub(super) fn facts<'t>(
    dialect: &Dialect,
    root: Node<'t>,
    path: &'t str,
    text: &'t str,
) -> Facts<'t> {
    let mut facts = Facts {
        path,
        text,
        has_bare_fields: dialect.has_bare_fields,
        package: "",
        imports: Vec::new(),
        types: Vec::new(),
        functions: Vec::new(),
        spans: Vec::new(),
        globals: Vec::new(),
        fulfils: Vec::new(),
        calls: Vec::new(),
        assigns: Vec::new(),
        loops: Vec::new(),
        returns: Vec::new(),
        marks: Vec::new(),
        by_name: HashMap::new(),
        by_owner: HashMap::new(),
        by_global: HashMap::new(),
        by_target: HashMap::new(),
        above: Vec::new(),
        open: Default::default(),
    };
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        steps::take(1);
        let is_deeper = (dialect.take)(node, &mut facts);
        if is_deeper {
            common(dialect, node, &mut facts);
        }
        if is_deeper && facts.has_room() && cursor.goto_first_child() {
            facts.above.push(node);
            continue;
        }
        while !cursor.goto_next_sibling() {
            facts.above.pop();
            if !cursor.goto_parent() {
                // What a function gives as its last expression is known before what it
                // returns on the way.
                facts.returns.sort_unstable();
                facts.assigns.sort_by_key(|assign| assign.at);
                facts.index();
                return facts;
            }
        }
    }
}

fn common<'t>(dialect: &Dialect, node: Node<'t>, facts: &mut Facts<'t>) {
    let kind = node.kind();
    let at = node.start_byte();
    match kind {
        "call_expression" | "method_invocation" => {
            facts.calls.extend(call(node, facts));
            facts.add_loop(for_each(node, facts));
        }
        "return_statement" | "return_expression" => {
            let value = node.named_child(0).map_or("", |value| facts.text_of(value));
            facts.returns.push((at, value));
        }
        _ => {}
    }
    if let Some((_, to, value)) = dialect.assigns.iter().find(|(known, ..)| *known == kind) {
        let (to, value) = (facts.field(node, to), facts.field(node, value));
        let value = head(value);
        facts.assigns.push(Assign { to, value, at });
    }
    if let Some((_, items, over)) = dialect.loops.iter().find(|(known, ..)| *known == kind) {
        let clause = child(node, "range_clause").unwrap_or(node);
        let items = words(facts.field(clause, items)).collect();
        let over = facts.field(clause, over);
        facts.add_loop(Some(Loop {
            items,
            over,
            range: node.byte_range(),
            at,
        }));
    }
}

fn call<'t>(node: Node<'t>, facts: &Facts<'t>) -> Option<Call<'t>> {
    let args = node
        .child_by_field_name("arguments")
        .map_or_else(Vec::new, children);
    let at = node.start_byte();
    if node.kind() == "method_invocation" {
        let (on, name) = (facts.field(node, "object"), facts.field(node, "name"));
        return Some(Call { on, name, args, at });
    }
    let mut function = node.child_by_field_name("function")?;
    if function.kind() == "generic_function" {
        function = function.child_by_field_name("function")?;
    }
    let text = facts.text_of(function);
    let split = match function.kind() {
        "member_expression" | "selector_expression" | "field_expression" => {
            text.rsplit_once("->").or_else(|| text.rsplit_once('.'))
        }
        "scoped_identifier" => text.rsplit_once("::"),
        _ => None,
    };
    let (on, name) = split.unwrap_or(("", text));
    let name = name.trim().trim_matches(['(', ')', '*', '?', '!', '.']);
    let on = on.trim().trim_end_matches('?');
    Some(Call { on, name, args, at })
}

/// `all.forEach(item => ...)` is a loop as well.
fn for_each<'t>(node: Node<'t>, facts: &Facts<'t>) -> Option<Loop<'t>> {
    let call = facts.calls.last()?;
    let function = *call.args.first()?;
    let is_it = matches!(call.name, "forEach" | "for_each");
    let params = ["parameters", "parameter"]
        .into_iter()
        .find_map(|field| function.child_by_field_name(field))
        .filter(|_| is_it)?;
    Some(Loop {
        items: words(facts.text_of(params)).collect(),
        over: call.on,
        range: function.byte_range(),
        at: node.start_byte(),
    })
}

/// The named children of a node.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    let all: Vec<_> = node.named_children(&mut cursor).collect();
    steps::take(all.len());
    all
}

/// The first child of a kind.
pub(super) fn child<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    let mut cursor = node.walk();
    let mut all = node.children(&mut cursor);
    all.find(|child| {
        steps::take(1);
        child.kind() == kind
    })
}

/// The texts of the children that are modifiers: `static`, `private`.
pub(super) fn modifiers<'t>(node: Node<'t>, facts: &Facts<'t>) -> Vec<&'t str> {
    let mut cursor = node.walk();
    let before = node.children(&mut cursor).take_while(|child| {
        !child.kind().contains("identifier") && !child.kind().ends_with("parameters")
    });
    before
        .flat_map(|child| words(facts.text_of(child)))
        .collect()
}

/// A function, of which more can be said.
pub(super) fn function<'t>(node: Node<'t>, name: Node<'t>, facts: &Facts<'t>) -> Function<'t> {
    Function {
        name: facts.text_of(name),
        at: name.start_byte(),
        range: node.byte_range(),
        owner: None,
        me: "",
        params: Vec::new(),
        result: "",
        words: Vec::new(),
        marks: Vec::new(),
        has_body: node.child_by_field_name("body").is_some(),
    }
}

/// An annotation, decorator or attribute, by its text without the sign before it.
pub(super) fn mark(text: &str, at: usize) -> Mark<'_> {
    let (path, args) = text.split_once('(').unwrap_or((text, ""));
    let args = args.trim_end().trim_end_matches([')', ']']);
    let path = path.trim_end_matches(']').trim();
    let name = path.rsplit(['.', ':']).next().unwrap_or(path);
    Mark {
        name: word(name),
        args,
        at,
    }
}

/// The marks that stand before a node as its siblings.
pub(super) fn marks_before<'t>(node: Node<'t>, kind: &str, facts: &Facts<'t>) -> Vec<Mark<'t>> {
    let before = std::iter::successors(node.prev_named_sibling(), Node::prev_named_sibling);
    let before = before.take(MAX_BEFORE).inspect(|_| steps::take(1));
    let before = before.skip_while(|node| node.kind().contains("comment"));
    before
        .take_while(|node| node.kind() == kind)
        .map(|node| mark(unsigned(facts.text_of(node)), node.start_byte()))
        .collect()
}

/// The text of a mark without the sign before it.
pub(super) fn unsigned(text: &str) -> &str {
    text.trim_start_matches(['@', '#', '[', '!'])
}

/// The part of a type's name that others know: without what is in it and before it.
pub(super) fn base_name(text: &str) -> &str {
    let text = text.trim_start_matches(['*', '&']).trim();
    let text = text.split(['<', '[']).next().unwrap_or(text);
    text.rsplit(['.', ':']).next().unwrap_or(text).trim()
}

/// The range of a node.
pub(super) fn range(node: Node<'_>) -> Range<usize> {
    node.byte_range()
}
