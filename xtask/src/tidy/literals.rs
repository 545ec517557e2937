//! The rules about what may stand in one part of the source only.

use super::rule::{Project, Rule, Violation};
use crate::source::{Source, Token};

pub(super) const DATES: Rule = Rule {
    name: "dates",
    reason: "the date of a revision may stand in turnbuckle-types/src/base/revision_dates only; \
             elsewhere, ask the revision for the fact (`Features`, the table of methods)",
    check: |project| texts(project, is_away_from_revisions, has_date),
};

pub(super) const METHODS: Rule = Rule {
    name: "methods",
    reason: "the name of a method stands with its type in turnbuckle-types/src/method.rs, and its \
             facts in the table of turnbuckle-wire (`revision::Method`): use the `METHOD` of the \
             type, and ask the table instead of comparing names",
    check: |project| {
        let mut found = texts(project, is_away_from_methods, is_method);
        found.extend(comparisons(project));
        found
    },
};

pub(super) const HEADERS: Rule = Rule {
    name: "headers",
    reason: "names of HTTP headers stand in turnbuckle-http, and those that mirror the body in \
             turnbuckle-wire/src/era/headers",
    check: |project| texts(project, is_away_from_http, is_header),
};

pub(super) const PURITY: Rule = Rule {
    name: "purity",
    reason: "types, wire, schema and the session's kernel neither wait nor read a clock: what does \
             belongs in turnbuckle-session's driver or in a transport",
    check: |project| {
        let pure = project.production().filter(|source| is_pure(&source.path));
        let found = pure.flat_map(|source| {
            let words = source
                .production
                .iter()
                .filter_map(|token| Some((token, token.ident()?)));
            let impure = words.filter(|(_, word)| IMPURE.contains(word));
            impure.map(|(token, word)| Violation::new(&source.path, token.line, word))
        });
        found.collect()
    },
};

/// The first parts of the protocol's method names.
const AREAS: &str = "completion elicitation logging notifications prompts resources roots sampling \
                     server subscriptions tasks tools";

const HEADER_NAMES: &str = "authorization cache-control content-type last-event-id \
                            www-authenticate x-accel-buffering";

/// The names of the reference servers' items that look like headers.
const NO_HEADERS: [&str; 2] = ["mcp-demo", "mcp-fetch"];

const IMPURE: &[&str] = &["async", "await", "tokio", "Instant", "SystemTime"];

/// Returns the texts in the code of some files that a rule forbids there.
fn texts(
    project: &Project,
    is_in: fn(&str) -> bool,
    is_forbidden: fn(&str) -> bool,
) -> Vec<Violation> {
    let sources = project.production().filter(|source| is_in(&source.path));
    let in_source = |source: &Source| -> Vec<Violation> {
        let texts = source
            .production
            .iter()
            .filter_map(|token: &Token| Some((token, token.text()?)));
        let forbidden = texts.filter(|(_, text)| is_forbidden(text));
        forbidden
            .map(|(token, text)| Violation::new(&source.path, token.line, text))
            .collect()
    };
    sources.flat_map(in_source).collect()
}

fn is_away_from_revisions(path: &str) -> bool {
    // The official schemas stand in files that have the dates as their names.
    ![
        "crates/turnbuckle-types/src/base/revision_dates.rs",
        "crates/turnbuckle-check/src/oracle/official.rs",
    ]
    .contains(&path)
}

/// Returns whether a text holds a date of this century, as `20dd-dd-dd`.
fn has_date(text: &str) -> bool {
    text.as_bytes().windows(10).any(|window| {
        window
            .iter()
            .zip(b"20dd-dd-dd")
            .all(|(byte, shape)| match shape {
                b'd' => byte.is_ascii_digit(),
                _ => byte == shape,
            })
    })
}

fn is_away_from_methods(path: &str) -> bool {
    let home = [
        "crates/turnbuckle-types/src/method.rs",
        // The methods of an extension, with their types.
        "crates/turnbuckle-skills/src/method.rs",
    ];
    !home.contains(&path) && !is_judge(path)
}

/// Returns whether a file belongs to the checks of servers and clients. They write names out, as an author of
/// another SDK would: with our tables they would share a mistake of the tables.
fn is_judge(path: &str) -> bool {
    path.starts_with("crates/turnbuckle-check/")
}

/// Returns the places where the name of a method (`Method::Ping.as_str()`, `Ping::METHOD`) is compared.
fn comparisons(project: &Project) -> Vec<Violation> {
    let sources = project
        .production()
        .filter(|source| !is_judge(&source.path));
    let in_source = |source: &Source| -> Vec<Violation> {
        let tokens = &source.production;
        let is_equal = |at: usize| {
            let pair = tokens.get(at..at + 2);
            pair.is_some_and(|pair| (pair[0].is('=') || pair[0].is('!')) && pair[1].is('='))
        };
        let ident = |at: usize| tokens.get(at).and_then(Token::ident);
        let mut found = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            // `Method :: Ping . as_str ( )` has eight tokens, `Ping :: METHOD` has four.
            let length = match (ident(at), ident(at + 3), ident(at + 5)) {
                (Some("Method"), Some(_), Some("as_str")) => 8,
                (Some(_), Some("METHOD"), _) => 4,
                _ => continue,
            };
            if is_equal(at + length) || at.checked_sub(2).is_some_and(is_equal) {
                let text = "the name of a method is compared";
                found.push(Violation::new(&source.path, token.line, text));
            }
        }
        found
    };
    sources.flat_map(in_source).collect()
}

fn is_method(text: &str) -> bool {
    let area = text.split_once('/').map(|(area, _)| area);
    matches!(text, "initialize" | "ping")
        || area.is_some_and(|area| AREAS.split(' ').any(|known| known == area))
}

fn is_away_from_http(path: &str) -> bool {
    // The tool is a user: it sends the headers that it is given, and hides their values.
    let home = [
        "crates/turnbuckle-http/",
        "crates/turnbuckle-auth/",
        "crates/turnbuckle-auth-testing/",
        "crates/turnbuckle-wire/src/era/headers",
        "crates/turnbuckle-cli/",
        // Names whose values are secret, in headers and anywhere else.
        "crates/turnbuckle-types/src/base/secrets.rs",
    ];
    !home.iter().any(|start| path.starts_with(start)) && !is_judge(path)
}

fn is_header(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    (text.starts_with("mcp-") && !NO_HEADERS.contains(&&*text))
        || HEADER_NAMES.split(' ').any(|known| known == text)
}

fn is_pure(path: &str) -> bool {
    let pure = [
        "crates/turnbuckle-schema/",
        "crates/turnbuckle-types/",
        "crates/turnbuckle-wire/",
        "crates/turnbuckle-session/src/shared/kernel",
    ];
    pure.iter().any(|start| path.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;
    use crate::tree::Tree;

    fn found(rule: &Rule, path: &str, text: &str) -> Vec<usize> {
        let project = Project::parse(Tree::new(&[(path, text)])).unwrap();
        (rule.check)(&project)
            .iter()
            .map(|violation| violation.line)
            .collect()
    }

    #[test]
    fn a_date_in_code_is_found_and_one_in_a_comment_is_not() {
        let code = "/// Since 2025-06-18.\nfn f() { g(\"2025-11-25\") } // 2024-11-05\n";
        assert_eq!(
            found(&DATES, "crates/turnbuckle-session/src/a.rs", code),
            [2]
        );
        let test = format!("#[cfg(test)]\nmod tests {{ {code} }}");
        assert_eq!(
            found(&DATES, "crates/turnbuckle-session/src/a.rs", &test),
            [0; 0]
        );
        assert_eq!(
            found(
                &DATES,
                "crates/turnbuckle-types/src/base/revision_dates.rs",
                code
            ),
            [0; 0]
        );
        assert_eq!(found(&DATES, "tests/it/src/lib.rs", code), [0; 0]);
    }

    #[test]
    fn a_method_in_a_session_or_a_transport_is_found() {
        let http = "crates/turnbuckle-http/src/endpoint.rs";
        assert_eq!(found(&METHODS, http, "fn f() { g(\"tools/call\") }"), [1]);
        assert_eq!(found(&METHODS, http, "const PING: &[u8] = b\"ping\";"), [1]);
        assert_eq!(
            found(&METHODS, http, "fn f() { g(\"application/json\") }"),
            [0; 0]
        );
        let types = "crates/turnbuckle-types/src/method.rs";
        assert_eq!(
            found(&METHODS, types, "const A: &str = \"tools/call\";"),
            [0; 0]
        );
        for (code, lines) in [
            ("fn f() { a == Method::Ping.as_str() }", &[1][..]),
            ("fn f() { Method::Ping.as_str() != a }", &[1]),
            ("fn f() { a == Ping::METHOD }", &[1]),
            ("fn f() { g(Method::Ping.as_str(), Ping::METHOD) }", &[]),
            ("fn f() { a == Some(Method::Ping) }", &[]),
        ] {
            assert_eq!(found(&METHODS, http, code), lines, "{code}");
        }
    }

    #[test]
    fn a_header_away_from_http_is_found() {
        let text = "fn f() { get(\"Mcp-Session-Id\"); get(\"content-type\"); get(\"accept\") }";
        assert_eq!(
            found(&HEADERS, "crates/turnbuckle-session/src/a.rs", text).len(),
            2
        );
        assert_eq!(
            found(&HEADERS, "crates/turnbuckle-wire/src/era/headers.rs", text),
            [0; 0]
        );
        assert_eq!(
            found(&HEADERS, "crates/turnbuckle-http/src/a.rs", text),
            [0; 0]
        );
    }

    #[test]
    fn clocks_runtimes_and_waiting_are_found() {
        let wire = "crates/turnbuckle-wire/src/a.rs";
        assert_eq!(found(&PURITY, wire, "async fn f() { g().await }").len(), 2);
        assert_eq!(
            found(
                &PURITY,
                "crates/turnbuckle-types/src/a.rs",
                "use tokio::sync;"
            ),
            [1]
        );
        let kernel = "crates/turnbuckle-session/src/shared/kernel/mod.rs";
        assert!(process::root().join(kernel).is_file());
        assert_eq!(found(&PURITY, kernel, "use std::time::Instant;"), [1]);
        assert_eq!(
            found(
                &PURITY,
                wire,
                "use std::time::Duration; // not async\nfn is_async() {}"
            ),
            [0; 0]
        );
        assert_eq!(
            found(
                &PURITY,
                "crates/turnbuckle-session/src/a.rs",
                "async fn f() {}"
            ),
            [0; 0]
        );
    }
}
