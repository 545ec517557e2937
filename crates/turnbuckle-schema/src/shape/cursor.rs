//! A place in the text of a value.
//!
//! The text is a raw value: it was found to be JSON when it was made. What is still not as JSON must
//! be ends the reading, and nothing is assumed beyond that.

use std::borrow::Cow;

/// A place in a text of JSON. A copy reads on from there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// What begins at a place: a scalar that was read in full, or the inside of an array or object.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Token<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    Text(Quoted<'a>),
    Array,
    Object,
}

/// The text is not JSON here.
#[derive(Debug)]
pub(crate) struct Broken;

/// A string as JSON writes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quoted<'a> {
    written: &'a str,
    escaped: bool,
}

impl<'a> Quoted<'a> {
    /// The text that is meant. Only one with escapes is copied; half of a surrogate pair is none.
    pub(crate) fn read(self) -> Result<Cow<'a, str>, Broken> {
        if self.escaped {
            let text = serde_json::from_str::<String>(self.written);
            text.map(Cow::Owned).map_err(|_| Broken)
        } else {
            let inside = self.written.get(1..self.written.len().saturating_sub(1));
            inside.map(Cow::Borrowed).ok_or(Broken)
        }
    }

    /// The text in its quotes.
    pub(crate) fn written(self) -> &'a str {
        self.written
    }
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The text between here and a place further on, without the white space around it.
    pub(crate) fn until(self, end: Self) -> &'a str {
        self.text
            .get(self.at..end.at)
            .map(str::trim)
            .unwrap_or_default()
    }

    /// How many bytes lie between here and a place further on.
    pub(crate) fn distance(self, end: Self) -> u64 {
        end.at.saturating_sub(self.at) as u64
    }

    fn next(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied().unwrap_or_default()
    }

    /// Reads a scalar, or the opening of an array or object.
    pub(crate) fn token(&mut self) -> Result<Token<'a>, Broken> {
        match self.next() {
            b'{' => {
                self.at += 1;
                Ok(Token::Object)
            }
            b'[' => {
                self.at += 1;
                Ok(Token::Array)
            }
            b'"' => self.quoted().map(Token::Text),
            b'n' => self.word("null", Token::Null),
            b't' => self.word("true", Token::Bool(true)),
            b'f' => self.word("false", Token::Bool(false)),
            b'-' | b'0'..=b'9' => {
                let rest = &self.text[self.at..];
                let length = rest
                    .bytes()
                    .position(|b| !matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
                    .unwrap_or(rest.len());
                self.at += length;
                Ok(Token::Number(&rest[..length]))
            }
            _ => Err(Broken),
        }
    }

    fn word(&mut self, word: &str, token: Token<'a>) -> Result<Token<'a>, Broken> {
        if !self.text[self.at..].starts_with(word) {
            return Err(Broken);
        }
        self.at += word.len();
        Ok(token)
    }

    fn quoted(&mut self) -> Result<Quoted<'a>, Broken> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut escaped = false;
        let mut at = start + 1;
        loop {
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    at += 2;
                }
                Some(_) => at += 1,
                None => return Err(Broken),
            }
        }
        self.at = at + 1;
        let written = self.text.get(start..self.at).ok_or(Broken)?;
        Ok(Quoted { written, escaped })
    }

    /// The name of the next member inside an object, with the cursor at its value; or nothing,
    /// with the cursor behind the object. `first` is whether none was read before.
    pub(crate) fn member(&mut self, first: bool) -> Result<Option<Quoted<'a>>, Broken> {
        if !self.another(first, b'}')? {
            return Ok(None);
        }
        if self.next() != b'"' {
            return Err(Broken);
        }
        let name = self.quoted()?;
        if self.next() != b':' {
            return Err(Broken);
        }
        self.at += 1;
        Ok(Some(name))
    }

    /// Whether there is another item inside an array; if not, the cursor is behind the array.
    pub(crate) fn item(&mut self, first: bool) -> Result<bool, Broken> {
        self.another(first, b']')
    }

    fn another(&mut self, first: bool, end: u8) -> Result<bool, Broken> {
        match self.next() {
            byte if byte == end => {
                self.at += 1;
                Ok(false)
            }
            b',' if !first => {
                self.at += 1;
                Ok(true)
            }
            0 => Err(Broken),
            _ if first => Ok(true),
            _ => Err(Broken),
        }
    }

    /// Passes over a value, however deep it is.
    pub(crate) fn skip(&mut self) -> Result<(), Broken> {
        let mut depth = 0usize;
        loop {
            match self.next() {
                b',' | b':' if depth > 0 => self.at += 1,
                b']' | b'}' if depth > 0 => {
                    self.at += 1;
                    depth -= 1;
                }
                _ => {
                    if let Token::Array | Token::Object = self.token()? {
                        depth += 1;
                    }
                }
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_passed_over_whole() {
        for text in [
            "1",
            " -1.5e+3 ",
            "null",
            "true",
            "false",
            r#""a\"b\\""#,
            r#"{"a":[1,{"b":"]"},[]],"c":{}}"#,
            "[ ]",
        ] {
            let start = Cursor::new(text);
            let mut end = start;
            end.skip().unwrap();
            assert_eq!(start.until(end), text.trim(), "{text}");
        }
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        Cursor::new(&deep).skip().unwrap();
    }

    #[test]
    fn what_is_no_json_ends_the_reading() {
        for text in [
            "", "[", "{\"a\"", "\"a", "\"\\", "nul", "x", "[1", "{\"a\":", "é",
        ] {
            assert!(Cursor::new(text).skip().is_err(), "{text}");
        }
    }

    #[test]
    fn only_a_text_with_escapes_is_copied() {
        let read = |text| match Cursor::new(text).token() {
            Ok(Token::Text(quoted)) => quoted.read(),
            _ => Err(Broken),
        };
        assert!(matches!(read(r#""plain""#), Ok(Cow::Borrowed("plain"))));
        assert!(matches!(read(r#""a\nb""#), Ok(Cow::Owned(text)) if text == "a\nb"));
        assert!(read(r#""\ud800""#).is_err());
    }
}
