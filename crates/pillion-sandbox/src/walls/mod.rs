//! The walls around a program: Landlock, a filter of system calls, resource limits.
//!
//! Each can be put up in this process, and be written down as numbers for a zygote, which
//! puts the same walls around its children. Only Linux has them; elsewhere there are none to
//! be written down (`elsewhere`), and other walls stand instead.

#[cfg(target_os = "linux")]
pub mod landlock;
#[cfg(target_os = "linux")]
pub mod rlimits;
#[cfg(target_os = "linux")]
pub mod seccomp;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(not(target_os = "linux"))]
pub use unsupported::{landlock, rlimits, seccomp};
