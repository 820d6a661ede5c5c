//! Places for the boxes of a picture: columns from left to right along the arrows.
//!
//! Boxes are brought into an order in which most uses lead forward; columns follow from the
//! longest way that leads to a box, pressed together where that would be too wide. Within a
//! column they are ordered so that few arrows cross.

use super::Picture;

/// Where a box is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rectangle {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A picture with places.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) boxes: Vec<Rectangle>,
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
        Rectangle {
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
    let order = forward(picture);
    let mut place = vec![0; count];
    for (at, node) in order.iter().enumerate() {
        place[*node] = at;
    }
    let mut rank = vec![0_usize; count];
    for node in &order {
        for follower in next[*node].iter().filter(|to| place[**to] > place[*node]) {
            rank[*follower] = rank[*follower].max(rank[*node] + 1);
        }
    }
    press(&mut rank);
    let last = rank.iter().max().map_or(0, |last| last + 1);
    let mut columns: Vec<Vec<usize>> = vec![Vec::new(); last];
    for node in order {
        columns[rank[node]].push(node);
    }
    uncross(&mut columns, &before, &next);
    split_tall(columns)
}

/// All boxes, in an order in which few uses lead back: the one that uses the most more than
/// it is used comes first, then the same for the rest.
fn forward(picture: &Picture) -> Vec<usize> {
    let mut rest: Vec<usize> = (0..picture.nodes.len()).collect();
    let mut order = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let balance = |node: usize| {
            let inner = picture.edges.iter().filter(|edge| {
                edge.from != edge.to && rest.contains(&edge.from) && rest.contains(&edge.to)
            });
            let weight = |edge: &super::PictureEdge| i64::try_from(edge.weight).unwrap_or(i64::MAX);
            inner.fold((0_i64, 0_i64), |(out, into), edge| {
                let out = out + if edge.from == node { weight(edge) } else { 0 };
                let into = into + if edge.to == node { weight(edge) } else { 0 };
                (out, into)
            })
        };
        // Whom nobody uses comes before all others.
        let best = rest.iter().copied().max_by_key(|node| {
            let (out, into) = balance(*node);
            (into == 0, out - into, std::cmp::Reverse(*node))
        });
        let Some(best) = best else { break };
        rest.retain(|node| *node != best);
        order.push(best);
    }
    order
}

/// Press ranks together so that a picture is about as high as it is wide.
fn press(rank: &mut [usize]) {
    let last = rank.iter().max().copied().unwrap_or(0);
    let count = f64::from(u32::try_from(rank.len()).unwrap_or(u32::MAX));
    let room = (count.sqrt() * 1.1).ceil().max(4.0);
    let columns = (1..=64_usize).take_while(|n| f64::from(u32::try_from(*n).unwrap_or(0)) <= room);
    let columns = columns.last().unwrap_or(4);
    if last >= columns {
        for rank in rank {
            *rank = *rank * (columns - 1) / last;
        }
    }
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
