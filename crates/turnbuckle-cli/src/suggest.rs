//! "Did you mean" suggestions.

/// The most candidates that are compared.
const MAX_CANDIDATES: usize = 10_000;

/// The longest name that is compared, in characters.
const MAX_NAME_CHARS: usize = 128;

/// Returns the candidate with the smallest edit distance to `typed`, if one is close enough.
pub(crate) fn nearest<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let compared =
        |name: &str| -> String { name.to_lowercase().chars().take(MAX_NAME_CHARS).collect() };
    let typed = compared(typed);
    let length = typed.chars().count();
    let near = (length / 3).clamp(1, 4);
    candidates
        .into_iter()
        .take(MAX_CANDIDATES)
        .filter_map(|candidate| {
            let other = compared(candidate);
            let begins = length >= 3 && (other.starts_with(&typed) || typed.starts_with(&other));
            match strsim::osa_distance(&typed, &other) {
                far if far > near => begins.then_some((near, candidate)),
                distance => Some((distance, candidate)),
            }
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the hint `did you mean "…"?`, if a candidate is close enough.
pub(crate) fn did_you_mean<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(typed, candidates).map(|name| format!("did you mean {name:?}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        let names = ["echo", "add_numbers", "slow"];
        assert_eq!(nearest("ehco", names), Some("echo"));
        assert_eq!(nearest("ADD_NUMBER", names), Some("add_numbers"));
        assert_eq!(nearest("add", names), Some("add_numbers"));
        assert_eq!(nearest("weather", names), None);
        assert_eq!(nearest("x", names), None);
        assert_eq!(nearest("", names), None);
    }
}
