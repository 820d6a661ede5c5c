//! What a rename leaves alone: the places that could matter, with the reason.
//!
//! A word in a string or a comment matters where the name is at home: in the module that
//! defines it, in a module that uses a name of a module, in the function of a parameter; and
//! wherever it is spelled with what it belongs to. Others that happen to spell the same are
//! only counted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pillion_catalogue::{Result, work};
use pillion_index::Kind;
use pillion_index::source::Span;
use pillion_symbols::ask::EngineView;
use pillion_symbols::closure;
use pillion_symbols::definitions;
use pillion_symbols::occurrences::Sort;
use pillion_symbols::open_files::{self, FileSpan, OpenFiles};
use ruff_text_size::TextRange;

use super::lookups::Settled;
use super::strings::{self, Spelling, Text};
use super::subject::Subject;
use super::{collisions, documents, dynamic, embedded_uses};
use pillion_index::modules::{self, Modules};
use pillion_index::scopes::Scopes;

/// What is changed although nobody is sure of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Included {
    /// Places in code that may mean it.
    pub possible: bool,
    /// Strings.
    pub strings: bool,
    /// Comments and documentation.
    pub comments: bool,
}

impl Included {
    fn has(self, sort: Doubtful) -> bool {
        match sort {
            Doubtful::Code => self.possible,
            Doubtful::Text(Text::String) => self.strings,
            Doubtful::Text(Text::Docstring | Text::Comment) => self.comments,
            Doubtful::Text(Text::Document) | Doubtful::Told => false,
        }
    }
}

/// What sort of place nobody is sure of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubtful {
    /// It is code.
    Code,
    /// It is a word in a text.
    Text(Text),
    /// It does not spell the name.
    Told,
}

/// A place that is not changed unless it is asked for.
#[derive(Debug)]
struct Left {
    path: PathBuf,
    span: Span,
    sort: Doubtful,
    why: String,
}

/// What is left alone, what is changed by choice, and how many words were not looked at.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    pub(super) left: Vec<pillion_changes::LeftAlone>,
    pub(super) taken: Vec<(String, Span)>,
    pub(super) unrelated: usize,
}

/// Sort all places that nobody is sure of.
pub(super) async fn sort(
    engine: &EngineView,
    subject: &Subject,
    settled: &Settled,
    included: Included,
) -> Result<Sorted> {
    let home = Home::of(engine, subject);
    let (view, name) = (engine.view.clone(), subject.name.clone());
    let is_looked_up = home.is_known_elsewhere;
    let is_class = defines_class(engine, subject);
    let (spellings, documents, deep, lookups, after) = work(move |_| {
        let (index, root) = (&view.index, view.root());
        let documents = match is_looked_up {
            true => documents::spellings(&view.snapshot, &name),
            false => Vec::new(),
        };
        let lookups = match is_looked_up {
            true => dynamic::lookups(index, root, &name),
            false => Vec::new(),
        };
        (
            strings::spellings(index, root, &name),
            documents,
            strings::too_deep(index, root, &name),
            lookups,
            match is_class {
                true => dynamic::named_after(index, root, &name),
                false => Vec::new(),
            },
        )
    })
    .await?;
    let root = engine.view.root().to_owned();
    let mut all: BTreeMap<(PathBuf, Span), Left> = BTreeMap::new();
    let mut add = |path: PathBuf, span: Span, sort: Doubtful, why: String| {
        let left = Left {
            path: path.clone(),
            span,
            sort,
            why,
        };
        all.entry((path, span)).or_insert(left);
    };
    for ((path, span), why) in &subject.possible {
        add(path.clone(), *span, Doubtful::Code, why.clone());
    }
    for ((file, span), why) in &settled.possible {
        let sort = Doubtful::Text(Text::String);
        add(root.join(file), *span, sort, (*why).to_owned());
    }
    for one in embedded_uses::find(engine, subject).await? {
        let sort = Doubtful::Text(one.text);
        add(root.join(&one.file), one.span, sort, one.why.to_owned());
    }
    let mut sorted = Sorted::default();
    let mut texts = 0;
    for spelling in spellings.into_iter().chain(documents) {
        let place = (spelling.file.clone(), spelling.span);
        if settled.foreign.contains(&place) || settled.ours.contains(&place) {
            continue;
        }
        let is_document = spelling.text == Text::Document;
        if subject.sort == Sort::Parameter && spelling.is_parameter {
            let sort = Doubtful::Text(spelling.text);
            let why = "a parameter of a function is asked for by this name".to_owned();
            add(root.join(&spelling.file), spelling.span, sort, why);
            continue;
        }
        if !home.is_home_of(&spelling) || texts >= strings::MAX_MENTIONS {
            sorted.unrelated += usize::from(!is_document);
            continue;
        }
        texts += 1;
        let sort = Doubtful::Text(spelling.text);
        let why = spelling.text.why().to_owned();
        add(root.join(&spelling.file), spelling.span, sort, why);
    }
    for (file, span) in asked_of_lazy(engine, subject, &home.lazy) {
        let why = "its package looks names up when they are asked for";
        add(root.join(file), span, Doubtful::Code, why.to_owned());
    }
    for (file, span, why) in deep {
        add(root.join(file), span, Doubtful::Code, why.to_owned());
    }
    for (file, span) in lookups {
        let why = "a name like it is looked up".to_owned();
        add(root.join(file), span, Doubtful::Told, why);
    }
    for (file, span) in after {
        let why = "it may be looked up by the name of the class".to_owned();
        add(root.join(file), span, Doubtful::Told, why);
    }
    for (path, span) in inherited(engine, subject) {
        let why = "a name like it is looked up by what its class inherits from".to_owned();
        add(path, span, Doubtful::Told, why);
    }
    let mut opened = OpenFiles::new(&engine.view);
    for left in all.into_values() {
        let file = opened.name(&left.path).0;
        let known = subject.places.get(&file);
        if known.is_some_and(|spans| spans.contains(&left.span)) {
            continue;
        }
        let source = opened.source(&left.path);
        let spells = source.is_some_and(|s| s.slice(left.span) == Some(&*subject.name));
        if spells && included.has(left.sort) && closure::is_inside(engine, &left.path) {
            sorted.taken.push((file, left.span));
            continue;
        }
        sorted.left.push(pillion_changes::LeftAlone {
            location: opened.location(&left.path, left.span),
            why: left.why,
        });
    }
    Ok(sorted)
}

/// Where a name is put together that may be the one of what is defined at a place.
pub(super) async fn put_together(
    engine: &EngineView,
    subject: &Subject,
) -> Result<Vec<(String, Span)>> {
    if !Home::of(engine, subject).is_known_elsewhere {
        return Ok(Vec::new());
    }
    let (view, name) = (engine.view.clone(), subject.name.clone());
    let mut found = work(move |_| dynamic::lookups(&view.index, view.root(), &name)).await?;
    let inherited = inherited(engine, subject).into_iter();
    found.extend(inherited.map(|(path, span)| (path.to_string_lossy().into_owned(), span)));
    Ok(found)
}

/// Where classes of others that a class inherits from look up names like one of its methods:
/// `getattr(self, "do_" + command)`.
fn inherited(engine: &EngineView, subject: &Subject) -> Vec<(PathBuf, Span)> {
    let mut opened = OpenFiles::new(&engine.view);
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let is_outside = |class: &&FileSpan| !closure::is_inside(engine, &class.0);
    for class in subject.family.above.iter().filter(is_outside) {
        // Stubs say nothing of what is looked up.
        let (path, _) = definitions::in_source(engine, &mut opened, class.clone());
        if !seen.insert(path.clone()) {
            continue;
        }
        let source = opened.source(&path);
        let spans = source
            .map(|source| dynamic::lookups_of(&source, &path.to_string_lossy(), &subject.name));
        let spans = spans.into_iter().flatten();
        found.extend(spans.map(|span| (path.clone(), span)));
    }
    found
}

/// Whether it is a class that gets another name of its own.
fn defines_class(engine: &EngineView, subject: &Subject) -> bool {
    let mut opened = OpenFiles::new(&engine.view);
    let mut places = subject.closure.iter().chain(&subject.found.places);
    !subject.alias
        && places.any(|(path, span)| {
            let defined = opened.defined_at(path, span.start);
            defined.is_some_and(|defined| defined.kind == Kind::Class)
        })
}

/// Where files import the name from a module that looks names up itself, and use it then.
fn asked_of_lazy(
    engine: &EngineView,
    subject: &Subject,
    lazy: &BTreeSet<String>,
) -> Vec<(String, Span)> {
    let mut found = Vec::new();
    if lazy.is_empty() {
        return found;
    }
    let modules = Modules::of(&engine.view.index);
    for (file, facts) in engine.view.index.iter() {
        let mut imports = facts.imports.iter();
        if !imports.any(|import| import.name.as_deref() == Some(&*subject.name)) {
            continue;
        }
        let Some(source) = engine.view.source(Path::new(&**file)) else {
            continue;
        };
        let scopes = Scopes::of(source.text(), file);
        let mut note = |range: TextRange| {
            let span = Span {
                start: source.position(range.start().to_usize()),
                end: source.position(range.end().to_usize()),
            };
            found.push((file.to_string(), span));
        };
        for statement in &scopes.imports {
            let target = statement.from.as_ref();
            let target = target.and_then(|(module, _)| modules.find(file, module));
            if !target.is_some_and(|target| lazy.contains(&target.key)) {
                continue;
            }
            let named = statement
                .names
                .iter()
                .filter(|name| name.name == subject.name);
            for name in named {
                note(name.name_range);
                if name.alias.is_none() {
                    let uses = scopes.uses_of(statement.scope, &subject.name);
                    uses.for_each(|use_| note(use_.range));
                }
            }
        }
    }
    found
}

/// Where a name is at home.
struct Home {
    /// Files in which each word may mean it.
    files: BTreeSet<String>,
    /// Parts of files in which each word may mean it.
    parts: Vec<(String, Span)>,
    /// What it is spelled with elsewhere: the names of its module or classes.
    owners: BTreeSet<String>,
    /// Whether others can know it by its name.
    is_known_elsewhere: bool,
    /// The modules with a `__getattr__` that may look it up, by their keys.
    lazy: BTreeSet<String>,
    /// Files that name a class whose objects are made of it: it may be a key there.
    users: BTreeSet<String>,
}

impl Home {
    fn of(engine: &EngineView, subject: &Subject) -> Self {
        let mut home = Self {
            files: BTreeSet::new(),
            parts: Vec::new(),
            owners: BTreeSet::new(),
            is_known_elsewhere: !subject.alias,
            lazy: BTreeSet::new(),
            users: BTreeSet::new(),
        };
        let mut opened = OpenFiles::new(&engine.view);
        for (path, span) in &subject.closure {
            let file = opened.name(path).0;
            match subject.sort {
                Sort::Member => {
                    home.files.insert(file);
                }
                Sort::Parameter => {
                    home.is_known_elsewhere = false;
                    let around = collisions::scope(engine, &file, *span);
                    home.parts.extend(around.map(|span| (file, span)));
                }
                Sort::Plain => {
                    let defined = opened.defined_at(path, span.start);
                    let is_global = defined.is_some_and(|d| !d.name_path.contains('/'));
                    if is_global {
                        home.owners.insert(open_files::module_name(path));
                        home.files.extend(subject.places.keys().cloned());
                        home.lazy_around(engine, &file);
                    } else {
                        home.is_known_elsewhere = false;
                        let around = collisions::scope(engine, &file, *span);
                        home.parts.extend(around.map(|span| (file, span)));
                    }
                }
            }
        }
        for class in &subject.family.classes {
            let source = opened.source(&class.0);
            let name = source.and_then(|s| s.slice(class.1).map(ToOwned::to_owned));
            let target = &subject.target;
            let has_field = target.classes.contains(class) || target.loose.contains(class);
            for name in name.iter().filter(|_| has_field) {
                let files = engine.view.index.files_with(name);
                home.users.extend(files.iter().map(ToString::to_string));
            }
            home.owners.extend(name);
        }
        if subject.alias || subject.closure.is_empty() {
            home.files.extend(subject.places.keys().cloned());
        }
        home
    }

    /// Take in the modules around one, or beside it, that look names up themselves.
    fn lazy_around(&mut self, engine: &EngineView, defined_in: &str) {
        let own = modules::key(defined_in);
        for (file, facts) in engine.view.index.iter() {
            let key = modules::key(file);
            let mut symbols = facts.symbols.iter();
            let is_lazy = symbols.any(|s| s.container.is_none() && &*s.name == "__getattr__");
            let below = own.strip_prefix(key);
            let is_around = below.is_some_and(|below| key.is_empty() || below.starts_with('/'));
            let is_beside = modules::parent(own) == modules::parent(key);
            if is_lazy && (is_around || is_beside) {
                self.files.insert(file.to_string());
                self.lazy.insert(key.to_owned());
            }
        }
    }

    fn is_home_of(&self, spelling: &Spelling) -> bool {
        let owner = spelling
            .before
            .rsplit(['.', ':'])
            .next()
            .unwrap_or_default();
        // What templates are given is often called like its class.
        let is_owner = |known: &String| match spelling.text {
            Text::Document => plain(known) == plain(owner),
            _ => known == owner,
        };
        if !owner.is_empty() && self.owners.iter().any(is_owner) {
            return true;
        }
        if spelling.text == Text::Document {
            return false;
        }
        let mut parts = self.parts.iter();
        if spelling.is_whole && self.users.contains(&spelling.file) {
            return true;
        }
        self.files.contains(&spelling.file)
            || parts.any(|(file, span)| *file == spelling.file && span.holds(&spelling.span))
    }
}

/// A name without what styles of writing it differ in.
fn plain(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}
