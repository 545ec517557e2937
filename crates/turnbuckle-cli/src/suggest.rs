//! "Did you mean": the name that was probably meant.

/// Names that are compared; a list may be longer.
const COMPARED: usize = 10_000;

/// The longest name that is compared, in characters.
const LONGEST: usize = 128;

/// The candidate that `typed` is nearest to, if one is near.
pub(crate) fn nearest<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let compared = |name: &str| -> String { name.to_lowercase().chars().take(LONGEST).collect() };
    let typed = compared(typed);
    let length = typed.chars().count();
    let near = (length / 3).clamp(1, 4);
    candidates
        .into_iter()
        .take(COMPARED)
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

/// The words to add to an error, if anything is near.
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
    fn only_what_is_near_is_suggested() {
        let names = ["echo", "add_numbers", "slow"];
        assert_eq!(nearest("ehco", names), Some("echo"));
        assert_eq!(nearest("ADD_NUMBER", names), Some("add_numbers"));
        assert_eq!(nearest("add", names), Some("add_numbers"));
        assert_eq!(nearest("weather", names), None);
        assert_eq!(nearest("x", names), None);
        assert_eq!(nearest("", names), None);
    }
}
