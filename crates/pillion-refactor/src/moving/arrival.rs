//! A definition in the module that it moves to.

use std::collections::BTreeSet;

use pillion_catalogue::{Code, Error, Result};
use pillion_changes::ChangeSet;
use pillion_index::scopes::{MODULE, Role, Statement, Use, What, When};
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
            return set.create(&self.moving.to, &whole(&lines, &body));
        }
        let mut edits = Edits::default();
        self.own_imports(&mut edits)?;
        let text = &self.destination;
        let place = self.place(needs)?;
        let is_empty = text.scopes.statements.is_empty();
        match place {
            Some(at) => edits.replace(TextRange::empty(at), format!("{body}\n\n\n")),
            None => {
                let old = text.source.text();
                let end = TextSize::of(old.trim_end());
                let gap = match (old.trim().is_empty(), is_empty) {
                    (true, _) => "",
                    // What stands there are comments.
                    (false, true) => "\n\n",
                    (false, false) => "\n\n\n",
                };
                let new = match is_empty {
                    true => whole(&lines, &body),
                    false => format!("{body}\n"),
                };
                let rest = TextRange::new(end, TextSize::of(old));
                edits.replace(rest, format!("{gap}{new}"));
            }
        }
        if !is_empty {
            imports::add(text, &lines, place, &mut edits);
        }
        set.edit(&self.moving.to, edits.finish(&text.source))
    }

    /// What the new module took from the old one it has itself now.
    fn own_imports(&self, edits: &mut Edits) -> Result<()> {
        let users = Users {
            view: self.view,
            modules: &self.modules,
            origin: &self.origin,
            to: &self.moving.to,
            name: &self.moving.name,
        };
        let text = &self.destination;
        if let Some((alias, range)) = users.alias_of_two(text) {
            let mut opened = OpenFiles::new(self.view);
            let path = self.view.root().join(&self.moving.to);
            let location = opened.location(&path, span_of(&text.source, range));
            let what = format!(
                "`{alias}` is `{}` in one branch there, and something else in another: {}:{}:{}",
                self.moving.name, location.file, location.line, location.column
            );
            return Err(Error::new(Code::Conflict, what)
                .hint("import it under its own name first")
                .data(json!({ "location": location })));
        }
        users.at_home(text, edits);
        Ok(())
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
        let now = |use_: &&Use| use_.when == When::Import;
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
        let direct = first_use.and_then(statement).or(main);
        // A function that uses it may be called when the module is imported.
        let called = self.first_call().and_then(statement);
        let called = called.filter(|called| {
            let is_sooner = |direct: &Statement| called.range.start() < direct.range.start();
            direct.is_none_or(is_sooner) && self.needed_behind(needs, called).is_none()
        });
        let Some(before) = called.or(direct) else {
            return Ok(None);
        };
        if let Some((need, at)) = self.needed_behind(needs, before) {
            let mut opened = OpenFiles::new(self.view);
            let path = self.view.root().join(&self.moving.to);
            let location = opened.location(&path, span_of(&text.source, at));
            return Err(Error::new(
                Code::Conflict,
                format!("`{name}` needs `{need}`, which is defined behind its first use there"),
            )
            .hint("bring the definitions of that module into another order first")
            .data(json!({ "location": location })));
        }
        let floor = floor_of(scopes, before.range);
        let whole = with_comments(text.source.text(), before.range, floor);
        Ok(Some(whole.start()))
    }

    /// What it needs of the new module as soon as that is imported, and is defined there behind
    /// a statement.
    fn needed_behind<'n>(
        &self,
        needs: &'n Needs,
        before: &Statement,
    ) -> Option<(&'n str, TextRange)> {
        let mut pressing = needs.of_destination.iter();
        let bound = self.destination.scopes.module_bindings();
        pressing.find_map(|(need, when)| {
            let defined = bound.get(need.as_str()).and_then(|all| all.first());
            let is_behind = |defined: &&&Use| defined.range.start() > before.range.start();
            let defined = defined
                .filter(|_| *when == When::Import)
                .filter(is_behind)?;
            Some((need.as_str(), defined.range))
        })
    }

    /// Where the new module, when it is imported, first uses one of its own definitions that
    /// uses what comes, or uses another that does.
    fn first_call(&self) -> Option<TextRange> {
        let scopes = &self.destination.scopes;
        let bound = scopes.module_bindings();
        let mut using = BTreeSet::from([self.moving.name.as_str()]);
        let uses: Vec<&Use> = scopes
            .uses
            .iter()
            .filter(|use_| use_.role == Role::Read && scopes.scope_of(use_) == Some(MODULE))
            .collect();
        let defines = scopes.statements.iter().filter(|s| s.what == What::Define);
        let mut defines: Vec<TextRange> = defines.map(|statement| statement.range).collect();
        // `shop.price`, where `price` moves here out of `shop`.
        let through = |use_: &Use| {
            let part = use_.parts.first();
            part.is_some_and(|(part, _)| *part == self.moving.name)
        };
        loop {
            let uses_it = |use_: &&&Use| using.contains(use_.name.as_str()) || through(use_);
            let (found, rest): (Vec<TextRange>, Vec<TextRange>) =
                defines.into_iter().partition(|range| {
                    let mut uses = uses.iter().filter(uses_it);
                    uses.any(|use_| range.contains_range(use_.range))
                });
            for range in &found {
                let own = bound.iter().filter(|(_, all)| {
                    let mut all = all.iter();
                    all.any(|use_| range.contains_range(use_.range))
                });
                using.extend(own.map(|(name, _)| *name));
            }
            if found.is_empty() {
                break;
            }
            defines = rest;
        }
        let now = uses.iter().filter(|use_| use_.when == When::Import);
        let now = now.filter(|use_| using.contains(use_.name.as_str()));
        now.map(|use_| use_.range).min_by_key(|range| range.start())
    }
}

/// The text of a module that has nothing but these imports and this.
fn whole(lines: &[Line], body: &str) -> String {
    let types = |line: &&Line| line.for_types;
    let head: Vec<String> = lines.iter().filter(|l| !types(l)).map(Line::text).collect();
    let checked: Vec<String> = lines.iter().filter(types).map(Line::text).collect();
    let mut head = head.join("\n");
    if !checked.is_empty() {
        head.push_str("\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    ");
        head.push_str(&checked.join("\n    "));
    }
    let head = head.trim_start();
    match head.is_empty() {
        true => format!("{body}\n"),
        false => format!("{head}\n\n\n{body}\n"),
    }
}
