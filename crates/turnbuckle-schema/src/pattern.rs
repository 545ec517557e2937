//! The cost of regular expressions.

/// Returns an upper estimate of the number of states of a pattern: its characters, multiplied by
/// the enclosing repetitions. Character classes count by their characters.
pub(crate) fn count_states(pattern: &str) -> u64 {
    let mut groups = Vec::new();
    let (mut sum, mut atom) = (0u64, 0u64);
    let mut rest = pattern.chars();
    while let Some(character) = rest.next() {
        match character {
            '{' => {
                let inner = repetition_bounds(rest.as_str());
                let most = inner
                    .split(',')
                    .filter_map(|bound| bound.trim().parse().ok());
                let repeated = atom.saturating_mul(most.max().unwrap_or(1));
                sum = sum
                    .saturating_add(repeated - repeated.min(atom))
                    .saturating_add(1);
                atom = repeated.max(1);
                continue;
            }
            '(' => {
                groups.push(sum);
                (sum, atom) = (0, 0);
                continue;
            }
            ')' => {
                // An unbalanced parenthesis is inside a class. Then everything before counts as repeated.
                atom = sum.max(1);
                sum = sum.saturating_add(groups.pop().unwrap_or_default());
                continue;
            }
            '\\' => {
                rest.next();
            }
            _ => {}
        }
        sum = sum.saturating_add(1);
        if !matches!(character, '?' | '*' | '+') {
            atom = 1;
        }
    }
    groups.into_iter().fold(sum, u64::saturating_add).max(1)
}

/// Returns the text between the braces of a repetition, after the opening brace. The text contains
/// no brace itself, so no part of a pattern is scanned twice.
fn repetition_bounds(rest: &str) -> &str {
    let is_other = |c: char| !(c.is_ascii_digit() || c == ',' || c.is_whitespace());
    match rest.find(is_other) {
        Some(end) if rest[end..].starts_with('}') => &rest[..end],
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_states_of_a_pattern_multiply_where_repetitions_nest() {
        for (pattern, least, most) in [
            ("", 1, 1),
            ("abc", 3, 3),
            ("^[0-9]{4}-[0-9]{2}$", 10, 40),
            ("a{500}", 500, 510),
            ("(a{500}){20}", 10_000, 10_400),
            ("((ab){100}){100}", 20_000, 21_000),
            ("(a{9,500}b){2,}", 1_002, 1_100),
            (r"(\(a{100}){10}", 1_000, 1_100),
            ("([)]a{100}){10}", 1_000, 5_000),
            ("(?:a{100}?){10}", 1_000, 1_100),
            ("a{ 5 , 100 }", 100, 120),
            ("a{0000000000000000000000000000000000000100}", 100, 150),
            ("a{x}{100", 8, 10),
        ] {
            let states = count_states(pattern);
            assert!((least..=most).contains(&states), "{pattern} {states}");
        }
    }

    #[test]
    fn braces_that_are_never_closed_are_not_looked_for_again_and_again() {
        let many = 1 << 21;
        for open in ["{", "{,"] {
            assert!(count_states(&open.repeat(many)) >= many as u64);
        }
    }
}
