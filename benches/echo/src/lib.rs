//! The server that both bindings serve.

use turnbuckle::prelude::*;
use turnbuckle::session::handler::{Limits, Rate};

/// Text to echo.
#[data]
struct Echoed {
    message: String,
}

/// Say it again.
#[tool]
fn echo(message: String) -> Echoed {
    Echoed { message }
}

/// Returns the server, with as many tools beside the echo as the program's last argument says.
///
/// # Errors
/// When the server cannot be built.
pub fn server() -> Result<Server> {
    let more = std::env::args().next_back();
    let more: usize = more.and_then(|more| more.parse().ok()).unwrap_or(0);
    let mut server = Server::new("echo", "1.0.0").tools(tools![echo]);
    for number in 0..more {
        let tool = Tool::builder(format!("echo-{number}"));
        server =
            server.tool(tool.handler(|Args(Echoed { message })| Structured(Echoed { message })));
    }
    Ok(server.build()?)
}

/// Returns the default limits, but for how often a peer may call and open sessions: one that does nothing
/// else is faster than the default allows.
#[must_use]
pub fn limits() -> Limits {
    Limits::new()
        .call_rate(Rate::per_second(1_000_000_000))
        .handshake_rate(Rate::UNLIMITED)
}
