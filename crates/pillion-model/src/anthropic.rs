//! Anthropic's messages: the request, and the events of its streamed answer.

use serde_json::{Map, Value, json};

use crate::draft::{Draft, Hear};
use crate::error::{Error, ModelErrorKind};
use crate::options::RequestOptions;
use crate::prompt::{ChatMessage, Prompt, Stop};
use crate::schema;

/// The version of the interface, a header of every request.
pub(crate) const VERSION: &str = "2023-06-01";

/// The longest answer if the prompt has no limit: the interface wants one.
const USUAL_MAX_TOKENS: u32 = 8192;

/// The request's body, and which options are in it.
pub(crate) fn request(
    prompt: &Prompt,
    model: &str,
    without: RequestOptions,
) -> (Value, RequestOptions) {
    let mut body = Map::new();
    let mut sent = RequestOptions::default();
    body.insert("model".into(), model.into());
    let limit = prompt.max_output_tokens.unwrap_or(USUAL_MAX_TOKENS);
    body.insert("max_tokens".into(), limit.into());
    body.insert("stream".into(), true.into());
    if !prompt.system.is_empty() {
        body.insert("system".into(), prompt.system.as_str().into());
    }
    body.insert("messages".into(), messages(prompt));
    // Objects with members of any name cannot be asked for: the prompt's words must do.
    let closed = prompt
        .schema
        .as_ref()
        .and_then(|wanted| schema::closed(&wanted.schema));
    if let Some(schema) = closed
        && !without.has(RequestOptions::FORMAT)
    {
        sent = sent | RequestOptions::FORMAT;
        let format = json!({"format": {"type": "json_schema", "schema": schema}});
        body.insert("output_config".into(), format);
    }
    if !prompt.tools.is_empty() {
        let tools = prompt.tools.iter().map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.parameters,
            })
        });
        body.insert("tools".into(), tools.collect());
    }
    if let Some(temperature) = prompt.temperature
        && !without.has(RequestOptions::TEMPERATURE)
    {
        sent = sent | RequestOptions::TEMPERATURE;
        body.insert("temperature".into(), temperature.clamp(0.0, 1.0).into());
    }
    (Value::Object(body), sent)
}

/// The conversation in turns: blocks of one speaker in a row are one message, and none is empty.
fn messages(prompt: &Prompt) -> Value {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in &prompt.messages {
        let mut blocks = Vec::new();
        let role = match message {
            ChatMessage::User(text) => {
                blocks.extend(text_block(text));
                "user"
            }
            ChatMessage::Assistant { text, tool_calls } => {
                blocks.extend(text_block(text));
                blocks.extend(tool_calls.iter().map(|call| {
                    let input = Some(&call.arguments).filter(|value| value.is_object());
                    let input = input.cloned().unwrap_or_else(|| json!({}));
                    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
                }));
                "assistant"
            }
            ChatMessage::ToolResult {
                id,
                content,
                is_error,
            } => {
                blocks.push(json!({
                    "type": "tool_result",
                    "tool_use_id": id,
                    "content": content,
                    "is_error": is_error,
                }));
                "user"
            }
        };
        match turns.last_mut() {
            Some((last, before)) if *last == role => before.append(&mut blocks),
            _ if blocks.is_empty() => {}
            _ => turns.push((role, blocks)),
        }
    }
    if turns.first().is_none_or(|(role, _)| *role != "user") {
        turns.insert(
            0,
            (
                "user",
                vec![json!({"type": "text", "text": "Please begin."})],
            ),
        );
    }
    let turns = turns.into_iter();
    turns
        .map(|(role, blocks)| json!({"role": role, "content": blocks}))
        .collect()
}

fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

/// Take one event.
pub(crate) fn event(data: &str, draft: &mut Draft, hear: &mut Hear<'_>) -> Result<(), Error> {
    let event: Value = serde_json::from_str(data)
        .map_err(|_| Error::new(ModelErrorKind::BadAnswer, "the model's answer is not JSON"))?;
    let at = |pointer: &str| event.pointer(pointer);
    let text = |pointer: &str| at(pointer).and_then(Value::as_str).unwrap_or("");
    let number = |pointer: &str| at(pointer).and_then(Value::as_u64);
    let index = number("/index").unwrap_or(0);
    match text("/type") {
        "message_start" => {
            let usage = "/message/usage";
            let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"]
                .into_iter()
                .filter_map(|name| number(&format!("{usage}/{name}")));
            let cached: u64 = cached.fold(0, u64::saturating_add);
            draft.input_tokens =
                number(&format!("{usage}/input_tokens")).map(|fresh| fresh.saturating_add(cached));
        }
        "content_block_start" => match text("/content_block/type") {
            "text" => draft.text(text("/content_block/text"), hear)?,
            "tool_use" => {
                draft.call(
                    index,
                    text("/content_block/id"),
                    text("/content_block/name"),
                    "",
                )?;
            }
            _ => {}
        },
        "content_block_delta" => match text("/delta/type") {
            "text_delta" => draft.text(text("/delta/text"), hear)?,
            "input_json_delta" => draft.call(index, "", "", text("/delta/partial_json"))?,
            _ => {}
        },
        "message_delta" => {
            draft.output_tokens = number("/usage/output_tokens").or(draft.output_tokens);
            draft.stop = match text("/delta/stop_reason") {
                "" => draft.stop,
                "end_turn" | "stop_sequence" => Some(Stop::End),
                "max_tokens" | "model_context_window_exceeded" => Some(Stop::Length),
                "tool_use" => Some(Stop::ToolCalls),
                "refusal" => Some(Stop::Declined),
                _ => Some(Stop::Other),
            };
        }
        "message_stop" => {
            draft.done = true;
            draft.stop.get_or_insert(Stop::End);
        }
        "error" => return Err(reported(text("/error/type"))),
        _ => {}
    }
    Ok(())
}

/// An error in the middle of the stream.
fn reported(word: &str) -> Error {
    match word {
        "rate_limit_error" => Error::new(
            ModelErrorKind::RateLimited,
            "the model's provider limits how often it is asked",
        ),
        "invalid_request_error" => Error::new(
            ModelErrorKind::Refused,
            "the model's provider refused to go on",
        ),
        _ => Error::new(
            ModelErrorKind::Overloaded,
            "the model's provider has a problem of its own",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{Schema, ToolCall};

    #[test]
    fn turns_alternate_and_the_form_is_asked_for() {
        let call = |id: &str| ToolCall {
            id: id.into(),
            name: "f".into(),
            arguments: json!("not an object"),
        };
        let result = |id: &str| ChatMessage::ToolResult {
            id: id.into(),
            content: "r".into(),
            is_error: false,
        };
        let prompt = Prompt {
            messages: vec![
                ChatMessage::User("u".into()),
                ChatMessage::User(String::new()),
                ChatMessage::Assistant {
                    text: String::new(),
                    tool_calls: vec![call("1"), call("2")],
                },
                result("1"),
                result("2"),
                ChatMessage::User("and?".into()),
            ],
            schema: Some(Schema {
                name: "n".into(),
                schema: json!({"type": "object", "properties": {}}),
            }),
            temperature: Some(1.5),
            ..Prompt::default()
        };
        let (body, sent) = request(&prompt, "m", RequestOptions::default());
        let roles: Vec<_> = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| &m["role"])
            .collect();
        assert_eq!(roles, ["user", "assistant", "user"]);
        assert_eq!(body["messages"][0]["content"].as_array().unwrap().len(), 1);
        assert_eq!(body["messages"][1]["content"][0]["input"], json!({}));
        assert_eq!(body["messages"][2]["content"][2]["text"], "and?");
        assert_eq!(
            body["output_config"]["format"]["schema"]["additionalProperties"],
            false
        );
        assert_eq!(body["temperature"], 1.0);
        assert_eq!(body["max_tokens"], 8192);
        let (body, left) = request(&prompt, "m", sent);
        assert!(left.is_empty() && body.get("output_config").is_none());
        let (body, _) = request(&Prompt::default(), "m", RequestOptions::default());
        assert_eq!(body["messages"][0]["role"], "user");
    }

    #[test]
    fn events_are_folded() {
        let mut draft = Draft::new(1000);
        let mut heard = String::new();
        for data in [
            r#"{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":2,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\""}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":":2}"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#,
            r#"{"type":"message_stop"}"#,
        ] {
            event(data, &mut draft, &mut |text| heard.push_str(text)).unwrap();
        }
        let answer = draft.finish(&Prompt::default());
        assert_eq!(heard, "hi");
        assert_eq!(
            (answer.usage.input_tokens, answer.usage.output_tokens),
            (7, 9)
        );
        assert_eq!(answer.tool_calls[0].arguments, json!({"a": 2}));
        assert_eq!(answer.stop, Stop::ToolCalls);
        let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#;
        let error = event(overloaded, &mut Draft::new(9), &mut |_| {}).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Overloaded);
    }
}
