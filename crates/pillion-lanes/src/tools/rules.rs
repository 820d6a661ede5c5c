//! What a query may do: decided by an authorizer when it is prepared. How long it may run and
//! how much memory it may take: by a progress handler while it runs.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pillion_catalogue::{Code, Error};
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;

/// The longest value and the longest row.
const LENGTH: i32 = 1 << 20;
/// The longest statement.
const SQL: i32 = 64 << 10;
/// Instructions between two looks at clock and memory.
const OPERATIONS: i32 = 200;
/// Between two looks at memory.
const POLL_EVERY: Duration = Duration::from_millis(2);
/// By so much the whole process may grow during a query.
const MEMORY: u64 = 256 << 20;

/// What ends a query before its time.
#[derive(Debug)]
pub(super) struct QueryWatch {
    deadline: Instant,
    /// The run is over.
    stop: Arc<AtomicBool>,
    /// The size of the process when the query began.
    before: AtomicU64,
    /// Why the last query was ended: see [`QueryWatch::why`].
    ended: AtomicU8,
}

const TOO_LONG: u8 = 1;
const TOO_MUCH: u8 = 2;

impl QueryWatch {
    pub(super) fn new(deadline: Instant, stop: Arc<AtomicBool>) -> Self {
        Self {
            deadline,
            stop,
            before: AtomicU64::new(0),
            ended: AtomicU8::new(0),
        }
    }

    pub(super) fn begin(&self) {
        self.before.store(size(), Ordering::Relaxed);
        self.ended.store(0, Ordering::Relaxed);
    }

    /// Asked again and again while SQLite works; whether it is to stop.
    fn is_over(&self, looked: &mut Instant) -> bool {
        let now = Instant::now();
        if self.stop.load(Ordering::Relaxed) || now >= self.deadline {
            self.ended.store(TOO_LONG, Ordering::Relaxed);
            return true;
        }
        if now.duration_since(*looked) < POLL_EVERY {
            return false;
        }
        *looked = now;
        let over = size() > self.before.load(Ordering::Relaxed).saturating_add(MEMORY);
        if over {
            self.ended.store(TOO_MUCH, Ordering::Relaxed);
        }
        over
    }

    pub(super) fn why(&self) -> Error {
        match self.ended.load(Ordering::Relaxed) {
            TOO_MUCH => Error::new(Code::Memory, "the query needs too much memory"),
            _ => Error::new(Code::Timeout, "the query took longer than its run may"),
        }
    }
}

fn size() -> u64 {
    pillion_process::stat::resident_bytes(std::process::id()).unwrap_or(0)
}

/// What a statement may read. Names are in lower case, of which SQLite knows that of ASCII only.
pub(super) struct Reach {
    /// Databases and tables in them.
    pub(super) readable: HashSet<(String, String)>,
    /// All names that files have, also those that may not be read.
    pub(super) hidden: HashSet<String>,
}

impl Reach {
    fn has(&self, database: Option<&str>, table: &str, column: &str) -> bool {
        let table = table.to_ascii_lowercase();
        if let Some(database) = database {
            return self.readable.contains(&(database.to_owned(), table));
        }
        // Where no column is read, SQLite only says what stands in the statement. That may
        // also be the name of a `WITH` clause, if nothing else has it.
        let named = self.readable.iter().any(|(_, name)| *name == table);
        let prefixes = ["sqlite_", "pragma_", "json_", "jsonb_", "fts", "dbstat"];
        let own = prefixes.iter().any(|prefix| table.starts_with(prefix));
        column.is_empty() && (named || !(own || self.hidden.contains(&table)))
    }
}

/// From now on nothing but reading is possible.
pub(super) fn wall_in(
    connection: &mut Connection,
    reach: Reach,
    watch: Arc<QueryWatch>,
) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_LENGTH, LENGTH),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, SQL),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50),
        (Limit::SQLITE_LIMIT_VDBE_OP, 100_000),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000),
        (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 1000),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, most)?;
    }
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        // What a view is called proves nothing: a `WITH` clause can take its name.
        let allowed = match context.action {
            AuthAction::Select | AuthAction::Recursive => true,
            AuthAction::Read {
                table_name,
                column_name,
            } => reach.has(context.database_name, table_name, column_name),
            AuthAction::Function { function_name } => {
                !["load_extension", "fts3_tokenizer"].contains(&function_name)
            }
            _ => false,
        };
        match allowed {
            true => Authorization::Allow,
            false => Authorization::Deny,
        }
    }))?;
    let mut looked = Instant::now();
    connection.progress_handler(OPERATIONS, Some(move || watch.is_over(&mut looked)))
}
