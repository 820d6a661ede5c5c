//! `code.inline`: put a definition where it is used, and take it away.

use pillion_catalogue::{Code, Context, Error, Offer, Operation, Result, Safety, Scope};
use pillion_changes::{ChangeSet, LeftAlone, Patched};
use pillion_index::Kind;
use pillion_index::answers::{Answer, Confidence, Location, Reference};
use pillion_index::source::Span;
use pillion_index::text::shown;
use pillion_refactor::rope::File;
use pillion_refactor::{inline_context, rename, strings};
use pillion_symbols::open_files::OpenFiles;
use pillion_symbols::project::View;
use pillion_symbols::{closure, definitions, references};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::positions;
use super::refactoring::{Writing, answer, rope, set_of};
use crate::CodeService;
use crate::params::Place;
use pillion_index::modules::{self, Modules};

/// Put the function or variable at this position where it is used, and take it away.
///
/// What cannot be inlined without changing what the program does is refused, with the reason:
/// an override, a value that would be computed at another time, uses that nobody can be sure
/// of. Strings with the name are listed.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Inline {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub place: Place,
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub writing: Writing,
}

impl Operation for Inline {
    const NAME: &'static str = "code.inline";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.typed("inline", 220);
    type Service = CodeService;
    type Output = Answer<Patched>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Patched>> {
        let (view, spot) = positions::one(&cx, &self.place).await?;
        if spot.is_module {
            return Err(no_module());
        }
        let engine = view.engine(None, cx.caller()).await?;
        let found = definitions::find(&engine, &spot).await?;
        let (Some(home), Some((path, at))) = (found.locations.first(), found.places.first()) else {
            return Err(
                Error::new(Code::NotFound, "nobody knows what is at this position")
                    .hint("point at a function or a variable of this workspace"),
            );
        };
        if home.external {
            return Err(Error::new(
                Code::InvalidParams,
                format!("it is not defined in this workspace: {}", home.file),
            ));
        }
        if *at == Span::default() {
            return Err(no_module());
        }
        let uses = references::find(&engine, &spot, true).await?;
        if let Some(other) = closure::relative(&engine, &(path.clone(), *at)).await? {
            let name = home.name.as_deref().unwrap_or("it");
            return Err(Error::new(
                Code::Conflict,
                format!(
                    "`{name}` belongs together with another definition, which a call may mean: \
                     {}:{}:{}",
                    other.file, other.line, other.column
                ),
            )
            .hint("only what is not overridden, and overrides nothing, can be inlined")
            .data(json!({ "location": other })));
        }
        refuse_special(home)?;
        let used = uses.references.iter().filter(|use_| !use_.in_definition);
        if used.count() == 0 && home.kind.as_deref() != Some("variable") {
            let name = home.name.as_deref().unwrap_or("it");
            return Err(Error::new(Code::Conflict, format!("nothing uses `{name}`"))
                .hint("`code.safe_delete` takes away what nobody needs"));
        }
        refuse_possible(home, &uses.references)?;
        let mut others: Vec<String> = uses
            .references
            .iter()
            .filter(|use_| use_.confidence == Confidence::Confirmed && !use_.location.external)
            .map(|use_| use_.location.file.clone())
            .filter(|file| *file != home.file)
            .collect();
        others.dedup();
        let mut sources = Vec::new();
        for file in &others {
            sources.push((file, view.readable(file)?));
        }
        let source = view
            .source(path)
            .ok_or_else(|| Error::new(Code::NotFound, format!("`{}` cannot be read", home.file)))?;
        let (rope, timeout) = rope(&cx, &view, cx.caller()).await?;
        let other_files: Vec<File<'_>> = sources
            .iter()
            .map(|(path, source)| File { path, source })
            .collect();
        let file = File {
            path: &home.file,
            source: &source,
        };
        // Rope sees these files alone, and not in which packages they lie.
        let modules = Modules::of(&view.index);
        let files = other_files.iter().chain([&file]);
        let names = files.map(|file| (file.path, modules.dotted(modules::key(file.path))));
        let names = names.collect();
        let done = rope.inline(file, at.start, &other_files, &names, timeout);
        let done = done.await?;
        let name = home.name.as_deref().unwrap_or_default();
        let is_global = view.index.get(&home.file).and_then(|facts| {
            let symbol = facts.symbols.get(facts.named_at(at.start)?)?;
            Some(symbol.container.is_none())
        });
        let replaced = match is_global {
            Some(true) => inline_context::check(&view, &home.file, name, &done)?,
            _ => Vec::new(),
        };
        let mut set = set_of(&view, done).await?;
        replaced.into_iter().for_each(|place| set.leave(place));
        let at_top = view.index.get(&home.file).and_then(|facts| {
            let symbol = facts.symbols.get(facts.named_at(at.start)?)?;
            let owner = facts.container(symbol).and_then(|at| facts.symbols.get(at));
            Some(owner.is_none_or(|owner| owner.kind == Kind::Class))
        });
        if at_top == Some(true) {
            list_strings(&view, home, &mut set);
            for one in rename::in_texts(&engine, &spot).await? {
                set.leave(LeftAlone {
                    location: OpenFiles::new(&view).location(&view.root().join(one.file), one.span),
                    why: one.why.into(),
                });
            }
        }
        let title = format!("inline {}", home.name.as_deref().unwrap_or("it"));
        answer(&view, set, &self.writing, cx.caller(), title).await
    }
}

fn no_module() -> Error {
    Error::new(Code::InvalidParams, "a module cannot be inlined")
        .hint("name a function or a variable of this workspace")
}

/// Refuse what may be called where nobody knows on what: it would be gone there.
fn refuse_possible(home: &Location, uses: &[Reference]) -> Result<()> {
    let is_possible = |use_: &&Reference| use_.confidence == Confidence::Possible;
    let possible: Vec<&Location> = uses
        .iter()
        .filter(is_possible)
        .map(|use_| &use_.location)
        .collect();
    let Some(first) = possible.first() else {
        return Ok(());
    };
    let name = home.name.as_deref().unwrap_or("it");
    Err(Error::new(
        Code::Conflict,
        format!(
            "`{name}` may be used at {} more places, where the type of what stands before the \
             dot is not known: {}:{}:{}",
            possible.len(),
            first.file,
            first.line,
            first.column
        ),
    )
    .hint("annotate these, or leave the definition where it is")
    .data(json!({ "possible": possible.iter().take(100).collect::<Vec<_>>() })))
}

/// Refuse a method that Python calls by its name.
fn refuse_special(home: &Location) -> Result<()> {
    let name = home.name.as_deref().unwrap_or_default();
    let is_special = name.len() > 4 && name.starts_with("__") && name.ends_with("__");
    match is_special {
        true => Err(
            Error::new(Code::Conflict, format!("Python itself asks for `{name}`"))
                .hint("it cannot be inlined"),
        ),
        false => Ok(()),
    }
}

/// Strings that are the name: whoever looks it up by one does not find it any more.
fn list_strings(view: &View, home: &Location, set: &mut ChangeSet) {
    let Some(name) = home.name.as_deref() else {
        return;
    };
    let mut opened = OpenFiles::new(view);
    for (path, span) in strings::exactly(&view.index, view.root(), name) {
        set.leave(LeftAlone {
            location: opened.location(&view.root().join(path), span),
            why: "a string with this name: it may be looked up by it".into(),
        });
    }
}
