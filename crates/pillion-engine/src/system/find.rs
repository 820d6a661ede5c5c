//! `system.operations`: what there is to ask for, and how.

use pillion_catalogue::{Code, Context, Definition, Error, Offer, Operation, Result, Safety};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SystemService;

/// Operations that an answer lists.
const LISTED: usize = 40;

/// Find an operation by words of what it does, or describe the one of that name.
///
/// Without a query all are listed. An operation is described with the schema of its
/// parameters; it is called by its name, whether it is on the table of tools or not.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// Words, an area such as `code`, or a name such as `code.inline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
}

/// Operations that fit.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// The best first.
    pub operations: Vec<FoundOperation>,
    /// How many there are.
    pub total: usize,
    /// Whether some were cut off.
    pub truncated: bool,
}

/// An operation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FoundOperation {
    /// Its name.
    pub name: String,
    /// What it does.
    pub help: String,
    /// What it may do.
    pub safety: Safety,
    /// The schema of its parameters, where it was asked for by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
}

impl Operation for Find {
    const NAME: &'static str = "system.operations";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.always();
    type Service = SystemService;
    type Output = Found;

    fn text(result: &str) -> Option<String> {
        let found: Found = serde_json::from_str(result).ok()?;
        Some(text(&found))
    }

    async fn run(self, cx: Context<SystemService>) -> Result<Found> {
        let all = (cx.service().known.definitions)();
        let all: Vec<&Definition> = all.iter().filter(|d| d.tool_name().is_some()).collect();
        let query = self.query.unwrap_or_default().to_lowercase();
        if let Some(one) = all.iter().find(|one| is_called(one, &query)) {
            return Ok(Found {
                operations: vec![described(one)],
                total: 1,
                truncated: false,
            });
        }
        let words: Vec<&str> = query.split_whitespace().collect();
        let mut fitting: Vec<(usize, &Definition)> = all
            .into_iter()
            .map(|one| (fit(one, &words), one))
            .filter(|(fit, _)| words.is_empty() || *fit > 0)
            .collect();
        if fitting.is_empty() {
            let what = format!("no operation has to do with `{query}`");
            return Err(Error::new(Code::NotFound, what)
                .hint("ask with fewer words, or with none for all of them"));
        }
        fitting.sort_by_key(|(fit, one)| (std::cmp::Reverse(*fit), one.name));
        // Where one has to do with every word, those that have to do with some are noise.
        if fitting.iter().any(|(_, one)| fits_all(one, &words)) {
            fitting.retain(|(_, one)| fits_all(one, &words));
        }
        let total = fitting.len();
        // All of them is what somebody wants who asks for nothing.
        let listed = if words.is_empty() { total } else { LISTED };
        let operations = fitting.iter().take(listed).map(|(_, one)| named(one));
        Ok(Found {
            operations: operations.collect(),
            total,
            truncated: total > listed,
        })
    }
}

/// Whether this is its name: its own, that of its tool, or what people type.
fn is_called(definition: &Definition, name: &str) -> bool {
    let plain = |name: &str| name.replace(['.', '-', ' '], "_");
    let typed = definition.offer.command.map(|typed| typed.name);
    plain(definition.name) == plain(name)
        || matches!(definition.offer.tool, pillion_catalogue::Tool::Named { name: tool, .. } if tool == name)
        || typed.is_some_and(|typed| plain(typed) == plain(name) && !name.contains(' '))
}

/// How well it fits: words of its name count more than words of its help.
fn fit(definition: &Definition, words: &[&str]) -> usize {
    let help = definition.about().to_lowercase();
    let one = |word: &&str| match definition.name.split(['.', '_']).any(|part| part == *word) {
        true => 4,
        false if definition.name.contains(word) => 2,
        false => usize::from(help.contains(word)),
    };
    words.iter().map(one).sum()
}

/// Whether every word has to do with it.
fn fits_all(definition: &Definition, words: &[&str]) -> bool {
    words.iter().all(|word| fit(definition, &[*word]) > 0)
}

fn named(definition: &Definition) -> FoundOperation {
    FoundOperation {
        name: definition.name.to_owned(),
        help: definition.help(),
        safety: definition.safety,
        parameters: None,
    }
}

fn described(definition: &Definition) -> FoundOperation {
    let mut schema = definition.own_schema().to_value();
    if let Some(schema) = schema.as_object_mut() {
        for name in ["$schema", "title", "description"] {
            schema.remove(name);
        }
    }
    FoundOperation {
        help: definition.about(),
        parameters: Some(schema),
        ..named(definition)
    }
}

fn text(found: &Found) -> String {
    let mut lines: Vec<String> = Vec::new();
    for one in &found.operations {
        match &one.parameters {
            None => lines.push(format!("{}  {}", one.name, one.help)),
            Some(parameters) => {
                let safety = serde_json::to_value(one.safety).unwrap_or_default();
                let safety = safety.as_str().unwrap_or_default();
                lines.push(format!("{} ({safety}): {}", one.name, one.help));
                lines.push(format!("parameters: {parameters}"));
            }
        }
    }
    if found.truncated {
        let rest = found.total - found.operations.len();
        lines.push(format!("... and {rest} more: ask with other words"));
    }
    lines.join("\n")
}
