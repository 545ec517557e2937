//! A terminal client that connects to all servers of an `mcp.json`. It shows the client side: calls
//! with progress, answers to questions of servers, and subscriptions.
//!
//! Run it with `cargo run -p turnbuckle-examples --bin chat -- mcp.json`.
//!
//! ```text
//! chat mcp.json                        reads commands; `help` lists them
//! chat mcp.json --script steps.txt     reads commands from a file; fails if one fails
//! chat mcp.json --model 'llm -m tiny'  answers sampling requests with this command
//! ```
//!
//! The file has the format that other clients use. A server is a command or a URL, and `${NAME}` is
//! replaced by the environment variable of that name:
//!
//! ```json
//! {"mcpServers": {
//!     "notes": {"command": "notes", "args": ["notes.db"], "env": {"TZ": "UTC"}, "cwd": "/srv"},
//!     "wiki": {"url": "https://wiki.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
//! }}
//! ```
//!
//! An error is printed for each server that cannot be reached, and the others are used.

mod answers;
mod command;
mod config;
mod console;
mod repl;
mod servers;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;

use answers::Model;
use console::Console;
use repl::Repl;
use servers::Servers;

/// A terminal client for the servers of an mcp.json.
#[derive(Parser)]
struct Options {
    /// The file that names the servers.
    config: PathBuf,
    /// Reads commands and answers from this file instead of the terminal.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// The command that acts as the model: it reads the conversation from standard input and writes
    /// the answer to standard output. By default the last message is sent back.
    #[arg(long, value_name = "COMMAND")]
    model: Option<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Options::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("chat: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs the program and returns whether every command succeeded.
async fn run(options: Options) -> Result<bool, String> {
    let entries = config::read(&options.config)?;
    let console = match &options.script {
        Some(path) => Console::from_file(path).await?,
        None => Console::from_terminal(),
    };
    let console = Arc::new(console);
    let model = Arc::new(Model(options.model));
    let servers = Servers::connect(entries, &console, &model).await;
    let repl = Repl::new(servers, console);
    let succeeded = repl.run().await;
    repl.close().await;
    Ok(succeeded)
}
