//! Completion of the lines of the shell: verbs, options, and what the server offers.

use std::ffi::OsString;

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};
use clap_complete::engine::complete;

use super::{Action, Line, connection_options};
use crate::args::move_options_behind_verb;
use crate::commands::offers::{offer_words, select_candidates, verb_words};
use crate::connection::ServerConnection;

/// Completes lines with what one server offers.
pub(super) struct LineCompleter(pub(super) ServerConnection);

impl LineCompleter {
    /// Returns the place where the last word of `line` begins, and the candidates for that word.
    pub(super) async fn complete(&self, line: &str) -> (usize, Vec<String>) {
        let start = line.rfind(char::is_whitespace);
        let start = start.map_or(0, |at| {
            at + line[at..].chars().next().map_or(0, char::len_utf8)
        });
        let (before, current) = line.split_at(start);
        // Within quotes no word begins.
        let Some(words) = shlex::split(before) else {
            return (start, Vec::new());
        };
        let mut candidates = complete_options(&words, current);
        candidates.extend(self.offers(words).await.unwrap_or_default());
        (start, select_candidates(candidates, current))
    }

    /// Returns what the server offers after these words.
    async fn offers(&self, words: Vec<String>) -> Option<Vec<String>> {
        let matches = parse(words)?;
        let verb = verb_words(&matches);
        let Action::Verb(mut action) = Line::from_arg_matches(&matches).ok()?.action else {
            return None;
        };
        offer_words(&self.0, &verb, action.target_args().words()).await
    }
}

fn parse(words: Vec<String>) -> Option<ArgMatches> {
    let parser = Line::command();
    let words = move_options_behind_verb(&parser, with_name(words)).ok()?;
    parser.try_get_matches_from(words).ok()
}

/// Returns words behind the name of a command, as parsers expect them.
fn with_name(words: Vec<String>) -> Vec<OsString> {
    let words = std::iter::once("shell".to_owned()).chain(words);
    words.map(OsString::from).collect()
}

/// Returns the verbs, options and values of options that can stand there. Those of the connection, which
/// was made before, cannot.
fn complete_options(words: &[String], current: &str) -> Vec<String> {
    let mut words = words.to_vec();
    words.push(current.to_owned());
    let words = with_name(words);
    let index = words.len() - 1;
    let found = complete(&mut Line::command(), words, index, None).unwrap_or_default();
    let found = found.into_iter().filter(|found| !found.is_hide_set());
    let found = found.filter_map(|found| found.get_value().to_str().map(ToOwned::to_owned));
    let refused = connection_options();
    let refused: Vec<_> = refused
        .get_arguments()
        .filter_map(|option| Some(format!("--{}", option.get_long()?)))
        .collect();
    found.filter(|found| !refused.contains(found)).collect()
}
