//! What git sees as changed.

mod diff;

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::Launch;

pub(crate) use diff::{Changed, Hunk, Status};

/// How long git may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Files below `root` that differ from the last commit, or are new; relative to `root`.
pub(crate) async fn changed(root: &Path) -> Result<Vec<String>> {
    let arguments = [
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=all",
    ];
    let output = run(git(root).args(arguments).args(["--", "."])).await?;
    let prefix = prefix(root).await?;
    let entries = output.split('\0').filter(|entry| entry.len() > 3);
    Ok(entries
        .filter(|entry| !entry[..2].contains('D'))
        .filter_map(|entry| entry[3..].strip_prefix(&prefix))
        .map(ToOwned::to_owned)
        .collect())
}

/// As much of git's words as is kept; a diff of this length was cut off.
const KEPT: usize = 4 << 20;

/// The commit to compare with. In a repository without commits it is nothing at all.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Base<'a> {
    Named(&'a str),
    /// The one before the last; the last if there is but one.
    BeforeLast,
}

/// How the files now differ from a commit.
#[derive(Debug)]
pub(crate) struct Compared {
    /// Sorted by path.
    pub(crate) files: Vec<Changed>,
    /// Whether there was so much that of some files only the names are known.
    pub(crate) is_cut: bool,
}

/// Files below `root` that differ from a commit now, whether committed, staged or neither,
/// and those that git does not know yet.
pub(crate) async fn changed_since(root: &Path, base: Base<'_>) -> Result<Compared> {
    // Where there is no repository, this says so.
    run(git(root).args(["rev-parse", "--git-dir"])).await?;
    let base = start(root, base).await?;
    let compare = |how: &[&str]| {
        git(root)
            .args(["-c", "core.quotePath=false", "diff", "--no-color"])
            .args(["--no-ext-diff", "--no-textconv", "--relative", "-M"])
            .args(how)
            .args([&*base, "--"])
    };
    let how = [
        "-U0",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        "--submodule=diff",
    ];
    let text = run(compare(&how)).await?;
    let mut all = diff::parse(&text);
    let is_cut = text.len() >= KEPT;
    if is_cut {
        // Of the files whose lines were cut off, at least the names.
        all.pop();
        let known: HashSet<String> = all.iter().map(|file| file.path.clone()).collect();
        let names = run(compare(&["--no-renames", "--name-status", "-z"])).await?;
        let mut words = names.split('\0').filter(|word| !word.is_empty());
        while let (Some(status), Some(path)) = (words.next(), words.next()) {
            let status = match status {
                "A" => Status::Added,
                "D" => Status::Deleted,
                _ => Status::Modified,
            };
            if !known.contains(path) {
                all.push(whole(path, status));
            }
        }
    }
    let others = ["ls-files", "--others", "--exclude-standard", "-z"];
    let others = run(git(root).args(others)).await?;
    let others = others.split('\0').filter(|path| !path.is_empty());
    all.extend(others.map(|path| whole(path, Status::Added)));
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Compared { files: all, is_cut })
}

fn whole(path: &str, status: Status) -> Changed {
    Changed {
        path: path.to_owned(),
        old_path: None,
        status,
        hunks: Vec::new(),
    }
}

/// The name of the commit to compare with.
async fn start(root: &Path, base: Base<'_>) -> Result<String> {
    let commit = async |name: &str| {
        let words = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
        let launch = git(root).args(words).arg(format!("{name}^{{commit}}"));
        run(launch).await.map(|id| id.trim().to_owned())
    };
    let names: &[&str] = match base {
        // In a repository without commits, too, it is where one is.
        Base::Named("HEAD") => &["HEAD"],
        Base::BeforeLast => &["HEAD~1", "HEAD"],
        Base::Named(base) => {
            return commit(base).await.map_err(|_| {
                Error::new(Code::InvalidParams, format!("git knows no commit `{base}`"))
                    .hint("name a commit, a branch or a tag, such as `HEAD` or `main`")
            });
        }
    };
    for name in names {
        if let Ok(id) = commit(name).await {
            return Ok(id);
        }
    }
    let empty = git(root).args(["hash-object", "-t", "tree", "/dev/null"]);
    Ok(run(empty).await?.trim().to_owned())
}

fn git(root: &Path) -> Launch {
    // A look must not write: it would compete with the user's own git for a lock.
    Launch::new("git").cwd(root).env("GIT_OPTIONAL_LOCKS", "0")
}

/// Where `root` is below the top of the repository; git names files from there.
async fn prefix(root: &Path) -> Result<String> {
    let launch = git(root).args(["rev-parse", "--show-prefix"]);
    Ok(run(launch).await?.trim_end_matches('\n').to_owned())
}

async fn run(launch: Launch) -> Result<String> {
    let failed = |why: String| {
        Error::new(
            Code::InvalidParams,
            format!("git does not tell what changed: {why}"),
        )
        .hint("name a file or folder, or run it inside of a git repository")
    };
    let output = launch
        .output(PATIENCE)
        .await
        .map_err(|error| failed(error.to_string()))?;
    if !output.exit.success() {
        return Err(failed(output.stderr.trim().to_owned()));
    }
    Ok(output.stdout)
}
