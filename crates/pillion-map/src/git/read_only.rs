//! A git that only looks: it writes nothing and runs nothing that a repository brings along.
//!
//! A repository's own configuration can name programs that git starts even for a look: a file
//! system monitor, hooks, filters that every file passes, drivers of differences. Whoever
//! unpacks somebody's folder has not chosen them. What the user's own configuration names
//! (git-lfs, mostly) is the user's choice and stays.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::{Launch, LaunchError, ProgramOutput};

/// How long git may take.
const GIT_TIMEOUT: Duration = Duration::from_secs(20);
/// Submodules that are looked into.
const MAX_SUBMODULES: usize = 100;

/// git in one folder.
#[derive(Debug)]
pub(super) struct Git {
    root: PathBuf,
    /// The top of the repository.
    top: PathBuf,
    /// Where the folder is below the top; git names files from there.
    prefix: String,
    /// Settings that overrule the repository's own.
    settings: Vec<String>,
}

impl Git {
    /// git for a folder, which must be in a repository.
    pub(super) async fn open(root: &Path) -> Result<Self> {
        let mut git = Self {
            root: root.to_owned(),
            top: root.to_owned(),
            prefix: String::new(),
            settings: [
                "core.fsmonitor=false",
                "core.hooksPath=/dev/null",
                "core.quotePath=false",
            ]
            .map(ToOwned::to_owned)
            .to_vec(),
        };
        // Where there is no repository, this says so.
        let place = git
            .run(&["rev-parse", "--show-prefix", "--show-cdup"])
            .await?;
        let mut lines = place.lines();
        git.prefix = lines.next().unwrap_or_default().to_owned();
        git.top = root.join(lines.next().unwrap_or_default());
        let filters = git.own_filters().await?;
        git.settings.extend(filters);
        Ok(git)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// What it prints; that it fails is an error.
    pub(super) async fn run<S: AsRef<str>>(&self, words: &[S]) -> Result<String> {
        let output = self
            .output(words)
            .await
            .map_err(|e| failed(&e.to_string()))?;
        match output.exit.success() {
            true => Ok(output.stdout),
            false => Err(failed(output.stderr.trim())),
        }
    }

    /// The id of a commit.
    pub(super) async fn commit(&self, name: &str) -> Result<String> {
        let commit = format!("{name}^{{commit}}");
        let words = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
        let words: Vec<&str> = words.into_iter().chain([&*commit]).collect();
        self.run(&words).await.map(|id| id.trim().to_owned())
    }

    /// Where the folder is below the top of the repository.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The submodules below this folder, each with the commit that `base` has of it.
    pub(super) async fn submodules(&self, base: &str) -> Result<Vec<(String, Option<String>)>> {
        let list = self.top.join(".gitmodules");
        if !list.is_file() {
            return Ok(Vec::new());
        }
        let list = list.to_string_lossy();
        let words = [
            "config",
            "-z",
            "-f",
            &*list,
            "--get-regexp",
            r"^submodule\..*\.path$",
        ];
        let named = self.listed(&words).await?;
        let paths = named.iter().filter_map(|entry| entry.split_once('\n'));
        let paths = paths.filter_map(|(_, path)| path.strip_prefix(&*self.prefix));
        let mut found = Vec::new();
        for path in paths.take(MAX_SUBMODULES) {
            // A name that leads elsewhere is no folder of this project.
            let is_below = Path::new(path)
                .components()
                .all(|part| matches!(part, std::path::Component::Normal(_)));
            if is_below && !path.is_empty() {
                let words = ["ls-tree", "-z", base, "--", path];
                let entry = self.run(&words).await.unwrap_or_default();
                let mut words = entry.split([' ', '\t']);
                let is_link = words.next() == Some("160000");
                let commit = words.nth(1).filter(|_| is_link).map(ToOwned::to_owned);
                found.push((path.to_owned(), commit));
            }
        }
        Ok(found)
    }

    /// Settings that switch off the filters which the repository itself defines.
    async fn own_filters(&self) -> Result<Vec<String>> {
        let names = |scope| {
            let words = [
                "config",
                scope,
                "--includes",
                "-z",
                "--name-only",
                "--get-regexp",
            ];
            words
                .into_iter()
                .chain([r"^(filter\.|extensions\.worktreeconfig)"])
        };
        let mut all = self.listed(&names("--local").collect::<Vec<_>>()).await?;
        if all.iter().any(|name| name == "extensions.worktreeconfig") {
            all.extend(
                self.listed(&names("--worktree").collect::<Vec<_>>())
                    .await?,
            );
        }
        let drivers = all.iter().filter(|name| name.starts_with("filter."));
        let mut settings = Vec::new();
        for (driver, _) in drivers.filter_map(|name| name.rsplit_once('.')) {
            if driver.contains(['=', '\n']) {
                let what = format!("the repository has a filter with the odd name `{driver}`");
                return Err(failed(&what));
            }
            let off = ["clean=", "smudge=", "process=", "required=false"];
            settings.extend(off.map(|off| format!("{driver}.{off}")));
        }
        settings.sort();
        settings.dedup();
        Ok(settings)
    }

    /// What `git config` lists, which may be nothing.
    async fn listed(&self, words: &[&str]) -> Result<Vec<String>> {
        let output = self
            .output(words)
            .await
            .map_err(|e| failed(&e.to_string()))?;
        // It says nothing and ends with 1 where it finds nothing.
        if !output.exit.success() && !output.stderr.trim().is_empty() {
            return Err(failed(output.stderr.trim()));
        }
        let entries = output.stdout.split('\0').filter(|entry| !entry.is_empty());
        Ok(entries.map(ToOwned::to_owned).collect())
    }

    async fn output<S: AsRef<str>>(&self, words: &[S]) -> Result<ProgramOutput, LaunchError> {
        let settings = self.settings.iter();
        let settings = settings.flat_map(|setting| ["-c".to_owned(), setting.clone()]);
        let launch = Launch::new("git")
            .args(settings)
            .args(words.iter().map(AsRef::as_ref))
            .cwd(&self.root)
            // A look must not compete with the user's own git for a lock.
            .env("GIT_OPTIONAL_LOCKS", "0")
            // Objects that are missing would be fetched by programs of the repository's choice.
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .read_only([]);
        launch.output(GIT_TIMEOUT).await
    }
}

fn failed(why: &str) -> Error {
    Error::new(
        Code::InvalidParams,
        format!("git does not tell what changed: {why}"),
    )
    .hint("name a file or folder, or run it inside of a git repository")
}
