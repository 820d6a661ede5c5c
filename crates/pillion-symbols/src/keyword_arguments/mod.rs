//! Every way in which an argument that is given by name can arrive.
//!
//! Engines follow a keyword to the parameter where they know the signature of what is called.
//! They do not behind a decorator, through `partial`, through `**kwargs` that are handed on, in
//! the head of a class, or in a dictionary that becomes keywords. Here those are followed to
//! the function or class that is meant; what cannot be followed is named with the reason.

mod handing_on;
mod holders;
mod mappings;
mod sites;
mod target;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use futures::{StreamExt, stream};
use pillion_catalogue::{Error, Result};
use pillion_index::Kind;
use pillion_index::parsed::parsed;
use pillion_index::source::{Position, Source, Span};

use crate::ask::{EngineView, span};
use crate::closure::{self, Grower};
use crate::definitions;
use crate::fixtures;
use crate::literals::words;
use crate::open_files::{FileSpan, OpenFiles};
use sites::{Argument, Named, Site, To};
pub use target::KeywordTarget;
pub use target::take_any;
use target::{span_of, taking};

/// Questions that are asked at the same time.
const AT_ONCE: usize = 8;
/// How often keywords are handed on at most.
const MAX_HANDED: usize = 4;
/// Functions that copy an object with other fields.
const COPIES: &[&str] = &["replace", "evolve", "_replace", "assoc", "__replace__"];

/// What asks a mock how it was called.
const OF_MOCKS: &[&str] = &[
    "assert_any_await",
    "assert_any_call",
    "assert_awaited_once_with",
    "assert_awaited_with",
    "assert_called_once_with",
    "assert_called_with",
    "call",
];
const MOCKED_WHY: &str = "a mock is asked whether it was called so";
const DECORATED: &str = "a decorator of the function is given it";

/// Why nobody knows where a keyword goes.
const HANDED_ON: &str = "it is handed on to what nobody knows";

/// Something that may mean what is looked for, and why nobody is sure.
pub type Doubt = (FileSpan, String);

/// Where a keyword arrives.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// Places that mean it for certain.
    pub(crate) certain: BTreeSet<FileSpan>,
    /// Places that may mean it.
    pub possible: Vec<Doubt>,
    /// Other parameters that a keyword means at the same time.
    pub(crate) joined: BTreeSet<FileSpan>,
}

/// Where the keyword of a target is given.
pub(crate) async fn find(
    engine: &EngineView,
    name: &str,
    target: &KeywordTarget,
) -> Result<Arrivals> {
    let mut finder = Finder::new(engine, name, target);
    for (place, is_settled) in &target.strings {
        match is_settled {
            true => drop(finder.found.certain.insert(place.clone())),
            false => finder.doubt(place.clone(), "a decorator of the function names it"),
        }
    }
    finder.keywords().await?;
    finder.mappings().await?;
    if !target.is_field {
        finder.takers().await?;
    }
    if finder.is_chosen_later {
        let below = target.makers_below(engine, name).await?;
        finder.found.joined.extend(below);
    }
    if finder.is_called_as_value {
        let beside = finder.beside().await?;
        finder.found.joined.extend(beside);
    }
    finder
        .found
        .joined
        .retain(|place| !target.own.contains(place));
    Ok(finder.found)
}

/// Where one of the functions is given a keyword of another name, which goes to those of any
/// name.
pub async fn passed(
    engine: &EngineView,
    name: &str,
    target: &KeywordTarget,
) -> Result<Option<FileSpan>> {
    if !target.takes_any {
        return Ok(None);
    }
    let mut finder = Finder::new(engine, name, target);
    finder.keywords().await?;
    Ok(finder.found.certain.pop_first())
}

/// What an engine says a place means: places of names.
async fn targets(
    engine: &EngineView,
    opened: &mut OpenFiles,
    file: &str,
    at: Position,
) -> Result<Vec<FileSpan>> {
    let found = engine.definition(file, at).await?;
    let places = found.iter().map(|l| (l.path.clone(), span(l.range)));
    Ok(places
        .map(|place| definitions::name_of_attribute(opened, place))
        .collect())
}

/// Whether something takes the keyword, or hands it on to something that does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Carries {
    No,
    /// It hands it on to what nobody knows.
    Maybe,
    Yes,
}

struct Finder<'a> {
    engine: &'a EngineView,
    name: &'a str,
    target: &'a KeywordTarget,
    opened: OpenFiles,
    /// What was found to hand the keyword on, or not to.
    carriers: BTreeMap<FileSpan, Carries>,
    /// Whether a class that is made with it is chosen while the program runs.
    is_chosen_later: bool,
    /// Whether one of the functions is used as a value, if that was looked at.
    is_value: Option<bool>,
    /// Where the functions go as values, if that was looked at.
    held: Option<Arc<values::Held>>,
    /// Whether the keyword is given to what is no function by its own name.
    is_called_as_value: bool,
    /// The fixtures, if they were looked at.
    fixtures: Option<fixtures::All>,
    found: Arrivals,
}

/// A file that is looked at.
struct Looked {
    file: String,
    source: Arc<Source>,
}

impl Looked {
    fn place(&self, engine: &EngineView, range: ruff_text_size::TextRange) -> FileSpan {
        (engine.absolute(&self.file), span_of(&self.source, range))
    }
}

impl<'a> Finder<'a> {
    fn new(engine: &'a EngineView, name: &'a str, target: &'a KeywordTarget) -> Self {
        Self {
            engine,
            name,
            target,
            opened: OpenFiles::new(&engine.view),
            carriers: BTreeMap::new(),
            is_chosen_later: false,
            is_value: None,
            held: None,
            is_called_as_value: false,
            fixtures: None,
            found: Arrivals::default(),
        }
    }
}

impl Finder<'_> {
    fn doubt(&mut self, place: FileSpan, why: &str) {
        self.found.possible.push((place, why.to_owned()));
    }

    fn look(&mut self, path: &Path) -> Option<Looked> {
        let source = self.opened.source(path)?;
        let file = self.opened.name(path).0;
        Some(Looked { file, source })
    }

    async fn means(&mut self, looked: &Looked, at: usize) -> Result<Vec<FileSpan>> {
        definitions::meaning(self.engine, &looked.file, &looked.source, at).await
    }

    async fn keywords(&mut self) -> Result<()> {
        for file in self.engine.view.index.files_with(self.name) {
            let Some(looked) = self.look(&self.engine.absolute(&file)) else {
                continue;
            };
            let sites = parsed(looked.source.text(), &file, |parsed| {
                sites::keywords(parsed.body(), self.name)
            });
            // All are asked about at once; what was answered is kept.
            let engine = self.engine;
            let places = sites.iter().map(|site| sites::start(site.at));
            let places: Vec<Position> = places.map(|at| looked.source.position(at)).collect();
            let asked = stream::iter(places).map(|at| {
                let file = Arc::clone(&file);
                async move { engine.definition(&file, at).await.map(drop) }
            });
            let asked: Vec<Result<(), Error>> = asked.buffered(AT_ONCE).collect().await;
            asked.into_iter().collect::<Result<Vec<()>>>()?;
            for site in sites {
                self.keyword(&looked, site).await?;
            }
        }
        Ok(())
    }

    async fn keyword(&mut self, looked: &Looked, site: Site) -> Result<()> {
        let at = looked.source.position(sites::start(site.at));
        let known = targets(self.engine, &mut self.opened, &looked.file, at).await?;
        let place = looked.place(self.engine, site.at);
        if !known.is_empty() {
            if known.iter().any(|place| self.target.own.contains(place)) {
                self.found.certain.insert(place);
                let inside = known.into_iter();
                let inside = inside.filter(|(path, _)| closure::is_inside(self.engine, path));
                self.found.joined.extend(inside);
                self.chosen(looked, &site).await?;
            } else if self.is_for_functions(&known) && self.goes_round().await? {
                self.doubt(
                    place,
                    "a function that is passed for this protocol is called",
                );
            }
            return Ok(());
        }
        match site.to {
            To::Class { bases, metaclass } => {
                if self.is_head(looked, &bases, metaclass).await? {
                    self.found.certain.insert(place);
                }
            }
            To::Call {
                callee,
                arguments,
                around,
                decorates,
            } => {
                let own = decorates.map(|at| looked.source.position(at));
                let (found, why) = match own {
                    Some(at) if self.is_target(looked, at) => (false, Some(DECORATED)),
                    _ if self.is_of_mock(looked, callee.as_ref()) => (false, Some(MOCKED_WHY)),
                    _ => self.call(looked, callee, &arguments, around).await?,
                };
                match (found, why) {
                    (true, _) => drop(self.found.certain.insert(place)),
                    (false, Some(why)) => self.doubt(place, why),
                    (false, None) => {}
                }
            }
        }
        Ok(())
    }

    /// Whether the name of one of the functions stands at a place.
    fn is_target(&self, looked: &Looked, at: Position) -> bool {
        let path = self.engine.absolute(&looked.file);
        let mut functions = self.target.functions.iter();
        functions.any(|(own, span)| *own == path && span.start == at)
    }

    /// Whether a mock is asked for a call, in a file that knows the name of one of the
    /// functions.
    fn is_of_mock(&mut self, looked: &Looked, callee: Option<&Named>) -> bool {
        if self.target.is_field || !callee.is_some_and(|c| OF_MOCKS.contains(&&*c.name)) {
            return false;
        }
        let is_made = |class: &FileSpan| {
            self.opened
                .source(&class.0)?
                .slice(class.1)
                .map(str::to_owned)
        };
        let classes: Vec<String> = self.target.classes.iter().filter_map(is_made).collect();
        // What is replaced by a mock may be named in a string alone.
        let text = looked.source.text();
        let mut names = self.target.names.iter().chain(&classes);
        names.any(|name| words(text, name).next().is_some())
    }

    /// Whether parameters are those of a protocol that functions are passed for.
    fn is_for_functions(&mut self, parameters: &[FileSpan]) -> bool {
        parameters.iter().any(|place| {
            let taking = taking(&mut self.opened, place, self.name, true);
            let is_call = taking.is_some_and(|taking| taking.called == "__call__");
            let class = closure::class_around(&mut self.opened, &place.0, place.1.start);
            is_call && class.is_some_and(|class| closure::is_a_protocol(&mut self.opened, &class))
        })
    }

    /// Notes if the class that a call makes is not the one that its text names.
    async fn chosen(&mut self, looked: &Looked, site: &Site) -> Result<()> {
        let To::Call { callee, .. } = &site.to else {
            return Ok(());
        };
        let names = &self.target.names;
        let by_name = callee.as_ref().is_some_and(|c| names.contains(&c.name));
        self.is_called_as_value |= !by_name && !self.target.is_field;
        if self.target.classes.is_empty() {
            return Ok(());
        }
        let Some(callee) = callee else {
            self.is_chosen_later = true;
            return Ok(());
        };
        let means = self.means(looked, callee.at).await?;
        let is_plain = means.iter().any(|place| {
            let defined = self.opened.defined_at(&place.0, place.1.start);
            defined.is_some_and(|d| d.kind == Kind::Class || closure::is_special(&d.name))
        });
        self.is_chosen_later |= !is_plain;
        Ok(())
    }

    /// Whether the head of a class gives a keyword to one of the functions.
    async fn is_head(
        &mut self,
        looked: &Looked,
        bases: &[usize],
        metaclass: Option<usize>,
    ) -> Result<bool> {
        if let Some(at) = metaclass {
            let means = self.means(looked, at).await?;
            if means.iter().any(|p| self.target.metaclasses.contains(p)) {
                return Ok(true);
            }
        }
        for base in bases {
            for class in self.means(looked, *base).await? {
                if self.target.heads.contains(&class) || self.has_metaclass(&class, 0).await? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether a class, or one above it, is made by one of the metaclasses.
    async fn has_metaclass(&mut self, class: &FileSpan, depth: usize) -> Result<bool> {
        if self.target.metaclasses.is_empty() || depth > MAX_HANDED {
            return Ok(false);
        }
        let Some(looked) = self.look(&class.0) else {
            return Ok(false);
        };
        let Some(at) = looked.source.offset(class.1.start) else {
            return Ok(false);
        };
        let head = parsed(looked.source.text(), &looked.file, |parsed| {
            sites::head(parsed.body(), at)
        });
        let Some((bases, metaclass)) = head else {
            return Ok(false);
        };
        if let Some(at) = metaclass {
            let means = self.means(&looked, at).await?;
            return Ok(means.iter().any(|p| self.target.metaclasses.contains(p)));
        }
        for base in bases {
            for class in self.means(&looked, base).await? {
                if Box::pin(self.has_metaclass(&class, depth + 1)).await? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether a call hands a keyword to one of the functions; if nobody knows, why.
    async fn call(
        &mut self,
        looked: &Looked,
        callee: Option<Named>,
        arguments: &[Argument],
        around: Option<usize>,
    ) -> Result<(bool, Option<&'static str>)> {
        if self.target.is_field
            && let Some(callee) = &callee
            && COPIES.contains(&&*callee.name)
        {
            return self.copy(looked, callee, arguments).await;
        }
        let mut means = match &callee {
            Some(callee) => self.called(looked, callee.at).await?,
            None => Vec::new(),
        };
        if let Some(callee) = &callee {
            means.extend(self.cooperating(looked, callee).await?);
        }
        if means.iter().any(|class| self.target.loose.contains(class)) {
            return Ok((false, Some("its class takes keywords of any name")));
        }
        let known = self.carries(&means, 0).await?;
        if known == Carries::Yes {
            return Ok((true, None));
        }
        for argument in arguments {
            let (Argument::Named(named) | Argument::Made(named)) = argument else {
                continue;
            };
            // `partial(f, name=1)`; what a class makes is no function.
            let means = self.means(looked, named.at).await?;
            let is_function = |place: &FileSpan| self.target.functions.contains(place);
            let is_it = match argument {
                Argument::Named(_) => {
                    means.iter().any(is_function) || {
                        let is_class = |p: &FileSpan| self.target.classes.contains(p);
                        !self.target.is_field && means.iter().any(is_class)
                    }
                }
                _ => false,
            };
            if is_it {
                return Ok((true, None));
            }
        }
        if let Some(callee) = callee.as_ref().filter(|_| means.is_empty())
            && self.is_own(looked, callee).await?
        {
            return Ok((true, None));
        }
        // What a property gives is called, not the property.
        let is_property = means.iter().any(|(path, at)| {
            let defined = self.opened.defined_at(path, at.start);
            defined.is_some_and(|defined| defined.kind == Kind::Property)
        });
        let Some(callee) = callee.filter(|_| !is_property) else {
            return Ok((
                false,
                self.near(looked)
                    .then_some("nobody knows what is called here"),
            ));
        };
        if known == Carries::Maybe {
            return Ok((false, Some(HANDED_ON)));
        }
        if means.is_empty() && callee.is_attribute {
            match self.of_fixture(looked, &callee).await? {
                Some(Carries::Yes) => return Ok((true, None)),
                Some(Carries::No) => return Ok((false, None)),
                Some(Carries::Maybe) | None => {}
            }
        }
        if means.is_empty()
            && callee.is_attribute
            && (self.target.names.contains(&callee.name) || self.may_hand_on(&callee.name).await?)
        {
            let why = "the type of what stands before the dot is not known";
            return Ok((false, Some(why)));
        }
        // A decorator calls what it was given.
        let is_given = means.iter().any(|place| {
            let is_here = place.0 == self.engine.absolute(&looked.file);
            is_here && self.opened.defined_at(&place.0, place.1.start).is_none()
        });
        let around = around.and_then(|at| {
            let found = looked.source.word_at(looked.source.position(at));
            found.map(|(word, _)| word.to_owned())
        });
        let is_around = |name: &String| self.target.decorators.contains(name);
        let may_be = is_given && (around.as_ref().is_some_and(is_around) || self.near(looked))
            || self.may_hold_it(looked, &callee, &means).await?;
        Ok((false, may_be.then_some("nobody knows what is called here")))
    }

    /// Whether a method that a class takes from its own object is one of the functions:
    /// `super().name` and `self.name`, where an engine stops at a decorator.
    async fn is_own(&mut self, looked: &Looked, callee: &Named) -> Result<bool> {
        let start = looked.source.position(callee.at);
        let place = (
            self.engine.absolute(&looked.file),
            Span { start, end: start },
        );
        let Some(class) = closure::own_class(&mut self.opened, &place) else {
            return Ok(false);
        };
        let line = Grower::new(self.engine).line(&class).await?;
        let is_it = line.iter().any(|above| {
            let own = closure::members_named(&mut self.opened, above, &callee.name);
            own.iter()
                .any(|place| self.target.functions.contains(place))
        });
        Ok(is_it)
    }

    /// Whether a method of what a fixture gives takes the keyword, if that is known.
    async fn of_fixture(&mut self, looked: &Looked, callee: &Named) -> Result<Option<Carries>> {
        let fixtures = match self.fixtures.take() {
            Some(fixtures) => fixtures,
            None => fixtures::All::read(self.engine),
        };
        let (engine, at) = (self.engine, callee.at);
        let class = fixtures.class_at(engine, &looked.file, &looked.source, at);
        let class = class.await?;
        self.fixtures = Some(fixtures);
        let Some(class) = class else {
            return Ok(None);
        };
        for above in Grower::new(self.engine).line(&class).await? {
            let own = closure::members_named(&mut self.opened, &above, &callee.name);
            if !own.is_empty() {
                return self.carries(&own, 0).await.map(Some);
            }
        }
        Ok(None)
    }

    /// Whether a file defines one of the functions.
    fn near(&self, looked: &Looked) -> bool {
        let path = self.engine.absolute(&looked.file);
        self.target.own.iter().any(|(own, _)| *own == path)
    }

    /// Whether a call copies an object of one of the classes with other fields.
    async fn copy(
        &mut self,
        looked: &Looked,
        callee: &Named,
        arguments: &[Argument],
    ) -> Result<(bool, Option<&'static str>)> {
        let unknown = (false, Some("the type of what is copied is not known"));
        let classes = match (callee.name.starts_with('_'), arguments.first()) {
            (true, _) | (_, None | Some(Argument::Other)) => return Ok(unknown),
            (_, Some(Argument::Made(made))) => self.means(looked, made.at).await?,
            (_, Some(Argument::Named(named))) => {
                let at = looked.source.position(named.at);
                if named.name == "self" {
                    let path = self.engine.absolute(&looked.file);
                    let own = closure::class_around(&mut self.opened, &path, at);
                    own.into_iter().collect()
                } else {
                    definitions::classes_of(self.engine, &looked.file, at).await?
                }
            }
        };
        let classes: Vec<FileSpan> = classes
            .into_iter()
            .filter(|(path, _)| closure::is_inside(self.engine, path))
            .collect();
        let is_ours = classes.iter().any(|c| self.target.classes.contains(c));
        match (is_ours, classes.is_empty()) {
            (true, _) => Ok((true, None)),
            (false, true) => Ok(unknown),
            (false, false) => Ok((false, None)),
        }
    }

    /// What calls pass by `**`, and dictionaries that are handed over with the function.
    async fn mappings(&mut self) -> Result<()> {
        let mut uses: BTreeMap<FileSpan, BTreeSet<Span>> = BTreeMap::new();
        let called = self.target.functions.iter().chain(&self.target.classes);
        for (path, at) in called {
            let file = self.opened.name(path).0;
            for found in self.engine.references(&file, at.start).await?.iter() {
                let key = (found.path.clone(), Span::default());
                uses.entry(key).or_default().insert(span(found.range));
            }
        }
        for ((path, _), spans) in uses {
            let Some(looked) = self.look(&path) else {
                continue;
            };
            if !closure::is_inside(self.engine, &path) {
                continue;
            }
            let source = &looked.source;
            let at: Vec<usize> = spans
                .iter()
                .filter_map(|span| {
                    let (_, word) = source.word_at(span.end)?;
                    source.offset(word.start)
                })
                .collect();
            let (mapped, given) = parsed(source.text(), &looked.file, |parsed| {
                let mapped = mappings::mapped(parsed.body(), source.text(), &at, self.name);
                let names = mapped.iter().filter(|m| !m.is_handed_on);
                let names: BTreeSet<&String> = names.filter_map(|m| m.name.as_ref()).collect();
                let given = names.into_iter().flat_map(|to| {
                    mappings::keys_given(parsed.body(), source.text(), to, self.name)
                });
                let given: Vec<_> = given.collect();
                (mapped, given)
            });
            for one in mapped {
                let keys = one
                    .keys
                    .iter()
                    .map(|range| looked.place(self.engine, *range));
                self.found.certain.extend(keys.collect::<Vec<_>>());
                if !one.is_known && !one.is_handed_on {
                    let why = format!("it is passed by `**`, and may hold `{}`", self.name);
                    self.doubt(looked.place(self.engine, one.at), &why);
                }
            }
            for range in given {
                self.doubt(looked.place(self.engine, range), "it is passed on by `**`");
            }
        }
        Ok(())
    }
}
