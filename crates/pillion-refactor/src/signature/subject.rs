//! Which functions a change of a signature is about, and what is refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pillion_catalogue::{Code, Error, Result};
use pillion_index::Kind;
use pillion_index::answers::Location;
use pillion_index::parsed::parsed;
use pillion_index::source::{Position, Source, Span};
use pillion_symbols::ask::EngineView;
use pillion_symbols::closure::{self, Family, Grower};
use pillion_symbols::definitions;
use pillion_symbols::occurrences;
use pillion_symbols::open_files::{self, FileSpan, OpenFiles};
use pillion_symbols::spotted::{Spotted, nothing_here};
use serde_json::json;

use super::family::follow;
use super::function::{self, Function, last_name};
use super::parameters::{Parameter, changed};
use super::wanted::{SignatureChange, invalid};
use super::writing::Head;

/// Decorators that make an `__init__` out of the fields of a class.
const FIELDS: &[&str] = &[
    "attrs",
    "attrib",
    "dataclass",
    "define",
    "frozen",
    "mutable",
    "s",
];
/// Decorators that make a function an attribute.
const ATTRIBUTES: &[&str] = &["cached_property", "property", "setter", "deleter", "getter"];

/// The functions that change.
#[derive(Debug)]
pub(super) struct Subject {
    /// The one that was meant, and those that stand for it.
    pub(super) definitions: Vec<Definition>,
    /// The class whose `__init__` it is.
    pub(super) class: Option<FileSpan>,
    /// Functions with other parameters that may be called in its place, since a protocol asks
    /// for their name.
    pub(super) unlike: Vec<FileSpan>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) path: PathBuf,
    /// The same, as callers see it.
    pub(super) file: String,
    pub(super) source: Arc<Source>,
    /// Where its name stands.
    pub(super) at: Position,
    pub(super) offset: usize,
    pub(super) function: Function,
    /// Its parameters after the change; nothing if it hands on whatever it gets.
    pub(super) new: Option<Vec<Parameter>>,
}

impl Subject {
    pub(super) async fn find(
        engine: &EngineView,
        spot: &Spotted,
        wanted: &SignatureChange,
    ) -> Result<Self> {
        let (place, class) = meant(engine, spot).await?;
        let family = family(engine, &place, class.is_some()).await?;
        let mut places = family.places;
        places.retain(|other| *other != place && closure::is_inside(engine, &other.0));
        let mut unlike = Vec::new();
        let mut opened = OpenFiles::new(&engine.view);
        let mut target = read(engine, &mut opened, &place)?;
        let new = changed(
            &target.function.parameters,
            target.function.first.as_deref(),
            wanted,
        )?;
        let mut definitions = Vec::new();
        for place in places {
            let mut other = read(engine, &mut opened, &place)?;
            let own = &other.function.parameters;
            let is_like = other.function.sort == target.function.sort;
            let followed = follow(own, &target.function.parameters, &new);
            other.new = match followed {
                Ok(new) if is_like => new,
                // What has the same name as something of a protocol need not be meant.
                _ if family.alike.contains(&place) => {
                    unlike.push(place);
                    continue;
                }
                _ => {
                    let location = opened.definition(&place.0, place.1);
                    let what = format!(
                        "the override in {}:{} has other parameters",
                        location.file, location.line
                    );
                    return Err(Error::new(Code::Conflict, what)
                        .hint("give both the same parameters first")
                        .data(json!({ "location": location })));
                }
            };
            definitions.push(other);
        }
        target.new = Some(new);
        definitions.insert(0, target);
        Ok(Self {
            definitions,
            class,
            unlike,
        })
    }
}

impl Definition {
    pub(super) fn is_edited(&self) -> bool {
        self.new.is_some()
    }

    /// The parameters after the change.
    pub(super) fn after(&self) -> &[Parameter] {
        self.new.as_deref().unwrap_or(&self.function.parameters)
    }

    pub(super) fn head(&self) -> Head<'_> {
        Head {
            at: self.offset,
            function: &self.function,
            new: self.after(),
        }
    }

    pub(super) fn spot(&self) -> Spotted {
        Spotted {
            path: self.file.clone(),
            at: self.at,
            source: Arc::clone(&self.source),
            is_module: false,
        }
    }

    /// A place as one of ours.
    pub(super) fn place_of(location: &Location) -> (PathBuf, Span) {
        let at = Position::from_one(location.line, location.column).unwrap_or_default();
        let span = Span { start: at, end: at };
        (PathBuf::from(&location.file), span)
    }
}

/// The function at a place; for a class its `__init__`, with the class.
async fn meant(engine: &EngineView, spot: &Spotted) -> Result<(FileSpan, Option<FileSpan>)> {
    let Some((name, _)) = spot.word().filter(|_| spot.exists()) else {
        return Err(nothing_here("there is no name at this position"));
    };
    let found = definitions::find(engine, spot).await?;
    let (Some((path, span)), Some(location)) = (found.places.first(), found.locations.first())
    else {
        return Err(nothing_here(format!("nobody knows what `{name}` is here"))
            .hint("point at the definition of a function"));
    };
    let place = (path.clone(), *span);
    if !closure::is_inside(engine, path) {
        let what = format!(
            "`{name}` is not defined in this workspace: {}",
            location.file
        );
        return Err(invalid(what)
            .hint("only what the workspace defines can be changed")
            .data(json!({ "location": location })));
    }
    let mut opened = OpenFiles::new(&engine.view);
    let defined = opened.defined_at(path, span.start);
    let no_function = || {
        let kind = location.kind.as_deref().unwrap_or("name");
        invalid(format!("`{name}` is a {kind}, and has no parameters"))
            .hint("point at a function, a method or a class")
            .data(json!({ "location": location }))
    };
    let Some(defined) = defined else {
        return Err(no_function());
    };
    let class = |opened: &mut OpenFiles| {
        let class = defined.name_path.rsplit_once('/')?.0;
        Some((path.clone(), opened.named(path, class)?))
    };
    match defined.kind {
        Kind::Class => {
            let init = opened.named(path, &format!("{}/__init__", defined.name_path));
            let Some(init) = init else {
                return Err(without_init(engine, &mut opened, &place, name));
            };
            refuse_members(&mut opened, path, &defined.name_path)?;
            refuse_new(&mut opened, path, &defined.name_path)?;
            Ok(((path.clone(), init), Some(place)))
        }
        Kind::Function | Kind::Method if !defined.is_member => Ok((place, None)),
        Kind::Function | Kind::Method if defined.name == "__init__" => {
            let (class_path, _) = defined.name_path.rsplit_once('/').unwrap_or_default();
            refuse_members(&mut opened, path, class_path)?;
            refuse_new(&mut opened, path, class_path)?;
            Ok((place, class(&mut opened)))
        }
        Kind::Function | Kind::Method if is_special(&defined.name) => {
            let what = format!("`{name}` is called by Python itself");
            Err(Error::new(Code::Conflict, what).hint("its parameters are what Python passes"))
        }
        Kind::Function | Kind::Method => Ok((place, None)),
        _ => Err(no_function()),
    }
}

/// Decorators of functions that stand for one another by the type of an argument.
const CASES: &[&str] = &["register", "singledispatch", "singledispatchmethod"];
/// Bases that make members of what is assigned in a class.
const ENUMS: &[&str] = &["Enum", "Flag", "IntEnum", "IntFlag", "ReprEnum", "StrEnum"];

fn is_special(name: &str) -> bool {
    name.len() > 4 && name.starts_with("__") && name.ends_with("__")
}

/// The members of an enumeration are made by its `__init__`, of values that no call passes.
fn refuse_members(opened: &mut OpenFiles, path: &Path, class: &str) -> Result<()> {
    let Some(span) = opened.named(path, class) else {
        return Ok(());
    };
    let is_enum = opened.with_facts(path, |facts| {
        let symbol = facts.symbols.get(facts.named_at(span.start)?)?;
        let mut bases = symbol.bases.iter();
        let is_it = |base: &str| ENUMS.contains(&base.rsplit('.').next().unwrap_or_default());
        bases.any(|base| is_it(base)).then_some(())
    });
    match is_enum {
        None => Ok(()),
        Some(()) => {
            let what = format!("the members of `{class}` are made by its `__init__`");
            Err(Error::new(Code::Conflict, what)
                .hint("change it and the values of the members by hand")
                .data(json!({ "location": opened.definition(path, span) })))
        }
    }
}

/// A class with both gets its arguments twice.
fn refuse_new(opened: &mut OpenFiles, path: &Path, class: &str) -> Result<()> {
    match opened.named(path, &format!("{class}/__new__")) {
        None => Ok(()),
        Some(span) => {
            let location = opened.definition(path, span);
            let what = format!("`{class}` has a `__new__` that gets the same arguments");
            Err(Error::new(Code::Conflict, what)
                .hint("change both by hand, or remove `__new__` first")
                .data(json!({ "location": location })))
        }
    }
}

fn without_init(
    engine: &EngineView,
    opened: &mut OpenFiles,
    place: &FileSpan,
    name: &str,
) -> Error {
    let maker = opened.source(&place.0).and_then(|source| {
        let file = open_files::inside(engine.view.root(), &engine.view.index, &place.0)?;
        let at = source.offset(place.1.start)?;
        parsed(source.text(), &file, |parsed| {
            let class = function::find_class(parsed.body(), at)?;
            let mut names = class
                .decorator_list
                .iter()
                .filter_map(|d| last_name(&d.expression));
            names
                .find(|name| FIELDS.contains(name))
                .map(ToOwned::to_owned)
        })
    });
    match maker {
        Some(maker) => Error::new(
            Code::Conflict,
            format!("the `__init__` of `{name}` is made from its fields by `@{maker}`"),
        )
        .hint("add, remove or order the fields themselves"),
        None => Error::new(
            Code::Conflict,
            format!("`{name}` has no `__init__` of its own"),
        )
        .hint("point at the class that defines it, or write one first"),
    }
    .data(json!({ "location": opened.definition(&place.0, place.1) }))
}

/// The function and all that override it or that it overrides; of an `__init__`, which is not
/// called in the place of another, only what says the same.
async fn family(engine: &EngineView, place: &FileSpan, is_init: bool) -> Result<Family> {
    let mut grower = Grower::new(engine);
    if is_init {
        grower.add_alone(place);
        return Ok(grower.family);
    }
    if let Some(outside) = closure::overridden_outside(engine, place).await? {
        let what = format!(
            "it overrides what `{}` defines outside of this workspace",
            outside.file
        );
        return Err(Error::new(Code::Conflict, what)
            .hint("whoever calls it there passes what it takes today")
            .data(json!({ "location": outside })));
    }
    grower.add(place).await?;
    if let Some((_, name)) = closure::member(&mut grower.opened, place) {
        occurrences::mentioned(engine, &name, &mut grower).await?;
    }
    Ok(grower.family)
}

fn read(engine: &EngineView, opened: &mut OpenFiles, place: &FileSpan) -> Result<Definition> {
    let (path, span) = place;
    let location = opened.definition(path, *span);
    let refuse = |what: &str, hint: &str| {
        let what = format!("{}:{}: {what}", location.file, location.line);
        Error::new(Code::Conflict, what)
            .hint(hint)
            .data(json!({ "location": location }))
    };
    let no_function = || {
        let what = "there is no `def` here whose parameters could change";
        refuse(what, "write it as a function first")
    };
    let source = opened.source(path).ok_or_else(no_function)?;
    let file = open_files::inside(engine.view.root(), &engine.view.index, path);
    let file = file.ok_or_else(no_function)?;
    let offset = source.offset(span.start).ok_or_else(no_function)?;
    let same_name = opened.with_facts(path, |facts| {
        let here = &facts.symbols[facts.named_at(span.start)?];
        let all = facts.symbols.iter();
        let same = all.filter(|s| s.name == here.name && s.container == here.container);
        Some(same.map(|s| s.name_span.start).collect::<Vec<_>>())
    });
    let same_name = same_name.unwrap_or_default();
    let (function, has_overloads) = parsed(source.text(), &file, |parsed| {
        let find = |at: usize| {
            let (found, class) = function::find(parsed.body(), at)?;
            Some(Function::of(found, class))
        };
        let is_overload = |f: Function| f.decorators.iter().any(|d| d == "overload");
        let mut others = same_name.iter().filter_map(|at| source.offset(*at));
        Some((
            find(offset)?,
            others.any(|at| find(at).is_some_and(is_overload)),
        ))
    })
    .ok_or_else(no_function)?;
    let has = |names: &[&str]| function.decorators.iter().any(|d| names.contains(&&**d));
    if has(ATTRIBUTES) {
        let what = "it is read like an attribute, and takes no arguments";
        return Err(refuse(what, "point at a function that is called"));
    }
    if function.hides_first() {
        let what = "`self` comes through `*` here";
        return Err(refuse(what, "name the first parameter"));
    }
    if has(CASES) {
        let what = "it is one of several cases by type, which are all given the same";
        return Err(refuse(what, "change the cases by hand"));
    }
    if has_overloads {
        let what = "it has overloads, each with parameters of its own";
        return Err(refuse(what, "change the overloads by hand"));
    }
    Ok(Definition {
        path: path.clone(),
        file,
        at: span.start,
        offset,
        function,
        new: None,
        source,
    })
}
