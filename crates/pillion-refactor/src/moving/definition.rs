//! A definition that moves to another module: the two modules, the statements that go, and
//! what each side needs for it.

use std::path::Path;

use pillion_catalogue::{Code, Error, Result};
use pillion_changes::ChangeSet;
use pillion_index::modules::{self, Modules};
use pillion_index::scopes::{MODULE, Role, What, When};
use pillion_index::source::Source;
use pillion_symbols::open_files::OpenFiles;
use pillion_symbols::project::View;
use ruff_text_size::TextRange;
use serde_json::json;

use super::imports::Line;
use super::needs::{Needs, Search, means_same};
use super::pieces::{floor_of, with_comments};
use super::spacing::spaced;
use super::span_of;
use super::text::Text;

/// What moves where.
#[derive(Debug, Clone)]
pub struct Moving {
    /// The file that defines it.
    pub file: String,
    /// Its name in that file.
    pub name: String,
    /// The file that is to define it; it need not exist.
    pub to: String,
    /// Whether the old module still offers it.
    pub reexport: bool,
    /// Whether modules may import each other afterwards.
    pub allow_cycles: bool,
}

/// A definition on its way, with the texts that it goes between.
pub(super) struct Move<'a> {
    pub(super) view: &'a View,
    pub(super) moving: &'a Moving,
    pub(super) modules: Modules,
    pub(super) origin: Text,
    pub(super) destination: Text,
    pub(super) is_new: bool,
    /// The statements that move, with the comments above them.
    pub(super) pieces: Vec<TextRange>,
}

impl<'a> Move<'a> {
    pub(super) fn new(view: &'a View, moving: &'a Moving) -> Result<Self> {
        if modules::key(&moving.file) == modules::key(&moving.to) {
            let what = format!("`{}` is in `{}` already", moving.name, moving.file);
            return Err(Error::new(Code::InvalidParams, what));
        }
        let read = |file: &str| view.source(Path::new(file));
        let source = read(&moving.file).ok_or_else(|| {
            Error::new(Code::NotFound, format!("`{}` cannot be read", moving.file))
        })?;
        let there = read(&moving.to);
        let is_new = there.is_none();
        let inits = super::module::inits(view, modules::key(&moving.file), &moving.to);
        let more: Vec<&str> = inits.iter().chain([&moving.to]).map(|p| &**p).collect();
        let mut modules = Modules::with(&view.index, &more);
        modules.assume(modules::key(&moving.to), modules::key(&moving.file));
        let mut new = Self {
            modules,
            view,
            moving,
            origin: Text::new(&moving.file, source),
            destination: Text::new(
                &moving.to,
                there.unwrap_or_else(|| Source::from_text("").into()),
            ),
            is_new,
            pieces: Vec::new(),
        };
        new.pieces = new.find_pieces()?;
        Ok(new)
    }

    pub(super) fn search(&self) -> Search<'_> {
        Search {
            index: &self.view.index,
            modules: &self.modules,
            origin: &self.origin,
            to: (&self.moving.to, &self.destination.key),
            name: &self.moving.name,
            pieces: &self.pieces,
        }
    }

    /// The statements that define it.
    fn find_pieces(&self) -> Result<Vec<TextRange>> {
        let name = &self.moving.name;
        let wrong = |range: TextRange, what: String, hint: &str| {
            let mut opened = OpenFiles::new(self.view);
            let path = self.view.root().join(&self.origin.file);
            let location = opened.location(&path, span_of(&self.origin.source, range));
            let place = format!("{}:{}:{}", location.file, location.line, location.column);
            Error::new(Code::InvalidParams, format!("{what}: {place}"))
                .hint(hint)
                .data(json!({ "location": location }))
        };
        if name.starts_with("__") && name.ends_with("__") {
            let what = format!("Python, or a tool, looks for `{name}` in this very module");
            return Err(Error::new(Code::InvalidParams, what).hint("it cannot be moved"));
        }
        let bound = self.origin.scopes.module_bindings();
        let Some(all) = bound.get(name.as_str()) else {
            let what = format!("`{}` does not define `{name}`", self.origin.file);
            return Err(Error::new(Code::InvalidParams, what)
                .hint("only what a module itself defines can be moved to another one"));
        };
        let mut pieces: Vec<TextRange> = Vec::new();
        for use_ in all {
            let changed = use_.role == Role::Change || use_.when != When::Import;
            if changed || use_.role == Role::Import {
                let what = match changed {
                    true => format!("`{name}` changes while the program runs"),
                    false => format!("`{name}` is imported here, not defined"),
                };
                let hint = "move it where it is defined, once it has one value";
                return Err(wrong(use_.range, what, hint));
            }
            let mut statements = self.origin.scopes.statements.iter();
            let statement = statements.find(|s| s.range.contains_range(use_.range));
            let fits = statement.filter(|s| matches!(s.what, What::Define | What::Constant));
            let Some(statement) = fits else {
                let what = format!("`{name}` is no definition of its own");
                return Err(wrong(use_.range, what, "write it as one statement first"));
            };
            let floor = floor_of(&self.origin.scopes, statement.range);
            let text = self.origin.source.text();
            pieces.push(with_comments(text, statement.range, floor));
        }
        pieces.sort_by_key(|piece| piece.start());
        pieces.dedup();
        Ok(pieces)
    }

    /// Whether the old module uses it after the move, or should offer it.
    pub(super) fn still_needed(&self) -> bool {
        let search = self.search();
        let mut uses = self.origin.scopes.uses_of(MODULE, &self.moving.name);
        self.moving.reexport || uses.any(|use_| !search.moves(use_.range))
    }

    /// The imports that the new module needs and does not have.
    pub(super) fn lines(&self, needs: &Needs, opened: &mut OpenFiles) -> Result<Vec<Line>> {
        let mut lines = needs.imports.clone();
        let base = self.modules.base(&self.origin.key);
        let is_relative = self.speaks_relative();
        let origin = self
            .modules
            .spell(&self.moving.to, &self.origin.key, is_relative, &base);
        for (name, when) in &needs.of_origin {
            let mut line = Line::of_name(&origin, name);
            line.for_types = *when == When::Never;
            lines.push(line);
        }
        for line in &lines {
            if means_same(&self.modules, &self.destination, line) == Some(false) {
                return Err(self.taken(line.bound(), opened));
            }
        }
        let name = &self.moving.name;
        let own = Line::of_name(&self.spell_origin_from(&self.destination), name);
        let taken = means_same(&self.modules, &self.destination, &own) == Some(false);
        if taken {
            return Err(self.taken(name, opened));
        }
        Ok(lines)
    }

    fn spell_origin_from(&self, text: &Text) -> String {
        let base = self.modules.base(&self.origin.key);
        self.modules
            .spell(&text.file, &self.origin.key, false, &base)
    }

    /// Whether relative imports are the way of these modules.
    pub(super) fn speaks_relative(&self) -> bool {
        let speaks = |text: &Text| {
            let mut from = text.scopes.imports.iter().filter_map(|s| s.from.as_ref());
            from.any(|(module, _)| module.starts_with('.'))
        };
        speaks(&self.destination) || speaks(&self.origin)
    }

    fn taken(&self, name: &str, opened: &mut OpenFiles) -> Error {
        let bound = self.destination.scopes.module_bindings();
        let there = bound.get(name).and_then(|all| all.first());
        let span = there.map(|use_| span_of(&self.destination.source, use_.range));
        let path = self.view.root().join(&self.moving.to);
        let location = opened.location(&path, span.unwrap_or_default());
        let place = format!("{}:{}:{}", location.file, location.line, location.column);
        let what = format!("`{name}` means something else in the other module: {place}");
        Error::new(Code::Conflict, what)
            .hint("rename one of the two first")
            .data(json!({ "location": location }))
    }

    /// Leave room between what stands beside each other now.
    pub(super) fn space(&self, set: &mut ChangeSet) -> Result<()> {
        for text in [&self.origin, &self.destination] {
            if let Some(after) = set.text_after(&text.file) {
                let spaced = spaced(text.source.text(), &after, &text.file);
                if spaced != after {
                    set.set_text(&text.file, &spaced)?;
                }
            }
        }
        Ok(())
    }
}
