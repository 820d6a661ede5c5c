//! The only place that writes to the terminal.
//!
//! Names of files, lines of code and messages of others are in nearly all of it, and a terminal
//! does what is written to it. So every letter that is a command is shown as what it is, in the
//! way of JSON (`\\u001b`), which is why JSON stays the same JSON. Two things are not touched:
//! what a program printed, as `pillion exec` and `job-stream` pass it on, and patches that
//! something else than a terminal reads.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};

use pillion_catalogue::Error;

/// Places of an error that are shown.
const SHOWN_PLACES: usize = 20;

/// A line for whoever reads the result. A reader that went away is no error.
pub fn say(text: &str) {
    let _ = try_say(text);
}

/// The same, and whether anybody still reads.
pub fn try_say(text: &str) -> bool {
    say_as_it_is(&shown(text))
}

/// The same for text with colours of ours in it, and nothing of others.
pub fn say_as_it_is(text: &str) -> bool {
    writeln!(std::io::stdout().lock(), "{text}").is_ok()
}

/// Text without a line end.
pub fn print(text: &str) {
    print_as_it_is(&shown(text));
}

/// The same for text with commands of ours in it, and nothing of others.
pub fn print_as_it_is(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.flush();
}

/// A line for people, beside the result.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", shown(text));
}

/// What a program printed, beside the result, as it is.
pub fn pass_on(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

/// The same, with a word in colour before it.
fn note_with(word: &str, colour: &str, text: &str) {
    let word = paint(word, colour);
    let _ = writeln!(std::io::stderr().lock(), "{word}: {}", shown(text));
}

/// A warning.
pub fn warn(text: &str) {
    note_with("warning", "33;1", text);
}

/// Text in which nothing is a command to a terminal, or changes the order of what is read.
pub fn shown(text: &str) -> Cow<'_, str> {
    let mut letters = text.chars().peekable();
    if !text.contains(is_command) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    while let Some(letter) = letters.next() {
        let ends_line = letter == '\r' && letters.peek().is_none_or(|next| *next == '\n');
        match is_command(letter) && !ends_line {
            true => shown.push_str(&spelled(letter)),
            false => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// Text of which every command is shown as what it is, whatever it stands before.
pub fn spelled_out(text: &str) -> String {
    let letter = |letter| match is_command(letter) {
        true => spelled(letter),
        false => String::from(letter),
    };
    text.chars().map(letter).collect()
}

fn spelled(letter: char) -> String {
    format!("\\u{:04x}", u32::from(letter))
}

/// Whether a terminal does something at this letter other than showing it.
pub fn is_command(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        // Separators of lines, and what turns the direction of text around.
        '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        letter => letter.is_control(),
    }
}

/// JSON as people like it on a terminal, and as programs like it elsewhere.
pub fn say_json(json: &str) {
    let pretty = std::io::stdout().is_terminal() && json.starts_with(['{', '[']);
    match pretty {
        true => say(&indented(json)),
        false => say(json),
    }
}

/// JSON over several lines. Its words stay as they are: read as values, long numbers would lose
/// their last digits.
fn indented(json: &str) -> String {
    let mut text = String::with_capacity(json.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut rest = json.chars().peekable();
    while let Some(c) = rest.next() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            text.push(c);
            continue;
        }
        let line = |text: &mut String, depth| {
            text.push('\n');
            text.extend(std::iter::repeat_n("  ", depth));
        };
        match c {
            '{' | '[' => {
                text.push(c);
                while rest.next_if(char::is_ascii_whitespace).is_some() {}
                if rest.peek().is_some_and(|next| !matches!(next, '}' | ']')) {
                    depth += 1;
                    line(&mut text, depth);
                } else {
                    text.extend(rest.next());
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut text, depth);
                text.push(c);
            }
            ',' => {
                text.push(c);
                line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => {
                in_string = c == '"';
                text.push(c);
            }
        }
    }
    text
}

/// Text with a diff in it: in colours on a terminal that wants them.
pub fn say_diff(text: &str) {
    if !std::io::stdout().is_terminal() {
        // A patch may be for a program, to which every letter of a file matters.
        let is_patch = text.lines().any(|line| line.starts_with("@@ "));
        return match is_patch {
            true => drop(say_as_it_is(text)),
            false => say(text),
        };
    }
    if no_colour() {
        return say(text);
    }
    for line in text.lines() {
        match diff_colour(line) {
            Some(code) => drop(say_as_it_is(&format!("\x1b[{code}m{}\x1b[0m", shown(line)))),
            None => say(line),
        }
    }
}

/// The colour of a line of a diff.
fn diff_colour(line: &str) -> Option<&'static str> {
    match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Some("1"),
        [b'+', ..] => Some("32"),
        [b'-', ..] => Some("31"),
        [b'@', b'@', ..] => Some("36"),
        _ if line.starts_with("diff --git ") => Some("1"),
        _ => None,
    }
}

/// Whether colours are not wanted.
pub fn no_colour() -> bool {
    std::env::var_os(pillion_protocol::vars::NO_COLOR).is_some_and(|v| !v.is_empty())
}

/// What went wrong: `error:` and `hint:`, or the whole object.
pub fn fail(error: &Error, json: bool) {
    if json {
        say_json(&serde_json::to_string(error).unwrap_or_default());
        return;
    }
    note_with("error", "31;1", &error.message);
    if let Some(text) = error
        .data
        .as_ref()
        .and_then(|data| data.get("text")?.as_str())
    {
        for line in text.trim_end().lines() {
            note(&format!("  {line}"));
        }
    } else if let Some(data) = &error.data {
        places(data).iter().for_each(|line| note(line));
    }
    if let Some(hint) = &error.hint {
        note_with("hint", "36;1", hint);
    }
}

/// Places that an error tells of, each as a line.
fn places(data: &serde_json::Value) -> Vec<String> {
    use serde_json::Value;
    let line = |one: &Value| {
        let file = one.get("file")?.as_str()?;
        let number = |name: &str| one.get(name).and_then(Value::as_u64);
        let mut text = format!("  {file}:{}", number("line")?);
        if let Some(column) = number("column") {
            text.push_str(&format!(":{column}"));
        }
        let word = |name: &str| one.get(name)?.as_str();
        let about = ["why", "preview", "message"].into_iter().find_map(word);
        // A definition that a name may mean: what it is, and what to write for it.
        let what = word("kind").zip(word("at"));
        match (what, about) {
            (Some((kind, at)), _) => text.push_str(&format!("  {kind} {at}")),
            (None, Some(about)) => text.push_str(&format!("  {}", about.trim())),
            (None, None) => {}
        }
        Some(text)
    };
    let total = data.get("total").and_then(Value::as_u64);
    let Some(members) = data.as_object() else {
        return Vec::new();
    };
    let all = members.values().flat_map(|member| match member {
        Value::Array(all) => all.iter().collect(),
        other => vec![other],
    });
    let mut lines: Vec<String> = all.filter_map(line).collect();
    lines.dedup();
    let (all, told) = (lines.len(), total.map_or(0, |total| total as usize));
    lines.truncate(SHOWN_PLACES);
    let left = all.max(told).saturating_sub(lines.len());
    if left > 0 {
        let rest = match told > all {
            true => "",
            false => "; `--json` has them all",
        };
        lines.push(format!("  ... and {left} more{rest}"));
    }
    lines
}

/// Colour for terminals that want it.
pub fn paint(text: &str, code: &str) -> String {
    if no_colour() || !std::io::stderr().is_terminal() {
        return text.to_owned();
    }
    format!("\x1b[{code}m{text}\x1b[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_and_its_words_stay() {
        for json in [
            r#"{"a":[1,{"b":null}],"c":{},"d":[ ],"e":"x,{\"y\\\\\":[","f":-1.5e-3}"#,
            "[]",
            "[[1],[]]",
        ] {
            let value: serde_json::Value = serde_json::from_str(json).unwrap();
            assert_eq!(
                indented(json),
                serde_json::to_string_pretty(&value)
                    .unwrap()
                    .replace("-0.0015", "-1.5e-3")
            );
        }
        let long = "[123456789012345678901234567890]";
        assert_eq!(indented(long), "[\n  123456789012345678901234567890\n]");
    }

    #[test]
    fn nothing_that_is_shown_is_a_command() {
        for (text, expected) in [
            (
                "plain\ttext\nof two lines\r\n",
                "plain\ttext\nof two lines\r\n",
            ),
            ("\x1b]0;title\x07", "\\u001b]0;title\\u0007"),
            ("\u{9b}31m\x7f", "\\u009b31m\\u007f"),
            ("hidden\rshown", "hidden\\u000dshown"),
            ("a\u{202e}b\u{2066}c", "a\\u202eb\\u2066c"),
            ("ünï 日本 👍🏽", "ünï 日本 👍🏽"),
        ] {
            assert_eq!(shown(text), expected);
        }
        let json = serde_json::to_string("\x1b \u{9b} \u{202e}").unwrap();
        let again: String = serde_json::from_str(&shown(&json)).unwrap();
        assert_eq!(again, "\x1b \u{9b} \u{202e}");
    }

    #[test]
    fn lines_of_a_diff_have_the_colours_that_people_know() {
        for (line, colour) in [
            ("diff --git a/x b/x", Some("1")),
            ("--- a/x", Some("1")),
            ("+++ b/x", Some("1")),
            ("@@ -1 +1 @@", Some("36")),
            ("-old", Some("31")),
            ("+new", Some("32")),
            (" same", None),
            ("left alone: x.py:1:1", None),
        ] {
            assert_eq!(diff_colour(line), colour, "{line}");
        }
    }
}
