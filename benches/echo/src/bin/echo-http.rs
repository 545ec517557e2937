//! Over HTTP; the port is the first line of stdout. `echo-http stateless` has no sessions.

use std::io::Write;

use turnbuckle::http::{HttpServer, HttpServerOptions, HttpShares, Sessions};
use turnbuckle::session::handler::Rate;

#[tokio::main]
async fn main() -> turnbuckle::Result {
    let stateless = std::env::args().any(|argument| argument == "stateless");
    let config = HttpServerOptions::new()
        .limits(turnbuckle_echo::limits())
        // One client opens all sessions.
        .shares(
            HttpShares::new()
                .max_owner_percent(100)
                .max_address_percent(100)
                .address_handshake_rate(Rate::UNLIMITED),
        )
        .sessions(match stateless {
            true => Sessions::Stateless,
            false => Sessions::Local,
        });
    let server = HttpServer::bind(turnbuckle_echo::server()?, "127.0.0.1:0", config).await?;
    writeln!(
        std::io::stdout(),
        "{}",
        server.local_addr().map_or(0, |address| address.port())
    )?;
    Ok(server.serve().await?)
}
