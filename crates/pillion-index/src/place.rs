//! Which file of a workspace a path means.

use std::path::{Component, Path, PathBuf};

use pillion_catalogue::{Code, Error, Result};

/// A path of a request as one relative to the root, with links resolved.
pub fn inside(root: &Path, path: &Path) -> Result<String> {
    let joined = root.join(path);
    let found = joined.canonicalize().map_err(|error| {
        // Say nothing about what is or is not outside.
        if is_outside(root, &joined) {
            outside(root, path)
        } else {
            let error = Error::new(
                Code::NotFound,
                format!("no file `{}`: {error}", path.display()),
            );
            error.hint(match path.is_absolute() {
                true => "look what is in its folder",
                false => "paths are relative to the workspace root, or absolute inside of it",
            })
        }
    })?;
    let Ok(relative) = found.strip_prefix(root) else {
        return Err(outside(root, path));
    };
    match relative.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(Error::new(
            Code::InvalidParams,
            "the file's name is not UTF-8",
        )),
    }
}

fn outside(root: &Path, path: &Path) -> Error {
    Error::new(
        Code::OutsideRoot,
        format!("`{}` is outside of `{}`", path.display(), root.display()),
    )
    .hint("name a file inside of the workspace, or another `root`")
}

/// Whether a path leaves the root as it is written.
fn is_outside(root: &Path, path: &Path) -> bool {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    !plain.starts_with(root)
}

/// Whether a file is the named one, or below the named folder; everything is below nothing.
pub fn is_below(file: &str, folder: &str) -> bool {
    folder.is_empty()
        || file
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_dots_are_resolved_and_the_outside_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("root");
        std::fs::create_dir_all(root.join("pkg")).unwrap();
        std::fs::write(root.join("pkg/a.py"), "").unwrap();
        std::fs::write(temp.path().join("secret.py"), "").unwrap();
        std::os::unix::fs::symlink("pkg", root.join("alias")).unwrap();
        std::os::unix::fs::symlink("../secret.py", root.join("out.py")).unwrap();
        let code = |path: &str| inside(&root, Path::new(path)).map_err(|e| e.code);
        assert_eq!(code("pkg/a.py"), Ok("pkg/a.py".into()));
        assert_eq!(code("./pkg/../pkg/a.py"), Ok("pkg/a.py".into()));
        assert_eq!(code("alias/a.py"), Ok("pkg/a.py".into()));
        let absolute = root.join("pkg/a.py");
        assert_eq!(code(absolute.to_str().unwrap()), Ok("pkg/a.py".into()));
        assert_eq!(code("nosuch.py"), Err(Code::NotFound));
        assert_eq!(code("../secret.py"), Err(Code::OutsideRoot));
        assert_eq!(code("../nosuch.py"), Err(Code::OutsideRoot));
        assert_eq!(code("out.py"), Err(Code::OutsideRoot));
        assert_eq!(code("/etc/hostname"), Err(Code::OutsideRoot));
    }
}
