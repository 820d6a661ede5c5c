//! What a program is answered, whatever it asks.

use super::*;
use std::path::{Path, PathBuf};

/// Functions that give back how they were called.
#[derive(Debug)]
struct Echo;

impl Host for Echo {
    fn call(&self, call: FunctionCall) -> Returned {
        let arguments = call
            .arguments
            .map_or("null".to_owned(), |raw| raw.get().to_owned());
        let value = match call.function.as_str() {
            "m:long" => format!("\"{}\"", "x".repeat(VALUE - 1)),
            "m:fail" => return Box::pin(async { Err(Error::new(Code::Exception, "no")) }),
            function => format!(
                r#"{{"function": "{function}", "arguments": {arguments}, "root": "{}"}}"#,
                call.root.display()
            ),
        };
        Box::pin(async { RawValue::from_string(value).map_err(Error::internal) })
    }
}

fn service(given: Value, host: Option<Arc<dyn Host>>) -> ToolService {
    let given: ToolsGiven = serde_json::from_value(given).unwrap();
    ToolService {
        tools: Tools::new(given, Path::new("/")).unwrap(),
        behalf: Behalf {
            host,
            whereabouts: Whereabouts {
                root: PathBuf::from("/project"),
                ..Whereabouts::default()
            },
            peer: pillion_catalogue::Peer::default(),
            deadline: Instant::now() + std::time::Duration::from_secs(3600),
        },
        stop: Arc::default(),
        calls: Arc::default(),
        database: Tables::Closed,
        sent: 0,
    }
}

/// What is said to a question, and the bytes behind it.
async fn ask(service: &mut ToolService, question: Value) -> (Value, Vec<u8>) {
    let answer = service
        .answer(question.to_string().as_bytes())
        .await
        .unwrap();
    let said = message::decode(&answer.message[4..]).unwrap();
    (said, answer.bytes)
}

/// The code of the error that is said to a question.
async fn refused(service: &mut ToolService, question: Value) -> String {
    let (said, bytes) = ask(service, question).await;
    assert!(bytes.is_empty());
    assert_eq!(said["id"], 7, "{said}");
    said["error"]["code"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn each_tool_is_answered_in_its_form() {
    let given = json!({
        "read": {"a": {"base64": "/wA="}}, "tables": {"t": {"csv_text": "x\n1\n"}},
        "functions": {"f": "m:f"},
    });
    let mut service = service(given, Some(Arc::new(Echo)));
    let read = ask(&mut service, json!({"id": 1, "tool": "read", "name": "a"})).await;
    assert_eq!(read, (json!({"id": 1, "size": 2}), vec![0xff, 0]));
    let sql = "SELECT x FROM t WHERE x = ?";
    let question = json!({"id": 2, "tool": "query", "table": "t", "sql": sql, "parameters": [1]});
    let rows = json!({"id": 2, "columns": ["x"], "rows": [[1]], "truncated": false});
    for _ in 0..2 {
        let found = ask(&mut service, question.clone()).await;
        assert_eq!(found, (rows.clone(), Vec::new()), "and again");
    }
    let question = json!({"id": 3, "tool": "call", "name": "f", "arguments": {"x": 1}});
    let (called, _) = ask(&mut service, question).await;
    let value = json!({"function": "m:f", "arguments": {"x": 1}, "root": "/project"});
    assert_eq!(called, json!({"id": 3, "value": value}));
}

#[tokio::test]
async fn what_was_not_given_is_not_there_whatever_it_is_called() {
    let given = json!({"read": {"a": {"text": "1"}}, "functions": {"f": "m:f"}});
    let mut service = service(given, Some(Arc::new(Echo)));
    for (tool, name) in [
        ("read", "b"),
        ("read", ""),
        ("read", "f"),
        ("read", "/etc/passwd"),
        ("query", "a"),
        ("call", "a"),
        // A function is called by the name it was given under.
        ("call", "m:f"),
    ] {
        let question = json!({"id": 7, "tool": tool, "name": name, "table": name});
        assert_eq!(
            refused(&mut service, question).await,
            "not_found",
            "{tool} {name}"
        );
    }
    for tool in ["write", "", "Read"] {
        let question = json!({"id": 7, "tool": tool, "name": "a"});
        assert_eq!(
            refused(&mut service, question).await,
            "unknown_operation",
            "{tool}"
        );
    }
}

#[tokio::test]
async fn functions_need_a_host_and_give_back_what_fits() {
    let given = json!({"functions": {"f": "m:f", "long": "m:long", "fail": "m:fail"}});
    let call = |name: &str| json!({"id": 7, "tool": "call", "name": name});
    let mut alone = service(given.clone(), None);
    assert_eq!(refused(&mut alone, call("f")).await, "unsupported");
    let mut service = service(given, Some(Arc::new(Echo)));
    assert_eq!(
        refused(&mut service, call("long")).await,
        "response_too_large"
    );
    assert_eq!(refused(&mut service, call("fail")).await, "exception");
}

#[tokio::test]
async fn a_table_that_cannot_be_opened_is_an_error_each_time_it_is_asked() {
    let given = json!({"tables": {"t": {"csv_text": "x\n\"open"}}});
    let mut service = service(given, None);
    let question = json!({"id": 7, "tool": "query", "table": "t", "sql": "SELECT 1"});
    for _ in 0..2 {
        assert_eq!(
            refused(&mut service, question.clone()).await,
            "invalid_params"
        );
    }
}

#[tokio::test]
async fn who_was_told_too_much_is_told_no_more() {
    let mut service = service(json!({"read": {"a": {"text": "1"}}}), None);
    let question = json!({"id": 7, "tool": "read", "name": "a"});
    service.sent = BYTES;
    assert_eq!(ask(&mut service, question.clone()).await.0["size"], 1);
    service.sent = BYTES + 1;
    assert_eq!(refused(&mut service, question).await, "output_limit");
}

#[tokio::test]
async fn of_what_was_asked_the_first_are_remembered_and_all_are_counted() {
    let mut service = service(json!({"read": {"a": {"text": "1"}}}), None);
    ask(&mut service, json!({"tool": "read", "name": "a"})).await;
    let long = "ü".repeat(NAME + 50);
    for _ in 0..REMEMBERED + 5 {
        ask(&mut service, json!({"tool": "query", "table": long})).await;
    }
    ask(&mut service, json!("no question")).await;
    let calls = service.calls.lock().unwrap().clone();
    assert_eq!(
        calls.number as usize,
        REMEMBERED + 6,
        "what is no question is none"
    );
    assert_eq!(calls.first.len(), REMEMBERED);
    let said = |asked: &Asked| {
        (
            asked.tool.clone(),
            asked.name.clone(),
            asked.outcome.clone(),
        )
    };
    let owned = |text: &str| text.to_owned();
    assert_eq!(
        said(&calls.first[0]),
        (owned("read"), owned("a"), owned("ok"))
    );
    let cut = "ü".repeat(NAME);
    assert_eq!(
        said(&calls.first[1]),
        (owned("query"), cut, owned("not_found"))
    );
}

/// What is said on a socket to bytes that a program wrote.
async fn said_to(bytes: &[u8]) -> Vec<Value> {
    let (ours, theirs) = StdStream::pair().unwrap();
    let behalf = service(json!({}), None).behalf;
    let serving = serve(&Tools::default(), Some(ours), behalf).unwrap();
    theirs.set_nonblocking(true).unwrap();
    let mut theirs = UnixStream::from_std(theirs).unwrap();
    theirs.write_all(bytes).await.unwrap();
    theirs.shutdown().await.unwrap();
    let mut all = Vec::new();
    // Until it hangs up.
    theirs.read_to_end(&mut all).await.unwrap();
    drop(serving);
    let (mut said, mut rest) = (Vec::new(), all.as_slice());
    while let Some((head, more)) = rest.split_first_chunk() {
        let (body, more) = more.split_at(message::length(*head).unwrap());
        said.push(message::decode(body).unwrap());
        rest = more;
    }
    said
}

#[tokio::test]
async fn a_question_that_is_too_long_is_the_last() {
    let too_long = u32::try_from(QUESTION + 1).unwrap().to_be_bytes();
    let said = said_to(&too_long).await;
    assert_eq!(said.len(), 1);
    assert_eq!(said[0]["error"]["code"], "invalid_request");
}

#[tokio::test]
async fn what_is_no_question_is_answered_and_the_next_one_too() {
    let mut bytes = message::encode(&json!(["no question"])).unwrap();
    bytes.extend(message::encode(&json!({"id": 3, "tool": "read"})).unwrap());
    // This one never comes to its end.
    bytes.extend([0, 0, 0, 9, b'{']);
    let said = said_to(&bytes).await;
    let codes: Vec<_> = said
        .iter()
        .map(|one| (&one["id"], &one["error"]["code"]))
        .collect();
    let expected = [
        (json!(0), json!("invalid_request")),
        (json!(3), json!("not_found")),
    ];
    let expected: Vec<_> = expected.iter().map(|(id, code)| (id, code)).collect();
    assert_eq!(codes, expected);
}

#[tokio::test]
async fn a_run_without_a_socket_has_nobody_to_ask() {
    let behalf = service(json!({}), None).behalf;
    assert!(serve(&Tools::default(), None, behalf).unwrap().is_none());
}
