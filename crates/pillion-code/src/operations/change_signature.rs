//! `code.change_signature`: other parameters for a function, and for all who call it.

use pillion_catalogue::{Context, Offer, Operation, Result, Safety, Scope};
use pillion_changes::Patched;
use pillion_index::answers::Answer;
use pillion_index::text::shown;
use pillion_refactor::signature::{self, AddedParameter, PassedValue, SignatureChange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::positions;
use super::refactoring::{Writing, answer};
use crate::CodeService;
use crate::params::{Place, PlaceOrName};

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
    #[command(flatten)]
    #[serde(flatten)]
    #[schemars(with = "Place")]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub place: PlaceOrName,
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
    const OFFER: Offer = Offer::PLAIN.typed("change-signature", 190).everyday();
    type Service = CodeService;
    type Output = Answer<Patched>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Patched>> {
        let (view, spot) = positions::one(&cx, &self.place.0).await?;
        let mut wanted = SignatureChange {
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
