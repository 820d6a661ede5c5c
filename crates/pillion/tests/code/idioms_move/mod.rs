//! Idioms of Python that moves, inlines and edits of definitions must not break: each a small
//! program with its verdict. A program that is changed is run before and after, and says the
//! same; one that is refused, or left to the caller with a place, has the reason checked.

mod computed;
mod edits;
mod elsewhere;
mod extracts;
mod inlines;
mod moves;
mod names;
mod texts;
mod unseen;

use std::fs;
use std::process::Command;

use pillion_testing::project::{TestProject, bare, find};
use serde_json::{Value, json};

/// What becomes of a program.
enum Verdict {
    /// It is changed and does the same; these texts are in the patches then.
    Changed(&'static [&'static str]),
    /// The change is made, and a place or a warning with this text is named.
    Listed(&'static str),
    /// Nothing is changed, and the reason has this text.
    Refused(&'static str),
}
use Verdict::{Changed, Listed, Refused};

struct Idiom {
    name: &'static str,
    /// Its files, each after a line `--- path`.
    program: &'static str,
    /// The operation, the file and a needle with a cursor; without a needle the whole file.
    ask: (&'static str, &'static str, &'static str),
    /// More parameters, as JSON.
    more: &'static str,
    verdict: Verdict,
}

/// Put every idiom of a table to the test, and say all that went wrong at once.
fn check(table: &[Idiom]) {
    let only = std::env::var("PILLION_IDIOM").ok();
    let mut project = TestProject::new(bare());
    let mut wrong = Vec::new();
    for idiom in table {
        if only
            .as_ref()
            .is_some_and(|only| !idiom.name.contains(&**only))
        {
            continue;
        }
        if let Err(what) = idiom.check(&mut project) {
            wrong.push(format!("## {}\n{what}", idiom.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

impl Idiom {
    fn check(&self, project: &mut TestProject) -> Result<(), String> {
        let folder = self.name.replace(|c: char| !c.is_alphanumeric(), "_");
        let root = project.root().join(folder);
        for (path, text) in self.files() {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let before = run(&root);
        let (operation, file, needle) = self.ask;
        let mut params: Value = match self.more {
            "" => json!({}),
            more => serde_json::from_str(more).unwrap_or_else(|e| panic!("{}: {e}", self.name)),
        };
        if !file.is_empty() {
            params["file"] = json!(file);
        }
        if !needle.is_empty() {
            let text = fs::read_to_string(root.join(file)).unwrap();
            let (line, column) = find(&text, needle);
            (params["line"], params["col"]) = (json!(line), json!(column));
        }
        params["root"] = json!(root);
        params["apply"] = json!(true);
        let answer = project.try_ask(operation, params);
        let after = run(&root);
        let shown = match &answer {
            Ok(answer) => answer["patches"]
                .as_object()
                .map_or_else(String::new, |all| {
                    let each = all.values().filter_map(Value::as_str);
                    each.collect::<Vec<_>>().join("\n")
                }),
            Err(error) => format!("refused: {error}"),
        };
        match (&self.verdict, answer) {
            (Changed(_), Ok(_)) if before != after => Err(format!(
                "it said\n{before}\nand says\n{after}\nafter\n{shown}"
            )),
            (Changed(texts), Ok(_)) => match texts.iter().find(|text| !shown.contains(**text)) {
                Some(text) => Err(format!("no `{text}` in\n{shown}")),
                None => Ok(()),
            },
            (Listed(text), Ok(answer)) => {
                let told = format!("{}{}", answer["possible"], answer["warnings"]);
                match told.contains(*text) {
                    true => Ok(()),
                    false => Err(format!("no `{text}` in {told} after\n{shown}")),
                }
            }
            (Refused(text), Err(error)) => {
                let message = error["message"].as_str().unwrap_or_default();
                match before == after && message.contains(*text) {
                    true => Ok(()),
                    false => Err(format!("no `{text}` in `{message}`")),
                }
            }
            (Refused(_), Ok(_)) => Err(format!(
                "it was not refused; it said\n{before}\nand says\n{after}\nafter\n{shown}"
            )),
            (_, Err(_)) => Err(shown),
        }
    }

    fn files(&self) -> Vec<(&str, String)> {
        let mut files: Vec<(&str, String)> = Vec::new();
        for line in self.program.lines() {
            match (line.strip_prefix("--- "), files.last_mut()) {
                (Some(path), _) => files.push((path, String::new())),
                (None, Some((_, text))) => {
                    text.push_str(line);
                    text.push('\n');
                }
                (None, None) => {}
            }
        }
        files
    }
}

/// What `main.py` says; it runs with the root and `src` on its path.
#[expect(
    clippy::disallowed_methods,
    reason = "what it runs is no child of pillion's"
)]
fn run(root: &std::path::Path) -> String {
    if !root.join("main.py").exists() {
        return String::new();
    }
    let output = Command::new("python3")
        .args(["-B", "main.py"])
        .env("PYTHONPATH", "src:.")
        .current_dir(root)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}
