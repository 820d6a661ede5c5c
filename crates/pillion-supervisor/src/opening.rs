//! How a conversation with a language server begins.

use std::borrow::Cow;

use serde_json::Value;

/// Something a server is told, without an answer.
#[derive(Debug, Clone)]
pub struct Notice {
    /// The method.
    pub method: Cow<'static, str>,
    /// Its parameters.
    pub params: Value,
    /// Which change of the state that a [`Replay`] carries this is. A process whose replay
    /// has it already is not told twice. `None` is told in any case.
    pub stamp: Option<u64>,
}

/// All that a fresh process has to be told before its first call.
#[derive(Debug, Clone, Default)]
pub struct Replay {
    /// The last change that is part of it.
    pub stamp: u64,
    /// What to tell, in this order.
    pub notices: Vec<(Cow<'static, str>, Value)>,
}

/// What a language server is told when it starts, and what it is answered when it asks.
///
/// All of this is called by the task that owns the process: it must not block.
pub trait Opening: Send + Sync {
    /// The parameters of `initialize`.
    fn initialize(&self) -> Value;

    /// The server answered `initialize`: what it can do.
    fn opened(&self, _answer: &Value) {}

    /// The state that a fresh process does not find on the disk, as of now.
    fn replay(&self) -> Replay {
        Replay::default()
    }

    /// The answer to a request of the server, such as `workspace/configuration`.
    fn answer(&self, _method: &str, _params: &Value) -> Value {
        Value::Null
    }
}
