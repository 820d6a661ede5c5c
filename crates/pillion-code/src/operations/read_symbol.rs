//! `code.read_symbol`: the source of a definition by its name path.

use std::path::PathBuf;

use pillion_catalogue::{Code, Context, Error, Offer, Operation, Result, Safety, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CodeService;
use crate::answers::Answer;
use crate::outline::{last_line, outlined};
use crate::params::limit;
use crate::project::View;
use crate::text::{Text, rest, shown};
use crate::{answers, place};

/// Read the source of a definition by its name path, such as `Class/method`.
///
/// A path may be the end of a longer one: `save` finds `Model/save` and `Form/save`.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct ReadSymbol {
    /// `function`, `Class`, `Class/method` and so on; a `/` in front means the top level.
    pub name_path: String,
    /// Only in this file or folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// At most so many.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Definitions with their source.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SymbolSources {
    /// The definitions.
    pub matches: Vec<SymbolSource>,
    /// How many fit.
    pub total: usize,
    /// Whether `limit` cut some off.
    pub truncated: bool,
    /// The moment this is true for.
    pub clock: String,
}

/// A definition with its source.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SymbolSource {
    /// The definition.
    #[serde(flatten)]
    pub symbol: answers::Outlined,
    /// Its lines, with decorators and documentation.
    pub source: String,
}

/// What is shown unless more is asked for.
const FEW: usize = 10;

impl Operation for ReadSymbol {
    const NAME: &'static str = "code.read_symbol";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.typed("read-symbol", 140);
    type Service = CodeService;
    type Output = Answer<SymbolSources>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<SymbolSources>> {
        let view = CodeService::view(&cx, cx.caller(), self.path.as_deref()).await?;
        let within = match &self.path {
            Some(path) => Some(place::inside(view.root(), path)?),
            None => None,
        };
        let all = find(&view, &self.name_path, within.as_deref());
        if all.is_empty() {
            return Err(Error::new(
                Code::NotFound,
                format!("no definition `{}`", self.name_path),
            )
            .hint("`code.symbols` finds definitions by a part of their name"));
        }
        let total = all.len();
        let shown = all.iter().take(limit(self.limit.or(Some(FEW))));
        let matches: Vec<_> = shown
            .filter_map(|(file, index)| source_of(&view, file, *index))
            .collect();
        let sources = SymbolSources {
            truncated: matches.len() < total,
            matches,
            total,
            clock: view.clock(),
        };
        Ok(Answer::one(sources, view.unread()).in_format(cx.caller().format()))
    }
}

/// Where definitions with this name path, or the end of one, are.
pub(super) fn find(view: &View, name_path: &str, within: Option<&str>) -> Vec<(String, usize)> {
    let (wanted, from_top) = match name_path.strip_prefix('/') {
        Some(rest) => (rest, true),
        None => (name_path, false),
    };
    let last = wanted.rsplit('/').next().unwrap_or(wanted);
    let mut found = Vec::new();
    for (file, facts) in view.index.iter() {
        let is_within = within.is_none_or(|path| {
            path.is_empty()
                || file
                    .strip_prefix(path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        if !is_within {
            continue;
        }
        for (index, symbol) in facts.symbols.iter().enumerate() {
            if &*symbol.name != last {
                continue;
            }
            let path = facts.name_path(index);
            let fits = path == wanted
                || !from_top && path.strip_suffix(wanted).is_some_and(|r| r.ends_with('/'));
            if fits {
                found.push((path != wanted, file.to_string(), index));
            }
        }
    }
    // Whole paths first.
    found.sort();
    found
        .into_iter()
        .map(|(_, file, index)| (file, index))
        .collect()
}

fn source_of(view: &View, file: &str, index: usize) -> Option<SymbolSource> {
    let facts = view.index.get(file)?;
    let source = view.source(file.as_ref())?;
    let span = facts.symbols[index].span;
    let lines: Vec<&str> = (span.start.line..=last_line(span))
        .map_while(|line| source.line(line))
        .collect();
    Some(SymbolSource {
        symbol: outlined(file, facts, index),
        source: lines.join("\n"),
    })
}

impl Text for SymbolSources {
    fn text(&self) -> String {
        let mut parts: Vec<String> = self
            .matches
            .iter()
            .map(|found| {
                let symbol = &found.symbol;
                format!(
                    "{}:{}-{}  {}\n{}",
                    symbol.file, symbol.line, symbol.end_line, symbol.name_path, found.source
                )
            })
            .collect();
        parts.extend(rest(self.total, self.matches.len()));
        parts.join("\n\n")
    }
}
