//! The walls around a program: Landlock, a filter of system calls, resource limits.
//!
//! Each can be put up in this process, and be written down as numbers for a zygote, which
//! puts the same walls around its children.

pub mod landlock;
pub mod rlimits;
pub mod seccomp;
