//! Text in XML and HTML.

use std::fmt;

use turnbuckle_types::base::text::Foreign;

/// Text of the checked side, whose [`Display`](fmt::Display) is safe in the text and in the quoted
/// attributes of XML and HTML: hidden characters, and those that XML does not have, are escaped for
/// the eye, and at most `max_chars` characters are shown.
pub(super) struct Text<'a> {
    text: &'a str,
    max_chars: usize,
}

impl<'a> Text<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self::cut(text, usize::MAX)
    }

    pub(super) fn cut(text: &'a str, max_chars: usize) -> Self {
        Self { text, max_chars }
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        struct Escaped<'a, 'f>(&'a mut fmt::Formatter<'f>);

        impl fmt::Write for Escaped<'_, '_> {
            fn write_str(&mut self, piece: &str) -> fmt::Result {
                for char in piece.chars() {
                    match char {
                        '&' => self.0.write_str("&amp;")?,
                        '<' => self.0.write_str("&lt;")?,
                        '>' => self.0.write_str("&gt;")?,
                        '"' => self.0.write_str("&quot;")?,
                        '\'' => self.0.write_str("&#39;")?,
                        '\u{fffe}' | '\u{ffff}' => write!(self.0, "{}", char.escape_unicode())?,
                        char => self.0.write_char(char)?,
                    }
                }
                Ok(())
            }
        }

        write!(Escaped(f), "{}", Foreign::cut(self.text, self.max_chars))
    }
}

/// Returns a link if it leads to a page over HTTPS: no other scheme is written into a report.
pub(super) fn https(link: &str) -> Option<&str> {
    link.starts_with("https://").then_some(link)
}
