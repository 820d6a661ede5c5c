//! Every place that a rename would touch.
//!
//! A name of a module or function is followed by scopes and imports, and by the engine. For a
//! member of a class the engine is asked what each mention of the name means: a mention that
//! means two things at once, as in `for o in (P(), R()): o.name()`, makes them one family. A
//! parameter is followed to every keyword that arrives at it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use futures::{StreamExt, stream};
use pillion_catalogue::{Code, Error, Result, work};
use pillion_index::scopes::Scopes;
use pillion_index::source::Span;
use pillion_index::{Kind, Mention};
use serde_json::json;

use crate::arrivals::{self, Doubt, Target};
use crate::ask::{Engine, span};
use crate::closure::{self, Family, Grower};
use crate::definitions::{self, Found};
use crate::desk::{self, Desk, Place};
use crate::fixtures::{self, Fixtures};
use crate::spelled;
use crate::spotted::Spotted;

/// What is known about a place where the type of the receiver is not.
pub(crate) const NO_TYPE: &str = "the type of what stands before the dot is not known";

/// What a name is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// A module or a function has it, or nobody knows.
    #[default]
    Plain,
    /// It is a member of a class.
    Member,
    /// It is a parameter.
    Parameter,
}

/// Places that spell a name.
#[derive(Debug, Default)]
pub struct Occurrences {
    /// The places, by file and span.
    pub places: Vec<(PathBuf, Span)>,
    /// Those where it is another module's name that is taken under its own.
    pub imported: BTreeSet<(PathBuf, Span)>,
    /// The definitions that belong together.
    pub closure: Vec<Place>,
    /// The same with their classes, of a member.
    pub family: Family,
    /// What it is that has the name.
    pub sort: Sort,
    /// Places that may mean it too, and why nobody is sure.
    pub possible: Vec<Doubt>,
    /// What the caller should know.
    pub warnings: Vec<String>,
    /// Who takes the keyword, of a parameter.
    pub target: Target,
}

/// So many definitions are asked about one by one.
const FEW: usize = 2;
/// Questions that are asked at the same time.
const AT_ONCE: usize = 8;
/// Attributes of unknown objects that may be a name of a module: more are only listed where
/// modules are looked up by name.
const MAX_UNTYPED: usize = 50;

/// Every place that spells the name and means what it means here.
pub async fn places(engine: &Engine, spot: &Spotted) -> Result<Occurrences> {
    let Some((name, here)) = spot.word() else {
        return Ok(Occurrences::default());
    };
    let found = definitions::find(engine, spot).await?;
    let mut all = Occurrences::default();
    if found.places.is_empty() || is_alias(engine, name, &found) {
        let uses = engine.references(&spot.path, here.start).await?;
        all.places = uses
            .iter()
            .map(|u| (u.path.clone(), span(u.range)))
            .collect();
    } else {
        let mut grower = Grower::new(engine);
        let mut target = Target::default();
        for place in &found.places {
            if fixtures::is_filled(engine, name, place) {
                return Err(filled(&mut grower.desk, name, place));
            }
            if closure::member(&mut grower.desk, place).is_some() {
                all.sort = Sort::Member;
                grower.add(place).await?;
            } else if target.add(engine, place, name).await? {
                all.sort = Sort::Parameter;
            } else {
                grower.add_alone(place);
            }
        }
        match all.sort {
            Sort::Member => member(engine, name, grower, &mut all).await?,
            Sort::Parameter => parameter(engine, name, target, &mut all).await?,
            Sort::Plain => plain(engine, name, grower, &mut all).await?,
        }
    }
    all.places
        .retain(|(path, _)| closure::is_inside(engine, path));
    // An import under another name leads here, but that name is nobody's but its own.
    let mut desk = Desk::new(&engine.view);
    all.places.retain(|(path, span)| {
        let source = desk.source(path);
        source.is_some_and(|source| source.slice(*span) == Some(name))
    });
    all.places.sort();
    all.places.dedup();
    let known: BTreeSet<&Place> = all.places.iter().collect();
    all.possible.retain(|(place, _)| !known.contains(place));
    all.possible.sort();
    all.possible.dedup_by(|a, b| a.0 == b.0);
    Ok(all)
}

/// The definitions among these that are of the workspace, with their files: what others
/// define keeps its name, and so do its uses here.
fn ours(engine: &Engine, places: &BTreeSet<Place>) -> Vec<(String, Place)> {
    let mut ours = Vec::new();
    for (path, at) in places {
        let file = desk::inside(engine.view.root(), &engine.view.index, path);
        ours.extend(file.map(|file| (file, (path.clone(), *at))));
    }
    ours
}

/// Who uses each of some definitions, as the engine and as the scopes know it.
async fn uses(engine: &Engine, ours: &[(String, Place)], all: &mut Occurrences) -> Result<()> {
    for (file, (_, at)) in ours {
        let uses = engine.references(file, at.start).await?;
        all.places
            .extend(uses.iter().map(|u| (u.path.clone(), span(u.range))));
        let (view, file, at) = (engine.view.clone(), file.clone(), *at);
        let spelled = work(move |_| spelled::find(&view, &file, at)).await?;
        all.places.extend(spelled.places);
        all.imported.extend(spelled.imported);
    }
    Ok(())
}

/// A name of a module or of a function.
async fn plain(
    engine: &Engine,
    name: &str,
    mut grower: Grower<'_>,
    all: &mut Occurrences,
) -> Result<()> {
    let closure: Vec<Place> = grower.family.places.iter().cloned().collect();
    if let Some(asked) = fixtures::asked_for(engine, name, &closure) {
        for fixture in &asked.fixtures {
            grower.add_alone(fixture);
        }
        let parameters: BTreeSet<Place> = asked.parameters.into_iter().collect();
        all.places.extend(parameters.iter().cloned());
        all.places.extend(asked.strings);
        uses(engine, &ours(engine, &parameters), all).await?;
    }
    loop {
        let ours = ours(engine, &grower.family.places);
        all.closure = grower.family.places.iter().cloned().collect();
        all.places
            .extend(ours.iter().map(|(_, place)| place.clone()));
        uses(engine, &ours, all).await?;
        if !taken_for_each_other(engine, name, &mut grower, all).await? {
            break;
        }
    }
    let is_global = all.closure.iter().any(|(path, at)| {
        let defined = grower.desk.defined_at(path, at.start);
        defined.is_some_and(|defined| !defined.name_path.contains('/'))
    });
    if is_global {
        let known: BTreeSet<Place> = all.places.iter().cloned().collect();
        let asked = asked(engine, name, |mention| {
            mention.is_attribute && !known.contains(&(engine.absolute(&mention.path), mention.span))
        });
        let open = asked.await?.into_iter();
        let open = open.filter(|(_, targets)| targets.is_empty());
        let mut open: Vec<Mention> = open.map(|(mention, _)| mention).collect();
        if open.len() > MAX_UNTYPED {
            let index = &engine.view.index;
            let by_name: BTreeSet<_> = ["import_module", "__import__"]
                .iter()
                .flat_map(|function| index.files_with(function))
                .collect();
            open.retain(|mention| by_name.contains(&mention.path));
        }
        let open = open.into_iter();
        all.possible.extend(open.map(|mention| {
            let place = (engine.absolute(&mention.path), mention.span);
            (place, NO_TYPE.to_owned())
        }));
    }
    all.family = grower.family;
    Ok(())
}

/// Take in what other modules have under the name, where an object may be either of them:
/// `for m in (a, b): m.name`. Whether there is something new.
async fn taken_for_each_other(
    engine: &Engine,
    name: &str,
    grower: &mut Grower<'_>,
    all: &mut Occurrences,
) -> Result<bool> {
    let known: BTreeSet<Place> = all.places.iter().cloned().collect();
    let asked = asked(engine, name, |mention| {
        mention.is_attribute && known.contains(&(engine.absolute(&mention.path), mention.span))
    });
    let mut grew = false;
    for (mention, targets) in asked.await? {
        if targets.len() < 2 {
            continue;
        }
        for target in targets {
            let defined = grower.desk.defined_at(&target.0, target.1.start);
            let is_other = defined.is_some_and(|d| !d.name_path.contains('/') && d.name == name)
                && !grower.family.places.contains(&target);
            if !is_other {
                continue;
            }
            if !closure::is_inside(engine, &target.0) {
                let place = (engine.absolute(&mention.path), mention.span);
                return Err(shared(&mut grower.desk, name, &place, &target));
            }
            grower.add_alone(&target);
            grew = true;
        }
    }
    Ok(grew)
}

/// A parameter, with those of all functions that are called in the place of its own.
async fn parameter(
    engine: &Engine,
    name: &str,
    mut target: Target,
    all: &mut Occurrences,
) -> Result<()> {
    loop {
        let found = arrivals::find(engine, name, &target).await?;
        let mut grew = false;
        for place in found.joined {
            if !target.own.contains(&place) && target.add(engine, &place, name).await? {
                grew = true;
            }
        }
        if !grew {
            all.places.extend(found.certain);
            all.possible = found.possible;
            break;
        }
    }
    let mut desk = Desk::new(&engine.view);
    for place in &target.own {
        let class = closure::class_around(&mut desk, &place.0, place.1.start);
        if let Some(class) = class
            && target.names.contains("__call__")
            && closure::is_a_protocol(&mut desk, &class)
        {
            return Err(for_functions(&mut desk, name, &class));
        }
    }
    let ours = ours(engine, &target.own);
    all.places
        .extend(ours.iter().map(|(_, place)| place.clone()));
    uses(engine, &ours, all).await?;
    if let Some((path, at)) = target.outside.first() {
        let above = desk.definition(path, *at);
        all.warnings.push(format!(
            "it overrides what `{}` defines outside of this workspace, where it may be passed by name",
            above.file
        ));
    }
    all.closure = target.own.iter().cloned().collect();
    all.target = target;
    Ok(())
}

/// What the mentions of a member mean.
pub struct Mentioned {
    mentions: Vec<(Mention, Vec<Place>)>,
    /// Those that mean one of the family, by their numbers.
    confirmed: BTreeSet<usize>,
    fixtures: Fixtures,
}

/// Look at every mention of a member's name, and take in what is meant together with one of
/// its family.
pub async fn mentioned(engine: &Engine, name: &str, grower: &mut Grower<'_>) -> Result<Mentioned> {
    let mut mentions = asked(engine, name, |_| true).await?;
    for (_, targets) in &mut mentions {
        for target in targets.iter_mut() {
            *target = definitions::name_of_attribute(&mut grower.desk, target.clone());
        }
        targets.retain(|(path, span)| {
            let source = grower.desk.source(path);
            source.is_some_and(|source| source.slice(*span) == Some(name))
        });
    }
    let fixtures = Fixtures::of(engine, &mentions).await?;
    let mut confirmed: BTreeSet<usize> = BTreeSet::new();
    loop {
        let mut grew = false;
        for (at, (mention, targets)) in mentions.iter().enumerate() {
            if confirmed.contains(&at) {
                continue;
            }
            let place = (engine.absolute(&mention.path), mention.span);
            let is_ours = targets
                .iter()
                .any(|target| grower.family.has(&mut grower.desk, target));
            if is_ours {
                confirmed.insert(at);
                grew = true;
                for target in targets {
                    if grower.family.has(&mut grower.desk, target) {
                        continue;
                    }
                    if !closure::is_inside(engine, &target.0) {
                        return Err(shared(&mut grower.desk, name, &place, target));
                    }
                    grower.add(target).await?;
                }
            } else if targets.is_empty() && mention.is_attribute {
                let own = closure::own_class(&mut grower.desk, &place);
                if let Some(class) = own
                    && (grower.family.above.contains(&class)
                        || grower.family.classes.contains(&class))
                {
                    confirmed.insert(at);
                    grew = true;
                    grower.add_below(&class, name).await?;
                } else if let Some(class) = fixtures.class_of(&place)
                    && grower.family.classes.contains(class)
                {
                    confirmed.insert(at);
                    grew = true;
                }
            }
        }
        if !grew {
            break;
        }
    }
    Ok(Mentioned {
        mentions,
        confirmed,
        fixtures,
    })
}

/// A member of a class.
async fn member(
    engine: &Engine,
    name: &str,
    mut grower: Grower<'_>,
    all: &mut Occurrences,
) -> Result<()> {
    let Mentioned {
        mentions,
        confirmed,
        fixtures,
    } = mentioned(engine, name, &mut grower).await?;
    for (at, (mention, targets)) in mentions.iter().enumerate() {
        let place = (engine.absolute(&mention.path), mention.span);
        if confirmed.contains(&at) {
            all.places.push(place);
        } else if targets.is_empty() && mention.is_attribute && fixtures.class_of(&place).is_none()
        {
            all.possible.push((place, NO_TYPE.to_owned()));
        }
    }
    let ours = ours(engine, &grower.family.places);
    all.places
        .extend(ours.iter().map(|(_, place)| place.clone()));
    if ours.len() <= FEW {
        uses(engine, &ours, all).await?;
    }
    let (classes, loose) = made_of_fields(engine, name, &mut grower).await?;
    if !classes.is_empty() || !loose.is_empty() {
        let target = Target {
            own: grower.family.places.clone(),
            classes,
            loose,
            is_field: true,
            ..Target::default()
        };
        let found = arrivals::find(engine, name, &target).await?;
        all.places.extend(found.certain);
        all.possible.extend(found.possible);
        let mut classes = target.classes.iter();
        let bare = name.trim_start_matches('_');
        if bare != name && classes.any(|class| is_of_attrs(&mut grower.desk, class)) {
            let found = arrivals::find(engine, bare, &target).await?;
            let why = format!("attrs takes `{name}` by this name, without its underscore");
            let places = found.certain.into_iter();
            let places = places.chain(found.possible.into_iter().map(|(place, _)| place));
            all.possible
                .extend(places.map(|place| (place, why.clone())));
        }
        all.target = target;
    }
    drop_outer_reads(engine, name, &mut all.places);
    for protocol in &grower.family.protocols {
        all.warnings.push(format!(
            "`{protocol}` is a protocol: what other programs pass for it has to have the new name"
        ));
    }
    all.closure = grower.family.places.iter().cloned().collect();
    all.family = grower.family;
    Ok(())
}

/// Whether attrs makes the `__init__` of a class, which takes fields without the underscores in
/// front of their names.
pub fn is_of_attrs(desk: &mut Desk, (path, at): &Place) -> bool {
    let Some(source) = desk.source(path) else {
        return false;
    };
    let head = desk.defined_at(path, at.start).and_then(|defined| {
        let start = source.offset(defined.span.start)?;
        source.text().get(start..source.offset(at.start)?)
    });
    let words = head
        .unwrap_or_default()
        .split(|c: char| c != '_' && !c.is_alphanumeric());
    let mut words = words.filter(|word| !word.is_empty());
    words.any(|word| matches!(word, "attr" | "attrs" | "define" | "frozen" | "mutable"))
        && !head.unwrap_or_default().contains("dataclass")
}

/// The classes of a family that are made with the member as a field: it is declared in the body
/// of the class, and no `__init__` of the workspace takes the arguments. And those whose
/// `__init__` takes keywords of any name, which may become attributes.
async fn made_of_fields(
    engine: &Engine,
    name: &str,
    grower: &mut Grower<'_>,
) -> Result<(BTreeSet<Place>, BTreeSet<Place>)> {
    let is_declared = grower.family.places.iter().any(|(path, at)| {
        let defined = grower.desk.defined_at(path, at.start);
        let is_attribute = defined.is_some_and(|defined| defined.kind == Kind::Attribute);
        let source = grower.desk.source(path).filter(|_| is_attribute);
        let before = source.and_then(|source| {
            let start = source.offset(at.start)?;
            source.text().get(..start).map(|text| text.ends_with('.'))
        });
        before == Some(false)
    });
    let (mut made, mut loose) = (BTreeSet::new(), BTreeSet::new());
    if !is_declared {
        return Ok((made, loose));
    }
    let classes: Vec<Place> = grower.family.classes.iter().cloned().collect();
    for class in classes {
        let line = grower.line(&class).await?;
        let inside = line
            .iter()
            .filter(|above| closure::is_inside(engine, &above.0));
        let inits: Vec<Place> = inside
            .flat_map(|above| closure::members_named(&mut grower.desk, above, "__init__"))
            .collect();
        if inits.is_empty() {
            made.insert(class);
        } else if arrivals::take_any(&mut grower.desk, &inits, name) {
            loose.insert(class);
        }
    }
    Ok((made, loose))
}

/// A parameter of a protocol that functions are passed for.
fn for_functions(desk: &mut Desk, name: &str, class: &Place) -> Error {
    let location = desk.definition(&class.0, class.1);
    let what = format!(
        "functions are passed for the protocol in {}:{}, and nobody knows which: each has to take `{name}`",
        location.file, location.line
    );
    Error::new(Code::Conflict, what)
        .hint("rename the parameter in the functions, then in the protocol")
        .data(json!({ "location": location }))
}

/// A parameter that pytest fills by its name.
fn filled(desk: &mut Desk, name: &str, place: &Place) -> Error {
    let what = format!("`{name}` is the name of a fixture: pytest fills the parameter by it");
    Error::new(Code::Conflict, what)
        .hint("rename the fixture where it is defined")
        .data(json!({ "location": desk.definition(&place.0, place.1) }))
}

/// Two things of one name that a program takes one for the other, and one is not ours.
fn shared(desk: &mut Desk, name: &str, place: &Place, target: &Place) -> Error {
    let (here, there) = (
        desk.location(&place.0, place.1),
        desk.definition(&target.0, target.1),
    );
    let what = format!(
        "`{name}` also means what `{}` defines outside of this workspace: {}:{}",
        there.file, here.file, here.line
    );
    Error::new(Code::Conflict, what)
        .hint("what is defined there keeps its name; tell the two apart first")
        .data(json!({ "location": here, "places": [there] }))
}

/// In the body of a class, a name that is read before the class gives it a value is that of
/// the module around: `limit = limit`. Engines take it for the class's own.
fn drop_outer_reads(engine: &Engine, name: &str, places: &mut Vec<Place>) {
    let mut known: BTreeMap<PathBuf, BTreeSet<Span>> = BTreeMap::new();
    let outer = |path: &Path| {
        let file = path.strip_prefix(engine.view.root()).ok()?;
        let source = engine.view.source(file)?;
        let scopes = Scopes::of(source.text(), &file.to_string_lossy());
        let found = scopes.outer_reads(name).map(|range| Span {
            start: source.position(range.start().to_usize()),
            end: source.position(range.end().to_usize()),
        });
        Some(found.collect::<BTreeSet<Span>>())
    };
    places.retain(|(path, span)| {
        let spans = known
            .entry(path.clone())
            .or_insert_with(|| outer(path).unwrap_or_default());
        !spans.contains(span)
    });
}

/// Mentions of a name, with what the engine says each of them means.
async fn asked(
    engine: &Engine,
    name: &str,
    is_asked: impl Fn(&Mention) -> bool,
) -> Result<Vec<(Mention, Vec<Place>)>> {
    let view = &engine.view;
    let (index, root, wanted) = (view.index.clone(), view.root().to_owned(), name.to_owned());
    let mut mentions = work(move |token| index.mentions(&root, &wanted, token)).await??;
    mentions.retain(is_asked);
    let asked = stream::iter(mentions).map(|mention| async move {
        let found = engine.definition(&mention.path, mention.span.start).await?;
        let targets = found.iter().map(|l| (l.path.clone(), span(l.range)));
        let targets: Vec<Place> = targets.collect();
        Ok::<_, Error>((mention, targets))
    });
    let answers: Vec<Result<_>> = asked.buffered(AT_ONCE).collect().await;
    answers.into_iter().collect()
}

/// Whether a name is only what something is called here: `import x as name`.
pub fn is_alias(engine: &Engine, name: &str, found: &Found) -> bool {
    let mut desk = Desk::new(&engine.view);
    let named_so = found.places.iter().any(|(path, span)| {
        if *span == Span::default() {
            return desk::module_name(path) == name;
        }
        let source = desk.source(path);
        source.is_some_and(|source| source.slice(*span) == Some(name))
    });
    !found.places.is_empty() && !named_so
}
