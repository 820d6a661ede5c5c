//! The files that use a definition, when it moves to another module.

use std::collections::BTreeMap;
use std::path::Path;

use pillion_catalogue::Result;
use pillion_changes::TextEdit;
use pillion_index::modules::{
    self, ModuleBinding, Modules, bindings, last, parent, part_of, submodule,
};
use pillion_index::scopes::{ImportStmt, MODULE, Role, Use};
use pillion_index::source::Span;
use pillion_symbols::project::View;
use ruff_text_size::TextRange;

use super::pieces::whole_line;
use super::text::Text;
use super::{Edits, cuts, span_of, with_alias};

/// What moves, for those who use it.
pub(super) struct Users<'a> {
    pub(super) view: &'a View,
    pub(super) modules: &'a Modules,
    pub(super) origin: &'a Text,
    /// The file it goes to.
    pub(super) to: &'a str,
    pub(super) name: &'a str,
}

/// What users of a definition are like after a move.
#[derive(Debug, Default)]
pub(super) struct Followed {
    pub(super) edits: Vec<(String, Vec<TextEdit>)>,
    /// Where it is given another value by way of its module.
    pub(super) stored: Vec<(String, Span)>,
    /// What stands in the way of the new module's name, and that name.
    pub(super) taken: Option<(String, Span, String)>,
}

impl Users<'_> {
    /// The edits of every file but the two modules themselves.
    pub(super) fn edits(&self) -> Result<Followed> {
        let mut all = Followed::default();
        for (file, facts) in self.view.index.iter() {
            let key = modules::key(file);
            let is_other = key != self.origin.key && key != modules::key(self.to);
            let takes_all = facts.imports.iter().any(|i| i.name.as_deref() == Some("*"));
            let may = facts.may_mention(pillion_index::facts::name_hash(self.name));
            if !is_other || !(may || takes_all) {
                continue;
            }
            let Some(source) = self.view.source(Path::new(&**file)) else {
                continue;
            };
            let text = Text::new(file, source);
            let mut edits = Edits::default();
            for statement in &text.scopes.imports {
                self.import(&text, statement, &mut edits);
            }
            let (mut stored, mut taken) = (Vec::new(), None);
            self.chains(&text, &mut edits, |use_, parts, bound, edits| {
                let clash = self.through_module(&text, use_, parts, bound, edits);
                taken = taken.take().or(clash);
                let range = use_.parts[parts].1;
                if is_stored(&text, range) {
                    stored.push(range);
                }
            });
            if let Some((range, name)) = taken {
                let span = span_of(&text.source, range);
                all.taken.get_or_insert((file.to_string(), span, name));
            }
            let spans = stored.into_iter().map(|range| span_of(&text.source, range));
            all.stored
                .extend(spans.map(|span| (file.to_string(), span)));
            if !edits.is_empty() {
                let edits = edits.finish(&text.source);
                all.edits.push((file.to_string(), edits));
            }
        }
        Ok(all)
    }

    /// Where other files give it another value by way of its module.
    pub(super) fn stores(&self) -> Vec<(String, Span)> {
        let hash = pillion_index::facts::name_hash(self.name);
        let mut all = Vec::new();
        for (file, _) in self.view.index.iter().filter(|(_, f)| f.may_mention(hash)) {
            if modules::key(file) == self.origin.key {
                continue;
            }
            let Some(source) = self.view.source(Path::new(&**file)) else {
                continue;
            };
            let text = Text::new(file, source);
            self.chains(&text, &mut Edits::default(), |use_, parts, _, _| {
                let range = use_.parts[parts].1;
                if is_stored(&text, range) {
                    all.push((file.to_string(), span_of(&text.source, range)));
                }
            });
        }
        all
    }

    /// Whether the old module imports itself, and takes the name from there.
    pub(super) fn takes_from_itself(&self) -> bool {
        let text = self.origin;
        let mut imports = text.scopes.imports.iter();
        let by_import = imports.any(|statement| {
            let mut names = statement.names.iter();
            names.any(|name| name.name == self.name)
                && self.takes_from_origin(text, statement).is_some()
        });
        let mut through_module = false;
        self.chains(text, &mut Edits::default(), |_, _, _, _| {
            through_module = true;
        });
        by_import || through_module
    }

    /// The module that an import takes names from, if it is the one that loses something.
    fn takes_from_origin<'s>(
        &self,
        text: &Text,
        statement: &'s ImportStmt,
    ) -> Option<(&'s str, TextRange, String)> {
        let (module, range) = statement.from.as_ref()?;
        let target = self.modules.find(&text.file, module)?;
        (target.key == self.origin.key).then_some((module, *range, target.base))
    }

    /// `from origin import name`.
    fn import(&self, text: &Text, statement: &ImportStmt, edits: &mut Edits) {
        let Some((module, module_range, base)) = self.takes_from_origin(text, statement) else {
            return;
        };
        let to = modules::key(self.to);
        let module = self
            .modules
            .spell(&text.file, to, module.starts_with('.'), &base);
        let is_it = |at: usize| {
            let name = &statement.names[at];
            let index = &self.view.index;
            name.name == self.name
                && submodule(index, self.modules, &self.origin.key, name).is_none()
        };
        for (at, name) in statement.names.iter().enumerate() {
            if name.name == "*" && self.wants_all(text) {
                let line = format!("from {module} import {}", self.name);
                edits.statement(statement.range.start(), line);
            }
            if !is_it(at) {
                continue;
            }
            if statement.names.len() == 1 {
                edits.replace(module_range, &*module);
                continue;
            }
            let names = with_alias(&name.name, name.alias.as_deref());
            let line = format!("from {module} import {names}");
            edits.statement(statement.range.start(), line);
        }
        if statement.names.len() > 1 {
            for range in cuts(statement, is_it) {
                edits.replace(range, "");
            }
        }
    }

    /// Whether a file that imports everything means this too.
    fn wants_all(&self, text: &Text) -> bool {
        let facts = self.view.index.get(&self.origin.file);
        let offers = facts.and_then(|facts| facts.all.as_ref());
        let offered = match offers {
            Some(all) => all.iter().any(|name| **name == *self.name),
            None => !self.name.starts_with('_'),
        };
        let is_used = text.scopes.mentions(self.name) || modules::is_init(&text.file);
        offered && (is_used || self.is_taken_from(&text.key))
    }

    /// Whether some file takes the name from a module.
    fn is_taken_from(&self, key: &str) -> bool {
        let files = self.view.index.files_with(self.name);
        files.iter().any(|file| {
            let facts = self.view.index.get(file);
            facts.is_some_and(|facts| {
                facts.imports.iter().any(|import| {
                    import.name.as_deref() == Some(self.name)
                        && self
                            .modules
                            .find(file, &import.module)
                            .is_some_and(|target| target.key == key)
                })
            })
        })
    }

    /// Every `module.name` that means it.
    fn chains(
        &self,
        text: &Text,
        edits: &mut Edits,
        mut each: impl FnMut(&Use, usize, &ModuleBinding, &mut Edits),
    ) {
        let bound = bindings(&self.view.index, self.modules, &text.file, &text.scopes);
        for use_ in text
            .scopes
            .uses
            .iter()
            .filter(|use_| !use_.parts.is_empty())
        {
            if let Some((parts, bound)) = self.reaches(text, &bound, use_) {
                each(use_, parts, bound, edits);
            }
        }
    }

    /// How many parts of a dotted name lead to the old module, if the next one is the name.
    fn reaches<'b>(
        &self,
        text: &Text,
        all: &'b BTreeMap<(usize, String), ModuleBinding>,
        use_: &Use,
    ) -> Option<(usize, &'b ModuleBinding)> {
        let scope = text.scopes.scope_of(use_)?;
        let bound = all.get(&(scope, use_.name.clone()))?;
        let mut key = bound.key.clone();
        let mut parts = 0;
        while key != self.origin.key {
            let part = &use_.parts.get(parts)?.0;
            key = part_of(&self.view.index, self.modules, &key, part)?;
            parts += 1;
        }
        let next = use_.parts.get(parts)?;
        (next.0 == self.name).then_some((parts, bound))
    }

    /// `origin.name` in a file that knows the module. Gives back what means something else by
    /// the name that the new module has there.
    fn through_module(
        &self,
        text: &Text,
        use_: &Use,
        parts: usize,
        bound: &ModuleBinding,
        edits: &mut Edits,
    ) -> Option<(TextRange, String)> {
        let to = modules::key(self.to);
        let end = match parts.checked_sub(1) {
            Some(before) => use_.parts[before].1.end(),
            None => use_.range.end(),
        };
        let range = TextRange::new(use_.range.start(), end);
        let all = bindings(&self.view.index, self.modules, &text.file, &text.scopes);
        let scope = text.scopes.scope_of(use_);
        let known = all.iter().find(|((at, _), known)| {
            known.key == to && (Some(*at) == scope || *at == MODULE) && !known.is_plain
        });
        if let Some(((at, name), _)) = known {
            edits.replace(range, name);
            let found = text.scopes.scope_of_name(use_, name);
            let other = found.filter(|scope| scope != at)?;
            return Some((text.scopes.binding_of(other, name)?, name.clone()));
        }
        let statement = &text.scopes.imports[bound.statement];
        let like = self.modules.base(&self.origin.key);
        let base = self.modules.base_for(&text.file, to, &like);
        let package = parent(to);
        let own_name = last(to);
        if !bound.is_plain && package != base && !text.scopes.mentions(own_name) {
            let is_relative = statement
                .from
                .as_ref()
                .is_some_and(|(module, _)| module.starts_with('.'));
            let from = self.modules.spell(&text.file, package, is_relative, &base);
            let line = format!("from {from} import {own_name}");
            edits.statement(statement.range.start(), line);
            edits.replace(range, own_name);
            return None;
        }
        let dotted = self.modules.spell(&text.file, to, false, &base);
        let has = text.scopes.imports.iter().any(|other| {
            let names = &mut other.names.iter();
            other.from.is_none() && names.any(|n| n.name == dotted && n.alias.is_none())
        });
        if !has {
            let line = format!("import {dotted}");
            edits.statement(statement.range.start(), line);
        }
        let head = dotted.split('.').next().unwrap_or_default().to_owned();
        edits.replace(range, dotted);
        let scope = text.scopes.scope_of_name(use_, &head)?;
        let is_it = all
            .get(&(scope, head.clone()))
            .is_some_and(|known| known.is_plain);
        let other = text.scopes.binding_of(scope, &head)?;
        (!is_it).then_some((other, head))
    }

    /// Another name under which the module that gets it takes it from the old one, if that
    /// name means something else in another branch.
    pub(super) fn alias_of_two(&self, text: &Text) -> Option<(String, TextRange)> {
        text.scopes.imports.iter().find_map(|statement| {
            self.takes_from_origin(text, statement)?;
            let mut names = statement.names.iter().filter(|name| name.name == self.name);
            names.find_map(|name| {
                let alias = name.alias.as_deref()?;
                let binds = text.scopes.uses_of(statement.scope, alias);
                let count = binds.filter(|use_| use_.role != Role::Read).count();
                (count > 1).then(|| (alias.to_owned(), name.range))
            })
        })
    }

    /// The module that gets it: what it took from the old one it has itself.
    pub(super) fn at_home(&self, text: &Text, edits: &mut Edits) {
        for statement in &text.scopes.imports {
            if self.takes_from_origin(text, statement).is_none() {
                continue;
            }
            let is_it = |at: usize| statement.names[at].name == self.name;
            for name in statement.names.iter().filter(|name| name.name == self.name) {
                if let Some(alias) = &name.alias {
                    for use_ in text.scopes.uses_of(statement.scope, alias) {
                        if use_.role != Role::Import {
                            edits.replace(use_.range, self.name);
                        }
                    }
                }
            }
            let in_block = !statement.at_top && statement.scope == MODULE;
            for range in cuts(statement, is_it) {
                match range == statement.range {
                    true if in_block => edits.replace(range, "pass"),
                    true => edits.replace(whole_line(text.source.text(), range), ""),
                    false => edits.replace(range, ""),
                }
            }
        }
        self.chains(text, edits, |use_, parts, _, edits| {
            let range = TextRange::new(use_.range.start(), use_.parts[parts].1.end());
            edits.replace(range, self.name);
        });
    }
}

/// Whether any file imports everything from a module.
pub(super) fn star_of(view: &View, modules: &Modules, key: &str) -> bool {
    view.index.iter().any(|(file, facts)| {
        facts.imports.iter().any(|import| {
            import.name.as_deref() == Some("*")
                && modules
                    .find(file, &import.module)
                    .is_some_and(|target| target.key == key)
        })
    })
}

/// Whether what ends here gets another value: `module.name = 1`, `module.name += 1`.
fn is_stored(text: &Text, range: TextRange) -> bool {
    let rest = text.source.text()[range.end().to_usize()..].trim_start_matches(' ');
    let rest = rest.trim_start_matches(|c| "+-*/%&|^@<>".contains(c));
    rest.starts_with('=') && !rest.starts_with("==")
}

/// Whether a file imports a module, or something of it.
pub(super) fn knows(view: &View, modules: &Modules, key: &str, file: &str) -> bool {
    let facts = view.index.get(file);
    facts.is_some_and(|facts| {
        facts.imports.iter().any(|import| {
            let target = modules.find(file, &import.module);
            target.is_some_and(|target| {
                let inner = import.name.as_ref();
                let inner = inner.map(|name| modules::join(&target.key, name));
                target.key == key || inner.is_some_and(|inner| inner == key)
            })
        })
    })
}
