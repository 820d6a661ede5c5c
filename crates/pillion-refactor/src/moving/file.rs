//! One file when a module moves: its imports of the module, and the names it has by them.

use std::collections::BTreeMap;

use pillion_changes::TextEdit;
use pillion_index::Index;
use pillion_index::modules::{
    ImportTarget, ModuleBinding, bindings, last, parent, part_of, submodule,
};
use pillion_index::scopes::{ImportStmt, ImportedName, MODULE, Role, Scopes, Use};
use pillion_index::source::{Source, Span};
use ruff_text_size::TextRange;

use super::relocation::Relocation;
use super::{Edits, cuts, with_alias};
use crate::strings;

/// A file, and what moves.
pub(super) struct Rewriting<'a> {
    index: &'a Index,
    relocation: &'a Relocation,
    file: &'a str,
    /// Where the file itself is afterwards.
    new_file: String,
    source: &'a Source,
    scopes: Scopes,
    bound: BTreeMap<(usize, String), ModuleBinding>,
    edits: Edits,
    /// What means something else by a name that the module gets in the file, and that name.
    taken: Option<(TextRange, String)>,
}

/// Where a name of a `from` import comes from afterwards.
struct Renamed {
    /// What stands between `from` and `import`; nothing if it lies in no package.
    module: Option<String>,
    name: String,
}

impl<'a> Rewriting<'a> {
    pub(super) fn new(
        index: &'a Index,
        relocation: &'a Relocation,
        file: &'a str,
        source: &'a Source,
    ) -> Self {
        let scopes = Scopes::of(source.text(), file);
        Self {
            bound: bindings(index, &relocation.before, file, &scopes),
            new_file: relocation.moved(file),
            index,
            relocation,
            file,
            source,
            scopes,
            edits: Edits::default(),
            taken: None,
        }
    }

    /// The edits of the file, and what stands in their way.
    pub(super) fn edits(mut self) -> (Vec<TextEdit>, Option<(Span, String)>) {
        let scopes = std::mem::replace(&mut self.scopes, Scopes::of("", self.file));
        for statement in &scopes.imports {
            match &statement.from {
                Some((module, range)) => self.import_from(&scopes, statement, module, *range),
                None => self.plain_import(&scopes, statement),
            }
        }
        for use_ in scopes.uses.iter().filter(|use_| use_.role == Role::Read) {
            self.chain(&scopes, use_);
        }
        let taken = self.taken.take();
        let taken = taken.map(|(range, name)| (super::span_of(self.source, range), name));
        (self.edits.finish(self.source), taken)
    }

    /// Note it if the first part of a dotted name means something else where a use stands.
    fn check_head(&mut self, scopes: &Scopes, use_: &Use, spelled: &str) {
        let head = spelled.split('.').next().unwrap_or_default();
        if head == use_.name || self.taken.is_some() {
            return;
        }
        let Some(scope) = scopes.scope_of_name(use_, head) else {
            return;
        };
        // Another import may have it by that very name: `from pkg import base` beside
        // `import pkg.base`.
        let is_same = |known: &ModuleBinding| known.key == self.relocation.from && spelled == head;
        let known = self.bound.get(&(scope, head.to_owned()));
        if !known.is_some_and(|known| known.is_plain || is_same(known)) {
            let at = scopes.binding_of(scope, head);
            self.taken = at.map(|at| (at, head.to_owned()));
        }
    }

    /// `import a.b.c, d as e`.
    fn plain_import(&mut self, scopes: &Scopes, statement: &ImportStmt) {
        for name in &statement.names {
            let Some(target) = self.relocation.before.find(self.file, &name.name) else {
                continue;
            };
            if !self.relocation.moves(&target.key) {
                continue;
            }
            let spelled = self.spell(&self.relocation.moved(&target.key), false, &target.base);
            self.edits.replace(name.name_range, &*spelled);
            let head = name.bound(false);
            let loses_head = name.alias.is_none() && spelled.split('.').next() != Some(head);
            if loses_head && self.needs_head(scopes, statement.scope, head) {
                let rest = self.relocation.before.dotted(parent(&self.relocation.from));
                let again = format!("import {rest}");
                self.edits.statement(statement.range.start(), again);
            }
        }
    }

    /// Whether a file uses more of `a` than what moves, and only this import gives it `a`.
    fn needs_head(&self, scopes: &Scopes, scope: usize, head: &str) -> bool {
        let stays = |name: &ImportedName| {
            let target = self.relocation.before.find(self.file, &name.name);
            name.alias.is_none()
                && name.bound(false) == head
                && !target.is_some_and(|target| self.relocation.moves(&target.key))
        };
        let mut others = scopes.imports.iter().filter(|other| other.scope == scope);
        let is_bound = others.any(|other| other.from.is_none() && other.names.iter().any(stays));
        let mut uses = scopes
            .uses_of(scope, head)
            .filter(|use_| use_.role == Role::Read);
        !is_bound && uses.any(|use_| self.reaches(scopes, use_).is_none())
    }

    /// `from a.b import c, d as e`.
    fn import_from(
        &mut self,
        scopes: &Scopes,
        statement: &ImportStmt,
        module: &str,
        module_range: TextRange,
    ) {
        let Some(target) = self.relocation.before.find(self.file, module) else {
            return;
        };
        let own = self.own_spelling(&target, module);
        let names: Vec<Renamed> = statement
            .names
            .iter()
            .map(|name| self.renamed(&target, module, name, &own))
            .collect();
        let first = names.first().and_then(|name| name.module.clone());
        if let Some(shared) = first.filter(|_| names.iter().all(|n| n.module == names[0].module)) {
            if shared != module {
                self.edits.replace(module_range, &*shared);
            }
            for (name, new) in statement.names.iter().zip(&names) {
                let text = self.bound_text(scopes, statement, name, &new.name);
                if new.name != name.name {
                    self.edits.replace(name.range, text);
                }
            }
            return;
        }
        let stays = |new: &Renamed| new.module.as_deref() == Some(&*own);
        let kept = names.iter().filter(|new| stays(new)).count();
        for (at, (name, new)) in statement.names.iter().zip(&names).enumerate() {
            if stays(new) {
                continue;
            }
            let text = self.bound_text(scopes, statement, name, &new.name);
            let line = match &new.module {
                Some(module) => format!("from {module} import {text}"),
                None => format!("import {text}"),
            };
            if kept == 0 && at == 0 {
                self.edits.replace(statement.range, line);
                continue;
            }
            self.edits.statement(statement.range.start(), line);
        }
        if kept > 0 {
            for range in cuts(statement, |at| !stays(&names[at])) {
                self.edits.replace(range, "");
            }
        }
        if kept > 0 && own != module {
            self.edits.replace(module_range, own);
        }
    }

    /// How the file names the module of a `from` import afterwards.
    fn own_spelling(&self, target: &ImportTarget, module: &str) -> String {
        let moved = self.relocation.moved(&target.key);
        match moved == target.key && self.new_file == self.file {
            true => module.to_owned(),
            false => self.spell(&moved, module.starts_with('.'), &target.base),
        }
    }

    fn renamed(
        &self,
        target: &ImportTarget,
        module: &str,
        name: &ImportedName,
        own: &str,
    ) -> Renamed {
        let key = submodule(self.index, &self.relocation.before, &target.key, name);
        if key.is_none_or(|key| key != self.relocation.from) {
            return Renamed {
                module: Some(own.to_owned()),
                name: name.name.clone(),
            };
        }
        let to = &self.relocation.to;
        let package = parent(to);
        let is_relative = module.starts_with('.');
        let in_package = package != self.relocation.after.base(to) || is_relative;
        let same = package == target.key && self.new_file == self.file;
        let spelled = || self.spell(package, is_relative, &target.base);
        let module = match (same, in_package) {
            (true, _) => Some(own.to_owned()),
            (false, true) => Some(spelled()).filter(|text| !text.is_empty()),
            (false, false) => None,
        };
        Renamed {
            module,
            name: last(to).to_owned(),
        }
    }

    /// A name of an import as it is written afterwards. Its uses are renamed with it, or an
    /// alias keeps them as they are.
    fn bound_text(
        &mut self,
        scopes: &Scopes,
        statement: &ImportStmt,
        name: &ImportedName,
        new: &str,
    ) -> String {
        if name.alias.is_some() || name.name == new {
            return with_alias(new, name.alias.as_deref());
        }
        if scopes.mentions(new) {
            return with_alias(new, Some(&name.name));
        }
        for use_ in scopes.uses_of(statement.scope, &name.name) {
            if use_.role != Role::Import {
                self.edits.replace(use_.range, new);
            }
        }
        if statement.scope == MODULE {
            for range in strings::offers(self.source, self.file, &name.name) {
                self.edits.replace(range, new);
            }
        }
        new.to_owned()
    }

    /// How many parts of a dotted name lead to what moves, and by which import.
    fn reaches(&self, scopes: &Scopes, use_: &Use) -> Option<(usize, &ModuleBinding)> {
        let scope = scopes.scope_of(use_)?;
        let bound = self.bound.get(&(scope, use_.name.clone()))?;
        let mut key = bound.key.clone();
        let mut parts = 0;
        while key != self.relocation.from {
            let part = &use_.parts.get(parts)?.0;
            key = part_of(self.index, &self.relocation.before, &key, part)?;
            parts += 1;
        }
        Some((parts, bound))
    }

    /// `a.b.c`, written out.
    fn chain(&mut self, scopes: &Scopes, use_: &Use) {
        let Some((parts, bound)) = self.reaches(scopes, use_) else {
            return;
        };
        let (from, to) = (&self.relocation.from, &self.relocation.to);
        let same_parent = parent(from) == parent(to);
        match parts.checked_sub(1) {
            // The name alone: an import of it by `from` was renamed with it.
            None if !bound.is_plain => {}
            None => {
                let spelled = self.spell(to, false, &self.relocation.before.base(from));
                self.check_head(scopes, use_, &spelled);
                self.edits.replace(use_.range, spelled);
            }
            // A package calls it something else, and still does.
            Some(at) if use_.parts[at].0 != last(from) => {}
            Some(at) if same_parent => self.edits.replace(use_.parts[at].1, last(to)),
            Some(at) => {
                let spelled = self.spell(to, false, &self.relocation.before.base(from));
                let statement = &scopes.imports[bound.statement];
                let has_import = bound.is_plain && self.is_imported(statement);
                let same_head = spelled.split('.').next() == Some(&*use_.name);
                let range = TextRange::new(use_.range.start(), use_.parts[at].1.end());
                if !(has_import || bound.is_plain && same_head) {
                    let import = format!("import {spelled}");
                    self.edits.statement(statement.range.start(), import);
                }
                self.check_head(scopes, use_, &spelled);
                self.edits.replace(range, spelled);
            }
        }
    }

    /// Whether a plain import names what moves, and so will name it where it is then.
    fn is_imported(&self, statement: &ImportStmt) -> bool {
        let finds = |name: &ImportedName| self.relocation.before.find(self.file, &name.name);
        let mut targets = statement.names.iter().filter_map(finds);
        targets.any(|target| self.relocation.moves(&target.key))
    }

    fn spell(&self, key: &str, is_relative: bool, base: &str) -> String {
        let after = &self.relocation.after;
        after.spell(&self.new_file, key, is_relative, base)
    }
}
