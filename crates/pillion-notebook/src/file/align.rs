//! Which cell of one notebook is which of another.
//!
//! By id first. Cells without a partner are then matched by equal text, and at last by similar
//! text: notebooks before version 4.5 have no ids, and some programs write new ones each time.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::cell::{Cell, CellKind};

/// How long the best order of equal texts may be looked for.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(1);
/// Texts with less in common are different cells.
const SIMILAR: f64 = 0.5;
/// How many pairs of texts are compared. Beyond that cells count as removed and added.
const MAX_PAIRS: usize = 250_000;
/// How much of a text is compared.
const MAX_WORDS: usize = 2_000;

/// For each cell of `new` its partner in `old`.
pub(super) fn align(old: &[Cell], new: &[Cell]) -> Vec<Option<usize>> {
    let mut partners = by_id(old, new);
    by_equal_text(old, new, &mut partners);
    by_similar_text(old, new, &mut partners);
    partners
}

fn by_id(old: &[Cell], new: &[Cell]) -> Vec<Option<usize>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    for (at, cell) in old.iter().enumerate() {
        if let Some(id) = cell.id() {
            places.entry(id).or_insert(at);
        }
    }
    // Each partner is given away once, also if an id is there twice.
    let partner = |cell: &Cell| places.remove(&cell.id()?);
    new.iter().map(partner).collect()
}

/// The cells that have no partner: those of `old`, those of `new`.
fn alone(old: &[Cell], partners: &[Option<usize>]) -> (Vec<usize>, Vec<usize>) {
    let mut taken = vec![false; old.len()];
    for &at in partners.iter().flatten() {
        taken[at] = true;
    }
    let left = (0..old.len()).filter(|at| !taken[*at]).collect();
    let right = (0..partners.len()).filter(|at| partners[*at].is_none());
    (left, right.collect())
}

fn by_equal_text(old: &[Cell], new: &[Cell], partners: &mut [Option<usize>]) {
    let (left, right) = alone(old, partners);
    // Each text is a number from here on: two notebooks may have thousands of cells.
    let mut numbers: HashMap<(CellKind, String), usize> = HashMap::new();
    let mut number = |cell: &Cell| {
        let next = numbers.len();
        let text = (cell.kind(), cell.source());
        *numbers.entry(text).or_insert(next)
    };
    let before: Vec<_> = left.iter().map(|at| number(&old[*at])).collect();
    let after: Vec<_> = right.iter().map(|at| number(&new[*at])).collect();
    let mut taken = vec![false; left.len()];
    let until = Instant::now() + SEARCH_TIMEOUT;
    for op in capture_diff_slices_deadline(Algorithm::Myers, &before, &after, Some(until)) {
        let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = op
        else {
            continue;
        };
        for (from, to) in (old_index..).zip(new_index..).take(len) {
            // Looked at again, because the places of some operations are wrong in `similar` 2.7.
            if before
                .get(from)
                .is_some_and(|text| after.get(to) == Some(text))
                && !taken[from]
            {
                partners[right[to]] = Some(left[from]);
                taken[from] = true;
            }
        }
    }
    // What stands elsewhere now, or was not reached in time.
    let mut places: HashMap<usize, VecDeque<usize>> = HashMap::new();
    for from in (0..left.len()).filter(|from| !taken[*from]) {
        places
            .entry(before[from])
            .or_default()
            .push_back(left[from]);
    }
    for (to, at) in right.iter().enumerate() {
        if partners[*at].is_none() {
            let place = places.get_mut(&after[to]).and_then(VecDeque::pop_front);
            partners[*at] = place;
        }
    }
}

fn by_similar_text(old: &[Cell], new: &[Cell], partners: &mut [Option<usize>]) {
    let (left, right) = alone(old, partners);
    if left.len().saturating_mul(right.len()) > MAX_PAIRS {
        return;
    }
    let bags = |cells: &[Cell], places: &[usize]| -> Vec<Bag> {
        places.iter().map(|at| Bag::of(&cells[*at])).collect()
    };
    let (before, after) = (bags(old, &left), bags(new, &right));
    let mut pairs = Vec::new();
    for (i, a) in before.iter().enumerate() {
        for (j, b) in after.iter().enumerate() {
            let ratio = a.ratio(b);
            if ratio >= SIMILAR {
                pairs.push((ratio, i, j));
            }
        }
    }
    // The most similar first; among equals those that stand nearer to each other.
    pairs.sort_by(|(a, i, j), (b, k, l)| {
        let distance = i.abs_diff(*j).cmp(&k.abs_diff(*l));
        b.total_cmp(a).then(distance).then((i, j).cmp(&(k, l)))
    });
    let mut taken = vec![false; left.len()];
    for (_, i, j) in pairs {
        let partner = &mut partners[right[j]];
        if partner.is_none() && !taken[i] {
            *partner = Some(left[i]);
            taken[i] = true;
        }
    }
}

/// The words of a text, sorted.
struct Bag {
    kind: CellKind,
    words: Vec<String>,
}

impl Bag {
    fn of(cell: &Cell) -> Self {
        let source = cell.source();
        let words = source.split(|c: char| !c.is_alphanumeric() && c != '_');
        let words = words.filter(|word| !word.is_empty()).take(MAX_WORDS);
        let mut words: Vec<String> = words.map(ToOwned::to_owned).collect();
        words.sort_unstable();
        Self {
            kind: cell.kind(),
            words,
        }
    }

    /// The part of the words that both have, from 0 to 1.
    fn ratio(&self, other: &Self) -> f64 {
        let total = self.words.len() + other.words.len();
        if self.kind != other.kind || total == 0 {
            return 0.0;
        }
        let (mut i, mut j, mut common) = (0, 0, 0_usize);
        while let (Some(a), Some(b)) = (self.words.get(i), other.words.get(j)) {
            match a.cmp(b) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => (i, j, common) = (i + 1, j + 1, common + 1),
            }
        }
        2.0 * common as f64 / total as f64
    }
}

/// Which of the pairs, in the order of the new notebook, were moved: all that are not in a
/// longest run of growing places.
pub(super) fn moved(partners: &[Option<usize>]) -> Vec<bool> {
    let pairs: Vec<(usize, usize)> = partners
        .iter()
        .enumerate()
        .filter_map(|(new, old)| Some((new, (*old)?)))
        .collect();
    // For each length the smallest end of a growing run, and for each pair the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![None; pairs.len()];
    for (at, &(_, old)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].1 < old);
        before[at] = length.checked_sub(1).map(|last| ends[last]);
        match length < ends.len() {
            true => ends[length] = at,
            false => ends.push(at),
        }
    }
    let mut moved: Vec<bool> = partners.iter().map(Option::is_some).collect();
    let mut next = ends.last().copied();
    while let Some(at) = next {
        moved[pairs[at].0] = false;
        next = before[at];
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_few_cells_as_possible_were_moved() {
        let moved = |partners: &[Option<usize>]| -> Vec<usize> {
            let flags = moved(partners);
            (0..flags.len()).filter(|at| flags[*at]).collect()
        };
        assert_eq!(moved(&[Some(0), Some(1), None, Some(2)]), [0; 0]);
        assert_eq!(moved(&[Some(3), Some(0), None, Some(1), Some(2)]), [0]);
        assert_eq!(moved(&[Some(1), Some(2), Some(3), Some(0)]), [3]);
        assert_eq!(moved(&[]), [0; 0]);
    }
}
