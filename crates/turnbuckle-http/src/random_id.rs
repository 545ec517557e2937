//! Ids of sessions and connections, which nobody can guess.

/// Returns 128 random bits in hexadecimal, or `None` if the system has no randomness.
pub(crate) fn generate() -> Option<Box<str>> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect::<Option<String>>()
        .map(Into::into)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_long_and_never_the_same() {
        let ids: HashSet<_> = (0..1000).map(|_| generate().unwrap()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.len() == 32));
        let is_digit = |byte: u8| byte.is_ascii_hexdigit();
        assert!(ids.iter().all(|id| id.bytes().all(is_digit)));
    }
}
