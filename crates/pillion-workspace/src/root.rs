//! Finding the root folder that a path belongs to.

use std::path::{Path, PathBuf};

use pillion_protocol::{Code, Error, Result};

/// Files and folders that mark a root, strongest first.
const MARKERS: &[&[&str]] = &[
    &["pillion.toml"],
    &["pyproject.toml", "setup.py", "setup.cfg"],
    &[".git", ".hg"],
];

/// The nearest project root at or above `start`, or `start` itself where nothing marks one.
///
/// The user's home folder and the file system's root never count: a stray marker there
/// would make one workspace of everything.
pub fn find(start: &Path) -> Result<PathBuf> {
    let start = start.canonicalize().map_err(|error| {
        Error::new(
            Code::NotFound,
            format!("no folder `{}`: {error}", start.display()),
        )
        .hint("`root` must be an existing folder")
    })?;
    let start = if start.is_dir() {
        start
    } else {
        start.parent().map(Into::into).unwrap_or(start)
    };
    let above = above(&start);
    for markers in MARKERS {
        let marked = above
            .iter()
            .find(|dir| markers.iter().any(|m| dir.join(m).exists()));
        if let Some(dir) = marked {
            return Ok((*dir).to_owned());
        }
    }
    Ok(start)
}

/// The folders that can be the root of `start`.
fn above(start: &Path) -> Vec<&Path> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    start
        .ancestors()
        .take_while(|dir| dir.parent().is_some() && home.as_deref() != Some(*dir))
        .collect()
}

/// All that decides which root a folder belongs to: what may mark one, and the way there.
pub fn marks(start: &Path) -> Vec<PathBuf> {
    let real = start.canonicalize();
    let folders = above(real.as_deref().unwrap_or(start));
    let folders = folders.into_iter().chain([start]);
    let names = || MARKERS.iter().flat_map(|markers| markers.iter());
    folders
        .flat_map(|folder| names().map(move |name| folder.join(name)))
        .collect()
}

/// Whether something marks a folder as the root of a project.
pub fn is_marked(folder: &Path) -> bool {
    let mut markers = MARKERS.iter().flat_map(|markers| markers.iter());
    markers.any(|marker| folder.join(marker).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stronger_markers_win_over_nearer_ones() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let deep = base.join("a/b/c");
        std::fs::create_dir_all(&deep).unwrap();
        assert_eq!(find(&deep).unwrap(), deep, "nothing marks a root");
        std::fs::create_dir(base.join("a/b/.git")).unwrap();
        assert_eq!(find(&deep).unwrap(), base.join("a/b"));
        std::fs::write(base.join("a/pyproject.toml"), "").unwrap();
        assert_eq!(find(&deep).unwrap(), base.join("a"));
        std::fs::write(deep.join("pillion.toml"), "").unwrap();
        assert_eq!(find(&deep).unwrap(), deep);
        assert_eq!(find(&deep.join("nosuch")).unwrap_err().code, Code::NotFound);
    }

    #[test]
    fn a_file_belongs_to_its_folder() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("x.py");
        std::fs::write(&file, "").unwrap();
        assert_eq!(find(&file).unwrap(), temp.path().canonicalize().unwrap());
    }
}
