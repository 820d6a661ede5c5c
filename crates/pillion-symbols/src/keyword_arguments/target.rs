//! Which functions take a keyword: the one whose parameter is meant, and those that stand for
//! it.

use std::collections::BTreeSet;

use pillion_catalogue::Result;
use pillion_index::parsed::parsed;
use pillion_index::source::{Source, Span};

use super::sites::{self, Taking, Which};
use crate::ask::EngineView;
use crate::closure::{self, Grower};
use crate::definitions;
use crate::open_files::{FileSpan, OpenFiles};

/// Methods that get what a class is made with.
const MAKERS: &[&str] = &["__init__", "__new__"];
/// Methods that get what stands in the head of a class.
const OF_HEADS: &[&str] = &["__init__", "__new__", "__prepare__"];

/// Decorators that make a function choose among cases.
const DISPATCHERS: &[&str] = &["singledispatch", "singledispatchmethod"];

/// Who takes a keyword.
#[derive(Debug, Default)]
pub struct KeywordTarget {
    /// The parameters or fields of this name, by their places.
    pub own: BTreeSet<FileSpan>,
    /// The functions with such a parameter.
    pub functions: BTreeSet<FileSpan>,
    /// The classes that are made with it.
    pub classes: BTreeSet<FileSpan>,
    /// The classes that are made with keywords of any name, which may become their attributes.
    pub loose: BTreeSet<FileSpan>,
    /// The classes below which the head of a class may have it.
    pub heads: BTreeSet<FileSpan>,
    /// The same, as metaclasses.
    pub(crate) metaclasses: BTreeSet<FileSpan>,
    /// Whether it is a field of the classes.
    pub(crate) is_field: bool,
    /// The names of the functions.
    pub names: BTreeSet<String>,
    /// The decorators of the functions, by their last names.
    pub decorators: BTreeSet<String>,
    /// Whether one of the functions takes keywords of any name.
    pub(crate) takes_any: bool,
    /// Strings in decorators that spell it.
    pub strings: Vec<(FileSpan, bool)>,
    /// Functions outside of the workspace that one of them overrides.
    pub outside: BTreeSet<FileSpan>,
}

impl KeywordTarget {
    /// Take in the parameter at a place, with those of all functions that stand for its own;
    /// whether there is one.
    pub async fn add(&mut self, engine: &EngineView, place: &FileSpan, name: &str) -> Result<bool> {
        let mut grower = Grower::new(engine);
        let Some(taking) = taking(&mut grower.opened, place, name, true) else {
            return Ok(false);
        };
        self.own.insert(place.clone());
        self.note(&mut grower.opened, place, &taking);
        let Some(function) = place_of(&mut grower.opened, place, taking.name) else {
            return Ok(true);
        };
        let class = closure::member(&mut grower.opened, &function);
        let class = class.map(|(span, _)| (place.0.clone(), span));
        match &class {
            Some(class) if OF_HEADS.contains(&&*taking.called) => {
                grower.add_alone(&function);
                for other in OF_HEADS {
                    for place in closure::members_named(&mut grower.opened, class, other) {
                        grower.add_alone(&place);
                    }
                }
            }
            _ => grower.add(&function).await?,
        }
        if taking.case_of.is_some()
            || taking
                .decorators
                .iter()
                .any(|d| DISPATCHERS.contains(&&**d))
        {
            cases(engine, &mut grower, &function, &taking).await?;
        }
        let functions: Vec<FileSpan> = grower.family.places.iter().cloned().collect();
        for function in functions {
            let Some(taking) = self::taking(&mut grower.opened, &function, name, false) else {
                continue;
            };
            let Some(own) = place_of(&mut grower.opened, &function, taking.parameter) else {
                continue;
            };
            self.own.insert(own);
            self.note(&mut grower.opened, &function, &taking);
            self.functions.insert(function.clone());
            if let Some((span, _)) = closure::member(&mut grower.opened, &function) {
                let class = (function.0.clone(), span);
                self.classes(engine, &mut grower, &class, &taking.called)
                    .await?;
            }
        }
        self.outside.append(&mut grower.family.outside);
        Ok(true)
    }

    /// The parameters of the makers below the classes that are made with it, if they have it.
    pub(crate) async fn makers_below(
        &self,
        engine: &EngineView,
        name: &str,
    ) -> Result<Vec<FileSpan>> {
        let mut opened = OpenFiles::new(&engine.view);
        let mut found = Vec::new();
        for class in &self.classes {
            for below in closure::implementations(engine, class).await? {
                for maker in MAKERS {
                    for function in closure::members_named(&mut opened, &below, maker) {
                        let taking = taking(&mut opened, &function, name, false);
                        let own =
                            taking.and_then(|t| place_of(&mut opened, &function, t.parameter));
                        found.extend(own);
                    }
                }
            }
        }
        found.retain(|(path, _)| closure::is_inside(engine, path));
        Ok(found)
    }

    fn note(&mut self, opened: &mut OpenFiles, place: &FileSpan, taking: &Taking) {
        self.names.insert(taking.called.clone());
        self.takes_any |= taking.any.is_some();
        self.decorators.extend(taking.decorators.iter().cloned());
        let is_settled = taking.decorators.iter().any(|name| name == "parametrize");
        for range in &taking.strings {
            if let Some(found) = place_of(opened, place, Some(*range)) {
                self.strings.push((found, is_settled));
            }
        }
    }

    /// The classes that a method of one of them gets its arguments from.
    async fn classes(
        &mut self,
        engine: &EngineView,
        grower: &mut Grower<'_>,
        class: &FileSpan,
        called: &str,
    ) -> Result<()> {
        if called == "__init_subclass__" {
            self.heads.insert(class.clone());
            let below = closure::implementations(engine, class).await?;
            self.heads.extend(below);
        }
        if OF_HEADS.contains(&called) {
            let line = grower.line(class).await?;
            let is_type = |place: &FileSpan| {
                let source = grower.opened.source(&place.0);
                let name = source.and_then(|s| s.slice(place.1).map(ToOwned::to_owned));
                name.as_deref() == Some("type")
            };
            if line.iter().any(is_type) {
                self.metaclasses.insert(class.clone());
                let below = closure::implementations(engine, class).await?;
                self.metaclasses.extend(below);
            }
        }
        if MAKERS.contains(&called) {
            self.classes.insert(class.clone());
            for below in closure::implementations(engine, class).await? {
                let own = closure::members_named(&mut grower.opened, &below, called);
                if own.is_empty() && closure::is_inside(engine, &below.0) {
                    self.classes.insert(below);
                }
            }
        }
        Ok(())
    }
}

/// Take in the cases of a function that is dispatched by the type of an argument, and the
/// function that another is a case of.
async fn cases(
    engine: &EngineView,
    grower: &mut Grower<'_>,
    function: &FileSpan,
    taking: &Taking,
) -> Result<()> {
    let mut heads = vec![function.clone()];
    if let (Some(at), Some(source)) = (taking.case_of, grower.opened.source(&function.0)) {
        let file = grower.opened.name(&function.0).0;
        heads.extend(definitions::meaning(engine, &file, &source, at).await?);
    }
    heads.retain(|(path, _)| closure::is_inside(engine, path));
    heads.iter().for_each(|head| grower.add_alone(head));
    for file in engine.view.index.files_with("register") {
        let path = engine.absolute(&file);
        let Some(source) = grower.opened.source(&path) else {
            continue;
        };
        let cases = parsed(source.text(), &file, |parsed| sites::cases(parsed.body()));
        for (name, of) in cases {
            let means = definitions::meaning(engine, &file, &source, of).await?;
            if means.iter().any(|place| heads.contains(place)) {
                // Cases are often all called `_`: each stands for itself.
                let place = (path.clone(), span_of(&source, name));
                grower.family.places.insert(place);
            }
        }
    }
    Ok(())
}

/// Whether all these functions take keywords of any name, and none has a parameter of this one.
pub fn take_any(opened: &mut OpenFiles, functions: &[FileSpan], name: &str) -> bool {
    functions.iter().all(|function| {
        let taking = taking(opened, function, name, false);
        taking.is_some_and(|taking| taking.parameter.is_none() && taking.any.is_some())
    })
}

/// The function with a parameter at a place, or whose name stands there.
pub(super) fn taking(
    opened: &mut OpenFiles,
    (path, span): &FileSpan,
    name: &str,
    by_parameter: bool,
) -> Option<Taking> {
    let source = opened.source(path)?;
    let at = source.offset(span.start)?;
    let which = match by_parameter {
        true => Which::Taking(at),
        false => Which::Named(at),
    };
    let file = opened.name(path).0;
    parsed(source.text(), &file, |parsed| {
        sites::function(parsed.body(), source.text(), which, name)
    })
}

pub(super) fn place_of(
    opened: &mut OpenFiles,
    (path, _): &FileSpan,
    range: Option<ruff_text_size::TextRange>,
) -> Option<FileSpan> {
    let source = opened.source(path)?;
    Some((path.clone(), span_of(&source, range?)))
}

pub(super) fn span_of(source: &Source, range: ruff_text_size::TextRange) -> Span {
    Span {
        start: source.position(range.start().to_usize()),
        end: source.position(range.end().to_usize()),
    }
}
