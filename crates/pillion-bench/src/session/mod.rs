//! `pillion bench session`: what turns of a session cost beside their model, and what sessions
//! weigh.
//!
//! The model is a server of the bench itself, which says known words at known times (`model`).
//! What is measured is pillion as a desktop starts it, by a client of the desktop's routes.

mod model;

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use pillion_catalogue::{Code, Error, Result};
use pillion_process::stat::resident_bytes;
use pillion_process::{Running, StreamTarget};
use serde_json::{Value, json};
use tokio::io::AsyncBufReadExt as _;

use super::Plan;
use super::code::micros;
use super::report::{Budget, Figure, Row, Unit};
use super::stage::{Stage, cannot};
use super::wire::{Wire, posted};
use model::{Exchange, Model};

/// Groups of rows, as their names begin.
pub(super) const GROUPS: &[&str] = &["turn", "health", "memory", "start"];

const BASELINE: &str = "the model, asked directly";
/// Microseconds from the model's first word to the learner's.
const FIRST: f64 = 20_000.0;
/// Microseconds of a turn that are not the model's.
const OVERHEAD: f64 = 15_000.0;
/// Microseconds for `/health` while so many turns and runs are under way.
const HEALTH: f64 = 5000.0;
const TURNS: usize = 20;
const RUNS: usize = 4;
/// Megabytes with so many sessions that nobody talks to.
const MEMORY: f64 = 60.0;
const SESSIONS: usize = 200;
/// Microseconds from the start of the process to its being healthy.
const START: f64 = 300_000.0;
/// How long a process may take to be there, and how often it is asked.
const START_TIMEOUT: Duration = Duration::from_secs(30);
const AGAIN: Duration = Duration::from_millis(2);
/// A server that is silent for so long has failed.
const SILENCE: Duration = Duration::from_secs(60);
/// How long a server is left alone before it is weighed.
const SETTLE: Duration = Duration::from_millis(500);
const BUSY: &str = "import time\nend = time.monotonic() + 2\nwhile time.monotonic() < end: pass\n";

/// Measure sessions: turns beside their model, health under load, memory.
#[derive(Debug, Args)]
pub(crate) struct SessionBench {}

/// pillion as a desktop starts it.
struct Desktop {
    running: Running,
    port: u16,
}

impl SessionBench {
    /// Measure; gives what was run, and the rows.
    pub(super) async fn measure(&self, stage: &Stage, plan: &Plan) -> Result<(String, Vec<Row>)> {
        let model = Model::start().map_err(|error| cannot(&error))?;
        let samples = stage.dirs().usable_data().join("samples");
        let course = pillion_course::sample(&samples).map_err(|error| cannot(&error))?;
        let chapter = first_chapter(&course)?;
        let mut rows = Vec::new();
        if plan.wants_any("start") {
            rows.push(start(stage, plan, &course, &model).await?);
        }
        let desktop = Desktop::start(stage, &course, &model, "turns").await?;
        if plan.wants_any("turn") {
            rows.extend(desktop.turns(plan, &model, &chapter)?);
        }
        if plan.wants_any("health") {
            rows.push(desktop.health(plan, &model, &chapter)?);
        }
        desktop.stop().await;
        if plan.wants_any("memory") {
            let desktop = Desktop::start(stage, &course, &model, "memory").await?;
            rows.push(desktop.memory(plan, &chapter)?);
            desktop.stop().await;
        }
        rows.retain(|row| plan.wants(&row.name));
        plan.bar.finish_and_clear();
        Ok((format!("`{chapter}` of the sample course"), rows))
    }
}

/// The first chapter of a course.
fn first_chapter(course: &Path) -> Result<String> {
    let roots = pillion_course::Roots {
        curriculum: Some(course.to_owned()),
        ..pillion_course::Roots::default()
    };
    let found = pillion_course::chapters(&roots, None).map_err(Error::internal)?;
    let first = found.into_iter().next();
    let first = first.ok_or_else(|| Error::internal("the sample course has no chapter"))?;
    Ok(first.chapter_id)
}

/// From the start of the process to its first healthy answer.
async fn start(stage: &Stage, plan: &Plan, course: &Path, model: &Model) -> Result<Row> {
    plan.tell("desktop, start");
    let mut took = Vec::new();
    for _ in 0..plan.samples(20, 2) {
        let began = Instant::now();
        let desktop = Desktop::start(stage, course, model, "start").await?;
        desktop.health_now()?;
        took.push(began.elapsed().as_secs_f64());
        desktop.stop().await;
    }
    let what = "desktop, from its start to healthy";
    let figure = Figure::of(&micros(&took));
    let row = Row::new("start/desktop", what, Unit::Micros, figure);
    Ok(row.budget(Budget::P90(START)))
}

impl Desktop {
    async fn start(stage: &Stage, course: &Path, model: &Model, name: &str) -> Result<Self> {
        let launch = stage
            .pillion()
            .args(["serve", "--desktop", "--host", "127.0.0.1", "--port", "0"])
            .env("SESSIONS_DIR", stage.path(&format!("sessions-{name}")))
            .env("CURRICULUM_DIR", course)
            .env("EXPERTS_DIR", course.join("experts"))
            .env("LLM_PROVIDER", "custom")
            .env("LLM_BASE_URL", format!("http://127.0.0.1:{}", model.port))
            .env("LLM_API_KEY", "bench")
            .env("LLM_MODEL", "bench")
            .env("NO_PROXY", "127.0.0.1");
        let launch = launch.unguarded().stdout(StreamTarget::Piped);
        let mut running = launch.spawn().map_err(Error::internal)?;
        let mut said = String::new();
        if let Some(stdout) = running.take_stdout() {
            let mut stdout = tokio::io::BufReader::new(stdout);
            let read = tokio::time::timeout(START_TIMEOUT, stdout.read_line(&mut said)).await;
            read.map_err(Error::internal)?
                .map_err(|error| cannot(&error))?;
        }
        let port = said.trim().rsplit(':').next();
        let port = port.and_then(|port| port.trim_end_matches('/').parse().ok());
        let port = port.ok_or_else(|| {
            Error::new(Code::StartFailed, format!("`pillion serve` said `{said}`"))
        })?;
        Ok(Self { running, port })
    }

    async fn stop(mut self) {
        self.running.kill();
        self.running.wait().await;
    }

    /// Wait until it says that it is well.
    fn health_now(&self) -> Result<()> {
        let until = Instant::now() + START_TIMEOUT;
        loop {
            let asked = Wire::http(self.port).and_then(|mut wire| {
                let answer = wire.ask(HEALTH_REQUEST)?;
                Ok(String::from_utf8_lossy(answer).contains("healthy"))
            });
            match asked {
                Ok(true) => return Ok(()),
                Err(error) if Instant::now() > until => return Err(cannot(&error)),
                _ => std::thread::sleep(AGAIN),
            }
        }
    }

    fn new_session(&self, chapter: &str) -> Result<String> {
        let mut wire = Wire::http(self.port).map_err(|error| cannot(&error))?;
        let body = json!({ "chapter_id": chapter }).to_string();
        let answer = wire.ask(&posted("/api/session/new", &body));
        let answer = answer.map_err(|error| cannot(&error))?;
        let answer: Value = serde_json::from_slice(answer).map_err(Error::internal)?;
        match answer["session_id"].as_str() {
            Some(id) => Ok(id.to_owned()),
            None => Err(Error::internal(format!("no session was made: {answer}"))),
        }
    }

    /// What a turn costs beside its model.
    fn turns(&self, plan: &Plan, model: &Model, chapter: &str) -> Result<Vec<Row>> {
        plan.tell("turns of one session");
        let session = self.new_session(chapter)?;
        // Some 50 ms an answer: quicker than any real one, and what happens beside it counts as
        // its time.
        model.speak(Duration::from_millis(10), 4);
        // The first one opens connections and files.
        turn(self.port, &session).map_err(|error| cannot(&error))?;
        model.take();
        let (mut first, mut rest, mut direct) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..plan.samples(100, 3) {
            let timed = turn(self.port, &session).map_err(|error| cannot(&error))?;
            let asked = model.take();
            let companion = asked.iter().find(|exchange| exchange.is_companion);
            let companion =
                companion.ok_or_else(|| Error::internal("no companion asked the model"))?;
            first.push(
                timed
                    .first
                    .saturating_duration_since(companion.first)
                    .as_secs_f64(),
            );
            let whole = timed.last.saturating_duration_since(timed.sent);
            rest.push(whole.saturating_sub(busy(&asked)).as_secs_f64());
            direct.push(model.ask()?.as_secs_f64());
        }
        let what = "first words, behind the model's";
        let row = Row::new(
            "turn/first",
            what,
            Unit::Micros,
            Figure::of(&micros(&first)),
        );
        let row = row.against(BASELINE, Figure::of(&micros(&direct)));
        let first = row.budget(Budget::P90(FIRST));
        let what = "a turn, without its model's time";
        let row = Row::new(
            "turn/overhead",
            what,
            Unit::Micros,
            Figure::of(&micros(&rest)),
        );
        Ok(vec![first, row.budget(Budget::P90(OVERHEAD))])
    }

    /// `/health`, while turns and runs are under way.
    fn health(&self, plan: &Plan, model: &Model, chapter: &str) -> Result<Row> {
        plan.tell("health under load");
        model.speak(Duration::from_millis(10), 12);
        let sessions: Result<Vec<String>> = (0..TURNS).map(|_| self.new_session(chapter)).collect();
        let sessions = sessions?;
        let is_over = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for (at, session) in sessions.iter().enumerate() {
            let (port, session) = (self.port, session.clone());
            let flag = Arc::clone(&is_over);
            threads.push(std::thread::spawn(move || -> io::Result<()> {
                while !flag.load(Ordering::Relaxed) {
                    turn(port, &session)?;
                }
                Ok(())
            }));
            if at < RUNS {
                let (port, session) = (self.port, sessions[at].clone());
                let is_over = Arc::clone(&is_over);
                threads.push(std::thread::spawn(move || -> io::Result<()> {
                    while !is_over.load(Ordering::Relaxed) {
                        let body = json!({ "code": BUSY }).to_string();
                        let path = format!("/api/session/{session}/code/run");
                        Wire::http(port)?.ask(&posted(&path, &body))?;
                    }
                    Ok(())
                }));
            }
        }
        // Until all of them are at it.
        std::thread::sleep(SETTLE);
        let mut took = Vec::new();
        let asked = (|| -> io::Result<()> {
            let mut wire = Wire::http(self.port)?;
            for _ in 0..plan.samples(500, 20) {
                let began = Instant::now();
                wire.ask(HEALTH_REQUEST)?;
                took.push(began.elapsed().as_secs_f64());
                std::thread::sleep(AGAIN);
            }
            Ok(())
        })();
        is_over.store(true, Ordering::Relaxed);
        for thread in threads {
            let ended = thread.join();
            let ended = ended.map_err(|_| Error::internal("a client of the bench panicked"))?;
            ended.map_err(|error| cannot(&error))?;
        }
        asked.map_err(|error| cannot(&error))?;
        let what = format!("`/health` beside {TURNS} turns and {RUNS} runs");
        let figure = Figure::of(&micros(&took));
        let row = Row::new("health/loaded", &what, Unit::Micros, figure);
        Ok(row.budget(Budget::P99(HEALTH)))
    }

    /// What it weighs with many sessions.
    fn memory(&self, plan: &Plan, chapter: &str) -> Result<Row> {
        let count = plan.samples(SESSIONS, 10);
        plan.tell("idle sessions");
        for _ in 0..count {
            self.new_session(chapter)?;
        }
        std::thread::sleep(SETTLE);
        let bytes = self.running.id().and_then(resident_bytes).unwrap_or(0);
        let figure = Figure::single(bytes as f64 / 1e6, count);
        let what = format!("{count} idle sessions, resident");
        let row = Row::new("memory/idle", &what, Unit::Megabytes, figure);
        Ok(row.budget(Budget::Most(MEMORY)))
    }
}

const HEALTH_REQUEST: &[u8] = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

/// How long the model was busy with these, whether or not with several at once.
fn busy(exchanges: &[Exchange]) -> Duration {
    let mut spans: Vec<(Instant, Instant)> = exchanges
        .iter()
        .map(|exchange| (exchange.asked, exchange.last))
        .collect();
    spans.sort();
    let mut total = Duration::ZERO;
    let mut until: Option<Instant> = None;
    for (begin, end) in spans {
        let begin = until.map_or(begin, |until| until.max(begin));
        total += end.saturating_duration_since(begin);
        until = Some(until.map_or(end, |until| until.max(end)));
    }
    total
}

/// When things happened in a turn.
struct Timed {
    sent: Instant,
    first: Instant,
    last: Instant,
}

/// One turn, as a desktop makes it.
fn turn(port: u16, session: &str) -> io::Result<Timed> {
    let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(SILENCE))?;
    let body = json!({ "message": "I made a list." }).to_string();
    let sent = Instant::now();
    socket.write_all(&posted(
        &format!("/api/session/{session}/message/stream"),
        &body,
    ))?;
    let mut reader = BufReader::new(socket);
    let (mut line, mut first) = (String::new(), None);
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // Between events are the lengths of chunks, and comments.
        let Some(event) = line.strip_prefix("data: ") else {
            continue;
        };
        let event: Value = serde_json::from_str(event).map_err(io::Error::other)?;
        match event["type"].as_str() {
            Some("companion_chunk") => {
                first.get_or_insert_with(Instant::now);
            }
            Some("complete") => break,
            Some("error" | "llm_error" | "cancelled") => {
                return Err(io::Error::other(format!("a turn failed: {event}")));
            }
            _ => {}
        }
    }
    let first = first.ok_or_else(|| io::Error::other("a turn said nothing"))?;
    Ok(Timed {
        sent,
        first,
        last: Instant::now(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_overlaps_is_counted_once() {
        let zero = Instant::now();
        let at = |millis| zero + Duration::from_millis(millis);
        let exchange = |from, to| Exchange {
            asked: at(from),
            first: at(from),
            last: at(to),
            is_companion: true,
        };
        let busy = busy(&[exchange(50, 60), exchange(0, 10), exchange(5, 20)]);
        assert_eq!(busy, Duration::from_millis(30));
    }
}
