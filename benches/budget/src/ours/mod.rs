//! The echo tool as a user of turnbuckle writes it: typed arguments, typed structured output.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use turnbuckle::stdio::StdioOptions;
use turnbuckle::{BuildError, Context, Server, Structured, tool};

use crate::Served;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

#[derive(Serialize, JsonSchema)]
struct Echoed {
    message: String,
}

fn server() -> Result<Server, BuildError> {
    let echo = |echo: Echo, _: Context| async move {
        Structured(Echoed {
            message: echo.message,
        })
    };
    Server::builder("echo", "1.0.0")
        .tool(tool("echo", echo))
        .build()
}

/// The process's own stdin and stdout.
pub(crate) fn stdio() -> Served {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = turnbuckle::stdio::run(server()?, StdioOptions::default());
    Ok(runtime.block_on(served)?)
}
