//! One call of a skill: a run in the expert lane.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::{CancellationToken, Code, Peer, work};
use pillion_lanes::{
    Asked, Executor, FileOut, Lane, OutputListener, OutputStream, Program, Readable, Reply,
    RunOutcome, RunRequest, Tools, ToolsGiven, Whereabouts,
};
use serde_json::value::RawValue;

use crate::error::Error;
use crate::inputs::{self, Input};
use crate::skills::Runnable;
use crate::text;

/// Where a skill leaves files that are kept; the folder is there already.
const OUTPUTS: &str = "outputs";
/// Where it finds files of the session, if its page asks for them.
const FILES: &str = "files";
/// The longest result that a model is told.
const RESULT: usize = 16 << 10;
/// The longest error that a model is told.
const ERROR: usize = 2 << 10;
/// What `random` starts from: the same question gives the same answer.
const SEED: u64 = 0;

/// What runs need beside the skill.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) executor: Arc<Executor>,
    pub(crate) expert: String,
    pub(crate) whereabouts: Whereabouts,
    pub(crate) inputs: Arc<Vec<Input>>,
    pub(crate) cancel: CancellationToken,
}

/// What came of a call.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    /// What the model is told.
    pub(crate) text: String,
    pub(crate) is_error: bool,
    /// What the skill returned.
    pub(crate) value: Option<Box<RawValue>>,
    /// What it left to be kept.
    pub(crate) files: Vec<FileOut>,
    /// For the transcript.
    pub(crate) outcome: &'static str,
    pub(crate) level: String,
    pub(crate) duration_ms: f64,
    pub(crate) printed: String,
    pub(crate) asked: Vec<Asked>,
}

/// Nobody listens: what a skill prints is in the reply.
struct Unheard;

impl OutputListener for Unheard {
    async fn hear(&mut self, _: OutputStream, _: String) {}
}

impl Setting {
    /// Call `run(**arguments)` of a skill. An error means that no skill can be run here; what
    /// goes wrong in this one is told in what this gives.
    pub(crate) async fn run(
        &self,
        skill: &Runnable,
        arguments: String,
        timeout: Duration,
    ) -> Result<Ran, Error> {
        let lane = |error| self.lane_error(error);
        let arguments =
            RawValue::from_string(arguments).map_err(|error| Error::Internal(error.to_string()))?;
        let request = RunRequest {
            lane: Lane::Expert,
            program: Program::Function {
                function: format!("{}:run", skill.module),
                arguments: Some(arguments),
            },
            name: format!("<skill {}>", skill.tool.name),
            args: Vec::new(),
            stdin: None,
            files: self.files(skill).await?,
            outputs: vec![format!("{OUTPUTS}/*")],
            session: None,
            timeout: Some(timeout),
            memory_mb: None,
            seed: Some(SEED),
            clock: None,
            tools: self.tools(skill).map_err(lane)?,
            fresh: false,
            whereabouts: self.whereabouts.clone(),
            // Nobody's variables: there are no functions that could get them.
            peer: Peer::default(),
        };
        let admitted = self.executor.admit(request, self.cancel.clone(), None);
        let (reply, calls) = match Box::pin(admitted).await {
            Ok(admitted) => Box::pin(admitted.run(&mut Unheard)).await.map_err(lane)?,
            Err(error) if error.code == Code::Timeout => return Ok(late(&error.message)),
            Err(error) => return Err(lane(error)),
        };
        if reply.outcome == RunOutcome::StartFailed {
            let why = text::line(&reply.stderr, ERROR);
            return Err(lane(pillion_catalogue::Error::new(Code::StartFailed, why)));
        }
        if reply.outcome == RunOutcome::Cancelled {
            return Err(Error::Cancelled);
        }
        Ok(ran(reply, calls.first, timeout))
    }

    fn lane_error(&self, error: pillion_catalogue::Error) -> Error {
        match error.code {
            Code::Cancelled => Error::Cancelled,
            _ => Error::Lane {
                expert: self.expert.clone(),
                error,
            },
        }
    }

    /// What the host does for this skill: what its page names, for files of the session.
    fn tools(&self, skill: &Runnable) -> pillion_catalogue::Result<Tools> {
        let mut given = ToolsGiven::default();
        if skill.allowed.read {
            given.read = self
                .inputs
                .iter()
                .map(|input| (input.name.clone(), Readable::Path(input.path())))
                .collect();
        }
        if skill.allowed.query {
            given.tables = inputs::tables(&self.inputs).into_iter().collect();
        }
        Tools::new(given, Path::new("/"))
    }

    async fn files(&self, skill: &Runnable) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let mut all = skill.code.clone();
        all.push((format!("{OUTPUTS}/.keep"), Vec::new()));
        if skill.allowed.files {
            let inputs = Arc::clone(&self.inputs);
            let contents = work(move |_| inputs::contents(&inputs)).await;
            let contents = contents.map_err(|error| Error::Internal(error.message))?;
            // In a folder of their own: none of them takes the place of a module.
            let below = |(name, bytes)| (format!("{FILES}/{name}"), bytes);
            all.extend(contents.into_iter().map(below));
        }
        Ok(all)
    }
}

fn late(why: &str) -> Ran {
    Ran {
        text: format!("The skill was not run: {why}."),
        is_error: true,
        outcome: RunOutcome::Timeout.word(),
        ..Ran::default()
    }
}

fn ran(mut reply: Reply, asked: Vec<Asked>, timeout: Duration) -> Ran {
    let value = reply
        .value
        .take()
        .filter(|_| reply.outcome == RunOutcome::Ok);
    let (text, is_error) = match (&value, reply.outcome) {
        (Some(value), _) => (text::cut(value.get(), RESULT), false),
        (None, outcome) => (failure(&reply, outcome, timeout), true),
    };
    let printed = match reply.stdout.is_empty() {
        true => &reply.stderr,
        false => &reply.stdout,
    };
    Ran {
        text,
        is_error,
        value,
        outcome: match (is_error, reply.outcome) {
            (true, RunOutcome::Ok) => "invalid_result",
            (_, outcome) => outcome.word(),
        },
        level: reply.level,
        duration_ms: reply.execution_time_ms,
        printed: text::cut(printed, ERROR),
        asked,
        // What a run left that came to nothing is of no use to anybody.
        files: if is_error { Vec::new() } else { reply.outputs },
    }
}

/// Why a skill gave nothing, for the model: it may call it otherwise, or do without.
fn failure(reply: &Reply, outcome: RunOutcome, timeout: Duration) -> String {
    let limit = |what: &str| format!("The skill {what}, and was ended.");
    match outcome {
        RunOutcome::Ok => format!(
            "The skill returned something that is not JSON: {}",
            text::line(reply.value_repr.as_deref().unwrap_or("nothing"), ERROR)
        ),
        RunOutcome::Timeout => limit(&format!("took longer than {:.0} s", timeout.as_secs_f64())),
        RunOutcome::Memory => limit("used too much memory"),
        RunOutcome::OutputLimit => limit("printed too much"),
        RunOutcome::ProcessLimit => limit("started too many processes"),
        RunOutcome::DiskLimit => limit("wrote too much into its folder"),
        RunOutcome::Error
        | RunOutcome::Killed
        | RunOutcome::Cancelled
        | RunOutcome::StartFailed => match &reply.exception {
            Some(exception) => format!(
                "The skill failed: {}: {}",
                text::line(&exception.kind, 100),
                text::line(&exception.message, ERROR)
            ),
            None => format!(
                "The skill ended with code {}: {}",
                reply.returncode,
                text::tail(&reply.stderr, ERROR)
            ),
        },
    }
}
