//! The `shell` command: one connection for many verbs, typed at a terminal or read from a script.
//!
//! A line has the words of a command line without the server: `call echo message=hi`. The verbs are
//! those of [`ServerVerb`], parsed by the same definitions.

mod editor;
mod line_completer;

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::pin::pin;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use turnbuckle::client::Subscription;
use turnbuckle::session::handler::Change;

use super::listen::{change_name, declared_changes};
use super::{ServerVerb, TargetArgs};
use crate::args::{CommonArgs, Format, ProtocolArgs, ServerArgs, move_options_behind_verb};
use crate::ask::{is_interactive, read_line};
use crate::connection::{ServerConnection, Target, explain, interruption, with_connection};
use crate::error::CliError;
use crate::input::{MAX_LINE_BYTES, read_typed_line};
use crate::output::{Console, Style};
use editor::LineEditor;
use line_completer::LineCompleter;

/// The prompt at a terminal.
const PROMPT: &str = "turnbuckle> ";

/// The most changes that are printed between two lines without a look at the input.
const MAX_CHANGES_AT_ONCE: usize = 16;

/// Options of `shell`.
#[derive(Args)]
pub(crate) struct Options {
    /// Go on after a line of a script that fails
    #[arg(long)]
    keep_going: bool,

    #[command(flatten)]
    pub(crate) target_args: TargetArgs,
}

/// A line of the shell.
#[derive(Parser)]
#[command(
    name = "shell",
    override_usage = "<VERB> [ARGUMENT]... [OPTIONS]",
    after_help = "\
The verbs are those of the command line, without TARGET and `-- COMMAND`. Words are quoted as in a POSIX shell, and # begins
a comment. Options of the server and of the protocol belong to `turnbuckle shell`."
)]
struct Line {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    #[command(flatten)]
    Verb(Box<ServerVerb>),

    /// Ends the shell, as Ctrl-D does
    #[command(visible_alias = "quit")]
    Exit,
}

pub(crate) async fn run(mut options: Options) -> Result<(), CliError> {
    let (target, words) = options.target_args.target()?;
    words.expect_end()?;
    let shell = Shell {
        common: &options.target_args.common,
        target: target.clone(),
        is_interactive: is_interactive(),
        keeps_going: options.keep_going,
    };
    with_connection(shell.common, target, async |connection| {
        shell.run_lines(connection).await
    })
    .await
}

/// The settings of a shell.
struct Shell<'a> {
    common: &'a CommonArgs,
    target: Target,
    /// True if lines are typed at a terminal, and false if they are read from a script.
    is_interactive: bool,
    keeps_going: bool,
}

impl Shell<'_> {
    /// Runs lines until their end. At a terminal, a line that fails ends nothing. In a script the first
    /// failure ends the shell, or with `--keep-going` the last one is that of the shell.
    async fn run_lines(&self, connection: &ServerConnection) -> Result<(), CliError> {
        let console = &connection.console;
        if self.is_interactive {
            let text = format!(
                "connected to {}; `help` shows the verbs, Ctrl-D ends",
                connection.server_name()
            );
            console.print_note(&console.style_stderr(Style::Dim, &text));
        }
        let editor = match self.is_interactive {
            true => LineEditor::new(LineCompleter(connection.clone())),
            false => None,
        };
        let mut changes = subscribe(connection).await;
        let mut last_failure = None;
        let mut number = 0_u64;
        while let Some(line) = self
            .next_line(connection, editor.as_ref(), &mut changes)
            .await?
        {
            number += 1;
            match self.run_line(connection, &line).await {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break,
                Err(error) if self.is_interactive => {
                    let error = self.print_error(error, console);
                    if connection.signals.lock().await.is_terminated() {
                        return Err(error);
                    }
                }
                Err(error) => {
                    let error = error.at_line(number);
                    if !self.keeps_going || error.ends_script() {
                        return Err(error);
                    }
                    last_failure = Some(self.print_error(error, console));
                }
            }
        }
        last_failure.map_or(Ok(()), Err)
    }

    /// Prints an error, and returns it without its text.
    fn print_error(&self, error: CliError, console: &Console) -> CliError {
        let error = explain(error, &self.target, self.common, console);
        error.print(console.args.output != Format::Text);
        error.mark_printed()
    }

    /// Returns the next line; `None` at the end of the input. Changes that the server announces are
    /// printed meanwhile.
    async fn next_line(
        &self,
        connection: &ServerConnection,
        editor: Option<&LineEditor>,
        changes: &mut Option<Subscription>,
    ) -> Result<Option<String>, CliError> {
        let console = &connection.console;
        let editor = editor.filter(|editor| editor.is_ready());
        // Those that came with the line before.
        for _ in 0..MAX_CHANGES_AT_ONCE {
            tokio::select! {
                biased;
                change = next_change(changes) => self.print_change(&change, console),
                () = std::future::ready(()) => break,
            }
        }
        let mut signals = connection.signals.lock().await;
        let mut reading = pin!(async {
            match editor {
                Some(editor) => editor.read_line().await,
                None if self.is_interactive => read_line(console, PROMPT).await,
                None => read_typed_line().await,
            }
        });
        loop {
            tokio::select! {
                biased;
                line = &mut reading => return match line {
                    // The rest of it would be the next line.
                    Some(line) if line.len() + 1 >= MAX_LINE_BYTES => {
                        let text = format!("a line is longer than {MAX_LINE_BYTES} bytes");
                        let hint = "`@FILE` reads long arguments from a file";
                        Err(CliError::usage(text).hint(hint))
                    }
                    line => Ok(line),
                },
                () = signals.recv() => {
                    if !self.is_interactive || signals.is_terminated() {
                        return Err(interruption());
                    }
                    // The terminal has dropped the line that was begun.
                    console.print_prompt(&format!("\n{PROMPT}"));
                }
                change = next_change(changes) => {
                    if self.is_interactive {
                        console.print_message("");
                    }
                    self.print_change(&change, console);
                    if self.is_interactive {
                        console.print_prompt(PROMPT);
                    }
                }
            }
        }
    }

    fn print_change(&self, change: &Change, console: &Console) {
        if !console.args.quiet {
            let text = format!("{} changed", change_name(change));
            console.print_server_line("server:", &text);
        }
    }

    /// Runs a line. Breaks if it ends the shell.
    async fn run_line(
        &self,
        connection: &ServerConnection,
        line: &str,
    ) -> Result<ControlFlow<()>, CliError> {
        let words = shlex::split(line)
            .ok_or_else(|| CliError::usage("a quote or a backslash is not closed"))?;
        if words.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        if words.iter().any(|word| word == "-") {
            return Err(CliError::usage("standard input has the lines of the shell")
                .hint("`@FILE` reads arguments from a file"));
        }
        let words = std::iter::once("shell".to_owned()).chain(words);
        let words = words.map(OsString::from).collect();
        let parser = Line::command();
        let parsed = move_options_behind_verb(&parser, words)
            .and_then(|words| parser.try_get_matches_from(words));
        let matches = match parsed {
            Ok(matches) => matches,
            Err(error) if error.kind() == ErrorKind::DisplayHelp => {
                connection.console.print(&error.render().to_string())?;
                return Ok(ControlFlow::Continue(()));
            }
            Err(error) => return Err(usage_error(&error)),
        };
        refuse_connection_options(&matches)?;
        let line = Line::from_arg_matches(&matches).map_err(|error| usage_error(&error))?;
        let Action::Verb(mut verb) = line.action else {
            return Ok(ControlFlow::Break(()));
        };
        let args = verb.target_args();
        let output = &mut args.common.output;
        output.inherit(&self.common.output, is_given(&matches, "output"));
        let connection = connection.with_output(output);
        args.use_connection(connection)?;
        verb.run().await?;
        Ok(ControlFlow::Continue(()))
    }
}

/// Subscribes to the lists whose changes the server declares. Without any, or if the server refuses,
/// there is no subscription.
async fn subscribe(connection: &ServerConnection) -> Option<Subscription> {
    let filter = declared_changes(&connection.server.capabilities);
    if filter.is_empty() {
        return None;
    }
    connection.client.subscribe(filter).await.ok()
}

/// Returns the next change. Never returns once there are no more.
async fn next_change(changes: &mut Option<Subscription>) -> Change {
    if let Some(subscription) = changes {
        if let Some(change) = subscription.next().await {
            return change;
        }
        *changes = None;
    }
    std::future::pending().await
}

/// Returns a command with the options of the connection.
fn connection_options() -> clap::Command {
    let options = ServerArgs::augment_args(clap::Command::new("shell"));
    ProtocolArgs::augment_args(options)
}

/// Refuses options of the connection, which was made before.
fn refuse_connection_options(matches: &ArgMatches) -> Result<(), CliError> {
    let options = connection_options();
    let given = options
        .get_arguments()
        .find(|option| is_given(matches, option.get_id().as_str()));
    match given.and_then(|option| option.get_long()) {
        Some(name) => Err(CliError::usage(format!(
            "`--{name}` is an option of the connection, which was made before"
        ))
        .hint("give it to `turnbuckle shell`")),
        None => Ok(()),
    }
}

/// Returns whether an option of the verb was given.
fn is_given(matches: &ArgMatches, id: &str) -> bool {
    matches.subcommand().is_some_and(|(_, verb)| {
        let is_here = verb.try_contains_id(id).is_ok()
            && verb.value_source(id) == Some(ValueSource::CommandLine);
        // `skill list` is a verb of two words.
        is_here || is_given(verb, id)
    })
}

/// Returns the error for a line that cannot be parsed.
fn usage_error(error: &clap::Error) -> CliError {
    let text = error.render().to_string();
    let text = text.lines().next().unwrap_or_default();
    CliError::usage(text.strip_prefix("error: ").unwrap_or(text))
        .hint("`help` shows the verbs, `help VERB` its arguments")
}
