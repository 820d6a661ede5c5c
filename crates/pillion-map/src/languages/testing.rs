//! What test runners take for tests, by language, and what runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pillion_index::language::Language;

/// Whether a file holds tests by its name.
pub(crate) fn is_test_file(language: Language, path: &str) -> bool {
    match language {
        Language::Python | Language::Auto => super::super::tests_of::is_test_file(path),
        Language::Typescript | Language::Javascript => is_script_test(path),
        Language::Go => path.ends_with("_test.go"),
        Language::Rust => has_folder(path, &["tests"]),
        Language::Java => is_java_test(path),
        Language::C => is_c_test(path),
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn has_folder(path: &str, names: &[&str]) -> bool {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').any(|part| names.contains(&part))
}

fn is_script_test(path: &str) -> bool {
    let stem = name_of(path).rsplit_once('.').map_or("", |(stem, _)| stem);
    stem.ends_with(".test") || stem.ends_with(".spec") || has_folder(path, &["__tests__"])
}

pub(super) fn is_java_test(path: &str) -> bool {
    let stem = name_of(path).strip_suffix(".java").unwrap_or_default();
    let is_named = ["Test", "Tests", "TestCase", "IT"];
    is_named.iter().any(|end| stem.ends_with(end)) || stem.len() > 4 && stem.starts_with("Test")
}

pub(super) fn is_c_test(path: &str) -> bool {
    let stem = name_of(path).strip_suffix(".c").unwrap_or_default();
    let is_named = stem.starts_with("test_") || stem.ends_with("_test") || stem == "test";
    is_named || !stem.is_empty() && has_folder(path, &["tests", "test"])
}

/// A word for a shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=+@%,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// What runs some tests: each a file, with the names of tests in it if not all are meant.
/// Nothing if the project does not say how its tests are run.
pub fn command(
    language: Language,
    root: &Path,
    tests: &BTreeMap<String, Vec<String>>,
) -> Option<String> {
    if tests.is_empty() {
        return None;
    }
    let has = |name: &str| root.join(name).is_file();
    let files = || {
        tests
            .keys()
            .map(|file| quoted(file))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let names = || -> Option<BTreeSet<&str>> {
        let is_known = tests.values().all(|names| !names.is_empty());
        let all = tests.values().flatten();
        is_known.then(|| {
            all.map(|name| name.rsplit('.').next().unwrap_or(name))
                .collect()
        })
    };
    match language {
        Language::Python | Language::Auto => None,
        Language::Typescript | Language::Javascript => {
            Some(format!("{} {}", script_runner(root), files()))
        }
        Language::Go => {
            let folder = |file: &String| match file.rsplit_once('/') {
                Some((folder, _)) => format!("./{folder}"),
                None => ".".to_owned(),
            };
            let folders: BTreeSet<String> = tests.keys().map(folder).collect();
            let folders: Vec<String> = folders.iter().map(|folder| quoted(folder)).collect();
            let only = names().map_or(String::new(), |names| {
                let names: Vec<&str> = names.into_iter().collect();
                format!(" -run {}", quoted(&format!("^({})$", names.join("|"))))
            });
            Some(format!("go test {}{only}", folders.join(" ")))
        }
        Language::Rust => Some(match names() {
            Some(names) => {
                let names: Vec<&str> = names.into_iter().collect();
                format!("cargo test --workspace -- {}", names.join(" "))
            }
            None => "cargo test --workspace".to_owned(),
        }),
        Language::Java => {
            let class = |file: &String| name_of(file).trim_end_matches(".java").to_owned();
            let classes: BTreeSet<String> = tests.keys().map(class).collect();
            let classes: Vec<String> = classes.into_iter().collect();
            if has("pom.xml") {
                return Some(format!("mvn test -Dtest={}", classes.join(",")));
            }
            let program = if has("gradlew") {
                "./gradlew"
            } else {
                "gradle"
            };
            let all = classes.iter().map(|class| format!(" --tests '*{class}'"));
            Some(format!("{program} test{}", all.collect::<String>()))
        }
        Language::C => {
            let text = std::fs::read_to_string(root.join("Makefile")).unwrap_or_default();
            let mut targets = ["test", "check"].into_iter();
            let is_target = |name: &&str| text.lines().any(|l| l.starts_with(&format!("{name}:")));
            let target = targets.find(is_target);
            target.map(|target| format!("make {target}"))
        }
    }
}

/// What the project's `package.json` runs its tests with.
fn script_runner(root: &Path) -> &'static str {
    let text = std::fs::read_to_string(root.join("package.json")).unwrap_or_default();
    match &text {
        text if text.contains("\"vitest\"") => "npx vitest run",
        text if text.contains("\"jest\"") => "npx jest",
        text if text.contains("\"mocha\"") => "npx mocha",
        _ => "npm test --",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_files_are_known_by_their_names() {
        for (language, yes, no) in [
            (Language::Typescript, "src/a.test.ts", "src/test.ts"),
            (Language::Javascript, "a/__tests__/b.js", "tests.js"),
            (Language::Typescript, "a.spec.tsx", "spec.ts"),
            (Language::Go, "a/b_test.go", "a/test.go"),
            (Language::Rust, "tests/a.rs", "src/tests.rs"),
            (
                Language::Java,
                "src/test/java/CartTest.java",
                "src/Cart.java",
            ),
            (Language::C, "tests/cart.c", "src/cart.c"),
        ] {
            assert!(is_test_file(language, yes), "{yes}");
            assert!(!is_test_file(language, no), "{no}");
        }
    }

    #[test]
    fn commands_name_tests_where_they_are_known() {
        let root = tempfile::tempdir().unwrap();
        let tests = |files: &[(&str, &[&str])]| -> BTreeMap<String, Vec<String>> {
            let own = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
            files
                .iter()
                .map(|(f, n)| ((*f).to_owned(), own(n)))
                .collect()
        };
        let of =
            |language, files: &[(&str, &[&str])]| command(language, root.path(), &tests(files));
        assert_eq!(of(Language::Go, &[]), None);
        assert_eq!(
            of(
                Language::Go,
                &[("a/b_test.go", &["TestA"]), ("c_test.go", &["TestB"])]
            )
            .unwrap(),
            "go test . ./a -run '^(TestA|TestB)$'"
        );
        assert_eq!(
            of(Language::Go, &[("a/b_test.go", &[])]).unwrap(),
            "go test ./a"
        );
        assert_eq!(
            of(Language::Rust, &[("src/a.rs", &["tests.adds"])]).unwrap(),
            "cargo test --workspace -- adds"
        );
        assert_eq!(
            of(Language::Typescript, &[("it's.test.ts", &[])]).unwrap(),
            r"npm test -- 'it'\''s.test.ts'"
        );
        std::fs::write(root.path().join("pom.xml"), "").unwrap();
        assert_eq!(
            of(Language::Java, &[("x/CartTest.java", &["CartTest.adds"])]).unwrap(),
            "mvn test -Dtest=CartTest"
        );
        assert_eq!(of(Language::C, &[("test_a.c", &[])]), None);
    }
}
