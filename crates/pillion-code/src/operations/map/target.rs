//! What a question about the map means by a name or a place: all that [`Written`] reads.

use std::collections::BTreeSet;
use std::sync::Arc;

use pillion_catalogue::{Caller, Code, Error, Result};

use super::of_graph;
use crate::operations::empty_answers;
use pillion_index::language::Language;
use pillion_index::place;
use pillion_map::{Graph, NodeId};
use pillion_symbols::definitions;
use pillion_symbols::named::{self, Finder, IndexedDefinition, Meant, NameOrPlace};
use pillion_symbols::project::View;
use pillion_symbols::spotted::Spotted;

/// The nodes that a caller means. The map's own names come first, because older hosts write
/// them and every language has them; what they do not find is looked up as for any other
/// question about code.
pub(super) async fn targets(
    view: &View,
    graph: &Arc<Graph>,
    target: &str,
    caller: &Caller,
) -> Result<Vec<NodeId>> {
    let target = relative(view, target)?;
    let named = target.clone();
    let found = of_graph(graph, move |graph, _| graph.targets(&named)).await?;
    let unknown = match found {
        Err(error) if error.code == Code::NotFound && graph.language == Language::Python => error,
        found => return found,
    };
    let definitions = match NameOrPlace::read(&target) {
        Ok(NameOrPlace::Place { .. }) => at_place(view, &target, caller).await?,
        Ok(NameOrPlace::Name(_)) => match named::definitions(view, &target, None) {
            Ok(found) => found,
            // The map says better what is near: it knows functions and classes only.
            Err(error) if error.code == Code::NotFound => return Err(unknown),
            Err(error) => return Err(error),
        },
        _ => return Err(unknown),
    };
    let finder = Finder::new(view);
    let nodes: BTreeSet<NodeId> = definitions
        .iter()
        .filter_map(|one| {
            let line = finder.name_span(one)?.start.line + 1;
            graph.at_line(&one.file, line)
        })
        .collect();
    match (nodes.is_empty(), definitions.first()) {
        (false, _) => Ok(nodes.into_iter().collect()),
        (true, Some(one)) => Err(no_node(&finder, one, &target)),
        (true, None) => Err(unknown),
    }
}

/// A file of the command line is absolute; the map names files from the root.
fn relative(view: &View, target: &str) -> Result<String> {
    let written = NameOrPlace::read(target).ok();
    let file = written.as_ref().and_then(NameOrPlace::file);
    match file.filter(|file| file.starts_with('/')) {
        Some(file) if target.starts_with(file) => {
            let inside = place::inside(view.root(), file.as_ref())?;
            Ok(format!("{inside}{}", &target[file.len()..]))
        }
        _ => Ok(target.to_owned()),
    }
}

/// The definitions that a place means: the one whose name stands there, else what the name
/// there leads to, as the engine knows.
async fn at_place(view: &View, target: &str, caller: &Caller) -> Result<Vec<IndexedDefinition>> {
    let Meant { file, at, source } = named::meant(view, target, None)?;
    let Some(at) = at else {
        return Ok(Vec::new());
    };
    let finder = Finder::new(view);
    let facts = view.index.get(&file);
    if facts.is_some_and(|facts| facts.named_at(at).is_some()) {
        return Ok(finder.around(&file, at).into_iter().collect());
    }
    let spot = Spotted {
        path: file,
        at,
        source,
        is_module: false,
    };
    let engine = view.engine(None, caller).await?;
    let found = definitions::find_or_fall_back(&engine, &spot).await?;
    let places = found.locations.iter();
    let named = places.filter_map(|location| {
        let at = pillion_index::source::Position::from_one(location.line, location.column)?;
        view.index.get(&location.file)?.named_at(at)?;
        finder.around(&location.file, at)
    });
    let named: Vec<IndexedDefinition> = named.collect();
    if !named.is_empty() {
        return Ok(named);
    }
    let nothing = empty_answers::but(&engine, &spot, "function or class of the project").await?;
    let why = nothing.why.unwrap_or_default();
    let what = format!("no function or class is at `{target}`: {why}");
    Err(Error::new(Code::NotFound, what).hint("point at a function or a class, or write its name"))
}

/// A definition that is no function and no class.
fn no_node(finder: &Finder<'_>, one: &IndexedDefinition, target: &str) -> Error {
    let kind = finder
        .symbol(one)
        .map_or("definition", |symbol| symbol.kind.name());
    let article = match kind.starts_with(['a', 'e', 'i', 'o', 'u']) {
        true => "an",
        false => "a",
    };
    Error::new(
        Code::NotFound,
        format!("`{target}` is {article} {kind}, and the map is of functions and classes"),
    )
    .hint(format!("`pillion refs {target}` shows who uses it"))
}
