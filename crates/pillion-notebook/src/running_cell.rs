//! A cell while it runs: a kernel's messages become outputs, events and, at the end, a reply.

use std::collections::VecDeque;
use std::sync::Arc;

use pillion_kernel::{CellListener, Heard, Kernel, Ran, ReadyKernel};
use pillion_lanes::RunOutcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::file::{Output, OutputChange, OutputList};
use crate::questions::Questions;
use crate::reply::{CellError, CellReply};

/// What ends the input of a cell that nobody answers.
const END_OF_INPUT: &str = "\u{4}";

/// What happens while a cell runs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CellEvent {
    /// The kernel began with it.
    Started {
        /// Its number.
        execution_count: Option<u64>,
    },
    /// Text was printed.
    Stream {
        /// `stdout` or `stderr`.
        name: String,
        /// What is new.
        text: String,
    },
    /// There is a new output.
    Output {
        /// Which one, from 0.
        index: usize,
        /// As notebook files have it.
        output: Value,
    },
    /// An output shows something else now.
    Update {
        /// Which one.
        index: usize,
        /// As notebook files have it.
        output: Value,
    },
    /// All outputs so far are to be taken away.
    Clear,
    /// The cell asks for input: `notebook.input` answers.
    InputRequest {
        /// What it says.
        prompt: String,
        /// What is typed is not to be shown.
        password: bool,
    },
    /// A message of a widget, as it is.
    Comm {
        /// Its kind: `comm_open`, `comm_msg` or `comm_close`.
        kind: String,
        /// What it says.
        content: Value,
    },
    /// Something that whoever follows should know.
    Notice {
        /// What.
        text: String,
    },
    /// The end, with what the reply says.
    Complete(Box<CellReply>),
}

/// Somebody who follows a cell.
pub(crate) trait CellFollower: Send {
    /// Something happened.
    fn tell(&mut self, event: CellEvent) -> impl Future<Output = ()> + Send;
}

/// A cell while it runs.
pub(crate) struct RunningCell<'a, T> {
    questions: &'a Questions,
    kernel: &'a Arc<Kernel>,
    ready: &'a ReadyKernel,
    told: &'a mut T,
    shown: Showing,
    pub(crate) inputs: VecDeque<String>,
    pub(crate) is_followed: bool,
}

impl<'a, T: CellFollower> RunningCell<'a, T> {
    pub(crate) fn new(
        questions: &'a Questions,
        kernel: &'a Arc<Kernel>,
        ready: &'a ReadyKernel,
        told: &'a mut T,
        most: u64,
    ) -> Self {
        Self {
            questions,
            kernel,
            ready,
            told,
            shown: Showing::new(most),
            inputs: VecDeque::new(),
            is_followed: false,
        }
    }

    async fn ask(&mut self, heard: &Heard) {
        let content = heard.content();
        let answer = match (self.inputs.pop_front(), self.is_followed) {
            (Some(answer), _) => answer,
            (None, false) => END_OF_INPUT.to_owned(),
            (None, true) => {
                let (session, client) = (self.kernel.session(), &self.ready.client);
                self.questions.note(session, client, heard);
                let prompt = content["prompt"].as_str().unwrap_or_default().to_owned();
                let password = content["password"].as_bool().unwrap_or_default();
                let event = CellEvent::InputRequest { prompt, password };
                return self.told.tell(event).await;
            }
        };
        if let Err(error) = self.ready.client.answer(&heard.message, &answer).await {
            tracing::debug!(%error, "a kernel did not get its input");
        }
    }

    /// What the caller gets at the end; `before` is what happened to the kernel before it.
    pub(crate) fn reply(self, ran: &Ran, before: Option<String>) -> CellReply {
        let after = ran.lost.as_ref().map(|lost| {
            format!("{lost}; what it knew is lost, and the next cell starts a new one")
        });
        let notices: Vec<String> = before.into_iter().chain(after).collect();
        let notice = (!notices.is_empty()).then(|| notices.join("; "));
        self.shown.reply(ran, self.kernel.session(), notice)
    }
}

/// What a cell has shown so far.
pub(crate) struct Showing {
    outputs: OutputList,
    streams: [String; 2],
}

impl Showing {
    /// Nothing yet; more than `most` bytes are not kept.
    pub(crate) fn new(most: u64) -> Self {
        Self {
            outputs: OutputList::new(usize::try_from(most).unwrap_or(usize::MAX)),
            streams: Default::default(),
        }
    }

    /// Take a message that is an output, or says something of them. These are the events that
    /// follow from it.
    pub(crate) fn take(&mut self, kind: &str, content: &Value) -> Vec<CellEvent> {
        if kind == "execute_input" {
            self.outputs.feed(kind, content);
            let execution_count = self.outputs.execution_count();
            return vec![CellEvent::Started { execution_count }];
        }
        if kind == "stream" {
            let text = content["text"].as_str().unwrap_or_default();
            let stream = usize::from(content["name"] == "stderr");
            if let Some(all) = self.streams.get_mut(stream) {
                all.push_str(text);
            }
        }
        let change = self.outputs.feed(kind, content);
        self.events(kind, content, &change)
    }

    fn events(&self, kind: &str, content: &Value, change: &OutputChange) -> Vec<CellEvent> {
        let mut events = Vec::new();
        if change.cleared {
            events.push(CellEvent::Clear);
        }
        let shown = |index: usize| self.outputs.get(index).map(Output::to_nbformat);
        for index in &change.updated {
            let output = shown(*index).unwrap_or_default();
            events.push(CellEvent::Update {
                index: *index,
                output,
            });
        }
        if kind == "stream" && (change.added.is_some() || change.extended.is_some()) {
            let text = |key: &str| content[key].as_str().unwrap_or_default().to_owned();
            events.push(CellEvent::Stream {
                name: text("name"),
                text: text("text"),
            });
        } else if let Some(index) = change.added {
            let output = shown(index).unwrap_or_default();
            events.push(CellEvent::Output { index, output });
        }
        events
    }

    /// What the caller gets at the end.
    pub(crate) fn reply(self, ran: &Ran, session: &str, notice: Option<String>) -> CellReply {
        let outputs = self.outputs.all();
        let result = outputs.iter().find_map(|output| match output {
            Output::Result { data, .. } => data.get("text/plain").map(plain),
            _ => None,
        });
        let error = outputs.iter().find_map(|output| match output {
            Output::Error { ename, evalue, .. } => Some(CellError {
                ename: ename.clone(),
                evalue: evalue.clone(),
            }),
            _ => None,
        });
        let count = ran.reply.as_ref();
        let count = count.and_then(|reply| reply["execution_count"].as_u64());
        let [stdout, stderr] = self.streams;
        CellReply {
            success: ran.outcome == RunOutcome::Ok,
            stdout,
            stderr,
            result_repr: result,
            execution_time_ms: ran.took.as_secs_f64() * 1e3,
            execution_count: count.or(self.outputs.execution_count()),
            truncated: self.outputs.is_cut() || ran.dropped > 0,
            outputs: outputs.iter().map(Output::to_nbformat).collect(),
            outcome: ran.outcome,
            error,
            session: session.to_owned(),
            cell_id: None,
            pages: ran.reply.as_ref().map(pages).unwrap_or_default(),
            notice,
        }
    }
}

/// The texts that a reply wants to be paged.
pub(crate) fn pages(reply: &Value) -> Vec<String> {
    let payloads = reply["payload"].as_array().into_iter().flatten();
    let pages = payloads.filter(|payload| payload["source"] == "page");
    pages
        .filter_map(|page| page["data"]["text/plain"].as_str().map(ToOwned::to_owned))
        .collect()
}

/// A value of a mime bundle as text: lines may be a list.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        other => other.to_string(),
    }
}

impl<T: CellFollower> CellListener for RunningCell<'_, T> {
    async fn hear(&mut self, heard: &Heard) {
        let content = heard.content();
        match heard.kind() {
            "input_request" => self.ask(heard).await,
            kind @ ("comm_open" | "comm_msg" | "comm_close") => {
                let kind = kind.to_owned();
                self.told.tell(CellEvent::Comm { kind, content }).await;
            }
            kind => {
                for event in self.shown.take(kind, &content) {
                    self.told.tell(event).await;
                }
            }
        }
    }
}
