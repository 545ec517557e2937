//! "Did you mean" suggestions for names.

/// The most candidates that are compared.
const MAX_CANDIDATES: usize = 200;

/// The longest name that is compared, in characters.
const MAX_NAME_CHARS: usize = 64;

/// Returns the candidate that a name is probably a misspelling of: a few letters missing, added,
/// changed or swapped, in any case.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let name = normalize(name)?;
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates.into_iter().take(MAX_CANDIDATES) {
        let Some(letters) = normalize(candidate) else {
            continue;
        };
        let (one, other) = (name.chars().count(), letters.chars().count());
        let allowed = (one.max(other) / 3).max(1);
        let short = one.min(other) < 2;
        if name != letters && (short || one.abs_diff(other) > allowed) {
            continue;
        }
        let distance = strsim::osa_distance(&name, &letters);
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns the letters and digits of a name in lower case, so that `userId` equals `user_id`.
fn normalize(name: &str) -> Option<String> {
    let letters: String = name
        .chars()
        .take(MAX_NAME_CHARS + 1)
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    (!letters.is_empty() && name.chars().nth(MAX_NAME_CHARS).is_none()).then_some(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelling_is_near_and_another_word_is_not() {
        let names = ["city", "country", "user_id", "days"];
        for (name, expected) in [
            ("ctiy", Some("city")),
            ("City", Some("city")),
            ("contry", Some("country")),
            ("coutnrz", Some("country")),
            ("userId", Some("user_id")),
            ("day", Some("days")),
            ("weather", None),
            ("x", None),
            ("", None),
            ("_", None),
        ] {
            assert_eq!(nearest(name, names), expected, "{name}");
        }
        assert_eq!(nearest("a", ["b"]), None);
        assert_eq!(nearest("A", ["a"]), Some("a"));
        assert_eq!(nearest(&"x".repeat(65), ["x"]), None);
    }
}
