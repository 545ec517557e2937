//! The tool that asks, for revision 2026-07-28: the call is answered with what is still to be
//! answered, and the function runs again, from its top, when the client calls again.

use rmcp::handler::server::tool::{InputResponses, RequestState};
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams,
    ElicitationSchema, InputRequest, InputRequests, InputRequiredResult,
};
use rmcp::{ErrorData, ServiceExt, tool, tool_router, transport::stdio};

#[derive(Clone)]
struct Deployer;

#[tool_router(server_handler)]
impl Deployer {
    /// Deploy to production.
    #[tool]
    async fn deploy(
        &self,
        RequestState(state): RequestState,
        InputResponses(responses): InputResponses,
    ) -> Result<CallToolResponse, ErrorData> {
        // The state comes back from the client as it was sent: nothing here says who wrote it.
        let Some("asked") = state.as_deref() else {
            return Ok(question()?.into());
        };
        let answer = responses.as_ref().and_then(|responses| responses.get("go"));
        let answer = answer.ok_or_else(|| ErrorData::invalid_params("no answer", None))?;
        let go = answer["action"] == "accept" && answer["content"]["go"] == true;
        let text = if go { "deployed" } else { "left as it was" };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

fn question() -> Result<InputRequiredResult, ErrorData> {
    let requested_schema = ElicitationSchema::builder()
        .required_bool("go")
        .build()
        .map_err(|error| ErrorData::internal_error(error, None))?;
    let form = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "Deploy to production?".to_owned(),
        requested_schema,
    };
    let mut requests = InputRequests::new();
    let request = InputRequest::Elicitation(ElicitRequest::new(form));
    requests.insert("go".to_owned(), request);
    Ok(InputRequiredResult::new(
        Some(requests),
        Some("asked".to_owned()),
    ))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Deployer.serve(stdio()).await?.waiting().await?;
    Ok(())
}
