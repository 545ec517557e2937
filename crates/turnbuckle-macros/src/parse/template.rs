//! URI templates (RFC 6570): their variables must match the parameters of the function.

use syn::LitStr;

use super::keys::ErrorCollector;
use super::names::nearest;
use super::parameters::Parameters;

/// Checks the URI or template of a resource against the parameters.
pub(crate) fn check_template(uri: &LitStr, parameters: &Parameters, mistakes: &mut ErrorCollector) {
    let text = uri.value();
    let variables = match variables(&text) {
        Ok(variables) => variables,
        Err(fault) => return mistakes.add_at(uri.span(), fault),
    };
    let names: Vec<&str> = parameters
        .named_arguments()
        .map(|argument| argument.name.as_str())
        .collect();
    for argument in parameters.named_arguments() {
        let name = argument.name.as_str();
        if variables.contains(&name) {
            continue;
        }
        let left = variables.iter().copied().filter(|v| !names.contains(v));
        let hint = match nearest(name, left) {
            Some(near) => format!("did you mean `{near}`?"),
            None if variables.is_empty() => "the template has none".to_owned(),
            None => format!("the variables are {}", join_names(&variables)),
        };
        mistakes.add_at(
            argument.name_span(),
            format_args!("`{name}` is not a variable of the template {text:?}; {hint}"),
        );
    }
    if parameters.takes_all_arguments || parameters.has_flattened() {
        return;
    }
    for variable in &variables {
        if !names.contains(variable) {
            mistakes.add_at(
                uri.span(),
                format_args!(
                    "the template's variable `{variable}` is not a parameter of the function; add \
                     `{variable}: String`, or take a `ReadRequest`"
                ),
            );
        }
    }
}

fn join_names(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// Returns the variables of a template without repetitions.
fn variables(text: &str) -> Result<Vec<&str>, String> {
    let mut variables = Vec::new();
    let mut rest = text;
    while let Some((literal, after)) = rest.split_once('{') {
        if literal.contains('}') {
            return Err(unopened_brace(text));
        }
        let (inside, after) = after
            .split_once('}')
            .ok_or_else(|| format!("a `{{` of the template {text:?} is not closed"))?;
        for variable in expression(inside)? {
            if !variables.contains(&variable) {
                variables.push(variable);
            }
        }
        rest = after;
    }
    if rest.contains('}') {
        return Err(unopened_brace(text));
    }
    Ok(variables)
}

fn unopened_brace(text: &str) -> String {
    format!("a `}}` of the template {text:?} has no `{{`")
}

/// Returns the variables of one expression, which has an optional operator, and names with
/// modifiers.
fn expression(inside: &str) -> Result<Vec<&str>, String> {
    if inside.starts_with(['=', ',', '!', '@', '|']) {
        return Err(format!("`{{{inside}}}` has an operator that is reserved"));
    }
    let list = inside.strip_prefix(['+', '#', '.', '/', ';', '?', '&']);
    let variable = |part| {
        variable(part).ok_or_else(|| format!("{part:?} in `{{{inside}}}` is not a variable"))
    };
    list.unwrap_or(inside).split(',').map(variable).collect()
}

fn variable(text: &str) -> Option<&str> {
    let name = if let Some(name) = text.strip_suffix('*') {
        name
    } else if let Some((name, length)) = text.split_once(':') {
        let length: u16 = length.parse().ok()?;
        (1..10_000).contains(&length).then_some(name)?
    } else {
        text
    };
    let legal = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '%');
    let is_name =
        !name.is_empty() && name.chars().all(legal) && name.split('.').all(|part| !part.is_empty());
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_and_modifiers_are_not_part_of_names() {
        assert_eq!(
            variables("x://{a}/{+b}{#c:3}{.d,e}{/f*}{;g}{?h,a}{&i}").unwrap(),
            ["a", "b", "c", "d", "e", "f", "g", "h", "i"]
        );
        assert_eq!(variables("x://plain").unwrap(), [""; 0]);
    }

    #[test]
    fn invalid_templates_are_reported() {
        for (text, fault) in [
            ("x://{a", "not closed"),
            ("x://a}", "has no `{`"),
            ("x://{a}}", "has no `{`"),
            ("x://{}", "\"\" in `{}` is not a variable"),
            ("x://{a,}", "\"\" in `{a,}`"),
            ("x://{=a}", "reserved"),
            ("x://{a:0}", "\"a:0\""),
            ("x://{a b}", "\"a b\""),
        ] {
            let error = variables(text).unwrap_err();
            assert!(error.contains(fault), "{text}: {error}");
        }
    }
}
