//! What Rope cannot see of a workspace when it inlines: it is handed a few texts, and neither
//! packages nor who else imports a name.

use std::collections::BTreeSet;
use std::path::Path;

use pillion_catalogue::{Code, Error, Result};
use pillion_changes::LeftAlone;
use pillion_index::modules::{self, Modules};
use pillion_index::scopes::{ImportStmt, MODULE, Scopes, Statement, What};
use pillion_symbols::open_files::OpenFiles;
use pillion_symbols::project::View;
use serde_json::json;

use super::{Refactored, moving};

/// What an import binds: its module, its name and its alias.
type Bound = (String, String, Option<String>);

/// Refuse what Rope made if a name is imported where it is gone, if an import leads nowhere,
/// or if one runs sooner than before. Gives where names that files now take from the module
/// `home` get another value, which those do not see.
pub fn check(view: &View, home: &str, name: &str, done: &Refactored) -> Result<Vec<LeftAlone>> {
    let modules = Modules::of(&view.index);
    check_gone(view, &modules, home, name, done)?;
    let own = view.source(Path::new(home));
    let own = own.map(|source| bound(&Scopes::of(source.text(), home)));
    let own = own.unwrap_or_default();
    let mut taken = BTreeSet::new();
    for file in &done.files {
        let Some(source) = view.source(Path::new(&file.path)) else {
            continue;
        };
        let old = Scopes::of(source.text(), &file.path);
        let new = Scopes::of(&file.text, &file.path);
        check_order(&file.path, name, &old, &new)?;
        let known = bound(&old);
        for import in bound(&new).difference(&known) {
            let (module, imported, _) = import;
            match modules.find(&file.path, module) {
                Some(target) if target.key == modules::key(home) => {
                    taken.insert(imported.clone());
                }
                Some(_) => {}
                None if own.contains(import) && !module.starts_with('.') => {}
                None => {
                    let what = format!(
                        "`{}` would import `{imported}` from `{module}`, which is no module there",
                        file.path
                    );
                    return Err(Error::new(Code::Conflict, what)
                        .hint("import what the definition needs there first"));
                }
            }
        }
    }
    let names: Vec<&str> = taken.iter().map(String::as_str).collect();
    Ok(moving::replaced(view, home, &names))
}

/// Refuse if a file imports what is gone.
fn check_gone(
    view: &View,
    modules: &Modules,
    home: &str,
    name: &str,
    done: &Refactored,
) -> Result<()> {
    let imports = |file: &str, module: &str| {
        let target = modules.find(file, module);
        target.is_some_and(|target| target.key == modules::key(home))
    };
    for (file, facts) in view.index.iter() {
        let mut all = facts.imports.iter();
        let import = all
            .find(|import| import.name.as_deref() == Some(name) && imports(file, &import.module));
        let Some(import) = import else { continue };
        let changed = done.files.iter().find(|changed| *changed.path == **file);
        let is_left = changed.is_none_or(|changed| {
            let scopes = Scopes::of(&changed.text, file);
            bound(&scopes)
                .iter()
                .any(|(module, imported, _)| imported == name && imports(file, module))
        });
        if is_left {
            let location = OpenFiles::new(view).location(&view.root().join(&**file), import.span);
            let what = format!(
                "`{name}` is imported where it cannot be replaced: {}:{}:{}",
                location.file, location.line, location.column
            );
            return Err(Error::new(Code::Conflict, what)
                .hint("take that import away first, or let it bind the name itself")
                .data(json!({ "location": location })));
        }
    }
    Ok(())
}

/// Refuse if an import that stands behind other statements would run before them.
fn check_order(file: &str, name: &str, old: &Scopes, new: &Scopes) -> Result<()> {
    let still = late(new);
    let all = bound(new);
    let mut moved = late(old).into_iter();
    // What is not imported at all any more is looked at elsewhere.
    let is_moved = |import: &Bound| all.contains(import) && !still.contains(import);
    match moved.find(|import| import.1 != name && is_moved(import)) {
        None => Ok(()),
        Some((what, _, _)) => {
            let what = format!("the import of `{what}` in `{file}` would run sooner than it does");
            Err(Error::new(Code::Conflict, what)
                .hint("bring the imports of that file to its top first"))
        }
    }
}

/// What the imports of a text bind.
fn bound(scopes: &Scopes) -> BTreeSet<Bound> {
    scopes.imports.iter().flat_map(names).collect()
}

fn names(statement: &ImportStmt) -> impl Iterator<Item = Bound> {
    let module = statement.from.as_ref().map(|(module, _)| module);
    statement.names.iter().map(move |name| match module {
        Some(module) => (module.clone(), name.name.clone(), name.alias.clone()),
        None => (name.name.clone(), String::new(), name.alias.clone()),
    })
}

/// What those imports of a module bind that stand behind something else than imports.
fn late(scopes: &Scopes) -> BTreeSet<Bound> {
    let is_head = |statement: &Statement| match statement.what {
        What::Import | What::Docstring => true,
        // `try: import a`, or an import for type checkers alone.
        What::Other => {
            let mut imports = scopes.imports.iter();
            imports.any(|import| statement.range.contains_range(import.range))
        }
        _ => false,
    };
    let first = scopes.statements.iter().find(|s| !is_head(s));
    let Some(first) = first.map(|statement| statement.range.start()) else {
        return BTreeSet::new();
    };
    let behind = scopes.imports.iter();
    let behind = behind.filter(|s| s.scope == MODULE && s.range.start() > first);
    behind.flat_map(names).collect()
}
