//! Code that stands in texts: doctests, `python -c "..."`, notebooks, scripts without an ending.
//!
//! No engine reads it, but it runs. What such code means is told by its own words: it takes a
//! name from a module, spells it with what it belongs to, or is a doctest of a module, which
//! has all names of that module.

use std::collections::BTreeSet;
use std::sync::Arc;

use pillion_index::Index;
use pillion_index::parsed::{Parsed, parsed};
use pillion_index::source::{Source, Span};
use pillion_symbols::literals::words;
use pillion_workspace::Snapshot;
use rayon::prelude::*;
use ruff_python_ast::token::TokenKind;
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::documents;
use super::strings::{Text, before, docstrings, span_of};

/// What runs a text with the names that are there.
const EVALUATED: &[&str] = &["compile", "eval", "exec", "timeit", "Timer"];
/// How far before a keyword its call may begin.
const MAX_CALL: usize = 2_000;

/// What is looked for.
#[derive(Debug, Clone)]
pub(crate) struct Sought {
    pub(crate) name: String,
    pub(crate) form: Form,
    /// Files whose doctests have it without importing it.
    pub(crate) homes: BTreeSet<String>,
    /// What it is spelled with elsewhere: the names of its modules or classes.
    pub(crate) owners: BTreeSet<String>,
}

/// How it is written.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    /// As a name of a module.
    Name,
    /// Behind the dot of an object.
    Attribute,
    /// As a keyword of a call of one of these.
    Keyword(BTreeSet<String>),
}

/// A place in such code that means what is looked for.
#[derive(Debug, Clone)]
pub struct Embedded {
    /// The file, relative to the workspace.
    pub file: String,
    /// Where the name stands.
    pub span: Span,
    /// Whether it runs: what documentation only shows does not.
    pub runs: bool,
    /// Whether it is called there.
    pub is_called: bool,
    /// What holds it, as a reason.
    pub why: &'static str,
    pub(crate) text: Text,
}

/// Where such code means what is looked for. Blocks: it reads all files.
pub(crate) fn uses(index: &Index, snapshot: &Snapshot, sought: &Sought) -> Vec<Embedded> {
    let root = snapshot.root();
    let paths: Vec<&Arc<str>> = index.iter().map(|(path, _)| path).collect();
    let in_python: Vec<Vec<_>> = paths
        .par_iter()
        .map(|path| {
            let bytes = std::fs::read(root.join(&***path)).unwrap_or_default();
            match memchr::memmem::find(&bytes, sought.name.as_bytes()) {
                Some(_) => in_python(&Source::decode(&bytes), path, sought),
                None => Vec::new(),
            }
        })
        .collect();
    let mut found: Vec<Embedded> = in_python.into_iter().flatten().collect();
    found.extend(documents::with_text(
        snapshot,
        &sought.name,
        |file, source| in_document(source, file, sought),
    ));
    found
}

/// The names in the doctests of a part of a file that mean something of their module: those
/// without a dot before them, each once.
pub(crate) fn names_in_doctests(
    source: &Source,
    file: &str,
    within: &[TextRange],
) -> Vec<(String, Span)> {
    let fragments = parsed(source.text(), file, |parsed| {
        fragments(source.text(), parsed)
    });
    let mut found = Vec::new();
    for fragment in fragments.iter().filter(|fragment| fragment.is_doctest) {
        let own = parsed(&fragment.code, "doctest.py", |parsed| {
            let mut own: Vec<(usize, String)> = Vec::new();
            let mut after_dot = false;
            for token in parsed.tokens().iter() {
                if token.kind() == TokenKind::Name && !after_dot {
                    let text = fragment.code[token.range()].to_owned();
                    own.push((token.start().to_usize(), text));
                }
                after_dot = token.kind() == TokenKind::Dot;
            }
            own
        });
        for (at, name) in own {
            let start = TextSize::try_from(fragment.place(at)).unwrap_or_default();
            let range = TextRange::at(start, TextSize::of(&name));
            if within.iter().any(|part| part.contains_range(range)) {
                found.push((name, span_of(source, range)));
            }
        }
    }
    found
}

/// A piece of code in a text.
#[derive(Debug, Default)]
struct Fragment {
    code: String,
    /// Where lines of the code begin, and where they stand in the text.
    lines: Vec<(usize, usize)>,
    is_doctest: bool,
    /// Whether it is run where it stands, with all names of the code around it.
    is_evaluated: bool,
    text: Option<Text>,
    runs: bool,
}

impl Fragment {
    fn push(&mut self, line: &str, at: usize) {
        self.lines.push((self.code.len(), at));
        self.code.push_str(line);
        if !line.ends_with('\n') {
            self.code.push('\n');
        }
    }

    /// Where something of the code stands in the text.
    fn place(&self, at: usize) -> usize {
        let line = self.lines.partition_point(|(start, _)| *start <= at);
        let line = line.checked_sub(1).and_then(|line| self.lines.get(line));
        line.map_or(at, |(start, place)| place + (at - start))
    }

    fn why(&self) -> &'static str {
        match (self.is_doctest, self.text) {
            (true, _) => "in a doctest",
            (false, Some(Text::Document) | None) => "in a document",
            (false, Some(_)) => "in code that a string holds",
        }
    }

    /// Where the code is text itself.
    fn strings(&self) -> Vec<TextRange> {
        if !self.is_doctest {
            return Vec::new();
        }
        parsed(&self.code, "doctest.py", |parsed| {
            let tokens = parsed.tokens().iter();
            let strings = tokens.filter(|token| {
                let kind = token.kind();
                matches!(
                    kind,
                    TokenKind::String | TokenKind::FStringMiddle | TokenKind::Comment
                )
            });
            strings.map(Ranged::range).collect()
        })
    }
}

/// The examples in a text: lines behind `>>>`, and those that go on behind `...`.
fn doctest(text: &str, at: usize) -> Fragment {
    let mut fragment = Fragment {
        is_doctest: true,
        runs: true,
        ..Fragment::default()
    };
    let (mut start, mut goes_on) = (at, false);
    for line in text.split_inclusive('\n') {
        // The first line of a string has its quotes before it.
        let quotes = match start == at {
            true => line.len() - line.trim_start_matches(|c| "rRuU\"'".contains(c)).len(),
            false => 0,
        };
        let body = line[quotes..].trim_start();
        let code = match body.strip_prefix(">>>") {
            Some(rest) => Some(rest),
            None if goes_on => body.strip_prefix("..."),
            None => None,
        };
        goes_on = code.is_some();
        if let Some(code) = code {
            let code = code.strip_prefix(' ').unwrap_or(code);
            fragment.push(code, start + (line.len() - code.len()));
        }
        start += line.len();
    }
    fragment
}

/// A text that may be code as a whole; line ends that are only written there end lines.
fn whole(text: &str, at: usize, kind: Text) -> Fragment {
    let mut fragment = Fragment {
        text: Some(kind),
        runs: true,
        ..Fragment::default()
    };
    fragment.push(&text.replace("\\n", " \n").replace("\\t", "  "), at);
    fragment
}

/// What of documentation is code: blocks between fences, and indented ones.
fn shown(text: &str) -> Fragment {
    let mut fragment = Fragment {
        text: Some(Text::Document),
        ..Fragment::default()
    };
    let (mut start, mut fenced) = (0, false);
    for line in text.split_inclusive('\n') {
        let body = line.trim_start();
        let is_fence = body.starts_with("```") || body.starts_with("~~~");
        fenced ^= is_fence;
        let is_indented = line.starts_with("   ") || line.starts_with('\t');
        let is_example = body.starts_with(">>>") || body.starts_with("...");
        if !is_fence && !is_example && (fenced || is_indented) && !body.is_empty() {
            fragment.push(line, start);
        }
        start += line.len();
    }
    fragment
}

/// The code in the strings of a Python file.
fn fragments(text: &str, parsed: &Parsed) -> Vec<Fragment> {
    let documentation = docstrings(parsed.body());
    let mut found = Vec::new();
    let (mut depth, mut begin) = (0_usize, TextSize::default());
    // The last name, while only an open bracket stands behind it.
    let mut called = "";
    for token in parsed.tokens().iter() {
        let is_evaluated = EVALUATED.contains(&called);
        match token.kind() {
            TokenKind::Name if depth == 0 => called = &text[token.range()],
            TokenKind::Lpar => {}
            kind if kind.is_trivia() => {}
            _ if depth == 0 && token.kind() != TokenKind::FStringStart => called = "",
            _ => {}
        }
        let range = match token.kind() {
            TokenKind::String => token.range(),
            TokenKind::FStringStart | TokenKind::TStringStart => {
                if depth == 0 {
                    begin = token.start();
                }
                depth += 1;
                continue;
            }
            TokenKind::FStringEnd | TokenKind::TStringEnd => {
                depth = depth.saturating_sub(1);
                if depth > 0 {
                    continue;
                }
                TextRange::new(begin, token.end())
            }
            _ => continue,
        };
        let (string, at) = (&text[range], range.start().to_usize());
        let is_documentation = documentation.contains(&range.start());
        if string.contains(">>>") {
            let kind = match is_documentation {
                true => Text::Docstring,
                false => Text::String,
            };
            let mut fragment = doctest(string, at);
            fragment.text = Some(kind);
            found.push(fragment);
        }
        if !is_documentation && depth == 0 && (is_evaluated || string.contains("import")) {
            // The letters before the quotes are no names.
            let quoted = string.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            let at = at + (string.len() - quoted.len());
            found.push(Fragment {
                is_evaluated,
                ..whole(quoted, at, Text::String)
            });
        }
    }
    found
}

fn in_python(source: &Source, path: &str, sought: &Sought) -> Vec<Embedded> {
    let text = source.text();
    let fragments = parsed(text, path, |parsed| fragments(text, parsed));
    let is_home = sought.homes.contains(path);
    let each = fragments.iter();
    let found = each.flat_map(|one| {
        let is_attribute = matches!(sought.form, Form::Attribute);
        // Of what stands before the dot nobody knows anything there.
        let has_it = one.is_doctest && is_home || one.is_evaluated && (is_home || is_attribute);
        found_in(one, source, path, has_it, sought)
    });
    found.collect()
}

fn in_document(source: &Source, path: &str, sought: &Sought) -> Vec<Embedded> {
    let text = source.text();
    let mut examples = doctest(text, 0);
    examples.text = Some(Text::Document);
    let rest = match documents::is_prose(path) {
        true => shown(text),
        false => whole(text, 0, Text::Document),
    };
    let mut found = found_in(&examples, source, path, false, sought);
    found.extend(found_in(&rest, source, path, false, sought));
    found
}

fn found_in(
    fragment: &Fragment,
    source: &Source,
    path: &str,
    is_home: bool,
    sought: &Sought,
) -> Vec<Embedded> {
    let (code, name) = (&*fragment.code, &*sought.name);
    if words(code, name).next().is_none() {
        return Vec::new();
    }
    let imports = Imports::of(code, sought);
    let strings = fragment.strings();
    let mut found = Vec::new();
    for at in words(code, name) {
        let in_string = strings
            .iter()
            .any(|range| range.to_std_range().contains(&at));
        if in_string || !means(code, at, is_home, &imports, sought) {
            continue;
        }
        let start = TextSize::try_from(fragment.place(at)).unwrap_or_default();
        let range = TextRange::at(start, TextSize::of(name));
        // Only what the text itself spells.
        if source.text().get(range.to_std_range()) != Some(name) {
            continue;
        }
        found.push(Embedded {
            file: path.to_owned(),
            span: span_of(source, range),
            text: fragment.text.unwrap_or(Text::Document),
            runs: fragment.runs,
            is_called: code[at + name.len()..].trim_start().starts_with('('),
            why: fragment.why(),
        });
    }
    found
}

/// Whether a word of code means what is looked for.
fn means(code: &str, at: usize, is_home: bool, imports: &Imports, sought: &Sought) -> bool {
    let after = code[at + sought.name.len()..].trim_start_matches(' ');
    let follows_dot = code[..at].ends_with('.');
    let chain = before(code, at);
    let owner = chain.rsplit(['.', ':']).next().unwrap_or_default();
    match &sought.form {
        Form::Name => {
            let is_keyword = after.starts_with('=') && !after.starts_with("==");
            let is_bare = chain.is_empty() && !follows_dot;
            imports.names.contains(&at)
                || imports.any && (sought.owners.contains(owner) || imports.modules.contains(owner))
                || is_bare && (imports.is_bare || is_home) && !is_keyword
        }
        Form::Attribute => follows_dot && (is_home || imports.any || owns(code, sought)),
        Form::Keyword(functions) => {
            let is_keyword = after.starts_with('=') && !after.starts_with("==");
            let from = code[..at].char_indices().rev().nth(MAX_CALL);
            let head = &code[from.map_or(0, |(from, _)| from)..at];
            let is_argument = head.trim_end().ends_with(['(', ',']);
            let mut functions = functions.iter();
            let is_call = functions.any(|function| {
                let mut calls = words(head, function);
                calls.any(|at| head[at + function.len()..].trim_start().starts_with('('))
            });
            is_keyword && is_argument && is_call && (is_home || imports.any)
        }
    }
}

/// Whether code names a class that has it.
fn owns(code: &str, sought: &Sought) -> bool {
    let mut owners = sought.owners.iter();
    owners.any(|owner| words(code, owner).next().is_some())
}

/// What the imports of some code say of a name.
#[derive(Debug, Default)]
struct Imports {
    /// Where they name it.
    names: BTreeSet<usize>,
    /// Whether it is known by its own name then.
    is_bare: bool,
    /// What its modules are called then.
    modules: BTreeSet<String>,
    /// Whether anything of its modules is imported.
    any: bool,
}

impl Imports {
    /// Read what stands around each `import`: code of which parts are missing has no tree.
    fn of(code: &str, sought: &Sought) -> Self {
        let mut all = Self::default();
        let ends = ['\n', ';', '"', '\'', '`'];
        let last = |dotted: &str| dotted.trim().rsplit('.').next().map(str::to_owned);
        for at in words(code, "import") {
            let begin = code[..at].rfind(ends).map_or(0, |end| end + 1);
            let head = code[begin..at].trim();
            let from = words(head, "from").last();
            let module = from.map(|from| head[from + "from".len()..].trim());
            let mut start = at + "import".len();
            let open = code[start..].trim_start().starts_with('(');
            if open {
                start += code[start..].find('(').map_or(0, |open| open + 1);
            }
            let end = match open {
                true => code[start..].find(')'),
                false => code[start..].find(ends),
            };
            let end = end.map_or(code.len(), |end| start + end);
            let owner = module.and_then(last);
            let is_ours = owner.is_some_and(|owner| sought.owners.contains(&owner));
            all.any |= is_ours;
            let mut next = start;
            for part in code[start..end].split(',') {
                let offset = next;
                next += part.len() + 1;
                let mut names = part.split_whitespace();
                let name = names.next().unwrap_or_default();
                let alias = names.nth(1).unwrap_or(name);
                if is_ours && name == "*" {
                    all.is_bare = true;
                } else if is_ours && name == sought.name {
                    all.is_bare |= alias == name;
                    all.names
                        .insert(offset + part.find(name).unwrap_or_default());
                }
                // `import shop.cli` is used as `shop.cli`, and with a name of its own by that.
                if last(name).is_some_and(|last| sought.owners.contains(&last)) {
                    all.any = true;
                    all.modules.extend(last(alias));
                }
            }
        }
        all
    }
}

#[cfg(test)]
#[path = "embedded_tests.rs"]
mod tests;
