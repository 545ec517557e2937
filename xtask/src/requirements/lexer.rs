//! Rust source as words, signs and line comments: what is needed to find functions, no more.

/// A word, a sign or a comment, with its line from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Where it starts.
    pub(super) line: usize,
    /// What it is.
    pub(super) kind: TokenKind,
}

/// Literals and block comments leave no token.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name or key word.
    Ident(String),
    /// Any other character.
    Punct(char),
    /// A line comment, without its two slashes.
    Comment(String),
}

/// Cuts `source` into tokens.
pub(super) fn tokens(source: &str) -> Vec<Token> {
    let mut lexer = Lexer {
        chars: source.chars().collect(),
        at: 0,
        line: 1,
    };
    let mut out = Vec::new();
    loop {
        let line = lexer.line;
        let Some(c) = lexer.next() else {
            return out;
        };
        let kind = match c {
            '/' if lexer.peek(0) == Some('/') => {
                let text = lexer.take_while(|c| c != '\n');
                Some(TokenKind::Comment(text.split_at(1).1.to_owned()))
            }
            '/' if lexer.peek(0) == Some('*') => {
                lexer.block_comment();
                None
            }
            '"' => {
                lexer.string();
                None
            }
            '\'' => {
                lexer.char_or_lifetime();
                None
            }
            c if c.is_alphabetic() || c == '_' => lexer.word(c).map(TokenKind::Ident),
            c if c.is_whitespace() || c.is_ascii_digit() => None,
            c => Some(TokenKind::Punct(c)),
        };
        out.extend(kind.map(|kind| Token { line, kind }));
    }
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        self.line += usize::from(c == '\n');
        Some(c)
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> String {
        let mut text = String::new();
        while self.peek(0).is_some_and(&keep) {
            text.extend(self.next());
        }
        text
    }

    fn block_comment(&mut self) {
        let mut open = 1_usize;
        self.next();
        while open > 0 {
            match (self.next(), self.peek(0)) {
                (Some('/'), Some('*')) => open += 1,
                (Some('*'), Some('/')) => open -= 1,
                (None, _) => return,
                _ => continue,
            }
            self.next();
        }
    }

    /// The rest of a string, its opening quote read.
    fn string(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '\\' => drop(self.next()),
                '"' => return,
                _ => {}
            }
        }
    }

    /// The rest of a raw string: `hashes` and the opening quote are next.
    fn raw_string(&mut self, hashes: usize) {
        self.at += hashes + 1;
        while let Some(c) = self.next() {
            if c == '"' && (0..hashes).all(|ahead| self.peek(ahead) == Some('#')) {
                self.at += hashes;
                return;
            }
        }
    }

    /// `'a'`, `'\n'` and `'{'` vanish; of a lifetime only the quote does.
    fn char_or_lifetime(&mut self) {
        if self.peek(0) == Some('\\') {
            self.next();
            self.next();
            self.take_while(|c| c != '\'');
            self.next();
        } else if self.peek(1) == Some('\'') {
            self.next();
            self.next();
        }
    }

    /// A word that starts with `first`, or the string to which it is the prefix.
    fn word(&mut self, first: char) -> Option<String> {
        let mut word = String::from(first);
        word.push_str(&self.take_while(|c| c.is_alphanumeric() || c == '_'));
        let hashes = self.chars[self.at..]
            .iter()
            .take_while(|c| **c == '#')
            .count();
        let quoted = self.peek(hashes) == Some('"');
        match word.as_str() {
            "r" | "br" | "cr" if quoted => self.raw_string(hashes),
            "b" | "c" if quoted && hashes == 0 => {
                self.next();
                self.string();
            }
            _ => return Some(word),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_comments_hide_what_they_quote() {
        let source = "a /* { /* } */ */ \"}\\\"{\" 'x' '\\'' r#\"\"{\"# b\"{\" &'b c\n// d\n";
        let words: Vec<String> = tokens(source)
            .into_iter()
            .map(|token| match token.kind {
                TokenKind::Ident(word) => word,
                TokenKind::Punct(c) => c.to_string(),
                TokenKind::Comment(text) => format!("{}:{text}", token.line),
            })
            .collect();
        assert_eq!(words, ["a", "&", "b", "c", "2: d"]);
    }
}
