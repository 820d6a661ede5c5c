//! Which workspace or folder a request means.

use std::path::{Path, PathBuf};

use pillion_catalogue::{Caller, Code, Error, Result};
use pillion_workspace::root;

/// The root that a request means: the one that is named, or the nearest one above what the
/// request is about.
pub(crate) fn root_of(caller: &Caller, about: Option<&Path>) -> Result<PathBuf> {
    if let Some(named) = &caller.root {
        return existing_folder(named);
    }
    let about = about.filter(|path| path.is_absolute());
    // A file that is not there yet belongs to the folder it would be in.
    let about = about.and_then(|path| path.ancestors().find(|path| path.exists()));
    match about.or(caller.near.as_deref()) {
        Some(path) => root::find(path),
        None => Err(Error::new(
            Code::InvalidParams,
            "which workspace? the request names no `root`",
        )
        .hint("send `root`, or an absolute path")),
    }
}

/// The folder that a request means, as it is, whether it is a project or not.
pub(crate) fn folder_of(caller: &Caller) -> Result<PathBuf> {
    match caller.root.as_ref().or(caller.near.as_ref()) {
        Some(folder) => existing_folder(folder),
        None => Err(Error::new(
            Code::InvalidParams,
            "which folder? the request names no `root`",
        )
        .hint("send `root`, an absolute path")),
    }
}

fn existing_folder(path: &Path) -> Result<PathBuf> {
    match path.canonicalize() {
        Ok(found) if found.is_dir() => Ok(found),
        Ok(found) => Err(Error::new(
            Code::InvalidParams,
            format!("`{}` is not a folder", found.display()),
        )
        .hint("`root` is the folder of a project")),
        Err(error) => Err(Error::new(
            Code::NotFound,
            format!("no folder `{}`: {error}", path.display()),
        )
        .hint("`root` must be an existing folder")),
    }
}
