//! URI templates: parsed, expanded and matched, whatever stands in them.

use turnbuckle_server::{TemplateValue, TemplateVariables, UriTemplate};

use super::written::cut;

/// The longest URI that is matched, in bytes.
const MAX_URI: usize = 8 << 10;

/// Runs the target on `input`, in lines: a template; a URI; and `name=value` for each variable. A
/// value with `|` in it is a list, one with `|` and `:` in every item a map.
pub fn uri_template(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let mut lines = text.split('\n');
    let (text, uri) = (
        lines.next().unwrap_or_default(),
        lines.next().unwrap_or_default(),
    );
    let Ok(template) = UriTemplate::parse(text) else {
        return;
    };
    assert_eq!(template.to_string().parse(), Ok(template.clone()));

    let variables = lines.fold(TemplateVariables::new(), |variables, line| {
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        variables.with(name, value_of(value))
    });
    let expanded = expand(&template, &variables);
    check_match(&template, uri);
    check_match(&template, &expanded);
}

fn value_of(text: &str) -> TemplateValue {
    if !text.contains('|') {
        return text.into();
    }
    let items = || text.split('|').filter(|item| !item.is_empty());
    let pair = |item: &str| {
        let (name, text) = item.split_once(':')?;
        Some((name.to_owned(), text.to_owned()))
    };
    match items().map(pair).collect() {
        Some(pairs) => TemplateValue::Map(pairs),
        None => TemplateValue::List(items().map(str::to_owned).collect()),
    }
}

/// Expands the template and asserts that the result has only characters of a URI.
fn expand(template: &UriTemplate, variables: &TemplateVariables) -> String {
    let uri = template.expand(variables);
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    assert!(uri.bytes().all(plain), "{uri:?}");
    let mut rest = uri.as_bytes();
    while rest.contains(&b'%') {
        (_, rest) = cut(rest, b'%');
        let digits = rest.get(..2).expect("two digits");
        assert!(digits.iter().all(u8::is_ascii_hexdigit), "{uri:?}");
    }
    uri
}

/// Asserts that a match defines only variables of the template, and that expanding them gives a URI
/// with the same match if the template is unambiguous.
fn check_match(template: &UriTemplate, uri: &str) {
    let Some(found) = template.matches(uri) else {
        return;
    };
    assert!(uri.len() <= MAX_URI);
    assert_eq!(template.matches(uri).as_ref(), Some(&found));
    let names = template.variables();
    assert!(found.iter().all(|(name, _)| names.contains(&name)));

    let again = expand(template, &found);
    if is_plain(template, uri) && again.len() <= MAX_URI {
        assert_eq!(template.matches(&again), Some(found), "{uri:?} {again:?}");
    }
}

/// Returns whether the template is unambiguous for the URI: each variable is mentioned once, each
/// expression ends at a character that cannot be part of a value, and every encoded character would
/// be encoded again.
fn is_plain(template: &UriTemplate, uri: &str) -> bool {
    let text = template.as_str();
    let expressions = || text.split('{').skip(1);
    let mentions = expressions().map(|expression| 1 + expression.matches(',').count());
    let ends = |expression: &str| {
        let (_, after) = expression.split_once('}').unwrap_or_default();
        after.is_empty() && expressions().last() == Some(expression)
            || after.starts_with(['/', '?', '#'])
    };
    mentions.sum::<usize>() == template.variables().len()
        && expressions().all(ends)
        && !(uri.contains('%') && (text.contains("{+") || text.contains("{#")))
}
