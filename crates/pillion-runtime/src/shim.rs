//! What stands behind a pyenv shim.
//!
//! A shim is a shell script that takes 100 ms to find out which Python is meant, and its
//! answer depends on the folder it runs in, so it cannot be remembered. The rules are
//! simple enough to follow here. Whatever is not understood is left to the shim itself.

use std::path::{Path, PathBuf};

/// The executable that the shim at `path` would run in `folder`.
pub(crate) fn behind(path: &Path, folder: &Path) -> Option<PathBuf> {
    let shims = path.parent()?;
    let root = shims.parent()?;
    let versions = root.join("versions");
    if shims.file_name()? != "shims" || !versions.is_dir() {
        return None;
    }
    let chosen = chosen(root, folder)?;
    for version in chosen
        .split([':', '\n'])
        .map(str::trim)
        .filter(|v| !v.is_empty())
    {
        let is_plain = version.starts_with(|c: char| c.is_ascii_alphanumeric());
        let bin = versions.join(version).join("bin");
        // `system`, a prefix such as `3.12`, or something missing: let the shim decide.
        if !is_plain || version.contains('/') || !bin.is_dir() {
            return None;
        }
        // The first of several versions that has a program of that name is the one.
        let executable = bin.join(path.file_name()?);
        if executable.is_file() {
            return Some(executable);
        }
    }
    None
}

/// `PYENV_VERSION`, else the nearest `.python-version`, else pyenv's global choice.
fn chosen(root: &Path, folder: &Path) -> Option<String> {
    if let Some(version) = std::env::var("PYENV_VERSION")
        .ok()
        .filter(|v| !v.is_empty())
    {
        return Some(version);
    }
    folder
        .ancestors()
        .find_map(|folder| std::fs::read_to_string(folder.join(".python-version")).ok())
        .or_else(|| std::fs::read_to_string(root.join("version")).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_nearest_choice_counts() {
        let home = tempfile::tempdir().unwrap();
        let pyenv = home.path().join("pyenv");
        let project = home.path().join("project/deep");
        fs::create_dir_all(&project).unwrap();
        for version in ["3.11.7", "3.12.1"] {
            let bin = pyenv.join("versions").join(version).join("bin");
            fs::create_dir_all(&bin).unwrap();
            fs::write(bin.join("python3"), "").unwrap();
        }
        let shim = pyenv.join("shims/python3");
        let real = |version: &str| Some(pyenv.join("versions").join(version).join("bin/python3"));

        fs::write(pyenv.join("version"), "3.11.7\n").unwrap();
        assert_eq!(behind(&shim, &project), real("3.11.7"));
        fs::write(
            home.path().join("project/.python-version"),
            "3.12.1\n3.11.7\n",
        )
        .unwrap();
        assert_eq!(behind(&shim, &project), real("3.12.1"));
        fs::write(project.join(".python-version"), "system\n3.12.1\n").unwrap();
        assert_eq!(behind(&shim, &project), None, "left to the shim");
        fs::write(project.join(".python-version"), "../../evil\n").unwrap();
        assert_eq!(behind(&shim, &project), None);
        assert_eq!(behind(Path::new("/usr/bin/python3"), &project), None);
    }
}
