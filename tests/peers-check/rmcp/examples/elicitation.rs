//! A tool that asks a person before it acts, by a request to the client. Since revision 2026-07-28
//! servers send no requests: `retry.rs` is the same for it.

use rmcp::model::{CallToolResult, ContentBlock};
use rmcp::service::{ElicitationError, RequestContext};
use rmcp::{
    ErrorData, RoleServer, ServiceExt, elicit_safe, schemars, tool, tool_router, transport::stdio,
};

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Confirm {
    /// Consent to the deployment.
    go: bool,
}

elicit_safe!(Confirm);

#[derive(Clone)]
struct Deployer;

#[tool_router(server_handler)]
impl Deployer {
    /// Deploy to production.
    #[tool]
    async fn deploy(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let answer = context.peer.elicit::<Confirm>("Deploy to production?");
        let text = match answer.await {
            Ok(Some(Confirm { go: true })) => "deployed",
            Ok(_) | Err(ElicitationError::UserDeclined | ElicitationError::UserCancelled) => {
                "left as it was"
            }
            Err(error) => return Err(ErrorData::internal_error(error.to_string(), None)),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Deployer.serve(stdio()).await?.waiting().await?;
    Ok(())
}
