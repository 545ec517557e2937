//! Resource templates: their expansion with values of JSON.

use bytes::Bytes;
use turnbuckle_types::{TemplateError, TemplateValue, TemplateVariables, UriTemplate};

use crate::api::ValueKind;
use crate::values::{Document, Value};

/// The most bytes of the values of a template, and of an expanded URI.
const MAX_URI_BYTES: usize = 64 * 1024;

/// Returns the URI of a template, with the members of a JSON object as the values of its variables. Members that are
/// `null` are left out.
///
/// # Errors
/// Returns a sentence if the template breaks RFC 6570, the arguments are no object, or the URI gets too long.
pub(crate) fn expand_template(template: &str, arguments: &str) -> Result<String, String> {
    let parsed = UriTemplate::parse(template);
    let template = parsed.map_err(|error: TemplateError| error.to_string())?;
    check_length("values", arguments)?;
    let document = Document::new(Bytes::copy_from_slice(arguments.as_bytes()));
    let object = document
        .root()
        .filter(|root| root.kind() == ValueKind::Object && document.fault().is_none());
    let object = object.ok_or("the arguments have to be a JSON object")?;
    let mut variables = TemplateVariables::new();
    for member in object.children() {
        let name = member.key().unwrap_or_default();
        match member.kind() {
            ValueKind::Null => {}
            ValueKind::Array => {
                let items: Vec<String> = member.children().map(text_of).collect();
                variables.insert(name, items);
            }
            ValueKind::Object => {
                let pairs = member.children();
                let pairs = pairs.map(|it| (it.key().unwrap_or_default(), text_of(it)));
                variables.insert(name, TemplateValue::Map(pairs.collect()));
            }
            _ => variables.insert(name, text_of(member)),
        }
    }
    let uri = template.expand(&variables);
    check_length("URI", &uri)?;
    Ok(uri)
}

fn check_length(what: &str, text: &str) -> Result<(), String> {
    match text.len() <= MAX_URI_BYTES {
        true => Ok(()),
        false => Err(format!(
            "the {what} of a template may not be longer than {MAX_URI_BYTES} bytes"
        )),
    }
}

/// Returns the text of a value: that of a string, or its JSON.
fn text_of(value: Value<'_>) -> String {
    value.as_str().unwrap_or_else(|| value.raw_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_json_are_texts_lists_and_maps() {
        let values = r#"{"count":["one",2],"keys":{"semi":";","a":1},"v":6.50,"big":12345678901234567890123,
            "truth":true,"text":"a b","undef":null}"#;
        for (template, uri) in [
            ("x:{count}{?count*}", "x:one,2?count=one&count=2"),
            ("x:{keys*}", "x:semi=%3B,a=1"),
            (
                "x:{v,big,truth,text}",
                "x:6.50,12345678901234567890123,true,a%20b",
            ),
            ("x:{undef}{missing}", "x:"),
        ] {
            assert_eq!(
                expand_template(template, values).as_deref(),
                Ok(uri),
                "{template}"
            );
        }
    }

    #[test]
    fn an_expansion_is_bounded_and_says_what_is_wrong() {
        for none in ["", "[]", "1", "{\"a\":", "{\"a\":1}x"] {
            let error = expand_template("{a}", none).unwrap_err();
            assert!(
                error.starts_with("the arguments have to be"),
                "{none}: {error}"
            );
        }
        let error = expand_template("x:{a", "{}").unwrap_err();
        assert_eq!(error, "the `{` at byte 2 is not closed");
        let long = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes));
        assert!(expand_template("{a}", &long(60_000)).is_ok());
        assert!(expand_template("{a}{a}", &long(60_000)).is_err());
        assert!(expand_template("{a}", &long(70_000)).is_err());
    }
}
