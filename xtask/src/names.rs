//! Doors know no operation by its name: what they offer, they read from the catalogue.
//!
//! The names are those that the sources define. Who asks for an operation like any client does
//! (the tour, what agents are told in words) may name it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::error::{Error, Result};
use crate::repository::Repository;

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
    let files = repository.files()?;
    let mut names = BTreeSet::new();
    let mut doors = Vec::new();
    for file in files.iter().filter(|file| is_source(file)) {
        let Some(text) = repository.text(file)? else {
            continue;
        };
        names.extend(text.lines().filter_map(defined).map(ToOwned::to_owned));
        let below = |folders: &[&str]| folders.iter().any(|folder| file.starts_with(folder));
        if below(DOORS) && !below(CLIENTS) {
            doors.push((file, text));
        }
    }
    let mut broken = Vec::new();
    for (file, text) in doors {
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

/// The name that a line defines an operation by.
fn defined(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix("const NAME: &'static str = \"")?;
    rest.strip_suffix("\";").filter(|name| name.contains('.'))
}

/// The lines of a file before its tests, which may name what they try.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|line| *line != "#[cfg(test)]")
}

/// An operation that a line names as a string.
fn named<'a>(line: &str, names: &'a BTreeSet<String>) -> Option<&'a str> {
    let line = line.trim_start();
    if line.starts_with("//") {
        return None;
    }
    let mut names = names.iter();
    let name = names.find(|name| line.contains(&format!("\"{name}\"")))?;
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_where_they_are_defined_and_found_where_they_are_not() {
        let name = defined("    const NAME: &'static str = \"code.defs\";");
        assert_eq!(name, Some("code.defs"));
        assert_eq!(defined("const NAME: &'static str = \"daemon\";"), None);
        let names = BTreeSet::from(["code.defs".to_owned()]);
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
