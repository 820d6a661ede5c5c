//! `code.extract_method` and `code.extract_var`: give a piece of code a name.

use std::path::{Path, PathBuf};

use pillion_catalogue::{Caller, Context, Method, Offer, Operation, Result, Route, Safety, Scope};
use pillion_changes::Patched;
use pillion_index::answers::Answer;
use pillion_index::place;
use pillion_index::text::shown;
use pillion_refactor::range::AskedRange;
use pillion_refactor::rope::File;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::refactoring::{Writing, answer, rope, set_of};
use crate::CodeService;

/// Make a function or method of these lines.
///
/// What the lines need becomes parameters, what is used after them is returned. Lines that
/// cannot be a function of their own are refused, with the reason.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct ExtractMethod {
    /// The file: relative to the workspace, or absolute inside of it.
    pub file: PathBuf,
    /// The first line, from 1.
    pub start_line: u32,
    /// The last line.
    pub end_line: u32,
    /// The name of the new function.
    pub method_name: String,
    /// The first column, from 1, if not the whole line.
    #[arg(long)]
    #[serde(
        default,
        rename = "start_column",
        alias = "start_col",
        skip_serializing_if = "Option::is_none"
    )]
    pub start_col: Option<u32>,
    /// One past the last column.
    #[arg(long)]
    #[serde(
        default,
        rename = "end_column",
        alias = "end_col",
        skip_serializing_if = "Option::is_none"
    )]
    pub end_col: Option<u32>,
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub writing: Writing,
}

impl Operation for ExtractMethod {
    const NAME: &'static str = "code.extract_method";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .typed("extract-method", 200)
        .routes(&[Route::older(Method::Post, "/extract-method")]);
    type Service = CodeService;
    type Output = Answer<Patched>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Patched>> {
        let asked = AskedRange {
            start_line: self.start_line,
            start_col: self.start_col,
            end_line: self.end_line,
            end_col: self.end_col,
        };
        let name = self.method_name;
        let extract = Extract {
            cx: &cx,
            caller: cx.caller(),
            writing: &self.writing,
        };
        extract.run(&self.file, asked, &name, What::Method).await
    }
}

/// Give an expression a name.
///
/// A range that is not exactly an expression means the smallest one that it lies in.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct ExtractVar {
    /// The file: relative to the workspace, or absolute inside of it.
    pub file: PathBuf,
    /// The first line, from 1.
    pub start_line: u32,
    /// The last line; the first one if not given.
    #[arg(required = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// The name of the new variable.
    pub var_name: String,
    /// The first column, from 1.
    #[arg(long)]
    #[serde(
        default,
        rename = "start_column",
        alias = "start_col",
        skip_serializing_if = "Option::is_none"
    )]
    pub start_col: Option<u32>,
    /// One past the last column.
    #[arg(long)]
    #[serde(
        default,
        rename = "end_column",
        alias = "end_col",
        skip_serializing_if = "Option::is_none"
    )]
    pub end_col: Option<u32>,
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub writing: Writing,
}

impl Operation for ExtractVar {
    const NAME: &'static str = "code.extract_var";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .typed("extract-var", 210)
        .routes(&[Route::older(Method::Post, "/extract-var")]);
    type Service = CodeService;
    type Output = Answer<Patched>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Patched>> {
        let asked = AskedRange {
            start_line: self.start_line,
            start_col: self.start_col,
            end_line: self.end_line.unwrap_or(self.start_line),
            end_col: self.end_col,
        };
        let name = self.var_name;
        let extract = Extract {
            cx: &cx,
            caller: cx.caller(),
            writing: &self.writing,
        };
        extract.run(&self.file, asked, &name, What::Variable).await
    }
}

/// What a piece of code becomes.
#[derive(Clone, Copy)]
enum What {
    Method,
    Variable,
}

/// What both ways to extract have in common.
struct Extract<'a> {
    cx: &'a Context<CodeService>,
    caller: &'a Caller,
    writing: &'a Writing,
}

impl Extract<'_> {
    async fn run(
        &self,
        file: &Path,
        asked: AskedRange,
        name: &str,
        what: What,
    ) -> Result<Answer<Patched>> {
        let view = CodeService::view(self.cx, self.caller, Some(file)).await?;
        let path = place::inside(view.root(), file)?;
        let source = view.readable(&path)?;
        let (rope, timeout) = rope(self.cx, &view, self.caller).await?;
        let file = File {
            path: &path,
            source: &source,
        };
        let done = match what {
            What::Method => {
                rope.extract_method(file, asked, name, None, timeout)
                    .await?
            }
            What::Variable => rope.extract_variable(file, asked, name, timeout).await?,
        };
        let set = set_of(&view, done).await?;
        let title = format!("extract {name}");
        answer(&view, set, self.writing, self.caller, title).await
    }
}
