//! Looking a name up: in the index, through imports and base classes.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use pillion_catalogue::Result;
use pillion_index::modules::{self, Modules};
use pillion_index::place::{self, is_below};
use pillion_index::source::{Position, Span};
use pillion_index::{Facts, Index, Kind, Symbol, is_python};

use super::grammar::{Name, is_name};
use crate::project::View;

/// Imports and bases that are followed from one name.
const MAX_STEPS: usize = 1_000;
/// How many of them one behind the other.
const MAX_DEPTH: usize = 32;

/// A definition of the index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexedDefinition {
    /// Its file, relative to the root.
    pub file: Arc<str>,
    /// Its place among the symbols of the file.
    pub index: usize,
}

/// Looks names up in one view.
#[derive(Debug)]
pub struct Finder<'a> {
    view: &'a View,
    modules: OnceCell<Modules>,
}

/// What was looked at on the way to one name.
#[derive(Default)]
struct Way {
    seen: HashSet<(String, String)>,
    depth: usize,
}

impl<'a> Finder<'a> {
    /// Finds in the index of a view.
    pub fn new(view: &'a View) -> Self {
        Self {
            view,
            modules: OnceCell::new(),
        }
    }

    fn index(&self) -> &'a Index {
        &self.view.index
    }

    fn modules(&self) -> &Modules {
        self.modules.get_or_init(|| Modules::of(self.index()))
    }

    /// What is known about the file of a definition.
    pub fn facts(&self, definition: &IndexedDefinition) -> Option<&'a Facts> {
        self.index().get(&definition.file)
    }

    /// What the index says about a definition.
    pub fn symbol(&self, definition: &IndexedDefinition) -> Option<&'a Symbol> {
        self.facts(definition)?.symbols.get(definition.index)
    }

    /// Where the name of a definition stands.
    pub fn name_span(&self, definition: &IndexedDefinition) -> Option<Span> {
        self.symbol(definition).map(|symbol| symbol.name_span)
    }

    /// The name path of a definition, such as `Class/method`.
    pub fn name_path(&self, definition: &IndexedDefinition) -> String {
        let facts = self.facts(definition);
        facts.map_or_else(String::new, |facts| facts.name_path(definition.index))
    }

    /// The definition whose name stands at a place, else the innermost around it.
    pub fn around(&self, file: &str, at: Position) -> Option<IndexedDefinition> {
        let facts = self.index().get(file)?;
        let index = facts.named_at(at).or_else(|| facts.enclosing(at))?;
        Some(self.definition(file, index))
    }

    fn definition(&self, file: &str, index: usize) -> IndexedDefinition {
        IndexedDefinition {
            file: file.into(),
            index,
        }
    }

    /// Every definition that a name can mean: whole names first, then by file and line.
    pub fn find(&self, name: &Name, scope: Option<&str>) -> Result<Vec<IndexedDefinition>> {
        let parts: Vec<&str> = name.parts.iter().map(String::as_str).collect();
        let files = match &name.within {
            Some(within) => match (self.files_of(within), below_class(within, name)) {
                (Ok(files), _) => Some(files),
                // `Class::method`, `pkg.Class:method`: what stands there is no file.
                (Err(_), Some(whole)) => return self.find(&whole, scope),
                (Err(error), None) => return Err(error),
            },
            None => None,
        };
        let is_meant = |file: &str| {
            let is_within = files.as_ref().is_none_or(|files| files.contains(file));
            is_within && scope.is_none_or(|scope| is_below(file, scope))
        };
        let mut found = match &files {
            Some(files) => self.in_files(files, &parts, scope),
            None => self.by_path(&parts, name.from_top, &is_meant),
        };
        if found.is_empty() && files.is_some() {
            found = self.by_path(&parts, false, &is_meant);
        }
        if files.is_none() && !name.from_top {
            let in_modules = self.in_modules(&parts, scope);
            found.extend(in_modules);
        }
        if found.is_empty() {
            found = self.inherited_by_path(&parts, name.from_top, &is_meant);
        }
        self.in_order(&mut found, &parts.join("/"));
        Ok(found)
    }

    /// The member that a class of a file has, if it is not its own: from a base of the workspace.
    pub(crate) fn inherited_member(&self, file: &str, name: &Name) -> Option<IndexedDefinition> {
        let parts: Vec<&str> = name.parts.iter().map(String::as_str).collect();
        let mut found = self.in_file(file, &parts, &mut Way::default());
        found.truncate(1);
        found.pop()
    }

    /// Whole names first, sources before their stubs, and nothing twice.
    fn in_order(&self, found: &mut Vec<IndexedDefinition>, whole: &str) {
        found.sort_by_cached_key(|one| (self.name_path(one) != whole, one.clone()));
        found.dedup();
        let sources: HashSet<(String, String)> = found
            .iter()
            .filter(|one| !is_stub(&one.file))
            .map(|one| self.key(one))
            .collect();
        found.retain(|one| !is_stub(&one.file) || !sources.contains(&self.key(one)));
    }

    /// What makes two definitions the same: their module and their path in it.
    fn key(&self, one: &IndexedDefinition) -> (String, String) {
        (modules::key(&one.file).to_owned(), self.name_path(one))
    }

    /// Definitions whose path is this, or ends with it.
    fn by_path(
        &self,
        parts: &[&str],
        from_top: bool,
        is_meant: &dyn Fn(&str) -> bool,
    ) -> Vec<IndexedDefinition> {
        let Some(last) = parts.last() else {
            return Vec::new();
        };
        let wanted = parts.join("/");
        let mut found = Vec::new();
        for (file, facts) in self.index().iter().filter(|(file, _)| is_meant(file)) {
            let named = facts.symbols.iter().enumerate();
            for (index, _) in named.filter(|(_, symbol)| &*symbol.name == *last) {
                let path = facts.name_path(index);
                let is_end = || {
                    let before = path.strip_suffix(&*wanted);
                    before.is_some_and(|before| before.ends_with('/'))
                };
                if path == wanted || !from_top && is_end() {
                    found.push(IndexedDefinition {
                        file: Arc::clone(file),
                        index,
                    });
                }
            }
        }
        found
    }

    /// What files mean by a name that they give to something they import. It is only told: who
    /// wants the other name changed does not mean the definition.
    pub(crate) fn by_alias(&self, name: &Name) -> Vec<IndexedDefinition> {
        let parts: Vec<&str> = name.parts.iter().map(String::as_str).collect();
        let Some(first) = parts.first() else {
            return Vec::new();
        };
        let gives = |facts: &Facts| {
            let mut aliases = facts.imports.iter().filter_map(|one| one.alias.as_deref());
            aliases.any(|alias| alias == *first)
        };
        let files = self.index().iter().filter(|(_, facts)| gives(facts));
        let mut found: Vec<IndexedDefinition> = files
            .flat_map(|(file, facts)| self.imported(file, facts, &parts, &mut Way::default()))
            .collect();
        found.sort();
        found.dedup();
        found
    }

    /// Members that classes of this name have from their bases.
    fn inherited_by_path(
        &self,
        parts: &[&str],
        from_top: bool,
        is_meant: &dyn Fn(&str) -> bool,
    ) -> Vec<IndexedDefinition> {
        for cut in (1..parts.len()).rev() {
            let (above, below) = parts.split_at(cut);
            let classes = self.by_path(above, from_top, is_meant);
            let mut found: Vec<IndexedDefinition> = classes
                .iter()
                .flat_map(|class| self.inherited(class, below, &mut Way::default()))
                .collect();
            found.sort();
            found.dedup();
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    /// Definitions of modules whose name the first parts are.
    fn in_modules(&self, parts: &[&str], scope: Option<&str>) -> Vec<IndexedDefinition> {
        let mut found = Vec::new();
        for cut in (1..parts.len()).rev() {
            let (module, below) = parts.split_at(cut);
            for file in self.files_of_module(&module.join("."), scope) {
                found.extend(self.in_file(&file, below, &mut Way::default()));
            }
        }
        found
    }

    fn in_files(
        &self,
        files: &HashSet<String>,
        parts: &[&str],
        scope: Option<&str>,
    ) -> Vec<IndexedDefinition> {
        let files = files
            .iter()
            .filter(|file| scope.is_none_or(|s| is_below(file, s)));
        files
            .flat_map(|file| self.in_file(file, parts, &mut Way::default()))
            .collect()
    }

    /// What a file means by a name: what it defines, what its classes inherit, what it imports.
    fn in_file(&self, file: &str, parts: &[&str], way: &mut Way) -> Vec<IndexedDefinition> {
        let path = parts.join("/");
        let is_new = way.seen.insert((file.to_owned(), path.clone()));
        let Some(facts) = self.index().get(file) else {
            return Vec::new();
        };
        if !is_new || way.depth >= MAX_DEPTH || way.seen.len() > MAX_STEPS {
            return Vec::new();
        }
        way.depth += 1;
        let found = self.in_facts(file, facts, (parts, &path), way);
        way.depth -= 1;
        found
    }

    fn in_facts(
        &self,
        file: &str,
        facts: &Facts,
        (parts, path): (&[&str], &str),
        way: &mut Way,
    ) -> Vec<IndexedDefinition> {
        let is_named = |index: usize, path: &str| {
            let last = path.rsplit('/').next().unwrap_or(path);
            let symbol = facts.symbols.get(index);
            symbol.is_some_and(|s| &*s.name == last) && facts.name_path(index) == path
        };
        let all = 0..facts.symbols.len();
        let own = all.clone().filter(|index| is_named(*index, path));
        let own: Vec<IndexedDefinition> = own.map(|index| self.definition(file, index)).collect();
        if !own.is_empty() {
            return own;
        }
        for cut in (1..parts.len()).rev() {
            let (above, below) = parts.split_at(cut);
            let above = above.join("/");
            for index in all.clone().filter(|index| is_named(*index, &above)) {
                let found = self.inherited(&self.definition(file, index), below, way);
                if !found.is_empty() {
                    return found;
                }
            }
        }
        self.imported(file, facts, parts, way)
    }

    /// What the bases of a class define under a name.
    fn inherited(
        &self,
        class: &IndexedDefinition,
        below: &[&str],
        way: &mut Way,
    ) -> Vec<IndexedDefinition> {
        let Some(symbol) = self.symbol(class).filter(|s| s.kind == Kind::Class) else {
            return Vec::new();
        };
        for base in &symbol.bases {
            let base: Vec<&str> = base.split('.').collect();
            for above in self.in_file(&class.file, &base, way) {
                let is_class = self.symbol(&above).is_some_and(|s| s.kind == Kind::Class);
                if !is_class || above == *class {
                    continue;
                }
                let path = self.name_path(&above);
                let whole: Vec<&str> = path.split('/').chain(below.iter().copied()).collect();
                let found = self.in_file(&above.file, &whole, way);
                if !found.is_empty() {
                    return found;
                }
            }
        }
        Vec::new()
    }

    /// What a file means by a name that it imports.
    fn imported(
        &self,
        file: &str,
        facts: &Facts,
        parts: &[&str],
        way: &mut Way,
    ) -> Vec<IndexedDefinition> {
        let Some((first, below)) = parts.split_first() else {
            return Vec::new();
        };
        for import in &facts.imports {
            let (module, taken) = (&*import.module, import.name.as_deref());
            let bound = import.alias.as_deref().or(taken);
            let found = match (taken, bound) {
                (Some("*"), _) => self.in_key(file, module, parts, way),
                (Some(taken), Some(bound)) if bound == *first => {
                    let whole: Vec<&str> =
                        [taken].into_iter().chain(below.iter().copied()).collect();
                    let found = self.in_key(file, module, &whole, way);
                    let dot = if module.ends_with('.') { "" } else { "." };
                    let inner = format!("{module}{dot}{taken}");
                    match found.is_empty() && !below.is_empty() {
                        true => self.in_key(file, &inner, below, way),
                        false => found,
                    }
                }
                (None, Some(bound)) if bound == *first && !below.is_empty() => {
                    self.in_key(file, module, below, way)
                }
                // `import a.b` is written out wherever it is used.
                (None, None) => {
                    let count = module.split('.').count();
                    let is_it =
                        parts.len() > count && module.split('.').eq(parts[..count].iter().copied());
                    match is_it {
                        true => self.in_key(file, module, &parts[count..], way),
                        false => Vec::new(),
                    }
                }
                _ => Vec::new(),
            };
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    /// What the module that an import names means by a name.
    fn in_key(
        &self,
        from: &str,
        module: &str,
        parts: &[&str],
        way: &mut Way,
    ) -> Vec<IndexedDefinition> {
        let Some(target) = self.modules().find(from, module) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for file in self.files_with_key(&target.key) {
            found.extend(self.in_file(&file, parts, way));
        }
        if found.is_empty()
            && let [first, below @ ..] = parts
            && !below.is_empty()
        {
            // A module of a package that nobody imported by name.
            for file in self.files_with_key(&modules::join(&target.key, first)) {
                found.extend(self.in_file(&file, below, way));
            }
        }
        found
    }

    /// The files that a module is: its source, and its stub.
    fn files_with_key(&self, key: &str) -> Vec<String> {
        let inits = ["__init__.py", "__init__.pyi"].map(|name| modules::join(key, name));
        let plain = [".py", ".pyi", ".pyw"].map(|end| format!("{key}{end}"));
        let all = plain.into_iter().chain(inits);
        all.filter(|file| self.index().get(file).is_some())
            .collect()
    }

    /// The files of modules of this name, written in whole or by its end.
    fn files_of_module(&self, dotted: &str, scope: Option<&str>) -> Vec<String> {
        let ends = |path: &str| {
            let key = modules::key(path).replace('/', ".");
            let before = key.strip_suffix(dotted).map(str::to_owned);
            before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        let files: Vec<&Arc<str>> = self
            .index()
            .iter()
            .map(|(file, _)| file)
            .filter(|file| ends(file) && scope.is_none_or(|scope| is_below(file, scope)))
            .collect();
        let is_whole = |file: &&&Arc<str>| self.modules().dotted(modules::key(file)) == dotted;
        let whole: Vec<String> = files
            .iter()
            .filter(is_whole)
            .map(ToString::to_string)
            .collect();
        match whole.is_empty() {
            true => files.iter().map(ToString::to_string).collect(),
            false => whole,
        }
    }

    /// The files that stand before a name: a file, a folder, the end of a path, or a module.
    fn files_of(&self, within: &str) -> Result<HashSet<String>> {
        let is_path = within.contains('/') || is_python(within);
        let inside = place::inside(self.view.root(), within.as_ref());
        if let Some(inside) = inside.as_ref().ok().filter(|_| is_path) {
            let files = self.index().iter().map(|(file, _)| file);
            let below = files.filter(|file| is_below(file, inside));
            return Ok(below.map(ToString::to_string).collect());
        }
        let mut files = self.files_of_module(within, None);
        if is_path {
            let ends = |path: &str| path.strip_suffix(within).is_some_and(|b| b.ends_with('/'));
            let named = self.index().iter().filter(|(file, _)| ends(file));
            files.extend(named.map(|(file, _)| file.to_string()));
        }
        match (files.is_empty(), inside) {
            (true, Err(error)) => Err(error),
            _ => Ok(files.into_iter().collect()),
        }
    }

    /// The files of the modules that a name can mean, the source of each.
    pub(crate) fn modules_named(&self, name: &Name, scope: Option<&str>) -> Vec<String> {
        if name.within.is_some() {
            return Vec::new();
        }
        let mut files = self.files_of_module(&name.parts.join("."), scope);
        if files.is_empty() {
            files = self.modules_by_alias(&name.parts, scope);
        }
        let is_source = |file: &&String| {
            let key = modules::key(file);
            !is_stub(file)
                || files
                    .iter()
                    .all(|other| is_stub(other) || modules::key(other) != key)
        };
        files.iter().filter(is_source).cloned().collect()
    }

    /// The files of a module that another module gives a name: `from . import core as engine`.
    fn modules_by_alias(&self, parts: &[String], scope: Option<&str>) -> Vec<String> {
        let Some((last, above)) = parts.split_last().filter(|(_, above)| !above.is_empty()) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for file in self.files_of_module(&above.join("."), scope) {
            let imports = self.index().get(&file).map(|facts| &facts.imports);
            for import in imports.into_iter().flatten() {
                let bound = import.alias.as_deref().or(import.name.as_deref());
                if bound != Some(last.as_str()) {
                    continue;
                }
                let module = match import.name.as_deref() {
                    Some(name) if import.module.ends_with('.') => {
                        format!("{}{name}", import.module)
                    }
                    Some(name) => format!("{}.{name}", import.module),
                    None => import.module.to_string(),
                };
                if let Some(target) = self.modules().find(&file, &module) {
                    found.extend(self.files_with_key(&target.key));
                }
            }
        }
        found.sort();
        found.dedup();
        found
    }

    /// Of definitions that share a name, the one that is asked about: what overloads are
    /// implemented by, else the first.
    pub(crate) fn leading(&self, view: &View, group: &[IndexedDefinition]) -> IndexedDefinition {
        let first = group.first();
        let is_overload = |one: &IndexedDefinition| {
            let symbol = self.symbol(one)?;
            let source = view.source(one.file.as_ref().as_ref())?;
            let lines = symbol.span.start.line..symbol.name_span.start.line;
            let mut decorators = lines.filter_map(|line| source.line(line));
            Some(decorators.any(|line| line.contains("overload")))
        };
        let implemented = group.iter().find(|one| is_overload(one) != Some(true));
        let chosen = match group.len() {
            0 | 1 => first,
            _ => implemented.or(first),
        };
        chosen.cloned().unwrap_or_else(|| self.definition("", 0))
    }

    /// Definitions of one thing together: overloads, the getter and setter of a property.
    pub fn groups(&self, found: &[IndexedDefinition]) -> Vec<Vec<IndexedDefinition>> {
        let mut order: Vec<(String, String)> = Vec::new();
        let mut groups: BTreeMap<(String, String), Vec<IndexedDefinition>> = BTreeMap::new();
        for one in found {
            let key = self.key(one);
            if !groups.contains_key(&key) {
                order.push(key.clone());
            }
            groups.entry(key).or_default().push(one.clone());
        }
        order.iter().filter_map(|key| groups.remove(key)).collect()
    }
}

/// A name behind what is no file and no module: both are one name.
fn below_class(within: &str, name: &Name) -> Option<Name> {
    let is_path = within.contains('/') || is_python(within);
    let mut parts: Vec<String> = within.split('.').map(ToOwned::to_owned).collect();
    let is_name = parts.iter().all(|part| is_name(part));
    parts.extend(name.parts.iter().cloned());
    (!is_path && is_name).then_some(Name {
        within: None,
        parts,
        from_top: false,
    })
}

/// Whether a file is a stub.
fn is_stub(file: &str) -> bool {
    file.ends_with(".pyi")
}
