//! The forms of a URI that rules look at.
//!
//! Servers do not agree about the meaning of a URI: one decodes escapes before it takes the URI apart and one
//! afterwards, one takes a backslash for a slash, one ignores the case of an authority. So a URI has several forms. A
//! rule that forbids holds if it matches any of them, and a rule that permits only if it matches all.

use percent_encoding::percent_decode_str;
use turnbuckle_types::base::text::is_hidden;

/// The most decodings of a URI. One with escapes in escapes beyond has no forms.
const MAX_DECODINGS: usize = 4;

/// Stands for an expression of a URI template. Only a star matches it.
pub(super) const EXPRESSION: char = '\u{fffc}';

/// The default ports of schemes, whose URIs always have an authority.
const WEB_SCHEMES: [(&str, u16); 5] = [
    ("http", 80),
    ("https", 443),
    ("ws", 80),
    ("wss", 443),
    ("ftp", 21),
];

/// The forms of a URI, or of a URI template with [`EXPRESSION`] in place of its expressions.
#[derive(Debug)]
pub(super) struct UriForms {
    /// The forms with the user info, all of which a rule that permits must match.
    pub(super) strict: Vec<String>,
    /// The forms of which a rule that forbids matches one.
    pub(super) loose: Vec<String>,
}

impl UriForms {
    /// Returns the forms of a URI; `None` if nobody can tell where it leads: it has a `..`, a hidden character,
    /// escapes that are no UTF-8, or escapes in escapes of escapes.
    pub(super) fn new(uri: &str) -> Option<Self> {
        let levels = decode(uri)?;
        let decoded = levels.last()?;
        let mut segments = decoded.split(['/', '\\', '?', '#']);
        let has_hidden = uri.contains(is_hidden) || decoded.contains(is_hidden);
        if has_hidden || segments.any(|it| it == "..") {
            return None;
        }
        let mut forms = Self {
            strict: Vec::new(),
            loose: vec![uri.to_owned(), decoded.clone()],
        };
        for text in levels
            .iter()
            .flat_map(|it| [it.clone(), it.replace('\\', "/")])
        {
            let parts = UriParts::split(&text);
            forms
                .strict
                .push(parts.to_text(UserInfo::Kept, Case::Lower)?);
            let plain = parts.to_text(UserInfo::Removed, Case::Lower)?;
            let path = plain.split(['?', '#']).next().unwrap_or_default();
            // The document of a path is often the same with a query, and with a slash at its end.
            forms.loose.push(path.trim_end_matches('/').to_owned());
            forms.loose.push(path.to_owned());
            forms.loose.push(flat(&plain));
            forms.loose.push(plain);
        }
        for list in [&mut forms.strict, &mut forms.loose] {
            list.sort_unstable();
            list.dedup();
        }
        Some(forms)
    }
}

/// The forms of a pattern: those in which a rule that permits looks at it, and those of a rule that forbids.
#[derive(Debug)]
pub(super) struct PatternForms {
    pub(super) strict: Vec<String>,
    pub(super) loose: Vec<String>,
}

impl PatternForms {
    /// Returns the forms of a pattern, in which `*` stands for any characters.
    pub(super) fn new(pattern: &str) -> Self {
        let text = |user_info, case| UriParts::split(pattern).to_text(user_info, case);
        let mut strict = vec![pattern.to_owned()];
        let mut loose = strict.clone();
        strict.extend(text(UserInfo::Kept, Case::LowerBeforeStar));
        if let Some(plain) = text(UserInfo::Removed, Case::Lower) {
            loose.push(flat(&plain));
            loose.push(plain);
        }
        strict.dedup();
        loose.dedup();
        Self { strict, loose }
    }
}

/// Returns the text of a URI template with [`EXPRESSION`] in place of its expressions.
pub(super) fn without_expressions(template: &str) -> String {
    let mut text = String::new();
    for (index, piece) in template.split('{').enumerate() {
        let literal = match index {
            0 => piece,
            _ => {
                text.push(EXPRESSION);
                piece.split_once('}').map_or("", |it| it.1)
            }
        };
        text.push_str(literal);
    }
    text
}

/// Returns a URI after each decoding of its escapes, from none on; `None` if they are no UTF-8, or too deep.
fn decode(uri: &str) -> Option<Vec<String>> {
    let mut levels = vec![uri.trim().to_owned()];
    for _ in 0..=MAX_DECODINGS {
        let last = levels.last()?;
        let decoded = percent_decode_str(last).decode_utf8().ok()?.into_owned();
        if decoded == *last {
            return Some(levels);
        }
        levels.push(decoded);
    }
    None
}

/// The user info of an authority in a form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UserInfo {
    Kept,
    Removed,
}

/// The letters of an authority that become lower case in a form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Lower,
    /// Only letters before the first star: a star may reach beyond the authority.
    LowerBeforeStar,
}

/// The parts of a URI or a pattern, with their escapes.
struct UriParts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    /// The query and the fragment, with the character before them.
    rest: &'a str,
}

impl<'a> UriParts<'a> {
    fn split(text: &'a str) -> Self {
        let is_scheme = |it: &(&str, &str)| !it.0.is_empty() && !it.0.contains(['/', '?', '#']);
        let (scheme, after) = match text.split_once(':').filter(is_scheme) {
            Some((scheme, after)) => (Some(scheme), after),
            None => (None, text),
        };
        let is_web = default_port(scheme.unwrap_or_default()).is_some();
        let is_open = after.starts_with(['*', EXPRESSION]);
        let after_slashes = match is_web && !is_open {
            true => Some(after.trim_start_matches('/')),
            false => after.strip_prefix("//").filter(|_| scheme.is_some()),
        };
        let (authority, path) = match after_slashes {
            Some(text) => {
                let (authority, path) =
                    text.split_at(text.find(['/', '?', '#']).unwrap_or(text.len()));
                (Some(authority), path)
            }
            None if scheme.is_some_and(is_file) && !is_open => (Some(""), after),
            None => (None, after),
        };
        let (path, rest) = path.split_at(path.find(['?', '#']).unwrap_or(path.len()));
        Self {
            scheme,
            authority,
            path,
            rest,
        }
    }

    /// Returns the text without escapes: the scheme in lower case; the authority in lower case without a default
    /// port and a dot at its end, and of `file` without the name of this machine; the path without segments that are
    /// empty or `.`. `None` if an escape is no UTF-8.
    fn to_text(&self, user_info: UserInfo, case: Case) -> Option<String> {
        let decoded = |text: &str| decode(text)?.pop();
        let mut text = String::new();
        let scheme = match self.scheme {
            Some(scheme) => decoded(scheme)?.to_ascii_lowercase(),
            None => String::new(),
        };
        if self.scheme.is_some() {
            text.push_str(&scheme);
            text.push(':');
        }
        // Escaped delimiters stay: the next form has them as delimiters.
        let path = decoded(self.path)?;
        let path = path.replace('?', "%3F").replace('#', "%23");
        let Some(authority) = self.authority else {
            return Some(text + &collapse(&path) + &decoded(self.rest)?);
        };
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        text.push_str("//");
        if let Some(user) = user.filter(|_| user_info == UserInfo::Kept) {
            text.push_str(user);
            text.push('@');
        }
        let has_delimiter = |host: &String| host.contains(['/', '\\', '?', '#', '@']);
        let host = match decoded(host)? {
            decoded if has_delimiter(&decoded) => host.to_owned(),
            decoded => decoded,
        };
        let host = normalize_host(&host, default_port(&scheme));
        let (head, tail) = match case {
            Case::Lower => host.split_at(host.len()),
            Case::LowerBeforeStar => host.split_at(host.find('*').unwrap_or(host.len())),
        };
        let host = head.to_lowercase() + tail;
        let is_local = ["localhost", "127.0.0.1", "[::1]"].contains(&&*host);
        if !(is_file(&scheme) && is_local) {
            text.push_str(&host);
        }
        // A star at the end of an authority may stand for a path, too.
        let has_path = path.starts_with('/') || path.is_empty() && host.ends_with('*');
        if !has_path {
            text.push('/');
        }
        Some(text + &collapse(&path) + &decoded(self.rest)?)
    }
}

fn is_file(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("file")
}

fn default_port(scheme: &str) -> Option<u16> {
    let mut ports = WEB_SCHEMES.iter();
    let found = ports.find(|(name, _)| scheme.eq_ignore_ascii_case(name))?;
    Some(found.1)
}

/// Returns a host and port without a default port, and the host without a dot at its end.
fn normalize_host(host: &str, default_port: Option<u16>) -> String {
    let is_number = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if is_number(port) => (host, port.trim_start_matches('0')),
        _ => (host, ""),
    };
    let host = host.trim_end_matches('.');
    match port.is_empty() || default_port.is_some_and(|it| *port == *it.to_string()) {
        true => host.to_owned(),
        false => format!("{host}:{port}"),
    }
}

/// Returns a path without segments that are empty or `.`, with its slashes at both ends.
fn collapse(path: &str) -> String {
    let segments = path.split('/').filter(|it| !matches!(*it, "" | "."));
    let mut text = String::new();
    if path.starts_with('/') {
        text.push('/');
    }
    for segment in segments {
        text.push_str(segment);
        text.push('/');
    }
    let is_folder = path.ends_with('/') || path.ends_with("/.");
    if !is_folder && text.len() > 1 {
        text.pop();
    }
    text
}

/// Returns a URI without its first slashes, as servers read it that look for none: `db:///a` is `db://a` then.
fn flat(uri: &str) -> String {
    match uri.split_once(':') {
        Some((scheme, after)) if !after.starts_with('*') => {
            format!("{scheme}://{}", after.trim_start_matches('/'))
        }
        _ => uri.to_owned(),
    }
}
