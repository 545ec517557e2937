//! Words that a server offers for the next place of a command: tools, prompts, resources and arguments.
//! Shells and the lines of `turnbuckle shell` complete from them.

use std::time::Duration;

use clap::ArgMatches;
use serde_json::Value;
use turnbuckle::skills::client::SkillsClient as _;

use crate::connection::ServerConnection;
use crate::output::shell_quote;

/// The time limit of a completion.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(2);

/// The most candidates that are offered.
const MAX_CANDIDATES: usize = 1000;

/// Returns the candidates that begin with `start`.
///
/// A candidate is inserted and shown as it is, and servers choose the names: one with a character that a
/// shell would read otherwise is left out.
pub(crate) fn select_candidates(candidates: Vec<String>, start: &str) -> Vec<String> {
    let is_plain = |word: &String| shell_quote([&**word]) == **word;
    let candidates = candidates.into_iter();
    let begin = candidates.filter(|word| word.starts_with(start));
    begin.filter(is_plain).take(MAX_CANDIDATES).collect()
}

/// Returns the words of the verb, such as `skill read`.
pub(crate) fn verb_words(matches: &ArgMatches) -> String {
    match matches.subcommand() {
        Some((word, rest)) => format!("{word} {}", verb_words(rest)).trim_end().to_owned(),
        None => String::new(),
    }
}

/// Returns what a server offers as the next word of a verb, after the words that it has.
pub(crate) async fn offer_words(
    connection: &ServerConnection,
    verb: &str,
    words: &[String],
) -> Option<Vec<String>> {
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
