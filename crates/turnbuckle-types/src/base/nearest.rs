//! "Did you mean" suggestions for names.

/// The most candidates that are compared.
const MAX_CANDIDATES: usize = 1000;

/// The longest name that is compared, in characters.
const MAX_NAME_CHARS: usize = 64;

/// The shortest beginning that stands for a whole name, in letters.
const MIN_PREFIX_CHARS: usize = 3;

/// Returns the candidate that a name is probably a misspelling of: a third of the letters missing,
/// added, changed or swapped, or the beginning or the end left out. Case and punctuation do not
/// count.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = normalize(name)?;
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates.into_iter().take(MAX_CANDIDATES) {
        let Some(letters) = normalize(candidate) else {
            continue;
        };
        let distance = distance(&name, &letters);
        if let Some(distance) = distance
            && best.is_none_or(|(least, _)| distance < least)
        {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns the question `did you mean "…"?`, if a candidate is near.
pub fn did_you_mean<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(name, candidates).map(|name| format!("did you mean {name:?}?"))
}

/// Returns the number of letters in which two names differ, if they are similar.
fn distance(one: &str, other: &str) -> Option<usize> {
    if one == other {
        return Some(0);
    }
    let (first, second) = (one.chars().count(), other.chars().count());
    let (short, long) = (first.min(second), first.max(second));
    let allowed = (long / 3).max(1);
    if short >= MIN_PREFIX_CHARS && (one.starts_with(other) || other.starts_with(one)) {
        return Some(allowed.min(long - short));
    }
    if short < 2 || long - short > allowed {
        return None;
    }
    Some(strsim::osa_distance(one, other)).filter(|distance| *distance <= allowed)
}

/// Returns the letters and digits of a name in lower case, so that `userId` equals `user_id`.
fn normalize(name: &str) -> Option<String> {
    let is_long = name.chars().nth(MAX_NAME_CHARS).is_some();
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    let letters = letters.take(MAX_NAME_CHARS).flat_map(char::to_lowercase);
    Some(letters.collect()).filter(|letters: &String| !is_long && !letters.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelling_is_near_and_another_word_is_not() {
        let names = ["city", "country", "user_id", "days", "add_numbers", "echo"];
        for (name, expected) in [
            ("ctiy", Some("city")),
            ("City", Some("city")),
            ("contry", Some("country")),
            ("coutnrz", Some("country")),
            ("userId", Some("user_id")),
            ("day", Some("days")),
            ("add", Some("add_numbers")),
            ("ADD_NUMBER", Some("add_numbers")),
            ("echoes", Some("echo")),
            ("ad", None),
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
        assert_eq!(
            nearest("tool", ["tools_list", "took", "tool_"]),
            Some("tool_")
        );
    }
}
