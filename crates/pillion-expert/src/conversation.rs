//! A consultation that goes on: letter, rounds with the model, calls of skills, report.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::work;
use pillion_lanes::Executor;
use pillion_model::{ChatMessage, Completion, Prompt, ToolCall, Usage};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::consultation::{Consultation, Order};
use crate::error::Error;
use crate::folder::{self, Claim, ConsultationStatus};
use crate::inputs;
use crate::model::{self, Consultant};
use crate::prompt;
use crate::run::{Ran, Setting};
use crate::skills::{self, Runnable};
use crate::text;

/// The longest report that is kept.
const REPORT: usize = 64 << 10;
/// The longest arguments of a call.
const ARGUMENTS: usize = 64 << 10;
/// The most of arguments that the transcript shows.
const SHOWN: usize = 2 << 10;
/// Files that skills may leave, and what one and all of them may hold.
const MOST_FILES: usize = 16;
const FILE_BYTES: u64 = 8 << 20;
const ALL_BYTES: u64 = 16 << 20;
/// The most calls of one answer that are looked at.
const CALLS_AT_ONCE: usize = 32;

/// A consultation that goes on.
pub(crate) struct Conversation {
    claim: Claim,
    setting: Setting,
    skills: Result<Vec<Runnable>, Error>,
    letter: String,
    started: String,
    deadline: Instant,
    order: Order,
    usage: Usage,
    files: Vec<(String, u64)>,
    bytes: u64,
    rounds: u32,
    calls: u32,
    /// What the last skill that worked returned.
    last: Option<Value>,
    report: String,
}

impl Conversation {
    /// Claim a folder, and read all that is needed.
    pub(crate) async fn open(
        executor: &Arc<Executor>,
        order: Order,
        deadline: Instant,
    ) -> Result<Self, Error> {
        let opened = work(move |_| {
            let inputs = inputs::open(&[&order.places.working_files, &order.places.user_workspace]);
            let claim = Claim::next(&order.places.expert_workspace)
                .map_err(Error::files("consultations"))?;
            let letter = prompt::letter(&order.expert, &order.request, &inputs);
            let started = jiff::Timestamp::now().to_string();
            begin(&claim, &order, &letter, &started)?;
            let skills = skills::load(&order.expert);
            Ok::<_, Error>((order, inputs, claim, letter, started, skills))
        });
        let opened = opened
            .await
            .map_err(|error| Error::Internal(error.message))?;
        let (order, inputs, claim, letter, started, skills) = opened?;
        let setting = Setting {
            executor: Arc::clone(executor),
            expert: order.expert.id.clone(),
            whereabouts: order.whereabouts.clone(),
            inputs: Arc::new(inputs),
            cancel: order.cancel.clone(),
        };
        Ok(Self {
            claim,
            setting,
            skills,
            letter,
            started,
            deadline,
            order,
            usage: Usage::default(),
            files: Vec::new(),
            bytes: 0,
            rounds: 0,
            calls: 0,
            last: None,
            report: String::new(),
        })
    }

    /// Ask until there is a report.
    pub(crate) async fn hold(&mut self, model: &dyn Consultant) -> Result<(), Error> {
        let skills = std::mem::replace(&mut self.skills, Ok(Vec::new()))?;
        let letter = self.with_findings(&skills).await?;
        let tool_names: Vec<&str> = skills.iter().map(|skill| &*skill.tool.name).collect();
        let expert = &self.order.expert;
        let mut prompt = Prompt {
            agent: "EXPERT".to_owned(),
            system: prompt::system(expert),
            messages: vec![ChatMessage::User(letter)],
            tools: skills.iter().map(|skill| skill.tool.clone()).collect(),
            max_output_tokens: Some(self.order.limits.output_tokens),
            facts: BTreeMap::from([
                ("expert_id".to_owned(), expert.id.clone()),
                ("expert_title".to_owned(), expert.title.clone()),
                (
                    "learner_message".to_owned(),
                    self.order.request.question.clone(),
                ),
                ("tool_names".to_owned(), tool_names.join(", ")),
            ]),
            ..Prompt::default()
        };
        let mut said = String::new();
        while self.rounds < self.order.limits.rounds {
            self.rounds += 1;
            prompt
                .facts
                .insert("tool_result".to_owned(), self.finding());
            let mut answer = self.ask(model, &prompt).await?;
            if !answer.text.trim().is_empty() {
                said = answer.text.clone();
            }
            if answer.tool_calls.is_empty() {
                break;
            }
            answer.tool_calls.truncate(CALLS_AT_ONCE);
            prompt.messages.push(ChatMessage::Assistant {
                text: answer.text,
                tool_calls: answer.tool_calls.clone(),
            });
            let is_last_but_one = self.rounds + 1 == self.order.limits.rounds;
            let count = answer.tool_calls.len();
            for (number, call) in answer.tool_calls.into_iter().enumerate() {
                let (id, mut told) = (call.id.clone(), self.call(&skills, call).await?);
                if is_last_but_one && number + 1 == count {
                    told.text
                        .push_str("\n\nThat was the last call. Write the report now.");
                }
                prompt.messages.push(ChatMessage::ToolResult {
                    id,
                    content: told.text,
                    is_error: told.is_error,
                });
            }
        }
        self.report = match said.trim() {
            // A skill may know itself what there is to say.
            "" => self.own_report().ok_or_else(|| Error::NoReport {
                expert: self.order.expert.id.clone(),
            })?,
            said => text::cut(said, REPORT),
        };
        Ok(())
    }

    async fn ask(&mut self, model: &dyn Consultant, prompt: &Prompt) -> Result<Completion, Error> {
        let began = Instant::now();
        let asked = model.ask(prompt).await;
        let duration_ms = milliseconds(began);
        let mut entry = json!({
            "at": now(), "kind": "model", "round": self.rounds, "duration_ms": duration_ms,
        });
        let answer = match asked {
            Ok(answer) => {
                model::add(&mut self.usage, answer.usage);
                let calls: Vec<&str> = answer.tool_calls.iter().map(|call| &*call.name).collect();
                entry["outcome"] = json!("ok");
                entry["usage"] = json!(answer.usage);
                entry["calls"] = json!(text::line(&calls.join(" "), SHOWN));
                Ok(answer)
            }
            Err(failure) => {
                entry["outcome"] = json!("failed");
                entry["error"] = json!(text::line(&failure.message, SHOWN));
                Err(Error::Model(failure))
            }
        };
        self.note(entry).await?;
        answer
    }

    /// The letter, with what skills found that run before the model is asked.
    async fn with_findings(&mut self, skills: &[Runnable]) -> Result<String, Error> {
        let mut letter = self.letter.clone();
        let request = &self.order.request;
        let names: Vec<&str> = self
            .setting
            .inputs
            .iter()
            .map(|input| &*input.name)
            .collect();
        let arguments = json!({
            "question": text::cut(&request.question, ARGUMENTS / 4),
            "context": text::cut(&request.context, ARGUMENTS / 4),
            "files": names,
        });
        for skill in skills.iter().filter(|skill| skill.auto) {
            let call = ToolCall {
                id: String::new(),
                name: skill.tool.name.clone(),
                arguments: arguments.clone(),
            };
            let told = self.call(skills, call).await?;
            let name = &skill.tool.name;
            letter.push_str(&format!(
                "\n## What the skill `{name}` found, run before you were asked\n\n{}\n",
                told.text
            ));
        }
        Ok(letter)
    }

    /// Do what the model asks for, or say why not. Only what makes all calls impossible is an
    /// error.
    async fn call(&mut self, skills: &[Runnable], call: ToolCall) -> Result<Ran, Error> {
        let arguments = call.arguments.to_string();
        let ran = match self.refusal(skills, &call, &arguments) {
            Ok(skill) => {
                self.calls += 1;
                let left = self.deadline.saturating_duration_since(Instant::now());
                let timeout = self
                    .order
                    .limits
                    .run
                    .min(left)
                    .max(Duration::from_millis(1));
                self.setting.run(skill, arguments.clone(), timeout).await?
            }
            Err(why) => Ran {
                text: why,
                is_error: true,
                outcome: "refused",
                ..Ran::default()
            },
        };
        self.finish(call.name, &arguments, ran).await
    }

    fn refusal<'a>(
        &self,
        skills: &'a [Runnable],
        call: &ToolCall,
        arguments: &str,
    ) -> Result<&'a Runnable, String> {
        let find = |skill: &&Runnable| skill.tool.name == call.name;
        let Some(skill) = skills.iter().find(find) else {
            let names: Vec<&str> = skills.iter().map(|skill| &*skill.tool.name).collect();
            return Err(format!(
                "There is no tool `{}`. Your tools: {}.",
                text::line(&call.name, 100),
                if names.is_empty() {
                    "none".to_owned()
                } else {
                    names.join(", ")
                }
            ));
        };
        if self.calls >= self.order.limits.calls {
            let most = self.order.limits.calls;
            return Err(format!("All {most} calls are used. Write the report now."));
        }
        if !call.arguments.is_object() {
            return Err("Arguments are a JSON object.".to_owned());
        }
        if arguments.len() > ARGUMENTS {
            return Err("The arguments are too long.".to_owned());
        }
        Ok(skill)
    }

    /// Keep what a call left, and write down that it was.
    async fn finish(&mut self, name: String, arguments: &str, mut ran: Ran) -> Result<Ran, Error> {
        let kept = self.keep_files(&mut ran).await?;
        if let Some(value) = ran.value.take() {
            self.last = serde_json::from_str(value.get()).ok();
        }
        if !kept.is_empty() {
            ran.text
                .push_str(&format!("\n\nKept files: {}", kept.join(", ")));
        }
        let asked: Vec<String> = ran
            .asked
            .iter()
            .take(20)
            .map(|asked| format!("{} {} {}", asked.tool, asked.name, asked.outcome))
            .collect();
        let entry = json!({
            "at": now(), "kind": "skill", "round": self.rounds, "tool": text::line(&name, 100),
            "arguments": text::cut(arguments, SHOWN), "outcome": ran.outcome,
            "duration_ms": ran.duration_ms, "level": ran.level, "host_tools": asked,
            "printed": ran.printed, "files": kept,
            "error": ran.is_error.then_some(&ran.text),
        });
        self.note(entry).await?;
        Ok(ran)
    }

    async fn keep_files(&mut self, ran: &mut Ran) -> Result<Vec<String>, Error> {
        let mut kept = Vec::new();
        for file in std::mem::take(&mut ran.files) {
            let size = file.size_bytes;
            let fits = self.files.len() < MOST_FILES
                && size <= FILE_BYTES
                && self.bytes + size <= ALL_BYTES;
            if !fits {
                let name = text::line(&file.name, 100);
                ran.text.push_str(&format!(
                    "\n\nThe file `{name}` is not kept: too large or too many."
                ));
                continue;
            }
            let is_taken = |name: &str| {
                let is_same = |(other, _): &(String, u64)| other.eq_ignore_ascii_case(name);
                self.files.iter().any(is_same)
            };
            let name = folder::free_name(&file.name, is_taken);
            let written = name.clone();
            self.write(
                move |folder| folder::write(folder, &written, &file.contents()?),
                &name,
            )
            .await?;
            self.bytes += size;
            self.files.push((name.clone(), size));
            kept.push(name);
        }
        Ok(kept)
    }

    async fn note(&self, entry: Value) -> Result<(), Error> {
        self.write(move |folder| folder::note(folder, &entry), folder::LOG)
            .await
    }

    async fn write(
        &self,
        job: impl FnOnce(&Path) -> std::io::Result<()> + Send + 'static,
        what: &str,
    ) -> Result<(), Error> {
        let folder = self.claim.path().to_owned();
        let done = work(move |_| job(&folder)).await;
        let done = done.map_err(|error| Error::Internal(error.message))?;
        done.map_err(Error::files(what))
    }

    /// What the last skill found, for a model that only words it.
    fn finding(&self) -> String {
        let Some(last) = &self.last else {
            return String::new();
        };
        let written = || text::cut(&last.to_string(), REPORT / 4);
        self.own_report().unwrap_or_else(written)
    }

    /// The report that a skill wrote itself, in the field `report` of what it returned.
    fn own_report(&self) -> Option<String> {
        let report = self.last.as_ref()?.get("report")?.as_str()?.trim();
        (!report.is_empty()).then(|| text::cut(report, REPORT))
    }

    /// Write the report, and then that it is there.
    pub(crate) async fn complete(&mut self) -> Result<(), Error> {
        if !self.files.is_empty() {
            self.report.push_str("\n\n## Files\n\n");
            for (name, size) in &self.files {
                self.report.push_str(&format!("- `{name}`, {size} bytes\n"));
            }
        }
        let report = format!("{}\n", self.report.trim_end());
        let result = self.result(ConsultationStatus::Complete, "ok", "");
        self.write(
            move |folder| folder::write(folder, folder::REPORT, report.as_bytes()),
            folder::REPORT,
        )
        .await?;
        self.write(
            move |folder| folder::write(folder, folder::RESULT, pretty(&result).as_bytes()),
            folder::RESULT,
        )
        .await
    }

    pub(crate) fn consultation(self) -> Consultation {
        let made = Consultation {
            consultation_id: self.claim.id().to_owned(),
            summary: prompt::summary(&self.report),
            report: self.report.trim_end().to_owned(),
            files: self.files.into_iter().map(|(name, _)| name).collect(),
            usage: self.usage,
        };
        self.claim.keep();
        made
    }

    /// Write why there is no report; after a cancel nothing is left.
    pub(crate) async fn fail(self, error: Error) -> Error {
        if matches!(error, Error::Cancelled) {
            return error;
        }
        let result = self.result(
            ConsultationStatus::Failed,
            error.code().as_str(),
            &error.to_string(),
        );
        let written = self
            .write(
                move |folder| {
                    // A report that was written before the failure is none.
                    let _ = std::fs::remove_file(folder.join(folder::REPORT));
                    folder::write(folder, folder::RESULT, pretty(&result).as_bytes())
                },
                folder::RESULT,
            )
            .await;
        if let Err(error) = written {
            tracing::warn!(%error, "how a consultation ended is not written");
        }
        self.claim.keep();
        error
    }

    fn result(&self, status: ConsultationStatus, outcome: &str, message: &str) -> Value {
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|(name, size)| json!({"name": name, "size_bytes": size}))
            .collect();
        json!({
            "consultation_id": self.claim.id(), "expert_id": self.order.expert.id,
            "status": status, "outcome": outcome, "message": message, "usage": self.usage,
            "files": files, "rounds": self.rounds, "calls": self.calls,
            "started_at": self.started, "ended_at": now(),
        })
    }
}

fn now() -> String {
    jiff::Timestamp::now().to_string()
}

fn milliseconds(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 1e4).round() / 10.0
}

/// Write what is known at the beginning, and that nothing else is.
fn begin(claim: &Claim, order: &Order, letter: &str, started: &str) -> Result<(), Error> {
    let mut request =
        serde_json::to_value(&order.request).map_err(|error| Error::Internal(error.to_string()))?;
    request["turn_index"] = json!(order.turn_index);
    request["asked_at"] = json!(started);
    let lost = json!({
        "consultation_id": claim.id(), "expert_id": order.expert.id, "status": ConsultationStatus::Lost,
        "outcome": "lost", "started_at": started,
        "message": "the consultation goes on, or its process ended before it did",
    });
    let put = |name: &str, text: &str| {
        folder::write(claim.path(), name, text.as_bytes()).map_err(Error::files(name))
    };
    put(folder::RESULT, &pretty(&lost))?;
    put(folder::REQUEST, &pretty(&request))?;
    put(folder::LETTER, letter)
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
