//! The session's model, speaking for an expert.

use pillion_expert as expert;
use pillion_model as model;

/// A model as consultations know one.
#[derive(Debug)]
pub(crate) struct ExpertModel<'a>(pub(crate) &'a model::Model);

impl expert::Consultant for ExpertModel<'_> {
    fn ask<'a>(&'a self, prompt: &'a expert::Prompt) -> expert::Asking<'a> {
        Box::pin(async move {
            let prompt = translated(prompt);
            let answer = self.0.ask(&prompt, &mut |_| {}).await;
            match answer {
                Ok(answer) => Ok(expert::Answer {
                    text: answer.text,
                    tool_calls: answer.tool_calls.into_iter().map(called).collect(),
                    usage: expert::Usage {
                        input_tokens: answer.usage.input_tokens,
                        output_tokens: answer.usage.output_tokens,
                    },
                }),
                Err(error) => Err(expert::Failure {
                    message: error.message,
                    hint: Some(error.hint),
                }),
            }
        })
    }
}

fn called(call: model::ToolCall) -> expert::ToolCall {
    expert::ToolCall {
        id: call.id,
        name: call.name,
        arguments: call.arguments,
    }
}

fn translated(prompt: &expert::Prompt) -> model::Prompt {
    let messages = prompt.messages.iter().map(|message| match message {
        expert::Message::User(text) => model::Message::User(text.clone()),
        expert::Message::Assistant { text, tool_calls } => model::Message::Assistant {
            text: text.clone(),
            tool_calls: tool_calls
                .iter()
                .map(|call| model::ToolCall {
                    id: call.id.clone(),
                    name: call.name.clone(),
                    arguments: call.arguments.clone(),
                })
                .collect(),
        },
        expert::Message::ToolResult {
            id,
            content,
            is_error,
        } => model::Message::ToolResult {
            id: id.clone(),
            content: content.clone(),
            is_error: *is_error,
        },
    });
    let tools = prompt.tools.iter().map(|tool| model::Tool {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: tool.parameters.clone(),
    });
    model::Prompt {
        agent: prompt.agent.clone(),
        system: prompt.system.clone(),
        messages: messages.collect(),
        tools: tools.collect(),
        max_output_tokens: prompt.max_output_tokens,
        facts: prompt.facts.clone(),
        ..model::Prompt::default()
    }
}
