//! Parsing of templates.

use crate::base::text::is_hidden;

use super::parts::{
    Expression, MAX_EXPRESSIONS, MAX_TEMPLATE, MAX_VARIABLES, Modifier, Operator, Part, Variable,
};
use super::uri_char::{escaped_byte, uri_chars};

/// The reason that a text is not an accepted URI template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The template is longer than 2,048 bytes.
    #[error("the template is longer than {MAX_TEMPLATE} bytes")]
    TooLong,
    /// The template has more than 32 expressions, or mentions more than 64 variables.
    #[error(
        "the template has more than {MAX_EXPRESSIONS} expressions or {MAX_VARIABLES} variables"
    )]
    TooMany,
    /// A character that is not allowed in a literal, or an invalid escape, at this byte.
    #[error("the character at byte {at} is not allowed in a URI template")]
    Literal {
        /// The byte offset.
        at: usize,
    },
    /// An expression that begins at this byte is not closed.
    #[error("the `{{` at byte {at} is not closed")]
    Unclosed {
        /// The byte offset of the opening brace.
        at: usize,
    },
    /// The expression that begins at this byte has an operator that RFC 6570 reserves.
    #[error("the expression at byte {at} has a reserved operator")]
    Operator {
        /// The byte offset of the opening brace.
        at: usize,
    },
    /// The expression that begins at this byte contains something that is not a variable.
    #[error("{found:?} in the expression at byte {at} is not a variable")]
    Variable {
        /// The byte offset of the opening brace.
        at: usize,
        /// The text that is not a variable.
        found: Box<str>,
    },
}

/// Parses a template into its parts.
pub(super) fn parts(text: &str) -> Result<Vec<Part>, TemplateError> {
    if text.len() > MAX_TEMPLATE {
        return Err(TemplateError::TooLong);
    }
    let mut parts = Vec::new();
    let (mut expressions, mut variables) = (0, 0);
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if let Some(inside) = rest.strip_prefix('{') {
            let length = inside.find('}').ok_or(TemplateError::Unclosed { at })?;
            let expression = expression(&inside[..length], at)?;
            expressions += 1;
            variables += expression.variables.len();
            parts.push(Part::Expression(expression));
            at += length + 2;
        } else {
            let length = rest.find('{').unwrap_or(rest.len());
            parts.push(literal(&rest[..length], at)?);
            at += length;
        }
        if expressions > MAX_EXPRESSIONS || variables > MAX_VARIABLES {
            return Err(TemplateError::TooMany);
        }
    }
    Ok(parts)
}

fn literal(text: &str, start: usize) -> Result<Part, TemplateError> {
    let forbidden = |c: char| is_hidden(c) || r#" "<>\^`|}"#.contains(c);
    if let Some(at) = text.find(forbidden) {
        return Err(TemplateError::Literal { at: start + at });
    }
    if let Some((at, _)) = text
        .match_indices('%')
        .find(|(at, _)| escaped_byte(&text[at + 1..]).is_none())
    {
        return Err(TemplateError::Literal { at: start + at });
    }
    uri_chars(text)
        .map(Part::Literal)
        .ok_or(TemplateError::Literal { at: start })
}

fn expression(inside: &str, at: usize) -> Result<Expression, TemplateError> {
    let operator = match inside.chars().next() {
        Some('+') => Operator::Reserved,
        Some('#') => Operator::Fragment,
        Some('.') => Operator::Label,
        Some('/') => Operator::Path,
        Some(';') => Operator::Parameter,
        Some('?') => Operator::Query,
        Some('&') => Operator::Continuation,
        Some('=' | ',' | '!' | '@' | '|') => return Err(TemplateError::Operator { at }),
        _ => Operator::Simple,
    };
    let list = if operator == Operator::Simple {
        inside
    } else {
        &inside[1..]
    };
    let variables = list
        .split(',')
        .map(|text| {
            variable(text).ok_or_else(|| TemplateError::Variable {
                at,
                found: text.into(),
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(Expression {
        operator,
        variables,
    })
}

fn variable(text: &str) -> Option<Variable> {
    let (name, modifier) = if let Some(name) = text.strip_suffix('*') {
        (name, Modifier::Explode)
    } else if let Some((name, length)) = text.split_once(':') {
        let digits = (1..=4).contains(&length.len()) && !length.starts_with('0');
        if !digits || !length.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        (name, Modifier::Prefix(length.parse().ok()?))
    } else {
        (text, Modifier::None)
    };
    is_name(name).then(|| Variable {
        name: name.into(),
        modifier,
    })
}

/// Returns whether a text is a variable's name: letters, digits, `_` and escapes, with single dots
/// between them. Many servers write `-` in names, too, which the RFC does not have.
fn is_name(text: &str) -> bool {
    text.split('.').all(|label| {
        let mut rest = label;
        while let Some(character) = rest.chars().next() {
            let length = match character {
                '%' if escaped_byte(&rest[1..]).is_some() => 3,
                c if c.is_ascii_alphanumeric() || "_-".contains(c) => 1,
                _ => return false,
            };
            rest = &rest[length..];
        }
        !label.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::super::UriTemplate;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn templates_of_every_level_are_parsed() {
        for (text, names) in [
            ("", vec![]),
            ("file:///a", vec![]),
            ("file:///{path}", vec!["path"]),
            (
                "{+a}{#b}{.c}{/d}{;e}{?f}{&g}",
                vec!["a", "b", "c", "d", "e", "f", "g"],
            ),
            ("x{?a,b.c,a,d_%20*,e:9999}", vec!["a", "b.c", "d_%20", "e"]),
            ("https://é.example/{x}", vec!["x"]),
            ("users://{user-id}{?sort-by}", vec!["user-id", "sort-by"]),
        ] {
            let template: UriTemplate = text.parse().unwrap();
            assert_eq!(template.variables(), names, "{text}");
            assert_eq!(template.to_string(), text);
        }
    }

    #[test]
    fn invalid_templates_are_refused_with_the_byte_offset() {
        use TemplateError as E;
        let variable = |at, found: &str| E::Variable {
            at,
            found: found.into(),
        };
        for (text, error) in [
            ("a{b", E::Unclosed { at: 1 }),
            ("a}b", E::Literal { at: 1 }),
            ("a b", E::Literal { at: 1 }),
            ("a%2", E::Literal { at: 1 }),
            ("x{y}%zz", E::Literal { at: 4 }),
            ("a%ff", E::Literal { at: 0 }),
            ("{=x}", E::Operator { at: 0 }),
            ("{|x}", E::Operator { at: 0 }),
            ("{}", variable(0, "")),
            ("{?}", variable(0, "")),
            ("{a,}", variable(0, "")),
            ("{a..b}", variable(0, "a..b")),
            ("{.a.}", variable(0, "a.")),
            ("{a b}", variable(0, "a b")),
            ("{a{b}", variable(0, "a{b")),
            ("{a:0}", variable(0, "a:0")),
            ("{a:10000}", variable(0, "a:10000")),
            ("{a:+1}", variable(0, "a:+1")),
            ("{a:3*}", variable(0, "a:3*")),
            ("{ü}", variable(0, "ü")),
            ("{%2}", variable(0, "%2")),
        ] {
            assert_eq!(UriTemplate::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn templates_are_bounded() {
        let refused = |text: String| UriTemplate::parse(&text).unwrap_err();
        assert_eq!(
            refused("x".repeat(MAX_TEMPLATE + 1)),
            TemplateError::TooLong
        );
        assert_eq!(
            refused("{a}".repeat(MAX_EXPRESSIONS + 1)),
            TemplateError::TooMany
        );
        assert_eq!(
            refused(format!("{{{}a}}", "a,".repeat(MAX_VARIABLES))),
            TemplateError::TooMany
        );
        assert!(UriTemplate::parse(&"{a,b}".repeat(MAX_EXPRESSIONS)).is_ok());
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in ".{0,40}|[{}+#./;?&a:*,%0-9é]{0,40}") {
            if let Ok(template) = UriTemplate::parse(&text) {
                let _ = template.matches(&text);
                let _ = template.matches(&template.expand(&super::super::TemplateVariables::new()));
            }
        }
    }
}
