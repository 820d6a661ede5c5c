//! Functions that hand a keyword on: to whom, and whether it arrives.

use std::sync::Arc;

use pillion_catalogue::{Result, work};
use pillion_index::Kind;
use pillion_index::facts::name_hash;
use pillion_index::parsed::parsed;
use pillion_index::source::Source;
use rayon::prelude::*;

use super::sites::{Argument, Named};
use super::target::{span_of, taking};
use super::{COPIES, Carries, Finder, HANDED_ON, Looked, MAX_HANDED, mappings, sites};
use crate::closure::{self, Grower};
use crate::definitions;
use crate::open_files::FileSpan;
use crate::project::View;

impl Finder<'_> {
    /// Whether what is defined at one of these places takes the keyword, or hands it on to
    /// something that does.
    pub(super) async fn carries(&mut self, places: &[FileSpan], depth: usize) -> Result<Carries> {
        let mut all = Carries::No;
        for place in places {
            if self.target.functions.contains(place) || self.target.classes.contains(place) {
                return Ok(Carries::Yes);
            }
            if depth > MAX_HANDED || !closure::is_inside(self.engine, &place.0) {
                continue;
            }
            let known = match self.carriers.get(place) {
                Some(known) => *known,
                None => {
                    self.carriers.insert(place.clone(), Carries::No);
                    let known = Box::pin(self.hands_on(place, depth)).await?;
                    self.carriers.insert(place.clone(), known);
                    known
                }
            };
            all = all.max(known);
        }
        Ok(all)
    }

    /// What is called by a name: also the class that a variable holds.
    pub(super) async fn called(&mut self, looked: &Looked, at: usize) -> Result<Vec<FileSpan>> {
        let mut means = self.means(looked, at).await?;
        let is_defined = means.iter().any(|place| {
            let defined = self.opened.defined_at(&place.0, place.1.start);
            defined.is_some_and(|d| d.kind.is_callable() || d.kind == Kind::Class)
        });
        if is_defined {
            return Ok(means);
        }
        let at = looked.source.position(at);
        let told = self.engine.hover(&looked.file, at).await?;
        let text = told.as_ref().as_ref().map_or("", |hover| &hover.text);
        if ["type[", "<class "].iter().any(|word| text.contains(word)) {
            let classes = definitions::classes_of(self.engine, &looked.file, at).await?;
            let inside = classes.into_iter();
            means.extend(inside.filter(|(path, _)| closure::is_inside(self.engine, path)));
        }
        Ok(means)
    }

    async fn hands_on(&mut self, place: &FileSpan, depth: usize) -> Result<Carries> {
        let Some(looked) = self.look(&place.0) else {
            return Ok(Carries::No);
        };
        let Some(at) = looked.source.offset(place.1.start) else {
            return Ok(Carries::No);
        };
        let kind = self.opened.defined_at(&place.0, place.1.start);
        match kind.map(|defined| defined.kind) {
            Some(Kind::Class) => {
                let mut all = Carries::No;
                for maker in ["__init__", "__new__"] {
                    let own = closure::members_named(&mut self.opened, place, maker);
                    all = all.max(self.carries(&own, depth + 1).await?);
                }
                Ok(all)
            }
            Some(kind) if kind.is_callable() => {
                self.function_hands_on(place, &looked, at, depth).await
            }
            _ => {
                let given = parsed(looked.source.text(), &looked.file, |parsed| {
                    sites::given(parsed.body(), at)
                });
                let mut all = Carries::No;
                for argument in given {
                    if let Argument::Named(named) = argument {
                        let means = self.means(&looked, named.at).await?;
                        all = all.max(self.carries(&means, depth + 1).await?);
                    }
                }
                Ok(all)
            }
        }
    }

    /// Whether a function hands all its keywords on, and to whom.
    async fn function_hands_on(
        &mut self,
        place: &FileSpan,
        looked: &Looked,
        at: usize,
        depth: usize,
    ) -> Result<Carries> {
        let Some(taking) = taking(&mut self.opened, place, self.name, false) else {
            return Ok(Carries::No);
        };
        let (None, Some(any)) = (taking.parameter, taking.any) else {
            return Ok(Carries::No);
        };
        let handed = parsed(looked.source.text(), &looked.file, |parsed| {
            mappings::handed(parsed.body(), looked.source.text(), at, &any, self.name)
        });
        let mut all = match handed.is_unknown {
            true => Carries::Maybe,
            false => Carries::No,
        };
        for (callee, arguments) in &handed.callees {
            if self.target.is_field {
                let known = self.makes_own(looked, callee, arguments).await?;
                all = all.max(known);
                if known != Carries::No {
                    continue;
                }
            }
            let mut means = self.called(looked, callee.at).await?;
            means.extend(self.cooperating(looked, callee).await?);
            let known = match means.is_empty() {
                true if self.is_own(looked, callee).await? => Carries::Yes,
                true => Carries::Maybe,
                false => self.carries(&means, depth + 1).await?,
            };
            let is_given = known == Carries::No
                && (means.iter().all(|(path, _)| *path == place.0) && self.decorates(place)
                    || self.are_values(&means)
                        && !self.target.is_field
                        && self.goes_round().await?);
            all = all.max(if is_given { Carries::Maybe } else { known });
        }
        for range in handed.taken {
            let place = looked.place(self.engine, range);
            match all {
                Carries::Yes => drop(self.found.certain.insert(place)),
                Carries::Maybe => self.doubt(place, HANDED_ON),
                Carries::No => {}
            }
        }
        Ok(all)
    }

    /// Whether a function lies in one that decorates one of the functions.
    fn decorates(&mut self, (path, at): &FileSpan) -> bool {
        let decorators = &self.target.decorators;
        let found = self.opened.with_facts(path, |facts| {
            let mut next = facts.named_at(at.start);
            while let Some(symbol) = next.and_then(|index| facts.symbols.get(index)) {
                next = facts.container(symbol);
                let around = next.and_then(|index| facts.symbols.get(index));
                if around.is_some_and(|around| decorators.contains(&*around.name)) {
                    return Some(());
                }
            }
            None
        });
        found.is_some()
    }

    /// Whether a call copies an object of one of the classes, or makes one from within:
    /// `replace(self, **changes)`, `cls(**fields)`.
    async fn makes_own(
        &mut self,
        looked: &Looked,
        callee: &Named,
        arguments: &[Argument],
    ) -> Result<Carries> {
        if COPIES.contains(&&*callee.name) {
            return Ok(match self.copy(looked, callee, arguments).await? {
                (true, _) => Carries::Yes,
                (false, Some(_)) => Carries::Maybe,
                (false, None) => Carries::No,
            });
        }
        if !matches!(callee.name.as_str(), "cls" | "__class__") {
            return Ok(Carries::No);
        }
        let at = looked.source.position(callee.at);
        let path = self.engine.absolute(&looked.file);
        let Some(class) = closure::class_around(&mut self.opened, &path, at) else {
            return Ok(Carries::No);
        };
        if self.target.classes.contains(&class) {
            return Ok(Carries::Yes);
        }
        // A class above makes objects of those below it, too.
        for own in &self.target.classes {
            if Grower::new(self.engine).line(own).await?.contains(&class) {
                return Ok(Carries::Maybe);
            }
        }
        Ok(Carries::No)
    }

    /// Functions that take the keyword out of those that they hand on, or put it there.
    pub(super) async fn takers(&mut self) -> Result<()> {
        let view = self.engine.view.clone();
        let name = self.name.to_owned();
        let found = work(move |_| takers(&view, &name)).await?;
        for place in found {
            if !self.carriers.contains_key(&place) {
                self.carries(&[place], 0).await?;
            }
        }
        Ok(())
    }

    /// Whether a method of this name that hands on its keywords may be meant.
    pub(super) async fn may_hand_on(&mut self, name: &str) -> Result<bool> {
        let index = self.engine.view.index.clone();
        let hash = name_hash(name);
        for (file, facts) in index.iter().filter(|(_, facts)| facts.may_mention(hash)) {
            let methods = facts.symbols.iter();
            let methods = methods.filter(|s| &*s.name == name && s.kind.is_callable());
            for method in methods.filter(|symbol| facts.is_member(symbol)) {
                let place = (self.engine.absolute(file), method.name_span);
                if self.carries(&[place], 0).await? == Carries::Yes {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// The functions that take a name out of their keywords of any name, or put it there. Blocks:
/// it reads all files.
fn takers(view: &View, name: &str) -> Vec<FileSpan> {
    let paths: Vec<&Arc<str>> = view.index.iter().map(|(path, _)| path).collect();
    let found: Vec<Vec<FileSpan>> = paths
        .par_iter()
        .map(|path| {
            let whole = view.root().join(&***path);
            let bytes = std::fs::read(&whole).unwrap_or_default();
            if memchr::memmem::find(&bytes, name.as_bytes()).is_none()
                || memchr::memmem::find(&bytes, b"**").is_none()
            {
                return Vec::new();
            }
            let source = Source::decode(&bytes);
            let found = parsed(source.text(), path, |parsed| {
                mappings::takers(parsed.body(), source.text(), name)
            });
            let found = found.into_iter();
            found
                .map(|range| (whole.clone(), span_of(&source, range)))
                .collect()
        })
        .collect();
    found.into_iter().flatten().collect()
}
