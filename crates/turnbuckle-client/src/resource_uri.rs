//! Relations between the URIs of resources.

/// Returns whether a change of the resource `changed` is a change of the resource `uri`: of itself
/// or of a part of it.
pub(crate) fn change_affects(changed: &str, uri: &str) -> bool {
    match changed.strip_prefix(uri) {
        Some("") => true,
        Some(part) => !uri.is_empty() && (uri.ends_with('/') || part.starts_with(['/', '?', '#'])),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_a_part_affects_the_whole() {
        for (changed, uri, expected) in [
            ("file:///a", "file:///a", true),
            ("file:///a/b", "file:///a", true),
            ("file:///a/b", "file:///a/", true),
            ("file:///a#b", "file:///a", true),
            ("file:///ab", "file:///a", false),
            ("file:///a", "file:///a/b", false),
            ("file:///a", "", false),
        ] {
            assert_eq!(change_affects(changed, uri), expected, "{changed} {uri}");
        }
    }
}
