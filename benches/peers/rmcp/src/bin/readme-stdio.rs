//! The echo tool as the SDK's README writes one, on stdin and stdout.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::{Json, ServiceExt, schemars, tool, tool_router, transport::stdio};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Words {
    message: String,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Echoed {
    message: String,
}

#[derive(Clone)]
struct Echo;

#[tool_router(server_handler)]
impl Echo {
    /// Say it again.
    #[tool]
    fn echo(&self, Parameters(Words { message }): Parameters<Words>) -> Json<Echoed> {
        Json(Echoed { message })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Echo.serve(stdio()).await?.waiting().await?;
    Ok(())
}
