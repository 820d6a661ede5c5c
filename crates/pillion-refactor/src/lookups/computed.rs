//! Names that are only known while the program runs: `getattr(self, request.method.lower())`,
//! `Color[text.upper()]`, `dir(Settings)`, `asdict(point)`.
//!
//! No text spells what these look up or list. Where the object is one of those that have what
//! is changed, the caller is told of them in one line.

use std::path::Path;
use std::sync::Arc;

use pillion_catalogue::{Result, work};
use pillion_index::facts::name_hash;
use pillion_index::parsed::parsed;
use pillion_index::source::Source;
use pillion_index::{Facts, Index};
use pillion_symbols::ask::EngineView;
use pillion_symbols::occurrences::Sort;
use rayon::prelude::*;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::{Ranged, TextRange};

use super::meanings::Object;
use super::sites;
use super::{Finder, Subject};

/// Functions that look a name up in an object.
const BY_NAME: &[&str] = &["getattr", "setattr", "hasattr", "delattr"];
/// Functions that list the names of an object.
const LISTING: &[&str] = &["dir", "vars", "asdict", "astuple", "fields"];
/// Attributes and methods that do.
const LISTED: &[&str] = &["__dict__", "__members__", "_asdict", "_fields"];
/// Bases that make members of what is assigned in a class.
const ENUMS: &[&str] = &["Enum", "Flag", "IntEnum", "IntFlag", "ReprEnum", "StrEnum"];
/// What gives a module that is only known while the program runs.
const LOADED: &[&str] = &["import_module(", "__import__(", "sys.modules[", "reload("];
/// Sites that are asked about.
const MAX_SITES: usize = 2000;
/// Places that a warning names.
const SHOWN: usize = 5;

/// Something that may look up or list any name.
struct Site {
    at: TextRange,
    object: Object,
    /// The text of the object.
    of: TextRange,
    /// Whether only members of an enumeration can be meant.
    of_enum: bool,
    /// Whether it looks up one name, and does not list all.
    by_name: bool,
}

/// Whether what is changed may be found in an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MayBe {
    No,
    Yes,
    /// Nobody knows what the object is.
    Unknown,
}

/// What to tell about a name that may be looked up or listed without being spelled.
pub(crate) async fn told(engine: &EngineView, subject: &Subject) -> Result<Option<String>> {
    if subject.alias || subject.sort == Sort::Parameter {
        return Ok(None);
    }
    let mut finder = Finder::of(engine, subject, Default::default());
    let enums = finder.enums();
    let (index, root) = (engine.view.index.clone(), engine.view.root().to_owned());
    let names = enums.clone();
    let found = work(move |_| read(&index, &root, &names)).await?;
    let (mut places, mut unknown) = (Vec::new(), Vec::new());
    let (mut asked, mut unseen) = (0, 0);
    for (file, source, sites) in &found {
        for site in sites {
            if site.of_enum && enums.is_empty() {
                continue;
            }
            asked += 1;
            if asked > MAX_SITES {
                unseen += 1;
                continue;
            }
            let line = source.position(site.at.start().to_usize()).line + 1;
            match finder.may_be_in(file, source, site).await? {
                MayBe::Yes => places.push(format!("{file}:{line}")),
                MayBe::Unknown => unknown.push(format!("{file}:{line}")),
                MayBe::No => {}
            }
        }
    }
    let by = "by a name that no text spells";
    let name = &subject.name;
    let unknown = shown(unknown).map(|places| {
        format!("`{name}` may be looked up {by}, in objects of which nobody knows: {places}")
    });
    let places = shown(places).unwrap_or_default();
    let known = match (places.is_empty(), unseen) {
        (true, 0) => None,
        (false, 0) => Some(format!(
            "`{name}` may be looked up or listed {by}: {places}"
        )),
        (true, unseen) => Some(format!(
            "{unseen} places that look up or list something {by} were not looked at"
        )),
        (false, unseen) => Some(format!(
            "`{name}` may be looked up or listed {by}: {places}; {unseen} more places that do so were not looked at"
        )),
    };
    let all: Vec<String> = known.into_iter().chain(unknown).collect();
    Ok((!all.is_empty()).then(|| all.join("; ")))
}

/// The first of some places, and how many more there are.
fn shown(mut places: Vec<String>) -> Option<String> {
    places.dedup();
    let more = match places.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    places.truncate(SHOWN);
    (!places.is_empty()).then(|| places.join(", ") + &more)
}

type Read = Vec<(Arc<str>, Arc<Source>, Vec<Site>)>;

/// The files with such sites.
fn read(index: &Index, root: &Path, enums: &[String]) -> Read {
    let words = BY_NAME.iter().chain(LISTING).chain(LISTED);
    let words = words.chain(&["globals"]).copied();
    let words: Vec<u32> = words
        .chain(enums.iter().map(String::as_str))
        .map(name_hash)
        .collect();
    let mentions = |facts: &Facts| words.iter().any(|hash| facts.may_mention(*hash));
    let files: Vec<&Arc<str>> = index
        .iter()
        .filter(|(_, facts)| mentions(facts))
        .map(|(file, _)| file)
        .collect();
    let found = files.par_iter().filter_map(|file| {
        let source = Source::decode(&std::fs::read(root.join(&***file)).ok()?);
        let sites = parsed(source.text(), file, |parsed| {
            let mut collector = Collector { found: Vec::new() };
            collector.visit_body(parsed.body());
            collector.found
        });
        (!sites.is_empty()).then(|| (Arc::clone(file), Arc::new(source), sites))
    });
    found.collect()
}

struct Collector {
    found: Vec<Site>,
}

impl Collector {
    fn note(&mut self, at: TextRange, of: &Expr, of_enum: bool, by_name: bool) {
        let object = sites::object(of);
        if by_name || !matches!(object, Object::Other) {
            self.found.push(Site {
                at,
                object,
                of: of.range(),
                of_enum,
                by_name,
            });
        }
    }

    fn call(&mut self, call: &ExprCall) {
        let function = match &*call.func {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => "",
        };
        match &*call.arguments.args {
            [of, name, ..] if BY_NAME.contains(&function) && is_computed(name) => {
                self.note(call.range(), of, false, true);
            }
            [of, ..] if LISTING.contains(&function) => self.note(call.range(), of, false, false),
            [] if function == "globals" && call.func.is_name_expr() => {
                let at = call.func.range().start().to_usize();
                self.found.push(Site {
                    at: call.range(),
                    object: Object::Own(at),
                    of: call.range(),
                    of_enum: false,
                    by_name: false,
                });
            }
            _ => {}
        }
    }
}

impl<'a> Visitor<'a> for Collector {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => self.call(call),
            Expr::Subscript(subscript) if is_computed(&subscript.slice) => {
                self.note(subscript.range(), &subscript.value, true, false);
            }
            Expr::Attribute(attribute) if LISTED.contains(&attribute.attr.as_str()) => {
                self.note(attribute.range(), &attribute.value, false, false);
            }
            // A member of an enumeration tells its name.
            Expr::Attribute(attribute) if attribute.attr == *"name" && attribute.ctx.is_load() => {
                self.note(attribute.range(), &attribute.value, true, false);
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}

/// Whether an expression may be any name: texts with a part that is known are looked at by
/// what they begin and end with.
fn is_computed(expr: &Expr) -> bool {
    match expr {
        Expr::BinOp(operation) => is_computed(&operation.left) && is_computed(&operation.right),
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => is_computed(&method.value),
            _ => true,
        },
        Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_) => true,
        _ => false,
    }
}

impl Finder<'_> {
    /// The enumerations among the classes, by their names.
    fn enums(&mut self) -> Vec<String> {
        let mut found = Vec::new();
        for (path, at) in &self.subject.family.classes {
            let name = self.opened.with_facts(path, |facts| {
                let class = facts.symbols.get(facts.named_at(at.start)?)?;
                let mut bases = class.bases.iter();
                let is_enum =
                    |base: &str| base.rsplit('.').next().is_some_and(|b| ENUMS.contains(&b));
                bases
                    .any(|base| is_enum(base))
                    .then(|| class.name.to_string())
            });
            found.extend(name);
        }
        found
    }

    async fn may_be_in(&mut self, file: &str, source: &Arc<Source>, site: &Site) -> Result<MayBe> {
        let sure = |is_it: bool| if is_it { MayBe::Yes } else { MayBe::No };
        if self.subject.sort != Sort::Member {
            if let Object::Own(at) = &site.object {
                // `globals()` is about its own module.
                let is_globals = source
                    .text()
                    .get(*at..)
                    .is_some_and(|t| t.starts_with("globals"));
                let path = self.engine.absolute(file);
                return Ok(sure(is_globals && self.binds(&path)));
            }
            let (classes, modules) = self.object(file, source, &site.object).await?;
            if modules.iter().any(|(path, _)| self.binds(path)) {
                return Ok(MayBe::Yes);
            }
            let of = source.text().get(site.of.to_std_range());
            let is_loaded = LOADED
                .iter()
                .any(|word| of.is_some_and(|of| of.contains(word)));
            let is_module = classes
                .iter()
                .any(|(path, _)| path.ends_with("stdlib/types.pyi"));
            let is_unknown = site.by_name && modules.is_empty() && (is_loaded || is_module);
            return Ok(match is_unknown {
                true => MayBe::Unknown,
                false => MayBe::No,
            });
        }
        let (classes, modules) = self.object(file, source, &site.object).await?;
        // What a class above has may be taken from objects of those below.
        if let Object::Own(_) = site.object {
            let mut above = classes.iter();
            if above.any(|class| self.subject.family.above.contains(class)) {
                return Ok(MayBe::Yes);
            }
        }
        if site.by_name && classes.is_empty() && modules.is_empty() && self.knows_family(file) {
            return Ok(MayBe::Unknown);
        }
        Ok(sure(self.is_ours(&classes)))
    }
}
