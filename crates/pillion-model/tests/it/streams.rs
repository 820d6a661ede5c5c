//! Answers that come, in whatever pieces.

use pillion_model::{ModelErrorKind, Provider, Schema, Stop, ToolSpec};
use serde_json::json;

use crate::server::{
    OPENAI_END, Server, Step, ask, good, openai_text, prompt, send, status, stream_head,
};

const ANTHROPIC: &str = r#"event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Grüße 你"}}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"tu_1","name":"inspect","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"file\":\"ä.csv\"}"}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":21}}

event: message_stop
data: {"type":"message_stop"}

"#;

#[tokio::test]
async fn an_answer_in_single_bytes_is_the_same() {
    let tool = r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"inspect","arguments":"{\"file\":\"ä.csv\"}"}}]}}]}"#;
    let openai = format!(
        "{}: keep-alive\r\n\r\n{tool}\r\n\r\n{OPENAI_END}",
        openai_text("Grüße 你")
    );
    for (provider, text) in [
        (Provider::OpenAi, openai.as_str()),
        (Provider::Custom, openai.as_str()),
        (Provider::Anthropic, ANTHROPIC),
    ] {
        let mut play = vec![stream_head()];
        play.extend(text.bytes().map(|byte| Step::Send(vec![byte])));
        let server = Server::start(vec![play]).await;
        let (heard, answer) = ask(&server.model(provider), &prompt()).await;
        let answer = answer.unwrap();
        assert_eq!(heard, ["Grüße 你"]);
        assert_eq!(answer.text, "Grüße 你");
        assert_eq!(answer.stop, Stop::ToolCalls);
        assert_eq!(answer.tool_calls[0].name, "inspect");
        assert_eq!(answer.tool_calls[0].arguments, json!({"file": "ä.csv"}));
        assert!(!answer.usage.estimated && answer.usage.output_tokens > 0);
    }
}

#[tokio::test]
async fn each_provider_is_asked_in_its_own_way() {
    for (provider, path, key) in [
        (
            Provider::OpenAi,
            "POST /v1/chat/completions ",
            "authorization: Bearer sk-",
        ),
        (
            Provider::Custom,
            "POST /chat/completions ",
            "authorization: Bearer sk-",
        ),
        (Provider::Anthropic, "POST /v1/messages ", "x-api-key: sk-"),
    ] {
        let play = match provider {
            Provider::Anthropic => vec![stream_head(), send(ANTHROPIC)],
            _ => good("x"),
        };
        let server = Server::start(vec![play]).await;
        let mut prompt = prompt();
        prompt.tools = vec![ToolSpec {
            name: "inspect".to_owned(),
            description: "looks".to_owned(),
            parameters: json!({"type": "object", "properties": {}}),
        }];
        ask(&server.model(provider), &prompt).await.1.unwrap();
        let request = server.requests().remove(0);
        assert!(request.head.starts_with(path), "{}", request.head);
        assert!(request.head.contains(key), "{}", request.head);
        assert_eq!(request.body["model"], "test-model");
        assert_eq!(request.body["stream"], true);
        assert_eq!(request.body["tools"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn text_is_heard_before_the_answer_ends() {
    let mut play = vec![stream_head(), send(&openai_text("first "))];
    play.push(Step::WaitForEnd);
    let mut server = Server::start(vec![play]).await;
    let model = server.model(Provider::OpenAi);
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let asking = tokio::spawn(async move {
        let mut hear = |text: &str| told.send(text.to_owned()).unwrap();
        model.ask(&prompt(), &mut hear).await
    });
    assert_eq!(heard.recv().await.unwrap(), "first ");
    // Nobody waits any longer: the server sees the connection close.
    asking.abort();
    let gone = tokio::time::timeout(crate::server::DEADLINE, server.gone.recv()).await;
    assert_eq!(gone.unwrap(), Some(()));
}

#[tokio::test]
async fn without_usage_it_is_estimated_and_said_so() {
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\n";
    let play = vec![stream_head(), send(&openai_text("12345678")), send(end)];
    let server = Server::start(vec![play]).await;
    let answer = ask(&server.model(Provider::Custom), &prompt())
        .await
        .1
        .unwrap();
    assert!(answer.usage.estimated);
    assert_eq!(answer.usage.output_tokens, 2);
    assert_eq!(answer.stop, Stop::Length);
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let body = r#"{"choices":[{"message":{"content":"whole"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    let server = Server::start(vec![status(
        200,
        "content-type: application/json\r\n",
        body,
    )])
    .await;
    let (heard, answer) = ask(&server.model(Provider::Custom), &prompt()).await;
    assert_eq!(answer.unwrap().text, "whole");
    assert_eq!(heard, ["whole"]);
}

#[tokio::test]
async fn a_refused_option_is_left_out_and_stays_out() {
    for refusal in ["unknown field response_format", "bad request"] {
        let plays = vec![status(400, "", refusal), good("a"), good("b")];
        let server = Server::start(plays).await;
        let model = server.model(Provider::Custom);
        let mut prompt = prompt();
        prompt.schema = Some(Schema {
            name: "outcome".to_owned(),
            schema: json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        });
        assert_eq!(ask(&model, &prompt).await.1.unwrap().text, "a");
        assert_eq!(ask(&model, &prompt).await.1.unwrap().text, "b");
        let requests = server.requests();
        let has = |at: usize, name: &str| requests[at].body.get(name).is_some();
        assert!(has(0, "response_format") && has(0, "stream_options"));
        assert!(!has(1, "response_format") && !has(2, "response_format"));
        let named = refusal.contains("response_format");
        assert_eq!(
            (has(1, "stream_options"), has(2, "stream_options")),
            (named, named)
        );
        assert_eq!(requests.len(), 3);
    }
}

#[tokio::test]
async fn the_last_event_may_lack_its_end() {
    let finish = r#"data: {"choices":[{"delta":{"content":"!"},"finish_reason":"stop"}]}"#;
    let stop = "data: {\"type\":\"message_stop\"}";
    let anthropic = ANTHROPIC.split(stop).next().unwrap();
    let openai = openai_text("Grüße");
    for (provider, text, last, said) in [
        (Provider::Custom, openai.as_str(), "data: [DONE]", "Grüße"),
        (
            Provider::OpenAi,
            openai.as_str(),
            "data:[DONE]\r\n",
            "Grüße",
        ),
        (Provider::Custom, openai.as_str(), finish, "Grüße!"),
        (Provider::Anthropic, anthropic, stop, "Grüße 你"),
    ] {
        let play = vec![stream_head(), send(text), send(last)];
        let server = Server::start(vec![play]).await;
        let (_, answer) = ask(&server.model(provider), &prompt()).await;
        assert_eq!(answer.unwrap().text, said, "{last}");
        assert_eq!(server.requests().len(), 1);
    }
    // What was cut off in the middle is no end, and nothing of it is said.
    let half = &finish[..finish.len() - 4];
    let server = Server::start(vec![vec![stream_head(), send(&openai), send(half)]]).await;
    let (heard, answer) = ask(&server.model(Provider::Custom), &prompt()).await;
    assert_eq!(answer.unwrap_err().kind, ModelErrorKind::Unreachable);
    assert_eq!(heard, ["Grüße"]);
}

#[tokio::test]
async fn a_compressed_answer_is_told_and_was_not_asked_for() {
    let play = status(
        200,
        "content-encoding: gzip\r\ncontent-type: text/event-stream\r\n",
        "\u{1f}",
    );
    let server = Server::start(vec![play]).await;
    let (_, answer) = ask(&server.model(Provider::Custom), &prompt()).await;
    let error = answer.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::BadAnswer);
    assert!(error.to_string().contains("compressed"), "{error}");
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "it would be so again");
    let head = requests[0].head.to_ascii_lowercase();
    assert!(head.contains("accept-encoding: identity"), "{head}");
    // Named or not, what is not compressed is read.
    let plain = format!("{}{OPENAI_END}", openai_text("x"));
    let play = status(
        200,
        "content-encoding: identity\r\ncontent-type: text/event-stream\r\n",
        &plain,
    );
    let server = Server::start(vec![play]).await;
    let (_, answer) = ask(&server.model(Provider::Custom), &prompt()).await;
    assert_eq!(answer.unwrap().text, "x");
}
