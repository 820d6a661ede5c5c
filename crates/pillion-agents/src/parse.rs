//! Answers of models, read into their types.
//!
//! What does no harm is mended and noted: an unknown word, a text where a list should be. What
//! changes the meaning is a [`AnswerProblem`], whose [`AnswerProblem::correction`] is sent back to the model
//! once.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::members::{CONSULTED, MANAGER, MEMO, Member, MemberKind, OUTCOME, PACKET};
use crate::memo::MemoResult;
use crate::outcome::TurnOutcome;
use crate::packet::{LockUntil, ManagerAnswer};
use crate::repair::{self, RepairError};
use crate::words::text_of;

/// So many notes are kept of one answer.
const MAX_NOTES: usize = 20;

/// Something that was mended or left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The member it is about.
    pub place: String,
    /// What was done.
    pub message: String,
}

impl Note {
    /// A note about this place.
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.place, self.message)
    }
}

/// Why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerProblem {
    /// There is no JSON in it.
    #[error("the answer has no usable JSON: {0}")]
    NotJson(#[from] RepairError),
    /// It ends too early.
    #[error("the answer breaks off in the middle of a text; keep it shorter")]
    CutOff,
    /// A member is not there.
    #[error("`{0}` is missing or empty")]
    Missing(&'static str),
    /// A member is of the wrong type.
    #[error("`{place}` must be {wanted}")]
    WrongType {
        /// The member.
        place: String,
        /// What it should be.
        wanted: &'static str,
    },
}

impl AnswerProblem {
    /// What the model is told, once.
    pub fn correction(&self) -> String {
        format!(
            "Your last answer could not be used: {self}. Answer again with one complete JSON \
             object in exactly the format that was specified, and with nothing else."
        )
    }
}

/// Some models put the outcome into an object with one of these members.
pub(crate) const OUTCOME_WRAPPERS: &[&str] = &["turn_outcome", "TurnOutcome", "outcome"];

/// Read what the companion says about the turn. It is not asked again, since it would have to
/// say its reply again: what of its record can be used is.
pub fn read_outcome(text: &str) -> Result<(TurnOutcome, Vec<Note>), AnswerProblem> {
    read(text, OUTCOME, OUTCOME_WRAPPERS, Misfits::LeftOut)
}

/// Read the manager's answer of either phase.
pub fn read_manager(text: &str) -> Result<(ManagerAnswer, Vec<Note>), AnswerProblem> {
    const WRAPPERS: &[&str] = &["answer", "result", "output"];
    let both = [MANAGER, &CONSULTED[2..]].concat();
    let (mut answer, mut notes): (ManagerAnswer, _) = read(text, &both, WRAPPERS, Misfits::Told)?;
    match &answer.instruction_packet {
        Some(packet) if packet.current_focus.is_empty() && packet.guidance_for_ca.is_empty() => {
            return Err(AnswerProblem::Missing("instruction_packet.current_focus"));
        }
        None if answer.guidance_for_ca.is_empty() => {
            return Err(AnswerProblem::Missing("instruction_packet"));
        }
        _ => {}
    }
    if let Some(request) = &answer.consultation_request
        && (request.expert_id.trim().is_empty() || request.question.trim().is_empty())
    {
        if !request.expert_id.trim().is_empty() {
            let message = "left out: it names an expert and asks nothing";
            notes.push(Note::new("consultation_request", message));
        }
        answer.consultation_request = None;
    }
    Ok((answer, notes))
}

/// Read the memo agent's answer.
pub fn read_memo(text: &str) -> Result<(MemoResult, Vec<Note>), AnswerProblem> {
    let (memo, notes): (MemoResult, _) = read(text, MEMO, &["memo", "result"], Misfits::Told)?;
    if memo.updated_report.trim().is_empty() {
        return Err(AnswerProblem::Missing("updated_report"));
    }
    Ok((memo, notes))
}

/// What becomes of members that are not what they should be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Misfits {
    /// The model is told, and asked again.
    Told,
    /// The rest is taken without them.
    LeftOut,
}

fn read<T: DeserializeOwned>(
    text: &str,
    members: &[Member],
    wrappers: &[&str],
    misfits: Misfits,
) -> Result<(T, Vec<Note>), AnswerProblem> {
    let mut keys: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let own = keys.len();
    keys.extend(wrappers);
    let found = repair::object(text, &keys)?;
    let Value::Object(mut map) = found.value else {
        return Err(RepairError::Missing.into());
    };
    // Half a report would take the place of a whole one.
    if found.cut && misfits == Misfits::Told {
        return Err(AnswerProblem::CutOff);
    }
    let mut notes = Vec::new();
    if found.repaired {
        notes.push(Note::new("", "the JSON was repaired"));
    }
    if !keys[..own].iter().any(|key| map.contains_key(*key)) {
        let inner = wrappers.iter().find_map(|name| match map.get(*name) {
            Some(Value::Object(inner)) => Some(inner.clone()),
            _ => None,
        });
        map = inner.unwrap_or(map);
    }
    mend(&mut map, members, "", misfits, &mut notes)?;
    notes.truncate(MAX_NOTES);
    let wrong = |error: serde_json::Error| AnswerProblem::WrongType {
        place: error.to_string(),
        wanted: "as it was specified",
    };
    Ok((
        serde_json::from_value(Value::Object(map)).map_err(wrong)?,
        notes,
    ))
}

/// Check the members of a packet that come from a chapter, not from a model.
pub(crate) fn mend_packet(map: &mut Map<String, Value>) -> Result<Vec<Note>, AnswerProblem> {
    let mut notes = Vec::new();
    mend(map, PACKET, "set", Misfits::Told, &mut notes)?;
    Ok(notes)
}

/// Whether a packet has a member of this name.
pub(crate) fn is_packet_member(name: &str) -> bool {
    PACKET.iter().any(|(member, _)| *member == name)
}

fn mend(
    map: &mut Map<String, Value>,
    members: &[Member],
    place: &str,
    misfits: Misfits,
    notes: &mut Vec<Note>,
) -> Result<(), AnswerProblem> {
    if let Some(old) = map.shift_remove("must_check")
        && members
            .iter()
            .any(|(name, _)| *name == "recommended_targets")
    {
        map.entry("recommended_targets").or_insert(old);
    }
    for (name, kind) in members {
        let Some(value) = map.get_mut(*name) else {
            continue;
        };
        let place = if place.is_empty() {
            (*name).to_owned()
        } else {
            format!("{place}.{name}")
        };
        let fitted = match fits(value, *kind, &place, misfits, notes) {
            Err(AnswerProblem::WrongType { wanted, .. }) if misfits == Misfits::LeftOut => {
                notes.push(Note::new(&place, format!("left out: it must be {wanted}")));
                false
            }
            fitted => fitted?,
        };
        if !fitted {
            map.shift_remove(*name);
        }
    }
    Ok(())
}

/// Make a value one of its kind. `false` means that its default is to be taken.
fn fits(
    value: &mut Value,
    kind: MemberKind,
    place: &str,
    misfits: Misfits,
    notes: &mut Vec<Note>,
) -> Result<bool, AnswerProblem> {
    let wrong = |wanted| {
        Err(AnswerProblem::WrongType {
            place: place.to_owned(),
            wanted,
        })
    };
    if value.is_null() {
        return Ok(false);
    }
    match kind {
        MemberKind::Text | MemberKind::Maybe => match value {
            Value::String(_) => {}
            Value::Number(_) | Value::Bool(_) => *value = Value::String(value.to_string()),
            // Several lines are one text.
            Value::Array(lines) if lines.iter().all(Value::is_string) => {
                let lines: Vec<String> = lines.drain(..).filter_map(text_of).collect();
                notes.push(Note::new(place, "a list was read as a text"));
                *value = Value::String(lines.join("\n"));
            }
            _ => return wrong("a text"),
        },
        MemberKind::Flag => match value {
            Value::Bool(_) => {}
            Value::String(word) => match word.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" => *value = Value::Bool(true),
                "false" | "no" | "" => *value = Value::Bool(false),
                _ => return wrong("true or false"),
            },
            Value::Number(number) if number.as_u64().is_some_and(|number| number < 2) => {
                *value = Value::Bool(number.as_u64() == Some(1));
            }
            _ => return wrong("true or false"),
        },
        // Versions and numbers of turns are counted here, whatever a model says.
        MemberKind::Count => {
            let count = match value {
                Value::Number(number) => number.as_u64(),
                Value::String(text) => text.trim().parse().ok(),
                _ => None,
            };
            let Some(count) = count else {
                notes.push(Note::new(place, "what is no whole number was left out"));
                return Ok(false);
            };
            *value = count.into();
        }
        MemberKind::Word(words) => match value {
            Value::String(word) => {
                let plain = word.trim().to_ascii_lowercase().replace([' ', '-'], "_");
                if !words.contains(&plain.as_str()) {
                    notes.push(Note::new(place, format!("unknown word `{}`", short(word))));
                    return Ok(false);
                }
                *value = Value::String(plain);
            }
            _ => return wrong("one of the words that were specified"),
        },
        MemberKind::Locks => {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Array(items) if items.iter().all(Value::is_string) => items
                    .iter()
                    .filter_map(Value::as_str)
                    .collect::<Vec<_>>()
                    .join(" "),
                _ => return wrong("one of the conditions that were specified, or a list of them"),
            };
            if LockUntil::named_in(&text).is_empty() {
                notes.push(Note::new(place, format!("unknown word `{}`", short(&text))));
                return Ok(false);
            }
        }
        MemberKind::Texts(most) => {
            if let Value::String(_) = value {
                *value = Value::Array(vec![value.take()]);
            }
            let Value::Array(items) = value else {
                return wrong("a list of texts");
            };
            if items.iter().any(|item| item.is_object() || item.is_array()) {
                notes.push(Note::new(
                    place,
                    "items that are no texts were read as such",
                ));
            }
            if items.len() > most {
                notes.push(Note::new(
                    place,
                    format!("only the first {most} were taken"),
                ));
                items.truncate(most);
            }
        }
        MemberKind::One(members) | MemberKind::Optional(members) => match value {
            Value::Object(map) => mend(map, members, place, misfits, notes)?,
            Value::Bool(false) => return Ok(false),
            _ => return wrong("an object"),
        },
        MemberKind::Many(members, most) => {
            if value.is_object() {
                *value = pairs(value.take(), members);
            }
            let Value::Array(items) = value else {
                return wrong("a list of objects");
            };
            items.truncate(most);
            if misfits == Misfits::LeftOut && !items.iter().all(Value::is_object) {
                notes.push(Note::new(place, "items that are no objects were left out"));
                items.retain(Value::is_object);
            }
            for item in items {
                let Value::Object(map) = item else {
                    return wrong("a list of objects");
                };
                mend(map, members, place, misfits, notes)?;
            }
        }
        MemberKind::Update => match value {
            Value::Object(_) => {}
            _ => return wrong("an object"),
        },
    }
    Ok(true)
}

/// One object where a list of them should be: it is the only item, or, for lists of a name and
/// a text, a map of them.
fn pairs(value: Value, members: &[Member]) -> Value {
    let (Value::Object(map), [(key, _), (text, _)]) = (&value, members) else {
        return Value::Array(vec![value]);
    };
    if map.contains_key(*key) {
        return Value::Array(vec![value]);
    }
    let item = |(name, shown): (&String, &Value)| json!({ *key: name, *text: shown });
    Value::Array(map.iter().map(item).collect())
}

fn short(text: &str) -> String {
    crate::words::clip(text, 40)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::members::{OUTCOME_KEYS, manager_schema, memo_schema};
    use crate::outcome::{BlockerType, Sentiment};

    #[test]
    fn the_keys_of_an_outcome_are_its_members() {
        let names: Vec<&str> = OUTCOME.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, OUTCOME_KEYS);
        let written = serde_json::to_value(TurnOutcome::default()).unwrap();
        let written: Vec<&String> = written.as_object().unwrap().keys().collect();
        assert_eq!(written, OUTCOME_KEYS);
    }

    #[test]
    fn harmless_mistakes_are_mended_and_noted() {
        let text = r#"{"turn_outcome": {"checkpoint_reached": "yes", "student_sentiment": "Frustrated",
            "blocker_type": "core concept", "ca_teaching_mode": "lecture", "what_user_attempted": null,
            "evidence_for_subtasks": {"t1": "ran it"}, "progress_record": 3,}}"#;
        let (outcome, notes) = read_outcome(text).unwrap();
        assert!(outcome.checkpoint_reached);
        assert_eq!(outcome.student_sentiment, Sentiment::Frustrated);
        assert_eq!(outcome.blocker_type, BlockerType::CoreConcept);
        assert_eq!(outcome.evidence_for_subtasks[0].evidence, "ran it");
        assert_eq!(outcome.progress_record, "3");
        let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
        assert_eq!(
            notes,
            [
                "``: the JSON was repaired",
                "`ca_teaching_mode`: unknown word `lecture`"
            ]
        );
    }

    #[test]
    fn wrong_types_and_missing_members_are_problems() {
        let cases = [
            (read_outcome("nothing").unwrap_err(), "no usable JSON"),
            (
                read_manager(r#"{"state_update": {}}"#).unwrap_err(),
                "`instruction_packet` is missing",
            ),
            (
                read_manager(r#"{"instruction_packet": {"nice_check": 3}}"#).unwrap_err(),
                "`instruction_packet.nice_check` must be a list of texts",
            ),
            (
                read_manager(r#"{"instruction_packet": {}}"#).unwrap_err(),
                "`instruction_packet.current_focus` is missing",
            ),
            (
                read_memo(r#"{"updated_report": " "}"#).unwrap_err(),
                "`updated_report` is missing",
            ),
        ];
        for (problem, words) in cases {
            let correction = problem.correction();
            assert!(correction.contains(words), "{correction}");
        }
    }

    #[test]
    fn what_of_an_outcome_can_be_used_is() {
        let text = r#"{"checkpoint_reached": true, "blocker_type": ["none"],
            "expert_consultation_needed": "perhaps", "progress_record": {},
            "evidence_for_subtasks": [null, {"subtask_id": "t1", "evidence": "ran it"}, "t2"],
            "ca_next_suggestion": "it was cut "#;
        let (outcome, notes) = read_outcome(text).unwrap();
        assert!(outcome.checkpoint_reached && !outcome.expert_consultation_needed);
        assert_eq!(outcome.evidence_for_subtasks.len(), 1);
        assert_eq!(outcome.evidence_for_subtasks[0].subtask_id, "t1");
        let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
        assert_eq!(
            notes,
            [
                "``: the JSON was repaired",
                "`blocker_type`: left out: it must be one of the words that were specified",
                "`progress_record`: left out: it must be a text",
                "`evidence_for_subtasks`: items that are no objects were left out",
                "`expert_consultation_needed`: left out: it must be true or false",
            ]
        );
    }

    #[test]
    fn half_a_text_is_no_answer() {
        let cut = r##"{"updated_report": "# Report\n\nThe learner"##;
        assert_eq!(read_memo(cut).unwrap_err(), AnswerProblem::CutOff);
        let cut = r#"{"instruction_packet": {"current_focus": "f", "guidance_for_ca": "Ask"#;
        let problem = read_manager(cut).unwrap_err();
        assert!(problem.correction().contains("shorter"), "{problem}");
        // A bracket that is not closed takes nothing away.
        let open = r#"{"updated_report": "all of it", "digest": {"#;
        assert_eq!(read_memo(open).unwrap().0.updated_report, "all of it");
    }

    #[test]
    fn numbers_that_pillion_counts_itself_are_no_reason_to_refuse() {
        for version in ["2.0", "-3", r#""seven""#, "[]", "1e30"] {
            let text = format!(
                r#"{{"instruction_packet": {{"current_focus": "f", "instruction_version": {version}}}}}"#
            );
            let (answer, notes) = read_manager(&text).unwrap();
            assert_eq!(answer.instruction_packet.unwrap().current_focus, "f");
            assert_eq!(notes.len(), 1, "{version}");
        }
        let memo = r#"{"updated_report": "r", "error_entries": [{"turn_index": "five", "description": "d"}]}"#;
        assert_eq!(read_memo(memo).unwrap().0.error_entries.len(), 1);
    }

    #[test]
    fn a_manager_may_use_old_names_and_ask_an_expert() {
        let text = r#"Here: {"instruction_packet": {"current_focus": "f", "must_check": ["a","b","c"], "lock_until": "dawn"},
            "consultation_request": {"expert_id": "x", "question": "q", "scenario_id": null}}"#;
        let (answer, notes) = read_manager(text).unwrap();
        let packet = answer.instruction_packet.unwrap();
        assert_eq!(packet.recommended_targets, ["a", "b"]);
        assert_eq!(packet.lock_until, LockUntil::default());
        assert_eq!(answer.consultation_request.unwrap().scenario_id, None);
        assert_eq!(notes.len(), 3, "{notes:?}");
        let silent = r#"{"instruction_packet": {"current_focus": "f"}, "consultation_request": {"expert_id": ""}}"#;
        assert_eq!(read_manager(silent).unwrap().0.consultation_request, None);
    }

    #[test]
    fn schemas_name_every_member() {
        let memo = memo_schema();
        assert_eq!(
            memo["required"],
            json!(["updated_report", "digest", "error_entries"])
        );
        assert_eq!(memo["properties"]["digest"]["additionalProperties"], false);
        let phases = [manager_schema(false), manager_schema(true)];
        assert!(
            phases[0]["properties"]
                .get("consultation_request")
                .is_some()
        );
        assert!(
            phases[1]["properties"]
                .get("expert_consultation_summary")
                .is_some()
        );
    }
}
