//! Links between the pages of the documentation lead somewhere.

use std::path::Path;

use crate::error::{Error, Result};
use crate::repository::Repository;

/// Check the links of every Markdown file to other files.
pub(crate) fn check(repository: &Repository) -> Result<()> {
    let mut broken = Vec::new();
    let files = repository.files()?;
    let pages = files
        .iter()
        .filter(|file| file.extension().is_some_and(|e| e == "md"));
    for page in pages {
        let text = repository.text(page)?.unwrap_or_default();
        let folder = page.parent().unwrap_or(Path::new(""));
        for (line, target) in links(&text) {
            let place = match target.strip_prefix('/') {
                Some(from_root) => repository.root.join(from_root),
                None => repository.root.join(folder).join(target),
            };
            if !place.exists() {
                let page = page.display();
                broken.push(format!("{page}:{line}: there is no `{target}`"));
            }
        }
    }
    if broken.is_empty() {
        return Ok(());
    }
    Err(Error::new(broken.join("\nerror: ")))
}

/// The links to files, with the numbers of their lines. Blocks of code have none.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            let targets = targets(line).filter_map(file_of);
            found.extend(targets.map(|target| (number, target)));
        }
    }
    found
}

/// What stands in `[...](HERE)`, but for code, and after `[...]: `.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let inline = line.match_indices("](").filter_map(|(at, bracket)| {
        let is_code = line[..at].matches('`').count() % 2 == 1;
        let rest = &line[at + bracket.len()..];
        let end = rest.find([')', ' '])?;
        (!is_code).then_some(&rest[..end])
    });
    let reference = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]: "))
        .map(|(_, target)| target.trim());
    inline.chain(reference)
}

/// The file that a link leads to, unless it leads outside or into its own page.
fn file_of(target: &str) -> Option<&str> {
    let outside = target.contains("://") || target.starts_with("mailto:");
    let file = target.split('#').next()?;
    (!outside && !file.is_empty()).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_files_are_found() {
        let page = "\
[a](one.md) and [b](two.md#part \"title\"), [out](https://example.org/x.md), [here](#part)
```sh
[not](a-link.md)
```
[reference]: three.md
`list[0](x)` is code, [`four`](four.md) is a link";
        let expected = [
            (1, "one.md"),
            (1, "two.md"),
            (5, "three.md"),
            (6, "four.md"),
        ];
        assert_eq!(links(page), expected);
    }
}
