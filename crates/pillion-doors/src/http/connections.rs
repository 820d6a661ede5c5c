//! The connections of the HTTP door: how many there are, and how long one may do nothing.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use pillion_catalogue::SendBudget;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

use super::access::Connection;

/// Connections at once; further ones wait to be accepted.
const CONNECTIONS: usize = 512;
/// How long a connection may take to send a request that is let in.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// A peer that takes nothing for so many looks is given up; for one, if others need the room.
const STALLED: u32 = 12;
/// Between two looks.
const POLL_EVERY: Duration = Duration::from_secs(5);

/// A listener with so many places.
pub(super) struct LimitedListener {
    listener: TcpListener,
    free: Arc<Semaphore>,
}

impl LimitedListener {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self {
            listener,
            free: Arc::new(Semaphore::new(CONNECTIONS)),
        }
    }
}

impl Listener for LimitedListener {
    type Io = Wire;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Wire, SocketAddr) {
        // The semaphore is never closed.
        let place = Arc::clone(&self.free).acquire_owned().await.ok();
        // axum's own waits after a failure, such as no descriptors being left.
        let (stream, address) = Listener::accept(&mut self.listener).await;
        let _ = stream.set_nodelay(true);
        (Wire::new(stream, place), address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Connected<IncomingStream<'_, LimitedListener>> for Connection {
    fn connect_info(stream: IncomingStream<'_, LimitedListener>) -> Self {
        stream.io().connection.clone()
    }
}

/// A connection that is given up when it only takes up its place.
pub(super) struct Wire {
    stream: TcpStream,
    connection: Connection,
    /// When a connection that nobody was let in by is closed.
    first_request: Pin<Box<Sleep>>,
    /// When one that takes nothing is looked at next, and how often it was; armed while it
    /// does not.
    stalled: Option<(Pin<Box<Sleep>>, u32)>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Wire {
    fn new(stream: TcpStream, place: Option<OwnedSemaphorePermit>) -> Self {
        Self {
            connection: Connection::of(&stream),
            stream,
            first_request: Box::pin(tokio::time::sleep_until(
                Instant::now() + FIRST_REQUEST_TIMEOUT,
            )),
            stalled: None,
            _place: place,
        }
    }

    /// What became of a write; one that has to wait may not for ever.
    fn written<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.stalled = None;
            return outcome;
        }
        let (next, looks) = self
            .stalled
            .get_or_insert_with(|| (Box::pin(tokio::time::sleep(POLL_EVERY)), 0));
        while next.as_mut().poll(context).is_ready() {
            *looks += 1;
            if *looks >= STALLED || SendBudget::is_scarce() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            next.as_mut().reset(Instant::now() + POLL_EVERY);
        }
        Poll::Pending
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_pending()
            && !self.connection.admitted.load(Ordering::Relaxed)
            && self.first_request.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.written(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
