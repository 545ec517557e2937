//! Completion in shells: servers of the configuration files that are found, and the tools, prompts,
//! resources and arguments of a server.
//!
//! A completion runs while the user types. It connects only to a URL that the user wrote and to a
//! server of a file that the user has agreed to, within [`TIME_LIMIT`]; it never asks, never logs in
//! and prints nothing but candidates.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Command, FromArgMatches as _, Subcommand as _};
use clap_complete::env::Shells;
use clap_complete::{ArgValueCompleter, CompletionCandidate};
use turnbuckle::auth::client::settle_token_requests;

use crate::commands::ServerVerb;
use crate::commands::offers::{TIME_LIMIT, offer_words, select_candidates, verb_words};
use crate::connection::{connect_silently, server_names};
use crate::error::CliError;

/// The variable that makes the program complete a command line, by which the scripts call it.
pub(crate) const VARIABLE: &str = "TURNBUCKLE_COMPLETE";

/// Returns the script that registers the completion in a shell.
pub(crate) fn script(shell: clap_complete::Shell) -> Result<Vec<u8>, CliError> {
    let (name, mut script) = (shell.to_string(), Vec::new());
    let shells = Shells::builtins();
    let written = shells.completer(&name).map(|shell| {
        shell.write_registration(
            VARIABLE,
            "turnbuckle",
            "turnbuckle",
            "turnbuckle",
            &mut script,
        )
    });
    match written {
        Some(Ok(())) => Ok(script),
        _ => Err(CliError::new(format!("there is no script for {name}"))),
    }
}

/// Adds the completion of positional arguments to all subcommands.
pub(crate) fn with_completers(mut command: Command) -> Command {
    // Until then, subcommands have no arguments.
    command.build();
    add_completers(command)
}

fn add_completers(command: Command) -> Command {
    let add = |option: Arg| match option.get_id() == "words" {
        true => option.add(ArgValueCompleter::new(complete_word)),
        false => option,
    };
    command.mut_args(add).mut_subcommands(add_completers)
}

/// Returns the candidates for a positional argument of a verb.
fn complete_word(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(start) = current.to_str() else {
        return Vec::new();
    };
    let candidates = select_candidates(find_candidates().unwrap_or_default(), start);
    candidates
        .into_iter()
        .map(CompletionCandidate::new)
        .collect()
}

/// Returns the words of the command line before the one that is completed, as the scripts give them.
fn words_before() -> Vec<OsString> {
    let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
    let mut words: Vec<OsString> = words.collect();
    let index = std::env::var("_CLAP_COMPLETE_INDEX").ok();
    let index = index.and_then(|index| index.parse().ok());
    words.truncate(index.unwrap_or(words.len().saturating_sub(1)));
    words
}

/// Returns all candidates for the word at this place; `None` if there are none.
fn find_candidates() -> Option<Vec<String>> {
    let parser = ServerVerb::augment_subcommands(Command::new("turnbuckle"));
    let Ok(matches) = parser.try_get_matches_from(words_before()) else {
        // Another command, which has a server alone.
        return Some(server_names(None));
    };
    let mut verb = ServerVerb::from_arg_matches(&matches).ok()?;
    let args = verb.target_args();
    if args.is_server_missing() {
        return Some(server_names(args.common.server.config.as_deref()));
    }
    let (target, words) = args.target().ok()?;
    let words = words.into_rest();
    let verb = verb_words(&matches);
    let mut common = args.common.clone();
    common.protocol.connect_timeout = TIME_LIMIT;
    common.protocol.no_input = true;
    common.protocol.trace = None;
    common.server.stored_auth_only = true;
    common.output.quiet = true;
    let runtime = tokio::runtime::Runtime::new().ok()?;
    let found = runtime.block_on(async {
        let finding = async {
            let connection = connect_silently(&common, target).await.ok()?;
            let found = offer_words(&connection, &verb, &words).await;
            connection.client.close().await;
            found
        };
        tokio::time::timeout(TIME_LIMIT, finding).await.ok()?
    });
    runtime.block_on(settle_token_requests(TIME_LIMIT));
    runtime.shutdown_background();
    found
}
