//! A picture as SVG: boxes and curved arrows, readable on light and dark pages.

use std::fmt::Write as _;

use super::layout::{HEAD, MARGIN, Rectangle, place};
use super::{Picture, PictureEdge};

const STYLE: &str = "\
text{font:13px ui-sans-serif,system-ui,sans-serif;fill:#1f2937}\
.note{font-size:10px;fill:#6b7280}\
.title{font-size:15px;font-weight:600}\
.page{fill:#ffffff}\
.box{fill:#eef2ff;stroke:#6366f1}\
.target{fill:#fef3c7;stroke:#d97706;stroke-width:2}\
path{fill:none;stroke:#64748b;stroke-opacity:.55}\
.possible{stroke-dasharray:4 3}\
.back{stroke:#dc2626;stroke-opacity:.6}\
.head{fill:#64748b;stroke:none}";

/// How far arrows that lead back hang down.
const DIP: f64 = 44.0;

/// A picture as SVG.
pub fn svg(picture: &Picture) -> String {
    let placed = place(picture);
    let is_back = |edge: &PictureEdge| placed.boxes[edge.to].x < placed.boxes[edge.from].x;
    let below = if picture.edges.iter().any(is_back) {
        DIP
    } else {
        0.0
    };
    let (width, height) = (placed.width.ceil(), (placed.height + below).ceil());
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n<style>{STYLE}</style>\n<defs><marker id=\"tip\" \
         viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"head\" \
         d=\"M0 0L8 4L0 8z\"/></marker></defs>\n\
         <rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n"
    );
    let title = escaped(&picture.title);
    let _ = writeln!(
        out,
        "<text class=\"title\" x=\"{MARGIN}\" y=\"{}\">{title}</text>",
        HEAD - 6.0
    );
    for edge in &picture.edges {
        arrow(&mut out, edge, &placed.boxes);
    }
    for (node, at) in picture.nodes.iter().zip(&placed.boxes) {
        let class = if node.is_target { "target" } else { "box" };
        let middle = at.x + at.width / 2.0;
        let _ = writeln!(
            out,
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
             rx=\"7\"/>",
            at.x, at.y, at.width, at.height
        );
        let label = if node.note.is_empty() { 24.5 } else { 18.0 };
        let _ = writeln!(
            out,
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            at.y + label,
            escaped(&node.label)
        );
        if !node.note.is_empty() {
            let _ = writeln!(
                out,
                "<text class=\"note\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                at.y + 32.0,
                escaped(&node.note)
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

fn arrow(out: &mut String, edge: &PictureEdge, boxes: &[Rectangle]) {
    let (from, to) = (boxes[edge.from], boxes[edge.to]);
    let (is_back, is_beside) = (to.x < from.x, to.x == from.x);
    let (x1, y1) = (from.x + from.width, from.y + from.height / 2.0);
    // Within a column the arrow comes back to the side it left.
    let x2 = if is_beside { x1 + 1.0 } else { to.x - 1.0 };
    let y2 = to.y + to.height / 2.0 + if is_beside { 6.0 } else { 0.0 };
    let bend = match (is_back, is_beside) {
        (true, _) => 60.0,
        (_, true) => 34.0,
        _ => ((x2 - x1) / 2.0).max(30.0),
    };
    // A thousand calls are not a thousand times as thick.
    let weight = f64::from(u32::try_from(edge.weight.max(1)).unwrap_or(u32::MAX));
    let thick = (1.0 + weight.ln() * 0.55).min(5.0);
    let mut class = if is_back { "back" } else { "arrow" }.to_owned();
    if !edge.is_sure {
        class.push_str(" possible");
    }
    let c1 = x1 + bend;
    let c2 = if is_beside { x2 + bend } else { x2 - bend };
    // The way back leads below the boxes in between.
    let dip = if is_back { DIP } else { 0.0 };
    let (d1, d2) = (y1 + dip, y2 + dip);
    let _ = writeln!(
        out,
        "<path class=\"{class}\" stroke-width=\"{thick:.1}\" marker-end=\"url(#tip)\" \
         d=\"M{x1:.1} {y1:.1}C{c1:.1} {d1:.1} {c2:.1} {d2:.1} {x2:.1} {y2:.1}\"/>"
    );
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
