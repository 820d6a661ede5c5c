//! What git sees as changed.

mod diff;
mod read_only;

use std::collections::HashSet;
use std::path::Path;

use futures::future::{BoxFuture, FutureExt};
use pillion_catalogue::{Code, Error, Result};

pub use diff::{FileDiff, FileStatus, Hunk};
use read_only::Git;

/// Files below `root` that differ from the last commit, or are new; relative to `root`.
pub async fn changed(root: &Path) -> Result<Vec<String>> {
    let git = Git::open(root).await?;
    let output = git
        .run(&[
            "status",
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--untracked-files=all",
            // To look into one, git would ask a git that believes its configuration.
            "--ignore-submodules=dirty",
            "--",
            ".",
        ])
        .await?;
    let prefix = git.prefix();
    let entries = output.split('\0').filter(|entry| entry.len() > 3);
    Ok(entries
        .filter(|entry| !entry[..2].contains('D'))
        .filter_map(|entry| entry[3..].strip_prefix(prefix))
        .map(ToOwned::to_owned)
        .collect())
}

/// As much of git's words as is kept; a diff of this length was cut off.
const KEPT: usize = 4 << 20;

/// The commit to compare with. In a repository without commits it is nothing at all.
#[derive(Debug, Clone, Copy)]
pub enum Base<'a> {
    /// What the caller names: a commit, a branch, a tag.
    Named(&'a str),
    /// The one before the last; the last if there is but one.
    BeforeLast,
}

/// How the files now differ from a commit.
#[derive(Debug)]
pub struct Compared {
    /// Sorted by path.
    pub files: Vec<FileDiff>,
    /// Whether there was so much that of some files only the names are known.
    pub is_cut: bool,
}

/// Submodules within submodules that are looked into.
const DEPTH: usize = 4;

/// Files below `root` that differ from a commit now, whether committed, staged or neither,
/// and those that git does not know yet.
pub async fn changed_since(root: &Path, base: Base<'_>) -> Result<Compared> {
    let git = Git::open(root).await?;
    let base = start(&git, base).await?;
    let mut compared = compare(&git, &base, DEPTH).await?;
    compared.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(compared)
}

async fn compare(git: &Git, base: &str, depth: usize) -> Result<Compared> {
    let diff = |how: &[&str]| {
        let mut words = vec!["diff", "--no-color", "--no-ext-diff", "--no-textconv"];
        words.extend(["--relative", "-M", "--ignore-submodules=dirty"]);
        words.extend(how);
        words.extend([base, "--"]);
        words.into_iter().map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    let text = git
        .run(&diff(&["-U0", "--src-prefix=a/", "--dst-prefix=b/"]))
        .await?;
    let mut all = diff::parse(&text);
    let mut is_cut = text.len() >= KEPT;
    if is_cut {
        // Of the files whose lines were cut off, at least the names.
        all.pop();
        let known: HashSet<String> = all.iter().map(|file| file.path.clone()).collect();
        let names = diff(&["--no-renames", "--name-status", "-z"]);
        let names = git.run(&names).await?;
        let mut words = names.split('\0').filter(|word| !word.is_empty());
        while let (Some(status), Some(path)) = (words.next(), words.next()) {
            let status = match status {
                "A" => FileStatus::Added,
                "D" => FileStatus::Deleted,
                _ => FileStatus::Modified,
            };
            if !known.contains(path) {
                all.push(whole(path, status));
            }
        }
    }
    let others = ["ls-files", "--others", "--exclude-standard", "-z"];
    let others = git.run(&others).await?;
    let others = others.split('\0').filter(|path| !path.is_empty());
    all.extend(others.map(|path| whole(path, FileStatus::Added)));
    for (path, commit) in git.submodules(base).await? {
        // That it is at another commit is told by its files.
        all.retain(|file| file.path != path);
        if let Some(below) = submodule(git, &path, commit, depth).await? {
            is_cut |= below.is_cut;
            all.extend(below.files);
        }
    }
    Ok(Compared { files: all, is_cut })
}

/// How the files of a submodule differ from the commit that `base` has of it.
fn submodule<'a>(
    git: &'a Git,
    path: &'a str,
    commit: Option<String>,
    depth: usize,
) -> BoxFuture<'a, Result<Option<Compared>>> {
    async move {
        let folder = git.root().join(path);
        // One that is not checked out has no files that could differ.
        if depth == 0 || !folder.join(".git").exists() {
            return Ok(None);
        }
        let inner = Git::open(&folder).await?;
        let base = match commit {
            // The commit need not have been fetched.
            Some(commit) if inner.commit(&commit).await.is_ok() => commit,
            _ => start(&inner, Base::Named("HEAD")).await?,
        };
        let mut compared = compare(&inner, &base, depth - 1).await?;
        for file in &mut compared.files {
            file.path = format!("{path}/{}", file.path);
            if let Some(old) = &mut file.old_path {
                *old = format!("{path}/{old}");
            }
        }
        Ok(Some(compared))
    }
    .boxed()
}

fn whole(path: &str, status: FileStatus) -> FileDiff {
    FileDiff {
        path: path.to_owned(),
        old_path: None,
        status,
        hunks: Vec::new(),
    }
}

/// The name of the commit to compare with.
async fn start(git: &Git, base: Base<'_>) -> Result<String> {
    let names: &[&str] = match base {
        // In a repository without commits, too, it is where one is.
        Base::Named("HEAD") => &["HEAD"],
        Base::BeforeLast => &["HEAD~1", "HEAD"],
        Base::Named(base) => {
            return git.commit(base).await.map_err(|_| {
                Error::new(Code::InvalidParams, format!("git knows no commit `{base}`"))
                    .hint("name a commit, a branch or a tag, such as `HEAD` or `main`")
            });
        }
    };
    for name in names {
        if let Ok(id) = git.commit(name).await {
            return Ok(id);
        }
    }
    let empty = ["hash-object", "-t", "tree", "/dev/null"];
    Ok(git.run(&empty).await?.trim().to_owned())
}
