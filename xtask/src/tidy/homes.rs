//! The rule about functions that only the home of a rule calls, such as a module of
//! `turnbuckle_types::base`.

use super::rule::{Project, Rule, Violation};
use crate::source::{Source, Token};

pub(super) const RULE: Rule = Rule {
    name: "homes",
    reason: "a rule that all crates follow alike has one home: call it instead",
    check,
};

/// A function that one file may call, or a few.
struct Restriction {
    /// The identifiers of a path, such as `Arc::strong_count`.
    path: &'static [&'static str],
    /// The beginnings of the paths of the files that may call it.
    files: &'static [&'static str],
    /// The function to call instead.
    instead: &'static str,
}

const RESTRICTIONS: &[Restriction] = &[
    Restriction {
        path: &["is_control"],
        files: &["crates/turnbuckle-types/src/base/t"],
        instead: "`base::text` decides which characters are hidden",
    },
    Restriction {
        path: &["getrandom"],
        // Stores do not depend on the types.
        files: &[
            "crates/turnbuckle-types/src/base/random.rs",
            "crates/turnbuckle-redis/src/store.rs",
            "crates/turnbuckle-sqlite/src/store.rs",
        ],
        instead: "`base::random` makes ids, secrets and other random bytes",
    },
    Restriction {
        path: &["strsim"],
        // The macros depend on none of ours, which would be compiled twice then.
        files: &[
            "crates/turnbuckle-types/src/base/nearest.rs",
            "crates/turnbuckle-macros/src/parse/names.rs",
        ],
        instead: "`base::nearest` finds the name that was meant",
    },
    Restriction {
        path: &["Arc", "strong_count"],
        files: &[],
        instead: "count the users of a shared value where they begin and end",
    },
    Restriction {
        path: &["signal_hook"],
        files: &["crates/turnbuckle-session/src/shared/signals.rs"],
        instead: "`session::internal::ShutdownSignals` catches the signals that end a program",
    },
    Restriction {
        path: &["tokio", "signal"],
        // A parent of processes catches SIGCHLD, which ends no program.
        files: &[
            "crates/turnbuckle-session/src/shared/signals.rs",
            "crates/turnbuckle-stdio/src/child/unix.rs",
        ],
        instead: "`session::internal::ShutdownSignals` catches the signals that end a program",
    },
];

fn check(project: &Project) -> Vec<Violation> {
    project.production().flat_map(violations).collect()
}

fn violations(source: &Source) -> Vec<Violation> {
    let tokens = &source.production;
    let mut found = Vec::new();
    for home in RESTRICTIONS {
        if home
            .files
            .iter()
            .any(|start| source.path.starts_with(start))
        {
            continue;
        }
        for (at, token) in tokens.iter().enumerate() {
            if names(tokens.get(at..).unwrap_or_default(), home.path) {
                let path = home.path.join("::");
                let what = format!("`{path}` is called: {}", home.instead);
                found.push(Violation::new(&source.path, token.line, what));
            }
        }
    }
    found
}

/// Returns whether tokens begin with the identifiers of a path, which two colons separate.
fn names(tokens: &[Token], path: &[&str]) -> bool {
    path.iter().enumerate().all(|(index, name)| {
        let token = tokens.get(index * 3);
        token.and_then(Token::ident) == Some(*name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn found(path: &str, text: &str) -> usize {
        let project = Project::parse(Tree::new(&[(path, text)])).unwrap();
        check(&project).len()
    }

    #[test]
    fn a_copy_of_a_rule_is_found_and_its_home_is_not() {
        let http = "crates/turnbuckle-http/src/a.rs";
        for (code, home) in [
            ("fn f(c: char) { c.is_control(); }", "text.rs"),
            ("fn f() { t.chars().any(char::is_control) }", "terminal.rs"),
            ("fn f() { getrandom::fill(&mut bytes); }", "random.rs"),
            ("use getrandom::fill;", "random.rs"),
            ("fn f() { strsim::osa_distance(a, b); }", "nearest.rs"),
        ] {
            assert_eq!(found(http, code), 1, "{code}");
            let home = format!("crates/turnbuckle-types/src/base/{home}");
            assert_eq!(found(&home, code), 0, "{code}");
            let test = format!("#[cfg(test)]\nmod tests {{ {code} }}");
            assert_eq!(found(http, &test), 0, "{code}");
        }
        assert_eq!(found(http, "fn f() { Arc::strong_count(&a) }"), 1);
        assert_eq!(found(http, "use signal_hook::consts::SIGHUP;"), 1);
        assert_eq!(found(http, "fn f() { tokio::signal::ctrl_c() }"), 1);
        assert_eq!(found(http, "fn f() { weak.strong_count() }"), 0);
        assert_eq!(found(http, "fn f(c: char) { c.is_ascii_control() }"), 0);
    }
}
