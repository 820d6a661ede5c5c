//! `code.move`: a definition in another module, or a module at another place.

use std::path::PathBuf;

use clap::{ArgMatches, Command};
use pillion_catalogue::{
    Caller, Code, Context, Error, Method, Offer, Operation, Result, Route, Safety, Scope,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::positions::{Spotted, nothing_here, spotted};
use super::refactored::{Writing, answer};
use crate::answers::Answer;
use crate::changes::Patched;
use crate::definitions;
use crate::desk;
use crate::params::Spot;
use crate::project::View;
use crate::refactor::moving::{self, Moving, Wanted};
use crate::source::Span;
use crate::text::shown;
use crate::{CodeService, place};

/// Move a function, class or constant to another module, or a module to another place.
///
/// `move FILE LINE COL DEST` moves what is at a position into the module DEST, which is made
/// if it does not exist; what it needs comes along. `move FILE DEST` moves a module or a
/// package: to a folder, or to a file of another name. Imports everywhere follow. Nothing is
/// written unless `apply` says so.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Move {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub what: What,
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

/// What is moved, and where.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct What {
    /// The file: relative to the workspace, or absolute inside of it; a folder is a package.
    pub file: PathBuf,
    /// The line of what is moved, from 1; without it the module is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column in characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub col: Option<u32>,
    /// The module that gets it: a file. For a module: its new file, or a folder.
    pub dest_file: PathBuf,
}

/// The position may be left out on the command line, though the destination follows it.
impl clap::FromArgMatches for What {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let wrong = |what: &str| clap::Error::raw(clap::error::ErrorKind::ValueValidation, what);
        let file = matches.get_one::<PathBuf>("file").cloned();
        let rest: Vec<String> = matches
            .get_many::<String>("rest")
            .map(|all| all.cloned().collect())
            .unwrap_or_default();
        let number = |text: &str| {
            let what = format!("`{text}` is no line or column: write a number from 1\n");
            text.parse().map_err(|_| wrong(&what))
        };
        let (line, col, dest) = match &*rest {
            [dest] => (None, None, dest),
            [line, col, dest] => (Some(number(line)?), Some(number(col)?), dest),
            _ => {
                return Err(wrong(
                    "write FILE LINE COL DEST, or FILE DEST for a module\n",
                ));
            }
        };
        Ok(Self {
            file: file.ok_or_else(|| wrong("which file?\n"))?,
            line,
            col,
            dest_file: std::path::absolute(dest).map_err(|error| wrong(&error.to_string()))?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for What {
    fn augment_args(command: Command) -> Command {
        let path = clap::value_parser!(PathBuf);
        let file = clap::Arg::new("file").required(true).value_parser(path);
        let file = file.help("The file; a folder is a package");
        let rest = clap::Arg::new("rest")
            .required(true)
            .num_args(1..=3)
            .value_name("LINE COL DEST")
            .help("Where it stands, and the module that gets it; DEST alone moves the module");
        command.arg(file).arg(rest)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl Operation for Move {
    const NAME: &'static str = "code.move";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .typed("move", 180)
        .routes(&[Route::older(Method::Post, "/move")]);
    type Service = CodeService;
    type Output = Answer<Patched>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Patched>> {
        let what = &self.what;
        let view = CodeService::view(&cx, cx.caller(), Some(&what.file)).await?;
        let to = moving::destination_path(view.root(), &what.dest_file)?;
        let (set, title) = match (what.line, what.col) {
            (None, None) => {
                let file = place::inside(view.root(), &what.file)?;
                let title = format!("move {file} to {to}");
                let wanted = Wanted::At {
                    path: &to,
                    allow_cycles: self.allow_cycles,
                };
                (moving::relocate(&view, &file, wanted).await?, title)
            }
            (Some(line), Some(col)) => {
                let file = what.file.clone();
                let spot = spotted(&view, &Spot { file, line, col })?;
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
            _ => {
                return Err(
                    Error::new(Code::InvalidParams, "a position has a `line` and a `col`")
                        .hint("leave both out to move the module"),
                );
            }
        };
        answer(&view, set, &self.writing, cx.caller(), title).await
    }
}

impl Move {
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
                let Some(file) = desk::inside(view.root(), &view.index, &path) else {
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
