//! How a cell of a notebook is named.

use std::convert::Infallible;
use std::str::FromStr;

use pillion_catalogue::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::file::Notebook;

/// A cell of a notebook: its id, or its number, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CellRef {
    /// Its number.
    Number(usize),
    /// Its id, or its number as text.
    Id(String),
}

impl FromStr for CellRef {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::Id(text.to_owned()))
    }
}

impl Default for CellRef {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl CellRef {
    /// Where it is.
    pub(crate) fn find(&self, notebook: &Notebook) -> Result<usize> {
        let number = match self {
            Self::Number(number) => *number,
            Self::Id(id) => {
                let number = notebook.find(id).or_else(|| id.parse().ok());
                number.ok_or_else(|| {
                    let what = format!("the notebook has no cell with the id `{id}`");
                    Error::new(Code::NotFound, what)
                        .hint("`notebook.read` tells the ids of its cells")
                })?
            }
        };
        notebook.cell(number).map(|_| number)
    }
}
