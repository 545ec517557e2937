//! The rule that the attributes know the name of every extractor.

use super::rule::{Project, Rule, Violation};
use crate::source::{Source, Token};

pub(super) const RULE: Rule = Rule {
    name: "extractors",
    reason: "the attributes tell extractors from arguments by name: a type that implements `Extract` \
             in turnbuckle-server has a row in `EXTRACTORS` of \
             crates/turnbuckle-macros/src/parse/parameters.rs",
    check,
};

const LIST: &str = "crates/turnbuckle-macros/src/parse/parameters.rs";

/// Extractors of providers, which no attribute makes.
const OF_PROVIDERS: &[&str] = &["ItemName", "ListRequest"];

fn check(project: &Project) -> Vec<Violation> {
    let Some(list) = project.sources.iter().find(|source| source.path == LIST) else {
        return Vec::new();
    };
    let known = known_names(list);
    let server = project
        .production()
        .filter(|source| source.package() == "crates/turnbuckle-server");
    let implemented: Vec<_> = server.flat_map(implementations).collect();
    let is_known = |name: &str| OF_PROVIDERS.contains(&name) || known.contains(&name);
    let missing = implemented.iter().filter(|(_, _, name)| !is_known(name));
    let missing = missing.map(|(path, line, name)| {
        Violation::new(path, *line, format!("`{name}` is not in `EXTRACTORS`"))
    });
    let gone = known.iter().filter(|known| {
        let mut names = implemented.iter().map(|(_, _, name)| name);
        !names.any(|name| name == *known)
    });
    let gone = gone.map(|name| Violation::file(LIST, format!("`{name}` is no extractor")));
    missing.chain(gone).collect()
}

/// Returns the names in the constant `EXTRACTORS`.
fn known_names(list: &Source) -> Vec<&str> {
    let tokens = list.production.iter();
    let constant = tokens.skip_while(|token| token.ident() != Some("EXTRACTORS"));
    let constant = constant.take_while(|token| !token.is(';'));
    constant.filter_map(Token::text).collect()
}

/// Returns the types for which a file implements `Extract`, with their places.
fn implementations(source: &Source) -> Vec<(&str, usize, &str)> {
    let tokens = &source.production;
    let ident = |at: usize| tokens.get(at).and_then(Token::ident);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if ident(at) != Some("Extract") || ident(at + 1) != Some("for") {
            continue;
        }
        let name = match ident(at + 2) {
            Some("Option") => ident(at + 4),
            name => name,
        };
        match name {
            Some(name) => found.push((&*source.path, token.line, name)),
            // `()` extracts nothing.
            None if tokens.get(at + 2).is_some_and(|token| token.is('(')) => {}
            None => {
                let names = arguments_of_macro(tokens, at);
                found.extend(names.map(|name| (&*source.path, token.line, name)));
            }
        }
    }
    found
}

/// Returns the identifiers that the calls of a macro have, whose definition holds the token at `at`.
fn arguments_of_macro(tokens: &[Token], at: usize) -> impl Iterator<Item = &str> {
    let is_definition = |at: &usize| tokens[*at].ident() == Some("macro_rules");
    let definition = (0..at).rev().find(is_definition);
    let name = definition.and_then(|at| tokens.get(at + 2)?.ident());
    let calls = tokens.windows(3).enumerate().filter(move |(_, window)| {
        name.is_some() && window[0].ident() == name && window[1].is('!')
    });
    calls.flat_map(|(at, window)| {
        // A list of names in parentheses, or rows in braces that begin with a name and a colon.
        let has_rows = window[2].is('{');
        let end = if has_rows { '}' } else { ')' };
        let arguments = tokens[at + 3..].windows(2);
        let arguments = arguments.take_while(move |pair| !pair[0].is(end));
        let names = arguments.filter(move |pair| !has_rows || pair[1].is(':'));
        names.filter_map(|pair| pair[0].ident())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn found(extractors: &str) -> Vec<String> {
        let list = "const EXTRACTORS: &[(&str, bool)] = &[(\"Args\", true), (\"Log\", false)];\n\
                    const OTHERS: &[&str] = &[\"Other\"];";
        let server = "crates/turnbuckle-server/src/request/a.rs";
        let tree = Tree::new(&[(LIST, list), (server, extractors)]);
        let found = check(&Project::parse(tree).unwrap());
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_extractor_that_the_attributes_do_not_know_is_found() {
        let known = "impl<T> Extract for Args<T> {}\nimpl Extract for () {}\n\
                     impl Extract for ListRequest {}\n\
                     macro_rules! parts { ($($Part:ident),*) => {$(impl Extract for $Part {})*} }\n";
        assert_eq!(found(&format!("{known}parts!(Log);")), [""; 0]);
        let file = "crates/turnbuckle-server/src/request/a.rs";
        assert_eq!(
            found(&format!("{known}parts!(Log, Session);")),
            [format!("{file}:4: `Session` is not in `EXTRACTORS`")]
        );
        let rows =
            "macro_rules! rows { ($($Row:ty: $value:expr;)*) => {$(impl Extract for $Row {})*} }";
        assert_eq!(
            found(&format!(
                "{known}parts!(Log);\n{rows}\nrows! {{ Rows: f(x); }}"
            )),
            [format!("{file}:6: `Rows` is not in `EXTRACTORS`")]
        );
        assert_eq!(
            found(&format!(
                "{known}parts!(Log);\nimpl Extract for Option<Tenant> {{}}"
            )),
            [format!("{file}:6: `Tenant` is not in `EXTRACTORS`")]
        );
        assert_eq!(
            found("impl<T> Extract for Args<T> {}"),
            [format!("{LIST}: `Log` is no extractor")]
        );
    }
}
