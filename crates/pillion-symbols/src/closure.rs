//! The family of a definition: what has to keep one name with it.
//!
//! Who renames a method means those above that it overrides, all below that override those,
//! and what another base of a class below has under the same name. A stub and the source
//! beside it are one definition, and so are overloads and what they are overloads of. A
//! protocol belongs together with the classes that have all that it asks for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pillion_catalogue::Result;
use pillion_index::answers::Location;
use pillion_index::facts::name_hash;
use pillion_index::source::{Position, Span};
use pillion_index::{Facts, Kind};

use crate::ask::{EngineView, span, to_engine};
use crate::open_files::{self, FileSpan, OpenFiles};
use crate::registered;

/// Classes that are looked at on the way up.
const MAX_CLASSES: usize = 200;

/// The definitions that belong together, and the classes that have them.
#[derive(Debug, Default)]
pub struct Family {
    /// Where the definitions have their names.
    pub places: BTreeSet<FileSpan>,
    /// Those that belong to it only because a protocol asks for what they have.
    pub alike: BTreeSet<FileSpan>,
    /// The classes whose objects have one of them, by the places of their names.
    pub classes: BTreeSet<FileSpan>,
    /// The classes above those, which may use what only the others define.
    pub above: BTreeSet<FileSpan>,
    /// The protocols among the classes, by their names.
    pub(crate) protocols: BTreeSet<String>,
    /// What has the same name in a class above that is not of this workspace.
    pub outside: BTreeSet<FileSpan>,
}

impl Family {
    /// Whether a definition is one of them. Engines name the assignment of an attribute that
    /// suits them, so each in a class of the family counts.
    pub fn has(&self, opened: &mut OpenFiles, place: &FileSpan) -> bool {
        self.places.contains(place)
            || assigned_in(opened, place).is_some_and(|class| self.classes.contains(&class))
    }
}

/// The class in one of whose methods an attribute gets a value: `self.name = ...`.
fn assigned_in(opened: &mut OpenFiles, (path, span): &FileSpan) -> Option<FileSpan> {
    let source = opened.source(path)?;
    let at = source.offset(span.start)?;
    source.text().get(..at)?.ends_with('.').then_some(())?;
    class_around(opened, path, span.start)
}

/// The innermost class around a place.
pub fn class_around(opened: &mut OpenFiles, path: &Path, at: Position) -> Option<FileSpan> {
    let found = opened.with_facts(path, |facts| {
        let mut next = facts.enclosing(at);
        while let Some(index) = next {
            let symbol = facts.symbols.get(index)?;
            if symbol.kind == Kind::Class {
                return Some(symbol.name_span);
            }
            next = facts.container(symbol);
        }
        None
    });
    found.map(|span| (path.to_owned(), span))
}

/// The class whose own object a name is taken from: `self.name`, `cls.name`, `super().name`.
pub(crate) fn own_class(opened: &mut OpenFiles, (path, span): &FileSpan) -> Option<FileSpan> {
    let source = opened.source(path)?;
    let at = source.offset(span.start)?;
    let before = source.text().get(..at)?.trim_end().strip_suffix('.')?;
    if before.ends_with("super()") {
        return class_around(opened, path, span.start);
    }
    let word = before.rsplit(|c: char| c != '_' && !c.is_alphanumeric());
    let word = word.into_iter().next()?;
    let is_alone = !before.strip_suffix(word)?.ends_with('.');
    (is_alone && matches!(word, "self" | "cls")).then_some(())?;
    class_around(opened, path, span.start)
}

/// Finds the family of definitions; more can be added when it turns out that they belong to
/// it.
pub struct Grower<'a> {
    engine: &'a EngineView,
    /// The files that were read on the way.
    pub opened: OpenFiles,
    /// What was found so far.
    pub family: Family,
    /// A class with all above it, itself first.
    lines: BTreeMap<FileSpan, Vec<FileSpan>>,
    /// Classes of which all below are known.
    covered: BTreeSet<FileSpan>,
    /// Classes with those that were registered as subclasses, if that was looked at.
    registered: Option<Vec<(FileSpan, FileSpan)>>,
}

impl<'a> Grower<'a> {
    /// Nothing yet; the engine says what belongs to what is added.
    pub fn new(engine: &'a EngineView) -> Self {
        Self {
            engine,
            opened: OpenFiles::new(&engine.view),
            family: Family::default(),
            lines: BTreeMap::new(),
            covered: BTreeSet::new(),
            registered: None,
        }
    }

    /// Take in a definition and all that belongs to it.
    pub async fn add(&mut self, place: &FileSpan) -> Result<()> {
        let mut open = vec![place.clone()];
        while let Some(place) = open.pop() {
            if !self.family.places.insert(place.clone()) {
                continue;
            }
            open.extend(self.same(&place));
            let Some((class, name)) = member(&mut self.opened, &place) else {
                continue;
            };
            let class = (place.0.clone(), class);
            self.family.classes.insert(class.clone());
            if is_mangled(&name) {
                continue;
            }
            open.extend(self.relatives(&class, &name).await?);
            open.extend(self.registered(&class, &name).await?);
            for other in self.alike(&class, &name).await? {
                if !self.family.places.contains(&other) {
                    self.family.alike.insert(other.clone());
                    open.push(other);
                }
            }
        }
        Ok(())
    }

    /// Take in a definition with what says the same: its stub and its overloads. For those
    /// that are not called in the place of others, such as `__init__`.
    pub fn add_alone(&mut self, place: &FileSpan) {
        let mut open = vec![place.clone()];
        while let Some(place) = open.pop() {
            if self.family.places.insert(place.clone()) {
                open.extend(self.same(&place));
            }
        }
    }

    /// Take in what the classes below one define under a name: it takes it from its objects,
    /// although it does not define it.
    pub(crate) async fn add_below(&mut self, class: &FileSpan, name: &str) -> Result<()> {
        for below in implementations(self.engine, class).await? {
            for place in members_named(&mut self.opened, &below, name) {
                if is_inside(self.engine, &place.0) {
                    self.add(&place).await?;
                }
            }
        }
        Ok(())
    }

    /// The same definition elsewhere: in the stub or source beside it, as an overload.
    fn same(&mut self, place: &FileSpan) -> Vec<FileSpan> {
        let mut all = open_files::twins(&mut self.opened, &self.engine.view.index, place);
        let (path, span) = place;
        let others = self.opened.with_facts(path, |facts| {
            let own = facts.symbols.get(facts.named_at(span.start)?)?;
            // A variable that gets another value is the same variable: scopes know that.
            if !own.kind.is_callable() && !facts.is_member(own) {
                return None;
            }
            let all = facts.symbols.iter();
            let same = all.filter(|s| s.name == own.name && s.container == own.container);
            Some(same.map(|s| s.name_span).collect::<Vec<_>>())
        });
        let others = others.unwrap_or_default().into_iter();
        all.extend(others.map(|span| (path.clone(), span)));
        all
    }

    /// What the classes above and below one have under a name.
    async fn relatives(&mut self, class: &FileSpan, name: &str) -> Result<Vec<FileSpan>> {
        let mut found = Vec::new();
        let line = self.line(class).await?;
        let mut having = Vec::new();
        for above in &line {
            let own = self.take(above, name);
            if !own.is_empty() || above == class {
                having.push(above.clone());
            }
            found.extend(own);
        }
        self.family.above.extend(line);
        // Those furthest above have all others below them.
        for top in having.iter().rev() {
            if !is_inside(self.engine, &top.0) || self.covered.contains(top) {
                continue;
            }
            for below in implementations(self.engine, top).await? {
                if !is_inside(self.engine, &below.0) {
                    continue;
                }
                self.covered.insert(below.clone());
                self.family.classes.insert(below.clone());
                found.extend(self.take(&below, name));
                // Another base may have it too, and the class takes one for the other.
                if self.base_count(&below) > 1 {
                    let line = self.line(&below).await?;
                    for above in &line {
                        found.extend(self.take(above, name));
                    }
                    self.family.above.extend(line);
                }
            }
        }
        Ok(found)
    }

    /// What a class has under a name that was registered as a subclass of another, or that
    /// another was registered for.
    async fn registered(&mut self, class: &FileSpan, name: &str) -> Result<Vec<FileSpan>> {
        if self.registered.is_none() {
            let pairs = registered::pairs(self.engine, &mut self.opened).await?;
            self.registered = Some(pairs);
        }
        let line = self.line(class).await?;
        let pairs = self.registered.clone().unwrap_or_default();
        let mut found = Vec::new();
        for (base, other) in pairs {
            if self.family.classes.contains(&base) || line.contains(&base) {
                self.family.classes.insert(other.clone());
                for class in self.line(&other).await? {
                    found.extend(self.take(&class, name));
                }
            } else if line.contains(&other) || self.family.classes.contains(&other) {
                for class in self.line(&base).await? {
                    found.extend(self.take(&class, name));
                }
            }
        }
        Ok(found)
    }

    /// What a class has under a name; if it is not of the workspace, that is only noted.
    fn take(&mut self, class: &FileSpan, name: &str) -> Vec<FileSpan> {
        let own = members_named(&mut self.opened, class, name);
        if is_inside(self.engine, &class.0) {
            return own;
        }
        self.family.outside.extend(own);
        Vec::new()
    }

    fn base_count(&mut self, (path, span): &FileSpan) -> usize {
        let count = self.opened.with_facts(path, |facts| {
            let class = facts.symbols.get(facts.named_at(span.start)?)?;
            Some(class.bases.len())
        });
        count.unwrap_or_default()
    }

    /// A class and all above it.
    pub async fn line(&mut self, class: &FileSpan) -> Result<Vec<FileSpan>> {
        if let Some(known) = self.lines.get(class) {
            return Ok(known.clone());
        }
        let server = self.engine.server()?;
        let timeout = self.engine.timeout;
        let at = to_engine(class.1.start);
        let mut open = server.prepare_type_hierarchy(&class.0, at, timeout).await?;
        let mut line = vec![class.clone()];
        let mut seen: BTreeSet<FileSpan> = BTreeSet::new();
        while let Some(item) = open.pop() {
            let place = (item.path.clone(), span(item.range));
            if seen.len() >= MAX_CLASSES || !seen.insert(place.clone()) {
                continue;
            }
            if !line.contains(&place) {
                line.push(place);
            }
            open.extend(server.supertypes(&item, timeout).await?);
        }
        self.lines.insert(class.clone(), line.clone());
        Ok(line)
    }

    /// What belongs to a member because of a protocol: from the protocol to the classes that
    /// have all that it asks for, and from such a class to the protocol.
    async fn alike(&mut self, class: &FileSpan, name: &str) -> Result<Vec<FileSpan>> {
        if is_special(name) {
            return Ok(Vec::new());
        }
        let index = self.engine.view.index.clone();
        let own = self.opened.with_facts(&class.0, |facts| {
            let symbol = facts.symbols.get(facts.named_at(class.1.start)?)?;
            is_protocol(symbol).then(|| symbol.name.to_string())
        });
        let (word, hash) = (name_hash("Protocol"), name_hash(name));
        let mut found = Vec::new();
        if let Some(own) = own {
            self.family.protocols.insert(own);
            let asked = self.asked_by(class).await?;
            for (file, facts) in index.iter().filter(|(_, f)| f.may_mention(hash)) {
                let path = self.engine.absolute(file);
                for (span, member) in classes_with(facts, name, false) {
                    let other = (path.clone(), span);
                    if self.gives(&other, &asked).await? {
                        found.push((path.clone(), member));
                    }
                }
            }
            return Ok(found);
        }
        let may_have = |f: &&Facts| f.may_mention(word) && f.may_mention(hash);
        for (file, facts) in index.iter().filter(|(_, facts)| may_have(facts)) {
            let path = self.engine.absolute(file);
            for (span, member) in classes_with(facts, name, true) {
                let asked = self.asked_by(&(path.clone(), span)).await?;
                if self.gives(class, &asked).await? {
                    found.push((path.clone(), member));
                }
            }
        }
        Ok(found)
    }

    /// The names that a protocol asks for.
    async fn asked_by(&mut self, protocol: &FileSpan) -> Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for class in self.line(protocol).await? {
            if is_inside(self.engine, &class.0) {
                names.extend(own_names(&mut self.opened, &class));
            }
        }
        names.retain(|name| !is_special(name));
        Ok(names)
    }

    /// Whether a class, or one below it, has all of these names.
    async fn gives(&mut self, class: &FileSpan, asked: &BTreeSet<String>) -> Result<bool> {
        if asked.is_subset(&own_names(&mut self.opened, class)) {
            return Ok(true);
        }
        if asked.len() < 2 {
            return Ok(false);
        }
        let mut candidates = vec![class.clone()];
        candidates.extend(implementations(self.engine, class).await?);
        for candidate in candidates {
            let mut names = BTreeSet::new();
            for above in self.line(&candidate).await? {
                names.extend(own_names(&mut self.opened, &above));
            }
            if asked.is_subset(&names) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Another definition that the member at `place` stands for or instead of, in the workspace or
/// outside of it; nothing if it stands for itself, or is no member of a class.
pub async fn relative(engine: &EngineView, place: &FileSpan) -> Result<Option<Location>> {
    let mut grower = Grower::new(engine);
    if member(&mut grower.opened, place).is_none() {
        return Ok(None);
    }
    grower.add(place).await?;
    let Grower {
        mut opened, family, ..
    } = grower;
    let is_other = |other: &&FileSpan| other.0 != place.0 || other.1.start != place.1.start;
    let other = family.places.iter().find(is_other);
    let other = other.or_else(|| family.outside.first());
    Ok(other.map(|(path, span)| opened.definition(path, *span)))
}

/// Whether a name is one that Python itself looks for.
pub fn is_special(name: &str) -> bool {
    name.len() > 4 && name.starts_with("__") && name.ends_with("__")
}

/// Whether Python gives a name another one in each class: `__name`.
pub fn is_mangled(name: &str) -> bool {
    name.starts_with("__") && !name.ends_with("__")
}

/// The classes of a file that have a member of their own with this name, and the member;
/// either protocols or others.
fn classes_with(facts: &Facts, name: &str, protocols: bool) -> Vec<(Span, Span)> {
    let members = facts.symbols.iter().filter(|symbol| &*symbol.name == name);
    let found = members.filter_map(|member| {
        let class = facts.symbols.get(facts.container(member)?)?;
        let fits = class.kind == Kind::Class && is_protocol(class) == protocols;
        fits.then_some((class.name_span, member.name_span))
    });
    found.collect()
}

/// Whether a class is a protocol.
pub(crate) fn is_a_protocol(opened: &mut OpenFiles, (path, span): &FileSpan) -> bool {
    let found = opened.with_facts(path, |facts| {
        let class = facts.symbols.get(facts.named_at(span.start)?)?;
        is_protocol(class).then_some(())
    });
    found.is_some()
}

fn is_protocol(class: &pillion_index::Symbol) -> bool {
    let mut bases = class.bases.iter();
    bases.any(|base| base.rsplit('.').next() == Some("Protocol"))
}

fn own_names(opened: &mut OpenFiles, (path, span): &FileSpan) -> BTreeSet<String> {
    let names = opened.with_facts(path, |facts| {
        let class = facts.named_at(span.start)?;
        let own = facts.symbols.iter();
        let own = own.filter(|symbol| facts.container(symbol) == Some(class));
        Some(own.map(|symbol| symbol.name.to_string()).collect())
    });
    names.unwrap_or_default()
}

/// The members of a class with this name.
pub fn members_named(opened: &mut OpenFiles, (path, span): &FileSpan, name: &str) -> Vec<FileSpan> {
    let found = opened.with_facts(path, |facts| {
        let class = facts.named_at(span.start)?;
        let own = facts.symbols.iter();
        let own = own.filter(|s| &*s.name == name && facts.container(s) == Some(class));
        Some(own.map(|symbol| symbol.name_span).collect::<Vec<_>>())
    });
    let found = found.unwrap_or_default().into_iter();
    found.map(|span| (path.clone(), span)).collect()
}

/// Subclasses of a class, or overrides of a method, as the engine knows them.
pub async fn implementations(engine: &EngineView, place: &FileSpan) -> Result<Vec<FileSpan>> {
    let at = to_engine(place.1.start);
    let found = engine
        .server()?
        .implementation(&place.0, at, engine.timeout)
        .await?;
    let mut found: Vec<FileSpan> = found
        .into_iter()
        .map(|found| (found.path, span(found.range)))
        .collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// The class that a definition is a member of, by the place of its name, and its own name.
pub fn member(opened: &mut OpenFiles, (path, at): &FileSpan) -> Option<(Span, String)> {
    opened.with_facts(path, |facts| {
        let symbol = facts.symbols.get(facts.named_at(at.start)?)?;
        let class = facts.symbols.get(facts.container(symbol)?)?;
        (class.kind == Kind::Class).then(|| (class.name_span, symbol.name.to_string()))
    })
}

/// A class outside of the workspace, above the one that a definition is a member of, that has
/// a member of the same name.
pub async fn overridden_outside(engine: &EngineView, place: &FileSpan) -> Result<Option<Location>> {
    let mut grower = Grower::new(engine);
    let Some((class, name)) = member(&mut grower.opened, place) else {
        return Ok(None);
    };
    if is_mangled(&name) {
        return Ok(None);
    }
    for above in grower.line(&(place.0.clone(), class)).await? {
        if is_inside(engine, &above.0) {
            continue;
        }
        if let Some((path, span)) = members_named(&mut grower.opened, &above, &name).first() {
            return Ok(Some(grower.opened.definition(path, *span)));
        }
    }
    Ok(None)
}

/// Whether a file belongs to the workspace.
pub fn is_inside(engine: &EngineView, path: &Path) -> bool {
    open_files::inside(engine.view.root(), &engine.view.index, path).is_some()
}
