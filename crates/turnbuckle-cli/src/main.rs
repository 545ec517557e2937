//! The `turnbuckle` command.
//!
//! What it was asked for goes to standard output, everything else to standard error. Its exit codes
//! are in [`exit`].

mod args;
mod ask;
mod config;
mod connect;
mod demo;
mod ending;
mod exit;
mod failure;
mod output;
mod session;
mod suggest;
mod target;
mod values;
mod verbs;
mod wire;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, Subcommand};

use crate::args::{Format, Look};
use crate::failure::Failure;
use crate::verbs::{Asked, call, complete, info, list, listen, prompt, raw, read};

/// The Model Context Protocol in every revision
///
/// A server is given as a URL, as a name from an mcp.json (.mcp.json, mcp.json or .vscode/mcp.json
/// here or further up in the repository), or as a command after `--`.
#[derive(Parser)]
#[command(name = "turnbuckle", version, after_help = AFTER)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER: &str = "\
Exit codes: 0 done, 1 failed, 2 called wrongly, 3 authorization needed, 4 not reached, 5 tool failed \
or not found, 6 protocol broken, 8 too late, 130 interrupted.";

#[derive(Subcommand)]
enum Command {
    /// Shows who a server is and what it offers
    #[command(override_usage = "\
turnbuckle info <TARGET> [OPTIONS]
       turnbuckle info [OPTIONS] -- <COMMAND>...")]
    Info(Asked),

    /// Lists what a server offers: tools, resources, templates, prompts, or all of them
    #[command(override_usage = "\
turnbuckle list <TARGET> [tools|resources|templates|prompts] [OPTIONS]
       turnbuckle list [tools|resources|templates|prompts] [OPTIONS] -- <COMMAND>...")]
    List(list::Options),

    /// Calls a tool
    #[command(override_usage = "\
turnbuckle call <TARGET> <TOOL> [ARGUMENT]... [OPTIONS]
       turnbuckle call <TOOL> [ARGUMENT]... [OPTIONS] -- <COMMAND>...

Arguments:
  key=value   a value as the tool's schema wants it
  key:=json   a value as it stands
  key=@file   the text of a file
  {...}       all arguments as JSON; @file or - reads them from a file or standard input")]
    Call(Asked),

    /// Reads a resource
    #[command(override_usage = "\
turnbuckle read <TARGET> <URI> [OPTIONS]
       turnbuckle read <URI> [OPTIONS] -- <COMMAND>...")]
    Read(Asked),

    /// Fills in a prompt
    #[command(override_usage = "\
turnbuckle prompt <TARGET> <NAME> [key=value]... [OPTIONS]
       turnbuckle prompt <NAME> [key=value]... [OPTIONS] -- <COMMAND>...")]
    Prompt(Asked),

    /// Suggests values for an argument of a prompt or a resource template
    #[command(override_usage = "\
turnbuckle complete <TARGET> <PROMPT|TEMPLATE> <ARGUMENT>[=VALUE] [key=value]... [OPTIONS]
       turnbuckle complete <PROMPT|TEMPLATE> <ARGUMENT>[=VALUE] [key=value]... [OPTIONS] -- <COMMAND>...")]
    Complete(Asked),

    /// Prints changes as the server tells of them
    #[command(override_usage = "\
turnbuckle listen <TARGET> [OPTIONS]
       turnbuckle listen [OPTIONS] -- <COMMAND>...")]
    Listen(listen::Options),

    /// Sends any request and prints its result
    #[command(override_usage = "\
turnbuckle raw <TARGET> <METHOD> [JSON|@FILE|-] [OPTIONS]
       turnbuckle raw <METHOD> [JSON|@FILE|-] [OPTIONS] -- <COMMAND>...")]
    Raw(Asked),

    /// Serves every feature of the protocol, to try clients with
    Demo(demo::Options),

    /// Prints a script that completes this command in a shell
    Completion {
        /// The shell
        shell: clap_complete::Shell,
    },
}

impl Command {
    fn look(&self) -> Option<&Look> {
        let asked = match self {
            Self::Info(asked)
            | Self::Call(asked)
            | Self::Read(asked)
            | Self::Prompt(asked)
            | Self::Complete(asked)
            | Self::Raw(asked) => asked,
            Self::List(options) => &options.asked,
            Self::Listen(options) => &options.asked,
            Self::Demo(_) | Self::Completion { .. } => return None,
        };
        Some(&asked.common.look)
    }
}

fn main() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(Cli { command }) => command,
        Err(error) => return misused(&error),
    };
    let json = command
        .look()
        .is_some_and(|look| look.output != Format::Text);
    match run(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell(json);
            ExitCode::from(failure.code())
        }
    }
}

/// Help and versions are asked for; anything else is a mistake, told in the form that was asked
/// for as far as that can be seen.
fn misused(error: &clap::Error) -> ExitCode {
    let wants_json = || {
        let words: Vec<_> = std::env::args().take_while(|word| word != "--").collect();
        let is_json = |word: &str| matches!(word, "json" | "ndjson");
        words
            .windows(2)
            .any(|pair| matches!(&*pair[0], "-o" | "--output") && is_json(&pair[1]))
            || words.iter().any(|word| {
                let value = word
                    .strip_prefix("--output=")
                    .or_else(|| word.strip_prefix("-o"));
                value.is_some_and(is_json)
            })
    };
    let asked = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    if asked || !wants_json() {
        let _ = error.print();
    } else {
        let told = error.render().to_string();
        let what = told.lines().next().unwrap_or_default();
        Failure::usage(what.strip_prefix("error: ").unwrap_or(what)).tell(true);
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn run(command: Command) -> Result<(), Failure> {
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| Failure::new(format!("the runtime does not start: {error}")))?;
    let ended = runtime.block_on(async {
        match command {
            Command::Info(asked) => info::run(asked).await,
            Command::List(options) => list::run(options).await,
            Command::Call(asked) => call::run(asked).await,
            Command::Read(asked) => read::run(asked).await,
            Command::Prompt(asked) => prompt::run(asked).await,
            Command::Complete(asked) => complete::run(asked).await,
            Command::Listen(options) => listen::run(options).await,
            Command::Raw(asked) => raw::run(asked).await,
            Command::Demo(options) => demo::run(options).await,
            Command::Completion { shell } => completion(shell),
        }
    });
    // Handlers and questions that still block a thread are not waited for.
    runtime.shutdown_background();
    ended
}

fn completion(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "turnbuckle", &mut script);
    let written = std::io::Write::write_all(&mut std::io::stdout(), &script);
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::BrokenPipe => Failure::nobody_reads(),
        _ => Failure::new(format!("cannot write the script: {error}")),
    })
}
