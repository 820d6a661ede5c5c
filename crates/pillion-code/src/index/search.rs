//! Finding symbols of a whole workspace by a part of their name.

use std::sync::Arc;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use pillion_catalogue::{CancellationToken, Result, wanted};

use super::{Index, Kind, Symbol};

/// A symbol that was found.
#[derive(Debug, Clone)]
pub struct Found {
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
    ) -> Result<Vec<Found>> {
        let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
        let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
        let by_path = query.contains('/');
        let mut buffer = Vec::new();
        let mut found = Vec::new();
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
                    found.push(Found {
                        path: Arc::clone(path),
                        index,
                        score: score * 8 + bonus(query, text, symbol),
                    });
                }
            }
        }
        found.sort_by(|a, b| {
            let by_score = b.score.cmp(&a.score);
            by_score.then_with(|| (&a.path, a.index).cmp(&(&b.path, b.index)))
        });
        Ok(found)
    }
}

/// What people mostly mean: the whole name, then something that others use.
fn bonus(query: &str, text: &str, symbol: &Symbol) -> u32 {
    // Of a path, the last part is what is looked for.
    let last = query.rsplit('/').next().unwrap_or(query);
    let exact = if text == query {
        4_000
    } else if text.eq_ignore_ascii_case(query) {
        2_000
    } else if &*symbol.name == last {
        1_000
    } else if symbol.name.eq_ignore_ascii_case(last) {
        500
    } else {
        0
    };
    let kind = match symbol.kind {
        Kind::Class => 6,
        Kind::Function | Kind::Type => 5,
        Kind::Method | Kind::Property => 4,
        _ => 0,
    };
    let public = u32::from(!symbol.name.starts_with('_'));
    exact + kind + public
}
