//! Expansion of a template to a URI: RFC 6570, section 3.2.

use super::parts::{Expression, Modifier, Operator, Part, Variable};
use super::uri_char::{escaped_byte, is_reserved, is_unreserved, push_encoded};
use super::variables::{TemplateValue, TemplateVariables};

pub(super) fn expand(parts: &[Part], variables: &TemplateVariables) -> String {
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Literal(uri_chars) => {
                for uri_char in uri_chars {
                    if uri_char.encoded {
                        push_encoded(&mut out, uri_char.character);
                    } else {
                        out.push(uri_char.character);
                    }
                }
            }
            Part::Expression(expression) => expand_expression(&mut out, expression, variables),
        }
    }
    out
}

fn expand_expression(out: &mut String, expression: &Expression, variables: &TemplateVariables) {
    let operator = expression.operator;
    let mut begun = false;
    for variable in &expression.variables {
        let Some(value) = variables.get(&variable.name).filter(|v| !v.is_undefined()) else {
            continue;
        };
        if begun {
            out.push(operator.separator());
        } else {
            out.extend(operator.first());
            begun = true;
        }
        if variable.modifier == Modifier::Explode {
            push_exploded(out, operator, variable, value);
        } else {
            push_joined(out, operator, variable, value);
        }
    }
}

/// Writes the whole value as one item, with its members separated by commas.
fn push_joined(out: &mut String, operator: Operator, variable: &Variable, value: &TemplateValue) {
    match value {
        TemplateValue::Text(text) => {
            let text = match variable.modifier {
                Modifier::Prefix(length) => prefix(text, length),
                Modifier::None | Modifier::Explode => text,
            };
            push_name(out, operator, &variable.name, text.is_empty());
            push_text(out, operator, text);
        }
        TemplateValue::List(items) => {
            push_name(out, operator, &variable.name, false);
            push_separated(out, ',', items, |out, item| push_text(out, operator, item));
        }
        TemplateValue::Map(pairs) => {
            push_name(out, operator, &variable.name, false);
            push_separated(out, ',', pairs, |out, (name, text)| {
                push_text(out, operator, name);
                out.push(',');
                push_text(out, operator, text);
            });
        }
    }
}

/// Writes every member as an item of its own.
fn push_exploded(out: &mut String, operator: Operator, variable: &Variable, value: &TemplateValue) {
    let separator = operator.separator();
    match value {
        TemplateValue::Text(_) => push_joined(out, operator, variable, value),
        TemplateValue::List(items) => push_separated(out, separator, items, |out, item| {
            push_name(out, operator, &variable.name, item.is_empty());
            push_text(out, operator, item);
        }),
        TemplateValue::Map(pairs) => push_separated(out, separator, pairs, |out, (name, text)| {
            push_text(out, operator, name);
            if !(operator == Operator::Parameter && text.is_empty()) {
                out.push('=');
            }
            push_text(out, operator, text);
        }),
    }
}

fn push_name(out: &mut String, operator: Operator, name: &str, is_empty: bool) {
    if operator.is_named() {
        out.push_str(name);
        if !(operator == Operator::Parameter && is_empty) {
            out.push('=');
        }
    }
}

fn push_separated<T>(
    out: &mut String,
    separator: char,
    items: &[T],
    mut push: impl FnMut(&mut String, &T),
) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(separator);
        }
        push(out, item);
    }
}

fn push_text(out: &mut String, operator: Operator, text: &str) {
    for (at, character) in text.char_indices() {
        let kept = operator.keeps_reserved()
            && (is_reserved(character)
                || character == '%' && escaped_byte(&text[at + 1..]).is_some());
        if kept || is_unreserved(character) {
            out.push(character);
        } else {
            push_encoded(out, character);
        }
    }
}

/// Returns the first `length` characters.
fn prefix(text: &str, length: usize) -> &str {
    text.char_indices()
        .nth(length)
        .map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::super::UriTemplate;
    use super::*;

    fn list(items: &[&str]) -> TemplateValue {
        TemplateValue::List(items.iter().map(|&item| item.to_owned()).collect())
    }

    /// Returns the variables of RFC 6570, section 3.2.
    fn variables() -> TemplateVariables {
        let keys = [("semi", ";"), ("dot", "."), ("comma", ",")];
        let keys = keys.map(|(name, text)| (name.to_owned(), text.to_owned()));
        TemplateVariables::new()
            .with("count", list(&["one", "two", "three"]))
            .with("dom", list(&["example", "com"]))
            .with("dub", "me/too")
            .with("hello", "Hello World!")
            .with("half", "50%")
            .with("var", "value")
            .with("who", "fred")
            .with("base", "http://example.com/home/")
            .with("path", "/foo/bar")
            .with("list", list(&["red", "green", "blue"]))
            .with("keys", TemplateValue::Map(keys.to_vec()))
            .with("v", "6")
            .with("x", "1024")
            .with("y", "768")
            .with("empty", "")
            .with("empty_keys", TemplateValue::Map(Vec::new()))
    }

    #[test]
    fn the_examples_of_the_rfc() {
        for (template, expected) in [
            // 3.2.1
            ("{count}", "one,two,three"),
            ("{count*}", "one,two,three"),
            ("{/count}", "/one,two,three"),
            ("{/count*}", "/one/two/three"),
            ("{;count}", ";count=one,two,three"),
            ("{;count*}", ";count=one;count=two;count=three"),
            ("{?count}", "?count=one,two,three"),
            ("{?count*}", "?count=one&count=two&count=three"),
            ("{&count*}", "&count=one&count=two&count=three"),
            // 3.2.2
            ("{var}", "value"),
            ("{hello}", "Hello%20World%21"),
            ("{half}", "50%25"),
            ("O{empty}X", "OX"),
            ("O{undef}X", "OX"),
            ("{x,y}", "1024,768"),
            ("{x,hello,y}", "1024,Hello%20World%21,768"),
            ("?{x,empty}", "?1024,"),
            ("?{x,undef}", "?1024"),
            ("?{undef,y}", "?768"),
            ("{var:3}", "val"),
            ("{var:30}", "value"),
            ("{list}", "red,green,blue"),
            ("{list*}", "red,green,blue"),
            ("{keys}", "semi,%3B,dot,.,comma,%2C"),
            ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
            // 3.2.3
            ("{+var}", "value"),
            ("{+hello}", "Hello%20World!"),
            ("{+half}", "50%25"),
            ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
            ("{+base}index", "http://example.com/home/index"),
            ("O{+empty}X", "OX"),
            ("{+path}/here", "/foo/bar/here"),
            ("here?ref={+path}", "here?ref=/foo/bar"),
            ("up{+path}{var}/here", "up/foo/barvalue/here"),
            ("{+x,hello,y}", "1024,Hello%20World!,768"),
            ("{+path,x}/here", "/foo/bar,1024/here"),
            ("{+path:6}/here", "/foo/b/here"),
            ("{+list}", "red,green,blue"),
            ("{+keys}", "semi,;,dot,.,comma,,"),
            ("{+keys*}", "semi=;,dot=.,comma=,"),
            // 3.2.4
            ("{#var}", "#value"),
            ("{#hello}", "#Hello%20World!"),
            ("foo{#empty}", "foo#"),
            ("foo{#undef}", "foo"),
            ("{#path,x}/here", "#/foo/bar,1024/here"),
            ("{#keys*}", "#semi=;,dot=.,comma=,"),
            // 3.2.5
            ("{.who,who}", ".fred.fred"),
            ("{.half,who}", ".50%25.fred"),
            ("www{.dom*}", "www.example.com"),
            ("X{.empty}", "X."),
            ("X{.undef}", "X"),
            ("X{.list}", "X.red,green,blue"),
            ("X{.keys}", "X.semi,%3B,dot,.,comma,%2C"),
            ("X{.keys*}", "X.semi=%3B.dot=..comma=%2C"),
            ("X{.empty_keys}", "X"),
            // 3.2.6
            ("{/who,dub}", "/fred/me%2Ftoo"),
            ("{/var,empty}", "/value/"),
            ("{/var,undef}", "/value"),
            ("{/var:1,var}", "/v/value"),
            ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
            ("{/keys*}", "/semi=%3B/dot=./comma=%2C"),
            // 3.2.7
            ("{;v,empty,who}", ";v=6;empty;who=fred"),
            ("{;v,bar,who}", ";v=6;who=fred"),
            ("{;hello:5}", ";hello=Hello"),
            ("{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"),
            ("{;keys*}", ";semi=%3B;dot=.;comma=%2C"),
            // 3.2.8
            ("{?x,y,empty}", "?x=1024&y=768&empty="),
            ("{?x,y,undef}", "?x=1024&y=768"),
            ("{?var:3}", "?var=val"),
            ("{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"),
            ("{?keys*}", "?semi=%3B&dot=.&comma=%2C"),
            // 3.2.9
            ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
            ("{&x,y,empty}", "&x=1024&y=768&empty="),
            ("{&keys*}", "&semi=%3B&dot=.&comma=%2C"),
        ] {
            let parsed = UriTemplate::parse(template).unwrap();
            assert_eq!(parsed.expand(&variables()), expected, "{template}");
        }
    }

    #[test]
    fn escapes_in_a_value_pass_only_where_reserved_characters_do() {
        let variables = TemplateVariables::new().with("x", "%41%zé");
        let expand = |text: &str| UriTemplate::parse(text).unwrap().expand(&variables);
        assert_eq!(expand("{+x}"), "%41%25z%C3%A9");
        assert_eq!(expand("{x}"), "%2541%25z%C3%A9");
    }

    #[test]
    fn a_prefix_counts_characters() {
        let variables = TemplateVariables::new().with("x", "éàü");
        assert_eq!(
            UriTemplate::parse("{x:2}").unwrap().expand(&variables),
            "%C3%A9%C3%A0"
        );
    }

    #[test]
    fn literals_are_written_as_a_uri() {
        let template = UriTemplate::parse("a:é%7e%2f/").unwrap();
        assert_eq!(template.expand(&TemplateVariables::new()), "a:%C3%A9~%2F/");
    }
}
