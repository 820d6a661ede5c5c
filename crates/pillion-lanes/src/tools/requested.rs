//! The tools that a request names, and whether they can be meant.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pillion_catalogue::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most names of each kind.
const MOST: usize = 64;
/// The longest name.
const NAME: usize = 255;
/// The most bytes that a request may bring along for its tools.
const BYTES: usize = 32 << 20;
/// SQLite files that are open at the same time.
const SQLITE_FILES: usize = 8;

/// What the host does for a program: only what is named here.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolsGiven {
    /// Files that it can read, by the names that it uses for them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub read: BTreeMap<String, Readable>,
    /// Tables that it can query, by their names in SQL.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, TableGiven>,
    /// Functions of the project that it can call: its names for them, and `module:name`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub functions: BTreeMap<String, String>,
}

/// Something that can be read.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Readable {
    /// A file, relative to the request's root; read when the program asks for it.
    Path(PathBuf),
    /// This text.
    Text(String),
    /// These bytes, in base64.
    Base64(String),
}

/// A table: CSV with a line of names, or one of a SQLite file.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TableGiven {
    /// A CSV file, relative to the request's root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csv_path: Option<PathBuf>,
    /// CSV as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csv_text: Option<String>,
    /// A SQLite file, relative to the request's root; it is only read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sqlite_path: Option<PathBuf>,
    /// The table of the SQLite file; the name in SQL if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
}

/// The tools of one run, checked.
#[derive(Debug, Clone, Default)]
pub struct Tools(Arc<Named>);

#[derive(Debug, Default)]
pub(super) struct Named {
    pub(super) read: BTreeMap<String, ByteSource>,
    pub(super) tables: BTreeMap<String, Table>,
    pub(super) functions: BTreeMap<String, String>,
}

/// Where bytes come from.
#[derive(Debug, Clone)]
pub(super) enum ByteSource {
    File(PathBuf),
    Bytes(Arc<[u8]>),
}

#[derive(Debug, Clone)]
pub(super) enum Table {
    Csv(ByteSource),
    Sqlite { path: PathBuf, table: String },
}

impl Tools {
    /// What is meant, with paths from `root`.
    pub fn new(given: ToolsGiven, root: &Path) -> Result<Self> {
        let ToolsGiven {
            read,
            tables,
            functions,
        } = given;
        if [read.len(), tables.len(), functions.len()]
            .iter()
            .any(|n| *n > MOST)
        {
            return Err(wrong(format!("at most {MOST} tools of each kind")));
        }
        let names = read.keys().chain(tables.keys()).chain(functions.keys());
        for name in names {
            if name.is_empty() || name.len() > NAME || name.chars().any(char::is_control) {
                return Err(wrong(format!("`{name}` is no name of a tool")));
            }
        }
        let mut bytes = 0;
        let read = read
            .into_iter()
            .map(|(name, readable)| Ok((name.clone(), source(readable, root, &name, &mut bytes)?)))
            .collect::<Result<_>>()?;
        let tables: BTreeMap<_, _> = tables
            .into_iter()
            .map(|(name, given)| Ok((name.clone(), table(given, root, &name, &mut bytes)?)))
            .collect::<Result<_>>()?;
        if sqlite_files(&tables).len() > SQLITE_FILES {
            return Err(wrong(format!("at most {SQLITE_FILES} SQLite files")));
        }
        for function in functions.values() {
            if !function.contains(':') {
                let message = format!("`{function}` is no function: it is written `module:name`");
                return Err(wrong(message));
            }
        }
        Ok(Self(Arc::new(Named {
            read,
            tables,
            functions,
        })))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names().is_empty()
    }

    /// The names that the program is told, by what it does with them.
    pub fn names(&self) -> BTreeMap<String, Vec<String>> {
        let Named {
            read,
            tables,
            functions,
        } = self.named();
        let all = [
            ("read", read.keys().cloned().collect::<Vec<_>>()),
            ("query", tables.keys().cloned().collect()),
            ("call", functions.keys().cloned().collect()),
        ];
        all.into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(tool, names)| (tool.to_owned(), names))
            .collect()
    }

    pub(super) fn named(&self) -> &Named {
        &self.0
    }
}

/// The SQLite files behind some tables, each once.
pub(super) fn sqlite_files(tables: &BTreeMap<String, Table>) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = tables
        .values()
        .filter_map(|table| match table {
            Table::Sqlite { path, .. } => Some(path.clone()),
            Table::Csv(_) => None,
        })
        .collect();
    files.sort();
    files.dedup();
    files
}

fn source(readable: Readable, root: &Path, name: &str, bytes: &mut usize) -> Result<ByteSource> {
    use base64::Engine as _;
    let contents = match readable {
        Readable::Path(path) => return Ok(ByteSource::File(root.join(path))),
        Readable::Text(text) => text.into_bytes(),
        Readable::Base64(text) => base64::prelude::BASE64_STANDARD
            .decode(text)
            .map_err(|_| wrong(format!("`{name}` is not base64")))?,
    };
    *bytes += contents.len();
    if *bytes > BYTES {
        return Err(wrong(format!("the tools have more than {BYTES} bytes")));
    }
    Ok(ByteSource::Bytes(contents.into()))
}

fn table(given: TableGiven, root: &Path, name: &str, bytes: &mut usize) -> Result<Table> {
    check_table_name(name)?;
    match (
        given.csv_path,
        given.csv_text,
        given.sqlite_path,
        given.table,
    ) {
        (Some(path), None, None, None) => {
            Ok(Table::Csv(source(Readable::Path(path), root, name, bytes)?))
        }
        (None, Some(text), None, None) => {
            Ok(Table::Csv(source(Readable::Text(text), root, name, bytes)?))
        }
        (None, None, Some(path), table) => Ok(Table::Sqlite {
            path: root.join(path),
            table: table.unwrap_or_else(|| name.to_owned()),
        }),
        _ => Err(wrong(format!(
            "the table `{name}` has one of `csv_path`, `csv_text` and `sqlite_path`"
        ))
        .hint("`table` goes with `sqlite_path`")),
    }
}

/// A name that needs no quotes in SQL, and is none of SQLite's own.
fn check_table_name(name: &str) -> Result<()> {
    let mut characters = name.chars();
    let begins = characters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let goes_on = characters.all(|c| c.is_ascii_alphanumeric() || c == '_');
    let lower = name.to_ascii_lowercase();
    let reserved = ["sqlite_", "pragma_", "json_", "jsonb_"];
    if begins && goes_on && !reserved.iter().any(|prefix| lower.starts_with(prefix)) {
        return Ok(());
    }
    Err(wrong(format!("`{name}` is no name of a table"))
        .hint("letters, digits and `_`, and none of SQLite's own names"))
}

fn wrong(why: String) -> Error {
    Error::new(Code::InvalidParams, why)
}

#[cfg(test)]
#[path = "requested_tests.rs"]
mod tests;
