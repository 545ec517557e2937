//! The rule about fields of log lines that show a value as its `Display` writes it.

use super::rule::{Project, Rule, Violation};
use crate::source::{Source, Token};

pub(super) const RULE: Rule = Rule {
    name: "log-fields",
    reason: "an error or a name may quote a peer, whose line breaks and marks of direction a log must \
             not have: write `%Escaped(&error)` (`turnbuckle_types::base::text`), or `?error`",
    check,
};

/// The macros that log.
const MACROS: [&str; 5] = ["trace", "debug", "info", "warn", "error"];

/// The functions and types behind `%` whose text is safe.
const SAFE: [&str; 5] = ["Escaped", "Foreign", "one_line", "shorten", "shorten_to"];

fn check(project: &Project) -> Vec<Violation> {
    project.production().flat_map(violations).collect()
}

fn violations(source: &Source) -> Vec<Violation> {
    let tokens = &source.production;
    let starts = (0..tokens.len()).filter(|at| begins_log_line(&tokens[*at..]));
    let fields = starts.flat_map(|at| unsafe_fields(&tokens[at + 5..]));
    let violation = |field: &Token| {
        let name = field.ident().unwrap_or("a value");
        let what = format!("the field `%{name}` may quote a peer");
        Violation::new(&source.path, field.line, what)
    };
    fields.map(violation).collect()
}

/// Returns whether tokens begin with `tracing::warn!(` or the like.
fn begins_log_line(tokens: &[Token]) -> bool {
    let [krate, one, two, name, bang, ..] = tokens else {
        return false;
    };
    krate.ident() == Some("tracing")
        && one.is(':')
        && two.is(':')
        && name.ident().is_some_and(|name| MACROS.contains(&name))
        && bang.is('!')
}

/// Returns the first tokens of the values behind `%`, up to the end of the parenthesis with which
/// the tokens begin, unless they are safe.
fn unsafe_fields(tokens: &[Token]) -> impl Iterator<Item = &Token> {
    let mut depth = 0;
    let arguments = tokens.iter().take_while(move |token| {
        depth += i32::from(token.is('(')) - i32::from(token.is(')'));
        depth > 0
    });
    let values = arguments.zip(&tokens[1..]);
    values.filter_map(|(sign, value)| {
        let is_safe = value.ident().is_some_and(|name| SAFE.contains(&name));
        (sign.is('%') && !is_safe).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn found(text: &str) -> usize {
        let tree = Tree::new(&[("crates/turnbuckle-http/src/a.rs", text)]);
        check(&Project::parse(tree).unwrap()).len()
    }

    #[test]
    fn a_field_that_may_quote_a_peer_is_found() {
        for (code, count) in [
            (r#"fn f() { tracing::warn!(%error, "x"); }"#, 1),
            (
                r#"fn f() { tracing::debug!(a = %error, b = %f(x), "x"); }"#,
                2,
            ),
            (
                r#"fn f() { tracing::debug!(a = %Escaped(&error), "x"); }"#,
                0,
            ),
            (
                r#"fn f() { tracing::debug!(?error, a = %shorten(a), "x"); }"#,
                0,
            ),
            (r#"fn f() { tracing::debug!("x"); let b = a %c; }"#, 0),
        ] {
            assert_eq!(found(code), count, "{code}");
        }
    }
}
