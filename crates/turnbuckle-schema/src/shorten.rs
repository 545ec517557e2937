//! Shortening of untrusted text for messages.

/// The most characters of a text that a message repeats.
const MAX_CHARS: usize = 80;

/// Returns the first 80 characters of a text with control characters escaped.
#[must_use]
pub fn shorten(text: &str) -> String {
    shorten_to(text, MAX_CHARS)
}

/// Returns the first `limit` characters of a text with control characters escaped.
#[must_use]
pub fn shorten_to(text: &str, limit: usize) -> String {
    let mut characters = text.chars();
    let mut out = String::new();
    for character in characters.by_ref().take(limit) {
        if is_hidden(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

/// Returns whether a character is a control character or changes the direction of text.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_control_characters_escaped() {
        assert_eq!(shorten("metric"), "metric");
        assert_eq!(
            shorten("a\n\u{1b}[31m\u{202e}b"),
            "a\\n\\u{1b}[31m\\u{202e}b"
        );
        assert_eq!(shorten(&"é".repeat(80)), "é".repeat(80));
        assert_eq!(shorten(&"é".repeat(81)), format!("{}…", "é".repeat(80)));
    }
}
