//! `pillion bench impact`: whether `change_impact` finds the tests that fail.
//!
//! A function of a real project is broken (it raises at once), the map is asked which tests
//! the change can reach, and all tests of the project are run. Recall is the share of the
//! tests that fail and were named; beside it stands the share of all tests that was named,
//! because to name all of them is no art. Which functions are broken only the seed decides.
//! What already runs when the package is imported is left out: it fails every test.

mod projects;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use pillion_catalogue::{Code, Error, Result};
use pillion_process::{Launch, ProgramOutput};
use pillion_terminal::{output, tools};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Plan;
use super::archives;
use super::code::asked;
use super::report::{Budget, Figure, Row, Unit};
use super::stage::{Stage, cannot};
use super::wire::{Wire, request};
use projects::{PROJECTS, Project};

/// Groups of rows, as their names begin.
pub(super) const GROUPS: &[&str] = &["recall", "selected"];

/// The share of failing tests that must be named.
const RECALL: f64 = 97.0;
/// How long one run of a project's tests may take, and installing what they need.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Seconds after which a test hangs.
const HANGING: &str = "60";

const MUTANTS: &str = include_str!("mutants.py");
const PLUGIN: &str = include_str!("impact_plugin.py");

/// Break functions of real projects, and see whether the tests that fail were foretold.
#[derive(Debug, Args)]
pub(crate) struct ImpactBench {
    /// Only this project: `werkzeug`, `httpx`, `click` or `flask`.
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Functions to break in each project.
    #[arg(long, value_name = "N", default_value_t = 20)]
    count: usize,
    /// Which functions these are.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Do not ask the engine for types.
    #[arg(long)]
    no_types: bool,
    /// Tell of each function that is broken, with the tests that were not foretold.
    #[arg(long)]
    show: bool,
}

/// A function to break.
#[derive(Debug, Deserialize)]
struct Mutant {
    file: String,
    name: String,
    line: usize,
    column: usize,
}

/// How a run of all tests ended.
#[derive(Debug, Default, Deserialize)]
struct Outcome {
    passed: BTreeSet<String>,
    failed: BTreeSet<String>,
    /// Whether pytest itself gave up before all of them had run.
    broke_off: bool,
}

impl Outcome {
    /// The tests that passed before and do not any more. One that was not reached is none.
    fn failing_since<'a>(&self, before: &'a Self) -> Vec<&'a String> {
        let fails = |test: &&String| match self.broke_off {
            true => self.failed.contains(*test),
            false => !self.passed.contains(*test),
        };
        before.passed.iter().filter(fails).collect()
    }
}

/// What was counted in one project.
#[derive(Debug, Default)]
struct Tally {
    mutants: usize,
    failing: usize,
    foretold: usize,
    selected: usize,
    all: usize,
}

impl ImpactBench {
    /// Measure; gives what was broken, and the rows.
    pub(super) async fn measure(&self, stage: &Stage, plan: &Plan) -> Result<(String, Vec<Row>)> {
        if !self.no_types {
            let managed = tools::managed().await?;
            tools::ensure(&managed).await?;
            stage.share_tools(&managed).await?;
        }
        let wanted: Vec<&Project> = PROJECTS
            .iter()
            .filter(|project| {
                self.project
                    .as_deref()
                    .is_none_or(|name| name == project.name)
            })
            .collect();
        if wanted.is_empty() {
            let names: Vec<String> = PROJECTS.iter().map(|p| format!("`{}`", p.name)).collect();
            return Err(Error::new(Code::InvalidParams, "there is no such project")
                .hint(format!("the projects are {}", names.join(", "))));
        }
        let count = plan.samples(self.count, 2);
        let mut rows = Vec::new();
        for project in &wanted {
            let trial = Trial::new(stage, plan, project).await?;
            let tally = Box::pin(trial.run(self, count)).await?;
            rows.extend(tally.rows(project.name));
        }
        rows.retain(|row| plan.wants(&row.name));
        plan.bar.finish_and_clear();
        let names: Vec<&str> = wanted.iter().map(|project| project.package).collect();
        let subject = format!("{}; seed {}", names.join(", "), self.seed);
        Ok((subject, rows))
    }
}

impl Tally {
    fn rows(&self, name: &str) -> Vec<Row> {
        let share = |part: usize, of: usize| part as f64 * 100.0 / of.max(1) as f64;
        let what = format!(
            "failing tests that were foretold: {} of {}, {} functions broken",
            self.foretold, self.failing, self.mutants
        );
        let recall = Figure::single(share(self.foretold, self.failing), self.mutants);
        let selected = Figure::single(share(self.selected, self.all), self.mutants);
        let recall = Row::new(&format!("recall/{name}"), &what, Unit::Percent, recall);
        let what = format!(
            "tests that were named, of all ({:.1} % fail)",
            share(self.failing, self.all)
        );
        vec![
            recall.budget(Budget::Least(RECALL)),
            Row::new(&format!("selected/{name}"), &what, Unit::Percent, selected),
        ]
    }
}

/// One project, ready to be broken.
struct Trial<'a> {
    stage: &'a Stage,
    plan: &'a Plan,
    project: &'a Project,
    root: PathBuf,
    /// The Python with what its tests need.
    python: PathBuf,
}

impl<'a> Trial<'a> {
    async fn new(stage: &'a Stage, plan: &'a Plan, project: &'a Project) -> Result<Self> {
        let cache = archives::cache()?;
        for (name, text) in [("mutants.py", MUTANTS), ("impact_plugin.py", PLUGIN)] {
            fs::write(stage.path(name), text).map_err(|error| cannot(&error))?;
        }
        let (package, sha256) = (project.package, project.sha256);
        let kept =
            archives::source(stage.python(), package, sha256, |what| plan.tell(what)).await?;
        let python = environment(stage, plan, project, &cache).await?;
        let root = stage.path(project.name);
        // Programs that tests start do not get the paths of their parent.
        importable(&python, &root).map_err(|error| cannot(&error))?;
        copy(&kept, &root).map_err(|error| cannot(&error))?;
        for words in [
            &["init", "-q"][..],
            &["add", "-A", "--force"],
            &["commit", "-q", "-m", "before"],
        ] {
            let identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
            let git = Launch::new("git").cwd(&root).args(identity);
            done(git.args(words)).await?;
        }
        Ok(Self {
            stage,
            plan,
            project,
            root,
            python,
        })
    }

    async fn run(&self, bench: &ImpactBench, count: usize) -> Result<Tally> {
        let name = self.project.name;
        self.plan.tell(&format!("{name}: all tests as they are"));
        let before = self.tests(true).await?;
        if before.passed.is_empty() {
            return Err(Error::internal(format!("no test of {name} passes")));
        }
        let mutants = self.stage.python().arg(self.stage.path("mutants.py"));
        let mutants = mutants.arg(&self.root);
        let mutants = mutants.args([self.project.source, &bench.seed.to_string()]);
        let said = done(mutants.arg(self.stage.path("outcome.json")))
            .await?
            .stdout;
        let mutants: Vec<Mutant> = serde_json::from_str(&said).map_err(Error::internal)?;
        let socket = format!("{name}.sock");
        let daemon = self
            .stage
            .start(self.stage.daemon(&socket).unguarded(), &socket)?;
        let mut wire = daemon.wire()?;
        let mut tally = Tally::default();
        for mutant in &mutants {
            if tally.mutants == count {
                break;
            }
            let at = tally.mutants + 1;
            self.plan
                .tell(&format!("{name}: {at} of {count}, `{}`", mutant.name));
            let path = self.root.join(&mutant.file);
            let text = fs::read_to_string(&path).map_err(|error| cannot(&error))?;
            fs::write(&path, mutant.broken(&text)).map_err(|error| cannot(&error))?;
            let named = self.ask(&mut wire, !bench.no_types);
            let after = self.tests(false).await;
            fs::write(&path, &text).map_err(|error| cannot(&error))?;
            tally.add(bench, mutant, &named?, (&before, &after?));
        }
        drop(wire);
        daemon.stop().await;
        Ok(tally)
    }

    /// The tests that the map names: whole files, and single tests.
    fn ask(&self, wire: &mut Wire, types: bool) -> Result<BTreeSet<String>> {
        let params = json!({"project": self.root, "git_base": "HEAD", "types": types});
        let (_, answer) = asked(wire, &request("map.change_impact", &params))?;
        let answer: Value = serde_json::from_slice(answer).map_err(Error::internal)?;
        let ids = answer["result"]["affected_test_ids"].as_array();
        let ids = ids.into_iter().flatten().filter_map(Value::as_str);
        Ok(ids.map(ToOwned::to_owned).collect())
    }

    /// Run all tests.
    async fn tests(&self, traced: bool) -> Result<Outcome> {
        let out = self.stage.path("outcome.json");
        let _ = fs::remove_file(&out);
        let paths = [
            self.root.join("src"),
            self.root.clone(),
            self.stage.path(""),
        ];
        let paths = std::env::join_paths(paths).map_err(Error::internal)?;
        let mut pytest = Launch::new(&self.python)
            .cwd(&self.root)
            .args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"])
            .args([
                "-p",
                "impact_plugin",
                "-o",
                "addopts=",
                "-o",
                "filterwarnings=",
            ])
            .args(["--timeout", HANGING])
            .args(self.project.options)
            .arg(self.project.tests)
            .env("PYTHONPATH", paths)
            .env("IMPACT_OUT", &out);
        if traced {
            pytest = pytest.env("IMPACT_ROOT", &self.root);
        }
        let said = pytest
            .output(COMMAND_TIMEOUT)
            .await
            .map_err(Error::internal)?;
        // Where nothing could even be collected, nothing passes; of a run that a signal ended nobody
        // knows which tests fail.
        match fs::read_to_string(&out) {
            Ok(text) => serde_json::from_str(&text).map_err(Error::internal),
            Err(_) if !traced => Ok(Outcome {
                broke_off: said.exit.signal.is_some(),
                ..Outcome::default()
            }),
            Err(_) => Err(Error::internal(format!(
                "the tests do not run: {}",
                last(&said)
            ))),
        }
    }
}

impl Mutant {
    /// The text of its file with a function that raises at once.
    fn broken(&self, text: &str) -> String {
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let raise = format!(
            "{}raise RuntimeError(\"broken\")\n",
            " ".repeat(self.column)
        );
        let at = (self.line - 1).min(lines.len());
        lines.insert(at, &raise);
        lines.concat()
    }
}

impl Tally {
    fn add(
        &mut self,
        bench: &ImpactBench,
        mutant: &Mutant,
        named: &BTreeSet<String>,
        (before, after): (&Outcome, &Outcome),
    ) {
        let failing = after.failing_since(before);
        if failing.is_empty() {
            return;
        }
        let missed: Vec<&&String> = failing.iter().filter(|t| !is_named(named, t)).collect();
        let selected = before.passed.iter().filter(|t| is_named(named, t)).count();
        self.mutants += 1;
        self.failing += failing.len();
        self.foretold += failing.len() - missed.len();
        self.selected += selected;
        self.all += before.passed.len();
        if bench.show {
            let (file, name) = (&mutant.file, &mutant.name);
            output::note(&format!(
                "{file}:{name}: {} of {} failing tests foretold, {selected} of {} named",
                failing.len() - missed.len(),
                failing.len(),
                before.passed.len()
            ));
            for test in missed.iter().take(5) {
                output::note(&format!("  not foretold: {test}"));
            }
        }
    }
}

/// Whether a test, `file::Class::test[values]`, is among those that were named.
fn is_named(named: &BTreeSet<String>, test: &str) -> bool {
    let (file, rest) = test.split_once("::").unwrap_or((test, ""));
    let name = rest.split('[').next().unwrap_or(rest);
    named.contains(file) || named.contains(&format!("{file}::{name}"))
}

/// The Python with what the tests of a project need, made once and kept.
async fn environment(
    stage: &Stage,
    plan: &Plan,
    project: &Project,
    cache: &Path,
) -> Result<PathBuf> {
    let folder = cache.join(format!("{}-python", project.package.replace("==", "-")));
    let python = folder.join("bin/python");
    let mark = folder.join("requirements");
    let wanted = project.requirements.join("\n");
    if fs::read_to_string(&mark).is_ok_and(|known| known == wanted) {
        return Ok(python);
    }
    plan.tell(&format!("{}: installing what its tests need", project.name));
    let venv = Launch::new(&stage.interpreter.executable).args(["-m", "venv", "--clear"]);
    done(venv.arg(&folder)).await?;
    let pip = Launch::new(&python).args(["-m", "pip", "install", "--quiet"]);
    let pip = pip.args(["--disable-pip-version-check", "--only-binary", ":all:"]);
    done(pip.args(project.requirements)).await?;
    fs::write(&mark, wanted).map_err(|error| cannot(&error))?;
    Ok(python)
}

/// Let a Python import a project, also where no variable says so.
fn importable(python: &Path, root: &Path) -> std::io::Result<()> {
    let library = python.ancestors().nth(2).unwrap_or(python).join("lib");
    for entry in fs::read_dir(library)? {
        let packages = entry?.path().join("site-packages");
        if packages.is_dir() {
            let paths = [root.join("src"), root.to_owned()];
            let lines = paths.map(|path| path.display().to_string()).join("\n");
            fs::write(packages.join("pillion_bench.pth"), lines)?;
        }
    }
    Ok(())
}

/// Run to the end, or say why not.
async fn done(launch: Launch) -> Result<ProgramOutput> {
    let output = launch
        .output(COMMAND_TIMEOUT)
        .await
        .map_err(Error::internal)?;
    match output.exit.success() {
        true => Ok(output),
        false => Err(Error::internal(format!(
            "it {}: {}",
            output.exit,
            last(&output)
        ))),
    }
}

/// The last line that a program said.
fn last(output: &ProgramOutput) -> &str {
    let lines = [&output.stderr, &output.stdout];
    let mut lines = lines
        .into_iter()
        .filter_map(|text| text.trim().lines().last());
    lines.next().unwrap_or_default()
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => fs::copy(entry.path(), &target).map(drop)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_broken_and_its_tests_are_found_again() {
        let mutant = Mutant {
            file: "a.py".to_owned(),
            name: "f".to_owned(),
            line: 2,
            column: 4,
        };
        let broken = mutant.broken("def f():\n    return 1\n");
        assert_eq!(
            broken,
            "def f():\n    raise RuntimeError(\"broken\")\n    return 1\n"
        );
        let named = BTreeSet::from(["t.py::A::test_b".to_owned(), "u.py".to_owned()]);
        assert!(is_named(&named, "t.py::A::test_b[1-x::y]") && is_named(&named, "u.py::test_c"));
        assert!(!is_named(&named, "t.py::A::test_c"));
    }

    fn outcome(passed: &[&str], failed: &[&str], broke_off: bool) -> Outcome {
        let set = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        Outcome {
            passed: set(passed),
            failed: set(failed),
            broke_off,
        }
    }

    #[test]
    fn tests_that_were_not_reached_do_not_fail() {
        let before = outcome(&["a", "b", "c"], &["d"], false);
        let of_all = outcome(&["a"], &["b", "d"], false);
        assert_eq!(of_all.failing_since(&before), ["b", "c"]);
        let broken_off = outcome(&["a"], &["b", "d"], true);
        assert_eq!(broken_off.failing_since(&before), ["b"]);
        assert_eq!(Outcome::default().failing_since(&before).len(), 3);
    }
}
