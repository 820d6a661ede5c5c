//! Finding symbols of a whole workspace by a part of their name.

use std::sync::Arc;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use pillion_catalogue::{CancellationToken, Result, wanted};

use super::{Index, Kind, Symbol};

/// A symbol that was found.
#[derive(Debug, Clone)]
pub struct FoundSymbol {
    /// The file it is in.
    pub path: Arc<str>,
    /// Its place in the file's symbols.
    pub index: usize,
    /// How well it fits: more is better.
    pub score: u32,
}

impl Index {
    /// Symbols that fit a query, best first: `Class/method` paths where it has a `/`, names
    /// otherwise.
    pub fn search(
        &self,
        query: &str,
        kinds: &[Kind],
        token: &CancellationToken,
    ) -> Result<Vec<FoundSymbol>> {
        let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
        let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
        let by_path = query.contains('/');
        let mut buffer = Vec::new();
        let mut found = Vec::new();
        let mut best = Fit::Letters;
        for (path, facts) in self.iter() {
            wanted(token)?;
            for (index, symbol) in facts.symbols.iter().enumerate() {
                if !kinds.is_empty() && !kinds.contains(&symbol.kind) {
                    continue;
                }
                let full;
                let text = if by_path {
                    full = facts.name_path(index);
                    &*full
                } else {
                    &*symbol.name
                };
                if let Some(score) = pattern.score(Utf32Str::new(text, &mut buffer), &mut matcher) {
                    let fit = fit(query, text, &symbol.name);
                    best = best.max(fit);
                    let score = (score * 8 + bonus(symbol)).min(SCORES - 1);
                    found.push(FoundSymbol {
                        path: Arc::clone(path),
                        index,
                        score: fit as u32 * SCORES + score,
                    });
                }
            }
        }
        // Letters that happen to come in this order are noise where something has the very word.
        if best > Fit::Letters {
            found.retain(|one| one.score >= Fit::Part as u32 * SCORES);
        }
        found.sort_by(|a, b| {
            let by_score = b.score.cmp(&a.score);
            by_score.then_with(|| (&a.path, a.index).cmp(&(&b.path, b.index)))
        });
        Ok(found)
    }
}

/// Scores of one fit stay below this.
const SCORES: u32 = 1 << 20;

/// How a name fits a query, the best last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// Its letters come in this order.
    Letters,
    /// It has the query in it.
    Part,
    /// It begins with the query.
    Prefix,
    /// It is the query, but for upper and lower case.
    SameLetters,
    /// It is the query.
    Whole,
}

fn fit(query: &str, text: &str, name: &str) -> Fit {
    // Of a path, the last part is what is looked for.
    let last = query.rsplit('/').next().unwrap_or(query);
    let (lower, wanted) = (name.to_lowercase(), last.to_lowercase());
    if text == query || name == last && query == last {
        Fit::Whole
    } else if text.eq_ignore_ascii_case(query) {
        Fit::SameLetters
    } else if lower == wanted || lower.starts_with(&wanted) {
        Fit::Prefix
    } else if lower.contains(&wanted) {
        Fit::Part
    } else {
        Fit::Letters
    }
}

/// What people mostly mean: something that others use.
fn bonus(symbol: &Symbol) -> u32 {
    let kind = match symbol.kind {
        Kind::Class => 6,
        Kind::Function | Kind::Type => 5,
        Kind::Method | Kind::Property => 4,
        _ => 0,
    };
    kind + u32::from(!symbol.name.starts_with('_'))
}
