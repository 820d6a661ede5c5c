//! An answer that is still coming: what the events of any provider are folded into.

use serde_json::{Map, Value};

use crate::error::{Error, ModelErrorKind};
use crate::prompt::{Completion, Prompt, Stop, ToolCall, Usage};
use crate::thoughts::Thoughts;

/// The most tool calls in one answer.
const MAX_TOOL_CALLS: usize = 64;

/// Who is told the text as it comes.
pub(crate) type Hear<'a> = dyn FnMut(&str) + Send + 'a;

/// An answer that is still coming.
#[derive(Debug)]
pub(crate) struct Draft {
    text: String,
    thoughts: Thoughts,
    /// Characters of it that came, those of thoughts too.
    written: usize,
    calls: Vec<DraftCall>,
    room: usize,
    /// Tokens of the prompt, if the endpoint said.
    pub(crate) input_tokens: Option<u64>,
    /// Tokens of the answer, if the endpoint said.
    pub(crate) output_tokens: Option<u64>,
    /// Why it ended. Without one, an end of the connection is a broken one.
    pub(crate) stop: Option<Stop>,
    /// Nothing more will come.
    pub(crate) done: bool,
}

#[derive(Debug)]
struct DraftCall {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

impl Draft {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            text: String::new(),
            thoughts: Thoughts::default(),
            written: 0,
            calls: Vec::new(),
            room: max_bytes,
            input_tokens: None,
            output_tokens: None,
            stop: None,
            done: false,
        }
    }

    /// Whether somebody heard text.
    pub(crate) fn was_heard(&self) -> bool {
        !self.text.is_empty()
    }

    /// Add a piece of text.
    pub(crate) fn text(&mut self, piece: &str, hear: &mut Hear<'_>) -> Result<(), Error> {
        if piece.is_empty() {
            return Ok(());
        }
        self.take_room(piece.len())?;
        self.written += piece.chars().count();
        let told = self.thoughts.pass(piece);
        if !told.is_empty() {
            self.text.push_str(&told);
            hear(&told);
        }
        Ok(())
    }

    /// More of the call at this index. A new id at a known index is a new call: some servers
    /// number all of their calls with 0.
    pub(crate) fn call(
        &mut self,
        index: u64,
        id: &str,
        name: &str,
        arguments: &str,
    ) -> Result<(), Error> {
        self.take_room(id.len() + name.len() + arguments.len())?;
        let known = self.calls.iter().rposition(|call| call.index == index);
        let same = known.filter(|at| {
            let before = &self.calls[*at].id;
            id.is_empty() || before.is_empty() || before == id
        });
        let at = match same {
            Some(at) => at,
            None if self.calls.len() >= MAX_TOOL_CALLS => {
                return Err(Error::new(
                    ModelErrorKind::TooLarge,
                    format!("the model made more than {MAX_TOOL_CALLS} tool calls at once"),
                ));
            }
            None => {
                self.calls.push(DraftCall {
                    index,
                    id: String::new(),
                    name: String::new(),
                    arguments: String::new(),
                });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id.push_str(id);
        }
        if call.name.is_empty() {
            call.name.push_str(name);
        }
        call.arguments.push_str(arguments);
        Ok(())
    }

    /// The answer, now that all of it came.
    pub(crate) fn finish(mut self, prompt: &Prompt) -> Completion {
        self.text.push_str(&self.thoughts.rest());
        let arguments = self.calls.iter().map(|call| &call.arguments);
        let called: usize = arguments.map(|text| text.chars().count()).sum();
        let written = self.written + called;
        let usage = Usage::of(self.input_tokens, self.output_tokens, prompt, written);
        let calls = self.calls.into_iter().enumerate();
        let tool_calls: Vec<_> = calls.map(|(at, call)| call.finish(at)).collect();
        let stop = match self.stop.unwrap_or(Stop::End) {
            // Some servers say `stop` after tool calls too.
            Stop::End if !tool_calls.is_empty() => Stop::ToolCalls,
            stop => stop,
        };
        Completion {
            text: self.text,
            tool_calls,
            usage,
            stop,
        }
    }

    fn take_room(&mut self, bytes: usize) -> Result<(), Error> {
        self.room = self.room.checked_sub(bytes).ok_or_else(|| {
            Error::new(
                ModelErrorKind::TooLarge,
                "the model's answer is longer than allowed",
            )
        })?;
        Ok(())
    }
}

impl DraftCall {
    fn finish(self, at: usize) -> ToolCall {
        let arguments = if self.arguments.trim().is_empty() {
            Value::Object(Map::new())
        } else {
            serde_json::from_str(&self.arguments).unwrap_or(Value::String(self.arguments))
        };
        ToolCall {
            id: if self.id.is_empty() {
                format!("call_{at}")
            } else {
                self.id
            },
            name: self.name,
            arguments,
        }
    }
}
