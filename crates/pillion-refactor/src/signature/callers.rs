//! Who calls the functions that change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use futures::{StreamExt, stream};
use pillion_catalogue::Result;
use pillion_index::parsed::{Parsed, parsed};
use pillion_index::source::{Source, Span};
use pillion_symbols::ask::{EngineView, span as span_of, to_engine};
use pillion_symbols::closure;
use pillion_symbols::open_files::{self, FileSpan, OpenFiles};
use pillion_symbols::references;
use ruff_text_size::TextRange;

use super::function::{self, Sort};
use super::sites::{self, Receiver, Site, Use};
use super::subject::{Definition, Subject};
use super::writing::Call;

/// Questions that are asked at the same time.
const AT_ONCE: usize = 8;
/// Classes that are looked at on the way to an `__init__`.
const MAX_CLASSES: usize = 200;

/// Who calls, and who does something else with the name.
#[derive(Debug, Default)]
pub(super) struct Callers {
    /// By file.
    pub(super) calls: BTreeMap<PathBuf, Vec<Call>>,
    /// What is left as it is, and why.
    pub(super) left: Vec<(PathBuf, Span, String)>,
}

/// How a name means a function that changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// It is the name of this definition.
    Definition(usize),
    /// It is the name of a class with its `__init__`.
    Class,
}

impl Callers {
    pub(super) async fn find(engine: &EngineView, subject: &Subject) -> Result<Self> {
        let mut finder = Finder {
            engine,
            subject,
            opened: OpenFiles::new(&engine.view),
            names: BTreeMap::new(),
            classes: Vec::new(),
            found: Self::default(),
        };
        for (index, definition) in subject.definitions.iter().enumerate() {
            let place = (definition.path.clone(), definition.at);
            finder.note(place, Way::Definition(index)).await?;
        }
        if let Some(class) = &subject.class {
            let mut classes = vec![class.clone()];
            // Who imports the class may know its stub alone.
            let index = &engine.view.index;
            classes.extend(open_files::twins(&mut finder.opened, index, class));
            for class in classes.clone() {
                classes.extend(finder.heirs(&class).await?);
            }
            classes.sort();
            classes.dedup();
            for (path, span) in &classes {
                finder.note((path.clone(), span.start), Way::Class).await?;
            }
            finder.classes = classes;
        }
        finder.look().await?;
        Ok(finder.found)
    }
}

struct Finder<'a> {
    engine: &'a EngineView,
    subject: &'a Subject,
    opened: OpenFiles,
    /// Where names stand that mean one of the functions.
    names: BTreeMap<PathBuf, Vec<(Span, Way)>>,
    /// The classes that are made by the `__init__`.
    classes: Vec<FileSpan>,
    found: Callers,
}

/// A call whose receiver is still to be looked at.
struct Open {
    site: Site,
    ways: Vec<Way>,
}

impl Finder<'_> {
    /// Note every place that means what is defined at a place, also under other names.
    async fn note(
        &mut self,
        at: (PathBuf, pillion_index::source::Position),
        way: Way,
    ) -> Result<()> {
        let (path, at) = at;
        let file = self.opened.name(&path).0;
        let uses = self.engine.references(&file, at).await?;
        let mut places: Vec<(PathBuf, Span)> = uses
            .iter()
            .map(|use_| (use_.path.clone(), span_of(use_.range)))
            .collect();
        references::add_other_names(self.engine, &mut self.opened, &mut places).await?;
        for (path, span) in places {
            if closure::is_inside(self.engine, &path) {
                self.names.entry(path).or_default().push((span, way));
            }
        }
        Ok(())
    }

    /// The classes below one that are made by its `__init__`.
    async fn heirs(&mut self, class: &FileSpan) -> Result<Vec<FileSpan>> {
        let mut heirs = Vec::new();
        for below in closure::implementations(self.engine, class).await? {
            if below != *class
                && closure::is_inside(self.engine, &below.0)
                && self.init_of(&below).await?.as_ref() == Some(class)
            {
                heirs.push(below);
            }
        }
        Ok(heirs)
    }

    /// The class that has the `__init__` of a class: the first one above, from left to right.
    async fn init_of(&mut self, class: &FileSpan) -> Result<Option<FileSpan>> {
        let server = self.engine.server()?;
        let at = to_engine(class.1.start);
        let timeout = self.engine.timeout;
        let mut open = server.prepare_type_hierarchy(&class.0, at, timeout).await?;
        let mut seen = 0;
        while let Some(item) = open.pop() {
            seen += 1;
            if seen > MAX_CLASSES {
                break;
            }
            let at = span_of(item.range).start;
            let place = self.opened.with_facts(&item.path, |facts| {
                let index = facts.named_at(at)?;
                let mut members = facts.symbols.iter();
                let has_init =
                    members.any(|s| &*s.name == "__init__" && facts.container(s) == Some(index));
                Some((facts.symbols[index].name_span, has_init))
            });
            if let Some((span, true)) = place {
                return Ok(Some((item.path.clone(), span)));
            }
            let above = server.supertypes(&item, timeout).await?;
            open.extend(above.into_iter().rev());
        }
        Ok(None)
    }

    /// Look at every place: is it a call, and of what.
    async fn look(&mut self) -> Result<()> {
        let mut names = std::mem::take(&mut self.names);
        for (path, _) in &self.classes {
            names.entry(path.clone()).or_default();
        }
        for (path, places) in names {
            let Some(source) = self.opened.source(&path) else {
                continue;
            };
            let open = self.in_file(&path, &source, &places);
            let file = self.opened.name(&path).0;
            let asked: Vec<Result<Vec<Call>>> = stream::iter(open)
                .map(|open| self.calls(&file, &source, open))
                .buffered(AT_ONCE)
                .collect()
                .await;
            let mut calls: Vec<Call> = Vec::new();
            for call in asked {
                calls.extend(call?);
            }
            if !calls.is_empty() {
                self.found.calls.insert(path, calls);
            }
        }
        Ok(())
    }

    /// The calls in a file; what is no call is left, with the reason.
    fn in_file(&mut self, path: &Path, source: &Source, places: &[(Span, Way)]) -> Vec<Open> {
        let file = self.opened.name(path).0;
        parsed(source.text(), &file, |parsed| {
            self.in_parsed(path, source, parsed, places)
        })
    }

    fn in_parsed(
        &mut self,
        path: &Path,
        source: &Source,
        parsed: &Parsed,
        places: &[(Span, Way)],
    ) -> Vec<Open> {
        let body = parsed.body();
        let mut ways: BTreeMap<usize, Vec<Way>> = BTreeMap::new();
        for (span, way) in places {
            // An engine may point at all of `self.name`.
            let Some(end) = source.offset(span.end) else {
                continue;
            };
            let start = source
                .word_at(span.end)
                .and_then(|(_, s)| source.offset(s.start));
            let known = ways.entry(start.unwrap_or(end)).or_default();
            if !known.contains(way) {
                known.push(*way);
            }
        }
        let wanted: BTreeSet<usize> = ways.keys().copied().collect();
        let mut open = Vec::new();
        for (at, found) in sites::uses(body, &wanted) {
            let ways = ways.remove(&at).unwrap_or_default();
            let is_class = ways.contains(&Way::Class);
            let why = match found {
                Use::Call(site) => {
                    open.push(Open { site, ways });
                    continue;
                }
                Use::Passed(to) if to == "partial" => "`partial` has arguments of its own".into(),
                Use::Passed(to) if to.is_empty() => "it is handed on, not called".into(),
                Use::Passed(to) => format!("it is handed to `{to}`, not called"),
                Use::Assigned => "it goes elsewhere from here, and is not followed".into(),
                Use::Value if !is_class => "it is used as a value, not called".into(),
                Use::Decorator => "it is used as a decorator".into(),
                Use::Value | Use::Mention => continue,
            };
            let start = source.position(at);
            let end = source.word_at(start).map_or(start, |(_, span)| span.end);
            self.found
                .left
                .push((path.to_owned(), Span { start, end }, why));
        }
        for (_, span) in self.classes.iter().filter(|(file, _)| file == path) {
            let at = source.offset(span.start);
            let class = at.and_then(|at| function::find_class(body, at));
            let own = class.map(sites::own_calls).unwrap_or_default();
            open.extend(own.into_iter().map(|site| Open {
                site,
                ways: vec![Way::Class],
            }));
        }
        open
    }

    /// The parameters that a call may be meant for; none if it hands on what it was given
    /// by calls that change as well.
    async fn calls(&self, file: &str, source: &Source, open: Open) -> Result<Vec<Call>> {
        let Open { site, ways } = open;
        if self.is_handed_on(file, &site) {
            return Ok(Vec::new());
        }
        let mut fits = Vec::new();
        for way in ways {
            let all = &self.subject.definitions;
            // What hands on whatever it gets is called like the one that it stands for.
            let definition = match way {
                Way::Definition(index) if all[index].is_edited() => &all[index],
                _ => &all[0],
            };
            let function = &definition.function;
            let is_unbound = way != Way::Class
                && function.sort == Sort::Instance
                && self.is_unbound(file, source, site.receiver).await?;
            let (old, new) = (&function.parameters, definition.after());
            fits.push(match is_unbound {
                true => (function.unbound(old), function.unbound(new)),
                false => (old.clone(), new.to_vec()),
            });
        }
        fits.dedup();
        let arguments: TextRange = site.arguments;
        Ok(vec![Call { arguments, fits }])
    }

    /// Whether a call hands on what one of the functions was given.
    fn is_handed_on(&self, file: &str, site: &Site) -> bool {
        let is_around = |definition: &Definition| {
            definition.file == file
                && site.hands_on == Some(definition.offset)
                && !definition.is_edited()
        };
        self.subject.definitions.iter().any(is_around)
    }

    /// Whether a method is taken from the class, so that the call passes the object.
    async fn is_unbound(&self, file: &str, source: &Source, receiver: Receiver) -> Result<bool> {
        let at = match receiver {
            Receiver::Object => return Ok(false),
            Receiver::None | Receiver::Class => return Ok(true),
            Receiver::Ask(at) => source.position(at),
        };
        match source.word_at(at).map(|(word, _)| word) {
            Some("self") => return Ok(false),
            Some("cls") => return Ok(true),
            _ => {}
        }
        let told = self.engine.hover(file, at).await?;
        let text = told.as_ref().as_ref().map_or("", |hover| &hover.text);
        let head = text.trim_start();
        Ok(["class ", "<class ", "type["]
            .iter()
            .any(|start| head.starts_with(start)))
    }
}
