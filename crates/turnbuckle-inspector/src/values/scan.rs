//! The scanner that finds the byte ranges of all values of a JSON text. Nothing is parsed into numbers
//! or strings, and nothing is changed.

use crate::api::JsonFault;

/// The limits of the index of one text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexLimits {
    /// The most values. Each takes 20 bytes of memory.
    pub(crate) max_values: usize,
    /// The most values around a value.
    pub(crate) max_depth: usize,
}

impl Default for IndexLimits {
    fn default() -> Self {
        Self {
            max_values: 8_000_000,
            max_depth: 200_000,
        }
    }
}

/// A value of a JSON text. Values are stored in the order in which they begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    /// The first byte.
    pub(crate) start: u32,
    /// The byte after the value.
    pub(crate) end: u32,
    /// The index of the first value that begins behind this one.
    pub(crate) next: u32,
    /// The number of members or items.
    pub(crate) children: u32,
    /// The byte after the opening quote of the name; 0 for a value without a name.
    pub(crate) key: u32,
}

/// All values of a JSON text, up to its first fault.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) nodes: Vec<Node>,
    pub(crate) fault: Option<JsonFault>,
}

impl Index {
    /// Indexes a text.
    pub(crate) fn new(text: &[u8], limits: IndexLimits) -> Self {
        let mut scanner = Scanner {
            text,
            at: 0,
            nodes: Vec::with_capacity((text.len() / 16).min(limits.max_values)),
            stack: Vec::new(),
            limits,
        };
        let fault = match u32::try_from(text.len()) {
            Ok(_) => scanner.scan().err(),
            Err(_) => Some("the text is longer than 4 GB"),
        };
        let at = scanner.at as u64;
        scanner.close_all();
        Self {
            nodes: scanner.nodes,
            fault: fault.map(|sentence| JsonFault {
                at,
                sentence: sentence.to_owned(),
            }),
        }
    }
}

/// The reason why a text is not JSON, in a sentence.
type Fault = &'static str;

struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
    nodes: Vec<Node>,
    /// The indexes of the objects and arrays that are open.
    stack: Vec<u32>,
    limits: IndexLimits,
}

/// The bytes that end a run of plain characters in a string.
const SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        special[byte] = true;
        byte += 1;
    }
    special[b'"' as usize] = true;
    special[b'\\' as usize] = true;
    special
};

/// The strings that are looked at byte by byte.
const SHORT_STRING_BYTES: usize = 32;

/// Returns the number of bytes before the first special one.
fn plain_bytes(rest: &[u8]) -> usize {
    let plain = &rest[..memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len())];
    // Without an early exit the compiler makes vector instructions of it.
    match plain
        .iter()
        .fold(false, |found, byte| found | (*byte < 0x20))
    {
        true => plain
            .iter()
            .position(|byte| *byte < 0x20)
            .unwrap_or(plain.len()),
        false => plain.len(),
    }
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn scan(&mut self) -> Result<(), Fault> {
        let mut key = 0;
        loop {
            self.skip_space();
            if self.nodes.len() >= self.limits.max_values {
                return Err("the text has more values than the Inspector indexes");
            }
            if self.begin_value(key)? {
                key = self.first_key()?;
                continue;
            }
            match self.end_value()? {
                Some(next_key) => key = next_key,
                None => return Ok(()),
            }
        }
    }

    /// Reads a scalar, an empty object or an empty array whole, or the beginning of another one. Returns
    /// whether the first member or item follows.
    fn begin_value(&mut self, key: u32) -> Result<bool, Fault> {
        let start = self.at;
        let first = self.peek().ok_or("the text ends where a value belongs")?;
        let is_container = matches!(first, b'{' | b'[');
        if is_container && self.stack.len() >= self.limits.max_depth {
            return Err("the values are nested deeper than the Inspector indexes");
        }
        match first {
            b'{' | b'[' => self.at += 1,
            b'"' => {
                self.at += 1;
                self.skip_string()?;
            }
            b't' => self.skip_word(b"true")?,
            b'f' => self.skip_word(b"false")?,
            b'n' => self.skip_word(b"null")?,
            b'-' | b'0'..=b'9' => self.skip_number()?,
            _ => return Err("a value belongs here"),
        }
        let index = self.nodes.len() as u32;
        self.nodes.push(Node {
            start: start as u32,
            end: self.at as u32,
            next: index + 1,
            children: 0,
            key,
        });
        if !is_container {
            return Ok(false);
        }
        self.stack.push(index);
        self.skip_space();
        if self.peek() == Some(closing(first)) {
            self.at += 1;
            self.close();
            return Ok(false);
        }
        Ok(true)
    }

    /// Reads the name of the first member, if an object is open.
    fn first_key(&mut self) -> Result<u32, Fault> {
        match self.opening() {
            Some(b'{') => self.key(),
            _ => Ok(0),
        }
    }

    /// Reads the text behind a value up to the next value. Returns the place of its name, or `None` at
    /// the end of the text.
    fn end_value(&mut self) -> Result<Option<u32>, Fault> {
        loop {
            self.skip_space();
            let (Some(&container), Some(opening)) = (self.stack.last(), self.opening()) else {
                return match self.at == self.text.len() {
                    true => Ok(None),
                    false => Err("something follows the value"),
                };
            };
            self.nodes[container as usize].children += 1;
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    let key = match opening {
                        b'{' => self.key()?,
                        _ => 0,
                    };
                    return Ok(Some(key));
                }
                Some(byte) if byte == closing(opening) => {
                    self.at += 1;
                    self.close();
                }
                Some(_) => return Err("a comma or the end of the object or array belongs here"),
                None => return Err("the text ends inside an object or array"),
            }
        }
    }

    /// Returns the first byte of the innermost open object or array.
    fn opening(&self) -> Option<u8> {
        let container = *self.stack.last()? as usize;
        Some(self.text[self.nodes[container].start as usize])
    }

    /// Reads a name with its colon, and returns the byte after its opening quote.
    fn key(&mut self) -> Result<u32, Fault> {
        self.skip_space();
        if self.peek() != Some(b'"') {
            return Err("the name of a member belongs here");
        }
        self.at += 1;
        let key = self.at as u32;
        self.skip_string()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err("a colon belongs behind the name of a member");
        }
        self.at += 1;
        Ok(key)
    }

    /// Skips a string behind its opening quote.
    fn skip_string(&mut self) -> Result<(), Fault> {
        loop {
            let rest = &self.text[self.at..];
            let short = &rest[..rest.len().min(SHORT_STRING_BYTES)];
            let plain = short.iter().position(|byte| SPECIAL[*byte as usize]);
            self.at += plain.unwrap_or_else(|| plain_bytes(rest));
            match self.peek() {
                None => return Err("the text ends inside a string"),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.skip_escape()?,
                Some(_) => return Err("a control character stands in a string"),
            }
        }
    }

    fn skip_escape(&mut self) -> Result<(), Fault> {
        let length = match self.text.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u') => {
                let digits = self.text.get(self.at + 2..self.at + 6);
                match digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    true => 6,
                    false => return Err("four hexadecimal digits belong behind \\u"),
                }
            }
            _ => return Err("the character behind a backslash is no escape"),
        };
        self.at += length;
        Ok(())
    }

    fn skip_word(&mut self, word: &[u8]) -> Result<(), Fault> {
        if !self.text[self.at..].starts_with(word) {
            return Err("a value belongs here");
        }
        self.at += word.len();
        Ok(())
    }

    fn skip_number(&mut self) -> Result<(), Fault> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.skip_digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.skip_digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.skip_digits()?;
        }
        Ok(())
    }

    fn skip_digits(&mut self) -> Result<(), Fault> {
        let rest = &self.text[self.at..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        match digits {
            0 => Err("a digit belongs here"),
            _ => Ok(()),
        }
    }

    /// Ends the innermost open object or array here.
    fn close(&mut self) {
        if let Some(container) = self.stack.pop() {
            let next = self.nodes.len() as u32;
            let node = &mut self.nodes[container as usize];
            node.end = self.at as u32;
            node.next = next;
        }
    }

    /// Ends all open objects and arrays where the text is at fault, and counts them as children.
    fn close_all(&mut self) {
        while !self.stack.is_empty() {
            self.close();
            if let Some(outer) = self.stack.last() {
                self.nodes[*outer as usize].children += 1;
            }
        }
    }
}

fn closing(opening: u8) -> u8 {
    match opening {
        b'{' => b'}',
        _ => b']',
    }
}
