//! Messages between the daemon, zygotes, inits and runners: a length of four bytes, and so
//! many bytes of JSON. Descriptors ride with the first byte.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, SendAncillaryBuffer, SendAncillaryMessage, recvmsg,
    sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::socket;

/// The longest message.
pub const MAX: usize = 64 << 20;
/// The most descriptors with one message.
const MAX_DESCRIPTORS: usize = 8;

/// A message as bytes.
pub fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= MAX);
    let length = length.ok_or_else(|| invalid("the message is too long"))?;
    let mut bytes = Vec::with_capacity(4 + body.len());
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// How long the body is whose head this is.
pub fn length(head: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_be_bytes(head) as usize;
    match length <= MAX {
        true => Ok(length),
        false => Err(invalid("the message is too long")),
    }
}

/// What a body says.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> io::Result<T> {
    serde_json::from_slice(body).map_err(|error| invalid(&error.to_string()))
}

/// Send one message with descriptors, waiting as long as it takes.
pub fn send(socket: impl AsFd, message: &impl Serialize, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let bytes = encode(message)?;
    let sent = send_first(socket.as_fd(), &bytes, fds)?;
    SocketStream(socket.as_fd()).write_all(bytes.get(sent..).unwrap_or_default())
}

/// Send as much of `bytes` as fits, with descriptors on the first of them.
pub fn send_first(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    // The space has some to spare for its alignment, and the reader's may be aligned otherwise.
    let fits = fds.len() <= MAX_DESCRIPTORS;
    if !fits || (!fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds))) {
        return Err(invalid("too many descriptors"));
    }
    let parts = [IoSlice::new(bytes)];
    let sent = sendmsg(socket, &parts, &mut control, socket::NO_SIGNAL)?;
    Ok(sent)
}

/// Receive one message with its descriptors, waiting as long as it takes.
pub fn receive<T: DeserializeOwned>(socket: impl AsFd) -> io::Result<(T, Vec<OwnedFd>)> {
    let socket = socket.as_fd();
    let mut head = [0; 4];
    let (read, fds) = receive_first(socket, &mut head)?;
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut stream = SocketStream(socket);
    stream.read_exact(head.get_mut(read..).unwrap_or_default())?;
    let mut body = vec![0; length(head)?];
    stream.read_exact(&mut body)?;
    Ok((decode(&body)?, fds))
}

/// Receive one message with its descriptors, without keeping anybody from his work. Not to be
/// given up half way.
pub async fn hear<T: DeserializeOwned>(
    socket: &mut tokio::net::UnixStream,
) -> io::Result<(T, Vec<OwnedFd>)> {
    use tokio::io::AsyncReadExt;
    let mut head = [0; 4];
    let (read, fds) = loop {
        socket.readable().await?;
        let received = socket.try_io(tokio::io::Interest::READABLE, || {
            receive_first(socket.as_fd(), &mut head)
        });
        match received {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => break other?,
        }
    };
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    socket
        .read_exact(head.get_mut(read..).unwrap_or_default())
        .await?;
    let mut body = vec![0; length(head)?];
    socket.read_exact(&mut body).await?;
    Ok((decode(&body)?, fds))
}

/// Read some bytes, with the descriptors that came with them.
pub fn receive_first(
    socket: BorrowedFd<'_>,
    bytes: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let parts = &mut [IoSliceMut::new(bytes)];
    let message = recvmsg(socket, parts, &mut control, socket::CLOSE_ON_EXEC)?;
    let fds: Vec<OwnedFd> = control
        .drain()
        .filter_map(|part| match part {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        })
        .flatten()
        .collect();
    socket::close_on_exec(&fds)?;
    Ok((message.bytes, fds))
}

/// A socket as a blocking stream.
pub struct SocketStream<'a>(pub BorrowedFd<'a>);

impl Read for SocketStream<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| {
            rustix::io::read(self.0, &mut *bytes)
        })?)
    }
}

impl Write for SocketStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = || rustix::net::send(self.0, bytes, socket::NO_SIGNAL);
        Ok(rustix::io::retry_on_intr(sent)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_message_brings_its_descriptors() {
        let (here, there) = UnixStream::pair().unwrap();
        let (read, write) = UnixStream::pair().unwrap();
        send(&here, &"x".repeat(100_000), &[write.as_fd()]).unwrap();
        drop(write);
        let (text, mut fds): (String, _) = receive(&there).unwrap();
        assert_eq!(text.len(), 100_000);
        let passed = UnixStream::from(fds.pop().unwrap());
        (&passed).write_all(b"hi").unwrap();
        drop(passed);
        let mut said = String::new();
        (&read).read_to_string(&mut said).unwrap();
        assert_eq!(said, "hi");
    }

    #[test]
    fn too_long_and_broken_messages_are_errors() {
        let (here, there) = UnixStream::pair().unwrap();
        (&here).write_all(&[0xff; 8]).unwrap();
        let error = receive::<u8>(&there).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let (here, there) = UnixStream::pair().unwrap();
        (&here).write_all(&[0, 0, 0, 9, b'{']).unwrap();
        drop(here);
        let error = receive::<u8>(&there).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_message_may_be_as_long_as_the_longest_and_no_longer() {
        let head = |length: usize| u32::try_from(length).unwrap().to_be_bytes();
        assert_eq!(length(head(0)).unwrap(), 0);
        assert_eq!(length(head(MAX)).unwrap(), MAX);
        assert!(length(head(MAX + 1)).is_err());
        assert!(length([0xff; 4]).is_err());
        // The quotes count.
        let error = encode(&"x".repeat(MAX - 1)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn too_many_descriptors_are_an_error_and_nothing_is_sent() {
        let (here, there) = UnixStream::pair().unwrap();
        let most = [here.as_fd(); MAX_DESCRIPTORS];
        send(&here, &1, &most).unwrap();
        let (_, fds): (u8, _) = receive(&there).unwrap();
        assert_eq!(fds.len(), MAX_DESCRIPTORS);
        for fd in &fds {
            let flags = rustix::io::fcntl_getfd(fd).unwrap();
            assert!(
                flags.contains(rustix::io::FdFlags::CLOEXEC),
                "no child gets it"
            );
        }
        drop(fds);
        let more = [here.as_fd(); MAX_DESCRIPTORS + 1];
        let error = send(&here, &2, &more).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        send(&here, &3, &[]).unwrap();
        assert_eq!(receive::<u8>(&there).unwrap().0, 3);
    }

    #[test]
    fn an_end_is_told_apart_from_a_message_that_is_not_what_was_expected() {
        let (here, there) = UnixStream::pair().unwrap();
        send(&here, &"text", &[]).unwrap();
        let error = receive::<u8>(&there).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        send(&here, &5, &[]).unwrap();
        assert_eq!(receive::<u8>(&there).unwrap().0, 5, "the next is whole");
        drop(here);
        let error = receive::<u8>(&there).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn who_has_gone_is_an_error_and_no_signal() {
        let (here, there) = UnixStream::pair().unwrap();
        drop(there);
        let error = send(&here, &1, &[]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    proptest::proptest! {
        #[test]
        fn messages_come_as_they_were_sent_whatever_pieces_they_come_in(
            texts in proptest::collection::vec(".{0,40}", 0..6),
            pieces in proptest::collection::vec(1_usize..20, 1..8),
        ) {
            let (here, there) = UnixStream::pair().unwrap();
            let mut bytes: Vec<u8> = texts.iter().flat_map(|text| encode(text).unwrap()).collect();
            let sender = std::thread::spawn(move || {
                for piece in pieces.into_iter().cycle() {
                    if bytes.is_empty() {
                        return;
                    }
                    let rest = bytes.split_off(piece.min(bytes.len()));
                    (&here).write_all(&bytes).unwrap();
                    bytes = rest;
                }
            });
            for text in &texts {
                assert_eq!(&receive::<String>(&there).unwrap().0, text);
            }
            sender.join().unwrap();
            assert!(receive::<String>(&there).is_err(), "that was all");
        }

        #[test]
        fn whatever_comes_is_a_message_or_an_error(bytes: Vec<u8>) {
            let (here, there) = UnixStream::pair().unwrap();
            (&here).write_all(&bytes).unwrap();
            drop(here);
            while receive::<serde_json::Value>(&there).is_ok() {}
        }
    }
}
