//! Codemods: ast-grep's rules, as YAML, on the Python files of a workspace.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use ast_grep_config::{GlobalRules, RuleCollection, RuleConfig, from_yaml_string};
use ast_grep_core::Language;
use ast_grep_core::matcher::{Pattern, PatternBuilder, PatternError};
use ast_grep_core::tree_sitter::{LanguageExt, StrDoc, TSLanguage};
use pillion_catalogue::{Code, Error, Result};
use pillion_changes::{MAX_CHANGE, too_large};
use pillion_index::nesting::is_deeper;
use pillion_index::source::{LineColumn, Source};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NewText, syntax_error};

/// Python, and no other language: rules for others are refused when they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
struct Python(#[serde(with = "python")] ());

mod python {
    use ast_grep_language::Python;
    use serde::{Deserialize, Deserializer};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
        Python::deserialize(from).map(|_| ())
    }
}

impl Language for Python {
    fn kind_to_id(&self, kind: &str) -> u16 {
        ast_grep_language::Python.kind_to_id(kind)
    }

    fn field_to_id(&self, field: &str) -> Option<u16> {
        ast_grep_language::Python.field_to_id(field)
    }

    fn expando_char(&self) -> char {
        ast_grep_language::Python.expando_char()
    }

    fn pre_process_pattern<'q>(&self, query: &'q str) -> Cow<'q, str> {
        ast_grep_language::Python.pre_process_pattern(query)
    }

    fn build_pattern(&self, builder: &PatternBuilder) -> Result<Pattern, PatternError> {
        builder.build(|source| {
            let parsed = StrDoc::try_new(source, *self)?;
            // Patterns are built and compared level by level, on the stack.
            match is_deeper(&parsed.tree, MAX_PATTERN_DEPTH) {
                true => Err("the pattern nests too deeply".to_owned()),
                false => Ok(parsed),
            }
        })
    }
}

impl LanguageExt for Python {
    fn get_ts_language(&self) -> TSLanguage {
        ast_grep_language::Python.get_ts_language()
    }
}

/// How deep the tree of a pattern may be.
const MAX_PATTERN_DEPTH: u32 = 256;
/// How deep the tree of a file may be: a level of Python is some levels of it.
const MAX_TREE_DEPTH: u32 = 8_000;
/// Files that are looked at before what was found in them is put together.
const AT_ONCE: usize = 16;
/// Bytes that the answer shows of a match, or of what comes in its place.
const MAX_SHOWN: usize = 2 << 10;
/// Bytes of matches that the answer has.
const MAX_MATCHES: usize = 8 << 20;
/// Bytes that the new text of a file may have; larger ones are not read again.
const MAX_NEW: usize = 16 << 20;
/// Bytes that variables could make of one fix at most.
const MAX_FIX: usize = 64 << 20;

/// A text, as far as an answer shows it.
fn cut(text: &str) -> String {
    match text.len() > MAX_SHOWN {
        true => format!("{}...", &text[..text.floor_char_boundary(MAX_SHOWN)]),
        false => text.to_owned(),
    }
}

/// Rules that were read and understood.
pub struct CodemodRules {
    /// One collection per rule: it knows which files the rule is for, and keeps the order.
    rules: Vec<RuleCollection<Python>>,
}

/// A place that a rule matches. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodemodMatch {
    /// The rule's `id`.
    pub rule: String,
    /// The file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// The line of its end.
    pub end_line: u32,
    /// One past its last column.
    pub end_column: u32,
    /// What stands there; of long ones the first 2 KiB.
    pub text: String,
    /// What would stand there, if the rule has a `fix`; of long ones the first 2 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
}

/// What rules found and made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// The places, by file, then by rule.
    pub matches: Vec<CodemodMatch>,
    /// How many there are.
    pub total: usize,
    /// Whether the limit cut some off.
    pub truncated: bool,
    /// Fixes left out because they overlap an earlier one.
    pub skipped: usize,
    /// The files that change: all of them, whatever the limit.
    pub files: Vec<NewText>,
    /// What the caller should look at.
    pub warnings: Vec<String>,
}

impl std::fmt::Debug for CodemodRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CodemodRules({})", self.rules.len())
    }
}

impl CodemodRules {
    /// Read rules, separated by `---`.
    pub fn read(yaml: &str) -> Result<Self> {
        let rules = from_yaml_string::<Python>(yaml, &GlobalRules::default())
            .map_err(|error| invalid(&told(&error)))?;
        if rules.is_empty() {
            return Err(invalid("there is no rule in it"));
        }
        let one = |rule| RuleCollection::try_new(vec![rule]).map_err(|e| invalid(&e.to_string()));
        let rules = rules.into_iter().map(one).collect::<Result<_>>()?;
        Ok(Self { rules })
    }

    /// Run the rules on these files of the workspace, on all cores. What is held meanwhile is
    /// bounded, whatever they match: matches that have no room are counted, and a change that
    /// has none is an error.
    pub fn run(&self, root: &Path, files: &[Arc<str>], limit: usize) -> Result<Rewritten> {
        let mut sum = Rewritten::default();
        let (mut changed, mut shown) = (0, 0);
        for some in files.chunks(AT_ONCE) {
            let room = limit.saturating_sub(sum.matches.len());
            let one = |file: &Arc<str>| match std::fs::read(root.join(&**file)) {
                Ok(bytes) => self.on(file, &Source::decode(&bytes), room),
                Err(error) => Rewritten {
                    warnings: vec![format!("{file}: cannot be read: {error}")],
                    ..Rewritten::default()
                },
            };
            let parts: Vec<Rewritten> = some.par_iter().map(one).collect();
            for part in parts {
                sum.total += part.total;
                sum.skipped += part.skipped;
                changed += part.files.iter().map(|file| file.text.len()).sum::<usize>();
                sum.files.extend(part.files);
                sum.warnings.extend(part.warnings);
                let room = limit.saturating_sub(sum.matches.len());
                for found in part.matches.into_iter().take(room) {
                    shown += found.size();
                    if shown > MAX_MATCHES {
                        break;
                    }
                    sum.matches.push(found);
                }
            }
            if changed > MAX_CHANGE {
                return Err(too_large());
            }
        }
        sum.truncated = sum.matches.len() < sum.total;
        Ok(sum)
    }

    /// Run the rules on one file; so many matches are wanted, the others are counted.
    pub fn on(&self, file: &str, source: &Source, wanted: usize) -> Rewritten {
        let text = source.text();
        let mut done = Rewritten::default();
        let rules = self.rules.iter();
        let rules: Vec<&RuleConfig<Python>> = rules
            .flat_map(|rule| rule.get_rule_from_lang(Path::new(file), Python(())))
            .collect();
        if rules.is_empty() {
            return done;
        }
        let left_alone = |why: String| Rewritten {
            warnings: vec![format!("{file}: left alone, {why}")],
            ..Rewritten::default()
        };
        let tree = Python(()).ast_grep(text);
        if is_deeper(&tree.root().get_doc().tree, MAX_TREE_DEPTH) {
            return left_alone("it nests too deeply".into());
        }
        let (mut inserted, mut shown) = (0, 0);
        // Sorted, and none overlaps another.
        let mut edits: Vec<(std::ops::Range<usize>, String)> = Vec::new();
        for rule in rules {
            if could_make(rule, text) > MAX_FIX {
                return left_alone(format!("the fix of `{}` repeats too much of it", rule.id));
            }
            for found in tree.root().find_all(&rule.matcher) {
                let mut replacement = None;
                done.total += 1;
                let has_room = done.matches.len() < wanted && shown < MAX_MATCHES;
                if let Some(fixer) = rule.fixer.first() {
                    let edit = found.make_edit(&rule.matcher, fixer);
                    let range = edit.position..edit.position + edit.deleted_length;
                    let new = String::from_utf8_lossy(&edit.inserted_text).into_owned();
                    replacement = has_room.then(|| cut(&new));
                    match place_for(&edits, &range) {
                        Some(at) => {
                            inserted += new.len();
                            edits.insert(at, (range, new));
                        }
                        None => done.skipped += 1,
                    }
                    if inserted > MAX_NEW {
                        return left_alone(format!(
                            "it would get larger than {} MiB",
                            MAX_NEW >> 20
                        ));
                    }
                }
                if !has_room {
                    continue;
                }
                let start = LineColumn::from(source.position(found.range().start));
                let end = LineColumn::from(source.position(found.range().end));
                let found = CodemodMatch {
                    rule: rule.id.clone(),
                    file: file.to_owned(),
                    line: start.line,
                    column: start.column,
                    end_line: end.line,
                    end_column: end.column,
                    text: cut(&found.text()),
                    replacement,
                };
                shown += found.size();
                done.matches.push(found);
            }
        }
        let new = applied(text, &edits);
        if new == text {
            return done;
        }
        if let (Some(why), None) = (syntax_error(&new, file), syntax_error(text, file)) {
            let what = format!("{file}: left alone, a fix would break it: {why}");
            done.warnings.push(what);
            return done;
        }
        done.files.push(NewText {
            path: file.to_owned(),
            text: new,
        });
        done
    }
}

impl CodemodMatch {
    fn size(&self) -> usize {
        let replacement = self.replacement.as_ref().map_or(0, String::len);
        size_of::<Self>() + self.rule.len() + self.file.len() + self.text.len() + replacement
    }
}

/// Bytes that one fix of a rule could make at most: every variable may be all of the file.
fn could_make(rule: &RuleConfig<Python>, text: &str) -> usize {
    let fix = rule
        .fix
        .as_ref()
        .and_then(|fix| serde_json::to_string(fix).ok());
    fix.map_or(0, |fix| {
        let variables = fix.matches('$').count();
        fix.len()
            .saturating_add(variables.saturating_mul(text.len()))
    })
}

/// Where an edit belongs, if it overlaps no other.
fn place_for(
    edits: &[(std::ops::Range<usize>, String)],
    range: &std::ops::Range<usize>,
) -> Option<usize> {
    let at = edits.partition_point(|(other, _)| other.start < range.start);
    let before = at.checked_sub(1).map(|before| &edits[before].0);
    let behind = edits.get(at).map(|(behind, _)| behind);
    let clear = before.is_none_or(|before| before.end <= range.start)
        && behind.is_none_or(|behind| range.end <= behind.start && range != behind);
    clear.then_some(at)
}

fn applied(text: &str, edits: &[(std::ops::Range<usize>, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (range, new) in edits {
        out.push_str(&text[done..range.start]);
        out.push_str(new);
        done = range.end;
    }
    out.push_str(&text[done..]);
    out
}

fn invalid(why: &str) -> Error {
    Error::new(Code::InvalidParams, format!("the rule is not valid: {why}"))
        .hint("a rule has `id`, `language: python` and `rule`, and a `fix` if it changes anything")
}

/// An error with all of its causes: ast-grep's first sentence alone says little.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !text.contains(&more) {
            text = format!("{}: {more}", text.trim_end_matches('.'));
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
#[path = "codemod_tests.rs"]
mod tests;
