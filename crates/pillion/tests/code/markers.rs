//! Markers: what is expected, written beside the code it is about.
//!
//! A marker is a comment below a line. `^` points at the column above it, and `<-` at the
//! column of the `#` itself. Columns count characters, so a tab counts once.
//!
//! ```python
//! def total(items):
//! #   ^ @total; hover function
//!     return sum(items)
//!
//! total([])
//! # <- defs @total; uses @total
//! ```
//!
//! | claim | says |
//! |---|---|
//! | `@name` | this place has a name |
//! | `defs @a @b` | exactly these are the definitions; `pkg/mod.py` is a whole module, `outside:json/decoder.py` a file outside of the project, `nothing` is nothing |
//! | `hover kind` | what the name is; `hover nothing` |
//! | `uses @a` | a confirmed use of the place; `uses @a inside`: within its definition |
//! | `maybe @a` | a possible use |
//! | `renamed @a` | a rename of the place touches this |
//!
//! Of a place that anything uses, all uses must be marked. A marker that cannot be read, that
//! points at nothing, or names a place that is not there fails, and so does a name that no
//! claim needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pillion_testing::project::{TestProject, files_below};
use serde_json::{Value, json};

/// A place in the project, from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A claim about a place.
struct Marker {
    at: Place,
    verb: String,
    words: Vec<String>,
}

/// All that is claimed about a project.
#[derive(Default)]
pub(super) struct Claims {
    names: BTreeMap<String, (Place, String)>,
    markers: Vec<Marker>,
    used: BTreeSet<String>,
    pub(super) wrong: Vec<String>,
}

/// Ask about every marker; all that is wrong is told together.
pub(crate) fn check(project: &mut TestProject) {
    let mut claims = Claims::default();
    for file in files_below(project.root()) {
        if file.ends_with(".py") || file.ends_with(".pyi") {
            let bytes = std::fs::read(project.root().join(&file)).unwrap();
            claims.read(&file, &decoded(&bytes));
        }
    }
    assert!(!claims.markers.is_empty(), "no marker at all");
    claims.definitions(project);
    claims.hovers(project);
    claims.uses(project);
    claims.occurrences(project);
    for name in claims
        .names
        .keys()
        .filter(|name| !claims.used.contains(*name))
    {
        claims.wrong.push(format!("nothing needs `@{name}`"));
    }
    let wrong = &claims.wrong;
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The text of a file in any of the encodings that fixtures are written in.
fn decoded(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).map_or_else(
        |_| bytes.iter().map(|byte| char::from(*byte)).collect(),
        str::to_owned,
    );
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    text.replace('\r', "\n")
}

/// The column that a marker points at, and what it claims; nothing for other lines.
fn marker(line: &str) -> Option<(usize, &str)> {
    let comment = line.trim_start();
    let body = comment.strip_prefix('#')?.trim_start();
    let column = |part: &str| line[..line.len() - part.len()].chars().count();
    match (body.strip_prefix('^'), body.strip_prefix("<- ")) {
        (Some(claims), _) => Some((column(body), claims)),
        (_, Some(claims)) => Some((column(comment), claims)),
        _ => None,
    }
}

impl Claims {
    fn read(&mut self, file: &str, text: &str) {
        let mut above = (0, "");
        for (number, line) in text.split('\n').enumerate() {
            let Some((column, claims)) = marker(line) else {
                above = (number + 1, line);
                continue;
            };
            let rest: String = above.1.chars().skip(column).collect();
            let word: String = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            let at = Place {
                file: file.to_owned(),
                line: above.0.try_into().unwrap(),
                column: u32::try_from(column).unwrap() + 1,
            };
            if rest.trim().is_empty() && !claims.contains("nothing") {
                self.wrong
                    .push(format!("{at}: the marker points at nothing"));
            }
            for claim in claims.split(';') {
                self.claim(&at, &word, claim);
            }
        }
    }

    fn claim(&mut self, at: &Place, word: &str, claim: &str) {
        let mut words = claim.split_whitespace().map(str::to_owned);
        let verb = words.next().unwrap_or_default();
        let words: Vec<String> = words.collect();
        if let Some(name) = verb.strip_prefix('@') {
            let place = (at.clone(), word.to_owned());
            if !words.is_empty() || self.names.insert(name.to_owned(), place).is_some() {
                self.wrong
                    .push(format!("{at}: `@{name}` is named twice, or says more"));
            }
            return;
        }
        let fits = match verb.as_str() {
            "defs" => !words.is_empty(),
            "hover" | "maybe" | "renamed" => words.len() == 1,
            "uses" => words.len() == 1 || words.len() == 2 && words[1] == "inside",
            _ => false,
        };
        if !fits {
            self.wrong.push(format!("{at}: `{claim}` is no claim"));
            return;
        }
        let at = at.clone();
        self.markers.push(Marker { at, verb, words });
    }

    pub(super) fn of(&self, verb: &str) -> Vec<(Place, Vec<String>)> {
        let fitting = self.markers.iter().filter(|marker| marker.verb == verb);
        fitting.map(|m| (m.at.clone(), m.words.clone())).collect()
    }

    /// The place with a name.
    pub(super) fn named(&mut self, at: &Place, name: &str) -> Option<(Place, String)> {
        let name = name.strip_prefix('@').unwrap_or(name);
        self.used.insert(name.to_owned());
        let found = self.names.get(name).cloned();
        if found.is_none() {
            self.wrong.push(format!("{at}: there is no `@{name}`"));
        }
        found
    }

    pub(super) fn expect<T: PartialEq + fmt::Debug>(
        &mut self,
        at: &Place,
        what: &str,
        got: T,
        expected: T,
    ) {
        if got != expected {
            let line = format!("{at}: {what}\n    expected {expected:?}\n    got      {got:?}");
            self.wrong.push(line);
        }
    }
}

impl Place {
    pub(super) fn of(location: &Value) -> Self {
        let number = |name: &str| location[name].as_u64().unwrap_or(0).try_into().unwrap();
        Self {
            file: location["file"].as_str().unwrap_or_default().to_owned(),
            line: number("line"),
            column: number("column"),
        }
    }

    pub(super) fn params(&self) -> Value {
        json!({"file": self.file, "line": self.line, "col": self.column})
    }
}

#[path = "markers_tests.rs"]
mod tests;
