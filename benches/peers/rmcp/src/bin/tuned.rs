//! The echo tool with all that the SDK's API allows for speed: the router is built once and shared,
//! answers are JSON where there is no session, sockets have TCP_NODELAY, and stdio goes through
//! non-blocking pipes. `tuned stdio`, `tuned http` or `tuned http-session`.

use std::sync::Arc;

use axum::serve::ListenerExt;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use rmcp::{
    Json, ServerHandler, ServiceExt, schemars, tool, tool_handler, tool_router,
    transport::io::stdio_pipes,
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Words {
    message: String,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Echoed {
    message: String,
}

#[derive(Clone)]
struct Echo {
    router: Arc<ToolRouter<Self>>,
}

#[tool_router]
impl Echo {
    fn new() -> Self {
        Self {
            router: Arc::new(Self::tool_router()),
        }
    }

    /// Say it again.
    #[tool]
    fn echo(&self, Parameters(Words { message }): Parameters<Words>) -> Json<Echoed> {
        Json(Echoed { message })
    }
}

#[tool_handler(router = self.router)]
impl ServerHandler for Echo {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("stdio") => {
            Echo::new().serve(stdio_pipes()).await?.waiting().await?;
            Ok(())
        }
        Some("http") => http(false).await,
        Some("http-session") => http(true).await,
        _ => Err("stdio, http or http-session".into()),
    }
}

async fn http(sessions: bool) -> Result<(), Box<dyn std::error::Error>> {
    let echo = Echo::new();
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(sessions)
        .with_json_response(true);
    let service = StreamableHttpService::new(
        move || Ok(echo.clone()),
        LocalSessionManager::default().into(),
        config,
    );
    // What a router adds is left out: the service answers every path.
    let router = axum::Router::new().fallback_service(service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await?;
    Ok(())
}
