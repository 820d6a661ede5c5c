//! What must hold for notebook files of any kind, and what `nbformat` itself says to them.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod identity;
mod validator;
