//! The outline of a JSON text: the members or items of one object or array, as byte ranges, in one pass
//! that makes no index. Values are skipped and not checked.

use std::ops::Range;

/// A member of an object, or an item of an array.
pub(crate) struct Part<'t> {
    /// The body of the name, as it was sent; empty for an item.
    pub(crate) key: &'t [u8],
    /// The range of the value in the text.
    pub(crate) range: Range<usize>,
}

/// Returns the members or items of the object or array at a byte of a text, up to its first fault.
pub(crate) fn parts(text: &[u8], at: usize) -> impl Iterator<Item = Part<'_>> {
    let start = skip_space(text, at);
    let is_object = text.get(start) == Some(&b'{');
    let is_container = matches!(text.get(start), Some(b'{' | b'['));
    let mut at = is_container.then_some(start + 1);
    std::iter::from_fn(move || {
        let mut here = skip_space(text, at.take()?);
        let mut key = &text[..0];
        if is_object {
            let end = skip_string(text, here)?;
            key = &text[here + 1..end - 1];
            here = skip_space(text, end);
            if text.get(here) != Some(&b':') {
                return None;
            }
            here = skip_space(text, here + 1);
        }
        let end = skip_value(text, here)?;
        let behind = skip_space(text, end);
        at = (text.get(behind) == Some(&b',')).then_some(behind + 1);
        Some(Part {
            key,
            range: here..end,
        })
    })
}

/// Returns the range of a member of the object at a byte of a text.
pub(crate) fn member(text: &[u8], at: usize, name: &str) -> Option<Range<usize>> {
    let with_name = parts(text, at).filter(|part| part.key == name.as_bytes());
    Some(with_name.last()?.range)
}

/// Returns the range of a member inside of members.
pub(crate) fn find_nested(text: &[u8], names: &[&str]) -> Option<Range<usize>> {
    let mut range = 0..text.len();
    for name in names {
        range = member(text, range.start, name)?;
    }
    Some(range)
}

fn skip_space(text: &[u8], at: usize) -> usize {
    let is_space = |byte: &&u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
    at + text[at.min(text.len())..]
        .iter()
        .take_while(is_space)
        .count()
}

/// Returns the end of the string that begins at a byte.
fn skip_string(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at) != Some(&b'"') {
        return None;
    }
    let mut end = at + 1;
    loop {
        end += memchr::memchr2(b'"', b'\\', text.get(end..)?)?;
        if text[end] == b'"' {
            return Some(end + 1);
        }
        end += 2;
    }
}

/// Returns the end of the value that begins at a byte.
fn skip_value(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b'"' => skip_string(text, at),
        b'{' | b'[' => skip_container(text, at),
        b',' | b'}' | b']' | b':' => None,
        _ => {
            let rest = &text[at..];
            let ends =
                |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
            Some(at + rest.iter().position(ends).unwrap_or(rest.len()))
        }
    }
}

fn skip_container(text: &[u8], at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut here = at;
    loop {
        let is_structural = |byte: &u8| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']');
        here += text.get(here..)?.iter().position(is_structural)?;
        match text[here] {
            b'"' => {
                here = skip_string(text, here)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            _ => depth -= 1,
        }
        here += 1;
        if depth == 0 {
            return Some(here);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> Vec<String> {
        let bytes = text.as_bytes();
        let write = |part: Part<'_>| {
            format!(
                "{}={}",
                String::from_utf8_lossy(part.key),
                &text[part.range]
            )
        };
        parts(bytes, 0).map(write).collect()
    }

    #[test]
    fn members_and_items_are_found_without_what_is_inside_of_them() {
        let text = r#" {"a" : {"b":[1,"]}"]} , "c\"":"\\","n":-1e9}"#;
        assert_eq!(show(text), [r#"a={"b":[1,"]}"]}"#, r#"c\"="\\""#, "n=-1e9"]);
        assert_eq!(show("[1, [2] ,\"x\"]"), ["=1", "=[2]", "=\"x\""]);
        for none in ["", "{}", "[]", "1", "{", "[", "{1:2}", "{\"a\"}", "{\"a"] {
            assert_eq!(show(none), [""; 0], "{none}");
        }
        assert_eq!(show("[1,[2"), ["=1"]);
        let text = br#"{"p":{"m":1,"m":{"t":"x"}}}"#;
        let range = find_nested(text, &["p", "m", "t"]).unwrap();
        assert_eq!(&text[range], b"\"x\"");
        assert_eq!(find_nested(text, &["p", "x"]), None);
    }
}
