//! Tasks: a server whose tools always become tasks, and a client that drives those of a server by hand.

use std::error::Error;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ClientCapabilities, ClientConfig,
    ContentBlock, GetTaskParams, GetTaskResult, Implementation, InputRequest, ProtocolVersion, ServerCapabilities,
    ServerConfig, TaskPayload, UpdateTaskParams,
};
use rmcp::model::{CreateTaskResult, DetailedTask, JsonObject};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, Peer, RequestContext};
use rmcp::task_manager::{TaskExit, TaskManager, TaskOptions};
use rmcp::transport::{TokioChildProcess, stdio};
use rmcp::{ErrorData, RoleClient, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::sleep;

#[derive(Clone)]
struct Server(TaskManager);

pub(crate) async fn serve() -> Result<(), Box<dyn Error>> {
    Server(TaskManager::new()).serve(stdio()).await?.waiting().await?;
    Ok(())
}

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tasks().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let options = TaskOptions::new().with_poll_interval_ms(50);
        let task = self.0.spawn(options, move |context| {
            Box::pin(async move {
                let arguments = request.arguments.unwrap_or_default();
                match &*request.name {
                    "compute" => {
                        sleep(Duration::from_millis(200)).await;
                        let label = arguments.get("label").and_then(Value::as_str).unwrap_or_default();
                        Ok(text(format!("computed {label}")))
                    }
                    "fail" => Ok(CallToolResult::error(vec![ContentBlock::text("there is no paint")])),
                    "greet" => {
                        let form = json!({"method": "elicitation/create", "params": {
                            "mode": "form", "message": "Who are you?", "requestedSchema": {
                                "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"],
                            },
                        }});
                        let form: InputRequest = serde_json::from_value(form).map_err(|error| {
                            TaskExit::Error(ErrorData::internal_error(error.to_string(), None))
                        })?;
                        let answer = context.request_input("who", form).await?;
                        let name = answer["content"]["name"].as_str().unwrap_or_default();
                        Ok(text(format!("Hello, {name}!")))
                    }
                    _ => {
                        context.cancelled().await;
                        Err(TaskExit::Cancelled)
                    }
                }
            })
        });
        Ok(CallToolResponse::Task(CreateTaskResult::new(task)))
    }

    async fn get_task(&self, request: GetTaskParams, _: RequestContext<RoleServer>) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.0.get_task(&request.task_id)?))
    }

    async fn update_task(&self, request: UpdateTaskParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.0.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.0.cancel_task(&request.task_id)
    }
}

pub(crate) async fn call(program: &str, arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut command = Command::new(program);
    command.args(arguments);
    let lifecycle = ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::LATEST],
    };
    let capabilities = ClientCapabilities::builder().enable_elicitation().enable_tasks().build();
    let client = ClientConfig::new(capabilities, Implementation::from_build_env())
        .serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle)
        .await?;
    let peer = client.peer();
    let label = json!({"label": "a"}).as_object().cloned();
    let computed = end(peer, &start(peer, "compute", label).await?).await?;
    let failed = end(peer, &start(peer, "fail", None).await?).await?;
    let greeting = end(peer, &start(peer, "greet", None).await?).await?;
    let task = start(peer, "sleep", None).await?;
    let working = state(peer, &task).await?.status();
    peer.cancel_task(CancelTaskParams::new(task.clone())).await?;
    let mut cancelled = state(peer, &task).await?.status();
    while !cancelled.is_terminal() {
        sleep(Duration::from_millis(50)).await;
        cancelled = state(peer, &task).await?.status();
    }
    let found = json!({
        "computed": computed, "failed": failed, "greeting": greeting, "working": working, "cancelled": cancelled,
    });
    println!("{found}");
    client.cancel().await?;
    Ok(())
}

/// Calls a tool; returns the id of the task that the call became.
async fn start(peer: &Peer<RoleClient>, tool: &'static str, arguments: Option<JsonObject>) -> Result<String, Box<dyn Error>> {
    let mut params = CallToolRequestParams::new(tool);
    params.arguments = arguments;
    match peer.call_tool_once(params).await? {
        CallToolResponse::Task(created) => Ok(created.task.task_id),
        other => Err(format!("{tool} is no task: {other:?}").into()),
    }
}

async fn state(peer: &Peer<RoleClient>, task: &str) -> Result<DetailedTask, Box<dyn Error>> {
    Ok(peer.get_task(GetTaskParams::new(task)).await?.task)
}

/// Waits for the end of a task, and answers its questions; returns the text of its result.
async fn end(peer: &Peer<RoleClient>, task: &str) -> Result<String, Box<dyn Error>> {
    loop {
        match state(peer, task).await?.payload {
            TaskPayload::Completed { result } => {
                let result: CallToolResult = serde_json::from_value(Value::Object(result))?;
                let text = result.content.first().and_then(|block| block.as_text());
                return Ok(text.map(|text| text.text.clone()).unwrap_or_default());
            }
            TaskPayload::InputRequired { input_requests } => {
                let answer = json!({"action": "accept", "content": {"name": "Ada"}});
                let answers = input_requests.into_keys().map(|key| (key, answer.clone())).collect();
                peer.update_task(UpdateTaskParams::new(task, answers)).await?;
            }
            TaskPayload::Working => sleep(Duration::from_millis(50)).await,
            other => return Err(format!("{task}: {other:?}").into()),
        }
    }
}
