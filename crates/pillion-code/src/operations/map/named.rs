//! Which functions of the map a caller means: by the map's own names, or by a name or a place as
//! every other question takes it.

use std::sync::Arc;

use pillion_catalogue::{Caller, Code, Error, Result};

use super::of_graph;
use crate::definitions;
use crate::map::{Graph, Language, NodeId};
use crate::named::{self, FORMS, Finder, Written};
use crate::operations::nothing;
use crate::operations::positions::{Spotted, spotted};
use crate::params::Asked;
use crate::project::View;

/// The functions and classes that are meant, sorted; an error that says what could be if there
/// are none.
pub(super) async fn targets(
    view: &View,
    graph: &Arc<Graph>,
    caller: &Caller,
    text: &str,
) -> Result<Vec<NodeId>> {
    // A command line makes paths of files absolute; the map knows them from the root on.
    let text = within(view, text);
    let own = text.to_owned();
    let found = of_graph(graph, move |graph, _| graph.targets(&own)).await?;
    let unknown = match found {
        Err(error) if graph.language == Language::Python => error,
        found => return found,
    };
    let mut nodes = match Written::read(text) {
        Ok(Written::Place { .. }) => at_place(view, graph, caller, text).await?,
        Ok(Written::Name(_)) => by_name(view, graph, text, unknown)?,
        _ => return Err(unknown),
    };
    nodes.sort_unstable();
    nodes.dedup();
    Ok(nodes)
}

fn within<'a>(view: &View, text: &'a str) -> &'a str {
    let root = view.root().to_str();
    let below = root.and_then(|root| text.strip_prefix(root)?.strip_prefix('/'));
    below.unwrap_or(text)
}

/// What the name means at a place: what is defined there, else what the engine says.
async fn at_place(view: &View, graph: &Graph, caller: &Caller, text: &str) -> Result<Vec<NodeId>> {
    let spot = spotted(view, &Asked::Written(text.to_owned(), None))?;
    if let Some(node) = defined(view, graph, &spot) {
        return Ok(vec![node]);
    }
    let engine = view.engine(None, caller).await?;
    let found = definitions::find_or_fall_back(&engine, &spot).await?;
    let nodes = found.locations.iter();
    let nodes: Vec<NodeId> = nodes
        .filter_map(|place| graph.at_line(&place.file, place.line))
        .collect();
    if !nodes.is_empty() {
        return Ok(nodes);
    }
    let nothing = nothing::but(&engine, &spot, "function or class of the project").await?;
    let why = nothing.why.unwrap_or_default();
    Err(Error::new(
        Code::NotFound,
        format!("no function or class is there: {why}"),
    )
    .hint(FORMS))
}

/// The function or class whose own name stands at a place.
fn defined(view: &View, graph: &Graph, spot: &Spotted) -> Option<NodeId> {
    let facts = view.index.get(&spot.path)?;
    let symbol = facts.symbols.get(facts.named_at(spot.at)?)?;
    graph.at_line(&spot.path, symbol.name_span.start.line + 1)
}

/// What a name means that the map does not know as it is written, such as `pkg.mod.name`.
fn by_name(view: &View, graph: &Graph, text: &str, unknown: Error) -> Result<Vec<NodeId>> {
    let Ok(found) = named::definitions(view, text, None) else {
        return Err(unknown);
    };
    let finder = Finder::new(view);
    let nodes = found.iter().filter_map(|one| {
        let line = finder.name_span(one)?.start.line + 1;
        graph.at_line(&one.file, line)
    });
    let nodes: Vec<NodeId> = nodes.collect();
    match (
        nodes.is_empty(),
        found.first().and_then(|one| finder.symbol(one)),
    ) {
        (false, _) => Ok(nodes),
        (true, Some(symbol)) => Err(Error::new(
            Code::NotFound,
            format!("`{text}` is a {}, no function or class", symbol.kind.name()),
        )
        .hint("`pillion refs` tells who uses it")),
        (true, None) => Err(unknown),
    }
}
