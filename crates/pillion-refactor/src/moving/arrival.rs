//! A definition in the module that it moves to.

use pillion_catalogue::{Code, Error, Result};
use pillion_changes::ChangeSet;
use pillion_index::scopes::{MODULE, Role, What, When};
use pillion_symbols::open_files::OpenFiles;
use ruff_text_size::{TextRange, TextSize};
use serde_json::json;

use super::definition::Move;
use super::imports::{self, Line};
use super::needs::Needs;
use super::pieces::{edited, floor_of, with_comments};
use super::text::Text;
use super::users::Users;
use super::{Edits, span_of};

impl Move<'_> {
    /// Put it into the new module.
    pub(super) fn arrive(&self, needs: &Needs, lines: &[Line], set: &mut ChangeSet) -> Result<()> {
        let mut blocks = Vec::new();
        for piece in &self.pieces {
            blocks.push(edited(self.origin.source.text(), *piece, &needs.edits));
        }
        let is_code = |block: &String| !block.trim_start().starts_with('#') || block.contains('\n');
        let gap = if blocks.iter().any(is_code) {
            "\n\n\n"
        } else {
            "\n"
        };
        let body = blocks.join(gap);
        let mut lines = lines.to_vec();
        if self.needs_lazy_annotations() {
            lines.insert(0, Line::of_name("__future__", "annotations"));
        }
        if self.is_new {
            let types = |line: &&Line| line.for_types;
            let head: Vec<String> = lines.iter().filter(|l| !types(l)).map(Line::text).collect();
            let checked: Vec<String> = lines.iter().filter(types).map(Line::text).collect();
            let mut head = head.join("\n");
            if !checked.is_empty() {
                head.push_str("\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    ");
                head.push_str(&checked.join("\n    "));
            }
            let head = head.trim_start();
            let text = match head.is_empty() {
                true => format!("{body}\n"),
                false => format!("{head}\n\n\n{body}\n"),
            };
            return set.create(&self.moving.to, &text);
        }
        let mut edits = Edits::default();
        self.own_imports(&mut edits);
        let text = &self.destination;
        match self.place(needs)? {
            Some(at) => edits.replace(TextRange::empty(at), format!("{body}\n\n\n")),
            None => {
                let whole = text.source.text();
                let end = TextSize::of(whole.trim_end());
                let gap = if whole.trim().is_empty() {
                    ""
                } else {
                    "\n\n\n"
                };
                let rest = TextRange::new(end, TextSize::of(whole));
                edits.replace(rest, format!("{gap}{body}\n"));
            }
        }
        imports::add(text, &lines, &mut edits);
        set.edit(&self.moving.to, edits.finish(&text.source))
    }

    /// What the new module took from the old one it has itself now.
    fn own_imports(&self, edits: &mut Edits) {
        let users = Users {
            view: self.view,
            modules: &self.modules,
            origin: &self.origin,
            to: &self.moving.to,
            name: &self.moving.name,
        };
        users.at_home(&self.destination, edits);
    }

    /// Whether annotations of the definition are text, and would not be in the new module.
    fn needs_lazy_annotations(&self) -> bool {
        let lazy = |text: &Text| {
            text.scopes.imports.iter().any(|statement| {
                let from = statement.from.as_ref();
                from.is_some_and(|(module, _)| module == "__future__")
                    && statement
                        .names
                        .iter()
                        .any(|name| name.name == "annotations")
            })
        };
        let search = self.search();
        let mut uses = self.origin.scopes.uses.iter();
        let annotated = uses.any(|use_| use_.when == When::Never && search.moves(use_.range));
        annotated && lazy(&self.origin) && !lazy(&self.destination)
    }

    /// Where in the new module: before what uses it there when it is imported, but behind
    /// what it needs itself; else at the end.
    fn place(&self, needs: &Needs) -> Result<Option<TextSize>> {
        let text = &self.destination;
        let scopes = &text.scopes;
        let name = &self.moving.name;
        let now = |use_: &&pillion_index::scopes::Use| use_.when == When::Import;
        let used = scopes.uses_of(MODULE, name).filter(now);
        let used = used.filter(|use_| use_.role == Role::Read);
        let through = scopes.uses.iter().filter(|use_| {
            let part = use_.parts.first().is_some_and(|(part, _)| part == name);
            part && use_.when == When::Import
        });
        let first_use = used
            .chain(through)
            .map(|use_| use_.range)
            .min_by_key(|r| r.start());
        let statement = |range: TextRange| {
            let mut all = scopes.statements.iter();
            all.find(|statement| statement.range.contains_range(range))
        };
        let main = scopes
            .statements
            .last()
            .filter(|last| last.what == What::Main);
        let before = first_use.and_then(statement).or(main);
        let Some(before) = before else {
            return Ok(None);
        };
        let pressing = needs
            .of_destination
            .iter()
            .filter(|(_, when)| **when == When::Import);
        let bound = scopes.module_bindings();
        for (need, _) in pressing {
            let defined = bound.get(need.as_str()).and_then(|all| all.first());
            if let Some(defined) = defined.filter(|d| d.range.start() > before.range.start()) {
                let mut opened = OpenFiles::new(self.view);
                let path = self.view.root().join(&self.moving.to);
                let location = opened.location(&path, span_of(&text.source, defined.range));
                return Err(Error::new(
                    Code::Conflict,
                    format!("`{name}` needs `{need}`, which is defined behind its first use there"),
                )
                .hint("bring the definitions of that module into another order first")
                .data(json!({ "location": location })));
            }
        }
        let floor = floor_of(scopes, before.range);
        let whole = with_comments(text.source.text(), before.range, floor);
        Ok(Some(whole.start()))
    }
}
