//! Words of a POSIX shell.

use super::text::Foreign;

/// Returns a word as a POSIX shell reads it: in single quotes if it has characters with a meaning to
/// the shell. Hidden characters are escaped for the eye, so that such a word is not read back as it
/// was.
#[must_use]
pub fn quote(word: &str) -> String {
    let shown = Foreign::new(word).to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@,+%…".contains(c);
    match !shown.is_empty() && shown.chars().all(is_plain) {
        true => shown,
        false => format!("'{}'", shown.replace('\'', r"'\''")),
    }
}

/// Returns words as a POSIX shell reads them, each [quoted](quote).
pub fn shell_quote<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<_> = words.into_iter().map(quote).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_read_them_otherwise() {
        assert_eq!(
            shell_quote(["node", "a b.js", "it's", "", "$(x)", "ä=1"]),
            r"node 'a b.js' 'it'\''s' '' '$(x)' ä=1"
        );
        assert_eq!(quote("x\u{1b}[2J\nrm\u{202e}"), r"'x\u{1b}[2J\nrm\u{202e}'");
    }
}
