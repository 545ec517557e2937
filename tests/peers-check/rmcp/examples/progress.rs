//! A tool that says how far it is, to a client that wants to know.

use rmcp::model::{CallToolResult, ContentBlock, ProgressNotificationParam, RequestMetaObject};
use rmcp::{ErrorData, Peer, RoleServer, ServiceExt, tool, tool_router, transport::stdio};

#[derive(Clone)]
struct Worker;

#[tool_router(server_handler)]
impl Worker {
    /// Work in five steps.
    #[tool]
    async fn work(
        &self,
        meta: RequestMetaObject,
        peer: Peer<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        for step in 1..=5 {
            if let Some(token) = meta.get_progress_token() {
                let progress = ProgressNotificationParam::new(token, f64::from(step))
                    .with_total(5.0)
                    .with_message(format!("step {step}"));
                peer.notify_progress(progress)
                    .await
                    .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            }
        }
        Ok(CallToolResult::success(vec![ContentBlock::text("done")]))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Worker.serve(stdio()).await?.waiting().await?;
    Ok(())
}
