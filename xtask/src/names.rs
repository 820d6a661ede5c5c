//! Doors know no operation by its name: what they offer, they read from the catalogue.
//!
//! The names are those of the generated page: not every operation spells its name where it is
//! defined, because some are made by a macro. Who asks for an operation like any client does (the
//! tour, what agents are told in words) may name it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::error::{Error, Result};
use crate::repository::Repository;

/// The page that has every operation. Another step of `check` sees that it is the newest.
const OPERATIONS: &str = "docs/reference/operations.md";

/// Where no operation is named.
const DOORS: &[&str] = &["crates/pillion-doors/src", "crates/pillion/src/cli"];

/// Who is a client there, or tells people and models in words what to ask for.
const CLIENTS: &[&str] = &[
    "crates/pillion/src/cli/tour",
    "crates/pillion/src/cli/reference",
    "crates/pillion-doors/src/mcp/prompts.rs",
    "crates/pillion-doors/src/mcp/resources.rs",
];

/// Check every file of the doors.
pub(crate) fn check(repository: &Repository) -> Result<()> {
    let page = repository.text(Path::new(OPERATIONS))?.unwrap_or_default();
    let names: BTreeSet<&str> = page.lines().filter_map(listed).collect();
    if names.is_empty() {
        return Err(Error::new(format!("`{OPERATIONS}` lists no operations"))
            .hint("`cargo xtask generate` writes it"));
    }
    let files = repository.files()?;
    let mut broken = Vec::new();
    for file in files.iter().filter(|file| is_source(file)) {
        let below = |folders: &[&str]| folders.iter().any(|folder| file.starts_with(folder));
        if !below(DOORS) || below(CLIENTS) {
            continue;
        }
        let Some(text) = repository.text(file)? else {
            continue;
        };
        for (number, line) in (1..).zip(code(&text)) {
            if let Some(name) = named(line, &names) {
                broken.push(format!(
                    "{}:{number}: names the operation `{name}`; doors read the catalogue",
                    file.display()
                ));
            }
        }
    }
    match broken.is_empty() {
        true => Ok(()),
        false => Err(Error::new(broken.join("\nerror: "))),
    }
}

fn is_source(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str());
    // Tests have operations of their own.
    let code = name.is_some_and(|name| name.ends_with(".rs") && !name.ends_with("_tests.rs"));
    code && file.starts_with("crates")
}

/// The operation that a line of the page is the heading of.
fn listed(line: &str) -> Option<&str> {
    let name = line.strip_prefix("## `")?.strip_suffix('`')?;
    name.contains('.').then_some(name)
}

/// The lines of a file before its tests, which may name what they try.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|line| *line != "#[cfg(test)]")
}

/// An operation that a line names as a string.
fn named<'a>(line: &str, names: &BTreeSet<&'a str>) -> Option<&'a str> {
    let line = line.trim_start();
    if line.starts_with("//") {
        return None;
    }
    let mut names = names.iter();
    names
        .find(|name| line.contains(&format!("\"{name}\"")))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_their_page_and_found_where_they_are_not_to_be() {
        assert_eq!(listed("## `code.defs`"), Some("code.defs"));
        for other in [
            "## Who asks",
            "## `daemon`",
            "`code.defs` is one",
            "# Operations",
        ] {
            assert_eq!(listed(other), None, "{other}");
        }
        let names = BTreeSet::from(["code.defs"]);
        assert_eq!(
            named("(\"/defs\", \"code.defs\"),", &names),
            Some("code.defs")
        );
        assert_eq!(named("// like \"code.defs\"", &names), None);
        assert_eq!(named("Defs::NAME", &names), None);
        let text = "a\n#[cfg(test)]\nb";
        assert_eq!(code(text).collect::<Vec<_>>(), ["a"]);
    }
}
