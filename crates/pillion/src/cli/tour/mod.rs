//! `pillion tour`: a walk through pillion with real calls and measured times.

mod code;
mod guide;
mod lanes;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use pillion::system::{Status, StatusReport};
use pillion::{Caller, Code, Error, Operation, Part, Result};
use pillion_process::Launch;
use pillion_process::stat::Identity;
use pillion_python::operations::Called;
use pillion_runtime::Interpreter;
use pillion_terminal::tools;
use serde_json::{Value, json};

use super::backend::Backend;
use super::{Global, output, progress};
use guide::{Stop, millis};

/// What the tour calls.
const EXAMPLE: &str = include_str!("example.py");
/// How often a warm call is measured.
const WARM_CALLS: usize = 200;

/// Walk through pillion on this terminal, with real calls.
#[derive(Debug, Args)]
pub(crate) struct Tour {
    /// The interpreter to use instead of the managed environment's.
    #[arg(long, value_name = "PYTHON")]
    python: Option<PathBuf>,
}

impl Tour {
    pub(crate) async fn run(self, global: &Global) -> Result<ExitCode> {
        guide::welcome();
        let (python, has_tools) = self.python().await?;
        let project = project()?;
        let tour = Walk {
            backend: Backend::open(global).await?,
            python,
            root: project.clone(),
            has_tools,
        };
        let walked = tour.walk().await;
        tour.backend.close().await;
        let _ = std::fs::remove_dir_all(&project);
        walked?;
        guide::farewell();
        Ok(ExitCode::SUCCESS)
    }

    /// The Python of the tour: the managed environment, with numpy. Without a network the
    /// tour goes on with the Python of this machine.
    async fn python(&self) -> Result<(PathBuf, bool)> {
        if let Some(python) = &self.python {
            return Ok((super::caller::from_here(python), false));
        }
        let begun = Instant::now();
        let managed = tools::managed().await?;
        match tools::ensure(&managed).await {
            Ok(Interpreter {
                executable,
                version,
                ..
            }) => {
                output::say(&format!(
                    "The managed environment is ready: Python {version}, {} ({}).",
                    managed.path().display(),
                    millis(begun.elapsed())
                ));
                Ok((executable, true))
            }
            Err(error) => {
                output::warn(&format!(
                    "no managed environment, so no numpy on this tour: {error}"
                ));
                let nowhere = std::env::temp_dir();
                let request = pillion_runtime::discovery::DiscoveryRequest::new(&nowhere);
                let dirs = pillion_runtime::Dirs::from_env();
                let found = pillion_runtime::discovery::find(request, &dirs).await;
                let choice = found
                    .map_err(|e| Error::new(Code::PythonNotFound, e.to_string()).hint(e.hint()))?;
                Ok((choice.interpreter.executable, false))
            }
        }
    }
}

/// A project of its own, so that the tour touches nothing of the user's.
fn project() -> Result<PathBuf> {
    let dir = std::env::temp_dir().join(format!("pillion-tour-{}", std::process::id()));
    let written = std::fs::create_dir_all(&dir)
        .and_then(|()| std::fs::write(dir.join("example.py"), EXAMPLE))
        .and_then(|()| dir.canonicalize());
    written.map_err(|error| {
        Error::new(
            Code::StartFailed,
            format!("cannot write `{}`: {error}", dir.display()),
        )
        .hint("set TMPDIR to a folder that can be written")
    })
}

struct Walk {
    backend: Backend,
    python: PathBuf,
    root: PathBuf,
    has_tools: bool,
}

impl Walk {
    async fn walk(&self) -> Result<()> {
        self.daemon().await?;
        self.cold_and_warm().await?;
        if self.has_tools {
            self.imports().await?;
        }
        self.in_step_with_files().await?;
        if self.has_tools {
            // The same environment has the engines.
            self.code().await?;
        }
        self.code_of_others().await?;
        self.prints().await?;
        self.killed_worker().await?;
        self.stream().await?;
        self.errors().await;
        self.status().await
    }

    async fn daemon(&self) -> Result<()> {
        let stop = Stop::new("One daemon for all your programs");
        let status: StatusReport = self.backend.ask("system.status", json!({})).await?;
        stop.say(&match status.socket {
            Some(socket) => format!("pid {}, socket {socket}", status.pid),
            None => format!("embedded in this process, pid {}", status.pid),
        });
        Ok(())
    }

    async fn cold_and_warm(&self) -> Result<()> {
        let stop = Stop::new("A call: `pillion call example:mean '{\"data\": [1, 2, 3]}'`");
        let one_shot = self
            .one_shot("import example; print(example.mean([1, 2, 3]))")
            .await?;
        let params = json!({ "data": [1, 2, 3] });
        let (cold, called) = self.timed("example:mean", &params).await?;
        let warm = self.warm("example:mean", &params).await?;
        stop.say(&format!("answer {}", called.result));
        stop.times(&[
            ("a fresh `python3 -c` each time", one_shot),
            ("first call: worker started", cold),
            ("every call after it (median)", warm),
        ]);
        Ok(())
    }

    async fn imports(&self) -> Result<()> {
        let stop = Stop::new("Imports are paid once: numpy");
        let one_shot = self
            .one_shot("import example; print(example.norm([3, 4]))")
            .await?;
        let params = json!({ "vector": [3, 4] });
        let (first, called) = self.timed("example:norm", &params).await?;
        let warm = self.warm("example:norm", &params).await?;
        stop.say(&format!("answer {}", called.result));
        stop.times(&[
            ("a fresh `python3 -c` each time", one_shot),
            ("first call: numpy imported", first),
            ("every call after it (median)", warm),
        ]);
        Ok(())
    }

    async fn in_step_with_files(&self) -> Result<()> {
        let stop = Stop::new("Never stale: edit the file, call again, no waiting");
        let file = self.root.join("example.py");
        let edited = EXAMPLE.replace("f\"hello {name}\"", "f\"good morning {name}\"");
        let (_, before) = self
            .timed("example:greet", &json!({ "name": "Ada" }))
            .await?;
        std::fs::write(&file, edited).map_err(Error::internal)?;
        let (took, after) = self
            .timed("example:greet", &json!({ "name": "Ada" }))
            .await?;
        stop.say(&format!("before the edit {}", before.result));
        stop.say(&format!(
            "after it        {}   ({}, worker generation {} -> {})",
            after.result,
            millis(took),
            before.worker.generation,
            after.worker.generation
        ));
        Ok(())
    }

    async fn prints(&self) -> Result<()> {
        let stop = Stop::new("`print`, C libraries and child processes cannot break the protocol");
        let (_, called) = self
            .timed("example:greet", &json!({ "name": "Grace" }))
            .await?;
        stop.say(&format!(
            "answer {}, although the function prints on the way",
            called.result
        ));
        Ok(())
    }

    async fn killed_worker(&self) -> Result<()> {
        let stop = Stop::new("kill -9 in the middle of a call");
        for idempotent in [true, false] {
            let (_, called) = self.timed("example:mean", &json!({ "data": [1] })).await?;
            let worker = called.worker.pid.and_then(Identity::of);
            let begun = Instant::now();
            let params = self.params("example:slow", &json!([0.3]), idempotent);
            let call = self.backend.ask::<Called>("py.call", params);
            let kill = async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                worker.is_some_and(|worker| worker.kill())
            };
            let (answer, killed) = tokio::join!(call, kill);
            let words = match answer {
                Ok(called) => format!(
                    "answered {} by its successor, generation {}, after {}",
                    called.result,
                    called.worker.generation,
                    millis(begun.elapsed())
                ),
                Err(error) => format!("`{}`: {}", error.code, error.message),
            };
            let kind = if idempotent {
                "safe to repeat"
            } else {
                "not safe    "
            };
            stop.say(&format!("{kind} (killed: {killed}): {words}"));
        }
        Ok(())
    }

    async fn stream(&self) -> Result<()> {
        let stop =
            Stop::new("A generator is a stream: `pillion call --stream example:count '[5]'`");
        let mut params = self.params("example:count", &json!([5]), true);
        params["stream"] = true.into();
        let params = serde_json::value::to_raw_value(&params).map_err(Error::internal)?;
        let begun = Instant::now();
        self.backend
            .call(
                &Caller::default(),
                "py.call",
                &params,
                true,
                |part| match part {
                    Part::Item(item) => {
                        stop.say(&format!("{} item {item}", millis(begun.elapsed())));
                    }
                    Part::Progress(news) => {
                        stop.say(&format!("          {}", progress::line(news.get())));
                    }
                },
            )
            .await?;
        Ok(())
    }

    async fn errors(&self) {
        let stop = Stop::new("Errors say what happened and what to do next");
        for (function, params) in [
            ("example:meen", json!([])),
            ("example:mean", json!({ "data": [] })),
        ] {
            let asked = self.params(function, &params, false);
            if let Err(error) = self.backend.ask::<Called>("py.call", asked).await {
                stop.say(&format!("`{}` {}", error.code, error.message));
                if let Some(hint) = error
                    .hint
                    .as_deref()
                    .and_then(|hint| hint.split(" It was").next())
                {
                    stop.say(&format!("  hint: {hint}"));
                }
            }
        }
    }

    async fn status(&self) -> Result<()> {
        let _stop = Stop::new("`pillion status`");
        let status: Value = self.backend.ask(Status::NAME, json!({})).await?;
        let text = Status::text(&status.to_string());
        output::say(&text.unwrap_or_else(|| status.to_string()));
        Ok(())
    }

    /// Parameters of a call into the tour's own project.
    fn params(&self, function: &str, params: &Value, idempotent: bool) -> Value {
        json!({
            "function": function, "params": params, "idempotent": idempotent,
            "root": self.root, "python": self.python,
        })
    }

    async fn timed(&self, function: &str, params: &Value) -> Result<(Duration, Called)> {
        let params = self.params(function, params, false);
        let begun = Instant::now();
        let called = self.backend.ask("py.call", params).await?;
        Ok((begun.elapsed(), called))
    }

    /// The median of many.
    async fn warm(&self, function: &str, params: &Value) -> Result<Duration> {
        let mut times = Vec::with_capacity(WARM_CALLS);
        for _ in 0..WARM_CALLS {
            times.push(self.timed(function, params).await?.0);
        }
        times.sort_unstable();
        Ok(times[WARM_CALLS / 2])
    }

    /// What the same costs without pillion.
    async fn one_shot(&self, code: &str) -> Result<Duration> {
        one_shot(&self.python, &self.root, code).await
    }
}

async fn one_shot(python: &Path, root: &Path, code: &str) -> Result<Duration> {
    let begun = Instant::now();
    // The example imports pillion's decorators, which only workers have on their path.
    let code =
        format!("import sys, types; sys.modules['pillion'] = types.ModuleType('pillion'); {code}");
    let launch = Launch::new(python).args(["-c", &code]).cwd(root);
    let output = launch
        .output(Duration::from_secs(60))
        .await
        .map_err(|error| {
            Error::new(Code::StartFailed, error.to_string())
                .hint("`pillion doctor` shows what is wrong")
        })?;
    if !output.exit.success() {
        let message = format!("`python -c` {}: {}", output.exit, output.stderr.trim());
        return Err(
            Error::new(Code::StartFailed, message).hint("`pillion doctor` shows what is wrong")
        );
    }
    Ok(begun.elapsed())
}
