//! Wire types and framings of pillion.
//!
//! Nothing here does IO: the decoders in [`frame`] are fed bytes and give back frames,
//! whatever the bytes came from and however they were cut. With the feature `codec` the
//! same decoders are tokio codecs.

pub mod caller;
#[cfg(feature = "codec")]
mod codec;
pub mod endpoint;
pub mod error;
pub mod frame;
pub mod jsonrpc;
pub mod jupyter;
pub mod line;
pub mod readable;
pub mod vars;
pub mod websocket;
pub mod worker;
pub mod zmtp;

pub use caller::{Caller, Format};
pub use error::{Code, Error, ErrorKind, Result};
