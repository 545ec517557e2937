//! URIs of skills and of their files.
//!
//! Specification: Skills (stable), "Resource Mapping"; RFC 3986, section 3.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use turnbuckle_types::base::text::{has_hidden, shorten};

use crate::SKILL_FILE;
use crate::error::InvalidSkill;
use crate::name::check_name;

/// The longest URI of a skill or of a file, in bytes.
pub const MAX_URI_BYTES: usize = 2048;

/// The URI of a skill's `SKILL.md`, such as `skill://acme/billing/refunds/SKILL.md`.
///
/// Under any scheme it has a path of one or more segments, of which the last one is the name of the skill, and then
/// `SKILL.md`. No segment is empty, `.` or `..`, nor hides a separator behind percent-encoding, and there is no query and
/// no fragment.
///
/// Specification: Skills (stable), "Resource Mapping".
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillUri(String);

impl SkillUri {
    /// Parses the URI of a `SKILL.md`.
    ///
    /// # Errors
    /// If the text is longer than [`MAX_URI_BYTES`], is not such a URI, or the name breaks the rules of names.
    pub fn parse(uri: &str) -> Result<Self, InvalidSkill> {
        let fail = |reason| InvalidSkill::new(format_args!("the URI {uri:?} {reason}"));
        if uri.len() > MAX_URI_BYTES {
            return Err(fail("is longer than 2048 bytes"));
        }
        let Some((scheme, path)) = uri.split_once("://") else {
            return Err(fail("has no scheme and `://`"));
        };
        if !is_scheme(scheme) {
            return Err(fail("has an invalid scheme"));
        }
        let Some(path) = path
            .strip_suffix(SKILL_FILE)
            .and_then(|path| path.strip_suffix('/'))
        else {
            return Err(fail("does not end with `/SKILL.md`"));
        };
        if !path.split('/').all(is_segment) {
            return Err(fail("has an invalid segment"));
        }
        check_name(path.rsplit('/').next().unwrap_or(path))
            .map_err(|error| InvalidSkill::new(format_args!("the URI {uri:?}: {error}")))?;
        Ok(Self(uri.to_owned()))
    }

    /// Creates the URI of a skill under `skill://` from the segments of its path, as they are before percent-encoding.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and if a segment cannot be one of a URI.
    pub fn from_segments<'a>(
        segments: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, InvalidSkill> {
        let mut uri = "skill:/".to_owned();
        for (index, segment) in segments.into_iter().enumerate() {
            check_segment(segment)?;
            uri.push('/');
            // The first segment is a host in the grammar of URIs, where `:` and `@` have a meaning.
            encode_segment(segment, index > 0, &mut uri);
        }
        uri.push('/');
        uri.push_str(SKILL_FILE);
        Self::parse(&uri)
    }

    /// Returns the URI.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the URI of the skill's directory, without a slash at its end.
    #[must_use]
    pub fn root(&self) -> &str {
        let end = self.0.len().saturating_sub(SKILL_FILE.len() + 1);
        self.0.get(..end).unwrap_or_default()
    }

    /// Returns the name of the skill: the last segment of its path.
    #[must_use]
    pub fn name(&self) -> &str {
        let root = self.root();
        root.rsplit('/').next().unwrap_or(root)
    }

    /// Returns the path of a file within the skill, still percent-encoded, such as `references/FORMS.md`; `None` if
    /// the URI is not one of a file within the skill's directory.
    #[must_use]
    pub fn relative<'u>(&self, uri: &'u str) -> Option<&'u str> {
        let path = uri.strip_prefix(self.root())?.strip_prefix('/')?;
        (uri.len() <= MAX_URI_BYTES && path.split('/').all(is_segment)).then_some(path)
    }

    /// Returns whether a URI is one of a file within the skill's directory.
    #[must_use]
    pub fn contains(&self, uri: &str) -> bool {
        self.relative(uri).is_some()
    }

    /// Returns the URI of a file, given its path within the skill before percent-encoding, such as
    /// `references/Plan A.md`.
    ///
    /// # Errors
    /// If the path has an empty segment, `.`, `..`, a backslash or a hidden character, or the URI is too long.
    pub fn file(&self, path: &str) -> Result<String, InvalidSkill> {
        let mut uri = self.root().to_owned();
        for segment in path.split('/') {
            check_segment(segment).map_err(|error| {
                InvalidSkill::new(format_args!("the path {:?}: {error}", shorten(path)))
            })?;
            uri.push('/');
            encode_segment(segment, true, &mut uri);
        }
        if uri.len() > MAX_URI_BYTES {
            return Err(InvalidSkill::new(format_args!(
                "the path {:?} makes a URI of more than 2048 bytes",
                shorten(path)
            )));
        }
        Ok(uri)
    }
}

impl fmt::Display for SkillUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SkillUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Returns a percent-encoded path as the text that it stands for, so that two spellings of one path are equal; `None`
/// if it is not UTF-8.
pub(crate) fn decode_path(path: &str) -> Option<Cow<'_, str>> {
    if !path.contains('%') {
        return Some(Cow::Borrowed(path));
    }
    decode(path)
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .map(Cow::Owned)
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Returns whether a byte stands for itself in a segment of a path: `pchar` of RFC 3986 without `%`.
fn is_segment_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}

/// Returns whether a percent-encoded segment names exactly one entry of a directory.
fn is_segment(segment: &str) -> bool {
    segment
        .bytes()
        .all(|byte| is_segment_byte(byte) || byte == b'%')
        && decode_path(segment).is_some_and(|segment| check_segment(&segment).is_ok())
}

/// Checks a segment before percent-encoding.
fn check_segment(segment: &str) -> Result<(), InvalidSkill> {
    if segment.is_empty() || segment == "." || segment == ".." {
        return Err(InvalidSkill::new("a segment is empty, `.` or `..`"));
    }
    if segment.contains(['/', '\\']) || has_hidden(segment) {
        return Err(InvalidSkill::new(
            "a segment has a slash, a backslash or a hidden character",
        ));
    }
    Ok(())
}

fn encode_segment(segment: &str, with_host_delimiters: bool, out: &mut String) {
    for byte in segment.bytes() {
        if is_segment_byte(byte) && (with_host_delimiters || !b":@".contains(&byte)) {
            out.push(char::from(byte));
        } else {
            // Writing to a `String` does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// Decodes percent-encoding; `None` if a `%` is not followed by two hexadecimal digits.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    let hex = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let high = hex(bytes.next()?)?;
            out.push(high << 4 | hex(bytes.next()?)?);
        } else {
            out.push(byte);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> SkillUri {
        SkillUri::parse(text).unwrap()
    }

    #[test]
    fn a_skill_uri_has_a_root_and_a_name() {
        let nested = uri("skill://acme/billing/refunds/SKILL.md");
        assert_eq!(
            (nested.root(), nested.name()),
            ("skill://acme/billing/refunds", "refunds")
        );
        let plain = uri("skill://git-workflow/SKILL.md");
        assert_eq!(
            (plain.root(), plain.name()),
            ("skill://git-workflow", "git-workflow")
        );
        assert_eq!(
            uri("github://owner/repo/skills/refunds/SKILL.md").name(),
            "refunds"
        );
    }

    // requirement: c4400a6e67d3
    #[test]
    fn other_uris_are_not_of_a_skill() {
        let long = format!("skill://{}/a/SKILL.md", "x".repeat(MAX_URI_BYTES));
        for text in [
            "",
            "skill://SKILL.md",
            "skill:///SKILL.md",
            "skill://a/skill.md",
            "skill://a/SKILL.md/",
            "skill://a/b",
            "skill:a/SKILL.md",
            "://a/SKILL.md",
            "1x://a/SKILL.md",
            "skill://a//b/SKILL.md",
            "skill://../b/SKILL.md",
            "skill://%2e%2e/b/SKILL.md",
            "skill://a%2Fb/c/SKILL.md",
            "skill://a%00/c/SKILL.md",
            "skill://a%5c/c/SKILL.md",
            "skill://a%/c/SKILL.md",
            "skill://a%f/c/SKILL.md",
            "skill://a%ff/c/SKILL.md",
            "skill://a?x/c/SKILL.md",
            "skill://a#x/c/SKILL.md",
            "skill://a b/c/SKILL.md",
            "skill://ä/c/SKILL.md",
            "skill://a/Bad/SKILL.md",
            "skill://a/b%61/SKILL.md",
            &long,
        ] {
            assert!(SkillUri::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_files_within_the_directory_belong_to_a_skill() {
        let skill = uri("skill://acme/refunds/SKILL.md");
        for (file, path) in [
            ("skill://acme/refunds/SKILL.md", "SKILL.md"),
            ("skill://acme/refunds/a/b.md", "a/b.md"),
            ("skill://acme/refunds/Plan%20A.md", "Plan%20A.md"),
            ("skill://acme/refunds/...", "..."),
        ] {
            assert_eq!(skill.relative(file), Some(path));
        }
        for file in [
            "skill://acme/refunds",
            "skill://acme/refunds/",
            "skill://acme/refunds-2/SKILL.md",
            "skill://acme/refunds/../x",
            "skill://acme/refunds/%2e%2E/x",
            "skill://acme/refunds/.%2e/x",
            "skill://acme/refunds/a%2fb",
            "skill://acme/refunds/a//b",
            "skill://acme/refunds/a/",
            "skill://acme/refunds/a?b",
            "skill://acme/refunds/a#b",
            "Skill://acme/refunds/a",
            "skill://other/refunds/a",
        ] {
            assert!(!skill.contains(file), "{file}");
        }
    }

    // requirement: 9e91c77ca80f b02f972bd223
    #[test]
    fn paths_are_encoded_where_a_uri_needs_it() {
        let skill = SkillUri::from_segments(["a b:c", "x:y", "refunds"]).unwrap();
        assert_eq!(skill.as_str(), "skill://a%20b%3Ac/x:y/refunds/SKILL.md");
        assert_eq!(
            skill.file("a%2f/é (1).md").unwrap(),
            format!("{}/a%252f/%C3%A9%20(1).md", skill.root())
        );
        for path in ["", "/a", "a/", "a//b", "../a", "a/./b", "a\\b", "a\0b"] {
            assert!(skill.file(path).is_err(), "{path}");
        }
        assert!(skill.file(&"ä".repeat(400)).is_err());
    }
}
