//! What one Python file tells the map: its scopes, the names they bind, and what is used in
//! them. Nothing here depends on any other file, so it is kept on disk by the file's hash; a
//! change of these types needs a new `FORMAT`.

use pillion_index::facts::name_hash;
use pillion_index::source::Position;
use serde::{Deserialize, Serialize};

/// The version of what is written to disk; other versions are not read.
pub(crate) const FORMAT: u32 = 6;

/// A name, by its place in [`Names`].
pub(crate) type Name = u32;
/// An expression, by its place in [`Sketch::exprs`].
pub(crate) type ExprId = u32;
/// A scope, by its place in [`Sketch::scopes`].
pub(crate) type ScopeId = u32;

/// A number for how names begin, `visit_`, that is never the number of a name.
pub(crate) fn prefix_hash(prefix: &str) -> u32 {
    name_hash(&format!("{prefix}*"))
}

/// The scope of the module itself.
pub(crate) const MODULE: ScopeId = 0;

/// The names of a file, sorted, in one piece of text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Names {
    text: Box<str>,
    ends: Box<[u32]>,
}

impl Names {
    /// Names that are sorted already.
    pub(super) fn of(sorted: &[&str]) -> Self {
        let mut text = String::new();
        let mut ends = Vec::with_capacity(sorted.len());
        for name in sorted {
            text.push_str(name);
            ends.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
        }
        Self {
            text: text.into(),
            ends: ends.into(),
        }
    }

    pub(crate) fn get(&self, name: Name) -> &str {
        let at = name as usize;
        let end = |at: usize| self.ends.get(at).map_or(0, |end| *end as usize);
        let start = at.checked_sub(1).map_or(0, end);
        self.text.get(start..end(at)).unwrap_or_default()
    }

    pub(crate) fn find(&self, text: &str) -> Option<Name> {
        let (mut low, mut high) = (0, u32::try_from(self.ends.len()).unwrap_or(0));
        while low < high {
            let middle = low + (high - low) / 2;
            match self.get(middle).cmp(text) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }
}

/// An expression, as far as the map understands it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Expr {
    /// Anything may come of it.
    Unknown,
    /// A literal: nothing of the workspace comes of it.
    Literal,
    /// A name.
    Name(Name),
    /// Something that is taken from something.
    Attribute(ExprId, Name),
    /// What a call gives.
    Call(ExprId),
}

/// What a name is bound to. A name with several bindings may be any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Binding {
    /// Something that the map does not follow.
    Opaque,
    /// `None`.
    Nothing,
    /// A parameter that says nothing about itself.
    Parameter,
    /// A class or function.
    Definition(ScopeId),
    /// `import module as name`.
    Module(Name),
    /// `import first.second`: the first part.
    Package(Name),
    /// `from module import name`.
    Import(Name, Name),
    /// What an expression gives in a scope.
    Value(ExprId, ScopeId),
    /// An instance of the class that an annotation names in a scope.
    Instance(ExprId, ScopeId),
    /// The first parameter of a method: an instance of the class.
    Me(ScopeId),
    /// The first parameter of a class method: the class, or a class below it.
    MyClass(ScopeId),
}

/// What a scope is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum ScopeKind {
    Module,
    Class,
    Function,
    /// A lambda or comprehension: its code belongs to what it stands in.
    Inner,
    /// What a variable of the module is given: it binds nothing itself.
    Variable,
}

/// A piece of code with names of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Scope {
    pub kind: ScopeKind,
    pub name: Name,
    pub parent: ScopeId,
    /// Its lines from 1, with decorators.
    pub lines: (u32, u32),
    /// The line its name stands on.
    pub line: u32,
    /// Sorted by name.
    pub(crate) bindings: Box<[(Name, Binding)]>,
    /// The bases of a class; what a function returns.
    pub heads: Box<[Head]>,
    pub(crate) decorators: Box<[ExprId]>,
    pub(crate) nature: Nature,
}

/// A base of a class, or what a function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Head {
    /// A base.
    Base(ExprId),
    /// An annotation: an instance of this, named in the scope around.
    Annotated(ExprId),
    /// What the one `return` gives, in the function itself.
    Returned(ExprId),
}

/// What decorators and places make of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Nature {
    Plain,
    Property,
    Static,
    OfClass,
    /// A decorator that the map does not know: what it returns may be anything.
    Decorated,
}

/// Something that is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Use {
    /// In whose words it is said.
    pub scope: ScopeId,
    /// Whose code it is: what a function is decorated and annotated with is said in the words
    /// of the scope around.
    pub(crate) of: ScopeId,
    pub(crate) expr: ExprId,
    /// Whether it is called, or only named.
    pub(crate) is_call: bool,
    /// The line from 1.
    pub line: u32,
}

/// A place where something is taken from something of which the file alone does not say what
/// it is: `receiver.name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Site {
    pub scope: ScopeId,
    pub name: Name,
    /// Where the name stands.
    pub at: Position,
    pub(crate) is_call: bool,
}

/// What a name is looked up in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Among {
    /// What an object has: `getattr(self, name)`.
    Members,
    /// The names of a module: `globals()[name]`.
    Module,
    /// What may be either: `getattr(handlers, name)` of something imported.
    Both,
}

/// A name that is put together where it is looked up, as in `getattr(self, "visit_" + kind)`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Built {
    pub(crate) scope: ScopeId,
    /// How it begins.
    pub(crate) before: Box<str>,
    /// How it ends.
    pub(crate) after: Box<str>,
    pub(crate) among: Among,
    /// The line of the look-up, from 1.
    pub(crate) line: u32,
}

impl Built {
    /// Whether it can be this name.
    pub(crate) fn fits(&self, name: &str) -> bool {
        name.len() > self.before.len() + self.after.len()
            && name.starts_with(&*self.before)
            && name.ends_with(&*self.after)
    }
}

/// A function that pytest calls for those who ask for its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Fixture {
    pub scope: ScopeId,
    /// What it is asked for by.
    pub name: Name,
    /// Whether every test below gets it unasked.
    pub(crate) autouse: bool,
}

/// What one file tells the map.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Sketch {
    pub names: Names,
    pub(crate) exprs: Box<[Expr]>,
    /// Each behind the one it lies in; the first is the module.
    pub(crate) scopes: Box<[Scope]>,
    pub(crate) uses: Box<[Use]>,
    /// In the order of the text.
    pub sites: Box<[Site]>,
    /// Modules from which everything is imported.
    pub(crate) stars: Box<[Name]>,
    /// The names it says it offers, if it does.
    pub all: Option<Box<[Name]>>,
    /// [`name_hash`] of what is taken from things that nobody knows; sorted.
    pub(crate) loose: Box<[u32]>,
    /// [`name_hash`] of the words of strings that look like names, and [`prefix_hash`] of
    /// those that look like how names begin; sorted.
    pub strings: Box<[u32]>,
    /// How names begin and end that strings leave open in the middle: `get_%s_display`.
    pub(crate) affixes: Box<[(Box<str>, Box<str>)]>,
    /// Names that are looked up and put together only then.
    pub(crate) built: Box<[Built]>,
    /// Scopes, each with the [`name_hash`] of something that it puts things into: `HOOKS` of
    /// `HOOKS.append(hook)`; sorted.
    pub(crate) fills: Box<[(ScopeId, u32)]>,
    /// Texts that spell where something is defined, `"pkg.mod.name"`, and whose code they are;
    /// sorted.
    pub(crate) spelled: Box<[(ScopeId, Box<str>)]>,
    pub(crate) fixtures: Box<[Fixture]>,
    /// Names that tests and fixtures ask pytest for; sorted.
    pub asked: Box<[(ScopeId, Name)]>,
}

impl Sketch {
    pub(crate) fn scope(&self, id: ScopeId) -> Option<&Scope> {
        self.scopes.get(id as usize)
    }

    pub(crate) fn expr(&self, id: ExprId) -> Expr {
        let expr = self.exprs.get(id as usize);
        expr.copied().unwrap_or(Expr::Unknown)
    }

    /// Whether a scope puts something into what has this [`name_hash`].
    pub(crate) fn is_filled(&self, scope: ScopeId, own: u32) -> bool {
        self.fills.binary_search(&(scope, own)).is_ok()
    }

    /// Whether a scope puts something into anything.
    pub(crate) fn fills_any(&self, scope: ScopeId) -> bool {
        self.fills.iter().any(|(filling, _)| *filling == scope)
    }

    /// Whether a class binds a name with this [`name_hash`].
    pub(crate) fn bound_as(&self, class: ScopeId, own: u32) -> bool {
        let scope = self.scope(class).filter(|s| s.kind == ScopeKind::Class);
        scope.is_some_and(|scope| {
            let mut names = scope.bindings.iter();
            names.any(|(name, _)| name_hash(self.names.get(*name)) == own)
        })
    }

    /// What a scope binds a name to.
    pub(crate) fn bound(&self, scope: ScopeId, name: Name) -> &[(Name, Binding)] {
        let Some(scope) = self.scope(scope) else {
            return &[];
        };
        let all = &scope.bindings;
        let start = all.partition_point(|(other, _)| *other < name);
        let end = start + all[start..].partition_point(|(other, _)| *other == name);
        &all[start..end]
    }

    /// The scope in which a name that is used in another is bound, by the rules of Python:
    /// the names of a class are seen only by the code right in it.
    pub(crate) fn lexical(&self, from: ScopeId, name: Name) -> Option<ScopeId> {
        let mut at = from;
        loop {
            let scope = self.scope(at)?;
            let is_seen = scope.kind != ScopeKind::Class || at == from;
            if is_seen && !self.bound(at, name).is_empty() {
                return Some(at);
            }
            if at == MODULE {
                return None;
            }
            at = scope.parent;
        }
    }

    /// Whether a type checker may know more about what is taken from something than the words
    /// of the file and its imports tell: not if that is a module, a class or the first
    /// parameter.
    pub(crate) fn is_unclear(&self, scope: ScopeId, receiver: ExprId) -> bool {
        match self.expr(receiver) {
            Expr::Literal => false,
            Expr::Name(name) => match self.lexical(scope, name) {
                None => !self.stars.is_empty(),
                Some(scope) => self.bound(scope, name).iter().any(|(_, binding)| {
                    !matches!(
                        binding,
                        Binding::Me(_)
                            | Binding::MyClass(_)
                            | Binding::Module(_)
                            | Binding::Package(_)
                            | Binding::Definition(_)
                    )
                }),
            },
            Expr::Call(callee) => match self.expr(callee) {
                Expr::Name(name) => self.names.get(name) != "super",
                _ => true,
            },
            Expr::Unknown | Expr::Attribute(..) => true,
        }
    }

    /// The class that a scope is code of, through functions in it.
    pub(crate) fn class_around(&self, mut scope: ScopeId) -> Option<ScopeId> {
        loop {
            let here = self.scope(scope)?;
            match here.kind {
                ScopeKind::Class => return Some(scope),
                ScopeKind::Module => return None,
                ScopeKind::Function | ScopeKind::Inner | ScopeKind::Variable => {
                    scope = here.parent;
                }
            }
        }
    }

    /// Whether a scope is a function of a class.
    pub(crate) fn is_method(&self, scope: ScopeId) -> bool {
        let is = |id: ScopeId, kind| self.scope(id).is_some_and(|s| s.kind == kind);
        is(scope, ScopeKind::Function)
            && self
                .scope(scope)
                .is_some_and(|s| is(s.parent, ScopeKind::Class))
    }

    /// `Class.method` for a scope; nothing for the module.
    pub(crate) fn qualified(&self, scope: ScopeId) -> String {
        let mut parts = Vec::new();
        let mut at = scope;
        while let Some(here) = self.scope(at).filter(|_| at != MODULE) {
            if here.kind != ScopeKind::Inner {
                parts.push(self.names.get(here.name));
            }
            at = here.parent;
        }
        parts.reverse();
        parts.join(".")
    }

    /// Whether a name of the module is among what `import *` takes.
    pub(crate) fn offers(&self, name: &str) -> bool {
        match &self.all {
            Some(all) => self
                .names
                .find(name)
                .is_some_and(|name| all.contains(&name)),
            None => !name.starts_with('_'),
        }
    }
}
