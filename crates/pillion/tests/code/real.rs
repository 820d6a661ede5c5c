//! Real projects, fetched by name: after many renames, and after many moves, their own
//! tests say what they said before, and undoing all of it restores every byte.

use std::fs;
use std::path::Path;

use pillion_testing::prerequisites::{CLICK, SourceArchive, python};
use pillion_testing::project::{TestProject, bare, git};
use pillion_testing::{CommandOutput, TestContext, copy, rounds};
use serde_json::{Value, json};

/// Renames, and moves, of each project, in a long run.
const CHANGES: usize = 32;

struct Real {
    archive: SourceArchive,
    /// The folder of its own modules.
    source: &'static str,
    /// Classes whose names the program makes other names of while it runs.
    named_at_run_time: &'static [&'static str],
}

#[test]
fn sqlparse_still_passes_its_tests() {
    check(&Real {
        archive: SourceArchive {
            package: "sqlparse==0.5.3",
            sha256: "09f67787f56a0b16ecdbde1bfc7f5d9c3371ca683cfeaa8e6ff60b4807ec9272",
        },
        source: "sqlparse",
        // `_process_{}` of the name of a token's class.
        named_at_run_time: &["Values", "Where", "Parenthesis", "Function", "Case"],
    });
}

#[test]
fn mistune_still_passes_its_tests() {
    check(&Real {
        archive: SourceArchive {
            package: "mistune==3.1.4",
            sha256: "b5a7f801d389f724ec702840c11d8fc48f2b33519102fc7ee739e8177b672164",
        },
        source: "src/mistune",
        named_at_run_time: &[],
    });
}

#[test]
fn click_still_passes_its_tests() {
    check(&Real {
        archive: CLICK,
        source: "src/click",
        named_at_run_time: &[],
    });
}

fn check(real: &Real) {
    let context = bare();
    copy(&real.archive.fetched(), &context.project);
    git(&context, &["init", "-q"]);
    git(&context, &["add", "-A", "--force"]);
    git(&context, &["commit", "-q", "-m", "before"]);
    let mut project = TestProject::new(context);
    let (before, said) = outcome(project.root());
    assert!(before.contains(" passed"), "{said}");

    for ask in [rename, relocate] {
        let done = change(&mut project, real, ask);
        let (after, said) = outcome(project.root());
        assert_eq!(after, before, "after {done:#?}\n{said}");
        for _ in done {
            project.ask("undo", json!({}));
        }
        let changed = changed(&project.context);
        assert!(changed.is_empty(), "{changed:?}");
    }
}

/// What differs from the commit: files that were in it, and modules that were not. What else
/// the project's own tests leave behind is their business.
fn changed(context: &TestContext) -> Vec<String> {
    let mut status = context.command("git");
    status.args(["status", "--porcelain", "--untracked-files=all"]);
    let status = CommandOutput::of(status).stdout;
    let lines = status.lines().map(ToOwned::to_owned);
    lines
        .filter(|line| !line.starts_with("??") || line.ends_with(".py"))
        .collect()
}

/// Ask for changes of symbols all over the project until enough of them are carried out. What
/// is refused, and what may have uses that nobody is sure of, is passed over: a person would
/// look at those.
fn change(
    project: &mut TestProject,
    real: &Real,
    ask: fn(&Value, usize) -> Option<(&'static str, Value)>,
) -> Vec<String> {
    let listed = json!({ "path": real.source, "recursive": true, "limit": 5000 });
    let symbols = project.ask("list", listed)["symbols"].clone();
    let symbols: Vec<Value> = symbols.as_array().unwrap().clone();
    let mut done = Vec::new();
    // From all files in turn: every seventh, then those behind them.
    for symbol in (0..7).flat_map(|first| symbols.iter().skip(first).step_by(7)) {
        if done.len() == rounds(CHANGES) {
            return done;
        }
        if real
            .named_at_run_time
            .iter()
            .any(|name| symbol["name"] == *name)
        {
            continue;
        }
        let Some((operation, mut params)) = ask(symbol, done.len()) else {
            continue;
        };
        let Some((line, col)) = place(project.root(), symbol) else {
            continue;
        };
        params["file"] = symbol["file"].clone();
        (params["line"], params["col"]) = (json!(line), json!(col));
        match project.try_ask(operation, params.clone()) {
            Ok(shown) if is_sure(&shown) => {}
            Ok(_) => continue,
            Err(error) => {
                let code = error["code"].as_str().unwrap();
                let refused = ["conflict", "invalid_params", "not_found"].contains(&code);
                assert!(refused, "{operation} {params}: {error}");
                continue;
            }
        }
        params["apply"] = json!(true);
        project.ask(operation, params.clone());
        done.push(format!("{operation} {params}"));
    }
    panic!("only {} could be done: {done:#?}", done.len());
}

fn is_sure(shown: &Value) -> bool {
    let mut possible = shown["possible"].as_array().unwrap().iter();
    possible.all(|left| ["in a comment", "in a document"].contains(&left["why"].as_str().unwrap()))
}

fn rename(symbol: &Value, _: usize) -> Option<(&'static str, Value)> {
    let name = symbol["name"].as_str()?;
    let is_special = name.starts_with("__") || name.ends_with("_renamed");
    let params = json!({ "new_name": format!("{name}_renamed") });
    (!is_special).then_some(("rename", params))
}

fn relocate(symbol: &Value, done: usize) -> Option<(&'static str, Value)> {
    let (name, file) = (symbol["name"].as_str()?, symbol["file"].as_str()?);
    let folder = Path::new(file).parent()?.to_str()?;
    let fits = symbol["container"].is_null() && !name.starts_with("__");
    // Some of them meet in one module.
    let params = json!({ "dest_file": format!("{folder}/moved_{}.py", done % 5) });
    // What is only for Windows cannot be imported here, and nothing beside it then.
    let is_ours = !file.contains("/moved_") && !file.ends_with("_winconsole.py");
    (fits && is_ours).then_some(("move", params))
}

/// Where the name of a listed symbol stands now, if it is still in its file.
fn place(root: &Path, symbol: &Value) -> Option<(usize, usize)> {
    let name = symbol["name"].as_str()?;
    let text = fs::read_to_string(root.join(symbol["file"].as_str()?)).ok()?;
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    let inner = symbol["container"].is_string();
    text.lines().enumerate().find_map(|(line, text)| {
        let head = text.trim_start();
        if head.len() == text.len() && inner {
            return None;
        }
        let heads = ["async def ", "def ", "class ", "type "];
        let stripped = heads.iter().find_map(|word| head.strip_prefix(word));
        let rest = stripped.unwrap_or(head).strip_prefix(name)?;
        let begins = stripped.is_some() || rest.trim_start().starts_with(['=', ':']);
        let column = text.len() - rest.len() - name.len() + 1;
        (begins && !rest.starts_with(is_word)).then_some((line + 1, column))
    })
}

/// What the tests of a project say: how many passed and failed, and all of it.
fn outcome(root: &Path) -> (String, String) {
    let mut pytest = python();
    pytest
        .args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .args(["-o", "addopts="])
        // It races with the pager that it starts.
        .args(["--deselect", "tests/test_utils.py::test_echo_via_pager"])
        .env("PYTHONPATH", "src:.")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(root);
    let output = pytest.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = said.lines().rev().find(|line| line.contains(" passed"));
    let counts = last.and_then(|line| line.rsplit_once(" in "));
    let counts = counts.map_or("nothing ran", |(counts, _)| counts.trim_matches(['=', ' ']));
    (counts.to_owned(), said)
}
