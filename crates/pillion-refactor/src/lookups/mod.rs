//! Names in strings that a program looks up: settled where the object is known.
//!
//! `getattr(o, "name")`, `monkeypatch.setattr(module, "name")` and `mock.patch("a.b.name")`
//! mean what `o.name` would; `__slots__` names attributes, and the keys of a typed dictionary
//! are its fields. Where nobody knows the object, the place is named.

mod annotations;
pub(super) mod computed;
mod formats;
mod keys;
mod meanings;
mod queries;
mod sites;
mod stand_ins;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use pillion_catalogue::{Result, work};
use pillion_index::facts::name_hash;
use pillion_index::modules::Modules;
use pillion_index::parsed::parsed;
use pillion_index::source::{Source, Span};
use pillion_index::{Index, Kind};
use pillion_symbols::ask::{EngineView, span};
use pillion_symbols::closure;
use pillion_symbols::definitions::{classes_of, meaning};
use pillion_symbols::occurrences::Sort;
use pillion_symbols::open_files::{FileSpan, OpenFiles};
use rayon::prelude::*;
use ruff_text_size::TextRange;

use super::subject::Subject;
use meanings::{Holds, Lookup, Object, What};

/// What makes a dictionary of an object's attributes.
const ATTRIBUTES: &[&str] = &["asdict", "vars(", "__dict__"];
const FILLED: &str = "a string that is filled in may read it";
/// The last part of nothing.
static EMPTY: String = String::new();

/// What strings were found to mean.
#[derive(Debug, Default)]
pub(super) struct Settled {
    /// Those that mean what is renamed.
    pub(super) ours: BTreeSet<(String, Span)>,
    /// Those of which nobody knows, and why.
    pub(super) possible: BTreeMap<(String, Span), &'static str>,
    /// Those that mean something else.
    pub(super) foreign: BTreeSet<(String, Span)>,
}

/// What the strings that may be looked up mean.
pub(super) async fn settle(engine: &EngineView, subject: &Subject) -> Result<Settled> {
    let mut settled = Settled::default();
    if subject.alias || subject.sort == Sort::Parameter {
        return Ok(settled);
    }
    let (index, root) = (engine.view.index.clone(), engine.view.root().to_owned());
    let name = subject.name.clone();
    let keys = typed_keys(engine, subject);
    // A dictionary of its keys or attributes is also passed where nobody spells the name.
    let spread: &[&str] = match (subject.sort, keys.is_empty()) {
        (Sort::Member, true) => ATTRIBUTES,
        (Sort::Member, false) => &["**"],
        _ => &[],
    };
    let found = work(move |_| read(&index, &root, &name, spread)).await?;
    let mut finder = Finder::of(engine, subject, keys);
    for (file, source, lookups) in found {
        for lookup in lookups {
            let place = (file.to_string(), span_of(&source, lookup.at));
            match finder.verdict(&file, &source, &lookup).await? {
                Verdict::Ours => drop(settled.ours.insert(place)),
                Verdict::Foreign => drop(settled.foreign.insert(place)),
                Verdict::Unknown(why) => drop(settled.possible.insert(place, why)),
                Verdict::Nothing => {}
            }
        }
    }
    Ok(settled)
}

type Read = Vec<(Arc<str>, Arc<Source>, Vec<Lookup>)>;

/// The files with such strings. Blocks: it reads all files.
fn read(index: &Index, root: &Path, name: &str, spread: &[&str]) -> Read {
    let has = |bytes: &[u8], text: &str| memchr::memmem::find(bytes, text.as_bytes()).is_some();
    let paths: Vec<&Arc<str>> = index.iter().map(|(path, _)| path).collect();
    let found = paths.par_iter().filter_map(|path| {
        let bytes = std::fs::read(root.join(&***path)).ok()?;
        let spreads = || has(&bytes, "**") && spread.iter().any(|word| has(&bytes, word));
        if !has(&bytes, name) && !spreads() {
            return None;
        }
        let source = Source::decode(&bytes);
        let found = parsed(source.text(), path, |parsed| {
            sites::lookups(parsed.body(), source.text(), name)
        });
        (!found.is_empty()).then(|| (Arc::clone(path), Arc::new(source), found))
    });
    found.collect()
}

/// The keys of the typed dictionary that the subject is a field of.
fn typed_keys(engine: &EngineView, subject: &Subject) -> BTreeSet<String> {
    let mut opened = OpenFiles::new(&engine.view);
    let mut keys = BTreeSet::new();
    for (path, at) in &subject.family.classes {
        let own = opened.with_facts(path, |facts| {
            let index = facts.named_at(at.start)?;
            let members = facts.symbols.iter();
            let members = members.filter(|s| facts.container(s) == Some(index));
            Some(members.map(|s| s.name.to_string()).collect::<Vec<_>>())
        });
        keys.extend(own.unwrap_or_default());
    }
    let is_typed = subject.family.classes.iter().any(|(path, at)| {
        let found = opened.with_facts(path, |facts| {
            let class = facts.symbols.get(facts.named_at(at.start)?)?;
            let mut bases = class.bases.iter();
            bases
                .any(|base| base.rsplit('.').next() == Some("TypedDict"))
                .then_some(())
        });
        found.is_some()
    });
    match is_typed {
        true => keys,
        false => BTreeSet::new(),
    }
}

enum Verdict {
    Ours,
    Foreign,
    Unknown(&'static str),
    Nothing,
}

struct Finder<'a> {
    engine: &'a EngineView,
    subject: &'a Subject,
    opened: OpenFiles,
    modules: Modules,
    /// The keys of the typed dictionary, if it is a field of one.
    keys: BTreeSet<String>,
}

impl<'a> Finder<'a> {
    fn of(engine: &'a EngineView, subject: &'a Subject, keys: BTreeSet<String>) -> Self {
        Self {
            engine,
            subject,
            opened: OpenFiles::new(&engine.view),
            modules: Modules::of(&engine.view.index),
            keys,
        }
    }
}

impl Finder<'_> {
    async fn verdict(
        &mut self,
        file: &str,
        source: &Arc<Source>,
        lookup: &Lookup,
    ) -> Result<Verdict> {
        match &lookup.what {
            What::Of(object) => self.attribute(file, source, object).await,
            What::Later => Ok(Verdict::Unknown("a name like it is looked up later")),
            What::Argument => Ok(Verdict::Foreign),
            What::Filled | What::FilledKey if self.subject.sort != Sort::Member => {
                Ok(Verdict::Nothing)
            }
            What::StandIn if self.subject.sort == Sort::Member => Ok(Verdict::Unknown(
                "what stands in the place of an object has it by this name",
            )),
            What::Query => self.query(file, source, lookup).await,
            What::Anywhere if self.subject.sort == Sort::Member => Ok(Verdict::Unknown(
                "its file looks up names that it is given: this may be one",
            )),
            What::StandIn | What::Anywhere => Ok(Verdict::Nothing),
            What::Filled => Ok(Verdict::Unknown(FILLED)),
            // The keys are attributes where somebody makes a dictionary of those.
            What::FilledKey => {
                let mut words = ATTRIBUTES.iter();
                let may_be = !self.keys.is_empty() || words.any(|w| source.text().contains(w));
                Ok(match may_be {
                    true => Verdict::Unknown(FILLED),
                    false => Verdict::Nothing,
                })
            }
            What::Dotted(before) => self.dotted(before).await,
            What::OfClass(at) => {
                let place = (self.engine.absolute(file), source.position(*at));
                let family = &self.subject.family;
                let mut classes = family.classes.iter().chain(&family.above);
                let is_ours = classes.any(|(path, s)| (path, s.start) == (&place.0, place.1));
                Ok(match is_ours {
                    true => Verdict::Ours,
                    false => Verdict::Foreign,
                })
            }
            What::Key(object) => self.key(file, source, lookup, object).await,
            What::InDict(keys, context) => self.in_dict(file, source, keys, context).await,
            What::Spread(of, called, holds) => {
                self.spread(file, source, (of, called, *holds)).await
            }
        }
    }

    /// A query may mean an attribute, if its file knows the class, and no function takes the
    /// keyword.
    async fn query(
        &mut self,
        file: &str,
        source: &Arc<Source>,
        lookup: &Lookup,
    ) -> Result<Verdict> {
        let is_attribute = self.subject.family.places.iter().any(|(path, at)| {
            let defined = self.opened.defined_at(path, at.start);
            defined.is_none_or(|defined| !defined.kind.is_callable())
        });
        if self.subject.sort != Sort::Member || !is_attribute || !self.knows_family(file) {
            return Ok(Verdict::Nothing);
        }
        let at = source.position(lookup.at.start().to_usize());
        Ok(match self.engine.definition(file, at).await?.is_empty() {
            true => Verdict::Unknown("a query may mean it by this name"),
            false => Verdict::Nothing,
        })
    }

    /// What is passed by `**` has the name as a keyword, unless it makes another of its kind.
    async fn spread(
        &mut self,
        file: &str,
        source: &Arc<Source>,
        (of, called, holds): (&Object, &Object, Holds),
    ) -> Result<Verdict> {
        let is_key = holds == Holds::Keys;
        if self.subject.sort != Sort::Member || is_key && self.keys.is_empty() {
            return Ok(Verdict::Nothing);
        }
        let (classes, _) = self.object(file, source, of).await?;
        if !self.is_ours(&classes) {
            return Ok(Verdict::Nothing);
        }
        let makes = match called {
            Object::Named(at) => meaning(self.engine, file, source, *at).await?,
            _ => Vec::new(),
        };
        Ok(match self.is_ours(&makes) {
            true => Verdict::Nothing,
            false => Verdict::Unknown("it is passed by `**`, with the name as a keyword"),
        })
    }

    /// The classes that an object belongs to, or that it is; and the modules that it is.
    async fn object(
        &mut self,
        file: &str,
        source: &Arc<Source>,
        object: &Object,
    ) -> Result<(Vec<FileSpan>, Vec<FileSpan>)> {
        let (at, is_made) = match object {
            Object::Other => return Ok(Default::default()),
            Object::Own(at) => {
                let path = self.engine.absolute(file);
                let at = source.position(*at);
                let class = closure::class_around(&mut self.opened, &path, at);
                return Ok((class.into_iter().collect(), Vec::new()));
            }
            Object::Named(at) => (*at, false),
            Object::Made(at) => (*at, true),
        };
        let means = meaning(self.engine, file, source, at).await?;
        let modules = means.iter().filter(|(_, span)| *span == Span::default());
        let modules: Vec<FileSpan> = modules.cloned().collect();
        let mut classes = Vec::new();
        for place in &means {
            let defined = self.opened.defined_at(&place.0, place.1.start);
            if defined.is_some_and(|defined| defined.kind == Kind::Class) {
                classes.push(place.clone());
            }
        }
        if classes.is_empty() && modules.is_empty() && !is_made {
            classes = classes_of(self.engine, file, source.position(at)).await?;
            // What an engine has no type for has a type of its own there.
            classes.retain(|(path, _)| !path.to_string_lossy().contains("ty_extensions"));
        }
        Ok((classes, modules))
    }

    /// Whether a file has one of the classes, or spells its name.
    fn knows_family(&mut self, file: &str) -> bool {
        let facts = self.engine.view.index.get(file);
        let path = self.engine.absolute(file);
        self.subject.family.classes.iter().any(|class| {
            let source = self.opened.source(&class.0);
            let name = source.and_then(|s| s.slice(class.1).map(name_hash));
            class.0 == path || facts.zip(name).is_some_and(|(f, name)| f.may_mention(name))
        })
    }

    fn is_ours(&self, classes: &[FileSpan]) -> bool {
        let mut classes = classes.iter();
        classes.any(|class| self.subject.family.classes.contains(class))
    }

    async fn attribute(
        &mut self,
        file: &str,
        source: &Arc<Source>,
        object: &Object,
    ) -> Result<Verdict> {
        let (classes, modules) = self.object(file, source, object).await?;
        let is_ours = match self.subject.sort {
            Sort::Member => self.is_ours(&classes),
            _ => modules.iter().any(|(path, _)| self.binds(path)),
        };
        Ok(match is_ours {
            true => Verdict::Ours,
            false if classes.is_empty() && modules.is_empty() => {
                Verdict::Unknown("the type of the object is not known")
            }
            false => Verdict::Foreign,
        })
    }

    /// Whether a module has what is renamed under its name, and nothing else of this name.
    fn binds(&mut self, path: &Path) -> bool {
        let file = self.opened.name(path).0;
        let index = &self.engine.view.index;
        let (Some(facts), Some(places)) = (index.get(&file), self.subject.places.get(&file)) else {
            return false;
        };
        let name = &*self.subject.name;
        let is_ours = |span: &Span| places.iter().any(|place| span.holds(place));
        let symbols = facts.symbols.iter();
        let mut symbols = symbols.filter(|s| s.container.is_none() && &*s.name == name);
        let mut imports = facts.imports.iter();
        // What a function imports is no name of its module.
        let is_inner = |span: &Span| {
            let mut symbols = facts.symbols.iter();
            symbols.any(|s| s.signature.is_some() && s.span.holds(span))
        };
        symbols.any(|symbol| is_ours(&symbol.name_span))
            || imports.any(|import| {
                import.alias.is_none()
                    && import.name.as_deref() == Some(name)
                    && is_ours(&import.span)
                    && !is_inner(&import.span)
            })
    }

    /// `package.module.name`, or `package.module.Class.name`.
    async fn dotted(&mut self, before: &[String]) -> Result<Verdict> {
        let module = |parts: &[String]| {
            let target = self.modules.find("", &parts.join("."))?;
            self.modules.file(&target.key).map(ToOwned::to_owned)
        };
        if self.subject.sort != Sort::Member {
            let Some(file) = module(before) else {
                // What a class of a module has is no name of a module.
                let (_, above) = before.split_last().unwrap_or((&EMPTY, &[]));
                return Ok(match module(above) {
                    Some(_) if !above.is_empty() => Verdict::Foreign,
                    _ => Verdict::Nothing,
                });
            };
            let path = self.engine.absolute(&file);
            return Ok(match self.binds(&path) {
                true => Verdict::Ours,
                false => Verdict::Foreign,
            });
        }
        let Some((class, before)) = before.split_last() else {
            return Ok(Verdict::Nothing);
        };
        let Some(file) = module(before) else {
            return Ok(Verdict::Nothing);
        };
        let classes = self.class_in(&file, class).await?;
        Ok(match self.is_ours(&classes) {
            true => Verdict::Ours,
            false => Verdict::Foreign,
        })
    }

    /// What a module has under the name of a class, also if it imports it.
    async fn class_in(&mut self, file: &str, class: &str) -> Result<Vec<FileSpan>> {
        let path = self.engine.absolute(file);
        if let Some(span) = self.opened.named(&path, class) {
            return Ok(vec![(path, span)]);
        }
        let import = self.engine.view.index.get(file).and_then(|facts| {
            let mut imports = facts.imports.iter();
            imports.find(|i| {
                i.alias
                    .as_ref()
                    .or(i.name.as_ref())
                    .is_some_and(|n| **n == *class)
            })
        });
        let Some(import) = import else {
            return Ok(Vec::new());
        };
        let found = self.engine.definition(file, import.span.start).await?;
        let found = found.iter().map(|l| (l.path.clone(), span(l.range)));
        Ok(found.collect())
    }
}

fn span_of(source: &Source, range: TextRange) -> Span {
    Span {
        start: source.position(range.start().to_usize()),
        end: source.position(range.end().to_usize()),
    }
}
