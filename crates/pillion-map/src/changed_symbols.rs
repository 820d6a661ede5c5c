//! Which functions and classes of a file changed lines belong to, before and after.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use pillion_index::language::Language;
use pillion_index::source::{Position, Source, Span};
use pillion_index::{Facts, Kind, Symbol, extract_facts};

use super::languages::outline;
use super::languages::outline::DefKind;
use crate::git::Hunk;

/// A function or class that a change affects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedSymbol {
    /// The line of its name; where it was, if it is gone.
    pub line: u32,
    /// `Class.method`.
    pub name: String,
    /// What it is, as answers say it: `function`, `class` and so on.
    pub kind: &'static str,
    /// Whether the change took it away.
    pub is_gone: bool,
}

/// A file on one side of a change: its facts, and the lines that differ.
struct Side<'a> {
    facts: &'a Facts,
    /// First lines and how many, from 1.
    lines: Vec<(u32, u32)>,
}

/// A symbol by its name path, and how many of the name come before it.
type Named = (String, usize);

/// What is affected in a file whose text is now `now`, and was `before`. A symbol is if its
/// lines, from its first decorator, overlap lines that differ, on either side; a class only
/// if nothing in it is.
pub fn touched(now: Option<&Facts>, before: Option<&Facts>, hunks: &[Hunk]) -> Vec<ChangedSymbol> {
    let new = now.map(|facts| Side {
        facts,
        lines: hunks.iter().map(|h| (h.new_start, h.new_count)).collect(),
    });
    let old = before.map(|facts| Side {
        facts,
        lines: hunks.iter().map(|h| (h.old_start, h.old_count)).collect(),
    });
    let names = now.map(symbols).unwrap_or_default();
    let mut all: BTreeSet<ChangedSymbol> = BTreeSet::new();
    let mut paths: Vec<String> = Vec::new();
    let mut note = |facts: &Facts, (path, at): (&str, usize), is_gone: bool| {
        let symbol = &facts.symbols[at];
        if symbol.kind.is_callable() {
            paths.push(path.to_owned());
        }
        all.insert(ChangedSymbol {
            line: symbol.name_span.start.line + 1,
            name: path.replace('/', "."),
            kind: symbol.kind.name(),
            is_gone,
        });
    };
    for side in new.iter() {
        for ((path, _), at) in side.touched() {
            note(side.facts, (&path, at), false);
        }
    }
    for side in old.iter() {
        for (named, at) in side.touched() {
            match (names.get(&named), now) {
                (Some(at), Some(facts)) => note(facts, (&named.0, *at), false),
                _ => note(side.facts, (&named.0, at), true),
            }
        }
    }
    let is_named = |class: &ChangedSymbol| {
        let inside = format!("{}/", class.name.replace('.', "/"));
        paths.iter().any(|path| path.starts_with(&inside))
    };
    let class = Kind::Class.name();
    let kept = all.into_iter();
    kept.filter(|one| one.kind != class || !is_named(one))
        .collect()
}

impl Side<'_> {
    fn touched(&self) -> Vec<(Named, usize)> {
        let is_touched = |at: usize| {
            let span = &self.facts.symbols[at].span;
            let (first, last) = (span.start.line + 1, span.end.line + 1);
            self.lines.iter().any(|(start, count)| match count {
                // Nothing is on this side: the other one has it behind this line.
                0 => first <= *start && *start < last,
                _ => *start <= last && first < start.saturating_add(*count),
            })
        };
        let all = symbols(self.facts).into_iter();
        all.filter(|(_, at)| is_touched(*at)).collect()
    }
}

/// The functions and classes of a file, by name path and place.
fn symbols(facts: &Facts) -> HashMap<Named, usize> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut all = HashMap::new();
    for (at, symbol) in facts.symbols.iter().enumerate() {
        if symbol.kind.is_callable() || symbol.kind == Kind::Class {
            let path = facts.name_path(at);
            let count = counts.entry(path.clone()).or_default();
            all.insert((path, *count), at);
            *count += 1;
        }
    }
    all
}

/// The facts of a file before a change that made `now` of it.
pub fn facts_before(now: &str, hunks: &[Hunk], path: &str) -> Option<Facts> {
    facts_of(&before(now, hunks)?, path)
}

/// What a text defines, in whatever language; nothing if it is none that maps are made of.
pub fn facts_of(text: &str, path: &str) -> Option<Facts> {
    let language = Language::of_file(Path::new(path))?;
    if language == Language::Python {
        return Some(extract_facts(&Source::from_text(text), path));
    }
    let outline = outline(language, path, text);
    let defs = (0..).zip(&outline.defs);
    let symbols = defs.filter_map(|(id, def)| {
        let kind = match def.kind {
            DefKind::Class => Kind::Class,
            DefKind::Function if outline.is_method(id) => Kind::Method,
            DefKind::Function => Kind::Function,
            DefKind::File | DefKind::Namespace => return None,
        };
        let at = |line: u32| Position {
            line: line.saturating_sub(1),
            column: 0,
        };
        let span = |first: u32, last: u32| Span {
            start: at(first),
            end: at(last),
        };
        Some(Symbol {
            name: outline.qualified(id).replace('.', "/").into(),
            kind,
            container: None,
            span: span(def.lines.0, def.lines.1),
            name_span: span(def.line, def.line),
            signature: None,
            summary: None,
            bases: Box::default(),
        })
    });
    Some(Facts {
        symbols: symbols.collect(),
        ..Facts::default()
    })
}

/// The text before a change: the lines that were taken out in the place of the new ones.
/// Nothing if they do not fit, because the file is changing at this moment.
fn before(now: &str, hunks: &[Hunk]) -> Option<String> {
    let lines: Vec<&str> = now.lines().collect();
    let mut text = String::new();
    let mut push = |lines: &mut dyn Iterator<Item = &str>| {
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
    };
    let mut at = 0;
    for hunk in hunks {
        let start = usize::try_from(hunk.new_start).ok()?;
        let count = usize::try_from(hunk.new_count).ok()?;
        if hunk.removed.len() != usize::try_from(hunk.old_count).ok()? {
            return None;
        }
        // Where nothing is new, the start is the line behind which something was.
        let kept = if count == 0 {
            start
        } else {
            start.checked_sub(1)?
        };
        push(&mut lines.get(at..kept)?.iter().copied());
        push(&mut hunk.removed.iter().map(String::as_str));
        at = kept + count;
    }
    push(&mut lines.get(at..)?.iter().copied());
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(old: (u32, u32), new: (u32, u32), removed: &[&str]) -> Hunk {
        Hunk {
            old_start: old.0,
            old_count: old.1,
            new_start: new.0,
            new_count: new.1,
            removed: removed.iter().map(|line| (*line).to_owned()).collect(),
        }
    }

    /// What is affected: `name@line`, with a `-` before what is gone.
    fn affected(now: &str, hunks: &[Hunk]) -> Vec<String> {
        let facts = extract_facts(&Source::from_text(now), "a.py");
        let old = facts_before(now, hunks, "a.py").unwrap();
        let all = touched(Some(&facts), Some(&old), hunks).into_iter();
        let mark = |one: &ChangedSymbol| if one.is_gone { "-" } else { "" };
        all.map(|one| format!("{}{}@{}", mark(&one), one.name, one.line))
            .collect()
    }

    #[test]
    fn other_languages_are_read_by_their_outlines() {
        let go = "package a\n\ntype Cart struct{}\n\nfunc (c *Cart) Total() int {\n\treturn 1\n}\n";
        let facts = facts_of(go, "a.go").unwrap();
        let hunks = [hunk((6, 1), (6, 1), &["\treturn 2"])];
        let old = facts_before(go, &hunks, "a.go").unwrap();
        let all = touched(Some(&facts), Some(&old), &hunks);
        let named: Vec<_> = all
            .iter()
            .map(|one| (&*one.name, one.kind, one.line))
            .collect();
        assert_eq!(named, [("Cart.Total", "method", 5)]);
        assert_eq!(facts_of("x", "a.txt"), None);
    }

    const TEXT: &str = "\
import a

class C:
    x = 1

    @decorated
    def m(self):
        return 1

def f():
    return 2
";

    #[test]
    fn the_text_before_is_put_together() {
        let now = "one\ntwo\nthree\n";
        let hunks = [
            hunk((1, 1), (0, 0), &["zero"]),
            hunk((3, 1), (2, 2), &["2"]),
            hunk((3, 2), (3, 0), &["four", "five"]),
        ];
        assert_eq!(before(now, &hunks).unwrap(), "zero\none\n2\nfour\nfive\n");
        assert_eq!(before(now, &[hunk((1, 0), (9, 1), &[])]), None);
        assert_eq!(before(now, &[hunk((1, 2), (1, 1), &["cut"])]), None);
    }

    #[test]
    fn lines_belong_to_what_is_around_them() {
        let line = |at| affected(TEXT, &[hunk((at, 1), (at, 1), &["    y = 3"])]);
        assert_eq!(line(4), ["C@3"], "the body of a class");
        assert_eq!(line(6), ["C.m@7"], "a decorator, and the class is left out");
        assert_eq!(line(8), ["C.m@7"]);
        assert_eq!(line(11), ["f@10"]);
        assert!(line(1).is_empty());
    }

    #[test]
    fn what_was_taken_out_belongs_to_what_was_around_it() {
        let inside = [hunk((12, 1), (11, 0), &["    print(1)"])];
        assert_eq!(affected(TEXT, &inside), ["f@10"]);
        let gone = [hunk((10, 3), (9, 0), &["def g():", "    pass", ""])];
        assert_eq!(affected(TEXT, &gone), ["-g@10"]);
        // What was between two functions is now in one.
        let joined = [hunk((11, 2), (10, 0), &["    pass", "def g():"])];
        assert_eq!(affected(TEXT, &joined), ["f@10", "-g@12"]);
        // Between two functions there is nobody.
        assert!(affected(TEXT, &[hunk((10, 1), (9, 0), &[""])]).is_empty());
    }
}
