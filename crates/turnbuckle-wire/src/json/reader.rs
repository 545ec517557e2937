//! A reader of JSON without escapes in member names, once and in place.

use turnbuckle_types::RawJson;

use super::skip::{skip_unescaped, skip_value, skip_whitespace};

/// A position in a JSON text.
///
/// The methods return `None` for text that is not JSON, for a name with escapes, and for a value
/// that is deeper than 127 levels; the caller then reads the text in another way.
#[derive(Debug)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Reads an object. `member` is called with the name of each member, and reads its value.
    pub(crate) fn members(
        &mut self,
        member: impl FnMut(&mut Self, &'a str) -> Option<()>,
    ) -> Option<()> {
        self.mark(b'{')?;
        if self.next()? == b'}' {
            self.at += 1;
            return Some(());
        }
        self.further_members(member)
    }

    /// Reads an object of which some members were passed over, and the comma behind them.
    pub(crate) fn further_members(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a str) -> Option<()>,
    ) -> Option<()> {
        loop {
            let name = self.string()?;
            self.mark(b':')?;
            member(self, name)?;
            let mark = self.next()?;
            self.at += 1;
            match mark {
                b',' => {}
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Skips `words` if they come next, and returns whether they did.
    pub(crate) fn skip(&mut self, words: &str) -> bool {
        let rest = self.text.as_bytes().get(self.at..);
        let comes = rest.is_some_and(|rest| rest.starts_with(words.as_bytes()));
        self.at += if comes { words.len() } else { 0 };
        comes
    }

    /// Skips a value and returns its text.
    pub(crate) fn value(&mut self) -> Option<RawJson<'a>> {
        let from = skip_whitespace(self.text.as_bytes(), self.at);
        self.at = skip_value(self.text.as_bytes(), from)?;
        self.text.get(from..self.at).map(RawJson::from_valid_text)
    }

    /// Reads a value with `read`, and returns what that returned with the text of the value.
    pub(crate) fn with_text<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<(T, RawJson<'a>)> {
        let from = skip_whitespace(self.text.as_bytes(), self.at);
        let value = read(self)?;
        let text = self.text.get(from..self.at)?;
        Some((value, RawJson::from_valid_text(text)))
    }

    /// Reads a string that has no escapes.
    pub(crate) fn string(&mut self) -> Option<&'a str> {
        self.mark(b'"')?;
        let from = self.at;
        self.at = skip_unescaped(self.text.as_bytes(), from);
        let inner = self.text.get(from..self.at)?;
        let closed = self.text.as_bytes().get(self.at) == Some(&b'"');
        self.at += 1;
        closed.then_some(inner)
    }

    /// Returns whether only white space is left.
    pub(crate) fn end(&self) -> Option<()> {
        (skip_whitespace(self.text.as_bytes(), self.at) == self.text.len()).then_some(())
    }

    /// Returns the next byte that is no space, without passing it.
    #[inline]
    fn next(&mut self) -> Option<u8> {
        self.at = skip_whitespace(self.text.as_bytes(), self.at);
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn mark(&mut self, mark: u8) -> Option<()> {
        (self.next()? == mark).then(|| self.at += 1)
    }
}

/// Reads the members of the object that is the whole `text`: `member` is called with the name and the value of
/// each. Returns `None` where the methods of [`Reader`] do, and if `member` does.
pub fn read_members<'a>(
    text: &'a str,
    mut member: impl FnMut(&'a str, RawJson<'a>) -> Option<()>,
) -> Option<()> {
    let mut reader = Reader::new(text);
    reader.members(|reader, name| member(name, reader.value()?))?;
    reader.end()
}
