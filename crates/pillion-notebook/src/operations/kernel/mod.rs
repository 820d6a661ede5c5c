//! What callers can ask for: `kernel.*`, which is Jupyter's own API for kernels.
//!
//! The paths and the forms of answers are those of Jupyter's servers, so that JupyterLab and
//! editors use pillion as one. What clients send beside what is known here is not looked at.

mod channels;
mod connection_files;
mod install;
mod kernels;
mod notebooks;
mod specs;

pub use crate::gateway::KernelModel;
pub use channels::{Channels, ChannelsReply};
pub use connection_files::{ConnectFile, ConnectFileReply, LaunchKernel, Launched};
pub use install::{InstallKernelSpec, InstallReply};
pub use kernels::{
    InterruptKernel, ListKernels, RestartKernel, ShowKernel, ShutdownKernel, StartKernel,
};
pub use notebooks::{
    CloseSession, ListKernelSessions, OpenSession, SessionModel, ShowSession, UpdateSession,
    WantedKernel,
};
pub use specs::{Api, ApiVersion, ListKernelSpecs, ShowKernelSpec, SpecEntry, SpecsReport};
