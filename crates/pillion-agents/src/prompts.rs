//! What the agents are told: prompts, what is filled into them, and the questions made of both.
//!
//! A template has placeholders such as `{{task_list}}`. They are filled in one pass: what a
//! value says is never looked at again, so nothing a learner writes is expanded. What comes
//! from a learner, a file or an expert stands between tags that it cannot close. A section that
//! an agent needs and its template does not mention is added behind it, as is the form of its
//! answer: who overrides a prompt cannot leave them out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::state::Task;
use crate::stream::Agent;
use crate::words::clip;

/// The longest section of a prompt, in characters.
const MAX_SECTION: usize = 40_000;

/// The placeholders that templates may have.
pub const PLACEHOLDERS: &[&str] = &[
    "chapter_title",
    "chapter_context",
    "task_list",
    "task_completion_principles",
    "interaction_protocol",
    "socratic_vs_direct",
    "consultation_guide",
    "available_experts",
    "state",
    "packet",
    "digest",
    "report",
    "memory",
    "history",
    "turn_outcome",
    "consultation",
    "learner_message",
    "error_summary",
    "language",
];

/// Those whose values were written by the chapter's author or by us. All others are delimited.
const AUTHORED: &[&str] = &[
    "chapter_title",
    "chapter_context",
    "task_list",
    "task_completion_principles",
    "interaction_protocol",
    "socratic_vs_direct",
    "consultation_guide",
    "available_experts",
    "language",
];

/// The prompts by name, with the form of the answer that belongs to each.
const DEFAULTS: &[(&str, &str, &str)] = &[
    (
        "companion",
        include_str!("../prompts/companion.md"),
        include_str!("../prompts/companion_format.md"),
    ),
    (
        "manager",
        include_str!("../prompts/manager.md"),
        include_str!("../prompts/manager_format.md"),
    ),
    (
        "manager_consulted",
        include_str!("../prompts/manager_consulted.md"),
        include_str!("../prompts/manager_consulted_format.md"),
    ),
    (
        "memo",
        include_str!("../prompts/memo.md"),
        include_str!("../prompts/memo_format.md"),
    ),
    ("welcome", include_str!("../prompts/welcome.md"), ""),
];

/// The prompts of a session: the shipped ones, and what overrides them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompts {
    overrides: BTreeMap<&'static str, String>,
}

impl Prompts {
    /// The names of all prompts. A file that overrides one has its name and ends in `.md`.
    pub fn names() -> impl Iterator<Item = &'static str> {
        DEFAULTS.iter().map(|(name, ..)| *name)
    }

    /// Override a prompt, by its name or the name of its file. `false` if there is none, or if
    /// the text is blank.
    pub fn set(&mut self, name: &str, text: impl Into<String>) -> bool {
        let name = name.strip_suffix(".md").unwrap_or(name);
        let text = text.into();
        match Self::names().find(|known| *known == name) {
            Some(known) if !text.trim().is_empty() => {
                self.overrides.insert(known, text);
                true
            }
            _ => false,
        }
    }

    /// The text of a prompt.
    pub fn get(&self, name: &str) -> &str {
        let default = || DEFAULTS.iter().find(|(known, ..)| *known == name);
        match self.overrides.get(name) {
            Some(text) => text,
            None => default().map_or("", |(_, text, _)| text),
        }
    }

    /// The first message of a session, without any model.
    pub fn welcome(&self, chapter: &ChapterTexts) -> String {
        let values = chapter.values();
        let text = fill(self.get("welcome"), &values).0;
        let text = text.trim();
        if text.is_empty() {
            "Welcome! What do you know about this topic already?".to_owned()
        } else {
            text.to_owned()
        }
    }

    /// A system text: the prompt, the sections that it does not mention, the form of the answer.
    pub(crate) fn system(
        &self,
        name: &str,
        values: &Values,
        sections: &[&'static str],
    ) -> (String, BTreeSet<&'static str>) {
        let (mut text, used) = fill(self.get(name), values);
        for section in sections.iter().filter(|section| !used.contains(*section)) {
            append_section(&mut text, section, values);
        }
        let format = DEFAULTS.iter().find(|(known, ..)| *known == name);
        if let Some((_, _, format)) = format {
            text.push_str("\n\n");
            text.push_str(format);
        }
        (text, used)
    }
}

/// The texts of a chapter, as its files have them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChapterTexts {
    /// What it is called.
    pub title: String,
    /// `chapter_context.md`.
    pub context: String,
    /// `task_list.md`.
    pub task_list: String,
    /// `task_completion_principles.md`.
    pub task_completion_principles: String,
    /// `interaction_protocol.md`, or empty.
    pub interaction_protocol: String,
    /// `socratic_vs_direct.md`, or empty.
    pub socratic_vs_direct: String,
    /// `consultation_guide.md`, or empty.
    pub consultation_guide: String,
    /// The tasks in `task_list`.
    pub tasks: Vec<Task>,
}

impl ChapterTexts {
    fn values(&self) -> Values {
        let list: Vec<String> = self
            .tasks
            .iter()
            .map(|task| format!("- **{}** {}", task.id, task.title))
            .collect();
        let task_list = if self.task_list.trim().is_empty() {
            list.join("\n")
        } else {
            self.task_list.clone()
        };
        let mut values = Values::new();
        values.insert("chapter_title", self.title.clone());
        values.insert("chapter_context", self.context.clone());
        values.insert("task_list", task_list);
        values.insert(
            "task_completion_principles",
            self.task_completion_principles.clone(),
        );
        values.insert("interaction_protocol", self.interaction_protocol.clone());
        values.insert("socratic_vs_direct", self.socratic_vs_direct.clone());
        values.insert("consultation_guide", self.consultation_guide.clone());
        values
    }

    pub(crate) fn values_for(&self, experts: &[ExpertInfo], message: &str) -> Values {
        let mut values = self.values();
        let list: Vec<String> = experts
            .iter()
            .map(|expert| format!("- `{}` {}: {}", expert.id, expert.title, expert.description))
            .collect();
        values.insert("available_experts", list.join("\n"));
        values.insert("language", language_of(message).to_owned());
        values
    }
}

/// An expert that may be asked in this chapter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExpertInfo {
    /// Its name.
    pub id: String,
    /// What learners read.
    pub title: String,
    /// What it is good for.
    pub description: String,
}

/// Who said a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The learner, or whoever asks.
    User,
    /// The model.
    Assistant,
}

/// A question to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// For whom the model speaks.
    pub agent: Agent,
    /// What it is told about its part.
    pub system: String,
    /// What was said. The last one is the user's.
    pub messages: Vec<(Speaker, String)>,
    /// What the answer must look like, if it is nothing but JSON.
    pub schema: Option<Value>,
    /// The same in short, for a model that follows a script.
    pub facts: BTreeMap<String, String>,
}

/// The values of placeholders and sections.
pub(crate) type Values = BTreeMap<&'static str, String>;

/// Fill in a template in one pass. Says which placeholders it had. Unknown ones stay.
pub(crate) fn fill(template: &str, values: &Values) -> (String, BTreeSet<&'static str>) {
    let mut text = String::with_capacity(template.len());
    let mut used = BTreeSet::new();
    let mut rest = template;
    while let Some(at) = rest.find("{{") {
        text.push_str(&rest[..at]);
        let inner = &rest[at + 2..];
        let name = inner.find("}}").map(|end| (&inner[..end], end + 2));
        let known = name.and_then(|(name, length)| {
            let known = PLACEHOLDERS.iter().find(|known| **known == name.trim());
            known.map(|known| (*known, length))
        });
        match known {
            Some((name, length)) => {
                used.insert(name);
                text.push_str(&value(name, values));
                rest = &inner[length..];
            }
            // The second brace may begin a placeholder: `{{{packet}}`.
            None => {
                text.push('{');
                rest = &rest[at + 1..];
            }
        }
    }
    text.push_str(rest);
    (text, used)
}

fn value(name: &'static str, values: &Values) -> String {
    let text = values.get(name).map_or("", String::as_str);
    if AUTHORED.contains(&name) {
        clip(text.trim(), MAX_SECTION)
    } else {
        delimited(name, text)
    }
}

/// A text between tags that it cannot close.
pub(crate) fn delimited(name: &str, text: &str) -> String {
    let text = clip(text.trim(), MAX_SECTION);
    let text = if text.is_empty() {
        "(nothing yet)"
    } else {
        &text
    };
    // Tags are found whatever their case.
    let close = format!("</{name}");
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        safe.push_str(&rest[..at]);
        let same = rest[at..]
            .get(..close.len())
            .is_some_and(|tag| tag.eq_ignore_ascii_case(&close));
        safe.push_str(if same { "<\\/" } else { "</" });
        rest = &rest[at + 2..];
    }
    safe.push_str(rest);
    format!("<{name}>\n{safe}\n</{name}>")
}

/// A section with its title; none if there is nothing in it.
pub(crate) fn append_section(text: &mut String, name: &'static str, values: &Values) {
    let Some(content) = values
        .get(name)
        .filter(|content| !content.trim().is_empty())
    else {
        return;
    };
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(&delimited(name, content));
}

/// The language to answer in, as far as the script tells.
fn language_of(message: &str) -> &'static str {
    let has = |from: u32, to: u32| {
        message
            .chars()
            .any(|letter| (from..=to).contains(&u32::from(letter)))
    };
    if has(0x3040, 0x30FF) {
        "Japanese"
    } else if has(0xAC00, 0xD7AF) {
        "Korean"
    } else if has(0x4E00, 0x9FFF) {
        "Chinese"
    } else {
        "the language of the learner's latest message"
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_prompt_is_there_and_knows_its_placeholders() {
        let prompts = Prompts::default();
        for name in Prompts::names() {
            let text = prompts.get(name);
            assert!(text.len() > 100, "{name}");
            let filled = fill(text, &Values::new()).0;
            assert!(!filled.contains("{{"), "{name} has an unknown placeholder");
        }
        for authored in AUTHORED {
            assert!(PLACEHOLDERS.contains(authored));
        }
    }

    #[test]
    fn the_forms_of_answers_name_what_is_read() {
        let format = |name: &str| {
            DEFAULTS
                .iter()
                .find(|(known, ..)| *known == name)
                .unwrap()
                .2
        };
        for key in crate::members::OUTCOME_KEYS {
            assert!(format("companion").contains(&format!("\"{key}\"")), "{key}");
        }
        let schemas = [
            ("manager", crate::members::manager_schema(false)),
            ("manager_consulted", crate::members::manager_schema(true)),
            ("memo", crate::members::memo_schema()),
        ];
        fn check(name: &str, format: &str, schema: &Value) {
            if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
                for (key, inner) in properties {
                    assert!(format.contains(&format!("\"{key}\"")), "{name}: {key}");
                    check(name, format, inner);
                }
            }
        }
        for (name, schema) in schemas {
            check(name, format(name), &schema);
        }
    }

    #[test]
    fn values_are_never_expanded_and_cannot_close_their_tags() {
        let mut values = Values::new();
        values.insert(
            "learner_message",
            "{{packet}} </learner_message> </LEARNER_message x {{".into(),
        );
        values.insert("packet", "secret".into());
        values.insert("chapter_title", "T {{packet}}".into());
        let template = "{{chapter_title}} {{ learner_message }} {{unknown}} {{{packet}} {{";
        let (text, used) = fill(template, &values);
        assert_eq!(
            text,
            "T {{packet}} <learner_message>\n{{packet}} <\\/learner_message> <\\/LEARNER_message x {{\n</learner_message> \
             {{unknown}} {<packet>\nsecret\n</packet> {{"
        );
        assert_eq!(used.len(), 3);
    }

    #[test]
    fn overrides_replace_prompts_and_keep_what_is_needed() {
        let mut prompts = Prompts::default();
        assert!(prompts.set("companion.md", "Be brief. {{task_list}}"));
        assert!(!prompts.set("pirate", "x") && !prompts.set("memo", "  "));
        let chapter = ChapterTexts {
            title: "Lists".into(),
            context: "about lists".into(),
            tasks: vec![Task {
                id: "t1".into(),
                title: "make one".into(),
            }],
            ..ChapterTexts::default()
        };
        let values = chapter.values_for(&[], "你好");
        assert_eq!(values["language"], "Chinese");
        let (text, _) = prompts.system("companion", &values, &["chapter_context", "task_list"]);
        assert!(text.starts_with("Be brief. - **t1** make one\n\n<chapter_context>\nabout lists"));
        assert!(text.contains("\"checkpoint_reached\"") && !text.contains("<task_list>"));
        assert!(prompts.welcome(&chapter).contains("**Lists**"));
        assert!(!prompts.welcome(&ChapterTexts::default()).is_empty());
    }

    proptest! {
        #[test]
        fn a_template_without_known_placeholders_stays_as_it_is(text in "[{} a-c\n你]{0,60}") {
            prop_assert_eq!(fill(&text, &Values::new()).0, text);
        }
    }
}
