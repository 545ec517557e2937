//! Servers that `cargo xtask mutants --seen-by-check` has checked: the tools, resources and prompts of
//! the demo, and handlers that break rules, which the library must keep from clients. They stand in a
//! program of their own, which is built faster than the command.
//!
//! ```text
//! check-target demo|stateless|provoking|limited [--http ADDRESS]
//! ```
//!
//! Over HTTP the first line of the output is the URL of the endpoint, the second that of HTTP+SSE.
//! `stateless` is the demo without sessions, `limited` the provoking one
//! with few requests at a time.

#[path = "../../../crates/turnbuckle-cli/src/demo/asking.rs"]
mod asking;
#[path = "../../../crates/turnbuckle-cli/src/demo/changes.rs"]
mod changes;
#[path = "../../../crates/turnbuckle-cli/src/demo/content.rs"]
mod content;
#[path = "../../../crates/turnbuckle-cli/src/demo/forms.rs"]
mod forms;
#[path = "../../../crates/turnbuckle-cli/src/demo/jobs.rs"]
mod jobs;
#[path = "../../../crates/turnbuckle-cli/src/demo/prompts.rs"]
mod prompts;
mod provoking;
#[path = "../../../crates/turnbuckle-cli/src/demo/resources.rs"]
mod resources;
#[path = "../../../crates/turnbuckle-cli/src/demo/rounds.rs"]
mod rounds;
#[path = "../../../crates/turnbuckle-cli/src/demo/running.rs"]
mod running;
#[path = "../../../crates/turnbuckle-cli/src/demo/schemas.rs"]
mod schemas;
#[path = "../../../crates/turnbuckle-cli/src/demo/skills.rs"]
mod skills;

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::time::Duration;

use turnbuckle::http::{HttpServer, HttpServerOptions};
use turnbuckle::prelude::*;
use turnbuckle::session::handler::Limits;
use turnbuckle::stdio::{self, StdioOptions};
use turnbuckle::types::CacheScope;
use turnbuckle::{Error, Tasks};

/// The time for which clients may cache lists.
const LIST_TTL: Duration = Duration::from_secs(1);

/// Requests that are handled at a time: as many as checks have under way.
const MAX_IN_FLIGHT: usize = 8;

/// A small page size, so that checks have to follow cursors.
const PAGE_SIZE: NonZeroUsize = NonZeroUsize::new(20).unwrap();

#[tokio::main]
async fn main() -> Result {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (name, address) = match arguments[..] {
        [name] => (name, None),
        [name, "--http", address] => (name, Some(address)),
        _ => return Err(Error::new("usage: check-target NAME [--http ADDRESS]").into()),
    };
    let (server, limits) = match name {
        "demo" | "stateless" => (demo()?, Limits::new()),
        "provoking" => (provoking::server()?, provoking::limits()),
        "limited" => (
            provoking::server()?,
            provoking::limits().max_in_flight(MAX_IN_FLIGHT),
        ),
        _ => return Err(Error::new("the servers are: demo, stateless, provoking, limited").into()),
    };
    let Some(address) = address else {
        stdio::run(server, StdioOptions::new().limits(limits)).await?;
        return Ok(());
    };
    let is_stateless = name == "stateless";
    let options = HttpServerOptions::new()
        .http_sse(!is_stateless)
        .stateless(is_stateless)
        .limits(limits);
    let http = HttpServer::bind(server, address, options).await?;
    let urls = [http.url(), http.sse_url().unwrap_or_default()];
    writeln!(std::io::stdout(), "{}", urls.join("\n"))?;
    http.serve().await?;
    Ok(())
}

/// Builds the server of the demo.
fn demo() -> Result<Server> {
    let server = Server::new("check-target", "1.0.0")
        .instructions("A server to check the library with.")
        .logging()
        .page_size(PAGE_SIZE)
        .list_cache(LIST_TTL, CacheScope::Public)
        .discovery_cache(LIST_TTL, CacheScope::Public)
        .group(content::Content)
        .group(schemas::group()?)
        .group(running::Running::default())
        .group(asking::Asking)
        .group(forms::Forms)
        .group(rounds::Rounds)
        .group(jobs::Jobs)
        .group(changes::Changes)
        .group(prompts::Prompts)
        .group(resources::Resources)
        .extension(skills::skills()?)
        .extension(Tasks::new().poll_interval(Duration::from_millis(250)));
    Ok(server.build()?)
}
