//! Records exchanges with a model, one JSON line each, for bug reports and for replaying.
//!
//! Lines are written by a thread of their own to a file that only its owner can read. Keys are
//! taken out before; what the scripted model is told beside the prompt is not written at all.

use std::fs::{File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use crate::error::{Error, ModelErrorKind};
use crate::prompt::{Completion, Prompt};
use crate::redact::Redactor;

/// Nothing is added to a file of this size.
pub(crate) const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// The longest line: of a longer one the prompt is left out, and if that does not do, the line.
const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;
/// Lines that wait for the thread that writes.
const QUEUE: usize = 64;
/// Chunks that are kept apart; what is heard later is added to the last.
const MAX_CHUNKS: usize = 10_000;

/// One exchange, as it is in the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Exchange {
    /// The version of the format.
    version: u32,
    /// Milliseconds since 1970.
    at: u64,
    /// The model's label.
    model: String,
    pub(crate) agent: String,
    /// See [`hash`].
    pub(crate) prompt_hash: String,
    prompt: Option<Value>,
    /// What was heard: after how many milliseconds, and the text.
    pub(crate) chunks: Vec<(u64, String)>,
    pub(crate) answer: Option<Completion>,
    pub(crate) error: Option<RecordedError>,
}

/// An error, as it is in the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RecordedError {
    pub(crate) kind: ModelErrorKind,
    pub(crate) message: String,
}

impl Exchange {
    pub(crate) fn new(model: &str, prompt: &Prompt) -> Self {
        Self {
            version: 1,
            at: millis(
                SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap_or_default(),
            ),
            model: model.to_owned(),
            agent: prompt.agent.clone(),
            prompt_hash: String::new(),
            prompt: serde_json::to_value(prompt).ok(),
            chunks: Vec::new(),
            answer: None,
            error: None,
        }
    }

    pub(crate) fn heard(&mut self, after: Duration, text: &str) {
        let full = self.chunks.len() >= MAX_CHUNKS;
        match self.chunks.last_mut() {
            Some((_, last)) if full => last.push_str(text),
            _ => self.chunks.push((millis(after), text.to_owned())),
        }
    }

    pub(crate) fn ended(mut self, result: &Result<Completion, Error>) -> Self {
        match result {
            Ok(answer) => self.answer = Some(answer.clone()),
            Err(error) => {
                self.error = Some(RecordedError {
                    kind: error.kind,
                    message: error.message.clone(),
                });
            }
        }
        self
    }

    /// The line, without keys.
    fn line(mut self, redactor: &Redactor) -> Option<Vec<u8>> {
        self.prompt = self.prompt.map(|prompt| redactor.value(prompt));
        self.prompt_hash = self.prompt.as_ref().map(hash).unwrap_or_default();
        // A key may be cut over several chunks.
        let heard: String = self.chunks.iter().map(|(_, text)| text.as_str()).collect();
        let clean = redactor.text(&heard);
        if clean != heard {
            let after = self.chunks.first().map_or(0, |(after, _)| *after);
            self.chunks = vec![(after, clean.into_owned())];
        }
        for _ in 0..2 {
            let value = serde_json::to_value(&self).ok()?;
            let mut line = serde_json::to_vec(&redactor.value(value)).ok()?;
            line.push(b'\n');
            if line.len() <= MAX_LINE_BYTES {
                return Some(line);
            }
            self.prompt = None;
        }
        None
    }
}

/// What tells prompts apart: of the prompt as it is recorded, keys taken out.
pub(crate) fn hash(prompt: &Value) -> String {
    let mut digits = hex::encode(Sha256::digest(prompt.to_string().as_bytes()));
    digits.truncate(32);
    digits
}

/// Writes exchanges to a file.
#[derive(Debug)]
pub(crate) struct Recorder {
    path: PathBuf,
    redactor: Redactor,
    queue: OnceLock<Option<SyncSender<Line>>>,
}

struct Line {
    exchange: Exchange,
    written: Option<oneshot::Sender<()>>,
}

impl Recorder {
    /// The file is opened with the first exchange.
    pub(crate) fn new(path: PathBuf, redactor: Redactor) -> Self {
        Self {
            path,
            redactor,
            queue: OnceLock::new(),
        }
    }

    /// Write it, and wait until it is written. A failure is logged: the answer matters more.
    pub(crate) async fn write(&self, exchange: Exchange) {
        let (sender, written) = oneshot::channel();
        self.send(Line {
            exchange,
            written: Some(sender),
        });
        // Also when the thread could not write, or left.
        let _ = written.await;
    }

    /// Write it some time.
    pub(crate) fn leave(&self, exchange: Exchange) {
        self.send(Line {
            exchange,
            written: None,
        });
    }

    fn send(&self, line: Line) {
        let queue = self.queue.get_or_init(|| {
            let (sender, lines) = sync_channel(QUEUE);
            let (path, redactor) = (self.path.clone(), self.redactor.clone());
            let thread = std::thread::Builder::new().name("model-record".to_owned());
            let started = thread.spawn(move || write_all(&path, &redactor, &lines));
            started.is_ok().then_some(sender)
        });
        let sent = queue
            .as_ref()
            .is_some_and(|queue| queue.try_send(line).is_ok());
        if !sent {
            tracing::warn!("an exchange with the model was not recorded");
        }
    }
}

/// The thread that writes, until nobody is left to record for.
fn write_all(path: &Path, redactor: &Redactor, lines: &Receiver<Line>) {
    let mut file = match open(path) {
        Ok(file) => Some(file),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "cannot record exchanges");
            None
        }
    };
    for line in lines {
        if let Some(open) = &mut file
            && let Some(bytes) = line.exchange.line(redactor)
        {
            let size = open.metadata().map_or(0, |meta| meta.len());
            let room = MAX_FILE_BYTES.saturating_sub(size);
            if room < bytes.len() as u64 {
                tracing::warn!(path = %path.display(), "the record is full and is not continued");
                file = None;
            } else if let Err(error) = open.write_all(&bytes) {
                tracing::warn!(path = %path.display(), %error, "cannot record an exchange");
            }
        }
        drop(line.written);
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)?;
    // A file that was there may be readable by others.
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
