//! Parts of messages that no log, trace or error shows: values of secret names, and queries of URLs.

/// Parts of names whose values are secret. Names are compared in lower case without punctuation.
const PARTS: [&str; 15] = [
    "authorization",
    "cookie",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesskey",
    "privatekey",
    "dpopkey",
    "credential",
    "sessionid",
    // The variable with the keys of a server.
    "turnbucklekeys",
    // The server's own record of a call, which may hold what the user answered.
    "requeststate",
];

/// The letters that parts begin with, a bit each from `a` on: most letters of most names are none.
const FIRST_LETTERS: u32 = {
    let (mut letters, mut part) = (0, 0);
    while part < PARTS.len() {
        letters |= 1 << (PARTS[part].as_bytes()[0] - b'a');
        part += 1;
    }
    letters
};

/// Names that have such a part, and whose values are no secrets.
const EXCEPTIONS: [&str; 3] = ["progresstoken", "tokentype", "tokentypehint"];

/// Returns whether the value of a member, header, variable or parameter of that name is a secret.
/// Case and punctuation do not count.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    // Most names are shorter than all parts.
    if name.len() < "token".len() {
        return false;
    }
    let plain: Vec<u8> = name
        .bytes()
        .filter(u8::is_ascii_alphanumeric)
        .map(|byte| byte.to_ascii_lowercase())
        .collect();
    let has_part_at = |(start, first): (usize, &u8)| {
        let is_start = first.is_ascii_lowercase() && FIRST_LETTERS & (1 << (first - b'a')) != 0;
        is_start && {
            let rest = &plain[start..];
            PARTS.iter().any(|part| rest.starts_with(part.as_bytes()))
        }
    };
    let is_exception = || EXCEPTIONS.iter().any(|name| name.as_bytes() == plain);
    plain.iter().enumerate().any(has_part_at) && !is_exception()
}

/// Returns a URL for people, with `?…` in place of a query, which can hold a key.
#[must_use]
pub fn url_without_query(url: &str) -> String {
    match url.split_once('?') {
        Some((url, _)) => format!("{url}?…"),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_in_any_spelling() {
        for name in [
            "Mcp-Session-Id",
            "X-Api-Key",
            "Set-Cookie",
            "refresh_token",
            "client_secret",
            "accessTokens",
            "DB_PASSWORD",
            "dpop_key",
            "requestState",
            "aws.secret.access.key",
            "TURNBUCKLE_KEYS",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "progressToken",
            "token_type",
            "Mcp-Method",
            "name",
            "key",
            "",
            "ключ",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn a_query_is_not_shown() {
        assert_eq!(url_without_query("https://a/b?key=c"), "https://a/b?…");
        assert_eq!(url_without_query("https://a/b"), "https://a/b");
    }
}
