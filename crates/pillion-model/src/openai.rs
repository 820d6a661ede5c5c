//! OpenAI's chat completions, which many servers speak: the request, and the events of its
//! streamed answer.

use serde_json::{Map, Value, json};

use crate::draft::{Draft, Hear};
use crate::error::{Error, ModelErrorKind};
use crate::options::RequestOptions;
use crate::prompt::{ChatMessage, Prompt, Stop};
use crate::schema;
use crate::settings::Provider;

/// The request's body, and which options are in it.
pub(crate) fn request(
    prompt: &Prompt,
    provider: Provider,
    model: &str,
    without: RequestOptions,
) -> (Value, RequestOptions) {
    let mut body = Map::new();
    let mut sent = RequestOptions::default();
    body.insert("model".into(), model.into());
    body.insert("messages".into(), messages(prompt));
    body.insert("stream".into(), true.into());
    if !without.has(RequestOptions::USAGE) {
        sent = sent | RequestOptions::USAGE;
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    if let Some(wanted) = &prompt.schema
        && !without.has(RequestOptions::FORMAT)
    {
        sent = sent | RequestOptions::FORMAT;
        let closed = schema::closed(&wanted.schema).filter(schema::all_required);
        let strict = closed.is_some();
        body.insert(
            "response_format".into(),
            json!({"type": "json_schema", "json_schema": {
                "name": wanted.name,
                "schema": closed.unwrap_or_else(|| wanted.schema.clone()),
                "strict": strict,
            }}),
        );
    }
    if !prompt.tools.is_empty() {
        let tools = prompt.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            }})
        });
        body.insert("tools".into(), tools.collect());
    }
    if let Some(limit) = prompt.max_output_tokens {
        sent = sent | RequestOptions::LIMIT_NAME;
        // OpenAI's newer models refuse the old name, local servers do not know the new one.
        let new_name = (provider == Provider::OpenAi) != without.has(RequestOptions::LIMIT_NAME);
        let name = if new_name {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        body.insert(name.into(), limit.into());
    }
    if let Some(temperature) = prompt.temperature
        && !without.has(RequestOptions::TEMPERATURE)
    {
        sent = sent | RequestOptions::TEMPERATURE;
        body.insert("temperature".into(), temperature.into());
    }
    (Value::Object(body), sent)
}

fn messages(prompt: &Prompt) -> Value {
    let mut messages = Vec::with_capacity(prompt.messages.len() + 1);
    if !prompt.system.is_empty() {
        messages.push(json!({"role": "system", "content": prompt.system}));
    }
    for message in &prompt.messages {
        messages.push(match message {
            ChatMessage::User(text) => json!({"role": "user", "content": text}),
            ChatMessage::Assistant { text, tool_calls } if tool_calls.is_empty() => {
                json!({"role": "assistant", "content": text})
            }
            ChatMessage::Assistant { text, tool_calls } => {
                let calls = tool_calls.iter().map(|call| {
                    json!({"id": call.id, "type": "function", "function": {
                        "name": call.name,
                        "arguments": written(&call.arguments),
                    }})
                });
                let content = (!text.is_empty()).then_some(text);
                json!({
                    "role": "assistant",
                    "content": content,
                    "tool_calls": calls.collect::<Value>(),
                })
            }
            ChatMessage::ToolResult {
                id,
                content,
                is_error,
            } => {
                let error = if *is_error { "error: " } else { "" };
                json!({"role": "tool", "tool_call_id": id, "content": format!("{error}{content}")})
            }
        });
    }
    Value::Array(messages)
}

/// Arguments as text: what the model wrote, if that was not JSON.
fn written(arguments: &Value) -> String {
    match arguments {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Take one event; or a whole answer, of a server that does not stream.
pub(crate) fn event(data: &str, draft: &mut Draft, hear: &mut Hear<'_>) -> Result<(), Error> {
    if data.trim() == "[DONE]" {
        draft.done = true;
        draft.stop.get_or_insert(Stop::End);
        return Ok(());
    }
    let event: Value = serde_json::from_str(data)
        .map_err(|_| Error::new(ModelErrorKind::BadAnswer, "the model's answer is not JSON"))?;
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        return Err(reported(error));
    }
    if let Some(usage) = event.get("usage").filter(|usage| usage.is_object()) {
        let count = |name: &str| usage.get(name).and_then(Value::as_u64);
        draft.input_tokens = count("prompt_tokens").or(draft.input_tokens);
        draft.output_tokens = count("completion_tokens").or(draft.output_tokens);
    }
    let choices = event.get("choices").and_then(Value::as_array);
    let Some(choice) = choices.and_then(|choices| choices.first()) else {
        return Ok(());
    };
    if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
        for name in ["content", "refusal"] {
            if let Some(text) = delta.get(name).and_then(Value::as_str) {
                draft.text(text, hear)?;
            }
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        for (at, call) in (0_u64..).zip(calls.into_iter().flatten()) {
            tool_call(at, call, draft)?;
        }
    }
    if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
        draft.stop = Some(match reason {
            "stop" => Stop::End,
            "length" => Stop::Length,
            "tool_calls" | "function_call" => Stop::ToolCalls,
            "content_filter" => Stop::Declined,
            _ => Stop::Other,
        });
    }
    Ok(())
}

fn tool_call(at: u64, call: &Value, draft: &mut Draft) -> Result<(), Error> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("").to_owned();
    let index = call.get("index").and_then(Value::as_u64).unwrap_or(at);
    let function = call.get("function");
    let arguments = function.and_then(|function| function.get("arguments"));
    let arguments = arguments.filter(|arguments| !arguments.is_null());
    draft.call(
        index,
        &text(call.get("id")),
        &text(function.and_then(|function| function.get("name"))),
        &arguments.map(written).unwrap_or_default(),
    )
}

/// An error in the middle of the stream.
fn reported(error: &Value) -> Error {
    let word = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or("");
    let status = error.get("code").and_then(Value::as_u64).unwrap_or(0);
    let words = format!("{} {}", word("type"), word("code"));
    if status == 429 || words.contains("rate_limit") {
        Error::new(
            ModelErrorKind::RateLimited,
            "the model's provider limits how often it is asked",
        )
    } else if status == 0 && words.contains("invalid") {
        Error::new(
            ModelErrorKind::Refused,
            "the model's provider refused to go on",
        )
    } else {
        Error::new(
            ModelErrorKind::Overloaded,
            "the model's provider has a problem of its own",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{Schema, ToolCall, ToolSpec};

    fn prompt() -> Prompt {
        Prompt {
            system: "s".into(),
            messages: vec![
                ChatMessage::User("u".into()),
                ChatMessage::Assistant {
                    text: String::new(),
                    tool_calls: vec![ToolCall {
                        id: "1".into(),
                        name: "f".into(),
                        arguments: json!({"a": 1}),
                    }],
                },
                ChatMessage::ToolResult {
                    id: "1".into(),
                    content: "no".into(),
                    is_error: true,
                },
            ],
            schema: Some(Schema {
                name: "n".into(),
                schema: json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}),
            }),
            tools: vec![ToolSpec {
                name: "f".into(),
                description: "d".into(),
                parameters: json!({"type": "object"}),
            }],
            max_output_tokens: Some(5),
            temperature: Some(0.5),
            ..Prompt::default()
        }
    }

    #[test]
    fn the_request_has_everything_and_leaves_out_what_it_must() {
        let (body, sent) = request(&prompt(), Provider::OpenAi, "m", RequestOptions::default());
        assert_eq!(body["max_completion_tokens"], 5);
        assert_eq!(body["response_format"]["json_schema"]["strict"], true);
        assert_eq!(
            body["messages"][2]["tool_calls"][0]["function"]["arguments"],
            "{\"a\":1}"
        );
        assert_eq!(body["messages"][2]["content"], Value::Null);
        assert_eq!(body["messages"][3]["content"], "error: no");
        let (body, left) = request(&prompt(), Provider::OpenAi, "m", sent);
        for gone in [
            "stream_options",
            "response_format",
            "temperature",
            "max_completion_tokens",
        ] {
            assert_eq!(body.get(gone), None, "{gone}");
        }
        assert_eq!(body["max_tokens"], 5);
        assert_eq!(left, RequestOptions::LIMIT_NAME);
    }

    #[test]
    fn events_are_folded() {
        let mut draft = Draft::new(1000);
        let mut heard = String::new();
        for data in [
            r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"delta":{"content":"Hé"}}]}"#,
            r#"{"choices":[{"delta":{"content":null,"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{oops"}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}],"usage":null}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#,
            "[DONE]",
        ] {
            event(data, &mut draft, &mut |text| heard.push_str(text)).unwrap();
        }
        assert!(draft.done);
        let answer = draft.finish(&Prompt::default());
        assert_eq!((answer.text.as_str(), heard.as_str()), ("Hé", "Hé"));
        assert_eq!(answer.stop, Stop::ToolCalls);
        assert_eq!(answer.usage.input_tokens, 7);
        assert!(!answer.usage.estimated);
        assert_eq!(answer.tool_calls[0].arguments, json!({"x": 1}));
        assert_eq!(answer.tool_calls[1].name, "g");
        assert_eq!(answer.tool_calls[1].arguments, json!("{oops"));
    }

    #[test]
    fn errors_in_the_stream_say_nothing_of_the_provider() {
        for (data, kind) in [
            (
                r#"{"error":{"message":"SECRET","type":"rate_limit_exceeded"}}"#,
                ModelErrorKind::RateLimited,
            ),
            (
                r#"{"error":{"message":"SECRET","code":429}}"#,
                ModelErrorKind::RateLimited,
            ),
            (
                r#"{"error":{"message":"SECRET","type":"server_error"}}"#,
                ModelErrorKind::Overloaded,
            ),
            (r#"{"error":"SECRET"}"#, ModelErrorKind::Overloaded),
            (
                r#"{"error":{"message":"SECRET","type":"invalid_request_error"}}"#,
                ModelErrorKind::Refused,
            ),
            ("{SECRET", ModelErrorKind::BadAnswer),
        ] {
            let error = event(data, &mut Draft::new(9), &mut |_| {}).unwrap_err();
            assert_eq!(error.kind, kind, "{data}");
            assert!(!format!("{error:?}").contains("SECRET"));
        }
    }
}
