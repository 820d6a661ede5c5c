//! A stub beside a module is the same definition once more: what moves in one, moves in both.

use pillion_catalogue::{Code, Error, Result};
use pillion_changes::{ChangeSet, LeftAlone};
use pillion_index::{Index, Symbol};
use pillion_symbols::open_files::OpenFiles;
use pillion_symbols::project::View;
use serde_json::json;

use super::definition::{Move, Moving};

/// The definition itself, where its stub was meant.
pub(super) fn of_source(view: &View, moving: Moving) -> Moving {
    let Some(source) = moving.file.strip_suffix('i') else {
        return moving;
    };
    let is_stub = moving.file.ends_with(".pyi");
    if !is_stub || top(&view.index, source, &moving.name).is_none() {
        return moving;
    }
    let to = match moving.to.strip_suffix(".pyi") {
        Some(stem) => format!("{stem}.py"),
        None => moving.to.clone(),
    };
    Moving {
        file: source.to_owned(),
        to,
        ..moving
    }
}

/// What a file itself defines by a name.
fn top<'i>(index: &'i Index, file: &str, name: &str) -> Option<&'i Symbol> {
    let symbols = index.get(file)?.symbols.iter();
    let mut own = symbols.filter(|symbol| symbol.container.is_none());
    own.find(|symbol| &*symbol.name == name)
}

impl Move<'_> {
    /// Move the definition of the stub as well, or say why that cannot be.
    pub(super) fn move_stub(&self, opened: &mut OpenFiles, set: &mut ChangeSet) -> Result<()> {
        if !self.moving.file.ends_with(".py") || !self.moving.to.ends_with(".py") {
            return Ok(());
        }
        let (stub, to) = (
            format!("{}i", self.moving.file),
            format!("{}i", self.moving.to),
        );
        let index = &self.view.index;
        let there = index.get(&to).is_some();
        let name = &self.moving.name;
        let Some(symbol) = top(index, &stub, name) else {
            if there && top(index, &to, name).is_none() {
                let path = self.view.root().join(&to);
                set.leave(LeftAlone {
                    location: opened.location(&path, pillion_index::source::Span::default()),
                    why: format!("type checkers only see what this stub has: add `{name}`"),
                });
            }
            return Ok(());
        };
        if !there && !self.is_new {
            let path = self.view.root().join(&stub);
            let location = opened.location(&path, symbol.name_span);
            let what = format!(
                "`{stub}` describes `{name}`, and `{}` has no stub to describe it in",
                self.moving.to
            );
            return Err(Error::new(Code::Conflict, what)
                .hint("write that stub first: with this name alone it would hide all others")
                .data(json!({ "location": location })));
        }
        let moving = Moving {
            file: stub,
            to,
            ..self.moving.clone()
        };
        let other = Move::new(self.view, &moving)?;
        let needs = other.search().find(opened)?;
        let lines = other.lines(&needs, opened)?;
        other.arrive(&needs, &lines, set)?;
        other.leave(&needs, other.still_needed(), set)?;
        other.space(set)
    }
}
