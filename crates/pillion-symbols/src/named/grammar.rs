//! What callers write for a place instead of file, line and column: the one grammar of it.
//!
//! | written | means |
//! |---|---|
//! | `pkg/mod.py:12:5` | a line and a column |
//! | `pkg/mod.py:12` | the definition of that line |
//! | `Class.method`, `Class/method`, `name` | a definition by its name, or the end of one |
//! | `/name` | a definition of a module itself |
//! | `pkg.mod.Class.method`, `pkg.mod:Class.method` | one of this module |
//! | `pkg/mod.py::Class.method`, `pkg/mod.py:name` | one of this file |
//! | `pkg.mod`, `pkg/mod.py` | the module itself |

use std::path::Path;

use pillion_catalogue::{Code, Error, Result};
use pillion_index::is_python;

/// What a place is written as, for hints and messages.
pub const FORMS: &str = "write `name`, `Class.method`, `pkg.mod.name`, \
     `pkg/mod.py::Class.method` or `pkg/mod.py:12:5`";

/// What a caller wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameOrPlace {
    /// `file.py:12:5`; without a column, the definition of that line.
    Place {
        /// The file, as it was written.
        file: String,
        /// The line, from 1.
        line: u32,
        /// The column, from 1.
        col: Option<u32>,
    },
    /// `file.py`: a module by its file.
    File(String),
    /// A name.
    Name(Name),
}

/// A name, and where it is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The file or module that stands before it.
    pub(crate) within: Option<String>,
    /// Its parts, outermost first.
    pub parts: Vec<String>,
    /// Whether the first part belongs to the module itself.
    pub(crate) from_top: bool,
}

impl NameOrPlace {
    /// Read what a caller wrote.
    pub fn read(text: &str) -> Result<Self> {
        let text = text.trim();
        let within = |file: &str| (!file.is_empty()).then(|| file.to_owned());
        if let Some((file, rest)) = text.split_once("::") {
            return Ok(Self::Name(Name {
                within: within(file),
                parts: parts(text, rest)?,
                from_top: true,
            }));
        }
        if let Some(place) = place(text) {
            return Ok(place);
        }
        if let Some((file, rest)) = text.rsplit_once(':') {
            return Ok(Self::Name(Name {
                within: within(file),
                parts: parts(text, rest.trim_start_matches('/'))?,
                from_top: true,
            }));
        }
        if is_python(text) {
            return Ok(Self::File(text.to_owned()));
        }
        if let Some((file, rest)) = below_file(text) {
            return Ok(Self::Name(Name {
                within: within(file),
                parts: parts(text, rest)?,
                from_top: true,
            }));
        }
        let plain = text.trim_start_matches('/');
        Ok(Self::Name(Name {
            within: None,
            parts: parts(text, plain)?,
            from_top: plain.len() < text.len(),
        }))
    }

    /// The file, or what may be one, that it begins with.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Place { file, .. } | Self::File(file) => Some(file),
            Self::Name(name) => name.within.as_deref(),
        }
    }

    /// As a command line writes it: a file is meant from here if there is one, else from the
    /// root.
    pub fn from_here(text: &str) -> String {
        let text = text.trim();
        let Ok(written) = Self::read(text) else {
            return text.to_owned();
        };
        let file = written.file().filter(|file| Path::new(file).is_file());
        let absolute = file.and_then(|file| Some((file, std::path::absolute(file).ok()?)));
        match absolute {
            Some((file, path)) => format!("{}{}", path.display(), &text[file.len()..]),
            None => text.to_owned(),
        }
    }
}

/// `file:12:5` or `file:12`.
fn place(text: &str) -> Option<NameOrPlace> {
    let number = |text: &str| text.parse::<u32>().ok();
    let text = text.trim_end_matches(':');
    let (before, last) = text.rsplit_once(':')?;
    let last = number(last)?;
    let (file, line, col) = match before.rsplit_once(':') {
        Some((file, line)) if number(line).is_some() => (file, number(line)?, Some(last)),
        _ => (before, last, None),
    };
    (!file.is_empty()).then(|| NameOrPlace::Place {
        file: file.to_owned(),
        line,
        col,
    })
}

/// `pkg/mod.py/Class/method`: the file, and what is in it.
fn below_file(text: &str) -> Option<(&str, &str)> {
    let ends = [".py/", ".pyi/", ".pyw/"];
    let end = ends
        .iter()
        .find_map(|end| Some(text.find(end)? + end.len()))?;
    Some((&text[..end - 1], &text[end..]))
}

/// The parts of a name: between dots or slashes, without what Python and pytest write around
/// them.
fn parts(whole: &str, name: &str) -> Result<Vec<String>> {
    let name = name.split(['(', '[']).next().unwrap_or(name);
    let parts = name
        .split(['.', '/', ':'])
        .filter(|part| *part != "<locals>");
    // `Class::method` has nothing between its colons.
    let parts: Vec<String> = parts
        .filter(|part| !(part.is_empty() && name.contains("::")))
        .map(ToOwned::to_owned)
        .collect();
    if !parts.is_empty() && parts.iter().all(|part| is_name(part)) {
        return Ok(parts);
    }
    Err(Error::new(
        Code::InvalidParams,
        format!("`{whole}` is no name and no place"),
    )
    .hint(FORMS))
}

/// Whether a word can be a name in Python.
pub(super) fn is_name(word: &str) -> bool {
    let mut letters = word.chars();
    let first = letters.next();
    first.is_some_and(|c| c == '_' || c.is_alphabetic())
        && letters.all(|c| c == '_' || c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(within: Option<&str>, parts: &[&str], from_top: bool) -> NameOrPlace {
        NameOrPlace::Name(Name {
            within: within.map(ToOwned::to_owned),
            parts: parts.iter().map(ToString::to_string).collect(),
            from_top,
        })
    }

    #[test]
    fn every_way_to_write_a_place_is_read() {
        let place = |file: &str, line, col| NameOrPlace::Place {
            file: file.into(),
            line,
            col,
        };
        for (text, expected) in [
            ("save", name(None, &["save"], false)),
            ("Model.save", name(None, &["Model", "save"], false)),
            ("Model/save", name(None, &["Model", "save"], false)),
            (" Model.save() ", name(None, &["Model", "save"], false)),
            ("/save", name(None, &["save"], true)),
            ("pkg.mod.Model", name(None, &["pkg", "mod", "Model"], false)),
            ("f.<locals>.g", name(None, &["f", "g"], false)),
            (
                "pkg.mod:Model/save",
                name(Some("pkg.mod"), &["Model", "save"], true),
            ),
            (
                "pkg/mod.py:Model.save",
                name(Some("pkg/mod.py"), &["Model", "save"], true),
            ),
            (
                "pkg/mod.py::Model::save[1-a]",
                name(Some("pkg/mod.py"), &["Model", "save"], true),
            ),
            (
                "pkg/mod.py::Model.save",
                name(Some("pkg/mod.py"), &["Model", "save"], true),
            ),
            (
                "pkg/mod.py/Model/save",
                name(Some("pkg/mod.py"), &["Model", "save"], true),
            ),
            ("größe", name(None, &["größe"], false)),
            ("pkg/mod.py:12:5", place("pkg/mod.py", 12, Some(5))),
            ("/a/mod.py:12:5:", place("/a/mod.py", 12, Some(5))),
            ("pkg/mod.py:12", place("pkg/mod.py", 12, None)),
            ("pkg/mod.py", NameOrPlace::File("pkg/mod.py".into())),
        ] {
            assert_eq!(NameOrPlace::read(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_neither_name_nor_place_is_refused() {
        for text in [
            "", " ", "a b", "a..b", "1a", "a.", "x-y", "mod.py::", "::", "a/ /b",
        ] {
            let error = NameOrPlace::read(text).unwrap_err();
            assert_eq!(error.code, Code::InvalidParams, "{text}");
            assert!(error.hint.is_some());
        }
    }
}
