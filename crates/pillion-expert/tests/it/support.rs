//! A session and an expert of its own for each test, and a model that follows a script.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pillion_catalogue::{Activity, CancellationToken};
use pillion_course::{Expert, Skill};
use pillion_expert::{
    Consultant, Consultation, ConsultationLimits, Consultations, Error, ExpertRequest, Order,
    PendingCompletion, SessionFolders,
};
use pillion_lanes::{Executor, Whereabouts};
use pillion_model::{ChatMessage, Completion, ModelErrorKind, Prompt, ToolCall, Usage};
use pillion_project::Projects;
use pillion_runtime::Dirs;
use pillion_supervisor::Supervisor;
use serde_json::Value;

/// Long enough for a busy machine; a test that works never waits for it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);

pub(crate) type Future = Pin<Box<dyn std::future::Future<Output = ()> + Send>>;

/// Run a test in a folder of its own.
pub(crate) fn run(test: fn(Lab) -> Future) {
    let home = tempfile::Builder::new()
        .prefix("it-")
        .tempdir_in("/tmp")
        .unwrap();
    run_in(home.path(), test);
}

/// One thread as in the daemon, and everything ended afterwards.
pub(crate) fn run_in(base: &Path, test: fn(Lab) -> Future) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let lab = Lab::new(base);
        let supervisor = Arc::clone(&lab.supervisor);
        // As a task, as in the daemon: whatever it panics with, the rest is ended.
        let task = tokio::spawn(async move {
            tokio::time::timeout(2 * DEADLINE, test(lab)).await.unwrap();
        });
        let done = task.await;
        supervisor.stop_all(Duration::from_secs(10)).await;
        if let Err(error) = done {
            std::panic::resume_unwind(error.into_panic());
        }
    });
}

/// The folders of a session, an expert, and what runs its skills.
pub(crate) struct Lab {
    base: PathBuf,
    supervisor: Arc<Supervisor>,
    pub(crate) executor: Arc<Executor>,
    pub(crate) expert: Expert,
    pub(crate) limits: ConsultationLimits,
    pub(crate) cancel: CancellationToken,
}

impl Lab {
    fn new(base: &Path) -> Self {
        for name in [
            "expert/skills",
            "project",
            "working_files",
            "user_workspace",
        ] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        let dirs = Dirs::under(base.join("pillion"));
        let supervisor = Arc::new(Supervisor::new(Activity::default()));
        let projects = Arc::new(Projects::new(dirs));
        let executor = Executor::new(projects, Activity::default(), Arc::clone(&supervisor));
        Self {
            supervisor,
            executor: Arc::new(executor),
            expert: Expert {
                id: "tester".to_owned(),
                title: "Tester".to_owned(),
                description: "Tries things.".to_owned(),
                folder: base.join("expert"),
                principles: "Be exact.".to_owned(),
                knowledge: Vec::new(),
                skills: Vec::new(),
                output_types: Vec::new(),
                scenarios: Vec::new(),
                metadata: serde_json::Map::new(),
                files: Vec::new(),
            },
            limits: ConsultationLimits {
                run: DEADLINE,
                whole: DEADLINE,
                ..ConsultationLimits::default()
            },
            cancel: CancellationToken::new(),
            base: base.to_owned(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    /// A skill with this Python and these tools.
    pub(crate) fn skill(&mut self, name: &str, tools: &[&str], code: &str) {
        let python = self.path(&format!("expert/skills/{name}.py"));
        fs::write(&python, code).unwrap();
        self.expert.skills.push(Skill {
            name: name.to_owned(),
            description: format!("The skill {name}."),
            text: format!("How to use {name}."),
            python: Some(python),
            auto: false,
            tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
            parameters: None,
        });
    }

    pub(crate) fn data(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.path("working_files").join(name), contents).unwrap();
    }

    pub(crate) fn order(&self, question: &str) -> Order {
        Order {
            places: SessionFolders {
                expert_workspace: self.path("expert_workspace"),
                working_files: self.path("working_files"),
                user_workspace: self.path("user_workspace"),
            },
            expert: self.expert.clone(),
            request: ExpertRequest {
                expert_id: self.expert.id.clone(),
                question: question.to_owned(),
                ..ExpertRequest::default()
            },
            turn_index: Some(1),
            whereabouts: Whereabouts {
                root: self.path("project"),
                ..Whereabouts::default()
            },
            cancel: self.cancel.clone(),
            limits: self.limits,
        }
    }

    pub(crate) fn consultations(&self) -> Consultations {
        Consultations::new(Arc::clone(&self.executor))
    }

    pub(crate) async fn consult(&self, model: &Script) -> Result<Consultation, Error> {
        let order = self.order("What is it?");
        Box::pin(self.consultations().consult(order, model)).await
    }

    /// Call one skill once: what the model was told, and whether as an error.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> (String, bool) {
        let model = Script::new([calls(&[(name, arguments)]), says("Summary: done.")]);
        self.consult(&model).await.unwrap();
        model.told().remove(0)
    }

    pub(crate) fn folder(&self, id: &str) -> PathBuf {
        self.path("expert_workspace/consultations").join(id)
    }

    /// All consultations there are.
    pub(crate) fn folders(&self) -> Vec<String> {
        names(&self.path("expert_workspace/consultations"))
    }

    pub(crate) fn result(&self, id: &str) -> Value {
        let text = fs::read_to_string(self.folder(id).join("result.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    pub(crate) fn transcript(&self, id: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.folder(id).join("transcript.jsonl")).unwrap();
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut all: Vec<String> = folder
        .read_dir()
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    all.sort();
    all
}

/// What a scripted model does next.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Answers(Completion),
    Fails,
    Hangs,
}

/// Stands for an endpoint: gives what its script says, and remembers what it was asked.
#[derive(Debug)]
pub(crate) struct Script {
    steps: Mutex<VecDeque<Step>>,
    pub(crate) asked: Mutex<Vec<Prompt>>,
    /// Told when it is asked.
    pub(crate) began: tokio::sync::Notify,
    /// Lives as long as a call that hangs.
    pub(crate) hanging: Arc<()>,
}

impl Script {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            steps: Mutex::new(steps.into_iter().collect()),
            asked: Mutex::default(),
            began: tokio::sync::Notify::new(),
            hanging: Arc::new(()),
        }
    }

    /// Results of tools that it was told, in the last question.
    pub(crate) fn told(&self) -> Vec<(String, bool)> {
        let asked = self.asked.lock().unwrap();
        let messages = &asked.last().unwrap().messages;
        let results = messages.iter().filter_map(|message| match message {
            ChatMessage::ToolResult {
                content, is_error, ..
            } => Some((content.clone(), *is_error)),
            _ => None,
        });
        results.collect()
    }

    /// The letter that it was sent.
    pub(crate) fn letter(&self) -> String {
        match &self.asked.lock().unwrap()[0].messages[0] {
            ChatMessage::User(text) => text.clone(),
            other => panic!("{other:?}"),
        }
    }
}

impl Consultant for Script {
    fn ask<'a>(&'a self, prompt: &'a Prompt) -> PendingCompletion<'a> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(prompt.clone());
            self.began.notify_one();
            let step = self.steps.lock().unwrap().pop_front();
            match step.unwrap_or(Step::Fails) {
                Step::Answers(answer) => Ok(answer),
                Step::Fails => Err(pillion_model::Error {
                    kind: ModelErrorKind::Overloaded,
                    message: "the endpoint is overloaded".to_owned(),
                    hint: "wait".to_owned(),
                    retry_after: None,
                }),
                Step::Hangs => {
                    let _held = Arc::clone(&self.hanging);
                    std::future::pending().await
                }
            }
        })
    }
}

const COST: Usage = Usage {
    input_tokens: 10,
    output_tokens: 3,
    estimated: false,
};

pub(crate) fn says(text: &str) -> Step {
    Step::Answers(Completion {
        text: text.to_owned(),
        usage: COST,
        ..Completion::default()
    })
}

pub(crate) fn calls(all: &[(&str, Value)]) -> Step {
    let call = |(number, (name, arguments)): (usize, &(&str, Value))| ToolCall {
        id: format!("call_{number}"),
        name: (*name).to_owned(),
        arguments: arguments.clone(),
    };
    Step::Answers(Completion {
        tool_calls: all.iter().enumerate().map(call).collect(),
        usage: COST,
        ..Completion::default()
    })
}

/// What the host sees of a skill that calls itself so, and never ends.
pub(crate) const ENDLESS: &str = "
import ctypes, time
def run():
    ctypes.CDLL(None).prctl(15, b'endless-skill')
    while True:
        time.sleep(0.01)
";

/// Whether such a skill runs.
pub(crate) fn is_endless_running() -> bool {
    let below = pillion_process::descendants(std::process::id());
    below.iter().any(|pid| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| name.trim() == "endless-skill")
    })
}

/// Until something is so.
pub(crate) async fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let end = tokio::time::Instant::now() + DEADLINE;
    while !is_so() {
        assert!(tokio::time::Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
