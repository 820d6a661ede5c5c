//! What a desktop brings along: a course, experts, a folder for sessions, and a model.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pillion_testing::{DEADLINE, TestContext, wait_for};
use serde_json::{Value, json};

use super::client::Client;
use super::model_server::ModelServer;

/// The key of the model, which must be seen by nobody but the model.
pub(super) const KEY: &str = "sk-it-4f1d0c9b7e2a-secret";
/// The chapter of most tests.
pub(super) const CHAPTER: &str = "basics/lists";
/// An upload that suits the chapter.
pub(super) const TABLE: &str = "item,price\npear,2\napple,3\nplum,5\n";

/// Files of the chapter `lists` of the course `basics`.
const LISTS: &[(&str, &str)] = &[
    (
        "chapter_context.md",
        "# Lists\n\nThe learner makes a list of prices and adds them up.\n",
    ),
    (
        "task_list.md",
        "# Tasks\n\n- **t1** Make a list\n- **t2** Add it up\n- **t3** Explain it\n",
    ),
    (
        "task_completion_principles.md",
        "A task is done when the learner has shown it.\n",
    ),
    (
        "consultation_config.yaml",
        "available_experts:\n  - table_expert\nbinding_rules: []\n",
    ),
    ("scripts/starter.py", "prices = [2, 3, 5]\n"),
    ("scripts/solution.py", "print(sum([2, 3, 5]))\n"),
    ("datasets/sales.csv", TABLE),
];
/// Files of a chapter that belongs to no course.
const ALONE: &[(&str, &str)] = &[
    ("chapter_context.md", "# Alone\n\nA chapter of its own.\n"),
    ("task_list.md", "- **only** Do it\n"),
    ("task_completion_principles.md", "Done is done.\n"),
];
/// Files of an expert with a skill in Python.
const EXPERT: &[(&str, &str)] = &[
    (
        "principles.md",
        "---\nexpert_id: table_expert\ntitle: Table expert\n\
         description: Looks at tables that a learner has uploaded.\n---\n\n\
         You are the table expert. Call your skills and tell what they found.\n",
    ),
    ("knowledge/tables.md", "A table has rows and columns.\n"),
    (
        "skills/count_rows.md",
        "---\nname: count_rows\ndescription: Counts to the number it is given.\n\
         python: count_rows.py\ntools: []\nparameters:\n  type: object\n  properties:\n    \
         rows:\n      type: integer\n---\n\nCounts rows.\n",
    ),
    (
        "skills/count_rows.py",
        "def run(rows=3, **_):\n    return {\"counted\": len(list(range(rows))) * 1000 + 7}\n",
    ),
];

/// A world for one test.
pub(super) struct World {
    pub(super) model: ModelServer,
    pub(super) context: TestContext,
}

impl World {
    /// A course, an expert and a model, spoken to as an endpoint of one's own.
    pub(super) fn new() -> Self {
        let model = ModelServer::start();
        let mut world = Self::without_model(model);
        let url = world.model.url();
        for (name, value) in [
            ("LLM_PROVIDER", "custom"),
            ("LLM_API_KEY", KEY),
            ("LLM_MODEL", "test-model"),
            ("LLM_BASE_URL", &url),
        ] {
            world.context.set_env(name, value);
        }
        world
    }

    /// The same with no word about the model.
    pub(super) fn without_model(model: ModelServer) -> Self {
        let mut context = TestContext::new();
        let base = context.base.clone();
        write_all(
            &base.join("curriculum/courses/basics/chapters/lists"),
            LISTS,
        );
        write_all(&base.join("curriculum/alone"), ALONE);
        write_all(&base.join("experts/table_expert"), EXPERT);
        fs::create_dir(base.join("sessions")).unwrap();
        for (name, folder) in [
            ("SESSIONS_DIR", "sessions"),
            ("CURRICULUM_DIR", "curriculum"),
            ("EXPERTS_DIR", "experts"),
        ] {
            context.set_env(name, base.join(folder));
        }
        // An empty value counts as unset.
        for name in [
            "MAIN_AGENTS_DIR",
            "CURRICULUM_TEMPLATES_DIR",
            "HOST",
            "PORT",
        ] {
            context.set_env(name, "");
        }
        Self { model, context }
    }

    /// The command that a desktop starts.
    pub(super) fn command(&self) -> Command {
        self.context
            .pillion_command(&["serve", "--desktop", "--port", "0"])
    }

    pub(super) fn serve(&self) -> Client {
        Client::start(self.command())
    }

    /// The folder of a session.
    pub(super) fn folder(&self, session: &str) -> PathBuf {
        self.context.base.join("sessions").join(session)
    }

    /// A file of a session, as JSON.
    pub(super) fn file(&self, session: &str, name: &str) -> Value {
        let path = self.folder(session).join(name);
        let text = fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The files of the session's turns, by name, with what is in them. A turn is synced to the
    /// disk after its end was told, and until a file is whole it has another name.
    pub(super) fn turns(&self, session: &str) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = files_below(&self.folder(session).join("turns"))
            .into_iter()
            .filter(|path| path.extension().is_none_or(|ending| ending != "new"))
            .map(|path| {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                (name, fs::read_to_string(&path).unwrap())
            })
            .collect();
        all.sort();
        all
    }

    /// Where this text is found in a file below the base, the prompts that the model got aside.
    pub(super) fn places_of(&self, text: &str) -> Vec<PathBuf> {
        let holds = |path: &PathBuf| {
            let bytes = fs::read(path).unwrap_or_default();
            bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        };
        let mut found = files_below(&self.context.base);
        found.retain(holds);
        found
    }

    /// A session as a desktop writes it, that has had these turns: messages and replies.
    pub(super) fn write_session(&self, session: &str, turns: &[(&str, &str)]) {
        let folder = self.folder(session);
        let status = json!({ "status": "not_started", "evidence": [] });
        let state = json!({
            "session_id": session,
            "chapter_id": CHAPTER,
            "turn_index": turns.len(),
            "subtask_status": {
                "t1": { "status": "completed", "evidence": ["made one"] },
                "t2": status,
                "t3": status,
            },
            "end_suggested": false,
            "end_confirmed": false,
            "constraints": {
                "max_input_length": 10000,
                "batch_error_log_every_n_turns": 5,
                "max_attempts_before_unlock": 3,
            },
            "current_instruction_version": 4,
            "attempts_since_last_progress": 0,
            "last_progress_turn": 0,
            "current_subtask_id": "t2",
            "consecutive_skips": 0,
            "skip_log": [],
        });
        let packet = json!({
            "current_focus": "adding up",
            "guidance_for_ca": "ask for the sum",
            "must_check": ["t2"],
            "nice_check": [],
            "instruction_version": 4,
            "lock_until": "checkpoint_reached",
            "allow_setup_helper_code": false,
            "setup_helper_scope": "none",
            "task_type": "core",
        });
        let mut files = vec![
            ("session_state.json".to_owned(), state.to_string()),
            ("instruction_packet.json".to_owned(), packet.to_string()),
            ("dynamic_report.md".to_owned(), "# Restored\n".to_owned()),
        ];
        for (at, (message, answer)) in turns.iter().enumerate() {
            files.push((format!("turns/{at:03}_user.txt"), (*message).to_owned()));
            files.push((format!("turns/{at:03}_companion.txt"), (*answer).to_owned()));
            files.push((format!("turns/{at:03}_turn_outcome.json"), "{}".to_owned()));
        }
        for (name, text) in &files {
            write_all(&folder, &[(name, text)]);
        }
    }
}

/// Write files, with the folders they are in.
pub(super) fn write_all(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// All files below a folder.
pub(super) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.append(&mut files_below(&path)),
            Ok(kind) if kind.is_file() => found.push(path),
            _ => {}
        }
    }
    found
}

/// Wait until something about a session holds, which another process makes so.
pub(super) fn eventually<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    wait_for(DEADLINE, what, || ready().ok_or("not yet"))
}
