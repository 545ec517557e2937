//! The grammar of `_meta` keys and extension ids.
//!
//! Specification: basic/index, `_meta` (2026-07-28).

/// The reserved key without a prefix.
const PROGRESS_TOKEN: &str = "progressToken";

/// An error in a `_meta` key or an extension id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetaKeyError {
    /// The part before the slash is not a series of labels joined by dots.
    #[error(
        "each label of the prefix must start with a letter, end with a letter or digit and \
         hold only letters, digits and hyphens"
    )]
    Prefix,
    /// The part after the slash has a character that may not stand there.
    #[error(
        "the name must start and end with a letter or digit and hold only letters, \
         digits, hyphens, underscores and dots"
    )]
    Name,
    /// An extension id has no prefix.
    #[error("an extension id needs a prefix, such as `com.example/`")]
    MissingPrefix,
    /// The key belongs to the protocol.
    #[error("the key is reserved for the protocol")]
    Reserved,
    /// The key is fine but its value cannot be serialised.
    #[error("the value cannot be written as JSON")]
    Value,
}

/// Checks a `_meta` key that an author sets: grammar first, then whether it is reserved.
///
/// # Errors
/// Which rule the key breaks.
pub(crate) fn check_key(key: &str) -> Result<(), MetaKeyError> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if prefix.is_some_and(|prefix| !prefix.split('.').all(is_label)) {
        return Err(MetaKeyError::Prefix);
    }
    if !is_name(name) {
        return Err(MetaKeyError::Name);
    }
    let reserved = prefix.map_or(key == PROGRESS_TOKEN, is_reserved);
    if reserved {
        Err(MetaKeyError::Reserved)
    } else {
        Ok(())
    }
}

/// Checks an extension id: a `_meta` key with a prefix.
///
/// [`MetaKeyError::Reserved`] means a well-formed id under the protocol's own prefix, which only the
/// official extensions may use.
///
/// Specification: basic/versioning, Extension Negotiation (2026-07-28).
///
/// # Errors
/// Which rule the id breaks.
pub fn check_extension_id(id: &str) -> Result<(), MetaKeyError> {
    if id.contains('/') {
        check_key(id)
    } else {
        Err(MetaKeyError::MissingPrefix)
    }
}

fn is_label(label: &str) -> bool {
    label.starts_with(|c: char| c.is_ascii_alphabetic())
        && label.ends_with(|c: char| c.is_ascii_alphanumeric())
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_name(name: &str) -> bool {
    name.is_empty()
        || name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.ends_with(|c: char| c.is_ascii_alphanumeric())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn is_reserved(prefix: &str) -> bool {
    prefix.split('.').nth(1).is_some_and(|label| {
        label.eq_ignore_ascii_case("modelcontextprotocol") || label.eq_ignore_ascii_case("mcp")
    })
}
