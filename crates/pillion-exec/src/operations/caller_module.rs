//! What a function of the caller's own project needs to run: its module goes along.
//!
//! A run has a folder of its own and sees no other. So whoever types `--function shop:total`
//! where `shop.py` lies hands over that module, or its package, the modules beside it, and the
//! packages that these import. It is looked for where `pillion call` looks, too: in the folder
//! one is in, in the root of the project, and in `src`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use pillion_workspace::root;

use super::input_files::FileGiven;

/// Files and bytes that go along at most; what is more belongs into a package that is installed.
const MOST: usize = 200;
const MOST_BYTES: u64 = 4 << 20;

/// The folder from which a function is imported, for somebody who stands in `here`.
pub(super) fn home_of(here: &Path, function: &str) -> Option<PathBuf> {
    let root = root::find(here).unwrap_or_else(|_| here.to_owned());
    let all = [
        here.to_owned(),
        here.join("src"),
        root.clone(),
        root.join("src"),
    ];
    let top = top_of(function);
    all.into_iter().find(|folder| is_there(folder, top))
}

/// The files that go along with a function, by their names in the run's folder; none if its
/// module does not lie in this folder.
pub fn modules_beside(folder: &Path, function: &str) -> Vec<FileGiven> {
    let top = top_of(function);
    if !is_there(folder, top) {
        return Vec::new();
    }
    let mut taken = Taken::new(folder);
    taken.module(top);
    for path in sources(folder) {
        taken.file(&path);
    }
    taken.given
}

/// The module or package that a function is in.
pub(super) fn top_of(function: &str) -> &str {
    function.split(['.', ':']).next().unwrap_or_default()
}

/// Whether a module or package of this name lies in a folder.
fn is_there(folder: &Path, top: &str) -> bool {
    !top.is_empty() && (folder.join(format!("{top}.py")).is_file() || folder.join(top).is_dir())
}

/// What goes along, and the modules that were looked for.
struct Taken<'a> {
    folder: &'a Path,
    seen: HashSet<String>,
    paths: HashSet<PathBuf>,
    left: u64,
    given: Vec<FileGiven>,
}

impl<'a> Taken<'a> {
    fn new(folder: &'a Path) -> Self {
        Self {
            folder,
            seen: HashSet::new(),
            paths: HashSet::new(),
            left: MOST_BYTES,
            given: Vec::new(),
        }
    }

    /// A module or package with what it imports, as far as that lies in the folder, too.
    fn module(&mut self, top: &str) {
        let mut waiting = vec![top.to_owned()];
        while let Some(top) = waiting.pop() {
            if !self.seen.insert(top.clone()) {
                continue;
            }
            let file = self.folder.join(format!("{top}.py"));
            let files = match file.is_file() {
                true => vec![file],
                false => below(&self.folder.join(&top)),
            };
            for path in files {
                waiting.extend(self.file(&path));
            }
        }
    }

    /// A file; gives the names of the modules that it imports.
    fn file(&mut self, path: &Path) -> Vec<String> {
        if self.given.len() >= MOST || !self.paths.insert(path.to_owned()) {
            return Vec::new();
        }
        let Some(left) = path
            .metadata()
            .ok()
            .and_then(|m| self.left.checked_sub(m.len()))
        else {
            return Vec::new();
        };
        let name = path.strip_prefix(self.folder).ok().and_then(Path::to_str);
        let (Some(name), Ok(bytes)) = (name, std::fs::read(path)) else {
            return Vec::new();
        };
        self.left = left;
        let imported = imported(&String::from_utf8_lossy(&bytes));
        self.given.push(FileGiven::new(name, bytes));
        imported
    }
}

/// The first parts of the names that a source imports, as far as a look at its lines tells.
fn imported(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim_start);
    let names = lines.flat_map(|line| match line.split_once(char::is_whitespace) {
        Some(("from", rest)) => vec![rest],
        Some(("import", rest)) => rest.split(',').collect(),
        _ => Vec::new(),
    });
    let top = |name: &str| {
        let name = name.trim_start();
        let end = name.find(|c: char| c != '_' && !c.is_alphanumeric());
        name[..end.unwrap_or(name.len())].to_owned()
    };
    names.map(top).filter(|name| !name.is_empty()).collect()
}

/// The sources in a folder and in those within it.
fn below(folder: &Path) -> Vec<PathBuf> {
    let (mut open, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(next) = open.pop() {
        found.extend(sources(&next));
        open.extend(folders(&next));
        if found.len() > MOST {
            break;
        }
    }
    found
}

/// The modules right in a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let is_source = |path: &PathBuf| path.extension().is_some_and(|end| end == "py");
    let mut found: Vec<PathBuf> = entries(folder).filter(is_source).collect();
    found.sort();
    found
}

fn folders(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let is_code = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        path.is_dir() && name.is_some_and(|name| !name.starts_with('.') && name != "__pycache__")
    };
    entries(folder).filter(is_code)
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_goes_along_with_those_beside_it_and_a_package_with_all_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x = 1\n").unwrap();
        };
        for name in [
            "shop.py",
            "tax.py",
            "pkg/__init__.py",
            "pkg/deep/low.py",
            "pkg/_own/part.py",
            "pkg/__pycache__/low.py",
            "other/x.py",
            "data.csv",
        ] {
            write(name);
        }
        let names = |function: &str| {
            let given = modules_beside(folder.path(), function);
            given.into_iter().map(|file| file.name).collect::<Vec<_>>()
        };
        assert_eq!(names("shop:total"), ["shop.py", "tax.py"]);
        std::fs::write(
            folder.path().join("tax.py"),
            "def f():\n    from other.x import y\n",
        )
        .unwrap();
        assert_eq!(names("shop:total"), ["shop.py", "tax.py"]);
        std::fs::write(folder.path().join("shop.py"), "import os, tax as t\n").unwrap();
        assert_eq!(names("shop:total"), ["shop.py", "tax.py", "other/x.py"]);
        let package = names("pkg.deep.low:f");
        assert!(
            package.contains(&"pkg/deep/low.py".to_owned()),
            "{package:?}"
        );
        assert!(
            package.contains(&"pkg/__init__.py".to_owned()),
            "{package:?}"
        );
        assert!(
            package.contains(&"pkg/_own/part.py".to_owned()),
            "{package:?}"
        );
        assert!(!package.iter().any(|name| name.contains("__pycache__")));
        assert!(names("math:hypot").is_empty() && names(":f").is_empty());
    }
}
