//! What a path means at a place. Whatever is not certain is [`Thing::Unknown`], or
//! [`Thing::Several`] if there are a few that it may be.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use pillion_index::language::Language;

use super::codebase::{Codebase, FileId, Place};
use super::headers::Included;
use super::outline::{Bound, DefKind, FILE, Local, Origin, OutlineImport, Path};

/// How far one name may lead to another.
const MAX_DEPTH: u32 = 24;

/// How many looks one question may take.
const MAX_LOOKS: u32 = 1_000;

/// What a path can mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Thing {
    /// A definition.
    Def(Place),
    /// An instance of a class.
    Instance(Place),
    /// A module: a file, or a namespace in it. A Go package is its first file.
    Module(Place),
    /// One of these.
    Several(Vec<Place>),
    /// Something that is not of the workspace.
    Outside,
    Unknown,
}

/// Looks from place to place.
#[derive(Debug)]
pub(crate) struct Viewer<'w> {
    pub(super) codebase: &'w Codebase,
    /// How many looks the question at hand took: modules that import all of each other lead
    /// round and round.
    looks: Cell<u32>,
    /// What files of C include, as far as it was asked for.
    pub(super) included: RefCell<HashMap<FileId, Rc<Included>>>,
}

impl<'w> Viewer<'w> {
    pub(crate) fn new(codebase: &'w Codebase) -> Self {
        Self {
            codebase,
            looks: Cell::new(0),
            included: RefCell::default(),
        }
    }

    fn language(&self) -> Language {
        self.codebase.language
    }

    pub(super) fn kind(&self, (file, def): Place) -> Option<DefKind> {
        let outlined = self.codebase.file(file)?;
        outlined.outline.def(def).map(|def| def.kind)
    }

    /// What a path means at a place.
    pub(crate) fn path(&self, at: Place, path: &Path) -> Thing {
        self.begin();
        self.path_from(at, path, 0)
    }

    /// A new question begins.
    pub(super) fn begin(&self) {
        self.looks.set(0);
    }

    /// Whether a question leads too far.
    pub(super) fn is_exhausted(&self, depth: u32) -> bool {
        self.looks.set(self.looks.get() + 1);
        depth > MAX_DEPTH || self.looks.get() > MAX_LOOKS
    }

    pub(super) fn path_from(&self, at: Place, path: &Path, depth: u32) -> Thing {
        if self.is_exhausted(depth) {
            return Thing::Unknown;
        }
        let Some((first, rest)) = path.parts.split_first() else {
            return Thing::Unknown;
        };
        let is_module = self.language() == Language::Rust
            && (&**first != "self" || !path.is_member && !rest.is_empty());
        let mut thing = match &**first {
            "crate" | "self" | "super" if is_module => self.rust_root(at, first),
            first => self.name(at, first, depth + 1),
        };
        for part in rest {
            thing = match (&**part, &thing) {
                ("super", Thing::Module(place)) if is_module => self.rust_root(*place, "super"),
                _ => self.member(&thing, part, depth + 1),
            };
        }
        thing
    }

    /// The class around a place, through functions.
    pub(super) fn class_around(&self, (file, def): Place, depth: u32) -> Option<Place> {
        let outlined = self.codebase.file(file)?;
        let mut at = def;
        while let Some(here) = outlined.outline.def(at).filter(|_| at != FILE) {
            if here.kind == DefKind::Class {
                return Some((file, at));
            }
            if let Some(owner) = &here.owner {
                let found = self.path_from((file, here.parent), owner, depth + 1);
                return match found {
                    Thing::Def(class) => Some(class),
                    _ => None,
                };
            }
            at = here.parent;
        }
        None
    }

    /// What a name means at a place, by the rules of the language.
    pub(super) fn name(&self, at: Place, name: &str, depth: u32) -> Thing {
        if self.is_exhausted(depth) || name.is_empty() {
            return Thing::Unknown;
        }
        let language = self.language();
        let class = |make: fn(Place) -> Thing| {
            let class = self.class_around(at, depth + 1);
            class.map_or(Thing::Unknown, make)
        };
        match (language, name) {
            (Language::Typescript | Language::Javascript | Language::Java, "this")
            | (Language::Rust, "self") => return class(Thing::Instance),
            (Language::Rust, "Self") => return class(Thing::Def),
            (Language::Typescript | Language::Javascript | Language::Java, "super") => {
                return self.above(at, depth + 1);
            }
            _ => {}
        }
        let (file, mut def) = at;
        let Some(outlined) = self.codebase.file(file) else {
            return Thing::Unknown;
        };
        while let Some(here) = outlined.outline.def(def) {
            if here.kind == DefKind::Class {
                // Only Java sees the names of a class without naming it.
                let found = match language {
                    Language::Java => self.class_member((file, def), name, depth + 1),
                    _ => Thing::Outside,
                };
                if found != Thing::Outside {
                    return found;
                }
            } else if let Some(found) = self.bound((file, def), name, depth + 1) {
                return found;
            }
            let is_closed = here.kind == DefKind::Namespace && language == Language::Rust;
            if def == FILE || is_closed {
                break;
            }
            def = here.parent;
        }
        self.wider((file, def), name, depth + 1)
    }

    /// What a function, a namespace or a file itself binds a name to.
    pub(super) fn bound(&self, at: Place, name: &str, depth: u32) -> Option<Thing> {
        let (file, def) = at;
        let outlined = self.codebase.file(file)?;
        let locals = outlined.outline.locals_of(def, name);
        let defs = outlined.named(def, name);
        match (defs, locals) {
            ([], []) => {}
            ([one, ..], []) => {
                let is_namespace = self.kind((file, *one)) == Some(DefKind::Namespace);
                let thing = match is_namespace {
                    true => Thing::Module((file, *one)),
                    false => Thing::Def((file, *one)),
                };
                return Some(thing);
            }
            ([], locals) => return Some(self.value(at, locals, depth + 1)),
            _ => return Some(Thing::Unknown),
        }
        let mut imports = outlined.outline.imports.iter();
        let found =
            imports.find(|import| import.def == def && import.is_local && self.binds(import, name));
        found.map(|import| self.imported(file, import, depth + 1))
    }

    fn binds(&self, import: &OutlineImport, name: &str) -> bool {
        match &import.bound {
            Bound::Module(by) if self.language() == Language::Go => {
                &**by == name || self.go_name(import).is_some_and(|own| own == name)
            }
            Bound::Module(by) | Bound::Name { by, .. } => &**by == name,
            Bound::All | Bound::Nothing => false,
        }
    }

    /// What variables hold: all must say the same.
    fn value(&self, at: Place, locals: &[Local], depth: u32) -> Thing {
        let said = locals.iter().find(|l| matches!(l.origin, Origin::Type(_)));
        let Some(first) = said.or(locals.first()) else {
            return Thing::Unknown;
        };
        let is_other = |other: &Local| match (&first.origin, &other.origin) {
            (Origin::Type(_), Origin::Type(_)) => first.origin != other.origin,
            // What is assigned must fit the type that is declared.
            (Origin::Type(_), _) => false,
            _ => first.origin != other.origin,
        };
        if locals.iter().any(is_other) {
            return Thing::Unknown;
        }
        match &first.origin {
            Origin::Unknown => Thing::Unknown,
            Origin::Type(path) => self.instance(at, path, depth + 1),
            Origin::Call(path) => match self.path_from(at, path, depth + 1) {
                Thing::Def(place) => self.given(place, depth + 1),
                Thing::Outside => Thing::Outside,
                _ => Thing::Unknown,
            },
        }
    }

    /// An instance of a type that is named at a place.
    pub(super) fn instance(&self, at: Place, path: &Path, depth: u32) -> Thing {
        let is_parameter = |name: &str| name.len() <= 2 && name.starts_with(char::is_uppercase);
        match self.path_from(at, path, depth + 1) {
            Thing::Def(class) if self.kind(class) == Some(DefKind::Class) => Thing::Instance(class),
            // A parameter of a generic may be anything; so may what the compiler infers.
            Thing::Outside if is_parameter(path.last()) || path.last() == "var" => Thing::Unknown,
            Thing::Outside => Thing::Outside,
            _ => Thing::Unknown,
        }
    }

    /// What a call of a definition gives.
    fn given(&self, place: Place, depth: u32) -> Thing {
        let outlined = self.codebase.file(place.0);
        let Some(def) = outlined.and_then(|outlined| outlined.outline.def(place.1)) else {
            return Thing::Unknown;
        };
        match (def.kind, &def.returns) {
            (DefKind::Class, _) => Thing::Instance(place),
            (_, Some(returns)) => self.instance(place, returns, depth + 1),
            _ => Thing::Unknown,
        }
    }

    /// The one class that a class is below of.
    fn above(&self, at: Place, depth: u32) -> Thing {
        let Some(class) = self.class_around(at, depth + 1) else {
            return Thing::Unknown;
        };
        let bases = self.bases(class, depth + 1);
        let is_class = |thing: &Thing| match thing {
            Thing::Def(place) => self.kind(*place) == Some(DefKind::Class),
            _ => true,
        };
        match bases.into_iter().find(is_class) {
            Some(Thing::Def(base)) => Thing::Instance(base),
            Some(Thing::Outside) => Thing::Outside,
            _ => Thing::Unknown,
        }
    }

    /// What a class says it is below of, and what it fulfils.
    pub(super) fn bases(&self, class: Place, depth: u32) -> Vec<Thing> {
        let outlined = self.codebase.file(class.0);
        let Some(def) = outlined.and_then(|outlined| outlined.outline.def(class.1)) else {
            return Vec::new();
        };
        let around = (class.0, def.parent);
        let named = def.bases.iter();
        let mut all: Vec<Thing> = named
            .map(|base| self.path_from(around, base, depth + 1))
            .collect();
        if self.language() == Language::Rust {
            let fulfilled = self.codebase.fulfilled(class).iter();
            all.extend(fulfilled.map(|base| Thing::Def(*base)));
        }
        all
    }

    /// Something taken from something.
    pub(super) fn member(&self, thing: &Thing, name: &str, depth: u32) -> Thing {
        if self.is_exhausted(depth) {
            return Thing::Unknown;
        }
        match thing {
            Thing::Outside => Thing::Outside,
            Thing::Unknown | Thing::Several(_) => Thing::Unknown,
            Thing::Module(module) => self.of_module(*module, name, depth + 1),
            Thing::Instance(class) => self.class_member(*class, name, depth + 1),
            Thing::Def(place) => match self.kind(*place) {
                Some(DefKind::Class) => self.class_member(*place, name, depth + 1),
                _ => Thing::Unknown,
            },
        }
    }

    /// A member of a class, its own or from above. [`Thing::Outside`] if it has none.
    pub(super) fn class_member(&self, class: Place, name: &str, depth: u32) -> Thing {
        let Some(outlined) = self.codebase.file(class.0) else {
            return Thing::Unknown;
        };
        if self.is_exhausted(depth) {
            return Thing::Unknown;
        }
        if let [one, ..] = outlined.named(class.1, name) {
            return Thing::Def((class.0, *one));
        }
        match self.codebase.members(class, name) {
            [] => {}
            [one] => return Thing::Def(*one),
            several => return Thing::Several(several.to_vec()),
        }
        let fields = outlined.outline.locals_of(class.1, name);
        if !fields.is_empty() {
            return self.value(class, fields, depth + 1);
        }
        let mut is_open = false;
        for base in self.bases(class, depth + 1) {
            let found = match base {
                Thing::Def(base) if base != class => self.class_member(base, name, depth + 1),
                _ => Thing::Unknown,
            };
            match found {
                Thing::Outside => {}
                Thing::Unknown => is_open = true,
                found => return found,
            }
        }
        // What a base from elsewhere has is nobody's here.
        match is_open && self.language() == Language::Rust {
            true => Thing::Unknown,
            false => Thing::Outside,
        }
    }
}
