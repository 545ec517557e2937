//! A client for the terminal that drives several servers at once, those of an `mcp.json`.
//!
//! ```text
//! chat mcp.json                        a prompt; `help` tells what it understands
//! chat mcp.json --script steps.txt     the same from a file; fails if a step does
//! chat mcp.json --model 'llm -m tiny'  what answers when a server asks for a model
//! ```
//!
//! The file is that of other clients. A server in it is a command or a URL, and `${NAME}` stands for
//! a variable of the environment:
//!
//! ```json
//! {"mcpServers": {
//!     "notes": {"command": "notes", "args": ["notes.db"], "env": {"TZ": "UTC"}, "cwd": "/srv"},
//!     "wiki": {"url": "https://wiki.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
//! }}
//! ```
//!
//! A server that cannot be reached is named, and the others are used.

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

/// Drives the servers of an mcp.json.
#[derive(Parser)]
struct Options {
    /// The file that names the servers.
    config: PathBuf,
    /// Reads commands and answers from this file instead of the terminal.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// The command that answers as the model: it reads the conversation and writes the answer. By
    /// default the last message is sent back.
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
        Some(path) => Console::of_file(path).await?,
        None => Console::of_terminal(),
    };
    let console = Arc::new(console);
    let model = Arc::new(Model(options.model));
    let servers = Servers::connect(entries, &console, &model).await;
    let repl = Repl::new(servers, console);
    let went_well = repl.run().await;
    repl.close().await;
    Ok(went_well)
}
