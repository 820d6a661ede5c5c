//! A turn, performed: the state machine of `pillion_agents` says what is to be done, and here it
//! is done.
//!
//! The task of a turn owns everything about it: the claim on its session, the lock on its
//! folder, the call to the model. Cancelling drops the call, and the machine is told. What was
//! committed before stays; nothing else was written, but for the folders of consultations, which
//! go away with a turn that does not come to be.

use std::collections::BTreeMap;
use std::sync::Arc;

use pillion_agents::{
    ChapterTexts, ConsultationResult, DEFAULT_BUDGET, ExpertInfo, MemoCommit, ModelRequest,
    PacketRule, Prompts, RecentTurn, Speaker, StreamEvent, TokenUsage, Turn, TurnAction,
    TurnCommit, TurnEvent, TurnInput, initial_packet,
};
use pillion_catalogue::{Error, Lease, Result, commit};
use pillion_course::{Chapter, Expert, Roots};
use pillion_expert::{ConsultationLimits, Consultations, Order, SessionFolders};
use pillion_lanes::Whereabouts;
use pillion_model::{ChatMessage, Model, Prompt, Schema};
use pillion_sync::{Delivery, DeliveryKind, Sync};
use serde_json::json;
use serde_json::value::to_raw_value;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::content::Contents;
use crate::create::tasks;
use crate::files;
use crate::folder::{
    Folder, LockedFolder, PastTurn, Record, hold, name_of_turn, names, offset, turns,
};
use crate::load::{self, Snapshot};
use crate::log::TurnLog;

/// Past turns that a turn is told of in full.
const HISTORY: usize = 12;

/// What a turn begins with, read from the disk.
#[derive(Debug)]
pub(crate) struct Loaded {
    held: LockedFolder,
    snapshot: Snapshot,
    chapter: Arc<Chapter>,
    history: Vec<PastTurn>,
    /// Data files, with the time of each.
    uploads: BTreeMap<String, String>,
}

/// Read what a turn needs. From here on no other process changes the session.
pub(crate) fn load(folder: &Folder, roots: &Roots, contents: &Contents) -> Result<Loaded> {
    let held = hold(folder)?;
    let snapshot = load::snapshot(folder)?;
    let state = &snapshot.state;
    let chapter = contents.of_session(roots, &state.chapter_id, &snapshot.paths)?;
    let history = turns(folder, state.turn_index, HISTORY)?;
    let uploads = files::times(&folder.path(names::WORKING_FILES))?;
    // Consultations of a turn that never came to be, because its process was killed.
    pillion_expert::sweep(&folder.path(names::EXPERTS), state.turn_index);
    Ok(Loaded {
        held,
        chapter,
        history,
        uploads,
        snapshot,
    })
}

/// What the companion says first.
pub(crate) fn welcome(chapter: &Chapter) -> String {
    let said = prompts(chapter).welcome(&texts(chapter));
    match said.trim().is_empty() {
        true => format!("Welcome to {}.", chapter.title),
        false => said,
    }
}

fn prompts(chapter: &Chapter) -> Prompts {
    let mut prompts = Prompts::default();
    for (name, text) in &chapter.prompts {
        prompts.set(name, text.clone());
    }
    prompts
}

fn texts(chapter: &Chapter) -> ChapterTexts {
    let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
    ChapterTexts {
        title: chapter.title.clone(),
        context: chapter.context.clone(),
        task_list: chapter.task_list.clone(),
        task_completion_principles: chapter.completion_principles.clone(),
        interaction_protocol: or_empty(&chapter.interaction_protocol),
        socratic_vs_direct: or_empty(&chapter.socratic_vs_direct),
        consultation_guide: or_empty(&chapter.consultation_guide),
        tasks: tasks(chapter),
    }
}

/// Nobody else in this process changes the session.
pub(crate) type Claim = OwnedMutexGuard<()>;

/// A turn that runs.
pub(crate) struct Running {
    pub(crate) consultations: Consultations,
    pub(crate) sync: Sync,
    pub(crate) folder: Folder,
    pub(crate) model: Model,
    pub(crate) whereabouts: Whereabouts,
    pub(crate) log: Arc<TurnLog>,
    pub(crate) cancel: CancellationToken,
    pub(crate) _lease: Lease,
    pub(crate) _claim: Claim,
}

/// Readers of a log are told of its end, also when the turn panics.
struct Closing(Arc<TurnLog>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Running {
    /// Perform the turn to its end.
    pub(crate) async fn perform(self, loaded: Loaded, message: String) {
        let _closing = Closing(Arc::clone(&self.log));
        let Loaded {
            held,
            snapshot,
            chapter,
            history,
            uploads,
        } = loaded;
        let seen = &snapshot.paths.seen_uploads;
        let new_uploads: Vec<String> = uploads
            .iter()
            .filter(|(name, time)| seen.get(*name) != Some(time))
            .map(|(name, _)| name.clone())
            .collect();
        let input = input(&chapter, &snapshot, history, new_uploads, message);
        let mut task = Task {
            held: Some(held),
            chapter,
            snapshot,
            uploads,
            consultations: Vec::new(),
            is_committed: false,
            running: self,
        };
        let mut turn = Turn::new(input);
        task.drive(&mut turn).await;
        for note in turn.notes() {
            let noted = json!({
                "at": load::now(), "event": "note", "turn_index": turn.index(),
                "note": note.to_string(),
            });
            task.running.folder.note(&noted);
        }
        task.clean_up().await;
    }
}

fn input(
    chapter: &Chapter,
    snapshot: &Snapshot,
    history: Vec<PastTurn>,
    new_uploads: Vec<String>,
    message: String,
) -> TurnInput {
    let available = &chapter.consultation.available_experts;
    let experts = chapter.experts.iter();
    let experts = experts.filter(|expert| available.contains(&expert.id));
    let rules = chapter.consultation.binding_rules.iter();
    let rules = rules.filter_map(|rule| {
        let rule = serde_json::to_value(rule).ok()?;
        serde_json::from_value::<PacketRule>(rule).ok()
    });
    let recent = history.into_iter().map(|turn| RecentTurn {
        turn_index: turn.turn_index,
        user_message: turn.user_message,
        companion_response: turn.companion_response,
        ..RecentTurn::default()
    });
    let packet = snapshot.packet.clone();
    TurnInput {
        state: snapshot.state.clone(),
        packet: packet.unwrap_or_else(|| initial_packet(&tasks(chapter))),
        digest: snapshot.digest.clone(),
        memory: snapshot.memory.clone(),
        memory_budget: DEFAULT_BUDGET,
        report: snapshot.report.clone(),
        history: recent.collect(),
        chapter: texts(chapter),
        prompts: prompts(chapter),
        experts: experts.map(expert_info).collect(),
        binding_rules: rules.collect(),
        new_uploads,
        message,
    }
}

fn expert_info(expert: &Expert) -> ExpertInfo {
    ExpertInfo {
        id: expert.id.clone(),
        title: expert.title.clone(),
        description: expert.description.clone(),
    }
}

/// The turn at work.
struct Task {
    running: Running,
    held: Option<LockedFolder>,
    chapter: Arc<Chapter>,
    snapshot: Snapshot,
    uploads: BTreeMap<String, String>,
    /// Those that were asked for in this turn.
    consultations: Vec<String>,
    is_committed: bool,
}

impl Task {
    /// Do what the machine says until it has nothing more to say.
    async fn drive(&mut self, turn: &mut Turn) {
        let mut actions = turn.step(TurnEvent::Begin);
        // The memo agent is asked while the turn is written.
        let mut asked_beside = None;
        loop {
            let mut todo = None;
            for action in actions {
                match action {
                    TurnAction::Emit(event) => self.emit(&event),
                    TurnAction::Abort => asked_beside = None,
                    TurnAction::Finish(_) => return,
                    TurnAction::Ask(asking) if matches!(todo, Some(TurnAction::Commit(_))) => {
                        let asked = ask_quietly(self.running.model.clone(), *asking);
                        asked_beside = Some(AbortOnDropHandle::new(tokio::spawn(asked)));
                    }
                    other => todo = Some(other),
                }
            }
            let event = match (todo, asked_beside.take()) {
                (Some(action), beside) => {
                    asked_beside = beside;
                    self.perform(action, turn).await
                }
                (None, Some(beside)) => self.answer(beside).await,
                (None, None) => {
                    // Every step asks for something until the last.
                    tracing::error!("a turn stands still");
                    self.emit(&StreamEvent::Error {
                        message: "the turn ended because of a fault of pillion".to_owned(),
                    });
                    return;
                }
            };
            actions = turn.step(event);
        }
    }

    /// The answer to a question that was asked beside something else.
    async fn answer(&self, asked: AbortOnDropHandle<TurnEvent>) -> TurnEvent {
        tokio::select! {
            biased;
            () = self.running.cancel.cancelled() => TurnEvent::Cancelled,
            event = asked => event.unwrap_or_else(|error| {
                tracing::error!(%error, "a question to a model ended by itself");
                TurnEvent::Failed {
                    message: "asking the model failed because of a fault of pillion".to_owned(),
                    recoverable: true,
                }
            }),
        }
    }

    fn emit(&self, event: &StreamEvent) {
        self.running.log.push(event);
    }

    /// Do one thing; what came of it.
    async fn perform(&mut self, action: TurnAction, turn: &mut Turn) -> TurnEvent {
        let cancel = self.running.cancel.clone();
        match action {
            TurnAction::Ask(asking) => {
                let asked = self.ask(*asking, turn);
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => TurnEvent::Cancelled,
                    event = asked => event,
                }
            }
            TurnAction::Consult(request) => self.consult(request).await,
            TurnAction::Commit(_) if cancel.is_cancelled() => {
                // Nothing has been written yet, so there is nothing to take back.
                let _ = turn.step(TurnEvent::Cancelled);
                TurnEvent::CommitFailed {
                    message: String::new(),
                }
            }
            TurnAction::Commit(done) => match self.commit(*done).await {
                Ok(()) => TurnEvent::Committed,
                Err(error) => TurnEvent::CommitFailed {
                    message: error.message,
                },
            },
            TurnAction::SaveMemo(memo) => match self.save_memo(*memo).await {
                Ok(()) => TurnEvent::MemoSaved,
                Err(error) => {
                    tracing::warn!(%error, "the report of a turn is not saved");
                    TurnEvent::MemoFailed
                }
            },
            TurnAction::Emit(_) | TurnAction::Abort | TurnAction::Finish(_) => TurnEvent::Cancelled,
        }
    }

    /// Ask the model. What the companion says is heard as it comes.
    async fn ask(&self, asking: ModelRequest, turn: &mut Turn) -> TurnEvent {
        let log = &self.running.log;
        let mut hear = |text: &str| {
            for action in turn.step(TurnEvent::Text(text.to_owned())) {
                if let TurnAction::Emit(event) = action {
                    log.push(&event);
                }
            }
        };
        ask(&self.running.model, asking, &mut hear).await
    }

    /// Let an expert be consulted.
    async fn consult(&mut self, request: pillion_agents::ConsultationRequest) -> TurnEvent {
        let running = &self.running;
        let known = self.chapter.experts.iter();
        let mut known = known.filter(|expert| expert.id == request.expert_id);
        let Some(expert) = known.next() else {
            return TurnEvent::Consulted(Err("there is no such expert".to_owned()));
        };
        let order = Order {
            places: SessionFolders {
                expert_workspace: running.folder.path(names::EXPERTS),
                working_files: running.folder.path(names::WORKING_FILES),
                user_workspace: running.folder.path(pillion_lanes::session::WORKSPACE),
            },
            expert: expert.clone(),
            request: pillion_expert::ExpertRequest {
                expert_id: request.expert_id,
                question: request.question,
                context: request.context,
                expected_output_type: request.expected_output_type,
                scenario_id: request.scenario_id.unwrap_or_default(),
                reasoning: request.reasoning,
                consulting_letter_title: request.consulting_letter_title,
            },
            turn_index: Some(self.snapshot.state.turn_index),
            whereabouts: running.whereabouts.clone(),
            cancel: running.cancel.clone(),
            limits: ConsultationLimits::default(),
        };
        let consultations = &running.consultations;
        let done = Box::pin(consultations.consult(order, &running.model)).await;
        if running.cancel.is_cancelled() {
            if let Ok(done) = done {
                self.consultations.push(done.consultation_id);
            }
            return TurnEvent::Cancelled;
        }
        match done {
            Ok(done) => {
                self.consultations.push(done.consultation_id.clone());
                TurnEvent::Consulted(Ok(ConsultationResult {
                    consultation_id: done.consultation_id,
                    text: found(&done.summary, &done.report, &done.files),
                    usage: TokenUsage {
                        input_tokens: done.usage.input_tokens,
                        output_tokens: done.usage.output_tokens,
                    },
                }))
            }
            Err(error) => TurnEvent::Consulted(Err(error.to_string())),
        }
    }

    /// Commit the turn: after this it has happened.
    async fn commit(&mut self, done: TurnCommit) -> Result<()> {
        let folder = self.running.folder.clone();
        let file = done.turn_index + offset(&folder, done.turn_index);
        let mut paths = self.snapshot.paths.clone();
        paths.seen_uploads.clone_from(&self.uploads);
        let mut record = Record::default();
        let name = |what| name_of_turn(file, what);
        record.text(name("user.txt"), done.user_message.clone());
        record.text(name("companion.txt"), done.companion_response.clone());
        let written = || -> serde_json::Result<Record> {
            record.json(name("turn_outcome.json"), &done.outcome)?;
            record.json(name("token_usage.json"), &done.token_usage)?;
            record.json(names::PACKET, &done.packet)?;
            record.json(names::MEMORY, &done.memory)?;
            record.json(names::PATHS, &paths)?;
            record.json(names::STATE, &done.state)?;
            if self.has_backend() {
                let turn = json!({
                    "turn_index": done.turn_index,
                    "user_message": done.user_message,
                    "companion_response": done.companion_response,
                    "turn_outcome": done.outcome,
                    "token_usage": done.token_usage,
                });
                let memory = json!({ "memory": done.memory, "state": done.state });
                record.deliveries = vec![
                    delivery(DeliveryKind::Turn, done.turn_index, &turn)?,
                    delivery(DeliveryKind::Memory, done.turn_index * 2, &memory)?,
                ];
            }
            Ok(record)
        };
        let record = written().map_err(Error::internal)?;
        self.write(record).await?;
        self.is_committed = true;
        self.snapshot.state = done.state;
        let noted = json!({
            "at": load::now(), "event": "turn_committed", "turn_index": done.turn_index,
        });
        folder.note(&noted);
        Ok(())
    }

    /// Save what the memo agent made of the turn.
    async fn save_memo(&mut self, memo: MemoCommit) -> Result<()> {
        let mut record = Record::default();
        let turn = memo.turn_index;
        let file = turn + offset(&self.running.folder, turn);
        let written = || -> serde_json::Result<Record> {
            record.text(names::REPORT, memo.report.clone());
            record.json(names::DIGEST, &memo.digest)?;
            record.json(names::MEMORY, &memo.memory)?;
            record.json(name_of_turn(file, "token_usage.json"), &memo.token_usage)?;
            if let Some(summary) = &memo.error_summary {
                record.text(names::ERRORS, summary.clone());
            }
            if self.has_backend() {
                let report = json!({ "report": memo.report });
                let memory = json!({
                    "memory": memo.memory, "state": self.snapshot.state, "digest": memo.digest,
                });
                record.deliveries = vec![
                    delivery(DeliveryKind::Memory, turn * 2 + 1, &memory)?,
                    delivery(DeliveryKind::Report, turn, &report)?,
                ];
            }
            Ok(record)
        };
        let record = written().map_err(Error::internal)?;
        self.write(record).await
    }

    fn has_backend(&self) -> bool {
        let url = &self.snapshot.paths.backend_url;
        url.as_ref().is_some_and(|url| !url.is_empty())
    }

    /// Write a record, and put on its way what is to be sent.
    async fn write(&mut self, record: Record) -> Result<()> {
        let Some(mut held) = self.held.take() else {
            return Err(Error::internal("the folder of a session is not held"));
        };
        let folder = self.running.folder.clone();
        let (mut held, written) = commit(move || {
            let written = folder.commit(&mut held, record);
            (held, written)
        })
        .await?;
        if written.is_ok() && !held.unsent.is_empty() {
            let id = self.running.folder.id();
            match self.running.sync.enqueue(id, held.unsent.clone()).await {
                Ok(()) => held.unsent.clear(),
                // It goes with the journal of the next commit.
                Err(error) => tracing::warn!(%error, "a delivery is not in the outbox yet"),
            }
        }
        self.held = Some(held);
        written
    }

    /// Leave the folder as the turn should leave it.
    async fn clean_up(&mut self) {
        let (folder, held) = (self.running.folder.clone(), self.held.take());
        let discarded = match self.is_committed {
            true => Vec::new(),
            false => std::mem::take(&mut self.consultations),
        };
        let cleaned = commit(move || {
            for id in &discarded {
                pillion_expert::discard(&folder.path(names::EXPERTS), id);
            }
            held.map_or(Ok(()), |mut held| folder.settle(&mut held))
        });
        if let Err(error) = cleaned.await.flatten() {
            tracing::warn!(%error, "a session is settled later");
        }
    }
}

/// Ask a model; `hear` is told what it says as it comes.
async fn ask(
    model: &Model,
    asking: ModelRequest,
    hear: &mut (dyn FnMut(&str) + Send),
) -> TurnEvent {
    let prompt = prompt(asking);
    match model.ask(&prompt, hear).await {
        Ok(answer) => TurnEvent::Answered {
            usage: TokenUsage {
                input_tokens: answer.usage.input_tokens,
                output_tokens: answer.usage.output_tokens,
            },
            text: answer.text,
        },
        Err(error) => {
            tracing::warn!(agent = prompt.agent, kind = ?error.kind, "a model did not answer");
            TurnEvent::Failed {
                message: format!("{}; {}", error.message, error.hint),
                recoverable: error.kind.is_passing(),
            }
        }
    }
}

/// Ask a model whose words nobody follows.
async fn ask_quietly(model: Model, asking: ModelRequest) -> TurnEvent {
    ask(&model, asking, &mut |_| {}).await
}

/// What an expert found, as the manager reads it.
fn found(summary: &str, report: &str, files: &[String]) -> String {
    let mut text = format!("{}\n\n{}", summary.trim(), report.trim());
    if !files.is_empty() {
        text.push_str(&format!("\n\nFiles: {}", files.join(", ")));
    }
    text
}

fn delivery(
    kind: DeliveryKind,
    number: u64,
    body: &serde_json::Value,
) -> serde_json::Result<Delivery> {
    Ok(Delivery {
        kind,
        number: u32::try_from(number).unwrap_or(u32::MAX),
        body: to_raw_value(body)?,
    })
}

/// A question to an agent as a question to a model.
fn prompt(asking: ModelRequest) -> Prompt {
    let agent = asking.agent.as_str().to_owned();
    let messages = asking
        .messages
        .into_iter()
        .map(|(speaker, text)| match speaker {
            Speaker::User => ChatMessage::User(text),
            Speaker::Assistant => ChatMessage::Assistant {
                text,
                tool_calls: Vec::new(),
            },
        });
    Prompt {
        system: asking.system,
        messages: messages.collect(),
        schema: asking.schema.map(|schema| Schema {
            name: format!("{}_answer", agent.to_ascii_lowercase()),
            schema,
        }),
        facts: asking.facts,
        agent,
        ..Prompt::default()
    }
}
