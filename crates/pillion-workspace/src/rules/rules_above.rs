//! Rules that lie outside of what is watched: in the folders above the root up to the git
//! repository's, in its `info/exclude`, and in git's global excludes. They are few, so
//! they are looked at before every read.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pillion_process::stamp::{Look, Stamp};

use super::{Library, RULE_FILES, Rules};

/// The rules from outside, with proof.
#[derive(Debug)]
pub(crate) struct Outer {
    pub(crate) rules: Rules,
    files: Vec<Seen>,
    /// Where a git repository may be, and which was there.
    repositories: Vec<(PathBuf, Option<(u64, u64)>)>,
}

/// A file as it was read.
#[derive(Debug)]
struct Seen {
    path: PathBuf,
    stamp: Stamp,
    settled: bool,
    text: Vec<u8>,
}

/// Which thing is at a path. The times of `.git` change with every command of git's.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let meta = fs::symlink_metadata(path).ok()?;
    Some((meta.dev(), meta.ino()))
}

impl Outer {
    /// Read them for `root`, with `global` instead of git's global excludes if given.
    pub(crate) fn read(root: &Path, global: Option<&Path>, library: &mut Library) -> Self {
        let mut outer = Self {
            rules: Rules::default(),
            files: Vec::new(),
            repositories: Vec::new(),
        };
        let mut repository = None;
        for folder in root.ancestors() {
            let git = folder.join(".git");
            let found = identity(&git);
            outer.repositories.push((git, found));
            if found.is_some() {
                repository = Some(folder);
                break;
            }
        }
        let base = repository.unwrap_or(root);
        if let Some(file) = global_excludes(global, &mut outer) {
            outer.add(file, base, library);
        }
        if let Some(folder) = repository {
            if let Some(file) = info_exclude(folder, &mut outer) {
                outer.add(file, folder, library);
            }
            let between = root.ancestors().skip(1);
            let mut between: Vec<_> = between.take_while(|a| a.starts_with(folder)).collect();
            between.reverse();
            for above in between {
                let has = RULE_FILES.map(|name| outer.see(above.join(name)));
                outer.rules = library.rules(outer.rules, above, has);
            }
        }
        if outer.rules.ignore_with_parents(root) {
            // Whoever opens an ignored folder wants to see what is in it.
            outer.rules = Rules::default();
        }
        outer
    }

    /// Whether they are still so.
    pub(crate) fn is_current(&mut self) -> bool {
        self.repositories
            .iter()
            .all(|(path, known)| identity(path) == *known)
            && self.files.iter_mut().all(Seen::is_current)
    }

    /// Remember a file and its text; whether it is there.
    fn see(&mut self, path: PathBuf) -> bool {
        let look = Look::now(true);
        let stamp = Stamp::of(&path);
        let text = super::text(&path);
        let settled = look.settles(&stamp);
        self.files.push(Seen {
            path,
            stamp,
            settled,
            text,
        });
        !stamp.is_missing()
    }

    fn add(&mut self, path: PathBuf, base: &Path, library: &mut Library) {
        if self.see(path.clone()) {
            let rules = library.read(path, base);
            self.rules = std::mem::take(&mut self.rules).with([None, rules]);
        }
    }
}

impl Seen {
    fn is_current(&mut self) -> bool {
        let look = Look::now(true);
        let now = Stamp::of(&self.path);
        if now == self.stamp && self.settled {
            return true;
        }
        // The text decides: also a second write may have come with the same stamp.
        self.stamp = now;
        self.settled = look.settles(&now);
        super::text(&self.path) == self.text
    }
}

/// The file with git's global excludes; the files that say which it is are remembered.
fn global_excludes(given: Option<&Path>, outer: &mut Outer) -> Option<PathBuf> {
    if let Some(given) = given {
        return Some(given.to_owned());
    }
    let home = std::env::home_dir();
    let xdg = std::env::var_os("XDG_CONFIG_HOME")
        .filter(|dir| !dir.is_empty())
        .map(PathBuf::from)
        .or_else(|| Some(home.as_ref()?.join(".config")));
    let configs = [
        home.map(|home| home.join(".gitconfig")),
        xdg.map(|xdg| xdg.join("git/config")),
    ];
    for config in configs.into_iter().flatten() {
        outer.see(config);
    }
    ignore::gitignore::gitconfig_excludes_path()
}

/// The repository's own excludes. In a worktree they are where its `.git` file says.
fn info_exclude(repository: &Path, outer: &mut Outer) -> Option<PathBuf> {
    let git = repository.join(".git");
    if git.is_dir() {
        return Some(git.join("info/exclude"));
    }
    outer.see(git.clone());
    let text = fs::read_to_string(&git).ok()?;
    let folder = repository.join(text.strip_prefix("gitdir:")?.trim());
    let common = fs::read_to_string(folder.join("commondir")).unwrap_or_default();
    Some(folder.join(common.trim()).join("info/exclude"))
}
