//! Patterns for names, in which `*` stands for any characters.

/// Returns whether a text matches a pattern in which `*` stands for any characters, also none. All other
/// characters stand for themselves.
///
/// Takes at most `pattern.len() * text.len()` steps.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut in_text) = (0, 0);
    // The place after the last star, and the place in the text up to which the star reaches.
    let mut star: Option<(usize, usize)> = None;
    while in_text < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                at += 1;
                star = Some((at, in_text));
            }
            Some(byte) if *byte == text[in_text] => {
                at += 1;
                in_text += 1;
            }
            // The last star takes one more byte. Earlier stars need not: any end that they could reach, the
            // last one reaches as well.
            Some(_) | None => match &mut star {
                Some((after, reached)) => {
                    *reached += 1;
                    (at, in_text) = (*after, *reached);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text) in [
            ("", ""),
            ("*", ""),
            ("*", "a"),
            ("issues_*", "issues_"),
            ("issues_*", "issues_list"),
            ("*_list", "issues_list"),
            ("a*b*c", "a-b-b-c"),
            ("a**c", "ac"),
            ("ä*", "ä?"),
            ("a.c", "a.c"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("", "a"),
            ("a", ""),
            ("issues_*", "issues"),
            ("*_list", "issues_list2"),
            ("a*b*c", "a-c-b"),
            ("a.c", "abc"),
            ("A", "a"),
            ("?", "a"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn many_stars_take_little_time() {
        let text = "a".repeat(10_000);
        assert!(!matches(&format!("{}b", "*a".repeat(100)), &text));
    }
}
