//! Which names of a file stand for modules.

use std::collections::BTreeMap;

use ruff_text_size::TextSize;

use super::{Modules, join};
use crate::index::{Facts, Index};
use crate::scopes::{ImportedName, Role, Scopes};

/// The module that a name of an import is, if it is one and not something that the package
/// itself calls so.
pub fn submodule(
    index: &Index,
    modules: &Modules,
    package: &str,
    name: &ImportedName,
) -> Option<String> {
    let key = join(package, &name.name);
    let facts = modules.file(package).and_then(|file| {
        let facts = index.get(file)?;
        Some((file, facts))
    });
    let hides = |(file, facts): (&str, &Facts)| hides(modules, file, facts, &name.name, &key);
    (modules.has(&key) && !facts.is_some_and(hides)).then_some(key)
}

/// Whether a package means something else than its submodule by a name.
fn hides(modules: &Modules, file: &str, facts: &Facts, name: &str, key: &str) -> bool {
    let defined = facts.symbols.iter();
    let mut defined = defined.filter(|symbol| symbol.container.is_none());
    if defined.any(|symbol| &*symbol.name == name) {
        return true;
    }
    facts.imports.iter().any(|import| {
        let bound = import.alias.as_ref().or(import.name.as_ref());
        let Some(taken) = import
            .name
            .as_ref()
            .filter(|_| bound.is_some_and(|b| **b == *name))
        else {
            return false;
        };
        let from = modules.find(file, &import.module);
        from.is_some_and(|from| join(&from.key, taken) != key)
    })
}

/// The module that `.part` of a module is: one that lies in it, or one that it imports.
pub fn part_of(index: &Index, modules: &Modules, key: &str, part: &str) -> Option<String> {
    let inner = join(key, part);
    let known = modules.file(key);
    let known = known.and_then(|file| Some((file, index.get(file)?)));
    let Some((file, facts)) = known else {
        return modules.has(&inner).then_some(inner);
    };
    if modules.has(&inner) && !hides(modules, file, facts, part, &inner) {
        return Some(inner);
    }
    facts.imports.iter().find_map(|import| {
        let bound = import.alias.as_ref().or(import.name.as_ref());
        if bound.is_none_or(|bound| **bound != *part) {
            return None;
        }
        let target = modules.find(file, &import.module)?;
        let key = match &import.name {
            Some(name) => join(&target.key, name),
            None => target.key,
        };
        modules.has(&key).then_some(key)
    })
}

/// The modules that the names of a file stand for, by scope and name.
pub fn bindings(
    index: &Index,
    modules: &Modules,
    file: &str,
    scopes: &Scopes,
) -> BTreeMap<(usize, String), ModuleBinding> {
    let mut all = BTreeMap::new();
    for (at, statement) in scopes.imports.iter().enumerate() {
        for name in &statement.names {
            let found = match &statement.from {
                Some((module, _)) => modules.find(file, module).and_then(|target| {
                    let key = submodule(index, modules, &target.key, name)?;
                    Some((key, false))
                }),
                None => modules.find(file, &name.name).map(|target| {
                    let head = name.bound(false);
                    match name.alias {
                        Some(_) => (target.key, false),
                        None => (join(&target.base, head), true),
                    }
                }),
            };
            if let Some((key, is_plain)) = found {
                let bound = name.bound(statement.from.is_some()).to_owned();
                all.entry((statement.scope, bound))
                    .or_insert(ModuleBinding {
                        key,
                        is_plain,
                        statement: at,
                    });
            }
        }
    }
    for (place, bound) in aliases(index, modules, scopes, &all) {
        all.entry(place).or_insert(bound);
    }
    all
}

/// Names that are given a module: `tools = package.tools`.
fn aliases(
    index: &Index,
    modules: &Modules,
    scopes: &Scopes,
    known: &BTreeMap<(usize, String), ModuleBinding>,
) -> Vec<((usize, String), ModuleBinding)> {
    let mut found = Vec::new();
    let binds = scopes.uses.iter().filter(|use_| use_.role == Role::Bind);
    for bind in binds {
        let Some(scope) = scopes.scope_of(bind) else {
            continue;
        };
        // What is assigned begins right behind ` = `.
        let begins = bind.range.end() + TextSize::from(3);
        let value = scopes.uses.iter().find(|use_| use_.range.start() == begins);
        let Some(value) = value.filter(|value| value.role == Role::Read) else {
            continue;
        };
        let mut all = scopes.uses_of(scope, &bind.name);
        let is_only = all.all(|use_| use_.role == Role::Read || use_.range == bind.range);
        let head = scopes.scope_of(value);
        let head = head.and_then(|scope| known.get(&(scope, value.name.clone())));
        let Some(head) = head.filter(|_| is_only) else {
            continue;
        };
        let module = value.parts.iter().try_fold(head.key.clone(), |key, part| {
            part_of(index, modules, &key, &part.0)
        });
        if let Some(key) = module {
            let bound = ModuleBinding {
                key,
                is_plain: false,
                statement: head.statement,
            };
            found.push(((scope, bind.name.clone()), bound));
        }
    }
    found
}

/// A name that stands for a module.
#[derive(Debug)]
pub struct ModuleBinding {
    /// The key of the module.
    pub key: String,
    /// `import a.b`: the name is that of the first part.
    pub is_plain: bool,
    /// The statement that binds it.
    pub statement: usize,
}
