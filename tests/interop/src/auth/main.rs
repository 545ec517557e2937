//! Our halves of the interop tests for authorization: a protected server, alone or with our
//! authorization server for tests, and a client that logs in. `tests/js/interop-auth.mjs` runs them
//! with the programs of others, and plays the user's browser.
#![allow(clippy::print_stdout, reason = "the tests read what it prints")]

mod client;
mod server;

use std::error::Error;
use std::process::ExitCode;

/// Why something is not as it should be, for people.
type Problem = Box<dyn Error + Send + Sync>;

/// The scope that every request needs.
const READ: &str = "orders:read";
/// The scope that one tool needs besides.
const WRITE: &str = "orders:write";
/// A scope that nobody asks for. Without it, clients could not tell the scopes that a tool needs from
/// all that there are.
const DELETE: &str = "orders:delete";

const USAGE: &str =
    "usage: interop-auth server TOKEN-SECONDS                    with our authorization server
       interop-auth server jwt ISSUER
       interop-auth server introspection ISSUER URL CLIENT-ID CLIENT-SECRET
       interop-auth client URL TOKEN-SECONDS auto|legacy|modern [without-step-up]";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["server", ref issuer @ ..] => server::run(issuer).await,
        ["client", url, seconds, era] => client::run(url, seconds, era, true).await,
        ["client", url, seconds, era, "without-step-up"] => {
            client::run(url, seconds, era, false).await
        }
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("interop-auth: {problem}");
            ExitCode::FAILURE
        }
    }
}
