//! `cargo xtask generate`: pages that pillion writes about itself, for people and agents.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::repository::Repository;
use crate::run::Run;

/// The pages: what `pillion reference` calls each, and where it goes.
const PAGES: &[(&str, &str)] = &[
    ("operations", "docs/reference/operations.md"),
    ("configuration", "docs/reference/configuration.md"),
    ("environment", "docs/reference/environment.md"),
    ("cli", "docs/reference/cli.md"),
    ("errors", "docs/reference/errors.md"),
    ("skill", "skills/pillion/REFERENCE.md"),
];

/// Stands above each.
const HEAD: &str =
    "<!-- Written by `cargo xtask generate`: change the code, not this page. -->\n\n";

/// Write the pages, or only tell which are not what would be written.
pub(crate) fn generate(repository: &Repository, check: bool) -> Result<()> {
    let pillion = build(repository)?;
    let mut different = Vec::new();
    for (kind, file) in PAGES {
        let page = Run::new(&pillion)
            .args(["reference", kind])
            .cwd(&repository.root)
            .output()?
            .success()?;
        let page = format!("{HEAD}{}\n", page.trim());
        let path = repository.root.join(file);
        let old = std::fs::read_to_string(&path).unwrap_or_default();
        if old == page {
            continue;
        }
        if check {
            different.push(format!("{file} {}", difference(&old, &page)));
            continue;
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| Error::file(folder, &error))?;
        }
        std::fs::write(&path, page).map_err(|error| Error::file(&path, &error))?;
        println!("wrote {file}");
    }
    if different.is_empty() {
        return Ok(());
    }
    Err(Error::new(different.join("\nerror: "))
        .hint("`cargo xtask generate` writes the pages anew; commit them"))
}

/// Build pillion just as the tests do, so that nothing is built twice. It is the examples
/// that make the features the same: they too are built with what tests need.
fn build(repository: &Repository) -> Result<PathBuf> {
    repository
        .cargo()
        .args(["build", "--quiet", "--workspace", "--all-features"])
        .args(["--bin", "pillion", "--examples"])
        .show()?;
    let name = format!("pillion{}", std::env::consts::EXE_SUFFIX);
    Ok(repository.target.join("debug").join(name))
}

/// Where two texts part.
fn difference(old: &str, new: &str) -> String {
    if old.is_empty() {
        return "is missing".to_owned();
    }
    let same = old.lines().zip(new.lines()).take_while(|(a, b)| a == b);
    let number = same.count();
    let line = |text: &str| text.lines().nth(number).unwrap_or("(end)").to_owned();
    format!(
        "differs in line {}:\n  - {}\n  + {}",
        number + 1,
        line(old),
        line(new)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_a_place_of_its_own() {
        let mut files: Vec<_> = PAGES.iter().map(|(_, file)| file).collect();
        files.sort();
        files.dedup();
        assert_eq!(files.len(), PAGES.len());
        assert!(files.iter().all(|file| file.ends_with(".md")));
    }

    #[test]
    fn the_first_line_that_differs_is_shown() {
        assert_eq!(difference("", "a"), "is missing");
        let told = difference("a\nb\nc", "a\nB\nc");
        assert_eq!(told, "differs in line 2:\n  - b\n  + B");
        assert!(difference("a\n", "a\nb\n").ends_with("- (end)\n  + b"));
    }
}
