//! What an agent can read without calling a tool.

use pillion_catalogue::{Catalogue, Code, Door, Error, Result};
use rmcp::ErrorData as McpError;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::agent::{Agent, Shared};
use super::roots::unescaped;
use super::{MAX_OUTPUT, MAX_TEXT, errors};
use crate::dispatch::{Asked, dispatch};

const STATUS: &str = "pillion://status";
const MAP: &str = "pillion://map/";
const OUTPUT: &str = "pillion://output/";

/// The operations behind them.
const STATUS_OPERATION: &str = "system.status";
const MAP_OPERATION: &str = "map.structure";

/// The resources that have a fixed address.
pub(super) fn list(catalogue: &Catalogue) -> Vec<Resource> {
    let status = Resource::new(STATUS, "status")
        .with_title("What pillion is doing")
        .with_description("The daemon, its workspaces, clocks and sidecars.")
        .with_mime_type("application/json");
    let there = catalogue.get(STATUS_OPERATION).is_some();
    there.then_some(status).into_iter().collect()
}

/// The resources whose address has to be filled in.
pub(super) fn templates(catalogue: &Catalogue) -> Vec<ResourceTemplate> {
    let map = ResourceTemplate::new(format!("{MAP}{{+path}}"), "map")
        .with_title("Map of a project")
        .with_description(
            "Files, functions, classes and imports of the project at this path: an absolute one, \
             or one that begins with `.`, the agent's folder.",
        )
        .with_mime_type("application/json");
    let output = ResourceTemplate::new(format!("{OUTPUT}{{handle}}{{?offset,limit}}"), "output")
        .with_title("More of a long answer")
        .with_description("A part of an answer that was cut, by the handle that it named.")
        .with_mime_type("text/plain");
    let there = catalogue.get(MAP_OPERATION).is_some();
    there.then_some(map).into_iter().chain([output]).collect()
}

/// Read one of them.
pub(super) async fn read(
    agent: &Agent,
    uri: &str,
    context: &RequestContext<RoleServer>,
) -> std::result::Result<ReadResourceResult, McpError> {
    let contents = if let Some(rest) = uri.strip_prefix(OUTPUT) {
        output(agent, rest).map(|text| ResourceContents::text(text, uri))
    } else if uri == STATUS {
        let status = ask(agent, STATUS_OPERATION, None, context).await;
        status.map(|text| shown(agent, text, uri))
    } else if let Some(path) = uri.strip_prefix(MAP) {
        map(agent, path, context)
            .await
            .map(|text| shown(agent, text, uri))
    } else {
        Err(
            Error::new(Code::NotFound, format!("there is no resource `{uri}`"))
                .hint("`resources/list` and `resources/templates/list` say what there is"),
        )
    };
    match contents {
        Ok(contents) => Ok(ReadResourceResult::new(vec![contents])),
        Err(error) => Err(refused(&error)),
    }
}

/// A part of a kept output: `handle?offset=N&limit=N`.
fn output(agent: &Agent, rest: &str) -> Result<String> {
    let (handle, query) = rest.split_once('?').unwrap_or((rest, ""));
    let number = |name: &str| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let mut found = pairs.filter(|(key, _)| *key == name);
        found.next().and_then(|(_, value)| value.parse().ok())
    };
    let limit = number("limit").or(agent.shared.settings.max_output);
    let limit = limit.unwrap_or(MAX_TEXT);
    let outputs = &agent.shared.outputs;
    let page = outputs.page(handle, number("offset").unwrap_or(0), limit)?;
    Ok(page.text)
}

async fn map(agent: &Agent, path: &str, context: &RequestContext<RoleServer>) -> Result<String> {
    let path = unescaped(path).ok_or_else(|| {
        Error::new(Code::InvalidParams, "the address of the map cannot be read").hint(
            "it is `pillion://map/` and an absolute path, such as `pillion://map/home/me/project`",
        )
    })?;
    let project = match path.split('/').next() {
        Some("." | "..") => path,
        _ => format!("/{}", path.trim_start_matches('/')),
    };
    let params = to_raw_value(&json!({ "project": project })).map_err(Error::internal)?;
    ask(agent, MAP_OPERATION, Some(&params), context).await
}

async fn ask(
    agent: &Agent,
    operation: &str,
    params: Option<&RawValue>,
    context: &RequestContext<RoleServer>,
) -> Result<String> {
    let asked = Asked {
        door: Door::Mcp,
        operation,
        params,
        caller: agent.shared.settings.caller.clone(),
        cancel: context.ct.clone(),
        budget: agent.budget.clone(),
    };
    let result = dispatch(&agent.shared.state, asked, |_| async { true }).await?;
    Ok(result.get().to_owned())
}

/// JSON as a resource, or what is shown of it, which is JSON too.
fn shown(agent: &Agent, json: String, uri: &str) -> ResourceContents {
    let Shared {
        outputs, settings, ..
    } = &*agent.shared;
    let max = settings.max_output.unwrap_or(MAX_OUTPUT);
    let json = outputs.json(&json, max, false).unwrap_or(json);
    ResourceContents::text(json, uri).with_mime_type("application/json")
}

/// Reading has no results that are errors: what is missing and what is wrong have numbers.
fn refused(error: &Error) -> McpError {
    let data = serde_json::from_str(&errors::text(error)).ok();
    match error.code {
        Code::NotFound | Code::UnknownOperation => {
            McpError::resource_not_found(error.message.clone(), data)
        }
        Code::InvalidParams => McpError::invalid_params(error.message.clone(), data),
        _ => McpError::internal_error(error.message.clone(), data),
    }
}
