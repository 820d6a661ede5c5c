//! Kernels that somebody else started, found by their connection files.
//!
//! There are no walls around such a kernel, so no operation leads to one: it is for whoever
//! names its file, and it is never ended from here.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use serde_json::{Value, json};

use crate::client::KernelClient;
use crate::connection::ConnectionFile;
use crate::received::{Channel, Heard};

/// How long a kernel may take to answer what is no cell, and to let us in.
const REPLY_TIMEOUT: Duration = Duration::from_secs(20);

/// A kernel that somebody else started.
#[derive(Debug)]
pub struct AttachedKernel {
    client: KernelClient,
    about: String,
    /// What its cell asks, and nobody has answered yet.
    question: Mutex<Option<Heard>>,
}

impl AttachedKernel {
    /// Connect to the kernel of a connection file.
    pub async fn to(file: &ConnectionFile) -> io::Result<Self> {
        let client = KernelClient::attach(&file.places, &file.key);
        let client = tokio::time::timeout(REPLY_TIMEOUT, client).await??;
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

    pub(crate) fn client(&self) -> &KernelClient {
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
        let reply = tokio::time::timeout(REPLY_TIMEOUT, answer.reply()).await;
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
