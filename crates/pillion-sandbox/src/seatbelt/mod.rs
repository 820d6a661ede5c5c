//! The walls of macOS: a policy as a profile of Seatbelt, which `sandbox-exec` puts around a
//! program and everything that it starts.
//!
//! **Not run by us.** The profile is a pure function of the policy ([`profile`]), and the box
//! that uses it ([`life`]) has nothing of macOS in it but the path of `sandbox-exec`: both are
//! tested on Linux. Whether macOS keeps what the profile says is tried on the user's machine
//! before anything else runs there: a program that can read what it should not fails the
//! trial, and then lanes are refused as on any machine without walls.

mod life;
mod profile;

#[cfg(target_os = "macos")]
pub(crate) use life::run_box;
