//! The path of a position in a JSON text.

/// Returns the member names and indexes that lead to the value at a line and column, both counted
/// from one, as serde_json reports them.
pub(super) fn json_path_at(text: &str, line: usize, column: usize) -> Vec<String> {
    let before: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    let end = (before + column).min(text.len());
    let mut place: Vec<Step> = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < end {
        match bytes[at] {
            b'{' => place.push(Step::Member {
                name: None,
                named: false,
            }),
            b'[' => place.push(Step::Item(0)),
            b'}' | b']' if at + 1 < end => drop(place.pop()),
            b',' if at + 1 < end => match place.last_mut() {
                Some(Step::Item(index)) => *index += 1,
                Some(Step::Member { named, .. }) => *named = false,
                None => {}
            },
            b':' => {
                if let Some(Step::Member { named, .. }) = place.last_mut() {
                    *named = true;
                }
            }
            b'"' => {
                let close = end_of_string(bytes, at);
                if let Some(Step::Member { name, named: false }) = place.last_mut() {
                    let quoted = text.get(at..=close).unwrap_or("\"\"");
                    *name = serde_json::from_str(quoted).ok();
                }
                at = close;
            }
            _ => {}
        }
        at += 1;
    }
    place.into_iter().filter_map(Step::into_segment).collect()
}

/// One step of a path.
enum Step {
    /// Into a member of an object; `named` after its colon.
    Member { name: Option<String>, named: bool },
    /// Into an item of an array.
    Item(usize),
}

impl Step {
    fn into_segment(self) -> Option<String> {
        match self {
            Self::Member { name, named: true } => name,
            Self::Member { .. } => None,
            Self::Item(index) => Some(index.to_string()),
        }
    }
}

/// Returns the position of the closing quote of the string that begins at `at`, or of the last
/// byte.
pub(crate) fn end_of_string(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_every_level() {
        let text = "{\"a\":1,\n \"b\\\"c\": [true, {\"d\": \"x\"}, 7]}";
        let find = |what: &str| {
            let at = text.find(what).unwrap() + what.len();
            let line = text[..at].matches('\n').count() + 1;
            let column = at - text[..at].rfind('\n').map_or(0, |newline| newline + 1);
            json_path_at(text, line, column).join("/")
        };
        assert_eq!(find("1"), "a");
        assert_eq!(find("true"), "b\"c/0");
        assert_eq!(find("\"x\""), "b\"c/1/d");
        assert_eq!(find("7"), "b\"c/2");
        assert_eq!(find("{"), "");
        assert_eq!(json_path_at("", 9, 9), Vec::<String>::new());
        assert_eq!(json_path_at("{\"a", 1, 400), Vec::<String>::new());
    }
}
