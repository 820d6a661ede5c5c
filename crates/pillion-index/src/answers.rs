//! What callers get back, and how it reads as text.
//!
//! Lines and columns count from 1, columns in characters; a range ends one past its last
//! character; paths are relative to the workspace, with `/`.

use pillion_workspace::Snapshot;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::index::{Kind, ParseError};

/// An answer: to one question, to several at once, or as text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, bound(deserialize = "T: DeserializeOwned"))]
pub enum Answer<T> {
    /// As text.
    Text {
        /// The answer.
        text: String,
    },
    /// To each of several positions, in their order.
    Many {
        /// An answer or an error for each.
        results: Vec<Outcome<T>>,
        /// Files and folders that are there, but could not be looked at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unread: Option<Unread>,
    },
    /// To one.
    One(Whole<T>),
    /// In the words of hosts that know an older contract.
    #[schemars(skip)]
    Old(Value),
}

/// An answer, and what it does not speak of: one more member of an answer that is an object. A
/// list has no members, and stays a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole<T> {
    /// The answer.
    pub answer: T,
    /// Files and folders that are there, but could not be looked at.
    pub unread: Option<Unread>,
}

const UNREAD: &str = "unread";

impl<T: Serialize> Serialize for Whole<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Both<'a, T> {
            #[serde(flatten)]
            answer: &'a T,
            unread: &'a Unread,
        }
        let answer = &self.answer;
        match &self.unread {
            None => answer.serialize(serializer),
            Some(unread) => Both { answer, unread }.serialize(serializer),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut answer = Value::deserialize(deserializer)?;
        let unread = answer.as_object_mut().and_then(|all| all.remove(UNREAD));
        let unread = unread.map(Unread::deserialize).transpose();
        Ok(Self {
            unread: unread.map_err(D::Error::custom)?,
            answer: T::deserialize(answer).map_err(D::Error::custom)?,
        })
    }
}

impl<T: JsonSchema> JsonSchema for Whole<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        let mut unread = generator.subschema_for::<Unread>();
        let about = "Files and folders that are there, but could not be looked at.";
        unread.insert("description".into(), about.into());
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        if let Some(properties) = properties {
            properties.insert(UNREAD.into(), unread.to_value());
        }
        schema
    }
}

impl<T> std::ops::Deref for Whole<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.answer
    }
}

/// Files and folders that are there, but could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unread {
    /// How many there are.
    pub total: usize,
    /// The first of them.
    pub files: Vec<UnreadFile>,
}

/// A file or folder that could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadFile {
    /// The file, or a folder with a `/` behind it. Bytes that are no UTF-8 are written as
    /// `\\xe9`.
    pub file: String,
    /// Why.
    pub why: String,
}

/// Files that an answer names as left out.
const MAX_UNREAD: usize = 20;

impl Unread {
    /// Those among the ones of a snapshot that count; nothing if none does.
    pub fn of(snapshot: &Snapshot, counts: impl Fn(&str) -> bool) -> Option<Self> {
        let all = snapshot.left_out().iter();
        let all = all.filter(|one| one.path.ends_with('/') || counts(&one.path));
        let total = all.clone().count();
        let files = all.take(MAX_UNREAD).map(|one| UnreadFile {
            file: one.path.to_string(),
            why: one.why.to_owned(),
        });
        (total > 0).then(|| Self {
            total,
            files: files.collect(),
        })
    }
}

/// An answer to one of several questions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Outcome<T> {
    /// It could not be answered.
    Failed {
        /// Why not.
        error: pillion_protocol::Error,
    },
    /// The answer.
    Answered(T),
}

impl<T> Answer<T> {
    /// To one question, with what it does not speak of.
    pub fn one(answer: T, unread: Option<Unread>) -> Self {
        Self::One(Whole { answer, unread })
    }
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Location {
    /// The file: relative to the workspace, or absolute if it is outside.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// The line of its end.
    pub end_line: u32,
    /// One past its last column.
    pub end_column: u32,
    /// The name that stands there.
    pub name: Option<String>,
    /// What it is: `class`, `function`, `method`, `property`, `attribute`, `variable`,
    /// `parameter`, `type` or `module`.
    pub kind: Option<String>,
    /// The line it stands on.
    pub preview: String,
    /// Whether the file is outside of the workspace.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
}

/// Why an answer has nothing, and what else has the name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Nothing {
    /// Why there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Definitions of this name, if nobody knows which is meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Location>,
}

/// Places, and how much of all there is they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Locations {
    /// The places.
    pub locations: Vec<Location>,
    /// How many there are.
    pub total: usize,
    /// Whether `limit` cut some off.
    pub truncated: bool,
    /// The moment this is true for.
    pub clock: String,
    /// Who answered: `ty`, `index`, or what was chosen instead.
    pub engine: String,
    /// What the parser did not understand in the file that was asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parse_errors: Vec<ParseError>,
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub nothing: Nothing,
}

/// How sure it is that a place refers to what was asked about.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The engine says so.
    Confirmed,
    /// The same name on something whose type nobody knows.
    Possible,
}

/// A use of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reference {
    /// Where.
    #[serde(flatten)]
    pub location: Location,
    /// How sure that is.
    pub confidence: Confidence,
    /// Whether it lies in the definition itself: its name, or a use within its own body.
    pub in_definition: bool,
    /// The function or class it stands in, as a name path.
    pub container: Option<String>,
}

/// Uses of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct References {
    /// The uses: confirmed ones first, each sort by file and line.
    pub locations: Vec<Reference>,
    /// How many there are.
    pub total: usize,
    /// How many of them are confirmed.
    pub confirmed: usize,
    /// How many of them are possible.
    pub possible: usize,
    /// Whether `limit` cut some off.
    pub truncated: bool,
    /// The moment this is true for.
    pub clock: String,
    /// Who answered.
    pub engine: String,
    /// What the parser did not understand in the file that was asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parse_errors: Vec<ParseError>,
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub nothing: Nothing,
}

/// What a name is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Hover {
    /// The name.
    pub name: Option<String>,
    /// `function`, `class`, `module`, `method`, `variable`, `parameter`, `keyword` and so on.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Its head or its type, as Python writes it.
    pub signature: Option<String>,
    /// The heads of its overloads, if it has some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overloads: Vec<String>,
    /// Its documentation.
    pub docstring: Option<String>,
    /// Its name path in its file, such as `Class/method`.
    pub name_path: Option<String>,
    /// Where it is defined.
    pub definition: Option<Location>,
    /// The moment this is true for.
    pub clock: String,
    /// Who answered.
    pub engine: String,
    /// What the parser did not understand in the file that was asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parse_errors: Vec<ParseError>,
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub nothing: Nothing,
}

/// A definition in an outline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outlined {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Its first line, with decorators.
    pub line: u32,
    /// Its last line.
    pub end_line: u32,
    /// The line its name stands on.
    pub name_line: u32,
    /// The column its name stands at.
    pub column: u32,
    /// The file.
    pub file: String,
    /// The name path of what it lies in.
    pub container: Option<String>,
    /// Its own name path, such as `Class/method`.
    pub name_path: String,
    /// Its head on one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The first line of its documentation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// Definitions of a file, a folder or the whole workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Outline")]
pub struct OutlinedSymbols {
    /// The definitions.
    pub symbols: Vec<Outlined>,
    /// How many there are.
    pub total: usize,
    /// Whether `limit` cut some off.
    pub truncated: bool,
    /// The moment this is true for.
    pub clock: String,
    /// What the parser did not understand, by file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parse_errors: Vec<FileError>,
}

/// Something the parser did not understand, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileError {
    /// The file.
    pub file: String,
    /// What it is.
    #[serde(flatten)]
    pub error: ParseError,
}
