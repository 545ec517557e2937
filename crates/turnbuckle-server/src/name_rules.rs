//! Rules for names of tools and prompts, URIs, URLs and media types.

use turnbuckle_types::base::text::{has_hidden, is_hidden};

/// The most characters of a tool's name.
pub(crate) const MAX_TOOL_NAME: usize = 128;

/// The most characters of a tool's name that all known model providers accept.
pub(crate) const PORTABLE_TOOL_NAME: usize = 64;

/// The most bytes of a prompt's name.
pub(crate) const MAX_PROMPT_NAME: usize = 256;

/// The most bytes of a resource's URI.
pub(crate) const MAX_URI: usize = 2048;

/// The most bytes of a URL that a user is sent to.
pub(crate) const MAX_URL: usize = 8192;

/// The most bytes of a media type.
pub(crate) const MAX_MEDIA_TYPE: usize = 255;

/// The reason that a name, URI or media type cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NameError {
    /// The name is empty.
    #[error("it is empty")]
    Empty,
    /// The name is longer than `limit` (characters of a tool name, bytes of anything else).
    #[error("it is longer than {limit}")]
    TooLong { limit: usize },
    /// A character that is not allowed, `at` this byte.
    #[error("the character {character:?} at byte {at} is not allowed")]
    Character { character: char, at: usize },
    /// The URI does not begin with a scheme and a colon.
    #[error("it does not begin with a scheme such as `file:`")]
    NoScheme,
    /// The URL has no host, or nothing after its scheme.
    #[error("it names no host")]
    NoHost,
    /// A `%` that is not followed by two hexadecimal digits, `at` this byte.
    #[error("the `%` at byte {at} starts no escape")]
    Escape { at: usize },
    /// The media type is not of the form `type/subtype`.
    #[error("it is not of the form `type/subtype`")]
    NotAMediaType,
}

/// Checks the name of a tool: 1 to 128 of the characters `A-Z a-z 0-9 _ - .`
///
/// Specification: server/tools, Tool Names (2026-07-28).
///
/// # Errors
/// If the name is empty, too long or has another character.
pub(crate) fn check_tool_name(name: &str) -> Result<(), NameError> {
    let allowed = |byte: u8| IN_TOOL_NAMES[usize::from(byte)];
    if (1..=MAX_TOOL_NAME).contains(&name.len()) && name.bytes().all(allowed) {
        return Ok(());
    }
    let length = name.chars().take(MAX_TOOL_NAME + 1).count();
    within(name, length, MAX_TOOL_NAME)?;
    only(name, |c| u8::try_from(c).is_ok_and(allowed))
}

/// The bytes that are allowed in a tool's name, as a table: a server with a thousand tools checks
/// many names.
static IN_TOOL_NAMES: [bool; 256] = {
    let mut allowed = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let at = byte as usize;
        allowed[at] = u8::is_ascii_alphanumeric(&byte) || matches!(byte, b'_' | b'-' | b'.');
        byte += 1;
    }
    allowed
};

/// Returns whether a valid tool name is too long for some model providers.
#[must_use]
pub(crate) fn is_long_tool_name(name: &str) -> bool {
    name.len() > PORTABLE_TOOL_NAME
}

/// Checks the name of a prompt: up to 256 bytes of text without hidden characters.
///
/// Specification: server/prompts (2026-07-28).
///
/// The specification restricts no characters; these can be shown in a menu.
///
/// # Errors
/// If the name is empty, too long or has a hidden character.
pub(crate) fn check_prompt_name(name: &str) -> Result<(), NameError> {
    within(name, name.len(), MAX_PROMPT_NAME)?;
    match has_hidden(name) {
        true => only(name, |c| !is_hidden(c)),
        false => Ok(()),
    }
}

/// Checks the URI of a resource: a scheme, then only characters that RFC 3986 allows, up to 2,048
/// bytes.
///
/// Specification: server/resources (2026-07-28).
///
/// # Errors
/// If the scheme is missing, or a character must be percent-encoded, or the URI is too long.
pub(crate) fn check_uri(uri: &str) -> Result<(), NameError> {
    check_uri_within(uri, MAX_URI)
}

/// Checks a URL that a user is sent to: a URI of up to 8,192 bytes with more than a scheme, and
/// with a host if the scheme is `http` or `https`.
///
/// Specification: client/elicitation (2026-07-28).
///
/// # Errors
/// If it is not such a URL.
pub(crate) fn check_url(url: &str) -> Result<(), NameError> {
    check_uri_within(url, MAX_URL)?;
    let (scheme, rest) = url.split_once(':').ok_or(NameError::NoScheme)?;
    let web = ["https", "http"]
        .iter()
        .any(|name| scheme.eq_ignore_ascii_case(name));
    let host = || {
        let authority = rest.strip_prefix("//")?.split(['/', '?', '#']).next()?;
        let host = authority.rsplit('@').next()?;
        (!host.is_empty() && !host.starts_with(':')).then_some(host)
    };
    if rest.is_empty() || (web && host().is_none()) {
        return Err(NameError::NoHost);
    }
    Ok(())
}

/// Checks the scheme of a URI template that begins with a literal.
///
/// # Errors
/// If it begins with a literal that is not a scheme.
pub(crate) fn check_template_scheme(template: &str) -> Result<(), NameError> {
    let literal = template.split('{').next().unwrap_or_default();
    if literal.is_empty() && !template.is_empty() {
        return Ok(());
    }
    let (scheme, _) = literal.split_once(':').ok_or(NameError::NoScheme)?;
    check_scheme(scheme)
}

/// Checks that a text is a URI scheme.
fn check_scheme(scheme: &str) -> Result<(), NameError> {
    let mut characters = scheme.chars();
    let named = characters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    if named {
        Ok(())
    } else {
        Err(NameError::NoScheme)
    }
}

/// Checks a URI of up to `limit` bytes.
fn check_uri_within(uri: &str, limit: usize) -> Result<(), NameError> {
    within(uri, uri.len(), limit)?;
    let (scheme, _) = uri.split_once(':').ok_or(NameError::NoScheme)?;
    check_scheme(scheme)?;
    only(uri, |c| c.is_ascii_graphic() && !r#""<>\^`{|}"#.contains(c))?;
    for (at, _) in uri.match_indices('%') {
        let escape = uri.as_bytes().get(at + 1..at + 3);
        if !escape.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            return Err(NameError::Escape { at });
        }
    }
    Ok(())
}

/// Checks a media type: `type/subtype`, with parameters after a semicolon if there are any.
///
/// # Errors
/// If it is not of that form or longer than 255 bytes.
pub(crate) fn check_media_type(text: &str) -> Result<(), NameError> {
    within(text, text.len(), MAX_MEDIA_TYPE)?;
    only(text, |c| matches!(c, ' '..='~'))?;
    let essence = text.split(';').next().unwrap_or_default().trim_end();
    match essence.split_once('/') {
        Some((kind, subtype)) if is_token(kind) && is_token(subtype) => Ok(()),
        _ => Err(NameError::NotAMediaType),
    }
}

/// Returns whether a text is a token of RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
}

/// Checks that a text is neither empty nor longer than `limit`.
fn within(text: &str, length: usize, limit: usize) -> Result<(), NameError> {
    if text.is_empty() {
        Err(NameError::Empty)
    } else if length > limit {
        Err(NameError::TooLong { limit })
    } else {
        Ok(())
    }
}

/// Checks that a text has only allowed characters.
fn only(text: &str, allowed: impl Fn(char) -> bool) -> Result<(), NameError> {
    match text
        .char_indices()
        .find(|(_, character)| !allowed(*character))
    {
        Some((at, character)) => Err(NameError::Character { character, at }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_name_has_1_to_128_of_the_allowed_characters() {
        for name in [
            "getUser",
            "DATA_EXPORT_v2",
            "admin.tools.list",
            "a",
            "-",
            &"x".repeat(128),
        ] {
            assert_eq!(check_tool_name(name), Ok(()), "{name}");
        }
        assert_eq!(check_tool_name(""), Err(NameError::Empty));
        assert_eq!(
            check_tool_name(&"x".repeat(129)),
            Err(NameError::TooLong { limit: 128 })
        );
        for (name, character, at) in [
            ("get user", ' ', 3),
            ("a,b", ',', 1),
            ("a/b", '/', 1),
            ("über", 'ü', 0),
            ("a\n", '\n', 1),
            ("٣", '٣', 0),
        ] {
            let expected = Err(NameError::Character { character, at });
            assert_eq!(check_tool_name(name), expected, "{name:?}");
        }
    }

    #[test]
    fn every_ascii_character_is_checked_in_tool_names() {
        for byte in 0u8..128 {
            let character = char::from(byte);
            let listed = character.is_ascii_alphanumeric() || "_-.".contains(character);
            assert_eq!(
                check_tool_name(&character.to_string()).is_ok(),
                listed,
                "{character:?}"
            );
        }
    }

    #[test]
    fn a_long_tool_name_is_valid_and_detected() {
        let (short, long) = ("x".repeat(64), "x".repeat(65));
        assert!(!is_long_tool_name(&short));
        assert!(is_long_tool_name(&long));
        assert_eq!(check_tool_name(&long), Ok(()));
    }

    #[test]
    fn a_prompt_name_has_no_control_characters() {
        assert_eq!(check_prompt_name("Write a review (kurz)"), Ok(()));
        assert_eq!(check_prompt_name(""), Err(NameError::Empty));
        assert_eq!(
            check_prompt_name("a\u{7}"),
            Err(NameError::Character {
                character: '\u{7}',
                at: 1
            })
        );
        assert_eq!(
            check_prompt_name(&"x".repeat(257)),
            Err(NameError::TooLong { limit: 256 })
        );
    }

    #[test]
    fn a_uri_has_a_scheme_and_only_the_characters_of_a_uri() {
        for uri in [
            "file:///a/b%20c",
            "note:1",
            "git+ssh://host/x?y=[1]#z",
            "test://template/1",
        ] {
            assert_eq!(check_uri(uri), Ok(()), "{uri}");
        }
        for uri in ["file", "/etc/passwd", "1a:b", ":x", "a b:c"] {
            assert_eq!(check_uri(uri), Err(NameError::NoScheme), "{uri}");
        }
        for (uri, character, at) in [("a:b c", ' ', 3), ("a:{x}", '{', 2), ("a:é", 'é', 2)] {
            assert_eq!(
                check_uri(uri),
                Err(NameError::Character { character, at }),
                "{uri}"
            );
        }
        assert_eq!(check_uri("a:%2"), Err(NameError::Escape { at: 2 }));
        assert_eq!(check_uri("a:%zz"), Err(NameError::Escape { at: 2 }));
        assert_eq!(
            check_uri(&format!("a:{}", "x".repeat(2047))).unwrap_err(),
            NameError::TooLong { limit: 2048 }
        );
    }

    #[test]
    fn a_url_has_a_host_or_a_path() {
        for url in [
            "https://example.com/authorize?state=1#top",
            "http://localhost:8080",
            "HTTPS://user@[::1]/",
            "myapp:open",
            &format!("https://a/{}", "x".repeat(8000)),
        ] {
            assert_eq!(check_url(url), Ok(()), "{url}");
        }
        for url in [
            "https:",
            "https://",
            "http:///path",
            "https://:80/",
            "https://a@/",
        ] {
            assert_eq!(check_url(url), Err(NameError::NoHost), "{url}");
        }
        for url in ["", "/path", "example.com/a", "https://a b/", "https://a/\n"] {
            assert!(check_url(url).is_err(), "{url}");
        }
        assert!(check_url(&format!("https://a/{}", "x".repeat(8192))).is_err());
    }

    #[test]
    fn a_template_begins_with_a_scheme_or_a_variable() {
        for template in ["file:///{path}", "{+uri}", "note:{id}", "{scheme}://x"] {
            assert_eq!(check_template_scheme(template), Ok(()), "{template}");
        }
        for template in ["", "path/{x}", "/{x}", "1a:{x}", ":{x}", "no scheme:{x}"] {
            assert_eq!(
                check_template_scheme(template),
                Err(NameError::NoScheme),
                "{template}"
            );
        }
    }

    #[test]
    fn a_media_type_is_a_type_and_a_subtype() {
        for text in [
            "text/plain",
            "application/vnd.x+json; charset=utf-8",
            "image/svg+xml",
        ] {
            assert_eq!(check_media_type(text), Ok(()), "{text}");
        }
        for text in [
            "text",
            "text/",
            "/plain",
            "te xt/plain",
            "text/pl ain",
            "a/b/c",
        ] {
            assert_eq!(
                check_media_type(text),
                Err(NameError::NotAMediaType),
                "{text}"
            );
        }
        assert!(check_media_type("text/plain\r\nX: 1").is_err());
    }
}
