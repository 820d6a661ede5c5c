//! `code.change_signature`: other parameters for a function, and for all who call it.

use std::path::PathBuf;

use pillion_catalogue::{Code, Context, Error, Offer, Operation, Result, Safety, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::positions::spotted;
use super::refactored::{Writing, answer};
use super::symbol_edits::{Which, definition};
use crate::CodeService;
use crate::answers::Answer;
use crate::changes::Patched;
use crate::operations::Spotted;
use crate::params::Spot;
use crate::project::View;
use crate::refactor::signature::{self, AddedParameter, PassedValue, Wanted};
use crate::text::shown;

/// Add, remove and order the parameters of a function, and rewrite all calls.
///
/// A class means its `__init__`. Overrides change with it; each argument of a call follows its
/// parameter, by place or by name as before. Calls that nobody can be sure about, such as
/// `f(*values)` where something moves under the star, are refused with their places. Where
/// the function is handed on instead of called is listed. Nothing is written unless `apply`
/// says so.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct ChangeSignature {
    /// The file: relative to the workspace, or absolute inside of it.
    #[arg(required_unless_present = "name_path")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The line, from 1.
    #[arg(required_unless_present = "name_path")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column in characters, from 1.
    #[arg(required_unless_present = "name_path")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub col: Option<u32>,
    /// Instead of a position: `function`, `Class`, `Class/method`; `file` says where, if it
    /// fits several.
    #[arg(long = "name", value_name = "NAME_PATH", conflicts_with = "line")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_path: Option<String>,
    /// A new parameter: `name`, `name=default`, `name: annotation = default`; `*, name` makes
    /// it keyword-only. It stands behind the others, unless `order` says where.
    #[arg(long, value_name = "PARAMETER")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<AddedParameter>,
    /// What calls that exist pass for a new parameter: the same as `value` in `add`.
    #[arg(long = "value", value_name = "NAME=SOURCE")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<PassedValue>,
    /// A parameter that goes; it must not be used any more.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
    /// All parameters in their new order, without `self`; `/` and `*` say anew who is
    /// positional-only and keyword-only.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
    /// Leave calls as they are that nobody can be sure about, and list them.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leave_unclear: bool,
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub writing: Writing,
}

impl Operation for ChangeSignature {
    const NAME: &'static str = "code.change_signature";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.typed("change-signature", 190);
    type Service = CodeService;
    type Output = Answer<Patched>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Patched>> {
        let view = CodeService::view(&cx, cx.caller(), self.file.as_deref()).await?;
        let spot = self.spot(&view)?;
        let mut wanted = Wanted {
            add: self.add,
            remove: self.remove,
            order: self
                .order
                .iter()
                .map(|name| name.trim().to_owned())
                .collect(),
            leave_unclear: self.leave_unclear,
        };
        wanted.pass(self.values)?;
        let engine = view.engine(None, cx.caller()).await?;
        let set = signature::change(&engine, &spot, &wanted).await?;
        let name = spot.word().map_or("", |(name, _)| name);
        let title = format!("change signature of {name}");
        answer(&view, set, &self.writing, cx.caller(), title).await
    }
}

impl ChangeSignature {
    fn spot(&self, view: &View) -> Result<Spotted> {
        match (&self.name_path, &self.file, self.line, self.col) {
            (None, Some(file), Some(line), Some(col)) => {
                let file = file.clone();
                spotted(view, &Spot { file, line, col })
            }
            (Some(name_path), file, None, None) => {
                let which = Which {
                    name_path: name_path.clone(),
                    path: file.clone(),
                };
                definition(view, &which)
            }
            _ => Err(Error::new(
                Code::InvalidParams,
                "a function is named by `file`, `line` and `col`, or by `name_path`",
            )
            .hint("a name path is `function`, `Class` or `Class/method`")),
        }
    }
}
