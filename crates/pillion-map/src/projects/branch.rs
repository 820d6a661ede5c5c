//! Which branch a folder is on, from git's own files: no process is started for it.

use std::path::{Path, PathBuf};

use super::text;

/// How much of a commit's name is enough.
const SHORT: usize = 7;

/// The branch that a folder is on; the short name of a commit if it is on none, nothing
/// outside of any repository.
pub(super) fn branch(folder: &Path) -> String {
    let mut above = folder.ancestors();
    let head = above.find_map(|folder| text(&git_folder(folder)?.join("HEAD")));
    head.map_or_else(String::new, |head| named(head.trim()))
}

/// Where git keeps what it knows of a folder. In worktrees and submodules `.git` is a file
/// that says so.
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let link = text(&git)?;
    let path = link.lines().next()?.strip_prefix("gitdir:")?.trim();
    Some(folder.join(path))
}

fn named(head: &str) -> String {
    if let Some(name) = head.strip_prefix("ref:").map(str::trim) {
        let name = name.strip_prefix("refs/heads/").unwrap_or(name);
        // Where branches are kept in a table, this file says nothing.
        return if name == ".invalid" { "" } else { name }.to_owned();
    }
    let is_commit = head.len() >= SHORT && head.bytes().all(|b| b.is_ascii_hexdigit());
    if is_commit { &head[..SHORT] } else { "" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read() {
        assert_eq!(named("ref: refs/heads/feature/x"), "feature/x");
        assert_eq!(named("ref: refs/remotes/o/x"), "refs/remotes/o/x");
        assert_eq!(named("0123456789abcdef0123456789abcdef01234567"), "0123456");
        assert_eq!(named("ref: refs/heads/.invalid"), "");
        assert_eq!(named("nonsense"), "");
        assert_eq!(named(""), "");
    }

    #[test]
    fn a_file_in_the_place_of_the_folder_is_followed() {
        let temp = tempfile::tempdir().unwrap();
        let kept = temp.path().join("kept");
        std::fs::create_dir_all(temp.path().join("work/deep")).unwrap();
        std::fs::create_dir(&kept).unwrap();
        std::fs::write(kept.join("HEAD"), "ref: refs/heads/side\n").unwrap();
        std::fs::write(temp.path().join("work/.git"), "gitdir: ../kept\n").unwrap();
        assert_eq!(branch(&temp.path().join("work/deep")), "side");
    }
}
