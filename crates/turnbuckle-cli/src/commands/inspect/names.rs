//! Names of servers for people, pages and command lines, without secrets.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use turnbuckle_inspector::ServerWords;
use turnbuckle_inspector::api::TransportKind;
use turnbuckle_types::base::secrets::url_without_query;

use crate::args::ServerArgs;
use crate::connection::Target;
use crate::observe::has_secret;
use crate::output::shell_quote;

pub(crate) fn transport_of(target: &Target) -> TransportKind {
    match target {
        Target::Url { sse: true, .. } => TransportKind::Sse,
        Target::Url { .. } => TransportKind::Http,
        Target::Command { .. } => TransportKind::Program,
    }
}

/// Returns the name in the configuration, or that of the host or the program.
pub(super) fn short_name(target: &Target) -> String {
    match target {
        Target::Url {
            entry: Some(entry), ..
        }
        | Target::Command {
            entry: Some(entry), ..
        } => entry.name.clone(),
        Target::Url { url, .. } => {
            let (_, address) = url.split_once("://").unwrap_or(("", url));
            let host = address.split(['/', '?']).next();
            host.unwrap_or(address).to_owned()
        }
        Target::Command { program, .. } => {
            let file = Path::new(program).file_stem();
            file.unwrap_or(program).to_string_lossy().into_owned()
        }
    }
}

/// Returns the URL without its query, or the command line.
pub(crate) fn address_of(target: &Target) -> String {
    match target {
        Target::Url { url, .. } => url_without_query(url).to_string(),
        Target::Command { program, args, .. } => {
            let words = command_words(program, args);
            shell_quote(words.iter().map(String::as_str))
        }
    }
}

/// Returns the words that name a server on a command line.
pub(super) fn words_of(target: &Target, server_args: &ServerArgs) -> ServerWords {
    let mut words = ServerWords::default();
    match target {
        Target::Url {
            entry: Some(entry), ..
        }
        | Target::Command {
            entry: Some(entry), ..
        } => {
            if let Some(file) = &server_args.config {
                let file = file.to_string_lossy().into_owned();
                words.target.extend(["--config".to_owned(), file]);
            }
            words.target.push(entry.name.clone());
        }
        Target::Url { url, .. } => words.target.push(url_without_query(url).to_string()),
        Target::Command { program, args, .. } => words.command = command_words(program, args),
    }
    words
}

/// Returns a command line; of one with a secret, the program alone.
fn command_words(program: &OsStr, args: &[OsString]) -> Vec<String> {
    let words = std::iter::once(program).chain(args.iter().map(OsString::as_os_str));
    let words: Vec<_> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let line = shell_quote(words.iter().map(String::as_str));
    match has_secret(&line) {
        true => vec![program.to_string_lossy().into_owned(), "…".to_owned()],
        false => words,
    }
}
