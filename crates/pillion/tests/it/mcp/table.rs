//! What an agent is shown, what that costs it, and how it reads answers.
//!
//! A token is taken for four bytes of compact JSON or text, which is what tokenizers make of
//! English and code on average; the numbers have room for those that make more of JSON.

use pillion_testing::TestContext;
use pillion_testing::agent::{McpAgent, error_of, text_of};
use serde_json::{Value, json};

use super::with_tools;

/// Bytes of a token.
pub(super) const TOKEN: usize = 4;

/// A project in which a name is used often.
fn busy() -> TestContext {
    let context = with_tools();
    context.write("shop.py", "def price(x: int) -> int:\n    return x\n");
    let uses: String = (0..80)
        .map(|n| format!("def use_{n}() -> int:\n    return price({n})\n\n\n"))
        .collect();
    context.write("uses.py", &format!("from shop import price\n\n\n{uses}"));
    context
}

#[test]
fn the_usual_table_is_short() {
    let context = TestContext::new();
    let mut agent = McpAgent::new(pillion_testing::lines::LineProcess::start(
        context.pillion_command(&["mcp"]),
    ));
    let hello = agent.shake_hands();
    let told = hello["result"]["instructions"].as_str().unwrap();
    let tools = agent.table();
    let names: Vec<&str> = tools.iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert!(names.len() <= 20, "{names:?}");
    let bytes = Value::from(tools.clone()).to_string().len();
    assert!(bytes / TOKEN <= 4_500, "{} tokens", bytes / TOKEN);
    assert!(told.len() / TOKEN <= 500, "{told}");
    for wanted in [
        "code_at",
        "code_symbols",
        "code_refs",
        "code_grep",
        "code_list",
        "code_read_symbol",
        "code_rename",
        "code_move",
        "code_diagnostics",
        "map_impact",
        "map_change_impact",
        "exec_run",
        "py_call",
        "system_operations",
        "call_operation",
        "fetch_output",
    ] {
        assert!(names.contains(&wanted), "{wanted} in {names:?}");
    }
    for tool in &tools {
        let text = tool.to_string();
        assert!(tool.get("outputSchema").is_none(), "{text}");
        assert!(!tool["description"].as_str().unwrap().is_empty(), "{text}");
        for word in ["$schema", "$defs", "$ref", "null", "additionalProperties"] {
            assert!(!text.contains(&format!("\"{word}\"")), "{word} in {text}");
        }
        // One word for one thing.
        for word in ["col", "max", "start_col", "engine", "stream"] {
            let properties = &tool["inputSchema"]["properties"];
            assert!(properties.get(word).is_none(), "{word} in {text}");
        }
    }
    // What is the same everywhere is said once.
    for word in [
        "`at` a name",
        "`column` counts",
        "`apply` writes",
        "`format` `json`",
        "`root` the",
        "`limit` at most",
    ] {
        assert_eq!(told.matches(word).count(), 1, "{word} in {told}");
    }
}

#[test]
fn the_other_tables_are_by_area() {
    let context = TestContext::new();
    for (profile, areas) in [
        ("code", &["code_"][..]),
        ("map", &["map_"]),
        ("exec", &["exec_", "py_", "notebook_", "sidecar_"]),
    ] {
        let names = context.agent(&["--profile", profile]).tools();
        let others: Vec<_> = names
            .iter()
            .filter(|name| !areas.iter().any(|area| name.starts_with(area)))
            .collect();
        assert_eq!(
            others,
            ["system_operations", "call_operation", "fetch_output"]
        );
        assert!(names.len() > 8, "{names:?}");
    }
    let full = context.agent(&["--profile", "full"]).table();
    assert!(full.len() > 90, "{}", full.len());
    assert!(full.iter().all(|tool| tool.get("outputSchema").is_some()));
    assert_eq!(full[0]["name"], "project_registry");
    // Clients refuse schemas that are `true`, and models those with a choice at the top.
    for tool in &full {
        let schemas = [&tool["inputSchema"], &tool["outputSchema"]].map(Value::to_string);
        for all in [
            "\"items\":true",
            "\"properties\":true",
            "\"additionalProperties\":true",
        ] {
            assert!(!schemas.iter().any(|schema| schema.contains(all)), "{tool}");
        }
        for name in ["$ref", "anyOf", "oneOf", "allOf"] {
            assert!(tool["inputSchema"].get(name).is_none(), "{tool}");
        }
        let parameters = tool["inputSchema"]["properties"].as_object();
        let values = parameters.into_iter().flatten().map(|(_, schema)| schema);
        assert!(values.into_iter().all(Value::is_object), "{tool}");
    }
}

#[test]
fn what_is_not_listed_is_found_and_called() {
    let context = with_tools();
    let mut agent = context.agent(&[]);
    assert!(!agent.tools().contains(&"code_hover".to_owned()));
    let found = agent.tool("system_operations", json!({ "query": "inline variable" }));
    assert!(
        text_of(&found).contains("\ncode.inline  ") || text_of(&found).starts_with("code.inline  "),
        "{found}"
    );
    let described = agent.tool("system_operations", json!({ "query": "code_hover" }));
    let text = text_of(&described);
    let (_, schema) = text.split_once("parameters: ").unwrap();
    let schema: Value = serde_json::from_str(schema).unwrap();
    assert!(schema["properties"]["column"].is_object(), "{schema}");
    let all = agent.tool("system_operations", json!({}));
    assert!(text_of(&all).lines().count() > 90, "{all}");
    let place = json!({ "file": "things.py", "line": 15, "column": 5 });
    let direct = agent.tool("code_hover", place.clone());
    assert!(text_of(&direct).contains("def add"), "{direct}");
    for name in ["code.hover", "code_hover"] {
        let call = json!({ "operation": name, "arguments": place });
        assert_eq!(agent.tool("call_operation", call), direct);
    }
    let written = json!({ "operation": "code.hover", "arguments": place.to_string() });
    assert_eq!(agent.tool("call_operation", written), direct);
    // Nothing that is said is passed over.
    let wrong = json!({ "operation": "code.hover", "parameters": place });
    let error = error_of(&agent.tool("call_operation", wrong));
    assert_eq!(error["message"], "`call_operation` has no `parameters`");
    // Hints are such as one can follow without a terminal, and speak of what was sent.
    let error = error_of(&agent.tool("code_hover", json!({ "nosuch": 1 })));
    let hint = error["hint"].as_str().unwrap();
    assert_eq!(
        hint,
        "`system_operations` with `query` `code.hover` says what it takes"
    );
    let message = error["message"].as_str().unwrap();
    assert!(!message.contains("at line"), "{message}");
    // Of several words, what has to do with all of them.
    let found = agent.tool("system_operations", json!({ "query": "dead code" }));
    assert_eq!(text_of(&found).lines().count(), 1, "{found}");
    let error = error_of(&agent.tool("call_operation", json!({ "operation": "code.hovr" })));
    assert_eq!(error["code"], "unknown_operation", "{error}");
    let error = error_of(&agent.tool("system_operations", json!({ "query": "zzz" })));
    assert_eq!(error["type"], "NOT_FOUND", "{error}");
    // What is kept from agents is kept from them this way, too.
    for kept in ["system.shutdown", "system_shutdown"] {
        let call = json!({ "operation": kept });
        let error = error_of(&agent.tool("call_operation", call));
        assert_eq!(error["code"], "unknown_operation", "{error}");
    }
    let unknown = agent.request("tools/call", json!({ "name": "nosuch" }));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    // Numbers keep all their digits on this way.
    let large = "123456789012345678901234567890";
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{{"name":"call_operation","arguments":{{"operation":"py.call","arguments":{{"function":"builtins:str","params":[{large}]}}}}}}}}"#
    );
    agent.lines.write(format!("{call}\n").as_bytes());
    let answer = agent.lines.json();
    assert_eq!(text_of(&answer["result"]), format!("\"{large}\""));
}

#[test]
fn answers_are_text_and_json_on_request() {
    let context = busy();
    let mut agent = context.agent(&[]);
    let place = |more: Value| {
        let mut place = json!({ "file": "shop.py", "line": 1, "column": 5 });
        for (name, value) in more.as_object().unwrap() {
            place[name] = value.clone();
        }
        place
    };
    let short = agent.tool("code_refs", place(json!({})));
    assert_eq!(short.get("structuredContent"), None, "{short}");
    let text = text_of(&short);
    assert!(text.starts_with("82 confirmed, 0 possible\n"), "{text}");
    assert!(text.contains("\nuses.py\n  1:18  "), "{text}");
    // The same words as on the command line.
    let typed = context.pillion(&["refs", "shop.py", "1", "5", "--text"]);
    assert_eq!(typed.stdout.trim_end(), text);
    let long = agent.tool("code_refs", place(json!({ "format": "json" })));
    let json: Value = serde_json::from_str(text_of(&long)).unwrap();
    assert_eq!(long["structuredContent"], json, "{long}");
    assert_eq!(json["total"], 82, "{json}");
    let (short, long) = (text.len(), text_of(&long).len());
    assert!(short * 3 < long, "{short} bytes of text, {long} of JSON");
    let error = error_of(&agent.tool("code_refs", place(json!({ "format": "xml" }))));
    assert_eq!(error["code"], "invalid_params", "{error}");
    // Older spellings are understood.
    let old = json!({ "file": "shop.py", "line": 1, "col": 5 });
    assert_eq!(text_of(&agent.tool("code_refs", old)), text);
    let old = json!({ "positions": [{ "file": "shop.py", "line": 1, "col": 5 }] });
    assert!(text_of(&agent.tool("code_refs", old)).contains("82 confirmed"));
    let grep = agent.tool("code_grep", json!({ "pattern": "price", "max": 2 }));
    let newer = agent.tool("code_grep", json!({ "pattern": "price", "limit": 2 }));
    assert_eq!(grep, newer);

    // A function gives what it returns, a run what it printed and how it ended.
    let call = json!({ "function": "things:add", "params": [1, 2] });
    assert_eq!(text_of(&agent.tool("py_call", call)), "3");
    // By the name that a contract fixes, the answer is what the contract says.
    let arguments = json!({ "project": context.project, "target": "price" });
    let fixed = agent.tool("impact_analysis", arguments.clone());
    let json: Value = serde_json::from_str(text_of(&fixed)).unwrap();
    assert_eq!(fixed["structuredContent"], json, "{fixed}");
    assert_eq!(json["total_targets"], 1, "{json}");
    let own = agent.tool("map_impact", arguments);
    assert!(
        serde_json::from_str::<Value>(text_of(&own)).is_err(),
        "{own}"
    );
    assert_eq!(own.get("structuredContent"), None, "{own}");
}

#[test]
fn a_long_text_ends_with_a_whole_line_and_the_rest_is_fetched() {
    let context = busy();
    let mut agent = context.agent(&["--max-output", "2000"]);
    let place = json!({ "file": "shop.py", "line": 1, "column": 5 });
    let cut = agent.tool("code_refs", place);
    let text = text_of(&cut).to_owned();
    assert!(
        text.len() <= 2_000 && text.starts_with("82 confirmed"),
        "{text}"
    );
    let (shown, note) = text.split_once("\n[").unwrap();
    assert!(note.contains("lines; for the rest fetch_output"), "{text}");
    assert!(note.contains("it ends with]\n  "), "{text}");
    let given: Value = note
        .split_once("fetch_output ")
        .and_then(|(_, rest)| serde_json::from_str(&rest[..=rest.find('}')?]).ok())
        .unwrap();
    let mut lines: Vec<String> = shown.lines().map(str::to_owned).collect();
    let mut next = Some(given);
    while let Some(arguments) = next.take() {
        let page = agent.tool("fetch_output", arguments.clone());
        let mut page: Vec<String> = text_of(&page).lines().map(str::to_owned).collect();
        assert_eq!(page.remove(0), "[within uses.py]");
        if let Some(more) = page
            .last()
            .and_then(|last| last.strip_prefix("[goes on at offset "))
        {
            let offset: u64 = more.split(' ').next().unwrap().parse().unwrap();
            next = Some(json!({ "handle": arguments["handle"], "offset": offset }));
            page.pop();
        }
        lines.extend(page);
    }
    let typed = context.pillion(&["refs", "shop.py", "1", "5", "--text"]);
    assert_eq!(lines, typed.stdout.lines().collect::<Vec<_>>());
}

#[test]
fn how_a_run_ended_is_seen_however_much_it_printed() {
    let context = TestContext::new();
    let mut agent = context.agent(&["--max-output", "3000"]);
    let code = "for n in range(5000): print('line', n)\nraise ValueError('the reason')";
    let run = agent.tool("exec_run", json!({ "code": code }));
    let text = text_of(&run);
    assert!(
        text.len() <= 3_000 && text.starts_with("line 0\n"),
        "{text}"
    );
    assert!(text.contains("lines; for the rest fetch_output"), "{text}");
    assert!(
        text.contains("\nValueError: the reason\n[error, code 1, "),
        "{text}"
    );
}

#[test]
fn json_that_is_cut_is_json() {
    let context = busy();
    for profile in ["default", "full"] {
        let mut agent = context.agent(&["--profile", profile, "--max-output", "3000"]);
        let place = json!({ "file": "shop.py", "line": 1, "column": 5, "format": "json" });
        let cut = agent.tool("code_refs", place);
        let text = text_of(&cut);
        assert!(text.len() <= 3_000, "{text}");
        let json: Value = serde_json::from_str(text).unwrap();
        assert_eq!(cut["structuredContent"], json);
        let shown = json["locations"].as_array().unwrap().len();
        assert!((1..82).contains(&shown) && json["total"] == 82, "{json}");
        assert!(json["locations"][shown - 1]["file"].is_string(), "{json}");
        let part = &json["cut"]["parts"][0];
        assert_eq!(
            (&part["at"], &part["shown"], &part["total"]),
            (&json!("/locations"), &json!(shown), &json!(82)),
            "{json}"
        );
        let (mut count, mut offset) = (shown, shown);
        while offset < 82 {
            let arguments = json!({ "handle": part["handle"], "offset": offset });
            let page = agent.tool("fetch_output", arguments);
            let text = text_of(&page);
            let text = text.split_once("\n[goes on").map_or(text, |(text, _)| text);
            let items: Vec<Value> = serde_json::from_str(text).unwrap();
            offset += items.len();
            count += items.len();
            assert!(!items.is_empty(), "{page}");
        }
        assert_eq!(count, 82);
    }
}

#[test]
fn progress_is_told_in_the_functions_own_numbers() {
    let context = TestContext::new();
    context.write(
        "slow.py",
        "import pillion\ndef work():\n    for n in (0, 0.25, 0.5, 1):\n        pillion.progress(n, 1, f'at {n}')\n        print('between')\n    return 'done'\ndef items():\n    for n in (0.25, 0.5, 1):\n        pillion.progress(n, 1)\n        yield n\n",
    );
    let mut agent = context.agent(&[]);
    for (function, prints, expected, answer) in [
        ("slow:work", false, &[0.0, 0.25, 0.5, 1.0][..], "\"done\""),
        // What is printed and what is yielded between the numbers moves none of them.
        ("slow:work", true, &[0.0, 0.25, 0.5, 1.0], "\"done\""),
        ("slow:items", false, &[0.25, 0.5, 1.0], "0.25\n0.5\n1"),
    ] {
        let id = agent.send(
            "tools/call",
            json!({ "name": "py_call", "_meta": { "progressToken": "t" },
                "arguments": { "function": function, "prints": prints } }),
        );
        let (mut numbers, mut others) = (Vec::new(), 0);
        loop {
            let line = agent.lines.json();
            if line["id"] == id {
                assert_eq!(text_of(&line["result"]), answer, "{line}");
                break;
            }
            let news = &line["params"];
            match news["total"].as_f64() {
                Some(1.0) => numbers.push(news["progress"].as_f64().unwrap()),
                _ => others += 1,
            }
        }
        assert_eq!(numbers, expected, "{function}");
        assert_eq!(others > 0, prints || function == "slow:items", "{function}");
    }
}

#[test]
fn a_session_over_http_is_ended() {
    let context = TestContext::new();
    let web = context.serve();
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } } });
    let kinds = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    let opened = web.request("POST", "/mcp", &kinds, &hello.to_string());
    assert_eq!(opened.status, 200, "{opened:?}");
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let ended = web.request("DELETE", "/mcp", &[("Mcp-Session-Id", &session)], "");
    assert_eq!(ended.status, 204, "{ended:?}");
    let again = web.request("DELETE", "/mcp", &[("Mcp-Session-Id", &session)], "");
    assert_ne!(again.status, 202, "{again:?}");
}
