//! A model that answers at known times: a small HTTP server of the bench itself.
//!
//! It speaks the streaming format of OpenAI, says the same every time, and notes when a request
//! was there, when its first word left, and when its last did. It lives in the process that
//! measures, so both read the same clock.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pillion_catalogue::{Error, Result};
use serde_json::json;

/// Bytes of a request that are read.
const LARGEST: usize = 8 << 20;
/// Requests that are noted, at most.
const NOTED: usize = 100_000;
/// What a reply of the companion is made of, and what tells it from the others' requests.
const WORDS: &[&str] = &[
    "Good. ",
    "Now ",
    "make ",
    "a ",
    "list ",
    "of ",
    "three ",
    "numbers.\n",
];
const OUTCOME: &str = r#"{"what_user_attempted":"x","what_user_observed":"y","ca_teaching_mode":"socratic","ca_next_suggestion":"z","checkpoint_reached":false,"blocker_type":"none","student_sentiment":"engaged","progress_record":"","evidence_for_subtasks":[],"expert_consultation_needed":false,"expert_consultation_reason":"","student_wants_to_skip":false}"#;
const MEMO: &str = r##"{"updated_report":"# Report\n\nGoes well.","digest":{"key_observations":"x","student_struggles":"","student_strengths":"","student_sentiment":"engaged","blocker_type":"none","progress_delta":"none","diagnostic_log":"","achievement_log":"","skipped_tasks":[]},"error_entries":[]}"##;
const MEMO_ONLY: &str = "updated_report";

/// One request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange {
    /// It was there, whole.
    pub(super) asked: Instant,
    /// The first word of the answer was about to leave.
    pub(super) first: Instant,
    /// The last one had left.
    pub(super) last: Instant,
    /// It was the companion who asked.
    pub(super) is_companion: bool,
}

/// The model. Dropping it lets its thread end.
pub(super) struct Model {
    pub(super) port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    exchanges: Mutex<Vec<Exchange>>,
    /// Microseconds between two words, and words of a reply.
    pause: AtomicU64,
    repeats: AtomicU64,
    is_over: AtomicBool,
}

impl Model {
    /// Start it.
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            exchanges: Mutex::default(),
            pause: AtomicU64::new(1000),
            repeats: AtomicU64::new(1),
            is_over: AtomicBool::new(false),
        });
        let server = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("model".to_owned())
            .spawn(move || {
                for connection in listener.incoming().flatten() {
                    if server.is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let server = Arc::clone(&server);
                    // Without a thread for it this one is refused, which its caller notices.
                    let _ = std::thread::Builder::new().spawn(move || {
                        let _ = serve(connection, &server);
                    });
                }
            })?;
        Ok(Self { port, shared })
    }

    /// From now on: this long between two words, and all words so many times.
    pub(super) fn speak(&self, pause: Duration, repeats: u64) {
        let micros = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
        self.shared.pause.store(micros, Ordering::Relaxed);
        self.shared.repeats.store(repeats, Ordering::Relaxed);
    }

    /// What was asked since the last time.
    pub(super) fn take(&self) -> Vec<Exchange> {
        std::mem::take(&mut *self.shared.exchanges())
    }

    /// Ask it without pillion between: from its first word to its being read.
    pub(super) fn ask(&self) -> Result<Duration> {
        let read = || -> io::Result<Instant> {
            let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
            socket.set_nodelay(true)?;
            socket.write_all(&super::super::wire::posted("/chat/completions", "{}"))?;
            let mut reader = BufReader::new(socket);
            let mut line = String::new();
            let mut heard = None;
            while !line.contains("[DONE]") {
                line.clear();
                if reader.read_line(&mut line)? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                if line.starts_with("data: ") && heard.is_none() {
                    heard = Some(Instant::now());
                }
            }
            heard.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        };
        let heard = read().map_err(|error| super::super::stage::cannot(&error))?;
        let asked = self.take();
        let asked = asked
            .first()
            .ok_or_else(|| Error::internal("the model heard nothing"))?;
        Ok(heard.saturating_duration_since(asked.first))
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // So that it notices.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl Shared {
    fn exchanges(&self) -> MutexGuard<'_, Vec<Exchange>> {
        self.exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answer what comes on a connection, until nothing comes any more.
fn serve(connection: TcpStream, shared: &Shared) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut writer = connection.try_clone()?;
    let mut reader = BufReader::new(connection);
    while let Some(body) = request(&mut reader)? {
        let asked = Instant::now();
        let is_companion = !body.contains(MEMO_ONLY);
        writer.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
              transfer-encoding: chunked\r\n\r\n",
        )?;
        let pause = Duration::from_micros(shared.pause.load(Ordering::Relaxed));
        let repeats = shared.repeats.load(Ordering::Relaxed);
        let (words, tail) = match is_companion {
            true => (WORDS, format!("\n```json\n{OUTCOME}\n```\n")),
            false => (&WORDS[..0], MEMO.to_owned()),
        };
        let mut first = None;
        for word in (0..repeats).flat_map(|_| words) {
            std::thread::sleep(pause);
            first.get_or_insert_with(Instant::now);
            say(&mut writer, &delta(word))?;
        }
        let first = first.unwrap_or_else(Instant::now);
        say(&mut writer, &delta(&tail))?;
        let end = json!({
            "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        });
        // Noted before its end is told: whoever hears that may ask at once.
        let mut exchanges = shared.exchanges();
        if exchanges.len() < NOTED {
            exchanges.push(Exchange {
                asked,
                first,
                last: Instant::now(),
                is_companion,
            });
        }
        drop(exchanges);
        say(&mut writer, &end.to_string())?;
        say(&mut writer, "[DONE]")?;
        writer.write_all(b"0\r\n\r\n")?;
    }
    Ok(())
}

fn delta(text: &str) -> String {
    json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]})
        .to_string()
}

/// One event, as a chunk of its own.
fn say(writer: &mut impl Write, data: &str) -> io::Result<()> {
    let event = format!("data: {data}\n\n");
    writer.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())
}

/// The body of the next request; nothing if there is none.
fn request(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut length = 0;
    let mut is_first = true;
    loop {
        let mut line = String::new();
        if reader.take(LARGEST as u64).read_line(&mut line)? == 0 {
            return match is_first {
                true => Ok(None),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
        is_first = false;
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    if length > LARGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(String::from_utf8_lossy(&body).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_speaks_and_knows_when() {
        let model = Model::start().unwrap();
        model.speak(Duration::ZERO, 2);
        // Somebody heard the first word after it left.
        model.ask().unwrap();
        assert!(model.take().is_empty(), "it is told once");
        let both = [OUTCOME, MEMO];
        for text in both {
            serde_json::from_str::<serde_json::Value>(text).unwrap();
        }
    }
}
