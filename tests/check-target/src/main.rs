//! Servers that `cargo xtask mutants --seen-by-check` has checked: the tools, resources and prompts of
//! the demo, and handlers that break rules, which the library must keep from clients. They stand in a
//! program of their own, which is built faster than the command.
//!
//! ```text
//! check-target NAME [--http ADDRESS]
//! ```
//!
//! | name | server |
//! |---|---|
//! | `demo` | the demo |
//! | `stateless` | the demo without sessions |
//! | `provoking` | handlers that break rules |
//! | `limited` | the same, with few requests of a connection at a time |
//! | `crowded` | one tool, with few calls of all connections at a time |
//! | `users`, `clients`, `claims` | `provoking` with a login, for two callers that differ in that |
//!
//! Over HTTP the lines of the output are the URL of the endpoint, that of HTTP+SSE, and the tokens of the two
//! callers; what does not exist is an empty line.

#[path = "../../../crates/turnbuckle-cli/src/demo/items/mod.rs"]
mod items;
mod logins;
mod provoking;

use std::io::Write as _;

use turnbuckle::http::{HttpServer, HttpServerOptions, Sessions};
use turnbuckle::prelude::*;
use turnbuckle::session::handler::Limits;
use turnbuckle::stdio::{self, StdioOptions};
use turnbuckle::{Authorize as _, Error};

/// Requests and calls that are handled at a time: as many as checks have under way.
const MAX_AT_ONCE: usize = 8;

#[tokio::main]
async fn main() -> Result {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (name, address) = match arguments[..] {
        [name] => (name, None),
        [name, "--http", address] => (name, Some(address)),
        _ => return Err(Error::new("usage: check-target NAME [--http ADDRESS]").into()),
    };
    let server = match name {
        "demo" | "stateless" => items::add_to(Server::new("check-target", "1.0.0"))?.build()?,
        "crowded" => provoking::small_server(MAX_AT_ONCE)?,
        "users" | "clients" | "claims" => provoking::builder()?.tool(logins::who_am_i()).build()?,
        "provoking" | "limited" => provoking::server()?,
        _ => return Err(Error::new("there is no server of that name").into()),
    };
    let limits = match name {
        "demo" | "stateless" => Limits::new(),
        "limited" => provoking::limits().max_in_flight(MAX_AT_ONCE),
        _ => provoking::limits(),
    };
    let Some(address) = address else {
        stdio::run(server, StdioOptions::new().limits(limits)).await?;
        return Ok(());
    };
    let callers = logins::callers(name);
    let is_stateless = name == "stateless";
    let options = HttpServerOptions::new()
        // A token is for one resource.
        .http_sse(!is_stateless && callers.is_none())
        .sessions(match is_stateless {
            true => Sessions::Stateless,
            false => Sessions::Local,
        })
        .limits(limits);
    let mut http = HttpServer::bind(server, address, options).await?;
    let (url, sse) = (http.url(), http.sse_url().unwrap_or_default());
    let [token, other] = callers
        .as_ref()
        .map_or_else(Default::default, logins::Callers::tokens);
    if let Some(callers) = callers {
        http = http.auth(callers.resource_server(&url)?);
    }
    writeln!(std::io::stdout(), "{url}\n{sse}\n{token}\n{other}")?;
    http.serve().await?;
    Ok(())
}
