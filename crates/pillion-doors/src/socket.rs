//! The Unix socket.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use pillion_catalogue::{Door, Peer};
use pillion_process::{effective_uid, environment};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::{DoorState, rpc};

/// Connections served at once; further ones wait to be accepted.
const CONNECTIONS: usize = 512;

/// Accept connections until pillion ends, then let them finish.
pub async fn serve(listener: UnixListener, state: DoorState) {
    let open = TaskTracker::new();
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            break;
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = state.shutdown.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) if is_ours(&stream) => {
                let mut state = state.clone();
                state.peer = peer(&stream);
                open.spawn(async move {
                    connection(stream, state).await;
                    drop(place);
                });
            }
            Ok(_) => tracing::warn!("refused a connection of another user"),
            Err(error) => {
                // Out of descriptors, mostly: some will be free again soon.
                tracing::warn!(%error, "cannot accept");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    open.close();
    open.wait().await;
}

async fn connection(stream: UnixStream, state: DoorState) {
    let watched = match stream.as_fd().try_clone_to_owned() {
        Ok(watched) => watched,
        Err(error) => return tracing::warn!(%error, "cannot use a connection"),
    };
    let (reader, writer) = stream.into_split();
    rpc::serve(reader, writer, state, Door::Socket, || {
        hung_up(watched.as_fd())
    })
    .await;
}

/// Whether the peer has closed both directions.
fn hung_up(socket: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(socket, PollFlags::empty())];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let _ = poll(&mut fds, Some(&now));
    fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

/// The process that connected.
fn peer(stream: &UnixStream) -> Peer {
    let pid = stream.peer_cred().ok().and_then(|peer| peer.pid());
    let pid = pid.and_then(|pid| u32::try_from(pid).ok());
    let unseen = |error: &std::io::Error| tracing::debug!(%error, "a caller cannot be seen");
    let variables = move || {
        let read = pid.map(environment::of_process)?;
        read.inspect_err(unseen).ok()
    };
    let folder = move || {
        let read = pid.map(environment::folder_of_process)?;
        read.inspect_err(unseen).ok()
    };
    Peer::new(variables, folder)
}

/// Whether a peer belongs to the user we work for. The folder's mode already keeps others
/// out; this holds where a socket was put elsewhere.
fn is_ours(stream: &UnixStream) -> bool {
    stream
        .peer_cred()
        .is_ok_and(|peer| peer.uid() == effective_uid())
}
