//! `code.move`: a definition in another module, or a module at another place.

use std::path::PathBuf;

use pillion_catalogue::{
    Caller, Code, Context, Error, Method, Offer, Operation, Result, Route, Safety, Scope,
};
use pillion_changes::Patched;
use pillion_index::answers::Answer;
use pillion_index::place;
use pillion_index::source::Span;
use pillion_index::text::shown;
use pillion_refactor::moving::{self, ModuleDestination, Moving};
use pillion_symbols::definitions;
use pillion_symbols::open_files;
use pillion_symbols::project::View;
use pillion_symbols::spotted::{Spotted, nothing_here};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::positions::spotted;
use super::refactoring::{Writing, answer};
use crate::CodeService;
use crate::params::Place;

/// Move a function, class or constant to another module, or a module to another place.
///
/// `move PLACE DEST` moves what has this name or stands there into the module DEST, which is
/// made if it does not exist; what it needs comes along. `move FILE DEST` moves a module or a
/// package: to a folder, or to a file of another name. Imports everywhere follow. Nothing is
/// written unless `apply` says so.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Move {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub place: Place,
    /// The module that gets it: a file. For a module: its new file, or a folder.
    #[arg(value_name = "DEST")]
    pub dest_file: PathBuf,
    /// Let the old module offer the moved name as well.
    #[arg(long)]
    #[serde(default)]
    pub reexport: bool,
    /// Move it even if modules import each other then.
    #[arg(long)]
    #[serde(default)]
    pub allow_cycles: bool,
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub writing: Writing,
}

impl Operation for Move {
    const NAME: &'static str = "code.move";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .typed("move", 180)
        .everyday()
        .routes(&[Route::older(Method::Post, "/move")]);
    type Service = CodeService;
    type Output = Answer<Patched>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Patched>> {
        let view = CodeService::view(&cx, cx.caller(), self.about().as_deref()).await?;
        let to = moving::destination_path(view.root(), &self.dest_file)?;
        let (set, title) = match self.what(&view, cx.caller())? {
            What::Module(file) => {
                let title = format!("move {file} to {to}");
                let wanted = ModuleDestination::At {
                    path: &to,
                    allow_cycles: self.allow_cycles,
                };
                (moving::relocate(&view, &file, wanted).await?, title)
            }
            What::Definition(spot) => {
                let (file, name) = self.defined(&view, cx.caller(), &spot).await?;
                let title = format!("move {name} to {to}");
                let moving = Moving {
                    file,
                    name,
                    to: python_file(&view, to)?,
                    reexport: self.reexport,
                    allow_cycles: self.allow_cycles,
                };
                (moving::move_symbol(&view, moving).await?, title)
            }
        };
        answer(&view, set, &self.writing, cx.caller(), title).await
    }
}

/// What is moved.
enum What {
    /// A module or package, by its path.
    Module(String),
    /// What stands at a place.
    Definition(Spotted),
}

impl Move {
    /// The file that decides which workspace is meant.
    fn about(&self) -> Option<PathBuf> {
        match self.place.asked() {
            Ok(asked) => asked.about(),
            Err(_) => self.place.file.clone(),
        }
    }

    fn what(&self, view: &View, caller: &Caller) -> Result<What> {
        let place = &self.place;
        if let (Some(file), None, None, None) = (&place.file, &place.at, place.line, place.col) {
            return Ok(What::Module(place::inside(view.root(), file)?));
        }
        // A package without a file of its own has no name to look for.
        if let (Some(at), None) = (&place.at, &place.file) {
            let folders = [caller.near.as_deref(), Some(view.root())]
                .into_iter()
                .flatten();
            let mut folders = folders.map(|folder| folder.join(at));
            if let Some(folder) = folders.find(|folder| folder.is_dir()) {
                return Ok(What::Module(place::inside(view.root(), &folder)?));
            }
        }
        let spot = spotted(view, &place.asked()?)?;
        Ok(match spot.is_module {
            true => What::Module(spot.path),
            false => What::Definition(spot),
        })
    }

    /// The definition that a position means: its file and name.
    async fn defined(
        &self,
        view: &View,
        caller: &Caller,
        spot: &Spotted,
    ) -> Result<(String, String)> {
        let nothing = || {
            nothing_here("there is nothing to move at this position")
                .hint("point at the name of a function, class or constant of a module")
        };
        let (word, _) = spot.word().filter(|_| spot.exists()).ok_or_else(nothing)?;
        let top = |file: &str, at| {
            let facts = view.index.get(file)?;
            let symbol = &facts.symbols[facts.named_at(at)?];
            Some((symbol.name.to_string(), symbol.container.is_none()))
        };
        let mut found = top(&spot.path, spot.at).map(|found| (spot.path.clone(), found));
        if found.is_none() {
            let engine = view.engine(None, caller).await?;
            let places = definitions::find(&engine, spot).await?;
            for (path, span) in places.places {
                if span == Span::default() {
                    let what = format!("`{word}` is a module");
                    return Err(Error::new(Code::InvalidParams, what)
                        .hint("leave the position out, and name its file"));
                }
                let Some(file) = open_files::inside(view.root(), &view.index, &path) else {
                    let what = format!("`{word}` is not defined in this workspace");
                    return Err(Error::new(Code::InvalidParams, what)
                        .hint("only what the workspace defines can be moved"));
                };
                found = found.or_else(|| Some((file.clone(), top(&file, span.start)?)));
            }
        }
        match found {
            Some((file, (name, true))) => Ok((file, name)),
            Some((_, (name, false))) => Err(Error::new(
                Code::InvalidParams,
                format!("`{name}` belongs to a class or function"),
            )
            .hint("only what a module itself defines can be moved to another one")),
            None => Err(nothing()),
        }
    }
}

/// The file of the module that gets something.
fn python_file(view: &View, path: String) -> Result<String> {
    let is_folder = path.ends_with('/') || view.root().join(&path).is_dir();
    if !is_folder && (path.ends_with(".py") || path.ends_with(".pyi")) {
        return Ok(path);
    }
    Err(
        Error::new(Code::InvalidParams, format!("`{path}` is no Python file"))
            .hint("name the module that gets it, such as pkg/other.py"),
    )
}
