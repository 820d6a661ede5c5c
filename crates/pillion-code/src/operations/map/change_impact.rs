//! `map.change_impact`: which tests a change can reach.

use std::path::PathBuf;

use pillion_catalogue::{Context, Local, Operation, Result, Safety};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::opened;
use crate::CodeService;
use crate::answers::Answer;
use crate::git;
use crate::index::is_python;
use crate::map::{ChangedFile, Graph, Language, Mapped, NodeId, is_test_file};
use crate::params::Where;
use crate::project::View;
use crate::text::{Text, shown};

/// Tests that are named one by one in a command; of more, their files are.
const MAX_NAMED: usize = 100;

/// Find the tests that a change can reach.
///
/// What changed since a commit, also what is not committed and what git does not know yet,
/// is followed along calls and imports to the tests.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct ChangeImpact {
    /// The commit to compare with; `HEAD~1` if not given, or `HEAD` if there is but one.
    #[arg(long, value_name = "COMMIT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_base: Option<String>,
    /// Whether git says what changed; else it is what changed since pillion first mapped the
    /// project.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub use_git: Option<bool>,
    /// The project: a folder.
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// The language.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub given: Where,
}

/// Which tests a change can reach.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ChangeReach {
    /// The files that changed, sorted; also those that are gone.
    pub changed_files: Vec<String>,
    /// The functions whose lines changed.
    pub changed_functions: Vec<ChangedFunction>,
    /// The files with tests that can be reached, sorted.
    pub affected_tests: Vec<String>,
    /// The tests in them, as pytest names them; a file alone stands for all of it.
    pub affected_test_ids: Vec<String>,
    /// How many files with tests can be reached.
    pub affected_count: usize,
    /// How many cannot.
    pub skipped_count: usize,
    /// How many files with tests there are.
    pub total_tests: usize,
    /// What runs the tests that can be reached; nothing if there are none.
    pub test_command: Option<String>,
    /// Who said what changed: `git`, or `session`.
    pub source: String,
    /// The language.
    pub language: Language,
    /// The moment this is true for.
    pub clock: String,
}

/// A function that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFunction {
    /// Its file.
    pub file: String,
    /// Its name; `<module>` is the code of the module itself.
    pub function: String,
}

impl Operation for ChangeImpact {
    const NAME: &'static str = "map.change_impact";
    const SAFETY: Safety = Safety::Read;
    const LOCAL: Local = Local::Near;
    type Service = CodeService;
    type Output = Answer<ChangeReach>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<ChangeReach>> {
        let (view, language) =
            opened(&cx, self.project.as_ref(), self.language, &self.given).await?;
        let mapped = view.map().await?;
        let use_git = self.use_git.unwrap_or(true);
        let changed = match use_git {
            true => by_git(&view, self.git_base.as_deref()).await?,
            false => by_session(&view, &mapped),
        };
        let source = if use_git { "git" } else { "session" };
        let mut reach = reached(&mapped.graph, &changed);
        reach.source = source.to_owned();
        reach.language = language;
        reach.clock = view.clock();
        Ok(Answer::One(reach).in_format(self.given.format()))
    }
}

/// The Python files that git sees as changed.
async fn by_git(view: &View, base: Option<&str>) -> Result<Vec<ChangedFile>> {
    let base = base.map_or(git::Base::BeforeLast, git::Base::Named);
    let all = git::changed_since(view.root(), base).await?.files;
    let is_ours = |file: &&git::Changed| {
        let old = file.old_path.as_deref();
        is_python(&file.path) || old.is_some_and(is_python)
    };
    let read = |file: &git::Changed| {
        let source = view.source(file.path.as_ref());
        let now = source.as_ref().zip(view.index.get(&file.path));
        ChangedFile::of(file, now)
    };
    let ours = all.iter().filter(is_ours);
    // What is ignored here is no part of the project, whatever git says.
    let is_part = |file: &ChangedFile| file.gone.is_some() || view.index.get(&file.path).is_some();
    Ok(ours.map(read).filter(is_part).collect())
}

/// The Python files that changed since the map was first asked for.
fn by_session(view: &View, mapped: &Mapped) -> Vec<ChangedFile> {
    let mut all: Vec<ChangedFile> = view
        .index
        .hashes()
        .filter(|(path, hash)| mapped.first.hash(path) != Some(*hash))
        .map(|(path, _)| ChangedFile::whole(path))
        .collect();
    let gone = mapped.first.hashes();
    all.extend(
        gone.filter(|(path, _)| view.index.get(path).is_none())
            .map(|(path, _)| ChangedFile {
                gone: Some(path.to_string()),
                ..ChangedFile::whole(path)
            }),
    );
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all
}

fn reached(graph: &Graph, changed: &[ChangedFile]) -> ChangeReach {
    let reach = graph.reach(changed);
    let mut files = Vec::new();
    let mut ids = Vec::new();
    for (file, tests) in &reach.tests {
        let Some(path) = graph.files.get(*file as usize).map(|f| &*f.sketched.path) else {
            continue;
        };
        files.push(path.to_owned());
        match &tests[..] {
            [] => ids.push(path.to_owned()),
            some => ids.extend(some.iter().map(|test| test_id(graph, *test))),
        }
    }
    let is_test = |file: &&crate::map::GraphFile| is_test_file(&file.sketched.path);
    let total = graph.files.iter().filter(is_test).count();
    let functions = reach.changed.iter().map(|node| ChangedFunction {
        file: graph.path(*node).to_owned(),
        function: graph.name(*node).to_owned(),
    });
    let named = if ids.len() > MAX_NAMED { &files } else { &ids };
    ChangeReach {
        changed_files: changed.iter().map(|file| file.path.clone()).collect(),
        changed_functions: functions.collect(),
        test_command: command(named),
        affected_count: files.len(),
        skipped_count: total.saturating_sub(files.len()),
        total_tests: total,
        affected_tests: files,
        affected_test_ids: ids,
        source: String::new(),
        language: Language::default(),
        clock: String::new(),
    }
}

/// `file::Class::test`.
fn test_id(graph: &Graph, test: NodeId) -> String {
    format!(
        "{}::{}",
        graph.path(test),
        graph.name(test).replace('.', "::")
    )
}

/// What runs some tests, for a shell.
fn command(tests: &[String]) -> Option<String> {
    let quoted = |word: &String| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=+@%".contains(c);
        match word.chars().all(is_plain) {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    };
    let words: Vec<String> = tests.iter().map(quoted).collect();
    (!words.is_empty()).then(|| format!("python -m pytest {}", words.join(" ")))
}

impl Text for ChangeReach {
    fn text(&self) -> String {
        let mut lines = vec![format!(
            "{} files changed, {} functions",
            self.changed_files.len(),
            self.changed_functions.len()
        )];
        for changed in &self.changed_functions {
            lines.push(format!("  {}:{}", changed.file, changed.function));
        }
        lines.push(format!(
            "{} of {} test files can be reached",
            self.affected_count, self.total_tests
        ));
        lines.extend(self.affected_tests.iter().map(|test| format!("  {test}")));
        lines.extend(self.test_command.clone());
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_quoted_for_a_shell() {
        let tests = [
            "a/test_b.py::T::test_c".to_owned(),
            "it's/test_d.py".to_owned(),
        ];
        assert_eq!(
            command(&tests).unwrap(),
            r"python -m pytest a/test_b.py::T::test_c 'it'\''s/test_d.py'"
        );
        assert_eq!(command(&[]), None);
    }
}
