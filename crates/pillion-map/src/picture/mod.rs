//! Pictures of the graph: packages, calls, and who is affected by a change.
//!
//! `collect` takes as much of the graph as can be read at a glance, `layout` gives it
//! places, and [`svg`] and `markup` write it down.

mod collect;
mod layout;
mod markup;
mod svg;

pub use collect::{Bounds, PictureSubject};
pub use markup::{dot, mermaid};
pub use svg::svg;

/// A graph small enough to be looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture {
    /// What it shows, in a few words.
    pub title: String,
    /// The boxes.
    pub nodes: Vec<Node>,
    /// The arrows between them.
    pub edges: Vec<PictureEdge>,
    /// Nodes that were left out.
    pub left_out: usize,
    /// Arrows that were left out, as heavier ones tell more.
    pub lighter: usize,
}

/// Arrows for each box: more are a thicket.
const ARROWS: usize = 2;

impl Picture {
    /// Keep the heaviest arrows, and of every box the heaviest that leads to and from it.
    fn thin_out(mut self) -> Self {
        let room = self.nodes.len() * ARROWS;
        let total = self.edges.len();
        self.edges
            .sort_by_key(|edge| std::cmp::Reverse((edge.is_sure, edge.weight)));
        let mut leads = vec![[false; 2]; self.nodes.len()];
        let mut kept = 0;
        self.edges.retain(|edge| {
            let first = !leads[edge.from][0] || !leads[edge.to][1];
            let keep = first || kept < room;
            if keep {
                kept += 1;
                leads[edge.from][0] = true;
                leads[edge.to][1] = true;
            }
            keep
        });
        self.edges.sort();
        self.lighter = total - self.edges.len();
        if self.lighter > 0 {
            self.title = format!("{} ({} lighter arrows not drawn)", self.title, self.lighter);
        }
        self
    }
}

/// A box of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// What stands in it.
    pub label: String,
    /// A second, smaller line.
    pub note: String,
    /// Whether it is what was asked about.
    pub is_target: bool,
}

/// An arrow of a picture.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PictureEdge {
    /// The box that it begins at, by its place among all.
    pub from: usize,
    /// The box that it leads to.
    pub to: usize,
    /// How many edges of the graph it stands for.
    pub weight: usize,
    /// Whether at least one of them is resolved.
    pub is_sure: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(nodes: usize, edges: &[(usize, usize)]) -> Picture {
        let node = |at: usize| Node {
            label: format!("n{at}<&>\"x\""),
            note: format!("{at} functions"),
            is_target: at == 0,
        };
        let edge = |&(from, to): &(usize, usize)| PictureEdge {
            from,
            to,
            weight: from + 1,
            is_sure: to % 2 == 0,
        };
        Picture {
            title: "A picture".into(),
            nodes: (0..nodes).map(node).collect(),
            edges: edges.iter().map(edge).collect(),
            left_out: 0,
            lighter: 0,
        }
    }

    #[test]
    fn every_node_has_a_place_of_its_own_and_edges_lead_to_the_right() {
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 1), (5, 5)];
        let picture = picture(7, &edges);
        let placed = layout::place(&picture);
        for (at, one) in placed.boxes.iter().enumerate() {
            for other in &placed.boxes[..at] {
                let apart = one.x + one.width <= other.x
                    || other.x + other.width <= one.x
                    || one.y + one.height <= other.y
                    || other.y + other.height <= one.y;
                assert!(apart, "{one:?} {other:?}");
            }
            assert!(one.x >= 0.0 && one.x + one.width <= placed.width, "{one:?}");
            assert!(
                one.y >= 0.0 && one.y + one.height <= placed.height,
                "{one:?}"
            );
        }
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3)];
        let placed = layout::place(&self::picture(4, &edges));
        for (from, to) in edges {
            assert!(placed.boxes[from].x < placed.boxes[to].x, "{from} {to}");
        }
    }

    #[test]
    fn the_heaviest_arrows_stay_and_no_box_is_left_alone() {
        let all: Vec<(usize, usize)> = (0..9)
            .flat_map(|from| (0..9).map(move |to| (from, to)))
            .filter(|(from, to)| from != to)
            .collect();
        let thin = picture(9, &all).thin_out();
        assert!(thin.edges.len() <= 9 * ARROWS + 18, "{}", thin.edges.len());
        assert_eq!(thin.edges.len() + thin.lighter, all.len());
        for node in 0..9 {
            assert!(thin.edges.iter().any(|e| e.from == node), "{node}");
            assert!(thin.edges.iter().any(|e| e.to == node), "{node}");
        }
        assert!(thin.title.contains("lighter"), "{}", thin.title);
    }

    #[test]
    fn what_is_written_is_well_formed_and_names_everything() {
        let picture = picture(3, &[(0, 1), (1, 2), (2, 0)]);
        let svg = svg(&picture);
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
        assert_eq!(svg.matches("<rect ").count(), 1 + 3, "{svg}");
        assert_eq!(svg.matches("marker-end=").count(), 3, "{svg}");
        assert!(svg.contains("n1&lt;&amp;&gt;&quot;x&quot;"), "{svg}");
        let dot = dot(&picture);
        assert!(
            dot.contains(r#"n1 [label="n1<&>\"x\"\n1 functions"];"#),
            "{dot}"
        );
        assert!(dot.contains("n0 -> n1"), "{dot}");
        let mermaid = mermaid(&picture);
        assert!(mermaid.starts_with("flowchart LR\n"), "{mermaid}");
        assert!(mermaid.contains("n0 -.-> n1"), "{mermaid}");
        assert!(mermaid.contains("#quot;x#quot;"), "{mermaid}");
    }
}
