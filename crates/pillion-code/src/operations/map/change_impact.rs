//! `map.change_impact`: which tests a change can reach.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pillion_catalogue::{
    CancellationToken, Context, Offer, Operation, Profile, Result, Safety, Scope, wanted, work,
};
use pillion_index::answers::Answer;
use pillion_index::language::{Language, Precision, is_source};
use pillion_index::text::{Text, shown};
use pillion_map::{
    ChangedFile, Graph, GraphFile, MODULE_NODE, MapFiles, MapSnapshot, Types, changed_in, command,
    git, quoted,
};
use pillion_symbols::project::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TypesAsked, of_graph, opened, typed};
use crate::CodeService;
use crate::inquiry::Wanted;

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
    /// The files that changed, instead of what git says: all of them.
    #[arg(long, value_name = "FILE")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathBuf>,
    /// For callers that know it from elsewhere: everything that a test runs is followed, however
    /// far away it is.
    #[arg(long, hide = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<usize>,
    /// Answer as an older contract says.
    #[arg(skip)]
    #[schemars(skip)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub old: bool,
    /// Whether the engine is asked where the code does not say what a method is called on.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<bool>,
    /// The project: a folder.
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// The language.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
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
    /// The tests in them, as pytest names them, in other languages `file::Class::test` too; a
    /// file alone stands for all of it.
    pub affected_test_ids: Vec<String>,
    /// How many files with tests can be reached.
    pub affected_count: usize,
    /// How many cannot.
    pub skipped_count: usize,
    /// How many files with tests there are.
    pub total_tests: usize,
    /// What runs the tests that can be reached; nothing if there are none.
    pub test_command: Option<String>,
    /// Who said what changed: `git`, `session`, or `explicit`.
    pub source: String,
    /// The language.
    pub language: Language,
    /// How its edges are found, in languages other than Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// What the engine's types added, in Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<TypesAsked>,
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
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .tool("change_impact", 6)
        .contract(Profile::Core)
        .everyday()
        .old("change_impact", &[("old", "true")]);
    type Service = CodeService;
    type Output = Answer<ChangeReach>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<ChangeReach>> {
        let (view, language) =
            opened(&cx, self.project.as_ref(), self.language, cx.caller()).await?;
        let mapped = view.map(language).await?;
        let use_git = self.use_git.unwrap_or(true);
        let changed = match (&self.files[..], use_git) {
            ([], true) => by_git(&view, &mapped, self.git_base.as_deref()).await?,
            ([], false) => by_session(&mapped),
            (files, _) => by_name(&view, &mapped, files)?,
        };
        let source = match (&self.files[..], use_git) {
            ([], true) => "git",
            ([], false) => "session",
            _ => "explicit",
        };
        let graph = &*mapped.graph;
        let wanted = || Wanted::Users {
            of: graph.changed(&changed),
            depth: usize::MAX,
        };
        let (asked, types) = typed(&view, &mapped, wanted, (self.types, cx.caller())).await;
        let root = view.root().to_owned();
        let reach = of_graph(&mapped.graph, move |graph, _| {
            reached(graph, &changed, &asked.types, &root)
        });
        let mut reach = reach.await?;
        reach.types = types;
        reach.source = source.to_owned();
        reach.language = language;
        reach.precision = language.precision();
        reach.clock = view.clock();
        if self.old {
            let base = self.git_base.as_deref().unwrap_or("HEAD~1");
            return Ok(Answer::Old(reach.old(base)));
        }
        Ok(Answer::one(reach, view.unread()).in_format(cx.caller().format()))
    }
}

/// The files of a language that git sees as changed.
async fn by_git(view: &View, mapped: &MapSnapshot, base: Option<&str>) -> Result<Vec<ChangedFile>> {
    let base = base.map_or(git::Base::BeforeLast, git::Base::Named);
    let all = git::changed_since(view.root(), base).await?.files;
    let (view, mapped) = (view.clone(), mapped.clone());
    work(move |token| read_changed(&view, &mapped, &all, token)).await?
}

fn read_changed(
    view: &View,
    mapped: &MapSnapshot,
    all: &[git::FileDiff],
    token: &CancellationToken,
) -> Result<Vec<ChangedFile>> {
    let language = mapped.graph.language;
    let is_ours = |file: &&git::FileDiff| {
        let old = file.old_path.as_deref();
        is_source(language, &file.path) || old.is_some_and(|old| is_source(language, old))
    };
    let read = |file: &git::FileDiff| {
        let source = view.source(file.path.as_ref());
        match &mapped.files {
            MapFiles::Python { now, .. } => {
                ChangedFile::of(file, source.as_deref().zip(now.get(&file.path)))
            }
            MapFiles::Other(map) => {
                let outlined = map.files.get(&*file.path);
                let outline = outlined.map(|file| &file.outline);
                changed_in(language, file, source.as_deref().zip(outline))
            }
        }
    };
    let ours = all
        .iter()
        .filter(is_ours)
        .map(|file| wanted(token).map(|()| read(file)));
    // What is ignored here is no part of the project, whatever git says.
    let is_part =
        |file: &ChangedFile| file.gone.is_some() || mapped.graph.file_at(&file.path).is_some();
    let ours: Vec<ChangedFile> = ours.collect::<Result<_>>()?;
    Ok(ours.into_iter().filter(is_part).collect())
}

/// The files that a caller names.
fn by_name(view: &View, mapped: &MapSnapshot, files: &[PathBuf]) -> Result<Vec<ChangedFile>> {
    let mut all = Vec::new();
    for file in files {
        let path = pillion_index::place::inside(view.root(), file)?;
        if is_source(mapped.graph.language, &path) {
            let is_gone = mapped.graph.file_at(&path).is_none();
            all.push(match is_gone {
                true => ChangedFile::gone(&path),
                false => ChangedFile::whole(&path),
            });
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all.dedup();
    Ok(all)
}

/// The files that changed since the map was first asked for.
fn by_session(mapped: &MapSnapshot) -> Vec<ChangedFile> {
    let (changed, gone) = mapped.files.changed();
    let changed = changed.iter().map(|path| ChangedFile::whole(path));
    let gone = gone.iter().map(|path| ChangedFile::gone(path));
    let mut all: Vec<ChangedFile> = changed.chain(gone).collect();
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all
}

fn reached(graph: &Graph, changed: &[ChangedFile], types: &Types, root: &Path) -> ChangeReach {
    let reach = graph.reach(changed, types);
    let mut files = Vec::new();
    let mut ids = Vec::new();
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, tests) in &reach.tests {
        let Some(path) = graph.files.get(*file as usize).map(GraphFile::path) else {
            continue;
        };
        files.push(path.to_owned());
        let names = tests.iter().map(|test| test.name(graph));
        named.insert(path.to_owned(), names.collect());
        match &tests[..] {
            [] => ids.push(path.to_owned()),
            some => ids.extend(some.iter().map(|test| test_id(path, &test.name(graph)))),
        }
    }
    let total = (0..)
        .zip(&graph.files)
        .filter(|(at, _)| graph.is_test_file(*at))
        .count();
    let functions = reach.changed.iter().map(|node| ChangedFunction {
        file: graph.path(*node).to_owned(),
        function: graph.name(*node).to_owned(),
    });
    let is_long = ids.len() > MAX_NAMED;
    let test_command = match graph.language {
        Language::Python => pytest(if is_long { &files } else { &ids }),
        language => {
            // Of many, all tests of their files are run.
            if is_long {
                named.values_mut().for_each(Vec::clear);
            }
            command(language, root, &named)
        }
    };
    ChangeReach {
        changed_files: changed.iter().map(|file| file.path.clone()).collect(),
        changed_functions: functions.collect(),
        test_command,
        affected_count: files.len(),
        skipped_count: total.saturating_sub(files.len()),
        total_tests: total,
        affected_tests: files,
        affected_test_ids: ids,
        source: String::new(),
        language: Language::default(),
        precision: None,
        types: None,
        clock: String::new(),
    }
}

/// `file::Class::test`.
fn test_id(path: &str, name: &str) -> String {
    format!("{path}::{}", name.replace('.', "::"))
}

/// What runs some tests, for a shell.
fn pytest(tests: &[String]) -> Option<String> {
    let words: Vec<String> = tests.iter().map(|test| quoted(test)).collect();
    (!words.is_empty()).then(|| format!("python -m pytest {}", words.join(" ")))
}

impl ChangeReach {
    /// In the words of the older contract: functions by their names, the command as a list.
    fn old(&self, base: &str) -> serde_json::Value {
        let mut old = serde_json::to_value(self).unwrap_or_default();
        let functions = self.changed_functions.iter().map(|one| &*one.function);
        let functions: Vec<&str> = functions.filter(|name| *name != MODULE_NODE).collect();
        old["changed_functions"] = serde_json::json!(functions);
        old["test_command"] = match (self.language, &self.test_command) {
            (Language::Python, _) if !self.changed_files.is_empty() => {
                let words = std::iter::once("pytest");
                let words = words.chain(self.affected_tests.iter().map(String::as_str));
                words.collect::<Vec<_>>().into()
            }
            (_, Some(command)) => vec!["sh", "-c", command].into(),
            (_, None) => serde_json::Value::Null,
        };
        if self.source == "git" {
            old["source"] = format!("git:{base}").into();
        }
        if self.changed_files.is_empty() {
            old["message"] = "No changed files detected".into();
        }
        old
    }
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
        lines.extend(TypesAsked::text(self.types.as_ref()));
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
            pytest(&tests).unwrap(),
            r"python -m pytest a/test_b.py::T::test_c 'it'\''s/test_d.py'"
        );
        assert_eq!(pytest(&[]), None);
    }
}
