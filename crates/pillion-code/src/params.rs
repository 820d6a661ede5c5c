//! The parameters that operations share.

use std::path::PathBuf;
use std::str::FromStr;

use pillion_catalogue::{Caller, Code, Error, Result};
use pillion_workspace::config::EngineChoice;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::source::Position;

/// Answers that are given unless a request says otherwise.
pub(crate) const LIMIT: usize = 200;
/// The most that a request can ask for.
pub(crate) const MAX_LIMIT: usize = 100_000;
/// Positions in one request.
const MAX_POSITIONS: usize = 200;

/// What a caller says about Python; others may say other things about the same workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Pythons {
    pub(crate) named: Option<PathBuf>,
    pub(crate) virtual_env: Option<PathBuf>,
    pub(crate) conda_prefix: Option<PathBuf>,
}

impl Pythons {
    pub(crate) fn of(caller: &Caller) -> Self {
        Self {
            named: caller.python.clone(),
            virtual_env: caller.virtual_env.clone(),
            conda_prefix: caller.conda_prefix.clone(),
        }
    }
}

/// A place in a file, or several.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct At {
    /// The file: relative to the workspace, or absolute inside of it.
    #[arg(required_unless_present = "positions")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The line, from 1.
    #[arg(required_unless_present = "positions")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column in characters, from 1.
    #[arg(required_unless_present = "positions")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub col: Option<u32>,
    /// Several places at once, instead of one.
    #[arg(long = "at", value_name = "FILE:LINE:COL", conflicts_with = "file")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub positions: Vec<Spot>,
}

/// One of several places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spot {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub col: u32,
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

/// As the command line writes it, so the file is meant from here.
impl FromStr for Spot {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.rsplitn(3, ':');
        let (col, line, file) = (parts.next(), parts.next(), parts.next());
        let number = |part: Option<&str>| part.and_then(|p| p.parse().ok());
        match (file, number(line), number(col)) {
            (Some(file), Some(line), Some(col)) if !file.is_empty() => Ok(Self {
                file: std::path::absolute(file).map_err(|error| error.to_string())?,
                line,
                col,
            }),
            _ => Err("write FILE:LINE:COL, such as src/app.py:12:5".into()),
        }
    }
}

impl At {
    /// The places that are asked about, and whether the caller named a list.
    pub(crate) fn spots(&self) -> Result<(Vec<Spot>, bool)> {
        match (&self.file, self.line, self.col, self.positions.is_empty()) {
            (Some(file), Some(line), Some(col), true) => {
                let file = file.clone();
                Ok((vec![Spot { file, line, col }], false))
            }
            (None, None, None, false) if self.positions.len() > MAX_POSITIONS => Err(Error::new(
                Code::InvalidParams,
                format!("at most {MAX_POSITIONS} positions at once"),
            )),
            (None, None, None, false) => Ok((self.positions.clone(), true)),
            _ => Err(Error::new(
                Code::InvalidParams,
                "a place is `file`, `line` and `col`, or a list `positions` of them",
            )),
        }
    }
}

/// How many answers a request wants.
pub(crate) fn limit(asked: Option<usize>) -> usize {
    asked.unwrap_or(LIMIT).min(MAX_LIMIT)
}

/// Read `--engine`.
pub(crate) fn engine_choice(text: &str) -> Result<EngineChoice, String> {
    serde_json::from_value(text.into()).map_err(|_| "one of: ty, jedi, basedpyright".into())
}
