//! `robots.txt`: which pages a site lets programs fetch.
//!
//! Specification: RFC 9309.

use turnbuckle_types::base::glob;

/// The bytes of a file that are read, as the specification demands at least.
pub(super) const MAX_ROBOTS_BYTES: usize = 500 << 10;

/// The rules that are compared.
const MAX_RULES: usize = 10_000;

/// The bytes of a path that is compared.
const MAX_PATH_BYTES: usize = 2_048;

/// Returns whether a program may fetch a path with its query, by the rules of a file.
///
/// The rule with the longest pattern decides; without one, the path is allowed.
pub(super) fn is_allowed(text: &str, agent: &str, path: &str) -> bool {
    let path = normalize(path);
    // A normal path has ASCII characters only.
    let path = path.get(..MAX_PATH_BYTES).unwrap_or(&path);
    // A byte order mark is no part of the first line.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut longest: Option<(usize, bool)> = None;
    for (pattern, allows) in rules(text, agent).into_iter().take(MAX_RULES) {
        let pattern = normalize(pattern);
        if pattern.is_empty() || pattern.len() > MAX_PATH_BYTES || !is_match(&pattern, path) {
            continue;
        }
        // Of two of the same length, the one that allows decides.
        longest = longest.max(Some((pattern.len(), allows)));
    }
    longest.is_none_or(|(_, allows)| allows)
}

fn is_match(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('$') {
        Some(whole) => glob::matches(whole, path),
        None => glob::matches(&format!("{pattern}*"), path),
    }
}

/// Returns the rules of the groups of an agent, or else those for all agents.
fn rules<'t>(text: &'t str, agent: &str) -> Vec<(&'t str, bool)> {
    let (mut own, mut general) = (Vec::new(), Vec::new());
    let (mut is_own, mut is_general, mut has_own) = (false, false, false);
    // Lines with agents that follow each other begin one group.
    let mut begins = false;
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        let allows = match &*key.trim().to_ascii_lowercase() {
            "user-agent" => {
                if !begins {
                    (is_own, is_general) = (false, false);
                }
                begins = true;
                is_own |= product(value).eq_ignore_ascii_case(product(agent));
                is_general |= value == "*";
                has_own |= is_own;
                continue;
            }
            "allow" => true,
            "disallow" => false,
            _ => continue,
        };
        begins = false;
        if is_own {
            own.push((value, allows));
        }
        if is_general {
            general.push((value, allows));
        }
    }
    if has_own { own } else { general }
}

/// Returns the name of a program, without its version and what follows.
fn product(agent: &str) -> &str {
    let is_other = |char: char| !char.is_ascii_alphabetic() && char != '-' && char != '_';
    agent.split(is_other).next().unwrap_or_default()
}

/// Returns a path in which characters are escaped that need it, and those that do not are not.
fn normalize(path: &str) -> String {
    // An escaped slash, star or dollar stays escaped: it does not mean what these mean.
    let mut normal = String::new();
    let mut rest = path;
    while let Some(char) = rest.chars().next() {
        let escaped = rest.get(..3).filter(|_| char == '%');
        let byte = escaped.and_then(|escaped| u8::from_str_radix(&escaped[1..], 16).ok());
        match byte {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                normal.push(char::from(byte));
                rest = &rest[3..];
            }
            Some(byte) => {
                normal.push_str(&format!("%{byte:02X}"));
                rest = &rest[3..];
            }
            None => {
                normal.extend(percent_encoding::utf8_percent_encode(
                    &rest[..char.len_utf8()],
                    percent_encoding::CONTROLS,
                ));
                rest = &rest[char.len_utf8()..];
            }
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENT: &str = "turnbuckle/1.0 (+https://example.com)";

    fn rules_of(text: &str) -> impl Fn(&str) -> bool {
        move |path| is_allowed(text, AGENT, path)
    }

    #[test]
    fn the_longest_rule_decides() {
        let text = "User-agent: *\nDisallow: /private\nAllow: /private/open\nDisallow: /same\nAllow: /same\nDisallow:\n";
        let allowed = rules_of(text);
        assert!(allowed("/"));
        assert!(!allowed("/private"));
        assert!(!allowed("/privateer/x?y"));
        assert!(allowed("/private/open/x"));
        assert!(allowed("/same"));
    }

    #[test]
    fn a_byte_order_mark_hides_no_rule() {
        let allowed = rules_of("\u{feff}User-agent: *\nDisallow: /private");
        assert!(!allowed("/private"));
    }

    #[test]
    fn a_group_of_the_agent_counts_alone() {
        let text = "user-agent: other\nUser-Agent: TurnBuckle # us\ndisallow: /a\n\nUser-agent: *\nDisallow: /\nSitemap: x\nUser-agent: turnbuckle/2\nDisallow: /b";
        let allowed = rules_of(text);
        assert!(allowed("/"));
        assert!(!allowed("/a"));
        assert!(!allowed("/b"));
        assert!(!is_allowed(text, "else", "/"));
        assert!(is_allowed(
            "User-agent: turnbuckle\nUser-agent: x\nDisallow: /",
            "",
            "/"
        ));
        assert!(is_allowed(
            "User-agent: turnbuckle\nUser-agent: *\nAllow: /\n",
            AGENT,
            "/"
        ));
    }

    #[test]
    fn stars_and_the_end_are_understood() {
        let allowed = rules_of("User-agent: *\nDisallow: /*.pdf$\nDisallow: /a/*/c\nDisallow: /x$");
        assert!(!allowed("/b/c.pdf"));
        assert!(allowed("/b/c.pdf?download"));
        assert!(!allowed("/a/b/c/d"));
        assert!(allowed("/a/c"));
        assert!(!allowed("/x"));
        assert!(allowed("/x/y"));
    }

    #[test]
    fn escapes_are_compared_as_what_they_mean() {
        let allowed =
            rules_of("User-agent: *\nDisallow: /%7ejoe/ä\nDisallow: /a%2fb\nDisallow: /%zz");
        assert!(!allowed("/~joe/%c3%a4"));
        assert!(!allowed("/%7Ejoe/%C3%A4/x"));
        assert!(!allowed("/a%2Fb"));
        assert!(allowed("/a/b"));
        assert!(!allowed("/%zz"));
    }

    #[test]
    fn large_files_take_little_time() {
        let rules = "Disallow: /*a*a*a*a*a*a*b\n".repeat(20_000);
        let text = format!("User-agent: *\n{rules}");
        let path = format!("/{}", "a".repeat(5_000));
        assert!(is_allowed(&text[..MAX_ROBOTS_BYTES], AGENT, &path));
    }
}
