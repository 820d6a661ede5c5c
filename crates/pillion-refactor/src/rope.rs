//! Rope: extract and inline, in a Python worker of pillion's own in the managed environment.
//!
//! Rope is handed texts and hands back texts. It never sees the workspace, so that it cannot
//! search it, write into it, or know an old state of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_engines::tools;
use pillion_index::source::{Position, Source};
use pillion_runtime::Dirs;
use pillion_supervisor::{Ask, CallRequest, Pool, SidecarLimits, Supervisor};
use serde::Deserialize;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::line_ends::Plain;
use super::names::check_name;
use super::range::{AskedRange, expression};
use super::{NewText, Refactored, still_parses};

/// Rope for one workspace.
#[derive(Debug)]
pub struct Rope {
    pool: Arc<Pool>,
}

/// What an extracted function becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionKind {
    /// A method that is called on `self`.
    Method,
    /// A static method of the class.
    Static,
    /// A class method.
    Class,
    /// A function of the module.
    Function,
}

/// A file that a refactoring may look at.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Its path, relative to the workspace.
    pub path: &'a str,
    /// Its text.
    pub source: &'a Source,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    warnings: Vec<String>,
    refused: Option<Refused>,
}

#[derive(Deserialize)]
struct Refused {
    code: String,
    message: String,
    hint: Option<String>,
    data: Option<Value>,
}

impl Rope {
    /// Rope for the workspace at `root`; its worker starts with the first question.
    pub async fn new(
        root: &Path,
        limits: SidecarLimits,
        supervisor: &Supervisor,
        dirs: &Dirs,
    ) -> Result<Self> {
        let pool = tools::worker("rope", root, limits, supervisor, dirs).await?;
        Ok(Self { pool })
    }

    /// Make the statements, or the expression, of a range a function of their own.
    pub async fn extract_method(
        &self,
        file: File<'_>,
        asked: AskedRange,
        name: &str,
        kind: Option<FunctionKind>,
        timeout: Duration,
    ) -> Result<Refactored> {
        check_name(name)?;
        let offsets = asked.offsets(file.source)?;
        if offsets.is_empty() {
            return Err(Error::new(Code::NotFound, "there is nothing in the range")
                .hint("name the lines of whole statements"));
        }
        let kind = kind.map(|kind| match kind {
            FunctionKind::Method => "method",
            FunctionKind::Static => "staticmethod",
            FunctionKind::Class => "classmethod",
            FunctionKind::Function => "function",
        });
        let params = json!({ "name": name, "kind": kind });
        self.extract("extract_method", file, offsets, params, timeout)
            .await
    }

    /// Give the expression that a range lies in a name, in a line before its statement.
    pub async fn extract_variable(
        &self,
        file: File<'_>,
        asked: AskedRange,
        name: &str,
        timeout: Duration,
    ) -> Result<Refactored> {
        check_name(name)?;
        let offsets = asked.offsets(file.source)?;
        let offsets = expression(file.source, file.path, offsets)?;
        let params = json!({ "name": name });
        self.extract("extract_variable", file, offsets, params, timeout)
            .await
    }

    /// Put the variable or function at a place where it is used. `others` are the other
    /// files with uses of it; its definition must be in one of the files.
    pub async fn inline(
        &self,
        file: File<'_>,
        at: Position,
        others: &[File<'_>],
        names: &BTreeMap<&str, String>,
        timeout: Duration,
    ) -> Result<Refactored> {
        let Some((_, word)) = file.source.word_at(at) else {
            return Err(Error::new(Code::NotFound, "there is no name at this place")
                .hint("name the place of a variable or function"));
        };
        let offset = file.source.offset(word.start).unwrap_or_default();
        let mut plains = BTreeMap::new();
        for file in others.iter().chain([&file]) {
            plains.insert(file.path, Plain::of(file.source.text()));
        }
        let texts: BTreeMap<&str, &str> =
            plains.iter().map(|(path, p)| (*path, &*p.text)).collect();
        let offset = Plain::of(file.source.text()).characters(file.source.text(), offset);
        let params = json!({ "path": file.path, "offset": offset, "files": texts, "names": names });
        self.ask("inline", params, &plains, timeout).await
    }

    async fn extract(
        &self,
        function: &str,
        file: File<'_>,
        offsets: std::ops::Range<usize>,
        mut params: Value,
        timeout: Duration,
    ) -> Result<Refactored> {
        let text = file.source.text();
        let plain = Plain::of(text);
        params["path"] = file.path.into();
        params["source"] = plain.text.as_str().into();
        params["start"] = plain.characters(text, offsets.start).into();
        params["end"] = plain.characters(text, offsets.end).into();
        self.ask(
            function,
            params,
            &BTreeMap::from([(file.path, plain)]),
            timeout,
        )
        .await
    }

    async fn ask(
        &self,
        function: &str,
        params: Value,
        plains: &BTreeMap<&str, Plain>,
        timeout: Duration,
    ) -> Result<Refactored> {
        let function = format!("pillion.rope_engine:{function}");
        let params = json!({ "function": function, "params": params });
        let call = CallRequest {
            ask: Ask {
                method: "call".into(),
                params: to_raw_value(&params).ok(),
                project: String::new(),
            },
            safe: true,
            timeout,
            parts: None,
            budget: pillion_catalogue::SendBudget::default(),
        };
        let answer = self.pool.call(call).await.map_err(without_exception)?;
        let answer: Answer = serde_json::from_str(answer.result.get()).map_err(Error::internal)?;
        if let Some(refused) = answer.refused {
            return Err(refused.into());
        }
        let mut files = Vec::new();
        for (path, text) in answer.files {
            let Some(plain) = plains.get(&*path) else {
                return Err(Error::internal(format!(
                    "`{path}` was changed, and not handed over"
                )));
            };
            let text = plain.restore(&text);
            still_parses(&text, &path)?;
            files.push(NewText { path, text });
        }
        Ok(Refactored {
            files,
            warnings: answer.warnings,
        })
    }
}

/// What Rope failed at is no business of callers: they get a fault of pillion's instead.
fn without_exception(error: Error) -> Error {
    if error.code != Code::Exception {
        return error;
    }
    tracing::warn!(%error, data = ?error.data, "rope failed");
    Error::new(
        Code::InternalError,
        "the refactoring failed on this code; nothing was changed",
    )
    .hint("choose another range; `pillion logs` has more")
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        let mut error = Self::new(Code::from(&*refused.code), refused.message);
        error.hint = refused.hint;
        error.data = refused.data.map(Box::new);
        error
    }
}
