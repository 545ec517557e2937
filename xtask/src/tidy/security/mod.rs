//! What the security page promises is there: its tests, its settings and their defaults, the errors
//! that it quotes; and every setting that bounds something is on it.

mod defaults;

use std::collections::{BTreeMap, BTreeSet};

use defaults::Default;

use super::quotes::{holds, printed};
use super::source::rooms;
use super::{Breach, Wall};
use crate::requirements::test_paths;
use crate::tree::Tree;

pub(super) const WALL: Wall = Wall {
    name: "security",
    advice: "SECURITY.md names a test, a setting, a default or an error that is not there, or leaves \
             out a setting: a bound has a row with its setting, its default, its error and its test",
    check,
};

const PAGE: &str = "SECURITY.md";

/// The structs of settings, and where they stand.
const SETTINGS: &[(&str, &str)] = &[
    ("Limits", "crates/turnbuckle-session/src/limits.rs"),
    (
        "ClientLimits",
        "crates/turnbuckle-session/src/client/session/limits.rs",
    ),
    ("HttpServerOptions", "crates/turnbuckle-http/src/options.rs"),
    ("SchemaLimits", "crates/turnbuckle-schema/src/limits.rs"),
    (
        "HttpClientOptions",
        "crates/turnbuckle-http/src/client/options.rs",
    ),
    ("StdioOptions", "crates/turnbuckle-stdio/src/options.rs"),
    (
        "ShutdownTimeouts",
        "crates/turnbuckle-stdio/src/child/command.rs",
    ),
    (
        "ReconnectPolicy",
        "crates/turnbuckle-client/src/connection/policy.rs",
    ),
];

/// Settings that bound nothing.
const OTHER: &[&str] = &[
    "HttpServerOptions::stateless",
    "HttpServerOptions::http_sse",
    "HttpServerOptions::limits",
    "StdioOptions::limits",
    "StdioOptions::stop",
    "HttpClientOptions::use_env_proxy",
];

fn check(tree: &Tree) -> Vec<Breach> {
    let Some(page) = tree.text(PAGE) else {
        return Vec::new();
    };
    let (tests, settings) = (test_paths(tree), settings(tree));
    let printed = printed(tree);
    let mut breaches = Vec::new();
    let mut named = BTreeSet::new();
    for (line, code) in quoted(page) {
        let what = match kind(code) {
            Kind::Test if !tests.contains(code) => format!("there is no test {code}"),
            Kind::Setting(of, field) => {
                named.insert(code.to_owned());
                let known = settings.iter().filter(|(name, _)| name == of);
                let fields: Vec<&str> = known.map(|(_, field)| field.as_str()).collect();
                match fields.is_empty() || fields.contains(&field) {
                    true => continue,
                    false => format!("there is no setting {code}"),
                }
            }
            Kind::Said if !said(code, &printed) => format!("nothing prints {code:?}"),
            _ => continue,
        };
        breaches.push(Breach {
            path: PAGE.to_owned(),
            line,
            what,
        });
    }
    breaches.extend(differing(page, &defaults(tree)));
    let all = settings.iter().map(|(of, field)| format!("{of}::{field}"));
    let missing = all.filter(|setting| !named.contains(setting) && !is_other(setting));
    breaches.extend(missing.map(|setting| Breach::of(PAGE, format!("{setting} is missing"))));
    breaches
}

/// The rows whose default is another than the code's.
fn differing(page: &str, defaults: &BTreeMap<String, Default>) -> Vec<Breach> {
    let rows = page.lines().enumerate();
    let rows = rows.filter_map(|(at, line)| Some((at + 1, defaults::of_page(line)?)));
    let differing = rows.filter_map(|(line, (setting, told))| {
        let default = *defaults.get(setting)?;
        let same = told == Some(default) || (told.is_none() && default == Default::Off);
        (!same).then(|| Breach {
            path: PAGE.to_owned(),
            line,
            what: format!("the default of {setting} is {default:?}"),
        })
    });
    differing.collect()
}

/// The defaults of the structs of settings.
fn defaults(tree: &Tree) -> BTreeMap<String, Default> {
    let mut defaults = BTreeMap::new();
    for source in rooms(tree) {
        for (name, _) in SETTINGS.iter().filter(|(_, path)| *path == source.path) {
            let of_code = defaults::of_code(&source.bare, name);
            let named = of_code
                .into_iter()
                .map(|(field, it)| (format!("{name}::{field}"), it));
            defaults.extend(named);
        }
    }
    defaults
}

fn is_other(setting: &str) -> bool {
    OTHER.contains(&setting)
}

/// What stands between backticks, with its line, counted from 1.
fn quoted(page: &str) -> impl Iterator<Item = (usize, &str)> {
    page.lines().enumerate().flat_map(|(line, text)| {
        let pieces = text.split('`').skip(1).step_by(2);
        pieces.map(move |code| (line + 1, code))
    })
}

enum Kind<'a> {
    /// The path of a test.
    Test,
    /// A type and its field.
    Setting(&'a str, &'a str),
    /// An error: several words.
    Said,
    Other,
}

fn kind(code: &str) -> Kind<'_> {
    if code.contains(' ') {
        return Kind::Said;
    }
    let Some((first, last)) = code.rsplit_once("::") else {
        return Kind::Other;
    };
    match first
        .chars()
        .all(|c| c.is_ascii_lowercase() || c == '_' || c == ':' || c.is_ascii_digit())
    {
        true => Kind::Test,
        false => Kind::Setting(first, last),
    }
}

fn said(code: &str, printed: &[String]) -> bool {
    let pieces: Vec<&str> = code.split('…').collect();
    printed.iter().any(|text| holds(text, &pieces))
}

/// The public fields of the structs of settings.
fn settings(tree: &Tree) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    for source in rooms(tree) {
        for (name, _) in SETTINGS.iter().filter(|(_, path)| *path == source.path) {
            let fields = fields(&source.bare, name);
            settings.extend(fields.map(|field| ((*name).to_owned(), field.to_owned())));
        }
    }
    settings
}

/// The public fields of a struct.
fn fields<'a>(code: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let opening = format!("pub struct {name} {{");
    let body = code.split_once(&opening).map_or("", |(_, rest)| rest);
    let body = body.split_once("\n}").map_or("", |(body, _)| body);
    body.lines().filter_map(|line| {
        let (field, _) = line.trim().strip_prefix("pub ")?.split_once(':')?;
        Some(field)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;

    const CODE: &str = "pub struct Limits {\n    /// So many.\n    pub in_flight: usize,\n    \
                        pub batch: usize,\n}\nimpl Default for Limits {\n    batch: 1 << 10,\n}\nfn f() { say(\"at most {n} (Limits::batch)\"); }\n";
    const TESTS: &str = "#[test]\nfn it_holds() {}\n";

    fn found(page: &str) -> Vec<String> {
        let tree = Tree::of(&[
            (PAGE, page),
            ("crates/turnbuckle-session/src/limits.rs", CODE),
            ("tests/it/tests/it/bounds.rs", TESTS),
        ]);
        check(&tree).into_iter().map(|breach| breach.what).collect()
    }

    #[test]
    fn what_is_there_may_be_named() {
        let page = "| `Limits::in_flight` | 5 | `bounds::it_holds` |\n\
                    | `Limits::batch` | 1 KiB | `at most … (Limits::batch)` |\n";
        assert_eq!(found(page), [""; 0]);
    }

    #[test]
    fn what_is_not_there_or_left_out_is_found() {
        let rest = "`Limits::in_flight`, `Limits::batch`\n";
        for (page, what) in [
            (
                "`bounds::it_does_not`",
                "there is no test bounds::it_does_not",
            ),
            ("`Limits::out`", "there is no setting Limits::out"),
            ("`at least … times`", "nothing prints \"at least … times\""),
        ] {
            assert_eq!(found(&format!("{rest}{page}")), [what]);
        }
        assert_eq!(found("`Limits::batch`"), ["Limits::in_flight is missing"]);
    }

    #[test]
    fn another_default_is_found() {
        let page = |default| format!("`Limits::in_flight`\n| `Limits::batch` | {default} | x |\n");
        assert_eq!(found(&page("1 KiB")), [""; 0]);
        for wrong in ["1,000", "many", "off"] {
            let what = "the default of Limits::batch is Number(1024)";
            assert_eq!(found(&page(wrong)), [what], "{wrong}");
        }
    }

    #[test]
    fn the_settings_and_their_defaults_are_found() {
        let tree = Tree::read(&process::root()).unwrap();
        let (settings, defaults) = (settings(&tree), defaults(&tree));
        for (name, _) in SETTINGS {
            let count = settings.iter().filter(|(of, _)| of == name).count();
            assert!(count > 1, "{name}: {count}");
            let count = defaults.keys().filter(|it| it.starts_with(name)).count();
            assert!(count > 0, "{name}: {count}");
        }
    }
}
