//! The rule that SECURITY.md and docs/security-tests.md are true: their tests, settings with their
//! defaults, and the errors that they quote exist, and every setting that limits something has a row.

use std::collections::{BTreeMap, BTreeSet};

use quote::ToTokens;
use syn::{BinOp, Expr, ImplItem, Item, Lit, Stmt};

use super::pages::{code_spans, is_printed, printed_texts};
use super::rule::{Project, Rule, Violation};
use turnbuckle_requirements::test_paths;

pub(super) const RULE: Rule = Rule {
    name: "security",
    reason: "every limit has a row in docs/security-tests.md with its setting, its default, its error and its \
             test, and all of them exist",
    check,
};

/// The page that promises, and the page that has a row for every setting.
const PAGES: [&str; 2] = ["SECURITY.md", "docs/security-tests.md"];

/// The structs of settings.
const STRUCTS: &[&str] = &[
    "Limits",
    "ClientLimits",
    "HttpServerOptions",
    "SchemaLimits",
    "HttpClientOptions",
    "StdioOptions",
    "ShutdownTimeouts",
    "ReconnectPolicy",
];

/// Settings that limit nothing.
const NO_LIMITS: &[&str] = &[
    "HttpServerOptions::stateless",
    "HttpServerOptions::http_sse",
    "HttpServerOptions::http2",
    "HttpServerOptions::health_routes",
    "HttpServerOptions::tls",
    "HttpServerOptions::limits",
    "StdioOptions::limits",
    "StdioOptions::stop",
    "HttpClientOptions::use_env_proxy",
];

/// The default of a setting, as far as it can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Default {
    Off,
    Number(u64),
    Milliseconds(u64),
    Rate { per_second: u64, burst: Option<u64> },
}

fn check(project: &Project) -> Vec<Violation> {
    let (tests, settings, printed) = (
        test_paths(&project.tree),
        settings(project),
        printed_texts(project),
    );
    let mut found = Vec::new();
    let mut named = BTreeSet::new();
    for (path, page) in PAGES.map(|path| (path, project.tree.text(path).unwrap_or_default())) {
        named.clear();
        for (line, code) in code_spans(page) {
            let what = match code.rsplit_once("::") {
                _ if code.contains(' ') => {
                    (!is_printed(&code, &printed)).then(|| format!("nothing prints {code:?}"))
                }
                Some((first, _)) if first.chars().all(|c| !c.is_uppercase()) => {
                    (!tests.contains(&code)).then(|| format!("there is no test {code}"))
                }
                Some((first, _)) => {
                    let is_known = !STRUCTS.contains(&first) || settings.contains_key(&code);
                    named.insert(code.clone());
                    (!is_known).then(|| format!("there is no setting {code}"))
                }
                None => None,
            };
            found.extend(what.map(|what| Violation::new(path, line, what)));
        }
        for (line, row) in page.lines().enumerate() {
            let Some((setting, on_page)) = default_of_row(row) else {
                continue;
            };
            if let Some(Some(default)) = settings.get(setting)
                && on_page != Some(*default)
                && (on_page.is_some() || *default != Default::Off)
            {
                let what = format!("the default of {setting} is {default:?}");
                found.push(Violation::new(path, line + 1, what));
            }
        }
    }
    let missing = settings
        .keys()
        .filter(|setting| !named.contains(*setting) && !NO_LIMITS.contains(&setting.as_str()));
    found.extend(missing.map(|setting| Violation::file(PAGES[1], format!("{setting} is missing"))));
    found
}

/// Returns the public fields of the structs of settings, as `Struct::field`, with their defaults.
fn settings(project: &Project) -> BTreeMap<String, Option<Default>> {
    let mut settings = BTreeMap::new();
    for item in project.production().flat_map(|source| &source.items) {
        match item {
            Item::Struct(item) if STRUCTS.iter().any(|name| item.ident == name) => {
                for field in &item.fields {
                    if let (syn::Visibility::Public(_), Some(name)) = (&field.vis, &field.ident) {
                        settings
                            .entry(format!("{}::{name}", item.ident))
                            .or_insert(None);
                    }
                }
            }
            Item::Impl(item) => {
                for (setting, default) in defaults(item) {
                    settings.insert(setting, Some(default));
                }
            }
            _ => {}
        }
    }
    settings
}

/// Returns the defaults that an `impl Default` of a struct of settings has.
fn defaults(item: &syn::ItemImpl) -> Vec<(String, Default)> {
    let name = item.self_ty.to_token_stream().to_string();
    let is_default = item
        .trait_
        .as_ref()
        .is_some_and(|trait_| trait_.0.is_ident("Default"));
    let [ImplItem::Fn(function)] = &item.items[..] else {
        return Vec::new();
    };
    let Some(Stmt::Expr(Expr::Struct(value), None)) = function.block.stmts.last() else {
        return Vec::new();
    };
    if !is_default || !STRUCTS.contains(&name.as_str()) {
        return Vec::new();
    }
    let read = value.fields.iter().filter_map(|field| {
        let member = field.member.to_token_stream();
        Some((format!("{name}::{member}"), default_of(&field.expr)?))
    });
    read.collect()
}

fn default_of(expression: &Expr) -> Option<Default> {
    match expression {
        Expr::Path(path) if path.path.is_ident("None") => Some(Default::Off),
        Expr::Call(call) => {
            let function = call.func.to_token_stream().to_string().replace(' ', "");
            let argument = call.args.first()?;
            if function == "Some" {
                return default_of(argument);
            }
            let argument = number(argument)?;
            Some(match function.as_str() {
                "Duration::from_secs" => Default::Milliseconds(1000 * argument),
                "Duration::from_millis" => Default::Milliseconds(argument),
                "Rate::per_second" => Default::Rate {
                    per_second: argument,
                    burst: None,
                },
                _ => return None,
            })
        }
        Expr::MethodCall(call) if call.method == "burst" => match default_of(&call.receiver)? {
            Default::Rate { per_second, .. } => Some(Default::Rate {
                per_second,
                burst: number(call.args.first()?),
            }),
            _ => None,
        },
        other => number(other).map(Default::Number),
    }
}

/// Returns the value of a number, a product, or a shifted number.
fn number(expression: &Expr) -> Option<u64> {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().ok(),
            _ => None,
        },
        Expr::Binary(binary) => {
            let (left, right) = (number(&binary.left)?, number(&binary.right)?);
            match binary.op {
                BinOp::Mul(_) => left.checked_mul(right),
                BinOp::Shl(_) => left.checked_shl(right.try_into().ok()?),
                _ => None,
            }
        }
        Expr::Paren(inner) => number(&inner.expr),
        _ => None,
    }
}

/// Returns the setting in the first column of a table's row, and the default in its second.
fn default_of_row(row: &str) -> Option<(&str, Option<Default>)> {
    let mut cells = row.strip_prefix("| `")?.split(" | ");
    let setting = cells.next()?.strip_suffix('`')?;
    Some((setting, default_of_text(cells.next()?)))
}

fn default_of_text(text: &str) -> Option<Default> {
    let number = |text: &str| text.replace(',', "").parse::<u64>().ok();
    if text == "off" {
        return Some(Default::Off);
    }
    if let Some((per_second, rest)) = text.split_once(" a second") {
        let burst = rest
            .strip_prefix(", ")
            .and_then(|rest| rest.strip_suffix(" at once"));
        return Some(Default::Rate {
            per_second: number(per_second)?,
            burst: burst.and_then(number),
        });
    }
    let Some((amount, unit)) = text.split_once(' ') else {
        return number(text).map(Default::Number);
    };
    let amount = number(amount)?;
    Some(match unit {
        "KiB" => Default::Number(amount << 10),
        "MiB" => Default::Number(amount << 20),
        "ms" => Default::Milliseconds(amount),
        "s" => Default::Milliseconds(amount * 1000),
        "min" => Default::Milliseconds(amount * 60_000),
        "h" => Default::Milliseconds(amount * 3_600_000),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;
    use turnbuckle_requirements::Tree;

    const CODE: &str = "pub struct Limits {\n    /// So many.\n    pub in_flight: usize,\n    \
                        pub batch: usize,\n}\nimpl Default for Limits {\n    fn default() -> Self {\n        \
                        Self { in_flight: f(), batch: 1 << 10 }\n    }\n}\n\
                        fn f() { fail(\"at most {n} (Limits::batch)\"); }\n";
    const TESTS: &str = "#[test]\nfn the_bound_holds() {}\n";

    fn found(page: &str) -> Vec<String> {
        let files = [
            (PAGES[1], page),
            ("crates/turnbuckle-session/src/limits.rs", CODE),
            ("tests/it/tests/it/bounds.rs", TESTS),
        ];
        let project = Project::parse(Tree::new(&files)).unwrap();
        check(&project)
            .into_iter()
            .map(|violation| violation.what)
            .collect()
    }

    #[test]
    fn a_page_may_name_what_exists() {
        let page = "| a | b | c |\n|---|---|---|\n| `Limits::in_flight` | 5 | `bounds::the_bound_holds` |\n\
                    | `Limits::batch` | 1 KiB | `at most … (Limits::batch)` |\n";
        assert_eq!(found(page), [""; 0]);
    }

    #[test]
    fn a_name_that_does_not_exist_or_is_left_out_is_found() {
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
        let page =
            |default| format!("`Limits::in_flight`\n\n| `Limits::batch` | {default} | x |\n");
        assert_eq!(found(&page("1 KiB")), [""; 0]);
        for wrong in ["1,000", "many", "off"] {
            assert_eq!(
                found(&page(wrong)),
                ["the default of Limits::batch is Number(1024)"],
                "{wrong}"
            );
        }
    }

    #[test]
    fn defaults_are_read_as_code_and_as_text() {
        for (code, text) in [
            ("None", "off"),
            ("10_000", "10,000"),
            ("4 << 20", "4 MiB"),
            ("4096", "4 KiB"),
            ("Duration::from_secs(30 * 60)", "30 min"),
            ("Some(Duration::from_secs(3600))", "1 h"),
            ("Duration::from_millis(100)", "100 ms"),
            ("Rate::per_second(10_000)", "10,000 a second"),
            (
                "Rate::per_second(10).burst(100)",
                "10 a second, 100 at once",
            ),
        ] {
            let read = default_of(&syn::parse_str(code).unwrap());
            assert!(read.is_some(), "{code}");
            assert_eq!(read, default_of_text(text), "{code}: {text}");
        }
        assert_eq!(default_of(&syn::parse_str("Signal::new()").unwrap()), None);
        assert_eq!(default_of_text("loopback"), None);
        assert_ne!(default_of_text("1 s"), default_of_text("1 min"));
    }

    #[test]
    fn the_settings_and_their_defaults_are_found() {
        let tree = Tree::read(&process::root()).unwrap();
        let has_settings = |(_, text): &(&str, &str)| {
            STRUCTS
                .iter()
                .any(|name| text.contains(&format!("struct {name} ")))
        };
        let files: Vec<_> = tree.texts(".rs").filter(has_settings).collect();
        let project = Project::parse(Tree::new(&files)).unwrap();
        let settings = settings(&project);
        for name in STRUCTS {
            let of: Vec<_> = settings
                .iter()
                .filter(|(setting, _)| setting.starts_with(&format!("{name}::")))
                .collect();
            assert!(of.len() > 1, "{name}");
            assert!(of.iter().any(|(_, default)| default.is_some()), "{name}");
        }
    }
}
