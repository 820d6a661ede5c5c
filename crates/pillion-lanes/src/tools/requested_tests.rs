//! Which tools a request can mean, and which it cannot.

use super::*;
use serde_json::{Value, json};

fn tools(given: Value) -> Result<Tools> {
    let given: ToolsGiven = serde_json::from_value(given).unwrap();
    Tools::new(given, Path::new("/project"))
}

/// Why a request is refused.
fn refused(given: Value) -> String {
    let shown = given.to_string().chars().take(100).collect::<String>();
    let error = tools(given).expect_err(&shown);
    assert_eq!(error.code, Code::InvalidParams);
    error.message
}

/// So many tools of one kind.
fn many(number: usize, one: impl Fn(usize) -> Value) -> Value {
    (0..number)
        .map(|at| (format!("t{at}"), one(at)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
fn a_program_is_told_the_names_by_what_it_does_with_them() {
    assert!(tools(json!({})).unwrap().is_empty());
    let all = tools(json!({
        "read": {"b": {"text": "x"}, "a": {"path": "x"}},
        "tables": {"t": {"csv_text": "x"}},
        "functions": {"f": "m:f"},
    }));
    let all = all.unwrap();
    assert!(!all.is_empty());
    let names = serde_json::to_value(all.names()).unwrap();
    assert_eq!(
        names,
        json!({"call": ["f"], "query": ["t"], "read": ["a", "b"]})
    );
    let only = tools(json!({"functions": {"f": "m:f"}})).unwrap();
    assert_eq!(
        serde_json::to_value(only.names()).unwrap(),
        json!({"call": ["f"]})
    );
}

#[test]
fn paths_are_meant_from_the_root_and_contents_come_along() {
    let all = tools(json!({
        "read": {
            "file": {"path": "data/a.csv"}, "absolute": {"path": "/data/b"},
            "text": {"text": "ü"}, "bytes": {"base64": "/wA="},
        },
        "tables": {"t": {"sqlite_path": "c.db"}, "u": {"sqlite_path": "c.db", "table": "other"}},
    }));
    let all = all.unwrap();
    let file = |name: &str| match &all.named().read[name] {
        ByteSource::File(path) => path.clone(),
        ByteSource::Bytes(_) => panic!("{name}"),
    };
    assert_eq!(file("file"), Path::new("/project/data/a.csv"));
    assert_eq!(file("absolute"), Path::new("/data/b"));
    let bytes = |name: &str| match &all.named().read[name] {
        ByteSource::Bytes(bytes) => bytes.to_vec(),
        ByteSource::File(_) => panic!("{name}"),
    };
    assert_eq!((bytes("text"), bytes("bytes")), ("ü".into(), vec![0xff, 0]));
    let table = |name: &str| match &all.named().tables[name] {
        Table::Sqlite { path, table } => (path.clone(), table.clone()),
        Table::Csv(_) => panic!("{name}"),
    };
    let file = PathBuf::from("/project/c.db");
    assert_eq!(table("t"), (file.clone(), "t".to_owned()), "its own name");
    assert_eq!(table("u"), (file.clone(), "other".to_owned()));
    assert_eq!(sqlite_files(&all.named().tables), [file], "each file once");
}

#[test]
fn names_are_short_and_can_be_printed() {
    for name in ["", "a\nb", "\u{1b}[2J", "\0", &"x".repeat(256)] {
        let why = refused(json!({"read": {name: {"text": ""}}}));
        assert!(why.contains("no name of a tool"), "{why}");
    }
    assert!(tools(json!({"read": {"x".repeat(255): {"text": ""}, "a/ü b": {"text": ""}}})).is_ok());
}

#[test]
fn names_of_tables_need_no_quotes_and_are_none_of_sqlites_own() {
    for name in ["a", "_", "Sales_2024", "a1"] {
        let table = json!({"tables": {name: {"csv_text": "x"}}});
        assert!(tools(table).is_ok(), "{name}");
    }
    for name in [
        "1a",
        "a-b",
        "a b",
        "a\"b",
        "a;drop",
        "ü",
        "sqlite_master",
        "SQLite_x",
        "pragma_x",
        "json_each",
        "JSONB_x",
    ] {
        let why = refused(json!({"tables": {name: {"csv_text": "x"}}}));
        assert!(why.contains("no name of a table"), "{why}");
    }
}

#[test]
fn a_table_comes_from_one_place() {
    for table in [
        json!({}),
        json!({"table": "x"}),
        json!({"csv_text": "x", "csv_path": "x"}),
        json!({"csv_text": "x", "sqlite_path": "x"}),
        json!({"csv_text": "x", "table": "x"}),
        json!({"csv_path": "x", "table": "x"}),
    ] {
        let why = refused(json!({"tables": {"t": table}}));
        assert!(why.contains("has one of"), "{why}");
    }
    let unknown = json!({"tables": {"t": {"csv": "x"}}});
    assert!(serde_json::from_value::<ToolsGiven>(unknown).is_err());
    let unknown = json!({"write": {}});
    assert!(serde_json::from_value::<ToolsGiven>(unknown).is_err());
}

#[test]
fn a_function_is_named_with_its_module() {
    assert!(refused(json!({"functions": {"f": "os.system"}})).contains("`module:name`"));
    assert!(tools(json!({"functions": {"f": "os:system"}})).is_ok());
    assert!(refused(json!({"read": {"b": {"base64": "no base64"}}})).contains("not base64"));
}

#[test]
fn there_are_only_so_many_tools_of_each_kind() {
    let texts = |number| many(number, |_| json!({"text": ""}));
    let tables = |number| many(number, |_| json!({"csv_text": "x"}));
    let functions = |number| many(number, |_| json!("m:f"));
    let all = json!({"read": texts(MOST), "tables": tables(MOST), "functions": functions(MOST)});
    assert!(tools(all).is_ok());
    for more in [
        json!({"read": texts(MOST + 1)}),
        json!({"tables": tables(MOST + 1)}),
        json!({"functions": functions(MOST + 1)}),
    ] {
        assert!(refused(more).contains("at most"));
    }
    let files = |number| many(number, |at| json!({"sqlite_path": format!("{at}.db")}));
    assert!(tools(json!({"tables": files(SQLITE_FILES)})).is_ok());
    assert!(refused(json!({"tables": files(SQLITE_FILES + 1)})).contains("SQLite files"));
    let one_file = many(MOST, |_| json!({"sqlite_path": "same.db"}));
    assert!(tools(json!({"tables": one_file})).is_ok());
}

#[test]
fn all_contents_together_are_bounded() {
    let half = "x".repeat(BYTES / 2);
    let pair = |more: &str| json!({"read": {"a": {"text": half}}, "tables": {"t": {"csv_text": format!("{half}{more}")}}});
    assert!(tools(pair("")).is_ok());
    assert!(refused(pair("x")).contains("bytes"));
}
