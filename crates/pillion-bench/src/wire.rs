//! The client's side of every conversation: blocking, so that it adds as little as it can,
//! and the same code for pillion and for its baselines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A server that is silent for so long has failed.
const SILENCE: Duration = Duration::from_secs(60);
const BUFFER: usize = 64 * 1024;

/// How answers are told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// Headers with a `Content-Length`, a blank line, a body: JSON-RPC and HTTP alike.
    Headers,
    /// One per line.
    Lines,
}

/// One conversation.
pub(super) struct Wire {
    reader: BufReader<Box<dyn Read + Send>>,
    writer: Box<dyn Write + Send>,
    framing: Framing,
    answer: Vec<u8>,
}

impl Wire {
    fn new(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        framing: Framing,
    ) -> Self {
        Self {
            reader: BufReader::with_capacity(BUFFER, Box::new(reader)),
            writer: Box::new(writer),
            framing,
            answer: Vec::new(),
        }
    }

    /// JSON-RPC on a Unix socket.
    pub(super) fn unix(path: &Path) -> io::Result<Self> {
        let socket = UnixStream::connect(path)?;
        socket.set_read_timeout(Some(SILENCE))?;
        Ok(Self::new(socket.try_clone()?, socket, Framing::Headers))
    }

    /// HTTP on a port of this machine.
    pub(super) fn http(port: u16) -> io::Result<Self> {
        let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(SILENCE))?;
        Ok(Self::new(socket.try_clone()?, socket, Framing::Headers))
    }

    /// Lines on a pair of pipes.
    pub(super) fn pipes(from: File, to: File) -> Self {
        Self::new(from, to, Framing::Lines)
    }

    /// Send a request, framed already.
    pub(super) fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.writer.write_all(message)
    }

    /// Wait for the next answer.
    pub(super) fn receive(&mut self) -> io::Result<&[u8]> {
        self.answer.clear();
        match self.framing {
            Framing::Lines => {
                self.reader.read_until(b'\n', &mut self.answer)?;
            }
            Framing::Headers => {
                let length = self.headers()?;
                self.answer.resize(length, 0);
                self.reader.read_exact(&mut self.answer)?;
            }
        }
        if self.answer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(&self.answer)
    }

    /// Send a message and wait for the answer.
    pub(super) fn ask(&mut self, message: &[u8]) -> io::Result<&[u8]> {
        self.send(message)?;
        self.receive()
    }

    /// Read headers up to the blank line; gives the length of the body.
    fn headers(&mut self) -> io::Result<usize> {
        let mut length = 0;
        loop {
            self.answer.clear();
            if self.reader.read_until(b'\n', &mut self.answer)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let line = self.answer.trim_ascii();
            if line.is_empty() {
                self.answer.clear();
                return Ok(length);
            }
            let text = String::from_utf8_lossy(line);
            if let Some((name, value)) = text.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
        }
    }
}

/// Put a JSON-RPC message into its frame.
pub(super) fn framed(body: &str) -> Vec<u8> {
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A JSON-RPC request, framed.
pub(super) fn request(method: &str, params: &serde_json::Value) -> Vec<u8> {
    framed(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#
    ))
}

/// A request over HTTP that keeps its connection.
pub(super) fn posted(path: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(framing: Framing, answers: &'static str) -> Wire {
        Wire::new(answers.as_bytes(), io::sink(), framing)
    }

    #[test]
    fn answers_are_told_apart() {
        let mut lines = wire(Framing::Lines, "{\"a\":1}\n{}\n");
        assert_eq!(lines.ask(b"").unwrap(), b"{\"a\":1}\n");
        assert_eq!(lines.receive().unwrap(), b"{}\n");
        assert!(lines.receive().is_err(), "the end is an error");
        let mut headers = wire(
            Framing::Headers,
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ndate: 10:20\r\n\r\n{}Content-Length: 3\r\n\r\n[1]",
        );
        assert_eq!(headers.receive().unwrap(), b"{}");
        assert_eq!(headers.receive().unwrap(), b"[1]");
        assert!(headers.receive().is_err());
    }
}
