//! Which file a change means: inside of the root, and what it says it is.

use std::fs;
use std::path::{Component, Path, PathBuf};

use pillion_catalogue::{Code, Error, Result};
use pillion_index::place;

use super::content::{Content, PathState, held};

/// A path as it is written, relative to the root, without `.` and `..`. Links are not seen.
pub(super) fn tidy(root: &Path, path: &str) -> Result<String> {
    let mut plain = PathBuf::new();
    for component in root.join(path).components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    match plain.strip_prefix(root).map(Path::to_str) {
        Ok(Some("")) => Err(no_file(path)),
        Ok(Some(inside)) => Ok(inside.to_owned()),
        Ok(None) => Err(no_file(path)),
        Err(_) => Err(outside(root, path)),
    }
}

/// A file that exists: its path without links, and what is in it.
pub(super) fn existing(root: &Path, path: &str) -> Result<(String, Content)> {
    let found = place::inside(root, Path::new(path))?;
    match held(root, &found) {
        Ok(PathState::File(content)) => Ok((found, content)),
        Ok(PathState::Nothing | PathState::Other) => Err(no_file(path)),
        Err(error) => Err(Error::new(
            Code::NotFound,
            format!("`{path}` cannot be read: {error}"),
        )),
    }
}

/// Links are changed by changing the file they lead to; they are not deleted or renamed.
pub(super) fn refuse_link(root: &Path, tidy: &str) -> Result<()> {
    match fs::symlink_metadata(root.join(tidy)) {
        Ok(meta) if meta.is_symlink() => Err(Error::new(
            Code::InvalidParams,
            format!("`{tidy}` is a link"),
        )
        .hint("name the file that it leads to")),
        _ => Ok(()),
    }
}

/// Whether a path lies in the root as it is written, and a link on it leads out.
pub(super) fn leads_outside(root: &Path, path: &str) -> bool {
    let is_outside = |error: Error| error.code == Code::OutsideRoot;
    tidy(root, path).is_ok() && place::inside(root, Path::new(path)).is_err_and(is_outside)
}

/// A path for a new file, without links: what lies above it is inside of the root. Says also
/// what is in the way: a file where a folder has to be, or something at the path itself.
pub(super) fn new_file(root: &Path, tidy: &str) -> Result<(String, Option<String>)> {
    let mut above = tidy;
    let mut below: Vec<&str> = Vec::new();
    loop {
        let (folder, name) = above.rsplit_once('/').unwrap_or(("", above));
        below.push(name);
        above = folder;
        if above.is_empty() || fs::symlink_metadata(root.join(above)).is_ok() {
            break;
        }
    }
    let mut found = if above.is_empty() {
        String::new()
    } else {
        place::inside(root, Path::new(above))?
    };
    let blocked = !root.join(&found).is_dir();
    let mut in_the_way = blocked.then(|| found.clone());
    for name in below.iter().rev() {
        if !found.is_empty() {
            found.push('/');
        }
        found.push_str(name);
    }
    if !blocked && fs::symlink_metadata(root.join(&found)).is_ok() {
        in_the_way = Some(found.clone());
    }
    Ok((found, in_the_way))
}

pub(super) fn exists(path: &str) -> Error {
    Error::new(Code::Conflict, format!("`{path}` exists already"))
        .hint("choose another name, or move what is there away")
}

fn no_file(path: &str) -> Error {
    Error::new(
        Code::InvalidParams,
        format!("`{path}` is not a regular file"),
    )
}

fn outside(root: &Path, path: &str) -> Error {
    Error::new(
        Code::OutsideRoot,
        format!("`{path}` is outside of `{}`", root.display()),
    )
    .hint("name a file inside of the workspace, or another `root`")
}
