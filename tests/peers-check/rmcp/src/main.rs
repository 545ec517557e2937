//! A server with one tool, as its README writes one.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::{ServiceExt, schemars, tool, tool_router, transport::stdio};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct AddParams {
    /// first
    a: i64,
    /// second
    b: i64,
}

#[derive(Clone)]
struct Calc;

#[tool_router(server_handler)]
impl Calc {
    /// Add two numbers.
    #[tool]
    fn add(&self, Parameters(AddParams { a, b }): Parameters<AddParams>) -> String {
        (a + b).to_string()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Calc.serve(stdio()).await?.waiting().await?;
    Ok(())
}
