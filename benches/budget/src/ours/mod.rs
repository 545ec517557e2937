//! The echo tool as a user of turnbuckle writes it: typed arguments, typed structured output.

use std::convert::Infallible;

use hyper::service::service_fn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use turnbuckle::http::{Config, StreamableHttp};
use turnbuckle::stdio::StdioOptions;
use turnbuckle::{Args, BuildError, Context, Server, Structured, Tool};

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
    let echo = |Args(echo): Args<Echo>, _: Context| async move {
        Structured(Echoed {
            message: echo.message,
        })
    };
    Server::new("echo", "1.0.0")
        .tool(Tool::builder("echo").handler(echo))
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

/// One connection to the endpoint, served by a bare hyper.
pub(crate) fn http() -> Served {
    over_http(Config::new())
}

/// The same without legacy sessions.
pub(crate) fn http_stateless() -> Served {
    over_http(Config::new().stateless(true))
}

fn over_http(config: Config) -> Served {
    let service = StreamableHttp::new(server()?, config);
    crate::floor::http::serve_one(service_fn(move |request| {
        let service = service.clone();
        async move { Ok::<_, Infallible>(service.answer(request).await) }
    }))
}
