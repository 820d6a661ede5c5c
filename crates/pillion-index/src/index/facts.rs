//! What the index knows about one file. Everything here is written to disk: a change of
//! these types needs a new `FORMAT`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::source::{Position, Span};

/// The version of what is written to disk; other versions are not read.
pub const FORMAT: u32 = 3;

/// What a symbol is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A class.
    Class,
    /// A function that is no method.
    Function,
    /// A function of a class.
    Method,
    /// A method that is read like an attribute.
    Property,
    /// A name that is assigned in a module.
    Variable,
    /// A name that is assigned in a class, or to `self` in one of its methods.
    Attribute,
    /// A type alias.
    Type,
    /// A module: a file.
    Module,
    /// A parameter of a function.
    Parameter,
}

impl Kind {
    /// As callers see it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Class => "class",
            Self::Function => "function",
            Self::Method => "method",
            Self::Property => "property",
            Self::Variable => "variable",
            Self::Attribute => "attribute",
            Self::Type => "type",
            Self::Module => "module",
            Self::Parameter => "parameter",
        }
    }

    /// Whether it is a function of any sort.
    pub fn is_callable(self) -> bool {
        matches!(self, Self::Function | Self::Method | Self::Property)
    }
}

/// A definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Its own name.
    pub name: Box<str>,
    /// What it is.
    pub kind: Kind,
    /// The symbol it lies in, by its place in [`Facts::symbols`].
    pub container: Option<u32>,
    /// All of it, with decorators and body.
    pub span: Span,
    /// Where its name stands.
    pub name_span: Span,
    /// Its head as one line, for functions and classes.
    pub signature: Option<Box<str>>,
    /// The first line of its documentation.
    pub summary: Option<Box<str>>,
    /// The bases of a class as they are written, without subscripts.
    pub bases: Box<[Box<str>]>,
}

/// A name that is imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The module, with a dot for each level up.
    pub module: Box<str>,
    /// What is taken from it; `None` for `import module`, `*` for all.
    pub name: Option<Box<str>>,
    /// The name it gets here, if another.
    pub alias: Option<Box<str>>,
    /// Where it stands.
    pub span: Span,
}

/// Something the parser did not understand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParseError {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

/// What is known about a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// Its definitions, each behind the one it lies in.
    pub symbols: Box<[Symbol]>,
    /// Whether its bytes are plain UTF-8; an engine has to be handed the text of others.
    pub is_plain: bool,
    /// Its imports.
    pub imports: Box<[Import]>,
    /// The names it says it offers, if it does.
    pub all: Option<Box<[Box<str>]>>,
    /// The first line of its documentation.
    pub summary: Option<Box<str>>,
    /// What is wrong in it.
    pub parse_errors: Box<[ParseError]>,
    /// Whether it nests so deeply that it is kept from engines: what its names mean is not
    /// known.
    pub is_too_deep: bool,
    /// [`name_hash`] of every name in it, sorted.
    pub names: Box<[u32]>,
}

impl Facts {
    /// Whether a name may occur. A file that is said to may still be found not to.
    pub fn may_mention(&self, hash: u32) -> bool {
        self.names.binary_search(&hash).is_ok()
    }

    /// Whether an engine must not read the file itself: it could not decode it, or would fall
    /// over it.
    pub fn needs_handing_over(&self) -> bool {
        !self.is_plain || self.is_too_deep
    }

    /// `Class/method` for a symbol.
    pub fn name_path(&self, index: usize) -> String {
        let mut parts = Vec::new();
        let mut next = Some(index);
        while let Some(symbol) = next.and_then(|index| self.symbols.get(index)) {
            parts.push(&*symbol.name);
            next = self.container(symbol);
        }
        parts.reverse();
        parts.join("/")
    }

    /// Where the symbol that another lies in is.
    pub fn container(&self, symbol: &Symbol) -> Option<usize> {
        symbol.container.and_then(|c| usize::try_from(c).ok())
    }

    /// The name path of the symbol that another lies in.
    pub fn container_path(&self, symbol: &Symbol) -> Option<String> {
        self.container(symbol).map(|index| self.name_path(index))
    }

    /// Whether a symbol belongs to a class.
    pub fn is_member(&self, symbol: &Symbol) -> bool {
        let class = self
            .container(symbol)
            .and_then(|index| self.symbols.get(index));
        class.is_some_and(|class| class.kind == Kind::Class)
    }

    /// The innermost symbol around a place.
    pub fn enclosing(&self, at: Position) -> Option<usize> {
        let is_scope = |symbol: &Symbol| symbol.kind.is_callable() || symbol.kind == Kind::Class;
        // They are in the order of their first lines, so whatever is around the place is
        // also around the last one that begins before it, or is that one.
        let before = self
            .symbols
            .partition_point(|symbol| symbol.span.start <= at);
        let mut next = self.symbols[..before].iter().rposition(is_scope);
        while let Some(index) = next {
            let symbol = &self.symbols[index];
            if symbol.span.touches(at) {
                return Some(index);
            }
            next = self.container(symbol);
        }
        None
    }

    /// The symbol whose name stands at a place.
    pub fn named_at(&self, at: Position) -> Option<usize> {
        self.symbols
            .iter()
            .position(|symbol| symbol.name_span.touches(at))
    }
}

/// A small number for a name; the same on every machine, since it is written to disk.
pub fn name_hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}
