//! What the host does for code in the expert lane: only what the request names.
//!
//! The program asks on a socket that it inherited, one question at a time. Everything that
//! comes on it is the program's word, so every question is bounded, and a program that asks
//! too much, or in no language, loses its socket and nothing else. Answers end with the run.

mod csv;
mod files;
mod host;
mod requested;
mod rules;
mod tables;

use std::os::unix::net::UnixStream as StdStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use pillion_catalogue::{Code, Error, Result, work};
use pillion_project::Whereabouts;
use pillion_sandbox::message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

pub use host::{FunctionCall, Host, Returned};
pub use requested::{Readable, TableGiven, Tools, ToolsGiven};

use tables::Database;

/// The longest question.
const QUESTION: usize = 8 << 20;
/// The longest value that a function may return.
const VALUE: usize = 8 << 20;
/// Questions of one run.
const QUESTIONS: u32 = 10_000;
/// Bytes that all answers of one run may have.
const BYTES: usize = 256 << 20;
/// ToolCalls that are remembered for the log; of the others the number.
const REMEMBERED: usize = 100;
/// The most of a name that is remembered.
const NAME: usize = 100;

/// On whose behalf tools work, and how long.
#[derive(Debug)]
pub(crate) struct Behalf {
    pub(crate) host: Option<Arc<dyn Host>>,
    pub(crate) whereabouts: Whereabouts,
    pub(crate) peer: pillion_catalogue::Peer,
    pub(crate) deadline: Instant,
}

/// A tool that was asked for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Asked {
    /// Which one: `read`, `query` or `call`.
    pub tool: String,
    /// Of what.
    pub name: String,
    /// `ok`, or the code of the error.
    pub outcome: String,
}

/// What was asked for so far.
#[derive(Debug, Clone, Default)]
pub struct ToolCalls {
    /// The first of them.
    pub first: Vec<Asked>,
    /// How many there were.
    pub number: u32,
}

/// Tools at work. Dropping it ends what they do.
#[derive(Debug)]
pub(crate) struct Serving {
    task: tokio::task::JoinHandle<()>,
    stop: Arc<AtomicBool>,
    calls: Arc<Mutex<ToolCalls>>,
}

impl Serving {
    pub(crate) fn calls(&self) -> ToolCalls {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.clone()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.task.abort();
    }
}

/// Answer what is asked on `socket`, until what this gives is dropped.
pub(crate) fn serve(
    tools: &Tools,
    socket: Option<StdStream>,
    behalf: Behalf,
) -> std::io::Result<Option<Serving>> {
    let Some(socket) = socket else {
        return Ok(None);
    };
    socket.set_nonblocking(true)?;
    let socket = UnixStream::from_std(socket)?;
    let stop = Arc::new(AtomicBool::new(false));
    let calls = Arc::new(Mutex::new(ToolCalls::default()));
    let service = ToolService {
        tools: tools.clone(),
        behalf,
        stop: Arc::clone(&stop),
        calls: Arc::clone(&calls),
        database: Tables::Closed,
        sent: 0,
    };
    let task = tokio::spawn(async move {
        // Whatever is wrong with the socket: the program did it, or is gone.
        let _ = service.answer_all(socket).await;
    });
    Ok(Some(Serving { task, stop, calls }))
}

/// The answer to bytes that a program without any tools wrote, for the fuzz targets.
pub(crate) async fn answer_without_tools(body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut service = ToolService {
        tools: Tools::default(),
        behalf: Behalf {
            host: None,
            whereabouts: Whereabouts::default(),
            peer: pillion_catalogue::Peer::default(),
            deadline: Instant::now(),
        },
        stop: Arc::default(),
        calls: Arc::default(),
        database: Tables::Closed,
        sent: 0,
    };
    service.answer(body).await.map(|answer| answer.message)
}

/// A question.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Question {
    id: u64,
    tool: String,
    name: String,
    table: String,
    sql: String,
    parameters: Vec<Value>,
    arguments: Option<Box<RawValue>>,
}

/// An answer: a message, and raw bytes behind it.
struct Answer {
    message: Vec<u8>,
    bytes: Vec<u8>,
}

#[derive(Debug)]
enum Tables {
    Closed,
    Open(Database),
    Failed(Error),
}

/// Where questions are answered.
#[derive(Debug)]
struct ToolService {
    tools: Tools,
    behalf: Behalf,
    stop: Arc<AtomicBool>,
    calls: Arc<Mutex<ToolCalls>>,
    database: Tables,
    sent: usize,
}

impl ToolService {
    async fn answer_all(mut self, mut socket: UnixStream) -> std::io::Result<()> {
        for number in 1.. {
            let mut head = [0; 4];
            socket.read_exact(&mut head).await?;
            let length = u32::from_be_bytes(head) as usize;
            if length > QUESTION || number > QUESTIONS {
                let why = match length > QUESTION {
                    true => Error::new(Code::InvalidRequest, "the question is too long"),
                    false => Error::new(Code::Busy, "the run asked for too much"),
                };
                let last = failed(0, &why)?;
                return socket.write_all(&last.message).await;
            }
            let mut body = Vec::new();
            let read = (&mut socket)
                .take(length as u64)
                .read_to_end(&mut body)
                .await?;
            if read < length {
                return Ok(());
            }
            let answer = self.answer(&body).await?;
            self.sent += answer.message.len() + answer.bytes.len();
            socket.write_all(&answer.message).await?;
            socket.write_all(&answer.bytes).await?;
        }
        Ok(())
    }

    /// What is answered to bytes that a program wrote; never nothing.
    async fn answer(&mut self, body: &[u8]) -> std::io::Result<Answer> {
        let question: Question = match message::decode(body) {
            Ok(question) => question,
            Err(error) => {
                let error = Error::new(Code::InvalidRequest, format!("no question: {error}"));
                return failed(0, &error);
            }
        };
        let (id, tool) = (question.id, question.tool.clone());
        let name = match tool.as_str() {
            "query" => question.table.clone(),
            _ => question.name.clone(),
        };
        let answered = match self.sent > BYTES {
            true => Err(Error::new(
                Code::OutputLimit,
                "the tools of this run have answered too much",
            )),
            false => self.work(question).await,
        };
        let outcome = answered
            .as_ref()
            .err()
            .map_or("ok", |error| error.code.as_str());
        self.note(&tool, &name, outcome);
        answered.or_else(|error| failed(id, &error))
    }

    async fn work(&mut self, question: Question) -> Result<Answer> {
        match question.tool.as_str() {
            "read" => self.read(question).await,
            "query" => self.query(question).await,
            "call" => self.call(question).await,
            other => Err(Error::new(
                Code::UnknownOperation,
                format!("there is no tool `{}`", short(other)),
            )),
        }
    }

    async fn read(&mut self, question: Question) -> Result<Answer> {
        let name = question.name;
        let source = self.tools.named().read.get(&name).cloned();
        let source = source.ok_or_else(|| not_given("file to read", &name))?;
        let bytes = work(move |_| files::read(&source, &name)).await??;
        let head = json!({ "id": question.id, "size": bytes.len() });
        let message = message::encode(&head).map_err(Error::internal)?;
        Ok(Answer { message, bytes })
    }

    async fn query(&mut self, question: Question) -> Result<Answer> {
        if !self.tools.named().tables.contains_key(&question.table) {
            return Err(not_given("table", &question.table));
        }
        // The database goes to the thread and comes back with the rows.
        let held = std::mem::replace(&mut self.database, Tables::Closed);
        let (tools, stop) = (self.tools.clone(), Arc::clone(&self.stop));
        let deadline = self.behalf.deadline;
        let (held, answer) = work(move |_| {
            let held = match held {
                Tables::Closed => Database::open(&tools.named().tables, deadline, stop)
                    .map_or_else(Tables::Failed, Tables::Open),
                other => other,
            };
            let answer = match &held {
                Tables::Open(database) => asked_of(database, &question),
                Tables::Failed(error) => Err(error.clone()),
                Tables::Closed => Err(Error::internal("no database")),
            };
            (held, answer)
        })
        .await?;
        self.database = held;
        answer
    }

    async fn call(&mut self, question: Question) -> Result<Answer> {
        let function = self.tools.named().functions.get(&question.name).cloned();
        let function = function.ok_or_else(|| not_given("function", &question.name))?;
        let host = self.behalf.host.as_ref().ok_or_else(|| {
            Error::new(
                Code::Unsupported,
                "functions cannot be called in this pillion",
            )
        })?;
        let Whereabouts {
            root,
            python,
            virtual_env,
            conda_prefix,
        } = self.behalf.whereabouts.clone();
        let value = host
            .call(FunctionCall {
                function,
                arguments: question.arguments,
                root,
                python,
                virtual_env,
                conda_prefix,
                peer: self.behalf.peer.clone(),
                deadline: self.behalf.deadline,
            })
            .await?;
        if value.get().len() > VALUE {
            let message = format!("the value has more than {VALUE} bytes");
            return Err(Error::new(Code::ResponseTooLarge, message));
        }
        #[derive(Serialize)]
        struct Returned {
            id: u64,
            value: Box<RawValue>,
        }
        let id = question.id;
        let message = message::encode(&Returned { id, value }).map_err(Error::internal)?;
        Ok(Answer {
            message,
            bytes: Vec::new(),
        })
    }

    fn note(&self, tool: &str, name: &str, outcome: &str) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.number += 1;
        if calls.first.len() < REMEMBERED {
            calls.first.push(Asked {
                tool: short(tool),
                name: short(name),
                outcome: outcome.to_owned(),
            });
        }
    }
}

fn asked_of(database: &Database, question: &Question) -> Result<Answer> {
    #[derive(Serialize)]
    struct Found {
        id: u64,
        #[serde(flatten)]
        rows: tables::Rows,
    }
    let rows = database.query(&question.sql, &question.parameters)?;
    let id = question.id;
    let message = message::encode(&Found { id, rows }).map_err(Error::internal)?;
    Ok(Answer {
        message,
        bytes: Vec::new(),
    })
}

fn failed(id: u64, error: &Error) -> std::io::Result<Answer> {
    let error = json!({ "code": error.code, "message": error.message });
    Ok(Answer {
        message: message::encode(&json!({ "id": id, "error": error }))?,
        bytes: Vec::new(),
    })
}

fn not_given(what: &str, name: &str) -> Error {
    let message = format!("this run has no {what} `{}`", short(name));
    Error::new(Code::NotFound, message)
}

/// A name of the program's, of which there need not be much.
fn short(name: &str) -> String {
    name.chars().take(NAME).collect()
}

#[cfg(test)]
#[path = "mod_tests.rs"]
mod tests;
