//! The scripted model: rules in a file, tried in order, answer offline and always the same.
//!
//! ```toml
//! [[rule]]
//! agent = "CA"                        # who asks; any if left out
//! contains = ["hello", "bonjour"]     # one of these is in the learner's message
//! reply = "Hello! We are at {{task_title|the beginning}}."
//! ```
//!
//! Further conditions: `matches` (a regular expression on the learner's message), `turn`, `task`,
//! `when` (facts with these values), `given` and `missing` (facts that are, or are not, there),
//! `says` and `says_not`: names of expressions in the table `words`, which several rules share.
//! What else an answer can have: `chunk` (characters at once; else word by word), `delay_ms`
//! before each piece, `input_tokens`, `output_tokens`, `tool_calls` (`name`, `arguments`, `id`),
//! and `fail`, the code of an error that comes after the reply. Placeholders are those of
//! [`template`].

mod template;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;

use crate::draft::Hear;
use crate::error::{Error, ModelErrorKind};
use crate::prompt::{ChatMessage, Completion, Prompt, Stop, ToolCall, Usage};

/// The script that answers where none is named.
const EMBEDDED: &str = include_str!("default.toml");
/// The largest script.
const MAX_SCRIPT_BYTES: u64 = 1024 * 1024;
/// The most rules.
const MAX_RULES: usize = 1000;
/// The largest compiled expression.
const MAX_EXPRESSION_BYTES: usize = 1024 * 1024;

/// Rules that answer.
#[derive(Debug)]
pub(crate) struct Script {
    name: String,
    /// Nothing in here until the embedded rules are asked.
    rules: OnceLock<Result<Arc<[Rule]>, Error>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile {
    #[serde(default)]
    words: BTreeMap<String, String>,
    #[serde(default)]
    rule: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    agent: Option<String>,
    #[serde(default)]
    contains: Words,
    matches: Option<String>,
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    says_not: Vec<String>,
    /// Of `matches` and `says`: all must match.
    #[serde(skip)]
    wanted: Vec<Regex>,
    /// Of `says_not`: none may match.
    #[serde(skip)]
    unwanted: Vec<Regex>,
    turn: Option<u64>,
    task: Option<String>,
    #[serde(default)]
    when: BTreeMap<String, String>,
    #[serde(default)]
    given: Vec<String>,
    #[serde(default)]
    missing: Vec<String>,
    #[serde(default)]
    reply: String,
    chunk: Option<usize>,
    #[serde(default)]
    delay_ms: u64,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    fail: Option<ModelErrorKind>,
    #[serde(default)]
    tool_calls: Vec<ScriptedCall>,
}

/// One word or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Several(Vec<String>),
}

impl Default for Words {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl Words {
    fn all(&self) -> &[String] {
        match self {
            Self::One(word) => std::slice::from_ref(word),
            Self::Several(words) => words,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    name: String,
    id: Option<String>,
    #[serde(default)]
    arguments: toml::Table,
}

impl Script {
    /// The rules that pillion brings along. They are read when they are first asked.
    pub(crate) fn embedded() -> Self {
        Self {
            name: "the embedded script".to_owned(),
            rules: OnceLock::new(),
        }
    }

    /// The rules of this file.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let name = format!("`{}`", path.display());
        let unreadable =
            |why: String| Error::new(ModelErrorKind::Script, format!("cannot read {name}: {why}"));
        let mut text = String::new();
        let read = File::open(path)
            .and_then(|file| file.take(MAX_SCRIPT_BYTES + 1).read_to_string(&mut text))
            .map_err(|error| unreadable(error.to_string()))?;
        if read as u64 > MAX_SCRIPT_BYTES {
            return Err(unreadable(format!(
                "it has more than {MAX_SCRIPT_BYTES} bytes"
            )));
        }
        let rules = parse(&name, &text)?;
        Ok(Self {
            name,
            rules: OnceLock::from(Ok(rules)),
        })
    }

    pub(crate) async fn answer(
        &self,
        prompt: &Prompt,
        hear: &mut Hear<'_>,
    ) -> Result<Completion, Error> {
        let rules = self.rules.get_or_init(|| parse(&self.name, EMBEDDED));
        let rules = rules.as_ref().map_err(Clone::clone)?;
        let message = learner_message(prompt);
        let Some(rule) = rules.iter().find(|rule| rule.applies(prompt, message)) else {
            return Err(Error::new(
                ModelErrorKind::Script,
                format!(
                    "{} has no rule for this question of agent `{}`",
                    self.name, prompt.agent
                ),
            )
            .hint("add a rule without conditions as the last one"));
        };
        rule.answer(prompt, hear).await
    }
}

fn parse(name: &str, text: &str) -> Result<Arc<[Rule]>, Error> {
    let wrong = |what: String| {
        Error::new(
            ModelErrorKind::Script,
            format!("{name} is no script: {what}"),
        )
    };
    let file: ScriptFile = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    if file.rule.len() > MAX_RULES {
        return Err(wrong(format!("it has more than {MAX_RULES} rules")));
    }
    let mut rules = file.rule;
    let expression = |source: &str, place: &str| {
        let mut builder = RegexBuilder::new(source);
        let built = builder.size_limit(MAX_EXPRESSION_BYTES).build();
        built.map_err(|error| wrong(format!("{place} is no expression: {error}")))
    };
    let mut words = BTreeMap::new();
    for (word, source) in &file.words {
        let built = expression(source, &format!("`{word}` in `words`"))?;
        words.insert(word.as_str(), built);
    }
    for (at, rule) in rules.iter_mut().enumerate() {
        let known = |word: &String| {
            let found = words.get(word.as_str()).cloned();
            found.ok_or_else(|| wrong(format!("rule {} names no word: `{word}`", at + 1)))
        };
        rule.wanted = rule.says.iter().map(known).collect::<Result<_, _>>()?;
        rule.unwanted = rule.says_not.iter().map(known).collect::<Result<_, _>>()?;
        if let Some(source) = &rule.matches {
            let place = format!("`matches` of rule {}", at + 1);
            rule.wanted.push(expression(source, &place)?);
        }
    }
    Ok(rules.into())
}

/// What the learner said last: as the session says, else the last message of the person.
fn learner_message(prompt: &Prompt) -> &str {
    if let Some(message) = prompt.facts.get("learner_message") {
        return message;
    }
    let mut latest = prompt.messages.iter().rev();
    let said = latest.find_map(|message| match message {
        ChatMessage::User(text) => Some(text.as_str()),
        _ => None,
    });
    said.unwrap_or("")
}

impl Rule {
    fn applies(&self, prompt: &Prompt, message: &str) -> bool {
        let fact = |name: &str| match name {
            "learner_message" => message,
            _ => prompt.facts.get(name).map_or("", String::as_str),
        };
        let there = |name: &String| !fact(name).trim().is_empty();
        let lower = message.to_lowercase();
        let words = self.contains.all();
        self.agent
            .as_ref()
            .is_none_or(|agent| *agent == prompt.agent)
            && self
                .turn
                .is_none_or(|turn| fact("turn_index").parse() == Ok(turn))
            && self
                .task
                .as_ref()
                .is_none_or(|task| fact("task_id") == task)
            && self.when.iter().all(|(name, value)| fact(name) == value)
            && self.given.iter().all(there)
            && !self.missing.iter().any(there)
            && (words.is_empty()
                || words
                    .iter()
                    .any(|word| lower.contains(&word.to_lowercase())))
            && self.wanted.iter().all(|wanted| wanted.is_match(message))
            && !self
                .unwanted
                .iter()
                .any(|unwanted| unwanted.is_match(message))
    }

    async fn answer(&self, prompt: &Prompt, hear: &mut Hear<'_>) -> Result<Completion, Error> {
        let text = template::fill(&self.reply, &prompt.facts);
        for piece in pieces(&text, self.chunk) {
            if self.delay_ms > 0 {
                tokio::time::sleep(Duration::from_millis(self.delay_ms)).await;
            } else {
                tokio::task::yield_now().await;
            }
            hear(piece);
        }
        if let Some(kind) = self.fail {
            return Err(Error::new(
                kind,
                format!("the script lets this fail: {kind}"),
            ));
        }
        let calls = self.tool_calls.iter().enumerate();
        let tool_calls: Vec<_> = calls.map(|(at, call)| call.made(at, prompt)).collect();
        let written = text.chars().count();
        let mut usage = Usage::of(self.input_tokens, self.output_tokens, prompt, written);
        // These are the script's own numbers, and nobody pays for them.
        usage.estimated = self.input_tokens.is_none() || self.output_tokens.is_none();
        let stop = if tool_calls.is_empty() {
            Stop::End
        } else {
            Stop::ToolCalls
        };
        Ok(Completion {
            text,
            tool_calls,
            usage,
            stop,
        })
    }
}

impl ScriptedCall {
    fn made(&self, at: usize, prompt: &Prompt) -> ToolCall {
        let arguments = serde_json::to_value(&self.arguments).unwrap_or_default();
        ToolCall {
            id: self.id.clone().unwrap_or_else(|| format!("call_{at}")),
            name: template::fill(&self.name, &prompt.facts),
            arguments: filled(arguments, &prompt.facts),
        }
    }
}

fn filled(value: Value, facts: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) => Value::String(template::fill(&text, facts)),
        Value::Array(items) => items.into_iter().map(|item| filled(item, facts)).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            members
                .map(|(name, value)| (name, filled(value, facts)))
                .collect()
        }
        other => other,
    }
}

/// The text in pieces of so many characters, else in words with the blanks after them.
fn pieces(text: &str, chunk: Option<usize>) -> Vec<&str> {
    let Some(chunk) = chunk.filter(|chunk| *chunk > 0) else {
        return text.split_inclusive(char::is_whitespace).collect();
    };
    let mut starts: Vec<_> = text
        .char_indices()
        .step_by(chunk)
        .map(|(at, _)| at)
        .collect();
    starts.push(text.len());
    starts.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect()
}

#[cfg(test)]
mod tests;
