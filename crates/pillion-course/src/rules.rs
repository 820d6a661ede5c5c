//! Binding rules: what a consultation sets in the packet that steers the companion.
//!
//! A model that has read an expert's answer may still forget what follows from it. A rule
//! says it for sure: after a consultation with this expert, these fields have these values.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Rules of one chapter.
pub(crate) const MOST_RULES: usize = 100;
/// Fields of the packet that a rule may set. Its version is counted, and no rule's business.
pub const PACKET_FIELDS: [&str; 10] = [
    "current_focus",
    "guidance_for_ca",
    "recommended_targets",
    "must_check",
    "nice_check",
    "lock_until",
    "allow_setup_helper_code",
    "setup_helper_scope",
    "task_type",
    "suggest_checkpoint_confirmation",
];
/// What opens a lock.
const LOCKS: [&str; 4] = [
    "checkpoint_reached",
    "attempts_exceeded",
    "new_error_type",
    "user_uploads_suitable_dataset_or_uses_example",
];
/// How far a companion may help with what is not the subject.
const SCOPES: [&str; 5] = [
    "none",
    "file_creation",
    "env_setup",
    "path_check",
    "data_generation",
];
/// Kinds of task.
const TASK_TYPES: [&str; 2] = ["core", "scaffolding"];

/// What follows from a consultation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BindingRule {
    /// The expert that was asked.
    pub expert_id: String,
    /// The scenario it was asked about; any if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario_id: Option<String>,
    /// Fields of the packet and their values: none but [`PACKET_FIELDS`], each of its type.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub set: Map<String, Value>,
    /// Text that is put behind the guidance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance_append: Option<String>,
}

/// What is wrong with a rule: the word in it that is to blame, and what about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub(crate) word: String,
    pub(crate) message: String,
}

impl Flaw {
    fn new(word: &str, message: impl Into<String>) -> Self {
        Self {
            word: word.to_owned(),
            message: message.into(),
        }
    }
}

impl BindingRule {
    /// A rule from its source, or all that is wrong with it.
    pub(crate) fn parse(source: &Value) -> Result<Self, Vec<Flaw>> {
        let Some(fields) = source.as_object() else {
            let message = "a binding rule is a map with `expert_id`, `set` and `guidance_append`";
            return Err(vec![Flaw::new("binding_rules", message)]);
        };
        let mut flaws = Vec::new();
        let known = ["expert_id", "scenario_id", "set", "guidance_append"];
        for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
            let message = format!("a binding rule has no field `{name}`");
            flaws.push(Flaw::new(name, message));
        }
        match fields.get("expert_id") {
            Some(Value::String(_)) => {}
            Some(_) => flaws.push(Flaw::new("expert_id", "`expert_id` is a text")),
            None => flaws.push(Flaw::new(
                "binding_rules",
                "a binding rule needs an `expert_id`",
            )),
        }
        for name in ["scenario_id", "guidance_append"] {
            let value = fields.get(name).unwrap_or(&Value::Null);
            if !value.is_string() && !value.is_null() {
                flaws.push(Flaw::new(name, format!("`{name}` is a text")));
            }
        }
        match fields.get("set") {
            None | Some(Value::Null) => {}
            Some(Value::Object(set)) => {
                let wrong = set.iter().filter_map(|(name, value)| wrong(name, value));
                flaws.extend(wrong);
            }
            Some(_) => flaws.push(Flaw::new("set", "`set` is a map of fields and values")),
        }
        if !flaws.is_empty() {
            return Err(flaws);
        }
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let set = fields.get("set").and_then(Value::as_object);
        Ok(Self {
            expert_id: text("expert_id").unwrap_or_default(),
            scenario_id: text("scenario_id"),
            set: set.cloned().unwrap_or_default(),
            guidance_append: text("guidance_append"),
        })
    }
}

/// What is wrong with one field that a rule sets.
fn wrong(name: &str, value: &Value) -> Option<Flaw> {
    let one_of = |words: &[&str]| value.as_str().is_some_and(|word| words.contains(&word));
    let list = |most: usize| {
        value
            .as_array()
            .is_some_and(|list| list.len() <= most && list.iter().all(Value::is_string))
    };
    let locks = || match value {
        Value::Array(list) => list
            .iter()
            .all(|lock| lock.as_str().is_some_and(|word| LOCKS.contains(&word))),
        _ => one_of(&LOCKS),
    };
    let (fits, wanted) = match name {
        "current_focus" | "guidance_for_ca" => (value.is_string(), "a text".to_owned()),
        "recommended_targets" | "must_check" => (list(2), "a list of at most 2 texts".into()),
        "nice_check" => (list(1), "a list of at most 1 text".into()),
        "lock_until" => (locks(), format!("of {}", LOCKS.join(", "))),
        "allow_setup_helper_code" | "suggest_checkpoint_confirmation" => {
            (value.is_boolean(), "`true` or `false`".into())
        }
        "setup_helper_scope" => (one_of(&SCOPES), format!("one of {}", SCOPES.join(", "))),
        "task_type" => (
            one_of(&TASK_TYPES),
            format!("one of {}", TASK_TYPES.join(", ")),
        ),
        _ => {
            let message = format!("a packet has no field `{name}` that a rule may set");
            return Some(Flaw::new(name, message));
        }
    };
    (!fits).then(|| Flaw::new(name, format!("`{name}` is {wanted}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_sets_fields_of_the_packet() {
        let source = json!({
            "expert_id": "data_inspector",
            "set": {
                "task_type": "core",
                "recommended_targets": ["a", "b"],
                "nice_check": ["c"],
                "lock_until": "checkpoint_reached",
                "allow_setup_helper_code": false,
                "setup_helper_scope": "none",
            },
            "guidance_append": "go on",
        });
        let rule = BindingRule::parse(&source).unwrap();
        assert_eq!(rule.set.len(), 6);
        assert_eq!(serde_json::to_value(&rule).unwrap(), source);
        let locks = json!({"expert_id": "a", "set": {"lock_until": ["new_error_type"]}});
        assert!(BindingRule::parse(&locks).is_ok());
    }

    #[test]
    fn all_that_is_wrong_with_a_rule_is_told_by_the_word_to_blame() {
        let source = json!({
            "expert": "x",
            "scenario_id": 3,
            "set": {
                "instruction_version": 7,
                "task_type": "easy",
                "nice_check": ["a", "b"],
                "lock_until": ["never"],
            },
        });
        let flaws = BindingRule::parse(&source).unwrap_err();
        let words: Vec<_> = flaws.iter().map(|flaw| flaw.word.as_str()).collect();
        assert_eq!(
            words,
            [
                "expert",
                "binding_rules",
                "scenario_id",
                "instruction_version",
                "task_type",
                "nice_check",
                "lock_until",
            ]
        );
        assert!(BindingRule::parse(&json!("x")).is_err());
        assert!(BindingRule::parse(&json!({"expert_id": "a", "set": []})).is_err());
    }
}
