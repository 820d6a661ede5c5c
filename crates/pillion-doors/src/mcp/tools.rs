//! The tools: one for each operation that makes sense for an agent.

use std::collections::HashMap;
use std::sync::Arc;

use pillion_catalogue::{Catalogue, Definition, Safety, Tool as Offered};
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::{Profile, schemas};

/// The one tool that is no operation: the rest of an answer that was cut.
pub(super) const FETCH: &str = "fetch_output";

/// A tool's way into the catalogue.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) definition: Definition,
    /// The result stands within an object.
    pub(super) wraps: bool,
}

/// All tools of a profile.
pub(super) struct Tools {
    list: Vec<Tool>,
    entries: HashMap<String, Entry>,
}

impl Tools {
    /// The tools of a catalogue.
    pub(super) fn new(catalogue: &Catalogue, profile: Profile) -> Self {
        let mut tools = Self {
            list: Vec::new(),
            entries: HashMap::new(),
        };
        for definition in catalogue.definitions() {
            if let Some(name) = name(definition).filter(|name| profile.has(name)) {
                tools.add(name, *definition);
            }
        }
        if profile.has(FETCH) {
            tools.list.push(fetch());
        }
        // Those of the contract first, in its order: it is the order of usefulness.
        let entries = &tools.entries;
        tools.list.sort_by_key(|tool| {
            let entry = entries.get(tool.name.as_ref());
            entry.map_or(usize::MAX, |entry| place(&entry.definition))
        });
        tools
    }

    fn add(&mut self, name: String, definition: Definition) {
        let (output, wraps) = schemas::output(&definition);
        let tool = Tool::new(
            name.clone(),
            description(&definition),
            schemas::input(&definition),
        )
        .with_title(definition.help().trim_end_matches('.').to_owned())
        .with_raw_output_schema(output)
        .with_annotations(annotations(definition.safety));
        self.list.push(tool);
        let entry = Entry { definition, wraps };
        self.entries.insert(name, entry);
    }

    /// All of them, as agents list them.
    pub(super) fn list(&self) -> &[Tool] {
        &self.list
    }

    /// One of them, unless it is [`FETCH`].
    pub(super) fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// The tool for this operation, if there is one.
    pub(super) fn of_operation(&self, operation: &str) -> Option<&str> {
        let mut all = self.entries.iter();
        let found = all.find(|(_, entry)| entry.definition.name == operation);
        found.map(|(name, _)| name.as_str())
    }

    /// The name that was perhaps meant.
    pub(super) fn nearest(&self, wrong: &str) -> Option<&str> {
        let like = wrong.replace(['.', '-'], "_").to_lowercase();
        let names = self.list.iter().map(|tool| tool.name.as_ref());
        let mut alike = names.filter(|name| {
            like == name.to_lowercase()
                || name.ends_with(&format!("_{like}"))
                || like.ends_with(*name)
        });
        alike.next()
    }
}

/// The tool's name of an operation, if it is one: its own, with `_` for its dot, unless a
/// contract fixes another.
fn name(definition: &Definition) -> Option<String> {
    match definition.offer.tool {
        Offered::Plain => Some(definition.name.replace('.', "_")),
        Offered::Named { name, .. } => Some(name.to_owned()),
        Offered::None => None,
    }
}

fn place(definition: &Definition) -> usize {
    match definition.offer.tool {
        Offered::Named { place, .. } => place,
        _ => usize::MAX,
    }
}

/// Everything that its documentation says.
fn description(definition: &Definition) -> String {
    let schema = definition.own_schema();
    let text = schema.get("description").and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

pub(super) fn annotations(safety: Safety) -> ToolAnnotations {
    let reads = safety == Safety::Read;
    ToolAnnotations::new()
        .read_only(reads)
        .destructive(!reads)
        .idempotent(reads)
        .open_world(safety == Safety::Execute)
}

fn fetch() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "handle": { "type": "string", "description": "The handle that the cut answer named." },
            "offset": { "type": "integer", "minimum": 0, "description": "The byte to begin with; 0 if not given." },
            "limit": { "type": "integer", "minimum": 1, "description": "How many bytes; as many as an answer shows if not given." },
        },
        "required": ["handle"],
        "additionalProperties": false,
    });
    let output = json!({
        "type": "object",
        "properties": {
            "text": { "type": "string" },
            "offset": { "type": "integer" },
            "bytes": { "type": "integer", "description": "Bytes of the whole." },
            "next_offset": { "type": "integer", "description": "Where to go on; absent at the end." },
        },
        "required": ["text", "offset", "bytes"],
    });
    let into = |value| match value {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    };
    Tool::new(
        FETCH,
        "Get a part of an answer that was too long to be shown whole.",
        into(schema),
    )
    .with_title("Get more of a long answer")
    .with_raw_output_schema(into(output))
    .with_annotations(annotations(Safety::Read))
}
