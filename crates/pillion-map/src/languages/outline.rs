//! What one file tells the map, in whatever language it is written: its definitions, what
//! they bind, what they import, and what they use. Nothing here depends on other files.

use super::super::world::Role;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A definition, by its place in [`Outline::defs`].
pub(crate) type DefId = u32;

/// The definition that is the file itself.
pub(crate) const FILE: DefId = 0;

/// The first part of a path of which nothing is known: `make().part`.
pub(crate) const UNKNOWN: &str = "";

/// Names, one taken from the other: `a.b.c`, `a::b::c`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Path {
    /// The names, from the outermost to the one that is meant.
    pub parts: Vec<Box<str>>,
    /// Whether the last is taken from a value, where the language tells: `a.b`, not `a::b`.
    pub(crate) is_member: bool,
}

impl Path {
    /// A path of one name.
    pub fn one(name: &str) -> Self {
        Self {
            parts: vec![name.into()],
            is_member: false,
        }
    }

    pub(crate) fn unknown() -> Self {
        Self::one(UNKNOWN)
    }

    /// Add a part to the path.
    pub fn then(mut self, name: &str, is_member: bool) -> Self {
        self.parts.push(name.into());
        self.is_member = is_member;
        self
    }

    /// The name that is meant.
    pub fn last(&self) -> &str {
        self.parts.last().map_or(UNKNOWN, |part| part)
    }
}

/// What a definition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DefKind {
    /// The file itself.
    File,
    /// An inline module: it has names and no code.
    Namespace,
    /// A class, struct, interface, trait, enum.
    Class,
    /// A function or method.
    Function,
}

/// Something that a file defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Def {
    /// What it is.
    pub kind: DefKind,
    /// Its own name.
    pub name: Box<str>,
    /// The definition that it lies in; that of the file for the outermost.
    pub parent: DefId,
    /// The type that it is a method of, if that is said beside it and not around it.
    pub owner: Option<Path>,
    /// Its lines from 1, with what is written above it.
    pub lines: (u32, u32),
    /// The line of its name.
    pub line: u32,
    /// The names of its parameters.
    pub params: Vec<Box<str>>,
    /// What a class is below of.
    pub(crate) bases: Vec<Path>,
    /// The type that a function says it gives.
    pub(crate) returns: Option<Path>,
    pub(crate) role: Role,
    /// Whether no other file sees it.
    pub(crate) is_private: bool,
    /// Whether it has code of its own.
    pub(crate) has_body: bool,
}

/// What an import binds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Bound {
    /// The module itself, by a name.
    Module(Box<str>),
    /// One of its names, by another.
    Name { name: Box<str>, by: Box<str> },
    /// All of its names.
    All,
    /// Nothing: it is only run.
    Nothing,
}

/// An import.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OutlineImport {
    /// What answers show of it; nothing if it is only a part of the project.
    pub shown: Box<str>,
    /// The module, as the language writes it.
    pub module: Box<str>,
    pub(crate) bound: Bound,
    /// The namespace it stands in.
    pub(crate) def: DefId,
    pub lines: (u32, u32),
    /// Whether others can take it from here.
    pub(crate) is_offered: bool,
    /// Whether it can be used here.
    pub(crate) is_local: bool,
}

/// Where the type of a variable is said.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Origin {
    Unknown,
    /// An instance of this.
    Type(Path),
    /// What a call of this gives.
    Call(Path),
}

/// A variable, a parameter, or a field of a class.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Local {
    pub(crate) def: DefId,
    pub name: Box<str>,
    pub origin: Origin,
}

/// How something is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum How {
    Call,
    /// An instance of it is made.
    New,
    /// It is named.
    Name,
}

/// Something that is used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Use {
    pub(crate) def: DefId,
    pub path: Path,
    pub(crate) how: How,
    pub line: u32,
    /// Whether something may be done to these words before they mean anything: a macro.
    pub(crate) is_loose: bool,
}

/// A name that a module offers, and what it is called inside.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Export {
    pub name: Box<str>,
    pub local: Box<str>,
}

/// What one file tells the map.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outline {
    /// Each behind the one it lies in; the first is the file.
    pub defs: Vec<Def>,
    /// What it imports.
    pub imports: Vec<OutlineImport>,
    pub(crate) exports: Vec<Export>,
    /// Sorted by definition and name.
    pub(crate) locals: Vec<Local>,
    pub(crate) uses: Vec<Use>,
    /// A type, and an interface that it says it fulfils, where it says so.
    pub(crate) fulfils: Vec<(DefId, Path, Path)>,
    /// The package that the file says it is of.
    pub package: Box<str>,
    /// Lines that the parser did not understand; not all of many.
    pub errors: Vec<u32>,
}

impl Outline {
    pub(crate) fn def(&self, id: DefId) -> Option<&Def> {
        self.defs.get(id as usize)
    }

    /// `Class.method` for a definition; nothing for the file.
    pub(crate) fn qualified(&self, id: DefId) -> String {
        let mut parts: Vec<&str> = Vec::new();
        let mut at = id;
        while let Some(def) = self.def(at).filter(|_| at != FILE) {
            parts.push(&def.name);
            if let Some(owner) = &def.owner {
                parts.push(owner.last());
            }
            at = def.parent;
        }
        parts.reverse();
        parts.join(".")
    }

    /// The definitions right in another.
    pub fn children(&self, of: DefId) -> impl Iterator<Item = (DefId, &Def)> {
        let all = (0..).zip(&self.defs).skip(1);
        all.filter(move |(_, def)| def.parent == of)
    }

    /// Whether a function belongs to a class.
    pub(crate) fn is_method(&self, id: DefId) -> bool {
        let kind = |id| self.def(id).map(|def| def.kind);
        self.def(id).is_some_and(|def| {
            def.kind == DefKind::Function
                && (def.owner.is_some() || kind(def.parent) == Some(DefKind::Class))
        })
    }

    /// The variables of a definition that have a name.
    pub(crate) fn locals_of<'a>(&'a self, def: DefId, name: &'a str) -> &'a [Local] {
        let start = self
            .locals
            .partition_point(|local| (local.def, &*local.name) < (def, name));
        let rest = &self.locals[start..];
        let end = rest.partition_point(|local| (local.def, &*local.name) == (def, name));
        &rest[..end]
    }

    /// A number that stays as long as other files see the same in it.
    pub(crate) fn surface(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for (id, def) in (0..).zip(&self.defs) {
            let is_seen = def.kind != DefKind::Function || !self.is_inner(id);
            if is_seen {
                (self.qualified(id), def.kind, &def.owner, &def.bases).hash(&mut hasher);
                (&def.returns, def.is_private, def.role).hash(&mut hasher);
            }
        }
        for import in &self.imports {
            (&import.module, &import.bound, import.is_offered).hash(&mut hasher);
            (import.is_local, self.qualified(import.def)).hash(&mut hasher);
        }
        let is_code = |def: DefId| self.def(def).is_some_and(|d| d.kind == DefKind::Function);
        for local in self.locals.iter().filter(|local| !is_code(local.def)) {
            (self.qualified(local.def), &local.name, &local.origin).hash(&mut hasher);
        }
        (&self.exports, &self.fulfils, &self.package).hash(&mut hasher);
        hasher.finish()
    }

    /// Whether a definition lies in nothing but namespaces.
    pub fn is_top(&self, id: DefId) -> bool {
        let mut at = self.def(id).map_or(FILE, |def| def.parent);
        while let Some(def) = self.def(at).filter(|_| at != FILE) {
            if def.kind != DefKind::Namespace {
                return false;
            }
            at = def.parent;
        }
        true
    }

    /// What the file imports, each once, sorted.
    pub fn imported(&self) -> Vec<String> {
        let shown = self.imports.iter().map(|import| import.shown.to_string());
        let mut all: Vec<String> = shown.filter(|shown| !shown.is_empty()).collect();
        all.sort();
        all.dedup();
        all
    }

    /// Whether a definition lies in a function.
    fn is_inner(&self, id: DefId) -> bool {
        let mut at = id;
        while let Some(def) = self.def(at).filter(|_| at != FILE) {
            at = def.parent;
            if self.def(at).is_some_and(|d| d.kind == DefKind::Function) {
                return true;
            }
        }
        false
    }
}
