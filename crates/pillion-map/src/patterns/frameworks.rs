//! What frameworks call things: the words of `frameworks.toml`.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::LazyLock;

use serde::Deserialize;

const TEXT: &str = include_str!("frameworks.toml");

/// Names that mean the same.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Names(Vec<String>);

impl Names {
    /// Whether this is one of them.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|known| known == name)
    }
}

impl Deref for Names {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

/// All words, by language. What each list is for is said in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Frameworks {
    pub(super) python: Python,
    pub(super) typescript: TypeScript,
    pub(super) go: Go,
    pub(super) java: Java,
    pub(super) rust: Rust,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Python {
    pub(super) views: Names,
    pub(super) answers: Names,
    pub(super) routes: Names,
    pub(super) commands: Names,
    pub(super) injected: Names,
    pub(super) middleware: Names,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypeScript {
    pub(super) routers: Names,
    pub(super) verbs: Names,
    pub(super) servers: Names,
    pub(super) requests: Names,
    pub(super) commands: Names,
    pub(super) emitters: Names,
    pub(super) around_tests: Names,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Go {
    pub(super) routers: Names,
    pub(super) verbs: Names,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Java {
    pub(super) mappings: Names,
    pub(super) verbs: Names,
    pub(super) answers: Names,
    pub(super) injected: Names,
    pub(super) around_tests: Names,
    /// A base, and its method.
    pub(super) between: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rust {
    pub(super) verbs: Names,
    pub(super) once: Names,
}

/// The words, read at their first use. The file is part of the program, and a test reads it.
pub(super) fn frameworks() -> &'static Frameworks {
    static ALL: LazyLock<Frameworks> = LazyLock::new(|| toml::from_str(TEXT).unwrap_or_default());
    &ALL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_and_has_no_empty_list() {
        let all: Frameworks = toml::from_str(TEXT).unwrap();
        assert!(all.python.views.has("APIView") && !all.python.views.has("apiview"));
        let whole: toml::Table = toml::from_str(TEXT).unwrap();
        for (language, words) in &whole {
            for (name, list) in words.as_table().unwrap() {
                let count = list.as_array().map(Vec::len);
                let count = count.or_else(|| list.as_table().map(toml::Table::len));
                assert!(count > Some(0), "{language}.{name}");
            }
        }
    }
}
