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

use crate::ask::{EngineView, span};
use crate::closure::{self, Family, Grower};
use crate::definitions::{self, FoundDefinitions};
use crate::fixtures::{self, Fixtures};
use crate::keyword_arguments::{self, Doubt, KeywordTarget};
use crate::open_files::{self, FileSpan, OpenFiles};
use crate::spotted::Spotted;
use crate::text_uses;

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
    pub closure: Vec<FileSpan>,
    /// The same with their classes, of a member.
    pub family: Family,
    /// What it is that has the name.
    pub sort: Sort,
    /// Places that may mean it too, and why nobody is sure.
    pub possible: Vec<Doubt>,
    /// What the caller should know.
    pub warnings: Vec<String>,
    /// Who takes the keyword, of a parameter.
    pub target: KeywordTarget,
}

/// So many definitions are asked about one by one.
const FEW: usize = 2;
/// Questions that are asked at the same time.
const AT_ONCE: usize = 8;
/// Attributes of unknown objects that may be a name of a module: more are only listed where
/// modules are looked up by name.
const MAX_UNTYPED: usize = 50;

/// Every place that spells the name and means what it means here.
pub async fn places(engine: &EngineView, spot: &Spotted) -> Result<Occurrences> {
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
        let mut target = KeywordTarget::default();
        for place in &found.places {
            if fixtures::is_filled(engine, name, place) {
                return Err(filled(&mut grower.opened, name, place));
            }
            if closure::member(&mut grower.opened, place).is_some() {
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
    let mut opened = OpenFiles::new(&engine.view);
    all.places.retain(|(path, span)| {
        let source = opened.source(path);
        source.is_some_and(|source| source.slice(*span) == Some(name))
    });
    all.places.sort();
    all.places.dedup();
    let known: BTreeSet<&FileSpan> = all.places.iter().collect();
    all.possible.retain(|(place, _)| !known.contains(place));
    all.possible.sort();
    all.possible.dedup_by(|a, b| a.0 == b.0);
    Ok(all)
}

/// The definitions among these that are of the workspace, with their files: what others
/// define keeps its name, and so do its uses here.
fn ours(engine: &EngineView, places: &BTreeSet<FileSpan>) -> Vec<(String, FileSpan)> {
    let mut ours = Vec::new();
    for (path, at) in places {
        let file = open_files::inside(engine.view.root(), &engine.view.index, path);
        ours.extend(file.map(|file| (file, (path.clone(), *at))));
    }
    ours
}

/// Who uses each of some definitions, as the engine and as the scopes know it.
async fn uses(
    engine: &EngineView,
    ours: &[(String, FileSpan)],
    all: &mut Occurrences,
) -> Result<()> {
    for (file, (_, at)) in ours {
        let uses = engine.references(file, at.start).await?;
        all.places
            .extend(uses.iter().map(|u| (u.path.clone(), span(u.range))));
        let (view, file, at) = (engine.view.clone(), file.clone(), *at);
        let spelled = work(move |_| text_uses::find(&view, &file, at)).await?;
        all.places.extend(spelled.places);
        all.imported.extend(spelled.imported);
    }
    Ok(())
}

/// A name of a module or of a function.
async fn plain(
    engine: &EngineView,
    name: &str,
    mut grower: Grower<'_>,
    all: &mut Occurrences,
) -> Result<()> {
    let closure: Vec<FileSpan> = grower.family.places.iter().cloned().collect();
    if let Some(asked) = fixtures::asked_for(engine, name, &closure) {
        for fixture in &asked.fixtures {
            grower.add_alone(fixture);
        }
        let parameters: BTreeSet<FileSpan> = asked.parameters.into_iter().collect();
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
        let defined = grower.opened.defined_at(path, at.start);
        defined.is_some_and(|defined| !defined.name_path.contains('/'))
    });
    if is_global {
        let known: BTreeSet<FileSpan> = all.places.iter().cloned().collect();
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
    engine: &EngineView,
    name: &str,
    grower: &mut Grower<'_>,
    all: &mut Occurrences,
) -> Result<bool> {
    let known: BTreeSet<FileSpan> = all.places.iter().cloned().collect();
    let asked = asked(engine, name, |mention| {
        mention.is_attribute && known.contains(&(engine.absolute(&mention.path), mention.span))
    });
    let mut grew = false;
    for (mention, targets) in asked.await? {
        if targets.len() < 2 {
            continue;
        }
        for target in targets {
            let defined = grower.opened.defined_at(&target.0, target.1.start);
            let is_other = defined.is_some_and(|d| !d.name_path.contains('/') && d.name == name)
                && !grower.family.places.contains(&target);
            if !is_other {
                continue;
            }
            if !closure::is_inside(engine, &target.0) {
                let place = (engine.absolute(&mention.path), mention.span);
                return Err(shared(&mut grower.opened, name, &place, &target));
            }
            grower.add_alone(&target);
            grew = true;
        }
    }
    Ok(grew)
}

/// A parameter, with those of all functions that are called in the place of its own.
async fn parameter(
    engine: &EngineView,
    name: &str,
    mut target: KeywordTarget,
    all: &mut Occurrences,
) -> Result<()> {
    loop {
        let found = keyword_arguments::find(engine, name, &target).await?;
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
    let mut opened = OpenFiles::new(&engine.view);
    for place in &target.own {
        let class = closure::class_around(&mut opened, &place.0, place.1.start);
        if let Some(class) = class
            && target.names.contains("__call__")
            && closure::is_a_protocol(&mut opened, &class)
        {
            return Err(for_functions(&mut opened, name, &class));
        }
    }
    let ours = ours(engine, &target.own);
    all.places
        .extend(ours.iter().map(|(_, place)| place.clone()));
    uses(engine, &ours, all).await?;
    if let Some((path, at)) = target.outside.first() {
        let above = opened.definition(path, *at);
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
    mentions: Vec<(Mention, Vec<FileSpan>)>,
    /// Those that mean one of the family, by their numbers.
    confirmed: BTreeSet<usize>,
    fixtures: Fixtures,
}

/// Look at every mention of a member's name, and take in what is meant together with one of
/// its family.
pub async fn mentioned(
    engine: &EngineView,
    name: &str,
    grower: &mut Grower<'_>,
) -> Result<Mentioned> {
    let mut mentions = asked(engine, name, |_| true).await?;
    for (_, targets) in &mut mentions {
        for target in targets.iter_mut() {
            *target = definitions::name_of_attribute(&mut grower.opened, target.clone());
        }
        targets.retain(|(path, span)| {
            let source = grower.opened.source(path);
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
                .any(|target| grower.family.has(&mut grower.opened, target));
            if is_ours {
                confirmed.insert(at);
                grew = true;
                for target in targets {
                    if grower.family.has(&mut grower.opened, target) {
                        continue;
                    }
                    if !closure::is_inside(engine, &target.0) {
                        return Err(shared(&mut grower.opened, name, &place, target));
                    }
                    grower.add(target).await?;
                }
            } else if targets.is_empty() && mention.is_attribute {
                let own = closure::own_class(&mut grower.opened, &place);
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
    engine: &EngineView,
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
        let target = KeywordTarget {
            own: grower.family.places.clone(),
            classes,
            loose,
            is_field: true,
            ..KeywordTarget::default()
        };
        let found = keyword_arguments::find(engine, name, &target).await?;
        all.places.extend(found.certain);
        all.possible.extend(found.possible);
        let mut classes = target.classes.iter();
        let bare = name.trim_start_matches('_');
        if bare != name && classes.any(|class| is_of_attrs(&mut grower.opened, class)) {
            let found = keyword_arguments::find(engine, bare, &target).await?;
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
pub fn is_of_attrs(opened: &mut OpenFiles, (path, at): &FileSpan) -> bool {
    let Some(source) = opened.source(path) else {
        return false;
    };
    let head = opened.defined_at(path, at.start).and_then(|defined| {
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
    engine: &EngineView,
    name: &str,
    grower: &mut Grower<'_>,
) -> Result<(BTreeSet<FileSpan>, BTreeSet<FileSpan>)> {
    let is_declared = grower.family.places.iter().any(|(path, at)| {
        let defined = grower.opened.defined_at(path, at.start);
        let is_attribute = defined.is_some_and(|defined| defined.kind == Kind::Attribute);
        let source = grower.opened.source(path).filter(|_| is_attribute);
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
    let classes: Vec<FileSpan> = grower.family.classes.iter().cloned().collect();
    for class in classes {
        let line = grower.line(&class).await?;
        let inside = line
            .iter()
            .filter(|above| closure::is_inside(engine, &above.0));
        let inits: Vec<FileSpan> = inside
            .flat_map(|above| closure::members_named(&mut grower.opened, above, "__init__"))
            .collect();
        if inits.is_empty() {
            made.insert(class);
        } else if keyword_arguments::take_any(&mut grower.opened, &inits, name) {
            loose.insert(class);
        }
    }
    Ok((made, loose))
}

/// A parameter of a protocol that functions are passed for.
fn for_functions(opened: &mut OpenFiles, name: &str, class: &FileSpan) -> Error {
    let location = opened.definition(&class.0, class.1);
    let what = format!(
        "functions are passed for the protocol in {}:{}, and nobody knows which: each has to take `{name}`",
        location.file, location.line
    );
    Error::new(Code::Conflict, what)
        .hint("rename the parameter in the functions, then in the protocol")
        .data(json!({ "location": location }))
}

/// A parameter that pytest fills by its name.
fn filled(opened: &mut OpenFiles, name: &str, place: &FileSpan) -> Error {
    let what = format!("`{name}` is the name of a fixture: pytest fills the parameter by it");
    Error::new(Code::Conflict, what)
        .hint("rename the fixture where it is defined")
        .data(json!({ "location": opened.definition(&place.0, place.1) }))
}

/// Two things of one name that a program takes one for the other, and one is not ours.
fn shared(opened: &mut OpenFiles, name: &str, place: &FileSpan, target: &FileSpan) -> Error {
    let (here, there) = (
        opened.location(&place.0, place.1),
        opened.definition(&target.0, target.1),
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
fn drop_outer_reads(engine: &EngineView, name: &str, places: &mut Vec<FileSpan>) {
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
    engine: &EngineView,
    name: &str,
    is_asked: impl Fn(&Mention) -> bool,
) -> Result<Vec<(Mention, Vec<FileSpan>)>> {
    let view = &engine.view;
    let (index, root, wanted) = (view.index.clone(), view.root().to_owned(), name.to_owned());
    let mut mentions = work(move |token| index.mentions(&root, &wanted, token)).await??;
    mentions.retain(is_asked);
    let asked = stream::iter(mentions).map(|mention| async move {
        let found = engine.definition(&mention.path, mention.span.start).await?;
        let targets = found.iter().map(|l| (l.path.clone(), span(l.range)));
        let targets: Vec<FileSpan> = targets.collect();
        Ok::<_, Error>((mention, targets))
    });
    let answers: Vec<Result<_>> = asked.buffered(AT_ONCE).collect().await;
    answers.into_iter().collect()
}

/// Whether a name is only what something is called here: `import x as name`.
pub fn is_alias(engine: &EngineView, name: &str, found: &FoundDefinitions) -> bool {
    let mut opened = OpenFiles::new(&engine.view);
    let named_so = found.places.iter().any(|(path, span)| {
        if *span == Span::default() {
            return open_files::module_name(path) == name;
        }
        let source = opened.source(path);
        source.is_some_and(|source| source.slice(*span) == Some(name))
    });
    !found.places.is_empty() && !named_so
}
