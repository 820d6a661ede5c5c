//! What must not be in a file: places of one machine, package hosts, or too many lines.

use std::path::Path;

use crate::error::{Error, Result};
use crate::repository::Repository;

/// Files of ours are a few hundred lines long. Longer ones are named, not refused.
const LONG: usize = 600;

/// Folders at the root of the machine that this was developed on.
const FOLDERS: &[&str] = &["root", "work"];

/// Parts of the names of package hosts. Packages are named, and where they come from is a
/// setting of the machine: a mirror must work as well.
const HOSTS: &[&str] = &["pypi", "pythonhosted", "npmjs", "crates", "debian"];

/// What Cargo writes into its lock file whatever the registry is.
const CARGO_SOURCE: &str = "source = \"registry+https://github.com/rust-lang/";

/// Check every file that is under version control.
pub(crate) fn check(repository: &Repository) -> Result<()> {
    let mut broken = Vec::new();
    for file in repository.files()? {
        let Some(text) = repository.text(&file)? else {
            continue;
        };
        if is_long(&file, &text) {
            let lines = text.lines().count();
            println!("warning: `{}` has {lines} lines", file.display());
        }
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(what) = wrong(&file, line) {
                broken.push(format!("{}:{number}: {what}", file.display()));
            }
        }
    }
    if broken.is_empty() {
        return Ok(());
    }
    Err(Error::new(broken.join("\nerror: ")))
}

fn is_long(file: &Path, text: &str) -> bool {
    let tests = ["tests", "benches"];
    let code = file.extension().is_some_and(|e| e == "rs" || e == "py");
    let test = file
        .iter()
        .any(|part| tests.iter().any(|name| part == *name));
    code && !test && text.lines().count() > LONG
}

fn wrong(file: &Path, line: &str) -> Option<String> {
    if let Some(place) = FOLDERS.iter().find(|name| names_folder(line, name)) {
        return Some(format!("names a place on one machine, `/{place}/`"));
    }
    let lock = file.file_name().is_some_and(|name| name == "Cargo.lock");
    if lock && line.starts_with(CARGO_SOURCE) {
        return None;
    }
    let host = hosts(line).find(|host| HOSTS.iter().any(|part| host.contains(part)))?;
    Some(format!("names the package host `{host}`"))
}

/// Whether `/NAME/` starts a path in `line`.
fn names_folder(line: &str, name: &str) -> bool {
    let wanted = format!("/{name}/");
    line.match_indices(&wanted).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || "._-~*}/>$)".contains(c)))
    })
}

/// The hosts of all URLs in `line`.
fn hosts(line: &str) -> impl Iterator<Item = &str> {
    line.split("://").skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || ".-".contains(c)));
        &rest[..end.unwrap_or(rest.len())]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong_in(file: &str, line: &str) -> bool {
        wrong(Path::new(file), line).is_some()
    }

    #[test]
    fn places_of_one_machine_are_found_and_like_looking_ones_are_not() {
        let path = |name: &str| format!("see `/{name}/thing`");
        assert!(wrong_in("a.md", &path("root")));
        assert!(wrong_in("a.md", &path("work")));
        assert!(!wrong_in("a.md", &path("srv")));
        assert!(!wrong_in(
            "a.md",
            "see `docs/work/thing` and `$HOME/work/thing`"
        ));
    }

    #[test]
    fn package_hosts_are_found_but_names_of_registries_are_not() {
        let host = HOSTS[0];
        assert!(wrong_in(
            "a.txt",
            &format!("--index-url https://{host}.example/simple")
        ));
        assert!(!wrong_in(
            "a.md",
            "it is on crates.io and PyPI; see https://example.org"
        ));
        let source = format!("{CARGO_SOURCE}crates.io-index\"");
        assert!(!wrong_in("Cargo.lock", &source));
    }

    #[test]
    fn long_files_are_code_outside_of_tests() {
        let long = "x\n".repeat(LONG + 1);
        assert!(is_long(Path::new("crates/a/src/b.rs"), &long));
        assert!(!is_long(Path::new("crates/a/tests/b.rs"), &long));
        assert!(!is_long(Path::new("Cargo.lock"), &long));
    }
}
