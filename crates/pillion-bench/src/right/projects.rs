//! The projects: pinned source archives, a Python with what their tests need, and how the
//! tests are run.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pillion_catalogue::Result;
use pillion_process::Launch;

use super::super::archives::{self, cache, run};
use super::super::stage::{Stage, cannot};

/// How long a run of tests may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// What is shown of what tests said.
const SHOWN: usize = 300;

/// What the tests of all projects need, pinned.
const PACKAGES: &[&str] = &[
    "pip==25.2",
    "pytest==8.4.2",
    "trio==0.31.0",
    "flask==3.1.2",
    "werkzeug==3.1.3",
    "click==8.3.0",
    "jinja2==3.1.6",
];
/// Changes with the list above.
const ENVIRONMENT: &str = "right-2";

/// A project.
#[derive(Debug)]
pub(super) struct Project {
    pub(super) name: &'static str,
    pub(super) package: &'static str,
    sha256: &'static str,
    /// The folder of its own modules.
    pub(super) source: &'static str,
    tests: &'static str,
    /// A test that races with what it starts.
    flaky: Option<&'static str>,
}

/// None of them is what pytest itself is made of: it would not start after a rename.
pub(super) const PROJECTS: &[Project] = &[
    Project {
        name: "flask",
        package: "flask==3.1.2",
        sha256: "bf656c15c80190ed628ad08cdfd3aaa35beb087855e2f494910aa3774cc4fd87",
        source: "src/flask",
        tests: "tests",
        flaky: None,
    },
    Project {
        name: "click",
        package: "click==8.3.0",
        sha256: "e7b8232224eba16f4ebe410c25ced9f7875cb5f3263ffc93cc3e8da705e229c4",
        source: "src/click",
        tests: "tests",
        flaky: Some("tests/test_utils.py::test_echo_via_pager"),
    },
    Project {
        name: "jinja2",
        package: "jinja2==3.1.6",
        sha256: "0137fb05990d35f1275a587e9aee6d56da821fc83491a0fb838183be43f66d6d",
        source: "src/jinja2",
        tests: "tests",
        flaky: None,
    },
    Project {
        name: "sqlparse",
        package: "sqlparse==0.5.3",
        sha256: "09f67787f56a0b16ecdbde1bfc7f5d9c3371ca683cfeaa8e6ff60b4807ec9272",
        source: "sqlparse",
        tests: "tests",
        flaky: None,
    },
];

/// What a run of tests gave.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) is_green: bool,
    pub(super) passed: usize,
    /// The tests that failed, by their names.
    pub(super) failed: Vec<String>,
    /// The end of what was said.
    pub(super) said: String,
}

impl Project {
    /// The project as its archive has it.
    pub(super) async fn fetched(&self, python: &Path, tell: impl FnOnce(&str)) -> Result<PathBuf> {
        archives::source(Launch::new(python), self.package, self.sha256, tell).await
    }

    /// Run its tests, but for some; up to the first that fails, if that is enough to know.
    pub(super) async fn tests(
        &self,
        python: &Path,
        root: &Path,
        without: &[String],
        first: bool,
    ) -> Result<Outcome> {
        self.run(python, root, &[self.tests.to_owned()], without, first)
            .await
    }

    /// Run some of its tests.
    pub(super) async fn run(
        &self,
        python: &Path,
        root: &Path,
        which: &[String],
        without: &[String],
        first: bool,
    ) -> Result<Outcome> {
        let mut launch = Launch::new(python)
            .args(["-B", "-m", "pytest", "-q", "--tb=line", "-rfE"])
            .args(["-p", "no:cacheprovider", "-o", "addopts="])
            .args(which)
            .env("PYTHONPATH", "src:.")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTHONHASHSEED", "0")
            .cwd(root);
        if first {
            launch = launch.arg("-x");
        }
        for name in without.iter().map(|name| &**name).chain(self.flaky) {
            launch = launch.args(["--deselect", name]);
        }
        let output = match launch.output(COMMAND_TIMEOUT).await {
            Ok(output) => output,
            // What hangs does not do what it did.
            Err(error) => {
                return Ok(Outcome {
                    is_green: false,
                    passed: 0,
                    failed: Vec::new(),
                    said: error.to_string(),
                });
            }
        };
        let lines: Vec<&str> = output.stdout.lines().collect();
        let failed = lines.iter().filter_map(|line| {
            let rest = line.strip_prefix("FAILED ");
            let rest = rest.or_else(|| line.strip_prefix("ERROR "))?;
            Some(rest.split(" - ").next().unwrap_or(rest).to_owned())
        });
        let counts = lines.iter().rev().find(|line| line.contains(" passed"));
        let passed = counts.and_then(|line| {
            let words: Vec<&str> = line.split([' ', ',']).collect();
            let at = words.iter().position(|word| *word == "passed")?;
            words.get(at.checked_sub(1)?)?.parse().ok()
        });
        let notes = lines.iter().filter(|line| {
            let begins = ["FAILED ", "ERROR ", "E  ", "ImportError", "/"];
            begins.iter().any(|word| line.starts_with(word))
        });
        let said: Vec<&str> = notes.copied().collect();
        let mut said = said.join(" | ");
        if said.is_empty() {
            said = output.stderr.trim().lines().last().unwrap_or("").to_owned();
        }
        Ok(Outcome {
            is_green: output.exit.success(),
            passed: passed.unwrap_or(0),
            failed: failed.collect(),
            said: said.chars().take(SHOWN).collect(),
        })
    }
}

/// A Python with all that the tests need, made once in pillion's cache.
pub(super) async fn environment(stage: &Stage, uv: Option<&Path>) -> Result<PathBuf> {
    let folder = cache()?.join(ENVIRONMENT);
    let python = folder.join("bin/python");
    if folder.join("ready").exists() {
        return Ok(python);
    }
    let own = &stage.interpreter.executable;
    match uv {
        Some(uv) => {
            let make = Launch::new(uv).args(["venv", "--quiet", "--clear", "--python"]);
            run(make.arg(own).arg(&folder), "the environment").await?;
            let install = Launch::new(uv).args(["pip", "install", "--quiet", "--python"]);
            run(install.arg(&python).args(PACKAGES), "the packages").await?;
        }
        None => {
            let make = Launch::new(own).args(["-m", "venv", "--clear"]);
            run(make.arg(&folder), "the environment").await?;
            let install = Launch::new(&python).args(["-m", "pip", "install", "--quiet"]);
            run(install.args(PACKAGES), "the packages").await?;
        }
    }
    fs::write(folder.join("ready"), "").map_err(|error| cannot(&error))?;
    Ok(python)
}

/// Copy a tree.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    for (path, bytes) in files(from)? {
        let to = to.join(path);
        to.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(to, bytes))
            .map_err(|error| cannot(&error))?;
    }
    Ok(())
}

/// Every file below a folder, but for what Python compiled.
pub(super) fn files(root: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    fn below(root: &Path, at: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) -> io::Result<()> {
        for entry in fs::read_dir(root.join(at))? {
            let entry = entry?;
            let path = at.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() && entry.file_name() != "__pycache__" {
                below(root, &path, found)?;
            } else if kind.is_file() {
                found.insert(path.clone(), fs::read(root.join(path))?);
            }
        }
        Ok(())
    }
    let mut found = BTreeMap::new();
    below(root, Path::new(""), &mut found).map_err(|error| cannot(&error))?;
    Ok(found)
}

/// Files that are not as they were, and modules that were not there. What else tests leave
/// behind is their business.
pub(super) fn differences(
    root: &Path,
    before: &BTreeMap<PathBuf, Vec<u8>>,
) -> Result<Vec<PathBuf>> {
    let now = files(root)?;
    let is_python = |path: &PathBuf| path.extension().is_some_and(|end| end == "py");
    let new = now
        .keys()
        .filter(|p| !before.contains_key(*p) && is_python(p));
    let changed = before
        .iter()
        .filter(|(path, bytes)| now.get(*path) != Some(*bytes));
    Ok(new.chain(changed.map(|(path, _)| path)).cloned().collect())
}

/// Write every file as it was, so that the next refactoring begins there.
pub(super) fn restore(root: &Path, before: &BTreeMap<PathBuf, Vec<u8>>) -> Result<()> {
    for path in differences(root, before)? {
        let done = match before.get(&path) {
            Some(bytes) => fs::write(root.join(&path), bytes),
            None => fs::remove_file(root.join(&path)),
        };
        done.map_err(|error| cannot(&error))?;
    }
    Ok(())
}
