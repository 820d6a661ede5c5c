//! What we ask of a language server and what it answers, as plain structs.
//!
//! They are our own: of the protocol's five hundred types we need a dozen, and the generated
//! crates cost more to compile than the rest of this crate.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A position between two characters; both numbers count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LspPosition {
    /// The line.
    pub line: u32,
    /// The column, in code points.
    pub character: u32,
}

impl LspPosition {
    /// The position in that line and column.
    pub fn new(line: u32, character: u32) -> Self {
        Self { line, character }
    }
}

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LspRange {
    /// Where it begins.
    pub start: LspPosition,
    /// Just behind its end.
    pub end: LspPosition,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LspLocation {
    /// The file.
    pub path: PathBuf,
    /// The name.
    pub range: LspRange,
    /// All of what has the name, such as a whole function, if the server says so.
    pub whole: Option<LspRange>,
}

/// What is known about a name, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LspHover {
    /// The text.
    pub text: String,
    /// Whether it is Markdown.
    pub markdown: bool,
    /// The name it is about.
    pub range: Option<LspRange>,
}

/// A mention of a name in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Highlight {
    /// Where.
    pub range: LspRange,
    /// 1 is a mention, 2 a read, 3 a write.
    #[serde(default = "mention")]
    pub kind: u8,
}

fn mention() -> u8 {
    1
}

/// A function or class in a hierarchy.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its name.
    pub name: String,
    /// The protocol's number for what it is: 5 class, 6 method, 12 function.
    pub kind: u8,
    /// Its module, or what else the server says.
    pub detail: Option<String>,
    /// Its file.
    pub path: PathBuf,
    /// All of it.
    pub whole: LspRange,
    /// Its name.
    pub range: LspRange,
    /// As the server gave it, to ask on from here.
    pub raw: Value,
}

/// Who calls, or who is called, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct CallSite {
    /// The caller or the callee.
    pub item: Item,
    /// The calls: in the caller, also when it is the callee that is told.
    pub calls: Vec<LspRange>,
}

/// Something wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where.
    pub range: LspRange,
    /// 1 is an error, 2 a warning, 3 information, 4 a hint.
    pub severity: u8,
    /// The rule.
    pub code: Option<String>,
    /// What is wrong.
    pub message: String,
}

/// What columns are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// Halves of UTF-16 pairs: what the protocol says if nobody says anything.
    #[default]
    Utf16,
    /// Code points.
    Utf32,
}

/// What a server offers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// Its name and version.
    pub server: String,
    /// What it counts columns in.
    pub encoding: Encoding,
    /// `definition`.
    pub definition: bool,
    /// `declaration`.
    pub declaration: bool,
    /// `type_definition`.
    pub type_definition: bool,
    /// `references`.
    pub references: bool,
    /// `hover`.
    pub hover: bool,
    /// `document_highlight`.
    pub document_highlight: bool,
    /// `implementation`.
    pub implementation: bool,
    /// `prepare_call_hierarchy` and what follows from it.
    pub call_hierarchy: bool,
    /// `prepare_type_hierarchy` and what follows from it.
    pub type_hierarchy: bool,
    /// `diagnostics`.
    pub diagnostics: bool,
}

impl Capabilities {
    /// Read the answer to `initialize`.
    pub fn read(answer: &Value) -> Self {
        let all = &answer["capabilities"];
        // An offer is `true` or an object of options.
        let offers = |name: &str| all[name].is_object() || all[name] == true;
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let info = &answer["serverInfo"];
        Self {
            server: format!("{} {}", word(&info["name"]), word(&info["version"])),
            encoding: match all["positionEncoding"].as_str() {
                Some("utf-8") => Encoding::Utf8,
                Some("utf-32") => Encoding::Utf32,
                _ => Encoding::Utf16,
            },
            definition: offers("definitionProvider"),
            declaration: offers("declarationProvider"),
            type_definition: offers("typeDefinitionProvider"),
            references: offers("referencesProvider"),
            hover: offers("hoverProvider"),
            document_highlight: offers("documentHighlightProvider"),
            implementation: offers("implementationProvider"),
            call_hierarchy: offers("callHierarchyProvider"),
            type_hierarchy: offers("typeHierarchyProvider"),
            diagnostics: offers("diagnosticProvider"),
        }
    }
}
