//! Which files and folders are ignored.
//!
//! Rules are only asked about paths below the root: a root in a folder called `build`
//! works. From the strongest to the weakest:
//!
//! 1. what is built in: folders of version control, caches and installed packages, by
//!    name ([`is_built_in`]) or by what lies in them ([`is_marker`]). No rule brings
//!    them back;
//! 2. `.pillionignore`, the innermost first;
//! 3. `.gitignore`, the innermost first, up to the root of the git repository, and also
//!    where there is none;
//! 4. `.git/info/exclude`, then git's global excludes.
//!
//! Both files use git's syntax. Those above the root, and 4., are read by [`rules_above`].

pub(crate) mod rules_above;

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The files with rules, the stronger first.
pub(crate) const RULE_FILES: [&str; 2] = [".pillionignore", ".gitignore"];
/// More of a rule file is not read.
const MAX_BYTES: u64 = 1 << 20;

const BUILT_IN: [&str; 14] = [
    ".git",
    ".hg",
    ".svn",
    ".jj",
    "__pycache__",
    "node_modules",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".eggs",
    ".ipynb_checkpoints",
    "site-packages",
];

/// Whether a name is ignored without any rule; `.git` is a file in a git worktree.
pub(crate) fn is_built_in(name: &str, is_folder: bool) -> bool {
    (is_folder && BUILT_IN.contains(&name)) || name == ".git"
}

/// Whether a folder is ignored because this is in it: it holds a virtual environment, a
/// conda environment, or a cache that says so.
pub(crate) fn is_marker(name: &str) -> bool {
    matches!(name, "pyvenv.cfg" | "conda-meta" | "CACHEDIR.TAG")
}

/// The rules that count in a folder: its own and those of the folders above it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules(Option<Arc<Level>>);

/// The rules of one folder.
#[derive(Debug)]
struct Level {
    above: Rules,
    /// One matcher for each of [`RULE_FILES`].
    own: [Option<Gitignore>; 2],
}

impl Rules {
    /// These rules and stronger ones.
    fn with(self, own: [Option<Gitignore>; 2]) -> Self {
        if own.iter().all(Option::is_none) {
            return self;
        }
        Self(Some(Arc::new(Level { above: self, own })))
    }

    /// Whether something in the folder that these rules are of is ignored.
    pub(crate) fn ignore(&self, path: &Path, is_folder: bool) -> bool {
        self.decide(|rules| rules.matched(path, is_folder).map(|_| ()))
    }

    /// Whether the path or a folder above it is ignored.
    fn ignore_with_parents(&self, path: &Path) -> bool {
        // A folder's own rules do not speak of the folder itself.
        let speaks = |base: &Path| path != base && path.starts_with(base);
        self.decide(|rules| match speaks(rules.path()) {
            true => rules.matched_path_or_any_parents(path, true).map(|_| ()),
            false => Match::None,
        })
    }

    fn decide(&self, ask: impl Fn(&Gitignore) -> Match<()>) -> bool {
        for kind in 0..RULE_FILES.len() {
            let mut at = self;
            while let Some(level) = &at.0 {
                match level.own[kind].as_ref().map_or(Match::None, &ask) {
                    Match::Ignore(()) => return true,
                    Match::Whitelist(()) => return false,
                    Match::None => at = &level.above,
                }
            }
        }
        false
    }
}

/// Rule files that were read, so that one with the same text is not compiled again.
#[derive(Debug, Default)]
pub(crate) struct Library {
    known: HashMap<PathBuf, Text>,
    /// From the look at everything before this one.
    before: HashMap<PathBuf, Text>,
}

#[derive(Debug)]
struct Text {
    text: Vec<u8>,
    base: PathBuf,
    rules: Option<Gitignore>,
}

impl Library {
    /// Everything is about to be looked at: what is not asked for again is forgotten.
    pub(crate) fn turn(&mut self) {
        self.before = std::mem::take(&mut self.known);
    }

    /// The rules in `folder`, which has those of [`RULE_FILES`] that `has` says.
    pub(crate) fn rules(&mut self, above: Rules, folder: &Path, has: [bool; 2]) -> Rules {
        let mut own = [None, None];
        for ((own, name), has) in own.iter_mut().zip(RULE_FILES).zip(has) {
            if has {
                *own = self.read(folder.join(name), folder);
            }
        }
        above.with(own)
    }

    /// The rules in a file, for what is beneath `base`.
    fn read(&mut self, file: PathBuf, base: &Path) -> Option<Gitignore> {
        let text = text(&file);
        let same = |known: &Text| known.text == text && known.base == base;
        let known = self.known.remove(&file).or(self.before.remove(&file));
        let known = known.filter(same).unwrap_or_else(|| Text {
            rules: compile(&text, base),
            base: base.to_owned(),
            text,
        });
        let rules = known.rules.clone();
        self.known.insert(file, known);
        rules
    }
}

/// The text of a rule file; one that cannot be read has no rules.
fn text(file: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    let opened = std::fs::File::open(file);
    let read = opened.and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text));
    match read {
        Ok(_) => text,
        Err(_) => Vec::new(),
    }
}

fn compile(text: &[u8], base: &Path) -> Option<Gitignore> {
    let text = String::from_utf8_lossy(text);
    let mut builder = GitignoreBuilder::new(base);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A line that makes no sense is passed over, as git does.
        if let Err(error) = builder.add_line(None, line) {
            tracing::debug!(%error, base = %base.display(), "ignore rule passed over");
        }
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
