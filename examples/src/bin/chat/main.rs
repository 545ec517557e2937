//! A chat with a language model that uses the tools of all servers of an `mcp.json`.
//!
//! ```text
//! export OPENAI_API_KEY=…
//! chat mcp.json --model gpt-5-mini
//! chat mcp.json --model qwen3 --url http://localhost:11434/v1     any OpenAI-compatible endpoint
//! chat mcp.json --scripted answers.jsonl                          no model: answers from a file
//! ```
//!
//! The file has the format that other clients use. A server is a command or a URL, and `${NAME}` is
//! replaced by the environment variable of that name:
//!
//! ```json
//! {"mcpServers": {
//!     "notes": {"command": "notes", "args": ["notes.db"]},
//!     "wiki": {"url": "https://wiki.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
//! }}
//! ```
//!
//! Each call of a tool needs the user's consent, once or for the rest of the chat. A server that cannot
//! be reached is named, and the others are used; it is connected later by itself. The user attaches
//! resources to a message, and begins with prompts of the servers. The oldest messages are dropped
//! when the conversation becomes too long.

mod answers;
mod chat_loop;
mod consent;
mod console;
mod history;
mod items;
mod model;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use turnbuckle::servers::{Servers, ServersBuilder};
use turnbuckle::types::LoggingLevel;

use chat_loop::ChatLoop;
use console::Console;
use history::History;
use model::Model;

/// A chat with a model that uses the servers of an mcp.json.
#[derive(Parser)]
struct Options {
    /// The file that names the servers.
    config: PathBuf,
    /// The name of the model.
    #[arg(long, required_unless_present = "scripted", default_value = "")]
    model: String,
    /// The URL of an OpenAI-compatible endpoint; its key is in the environment variable
    /// OPENAI_API_KEY.
    #[arg(long, default_value = "https://api.openai.com/v1")]
    url: String,
    /// Takes the answers of the model from this file, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    scripted: Option<PathBuf>,
    /// The most answers of the model to one message of the user.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    max_rounds: usize,
    /// The most bytes of the conversation that the model reads; older messages are dropped.
    #[arg(long, value_name = "BYTES", default_value_t = 256 << 10)]
    max_history: usize,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("chat: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<(), String> {
    let model = Arc::new(match &options.scripted {
        Some(file) => Model::from_script(file)?,
        None => Model::openai(&options.url, &options.model)?,
    });
    let console = Arc::new(Console::new());
    let builder = Servers::builder("chat", env!("CARGO_PKG_VERSION"))
        .config_file(&options.config)
        .map_err(|error| error.to_string())?;
    let builder = with_logs(builder, &console);
    let builder = answers::install(builder, &console, &model);
    let servers = builder.connect().await.map_err(|error| error.to_string())?;
    for status in servers.status() {
        if !status.is_ready() || !status.problems.is_empty() {
            console.print(format!("-- {status}"));
        }
    }
    let history = History::new(options.max_history);
    let mut chat = ChatLoop::new(servers.clone(), model, console, history, options.max_rounds);
    chat.run().await;
    servers.close().await;
    Ok(())
}

/// Prints the log messages of the servers.
fn with_logs(builder: ServersBuilder, console: &Arc<Console>) -> ServersBuilder {
    let console = console.clone();
    builder.on_log(LoggingLevel::Info, move |server, message| {
        console.print(format!("-- {server}: {}", message.data));
    })
}
