//! The stream's events: their frames, their fields, and the order in which they may come.

use serde_json::Value;

/// What a field holds.
#[derive(Debug, Clone, Copy)]
enum Field {
    Text,
    Number,
}

use Field::{Number, Text};

/// Every type of event, with its fields beside `type`.
const FIELDS: &[(&str, &[(&str, Field)])] = &[
    ("start", &[]),
    ("companion_start", &[]),
    ("companion_chunk", &[("content", Text)]),
    ("companion_complete", &[]),
    (
        "token_usage",
        &[
            ("agent", Text),
            ("turn_index", Number),
            ("input_tokens", Number),
            ("output_tokens", Number),
        ],
    ),
    (
        "consultation_start",
        &[("expert_id", Text), ("title", Text)],
    ),
    (
        "consultation_complete",
        &[("expert_id", Text), ("consultation_id", Text)],
    ),
    (
        "consultation_error",
        &[("expert_id", Text), ("error", Text)],
    ),
    ("complete", &[("turn_index", Number)]),
    ("error", &[("message", Text)]),
    ("llm_error", &[("error", Text)]),
    ("cancelled", &[]),
];

/// The event in a frame, or nothing if it is a comment: exactly `data: ` and JSON on one line.
pub(super) fn decode(frame: &str) -> Option<Value> {
    assert!(!frame.contains('\r'), "{frame:?}");
    if frame.lines().all(|line| line.starts_with(':')) {
        return None;
    }
    assert!(!frame.contains('\n'), "one line: {frame:?}");
    let data = frame
        .strip_prefix("data: ")
        .unwrap_or_else(|| panic!("{frame:?}"));
    let event: Value = serde_json::from_str(data).unwrap_or_else(|e| panic!("{e}: {frame:?}"));
    Some(event)
}

/// Refuse an event of a turn that is not as the contract has it.
pub(super) fn check_fields(event: &Value) {
    let kind = event["type"].as_str().unwrap_or_else(|| panic!("{event}"));
    let found = FIELDS.iter().find(|(name, _)| *name == kind);
    let (_, fields) = found.unwrap_or_else(|| panic!("an event of no known type: {event}"));
    for (name, field) in *fields {
        let right = match field {
            Text => event[name].is_string(),
            Number => event[name].is_u64(),
        };
        assert!(right, "`{name}` in {event}");
    }
    let members = event.as_object().unwrap().len();
    assert_eq!(
        members,
        fields.len() + 1,
        "more than the contract's: {event}"
    );
}

/// The text that is shown after these events: `companion_start` clears what was there.
pub(super) fn shown(events: &[Value]) -> String {
    let mut text = String::new();
    for event in events {
        match event["type"].as_str() {
            Some("companion_start") => text.clear(),
            Some("companion_chunk") => text += event["content"].as_str().unwrap(),
            _ => {}
        }
    }
    text
}

/// Whether the events of a whole stream came in an order that the contract allows.
pub(super) fn check(events: &[Value]) {
    let kind = |event: &Value| event["type"].as_str().unwrap().to_owned();
    let kinds: Vec<String> = events.iter().map(kind).collect();
    let Some((last, others)) = kinds.split_last() else {
        panic!("a stream without events");
    };
    let is_end = |kind: &str| ["complete", "cancelled"].contains(&kind);
    assert!(is_end(last) || last == "error", "{kinds:?}");
    assert!(
        !others.iter().any(|kind| is_end(kind)),
        "two ends: {kinds:?}"
    );
    if last == "error" {
        // Before the turn: nothing else was to be told.
        assert!(others.iter().all(|kind| kind == "start"), "{kinds:?}");
        return;
    }
    assert_eq!(kinds[0], "start", "{kinds:?}");
    let starts = kinds.iter().filter(|kind| *kind == "start").count();
    assert_eq!(starts, 1, "{kinds:?}");
    check_companion(&kinds);
    check_consultations(events);
    for event in events {
        if event["type"] == "token_usage" {
            let agent = event["agent"].as_str().unwrap();
            assert!(["CA", "RMA", "MA"].contains(&agent), "{event}");
        }
    }
    let failed = kinds.iter().any(|kind| kind.ends_with("error"));
    if last == "complete" && !failed {
        check_usage(events);
    }
}

/// Chunks come between a start and its completion, and what was begun last is completed.
fn check_companion(kinds: &[String]) {
    let mut speaks = false;
    for kind in kinds {
        match kind.as_str() {
            "companion_start" => speaks = true,
            "companion_chunk" => assert!(speaks, "a chunk outside: {kinds:?}"),
            "companion_complete" => {
                assert!(speaks, "nothing was begun: {kinds:?}");
                speaks = false;
            }
            "complete" => {
                let told = kinds
                    .iter()
                    .any(|kind| kind == "llm_error" || kind == "error");
                assert!(!speaks || told, "not completed: {kinds:?}");
            }
            _ => {}
        }
    }
}

/// A consultation ends, well or not, before the companion speaks again.
fn check_consultations(events: &[Value]) {
    let mut asked: Option<&Value> = None;
    for event in events {
        match event["type"].as_str().unwrap() {
            "consultation_start" => {
                assert!(asked.is_none(), "two at once: {events:?}");
                asked = Some(&event["expert_id"]);
            }
            "consultation_complete" => {
                assert_eq!(asked.take(), Some(&event["expert_id"]), "{events:?}");
            }
            // What is refused was not begun.
            "consultation_error" => asked = None,
            "companion_start" | "complete" => assert!(asked.is_none(), "{events:?}"),
            _ => {}
        }
    }
}

/// A completed turn says what the companion took, and the memo's part comes last.
fn check_usage(events: &[Value]) {
    let place = |agent: &str| {
        let mut all = events.iter();
        all.position(|event| event["type"] == "token_usage" && event["agent"] == agent)
    };
    let kind = |name: &str| events.iter().rposition(|event| event["type"] == name);
    assert!(place("CA").is_some(), "{events:?}");
    if let Some(memo) = place("MA") {
        assert!(Some(memo) > kind("companion_complete"), "{events:?}");
        assert!(place("CA") < Some(memo), "{events:?}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stream(kinds: &[&str]) -> Vec<Value> {
        let event = |kind: &&str| match *kind {
            "CA" | "RMA" | "MA" => json!({ "type": "token_usage", "agent": kind }),
            kind => json!({ "type": kind, "expert_id": "e" }),
        };
        kinds.iter().map(event).collect()
    }

    #[test]
    fn the_contracts_order_is_right() {
        for kinds in [
            "start CA companion_start companion_chunk companion_complete MA complete",
            "start companion_start companion_chunk CA companion_complete MA complete",
            "start companion_start companion_chunk RMA consultation_start consultation_complete \
             CA companion_start companion_chunk companion_complete MA complete",
            "start companion_start llm_error complete",
            "start companion_start companion_chunk cancelled",
            "error",
        ] {
            check(&stream(&kinds.split_whitespace().collect::<Vec<_>>()));
        }
    }

    #[test]
    fn another_order_is_wrong() {
        for kinds in [
            "",
            "start",
            "CA companion_start companion_chunk companion_complete MA complete",
            "start CA companion_start companion_chunk MA complete",
            "start CA companion_chunk companion_complete complete",
            "start CA companion_start companion_complete complete complete",
            "start MA companion_start companion_chunk CA companion_complete complete",
            "start consultation_start CA companion_start companion_complete complete",
            "start companion_start companion_complete complete",
            "start companion_start companion_chunk error",
        ] {
            let kinds: Vec<_> = kinds.split_whitespace().collect();
            let events = stream(&kinds);
            let outcome = std::panic::catch_unwind(|| check(&events));
            assert!(outcome.is_err(), "{kinds:?}");
        }
    }

    #[test]
    fn frames_are_what_they_are() {
        assert_eq!(decode(": still here"), None);
        assert_eq!(
            decode(r#"data: {"type":"start"}"#).unwrap()["type"],
            "start"
        );
        for frame in [
            "event: x\ndata: {\"type\":\"start\"}",
            "data:{\"type\":\"start\"}",
            "data: {\"type\":\"start\"}\r",
            "data: {\"type\":\"other\"}",
            "data: {\"type\":\"start\",\"more\":1}",
            "data: {\"type\":\"complete\"}",
            "data: {",
        ] {
            let read = || decode(frame).inspect(check_fields);
            assert!(std::panic::catch_unwind(read).is_err(), "{frame}");
        }
    }
}
