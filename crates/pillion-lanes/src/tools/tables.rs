//! Queries over named tables, and nothing else: SQL of others in a database of its own.
//!
//! All tables of a run are in one SQLite database in memory: CSV as tables, tables of SQLite
//! files as views on files that are attached read-only. What a statement may do is in `rules`.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use base64::Engine as _;
use pillion_catalogue::{Code, Error, Result};
use rusqlite::types::{ToSqlOutput, Value as SqlValue, ValueRef};
use rusqlite::{Connection, ErrorCode, Statement, ToSql, params_from_iter};
use serde::Serialize;
use serde_json::Value;

use super::csv::{ColumnKind, Sheet, StoredValue};
use super::files;
use super::requested::{Table, sqlite_files};
use super::rules::{QueryWatch, Reach, wall_in};

/// The most rows of an answer.
const ROWS: usize = 10_000;
/// The most bytes of an answer, about.
const BYTES: usize = 8 << 20;
/// Rows that were asked for.
#[derive(Debug, Serialize)]
pub(super) struct Rows {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
    truncated: bool,
}

/// The tables of a run.
pub(super) struct Database {
    connection: Connection,
    watch: Arc<QueryWatch>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").finish_non_exhaustive()
    }
}

impl Database {
    /// Bring the tables together. Blocks.
    pub(super) fn open(
        tables: &BTreeMap<String, Table>,
        deadline: Instant,
        stop: Arc<AtomicBool>,
    ) -> Result<Self> {
        let mut connection = Connection::open_in_memory().map_err(Error::internal)?;
        connection
            .execute_batch("PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;")
            .map_err(Error::internal)?;
        let files = sqlite_files(tables);
        let mut readable = HashSet::new();
        let mut hidden = HashSet::new();
        for (at, path) in files.iter().enumerate() {
            let there = attach(&connection, path, at);
            hidden.extend(there.map_err(|error| unusable(tables, path, &error))?);
        }
        for (name, table) in tables {
            let failed = |error: rusqlite::Error| {
                let why = match error {
                    rusqlite::Error::QueryReturnedNoRows => "the file has no such table".to_owned(),
                    other => other.to_string(),
                };
                let message = format!("the table `{name}` cannot be read: {why}");
                Error::new(Code::NotFound, message)
            };
            match table {
                Table::Csv(source) => {
                    let bytes = files::read(source, name)?;
                    let text = String::from_utf8(bytes).map_err(|_| {
                        Error::new(Code::ParseError, format!("`{name}` is not UTF-8 text"))
                    })?;
                    fill(&mut connection, name, &Sheet::read(&text)?).map_err(failed)?;
                    readable.insert(("main".to_owned(), name.to_ascii_lowercase()));
                }
                Table::Sqlite { path, table } => {
                    let file = files.iter().position(|file| file == path).unwrap_or(0);
                    view(&connection, name, file, table).map_err(failed)?;
                    readable.insert(("temp".to_owned(), name.to_ascii_lowercase()));
                    readable.insert((schema(file), table.to_ascii_lowercase()));
                }
            }
        }
        let watch = Arc::new(QueryWatch::new(deadline, stop));
        let reach = Reach { readable, hidden };
        wall_in(&mut connection, reach, Arc::clone(&watch)).map_err(Error::internal)?;
        Ok(Self { connection, watch })
    }

    /// Rows of a query. Blocks.
    pub(super) fn query(&self, sql: &str, parameters: &[Value]) -> Result<Rows> {
        self.watch.begin();
        let explain = |error| self.explain(&error);
        let mut statement = self.connection.prepare(sql).map_err(explain)?;
        if statement.column_count() == 0 || !statement.readonly() {
            return Err(refused());
        }
        let values = parameters.iter().map(bound).collect::<Result<Vec<_>>>()?;
        let expected = statement.parameter_count();
        if expected != values.len() {
            let message = format!(
                "the query takes {expected} parameters, and {} were given",
                values.len()
            );
            return Err(Error::new(Code::InvalidParams, message));
        }
        rows(&mut statement, &values).map_err(explain)
    }

    fn explain(&self, error: &rusqlite::Error) -> Error {
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => self.watch.why(),
            Some(ErrorCode::AuthorizationForStatementDenied) => refused(),
            Some(ErrorCode::TooBig | ErrorCode::OutOfMemory) => {
                Error::new(Code::Memory, format!("a value is too large: {error}"))
            }
            _ => Error::new(Code::InvalidParams, error.to_string()),
        }
    }
}

fn refused() -> Error {
    Error::new(
        Code::Unauthorized,
        "only `SELECT` on the tables of this run is allowed",
    )
}

/// The caller's file is not what it said; its path is not for the program.
fn unusable(tables: &BTreeMap<String, Table>, file: &Path, error: &rusqlite::Error) -> Error {
    let of_file =
        |table: &Table| matches!(table, Table::Sqlite { path, .. } if path.as_path() == file);
    let name = tables.iter().find(|(_, table)| of_file(table));
    let name = name.map_or("", |(name, _)| name.as_str());
    tracing::debug!(file = %file.display(), %error, "a table cannot be read");
    Error::new(
        Code::NotFound,
        format!("the SQLite file of `{name}` cannot be opened"),
    )
}

fn schema(file: usize) -> String {
    format!("file{file}")
}

/// Open a file, which is only read; gives the names of all that is in it.
fn attach(connection: &Connection, path: &Path, at: usize) -> rusqlite::Result<Vec<String>> {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                uri.push(char::from(*byte));
            }
            other => uri.push_str(&format!("%{other:02x}")),
        }
    }
    uri.push_str("?mode=ro");
    connection.execute(&format!("ATTACH ?1 AS {}", schema(at)), [uri])?;
    let sql = format!("SELECT lower(name) FROM {}.sqlite_schema", schema(at));
    let mut names = connection.prepare(&sql)?;
    names.query_map([], |row| row.get(0))?.collect()
}

fn view(connection: &Connection, name: &str, file: usize, table: &str) -> rusqlite::Result<()> {
    // Views of the file would read other tables, of which the request says nothing.
    let sql = format!(
        "SELECT 1 FROM {}.sqlite_schema WHERE type = 'table' AND lower(name) = lower(?1)",
        schema(file)
    );
    connection.query_row(&sql, [table], |_| Ok(()))?;
    connection.execute_batch(&format!(
        "CREATE TEMP VIEW {name} AS SELECT * FROM {}.{}",
        schema(file),
        quoted(table)
    ))
}

fn fill(connection: &mut Connection, name: &str, sheet: &Sheet) -> rusqlite::Result<()> {
    let columns: Vec<String> = sheet
        .columns
        .iter()
        .map(|(name, kind)| match kind {
            ColumnKind::Integer => format!("{} INTEGER", quoted(name)),
            ColumnKind::Real => format!("{} REAL", quoted(name)),
            ColumnKind::Text => format!("{} TEXT", quoted(name)),
        })
        .collect();
    let columns = columns.join(", ");
    let transaction = connection.transaction()?;
    transaction.execute_batch(&format!("CREATE TABLE {name} ({columns})"))?;
    let marks = vec!["?"; sheet.columns.len()].join(", ");
    let mut insert = transaction.prepare(&format!("INSERT INTO {name} VALUES ({marks})"))?;
    for row in &sheet.rows {
        insert.execute(params_from_iter(sheet.cells(row)))?;
    }
    drop(insert);
    transaction.commit()
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl ToSql for StoredValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

fn bound(value: &Value) -> Result<SqlValue> {
    Ok(match value {
        Value::Null => SqlValue::Null,
        Value::Bool(yes) => SqlValue::Integer(i64::from(*yes)),
        Value::String(text) => SqlValue::Text(text.clone()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => SqlValue::Integer(number),
            (None, Some(number)) => SqlValue::Real(number),
            (None, None) => SqlValue::Null,
        },
        Value::Array(_) | Value::Object(_) => {
            let message = "a parameter is a number, a text, true, false or null";
            return Err(Error::new(Code::InvalidParams, message));
        }
    })
}

fn rows(statement: &mut Statement<'_>, values: &[SqlValue]) -> rusqlite::Result<Rows> {
    let columns: Vec<String> = statement.column_names().map(Into::into).collect();
    let (mut all, mut bytes) = (Vec::new(), 0);
    let mut found = statement.query(params_from_iter(values))?;
    while let Some(row) = found.next()? {
        let cells: Vec<Value> = (0..columns.len())
            .map(|at| Ok(shown(row.get_ref(at)?, &mut bytes)))
            .collect::<rusqlite::Result<_>>()?;
        if all.len() == ROWS || bytes > BYTES {
            return Ok(Rows {
                columns,
                rows: all,
                truncated: true,
            });
        }
        all.push(cells);
    }
    Ok(Rows {
        columns,
        rows: all,
        truncated: false,
    })
}

fn shown(value: ValueRef<'_>, bytes: &mut usize) -> Value {
    *bytes += 8;
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => {
            *bytes += text.len();
            String::from_utf8_lossy(text).into_owned().into()
        }
        ValueRef::Blob(blob) => {
            *bytes += blob.len() * 4 / 3;
            serde_json::json!({ "base64": base64::prelude::BASE64_STANDARD.encode(blob) })
        }
    }
}

#[cfg(test)]
#[path = "tables_tests.rs"]
mod tests;
