//! `code.symbols`: definitions of the whole workspace by a part of their name.

use std::sync::Arc;

use pillion_catalogue::{Context, Offer, Operation, Result, Safety, Scope, work};
use pillion_index::Kind;
use pillion_index::answers::{Answer, Outlined};
use pillion_index::outline::outlined;
use pillion_index::text::{Text, rest, shown};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CodeService;
use crate::params::limit;
use pillion_symbols::named;

/// Find definitions by a part of their name.
///
/// Letters have to come in this order, not side by side: `qsfilter` finds
/// `QuerySet/filter` too if it is written `qs/filter`. The best fit comes first.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Symbols {
    /// What to look for; with a `/` in it, name paths such as `Class/method` are searched.
    pub query: String,
    /// Only of this kind: class, function, method, property, variable, attribute, type.
    #[arg(long = "kind", value_parser = kind)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Kind>,
    /// At most so many.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Definitions that fit.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FoundSymbols {
    /// The definitions, best first.
    pub symbols: Vec<Outlined>,
    /// How many fit.
    pub total: usize,
    /// Whether `limit` cut some off.
    pub truncated: bool,
    /// The moment this is true for.
    pub clock: String,
}

impl Text for FoundSymbols {
    fn text(&self) -> String {
        let mut lines: Vec<String> = self
            .symbols
            .iter()
            .map(|symbol| {
                let place = format!("{}:{}:{}", symbol.file, symbol.name_line, symbol.column);
                format!("{place}  {} {}", symbol.kind.name(), symbol.name_path)
            })
            .collect();
        if lines.is_empty() {
            lines.push("nothing found".into());
        }
        lines.extend(rest(self.total, self.symbols.len()));
        lines.join("\n")
    }
}

fn kind(text: &str) -> Result<Kind, String> {
    serde_json::from_value(text.into()).map_err(|error| error.to_string())
}

/// What is shown unless more is asked for: the best are first.
const BEST: usize = 50;

impl Operation for Symbols {
    const NAME: &'static str = "code.symbols";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.typed("symbols", 70).everyday();
    type Service = CodeService;
    type Output = Answer<FoundSymbols>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<FoundSymbols>> {
        let view = CodeService::view(&cx, cx.caller(), None).await?;
        let index = view.index.clone();
        let (query, kinds) = (self.query, self.kinds);
        // What is written as a name elsewhere is one here, too: it comes first.
        let is_name = query.contains(['.', ':']);
        let named = match is_name {
            true => named::definitions(&view, &query, None).unwrap_or_default(),
            false => Vec::new(),
        };
        let is_kind = |kind| kinds.is_empty() || kinds.contains(&kind);
        let mut found: Vec<(Arc<str>, usize)> = named
            .into_iter()
            .map(|one| (one.file, one.index))
            .filter(|(file, at)| {
                let symbol = view
                    .index
                    .get(file)
                    .and_then(|facts| facts.symbols.get(*at));
                symbol.is_some_and(|symbol| is_kind(symbol.kind))
            })
            .collect();
        let first = found.len();
        let query = query.replace('.', "/");
        let searched = work(move |token| index.search(&query, &kinds, token)).await??;
        for one in searched.into_iter().map(|one| (one.path, one.index)) {
            if !found[..first].contains(&one) {
                found.push(one);
            }
        }
        let total = found.len();
        found.truncate(limit(self.limit.or(Some(BEST))));
        let symbols = found.iter().filter_map(|(path, index)| {
            let facts = view.index.get(path)?;
            Some(outlined(path, facts, *index))
        });
        let symbols = FoundSymbols {
            symbols: symbols.collect(),
            total,
            truncated: found.len() < total,
            clock: view.clock(),
        };
        Ok(Answer::one(symbols, view.unread()).in_format(cx.caller().format()))
    }
}
