//! A tool call on its way through the catalogue and back.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};

use pillion_catalogue::{
    AnswerPicture, Caller, Code, Definition, Door, Error, Part, Prints, ReadableAnswer, Result,
    Scope, Streams, params_hint,
};
use pillion_protocol::caller::META;
use rmcp::model::{CallToolResult, ContentBlock, ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use tokio::sync::SemaphorePermit;

use super::agent::Agent;
use super::outputs::Outputs;
use super::schemas::WRAPPED;
use super::tools::{CALL, ToolEntry};
use super::{MAX_OUTPUT, MAX_TEXT, errors};
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

/// How an agent wants an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// As the command line shows it to people.
    Text,
    /// All of it, as JSON in text and as an object.
    Json,
}

/// The parameter that says so.
const FORMAT: &str = "format";

/// Arguments, each as the text it was.
pub(super) type Arguments = BTreeMap<String, Box<RawValue>>;

impl Agent {
    /// Do what a tool does: its result, or its error as the agent reads it.
    pub(super) async fn perform(
        &self,
        entry: &ToolEntry,
        mut arguments: Arguments,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        // Models write null where they mean nothing.
        arguments.retain(|_, value| value.get() != "null");
        let shown = match shape(entry, &mut arguments) {
            Ok(shape) => {
                let answered = self.answer(entry, arguments, context).await;
                answered.and_then(|answer| self.show(entry, answer, shape, context))
            }
            Err(error) => Err(error),
        };
        shown.unwrap_or_else(|error| errors::failed(&self.followable(error, entry)))
    }

    /// An error whose hint an agent can follow: it has no terminal to ask for help on.
    fn followable(&self, error: Error, entry: &ToolEntry) -> Error {
        let operation = entry.definition.name;
        let is_of_terminals = error.hint.as_deref() == Some(&*params_hint(operation));
        match self.shared.tools.finder().filter(|_| is_of_terminals) {
            Some(finder) => error.hint(format!(
                "`{finder}` with `query` `{operation}` says what it takes"
            )),
            None => error,
        }
    }

    /// The operation that `call_operation` names, and its arguments.
    pub(super) fn named(&self, mut given: Arguments) -> Result<(&ToolEntry, Arguments)> {
        let wrong = |what: String| {
            Error::new(Code::InvalidParams, what)
                .hint("it takes `operation`, the name of one, and `arguments`, an object")
        };
        let mut others = given.keys();
        if let Some(other) =
            others.find(|name| !["operation", "arguments"].contains(&name.as_str()))
        {
            return Err(wrong(format!("`{CALL}` has no `{other}`")));
        }
        let operation = given.get("operation").map(|name| name.get());
        let operation: String = operation
            .and_then(|name| serde_json::from_str(name).ok())
            .ok_or_else(|| wrong("`operation` is the name of one".to_owned()))?;
        let Some(entry) = self.shared.tools.get(&operation) else {
            let near = self.shared.tools.nearest(&operation);
            let near = near.map_or_else(
                || format!("the description of `{CALL}` tells how to find what there is"),
                |near| format!("did you mean `{near}`?"),
            );
            let what = format!("there is no operation `{operation}`");
            return Err(Error::new(Code::UnknownOperation, what).hint(near));
        };
        let Some(arguments) = given.remove("arguments") else {
            return Ok((entry, Arguments::new()));
        };
        // Some models write an object as text.
        let text = serde_json::from_str::<String>(arguments.get());
        let text = text.unwrap_or_else(|_| arguments.get().to_owned());
        let arguments = serde_json::from_str(&text)
            .map_err(|_| wrong("`arguments` is an object".to_owned()))?;
        Ok((entry, arguments))
    }

    /// An answer in the shape that is wanted, or as much of it as fits.
    fn show(
        &self,
        entry: &ToolEntry,
        (result, items): (Box<RawValue>, Items),
        shape: Shape,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult> {
        let (result, pictures) = apart(entry, result)?;
        let outputs = &self.shared.outputs;
        let max = self.max_output(shape, context);
        let mut answer = match shape {
            Shape::Json => {
                let json = match items.is_empty() {
                    // What was answered, to the last digit.
                    true => result.get().to_owned(),
                    false => items.beside(decoded(&result)?).to_string(),
                };
                shown(outputs, &json, entry.wraps(), max)?
            }
            Shape::Text => {
                let text = readable(&entry.definition, result.get(), &items);
                let text = match text {
                    ReadableAnswer::Nothing => "done".to_owned(),
                    ReadableAnswer::Text(text) => outputs.text(&text, max).unwrap_or(text),
                    ReadableAnswer::Json(json) => outputs.json(&json, max, false).unwrap_or(json),
                };
                CallToolResult::success(vec![ContentBlock::text(text)])
            }
        };
        let pictures = pictures.into_iter();
        let pictures = pictures.map(|one| ContentBlock::image(one.base64, one.mime));
        answer.content.extend(pictures);
        Ok(answer)
    }

    async fn answer(
        &self,
        entry: &ToolEntry,
        mut arguments: Arguments,
        context: &RequestContext<RoleServer>,
    ) -> Result<(Box<RawValue>, Items)> {
        let _place = self.place()?;
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
            budget: self.budget.clone(),
        };
        let mut items = Items::default();
        let mut news = News::new(token, &context.peer);
        let result = dispatch(&self.shared.state, asked, |part| {
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
        let is_about_here = scope != Scope::Nothing && self.shared.state.root.is_none();
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

    /// The most bytes that an answer in JSON shows.
    pub(super) fn max_json(&self, context: &RequestContext<RoleServer>) -> usize {
        self.max_output(Shape::Json, context)
    }

    fn max_output(&self, shape: Shape, context: &RequestContext<RoleServer>) -> usize {
        let asked = context.meta.0.0.get(MAX_OUTPUT_META);
        let asked = asked.and_then(Value::as_u64).map(|max| max as usize);
        let usual = match shape {
            Shape::Text => MAX_TEXT,
            Shape::Json => MAX_OUTPUT,
        };
        let max = asked.or(self.shared.settings.max_output);
        max.unwrap_or(usual).min(MAX_SHOWN)
    }
}

/// How an answer is wanted. Where a contract says how, the operation is told what the agent says;
/// elsewhere this door writes the text, which is the command line's.
fn shape(entry: &ToolEntry, arguments: &mut Arguments) -> Result<Shape> {
    let own = entry.definition.own_schema();
    let is_own = own
        .get("properties")
        .and_then(|all| all.get(FORMAT))
        .is_some();
    if entry.is_contract {
        return Ok(Shape::Json);
    }
    let said = match is_own {
        true => None,
        false => arguments.remove(FORMAT),
    };
    match said.as_deref().map(RawValue::get) {
        None | Some("\"text\"") => Ok(Shape::Text),
        Some("\"json\"") => Ok(Shape::Json),
        Some(_) => Err(Error::new(
            Code::InvalidParams,
            "`format` is `text` or `json`",
        )),
    }
}

/// What people read of an answer, with the items that came before it.
fn readable(definition: &Definition, result: &str, items: &Items) -> ReadableAnswer {
    let answer = definition.readable(result, !items.is_empty());
    // A text is the whole answer; items without one are its first part.
    if items.is_empty()
        || (matches!(answer, ReadableAnswer::Text(_)) && definition.offer.prints == Prints::Answer)
    {
        return answer;
    }
    let mut lines: Vec<String> = items.kept.iter().map(|item| printed(item)).collect();
    if items.left_out > 0 {
        lines.push(format!("... and {} more", items.left_out));
    }
    match answer {
        ReadableAnswer::Nothing => {}
        ReadableAnswer::Text(text) | ReadableAnswer::Json(text) => lines.push(text),
    }
    ReadableAnswer::Text(lines.join("\n"))
}

/// An item: what a program printed as it is, everything else as JSON.
fn printed(item: &RawValue) -> String {
    #[derive(Deserialize)]
    struct Printed {
        stream: String,
        text: String,
    }
    match serde_json::from_str::<Printed>(item.get()) {
        Ok(printed) if !printed.stream.is_empty() => printed.text.trim_end_matches('\n').to_owned(),
        _ => item.get().to_owned(),
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
    decoded_text(result.get())
}

fn decoded_text(result: &str) -> Result<Value> {
    serde_json::from_str(result).map_err(|error| {
        let what = format!("the result is no JSON that can be shown: {error}");
        Error::new(Code::InvalidResult, what).hint("it may be nested too deeply; return less")
    })
}

/// A result without its pictures, and the pictures: agents see those as what they are.
fn apart(entry: &ToolEntry, result: Box<RawValue>) -> Result<(Box<RawValue>, Vec<AnswerPicture>)> {
    match entry.definition.pictures(result.get()) {
        Some((rest, pictures)) => {
            let rest = RawValue::from_string(rest).map_err(Error::internal)?;
            Ok((rest, pictures))
        }
        None => Ok((result, Vec::new())),
    }
}

/// A result as the agent sees it: as JSON in text and as an object, or as much of it as fits.
pub(super) fn shown(
    outputs: &Outputs,
    json: &str,
    wraps: bool,
    max: usize,
) -> Result<CallToolResult> {
    let cut = outputs.json(json, max, wraps);
    let text = cut.as_deref().unwrap_or(json).to_owned();
    let value = decoded_text(&text)?;
    let structured = match value {
        Value::Object(_) if cut.is_some() || !wraps => value,
        other => json!({ WRAPPED: other }),
    };
    let mut answer = CallToolResult::success(vec![ContentBlock::text(text)]);
    answer.structured_content = Some(structured);
    Ok(answer)
}

/// What the agent hears before the result.
pub(super) struct News<'a> {
    token: Option<ProgressToken>,
    peer: &'a Peer<RoleServer>,
    /// The number that was told last.
    last: Option<f64>,
    /// Whether the function tells numbers of its own.
    counts: bool,
}

impl<'a> News<'a> {
    pub(super) fn new(token: Option<ProgressToken>, peer: &'a Peer<RoleServer>) -> Self {
        Self {
            token,
            peer,
            last: None,
            counts: false,
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
        self.next((None, None), Some(shown.to_owned()), true)
    }

    fn progress(&mut self, progress: &RawValue) -> Option<ProgressNotificationParam> {
        #[derive(Default, Deserialize)]
        struct Reported {
            value: Option<f64>,
            total: Option<f64>,
            message: Option<String>,
            /// What the function prints, where somebody wants to hear of that.
            printed: Option<String>,
        }
        let told: Reported = serde_json::from_str(progress.get()).unwrap_or_default();
        let is_counted = told.printed.is_none();
        let message = told.message.or(told.printed);
        self.next((told.value, told.total), message, is_counted)
    }

    /// A notification with the function's own number. The protocol demands that each is larger
    /// than the one before: one that is not becomes the next there is, and so does what comes
    /// between the numbers without one, such as what is printed. Where the function counts
    /// nothing, items are counted.
    fn next(
        &mut self,
        (value, total): (Option<f64>, Option<f64>),
        message: Option<String>,
        is_counted: bool,
    ) -> Option<ProgressNotificationParam> {
        let token = self.token.clone()?;
        self.counts |= value.is_some_and(f64::is_finite);
        let number = following(self.last, value, is_counted && !self.counts);
        self.last = Some(number);
        let mut news = ProgressNotificationParam::new(token, number);
        news.total = total.filter(|total| *total >= number);
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

/// The number that is told after another: the function's own; else one more if it `is_counted`, or
/// the smallest one that is larger.
fn following(last: Option<f64>, told: Option<f64>, is_counted: bool) -> f64 {
    match (last, told.filter(|told| told.is_finite())) {
        (None, Some(told)) => told,
        (Some(last), Some(told)) if told > last => told,
        (Some(last), Some(_)) => last.next_up(),
        (last, None) if !is_counted => last.map_or(0.0, f64::next_up),
        (last, None) => last.unwrap_or(0.0) + 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_in_the_functions_own_numbers() {
        for (told, heard) in [
            (
                &[Some(0.0), Some(0.25), Some(0.5), Some(1.0)][..],
                &[0.0, 0.25, 0.5, 1.0][..],
            ),
            (&[Some(1.0), Some(50.0), Some(100.0)], &[1.0, 50.0, 100.0]),
            (&[None, None, None], &[1.0, 2.0, 3.0]),
            (&[Some(-2.0), Some(-1.0)], &[-2.0, -1.0]),
            (&[Some(3.0), Some(3.0)], &[3.0, 3.000_000_000_000_000_4]),
        ] {
            let mut last = None;
            let numbers = told.iter().map(|told| {
                let number = following(last, *told, true);
                last = Some(number);
                number
            });
            assert_eq!(numbers.collect::<Vec<_>>(), heard);
        }
        // What stands between the numbers, such as what is printed, moves none of them.
        assert_eq!(following(None, None, false).to_bits(), 0.0_f64.to_bits());
        let between = following(Some(0.25), None, false);
        assert!(0.25 < between && between < 0.250_001);
    }
}
