//! Errors about values of a wrong kind, without the values: they may be secrets.

/// Returns the text of a `serde` error about a value of a wrong kind without the value; `None` for another error.
#[must_use]
pub fn describe_without_value(error: &str) -> Option<String> {
    let prefixes = ["invalid type: ", "invalid value: ", "unknown variant "];
    let rest = prefixes.iter().find_map(|it| error.strip_prefix(it))?;
    // The value comes first, and may have the words that follow it.
    let (found, expected) = rest.rsplit_once(", expected ")?;
    let expected = expected.lines().next().unwrap_or_default();
    let expected = expected
        .rsplit_once(" at line ")
        .map_or(expected, |it| it.0);
    let found = match found.split(['"', '`']).next().unwrap_or_default().trim() {
        "string" => "a text",
        "integer" | "floating point" => "a number",
        "boolean" => "true or false",
        "sequence" => "a list",
        "map" => "a table",
        "unit value" | "null" => "nothing",
        _ => "something else",
    };
    let expected = match expected {
        "a map" => "a table",
        "a sequence" => "a list",
        "a string" => "a text",
        "usize" => "a whole number",
        expected => expected,
    };
    Some(format!("found {found}, expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_a_wrong_kind_is_not_in_the_error() {
        for (error, expected) in [
            (
                "invalid type: string \"a, expected b\", expected a map at line 1 column 2",
                "found a text, expected a table",
            ),
            (
                "invalid type: integer `3`, expected a string\nin `headers`\n",
                "found a number, expected a text",
            ),
            (
                "unknown variant `secret`, expected one of `a`, `b`",
                "found something else, expected one of `a`, `b`",
            ),
        ] {
            assert_eq!(describe_without_value(error).as_deref(), Some(expected));
        }
        assert_eq!(describe_without_value("unknown key \"a\""), None);
    }
}
