//! Which project uses which, by what their manifests say.

mod go;
mod plugin;
mod python;

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use super::DetectedProject;

/// How a project says that it uses another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DependencyKind {
    /// `go.mod` requires it, or puts it in the place of a module.
    GoModule,
    /// `pyproject.toml` takes a dependency from its folder.
    PythonPath,
    /// The manifest of a plugin refers to it.
    PluginRef,
}

/// A project that another uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    /// Its place among all.
    pub on: usize,
    /// How that is said.
    pub kind: DependencyKind,
    /// The words of the manifest that say so.
    pub via: String,
}

/// What each of these projects uses of the others, sorted.
pub fn dependencies(projects: &[DetectedProject]) -> Vec<Vec<Dependency>> {
    let names = Names::of(projects);
    let used = |(at, project): (usize, &DetectedProject)| {
        let mut found = Found {
            names: &names,
            from: at,
            all: Vec::new(),
        };
        go::read(&project.path, &mut found);
        python::read(&project.path, &mut found);
        plugin::read(&project.path, &mut found);
        found.all.sort();
        found.all.dedup();
        found.all
    };
    projects.iter().enumerate().map(used).collect()
}

/// What projects are called by others.
#[derive(Debug, Default)]
struct Names {
    paths: HashMap<PathBuf, usize>,
    go: HashMap<String, usize>,
    python: HashMap<String, usize>,
    plugins: HashMap<String, usize>,
    /// The folders' names as variables begin with them: `INTERMUTE`.
    words: HashMap<String, usize>,
}

impl Names {
    fn of(projects: &[DetectedProject]) -> Self {
        let mut names = Self::default();
        for (at, project) in projects.iter().enumerate() {
            names.paths.insert(project.path.clone(), at);
            let word = |c: char| if c.is_alphanumeric() { c } else { '_' };
            let words: String = project.name.to_uppercase().chars().map(word).collect();
            names.words.entry(words).or_insert(at);
            if let Some(name) = go::name(&project.path) {
                names.go.entry(name).or_insert(at);
            }
            if let Some(name) = python::name(&project.path) {
                names.python.entry(name).or_insert(at);
            }
            if let Some(name) = plugin::name(&project.path) {
                names.plugins.entry(name).or_insert(at);
            }
        }
        names
    }

    /// The project that a variable is named after: of several, that with the longest name.
    fn by_variable(&self, key: &str) -> Option<usize> {
        let key = key.to_uppercase();
        let is_meant = |name: &&String| {
            let rest = key.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        let named = self.words.keys().filter(is_meant);
        let name = named.max_by_key(|name| name.len())?;
        self.words.get(name).copied()
    }

    /// The project that a path lies in: the innermost.
    fn around(&self, path: &Path) -> Option<usize> {
        let mut above = path.ancestors();
        above.find_map(|folder| self.paths.get(folder).copied())
    }
}

/// What was found in the manifests of one project.
struct Found<'a> {
    names: &'a Names,
    from: usize,
    all: Vec<Dependency>,
}

impl Found<'_> {
    fn add(&mut self, on: Option<usize>, kind: DependencyKind, via: String) {
        if let Some(on) = on.filter(|on| *on != self.from) {
            self.all.push(Dependency { on, kind, via });
        }
    }

    /// The project at a path that is written in a file of `folder`.
    fn at(&self, folder: &Path, written: &str) -> Option<usize> {
        let path = plain(&folder.join(written));
        // With links and without: either may be what was found.
        let real = path.canonicalize().ok();
        let by_link = real.and_then(|real| self.names.around(&real));
        path.exists()
            .then(|| by_link.or_else(|| self.names.around(&path)))?
    }
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}
