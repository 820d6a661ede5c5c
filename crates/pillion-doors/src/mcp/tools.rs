//! The tools: those of a profile are listed, and an operation that is not can be called by its
//! name all the same, unless a contract fixes what there is.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use pillion_catalogue::{Catalogue, Definition, Profile, Safety, Shown, Tool as Offered};
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::schemas;

/// A tool that is no operation: the rest of an answer that was cut.
pub(super) const FETCH: &str = "fetch_output";
/// And any operation by its name, for agents whose host only lets them call what is listed.
pub(super) const CALL: &str = "call_operation";

/// A tool's way into the catalogue.
#[derive(Debug)]
pub(super) struct ToolEntry {
    pub(super) definition: Definition,
    /// A contract says how it answers: in JSON.
    pub(super) is_contract: bool,
    wraps: OnceLock<bool>,
}

impl ToolEntry {
    fn new(definition: Definition, is_contract: bool) -> Self {
        Self {
            definition,
            is_contract,
            wraps: OnceLock::new(),
        }
    }

    /// Whether the result as JSON stands within an object.
    pub(super) fn wraps(&self) -> bool {
        *self
            .wraps
            .get_or_init(|| schemas::output(&self.definition).1)
    }
}

/// All tools of a profile.
pub(super) struct Tools {
    list: Vec<Tool>,
    entries: BTreeMap<String, ToolEntry>,
}

impl Tools {
    /// The tools of a catalogue.
    pub(super) fn new(catalogue: &Catalogue, profile: Profile) -> Self {
        let mut tools = Self {
            list: Vec::new(),
            entries: BTreeMap::new(),
        };
        let all = catalogue.definitions();
        let mut all: Vec<&Definition> = all.filter(|one| one.offer.tool != Offered::None).collect();
        all.sort_by_key(|definition| (place(definition, profile), definition.name));
        let is_exact = profile.is_contract() && profile != Profile::Full;
        for definition in all {
            let is_listed = definition.is_on(profile);
            if is_exact && !is_listed {
                continue;
            }
            tools.add(definition, profile, is_listed);
        }
        if !profile.is_contract() && !tools.entries.is_empty() {
            tools.list.push(call(tools.finder()));
        }
        if !is_exact {
            tools.list.push(fetch(profile));
        }
        tools
    }

    fn add(&mut self, definition: &Definition, profile: Profile, is_listed: bool) {
        let own = definition.tool_name().unwrap_or_default();
        let fixed = match definition.offer.tool {
            Offered::Named { name, .. } => Some(name.to_owned()),
            _ => None,
        };
        if is_listed {
            self.list.push(match profile.is_contract() {
                true => whole(fixed.clone().unwrap_or_else(|| own.clone()), definition),
                false => short(own.clone(), definition),
            });
        }
        let entry = ToolEntry::new(*definition, profile.is_contract());
        self.entries.insert(own, entry);
        if let Some(fixed) = fixed {
            self.entries
                .insert(fixed, ToolEntry::new(*definition, true));
        }
    }

    /// All that are listed.
    pub(super) fn list(&self) -> &[Tool] {
        &self.list
    }

    /// Whether one is listed.
    pub(super) fn lists(&self, name: &str) -> bool {
        self.list.iter().any(|tool| tool.name == name)
    }

    /// Whether some that are listed have a parameter of this name.
    pub(super) fn take(&self, parameter: &str) -> bool {
        let schemas = self.list.iter().map(|tool| &tool.input_schema);
        let mut properties = schemas.filter_map(|schema| schema.get("properties"));
        properties.any(|all| all.get(parameter).is_some())
    }

    /// The operation behind a tool, listed or not, by the tool's name or its own.
    pub(super) fn get(&self, name: &str) -> Option<&ToolEntry> {
        let found = self.entries.get(name);
        found.or_else(|| self.entries.get(&name.replace('.', "_")))
    }

    /// The tool for this operation, if there is one: a listed one before others.
    pub(super) fn of_operation(&self, operation: &str) -> Option<&str> {
        let of = |(_, entry): &(&String, &ToolEntry)| entry.definition.name == operation;
        let all = self.entries.iter().filter(of);
        // A name that a contract fixes answers in JSON.
        let best = all.min_by_key(|(name, entry)| (!self.lists(name), entry.is_contract));
        best.map(|(name, _)| name.as_str())
    }

    /// The tool that says what else there is.
    pub(super) fn finder(&self) -> Option<&str> {
        let mut all = self.entries.iter();
        let found = all.find(|(_, entry)| entry.definition.offer.shown == Shown::Always);
        found.map(|(name, _)| name.as_str())
    }

    /// The name that was perhaps meant.
    pub(super) fn nearest(&self, wrong: &str) -> Option<&str> {
        let like = wrong.replace(['.', '-'], "_").to_lowercase();
        let mut names = self.entries.keys().map(String::as_str);
        names.find(|name| {
            like == name.to_lowercase()
                || name.ends_with(&format!("_{like}"))
                || like.ends_with(*name)
                || (like.len() > 4 && name.starts_with(&like))
                || like.starts_with(*name)
        })
    }
}

/// The order of usefulness: that of the contract, or of the commands that people type.
fn place(definition: &Definition, profile: Profile) -> usize {
    let typed = definition.offer.command.map(|typed| typed.place);
    match definition.offer.tool {
        Offered::Named { place, .. } if profile.is_contract() => place,
        _ if profile.is_contract() => usize::MAX,
        _ => typed.unwrap_or(usize::MAX),
    }
}

/// A tool with all that is known of it, for programs that hold answers against it.
fn whole(name: String, definition: &Definition) -> Tool {
    let (output, _) = schemas::output(definition);
    Tool::new(name, definition.about(), schemas::input(definition))
        .with_title(definition.help().trim_end_matches('.').to_owned())
        .with_raw_output_schema(output)
        .with_annotations(annotations(definition.safety))
}

/// A tool in few words, for models: they read them all before they ask anything.
fn short(name: String, definition: &Definition) -> Tool {
    let tool = Tool::new(name, definition.help(), schemas::short(definition));
    match definition.safety {
        Safety::Read => tool.with_annotations(ToolAnnotations::new().read_only(true)),
        // That it may change things is what is taken for granted.
        _ => tool,
    }
}

pub(super) fn annotations(safety: Safety) -> ToolAnnotations {
    let reads = safety == Safety::Read;
    ToolAnnotations::new()
        .read_only(reads)
        .destructive(!reads)
        .idempotent(reads)
        .open_world(safety == Safety::Execute)
}

fn call(finder: Option<&str>) -> Tool {
    let finder = finder.map(|name| format!(" `{name}` says which there are, and what each takes."));
    let about = format!(
        "Call any operation by its name.{}",
        finder.unwrap_or_default()
    );
    let schema = json!({
        "type": "object",
        "properties": {
            "operation": { "type": "string" },
            "arguments": { "type": "object" },
        },
        "required": ["operation"],
    });
    Tool::new(CALL, about, object(schema))
}

fn fetch(profile: Profile) -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "handle": { "type": "string", "description": "The handle that the cut answer named." },
            "offset": { "type": "integer", "description": "Where to begin: what the cut answer or the last piece said." },
            "limit": { "type": "integer", "description": "How many bytes." },
        },
        "required": ["handle"],
    });
    let about = "Get more of an answer that was too long to be shown whole.";
    let tool = Tool::new(FETCH, about, object(schema));
    if !profile.is_contract() {
        return tool.with_annotations(ToolAnnotations::new().read_only(true));
    }
    let output = json!({
        "type": "object",
        "properties": {
            "text": { "type": "string" },
            "offset": { "type": "integer" },
            "total": { "type": "integer" },
            "unit": { "type": "string" },
            "next_offset": { "type": "integer" },
            "within": { "type": "string" },
        },
        "required": ["text", "offset", "total", "unit"],
    });
    tool.with_title("Get more of a long answer")
        .with_raw_output_schema(object(output))
        .with_annotations(annotations(Safety::Read))
}

fn object(value: Value) -> Arc<rmcp::model::JsonObject> {
    match value {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}
