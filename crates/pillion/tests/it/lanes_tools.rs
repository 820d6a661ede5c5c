//! Tools of the expert lane: what was named is served, everything else is refused.

use pillion_testing::daemon::Daemon;
use pillion_testing::{TestContext, wait_until};
use serde_json::{Value, json};

const SALES: &str = "year,amount,zip\n2023,1.5,007\n2024,2,010\n2024,4,010\n";

/// Functions that the host calls for a program.
const SHOP: &str = r#"
import time

def price_of(name, day="any"):
    return {"name": name, "day": day}

def broken():
    raise ValueError("no such price")

def slow(note):
    open(note, "w").write("called")
    time.sleep(60)

def much():
    return "x" * (9 << 20)
"#;

/// What a program says that asks for something.
const ASK: &str = r#"
from pillion import tools
def ask(function, *args, **kwargs):
    try:
        print("ok", function(*args, **kwargs))
    except tools.ToolError as error:
        print(error.code)
"#;

fn run(daemon: &Daemon, code: &str, tools: Value, more: Value) -> Value {
    let mut params = json!({
        "code": format!("{ASK}\n{code}"), "lane": "expert", "tools": tools,
        "root": daemon.project,
    });
    let all = params.as_object_mut().unwrap();
    all.extend(more.as_object().unwrap().clone());
    loop {
        match daemon.connect().call("exec.run", params.clone()) {
            Ok(reply) => return reply,
            // Its time was over before it began: this machine is busy.
            Err(error) => params = more_time(&params, &error).unwrap_or_else(|| panic!("{error}")),
        }
    }
}

/// The same request with more time, if it had too little to begin.
fn more_time(params: &Value, error: &Value) -> Option<Value> {
    let had = params["timeout_seconds"].as_f64()?;
    let mut more = params.clone();
    more["timeout_seconds"] = (4.0 * had).into();
    (error["data"]["code"] == "timeout" && had < 60.0).then_some(more)
}

/// What it printed, line by line; it must have ended well.
fn said(reply: &Value) -> Vec<&str> {
    assert_eq!(reply["outcome"], "ok", "{reply}");
    reply["stdout"].as_str().unwrap().lines().collect()
}

fn context() -> TestContext {
    let context = TestContext::new();
    context.write("sales.csv", SALES);
    context.write("shop.py", SHOP);
    context
}

#[test]
fn each_tool_does_what_it_is_for() {
    let context = context();
    let daemon = context.daemon();
    let database = context.project.join("more.db");
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection
        .execute_batch("create table years (year, note); insert into years values (2024, 'good');")
        .unwrap();
    drop(connection);
    let tools = json!({
        "read": {"data.csv": {"path": "sales.csv"}, "t": {"text": "ä"}, "b": {"base64": "/w=="}},
        "tables": {
            "sales": {"csv_path": "sales.csv"},
            "inline": {"csv_text": "a,b\nx,\n"},
            "notes": {"sqlite_path": "more.db", "table": "years"},
        },
        "functions": {"price_of": "shop:price_of"},
    });
    let code = r#"
print(sorted(tools.available()))
print(len(tools.read("data.csv")), tools.read_text("t"), tools.read("b"))
print(tools.query("sales", "select year, sum(amount) as s from sales where zip = ? group by 1", ["010"]))
print(tools.query("inline", "select * from inline"))
print(tools.query("notes", "select note, count(*) n from notes join sales using (year) group by 1"))
print(tools.query("sales", "with recursive c(x) as (select 1 union all select x+1 from c limit 3) select sum(x) s, ? p from c", [None]))
print(tools.call("price_of", "tea"), tools.call("price_of", name="tea", day="monday"))
"#;
    for fresh in [false, true] {
        let reply = run(&daemon, code, tools.clone(), json!({"fresh": fresh}));
        let expected = [
            "['call:price_of', 'query:inline', 'query:notes', 'query:sales', \
             'read:b', 'read:data.csv', 'read:t']",
            "51 ä b'\\xff'",
            "[{'year': 2024, 's': 6.0}]",
            "[{'a': 'x', 'b': ''}]",
            "[{'note': 'good', 'n': 2}]",
            "[{'s': 6, 'p': None}]",
            "{'name': 'tea', 'day': 'any'} {'name': 'tea', 'day': 'monday'}",
        ];
        assert_eq!(said(&reply), expected);
    }
}

#[test]
fn what_is_not_named_is_refused() {
    let context = context();
    let daemon = context.daemon();
    let tools = json!({
        "read": {"gone": {"path": "no-such-file"}, "folder": {"path": "."}},
        "tables": {"sales": {"csv_path": "sales.csv"}},
        "functions": {"broken": "shop:broken", "much": "shop:much", "none": "shop:none"},
    });
    let code = r#"
ask(tools.read, "sales.csv")
ask(tools.read, "../sales.csv")
ask(tools.read, "gone")
ask(tools.read, "folder")
ask(tools.query, "other", "select 1")
ask(tools.query, "sales", "select ?", [])
ask(tools.query, "sales", "select ?", [[1]])
ask(tools.query, "sales", "not sql")
ask(tools.call, "price_of", "tea")
ask(tools.call, "shop:price_of", "tea")
ask(tools.call, "broken")
ask(tools.call, "none")
ask(tools.call, "much")
ask(tools._ask, {"tool": "exec"})
ask(tools.call, "broken", "x" * (9 << 20))
"#;
    let reply = run(&daemon, code, tools, json!({}));
    let expected = [
        "not_found",
        "not_found",
        "not_found",
        "not_found",
        "not_found",
        "invalid_params",
        "invalid_params",
        "invalid_params",
        "not_found",
        "not_found",
        "exception",
        "not_found",
        "response_too_large",
        "unknown_operation",
        "too_large",
    ];
    assert_eq!(said(&reply), expected, "{reply}");
}

#[test]
fn wrong_tools_are_refused_in_words() {
    let context = context();
    let mut rpc = context.rpc_stdio();
    let cases = [
        json!({"lane": "user", "tools": {"read": {"a": {"text": ""}}}}),
        json!({"tools": {"reads": {}}}),
        json!({"tools": {"read": {"": {"text": ""}}}}),
        json!({"tools": {"read": {"a": {"base64": "!"}}}}),
        json!({"tools": {"read": {"a": {"path": "x", "text": ""}}}}),
        json!({"tools": {"tables": {"a b": {"csv_text": "x"}}}}),
        json!({"tools": {"tables": {"sqlite_master": {"csv_text": "x"}}}}),
        json!({"tools": {"tables": {"a": {}}}}),
        json!({"tools": {"tables": {"a": {"csv_text": "x", "csv_path": "y"}}}}),
        json!({"tools": {"functions": {"a": "no_module"}}}),
    ];
    for case in cases {
        let mut params = json!({"code": "1", "lane": "expert"});
        let all = params.as_object_mut().unwrap();
        all.extend(case.as_object().unwrap().clone());
        let error = rpc.call("exec.run", params).unwrap_err();
        assert_eq!(error["data"]["code"], "invalid_params", "{case}: {error}");
    }
    let tables = json!({"a": {"csv_text": "x\n\"open"}, "b": {"sqlite_path": "sales.csv"}});
    for name in ["a", "b"] {
        let tools = json!({"tables": {name: tables[name]}});
        let code = format!("{ASK}\nask(tools.query, '{name}', 'select 1')");
        let params = json!({"code": code, "lane": "expert", "tools": tools});
        let reply = rpc.call("exec.run", params).unwrap();
        assert!(!said(&reply)[0].starts_with("ok"), "{reply}");
    }
}

#[test]
fn sql_of_others_reads_its_tables_and_nothing_else() {
    let context = context();
    let daemon = context.daemon();
    let database = context.project.join("more.db");
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection
        .execute_batch(
            "create table open_one (x); insert into open_one values (1);
             create table secret (x); insert into secret values ('hidden');
             create view looks as select * from secret;",
        )
        .unwrap();
    drop(connection);
    let before = std::fs::read(&database).unwrap();
    let new = context.path("new.db");
    let attacks = [
        "insert into sales values (1, 2, 3)".to_owned(),
        "insert into file0.open_one values (2)".to_owned(),
        "update sales set amount = 0".to_owned(),
        "delete from sales".to_owned(),
        "drop table sales".to_owned(),
        "create table t (x)".to_owned(),
        "create temp view v as select * from file0.secret".to_owned(),
        format!("attach '{new}' as other"),
        "detach file0".to_owned(),
        format!("vacuum into '{new}'"),
        "pragma table_list".to_owned(),
        "pragma file0.journal_mode = delete".to_owned(),
        "select * from pragma_database_list".to_owned(),
        "select * from sqlite_master".to_owned(),
        "select * from file0.sqlite_schema".to_owned(),
        "select * from temp.sqlite_master".to_owned(),
        "select * from secret".to_owned(),
        "select * from file0.secret".to_owned(),
        "with open_one as (select * from file0.secret) select * from open_one".to_owned(),
        "with sales as (select * from file0.secret) select * from sales".to_owned(),
        "select (select x from file0.secret) from sales".to_owned(),
        "select * from looks".to_owned(),
        "select count(*) from secret".to_owned(),
        "select 1 from file0.secret".to_owned(),
        "select count(*) from sqlite_schema".to_owned(),
        "select count(*) from pragma_table_list".to_owned(),
        "select load_extension('x')".to_owned(),
        "select writefile('x', 'y')".to_owned(),
        "select readfile('/etc/passwd')".to_owned(),
        "select fts3_tokenizer('simple')".to_owned(),
        "create virtual table f using fts5(x)".to_owned(),
        "begin immediate".to_owned(),
        "savepoint s".to_owned(),
        "reindex".to_owned(),
        "analyze".to_owned(),
        "select 1; delete from sales".to_owned(),
        "select zeroblob(1000000000)".to_owned(),
        "select printf('%.*c', 1000000000, 'x')".to_owned(),
        String::new(),
        "-- nothing".to_owned(),
        "select '\u{0}".to_owned(),
    ];
    let tools = json!({"tables": {
        "sales": {"csv_path": "sales.csv"},
        "open_one": {"sqlite_path": "more.db"},
    }});
    let code = format!(
        "import json\nfor sql in json.loads({}):\n    print(end=sql[:0])\n    ask(tools.query, 'sales', sql)\n\
         ask(tools.query, 'sales', 'select count(*) n, sum(amount) s from sales, open_one')",
        serde_json::to_string(&json!(attacks.to_vec()).to_string()).unwrap()
    );
    let reply = run(&daemon, &code, tools, json!({}));
    let lines = said(&reply);
    assert_eq!(lines.len(), attacks.len() + 1, "{reply}");
    for (attack, line) in attacks.iter().zip(&lines) {
        assert!(!line.starts_with("ok"), "{attack}: {line}");
    }
    assert_eq!(lines.last(), Some(&"ok [{'n': 3, 's': 7.5}]"));
    assert_eq!(std::fs::read(&database).unwrap(), before);
    assert!(!std::path::Path::new(&new).exists());
}

#[test]
fn queries_are_bounded_in_time_memory_and_rows() {
    let context = context();
    let daemon = context.daemon();
    let tools = json!({"tables": {"sales": {"csv_path": "sales.csv"}}});
    let endless = "with recursive c(x) as (select 1 union all select x+1 from c)";
    let huge = format!("{endless} select x, hex(randomblob(300000)) as h from c order by h");
    let many = format!("{endless} select x from c");
    let long = format!("{endless} select hex(zeroblob(200000)) as h from c");
    let code = format!(
        "import warnings; warnings.simplefilter('ignore')\n\
         ask(tools.query, 'sales', {huge:?})\n\
         print(len(tools.query('sales', {many:?})))\n\
         print(len(tools.query('sales', {long:?})) < 100)\n\
         ask(tools.query, 'sales', 'select 1 as x')"
    );
    let reply = run(
        &daemon,
        &code,
        tools.clone(),
        json!({"timeout_seconds": 60}),
    );
    let expected = ["memory", "10000", "True", "ok [{'x': 1}]"];
    assert_eq!(said(&reply), expected, "{reply}");
    let code = format!(
        "tools.query('sales', {:?})",
        format!("{endless} select count(*) from c")
    );
    let reply = run(&daemon, &code, tools, json!({"timeout_seconds": 1}));
    assert_eq!(reply["outcome"], "timeout", "{reply}");
    // The thread that worked for it is free again.
    let pid = daemon.pid;
    wait_until("the query to end", || !is_busy(pid));
}

/// Whether a process used processor time lately.
fn is_busy(pid: u32) -> bool {
    let used = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let rest = stat.rsplit(')').next().unwrap().to_owned();
        let field = |n: usize| {
            rest.split_whitespace()
                .nth(n)
                .unwrap()
                .parse::<u64>()
                .unwrap()
        };
        field(11) + field(12)
    };
    let before = used();
    std::thread::sleep(std::time::Duration::from_millis(300));
    used() > before + 10
}

#[test]
fn a_call_ends_with_its_run() {
    let context = context();
    let daemon = context.daemon();
    let tools = json!({"functions": {"slow": "shop:slow"}});
    let note = context.path("note");
    let code = format!("tools.call('slow', {note:?})");
    // Long enough for the call to begin, however busy the machine is.
    let begun = [3, 12, 48].into_iter().any(|seconds| {
        let more = json!({"timeout_seconds": seconds});
        let reply = run(&daemon, &code, tools.clone(), more);
        assert_eq!(reply["outcome"], "timeout", "{reply}");
        std::fs::read_to_string(&note).is_ok_and(|text| text == "called")
    });
    assert!(begun, "it was never called");
    // The worker was told to stop, and takes the next call.
    wait_until("the worker to be free", || {
        let pending = |sidecar: &Value| sidecar["pending"].as_u64().unwrap();
        daemon.sidecars().iter().map(pending).sum::<u64>() == 0
    });
    let answer = daemon
        .connect()
        .py("shop:price_of", json!(["tea"]))
        .unwrap();
    assert_eq!(answer["name"], "tea");
}

#[test]
fn too_many_and_meaningless_questions_cost_the_program_its_tools() {
    let context = context();
    let daemon = context.daemon();
    let tools = json!({"read": {"a": {"text": "x"}}});
    let flood = r#"
n = 0
try:
    while True:
        tools.read("a")
        n += 1
except tools.ToolError as error:
    print(n, error.code)
ask(tools.read, "a")
"#;
    let reply = run(
        &daemon,
        flood,
        tools.clone(),
        json!({"timeout_seconds": 60}),
    );
    assert_eq!(said(&reply)[0], "10000 broken", "{reply}");
    let garbage = [
        "os.write(fd, b'\\xff' * 100000)",
        "os.write(fd, b'\\0\\0\\0\\5hello')",
        "os.write(fd, b'\\0\\0\\0\\2[]')",
        "os.write(fd, b'\\0\\x10\\0\\0' + b'[' * 0x100000)",
        "os.write(fd, b'\\0\\0\\1')",
        "os.close(fd)",
        "[os.write(fd, b'\\0\\0\\0\\2{}') for _ in range(100)]",
    ];
    for nonsense in garbage {
        let code = format!(
            "import os\nfd = tools._connection.descriptor\n\
             try:\n    {nonsense}\nexcept OSError: pass\nprint('lives')"
        );
        let reply = run(&daemon, &code, tools.clone(), json!({}));
        assert_eq!(said(&reply), ["lives"], "{nonsense}: {reply}");
    }
    let unread = "import os\nfd = tools._connection.descriptor\n\
        while True: os.write(fd, b'\\0\\0\\0\\x1e' + b'{\"tool\": \"read\", \"name\": \"a\"}')";
    let reply = run(
        &daemon,
        unread,
        tools.clone(),
        json!({"timeout_seconds": 2}),
    );
    let outcome = reply["outcome"].as_str().unwrap();
    assert!(["timeout", "error"].contains(&outcome), "{reply}");
    let reply = run(&daemon, "ask(tools.read, 'a')", tools, json!({}));
    assert_eq!(said(&reply), ["ok b'x'"]);
}

#[test]
fn a_program_without_tools_has_no_descriptor_for_them() {
    let context = context();
    let daemon = context.daemon();
    let count = "import os; print(sum(os.readlink(f'/proc/self/fd/{fd}').startswith('socket:') \
        for fd in os.listdir('/proc/self/fd') if os.path.islink(f'/proc/self/fd/{fd}')))\n\
        ask(tools.read, 'a')";
    for fresh in [false, true] {
        let reply = run(&daemon, count, json!({}), json!({"fresh": fresh}));
        assert_eq!(said(&reply), ["0", "no_tools"], "{reply}");
        let tools = json!({"read": {"a": {"text": "x"}}});
        let reply = run(&daemon, count, tools, json!({"fresh": fresh}));
        assert_eq!(said(&reply), ["1", "ok b'x'"], "{reply}");
    }
}
