//! Pictures for other programs: Graphviz and Mermaid.

use std::fmt::Write as _;

use super::{Node, Picture};

/// A picture in the language of Graphviz.
pub fn dot(picture: &Picture) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut out = String::from("digraph pillion {\n  rankdir=LR;\n");
    out.push_str("  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n");
    for (at, node) in picture.nodes.iter().enumerate() {
        let mut label = quoted(&node.label);
        if !node.note.is_empty() {
            let _ = write!(label, "\\n{}", quoted(&node.note));
        }
        let target = if node.is_target { ", penwidth=2" } else { "" };
        let _ = writeln!(out, "  n{at} [label=\"{label}\"{target}];");
    }
    for edge in &picture.edges {
        let style = if edge.is_sure { "" } else { " [style=dashed]" };
        let weight = match edge.weight {
            0 | 1 => String::new(),
            more => format!(" [label=\"{more}\"]"),
        };
        let _ = writeln!(out, "  n{} -> n{}{style}{weight};", edge.from, edge.to);
    }
    out.push_str("}\n");
    out
}

/// A picture in the language of Mermaid.
pub fn mermaid(picture: &Picture) -> String {
    // Quotes and angle brackets mean something there.
    let quoted = |text: &str| {
        let text = text.replace('&', "#amp;").replace('"', "#quot;");
        text.replace('<', "#lt;").replace('>', "#gt;")
    };
    let label = |node: &Node| match node.note.is_empty() {
        true => quoted(&node.label),
        false => format!("{}<br/>{}", quoted(&node.label), quoted(&node.note)),
    };
    let mut out = String::from("flowchart LR\n");
    for (at, node) in picture.nodes.iter().enumerate() {
        let _ = writeln!(out, "  n{at}[\"{}\"]", label(node));
    }
    for edge in &picture.edges {
        let arrow = if edge.is_sure { "-->" } else { "-.->" };
        let weight = match edge.weight {
            0 | 1 => String::new(),
            more => format!("|{more}|"),
        };
        let _ = writeln!(out, "  n{} {arrow}{weight} n{}", edge.from, edge.to);
    }
    for (at, _) in picture
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, n)| n.is_target)
    {
        let _ = writeln!(out, "  style n{at} stroke-width:3px");
    }
    out
}
