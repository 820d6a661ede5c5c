//! Who is talked to: a session of the engine, by its operations.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pillion::{Caller, Code, Error, Operation, Part, Result};
use pillion_exec::operations::{FileGiven, OutputPiece, RunCode};
use pillion_lanes::{Lane, Reply};
use pillion_session::operations::{begin, course, files, life, list, progress, turn};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::super::backend::Backend;
use super::commands::Skip;
use super::events::Event;

/// Bytes of a file that is given to a session or run; the engine's own limits are lower.
const LARGEST_FILE: u64 = 8 << 20;

/// The chapter that a session is about, and where it lies.
#[derive(Debug, Clone, Default)]
pub(super) struct Subject {
    pub(super) chapter: String,
    /// The folder of its course, if it is not one that the engine knows.
    pub(super) course: Option<PathBuf>,
}

/// A session that has begun.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Begun {
    pub(super) session_id: String,
    #[serde(default)]
    pub(super) initial_message: String,
    #[serde(default)]
    pub(super) workspace: Workspace,
    /// All of what was said.
    #[serde(skip)]
    pub(super) raw: Value,
}

/// The files that a session begins with.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Workspace {
    pub(super) files: Vec<FileInfo>,
}

/// A file of a session.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct FileInfo {
    pub(super) name: String,
    pub(super) size_bytes: Option<u64>,
    pub(super) source: Option<String>,
}

/// A session, as it is listed.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct SessionInfo {
    pub(super) session_id: String,
    pub(super) chapter_id: String,
    #[serde(default)]
    pub(super) turn_index: u64,
    #[serde(default)]
    pub(super) last_updated: Value,
}

/// A chapter, as it is listed.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ChapterEntry {
    pub(super) chapter_id: String,
    #[serde(default)]
    pub(super) title: String,
}

/// A turn that is over.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Turn {
    pub(super) user_message: String,
    pub(super) companion_response: String,
}

/// As much of a session's state as is shown.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ShownState {
    pub(super) chapter_id: String,
    pub(super) turn_index: u64,
    pub(super) subtask_status: BTreeMap<String, Subtask>,
    pub(super) current_subtask_id: Option<String>,
}

/// How a task stands.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Subtask {
    pub(super) status: String,
    pub(super) evidence: Vec<Value>,
}

/// A task of the chapter.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) title: String,
}

/// A state, and the tasks of its chapter in their order.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Stand {
    pub(super) state: ShownState,
    pub(super) tasks: Vec<Task>,
}

/// What came of skipping a task.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Skipped {
    pub(super) skipped_task_id: Option<String>,
    pub(super) skipped_task_title: Option<String>,
    pub(super) next_task_id: Option<String>,
    pub(super) next_task_focus: Option<String>,
    pub(super) needs_reason: bool,
    pub(super) all_tasks_done: bool,
}

/// A session, and who answers for it.
pub(super) struct Tutor {
    pub(super) backend: Backend,
    pub(super) caller: Caller,
    pub(super) session: String,
}

impl Tutor {
    pub(super) fn new(backend: Backend, caller: Caller) -> Self {
        Self {
            backend,
            caller,
            session: String::new(),
        }
    }

    async fn ask<T: DeserializeOwned>(&self, operation: &str, params: Value) -> Result<T> {
        self.backend.ask_for(&self.caller, operation, params).await
    }

    /// The same about this session.
    async fn of_session<T: DeserializeOwned>(&self, operation: &str) -> Result<T> {
        let params = json!({ "session_id": self.session });
        self.ask(operation, params).await
    }

    /// All sessions, the newest first.
    pub(super) async fn sessions(&self) -> Result<Vec<SessionInfo>> {
        #[derive(Deserialize)]
        struct List {
            sessions: Vec<SessionInfo>,
        }
        let list: List = self.ask(list::ListSessions::NAME, json!({})).await?;
        Ok(list.sessions)
    }

    /// The chapters that the engine knows.
    pub(super) async fn chapters(&self) -> Result<Vec<ChapterEntry>> {
        #[derive(Deserialize)]
        struct List {
            chapters: Vec<ChapterEntry>,
        }
        let list: List = self.ask(course::Chapters::NAME, json!({})).await?;
        Ok(list.chapters)
    }

    /// Begin a session on a chapter.
    pub(super) async fn begin(&mut self, subject: &Subject, id: Option<&str>) -> Result<Begun> {
        let mut params = json!({ "chapter_id": subject.chapter });
        if let Some(id) = id {
            params["session_id"] = id.into();
        }
        if let Some(course) = &subject.course {
            let mut paths = json!({ "chapter_bundle_path": course });
            let experts = course.join("experts");
            if experts.is_dir() {
                paths["experts_shared_path"] = json!(experts);
            }
            params["desktop_context"] = json!({ "bundle_paths": paths });
        }
        let raw: Value = self.ask(begin::NewSession::NAME, params).await?;
        let mut begun = Begun::deserialize(&raw).map_err(Error::internal)?;
        begun.raw = raw;
        self.session.clone_from(&begun.session_id);
        Ok(begun)
    }

    /// Send a message; `hear` gets what happens as it comes.
    pub(super) async fn send(
        &self,
        message: &str,
        mut hear: impl FnMut(Event, &RawValue),
    ) -> Result<()> {
        let params = json!({ "session_id": self.session, "message": message });
        let params = to_raw_value(&params).map_err(Error::internal)?;
        let tell = |part: Part| {
            if let Part::Item(item) = part
                && let Ok(event) = serde_json::from_str(item.get())
            {
                hear(event, &item);
            }
        };
        let call = self
            .backend
            .call(&self.caller, turn::SendMessage::NAME, &params, true, tell);
        Box::pin(call).await.map(drop)
    }

    /// Cancel the turn that is running.
    pub(super) async fn cancel(&self) -> Result<()> {
        let _: Value = self.of_session(turn::CancelTurn::NAME).await?;
        Ok(())
    }

    /// The report so far.
    pub(super) async fn report(&self) -> Result<String> {
        #[derive(Deserialize)]
        struct Found {
            report: String,
        }
        let found: Found = self.of_session(progress::Report::NAME).await?;
        Ok(found.report)
    }

    /// End the session: its final report.
    pub(super) async fn end(&self) -> Result<String> {
        #[derive(Deserialize)]
        struct Ended {
            final_report: String,
        }
        let ended: Ended = self.of_session(progress::End::NAME).await?;
        Ok(ended.final_report)
    }

    /// What was said so far.
    pub(super) async fn history(&self) -> Result<Vec<Turn>> {
        #[derive(Deserialize)]
        struct Found {
            turns: Vec<Turn>,
        }
        let found: Found = self.of_session(progress::ListTurns::NAME).await?;
        Ok(found.turns)
    }

    pub(super) async fn stand(&self) -> Result<Stand> {
        self.of_session(life::State::NAME).await
    }

    pub(super) async fn skip(&self, skip: &Skip) -> Result<Skipped> {
        let mut params = json!({ "session_id": self.session });
        if let Some(reason) = &skip.reason {
            params["reason"] = reason.as_str().into();
        }
        if let Some(text) = &skip.reason_text {
            params["reason_text"] = text.as_str().into();
        }
        self.ask(progress::SkipTask::NAME, params).await
    }

    /// The files of the session's workspace.
    pub(super) async fn files(&self) -> Result<Vec<FileInfo>> {
        let found: Workspace = self.of_session(files::ListWorkspaceFiles::NAME).await?;
        Ok(found.files)
    }

    /// The data that came with the chapter, and that was given to the session.
    pub(super) async fn uploads(&self) -> Result<Vec<FileInfo>> {
        let found: Workspace = self.of_session(files::Uploads::NAME).await?;
        Ok(found.files)
    }

    /// Give files to the session; says their names.
    pub(super) async fn upload(&self, paths: &[String]) -> Result<Vec<String>> {
        let (mut files, mut names) = (Vec::new(), Vec::new());
        for path in paths {
            let path = Path::new(path);
            let (name, contents) = contents(path)?;
            files.push(json!({ "name": name, "base64": BASE64_STANDARD.encode(contents) }));
            names.push(name);
        }
        let params = json!({ "session_id": self.session, "files": files });
        let _: Value = self.ask(files::Upload::NAME, params).await?;
        Ok(names)
    }

    /// Run code, in the folder that the session's own code has.
    pub(super) async fn run(
        &self,
        program: Program,
        mut hear: impl FnMut(OutputPiece),
    ) -> Result<Reply> {
        let mut run = RunCode {
            lane: Lane::User,
            session: Some(self.session.clone()),
            stream: true,
            ..RunCode::default()
        };
        match program {
            Program::Code(code) => run.code = Some(code),
            Program::InWorkspace(name) => run.file = Some(name),
            Program::Here(path) => {
                let (name, contents) = contents(&path)?;
                run.file = Some(name.clone());
                run.files = vec![FileGiven::new(&name, contents)];
            }
        }
        let params = to_raw_value(&run).map_err(Error::internal)?;
        let tell = |part: Part| {
            if let Part::Item(item) = part
                && let Ok(printed) = serde_json::from_str(item.get())
            {
                hear(printed);
            }
        };
        let call = self
            .backend
            .call(&self.caller, RunCode::NAME, &params, true, tell);
        let reply = Box::pin(call).await?;
        serde_json::from_str(reply.get()).map_err(Error::internal)
    }
}

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Program {
    Code(String),
    /// A file that the session has.
    InWorkspace(String),
    /// A file of this machine.
    Here(PathBuf),
}

/// The name and the contents of a file of this machine.
fn contents(path: &Path) -> Result<(String, Vec<u8>)> {
    let cannot = |why: &str| {
        let message = format!("cannot read `{}`: {why}", path.display());
        Error::new(Code::NotFound, message)
    };
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| cannot("it has no name"))?;
    let meta = std::fs::metadata(path).map_err(|error| cannot(&error.to_string()))?;
    if !meta.is_file() {
        return Err(cannot("it is no file"));
    }
    if meta.len() > LARGEST_FILE {
        return Err(cannot("it is too large"));
    }
    let contents = std::fs::read(path).map_err(|error| cannot(&error.to_string()))?;
    Ok((name.to_owned(), contents))
}
