//! Two sides that are asked the same questions in turns, a few at a time.

use std::time::Instant;

use pillion_catalogue::Result;

use super::super::rounds::Duel;
use super::sample::Question;

/// A side: asked a round of questions, it gives the seconds of each answer.
pub(super) type Side<'a> = &'a mut dyn FnMut(&[Question]) -> Result<Vec<f64>>;

/// Let both sides answer all questions, so many in each round.
pub(super) fn turns(
    questions: &[Question],
    each: usize,
    ours: Side<'_>,
    theirs: Side<'_>,
) -> Result<Duel> {
    let mut duel = Duel::default();
    for (round, some) in questions.chunks(each.max(1)).enumerate() {
        // Neither side always goes first.
        for turn in 0..2 {
            let began = Instant::now();
            if (round + turn) % 2 == 0 {
                duel.ours.add(ours(some)?, began.elapsed());
            } else {
                duel.baseline.add(theirs(some)?, began.elapsed());
            }
        }
    }
    Ok(duel)
}
