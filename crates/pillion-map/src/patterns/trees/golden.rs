//! One small piece of code for each rule, and one that only looks like it.

mod c;
mod go;
mod java;
mod rust;
mod typescript;

use std::sync::Arc;

use pillion_index::language::Language;
use pillion_index::source::Source;
use proptest::prelude::*;

use super::super::Pattern;
use super::{interfaces, read};

const LANGUAGES: &[(Language, &str)] = &[
    (Language::Typescript, "a.ts"),
    (Language::Go, "a.go"),
    (Language::Rust, "a.rs"),
    (Language::Java, "A.java"),
    (Language::C, "a.c"),
];

/// Words that rules look for, to be thrown together.
const WORDS: &str = "(class|func|fn|impl|this|self|static|return|new |append|for |of |range |A|a|\\(|\\)|\\{|\\}|\\[|\\]|\\.|->|:|;|,|=|\\*|&|#|@|\"|/| |\n|é)";

/// What is found in a file: `kind@line`.
fn found(language: Language, path: &str, text: &str) -> Vec<String> {
    let read = read(language, path, &Source::from_text(text));
    assert!(read.mistakes.is_empty(), "{path}: {:?}", read.mistakes);
    let mut found: Vec<_> = read.found;
    found.sort_by_key(|one| one.line);
    let found = found.into_iter();
    found
        .map(|one| format!("{}@{}", one.kind, one.line))
        .collect()
}

/// What is found across files: `kind description`.
fn across(language: Language, files: &[(&str, &str)]) -> Vec<String> {
    let read = files.iter().map(|(path, text)| {
        let path: Arc<str> = (*path).into();
        let read = read(language, &path, &Source::from_text(text));
        (path, read.shared)
    });
    let read: Vec<_> = read.collect();
    let found: Vec<Pattern> =
        interfaces::patterns(&read.iter().map(|(path, shared)| (path, shared)));
    let found = found.into_iter();
    found
        .map(|one| format!("{} {}", one.kind, one.description))
        .collect()
}

#[test]
fn what_does_not_parse_is_told_and_does_no_harm() {
    let wrong = |language, path, text: &str| {
        let read = read(language, path, &Source::from_text(text));
        let all = read.mistakes.into_iter();
        all.map(|one| format!("{}:{} {}", one.line, one.column, one.message))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        wrong(Language::Java, "A.java", "class A {\n  int x = 1\n}\n"),
        ["2:12 `;` is missing"]
    );
    assert_eq!(
        wrong(
            Language::Go,
            "a.go",
            "package a\n\nfunc f() { s(\"\u{e9}\") ) }\n"
        ),
        ["3:19 `)` is not understood"]
    );
    for (language, path) in LANGUAGES {
        for text in [
            "",
            "class",
            "}{)(",
            "func (",
            "fn f(&self -> {",
            "\u{feff}if",
            "a[",
            "@",
        ] {
            let _ = wrong(*language, path, text);
            let _ = wrong(*language, path, &text.repeat(300));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_is_read(at in 0..LANGUAGES.len(), words in proptest::collection::vec(WORDS, 0..80)) {
        let (language, path) = LANGUAGES[at];
        read(language, path, &Source::from_text(&words.concat()));
    }
}
