//! Tests of the scripted model: rules, and the embedded script on every situation of a session.

use serde_json::json;

use super::*;

fn script(text: &str) -> Result<Script, Error> {
    Ok(Script {
        name: "the test".to_owned(),
        rules: OnceLock::from(Ok(parse("the test", text)?)),
    })
}

fn prompt(agent: &str, facts: &[(&str, &str)]) -> Prompt {
    let facts = facts
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Prompt {
        agent: agent.to_owned(),
        facts: facts.collect(),
        ..Prompt::default()
    }
}

fn ask(script: &Script, prompt: &Prompt) -> (Vec<String>, Result<Completion, Error>) {
    let mut heard = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let result = runtime.block_on(script.answer(prompt, &mut |text| heard.push(text.to_owned())));
    (heard, result)
}

#[test]
fn the_first_rule_that_applies_answers() {
    let script = script(
        r#"
        [[rule]]
        agent = "CA"
        turn = 2
        task = "t1"
        reply = "second"
        [[rule]]
        contains = "HELLO"
        chunk = 3
        reply = "hällo {{learner_message}}"
        [[rule]]
        matches = '^\d+$'
        reply = "number"
        input_tokens = 5
        output_tokens = 6
        [[rule]]
        when = { phase = "2" }
        given = ["report"]
        missing = ["gone"]
        tool_calls = [{ name = "f", arguments = { a = ["{{report}}", 1] } }]
        [[rule]]
        agent = "MA"
        reply = "half "
        fail = "overloaded"
        "#,
    )
    .unwrap();
    let text = |prompt: &Prompt| ask(&script, prompt).1.unwrap().text;
    let second = [
        ("learner_message", "hello"),
        ("turn_index", "2"),
        ("task_id", "t1"),
    ];
    assert_eq!(text(&prompt("CA", &second)), "second");
    let (heard, _) = ask(&script, &prompt("RMA", &[("learner_message", "oh hello")]));
    assert_eq!(heard, ["häl", "lo ", "oh ", "hel", "lo"]);
    let mut plain = prompt("X", &[]);
    plain.messages = vec![ChatMessage::User("42".into())];
    let answer = ask(&script, &plain).1.unwrap();
    assert_eq!(answer.text, "number");
    assert_eq!(
        (answer.usage.input_tokens, answer.usage.output_tokens),
        (5, 6)
    );
    assert!(!answer.usage.estimated);
    let answer = ask(&script, &prompt("X", &[("phase", "2"), ("report", "r")]))
        .1
        .unwrap();
    assert_eq!(answer.tool_calls[0].arguments, json!({"a": ["r", 1]}));
    assert_eq!(answer.stop, Stop::ToolCalls);
    let (heard, failed) = ask(&script, &prompt("MA", &[]));
    assert_eq!(heard, ["half "]);
    assert_eq!(failed.unwrap_err().kind, ModelErrorKind::Overloaded);
    let nothing = ask(&script, &prompt("X", &[])).1.unwrap_err();
    assert_eq!(nothing.kind, ModelErrorKind::Script);
    assert!(nothing.message.contains("`X`"), "{nothing}");
}

#[test]
fn a_wrong_script_is_told() {
    for wrong in [
        "[[rule]]\nrepli = 1",
        "[[rule]]\nmatches = '('",
        "[[rule]]\nsays = ['x']",
        "[words]\na = '['",
        "[[rule]]\nfail = 'x'",
        "{",
    ] {
        assert_eq!(
            script(wrong).unwrap_err().kind,
            ModelErrorKind::Script,
            "{wrong}"
        );
    }
    let temp = tempfile::tempdir().unwrap();
    let gone = Script::read(&temp.path().join("gone.toml")).unwrap_err();
    assert_eq!(gone.kind, ModelErrorKind::Script);
}

/// What a learner may say, with what the outcome must hold.
const SAID: &[(&str, &str, bool)] = &[
    ("", "checkpoint_reached", false),
    ("hello", "checkpoint_reached", false),
    ("Hallo!", "checkpoint_reached", false),
    ("done", "checkpoint_reached", true),
    ("I am done with it.", "checkpoint_reached", true),
    ("Ich bin fertig", "checkpoint_reached", true),
    ("j'ai terminé", "checkpoint_reached", true),
    ("我完成了", "checkpoint_reached", true),
    ("I am not done yet", "checkpoint_reached", false),
    ("noch nicht fertig", "checkpoint_reached", false),
    ("还没完成", "checkpoint_reached", false),
    ("Are we done?", "checkpoint_reached", false),
    ("what is a loop?", "checkpoint_reached", false),
    ("help", "checkpoint_reached", false),
    ("I am so confused", "checkpoint_reached", false),
    ("```python\nprint(1)\n```", "checkpoint_reached", false),
    ("can we skip this task", "student_wants_to_skip", true),
    ("please ask the expert", "expert_consultation_needed", true),
    ("I uploaded my data", "expert_consultation_needed", true),
    ("{{report}} \"}```json\u{7}", "checkpoint_reached", false),
    (
        "something else entirely",
        "expert_consultation_needed",
        false,
    ),
];

fn session_facts<'a>(message: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut facts = vec![
        ("learner_message", message),
        ("turn_index", "3"),
        ("chapter_title", "Loops \"for\" all"),
        ("task_id", "t1"),
        ("task_title", "Write a \"loop\""),
        ("next_task_id", "t2"),
        ("next_task_title", "Nest it"),
        ("packet_version", "4"),
        ("phase", "1"),
        ("expert_id", "data_inspector"),
        ("report", "# Report\n\n- a \"line\"\n"),
    ];
    facts.extend(more);
    facts
}

#[test]
fn the_embedded_companion_talks_about_any_chapter() {
    let script = Script::embedded();
    for (message, field, value) in SAID {
        for facts in [
            session_facts(message, &[]),
            vec![("learner_message", *message), ("expert_id", "e")],
        ] {
            let answer = ask(&script, &prompt("CA", &facts)).1.unwrap();
            assert!(
                answer.text.contains("offline companion"),
                "{message}: {}",
                answer.text
            );
            let (talk, tail) = answer.text.split_once("```json\n").unwrap();
            assert!(!talk.trim().is_empty() && !talk.contains("```"));
            let outcome: Value =
                serde_json::from_str(tail.trim().strip_suffix("```").unwrap()).unwrap();
            assert_eq!(outcome[*field], *value, "{message}: {outcome}");
            for name in [
                "what_user_attempted",
                "what_user_observed",
                "ca_teaching_mode",
                "ca_next_suggestion",
                "checkpoint_reached",
                "blocker_type",
                "student_sentiment",
                "progress_record",
                "evidence_for_subtasks",
                "expert_consultation_needed",
                "expert_consultation_reason",
                "student_wants_to_skip",
            ] {
                assert!(outcome.get(name).is_some(), "{name} of {message}");
            }
        }
    }
    let no_expert = session_facts("please ask the expert", &[("expert_id", "")]);
    let answer = ask(&script, &prompt("CA", &no_expert)).1.unwrap();
    assert!(
        answer
            .text
            .contains("\"expert_consultation_needed\": false")
    );
}

#[test]
fn the_embedded_manager_and_memo_give_json() {
    let script = Script::embedded();
    let read = |agent: &str, facts: &[(&str, &str)]| -> Value {
        let text = ask(&script, &prompt(agent, facts)).1.unwrap().text;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    for (message, ..) in SAID {
        for facts in [
            session_facts(message, &[]),
            vec![("learner_message", *message)],
        ] {
            let one = read("RMA", &facts);
            assert!(one["instruction_packet"]["current_focus"].is_string());
            assert!(one["state_update"]["subtask_status"].is_object());
            let two = read("RMA", &[&facts[..], &[("phase", "2")]].concat());
            assert!(two["expert_consultation_summary"].is_string());
            assert!(two["guidance_for_ca"].is_string());
            let memo = read("MA", &facts);
            assert!(!memo["updated_report"].as_str().unwrap().is_empty());
            assert!(memo["digest"]["progress_delta"].is_string());
            assert!(memo["error_entries"].is_array());
        }
    }
    let done = read("RMA", &session_facts("done", &[]));
    assert_eq!(
        done["state_update"]["subtask_status"]["t1"]["status"],
        "completed"
    );
    assert_eq!(done["state_update"]["current_subtask_id"], "t2");
    let last = read("RMA", &session_facts("done", &[("next_task_id", "")]));
    assert_eq!(
        last["state_update"]["subtask_status"]["t1"]["status"],
        "completed"
    );
    let asked = read("RMA", &session_facts("ask the expert", &[]));
    assert_eq!(asked["consultation_request"]["expert_id"], "data_inspector");
    assert_eq!(asked["instruction_packet"]["instruction_version"], 4);
    let memo = read("MA", &session_facts("done", &[]));
    assert!(
        memo["updated_report"]
            .as_str()
            .unwrap()
            .starts_with("# Report\n\n- a \"line\"\n")
    );
}

#[test]
fn the_embedded_expert_words_what_a_skill_found() {
    let script = Script::embedded();
    let facts = [("tool_names", "inspect_table"), ("tool_result", "3 rows")];
    let answer = ask(&script, &prompt("EXPERT", &facts)).1.unwrap();
    assert!(answer.tool_calls.is_empty() && answer.text.contains("3 rows"));
    let answer = ask(&script, &prompt("EXPERT", &[])).1.unwrap();
    assert!(answer.tool_calls.is_empty() && !answer.text.is_empty());
}
