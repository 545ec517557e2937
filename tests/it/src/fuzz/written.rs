//! Inputs written like an HTTP request: a line, headers, an empty line, a body.

/// A request as it stands in an input.
pub(super) struct Written<'a> {
    /// The first line.
    pub(super) line: &'a [u8],
    /// Names and values, as they came.
    pub(super) headers: Vec<(&'a [u8], &'a [u8])>,
    /// Text after the empty line.
    pub(super) body: &'a [u8],
}

impl<'a> Written<'a> {
    /// Reads an input; there is none that cannot be read.
    pub(super) fn read(input: &'a [u8]) -> Self {
        let (line, mut rest) = cut(input, b'\n');
        let mut headers = Vec::new();
        while !rest.is_empty() {
            let (header, later) = cut(rest, b'\n');
            rest = later;
            if header.is_empty() {
                break;
            }
            let (name, value) = cut(header, b':');
            headers.push((name, value));
        }
        Self {
            line,
            headers,
            body: rest,
        }
    }

    /// Returns the values of the headers of this name; case makes no difference.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let named =
            move |(other, _): &&(&'a [u8], &'a [u8])| other.eq_ignore_ascii_case(name.as_bytes());
        self.headers.iter().filter(named).map(|(_, value)| *value)
    }

    /// Returns the body as text.
    pub(super) fn text(&self) -> Option<&'a str> {
        std::str::from_utf8(self.body).ok()
    }
}

/// Splits a text at the first `byte`: returns the part before and the part after.
pub(super) fn cut(text: &[u8], byte: u8) -> (&[u8], &[u8]) {
    match text.iter().position(|other| *other == byte) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[]),
    }
}
