//! Kernels that somebody else started, found by their connection files.
//!
//! There are no walls around such a kernel, so no operation leads to one: it is for whoever
//! names its file, and it is never ended from here.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::Secret;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::channel::Place;
use crate::client::{Channel, Client, Heard};

/// Bytes of a connection file.
const LARGEST: u64 = 64 << 10;
/// The only way of signing that is known here, and in practice.
const SCHEME: &str = "hmac-sha256";
/// How long a kernel may take to answer what is no cell, and to let us in.
const SOON: Duration = Duration::from_secs(20);

/// What a connection file says.
#[derive(Debug, Deserialize)]
struct Written {
    #[serde(default)]
    transport: Transport,
    ip: String,
    shell_port: u16,
    iopub_port: u16,
    stdin_port: u16,
    control_port: u16,
    #[serde(default)]
    key: String,
    #[serde(default)]
    signature_scheme: String,
    #[serde(default)]
    kernel_name: String,
    /// Its sockets are encrypted, which is not spoken here.
    #[serde(default)]
    curve_publickey: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Transport {
    #[default]
    Tcp,
    Ipc,
}

/// Where the sockets of a kernel are.
#[derive(Debug)]
pub(crate) struct Places {
    pub(crate) shell: Place,
    pub(crate) iopub: Place,
    pub(crate) stdin: Place,
    pub(crate) control: Place,
}

/// How a kernel that somebody else started is reached.
#[derive(Debug)]
pub struct ConnectionFile {
    places: Places,
    key: Arc<Secret>,
    about: String,
}

impl ConnectionFile {
    /// Read one.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut text = String::new();
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        file.take(LARGEST).read_to_string(&mut text)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&text, folder)
    }

    fn parse(text: &str, folder: &Path) -> io::Result<Self> {
        let written: Written = serde_json::from_str(text).map_err(|error| {
            io::Error::other(format!("it is no connection file of Jupyter's: {error}"))
        })?;
        if !["", SCHEME].contains(&written.signature_scheme.as_str()) {
            let scheme = &written.signature_scheme;
            return Err(io::Error::other(format!(
                "its messages are signed by `{scheme}`, and only `{SCHEME}` is known here"
            )));
        }
        if written.curve_publickey.is_some() {
            return Err(io::Error::other(
                "its sockets are encrypted (CurveZMQ), which is not known here",
            ));
        }
        let place = |port: u16| match written.transport {
            Transport::Tcp => Place::Tcp(written.ip.clone(), port),
            Transport::Ipc => {
                let path = PathBuf::from(format!("{}-{port}", written.ip));
                Place::Ipc(folder.join(path))
            }
        };
        let places = Places {
            shell: place(written.shell_port),
            iopub: place(written.iopub_port),
            stdin: place(written.stdin_port),
            control: place(written.control_port),
        };
        let name = match written.kernel_name.as_str() {
            "" => "a kernel",
            name => name,
        };
        let about = match written.transport {
            Transport::Tcp => format!("{name} at {}:{}", written.ip, written.shell_port),
            Transport::Ipc => format!("{name} at {}", written.ip),
        };
        Ok(Self {
            places,
            key: Arc::new(Secret::new(written.key)),
            about,
        })
    }
}

/// A kernel that somebody else started.
#[derive(Debug)]
pub struct Attached {
    client: Client,
    about: String,
    /// What its cell asks, and nobody has answered yet.
    question: Mutex<Option<Heard>>,
}

impl Attached {
    /// Connect to the kernel of a connection file.
    pub async fn to(file: &ConnectionFile) -> io::Result<Self> {
        let client = Client::attach(&file.places, &file.key);
        let client = tokio::time::timeout(SOON, client).await??;
        Ok(Self {
            client,
            about: file.about.clone(),
            question: Mutex::default(),
        })
    }

    /// What and where it is, in a few words.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Whether it is gone.
    pub fn is_over(&self) -> bool {
        self.client.is_over()
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Note a question of its cell.
    pub fn note(&self, heard: &Heard) {
        let mut question = self.question.lock().unwrap_or_else(PoisonError::into_inner);
        *question = Some(heard.clone());
    }

    /// Answer the question of its cell.
    pub async fn answer(&self, value: &str) -> Result<()> {
        let question = {
            let mut question = self.question.lock().unwrap_or_else(PoisonError::into_inner);
            question.take()
        };
        let question =
            question.ok_or_else(|| Error::new(Code::NotFound, "no cell waits for input"))?;
        let sent = self.client.answer(&question.message, value).await;
        sent.map_err(|error| gone(&error))
    }

    /// Interrupt its cell.
    pub async fn interrupt(&self) -> Result<()> {
        self.ask(Channel::Control, "interrupt_request", &json!({}))
            .await
            .map(drop)
    }

    /// Ask it something that is no cell.
    pub async fn ask(&self, channel: Channel, kind: &str, content: &Value) -> Result<Value> {
        let answer = self.client.ask(channel, kind, content).await;
        let answer = answer.map_err(|error| gone(&error))?;
        let reply = tokio::time::timeout(SOON, answer.reply()).await;
        let reply = reply.map_err(|_| Error::new(Code::Timeout, "the kernel gave no answer"))?;
        reply
            .map(|heard| heard.content())
            .ok_or_else(|| gone(&io::ErrorKind::UnexpectedEof.into()))
    }
}

fn gone(error: &io::Error) -> Error {
    Error::new(Code::Crashed, format!("the kernel is gone: {error}"))
        .hint("whoever started it can start another")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(more: &str) -> String {
        format!(
            "{{\"shell_port\": 1, \"iopub_port\": 2, \"stdin_port\": 3, \"control_port\": 4, \
             \"hb_port\": 5, \"key\": \"k\", {more}}}"
        )
    }

    #[test]
    fn a_connection_file_says_where_and_how() {
        let parse = |more: &str| ConnectionFile::parse(&written(more), Path::new("/run/x"));
        let tcp = parse("\"ip\": \"127.0.0.1\", \"signature_scheme\": \"hmac-sha256\"").unwrap();
        assert_eq!(tcp.places.iopub, Place::Tcp("127.0.0.1".to_owned(), 2));
        assert_eq!(tcp.key.expose(), "k");
        let ipc = parse("\"ip\": \"kernel-ipc\", \"transport\": \"ipc\"").unwrap();
        assert_eq!(ipc.places.control, Place::Ipc("/run/x/kernel-ipc-4".into()));
        let ipc = parse("\"ip\": \"/tmp/k\", \"transport\": \"ipc\"").unwrap();
        assert_eq!(ipc.places.shell, Place::Ipc("/tmp/k-1".into()));
        let other = parse("\"ip\": \"x\", \"signature_scheme\": \"hmac-md5\"").unwrap_err();
        assert!(other.to_string().contains("hmac-md5"), "{other}");
        assert!(parse("\"port\": 1").is_err(), "no address");
    }
}
