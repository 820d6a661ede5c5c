//! Places for the boxes of a picture: columns from left to right along the arrows.
//!
//! Boxes get columns by the longest way that leads to them, arrows that close a circle left
//! aside; within a column they are ordered so that few arrows cross.

use super::Picture;

/// Where a box is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A picture with places.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) boxes: Vec<Place>,
    pub(super) width: f64,
    pub(super) height: f64,
}

pub(super) const MARGIN: f64 = 24.0;
/// What stands above the picture.
pub(super) const HEAD: f64 = 34.0;
const COLUMN_GAP: f64 = 90.0;
const ROW_GAP: f64 = 14.0;
const HEIGHT: f64 = 40.0;
/// The width of a character of a label, and of a note, about.
const LABEL_WIDTH: f64 = 7.6;
const NOTE_WIDTH: f64 = 6.0;
/// Boxes in one column, unless all belong there.
const MAX_ROWS: usize = 24;
/// How often the columns are ordered anew by their neighbours.
const SWEEPS: usize = 12;

pub(super) fn place(picture: &Picture) -> Placed {
    let columns = columns(picture);
    let mut boxes = vec![
        Place {
            x: 0.0,
            y: 0.0,
            width: 0.0,
            height: HEIGHT
        };
        picture.nodes.len()
    ];
    let tallest = columns.iter().map(Vec::len).max().unwrap_or(0);
    let tall = rows(tallest);
    let mut x = MARGIN;
    for column in &columns {
        let width = column
            .iter()
            .map(|at| width(picture, *at))
            .fold(0.0, f64::max);
        let mut y = HEAD + MARGIN + (tall - rows(column.len())) / 2.0;
        for at in column {
            (boxes[*at].x, boxes[*at].y, boxes[*at].width) = (x, y, width);
            y += HEIGHT + ROW_GAP;
        }
        x += width + COLUMN_GAP;
    }
    Placed {
        boxes,
        width: (x - COLUMN_GAP + MARGIN).max(320.0),
        height: HEAD + tall + 2.0 * MARGIN,
    }
}

fn rows(count: usize) -> f64 {
    let count = f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    (count * (HEIGHT + ROW_GAP) - ROW_GAP).max(0.0)
}

fn width(picture: &Picture, at: usize) -> f64 {
    let node = &picture.nodes[at];
    let long = |text: &str| f64::from(u32::try_from(text.chars().count()).unwrap_or(u32::MAX));
    let text = (long(&node.label) * LABEL_WIDTH).max(long(&node.note) * NOTE_WIDTH);
    text + 22.0
}

/// The boxes of each column, from top to bottom.
fn columns(picture: &Picture) -> Vec<Vec<usize>> {
    let count = picture.nodes.len();
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); count];
    for edge in picture.edges.iter().filter(|edge| edge.from != edge.to) {
        next[edge.from].push(edge.to);
        before[edge.to].push(edge.from);
    }
    let order = without_circles(&next);
    let mut rank = vec![0; count];
    for (at, node) in order.iter().enumerate() {
        for follower in &next[*node] {
            if order[at + 1..].contains(follower) {
                rank[*follower] = rank[*follower].max(rank[*node] + 1);
            }
        }
    }
    let last = rank.iter().max().map_or(0, |last| last + 1);
    let mut columns: Vec<Vec<usize>> = vec![Vec::new(); last];
    for node in order {
        columns[rank[node]].push(node);
    }
    uncross(&mut columns, &before, &next);
    split_tall(columns)
}

/// All boxes, each behind those that lead to it, as far as no circle forbids it.
fn without_circles(next: &[Vec<usize>]) -> Vec<usize> {
    let mut entered = vec![false; next.len()];
    let mut order = Vec::with_capacity(next.len());
    let mut into = vec![0_usize; next.len()];
    next.iter().flatten().for_each(|to| into[*to] += 1);
    // Where arrows begin comes first.
    let mut starts: Vec<usize> = (0..next.len()).collect();
    starts.sort_by_key(|at| (into[*at], std::cmp::Reverse(next[*at].len()), *at));
    for start in starts {
        if std::mem::replace(&mut entered[start], true) {
            continue;
        }
        let mut open = vec![(start, 0)];
        while let Some((node, at)) = open.pop() {
            match next[node].get(at) {
                Some(&follower) => {
                    open.push((node, at + 1));
                    if !std::mem::replace(&mut entered[follower], true) {
                        open.push((follower, 0));
                    }
                }
                None => order.push(node),
            }
        }
    }
    order.reverse();
    order
}

/// Order each column by where the neighbours of its boxes are.
fn uncross(columns: &mut [Vec<usize>], before: &[Vec<usize>], next: &[Vec<usize>]) {
    let mut place = vec![0.0; before.len()];
    let note = |place: &mut Vec<f64>, column: &[usize]| {
        let tall = f64::from(u32::try_from(column.len().max(1)).unwrap_or(u32::MAX));
        for (row, node) in (0_u32..).zip(column) {
            // Columns of other lengths are compared by their middles.
            place[*node] = f64::from(row) - tall / 2.0;
        }
    };
    for column in columns.iter() {
        note(&mut place, column);
    }
    for sweep in 0..SWEEPS {
        let neighbours = if sweep % 2 == 0 { before } else { next };
        let mut order: Vec<usize> = (0..columns.len()).collect();
        if sweep % 2 == 1 {
            order.reverse();
        }
        for at in order {
            let middle = |node: &usize| {
                let all = &neighbours[*node];
                let sum: f64 = all.iter().map(|other| place[*other]).sum();
                let count = f64::from(u32::try_from(all.len()).unwrap_or(u32::MAX));
                if all.is_empty() {
                    place[*node]
                } else {
                    sum / count
                }
            };
            columns[at].sort_by(|a, b| middle(a).total_cmp(&middle(b)));
            note(&mut place, &columns[at]);
        }
    }
}

/// Columns that are too tall become several.
fn split_tall(columns: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let parts = columns.into_iter().flat_map(|column| {
        let parts = column.len().div_ceil(MAX_ROWS).max(1);
        let rows = column.len().div_ceil(parts).max(1);
        let parts: Vec<Vec<usize>> = column.chunks(rows).map(<[usize]>::to_vec).collect();
        parts
    });
    parts.collect()
}
