//! Suggestions while the user types.

use turnbuckle::{Context, Typing};

const WORDS: [&str; 8] = [
    "lion", "london", "lyon", "oslo", "paris", "park", "party", "tokyo",
];

/// Words that begin with what is typed.
pub(super) async fn words(typing: Typing, _: Context) -> Vec<String> {
    let typed = typing.value.to_lowercase();
    let fitting = WORDS.iter().filter(|word| word.starts_with(&typed));
    fitting.map(|word| (*word).to_owned()).collect()
}

/// Numbers that begin with what is typed. Only the first hundred are sent; the rest is counted.
pub(super) async fn ids(typing: Typing, _: Context) -> Vec<String> {
    let all = (1..=999).map(|id: u16| id.to_string());
    all.filter(|id| id.starts_with(&typing.value)).collect()
}
