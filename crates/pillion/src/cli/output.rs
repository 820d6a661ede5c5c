//! The only place that writes to the terminal.

use std::io::{IsTerminal, Write};

use pillion::Error;
use serde_json::Value;

/// A line for whoever reads the result. A reader that went away is no error.
pub(crate) fn say(text: &str) {
    let _ = try_say(text);
}

/// The same, and whether anybody still reads.
pub(crate) fn try_say(text: &str) -> bool {
    writeln!(std::io::stdout().lock(), "{text}").is_ok()
}

/// Text without a line end.
pub(crate) fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.flush();
}

/// A line for people, beside the result.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// A warning.
pub(crate) fn warn(text: &str) {
    note(&format!("{}: {text}", paint("warning", "33;1")));
}

/// JSON as people like it on a terminal, and as programs like it elsewhere.
pub(crate) fn say_json(json: &str) {
    let pretty = std::io::stdout().is_terminal();
    match serde_json::from_str::<Value>(json) {
        Ok(value) if pretty && (value.is_object() || value.is_array()) => {
            say(&serde_json::to_string_pretty(&value).unwrap_or_else(|_| json.to_owned()));
        }
        _ => say(json),
    }
}

/// Text with a diff in it: in colours on a terminal that wants them.
pub(crate) fn say_diff(text: &str) {
    if !std::io::stdout().is_terminal() || no_colour() {
        return say(text);
    }
    for line in text.lines() {
        match diff_colour(line) {
            Some(code) => say(&format!("\x1b[{code}m{line}\x1b[0m")),
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

fn no_colour() -> bool {
    std::env::var_os(pillion_protocol::vars::NO_COLOR).is_some_and(|v| !v.is_empty())
}

/// What went wrong: `error:` and `hint:`, or the whole object.
pub(crate) fn fail(error: &Error, json: bool) {
    if json {
        say_json(&serde_json::to_string(error).unwrap_or_default());
        return;
    }
    note(&format!("{}: {}", paint("error", "31;1"), error.message));
    if let Some(text) = error
        .data
        .as_ref()
        .and_then(|data| data.get("text")?.as_str())
    {
        for line in text.trim_end().lines() {
            note(&format!("  {line}"));
        }
    }
    if let Some(hint) = &error.hint {
        note(&format!("{}: {hint}", paint("hint", "36;1")));
    }
}

/// Colour for terminals that want it.
pub(crate) fn paint(text: &str, code: &str) -> String {
    if no_colour() || !std::io::stderr().is_terminal() {
        return text.to_owned();
    }
    format!("\x1b[{code}m{text}\x1b[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

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
