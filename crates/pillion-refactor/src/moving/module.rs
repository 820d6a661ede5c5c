//! A module or package at another place: its files, and every import of it.

use std::collections::BTreeSet;
use std::path::Path;

use pillion_catalogue::{Code, Error, Result, work};
use pillion_changes::{ChangeSet, LeftAlone};
use pillion_index::Facts;
use pillion_index::facts::name_hash;
use pillion_index::modules::{self, Modules, join, parent};
use pillion_index::place;
use pillion_index::scopes::{Scopes, Use};
use pillion_index::source::Span;
use pillion_symbols::open_files::OpenFiles;
use pillion_symbols::project::View;
use serde_json::json;

use super::cycles::{self, Imports};
use super::file::Rewriting;
use super::relocation::Relocation;
use super::{order, span_of, string_imports};
use crate::embedded::{self, Form, Sought};
use crate::names::check_name;
use crate::{documents, parse_check, strings};

/// What looks modules up by strings.
const MODULE_LOOKUPS: &[&str] = &[
    "__getattr__",
    "__import__",
    "attach",
    "find_spec",
    "getattr",
    "import_module",
    "modules",
];

/// Files that are moved at once.
const MAX_FILES: usize = 10_000;

/// Where a module should be.
#[derive(Debug)]
pub enum ModuleDestination<'a> {
    /// Where it is, under another name.
    Named(&'a str),
    /// At this path: a folder to lie in, or a file to be.
    At {
        /// The path, as the caller wrote it.
        path: &'a str,
        /// Whether modules may import each other then.
        allow_cycles: bool,
    },
}

/// The change that moves the module of a file; of `__init__.py` or a folder: the package.
pub async fn relocate(view: &View, file: &str, wanted: ModuleDestination<'_>) -> Result<ChangeSet> {
    let from = modules::key(file).to_owned();
    if from.is_empty() {
        return Err(Error::new(
            Code::InvalidParams,
            "the root of the workspace cannot be moved",
        )
        .hint("move a module or a package inside of it"));
    }
    let before = Modules::of(&view.index);
    let to = destination(view, &from, &wanted)?;
    let own = view.clone();
    let check = matches!(wanted, ModuleDestination::At { allow_cycles, .. } if !allow_cycles);
    let made = work(move |_| {
        let (set, relocation) = change(&own, before, from, to)?;
        if check {
            check_cycles(&own, &relocation, &set)?;
        }
        Ok::<_, Error>(set)
    });
    let mut set = made.await??;
    order::put_in_order(view, &mut set).await?;
    Ok(set)
}

/// The key that the module will have.
fn destination(view: &View, from: &str, wanted: &ModuleDestination<'_>) -> Result<String> {
    let name = modules::last(from);
    if name.starts_with("__") {
        return Err(Error::new(
            Code::InvalidParams,
            format!("Python looks for `{name}` by this name"),
        )
        .hint("move the package that it belongs to"));
    }
    if name == "conftest" {
        let what = "pytest looks for `conftest` by this name, and in this folder";
        return Err(Error::new(Code::InvalidParams, what).hint(
            "move the fixtures in it one by one, to the `conftest.py` that shall have them",
        ));
    }
    let to = match wanted {
        ModuleDestination::Named(name) => {
            check_name(name)?;
            join(parent(from), name)
        }
        ModuleDestination::At { path, .. } => {
            let is_folder = path.ends_with('/') || view.root().join(path).is_dir();
            let path = path.trim_end_matches('/');
            match is_folder {
                true => join(path, name),
                false => modules::key(path).to_owned(),
            }
        }
    };
    for part in to
        .split('/')
        .filter(|part| !view.root().join(part).is_dir())
    {
        check_name(part)?;
    }
    if to == from {
        let what = format!("`{from}` is there already");
        return Err(Error::new(Code::InvalidParams, what));
    }
    if to
        .strip_prefix(from)
        .is_some_and(|below| below.starts_with('/'))
    {
        let what = format!("`{from}` cannot lie in itself");
        return Err(Error::new(Code::InvalidParams, what));
    }
    let root = view.root();
    let in_the_way = ["", ".py", ".pyi"].map(|end| format!("{to}{end}"));
    if let Some(taken) = in_the_way.iter().find(|path| root.join(path).exists()) {
        return Err(
            Error::new(Code::Conflict, format!("`{taken}` is there already"))
                .hint("choose another name, or move that one first")
                .data(json!({ "location": { "file": taken, "line": 1, "column": 1 } })),
        );
    }
    Ok(to)
}

fn change(
    view: &View,
    before: Modules,
    from: String,
    to: String,
) -> Result<(ChangeSet, Relocation)> {
    let files = files_of(view.root(), &from)?;
    if files.is_empty() {
        return Err(Error::new(Code::NotFound, format!("no module `{from}`"))
            .hint("name a Python file, or a folder with some"));
    }
    let mut relocation = Relocation {
        after: Modules::default(),
        before,
        from,
        to,
    };
    let inits = inits(view, &relocation.from, &relocation.to);
    let paths: Vec<String> = view
        .index
        .iter()
        .map(|(path, _)| relocation.moved(path))
        .chain(inits.iter().cloned())
        .collect();
    let paths = paths.iter().map(String::as_str);
    relocation.after = relocation
        .before
        .moved(paths, |folder| relocation.moved(folder));
    let beside = relocation.from.clone();
    relocation.after.assume(&relocation.to, &beside);

    let mut set = ChangeSet::new(view.root().to_owned());
    for path in concerned(view, &relocation) {
        let Some(source) = view.source(Path::new(&path)) else {
            continue;
        };
        let rewriting = Rewriting::new(&view.index, &relocation, &path, &source);
        let (edits, taken) = rewriting.edits();
        if let Some((span, name)) = taken {
            return Err(super::in_the_way(
                &mut OpenFiles::new(view),
                &path,
                span,
                &name,
            ));
        }
        if !edits.is_empty() {
            set.edit(&path, edits)?;
        }
    }
    for file in &files {
        set.rename(file, &relocation.moved(file))?;
    }
    for init in &inits {
        set.create(init, "")?;
    }
    parse_check::check(&view.index, &set, "the move")?;
    list_possible(view, &relocation, &mut set);
    super::list_newly_meant(
        view,
        (&relocation.before, &relocation.after),
        &relocation.to,
        |file| relocation.moved(file),
        &mut set,
    );
    Ok((set, relocation))
}

/// Refuse a move after which a moved module imports itself through others, and did not before.
fn check_cycles(view: &View, relocation: &Relocation, set: &ChangeSet) -> Result<()> {
    let read = |file: &str| Some(view.source(Path::new(file))?.text().to_owned());
    let mut before = Imports::new(&relocation.before, read);
    let mut after = Imports::new(&relocation.after, |file| {
        set.text_after(file).or_else(|| read(file))
    });
    let paths = view.index.iter().map(|(path, _)| modules::key(path));
    for key in paths.filter(|key| relocation.moves(key)) {
        let moved = relocation.moved(key);
        if let Some(way) = after.way_back(&moved)
            && before.way_back(key).is_none()
        {
            let cycle = std::iter::once(&moved).chain(&way);
            return Err(cycles::refused(&relocation.after, cycle));
        }
    }
    Ok(())
}

/// Files that may have to be edited: those that move, and those that name the module.
fn concerned(view: &View, relocation: &Relocation) -> Vec<String> {
    let hash = name_hash(modules::last(&relocation.from));
    let all = view.index.iter();
    all.filter(|(path, facts)| relocation.moves(modules::key(path)) || facts.may_mention(hash))
        .map(|(path, _)| path.to_string())
        .collect()
}

/// The files of a module, also those that are no Python.
fn files_of(root: &Path, key: &str) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for end in [".py", ".pyi", ".pyw"] {
        let file = format!("{key}{end}");
        if root.join(&file).is_file() {
            files.push(file);
        }
    }
    let mut folders = vec![key.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(root.join(&folder)) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                let what = format!("a name in `{folder}` is not UTF-8");
                return Err(Error::new(Code::InvalidParams, what).hint("rename that file first"));
            };
            let path = join(&folder, name);
            match entry.file_type() {
                // What Python compiled is made anew where it is needed.
                Ok(kind) if kind.is_dir() && name != "__pycache__" => folders.push(path),
                Ok(kind) if kind.is_dir() => {}
                _ => files.push(path),
            }
            if files.len() > MAX_FILES {
                let what = format!("`{key}` has more than {MAX_FILES} files");
                return Err(Error::new(Code::InvalidParams, what).hint("move it with git"));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// `__init__.py` files for folders that come to be with a file, if the module it comes from
/// lies in a package or the file will.
pub(super) fn inits(view: &View, from: &str, to: &str) -> Vec<String> {
    let is_package = |folder: &str| {
        let mut inits = ["__init__.py", "__init__.pyi"].iter();
        inits.any(|init| view.index.get(&join(folder, init)).is_some())
    };
    let mut missing = BTreeSet::new();
    let mut folder = parent(to);
    while !folder.is_empty() && !view.root().join(folder).is_dir() {
        missing.insert(join(folder, "__init__.py"));
        folder = parent(folder);
    }
    match is_package(parent(from)) || is_package(folder) {
        true => missing.into_iter().collect(),
        false => Vec::new(),
    }
}

/// Places that a warning names.
const MAX_SHOWN: usize = 5;

/// Places that spell the module's whole name where nobody can be sure: strings, comments,
/// configuration and documentation.
fn list_possible(view: &View, relocation: &Relocation, set: &mut ChangeSet) {
    let name = relocation.before.dotted(&relocation.from);
    let mut opened = OpenFiles::new(view);
    let root = view.root();
    let in_python = strings::mentions(&view.index, root, &name);
    let in_others = documents::mentions(&view.snapshot, &name);
    let paths = paths(view, relocation);
    let mut mentioned = Vec::new();
    let all = in_python.into_iter().chain(in_others).chain(paths);
    for (path, span, why) in all.chain(embedded(view, relocation)) {
        if mentioned.contains(&(path.clone(), span)) {
            continue;
        }
        set.leave(LeftAlone {
            location: opened.location(&root.join(&path), span),
            why: why.into(),
        });
        mentioned.push((path, span));
    }
    let imports = string_imports::all(view, &relocation.before, &relocation.from);
    let unknown = imports.unknown.iter().take(MAX_SHOWN);
    let unknown = unknown.map(|(file, span)| format!("{file}:{}", span.start.line + 1));
    let unknown: Vec<String> = unknown.collect();
    if !unknown.is_empty() {
        let places = unknown.join(", ");
        set.warn(format!(
            "modules are imported by names that no text spells: {places}"
        ));
    }
    for (path, span) in imports.named {
        let mut known = mentioned.iter();
        if !known.any(|(file, inner)| *file == path && span.holds(inner)) {
            set.leave(LeftAlone {
                location: opened.location(&root.join(&path), span),
                why: "it is imported by its name here".into(),
            });
        }
    }
    let files = [&relocation.from, &relocation.to].map(|key| format!("{key}.py"));
    if view.index.get(&files[0]).is_some()
        && string_imports::is_for_pytest(&files[0]) != string_imports::is_for_pytest(&files[1])
    {
        let what = "pytest finds tests by the names of their files: it looks for `test_*.py`";
        set.warn(what);
    }
    list_looked_up(view, relocation, &mut opened, set);
    list_by_star(view, relocation, &mut opened, set);
    if parent(&relocation.from) != parent(&relocation.to) {
        list_files_beside(view, relocation, &mut opened, set);
    }
}

/// Where code that texts hold takes the module from its package.
fn embedded(view: &View, relocation: &Relocation) -> Vec<(String, Span, &'static str)> {
    let package = parent(&relocation.from);
    if package.is_empty() {
        return Vec::new();
    }
    let sought = Sought {
        name: modules::last(&relocation.from).to_owned(),
        form: Form::Name,
        homes: BTreeSet::new(),
        owners: [modules::last(package).to_owned()].into(),
    };
    let found = embedded::uses(&view.index, &view.snapshot, &sought);
    let found = found.into_iter().map(|one| (one.file, one.span, one.why));
    found.collect()
}

/// Where documents spell the files that move by their paths.
fn paths(view: &View, relocation: &Relocation) -> Vec<(String, Span, &'static str)> {
    let ends = ["", ".py", ".pyi"].map(|end| format!("{}{end}", relocation.from));
    let is_there = |path: &&String| view.root().join(path).exists();
    let spelled = ends.iter().filter(is_there).flat_map(|path| {
        documents::paths(&view.snapshot, view.root(), path)
            .into_iter()
            .map(|(file, span)| (file, span, "a path of it in a document"))
    });
    spelled.collect()
}

/// Strings that are the last part of the module's name, in files that look modules up and know
/// the package that it lies in.
fn list_looked_up(
    view: &View,
    relocation: &Relocation,
    opened: &mut OpenFiles,
    set: &mut ChangeSet,
) {
    let (root, home) = (view.root(), parent(&relocation.from));
    let dotted = relocation.before.dotted(&relocation.from);
    let in_package = |file: &str| {
        let key = modules::key(file);
        !home.is_empty() && (key == home || parent(key) == home)
    };
    let knows = |file: &str, facts: &Facts| {
        facts.imports.iter().any(|import| {
            let target = relocation.before.find(file, &import.module);
            target.is_some_and(|target| target.key == home || relocation.moves(&target.key))
        })
    };
    for (path, span) in strings::exactly(&view.index, root, modules::last(&relocation.from)) {
        let Some(facts) = view.index.get(&path) else {
            continue;
        };
        let mut lookups = MODULE_LOOKUPS.iter();
        let looks_up = lookups.any(|name| facts.may_mention(name_hash(name)));
        if !looks_up || !(in_package(&path) || knows(&path, facts)) {
            continue;
        }
        let location = opened.location(&root.join(&path), span);
        // The whole name is listed already.
        let source = opened.source(&root.join(&path));
        let line = source.and_then(|source| source.line(span.start.line).map(str::to_owned));
        let end = usize::try_from(span.end.column).unwrap_or_default();
        let before: Option<String> = line.map(|line| line.chars().take(end).collect());
        if dotted.contains('.') && before.is_some_and(|before| before.ends_with(&dotted)) {
            continue;
        }
        set.leave(LeftAlone {
            location,
            why: "a string with its name: it may be looked up in its package".into(),
        });
    }
}

/// Where the module is used by its own name, which came with everything that its package has.
fn list_by_star(view: &View, relocation: &Relocation, opened: &mut OpenFiles, set: &mut ChangeSet) {
    let (home, name) = (parent(&relocation.from), modules::last(&relocation.from));
    let hash = name_hash(name);
    let stars = |file: &str, facts: &Facts| {
        let mut imports = facts.imports.iter();
        imports.any(|import| {
            let target = relocation.before.find(file, &import.module);
            import.name.as_deref() == Some("*") && target.is_some_and(|target| target.key == home)
        })
    };
    for (path, facts) in view.index.iter() {
        if !facts.may_mention(hash) || !stars(path, facts) {
            continue;
        }
        let Some(source) = view.source(Path::new(&**path)) else {
            continue;
        };
        let scopes = Scopes::of(source.text(), path);
        let named = |use_: &&Use| use_.name == name && scopes.scope_of(use_).is_none();
        for use_ in scopes.uses.iter().filter(named) {
            let location =
                opened.location(&view.root().join(&**path), span_of(&source, use_.range));
            set.leave(LeftAlone {
                location,
                why: "it may come from its package by `import *`".into(),
            });
        }
    }
}

/// Where what moves to another folder asks for its own: what lies beside it does not come along.
fn list_files_beside(
    view: &View,
    relocation: &Relocation,
    opened: &mut OpenFiles,
    set: &mut ChangeSet,
) {
    let files = view.index.iter();
    let files = files.filter(|(path, _)| relocation.moves(modules::key(path)));
    for (path, _) in files {
        let Some(source) = view.source(Path::new(&**path)) else {
            continue;
        };
        let scopes = Scopes::of(source.text(), path);
        let named = |use_: &&Use| matches!(use_.name.as_str(), "__file__" | "__path__");
        for use_ in scopes.uses.iter().filter(named) {
            let location =
                opened.location(&view.root().join(&**path), span_of(&source, use_.range));
            set.leave(LeftAlone {
                location,
                why: format!("`{}` is another path after the move", use_.name),
            });
        }
    }
}

/// The path of a destination, relative to the root; it need not exist.
pub fn destination_path(root: &Path, path: &Path) -> Result<String> {
    let ends_in_folder = path.to_str().is_some_and(|text| text.ends_with('/'));
    let tidy = match place::inside(root, path) {
        Ok(found) => found,
        Err(error) if error.code == Code::NotFound => {
            let joined = root.join(path);
            let mut above = joined.ancestors().skip(1);
            let there = above.find(|folder| folder.exists()).unwrap_or(root);
            let below = joined.strip_prefix(there).unwrap_or(path);
            let below = below.to_str().ok_or_else(|| {
                Error::new(Code::InvalidParams, "the destination's name is not UTF-8")
            })?;
            if below.split('/').any(|part| part == "..") {
                return Err(error);
            }
            join(&place::inside(root, there)?, below.trim_end_matches('/'))
        }
        Err(error) => return Err(error),
    };
    Ok(match ends_in_folder {
        true => format!("{}/", tidy.trim_end_matches('/')),
        false => tidy,
    })
}
