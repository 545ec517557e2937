//! The echo tool as the SDK's README writes one, over HTTP as its examples mount it. The port is
//! the first line of stdout.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use rmcp::{Json, schemars, tool, tool_router};

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
    let service = StreamableHttpService::new(
        || Ok(Echo),
        LocalSessionManager::default().into(),
        StreamableHttpServerConfig::default(),
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    axum::serve(listener, router).await?;
    Ok(())
}
