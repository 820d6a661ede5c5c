//! Change a signature: parameters are added, removed and ordered, in a function, in all that
//! override it, and wherever one of them is called.
//!
//! `subject` says which functions are meant, `callers` who calls them. What a call passes
//! to which parameter is decided by `binding`, and `writing` turns that into edits of the
//! file, by way of `list`.

mod binding;
mod callers;
mod decorated;
mod family;
mod function;
mod list;
mod parameters;
mod sites;
mod subject;
mod wanted;
mod writing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pillion_catalogue::{Code, Error, Result};
use pillion_changes::{ChangeSet, LeftAlone, TextEdit};
use pillion_index::answers::{Confidence, Location};
use pillion_index::facts::name_hash;
use pillion_index::parsed::{Parsed, parsed};
use pillion_index::source::{Source, Span};
use pillion_symbols::ask::EngineView;
use pillion_symbols::open_files::OpenFiles;
use pillion_symbols::references;
use pillion_symbols::spotted::Spotted;
use serde_json::json;

pub use wanted::SignatureChange;
pub use wanted::{AddedParameter, PassedValue};

use super::subject::absolute;
use super::{moving, parse_check, rename};
use callers::Callers;
use subject::{Definition, Subject};
use writing::{Call, Head, Written};

/// Places that an error names.
const MAX_PLACES: usize = 100;

/// The change that gives a function other parameters.
pub async fn change(
    engine: &EngineView,
    spot: &Spotted,
    wanted: &SignatureChange,
) -> Result<ChangeSet> {
    wanted.check()?;
    let subject = Subject::find(engine, spot, wanted).await?;
    let callers = Callers::find(engine, &subject).await?;
    let mut change = Change {
        engine,
        subject: &subject,
        wanted,
        opened: OpenFiles::new(&engine.view),
        set: ChangeSet::new(engine.view.root().to_owned()),
        unclear: Vec::new(),
    };
    let mut files: BTreeMap<&Path, (Vec<Head<'_>>, &[Call])> = BTreeMap::new();
    for definition in subject.definitions.iter().filter(|d| d.is_edited()) {
        let (heads, _) = files.entry(&definition.path).or_default();
        heads.push(definition.head());
    }
    for (path, calls) in &callers.calls {
        files.entry(path).or_default().1 = calls;
    }
    for (path, (heads, calls)) in files {
        change.file(path, &heads, calls)?;
    }
    change.refuse_unclear()?;
    for (path, span, why) in callers.left {
        change.leave(&path, span, why);
    }
    for (path, span) in &subject.unlike {
        let why = "a protocol asks for this name, but it has other parameters";
        change.leave(path, *span, why.to_owned());
    }
    change.list_possible().await?;
    change.list_lookups().await?;
    change.list_entered();
    change.list_decorated().await?;
    parse_check::check(&engine.view.index, &change.set, "the new signature")?;
    Ok(change.set)
}

struct Change<'a> {
    engine: &'a EngineView,
    subject: &'a Subject,
    wanted: &'a SignatureChange,
    opened: OpenFiles,
    set: ChangeSet,
    /// Calls that nobody can be sure about.
    unclear: Vec<(Location, String)>,
}

impl Change<'_> {
    /// The edits of one file.
    fn file(&mut self, path: &Path, heads: &[Head<'_>], calls: &[Call]) -> Result<()> {
        let file = self.opened.name(path).0;
        let Some(source) = self.opened.source(path) else {
            return Ok(());
        };
        let written = parsed(source.text(), &file, |parsed| {
            self.written(path, &source, parsed, heads, calls)
        })?;
        for range in &written.misfits {
            let why = "it does not fit the parameters as they are";
            self.leave(path, span_of(&source, range), why.to_owned());
        }
        for (range, what) in &written.doubts {
            let at = source.position(range.start);
            let place = format!("{file}:{}:{}", at.line + 1, at.column + 1);
            self.set.warn(format!("{place}: {what}"));
        }
        for (range, why) in &written.unclear {
            let place = self.opened.location(path, span_of(&source, range));
            self.unclear.push((place, why.clone()));
        }
        self.check_names(&file, !heads.is_empty(), !written.edits.is_empty());
        let edits = written.edits.into_iter().map(|edit| TextEdit {
            span: span_of(&source, &edit.range),
            text: edit.text,
        });
        let edits: Vec<TextEdit> = edits.collect();
        match edits.is_empty() {
            true => Ok(()),
            false => self.set.edit(&file, edits),
        }
    }

    /// What becomes of a file, if nothing that is removed is used.
    fn written(
        &mut self,
        path: &Path,
        source: &Source,
        parsed: &Parsed,
        heads: &[Head<'_>],
        calls: &[Call],
    ) -> Result<Written> {
        let written = writing::write(source.text(), parsed, heads, calls);
        for head in heads {
            let found = function::find(parsed.body(), head.at);
            let Some((function, _)) = found else { continue };
            self.check_body(path, source, head, function, &written)?;
        }
        Ok(written)
    }

    /// What is removed must not be used; what is added may now mean what was another.
    fn check_body(
        &mut self,
        path: &Path,
        source: &Source,
        head: &Head<'_>,
        function: &ruff_python_ast::StmtFunctionDef,
        written: &Written,
    ) -> Result<()> {
        let stays = |name: &str| head.new.iter().any(|p| p.name == name);
        let old = head.function.parameters.iter().map(|p| &p.name);
        for name in old.clone().filter(|name| !stays(name)) {
            let mut uses = function::uses_of(function, name).into_iter();
            // It may be handed to a call that does not get it any more.
            let is_gone = |at: &std::ops::Range<usize>| {
                let mut dropped = written.dropped.iter();
                dropped.any(|gone| gone.start <= at.start && at.end <= gone.end)
            };
            if let Some(at) = uses.find(|at| !is_gone(at)) {
                let place = self.opened.location(path, span_of(source, &at));
                let what = format!(
                    "`{name}` is used in the body: {}:{}",
                    place.file, place.line
                );
                return Err(Error::new(Code::Conflict, what)
                    .hint("remove its uses first, then the parameter")
                    .data(json!({ "location": place })));
            }
            if let Some(at) = function::named_by_decorator(function, name) {
                let place = self.opened.location(path, span_of(source, &at));
                let what = format!("a decorator names `{name}`: {}:{}", place.file, place.line);
                return Err(Error::new(Code::Conflict, what)
                    .hint("take it out of there first: the decorator would pass it")
                    .data(json!({ "location": place })));
            }
        }
        let is_other = !old.clone().eq(head.new.iter().map(|p| &p.name));
        if is_other && let Some(at) = function::uses_of(function, "locals").first() {
            let line = source.position(at.start).line + 1;
            let file = self.opened.name(path).0;
            self.set
                .warn(format!("{file}:{line}: `locals()` sees the parameters"));
        }
        for added in head.new.iter().filter(|p| p.is_added()) {
            if let Some(at) = function::uses_of(function, &added.name).first() {
                let line = source.position(at.start).line + 1;
                self.set.warn(format!(
                    "{}:{line}: `{}` means the parameter from now on",
                    self.opened.name(path).0,
                    added.name
                ));
            }
        }
        Ok(())
    }

    /// Warn of names in what is written that the file has never heard of.
    fn check_names(&mut self, file: &str, has_heads: bool, has_edits: bool) {
        if !has_edits {
            return;
        }
        let Some(facts) = self.engine.view.index.get(file) else {
            return;
        };
        for added in &self.wanted.add {
            let head = [&added.annotation, &added.default];
            let texts = head.into_iter().filter(|_| has_heads);
            for name in texts
                .chain([&added.value])
                .flat_map(|text| AddedParameter::names(text.as_ref()))
            {
                if !facts.may_mention(name_hash(&name)) && !BUILTINS.contains(&name.as_str()) {
                    let what = format!("`{name}` is written into `{file}`, which does not know it");
                    self.set.warn(what);
                }
            }
        }
    }

    /// Calls that nobody can be sure about: refused, unless the caller takes them as they are.
    fn refuse_unclear(&mut self) -> Result<()> {
        let unclear = std::mem::take(&mut self.unclear);
        let Some((first, why)) = unclear.first() else {
            return Ok(());
        };
        let count = unclear.len();
        if self.wanted.leave_unclear {
            let what = format!("{count} calls were left as they are, and may not fit any more");
            self.set.warn(what);
            for (location, why) in unclear {
                self.set.leave(LeftAlone { location, why });
            }
            return Ok(());
        }
        let more = match count {
            1 => String::new(),
            _ => format!(" ({} more)", count - 1),
        };
        let what = format!(
            "a call cannot be changed for certain: {}:{}: {why}{more}",
            first.file, first.line
        );
        let places = unclear.iter().take(MAX_PLACES);
        let places: Vec<_> = places
            .map(|(location, why)| json!({ "location": location, "why": why }))
            .collect();
        Err(Error::new(Code::Conflict, what)
            .hint("write these calls out, or say `leave_unclear` to leave them as they are")
            .data(json!({ "places": places })))
    }

    fn leave(&mut self, path: &Path, span: Span, why: String) {
        let location = self.opened.location(path, span);
        self.set.leave(LeftAlone { location, why });
    }

    /// Strings by which the function is looked up, or replaced: what is called then is not
    /// followed.
    async fn list_lookups(&mut self) -> Result<()> {
        if let Some(definition) = self.subject.definitions.first() {
            let computed = rename::computed(self.engine, &definition.spot()).await?;
            computed.into_iter().for_each(|told| self.set.warn(told));
        }
        let mut seen: Vec<(String, Span)> = Vec::new();
        for spot in self.called_by() {
            for one in rename::in_texts(self.engine, &spot).await? {
                if one.is_called && !seen.contains(&(one.file.clone(), one.span)) {
                    let path = absolute(self.engine, &one.file);
                    let why = format!("it is called {}: that stays as it is", one.why);
                    self.leave(&path, one.span, why);
                    seen.push((one.file, one.span));
                }
            }
        }
        for definition in self.subject.definitions.iter().filter(|d| d.is_edited()) {
            for place in rename::looked_up(self.engine, &definition.spot()).await? {
                if !seen.contains(&place) {
                    let path = absolute(self.engine, &place.0);
                    let why =
                        "it is looked up by its name here: what is called then stays as it is";
                    self.leave(&path, place.1, why.to_owned());
                    seen.push(place);
                }
            }
        }
        Ok(())
    }

    /// The names by which the functions are called: of an `__init__`, that of its class.
    fn called_by(&mut self) -> Vec<Spotted> {
        let class = self.subject.class.clone();
        let class = class.and_then(|(path, span)| {
            Some(Spotted {
                path: self.opened.name(&path).0,
                at: span.start,
                source: self.opened.source(&path)?,
                is_module: false,
            })
        });
        let edited = self.subject.definitions.iter().filter(|d| d.is_edited());
        // Those that stand for each other are found by any one of them.
        edited.take(1).map(Definition::spot).chain(class).collect()
    }

    /// Decorators that may hand the function to others: what is called then is not followed.
    fn list_entered(&mut self) {
        for definition in self.subject.definitions.iter().filter(|d| d.is_edited()) {
            let (file, source) = (&*definition.file, &*definition.source);
            let entered = moving::entered(&self.engine.view, file, source, definition.at);
            if let Some(span) = entered {
                let why =
                    "it may be entered somewhere by this: what is called there stays as it is";
                self.leave(&definition.path, span, why.to_owned());
            }
        }
    }

    /// Decorators that pass it something themselves.
    async fn list_decorated(&mut self) -> Result<()> {
        for definition in self.subject.definitions.iter().filter(|d| d.is_edited()) {
            let found = decorated::own_arguments(self.engine, &mut self.opened, definition);
            for (path, span) in found.await? {
                let why = "a decorator of the function calls it here with arguments of its own";
                self.leave(&path, span, why.to_owned());
            }
        }
        Ok(())
    }

    /// Calls on something without a known type.
    async fn list_possible(&mut self) -> Result<()> {
        if self.subject.class.is_some() {
            return Ok(());
        }
        let mut seen: Vec<(PathBuf, Span)> = Vec::new();
        for definition in &self.subject.definitions {
            let uses = references::find(self.engine, &definition.spot(), true).await?;
            let possible = uses.references.into_iter();
            for use_ in possible.filter(|r| r.confidence == Confidence::Possible) {
                let place = Definition::place_of(&use_.location);
                if !seen.contains(&place) {
                    seen.push(place);
                    self.set.leave(LeftAlone {
                        location: use_.location,
                        why: "the type of what stands before the dot is not known".into(),
                    });
                }
            }
        }
        Ok(())
    }
}

fn span_of(source: &Source, range: &std::ops::Range<usize>) -> Span {
    Span {
        start: source.position(range.start),
        end: source.position(range.end),
    }
}

/// Names that need no import, of those that stand in signatures.
const BUILTINS: &[&str] = &[
    "BaseException",
    "Exception",
    "Ellipsis",
    "bool",
    "bytearray",
    "bytes",
    "complex",
    "dict",
    "float",
    "frozenset",
    "int",
    "len",
    "list",
    "max",
    "min",
    "object",
    "print",
    "range",
    "set",
    "str",
    "sum",
    "tuple",
    "type",
];
