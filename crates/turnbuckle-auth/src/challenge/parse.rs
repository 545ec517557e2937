//! The parser of `WWW-Authenticate`: lenient about what servers really send, bounded in size.

use super::Challenge;

const MAX_HEADER_BYTES: usize = 16 * 1024;
const MAX_CHALLENGES: usize = 16;
const MAX_PARAMS: usize = 32;
const MAX_VALUE_BYTES: usize = 4 * 1024;
const MAX_NAME_BYTES: usize = 64;

pub(super) fn parse_all<'a>(header_values: impl Iterator<Item = &'a str>) -> Vec<Challenge> {
    let mut challenges = Vec::new();
    for value in header_values {
        let mut end = value.len().min(MAX_HEADER_BYTES);
        while !value.is_char_boundary(end) {
            end -= 1;
        }
        Parser {
            rest: &value[..end],
        }
        .parse_into(&mut challenges);
        if challenges.len() >= MAX_CHALLENGES {
            break;
        }
    }
    challenges
}

/// Returns whether a character may stand in a token of HTTP.
pub(super) fn is_token_char(part: char) -> bool {
    part.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(part)
}

/// Returns whether a character may stand in a `token68`.
pub(super) fn is_token68_char(part: char) -> bool {
    part.is_ascii_alphanumeric() || "-._~+/=".contains(part)
}

fn is_space(part: char) -> bool {
    part == ' ' || part == '\t'
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn parse_into(&mut self, challenges: &mut Vec<Challenge>) {
        // The challenge of this header value that parameters belong to.
        let mut current: Option<usize> = None;
        loop {
            self.take_while(|part| is_space(part) || part == ',');
            if self.rest.is_empty() {
                return;
            }
            let token = self.take_while(is_token_char);
            if token.is_empty() || token.len() > MAX_NAME_BYTES {
                self.skip_garbage();
                continue;
            }
            if self.take_equals() {
                let value = self.take_value();
                if let (Some(value), Some(challenge)) =
                    (value, current.and_then(|index| challenges.get_mut(index)))
                    && challenge.params.len() < MAX_PARAMS
                    && value.len() <= MAX_VALUE_BYTES
                {
                    challenge.add(token, value);
                }
                continue;
            }
            if challenges.len() >= MAX_CHALLENGES {
                return;
            }
            let mut challenge = Challenge::new(token);
            if self.rest.starts_with(is_space) {
                challenge.token68 = self.take_token68();
            } else if !self.rest.is_empty() && !self.rest.starts_with(',') {
                self.skip_garbage();
                current = None;
                continue;
            }
            current = Some(challenges.len());
            challenges.push(challenge);
        }
    }

    fn take_while(&mut self, is_wanted: impl Fn(char) -> bool) -> &'a str {
        let end = self
            .rest
            .find(|part| !is_wanted(part))
            .unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Takes an equals sign with spaces around it, or nothing.
    fn take_equals(&mut self) -> bool {
        match self.rest.trim_start_matches(is_space).strip_prefix('=') {
            Some(rest) => {
                self.rest = rest.trim_start_matches(is_space);
                true
            }
            None => false,
        }
    }

    /// Takes a `token68`, which stands alone up to the next comma, or nothing.
    fn take_token68(&mut self) -> Option<String> {
        let start = self.rest.trim_start_matches(is_space);
        let end = start
            .find(|part| !is_token68_char(part))
            .unwrap_or(start.len());
        let (token68, after) = start.split_at(end);
        let after = after.trim_start_matches(is_space);
        let is_alone = after.is_empty() || after.starts_with(',');
        let body = token68.trim_end_matches('=');
        // Without `=` inside, as in `name=value`, which is a parameter. The same with nothing
        // after the sign is padding.
        if body.is_empty() || body.contains('=') || !is_alone || token68.len() > MAX_VALUE_BYTES {
            return None;
        }
        self.rest = after;
        Some(token68.to_owned())
    }

    /// Takes the value of a parameter: a quoted string, or everything up to a comma or space.
    fn take_value(&mut self) -> Option<String> {
        let Some(quoted) = self.rest.strip_prefix('"') else {
            let value = self.take_while(|part| !is_space(part) && part != ',');
            return (!value.is_empty() && !value.contains('"')).then(|| value.to_owned());
        };
        let mut value = String::new();
        let mut parts = quoted.char_indices();
        while let Some((index, part)) = parts.next() {
            match part {
                '"' => {
                    self.rest = &quoted[index + 1..];
                    return Some(value);
                }
                '\\' => match parts.next() {
                    Some((_, escaped)) => value.push(escaped),
                    None => break,
                },
                _ => value.push(part),
            }
        }
        // The quote is never closed: nothing after it can be trusted.
        self.rest = "";
        None
    }

    /// Skips to the next comma outside quotes.
    fn skip_garbage(&mut self) {
        let mut is_quoted = false;
        let mut is_escaped = false;
        for (index, part) in self.rest.char_indices() {
            match part {
                _ if is_escaped => is_escaped = false,
                '\\' if is_quoted => is_escaped = true,
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => {
                    self.rest = &self.rest[index..];
                    return;
                }
                _ => {}
            }
        }
        self.rest = "";
    }
}
