//! The name that was meant.

/// The most candidates that are looked at.
const MAX_CANDIDATES: usize = 200;

/// The longest name that is looked at, in characters.
const LONGEST: usize = 64;

/// The candidate that a name is a misspelling of, if one is near: few letters left out, added,
/// changed or swapped, whatever their case.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let name = letters(name)?;
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates.into_iter().take(MAX_CANDIDATES) {
        let Some(letters) = letters(candidate) else {
            continue;
        };
        let allowed = (name.len().max(letters.len()) / 3).max(1);
        let short = name.len().min(letters.len()) < 2;
        if name != letters && (short || name.len().abs_diff(letters.len()) > allowed) {
            continue;
        }
        let distance = distance(&name, &letters);
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The letters and digits of a name, in lower case: `userId` and `user_id` are the same.
fn letters(name: &str) -> Option<Vec<char>> {
    let letters: Vec<char> = name
        .chars()
        .take(LONGEST + 1)
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    (!letters.is_empty() && name.chars().nth(LONGEST).is_none()).then_some(letters)
}

/// How many letters to leave out, add, change or swap with the next.
fn distance(one: &[char], two: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in two.iter().enumerate() {
            let mut least = (row[j] + usize::from(a != b))
                .min(row[j + 1] + 1)
                .min(next[j] + 1);
            if i > 0 && j > 0 && *a == two[j - 1] && one[i - 1] == *b {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or_default()
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

    #[test]
    fn swapped_letters_are_one_step() {
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        assert_eq!(distance(&letters("abcd"), &letters("abdc")), 1);
        assert_eq!(distance(&letters("kitten"), &letters("sitting")), 3);
        assert_eq!(distance(&letters(""), &letters("ab")), 2);
    }
}
