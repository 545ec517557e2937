//! The `turnbuckle` command.
//!
//! Results go to standard output, everything else to standard error. The exit codes are in
//! [`error::ExitStatus`].

mod args;
mod arguments;
mod ask;
mod authorization;
mod commands;
mod completion;
mod connection;
mod demo;
mod error;
mod input;
mod json;
mod observe;
mod output;
mod serving;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::CompleteEnv;
use tokio::runtime::{Builder, Runtime};
use turnbuckle::auth::client::settle_token_requests;

use crate::args::{Deferred, Format, OutputArgs, move_options_behind_verb};
use crate::commands::hosts::{add, remove};
use crate::commands::{
    ServerVerb, agent_help, auth, bridge, check, gateway, inspect, keys, registry, schema, serve,
    servers, shell,
};
use crate::error::CliError;
use crate::output::write_stdout;

/// glibc's allocator keeps what a burst of small requests has used.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The Model Context Protocol in every revision
///
/// A server is given as a URL (or unix:SOCKET:PATH), as a name from an mcp.json (.mcp.json, mcp.json or .vscode/mcp.json
/// here or further up in the repository), or as a command after `--`. The options of a command may also stand before it:
/// `turnbuckle -o json list my-server`.
#[derive(Parser)]
#[command(name = "turnbuckle", version, after_help = EXIT_CODES_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES_HELP: &str = "\
Exit codes: 0 success, 1 failed, 2 usage error or unusable file, 3 authorization needed, 4 unreachable, 5 tool failed, \
or the server answered with an error, 6 protocol violated or verification failed, 7 result incomplete, 8 timed out, 130 interrupted.";

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Verb(ServerVerb),

    /// Checks a server against the specification, in every revision
    #[command(override_usage = "\
turnbuckle check <TARGET> [OPTIONS]
       turnbuckle check [OPTIONS] -- <COMMAND>...")]
    Check(Deferred<check::Options>),

    /// Keeps one connection for many verbs, typed or read from a script on standard input
    #[command(override_usage = "\
turnbuckle shell <TARGET> [OPTIONS] [<SCRIPT]
       turnbuckle shell [OPTIONS] [<SCRIPT] -- <COMMAND>...")]
    Shell(Deferred<shell::Options>),

    /// Opens the Inspector: a page that shows what servers say, and sends them requests
    #[command(
        visible_alias = "ui",
        override_usage = "\
turnbuckle inspect [TARGET] [OPTIONS]
       turnbuckle inspect [OPTIONS] -- <COMMAND>..."
    )]
    Inspect(Deferred<inspect::Options>),

    /// Serves a server over HTTP, or on standard input and output, in every revision
    #[command(override_usage = "\
turnbuckle bridge <TARGET> [OPTIONS]
       turnbuckle bridge [OPTIONS] -- <COMMAND>...")]
    Bridge(Deferred<bridge::Options>),

    /// Lists the servers of the configuration files
    Servers(Deferred<servers::Options>),

    /// Writes a server into the configuration of a host: Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Zed,
    /// Codex or Gemini CLI
    #[command(override_usage = "\
turnbuckle add [OPTIONS] <NAME> <URL>
       turnbuckle add [OPTIONS] <NAME> -- <COMMAND>...")]
    Add(Deferred<add::Options>),

    /// Removes a server from the configuration of a host
    Remove(Deferred<remove::Options>),

    /// Checks what is published to the registry of servers
    #[command(subcommand)]
    Registry(registry::RegistryCommand),

    /// Logs in at servers, and shows or removes the login
    #[command(subcommand)]
    Auth(auth::AuthCommand),

    /// Makes the secret keys that the instances of a server share
    #[command(subcommand)]
    Keys(keys::KeysCommand),

    /// Serves what is here: folders of skills, and others
    #[command(subcommand)]
    Serve(serve::ServeCommand),

    /// Serves many servers as one: those of a file, with its rules, or those of an mcp.json
    Gateway(gateway::Options),

    /// Serves every feature of the protocol, for testing clients
    Demo(Deferred<demo::Options>),

    /// Prints the JSON Schema of a revision: its messages, and the types that they are made of
    Schema(Deferred<schema::Options>),

    /// Prints a script that completes commands, servers, tools, prompts, resources and arguments in a shell
    #[command(visible_alias = "completions")]
    Completion {
        /// The shell that reads the script
        shell: clap_complete::Shell,
    },

    /// Prints how a coding agent uses this command, as a skill (SKILL.md)
    AgentHelp,
}

impl Command {
    fn output_args(&mut self) -> Option<&OutputArgs> {
        let args = match self {
            Self::Verb(verb) => verb.target_args(),
            Self::Check(Deferred(options)) => &mut options.target_args,
            Self::Shell(Deferred(options)) => &mut options.target_args,
            Self::Inspect(Deferred(options)) => &mut options.target_args,
            Self::Bridge(Deferred(options)) => &mut options.target_args,
            Self::Servers(Deferred(options)) => return Some(&options.output),
            Self::Add(Deferred(options)) => return Some(&options.file.output),
            Self::Remove(Deferred(options)) => return Some(&options.file.output),
            Self::Registry(command) => return Some(command.output_args()),
            Self::Auth(command) => return command.output_args(),
            Self::Gateway(options) => return options.output_args(),
            Self::Keys(_)
            | Self::Serve(_)
            | Self::Demo(_)
            | Self::Schema(_)
            | Self::Completion { .. }
            | Self::AgentHelp => return None,
        };
        Some(&args.common.output)
    }
}

fn main() -> ExitCode {
    CompleteEnv::with_factory(|| completion::with_completers(Cli::command()))
        .var(completion::VARIABLE)
        .complete();
    let (mut command, threads) = match parse_arguments() {
        Ok(parsed) => parsed,
        Err(error) => return report_usage_error(&error),
    };
    let json = command
        .output_args()
        .is_some_and(|args| args.output != Format::Text);
    let _telemetry = observe::start_telemetry();
    match run(command, threads) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print(json);
            ExitCode::from(failure.exit_code())
        }
    }
}

/// The threads that a command runs on.
#[derive(Clone, Copy)]
enum Threads {
    /// One, for one client: no request changes threads, and the command starts sooner.
    One,
    /// As many as there are processors.
    Several,
}

impl Threads {
    /// Chooses the threads of a command.
    fn of_command(matches: &ArgMatches) -> Self {
        match matches.subcommand() {
            Some((_, matches)) => Self::of_command(matches),
            None => match matches.try_get_one("stdio") {
                Ok(Some(true)) => Self::One,
                _ => Self::Several,
            },
        }
    }

    fn start_runtime(self) -> io::Result<Runtime> {
        let mut builder = match self {
            Self::One => Builder::new_current_thread(),
            Self::Several => Builder::new_multi_thread(),
        };
        builder.enable_all().build()
    }
}

/// Parses the command line.
fn parse_arguments() -> Result<(Command, Threads), clap::Error> {
    let mut parser = Cli::command();
    let words = move_options_behind_verb(&parser, std::env::args_os().collect())?;
    let matches = parser.try_get_matches_from_mut(words)?;
    let Cli { command } =
        Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut parser))?;
    Ok((command, Threads::of_command(&matches)))
}

/// Prints a parse error of the command line, as JSON if the arguments ask for JSON output. Help and
/// version requests also end up here and exit with 0.
fn report_usage_error(error: &clap::Error) -> ExitCode {
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
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    if is_help || !wants_json() {
        let _ = error.print();
    } else {
        let text = error.render().to_string();
        let message = text.lines().next().unwrap_or_default();
        CliError::usage(message.strip_prefix("error: ").unwrap_or(message)).print(true);
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// The time that a command which has ended gives to token requests.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(3);

fn run(command: Command, threads: Threads) -> Result<(), CliError> {
    let runtime = threads
        .start_runtime()
        .map_err(|error| CliError::new(format!("cannot start the runtime: {error}")))?;
    let ended = runtime.block_on(async {
        match command {
            Command::Verb(verb) => verb.run().await,
            Command::Check(Deferred(options)) => Box::pin(check::run(options)).await,
            Command::Shell(Deferred(options)) => Box::pin(shell::run(options)).await,
            Command::Inspect(Deferred(options)) => Box::pin(inspect::run(options)).await,
            Command::Bridge(Deferred(options)) => Box::pin(bridge::run(options)).await,
            Command::Servers(Deferred(options)) => servers::run(options).await,
            Command::Add(Deferred(options)) => add::run(options).await,
            Command::Remove(Deferred(options)) => remove::run(options).await,
            Command::Registry(command) => registry::run(&command),
            Command::Auth(command) => auth::run(command).await,
            Command::Keys(command) => keys::run(&command),
            Command::Serve(command) => serve::run(command).await,
            Command::Gateway(options) => Box::pin(gateway::run(options)).await,
            Command::Demo(Deferred(options)) => demo::run(options).await,
            Command::Schema(Deferred(options)) => schema::run(&options),
            Command::Completion { shell } => {
                completion::script(shell).and_then(|script| write_stdout(&script))
            }
            Command::AgentHelp => agent_help::run(),
        }
    });
    // A signal may have come between a refresh and the moment when its new token is stored.
    runtime.block_on(settle_token_requests(TOKEN_TIMEOUT));
    // Blocking handlers and dialogs may still hold a thread.
    runtime.shutdown_background();
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of options that a command and its subcommands describe.
    fn options(command: &clap::Command) -> usize {
        let of_subcommands: usize = command.get_subcommands().map(options).sum();
        command.get_arguments().count() + of_subcommands
    }

    #[test]
    fn a_start_describes_the_options_of_few_commands() {
        let mut command = Cli::command();
        let (at_start, limit) = (options(&command), 40);
        command.build();
        let all = options(&command);
        assert!(at_start < limit && all > 10 * limit, "{at_start} of {all}");
        let call = command.find_subcommand("call").expect("it is a command");
        let about = call.get_about().expect("its help says something");
        assert_eq!(about.to_string(), "Calls a tool");
    }

    #[test]
    fn one_client_is_served_by_one_thread() {
        for (line, is_one) in [
            ("serve time --stdio", true),
            ("bridge --stdio https://example.com/mcp", true),
            ("gateway --stdio -f gateway.toml", true),
            ("demo --stdio", true),
            ("demo", false),
            ("serve time", false),
            ("gateway check gateway.toml", false),
            ("list https://example.com/mcp", false),
        ] {
            let words = ["turnbuckle"].into_iter().chain(line.split(' '));
            let matches = Cli::command().get_matches_from(words);
            let threads = Threads::of_command(&matches);
            assert_eq!(matches!(threads, Threads::One), is_one, "{line}");
        }
    }
}
