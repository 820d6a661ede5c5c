//! Jedi as an engine: a Python worker of pillion's own, in the managed environment.
//!
//! It knows fewer questions than a language server, and is slower; it guesses more about
//! code without types. It reads files itself, so each question carries the clock: at
//! another one it forgets what it has parsed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::{Error, Result};
use pillion_runtime::Dirs;
use pillion_supervisor::{Ask, CallRequest, Pool, Supervisor};
use pillion_workspace::Clock;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::to_raw_value;

use crate::engine::{LspHover, LspLocation, LspPosition, LspRange};
use crate::surroundings::Surroundings;
use crate::tools;

/// Jedi for one workspace.
#[derive(Debug)]
pub struct Jedi {
    pool: Arc<Pool>,
    root: PathBuf,
    python: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Place {
    path: PathBuf,
    line: u32,
    column: u32,
    end_column: u32,
}

impl Jedi {
    /// Jedi for the workspace at `root`; its worker starts with the first question.
    pub async fn new(
        root: &Path,
        around: &Surroundings,
        supervisor: &Supervisor,
        dirs: &Dirs,
    ) -> Result<Self> {
        let limits = tools::limits(&around.project.config.code);
        let pool = tools::worker("jedi", root, limits, supervisor, dirs).await?;
        let python = around.python.choice().ok();
        Ok(Self {
            pool,
            root: root.to_owned(),
            python: python.map(|choice| choice.interpreter.executable.clone()),
        })
    }

    /// Where the name at a place is defined.
    pub async fn definition(&self, ask: &JediQuestion<'_>) -> Result<Vec<LspLocation>> {
        self.places("definition", ask).await
    }

    /// Every use of the name at a place.
    pub async fn references(&self, ask: &JediQuestion<'_>) -> Result<Vec<LspLocation>> {
        self.places("references", ask).await
    }

    /// What is known about the name at a place, for people.
    pub async fn hover(&self, ask: &JediQuestion<'_>) -> Result<Option<LspHover>> {
        let text: Option<String> = self.ask("hover", ask).await?;
        Ok(text.map(|text| LspHover {
            text,
            markdown: false,
            range: None,
        }))
    }

    async fn places(&self, function: &str, ask: &JediQuestion<'_>) -> Result<Vec<LspLocation>> {
        let places: Vec<Place> = self.ask(function, ask).await?;
        let places = places.into_iter().map(|place| LspLocation {
            path: place.path,
            range: LspRange {
                start: LspPosition::new(place.line, place.column),
                end: LspPosition::new(place.line, place.end_column),
            },
            whole: None,
        });
        Ok(places.collect())
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        function: &str,
        asked: &JediQuestion<'_>,
    ) -> Result<T> {
        let params = json!({
            "function": format!("pillion.jedi_engine:{function}"),
            "params": {
                "root": self.root,
                "python": self.python,
                "clock": asked.clock.to_string(),
                "path": asked.path,
                "line": asked.at.line,
                "column": asked.at.character,
            },
        });
        let call = CallRequest {
            ask: Ask {
                method: "call".into(),
                params: to_raw_value(&params).ok(),
                project: String::new(),
            },
            safe: true,
            timeout: asked.timeout,
            parts: None,
            budget: pillion_catalogue::SendBudget::default(),
        };
        let answer = self.pool.call(call).await?;
        serde_json::from_str(answer.result.get()).map_err(Error::internal)
    }
}

/// A question to Jedi.
#[derive(Debug)]
pub struct JediQuestion<'a> {
    /// The moment that it is asked about.
    pub clock: Clock,
    /// The file, as an absolute path.
    pub path: &'a Path,
    /// The place in it.
    pub at: LspPosition,
    /// How long the answer may take.
    pub timeout: Duration,
}
