//! Resource templates (RFC 6570): their variables, and their expansion with values.

use bytes::Bytes;

use crate::api::ValueKind;
use crate::values::{Document, Value};

/// The most variables of a resource template.
pub(super) const MAX_VARIABLES: usize = 100;

/// The most bytes of an expanded URI.
const MAX_URI_BYTES: usize = 64 * 1024;

/// A part of a template.
enum Part<'t> {
    Literal(&'t str),
    Expression {
        operator: &'static Operator,
        variables: &'t str,
    },
}

/// The rules of an operator: RFC 6570, appendix A.
struct Operator {
    sign: &'static str,
    first: &'static str,
    separator: &'static str,
    /// The sign behind the name of a variable without text; `None` if names are left out.
    empty: Option<&'static str>,
    keeps_reserved: bool,
}

const OPERATORS: [Operator; 8] = {
    const fn operator(
        sign: &'static str,
        first: &'static str,
        separator: &'static str,
        empty: Option<&'static str>,
    ) -> Operator {
        Operator {
            sign,
            first,
            separator,
            empty,
            keeps_reserved: matches!(sign.as_bytes(), b"+" | b"#"),
        }
    }
    [
        operator("+", "", ",", None),
        operator("#", "#", ",", None),
        operator(".", ".", ".", None),
        operator("/", "/", "/", None),
        operator(";", ";", ";", Some("")),
        operator("?", "?", "&", Some("=")),
        operator("&", "&", "&", Some("=")),
        operator("", "", ",", None),
    ]
};

/// Returns the parts of a template. What is no expression is literal.
fn parts(template: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = template;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let expression = rest.strip_prefix('{').and_then(|it| it.split_once('}'));
        if let Some((expression, behind)) = expression {
            rest = behind;
            let found = OPERATORS
                .iter()
                .find_map(|it| Some((it, expression.strip_prefix(it.sign)?)));
            let (operator, variables) = found?;
            return Some(Part::Expression {
                operator,
                variables,
            });
        }
        let from = rest.len().min(1);
        let from = (from..=rest.len()).find(|at| rest.is_char_boundary(*at))?;
        let end = rest[from..].find('{').map_or(rest.len(), |at| from + at);
        let literal;
        (literal, rest) = rest.split_at(end);
        Some(Part::Literal(literal))
    })
}

/// A variable of an expression, with its modifier.
struct Variable<'t> {
    name: &'t str,
    is_exploded: bool,
    max_chars: usize,
}

fn variables(list: &str) -> impl Iterator<Item = Variable<'_>> {
    list.split(',').map(|text| match text.split_once(':') {
        Some((name, length)) => Variable {
            name,
            is_exploded: false,
            max_chars: length.parse().unwrap_or(usize::MAX),
        },
        None => Variable {
            name: text.strip_suffix('*').unwrap_or(text),
            is_exploded: text.ends_with('*'),
            max_chars: usize::MAX,
        },
    })
}

/// Returns the names of the variables of a template, each once.
pub(super) fn template_variables(template: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in parts(template) {
        let Part::Expression {
            variables: list, ..
        } = part
        else {
            continue;
        };
        for Variable { name, .. } in variables(list) {
            let is_new = !name.is_empty() && !names.iter().any(|known| known == name);
            if is_new && names.len() < MAX_VARIABLES {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// Returns the URI of a template, with the members of a JSON object as the values of its variables.
///
/// # Errors
/// Returns a sentence if the arguments are no object, or the URI gets too long.
pub(crate) fn expand_template(template: &str, arguments: &str) -> Result<String, String> {
    let document = Document::new(Bytes::copy_from_slice(arguments.as_bytes()));
    let values = document
        .root()
        .filter(|root| root.kind() == ValueKind::Object && document.fault().is_none());
    let values = values.ok_or("the arguments have to be a JSON object")?;
    let mut uri = String::new();
    for part in parts(template) {
        match part {
            Part::Literal(text) => encode(&mut uri, text, true),
            Part::Expression {
                operator,
                variables: list,
            } => {
                let mut before = operator.first;
                for variable in variables(list) {
                    for item in expand_variable(operator, &variable, values.member(variable.name)) {
                        uri.push_str(before);
                        uri.push_str(&item);
                        before = operator.separator;
                    }
                    check_length(&uri)?;
                }
            }
        }
        check_length(&uri)?;
    }
    Ok(uri)
}

fn check_length(uri: &str) -> Result<(), String> {
    match uri.len() <= MAX_URI_BYTES {
        true => Ok(()),
        false => Err(format!("the URI has more than {MAX_URI_BYTES} bytes")),
    }
}

/// Returns the items that a variable adds, encoded; none for a variable without a value.
fn expand_variable(
    operator: &Operator,
    variable: &Variable<'_>,
    value: Option<Value<'_>>,
) -> Vec<String> {
    let encoded = |text: &str| {
        let mut out = String::new();
        let end = text.char_indices().nth(variable.max_chars);
        let text = &text[..end.map_or(text.len(), |(end, _)| end)];
        encode(&mut out, text, operator.keeps_reserved);
        out
    };
    let named = |name: &str, text: String| match operator.empty {
        None => text,
        Some(empty) if text.is_empty() => format!("{name}{empty}"),
        Some(_) => format!("{name}={text}"),
    };
    let Some(value) = value.filter(|value| value.kind() != ValueKind::Null) else {
        return Vec::new();
    };
    let (is_object, is_list) = match value.kind() {
        ValueKind::Object => (true, false),
        kind => (false, kind == ValueKind::Array),
    };
    if !is_object && !is_list {
        return vec![named(variable.name, encoded(&text_of(value)))];
    }
    let members = value.children().map(|child| {
        let key = child.key().map(|key| encoded(&key));
        (key, encoded(&text_of(child)))
    });
    let items: Vec<String> = match (is_object, variable.is_exploded) {
        (true, true) => members
            .map(|(key, text)| format!("{}={text}", key.unwrap_or_default()))
            .collect(),
        (true, false) => members
            .flat_map(|(key, text)| [key.unwrap_or_default(), text])
            .collect(),
        (false, true) => members
            .map(|(_, text)| named(variable.name, text))
            .collect(),
        (false, false) => members.map(|(_, text)| text).collect(),
    };
    match variable.is_exploded || items.is_empty() {
        true => items,
        false => vec![named(variable.name, items.join(","))],
    }
}

/// Returns the text of a value: that of a string, or its JSON.
fn text_of(value: Value<'_>) -> String {
    value.as_str().unwrap_or_else(|| value.raw_text())
}

/// Adds a text in which all but the characters of a URI is escaped: RFC 6570, section 3.2.1.
fn encode(out: &mut String, text: &str, keeps_reserved: bool) {
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let is_escape = || {
            let digits = bytes.get(at + 1..at + 3);
            *byte == b'%' && digits.is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit))
        };
        let is_kept = byte.is_ascii_alphanumeric()
            || b"-._~".contains(byte)
            || (keeps_reserved && (b":/?#[]@!$&'()*+,;=".contains(byte) || is_escape()));
        match is_kept {
            true => out.push(char::from(*byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The variables of RFC 6570, section 3.2.
    const VALUES: &str = r#"{"count":["one","two","three"],"dom":["example","com"],"hello":"Hello World!",
        "half":"50%","var":"value","who":"fred","base":"http://example.com/home/","path":"/foo/bar",
        "list":["red","green","blue"],"keys":{"semi":";","dot":".","comma":","},"v":6,"x":1024,"y":"768",
        "empty":"","empty_keys":{},"undef":null}"#;

    #[test]
    fn templates_are_expanded_as_the_rfc_says() {
        for (template, uri) in [
            ("{var}", "value"),
            ("{hello}", "Hello%20World%21"),
            ("{half}", "50%25"),
            ("O{empty}X", "OX"),
            ("O{undef}X", "OX"),
            ("{x,y}", "1024,768"),
            ("{x,hello,y}", "1024,Hello%20World%21,768"),
            ("?{x,undef}", "?1024"),
            ("{var:3}", "val"),
            ("{var:30}", "value"),
            ("{list}", "red,green,blue"),
            ("{list*}", "red,green,blue"),
            ("{keys}", "semi,%3B,dot,.,comma,%2C"),
            ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
            ("{+hello}", "Hello%20World!"),
            ("{+half}", "50%25"),
            ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
            ("{+base}index", "http://example.com/home/index"),
            ("{+path:6}/here", "/foo/b/here"),
            ("{#x,hello,y}", "#1024,Hello%20World!,768"),
            ("{#path,x}/here", "#/foo/bar,1024/here"),
            ("X{.dom*}", "X.example.com"),
            ("X{.empty_keys}", "X"),
            ("{/var,empty}", "/value/"),
            ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
            ("{;x,y,empty}", ";x=1024;y=768;empty"),
            ("{;list*}", ";list=red;list=green;list=blue"),
            ("{?x,y,empty}", "?x=1024&y=768&empty="),
            ("{?keys*}", "?semi=%3B&dot=.&comma=%2C"),
            ("{?list}", "?list=red,green,blue"),
            ("{&var:3}", "&var=val"),
            ("file:///ä b%20{", "file:///%C3%A4%20b%20%7B"),
            ("{missing}{", "%7B"),
            ("", ""),
        ] {
            assert_eq!(
                expand_template(template, VALUES).as_deref(),
                Ok(uri),
                "{template}"
            );
        }
    }

    #[test]
    fn an_expansion_is_bounded_and_takes_an_object() {
        for none in ["", "[]", "1", "{\"a\":", "{\"a\":1}x"] {
            assert!(expand_template("{a}", none).is_err(), "{none}");
        }
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(60_000));
        assert!(expand_template(&"{a}".repeat(1000), &long).is_err());
        assert_eq!(
            template_variables(&"{a}{+b:3,c*}".repeat(2)),
            ["a", "b", "c"]
        );
        let many: String = (0..200).map(|n| format!("{{v{n}}}")).collect();
        assert_eq!(template_variables(&many).len(), MAX_VARIABLES);
    }
}
