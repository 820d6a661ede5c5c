//! The protocol's side of the door: what an agent can ask a server.

use pillion_catalogue::{Door, SHARED};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeResult, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData as McpError, ServerHandler};
use serde_json::{Value, json};

use super::agent::Agent;
use super::outputs::Page;
use super::tools::{CALL, FETCH};
use super::{MAX_OUTPUT, MAX_TEXT, errors, exact_numbers, prompts, resources};

/// What an agent is told when it connects.
const INSTRUCTIONS: &str = "pillion answers questions about Python projects from an index and a type checker that are warm and in step with the files: an edit is seen by the next call. Ask it instead of searching text.";

/// And this, where its tools are a choice.
const CHOICE: &str = "Only the most used operations are listed as tools.";

/// And this, where answers are text.
const ANSWERS: &str = "Answers are text: places as file:line:column, `?` before uses that are only possible. Long ones end with a handle for the rest.";

/// What an agent is told that only gets functions of Python modules.
const FUNCTIONS: &str = "These tools are Python functions in a warm worker. An edit of their source is seen by the next call.";

impl Agent {
    /// A part of an answer that was cut.
    fn fetch(&self, arguments: &JsonObject) -> CallToolResult {
        let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
        let handle = arguments.get("handle").and_then(Value::as_str);
        let offset = number("offset").unwrap_or(0) as usize;
        let is_contract = self.shared.settings.profile.is_contract();
        let usual = if is_contract { MAX_OUTPUT } else { MAX_TEXT };
        let usual = self.shared.settings.max_output.unwrap_or(usual);
        let limit = number("limit").map_or(usual, |n| n as usize);
        let outputs = &self.shared.outputs;
        let page = match outputs.page(handle.unwrap_or_default(), offset, limit) {
            Ok(page) => page,
            Err(error) => return errors::failed(&error),
        };
        let structured = is_contract.then(|| serde_json::to_value(&page).unwrap_or_default());
        let text = match is_contract {
            true => page.text,
            false => {
                let Page { total, unit, .. } = page;
                let within = page.within.map(|line| format!("[within {line}]\n"));
                let next = page.next_offset;
                let next =
                    next.map(|next| format!("\n[goes on at offset {next} of {total} {unit}]"));
                let text = page.text.trim_end_matches('\n');
                format!(
                    "{}{text}{}",
                    within.unwrap_or_default(),
                    next.unwrap_or_default()
                )
            }
        };
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        result.structured_content = structured;
        result
    }

    /// Call what `call_operation` names.
    async fn call_named(
        &self,
        arguments: &JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let named =
            exact_numbers::arguments(arguments, context).and_then(|given| self.named(given));
        match named {
            Ok((entry, arguments)) => Box::pin(self.perform(entry, arguments, context)).await,
            Err(error) => errors::failed(&error),
        }
    }

    /// What an agent is told: what is the same for all its tools, said once.
    fn instructions(&self) -> String {
        if self.shared.is_only_functions() {
            return FUNCTIONS.to_owned();
        }
        let profile = self.shared.settings.profile;
        if profile.is_contract() {
            return INSTRUCTIONS.to_owned();
        }
        // What is said about the caller is understood by all of them, and in no schema.
        let said = ["format", "timeout_ms"];
        let is_there = |name: &str| said.contains(&name) || self.shared.tools.take(name);
        let shared = SHARED.iter().filter(|(name, _)| is_there(name));
        let shared: Vec<String> = shared
            .map(|(name, about)| format!("`{name}` {about}"))
            .collect();
        let shared = format!("Parameters: {}.", shared.join("; "));
        [INSTRUCTIONS, CHOICE, ANSWERS, &shared].join(" ")
    }

    fn unknown_tool(&self, name: &str) -> McpError {
        let hint = match self.shared.tools.nearest(name) {
            Some(near) => format!("did you mean `{near}`?"),
            None if self.shared.tools.lists(CALL) => {
                format!("only the most used are listed; `{CALL}` tells how to find the others")
            }
            None => format!(
                "`tools/list` lists them all; the profile is `{}`",
                self.shared.settings.profile
            ),
        };
        McpError::invalid_params(
            format!("there is no tool `{name}`: {hint}"),
            Some(json!({ "code": "unknown_operation", "hint": hint })),
        )
    }
}

impl ServerHandler for Agent {
    fn get_info(&self) -> ServerConfig {
        let offers = ServerCapabilities::builder().enable_tools();
        let mut capabilities = match self.shared.is_only_functions() {
            true => offers.build(),
            false => offers.enable_resources().enable_prompts().build(),
        };
        if let Some(tools) = &mut capabilities.tools {
            tools.list_changed = self.shared.state.exposed.is_some().then_some(true);
        }
        let about = Implementation::new("pillion", env!("CARGO_PKG_VERSION"))
            .with_title("pillion")
            .with_description("Python, already running: code and project questions, answered warm");
        InitializeResult::new(capabilities)
            .with_server_info(about)
            .with_instructions(self.instructions())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, McpError> {
        let mut tools = self.shared.functions().await?;
        tools.extend_from_slice(self.shared.tools.list());
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let mut tools = self.shared.tools.list().iter();
        let own = tools.find(|tool| tool.name == name).cloned();
        let function = || {
            let mut functions = self.shared.last_functions().into_iter();
            functions.find(|tool| tool.name == name)
        };
        own.or_else(function)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, McpError> {
        let arguments = request.arguments.unwrap_or_default();
        let name = request.name.as_ref();
        let tools = &self.shared.tools;
        let result = match (tools.get(name), &self.shared.state.exposed) {
            (Some(entry), _) => match exact_numbers::arguments(&arguments, &context) {
                Ok(exact) => Box::pin(self.perform(entry, exact, &context)).await,
                Err(error) => errors::failed(&error),
            },
            (None, _) if name == FETCH && tools.lists(FETCH) => {
                self.fetch(&exact_numbers::values(&arguments, &context))
            }
            (None, _) if name == CALL && tools.lists(CALL) => {
                self.call_named(&arguments, &context).await
            }
            (None, Some(exposed)) => {
                let invoked = self.invoke(exposed, name, arguments, &context);
                Box::pin(invoked).await.map_err(|unknown| {
                    let data = serde_json::from_str(&errors::text(&unknown)).ok();
                    McpError::invalid_params(unknown.message, data)
                })?
            }
            (None, None) => return Err(self.unknown_tool(name)),
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, McpError> {
        Ok(ListResourcesResult::with_all_items(resources::list(
            &self.shared.state.catalogue,
        )))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, McpError> {
        Ok(ListResourceTemplatesResult::with_all_items(
            resources::templates(&self.shared.state.catalogue),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, McpError> {
        let read = resources::read(self, &request.uri, &context);
        Box::pin(read).await.map(Into::into)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, McpError> {
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, McpError> {
        let arguments = request.arguments.unwrap_or_default();
        prompts::get(&request.name, &arguments, &self.shared.tools).map(Into::into)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.tell_of_changes(&context.peer);
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.shared.state.exposed.as_ref()?;
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), McpError> {
        let Some(exposed) = &self.shared.state.exposed else {
            return Ok(());
        };
        let mut version = None;
        loop {
            tokio::select! {
                () = exposed.changed(Door::Mcp, &mut version, || false) => {}
                () = context.cancelled() => return Ok(()),
                () = self.shared.state.shutdown.cancelled() => return Ok(()),
            }
            if context.sink().notify_tool_list_changed().await.is_err() {
                return Ok(());
            }
        }
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        self.roots.forget().await;
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, McpError> {
        // A request of MCP whose parameters do not fit comes here too.
        let method = request.method;
        if is_served(&method) {
            return Err(McpError::invalid_params(
                format!("the parameters of `{method}` do not fit"),
                None,
            ));
        }
        Err(ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            format!("there is no method `{method}`"),
            None,
        ))
    }
}

/// Whether a method of MCP is served here.
fn is_served(method: &str) -> bool {
    [
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
    ]
    .contains(&method)
}
