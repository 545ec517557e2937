//! Structured output: `Json` around what is returned makes the output schema. An `Err` of text is
//! an error that the model reads.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::{Json, ServiceExt, schemars, tool, tool_router, transport::stdio};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Numbers {
    numbers: Vec<f64>,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Summary {
    count: usize,
    mean: f64,
}

#[derive(Clone)]
struct Statistics;

#[tool_router(server_handler)]
impl Statistics {
    /// Count and mean of some numbers.
    #[tool]
    fn summary(
        &self,
        Parameters(Numbers { numbers }): Parameters<Numbers>,
    ) -> Result<Json<Summary>, String> {
        let count = numbers.len();
        if count == 0 {
            return Err("no numbers".to_owned());
        }
        let mean = numbers.iter().sum::<f64>() / count as f64;
        Ok(Json(Summary { count, mean }))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Statistics.serve(stdio()).await?.waiting().await?;
    Ok(())
}
