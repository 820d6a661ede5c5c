//! Logs: to stderr or a bounded file, as text or JSON, and to whoever subscribed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pillion_protocol::vars;
use pillion_supervisor::{Event, Events};
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, fmt};

use super::Global;

/// A log file larger than this is set aside; one older is kept.
const MAX_FILE: u64 = 4 << 20;

/// Where log lines go besides the file, once there is an engine.
static EVENTS: OnceLock<Events> = OnceLock::new();

/// From now on subscribers hear the log too.
pub(crate) fn publish_to(events: Events) {
    let _ = EVENTS.set(events);
}

/// Set up logging for a command.
pub(crate) fn init(global: &Global, command: Option<&str>) {
    let serves = matches!(command, Some("daemon" | "serve" | "stdio" | "rpc" | "mcp"));
    let level = match (global.debug, global.verbose) {
        (true, _) | (_, 2..) => "debug",
        (_, 1) => "info",
        // Agents show what a server writes to stderr, and the library tells of every message.
        _ if command == Some("mcp") => "warn,rmcp=error",
        _ if serves => "info,rmcp=error",
        _ => "error",
    };
    let filter =
        EnvFilter::try_from_env(vars::PILLION_LOG).unwrap_or_else(|_| EnvFilter::new(level));
    let to_file = global
        .log_file
        .as_deref()
        .filter(|_| serves)
        .and_then(LogFile::open);
    let colour = to_file.is_none() && io::IsTerminal::is_terminal(&io::stderr());
    let writer: Writer = match to_file {
        Some(file) => Writer(Some(Arc::new(Mutex::new(file)))),
        None => Writer(None),
    };
    let base = fmt::layer()
        .with_ansi(colour)
        .log_internal_errors(false)
        .with_target(false);
    let layer = if global.log_json {
        base.json().with_writer(move || writer.clone()).boxed()
    } else {
        base.with_writer(move || writer.clone()).boxed()
    };
    // Failing means that a log is set up already, which only a test harness does.
    let _ = tracing_subscriber::registry()
        .with(filter)
        .with(layer)
        .with(Announce)
        .try_init();
}

/// Writes to the file, else to stderr. A full disk loses lines, never a request.
#[derive(Clone)]
struct Writer(Option<Arc<Mutex<LogFile>>>);

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = match &self.0 {
            Some(file) => file
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .write(bytes),
            None => io::stderr().write_all(bytes),
        };
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that does not grow for ever.
struct LogFile {
    path: PathBuf,
    file: File,
    written: u64,
}

impl LogFile {
    fn open(path: &Path) -> Option<Self> {
        if let Some(dir) = path.parent() {
            let _ = std::fs::create_dir_all(dir);
        }
        let file = append(path).ok()?;
        let written = file.metadata().map_or(0, |meta| meta.len());
        Some(Self {
            path: path.to_owned(),
            file,
            written,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.written > MAX_FILE {
            let mut older = self.path.clone().into_os_string();
            older.push(".1");
            std::fs::rename(&self.path, older)?;
            self.file = append(&self.path)?;
            self.written = 0;
        }
        self.written += bytes.len() as u64;
        self.file.write_all(bytes)
    }
}

fn append(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

/// Tells subscribers what is logged.
struct Announce;

impl<S: tracing::Subscriber> Layer<S> for Announce {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let Some(events) = EVENTS.get().filter(|events| events.has_listeners()) else {
            return;
        };
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        events.announce(Event::Log {
            source: "pillion".into(),
            line: line.0,
        });
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        use std::fmt::Write;
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}
