//! Functions of Python modules as tools: listed as they are now, called by their names.

use std::sync::Arc;

use pillion_catalogue::{Caller, Code, Door, Error, ExposedFunction, Listing, Result};
use rmcp::ErrorData as McpError;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::agent::{Agent, Shared};
use super::calls::{Items, News, decoded, shown};
use super::schemas::{WRAPPED, output_of};
use super::{errors, exact_numbers, tools};
use crate::Exposed;
use crate::dispatch::Asked;

/// Letters of a title.
const MAX_TITLE: usize = 80;

impl Shared {
    /// The tools of exposed modules. Where there are others too, modules that cannot be
    /// imported just now are no reason to show none.
    pub(super) async fn functions(&self) -> Result<Vec<Tool>, McpError> {
        let Some(exposed) = &self.state.exposed else {
            return Ok(Vec::new());
        };
        match exposed.list(Door::Mcp).await {
            Ok(listing) => Ok(self.tools_of(&listing)),
            Err(error) if self.state.catalogue.definitions().next().is_some() => {
                tracing::warn!(%error, "exposed modules are not shown");
                Ok(Vec::new())
            }
            Err(error) => Err(McpError::internal_error(
                error.message.clone(),
                serde_json::to_value(&error).ok(),
            )),
        }
    }

    /// The tools of what was listed last.
    pub(super) fn last_functions(&self) -> Vec<Tool> {
        let last = self.state.exposed.as_ref().and_then(|e| e.last());
        last.map(|listing| self.tools_of(&listing))
            .unwrap_or_default()
    }

    fn tools_of(&self, listing: &Listing) -> Vec<Tool> {
        let taken = |name: &str| self.tools.lists(name) || self.tools.get(name).is_some();
        let named = listing.tools.iter().map(|function| {
            // An operation's tool keeps its name.
            let name = match taken(&function.name) {
                true => &function.qualified,
                false => &function.name,
            };
            (name, function)
        });
        named
            .filter(|(name, _)| !taken(name))
            .map(|(name, function)| tool(name, function))
            .collect()
    }
}

impl Agent {
    /// Call a function: what it gives, or its error as the agent reads it. That there is no
    /// function of that name is no answer of a tool.
    pub(super) async fn invoke(
        &self,
        exposed: &Exposed,
        name: &str,
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult> {
        match self.invoked(exposed, name, arguments, context).await {
            Ok(result) => Ok(result),
            Err(error) if error.code == Code::UnknownOperation => Err(error),
            Err(error) => Ok(errors::failed(&error)),
        }
    }

    async fn invoked(
        &self,
        exposed: &Exposed,
        name: &str,
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult> {
        let _place = self.place()?;
        let arguments = exact_numbers::arguments(&arguments, context)?;
        let params = to_raw_value(&arguments).map_err(Error::internal)?;
        let asked = Asked {
            door: Door::Mcp,
            operation: name,
            params: Some(&params),
            caller: Caller::default(),
            cancel: context.ct.clone(),
            budget: self.budget.clone(),
        };
        let mut items = Items::default();
        let mut news = News::new(context.meta.get_progress_token(), &context.peer);
        // Always one by one: a stream without end must not be gathered in a worker's memory.
        let given = exposed
            .call(asked, true, |part| news.part(part, &mut items))
            .await?;
        let max = self.max_json(context);
        let json = match given.streams {
            false => given.result.get().to_owned(),
            true => {
                let mut object = Map::new();
                let value = decoded(&given.result)?;
                if !value.is_null() {
                    object.insert(WRAPPED.into(), value);
                }
                items.within(object).to_string()
            }
        };
        let listing = exposed.list_at(Door::Mcp, &given.version).await?;
        let function = listing
            .tools
            .iter()
            .find(|function| function.name == name || function.qualified == name);
        let wraps = !given.streams && function.is_some_and(|function| output(function).1);
        let is_cut = json.len() > max;
        let mut answer = shown(&self.shared.outputs, &json, wraps, max)?;
        if let (false, Ok(text)) = (is_cut, serde_json::from_str::<String>(&json)) {
            // As a model reads it best.
            answer.content = vec![ContentBlock::text(text)];
        }
        Ok(answer)
    }

    /// Tell an agent of every change of the functions, for as long as it is there.
    pub(super) fn tell_of_changes(&self, peer: &Peer<RoleServer>) {
        let Some(exposed) = self.shared.state.exposed.clone() else {
            return;
        };
        let shutdown = self.shared.state.shutdown.clone();
        let peer = peer.clone();
        tokio::spawn(async move {
            let mut version = None;
            loop {
                tokio::select! {
                    () = exposed.changed(Door::Mcp, &mut version, || peer.is_transport_closed()) => {}
                    () = shutdown.cancelled() => return,
                }
                if peer.is_transport_closed() || peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        });
    }
}

fn tool(name: &str, function: &ExposedFunction) -> Tool {
    let description = match function.description.is_empty() {
        true => format!(
            "The Python function `{}.{}`.",
            function.module, function.function
        ),
        false => function.description.clone(),
    };
    let title = description.lines().next().unwrap_or_default();
    let title = title.trim_end_matches('.').to_owned();
    let mut input = function.input_schema.clone();
    input.insert("type".into(), json!("object"));
    let mut tool = Tool::new(name.to_owned(), description, input)
        .with_annotations(tools::annotations(function.safety));
    if title.chars().count() <= MAX_TITLE {
        tool = tool.with_title(title);
    }
    match output(function) {
        (Some(schema), _) => tool.with_raw_output_schema(schema),
        (None, _) => tool,
    }
}

/// The schema of what a function gives, if it says so, and whether that stands in an object.
fn output(function: &ExposedFunction) -> (Option<Arc<JsonObject>>, bool) {
    match (&function.output_schema, function.streams) {
        (schema, true) => {
            let schema = schema.clone().unwrap_or_default();
            let mut items = Map::from_iter([("type".to_owned(), json!("array"))]);
            items.extend(schema.get("items").map(|i| ("items".to_owned(), i.clone())));
            let mut whole = Map::from_iter([
                ("type".to_owned(), json!("object")),
                (
                    "properties".to_owned(),
                    json!({ "items": items, WRAPPED: {} }),
                ),
                ("required".to_owned(), json!(["items"])),
            ]);
            whole.extend(schema.get("$defs").map(|d| ("$defs".to_owned(), d.clone())));
            (Some(output_of(Value::Object(whole), false).0), false)
        }
        (Some(schema), false) => {
            let (schema, wraps) = output_of(Value::Object(schema.clone()), false);
            (Some(schema), wraps)
        }
        (None, false) => (None, false),
    }
}
