//! A tool call on its way through the catalogue and back.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};

use pillion_catalogue::{Caller, Code, Door, Error, Part, Picture, Result, Scope, Streams};
use pillion_protocol::caller::META;
use rmcp::model::{
    CallToolResult, ContentBlock, JsonObject, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use tokio::sync::SemaphorePermit;

use super::outputs::Outputs;
use super::schemas::WRAPPED;
use super::server::Agent;
use super::tools::Entry;
use super::{errors, exact};
use crate::dispatch::{Asked, dispatch};

/// Bytes of a stream's items that are kept for the answer; what comes later is counted.
const MAX_ITEMS: usize = 2 << 20;
/// The same, of all calls that are worked on.
const ALL_ITEMS: usize = 32 << 20;
static KEPT: AtomicUsize = AtomicUsize::new(0);
/// The most text that an answer shows, whatever a host says. More than is shown is never
/// taken apart: values take many times the room of their text.
const MAX_SHOWN: usize = 1 << 20;
/// Bytes of an item that a progress message shows.
const MESSAGE: usize = 2_000;
/// A host may say with a call how much text its answer shows.
const MAX_OUTPUT_META: &str = "pillion/max_output";

impl Agent {
    /// Do what a tool does: its result, or its error as the agent reads it.
    pub(super) async fn perform(
        &self,
        entry: &Entry,
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let answered = self.answer(entry, arguments, context).await;
        let shown = answered.and_then(|(result, items)| {
            let max = self.max_output(context);
            let (result, pictures) = apart(entry, result)?;
            let alone = items.is_empty().then(|| result.get());
            let cut = alone.and_then(|text| cut(&self.shared.outputs, text, max));
            let mut answer = match cut {
                Some(cut) => cut,
                None => {
                    // The text is what was answered, to the last digit.
                    let exact = items.is_empty().then(|| result.get().to_owned());
                    let value = items.beside(decoded(&result)?);
                    let text = exact.unwrap_or_else(|| value.to_string());
                    shown(&self.shared.outputs, value, text, entry.wraps, max)
                }
            };
            let pictures = pictures.into_iter();
            let pictures = pictures.map(|one| ContentBlock::image(one.base64, one.mime));
            answer.content.extend(pictures);
            Ok(answer)
        });
        shown.unwrap_or_else(|error| errors::failed(&error))
    }

    async fn answer(
        &self,
        entry: &Entry,
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<(Box<RawValue>, Items)> {
        let _place = self.place()?;
        let mut arguments = exact::arguments(&arguments, context)?;
        // Models write null where they mean nothing.
        arguments.retain(|_, value| value.get() != "null");
        let token = context.meta.get_progress_token();
        if entry.definition.streams == Streams::OnRequest && token.is_some() {
            // Whoever wants to hear of progress gets the items one by one.
            let yes = to_raw_value(&true).map_err(Error::internal)?;
            arguments.entry("stream".to_owned()).or_insert(yes);
        }
        let params = to_raw_value(&arguments).map_err(Error::internal)?;
        let asked = Asked {
            door: Door::Mcp,
            operation: entry.definition.name,
            params: Some(&params),
            caller: self.caller(entry.definition.scope, context).await?,
            cancel: context.ct.clone(),
            room: self.room.clone(),
        };
        let mut items = Items::default();
        let mut news = News::new(token, &context.peer);
        let result = dispatch(&self.shared.house, asked, |part| {
            news.part(part, &mut items)
        })
        .await?;
        Ok((result, items))
    }

    /// Who asks: by the words of the call's host, the agent's own root, and our settings.
    async fn caller(&self, scope: Scope, context: &RequestContext<RoleServer>) -> Result<Caller> {
        let said = match context.meta.0.0.get(META) {
            Some(said) => Caller::deserialize(said).map_err(|error| {
                let what = format!("`_meta` member `{META}` cannot be read: {error}");
                Error::new(Code::InvalidParams, what)
            })?,
            None => Caller::default(),
        };
        let is_about_here = scope != Scope::Nothing && self.shared.house.root.is_none();
        let roots = match is_about_here && said.near.is_none() {
            true => self.roots.first(context).await,
            false => None,
        };
        let near = Caller {
            near: roots,
            ..Caller::default()
        };
        Ok(said.or(near).or(self.shared.settings.caller.clone()))
    }

    /// A place for one more call.
    pub(super) fn place(&self) -> Result<SemaphorePermit<'_>> {
        self.shared.calls.try_acquire().map_err(|_| {
            Error::new(Code::Busy, "too many calls at once")
                .hint("wait for an answer before the next call")
        })
    }

    pub(super) fn max_output(&self, context: &RequestContext<RoleServer>) -> usize {
        let asked = context.meta.0.0.get(MAX_OUTPUT_META);
        let asked = asked.and_then(Value::as_u64);
        let max = asked.map_or(self.shared.settings.max_output, |max| max as usize);
        max.min(MAX_SHOWN)
    }
}

/// The items of a stream, as many as may be kept.
#[derive(Default)]
pub(super) struct Items {
    kept: Vec<Box<RawValue>>,
    bytes: usize,
    left_out: u64,
}

impl Items {
    fn push(&mut self, item: Box<RawValue>) {
        let bytes = item.get().len();
        let all = KEPT.fetch_add(bytes, Ordering::Relaxed);
        if self.left_out > 0 || self.bytes + bytes > MAX_ITEMS || all + bytes > ALL_ITEMS {
            KEPT.fetch_sub(bytes, Ordering::Relaxed);
            self.left_out += 1;
        } else {
            self.bytes += bytes;
            self.kept.push(item);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.left_out == 0
    }

    /// Beside the result, if there are any.
    fn beside(self, result: Value) -> Value {
        if self.is_empty() {
            return result;
        }
        self.within(match result {
            Value::Object(object) => object,
            other => Map::from_iter([(WRAPPED.to_owned(), other)]),
        })
    }

    /// Within an object, also if there are none.
    pub(super) fn within(self, mut object: Map<String, Value>) -> Value {
        let items = self.kept.iter();
        let items = items.filter_map(|item| serde_json::from_str::<Value>(item.get()).ok());
        object.insert("items".into(), items.collect());
        if self.left_out > 0 {
            object.insert("items_left_out".into(), json!(self.left_out));
        }
        Value::Object(object)
    }
}

impl Drop for Items {
    fn drop(&mut self) {
        KEPT.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A result as a value.
pub(super) fn decoded(result: &RawValue) -> Result<Value> {
    serde_json::from_str(result.get()).map_err(|error| {
        let what = format!("the result is no JSON that can be shown: {error}");
        Error::new(Code::InvalidResult, what).hint("it may be nested too deeply; return less")
    })
}

/// A result without its pictures, and the pictures: agents see those as what they are.
fn apart(entry: &Entry, result: Box<RawValue>) -> Result<(Box<RawValue>, Vec<Picture>)> {
    match entry.definition.pictures(result.get()) {
        Some((rest, pictures)) => {
            let rest = RawValue::from_string(rest).map_err(Error::internal)?;
            Ok((rest, pictures))
        }
        None => Ok((result, Vec::new())),
    }
}

/// What an agent sees of a text that is too long for it.
pub(super) fn cut(outputs: &Outputs, text: &str, max: usize) -> Option<CallToolResult> {
    let (head_and_tail, cut) = outputs.cut(text, max)?;
    let mut answer = CallToolResult::success(vec![ContentBlock::text(head_and_tail)]);
    answer.structured_content = Some(json!({ "cut": cut }));
    Some(answer)
}

/// A result as the agent sees it: as text and as an object, or cut.
pub(super) fn shown(
    outputs: &Outputs,
    value: Value,
    text: String,
    wraps: bool,
    max: usize,
) -> CallToolResult {
    if let Some(answer) = cut(outputs, &text, max) {
        return answer;
    }
    let mut answer = CallToolResult::success(vec![ContentBlock::text(text)]);
    answer.structured_content = Some(match value {
        Value::Object(_) if !wraps => value,
        other => json!({ WRAPPED: other }),
    });
    answer
}

/// What the agent hears before the result.
pub(super) struct News<'a> {
    token: Option<ProgressToken>,
    peer: &'a Peer<RoleServer>,
    last: f64,
}

impl<'a> News<'a> {
    pub(super) fn new(token: Option<ProgressToken>, peer: &'a Peer<RoleServer>) -> Self {
        Self {
            token,
            peer,
            last: 0.0,
        }
    }

    /// Keep an item, and tell of it or of progress; says whether anybody still listens.
    pub(super) fn part(
        &mut self,
        part: Part,
        items: &mut Items,
    ) -> impl Future<Output = bool> + use<'a> {
        let message = match &part {
            Part::Item(item) => self.item(item),
            Part::Progress(progress) => self.progress(progress),
        };
        if let Part::Item(item) = part {
            items.push(item);
        }
        Self::tell(self.peer, message)
    }

    fn item(&mut self, item: &RawValue) -> Option<ProgressNotificationParam> {
        let text = item.get();
        let shown = &text[..text.floor_char_boundary(MESSAGE)];
        self.next(None, None, Some(shown.to_owned()))
    }

    fn progress(&mut self, progress: &RawValue) -> Option<ProgressNotificationParam> {
        #[derive(Default, Deserialize)]
        struct Told {
            value: Option<f64>,
            total: Option<f64>,
            message: Option<String>,
        }
        let told: Told = serde_json::from_str(progress.get()).unwrap_or_default();
        self.next(told.value, told.total, told.message)
    }

    /// A notification whose number is larger than the one before, as the protocol demands.
    fn next(
        &mut self,
        value: Option<f64>,
        total: Option<f64>,
        message: Option<String>,
    ) -> Option<ProgressNotificationParam> {
        let token = self.token.clone()?;
        self.last = match value {
            Some(value) if value > self.last => value,
            _ => self.last + 1.0,
        };
        let mut news = ProgressNotificationParam::new(token, self.last);
        news.total = total.filter(|total| *total >= self.last);
        news.message = message;
        Some(news)
    }

    /// Whether anybody still listens.
    async fn tell(peer: &Peer<RoleServer>, news: Option<ProgressNotificationParam>) -> bool {
        match news {
            Some(news) => peer.notify_progress(news).await.is_ok(),
            None => !peer.is_transport_closed(),
        }
    }
}
