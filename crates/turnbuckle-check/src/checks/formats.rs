//! Formats of members: URIs, templates, Base64, media types and times.
//!
//! Each function returns the fault of a text, as the end of a sentence.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;
use turnbuckle_types::base::text::one_line;

/// Characters of a URI beside letters, digits and escapes (RFC 3986, section 2).
const URI_MARKS: &str = "-._~:/?#[]@!$&'()*+,;=";

/// Returns the fault of a URI (RFC 3986).
pub(super) fn uri_fault(uri: &str) -> Option<String> {
    let Some((scheme, rest)) = uri.split_once(':') else {
        return Some("has no scheme".into());
    };
    let is_scheme_char = |char: char| char.is_ascii_alphanumeric() || "+-.".contains(char);
    if !scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        || !scheme.chars().all(is_scheme_char)
    {
        return Some(format!("has no valid scheme: {}", one_line(scheme, 40)));
    }
    characters_fault(rest)
}

fn characters_fault(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    for (at, char) in text.char_indices() {
        let is_escape = || {
            let digits = bytes.get(at + 1..at + 3);
            digits.is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit))
        };
        match char {
            '%' if is_escape() => {}
            '%' => return Some("has a `%` without two hexadecimal digits behind it".into()),
            _ if char.is_ascii_alphanumeric() || URI_MARKS.contains(char) => {}
            _ => return Some(format!("has the character {char:?}, which must be escaped")),
        }
    }
    None
}

/// A part of a URI template (RFC 6570).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TemplatePart<'t> {
    /// Text that is kept.
    Literal(&'t str),
    /// An expression: its operator, or a space, and the names of its variables.
    Expression(char, Vec<&'t str>),
}

impl<'t> TemplatePart<'t> {
    /// Returns the names of the variables.
    pub(super) fn names(&self) -> &[&'t str] {
        match self {
            Self::Literal(_) => &[],
            Self::Expression(_, names) => names,
        }
    }
}

/// Returns the parts of a URI template, or its fault.
pub(super) fn template_parts(template: &str) -> Result<Vec<TemplatePart<'_>>, String> {
    let mut parts = Vec::new();
    let mut rest = template;
    while !rest.is_empty() {
        let (literal, after) = rest.split_once('{').unwrap_or((rest, ""));
        if literal.contains('}') {
            return Err("has a `}` without a `{`".into());
        }
        if !literal.is_empty() {
            parts.push(TemplatePart::Literal(literal));
        }
        if literal.len() == rest.len() {
            break;
        }
        let Some((expression, after)) = after.split_once('}') else {
            return Err("has a `{` without a `}`".into());
        };
        parts.push(expression_of(expression)?);
        rest = after;
    }
    Ok(parts)
}

fn expression_of(expression: &str) -> Result<TemplatePart<'_>, String> {
    let fault = || {
        Err(format!(
            "has the expression {{{}}}, which is none of RFC 6570",
            one_line(expression, 60)
        ))
    };
    let operator = expression
        .chars()
        .next()
        .filter(|it| "+#./;?&".contains(*it));
    let list = &expression[usize::from(operator.is_some())..];
    let mut names = Vec::new();
    for variable in list.split(',') {
        let name = variable.strip_suffix('*').unwrap_or(variable);
        let name = match name.split_once(':') {
            Some((name, length)) if length.parse().is_ok_and(|it: u32| it < 10_000) => name,
            Some(_) => return fault(),
            None => name,
        };
        let is_name_char =
            |char: char| char.is_ascii_alphanumeric() || char == '_' || "%.".contains(char);
        if name.is_empty() || !name.chars().all(is_name_char) {
            return fault();
        }
        names.push(name);
    }
    Ok(TemplatePart::Expression(operator.unwrap_or(' '), names))
}

/// Returns the fault of binary data that stands as text (RFC 4648, section 4).
pub(super) fn base64_fault(text: &str) -> Option<String> {
    let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    let decoded = GeneralPurpose::new(&STANDARD, config).decode(text);
    decoded.err().map(|error| format!("is no Base64: {error}"))
}

/// Returns the number of bytes of binary data that stands as text.
pub(super) fn base64_length(text: &str) -> Option<usize> {
    let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    let decoded = GeneralPurpose::new(&STANDARD, config).decode(text);
    decoded.ok().map(|bytes| bytes.len())
}

/// Returns the fault of a media type (RFC 9110, section 8.3.1).
pub(super) fn media_type_fault(media: &str) -> Option<String> {
    let essence = media.split(';').next().unwrap_or_default().trim();
    let is_token = |part: &str| {
        let is_char = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        !part.is_empty() && part.bytes().all(is_char)
    };
    match essence.split_once('/') {
        Some((kind, name)) if is_token(kind) && is_token(name) => None,
        _ => Some(format!("is no media type: {}", one_line(media, 60))),
    }
}

/// Returns the fault of a time (ISO 8601, as RFC 3339 profiles it; a date alone is one as well).
pub(super) fn time_fault(text: &str) -> Option<String> {
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let has_form = |text: &str, form: &str| {
        let mut chars = text.chars();
        let fits = |wanted: char| match (wanted, chars.next()) {
            ('0', Some(found)) => found.is_ascii_digit(),
            (wanted, found) => found == Some(wanted),
        };
        form.chars().all(fits)
    };
    let is_date = date.len() == 10 && has_form(date, "0000-00-00");
    let is_time = time.is_none_or(|time| has_form(time, "00:00"));
    (!is_date || !is_time).then(|| format!("is no time of ISO 8601: {}", one_line(text, 60)))
}

/// Returns the fault of a key of `_meta`.
pub(super) fn meta_key_fault(key: &str) -> Option<&'static str> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let ends_well = |text: &str| text.ends_with(|it: char| it.is_ascii_alphanumeric());
    let is_label = |label: &str| {
        label.starts_with(|it: char| it.is_ascii_alphabetic())
            && ends_well(label)
            && label
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || it == '-')
    };
    if prefix.is_some_and(|prefix| !prefix.split('.').all(is_label)) {
        return Some("has a prefix that is no series of labels with dots between them");
    }
    let is_name = name.is_empty()
        || name.starts_with(|it: char| it.is_ascii_alphanumeric())
            && ends_well(name)
            && name
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || "-_.".contains(it));
    (!is_name).then_some("has a name with other characters than letters, digits, `-`, `_` and `.`, or with one of these at an end")
}

/// Returns the faults of a block of content: of its binary data, its media type and its URI.
pub(super) fn block_faults(block: &Value) -> Vec<String> {
    let resource = &block["resource"];
    let mut faults = Vec::new();
    let kind = block["type"].as_str().unwrap_or_default();
    if matches!(kind, "image" | "audio") {
        let data = block["data"].as_str().map(base64_fault);
        faults.extend(
            data.flatten()
                .map(|fault| format!("`data` of the {kind} {fault}")),
        );
        let media = block["mimeType"].as_str().map(media_type_fault);
        faults.extend(
            media
                .flatten()
                .map(|fault| format!("`mimeType` of the {kind} {fault}")),
        );
    }
    if kind == "resource" {
        let blob = resource["blob"].as_str().map(base64_fault);
        faults.extend(
            blob.flatten()
                .map(|fault| format!("`blob` of the resource {fault}")),
        );
        let uri = resource["uri"].as_str().map(uri_fault);
        faults.extend(
            uri.flatten()
                .map(|fault| format!("`uri` of the resource {fault}")),
        );
        let media = resource["mimeType"].as_str().map(media_type_fault);
        faults.extend(
            media
                .flatten()
                .map(|fault| format!("`mimeType` of the resource {fault}")),
        );
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_have_a_scheme_and_no_raw_characters() {
        for good in ["file:///a%20b", "test://a/b?c#d", "urn:x:y", "a+b-c.1:"] {
            assert_eq!(uri_fault(good), None, "{good}");
        }
        for bad in [
            "",
            "no-scheme",
            "1a://b",
            "file:///a b",
            "a://ü",
            "a://%2",
            "a://%zz",
            "a://{id}",
        ] {
            assert!(uri_fault(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn templates_have_closed_expressions_with_names() {
        use TemplatePart::{Expression, Literal};
        let parts = template_parts("test://{id}/{+path,x*}{?q:3}").unwrap();
        let expected = [
            Literal("test://"),
            Expression(' ', vec!["id"]),
            Literal("/"),
            Expression('+', vec!["path", "x"]),
            Expression('?', vec!["q"]),
        ];
        assert_eq!(parts, expected);
        for bad in ["a{", "a}", "a{}", "a{b c}", "a{b:x}", "a{{b}}", "a{b}}"] {
            assert!(template_parts(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn binary_data_is_padded_base64_of_the_plain_alphabet() {
        assert_eq!(base64_fault("aGk="), None);
        assert_eq!(base64_fault(""), None);
        for bad in ["aGk", "a-k=", "aG k", "aGk=\n"] {
            assert!(base64_fault(bad).is_some(), "{bad}");
        }
        assert_eq!(base64_length("aGk="), Some(2));
    }

    #[test]
    fn keys_of_meta_have_labels_and_a_name() {
        for good in [
            "name",
            "a",
            "com.example/a.b-c_d",
            "x-1/",
            "progressToken",
            "",
        ] {
            assert_eq!(meta_key_fault(good), None, "{good}");
        }
        for bad in [
            "a b", "-a", "a.", "1com/a", "com..x/a", "com-/a", "/a", "a/b/c",
        ] {
            assert!(meta_key_fault(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn media_types_and_times_have_their_forms() {
        for good in [
            "text/plain",
            "text/html;profile=mcp-app",
            "application/vnd.x+json",
        ] {
            assert_eq!(media_type_fault(good), None, "{good}");
        }
        for bad in ["", "text", "text/", "/plain", "te xt/plain"] {
            assert!(media_type_fault(bad).is_some(), "{bad}");
        }
        for good in [
            "2025-01-12T15:00:58Z",
            "2025-01-12",
            "2025-01-12T15:00:58.123+01:00",
        ] {
            assert_eq!(time_fault(good), None, "{good}");
        }
        for bad in ["", "yesterday", "1736693958", "12.01.2025", "2025-01-12Tx"] {
            assert!(time_fault(bad).is_some(), "{bad}");
        }
    }
}
