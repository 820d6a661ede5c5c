//! `pillion chat`, through a real pseudo-terminal and through pipes, with models that follow a
//! script.

use std::fs;
use std::path::Path;

use pillion_testing::{CommandOutput, TestContext};
use serde_json::Value;

use crate::repl::terminal::Terminal;
use crate::repl::with_input;

const CHAPTER: &str = "python-data/variables-and-lists";
/// What follows a reply of the companion.
const OUTCOME: &str = r#"
```json
{"what_user_attempted": "x", "what_user_observed": "y", "ca_teaching_mode": "socratic",
 "ca_next_suggestion": "z", "checkpoint_reached": false, "blocker_type": "none",
 "student_sentiment": "engaged", "progress_record": "", "evidence_for_subtasks": [],
 "expert_consultation_needed": false, "expert_consultation_reason": "",
 "student_wants_to_skip": false}
```
"#;
const MEMO: &str = r##"
{"updated_report": "# Report\n\nYou made a **list**.",
 "digest": {"key_observations": "x", "student_struggles": "", "student_strengths": "",
  "student_sentiment": "engaged", "blocker_type": "none", "progress_delta": "none",
  "diagnostic_log": "", "achievement_log": "", "skipped_tasks": []}, "error_entries": []}
"##;

/// A context whose model says these replies, each to messages with its word in them.
fn scripted(replies: &[(&str, &str, u64)]) -> TestContext {
    let mut context = TestContext::new();
    let mut script = String::new();
    for (word, reply, delay) in replies {
        // A JSON string is a TOML string, too.
        let reply = Value::from(format!("{reply}\n{OUTCOME}"));
        script += &format!(
            "[[rule]]\nagent = \"CA\"\ncontains = \"{word}\"\ndelay_ms = {delay}\nreply = {reply}\n\n"
        );
    }
    script += &format!("[[rule]]\nagent = \"MA\"\nreply = '''{MEMO}'''\n");
    let path = context.base.join("script.toml");
    fs::write(&path, script).unwrap();
    context.set_env("PILLION_MODEL_SCRIPT", &path);
    context
}

/// A chat whose messages come from a pipe.
fn piped(context: &TestContext, args: &[&str], lines: &str) -> CommandOutput {
    let mut all = vec!["chat", "--chapter", CHAPTER];
    all.extend(args);
    CommandOutput::of(with_input(context.pillion_command(&all), lines))
}

#[test]
fn a_conversation_works_offline_on_a_fresh_machine() {
    let context = TestContext::at_first_use();
    let mut terminal = Terminal::open(&context, &["chat"]);
    terminal.until("Which chapter?");
    terminal.until("variables-and-lists");
    terminal.until("chapter> ");
    terminal.enter("variables", "a number from 1 to 2");
    terminal.until("chapter> ");
    terminal.enter(CHAPTER, "offline: scripted model; set LLM_API_KEY");
    terminal.until("you> ");
    terminal.enter("hello", "offline companion");
    terminal.until("tokens read");
    terminal.until("you> ");
    terminal.enter("/tasks", "Say what bakery.py will print");
    // By their titles, in the order of the chapter.
    terminal.until("Keep the price of a loaf");
    terminal.until("Print the first");
    terminal.until("not started");
    terminal.until("you> ");
    terminal.enter("/usage", "companion");
    terminal.until("you> ");
    terminal.enter("/help", "/upload FILE");
    terminal.until("you> ");
    terminal.enter("/skip mastered", "Skipped");
    terminal.until("you> ");
    terminal.enter("/nonsense", "there is no command");
    terminal.until("you> ");
    terminal.enter("/files", "bakery.py");
    terminal.until("you> ");
    terminal.type_in("\u{4}");
    let left = terminal.until("goes on)");
    assert_eq!(terminal.wait().code(), Some(0));
    let session = left.split("--session ").nth(1).unwrap();
    let session = session.split('`').next().unwrap().to_owned();
    // The same session, later.
    let listed = context.pillion(&["chat", "--list"]);
    assert!(listed.stdout.contains(&session), "{listed}");
    let mut terminal = Terminal::open(&context, &["chat", "--session", &session]);
    terminal.until("goes on after 1 turns");
    terminal.until("you> ");
    terminal.enter("/history", "hello");
    terminal.until("you> ");
    terminal.enter("/end", "the session has ended");
    assert_eq!(terminal.wait().code(), Some(0));
}

#[test]
fn replies_are_markdown_and_code_of_them_runs() {
    let reply = "# Lists\n\nA **list** of `values`:\n\n- one\n- two\u{1b}]0;evil\u{7}\n\n\
                 ```python\nprint('fir' + 'st')\n```\n\nor\n\n\
                 ```python\nprint('sec' + 'ond')\n```\n";
    let context = scripted(&[("show", reply, 1)]);
    let mut terminal = Terminal::open(&context, &["chat", "--chapter", CHAPTER]);
    terminal.until("you> ");
    terminal.enter("show me", "• one");
    terminal.until("── python ──");
    terminal.until("tokens read");
    let raw = terminal.raw();
    for look in [
        "\u{1b}[1;4mLists\u{1b}[0m",
        "\u{1b}[1mlist\u{1b}[0m",
        "\u{1b}[36mvalues\u{1b}[0m",
        "\\u001b]0;evil\\u0007",
    ] {
        assert!(raw.contains(look), "{look:?} in {raw:?}");
    }
    assert!(
        !raw.contains("\u{1b}]0;") && !raw.contains("blocker_type"),
        "{raw:?}"
    );
    terminal.until("you> ");
    terminal.enter("/run", "Which one?");
    terminal.until("run> ");
    terminal.enter("2", "second");
    terminal.until("you> ");
    terminal.enter("/run 1", "first");
    terminal.until("you> ");
    terminal.enter("/report", "You made a");
    terminal.until("you> ");
    terminal.leave();
}

#[test]
fn control_c_cancels_a_turn_and_twice_leaves() {
    let long = "word ".repeat(5000);
    let context = scripted(&[("slow", &long, 100), ("quick", "Quick indeed.", 0)]);
    let mut terminal = Terminal::open(&context, &["chat", "--chapter", CHAPTER]);
    terminal.until("you> ");
    terminal.enter("be slow", "word word");
    terminal.type_in("\u{3}");
    terminal.until("nothing of this turn is kept");
    terminal.until("you> ");
    terminal.enter("be quick", "Quick indeed.");
    terminal.until("you> ");
    terminal.enter("/history", "be quick");
    let said = terminal.until("you> ");
    assert!(!said.contains("be slow"), "{said}");
    terminal.type_in("\u{3}");
    terminal.until("one more Ctrl-C leaves");
    terminal.press_until("\u{3}", "goes on)");
    assert_eq!(terminal.wait().code(), Some(0));
}

#[test]
fn messages_come_from_a_pipe_too() {
    let context = scripted(&[
        ("one", "Reply **one**.", 0),
        ("two", "Reply two.\u{1b}[2J", 0),
    ]);
    let output = piped(&context, &[], "one\n\n/report\ntwo\n");
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(
        output.stdout,
        "Reply **one**.\n# Report\n\nYou made a **list**.\nReply two.\\u001b[2J\n"
    );
    assert!(
        output.stderr.contains("offline: scripted model"),
        "{output}"
    );
    // One message, with a file behind it.
    let output = piped(&context, &["-m", "one"], "contents\n");
    assert_eq!(output.stdout, "Reply **one**.\n", "{output}");
    // What cannot be done is told by the exit code, and the rest is done.
    let failed = piped(&context, &[], "/nonsense\none\n");
    assert_eq!(failed.code, Some(1), "{failed}");
    assert_eq!(failed.stdout, "Reply **one**.\n");
}

#[test]
fn events_are_lines_of_json() {
    let context = scripted(&[("one", "Reply one.", 0)]);
    let output = piped(&context, &["--json", "--session", "my-session"], "one\n");
    assert_eq!(output.code, Some(0), "{output}");
    let lines: Vec<Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = lines.iter().map(|l| l["type"].as_str().unwrap()).collect();
    assert_eq!(lines[0]["session_id"], "my-session");
    assert_eq!(kinds[..2], ["session", "start"]);
    assert_eq!(kinds.last(), Some(&"complete"));
    let text: String = lines
        .iter()
        .filter(|line| line["type"] == "companion_chunk")
        .map(|line| line["content"].as_str().unwrap())
        .collect();
    assert_eq!(text.trim(), "Reply one.");
}

#[test]
fn files_are_uploaded() {
    let context = scripted(&[("one", "Reply one.", 0)]);
    context.write("my data.csv", "a,b\n1,2\n");
    let lines = "/upload \"my data.csv\"\n/files\n/upload missing.csv\n";
    let output = piped(&context, &[], lines);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(output.stdout.contains("my data.csv"), "{output}");
    assert!(
        output.stderr.contains("cannot read `missing.csv`"),
        "{output}"
    );
}

#[test]
fn a_course_is_made_checked_and_talked_about() {
    let context = scripted(&[("one", "Reply one.", 0)]);
    let made = context.pillion(&["course", "new", "mine", "--title", "My own"]);
    assert_eq!(made.code, Some(0), "{made}");
    assert!(made.stdout.contains("pillion chat --course"), "{made}");
    let again = context.pillion(&["course", "new", "mine"]);
    assert_eq!(again.code, Some(1), "{again}");
    let checked = context.pillion(&["course", "check", "mine"]);
    assert_eq!(checked.code, Some(0), "{checked}");
    assert!(
        checked
            .stdout
            .ends_with("1 course, 1 chapter: 0 errors, 0 warnings\n"),
        "{checked}"
    );
    let args = ["chat", "--course", "mine", "-m", "one"];
    let output = context.pillion(&args);
    assert_eq!(output.stdout, "Reply one.\n", "{output}");

    let tasks = find(&context.project.join("mine"), "task_list.md");
    fs::write(&tasks, "# Tasks\n\n- **a** one\n- **a** two\n").unwrap();
    fs::remove_file(tasks.with_file_name("chapter_context.md")).unwrap();
    let checked = context.pillion(&["course", "check", "mine"]);
    assert_eq!(checked.code, Some(1), "{checked}");
    assert!(
        checked.stdout.contains("task_list.md:4: error: "),
        "{checked}"
    );
    assert!(
        checked.stdout.contains("chapter_context.md: error: "),
        "{checked}"
    );
    let report = context.pillion(&["--json", "course", "check", "mine"]);
    assert_eq!(report.code, Some(1));
    assert_eq!(report.json()["errors"], 2, "{report}");
    let nowhere = context.pillion(&["course", "check", "nowhere"]);
    assert_eq!(nowhere.code, Some(1), "{nowhere}");
    assert!(nowhere.stderr.contains("is no folder"), "{nowhere}");
}

/// The file of this name below a folder.
fn find(folder: &Path, name: &str) -> std::path::PathBuf {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|found| found == name) {
                return path;
            }
        }
    }
    panic!("there is no `{name}`");
}

#[test]
fn several_chapters_and_nobody_to_ask() {
    let context = TestContext::new();
    let output = context.pillion(&["chat", "-m", "hello"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(
        output.stderr.contains("there are several chapters"),
        "{output}"
    );
    assert!(output.stderr.contains(CHAPTER), "{output}");
    let unknown = context.pillion(&["chat", "--chapter", "nothing", "-m", "hello"]);
    assert_eq!(unknown.code, Some(1), "{unknown}");
}
