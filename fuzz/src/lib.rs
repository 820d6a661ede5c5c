//! What must hold for any bytes that a peer may send, and for any file of a project.
//!
//! Each function here is one fuzz target and panics when its property is broken. The same
//! functions run over `seeds/` as ordinary tests, so an input that once broke something
//! stays a test when it is put there.

mod framing;
mod messages;
mod texts;

pub use framing::{content_length, lines};
pub use messages::{jsonrpc_read, line_read, sidecar_line};
pub use texts::nested_text;

/// A property: does nothing, or panics.
pub type Property = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: &[(&str, Property)] = &[
    ("content_length", content_length),
    ("jsonrpc_read", jsonrpc_read),
    ("line_read", line_read),
    ("lines", lines),
    ("nested_text", nested_text),
    ("sidecar_line", sidecar_line),
];
