//! Jupyter kernels, for any service.
//!
//! # Theory of operation
//!
//! A kernel is a sidecar: a process behind the walls of the user lane that the supervisor
//! starts, watches and ends (`start`). It belongs to a session, and has that session's folder.
//! When it is ready it hands over the folder with its sockets, and a [`KernelClient`] connects to them
//! (`channel`, `client`): one for the life of one process. Who wants something of it holds it
//! for as long as that takes, so a kernel that nobody holds goes idle and ends like any sidecar.
//!
//! The kernel of a session runs Python (`packages`), or what a kernelspec names (`specs`,
//! `foreign`): the same walls, the same sockets, and so nothing else here knows which it is.
//!
//! What comes from a kernel is written by code of others. It is decoded with limits
//! (`pillion_protocol::{zmtp, jupyter}`), sorted by what it answers, and kept in queues that are
//! bounded by bytes; what does not fit is dropped and counted, so that no cell can fill the
//! daemon and no reader can stop another. Who speaks Jupyter's protocol themselves listens to
//! everything and sends messages of their own ([`Listening`]), beside those who run cells. Who
//! speaks ZeroMQ, too, finds the kernel's sockets elsewhere (`relay`).
//!
//! A dead kernel is silent on all its sockets. Its end comes from the supervisor ([`Ended`]), at
//! once, with the reason; everyone who waits for an answer is told.
//!
//! A kernel that somebody else started is not a sidecar and has no walls: [`AttachedKernel`]
//! speaks with it, and never ends it (`attach`).
//!
//! [`Ended`]: pillion_supervisor::Ended

mod attach;
mod cell;
mod channel;
mod client;
mod connection;
mod failures;
mod foreign;
mod interrupt;
mod kernel;
mod kernels;
mod listening;
mod packages;
mod queries;
mod received;
mod relay;
mod spare;
mod specs;
mod start;
mod sys;

pub use attach::AttachedKernel;
pub use cell::{CellListener, ExecuteRequest, Ran};
pub use client::{KernelClient, ReplyStream};
pub use connection::ConnectionFile;
pub use foreign::KernelChoice;
pub use kernel::{Kernel, KernelLife, ReadyKernel};
pub use kernels::{Alone, Kernels, new_id};
pub use listening::{Listening, News, Silence};
pub use packages::{PackageSource, Packages};
pub use received::{Channel, Heard};
pub use relay::{Listeners, Parent};
pub use specs::{
    InstalledSpec, InterruptMode, KernelSpec, PYTHON, SearchPath, Specs, Unreadable, is_name,
    user_data,
};
