//! A fake language server under supervision.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pillion_catalogue::Activity;
use pillion_process::Launch;
use pillion_protocol::Result;
use pillion_supervisor::{
    Ask, CallAnswer, CallRequest, Dialect, Notice, Opening, Pool, Replay, SidecarKind,
    SidecarLimits, SidecarSpec, Supervisor,
};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

/// Long enough for a busy machine; a test that works never waits for it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// Replays the texts it holds.
#[derive(Default)]
pub(crate) struct Documents {
    texts: Mutex<(u64, Vec<String>)>,
    pub(crate) opened: AtomicU64,
}

impl Documents {
    /// Hold one more text; says how to tell a running server.
    pub(crate) fn open(&self, text: &str) -> Notice {
        let mut texts = self.texts.lock().unwrap();
        texts.0 += 1;
        texts.1.push(text.to_owned());
        Notice {
            method: "open".into(),
            params: json!(text),
            stamp: Some(texts.0),
        }
    }
}

impl Opening for Documents {
    fn initialize(&self) -> Value {
        json!({ "rootUri": "file:///r" })
    }

    fn opened(&self, answer: &Value) {
        assert_eq!(answer["capabilities"]["hoverProvider"], true);
        self.opened.fetch_add(1, Ordering::SeqCst);
    }

    fn replay(&self) -> Replay {
        let texts = self.texts.lock().unwrap();
        let notices = texts.1.iter().map(|text| ("open".into(), json!(text)));
        Replay {
            stamp: texts.0,
            notices: notices.collect(),
        }
    }

    fn answer(&self, method: &str, params: &Value) -> Value {
        match method {
            "workspace/configuration" => json!({ "asked": params["items"] }),
            _ => Value::Null,
        }
    }
}

/// A fake server, its folder and its state.
pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) supervisor: Supervisor,
    pub(crate) pool: Arc<Pool>,
    pub(crate) documents: Arc<Documents>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(&[], |_| {})
    }

    /// A server with options, and with limits changed.
    pub(crate) fn with(
        options: &'static [&'static str],
        change: impl FnOnce(&mut SidecarLimits),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut limits = SidecarLimits {
            hello: DEADLINE,
            grace: DEADLINE,
            in_flight: 16,
            frame: 1 << 20,
            ..SidecarLimits::default()
        };
        change(&mut limits);
        let documents = Arc::new(Documents::default());
        let path = folder.path().to_owned();
        let spec = SidecarSpec {
            name: "fake".into(),
            kind: SidecarKind::Engine,
            workspace: path.clone(),
            dialect: Dialect::Lsp,
            limits,
            launch: Arc::new(move || Ok(launch(&path, options).into())),
            opening: Some(documents.clone()),
        };
        let supervisor = Supervisor::new(Activity::default());
        let pool = supervisor.pool("fake", 1, || spec);
        Self {
            folder,
            supervisor,
            pool,
            documents,
        }
    }

    pub(crate) async fn ask(&self, method: &'static str, params: Value) -> Result<Value> {
        let answer = self.call(method, params, true, DEADLINE).await?;
        Ok(serde_json::from_str(answer.result.get()).unwrap())
    }

    pub(crate) async fn call(
        &self,
        method: &'static str,
        params: Value,
        safe: bool,
        timeout: Duration,
    ) -> Result<CallAnswer> {
        let ask = Ask {
            method: method.into(),
            params: to_raw_value(&params).ok(),
            project: String::new(),
        };
        let call = CallRequest {
            ask,
            safe,
            timeout,
            parts: None,
            budget: pillion_catalogue::SendBudget::default(),
        };
        self.pool.call(call).await
    }

    pub(crate) fn notify(&self, method: &'static str, params: Value) {
        self.pool.notify(&Notice {
            method: method.into(),
            params,
            stamp: None,
        });
    }

    /// The methods that all processes were told, in order.
    pub(crate) fn told(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap();
        log.lines().map(str::to_owned).collect()
    }

    pub(crate) fn generation(&self) -> u64 {
        self.pool.status()[0].generation
    }
}

/// The methods of a log that the server answered.
pub(crate) fn methods(log: &Value) -> Vec<&str> {
    let entries = log.as_array().unwrap();
    entries.iter().map(|e| e[0].as_str().unwrap()).collect()
}

fn launch(folder: &Path, options: &[&str]) -> Launch {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/fake_lsp.py");
    Launch::new("python3")
        .args(["-I", "-S", "-u"])
        .arg(script)
        .arg(folder)
        .args(options)
}
