//! Answers and errors about code as people read them here: paths from the folder one is in,
//! options as one writes them, colours on a terminal.

use std::io::IsTerminal;
use std::path::{Component, Path, PathBuf};

use pillion::{Definition, Error, Scope};
use pillion_catalogue::Caller;
use pillion_workspace::root;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::output;

/// Members of answers that are paths of the workspace.
const PATHS: &[&str] = &[
    "file", "files", "path", "calls_in", "created", "deleted", "from", "to", "location",
];
/// Members whose own members have paths for names.
const BY_PATH: &[&str] = &["patches"];
/// What stands before a place in lines that say more than where something is.
const BEFORE: &[&str] = &["defined at ", "possible: ", "left alone: ", "? "];

/// An answer whose paths are meant from here. For programs they are relative to the root.
pub(crate) fn from_here(
    definition: &Definition,
    params: &RawValue,
    caller: &Caller,
    result: Box<RawValue>,
) -> Box<RawValue> {
    let Some(way) = definition
        .formats
        .then(|| Way::new(definition, params, caller))
        .flatten()
    else {
        return result;
    };
    let Ok(mut value) = serde_json::from_str::<Value>(result.get()) else {
        return result;
    };
    way.relocate(&mut value);
    to_raw_value(&value).unwrap_or(result)
}

/// An error as one reads it here.
pub(crate) fn error_from_here(
    definition: &Definition,
    params: &RawValue,
    caller: &Caller,
    mut error: Error,
) -> Error {
    if let (Some(way), Some(data)) = (Way::new(definition, params, caller), &mut error.data) {
        way.relocate(data);
    }
    if definition.formats {
        let options = definition.options();
        error.message = with_options(&error.message, &options);
        error.hint = error.hint.map(|hint| with_options(&hint, &options));
    }
    error
}

/// A text with the options of a command line where it names parameters.
pub(crate) fn with_options(text: &str, options: &[(String, String)]) -> String {
    let mut text = text.to_owned();
    for (name, long) in options {
        text = text.replace(&format!("`{name}`"), &format!("`--{long}`"));
    }
    text
}

/// The text of an answer, with the options that it names.
pub(crate) fn text(definition: &Definition, text: &str) -> String {
    // Only what pillion itself says: other lines are somebody's code.
    let is_own = |line: &str| line.starts_with("... and ") && line.ends_with("`)");
    if !text.lines().any(is_own) {
        return text.to_owned();
    }
    let options = definition.options();
    let lines = text.lines().map(|line| match is_own(line) {
        true => with_options(line, &options),
        false => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Show lines that begin with places; on a terminal the places have colours.
pub(crate) fn say_places(text: &str) {
    if output::no_colour() || !std::io::stdout().is_terminal() {
        return output::say(text);
    }
    for line in text.lines() {
        let shown = output::shown(line);
        output::say_as_it_is(&coloured(&shown));
    }
}

/// A line with its place in colour: `file:1:2`, `file-1-`, `1:2`, or a file alone.
fn coloured(line: &str) -> String {
    let body = line.trim_start();
    let before = BEFORE.iter().find(|before| body.starts_with(**before));
    let body = before.map_or(body, |before| &body[before.len()..]);
    let indent = &line[..line.len() - body.len()];
    let (place, rest) = match body.split_once("  ") {
        Some((place, rest)) => (place, Some(rest)),
        None => (body, None),
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mut parts = place.rsplitn(3, ':');
    let numbers = (parts.next(), parts.next(), parts.next());
    let place = match numbers {
        (Some(column), Some(line), file) if is_number(column) && is_number(line) => {
            let numbers = format!("\x1b[32m{line}:{column}\x1b[0m");
            match file {
                Some(file) => format!("\x1b[35m{file}\x1b[0m:{numbers}"),
                None => numbers,
            }
        }
        _ if rest.is_none() && indent.is_empty() && is_file(place) => {
            format!("\x1b[35m{place}\x1b[0m")
        }
        _ => return line.to_owned(),
    };
    match rest {
        Some(rest) => format!("{indent}{place}  {rest}"),
        None => format!("{indent}{place}"),
    }
}

fn is_file(word: &str) -> bool {
    !word.contains(' ') && word.rsplit_once('.').is_some_and(|(_, end)| end.len() <= 4)
}

/// From the root of a workspace to the folder one is in.
struct Way {
    root: PathBuf,
    here: PathBuf,
}

impl Way {
    /// Nothing if one stands in the root, or asks about no project.
    fn new(definition: &Definition, params: &RawValue, caller: &Caller) -> Option<Self> {
        if definition.scope != Scope::Project {
            return None;
        }
        let here = caller.near.as_deref()?.canonicalize().ok()?;
        let root = match &caller.root {
            Some(root) => root.canonicalize().ok()?,
            None if project(params).is_some() => here.join(project(params)?).canonicalize().ok()?,
            None => root::find(&named(params).unwrap_or_else(|| here.clone())).ok()?,
        };
        (root != here).then_some(Self { root, here })
    }

    fn relocate(&self, value: &mut Value) {
        match value {
            Value::Array(all) => all.iter_mut().for_each(|one| self.relocate(one)),
            Value::Object(members) => {
                for (name, member) in members {
                    match member {
                        Value::String(path) if PATHS.contains(&name.as_str()) => self.rename(path),
                        Value::Array(all) if PATHS.contains(&name.as_str()) => {
                            for one in all {
                                match one {
                                    Value::String(path) => self.rename(path),
                                    other => self.relocate(other),
                                }
                            }
                        }
                        Value::Object(by_path) if BY_PATH.contains(&name.as_str()) => {
                            let named = std::mem::take(by_path).into_iter();
                            *by_path = named
                                .map(|(mut path, value)| {
                                    self.rename(&mut path);
                                    (path, value)
                                })
                                .collect();
                        }
                        other => self.relocate(other),
                    }
                }
            }
            _ => {}
        }
    }

    fn rename(&self, path: &mut String) {
        if path.is_empty() || Path::new(path).is_absolute() {
            return;
        }
        let whole = self.root.join(&*path);
        let named = match self.here.starts_with(&self.root) {
            true => relative(&self.here, &whole),
            // Far away, only the whole path is of use.
            false => whole,
        };
        *path = named.display().to_string();
    }
}

/// The project that a request names.
fn project(params: &RawValue) -> Option<PathBuf> {
    let params: Value = serde_json::from_str(params.get()).ok()?;
    params.get("project")?.as_str().map(PathBuf::from)
}

/// The file or folder that a request names: it decides which workspace is meant.
fn named(params: &RawValue) -> Option<PathBuf> {
    let params: Value = serde_json::from_str(params.get()).ok()?;
    let path = |name: &str| params.get(name)?.as_str().map(PathBuf::from);
    let path = path("file").or_else(|| path("path")).or_else(|| {
        let at = ["at", "name_path", "target"].into_iter().find_map(path)?;
        let text = at.to_str()?.split(':').next()?;
        Some(PathBuf::from(text))
    })?;
    (path.is_absolute() && path.exists()).then_some(path)
}

/// The way from a folder to a file, both absolute.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let mut from_parts = from.components().peekable();
    let mut to_parts = to.components().peekable();
    while from_parts.peek().is_some() && from_parts.peek() == to_parts.peek() {
        from_parts.next();
        to_parts.next();
    }
    let up = from_parts.map(|_| Component::ParentDir);
    up.chain(to_parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_from_here_to_the_file() {
        for (from, to, way) in [
            ("/w/a", "/w/a/x.py", "x.py"),
            ("/w/a", "/w/b/x.py", "../b/x.py"),
            ("/w/a/b", "/w/x.py", "../../x.py"),
            ("/w", "/w/a/x.py", "a/x.py"),
        ] {
            assert_eq!(relative(from.as_ref(), to.as_ref()), Path::new(way));
        }
    }

    #[test]
    fn places_have_colours_and_code_has_none() {
        for (line, expected) in [
            (
                "a.py:1:2  x = 1",
                "\x1b[35ma.py\x1b[0m:\x1b[32m1:2\x1b[0m  x = 1",
            ),
            ("  1:2  x = 1", "  \x1b[32m1:2\x1b[0m  x = 1"),
            (
                "defined at my own.py:1:2  x = 1",
                "defined at \x1b[35mmy own.py\x1b[0m:\x1b[32m1:2\x1b[0m  x = 1",
            ),
            ("src/a.py", "\x1b[35msrc/a.py\x1b[0m"),
            ("nothing found", "nothing found"),
            ("    x = y[1:2]", "    x = y[1:2]"),
        ] {
            assert_eq!(coloured(line), expected, "{line}");
        }
    }
}
