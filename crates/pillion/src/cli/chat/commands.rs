//! What a line that was typed means: a message, or a command that begins with a slash.

use super::lines::Fence;

/// Reasons to skip a task, as the engine knows them.
const REASONS: &[&str] = &[
    "mastered",
    "not_interested",
    "too_hard",
    "too_wordy",
    "other",
    "已掌握",
    "不感兴趣",
    "太难了",
    "太啰嗦",
    "其他",
];
/// Blocks of code in one reply that can be chosen from.
const MOST_BLOCKS: usize = 99;

/// Every command, with what it is for.
pub(super) const COMMANDS: &[(&str, &str)] = &[
    ("/help", "what can be typed"),
    ("/tasks", "the tasks of the chapter, and how far you are"),
    (
        "/skip [REASON]",
        "skip the current task: mastered, too_hard, or your own words",
    ),
    (
        "/run [N|FILE]",
        "run code of the last reply, or a file of the workspace",
    ),
    (
        "/upload FILE...",
        "give data to the session: csv, xlsx, xls, json",
    ),
    ("/files", "the files of the session"),
    ("/report", "the report on what you learned so far"),
    ("/history", "what was said so far"),
    ("/usage", "the tokens that were used"),
    ("/end", "end the session, with its final report"),
    ("/quit", "leave; the session can be gone on with"),
];

/// What was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    Nothing,
    Message(String),
    Help,
    Tasks,
    Skip(Skip),
    Run(Option<String>),
    Upload(Vec<String>),
    Files,
    Report,
    History,
    Usage,
    End,
    Quit,
    /// A command that there is not, or that wants something else.
    Wrong(String),
}

/// Why a task is skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Skip {
    pub(super) reason: Option<String>,
    pub(super) reason_text: Option<String>,
}

impl Skip {
    /// One of the reasons, or somebody's own words.
    fn read(words: &str) -> Self {
        let words = words.trim();
        if words.is_empty() {
            return Self::default();
        }
        let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let known = first.to_lowercase().replace('-', "_");
        let spelled = words.to_lowercase().replace([' ', '-'], "_");
        let (reason, text) = if REASONS.contains(&spelled.as_str()) {
            (spelled, "")
        } else if REASONS.contains(&known.as_str()) {
            (known, rest.trim())
        } else {
            ("other".to_owned(), words)
        };
        Self {
            reason: Some(reason),
            reason_text: (!text.is_empty()).then(|| text.to_owned()),
        }
    }
}

/// Understand a line. Two slashes in front of a message are one of its own.
pub(super) fn read(line: &str) -> Typed {
    let line = line.trim();
    if line.is_empty() {
        return Typed::Nothing;
    }
    let Some(command) = line.strip_prefix('/') else {
        return Typed::Message(line.to_owned());
    };
    if command.starts_with('/') {
        return Typed::Message(command.to_owned());
    }
    let (name, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let rest = rest.trim();
    match name {
        "help" | "?" => Typed::Help,
        "tasks" | "task" => Typed::Tasks,
        "skip" => Typed::Skip(Skip::read(rest)),
        "run" => Typed::Run((!rest.is_empty()).then(|| rest.to_owned())),
        "upload" if rest.is_empty() => Typed::Wrong("`/upload` needs a file".to_owned()),
        "upload" => Typed::Upload(words(rest)),
        "files" => Typed::Files,
        "report" => Typed::Report,
        "history" => Typed::History,
        "usage" => Typed::Usage,
        "end" => Typed::End,
        "quit" | "exit" | "q" => Typed::Quit,
        name => Typed::Wrong(format!(
            "there is no command `/{name}`; `/help` lists them, and `//` begins a message with a slash"
        )),
    }
}

/// Words of a line; one with spaces in it stands in quotes, or has backslashes before them.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', _) => word.get_or_insert_default().extend(letters.next()),
            (letter, Some(open)) if letter == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (letter, None) if letter.is_whitespace() => words.extend(word.take()),
            (letter, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// Code that stands in a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeBlock {
    pub(super) language: String,
    pub(super) code: String,
}

impl CodeBlock {
    /// Whether it can be run: what is not said to be something else is Python.
    pub(super) fn is_python(&self) -> bool {
        matches!(self.language.as_str(), "" | "python" | "py" | "python3")
    }

    /// Its first line that says something.
    pub(super) fn first_line(&self) -> &str {
        let mut lines = self.code.lines().map(str::trim);
        lines.find(|line| !line.is_empty()).unwrap_or_default()
    }
}

/// The code in a reply, by the order it stands there.
pub(super) fn code_blocks(reply: &str) -> Vec<CodeBlock> {
    let mut blocks = Vec::new();
    let mut open: Option<(Fence, String)> = None;
    for line in reply.lines() {
        match &mut open {
            Some((fence, _)) if fence.is_closed_by(line) => blocks.extend(closed(open.take())),
            Some((fence, code)) => {
                code.push_str(fence.code(line));
                code.push('\n');
            }
            None => open = Fence::open(line).map(|fence| (fence, String::new())),
        }
    }
    blocks.extend(closed(open));
    blocks.truncate(MOST_BLOCKS);
    blocks
}

fn closed(open: Option<(Fence, String)>) -> Option<CodeBlock> {
    let (fence, code) = open?;
    Some(CodeBlock {
        language: fence.language,
        code,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_messages_or_commands() {
        let skip = |reason: Option<&str>, text: Option<&str>| {
            Typed::Skip(Skip {
                reason: reason.map(str::to_owned),
                reason_text: text.map(str::to_owned),
            })
        };
        for (line, expected) in [
            ("  ", Typed::Nothing),
            (" hello ", Typed::Message("hello".to_owned())),
            (
                "//etc is a folder",
                Typed::Message("/etc is a folder".to_owned()),
            ),
            ("/help", Typed::Help),
            ("/skip", skip(None, None)),
            ("/skip too hard", skip(Some("too_hard"), None)),
            (
                "/skip mastered at school",
                skip(Some("mastered"), Some("at school")),
            ),
            ("/skip 太难了", skip(Some("太难了"), None)),
            (
                "/skip no time today",
                skip(Some("other"), Some("no time today")),
            ),
            ("/run", Typed::Run(None)),
            ("/run  2", Typed::Run(Some("2".to_owned()))),
            (
                r#"/upload "my data.csv" b\ c.json"#,
                Typed::Upload(vec!["my data.csv".to_owned(), "b c.json".to_owned()]),
            ),
            ("/quit", Typed::Quit),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
        for wrong in ["/upload", "/nothing", "/"] {
            assert!(matches!(read(wrong), Typed::Wrong(_)), "{wrong}");
        }
    }

    #[test]
    fn every_command_that_is_told_of_is_known() {
        for (typed, _) in COMMANDS {
            let name = typed.split(' ').next().unwrap();
            let line = format!("{name} x");
            assert!(!matches!(read(&line), Typed::Wrong(_)), "{line}");
        }
    }

    #[test]
    fn code_is_found_in_a_reply() {
        let reply = "Try\n```python\nx = 1\n\nprint(x)\n```\nor\n  ~~~ sh\n  ls\n  ~~~\n```\nopen";
        let blocks = code_blocks(reply);
        assert_eq!(blocks.len(), 3);
        assert_eq!(blocks[0].code, "x = 1\n\nprint(x)\n");
        assert!(blocks[0].is_python());
        assert_eq!(blocks[1].code, "ls\n");
        assert!(!blocks[1].is_python());
        assert_eq!(blocks[2].first_line(), "open");
    }
}
