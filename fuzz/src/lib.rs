//! What must hold for any bytes that a peer or a confined program may send, for whatever a model
//! answers, and for any file of a project.
//!
//! Each function here is one fuzz target and panics when its property is broken. The same
//! functions run over `seeds/` as ordinary tests, so an input that once broke something
//! stays a test when it is put there.

mod bundles;
mod framing;
mod kernels;
mod messages;
mod models;
mod notebooks;
mod texts;
mod websocket;

pub use bundles::bundle;
pub use framing::{content_length, lines};
pub use kernels::kernel_stream;
pub use messages::{jsonrpc_read, line_read, sidecar_line};
pub use models::sse;
pub use notebooks::notebook;
pub use pillion_agents::fuzzing::{answer as agent_answer, reply as agent_reply};
pub use pillion_lanes::fuzzing::{output as lane_output, question as lane_question};
pub use texts::{nested_text, odd_text};
pub use websocket::websocket;

/// A property: does nothing, or panics.
pub type Property = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: &[(&str, Property)] = &[
    ("agent_answer", agent_answer),
    ("agent_reply", agent_reply),
    ("bundle", bundle),
    ("content_length", content_length),
    ("jsonrpc_read", jsonrpc_read),
    ("kernel_stream", kernel_stream),
    ("lane_output", lane_output),
    ("lane_question", lane_question),
    ("line_read", line_read),
    ("lines", lines),
    ("nested_text", nested_text),
    ("notebook", notebook),
    ("odd_text", odd_text),
    ("sidecar_line", sidecar_line),
    ("sse", sse),
    ("websocket", websocket),
];
