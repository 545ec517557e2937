//! Prompts and their completion.

use turnbuckle::CompletionRequest;
use turnbuckle::prelude::*;

pub(super) fn group() -> Group {
    Group::new().prompts(prompts![review, framework, hello, goodbye, thanks])
}

/// Reviews code.
#[prompt(title = "Review")]
fn review(
    /// The programming language.
    #[schema(complete = languages)]
    language: String,
    code: Option<String>,
) -> String {
    format!("Review this {language}: {code:?}")
}

fn languages(typing: CompletionRequest) -> Vec<&'static str> {
    let known = ["c", "ruby", "rust"];
    let fits = |name: &&str| name.starts_with(&typing.value);
    known.into_iter().filter(fits).collect()
}

#[prompt]
fn framework(language: String, #[schema(complete = frameworks)] name: String) -> String {
    format!("Explain {name} for {language}")
}

/// Suggests by what is filled in already.
async fn frameworks(typing: CompletionRequest) -> Vec<String> {
    let language = typing.arguments.get("language");
    vec![format!("for {}", language.map_or("any", String::as_str))]
}

#[prompt]
fn hello() -> &'static str {
    "Say hello"
}

#[prompt]
fn goodbye() -> &'static str {
    "Say goodbye"
}

#[prompt]
fn thanks() -> &'static str {
    "Say thanks"
}
