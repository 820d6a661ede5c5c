//! A function, class or constant in another module.

use std::collections::BTreeSet;
use std::path::Path;

use pillion_catalogue::{Result, work};
use pillion_changes::{ChangeSet, LeftAlone};
use pillion_index::facts::name_hash;
use pillion_index::modules::{self, Modules};
use pillion_index::source::{Source, Span};
use pillion_symbols::open_files::OpenFiles;
use pillion_symbols::project::View;

use super::cycles::{self, Imports};
use super::definition::{Move, Moving};
use super::imports::Line;
use super::text::Text;
use super::users::{Users, knows};
use super::{class_hooks, order, registering, span_of, string_imports, stubs};
use crate::embedded::{self, Form, Sought};
use crate::{documents, parse_check, strings};

/// What looks names up by strings.
const LOOKUPS: &[&str] = &[
    "__getattr__",
    "__import__",
    "attrgetter",
    "delattr",
    "getattr",
    "globals",
    "hasattr",
    "import_module",
    "patch",
    "setattr",
];

/// The change that moves a definition of a module to another module.
pub async fn move_symbol(view: &View, moving: Moving) -> Result<ChangeSet> {
    let own = view.clone();
    let made = work(move |_| {
        let moving = stubs::of_source(&own, moving);
        Move::new(&own, &moving)?.change()
    });
    let mut set = made.await??;
    order::put_in_order(view, &mut set).await?;
    Ok(set)
}

impl Move<'_> {
    fn change(self) -> Result<ChangeSet> {
        let mut opened = OpenFiles::new(self.view);
        let needs = self.search().find(&mut opened)?;
        let mut set = ChangeSet::new(self.view.root().to_owned());
        let users = Users {
            view: self.view,
            modules: &self.modules,
            origin: &self.origin,
            to: &self.moving.to,
            name: &self.moving.name,
        };
        let stays = self.still_needed() || users.takes_from_itself();
        let mut importers = Vec::new();
        let found = users.edits()?;
        if let Some((file, span, name)) = &found.taken {
            return Err(super::in_the_way(&mut opened, file, *span, name));
        }
        for (file, edits) in found.edits {
            importers.push(modules::key(&file).to_owned());
            set.edit(&file, edits)?;
        }
        let lines = self.lines(&needs, &mut opened)?;
        for line in lines.iter().filter(|line| line.for_types) {
            if needs.of_origin.contains_key(&line.name) {
                set.warn(format!(
                    "`{}` is imported for type checkers alone: what reads annotations while the \
                     program runs does not find it",
                    line.name
                ));
            }
        }
        if !self.moving.allow_cycles {
            self.check_cycles(&lines, stays, &importers)?;
        }
        self.arrive(&needs, &lines, &mut set)?;
        self.leave(&needs, stays, &mut set)?;
        for init in super::module::inits(self.view, &self.origin.key, &self.moving.to) {
            set.create(&init, "")?;
        }
        self.space(&mut set)?;
        self.move_stub(&mut opened, &mut set)?;
        for (path, span) in found.stored {
            set.leave(LeftAlone {
                location: opened.location(&self.view.root().join(path), span),
                why: "it gets another value here: modules that import it by name do not see that"
                    .into(),
            });
        }
        needs
            .warnings
            .iter()
            .for_each(|warning| set.warn(&**warning));
        self.warn_of_guess(stays || !needs.of_origin.is_empty(), &mut set);
        parse_check::check(&self.view.index, &set, "the move")?;
        if !stays {
            self.list_registering(&mut opened, &mut set);
        }
        self.list_late(&mut opened, &mut set);
        self.list_replaced(&needs, &mut set);
        self.list_possible(stays, &mut opened, &mut set);
        self.warn_of_annotations(&mut set);
        self.warn_of_tests(&mut set);
        if self.is_new {
            let modules = (&Modules::of(&self.view.index), &self.modules);
            let key = &self.destination.key;
            super::list_newly_meant(self.view, modules, key, str::to_owned, &mut set);
        }
        Ok(set)
    }

    /// Refuse a move after which modules import each other that did not before.
    fn check_cycles(&self, lines: &[Line], stays: bool, importers: &[String]) -> Result<()> {
        let read = |file: &str| Some(self.view.source(Path::new(file))?.text().to_owned());
        let mut graph = Imports::new(&self.modules, read);
        let own = &self.destination.key;
        let imported = |text: &Text| cycles::imported(&self.modules, &text.file, &text.scopes);
        let before = imported(&self.destination);
        let mut after = before.clone();
        for line in lines.iter().filter(|line| !line.for_types) {
            let text = Text::new(&self.moving.to, Source::from_text(&line.text()));
            after.extend(imported(&text));
        }
        let mut new: BTreeSet<String> = after.difference(&before).cloned().collect();
        // Names are only there once a module has run; the module itself can be imported sooner.
        let taken = |text: &Text| cycles::taken_from(&self.modules, &text.file, &text.scopes);
        let known = taken(&self.destination);
        for line in lines.iter().filter(|line| !line.for_types) {
            let text = Text::new(&self.moving.to, Source::from_text(&line.text()));
            new.extend(taken(&text).difference(&known).cloned());
        }
        // It does not import from the old module what it then has itself.
        graph.set(own, after.clone());
        let reaches_own = |graph: &mut Imports<'_>, key: &str| graph.of(key).contains(own);
        let mut came: BTreeSet<String> = BTreeSet::new();
        for key in importers.iter().chain(stays.then_some(&self.origin.key)) {
            let takes_names = || *key == self.origin.key && !taken(&self.origin).contains(own);
            if key != own && (!reaches_own(&mut graph, key) || stays && takes_names()) {
                came.insert(key.clone());
            }
        }
        for key in &came {
            let mut imports = graph.of(key).clone();
            cycles::reach(&mut imports, own, key);
            graph.set(key, imports);
        }
        let way = graph.way(&new, |key| key == own).or_else(|| {
            let ends = |key: &str| came.contains(key);
            let mut way = graph.way(&after, ends)?;
            way.push(own.clone());
            Some(way)
        });
        let Some(way) = way else {
            return Ok(());
        };
        Err(cycles::refused(
            &self.modules,
            std::iter::once(own).chain(&way),
        ))
    }

    /// Say so if the name of a module is only a guess, and one of the two imports the other.
    fn warn_of_guess(&self, is_named: bool, set: &mut ChangeSet) {
        let keys = [&self.origin.key, &self.destination.key];
        let guessed = keys.into_iter().find(|key| self.modules.is_guess(key));
        if let Some(key) = guessed.filter(|_| is_named) {
            set.warn(format!(
                "`{}` has no `__init__.py`, and no import tells how what lies in it is called: \
                 `{}` is taken for a module beside a script",
                modules::parent(key),
                self.modules.dotted(key)
            ));
        }
    }

    /// List what the definition did when its old module was imported.
    fn list_registering(&self, opened: &mut OpenFiles, set: &mut ChangeSet) {
        let at = registering::RegisteredDefinition {
            view: self.view,
            modules: &self.modules,
            origin: &self.origin,
        };
        let path = self.view.root().join(&self.origin.file);
        for range in registering::fixtures(&at, &self.pieces) {
            set.leave(LeftAlone {
                location: opened.location(&path, span_of(&self.origin.source, range)),
                why: "tests have it only when the new module is imported where pytest looks".into(),
            });
        }
        let places = registering::places(&at, &self.pieces);
        let (from, to) = (&self.origin.key, &self.destination.key);
        if places.is_empty() || registering::imports(&at, from, to) {
            return;
        }
        for range in places {
            set.leave(LeftAlone {
                location: opened.location(&path, span_of(&self.origin.source, range)),
                why: "this happens when the new module is imported, and the old one does not \
                      import that"
                    .into(),
            });
        }
    }

    /// List what changes how a class is made, and is done before that now.
    fn list_late(&self, opened: &mut OpenFiles, set: &mut ChangeSet) {
        let path = self.view.root().join(&self.origin.file);
        let of = (self.view, &self.modules);
        for range in class_hooks::places(of, &self.origin, &self.pieces) {
            set.leave(LeftAlone {
                location: opened.location(&path, span_of(&self.origin.source, range)),
                why: "this changes how the class is made, and the class is made after this then"
                    .into(),
            });
        }
    }

    fn list_possible(&self, stays: bool, opened: &mut OpenFiles, set: &mut ChangeSet) {
        let dotted = self.modules.dotted(&self.origin.key);
        let name = format!("{dotted}.{}", self.moving.name);
        let root = self.view.root();
        let in_python = strings::mentions(&self.view.index, root, &name);
        let in_others = documents::mentions(&self.view.snapshot, &name);
        // As entry points are written.
        let entry = format!("{dotted}:{}", self.moving.name);
        let entries = documents::mentions(&self.view.snapshot, &entry);
        let embedded = self.embedded(stays);
        let mut listed = BTreeSet::new();
        let all = in_python.into_iter().chain(in_others).chain(entries);
        for (path, span, why) in all.chain(embedded) {
            if !listed.insert((path.clone(), span.end)) {
                continue;
            }
            set.leave(LeftAlone {
                location: opened.location(&root.join(&path), span),
                why: why.into(),
            });
        }
        for (path, span) in strings::exactly(&self.view.index, root, &self.moving.name) {
            if self.may_look_up(&path) && !listed.contains(&(path.clone(), span.end)) {
                set.leave(LeftAlone {
                    location: opened.location(&root.join(&path), span),
                    why: "a string with this name: it may be looked up in the old module".into(),
                });
            }
        }
        let hash = name_hash(&self.moving.name);
        for (path, span) in string_imports::places(self.view, &self.modules, &self.origin.key) {
            let facts = self.view.index.get(&path);
            if facts.is_some_and(|facts| facts.may_mention(hash)) {
                set.leave(LeftAlone {
                    location: opened.location(&root.join(&path), span),
                    why: "the old module is looked up by its name here".into(),
                });
            }
        }
    }

    /// Where code that texts hold takes it from the old module; and what the doctests that go
    /// along have from there.
    fn embedded(&self, stays: bool) -> Vec<(String, Span, &'static str)> {
        let origin = &self.origin;
        let sought = Sought {
            name: self.moving.name.clone(),
            form: Form::Name,
            homes: [origin.file.clone()].into(),
            owners: [modules::last(&origin.key).to_owned()].into(),
        };
        let moves = |span: &Span| {
            let mut pieces = self.pieces.iter();
            pieces.any(|piece| span_of(&origin.source, *piece).holds(span))
        };
        // What still needs it imports it, and offers it so.
        let found = match stays {
            true => Vec::new(),
            false => embedded::uses(&self.view.index, &self.view.snapshot, &sought),
        };
        let users = found.into_iter();
        let users = users.filter(|one| one.file != origin.file || !moves(&one.span));
        let users = users.map(|one| (one.file, one.span, one.why));
        let here = origin.scopes.module_bindings();
        let there = self.destination.scopes.module_bindings();
        let own = embedded::names_in_doctests(&origin.source, &origin.file, &self.pieces);
        let own = own.into_iter().filter(|(name, _)| {
            *name != self.moving.name
                && here.contains_key(name.as_str())
                && !there.contains_key(name.as_str())
        });
        let why = "its doctest has this from the old module";
        let own = own.map(|(_, span)| (origin.file.clone(), span, why));
        users.chain(own).collect()
    }

    /// Warn if only one of the modules keeps annotations as texts, and there are any.
    fn warn_of_annotations(&self, set: &mut ChangeSet) {
        let is_lazy = |text: &Text| {
            let mut imports = text.scopes.imports.iter();
            imports.any(|import| {
                let from = import.from.as_ref();
                from.is_some_and(|(module, _)| module == "__future__")
                    && import.names.iter().any(|name| name.name == "annotations")
            })
        };
        let (before, after) = (is_lazy(&self.origin), is_lazy(&self.destination));
        let text = self.origin.source.text();
        let mut pieces = self.pieces.iter();
        let annotates = pieces.any(|piece| {
            let piece = &text[*piece];
            piece.contains("->") || piece.contains(": ")
        });
        if self.is_new || before == after || !annotates {
            return;
        }
        let what = match after {
            true => "keeps annotations as texts",
            false => "computes annotations",
        };
        set.warn(format!(
            "`{}` {what}, `{}` does not: what reads them while the program runs sees that",
            self.moving.to, self.origin.file
        ));
    }

    /// Warn if pytest does not look for tests where one goes.
    fn warn_of_tests(&self, set: &mut ChangeSet) {
        let name = &*self.moving.name;
        let is_test = name.starts_with("test") || name.starts_with("Test");
        let (from, to) = (&*self.moving.file, &*self.moving.to);
        match (
            string_imports::is_for_pytest(from),
            string_imports::is_for_pytest(to),
        ) {
            (true, false) if is_test => set.warn(format!(
                "tests in `{to}` are not found: pytest looks for files called `test_`"
            )),
            (false, true) if is_test => {
                set.warn(format!("`{name}` is run by pytest as a test in `{to}`"));
            }
            _ => {}
        }
    }

    /// Whether strings of a file may name what the old module has: it looks things up by name,
    /// and knows the module, lies beside it, or hands out names itself.
    fn may_look_up(&self, file: &str) -> bool {
        let Some(facts) = self.view.index.get(file) else {
            return false;
        };
        let name = &*self.moving.name;
        let offers = facts.all.as_ref();
        let looks_up = LOOKUPS.iter().any(|f| facts.may_mention(name_hash(f)));
        if !looks_up || offers.is_some_and(|all| all.iter().any(|n| **n == *name)) {
            return false;
        }
        let own = &self.origin.key;
        let lazy = facts.symbols.iter().any(|s| &*s.name == "__getattr__");
        let beside = modules::parent(modules::key(file)) == modules::parent(own);
        lazy || knows(self.view, &self.modules, own, file)
            || beside && !modules::parent(own).is_empty()
            || modules::key(file) == own
    }
}
