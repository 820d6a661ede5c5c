//! Which paths a bundle may have, and where its links may lead.
//!
//! A path is a text of parts divided by `/`, below the root of the bundle. Two paths must stay
//! two on every file system that the bundle may be unpacked on: where capitals do not count and
//! where accents are written in another way.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use unicode_normalization::UnicodeNormalization;

use crate::{Error, Result};

/// The longest path, in bytes.
pub const MAX_PATH: usize = 1024;
/// The longest path where Windows may unpack it: a store's own path comes before it.
pub const MAX_PORTABLE_PATH: usize = 200;
/// The longest part of a path, in bytes: what common file systems take.
pub const MAX_PART: usize = 255;
/// So many links may lead to each other, as on Linux.
const MAX_LINKS: usize = 40;
/// So many folders a bundle may have. Long paths make many of few files.
const MAX_FOLDERS: usize = 200_000;
/// So many parts of paths are gone through to see where all links lead.
const MAX_STEPS: usize = 1_000_000;

/// Names that Windows keeps for devices, with any ending.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Where the bundle may be unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// On systems like Unix.
    Unix,
    /// Also on Windows.
    Portable,
}

/// Check one path.
pub fn check(path: &str, names: Names) -> Result<()> {
    let bad = |why| {
        Err(Error::BadPath {
            path: shown(path),
            why,
        })
    };
    if path.is_empty() {
        return bad("it is empty");
    }
    let longest = match names {
        Names::Unix => MAX_PATH,
        Names::Portable => MAX_PORTABLE_PATH,
    };
    if path.len() > longest || path.split('/').any(|part| part.len() > MAX_PART) {
        return Err(Error::LongPath {
            path: shown(path),
            limit: if path.len() > longest {
                longest
            } else {
                MAX_PART
            },
        });
    }
    let mut letters = path.chars();
    let has_drive = matches!((letters.next(), letters.next()), (Some(letter), Some(':')) if letter.is_ascii_alphabetic());
    if path.starts_with(['/', '\\']) || has_drive {
        return Err(Error::AbsolutePath { path: shown(path) });
    }
    if path.split(['/', '\\']).any(|part| part == "..") {
        return Err(Error::Traversal { path: shown(path) });
    }
    if path.contains('\\') {
        return bad("it has a backslash");
    }
    if path.chars().any(char::is_control) {
        return bad("it has a control character");
    }
    if path.split('/').any(|part| part.is_empty() || part == ".") {
        return bad("it has an empty part");
    }
    if names == Names::Portable {
        for part in path.split('/') {
            check_portable(part, path)?;
        }
    }
    Ok(())
}

/// Check a name for Windows.
fn check_portable(part: &str, path: &str) -> Result<()> {
    if part.contains(['<', '>', ':', '"', '|', '?', '*']) {
        return Err(Error::BadPath {
            path: shown(path),
            why: "it has a character that Windows does not take",
        });
    }
    if part.ends_with(['.', ' ']) {
        return Err(Error::BadPath {
            path: shown(path),
            why: "it ends with a dot or a space, which Windows takes away",
        });
    }
    let stem = part.split('.').next().unwrap_or_default().trim_end();
    let stem = stem.to_lowercase();
    let is_port = ["com", "lpt"].iter().any(|port| {
        let digit = stem.strip_prefix(port).map(|rest| rest.chars());
        digit.is_some_and(|mut rest| {
            let is_digit = |c: char| c.is_ascii_digit() || "\u{b9}\u{b2}\u{b3}".contains(c);
            rest.next().is_some_and(is_digit) && rest.next().is_none()
        })
    });
    match is_port || DEVICES.contains(&stem.as_str()) {
        true => Err(Error::ReservedName { path: shown(path) }),
        false => Ok(()),
    }
}

/// A path as errors show it: bounded, and without what a terminal would obey.
pub fn shown(path: &str) -> String {
    let mut text: String = path
        .chars()
        .take(120)
        .flat_map(char::escape_debug)
        .collect();
    if text.len() < path.len() && path.chars().count() > 120 {
        text.push('…');
    }
    text
}

/// What somebody says who quotes a text of others, as errors show it: its beginning and its end,
/// and without what a terminal would obey.
pub fn excerpt(text: &str) -> String {
    const SIDE: usize = 200;
    let count = text.chars().count();
    let kept = |chars: &mut dyn Iterator<Item = char>| -> String {
        let plain = |c: char| match c.is_control() && c != '\n' {
            true => c.escape_default().to_string(),
            false => c.to_string(),
        };
        chars.map(plain).collect()
    };
    match count > 2 * SIDE {
        true => {
            let start = kept(&mut text.chars().take(SIDE));
            let end = kept(&mut text.chars().skip(count - SIDE));
            format!("{start}…{end}")
        }
        false => kept(&mut text.chars()),
    }
}

/// Whether two paths are one where capitals do not count.
pub fn is_same(one: &str, other: &str) -> bool {
    folded(one) == folded(other)
}

/// What a path is where neither capitals nor ways of writing an accent count.
fn folded(path: &str) -> String {
    // Both ways, because some letters have a capital that has another small letter; and first
    // the small ones, because some capitals are only known by theirs, as `ẞ` is.
    let small = path.nfd().flat_map(char::to_lowercase);
    let folded = small.flat_map(char::to_uppercase);
    folded.flat_map(char::to_lowercase).nfc().collect()
}

/// The paths of a bundle: files, links, and the folders that they imply.
#[derive(Debug, Default)]
pub struct PathTree<'a> {
    files: BTreeSet<&'a str>,
    links: BTreeMap<&'a str, &'a str>,
    /// The folders, each with a number.
    folders: BTreeMap<&'a str, usize>,
    /// Each path and folder by the number of the folder that it is in and what it is called there
    /// where capitals do not count.
    folded: HashMap<(usize, String), &'a str>,
}

impl<'a> PathTree<'a> {
    /// All paths of a bundle, each checked, and checked against each other.
    pub fn of(
        files: impl IntoIterator<Item = &'a str>,
        links: impl IntoIterator<Item = (&'a str, &'a str)>,
        names: Names,
    ) -> Result<Self> {
        let mut tree = Self::default();
        for path in files {
            tree.add(path, names)?;
            tree.files.insert(path);
        }
        for (path, target) in links {
            tree.add(path, names)?;
            if target.len() > MAX_PATH {
                return Err(Error::LongPath {
                    path: shown(target),
                    limit: MAX_PATH,
                });
            }
            tree.links.insert(path, target);
        }
        let mut folders = tree.folders.keys();
        let is_other =
            |folder: &&&str| tree.files.contains(**folder) || tree.links.contains_key(**folder);
        if let Some(folder) = folders.find(is_other) {
            let below = format!("{folder}/");
            let mut paths = tree.files.iter().chain(tree.links.keys());
            let path = paths.find(|path| path.starts_with(&below));
            return Err(Error::BelowFile {
                path: shown(path.unwrap_or(folder)),
                parent: shown(folder),
            });
        }
        let mut steps = 0;
        for (path, target) in &tree.links {
            if tree.follow(path, &mut steps).is_none() {
                return Err(tree.bad_link(path, target));
            }
            if steps > MAX_STEPS {
                return Err(Error::TooMany { limit: MAX_STEPS });
            }
        }
        Ok(tree)
    }

    fn add(&mut self, path: &'a str, names: Names) -> Result<()> {
        check(path, names)?;
        if self.files.contains(path) || self.links.contains_key(path) {
            return Err(Error::Duplicate { path: shown(path) });
        }
        // Those above a folder that is known are known.
        let above = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
        let new = above.take_while(|folder| !self.folders.contains_key(folder));
        let new: Vec<&str> = new.collect();
        for folder in new.into_iter().rev() {
            self.fold(folder)?;
            if self.folders.len() == MAX_FOLDERS {
                return Err(Error::TooMany { limit: MAX_FOLDERS });
            }
            // The top has no number of its own, and is 0.
            self.folders.insert(folder, self.folders.len() + 1);
        }
        self.fold(path)
    }

    /// Note what a path is where capitals do not count. The folder that it is in is known.
    fn fold(&mut self, path: &'a str) -> Result<()> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = self.folders.get(folder).copied().unwrap_or_default();
        match self.folded.insert((folder, folded(name)), path) {
            Some(other) if other != path => Err(Error::CaseCollision {
                path: shown(path),
                other: shown(other),
            }),
            _ => Ok(()),
        }
    }

    /// Whether it is a folder of the bundle.
    pub fn has_folder(&self, path: &str) -> bool {
        self.folders.contains_key(path)
    }

    /// The file or folder that a path means once all links are followed; `None` if that is
    /// outside, or nothing.
    pub fn resolve(&self, path: &str) -> Option<String> {
        self.follow(path, &mut 0)
    }

    /// The same, with the number of parts that were gone through.
    fn follow(&self, path: &str, steps: &mut usize) -> Option<String> {
        let mut left: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        let mut at: Vec<String> = Vec::new();
        let mut followed = 0;
        while let Some(part) = left.pop() {
            *steps += 1;
            // Nothing is below a file, not even `..`.
            if !at.is_empty() && !self.folders.contains_key(at.join("/").as_str()) {
                return None;
            }
            match part.as_str() {
                "" | "." => {}
                ".." => {
                    at.pop()?;
                }
                _ => {
                    at.push(part);
                    if let Some(target) = self.links.get(at.join("/").as_str()) {
                        followed += 1;
                        if followed > MAX_LINKS || target.is_empty() || is_rooted(target) {
                            return None;
                        }
                        at.pop();
                        left.extend(target.split('/').rev().map(str::to_owned));
                    }
                }
            }
        }
        let found = at.join("/");
        let is_there = found.is_empty()
            || self.files.contains(found.as_str())
            || self.folders.contains_key(found.as_str());
        is_there.then_some(found)
    }

    /// Whether a path means a file, perhaps by way of links.
    pub fn leads_to_file(&self, path: &str) -> bool {
        let found = self.resolve(path);
        found.is_some_and(|found| self.files.contains(found.as_str()))
    }

    /// What is wrong with a link that cannot be resolved.
    fn bad_link(&self, path: &str, target: &str) -> Error {
        let mut depth: usize = path.matches('/').count();
        let leaves = is_rooted(target)
            || target.split('/').any(|part| match part {
                "" | "." => false,
                ".." if depth == 0 => true,
                ".." => {
                    depth -= 1;
                    false
                }
                _ => {
                    depth += 1;
                    false
                }
            });
        let (path, shown_target) = (shown(path), shown(target));
        // Through other links it may still lead out; of those that lead nowhere in the bundle
        // only the plain ones are told apart.
        let is_plain = !self.passes_link(&path, target);
        match leaves || !is_plain {
            true => Error::LinkOutside {
                path,
                target: shown_target,
            },
            false => Error::DanglingLink {
                path,
                target: shown_target,
            },
        }
    }

    /// Whether a link's way leads over another link.
    fn passes_link(&self, path: &str, target: &str) -> bool {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let whole = format!("{folder}/{target}");
        let mut at: Vec<&str> = Vec::new();
        for part in whole
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
        {
            match part {
                ".." => {
                    at.pop();
                }
                part => at.push(part),
            }
            if self.links.contains_key(at.join("/").as_str()) {
                return true;
            }
        }
        false
    }
}

/// Whether a link's target is from the root of a machine, or no path of a Unix.
fn is_rooted(target: &str) -> bool {
    target.starts_with(['/', '\\']) || target.contains(['\\', '\0'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reason(path: &str, names: Names) -> &'static str {
        check(path, names).map_or_else(|error| error.reason(), |()| "fine")
    }

    #[test]
    fn each_kind_of_bad_path_has_its_reason() {
        use Names::{Portable, Unix};
        for (path, names, expected) in [
            ("lib/python3.11/os.py", Unix, "fine"),
            ("a b/.hidden/ä", Portable, "fine"),
            ("", Unix, "bad_path"),
            ("/etc/passwd", Unix, "absolute_path"),
            ("\\\\host\\share", Unix, "absolute_path"),
            ("C:/x", Unix, "absolute_path"),
            ("c:x", Unix, "absolute_path"),
            ("a/../../b", Unix, "path_traversal"),
            ("..", Unix, "path_traversal"),
            ("a\\..\\b", Unix, "path_traversal"),
            ("a\\b", Unix, "bad_path"),
            ("a//b", Unix, "bad_path"),
            ("a/./b", Unix, "bad_path"),
            ("a/", Unix, "bad_path"),
            ("a\nb", Unix, "bad_path"),
            ("a\u{1b}[2J", Unix, "bad_path"),
            ("ab:c", Unix, "fine"),
            ("ab:c", Portable, "bad_path"),
            ("a?", Portable, "bad_path"),
            ("a./b", Portable, "bad_path"),
            ("NUL", Portable, "reserved_name"),
            ("x/com1.txt", Portable, "reserved_name"),
            ("x/aux .py", Portable, "reserved_name"),
            ("x/com10", Portable, "fine"),
            ("x/auxiliary.py", Portable, "fine"),
            ("aux", Unix, "fine"),
        ] {
            assert_eq!(reason(path, names), expected, "{path:?}");
        }
        assert_eq!(reason(&"a".repeat(256), Unix), "long_path");
        assert_eq!(reason(&"a/".repeat(600), Unix), "long_path");
        assert_eq!(reason(&["abcdefghi"; 25].join("/"), Portable), "long_path");
    }

    fn tree(files: &[&str], links: &[(&str, &str)]) -> &'static str {
        PathTree::of(files.iter().copied(), links.iter().copied(), Names::Unix)
            .map_or_else(|error| error.reason(), |_| "fine")
    }

    #[test]
    fn paths_must_stay_apart_everywhere() {
        assert_eq!(tree(&["a/b", "a/c"], &[]), "fine");
        assert_eq!(tree(&["a", "a"], &[]), "duplicate_path");
        assert_eq!(tree(&["a"], &[("a", "b")]), "duplicate_path");
        assert_eq!(tree(&["Lib/x", "lib/y"], &[]), "case_collision");
        assert_eq!(tree(&["README", "readme"], &[]), "case_collision");
        assert_eq!(tree(&["Stra\u{df}e", "STRASSE"], &[]), "case_collision");
        assert_eq!(
            tree(&["stra\u{df}e", "STRA\u{1e9e}E"], &[]),
            "case_collision"
        );
        assert_eq!(tree(&["\u{e9}", "e\u{301}"], &[]), "case_collision");
        assert_eq!(tree(&["a", "a/b"], &[]), "below_file");
        assert_eq!(tree(&["x/f", "l/b"], &[("l", "x")]), "below_file");
    }

    #[test]
    fn few_long_paths_cannot_make_more_folders_than_there_may_be() {
        let deep = "/a".repeat(500);
        let paths: Vec<String> = (0..450).map(|number| format!("{number}{deep}")).collect();
        let of = |count: usize| {
            let files = paths[..count].iter().map(String::as_str);
            PathTree::of(files, [], Names::Unix).map_or_else(|error| error.reason(), |_| "fine")
        };
        assert_eq!(of(10), "fine");
        assert_eq!(of(450), "too_many_entries");
        // Nor can links that lead to links keep anybody busy.
        let ways = "d/../".repeat(200);
        let target = |number: usize| match number % 10 {
            9 => "d".to_owned(),
            _ => format!("{ways}l{}", number + 1),
        };
        let links = (0..1000).map(|number| (format!("l{number}"), target(number)));
        let links: Vec<(String, String)> = links.collect();
        let links = links
            .iter()
            .map(|(path, target)| (path.as_str(), target.as_str()));
        let found = PathTree::of(["d/f"], links, Names::Unix);
        assert_eq!(found.unwrap_err().reason(), "too_many_entries");
        let long = "d/../".repeat(300) + "d";
        let found = PathTree::of(["d/f"], [("l", long.as_str())], Names::Unix);
        assert_eq!(found.unwrap_err().reason(), "long_path");
    }

    #[test]
    fn links_stay_inside_by_whatever_way() {
        let files = ["a/b/file", "bin/python3.11"];
        let with = |links: &[(&str, &str)]| tree(&files, links);
        assert_eq!(
            with(&[("bin/python3", "python3.11"), ("p", "bin/python3")]),
            "fine"
        );
        assert_eq!(with(&[("a/up", "..")]), "fine");
        assert_eq!(with(&[("x", "/etc/passwd")]), "link_outside");
        assert_eq!(with(&[("x", "../x")]), "link_outside");
        assert_eq!(with(&[("a/b/x", "../../../etc")]), "link_outside");
        assert_eq!(with(&[("x", "..\\..\\etc")]), "link_outside");
        assert_eq!(with(&[("x", "missing")]), "dangling_link");
        assert_eq!(with(&[("x", "")]), "dangling_link");
        // By its letters it stays inside; by way of the other link it does not.
        assert_eq!(
            with(&[("a/b/root", "../.."), ("x", "a/b/root/..")]),
            "link_outside"
        );
        assert_eq!(with(&[("x", "y"), ("y", "x")]), "link_outside");
        let known = [("bin/python3", "python3.11"), ("here", "bin")];
        let known = PathTree::of(files, known, Names::Unix).unwrap();
        assert!(known.leads_to_file("here/python3") && !known.leads_to_file("here"));
        assert!(known.has_folder("a/b") && !known.has_folder("a/b/file"));
    }

    proptest! {
        #[test]
        fn a_path_that_is_fine_stays_below_its_root(path in "[a/.\\\\: ]{0,12}") {
            if check(&path, Names::Unix).is_ok() {
                let joined = std::path::Path::new("/base/of").join(&path);
                prop_assert!(joined.components().all(|part| part.as_os_str() != ".."));
                prop_assert!(joined.starts_with("/base/of") && joined != std::path::Path::new("/base/of"));
            }
        }

        #[test]
        fn a_link_that_resolves_stays_inside(
            targets in proptest::collection::vec("(\\.\\./|[ab]/|l[0-2]/){0,4}([ab]|\\.\\.|l[0-2])", 3),
        ) {
            // Compared with what a real file system does.
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap().join("root");
            std::fs::create_dir_all(root.join("a/b")).unwrap();
            std::fs::write(root.join("a/b/f"), "").unwrap();
            std::fs::write(root.join("b"), "").unwrap();
            let names = ["l0", "a/l1", "a/b/l2"];
            let links: Vec<_> = names.into_iter().zip(targets.iter().map(String::as_str)).collect();
            for (name, target) in &links {
                std::os::unix::fs::symlink(target, root.join(name)).unwrap();
            }
            if PathTree::of(["a/b/f", "b"], links.clone(), Names::Unix).is_ok() {
                for (name, _) in links {
                    let real = root.join(name).canonicalize().unwrap();
                    prop_assert!(real.starts_with(&root), "{real:?}");
                }
            }
        }
    }
}
