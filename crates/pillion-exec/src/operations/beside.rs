//! What a function of the caller's own folder needs to run: its module goes along.
//!
//! A run has a folder of its own and sees no other. So whoever types `--function shop:total`
//! where `shop.py` lies hands over that module, or its package, and the modules beside it.

use std::path::{Path, PathBuf};

use super::given::FileGiven;

/// Files and bytes that go along at most; what is more belongs into a package that is installed.
const MOST: usize = 200;
const MOST_BYTES: u64 = 4 << 20;

/// The files that go along with a function, by their names in the run's folder; none if its
/// module does not lie in this folder.
pub fn modules_beside(folder: &Path, function: &str) -> Vec<FileGiven> {
    let top = function.split(['.', ':']).next().unwrap_or_default();
    let (file, package) = (folder.join(format!("{top}.py")), folder.join(top));
    if top.is_empty() || !(file.is_file() || package.is_dir()) {
        return Vec::new();
    }
    let mut paths = sources(folder);
    // The module itself is among the first, whatever there is beside it.
    paths.sort_by_key(|path| *path != file);
    let mut open = match package.is_dir() {
        true => vec![package],
        false => Vec::new(),
    };
    let mut within = Vec::new();
    while let Some(next) = open.pop() {
        within.extend(sources(&next));
        open.extend(folders(&next));
        if within.len() > MOST {
            break;
        }
    }
    let mut left = MOST_BYTES;
    let all = within.into_iter().chain(paths).take(MOST);
    let given = all.filter_map(|path| {
        let name = path.strip_prefix(folder).ok()?.to_str()?.to_owned();
        let size = path.metadata().ok()?.len();
        left = left.checked_sub(size)?;
        Some(FileGiven::new(&name, std::fs::read(&path).ok()?))
    });
    given.collect()
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
        path.is_dir() && name.is_some_and(|name| !name.starts_with(['.', '_']))
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
        let package = names("pkg.deep.low:f");
        assert!(
            package.contains(&"pkg/deep/low.py".to_owned()),
            "{package:?}"
        );
        assert!(
            package.contains(&"pkg/__init__.py".to_owned()),
            "{package:?}"
        );
        assert!(names("math:hypot").is_empty() && names(":f").is_empty());
    }
}
