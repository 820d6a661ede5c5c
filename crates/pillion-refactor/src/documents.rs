//! Files that are no Python and may name what a program has: configuration, scripts, templates,
//! documentation.

use std::path::Path;

use pillion_index::source::{Source, Span};
use pillion_symbols::literals::words;
use pillion_workspace::Snapshot;
use rayon::prelude::*;
use ruff_text_size::{TextRange, TextSize};

use super::strings::{MAX_MENTIONS, Spelling, Text, before, span_of};

/// How the names of such files end.
const ENDINGS: &[&str] = &[
    ".bash", ".bat", ".cfg", ".cmd", ".conf", ".env", ".fish", ".html", ".in", ".ini", ".ipynb",
    ".j2", ".jinja", ".jinja2", ".json", ".just", ".mako", ".md", ".mk", ".ps1", ".pxd", ".pyx",
    ".robot", ".rst", ".service", ".sh", ".toml", ".tpl", ".txt", ".xml", ".yaml", ".yml", ".zsh",
];
/// Names of files whose ending says nothing: `Dockerfile.dev`.
const BEGINNINGS: &[&str] = &["Containerfile", "Dockerfile", "Makefile"];
/// Endings of those that people read and no program does.
const PROSE: &[&str] = &[".md", ".rst", ".txt"];
/// Larger ones are data.
const MAX_SIZE: u64 = 1 << 20;

/// Whether a file may name what a program has. One without an ending may be a script.
fn is_document(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    !name.contains('.')
        || ENDINGS.iter().any(|end| name.ends_with(end))
        || BEGINNINGS.iter().any(|begin| name.starts_with(begin))
}

/// Whether people read it and no program does.
pub(super) fn is_prose(path: &str) -> bool {
    PROSE.iter().any(|end| path.ends_with(end))
}

/// Look at all documents that hold a text. Blocks: it reads them.
pub(super) fn with_text<T: Send>(
    snapshot: &Snapshot,
    text: &str,
    look: impl Fn(&str, &Source) -> Vec<T> + Sync,
) -> Vec<T> {
    let files: Vec<_> = snapshot.files().iter().collect();
    let found: Vec<Vec<T>> = files
        .par_iter()
        .filter(|file| is_document(&file.path) && file.stamp.size <= MAX_SIZE)
        .map(|file| {
            let bytes = std::fs::read(snapshot.root().join(&*file.path)).unwrap_or_default();
            match memchr::memmem::find(&bytes, text.as_bytes()) {
                Some(_) => look(&file.path, &Source::decode(&bytes)),
                None => Vec::new(),
            }
        })
        .collect();
    found.into_iter().flatten().collect()
}

/// Where documents spell a name, and why that is left alone.
pub(super) fn mentions(snapshot: &Snapshot, name: &str) -> Vec<(String, Span, &'static str)> {
    let found = spellings(snapshot, name).into_iter();
    found.map(Spelling::left_alone).collect()
}

/// Where documents spell a name as a word of its own.
pub(super) fn spellings(snapshot: &Snapshot, name: &str) -> Vec<Spelling> {
    let found = with_text(snapshot, name, |file, source| {
        let places = words(source.text(), name).map(|at| Spelling {
            file: file.to_owned(),
            span: span_of(source, range_of(at, name)),
            text: Text::Document,
            before: before(source.text(), at),
            is_whole: false,
            is_parameter: false,
        });
        places.collect()
    });
    found.into_iter().take(MAX_MENTIONS).collect()
}

/// Where documents that programs read name something by what it belongs to, as entry points of
/// a package do: `shop.cli:main` of `main` and its owner `cli`.
pub fn in_configuration(snapshot: &Snapshot, name: &str, owner: &str) -> Vec<(String, Span)> {
    let named = spellings(snapshot, name)
        .into_iter()
        .filter(|one| !is_prose(&one.file) && one.before.rsplit(['.', ':']).next() == Some(owner));
    named.map(|one| (one.file, one.span)).collect()
}

/// Where documents spell the file of a module by its path: `COPY shop/cli.py`.
pub(super) fn paths(snapshot: &Snapshot, root: &Path, file: &str) -> Vec<(String, Span)> {
    // A path that another one ends in is another file, if that is there.
    let is_it = |text: &str, at: usize| {
        let is_part = |c: char| matches!(c, '_' | '-' | '/' | '.') || c.is_alphanumeric();
        let begin = text[..at].rfind(|c| !is_part(c)).map_or(0, |last| last + 1);
        let whole = text[begin..at + file.len()].trim_start_matches("./");
        whole == file || !root.join(whole).exists()
    };
    let found = with_text(snapshot, file, |path, source| {
        let text = source.text();
        let places = words(text, file).filter(|at| is_it(text, *at));
        let places = places.map(|at| (path.to_owned(), span_of(source, range_of(at, file))));
        places.collect()
    });
    found.into_iter().take(MAX_MENTIONS).collect()
}

fn range_of(at: usize, name: &str) -> TextRange {
    let start = TextSize::try_from(at).unwrap_or_default();
    TextRange::at(start, TextSize::of(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_known_by_its_name() {
        let all = [
            "Makefile",
            "bin/tool",
            "Dockerfile.dev",
            "tox.ini",
            ".github/workflows/ci.yml",
            "docs/use.rst",
            "run.sh",
        ];
        for path in all {
            assert!(is_document(path), "{path}");
        }
        for path in ["a.py", "data.csv", "lib.so", "poetry.lock", "a.b/c.png"] {
            assert!(!is_document(path), "{path}");
        }
        assert!(is_prose("README.md") && !is_prose("Makefile"));
    }
}
