//! `code.hover`: what a name is.

use std::sync::Arc;

use pillion_catalogue::{Context, Method, Offer, Operation, Result, Route, Safety, Scope};
use pillion_index::Kind;
use pillion_index::answers::{Answer, Hover};
use pillion_index::source::Span;
use pillion_index::syntax::{Syntax, WordKind};
use pillion_index::text::shown;
use pillion_symbols::ask::EngineView;
use pillion_symbols::definitions::{self, FoundDefinitions};
use pillion_symbols::open_files::OpenFiles;
use pillion_symbols::spotted::Spotted;
use pillion_workspace::config::EngineChoice;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{empty_answers, positions};
use crate::CodeService;
use crate::params::{At, engine_choice};

/// What is the name at this position: its kind, signature and documentation?
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
#[command(name = "hover")]
pub struct HoverAt {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub at: At,
    /// Who answers: ty, jedi or basedpyright; the workspace's own choice if not given.
    #[arg(long, value_parser = engine_choice)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineChoice>,
}

impl Operation for HoverAt {
    const NAME: &'static str = "code.hover";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .typed("hover", 50)
        .routes(&[Route::older(Method::Post, "/hover")]);
    type Service = CodeService;
    type Output = Answer<Hover>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Hover>> {
        positions::answer(&cx, cx.caller(), &self.at, self.engine, |engine, spot| {
            hover(engine, spot)
        })
        .await
    }
}

async fn hover(engine: EngineView, spot: Spotted) -> Result<Hover> {
    let found = match spot.kind_of_word() {
        WordKind::Name => definitions::find_or_fall_back(&engine, &spot).await?,
        _ if spot.is_module => definitions::find(&engine, &spot).await?,
        _ => FoundDefinitions::nothing(&engine),
    };
    about(&engine, &spot, &found).await
}

/// What is known about the name at a place whose definition has been found.
pub(super) async fn about(
    engine: &EngineView,
    spot: &Spotted,
    found: &FoundDefinitions,
) -> Result<Hover> {
    let mut hover = Hover {
        clock: engine.view.clock(),
        engine: found.engine.into(),
        parse_errors: spot.parse_errors(&engine.view),
        ..Hover::default()
    };
    let word = spot.word();
    match spot.kind_of_word() {
        WordKind::Keyword => {
            hover.name = word.map(|(name, _)| name.to_owned());
            hover.kind = Some("keyword".into());
            return Ok(hover);
        }
        WordKind::Other if spot.is_module => {}
        WordKind::Other => {
            hover.nothing = empty_answers::at(engine, spot);
            return Ok(hover);
        }
        WordKind::Name => {}
    }
    let told = match spot.is_module {
        true => Arc::default(),
        false => engine.hover(&spot.path, spot.at).await?,
    };
    let (head, documentation) = match told.as_ref() {
        Some(told) => parts(&told.text),
        None => (None, None),
    };
    let mut opened = OpenFiles::new(&engine.view);
    if let (Some(location), Some((path, span))) = (found.locations.first(), found.places.first()) {
        let defined = opened.defined_at(path, span.start);
        hover.kind.clone_from(&location.kind);
        hover.definition = Some(location.clone());
        let is_module = *span == Span::default();
        if let Some(defined) = &defined {
            hover.name_path = Some(defined.name_path.clone());
            hover.signature.clone_from(&defined.signature);
            hover.overloads = opened.overloads(path, &defined.name_path);
        }
        if (defined.is_some() || is_module)
            && let Some(source) = opened.source(path)
        {
            let name = (!is_module).then_some(span.start);
            hover.docstring = Syntax::of(&source, &location.file).docstring(name);
        }
    }
    if head.is_none() && documentation.is_none() && found.locations.is_empty() {
        // A word in a string or a comment, or in a file that is no Python.
        hover.nothing = empty_answers::at(engine, spot);
        return Ok(hover);
    }
    let own = found.locations.first().filter(|_| spot.is_module);
    hover.name = match own {
        Some(module) => module.name.clone(),
        None => word.map(|(name, _)| name.to_owned()),
    };
    hover.signature = hover.signature.or(head);
    hover.docstring = hover.docstring.or(documentation);
    hover.kind = hover
        .kind
        .or_else(|| hover.signature.as_deref().and_then(guess));
    Ok(hover)
}

/// The head and the documentation in an engine's words.
fn parts(text: &str) -> (Option<String>, Option<String>) {
    let rule = |line: &&str| line.len() >= 3 && line.bytes().all(|b| b == b'-');
    let lines: Vec<&str> = text.lines().collect();
    let cut = lines.iter().position(rule).unwrap_or(lines.len());
    let some = |lines: &[&str]| {
        let text = lines.join("\n").trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    let head = some(&lines[..cut]).filter(|head| head != "Unknown");
    (head, lines.get(cut + 1..).and_then(some))
}

/// What something without a known place is, by an engine's words.
fn guess(head: &str) -> Option<String> {
    let kind = if head.starts_with("def ") {
        Kind::Function
    } else if head.starts_with("bound method ") {
        Kind::Method
    } else if head.starts_with("class ") || head.starts_with("<class ") {
        Kind::Class
    } else if head.starts_with("<module ") {
        Kind::Module
    } else {
        Kind::Variable
    };
    Some(kind.name().into())
}
