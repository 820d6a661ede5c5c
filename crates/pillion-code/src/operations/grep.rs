//! `code.grep`: text in the files of a workspace.

use std::path::{Path, PathBuf};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use pillion_catalogue::{
    Code, Context, Error, Method, Offer, Operation, Result, Route, Safety, Scope, wanted, work,
};
use pillion_index::answers::{Answer, Unread};
use pillion_index::place;
use pillion_index::source::Source;
use pillion_index::text::{Text, rest_of, shown};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CodeService;
use crate::params::limit;

/// Search the text of the workspace's files.
///
/// What `.gitignore` and `.pillionignore` leave out is not searched, and neither are
/// binary files.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Grep {
    /// The text to look for.
    pub pattern: String,
    /// Only in this file or folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The pattern is a regular expression.
    #[arg(long, short = 'e')]
    #[serde(default)]
    pub regex: bool,
    /// Upper and lower case are the same.
    #[arg(long, short)]
    #[serde(default)]
    pub ignore_case: bool,
    /// Lines to show before and after each match.
    #[arg(long, short = 'C')]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<usize>,
    /// At most so many matches.
    #[arg(id = "limit", long = "max", alias = "limit", short = 'm')]
    #[serde(
        default,
        rename = "limit",
        alias = "max",
        skip_serializing_if = "Option::is_none"
    )]
    pub max: Option<usize>,
}

/// Lines that match.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Matches {
    /// The matches, by file and line.
    pub matches: Vec<Match>,
    /// How many lines match.
    pub total: usize,
    /// Whether `limit` cut some off.
    pub truncated: bool,
    /// The moment this is true for.
    pub clock: String,
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Match {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column of the first match on it, in characters, from 1.
    pub column: u64,
    /// The line.
    pub text: String,
    /// Lines before it.
    #[serde(default)]
    pub before: Vec<String>,
    /// Lines after it.
    #[serde(default)]
    pub after: Vec<String>,
}

/// Lines of context at most.
const MAX_CONTEXT: usize = 50;
/// Characters of a line that are shown: minified files have lines of megabytes.
const MAX_LINE: usize = 500;
/// Files that are searched together; then it is looked whether anybody still waits.
const CHUNK: usize = 128;
/// Memory that a pattern may compile to.
const MAX_REGEX: usize = 10 << 20;

impl Operation for Grep {
    const NAME: &'static str = "code.grep";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .typed("grep", 80)
        .everyday()
        .routes(&[Route::older(Method::Post, "/grep")]);
    type Service = CodeService;
    type Output = Answer<Matches>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Matches>> {
        let matcher = self.matcher()?;
        let view = CodeService::view(&cx, cx.caller(), self.path.as_deref()).await?;
        let within = match &self.path {
            Some(path) => place::inside(view.root(), path)?,
            None => String::new(),
        };
        let context = self.context.unwrap_or(0).min(MAX_CONTEXT);
        let (seen, max) = (view.clone(), limit(self.max));
        let search = work(move |token| {
            let files = seen.snapshot.files();
            let mut paths: Vec<&str> = match files.get(&within) {
                Some(file) => vec![&*file.path],
                // Whoever names a file means it, also one that is ignored.
                None if seen.root().join(&within).is_file() => vec![&within],
                None => files.under(&within).map(|file| &*file.path).collect(),
            };
            paths.sort_unstable();
            let (mut matches, mut total) = (Vec::new(), 0);
            for chunk in paths.chunks(CHUNK) {
                wanted(token)?;
                let room = max - matches.len();
                let found = chunk.par_iter().map(|path| {
                    let is_foreign = seen.index.get(path).is_some_and(|facts| !facts.is_plain);
                    let foreign = if is_foreign {
                        seen.source(path.as_ref())
                    } else {
                        None
                    };
                    let path = (seen.root(), *path);
                    search_file(&matcher, path, foreign.as_deref(), context, room)
                });
                let found: Vec<(Vec<Match>, usize)> = found.collect();
                total += found.iter().map(|(_, count)| count).sum::<usize>();
                matches.extend(found.into_iter().flat_map(|(found, _)| found).take(room));
            }
            Ok::<_, Error>((matches, total))
        });
        let (matches, total) = search.await??;
        let matches = Matches {
            truncated: matches.len() < total,
            matches,
            total,
            clock: view.clock(),
        };
        Ok(Answer::one(matches, Unread::of(&view.snapshot, |_| true))
            .in_format(cx.caller().format()))
    }
}

impl Grep {
    fn matcher(&self) -> Result<RegexMatcher> {
        let mut builder = RegexMatcherBuilder::new();
        builder
            .case_insensitive(self.ignore_case)
            .fixed_strings(!self.regex)
            .size_limit(MAX_REGEX)
            .dfa_size_limit(MAX_REGEX)
            .multi_line(true)
            // A line may end with `\n` or `\r\n`, and `$` stands before either.
            .crlf(true);
        if self.pattern.is_empty() {
            return Err(Error::new(Code::InvalidParams, "the pattern is empty"));
        }
        builder.build(&self.pattern).map_err(|error| {
            Error::new(
                Code::InvalidParams,
                format!("`{}` is no pattern: {error}", self.pattern),
            )
            .hint("without `regex` the pattern is plain text on one line")
        })
    }
}

/// The first matches in a file, and how many there are.
fn search_file(
    matcher: &RegexMatcher,
    (root, path): (&Path, &str),
    // The text of one that is not written in UTF-8.
    foreign: Option<&Source>,
    context: usize,
    room: usize,
) -> (Vec<Match>, usize) {
    let mut found = Found {
        matcher,
        path,
        lines: Vec::new(),
        matches: Vec::new(),
        count: 0,
        room,
    };
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(true)
        .line_terminator(LineTerminator::crlf())
        .before_context(context)
        .after_context(context)
        .build();
    // A file that vanished or cannot be read has no matches.
    let _ = match foreign {
        Some(source) => searcher.search_slice(matcher, source.text().as_bytes(), &mut found),
        None => searcher.search_path(matcher, root.join(path), &mut found),
    };
    (found.with_context(context), found.count)
}

struct Found<'a> {
    matcher: &'a RegexMatcher,
    path: &'a str,
    /// Every line that was told, with its number: those that match and those around them.
    lines: Vec<(u64, String)>,
    /// Lines that match, each by its place among them, and the column.
    matches: Vec<(usize, u64)>,
    count: usize,
    room: usize,
}

impl Found<'_> {
    /// The matches, each with all lines around it, also those that others have too.
    fn with_context(&self, context: usize) -> Vec<Match> {
        let text = |(_, text): &(u64, String)| text.clone();
        let all = self.matches.iter().map(|(index, column)| {
            let line = self.lines[*index].0;
            let (before, after) = (&self.lines[..*index], &self.lines[index + 1..]);
            let is_near = |(other, _): &&(u64, String)| line.abs_diff(*other) <= context as u64;
            let first = before.len() - before.iter().rev().take_while(is_near).count();
            Match {
                file: self.path.to_owned(),
                line,
                column: *column,
                text: text(&self.lines[*index]),
                before: before[first..].iter().map(text).collect(),
                after: after.iter().take_while(is_near).map(text).collect(),
            }
        });
        all.collect()
    }
}

impl Sink for Found<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> std::io::Result<bool> {
        self.count += 1;
        if self.count > self.room {
            // It may still stand beside the last one that is shown.
            self.tell(found.line_number(), found.bytes());
            return Ok(true);
        }
        let first = self.matcher.find(found.bytes()).ok().flatten();
        let before = &found.bytes()[..first.map_or(0, |m| m.start())];
        let column = String::from_utf8_lossy(before)
            .trim_start_matches('\u{feff}')
            .chars()
            .count();
        self.matches.push((self.lines.len(), column as u64 + 1));
        self.lines
            .push((found.line_number().unwrap_or(0), clipped(found.bytes())));
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> std::io::Result<bool> {
        self.tell(line.line_number(), line.bytes());
        Ok(true)
    }
}

impl Found<'_> {
    /// Keep a line that does not match, or is not shown as a match, if one beside it is.
    fn tell(&mut self, number: Option<u64>, line: &[u8]) {
        let last = self
            .matches
            .last()
            .map_or(0, |(index, _)| self.lines[*index].0);
        let number = number.unwrap_or(0);
        if self.count <= self.room || number.saturating_sub(last) <= MAX_CONTEXT as u64 {
            self.lines.push((number, clipped(line)));
        }
    }
}

fn clipped(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text
        .trim_start_matches('\u{feff}')
        .trim_end_matches(['\n', '\r']);
    match text.char_indices().nth(MAX_LINE) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

impl Text for Matches {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        let has_context = |m: &Match| !m.before.is_empty() || !m.after.is_empty();
        let with_context = self.matches.iter().any(has_context);
        // The file and the line that were written last.
        let mut last = ("", 0);
        for (at, found) in self.matches.iter().enumerate() {
            let file = found.file.as_str();
            let first = found.line.saturating_sub(found.before.len() as u64);
            let is_next = last.0 == file && first <= last.1 + 1;
            if with_context && at > 0 && !is_next {
                lines.push("--".into());
            }
            let written = if last.0 == file { last.1 } else { 0 };
            let before = (first..).zip(&found.before).filter(|(n, _)| *n > written);
            lines.extend(before.map(|(number, text)| format!("{file}-{number}-  {text}")));
            lines.push(format!(
                "{file}:{}:{}  {}",
                found.line, found.column, found.text
            ));
            last = (file, found.line);
            // What is a match itself is written as one.
            let next = self.matches.get(at + 1).filter(|next| next.file == file);
            let next = next.map_or(u64::MAX, |next| next.line);
            let after = (found.line + 1..)
                .zip(&found.after)
                .filter(|(n, _)| *n < next);
            for (number, text) in after {
                lines.push(format!("{file}-{number}-  {text}"));
                last.1 = number;
            }
        }
        if lines.is_empty() {
            lines.push("nothing found".into());
        }
        lines.extend(rest_of(self.total, self.matches.len(), "limit"));
        lines.join("\n")
    }
}
