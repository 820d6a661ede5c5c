//! What learners and their desktops see of pillion: sessions, notebooks, the two conversations on a
//! terminal, and the bundles that all of it comes in.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test's helper fails its test by a panic"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "`json!(...)` is written where it is used, and read better without a `&`"
)]

mod bundles;
mod chat;
mod desktop;
mod notebook;
mod repl;
mod session;
