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
    let typed: Vec<char> = typed.to_lowercase().chars().take(LONGEST).collect();
    let near = (typed.len() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .take(COMPARED)
        .filter_map(|candidate| {
            let other: Vec<char> = candidate.to_lowercase().chars().take(LONGEST).collect();
            let begins =
                typed.len() >= 3 && (other.starts_with(&typed) || typed.starts_with(&other));
            match distance(&typed, &other) {
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

/// How many letters have to be put in, taken out, changed or swapped with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let changed = last[j] + usize::from(x != y);
            let mut best = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_what_a_person_would_count() {
        let between = |a: &str, b: &str| {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            distance(&letters(a), &letters(b))
        };
        assert_eq!(between("", "abc"), 3);
        assert_eq!(between("echo", "echo"), 0);
        assert_eq!(between("ehco", "echo"), 1);
        assert_eq!(between("ecko", "echo"), 1);
        assert_eq!(between("eco", "echo"), 1);
        assert_eq!(between("kitten", "sitting"), 3);
    }

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
