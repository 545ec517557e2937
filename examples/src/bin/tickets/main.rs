//! A ticket server: wraps the REST API of an issue tracker. It shows how a server uses an API with a
//! token of its own, and what clients read of the API's errors.
//!
//! Run it with `TRACKER_TOKEN=… cargo run -p turnbuckle-examples --bin tickets -- URL`.
//!
//! ```text
//! tickets https://tracker.example/api/                          serves on stdio
//! tickets https://tracker.example/api/ --http 127.0.0.1:8080    serves http://127.0.0.1:8080/mcp
//! ```
//!
//! The API has `GET tickets?text=…&page=…`, `GET tickets/ID`, `POST tickets` and `POST
//! tickets/ID/comments`. Clients never see the token, and an error of the API that does not help them
//! stays in the log.

mod api;

use std::time::Duration;

use clap::Parser;
use turnbuckle::RunArgs;
use turnbuckle::middleware::Cache;
use turnbuckle::prelude::*;

use api::{Api, ApiError, Page, Ticket};

/// Serves the tickets of an issue tracker.
#[derive(Parser)]
struct Options {
    /// The URL of the API.
    url: String,
    /// The token for the API.
    #[arg(long, env = "TRACKER_TOKEN", hide_env_values = true)]
    token: String,
    #[command(flatten)]
    run: RunArgs,
}

#[tokio::main]
async fn main() -> turnbuckle::Result {
    let options = Options::parse();
    // Searches that a client repeats reach the API once in ten seconds.
    let cache = Cache::new().ttl(Duration::from_secs(10));
    let server = Server::new("tickets", env!("CARGO_PKG_VERSION"))
        .state(Api::new(&options.url, &options.token)?)
        .timeout(Duration::from_secs(30))
        .group(Group::new().layer(cache).tools(tools![search]))
        .tools(tools![create, comment])
        .resources(resources![ticket])
        .prompts(prompts![triage]);
    server.run_with(options.run).await
}

/// Search tickets and return a page of them, the newest first.
#[tool(read_only)]
async fn search(
    api: State<Api>,
    /** words that a ticket must contain */
    #[schema(max_len = 200)]
    text: String,
    #[schema(default = 1, min = 1, max = 1_000)] page: u32,
) -> Result<Page, ApiError> {
    api.search(&text, page).await
}

/// Create a ticket.
#[tool(destructive = false)]
async fn create(
    api: State<Api>,
    #[schema(min_len = 1, max_len = 200)] title: String,
    /** the text, as Markdown */
    #[schema(default, max_len = 50_000)]
    body: String,
) -> Result<Ticket, ApiError> {
    api.create(&title, &body).await
}

/// Add a comment to a ticket.
#[tool(destructive = false)]
async fn comment(
    api: State<Api>,
    id: u64,
    /** the comment, as Markdown */
    #[schema(min_len = 1, max_len = 50_000)]
    text: String,
) -> Result<String, ApiError> {
    api.comment(id, &text).await?;
    Ok(format!("the comment stands on ticket {id}"))
}

/// A ticket with its comments, as Markdown.
#[resource("tickets://{id}", mime = "text/markdown")]
async fn ticket(api: State<Api>, id: u64) -> Result<String, ApiError> {
    let ticket = api.ticket(id).await?;
    let mut text = format!("# {}\n\n{}\n", ticket.title, ticket.body);
    for comment in ticket.comments {
        text += &format!("\n## {}\n\n{}\n", comment.author, comment.text);
    }
    Ok(text)
}

/// Ask for a first look at a ticket.
#[prompt]
async fn triage(
    api: State<Api>,
    /** the ticket's number */
    id: u64,
) -> Result<String, ApiError> {
    let ticket = api.ticket(id).await?;
    Ok(format!(
        "Is this ticket a bug, a wish or a question? What is missing to act upon it?\n\n# {}\n\n{}",
        ticket.title, ticket.body
    ))
}
