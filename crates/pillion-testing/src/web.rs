//! `pillion serve`, and what curl would do.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::{DEADLINE, TestContext, processes, wait_for};

/// A running `pillion serve`. Dropping it ends it and asserts that it ended well.
pub struct Web {
    child: Child,
    /// Its process.
    pub pid: u32,
    /// Where it listens.
    pub port: u16,
    stderr: File,
    is_killed: bool,
}

/// An answer.
#[derive(Debug)]
pub struct HttpReply {
    /// The status.
    pub status: u16,
    /// Names, in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl TestContext {
    /// `pillion serve` for the project.
    pub fn serve(&self) -> Web {
        Web::start(self.pillion_command(&["serve", "--port", "0", "--root", "."]))
    }
}

impl Web {
    /// Start a program that says where it listens.
    pub fn start(mut command: Command) -> Self {
        let stderr = tempfile::tempfile().unwrap();
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(stderr.try_clone().unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let port = line
            .trim()
            .strip_prefix("listening on http://127.0.0.1:")
            .unwrap_or_else(|| panic!("`{line}` where the address should be"));
        Self {
            pid: child.id(),
            port: port.parse().unwrap(),
            child,
            stderr,
            is_killed: false,
        }
    }

    /// SIGKILL: it has no time for anything.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.is_killed = true;
    }

    /// What it said to people.
    pub fn said(&self) -> String {
        let mut text = String::new();
        let mut file = &self.stderr;
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        text
    }

    /// Send bytes and give the connection to read from.
    pub fn send(&self, bytes: &[u8]) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(bytes).unwrap();
        BufReader::new(stream)
    }

    /// Send a request and give the connection to read its answer from.
    pub fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> BufReader<TcpStream> {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            text += &format!("Host: 127.0.0.1:{}\r\n", self.port);
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.send(text.as_bytes())
    }

    /// One request with everything said.
    pub fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> HttpReply {
        let mut reader = self.open(method, path, headers, body);
        let (status, headers) = read_head(&mut reader);
        let mut body = Vec::new();
        if headers
            .iter()
            .any(|(n, v)| n == "transfer-encoding" && v == "chunked")
        {
            while let Some(mut chunk) = read_chunk(&mut reader) {
                body.append(&mut chunk);
            }
        } else {
            reader.read_to_end(&mut body).unwrap();
        }
        let body = String::from_utf8(body).unwrap();
        HttpReply {
            status,
            headers,
            body,
        }
    }

    /// A `GET`.
    pub fn get(&self, path: &str) -> HttpReply {
        self.request("GET", path, &[], "")
    }

    /// An operation.
    pub fn post(&self, operation: &str, params: &Value) -> HttpReply {
        let kind = [("Content-Type", "application/json")];
        self.request(
            "POST",
            &format!("/v1/{operation}"),
            &kind,
            &params.to_string(),
        )
    }

    /// Call a function; gives what it returned.
    pub fn py(&self, function: &str, params: &Value) -> Result<Value, HttpReply> {
        let reply = self.post("py.call", &json!({"function": function, "params": params}));
        match reply.status {
            200 => Ok(reply.json()["result"].clone()),
            _ => Err(reply),
        }
    }

    /// An operation that streams.
    pub fn stream(&self, operation: &str, params: &Value) -> EventStream {
        let kind = [
            ("Content-Type", "application/json"),
            ("Accept", "text/event-stream"),
        ];
        let mut reader = self.open(
            "POST",
            &format!("/v1/{operation}"),
            &kind,
            &params.to_string(),
        );
        let (status, headers) = read_head(&mut reader);
        assert_eq!(status, 200);
        let kind = headers.iter().find(|(name, _)| name == "content-type");
        assert_eq!(kind.map(|(_, v)| v.as_str()), Some("text/event-stream"));
        EventStream {
            reader,
            buffer: String::new(),
        }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        if self.is_killed {
            return;
        }
        if std::thread::panicking() {
            let _ = self.child.kill();
            let _ = self.child.wait();
            return;
        }
        processes::terminate(self.pid);
        let child = &mut self.child;
        let status = wait_for(DEADLINE, "the end of `pillion serve`", || {
            child.try_wait().unwrap().ok_or("it runs")
        });
        assert!(status.success() || status.code().is_none(), "{status}");
    }
}

impl HttpReply {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Server-sent events.
pub struct EventStream {
    reader: BufReader<TcpStream>,
    buffer: String,
}

impl Iterator for EventStream {
    type Item = Value;

    /// The data of the next event; `None` at the end.
    fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.buffer.split_once("\n\n") {
                let data = event.strip_prefix("data: ").expect("`data: `");
                let value = serde_json::from_str(data).unwrap();
                self.buffer = rest.to_owned();
                return Some(value);
            }
            let chunk = read_chunk(&mut self.reader)?;
            self.buffer += std::str::from_utf8(&chunk).unwrap();
        }
    }
}

/// Status and headers of an answer.
pub fn read_head(reader: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let mut lines = std::iter::from_fn(|| {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim_end().to_owned();
        (!line.is_empty()).then_some(line)
    });
    let first = lines.next().expect("a status line");
    let status = first.split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines
        .filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        })
        .collect();
    (status, headers)
}

/// One chunk of a body; `None` after the last.
pub fn read_chunk(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut size = String::new();
    reader.read_line(&mut size).ok()?;
    let size = usize::from_str_radix(size.trim(), 16).ok()?;
    let mut chunk = vec![0; size + 2];
    reader.read_exact(&mut chunk).ok()?;
    chunk.truncate(size);
    (size > 0).then_some(chunk)
}
