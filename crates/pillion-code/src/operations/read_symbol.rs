//! `code.read_symbol`: the source of a definition by its name path.

use std::path::PathBuf;

use pillion_catalogue::{Context, Offer, Operation, Result, Safety, Scope};
use pillion_index::answers::Answer;
use pillion_index::outline::{last_line, outlined};
use pillion_index::text::{Text, rest, shown};
use pillion_index::{answers, place};
use pillion_symbols::named;
use pillion_symbols::project::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CodeService;
use crate::params::{Asked, limit, written_here};

/// Read the source of a definition by its name path, such as `Class/method`.
///
/// A path may be the end of a longer one: `save` finds `Model/save` and `Form/save`.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct ReadSymbol {
    /// A name such as `Class.method`, `Class/method`, `pkg.mod.name` or
    /// `pkg/mod.py::Class.method`, or a place such as `pkg/mod.py:12:5`; a `/` in front means
    /// the top level.
    #[arg(value_name = "PLACE", value_parser = written_here)]
    #[serde(rename = "at", alias = "name_path")]
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
    const OFFER: Offer = Offer::PLAIN.typed("read-symbol", 140).everyday();
    type Service = CodeService;
    type Output = Answer<SymbolSources>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<SymbolSources>> {
        let about = Asked::Written(self.name_path.clone(), self.path.clone()).about();
        let view = CodeService::view(&cx, cx.caller(), about.as_deref()).await?;
        let within = match &self.path {
            Some(path) => Some(place::inside(view.root(), path)?),
            None => None,
        };
        let all = named::definitions(&view, &self.name_path, within.as_deref())?;
        let total = all.len();
        let shown = all.iter().take(limit(self.limit.or(Some(FEW))));
        let matches: Vec<_> = shown
            .filter_map(|one| source_of(&view, &one.file, one.index))
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
