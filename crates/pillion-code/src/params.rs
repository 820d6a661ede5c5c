//! The parameters that operations share.

use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command};
use pillion_catalogue::{Code, Error, Result};
use pillion_index::source::Position;
use pillion_symbols::named::{FORMS, NameOrPlace};
use pillion_workspace::config::EngineChoice;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Answers that are given unless a request says otherwise.
pub(crate) const LIMIT: usize = 200;
/// The most that a request can ask for.
pub(crate) const MAX_LIMIT: usize = 100_000;
/// Positions in one request.
const MAX_POSITIONS: usize = 200;

/// What a request is about: a name, or a place in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// A name such as `Class.method`, `pkg.mod.name` or `pkg/mod.py::Class.method`, or a place
    /// such as `pkg/mod.py:12:5`; instead of `file`, `line` and `column`.
    #[serde(default, alias = "name_path", skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The file: relative to the workspace, or absolute inside of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column in characters, from 1.
    #[serde(
        default,
        rename = "column",
        alias = "col",
        skip_serializing_if = "Option::is_none"
    )]
    pub col: Option<u32>,
}

/// What a request is about: a name or a place, or several.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct At {
    /// A name such as `Class.method`, `pkg.mod.name` or `pkg/mod.py::Class.method`, or a place
    /// such as `pkg/mod.py:12:5`; instead of `file`, `line` and `column`.
    #[serde(default, alias = "name_path", skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The file: relative to the workspace, or absolute inside of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column in characters, from 1.
    #[serde(
        default,
        rename = "column",
        alias = "col",
        skip_serializing_if = "Option::is_none"
    )]
    pub col: Option<u32>,
    /// Several at once, instead of one: each as it is written for `at`, or as an object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub positions: Vec<Listed>,
}

/// One of several places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a position is text such as `Class.method` or `pkg/mod.py:12:5`, or an object \
                 with `file`, `line` and `column`"
)]
pub enum Listed {
    /// As it is written.
    Written(String),
    /// Its file, line and column.
    Spot(Spot),
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spot {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    #[serde(rename = "column", alias = "col")]
    pub col: u32,
}

/// What a place can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A line and a column.
    Spot(Spot),
    /// What was written, and the file to look in, if one is named beside it.
    Written(String, Option<PathBuf>),
}

impl Spot {
    /// The place; a line or column of 0 is a mistake of the caller.
    pub(crate) fn position(&self) -> Result<Position> {
        Position::from_one(self.line, self.col).ok_or_else(|| {
            Error::new(Code::InvalidParams, "lines and columns count from 1")
                .hint("the first character of a file is line 1, column 1")
        })
    }
}

impl Asked {
    /// The file it is about, if it names one: that decides which workspace is meant.
    pub(crate) fn about(&self) -> Option<PathBuf> {
        match self {
            Self::Spot(spot) => Some(spot.file.clone()),
            Self::Written(_, Some(file)) => Some(file.clone()),
            Self::Written(text, None) => {
                let written = NameOrPlace::read(text).ok()?;
                let file = PathBuf::from(written.file()?);
                file.is_absolute().then_some(file)
            }
        }
    }
}

impl Place {
    /// What is asked about.
    pub(crate) fn asked(&self) -> Result<Asked> {
        match (&self.at, &self.file, self.line, self.col) {
            (Some(at), file, None, None) => Ok(Asked::Written(at.clone(), file.clone())),
            (None, Some(file), Some(line), Some(col)) => {
                let file = file.clone();
                Ok(Asked::Spot(Spot { file, line, col }))
            }
            _ => Err(Error::new(
                Code::InvalidParams,
                "a place is `at`, or `file`, `line` and `column`",
            )
            .hint(format!("in `at` {FORMS}"))),
        }
    }

    /// The words of a command line: FILE LINE COL, or one that is a name or a place.
    fn typed(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let words = matches.get_many::<String>(PLACE).into_iter().flatten();
        let words: Vec<&str> = words.map(String::as_str).collect();
        let number = |text: &str| {
            let what = format!("`{text}` is no line or column: write a number from 1");
            text.parse::<u32>().map_err(|_| wrong(&what))
        };
        let named = matches.try_get_one::<String>(NAMED).ok().flatten();
        match *words {
            [] => Ok(Self {
                at: named.map(|name| NameOrPlace::from_here(name)),
                ..Self::default()
            }),
            [file] if named.is_some() => Ok(Self {
                at: named.cloned(),
                file: Some(from_here(file)?),
                ..Self::default()
            }),
            [one] => Ok(Self {
                at: Some(NameOrPlace::from_here(one)),
                ..Self::default()
            }),
            [file, line, col] => Ok(Self {
                file: Some(from_here(file)?),
                line: Some(number(line)?),
                col: Some(number(col)?),
                at: None,
            }),
            _ => Err(wrong(
                "write one word (a name, or FILE:LINE:COL), or the three words FILE LINE COL",
            )),
        }
    }
}

/// A mistake on a command line.
fn wrong(what: &str) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{what}\n"))
}

/// How the arguments of a place are called.
const PLACE: &str = "place";
const POSITIONS: &str = "positions";
/// An older way to write a name.
const NAMED: &str = "named";

/// The words for a place: one, or FILE LINE COL. Others may follow them.
fn place_argument() -> Arg {
    Arg::new(PLACE).value_name("PLACE").num_args(1..=3).help(
        "A name (`Class.method`, `pkg.mod.name`, `file.py::name`), a place (`file.py:12:5`), or \
         the three words FILE LINE COL; lines and columns count from 1",
    )
}

impl clap::Args for Place {
    fn augment_args(command: Command) -> Command {
        command.arg(place_argument().required(true))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for Place {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Self::typed(matches)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The same, where a command line could say `--name` before.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PlaceOrName(pub Place);

impl clap::Args for PlaceOrName {
    fn augment_args(command: Command) -> Command {
        let named = Arg::new(NAMED).long("name").value_name("NAME").hide(true);
        let place = place_argument().required_unless_present(NAMED);
        command.arg(place).arg(named)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for PlaceOrName {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Place::typed(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for At {
    fn augment_args(command: Command) -> Command {
        let positions = Arg::new(POSITIONS)
            .long("at")
            .value_name("PLACE")
            .action(clap::ArgAction::Append)
            .conflicts_with(PLACE)
            .help("Several at once, instead of one: FILE:LINE:COL or a name");
        let place = place_argument().required_unless_present(POSITIONS);
        command.arg(place).arg(positions)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for At {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut positions = Vec::new();
        for text in matches.get_many::<String>(POSITIONS).into_iter().flatten() {
            NameOrPlace::read(text).map_err(|error| wrong(&error.message))?;
            positions.push(Listed::Written(NameOrPlace::from_here(text)));
        }
        let place = Place::typed(matches)?;
        if let Some(Ok(NameOrPlace::File(file))) = place.at.as_deref().map(NameOrPlace::read) {
            return Err(wrong(&format!(
                "a question is about a place in a file: write FILE LINE COL, `{file}::NAME`, or \
                 the dotted name of the module"
            )));
        }
        let Place {
            at,
            file,
            line,
            col,
        } = place;
        Ok(Self {
            at,
            file,
            line,
            col,
            positions,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl At {
    /// What is asked about, and whether the caller named a list.
    pub(crate) fn asked(&self) -> Result<(Vec<Asked>, bool)> {
        let one = Place {
            at: self.at.clone(),
            file: self.file.clone(),
            line: self.line,
            col: self.col,
        };
        if self.positions.is_empty() {
            return Ok((vec![one.asked()?], false));
        }
        if one != Place::default() {
            return Err(Error::new(
                Code::InvalidParams,
                "a request is about one place, or about a list `positions` of them",
            ));
        }
        if self.positions.len() > MAX_POSITIONS {
            return Err(Error::new(
                Code::InvalidParams,
                format!("at most {MAX_POSITIONS} positions at once"),
            ));
        }
        let asked = self.positions.iter().map(|listed| match listed {
            Listed::Written(text) => Asked::Written(text.clone(), None),
            Listed::Spot(spot) => Asked::Spot(spot.clone()),
        });
        Ok((asked.collect(), true))
    }
}

/// A file of a command line: meant from here if there is one, else from the root.
fn from_here(file: &str) -> Result<PathBuf, clap::Error> {
    let path = Path::new(file);
    match path.is_absolute() || path.exists() {
        true => std::path::absolute(path).map_err(|error| wrong(&error.to_string())),
        false => Ok(path.to_owned()),
    }
}

/// How many answers a request wants.
pub(crate) fn limit(asked: Option<usize>) -> usize {
    asked.unwrap_or(LIMIT).min(MAX_LIMIT)
}

/// A name or place of a command line: a file in it is meant from here if there is one.
#[expect(clippy::unnecessary_wraps, reason = "clap wants a result")]
pub(crate) fn written_here(text: &str) -> Result<String, String> {
    Ok(NameOrPlace::from_here(text))
}

/// Read `--engine`.
pub(crate) fn engine_choice(text: &str) -> Result<EngineChoice, String> {
    serde_json::from_value(text.into()).map_err(|_| "one of: ty, jedi, basedpyright".into())
}
