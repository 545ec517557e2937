//! A cursor over the JSON text of a value.
//!
//! The text was already found to be JSON. If it is malformed all the same, reading ends with an
//! error.

use std::borrow::Cow;

/// A position in JSON text. A copy continues from the same position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// A scalar that was read completely, or the start of an array or object.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Token<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    Text(JsonString<'a>),
    Array,
    Object,
}

/// The error of text that is not JSON.
#[derive(Debug)]
pub(crate) struct MalformedJson;

/// A JSON string as written, with quotes and escapes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonString<'a> {
    written: &'a str,
    escaped: bool,
}

impl<'a> JsonString<'a> {
    /// Returns the decoded text. Only strings with escapes are copied. Half of a surrogate pair is
    /// an error.
    pub(crate) fn decode(self) -> Result<Cow<'a, str>, MalformedJson> {
        if self.escaped {
            let text = serde_json::from_str::<String>(self.written);
            text.map(Cow::Owned).map_err(|_| MalformedJson)
        } else {
            let inside = self.written.get(1..self.written.len().saturating_sub(1));
            inside.map(Cow::Borrowed).ok_or(MalformedJson)
        }
    }

    /// Returns the string with its quotes.
    pub(crate) fn as_written(self) -> &'a str {
        self.written
    }
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Returns the text between this and a later position, without surrounding white space.
    pub(crate) fn text_until(self, end: Self) -> &'a str {
        self.text
            .get(self.at..end.at)
            .map(str::trim)
            .unwrap_or_default()
    }

    /// Returns the number of bytes between this and a later position.
    pub(crate) fn bytes_until(self, end: Self) -> u64 {
        end.at.saturating_sub(self.at) as u64
    }

    fn peek_byte(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied().unwrap_or_default()
    }

    /// Reads a scalar, or the opening of an array or object.
    pub(crate) fn read_token(&mut self) -> Result<Token<'a>, MalformedJson> {
        match self.peek_byte() {
            b'{' => {
                self.at += 1;
                Ok(Token::Object)
            }
            b'[' => {
                self.at += 1;
                Ok(Token::Array)
            }
            b'"' => self.read_string().map(Token::Text),
            b'n' => self.read_literal("null", Token::Null),
            b't' => self.read_literal("true", Token::Bool(true)),
            b'f' => self.read_literal("false", Token::Bool(false)),
            b'-' | b'0'..=b'9' => {
                let rest = &self.text[self.at..];
                let length = rest
                    .bytes()
                    .position(|b| !matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
                    .unwrap_or(rest.len());
                self.at += length;
                Ok(Token::Number(&rest[..length]))
            }
            _ => Err(MalformedJson),
        }
    }

    fn read_literal(&mut self, word: &str, token: Token<'a>) -> Result<Token<'a>, MalformedJson> {
        if !self.text[self.at..].starts_with(word) {
            return Err(MalformedJson);
        }
        self.at += word.len();
        Ok(token)
    }

    fn read_string(&mut self) -> Result<JsonString<'a>, MalformedJson> {
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
                None => return Err(MalformedJson),
            }
        }
        self.at = at + 1;
        let written = self.text.get(start..self.at).ok_or(MalformedJson)?;
        Ok(JsonString { written, escaped })
    }

    /// Reads the name of the next member and stops at its value. At the end of the object, returns
    /// `None` and stops behind it. `first` says that no member was read before.
    pub(crate) fn next_member(
        &mut self,
        first: bool,
    ) -> Result<Option<JsonString<'a>>, MalformedJson> {
        if !self.has_next(first, b'}')? {
            return Ok(None);
        }
        if self.peek_byte() != b'"' {
            return Err(MalformedJson);
        }
        let name = self.read_string()?;
        if self.peek_byte() != b':' {
            return Err(MalformedJson);
        }
        self.at += 1;
        Ok(Some(name))
    }

    /// Returns whether the array has another item; if not, the cursor stands behind the array.
    pub(crate) fn next_item(&mut self, first: bool) -> Result<bool, MalformedJson> {
        self.has_next(first, b']')
    }

    fn has_next(&mut self, first: bool, end: u8) -> Result<bool, MalformedJson> {
        match self.peek_byte() {
            byte if byte == end => {
                self.at += 1;
                Ok(false)
            }
            b',' if !first => {
                self.at += 1;
                Ok(true)
            }
            0 => Err(MalformedJson),
            _ if first => Ok(true),
            _ => Err(MalformedJson),
        }
    }

    /// Skips a value of any depth.
    pub(crate) fn skip_value(&mut self) -> Result<(), MalformedJson> {
        let mut depth = 0usize;
        loop {
            match self.peek_byte() {
                b',' | b':' if depth > 0 => self.at += 1,
                b']' | b'}' if depth > 0 => {
                    self.at += 1;
                    depth -= 1;
                }
                _ => {
                    if let Token::Array | Token::Object = self.read_token()? {
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
            end.skip_value().unwrap();
            assert_eq!(start.text_until(end), text.trim(), "{text}");
        }
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        Cursor::new(&deep).skip_value().unwrap();
    }

    #[test]
    fn invalid_json_ends_the_cursor() {
        for text in [
            "", "[", "{\"a\"", "\"a", "\"\\", "nul", "x", "[1", "{\"a\":", "é",
        ] {
            assert!(Cursor::new(text).skip_value().is_err(), "{text}");
        }
    }

    #[test]
    fn only_a_text_with_escapes_is_copied() {
        let read = |text| match Cursor::new(text).read_token() {
            Ok(Token::Text(quoted)) => quoted.decode(),
            _ => Err(MalformedJson),
        };
        assert!(matches!(read(r#""plain""#), Ok(Cow::Borrowed("plain"))));
        assert!(matches!(read(r#""a\nb""#), Ok(Cow::Owned(text)) if text == "a\nb"));
        assert!(read(r#""\ud800""#).is_err());
    }
}
