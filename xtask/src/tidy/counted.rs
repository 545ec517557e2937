//! The rule that metrics count what a server refuses because of a limit.

use std::collections::BTreeSet;

use super::rule::{Project, Rule, Violation};
use crate::settings::tables;
use crate::source::Source;

pub(super) const RULE: Rule = Rule {
    name: "counted",
    reason: "whatever a server refuses, drops or gives up because of a limit is counted for metrics \
             by the name of its setting: call `count_refusal` or `limit_error` with it where that \
             happens, or say in the row of the setting why not (`// Uncounted: nothing is refused`)",
    check: |project| {
        let mut found = rows(project);
        found.extend(texts(project));
        found
    },
};

/// Files with settings of clients alone, which have no counter.
fn is_of_client(path: &str) -> bool {
    const CRATES: &[&str] = &[
        "turnbuckle-client/",
        "turnbuckle-servers/",
        "turnbuckle-types/",
    ];
    ["/src/client/", "/src/child/"]
        .iter()
        .any(|part| path.contains(part))
        || CRATES.iter().any(|name| path.contains(name))
}

/// Types whose settings stand in no table.
const BUILDERS: &[&str] = &["ServerBuilder", "Provider", "SchemaLimits"];

/// Returns the texts that are the name of a setting and nothing else, as a counter takes it.
fn counter_names(project: &Project) -> BTreeSet<&str> {
    let tokens = project.production().flat_map(|source| &source.production);
    let texts = tokens.filter_map(|token| token.text());
    texts.filter(|text| is_setting(text)).collect()
}

fn is_setting(text: &str) -> bool {
    let is_name = |name: &str| {
        let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
        !name.is_empty() && name.chars().all(is_part)
    };
    text.split_once("::")
        .is_some_and(|(kind, name)| is_name(kind) && is_name(name))
}

/// Returns the rows of tables with a limit that is not counted.
fn rows(project: &Project) -> Vec<Violation> {
    let counted = counter_names(project);
    let mut found = Vec::new();
    for table in tables(&project.tree, &project.sources) {
        if is_of_client(&table.path) {
            continue;
        }
        for row in &table.rows {
            let name = format!("{}::{}", table.name, row.name);
            let is_counted = counted.contains(&*name);
            let what = match (row.beyond.is_empty(), row.uncounted.is_empty(), is_counted) {
                (false, true, false) => "is a limit that nothing counts",
                (_, false, true) => "is counted: remove `// Uncounted:`",
                _ => continue,
            };
            let what = format!("`{name}` {what}");
            found.push(Violation::new(&table.path, row.line, what));
        }
    }
    found
}

/// Returns the messages that name a setting of a builder which is not counted.
fn texts(project: &Project) -> Vec<Violation> {
    let counted = counter_names(project);
    let sources = project.production();
    let sources = sources.filter(|source| source.package() == "crates/turnbuckle-server");
    let in_source = |source: &Source| -> Vec<Violation> {
        let mut found = Vec::new();
        for token in &source.production {
            let names = token.text().into_iter().flat_map(named_settings);
            for name in names.filter(|name| !counted.contains(name)) {
                let what = format!("`{name}` is a limit that nothing counts");
                found.push(Violation::new(&source.path, token.line, what));
            }
        }
        found
    };
    sources.flat_map(in_source).collect()
}

/// Returns the settings of builders that a message names in brackets, as an error names its limit.
fn named_settings(text: &str) -> impl Iterator<Item = &str> {
    let is_listed = |name: &&str| {
        let kind = name.split_once("::").map(|(kind, _)| kind);
        is_setting(name) && kind.is_some_and(|kind| BUILDERS.contains(&kind))
    };
    let parts = text.split('(').skip(1);
    let names = parts.filter_map(|part| part.split_once(')').map(|(name, _)| name));
    names.flat_map(|name| name.split(", ")).filter(is_listed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn check(row: &str, code: &str) -> Vec<String> {
        let limits =
            format!("settings! {{ pub struct Limits {{ {row}\n    max_a: usize = 1,\n }} }}");
        let tree = Tree::new(&[
            ("crates/turnbuckle-session/src/limits.rs", &limits),
            ("crates/turnbuckle-server/src/a.rs", code),
        ]);
        let found = (RULE.check)(&Project::parse(tree).unwrap());
        found.into_iter().map(|violation| violation.what).collect()
    }

    #[test]
    fn a_limit_that_nothing_counts_is_found() {
        let not_counted = ["`Limits::max_a` is a limit that nothing counts"];
        let beyond = "\n    // Beyond: refused";
        assert_eq!(check(beyond, ""), not_counted);
        assert_eq!(
            check(beyond, r#"fn f() { g("too many (Limits::max_a)") }"#),
            not_counted
        );
        let in_test = r#"#[cfg(test)] mod tests { fn f() { g("Limits::max_a") } }"#;
        assert_eq!(check(beyond, in_test), not_counted);
        let counts = r#"fn f() { count_refusal("Limits::max_a") }"#;
        assert_eq!(check(beyond, counts), [""; 0]);
        assert_eq!(check("", ""), [""; 0]);
    }

    #[test]
    fn a_limit_with_a_reason_is_not_counted() {
        let row = "\n    // Beyond: the writer waits\n    // Uncounted: nothing is refused";
        assert_eq!(check(row, ""), [""; 0]);
        let counts = r#"fn f() { count_refusal("Limits::max_a") }"#;
        let found = ["`Limits::max_a` is counted: remove `// Uncounted:`"];
        assert_eq!(check(row, counts), found);
    }

    #[test]
    fn a_setting_of_a_builder_that_an_error_names_is_counted() {
        let names = r#"fn f() { g("too many (ServerBuilder::max_b, Other::c)") }"#;
        let found = ["`ServerBuilder::max_b` is a limit that nothing counts"];
        assert_eq!(check("", names), found);
        let counts = format!(r#"{names} fn h() {{ count_refusal("ServerBuilder::max_b") }}"#);
        assert_eq!(check("", &counts), [""; 0]);
    }
}
