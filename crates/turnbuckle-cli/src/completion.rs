//! Completion in shells: servers of the configuration files that are found, and the tools, prompts,
//! resources and arguments of a server.
//!
//! A completion runs while the user types. It connects only to a URL that the user wrote and to a
//! server of a file that the user has agreed to, within [`TIME_LIMIT`]; it never asks, never logs in
//! and prints nothing but candidates.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use clap::{Arg, ArgMatches, Command, FromArgMatches as _, Subcommand as _};
use clap_complete::env::Shells;
use clap_complete::{ArgValueCompleter, CompletionCandidate};
use serde_json::Value;
use turnbuckle::auth::client::settle_token_requests;
use turnbuckle::skills::client::SkillsClient as _;

use crate::commands::ServerVerb;
use crate::connection::{ServerConnection, connect_silently, server_names};
use crate::error::CliError;
use crate::output::shell_quote;

/// The variable that makes the program complete a command line, by which the scripts call it.
pub(crate) const VARIABLE: &str = "TURNBUCKLE_COMPLETE";

/// The time limit of a completion.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// The most candidates that are offered.
const MAX_CANDIDATES: usize = 1000;

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
pub(crate) fn add_completers(command: Command) -> Command {
    let add = |option: Arg| match option.get_id() == "words" {
        true => option.add(ArgValueCompleter::new(complete_word)),
        false => option,
    };
    command.mut_args(add).mut_subcommands(add_completers)
}

/// Returns the candidates for a positional argument of a verb.
fn complete_word(current: &OsStr) -> Vec<CompletionCandidate> {
    let candidates = find_candidates().unwrap_or_default();
    let begins = |word: &String| {
        current
            .to_str()
            .is_some_and(|start| word.starts_with(start))
    };
    // A shell inserts a candidate as it is, and servers choose the names: no other character.
    let is_plain = |word: &String| shell_quote([&**word]) == **word;
    let candidates = candidates.into_iter().filter(begins).filter(is_plain);
    candidates
        .take(MAX_CANDIDATES)
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
            let found = offer(&connection, &verb, &words).await;
            connection.client.close().await;
            found
        };
        tokio::time::timeout(TIME_LIMIT, finding).await.ok()?
    });
    runtime.block_on(settle_token_requests(TIME_LIMIT));
    runtime.shutdown_background();
    found
}

/// Returns the words of the verb, such as `skill read`.
fn verb_words(matches: &ArgMatches) -> String {
    match matches.subcommand() {
        Some((word, rest)) => format!("{word} {}", verb_words(rest)).trim_end().to_owned(),
        None => String::new(),
    }
}

/// Returns what a server offers as the next word of a verb.
async fn offer(connection: &ServerConnection, verb: &str, words: &[String]) -> Option<Vec<String>> {
    let client = &connection.client;
    match (verb, words) {
        ("call", []) => {
            let tools = client.list_tools().fetch_all().await.ok()?;
            Some(tools.into_iter().map(|tool| tool.name).collect())
        }
        ("call", [name, ..]) => {
            let tools = client.list_tools().fetch_all().await.ok()?;
            let tool = tools.into_iter().find(|tool| tool.name == *name)?;
            let schema: Value = serde_json::from_str(tool.input_schema.as_str()).ok()?;
            let names = schema.get("properties")?.as_object()?.keys();
            Some(names.map(|name| format!("{name}=")).collect())
        }
        ("prompt" | "complete", []) => {
            let prompts = client.list_prompts().fetch_all().await.ok()?;
            Some(prompts.into_iter().map(|prompt| prompt.name).collect())
        }
        ("prompt" | "complete", [name, ..]) => {
            let prompts = client.list_prompts().fetch_all().await.ok()?;
            let prompt = prompts.into_iter().find(|prompt| prompt.name == *name)?;
            let arguments = prompt.arguments.into_iter().flatten();
            Some(
                arguments
                    .map(|argument| format!("{}=", argument.name))
                    .collect(),
            )
        }
        ("read", []) => {
            let resources = client.list_resources().fetch_all().await.ok()?;
            Some(resources.into_iter().map(|resource| resource.uri).collect())
        }
        ("skill read" | "skill verify", []) => {
            let skills = client.list_skills().fetch_all().await.ok()?;
            Some(skills.iter().map(|skill| skill.uri().to_string()).collect())
        }
        ("skill read", [uri]) => {
            let skill = client.get_skill(uri).await.ok()?;
            let files = skill.files()?.iter();
            let paths = files.filter_map(|file| skill.uri().relative(&file.uri));
            Some(paths.map(str::to_owned).collect())
        }
        _ => None,
    }
}
