//! One socket of a kernel: bytes out, messages in.

use std::io;
use std::os::fd::BorrowedFd;

use bytes::{Bytes, BytesMut};
use pillion_protocol::jupyter::{self, JupyterMessage, MessageError, Signer};
use pillion_protocol::zmtp::{self, Decoder, Socket};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use crate::connection::SocketAddress;
pub(crate) use crate::sys::reach;

/// What is read at once.
const CHUNK: usize = 64 * 1024;

/// What is said on a socket.
pub(crate) struct Sender {
    stream: Box<dyn AsyncWrite + Send + Sync + Unpin>,
    signer: Signer,
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sender")
    }
}

/// What is heard on it.
pub(crate) struct Receiver {
    stream: Box<dyn AsyncRead + Send + Sync + Unpin>,
    decoder: Decoder,
    buffer: BytesMut,
    signer: Signer,
}

/// Connect to the socket `name` in `folder`, and say who we are.
pub(crate) async fn connect(
    folder: BorrowedFd<'_>,
    name: &str,
    socket: Socket,
    identity: &str,
    signer: &Signer,
) -> io::Result<(Sender, Receiver)> {
    let stream = reach(folder, name).await?;
    let (read, write) = stream.into_split();
    greet(Box::new(read), Box::new(write), socket, identity, signer).await
}

/// The same for a socket of a kernel that somebody else started.
pub(crate) async fn connect_to(
    place: &SocketAddress,
    socket: Socket,
    identity: &str,
    signer: &Signer,
) -> io::Result<(Sender, Receiver)> {
    match place {
        SocketAddress::Ipc(path) => {
            let (read, write) = UnixStream::connect(path).await?.into_split();
            greet(Box::new(read), Box::new(write), socket, identity, signer).await
        }
        SocketAddress::Tcp(host, port) => {
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            stream.set_nodelay(true)?;
            let (read, write) = stream.into_split();
            greet(Box::new(read), Box::new(write), socket, identity, signer).await
        }
    }
}

/// Say who we are, and hear who the other side is.
async fn greet(
    read: Box<dyn AsyncRead + Send + Sync + Unpin>,
    mut write: Box<dyn AsyncWrite + Send + Sync + Unpin>,
    socket: Socket,
    identity: &str,
    signer: &Signer,
) -> io::Result<(Sender, Receiver)> {
    write
        .write_all(&zmtp::opening(socket, identity.as_bytes()))
        .await?;
    let mut receiver = Receiver {
        stream: read,
        decoder: Decoder::default(),
        buffer: BytesMut::new(),
        signer: signer.clone(),
    };
    receiver.greeted().await?;
    if socket == Socket::Sub {
        write.write_all(&zmtp::subscription()).await?;
    }
    let sender = Sender {
        stream: write,
        signer: signer.clone(),
    };
    Ok((sender, receiver))
}

impl Sender {
    /// Send a message: header, parent header, metadata and content as JSON.
    pub(crate) async fn send(&mut self, texts: [&str; 4], buffers: &[Bytes]) -> io::Result<()> {
        let parts = jupyter::encode(&self.signer, texts, buffers);
        self.stream.write_all(&zmtp::message(&parts)).await
    }
}

impl Receiver {
    /// Wait until the other side has said who it is.
    async fn greeted(&mut self) -> io::Result<()> {
        while !self.decoder.is_ready() {
            if !self.fill().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            // Nothing but the greeting comes before we are known.
            let early = self.decoder.next(&mut self.buffer);
            if early.map_err(io::Error::other)?.is_some() {
                tracing::debug!("a kernel spoke before it was asked");
            }
        }
        Ok(())
    }

    /// The next message; `None` at the end. What is no message is an inner error, after which
    /// others may come.
    pub(crate) async fn next(
        &mut self,
    ) -> io::Result<Option<Result<JupyterMessage, MessageError>>> {
        loop {
            let parts = self.decoder.next(&mut self.buffer);
            if let Some(parts) = parts.map_err(io::Error::other)? {
                return Ok(Some(jupyter::decode(&self.signer, &parts)));
            }
            if !self.fill().await? {
                return Ok(None);
            }
        }
    }

    async fn fill(&mut self) -> io::Result<bool> {
        self.buffer.reserve(CHUNK);
        Ok(self.stream.read_buf(&mut self.buffer).await? > 0)
    }
}
