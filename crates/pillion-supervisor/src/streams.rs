//! The streams to and from a process.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::time::Instant;

use bytes::Bytes;
use futures::StreamExt;
use pillion_catalogue::Part;
use pillion_protocol::frame::Lines;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tokio_util::codec::FramedRead;

/// The control path beside a process's input.
#[derive(Debug)]
pub(crate) struct Control {
    read: FramedRead<OwnedReadHalf, Lines>,
    pub(crate) write: OwnedWriteHalf,
}

/// Nobody reads what is sent. The end of the process is reported by `wait`.
pub(crate) struct ReaderGone;

pub(crate) async fn write_backlog(
    input: &mut Option<ChildStdin>,
    backlog: &mut VecDeque<Bytes>,
) -> Result<(), ReaderGone> {
    while let Some(frame) = backlog.front_mut() {
        let Some(input) = input else {
            backlog.clear();
            return Ok(());
        };
        match input.write_buf(frame).await {
            Ok(1..) if !frame.is_empty() => {}
            Ok(1..) => drop(backlog.pop_front()),
            Ok(0) | Err(_) => {
                backlog.clear();
                return Err(ReaderGone);
            }
        }
    }
    Ok(())
}

pub(crate) async fn at(time: Option<Instant>) {
    if let Some(time) = time {
        tokio::time::sleep_until(time.into()).await;
    }
}

pub(crate) async fn read_control(control: &mut Option<Control>) -> Option<std::io::Result<Bytes>> {
    match control {
        Some(control) => control.read.next().await,
        None => std::future::pending().await,
    }
}

/// Bytes of a part that waits alone: many of them would be too much for a queue that counts
/// parts.
const LARGE: usize = 256 * 1024;

/// How many places of a queue a part takes.
pub(crate) fn places(to: &mpsc::Sender<Part>, part: &Part) -> usize {
    let (Part::Item(json) | Part::Progress(json)) = part;
    match json.get().len() > LARGE {
        true => to.max_capacity(),
        false => 1,
    }
}

pub(crate) async fn deliver_held(held: &mut Option<(mpsc::Sender<Part>, Part)>) {
    let to = match held {
        Some((to, _)) => to.clone(),
        None => return,
    };
    let places = held.as_ref().map_or(1, |(to, part)| places(to, part));
    let permits = to.reserve_many(places).await;
    if let (Ok(mut permits), Some((_, part))) = (permits, held.take())
        && let Some(permit) = permits.next()
    {
        permit.send(part);
    }
}

pub(crate) fn control_pair() -> std::io::Result<(Control, OwnedFd)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let (read, write) = UnixStream::from_std(ours)?.into_split();
    let read = FramedRead::new(read, Lines::new(64 * 1024));
    Ok((Control { read, write }, theirs.into()))
}
