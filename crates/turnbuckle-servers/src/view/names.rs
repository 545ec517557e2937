//! Names of items in the merged view.
//!
//! A name follows from the server's prefix and the item's own name, and from nothing else: neither
//! the other servers nor the order in which they connect changes it. Two items never get the same
//! name, since a server's prefix ends at the first `__`, and a name that was changed ends in a hash
//! of the item's own name, which no unchanged name does.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

/// The text between the prefix of a server and the name of its item.
pub const NAME_SEPARATOR: &str = "__";

/// The most characters of a name. Models and hosts refuse longer ones.
pub(crate) const MAX_NAME_CHARS: usize = 64;

/// The most characters of a server's prefix.
pub(crate) const MAX_PREFIX_CHARS: usize = 32;

/// The characters of a hash, in hexadecimal.
const HASH_CHARS: usize = 8;

/// The prefixes of one server's names and URIs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prefix {
    names: Arc<str>,
    /// The scheme that stands before the URIs of the server, without the `+`.
    uris: Arc<str>,
}

impl Prefix {
    /// Creates the prefix of the server of this name.
    pub(crate) fn of_server(server: &str) -> Self {
        let names = match is_prefix(server) && !server.is_empty() && !ends_in_hash(server) {
            true => server.to_owned(),
            false => hashed(server, MAX_PREFIX_CHARS),
        };
        Self::new(names)
    }

    /// Creates a prefix that was chosen; `None` if it breaks the rules.
    pub(crate) fn chosen(prefix: &str) -> Option<Self> {
        is_prefix(prefix).then(|| Self::new(prefix.to_owned()))
    }

    fn new(names: String) -> Self {
        let uris = match names.is_empty() || is_scheme(&names) {
            true => names.clone(),
            false => scheme_of(&names),
        };
        Self {
            names: names.into(),
            uris: uris.into(),
        }
    }

    /// Returns whether two servers with these prefixes could have items of the same name or URI.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.names == other.names || self.uris == other.uris
    }

    /// Returns the name of a tool or prompt in the merged view: at most 64 characters of
    /// `[A-Za-z0-9_-]`.
    pub(crate) fn name(&self, item: &str) -> String {
        let (start, is_bare) = match self.names.is_empty() {
            true => (String::new(), true),
            false => (format!("{}{NAME_SEPARATOR}", self.names), false),
        };
        let room = MAX_NAME_CHARS - start.len();
        let is_kept = is_plain(item)
            && item.len() <= room
            && !ends_in_hash(item)
            && !(is_bare && item.contains(NAME_SEPARATOR));
        match is_kept {
            true => start + item,
            false => start + &hashed(item, room),
        }
    }

    /// Returns the item's own name, if `name` is one of this server in the merged view and not a shortened one.
    /// Every name is one of the server without a prefix.
    pub(crate) fn own_name<'a>(&self, name: &'a str) -> Option<&'a str> {
        match self.names.is_empty() {
            true => Some(name),
            false => name
                .strip_prefix(&*self.names)?
                .strip_prefix(NAME_SEPARATOR),
        }
    }

    /// Returns the URI of a resource or template in the merged view.
    pub(crate) fn uri(&self, uri: &str) -> String {
        match self.uris.is_empty() {
            true => uri.to_owned(),
            false => format!("{}+{uri}", self.uris),
        }
    }

    /// Returns the server's own URI, if `uri` is one of this server in the merged view. Every URI is
    /// one of the server without a prefix.
    pub(crate) fn own_uri<'a>(&self, uri: &'a str) -> Option<&'a str> {
        match self.uris.is_empty() {
            true => Some(uri),
            false => uri.strip_prefix(&*self.uris)?.strip_prefix('+'),
        }
    }

    /// Returns whether names and URIs of this server stay as they are.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// Returns whether all characters may stand in a name.
fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !name.is_empty() && name.bytes().all(plain)
}

/// Returns whether a text can be a prefix. A prefix that contained `__`, or ended in `_`, would
/// leave open where it ends.
fn is_prefix(prefix: &str) -> bool {
    prefix.is_empty()
        || (is_plain(prefix)
            && prefix.len() <= MAX_PREFIX_CHARS
            && !prefix.contains(NAME_SEPARATOR)
            && !prefix.ends_with('_'))
}

/// Returns whether a text can begin the scheme of a URI, in which case does not count.
fn is_scheme(prefix: &str) -> bool {
    prefix.starts_with(|first: char| first.is_ascii_lowercase())
        && prefix
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Returns a scheme for a prefix that is none: shortened to the characters of a scheme, with a hash.
fn scheme_of(prefix: &str) -> String {
    let lower = prefix.to_ascii_lowercase().replace('_', "-");
    format!("s-{lower}-{}", hash(prefix))
}

/// Returns whether a name could be one that [`hashed`] makes.
fn ends_in_hash(name: &str) -> bool {
    let Some((_, end)) = name.rsplit_once('_') else {
        return false;
    };
    end.len() == HASH_CHARS
        && end
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns a name of at most `room` characters: the plain characters of `name` from its start, and a
/// hash of all of it.
fn hashed(name: &str, room: usize) -> String {
    let mut kept = String::new();
    for char in name.chars() {
        if kept.len() >= room - HASH_CHARS - 1 {
            break;
        }
        let char = match char.is_ascii_alphanumeric() || char == '-' {
            true => char,
            false => '_',
        };
        // Runs of `_` are one, so that no separator appears.
        if char != '_' || !kept.ends_with('_') {
            kept.push(char);
        }
    }
    let kept = kept.trim_end_matches('_');
    let kept = if kept.is_empty() { "x" } else { kept };
    format!("{kept}_{}", hash(name))
}

/// Returns the beginning of the SHA-256 of a text, which is the same on every machine and in every
/// release.
fn hash(text: &str) -> String {
    let mut written = String::with_capacity(HASH_CHARS);
    for byte in Sha256::digest(text.as_bytes()).iter().take(HASH_CHARS / 2) {
        // Writing to a string cannot fail.
        let _ = write!(written, "{byte:02x}");
    }
    written
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_names_are_joined() {
        let files = Prefix::of_server("files");
        assert_eq!(files.name("read_file"), "files__read_file");
        assert_eq!(files.uri("file:///a"), "files+file:///a");
        assert_eq!(files.own_uri("files+file:///a"), Some("file:///a"));
        assert_eq!(files.own_uri("other+file:///a"), None);
        let bare = Prefix::chosen("").unwrap();
        assert_eq!(bare.name("read_file"), "read_file");
        assert_eq!(bare.uri("file:///a"), "file:///a");
    }

    #[test]
    fn other_names_are_shortened_and_end_in_a_hash() {
        let prefix = Prefix::of_server("my.server");
        let name = prefix.name("look up / all");
        let hashes = (hash("my.server"), hash("look up / all"));
        let expected = format!("my_server_{}__look_up_all_{}", hashes.0, hashes.1);
        assert_eq!(name, expected);
        let long = Prefix::of_server("files").name(&"a".repeat(90));
        assert_eq!(long.len(), MAX_NAME_CHARS);
        // Two names that differ only behind the cut.
        assert_ne!(long, Prefix::of_server("files").name(&"a".repeat(91)));
        // A name that looks as if it were shortened.
        assert_ne!(Prefix::chosen("").unwrap().name("a_01234567"), "a_01234567");
    }

    #[test]
    fn a_prefix_ends_where_the_first_separator_begins() {
        for refused in ["a__b", "a_", "a.b", "ä", &"a".repeat(33)] {
            assert!(Prefix::chosen(refused).is_none(), "{refused}");
        }
        assert_ne!(
            Prefix::of_server("a__b").name("c"),
            Prefix::of_server("a").name("b__c")
        );
        assert_ne!(
            Prefix::of_server("a_").name("b"),
            Prefix::of_server("a").name("_b")
        );
        assert_ne!(
            Prefix::chosen("").unwrap().name("a__b"),
            Prefix::of_server("a").name("b")
        );
    }

    /// Returns names of servers and items that are likely to collide.
    fn pairs() -> impl Strategy<Value = Vec<(String, String)>> {
        let word = || {
            prop_oneof![
                "[ab_.]{0,6}",
                "[a_]{50,70}",
                "[ab]{1,3}_[0-9a-f]{8}",
                ".{0,8}"
            ]
        };
        proptest::collection::vec((word(), word()), 1..40)
    }

    proptest! {
        #[test]
        fn every_pair_has_a_name_of_its_own_in_any_order(pairs in pairs(), bare in any::<bool>()) {
            let mut seen: BTreeMap<String, (String, String)> = BTreeMap::new();
            let mut names: Vec<String> = Vec::new();
            for (server, item) in pairs.iter().filter(|(server, _)| bare || !server.is_empty()) {
                let prefix = match server.is_empty() {
                    true => Prefix::chosen("").unwrap(),
                    false => Prefix::of_server(server),
                };
                let name = prefix.name(item);
                prop_assert!(is_plain(&name) && name.len() <= MAX_NAME_CHARS, "{name:?}");
                prop_assert_eq!(&name, &prefix.name(item));
                if let Some(other) = seen.insert(name.clone(), (server.clone(), item.clone())) {
                    prop_assert_eq!(other, (server.clone(), item.clone()), "{}", name);
                }
                names.push(name);
            }
        }

        #[test]
        fn a_uri_leads_back_to_its_server(server in ".{1,40}", other in ".{1,40}", uri in "[a-z]{1,5}:.{0,10}") {
            let prefix = Prefix::of_server(&server);
            let merged = prefix.uri(&uri);
            prop_assert_eq!(prefix.own_uri(&merged), Some(&*uri));
            prop_assert!(is_scheme(merged.split('+').next().unwrap()), "{}", merged);
            let other = Prefix::of_server(&other);
            if !other.overlaps(&prefix) {
                prop_assert_eq!(other.own_uri(&merged), None);
            }
        }
    }
}
