//! What SQL of others can reach, asked of a real SQLite.

use super::super::requested::ByteSource;
use super::*;
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A folder with a file whose tables are `open` and others.
struct World {
    _folder: tempfile::TempDir,
    file: std::path::PathBuf,
}

impl World {
    fn new(sql: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a ?#%.db");
        Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        Self {
            _folder: folder,
            file,
        }
    }

    fn table(&self, table: &str) -> Table {
        Table::Sqlite {
            path: self.file.clone(),
            table: table.to_owned(),
        }
    }
}

fn csv(text: &str) -> Table {
    Table::Csv(ByteSource::Bytes(text.as_bytes().into()))
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}

fn open<const N: usize>(tables: [(&str, Table); N]) -> Result<Database> {
    let tables = tables.map(|(name, table)| (name.to_owned(), table)).into();
    Database::open(&tables, later(), Arc::default())
}

fn ask(database: &Database, sql: &str) -> Result<Vec<Vec<Value>>> {
    database.query(sql, &[]).map(|found| found.rows)
}

/// Something with two columns.
fn numbers() -> Database {
    open([("numbers", csv("n,word\n1,one\n2,two\n"))]).unwrap()
}

const SECRETS: &str = "CREATE TABLE open (x); INSERT INTO open VALUES (1), (2);
    CREATE TABLE secret (x); INSERT INTO secret VALUES (3);
    CREATE VIEW peek AS SELECT * FROM secret;";

#[test]
fn rows_come_with_their_columns_and_kinds() {
    let database = numbers();
    let found = database.query(
        "SELECT n, word, n / 2.0 AS half, NULL, x'ff00' FROM numbers",
        &[],
    );
    let found = found.unwrap();
    assert_eq!(found.columns, ["n", "word", "half", "NULL", "x'ff00'"]);
    let blob = json!({"base64": "/wA="});
    assert_eq!(
        found.rows[0],
        [json!(1), json!("one"), json!(0.5), Value::Null, blob]
    );
    assert_eq!((found.rows.len(), found.truncated), (2, false));
}

#[test]
fn tables_of_files_and_csv_are_asked_together() {
    let world = World::new(SECRETS);
    let database = open([("numbers", csv("n\n2\n")), ("file", world.table("OPEN"))]).unwrap();
    let sql = "SELECT file.x FROM file JOIN numbers ON numbers.n = file.x";
    assert_eq!(ask(&database, sql).unwrap(), [[json!(2)]]);
    let with = "WITH some AS (SELECT x FROM FILE WHERE x > 1) SELECT count(*) FROM some";
    assert_eq!(ask(&database, with).unwrap(), [[json!(1)]]);
}

#[test]
fn parameters_are_values_and_as_many_as_the_query_takes() {
    let database = numbers();
    let sql = "SELECT ?1, ?2, ?3, ?4";
    let given = [json!("a'b"), json!(true), json!(1.5), Value::Null];
    let found = database.query(sql, &given).unwrap();
    assert_eq!(
        found.rows,
        [[json!("a'b"), json!(1), json!(1.5), Value::Null]]
    );
    for wrong in [
        &given[..3],
        &[],
        &[json!([1]), json!(1), json!(1), json!(1)],
    ] {
        let error = database.query(sql, wrong).unwrap_err();
        assert_eq!(error.code, Code::InvalidParams, "{wrong:?}");
    }
}

#[test]
fn nothing_but_reading_is_possible() {
    let world = World::new(SECRETS);
    let database = open([("numbers", csv("n\n1\n")), ("open", world.table("open"))]).unwrap();
    for sql in [
        "INSERT INTO numbers VALUES (2)",
        "UPDATE numbers SET n = 2",
        "DELETE FROM numbers",
        "DROP TABLE numbers",
        "CREATE TABLE mine (x)",
        "CREATE TEMP VIEW mine AS SELECT 1",
        "ATTACH 'other.db' AS other",
        "DETACH file0",
        "PRAGMA table_info(numbers)",
        "PRAGMA writable_schema = 1",
        "BEGIN",
        "VACUUM INTO 'copy.db'",
    ] {
        let error = ask(&database, sql).unwrap_err();
        assert_eq!(error.code, Code::Unauthorized, "{sql}: {error:?}");
    }
    for sql in [
        "SELECT load_extension('x')",
        "SELECT 1; DROP TABLE numbers",
        "",
        "not sql",
    ] {
        assert!(ask(&database, sql).is_err(), "{sql}");
    }
    assert_eq!(
        ask(&database, "SELECT n FROM numbers").unwrap(),
        [[json!(1)]]
    );
}

#[test]
fn what_else_is_in_a_file_cannot_be_seen() {
    let world = World::new(SECRETS);
    let database = open([("open", world.table("open"))]).unwrap();
    for sql in [
        "SELECT * FROM secret",
        "SELECT * FROM file0.secret",
        "SELECT count(*) FROM secret",
        "SELECT count(*) FROM file0.secret",
        "SELECT count(*) FROM SECRET",
        "SELECT 1 FROM peek",
        "SELECT * FROM peek",
        "SELECT * FROM sqlite_schema",
        "SELECT count(*) FROM file0.sqlite_master",
        "SELECT name FROM pragma_table_list",
        "SELECT count(*) FROM pragma_database_list",
        "SELECT (SELECT max(x) FROM secret) FROM open",
        "SELECT * FROM open UNION ALL SELECT * FROM secret",
        "WITH open AS (SELECT * FROM secret) SELECT * FROM open",
        "SELECT value FROM json_each('[1]')",
    ] {
        assert!(ask(&database, sql).is_err(), "{sql}");
    }
    assert_eq!(
        ask(&database, "SELECT count(*) FROM open").unwrap(),
        [[json!(2)]]
    );
}

#[test]
fn letters_beyond_ascii_tell_tables_apart_as_sqlite_does() {
    // To SQLite these are two tables: it knows large and small letters of ASCII only.
    let world = World::new(
        "CREATE TABLE \"Ärger\" (x); INSERT INTO \"Ärger\" VALUES (1);
        CREATE TABLE \"ärger\" (x); INSERT INTO \"ärger\" VALUES (2);",
    );
    let database = open([("open", world.table("Ärger"))]).unwrap();
    assert_eq!(ask(&database, "SELECT x FROM open").unwrap(), [[json!(1)]]);
    for sql in [
        "SELECT x FROM file0.\"ärger\"",
        "SELECT count(*) FROM \"ärger\"",
    ] {
        assert!(ask(&database, sql).is_err(), "{sql}");
    }
    let other = open([("open", world.table("ärger"))]).unwrap();
    for sql in ["SELECT x FROM \"Ärger\"", "SELECT count(*) FROM \"Ärger\""] {
        assert!(ask(&other, sql).is_err(), "{sql}");
    }
}

#[test]
fn a_file_is_only_read_and_its_path_is_not_for_the_program() {
    let world = World::new(SECRETS);
    let gone = Table::Sqlite {
        path: world.file.with_file_name("private-name.db"),
        table: "t".to_owned(),
    };
    let error = open([("t", gone)]).unwrap_err();
    assert_eq!(error.code, Code::NotFound);
    assert!(error.message.contains("`t`"));
    assert!(!format!("{error:?}").contains("private-name"), "{error:?}");
    assert!(!world.file.with_file_name("private-name.db").exists());
    for table in ["missing", "peek", "sqlite_schema"] {
        let error = open([("t", world.table(table))]).unwrap_err();
        assert_eq!(error.code, Code::NotFound, "{table}");
    }
    let error = open([("t", Table::Csv(ByteSource::Bytes(vec![0xff].into())))]).unwrap_err();
    assert_eq!(error.code, Code::ParseError);
}

#[test]
fn an_answer_has_so_many_rows_and_says_that_there_are_more() {
    let database = numbers();
    let count = |rows: usize| {
        let sql = format!(
            "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < {rows})
            SELECT i FROM c"
        );
        let found = database.query(&sql, &[]).unwrap();
        (found.rows.len(), found.truncated)
    };
    assert_eq!(count(ROWS), (ROWS, false));
    assert_eq!(count(ROWS + 1), (ROWS, true));
    // Long texts end it sooner.
    let sql = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100)
        SELECT hex(zeroblob(200000)) FROM c";
    let found = database.query(sql, &[]).unwrap();
    assert!(found.truncated && found.rows.len() < 100);
}

#[test]
fn a_value_has_a_largest_size() {
    let error = ask(&numbers(), "SELECT zeroblob(2000000)").unwrap_err();
    assert_eq!(error.code, Code::Memory, "{error:?}");
}

#[test]
fn a_query_ends_with_its_run() {
    let endless = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c)
        SELECT count(*) FROM c";
    let tables = [("t".to_owned(), csv("x\n1\n"))].into();
    let stop = Arc::new(AtomicBool::new(false));
    let database = Database::open(&tables, later(), Arc::clone(&stop)).unwrap();
    let ending = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(ask(&database, endless).unwrap_err().code, Code::Timeout);
    ending.join().unwrap();
    let late = Database::open(&tables, Instant::now(), Arc::default()).unwrap();
    assert_eq!(ask(&late, endless).unwrap_err().code, Code::Timeout);
}
