//! Imports in order: ruff's rule `I`, under the project's own configuration.
//!
//! Sorting and grouping only. Unused imports go if that is asked for, and never from an
//! `__init__.py`, where they are what a package offers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use pillion_catalogue::{Code, Error, Result, work};
use pillion_engines::ruff;
use pillion_engines::tools;
use pillion_index::source::Source;
use pillion_process::{Launch, StreamTarget};
use pillion_runtime::Dirs;
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{NewText, Refactored, syntax_error};

/// Files that are fixed at the same time.
const AT_ONCE: usize = 2;
/// Files that ruff is asked about by one command.
const MANY: usize = 500;
/// The most that ruff's answer about one file can be.
const MAX_ANSWER: u64 = 64 << 20;

/// How imports are put in order.
#[derive(Debug, Clone)]
pub struct Organize {
    /// The workspace.
    pub root: PathBuf,
    /// The ruff to use.
    pub ruff: PathBuf,
    /// Settings beside the project's own, as `key=value` of TOML.
    pub config: Vec<String>,
    /// Take imports away that nothing uses.
    pub remove_unused: bool,
    /// How long ruff may take for each of its runs.
    pub timeout: Duration,
}

#[derive(Deserialize)]
struct Found {
    filename: PathBuf,
}

/// What became of one file.
enum Outcome {
    Same,
    New(NewText),
    Left(String),
}

/// The ruff to use: that of the managed environment.
pub async fn program(dirs: &Dirs) -> Result<PathBuf> {
    tools::ruff(dirs).await
}

impl Organize {
    /// Put the imports of these files in order. A file with a syntax error is left alone.
    pub async fn run(&self, files: &[Arc<str>]) -> Result<Refactored> {
        let files = match files.len() {
            // Asking first pays when most files are in order already.
            0..=4 => files.to_vec(),
            _ => self.suspects(files).await?,
        };
        let outcomes: Vec<Outcome> = stream::iter(files)
            .map(|file| async move { self.one(&file).await })
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        let mut done = Refactored::default();
        for outcome in outcomes {
            match outcome {
                Outcome::Same => {}
                Outcome::New(text) => done.files.push(text),
                Outcome::Left(why) => done.warnings.push(why),
            }
        }
        Ok(done)
    }

    /// The files that ruff would change, and those that it cannot judge.
    pub(crate) async fn suspects(&self, files: &[Arc<str>]) -> Result<Vec<Arc<str>>> {
        let mut found = std::collections::HashSet::new();
        for some in files.chunks(MANY) {
            let launch = self
                .launch(self.remove_unused)
                .args(["--exit-zero", "--output-format", "json-lines", "--"])
                .args(some.iter().map(|file| &**file));
            let output = launch
                .output(self.timeout)
                .await
                .map_err(|error| failed(&error.to_string()))?;
            let fell_over = ruff::fell_over(output.exit);
            if !output.exit.success() && !fell_over {
                return Err(refused(&output.stderr));
            }
            if output.is_cut || fell_over {
                // Who knows of which others it had something to say.
                found.extend(some.iter().map(|file| self.root.join(&**file)));
            }
            for line in output.stdout.lines() {
                if let Ok(Found { filename }) = serde_json::from_str(line) {
                    found.insert(filename);
                }
            }
        }
        let (root, mut files) = (self.root.clone(), files.to_vec());
        let choose = work(move |token| {
            let is_plain = |path: &Path| {
                let bytes = std::fs::read(path).unwrap_or_default();
                Source::decode(&bytes).is_plain()
            };
            files.retain(|file| {
                let path = root.join(&**file);
                found.contains(&path) || !token.is_cancelled() && !is_plain(&path)
            });
            files
        });
        choose.await
    }

    async fn one(&self, file: &str) -> Result<Outcome> {
        let bytes = match tokio::fs::read(self.root.join(file)).await {
            Ok(bytes) => bytes,
            Err(error) => return Ok(Outcome::Left(format!("{file}: cannot be read: {error}"))),
        };
        let source = Source::decode(&bytes);
        let text = source.text();
        if let Some(why) = syntax_error(text, file) {
            return Ok(Outcome::Left(format!(
                "{file}: left alone, syntax error: {why}"
            )));
        }
        let Some(new) = self.fixed(file, text).await? else {
            return Ok(Outcome::Left(format!(
                "{file}: left alone, ruff falls over it"
            )));
        };
        if new == text {
            return Ok(Outcome::Same);
        }
        let emptied = new.trim().is_empty() && !self.remove_unused;
        if emptied || syntax_error(&new, file).is_some() {
            return Ok(Outcome::Left(format!(
                "{file}: left alone, ruff would break it"
            )));
        }
        Ok(Outcome::New(NewText {
            path: file.to_owned(),
            text: new,
        }))
    }

    fn launch(&self, unused: bool) -> Launch {
        let rules = if unused { "I,F401" } else { "I" };
        // The project may have more rules switched on, which are not asked about here.
        let rules = ["--select", rules, "--fixable", rules];
        let config = self.config.iter().flat_map(|one| ["--config", one]);
        ruff::command(&self.ruff, &self.root)
            .args(rules)
            .args(config)
    }

    /// The text as ruff would have it; nothing if it falls over it.
    pub(crate) async fn fixed(&self, file: &str, text: &str) -> Result<Option<String>> {
        let unused = self.remove_unused && !is_package(file);
        let launch = self
            .launch(unused)
            .args(["--fix-only", "--stdin-filename", file, "-"])
            .stdin(StreamTarget::Piped)
            .stdout(StreamTarget::Piped)
            .stderr(StreamTarget::Piped);
        let mut running = launch.spawn().map_err(|error| failed(&error.to_string()))?;
        let (stdin, stdout, stderr) = (
            running.take_stdin(),
            running.take_stdout(),
            running.take_stderr(),
        );
        let work = async {
            let write = async {
                if let Some(mut stdin) = stdin {
                    // It may end before it has read everything; how it ended says why.
                    let _ = stdin.write_all(text.as_bytes()).await;
                    let _ = stdin.shutdown().await;
                }
            };
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let read_out = async {
                if let Some(stdout) = stdout {
                    let _ = stdout.take(MAX_ANSWER).read_to_end(&mut out).await;
                }
            };
            let read_err = async {
                if let Some(stderr) = stderr {
                    let _ = stderr.take(MAX_ANSWER).read_to_end(&mut err).await;
                }
            };
            tokio::join!(write, read_out, read_err);
            (running.wait().await, out, err)
        };
        let (exit, out, err) = tokio::time::timeout(self.timeout, work)
            .await
            .map_err(|_| Error::new(Code::Timeout, "ruff did not answer in time"))?;
        if ruff::fell_over(exit) {
            return Ok(None);
        }
        if !exit.success() {
            return Err(refused(&String::from_utf8_lossy(&err)));
        }
        let text = String::from_utf8(out);
        text.map(Some).map_err(|_| failed("its answer is no UTF-8"))
    }
}

/// A file whose imports are what a package offers.
fn is_package(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    matches!(name, "__init__.py" | "__init__.pyi")
}

fn failed(why: &str) -> Error {
    Error::new(Code::Crashed, format!("ruff did not answer: {why}"))
}

fn refused(stderr: &str) -> Error {
    let lines: Vec<&str> = stderr
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    let why = lines.first().unwrap_or(&"it failed");
    Error::new(Code::InvalidConfig, format!("ruff refuses: {why}"))
        .hint("check the project's ruff configuration")
}

/// The Python files at or below a path of the workspace.
pub fn below<'a>(files: impl Iterator<Item = &'a Arc<str>>, path: &Path) -> Vec<Arc<str>> {
    files
        .filter(|file| Path::new(&***file).starts_with(path))
        .cloned()
        .collect()
}
