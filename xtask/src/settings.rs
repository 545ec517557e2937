//! `cargo xtask settings`: the tables of docs/security-tests.md, from the tables of settings in the
//! sources.
//!
//! A table of settings is a `settings!` of turnbuckle-types. The page has a place for each, between
//! `<!-- settings: Limits -->` and `<!-- end -->`.

use std::fmt::Write;
use std::fs;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{BinOp, Expr, Lit, Token};

use crate::process;
use crate::source::{Source, Token as SourceToken, flatten, parse_all};
use crate::tree::Tree;

/// The page, from the root.
pub(crate) const PAGE: &str = "docs/security-tests.md";

const BEGIN: &str = "<!-- settings: ";
const END: &str = "<!-- end -->";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Compare the page with the sources instead of writing it
    #[arg(long)]
    check: bool,
}

/// Writes the tables of the page, or compares them.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let root = process::root();
    let tree = Tree::read(&root)?;
    let (sources, unparsed) = parse_all(&tree);
    if !unparsed.is_empty() {
        return Err(unparsed.join("\n"));
    }
    let page = tree.text(PAGE).unwrap_or_default();
    let fresh = write_page(page, &tables(&tree, &sources))?;
    match (fresh == page, options.check) {
        (true, _) => Ok(()),
        (false, true) => Err(format!("{PAGE} is stale: run `cargo xtask settings`")),
        (false, false) => {
            fs::write(root.join(PAGE), fresh).map_err(|error| format!("{PAGE}: {error}"))
        }
    }
}

/// A struct of settings.
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) rows: Vec<Row>,
}

/// One setting.
pub(crate) struct Row {
    pub(crate) name: String,
    /// The line of the name in its file.
    pub(crate) line: usize,
    /// The documentation and the type.
    pub(crate) field: Vec<SourceToken>,
    /// The default as the page shows it.
    pub(crate) default: String,
    /// The behaviour beyond the limit, with the text of the error.
    pub(crate) beyond: String,
    /// The paths of the tests.
    pub(crate) tests: Vec<String>,
    /// The reason why metrics do not count what is beyond the limit, if there is one.
    pub(crate) uncounted: String,
}

/// Returns the tables of settings of all crates.
pub(crate) fn tables(tree: &Tree, sources: &[Source]) -> Vec<Table> {
    let production = sources.iter().filter(|source| source.is_production());
    production
        .flat_map(|source| {
            let lines: Vec<&str> = tree
                .text(&source.path)
                .unwrap_or_default()
                .lines()
                .collect();
            let tables = source.items.iter().filter_map(parse_table);
            let tables = tables.map(|table| Table {
                name: table.name,
                path: source.path.clone(),
                rows: table.rows.into_iter().map(|row| row.read(&lines)).collect(),
            });
            tables.collect::<Vec<_>>()
        })
        .collect()
}

fn parse_table(item: &syn::Item) -> Option<ParsedTable> {
    let syn::Item::Macro(item) = item else {
        return None;
    };
    let name = item.mac.path.segments.last()?;
    (name.ident == "settings")
        .then(|| item.mac.parse_body().ok())
        .flatten()
}

struct ParsedTable {
    name: String,
    rows: Vec<ParsedRow>,
}

struct ParsedRow {
    name: syn::Ident,
    field: TokenStream,
    default: Expr,
}

impl Parse for ParsedTable {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        syn::Attribute::parse_outer(input)?;
        input.parse::<Token![pub]>()?;
        input.parse::<Token![struct]>()?;
        let name: syn::Ident = input.parse()?;
        let body;
        syn::braced!(body in input);
        let rows = body.parse_terminated(ParsedRow::parse, Token![,])?;
        Ok(Self {
            name: name.to_string(),
            rows: rows.into_iter().collect(),
        })
    }
}

impl Parse for ParsedRow {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attributes = syn::Attribute::parse_outer(input)?;
        let name: syn::Ident = input.parse()?;
        input.parse::<Token![:]>()?;
        let kind: syn::Type = input.parse()?;
        if input.peek(syn::token::Bracket) {
            let setter;
            syn::bracketed!(setter in input);
            setter.parse::<TokenStream>()?;
        }
        input.parse::<Token![=]>()?;
        Ok(Self {
            name,
            field: quote::quote!(#(#attributes)* #kind),
            default: input.parse()?,
        })
    }
}

impl ParsedRow {
    /// Adds the facts in the comments before the name, in the lines of the file.
    fn read(self, lines: &[&str]) -> Row {
        let line = self.name.span().start().line;
        let mut field = Vec::new();
        flatten(self.field, &mut field);
        let before = lines[..line.saturating_sub(1)].iter().rev();
        let comments: Vec<&str> = before
            .map(|line| line.trim())
            .skip_while(|line| line.starts_with("#["))
            .map_while(|line| {
                line.strip_prefix("//")
                    .filter(|text| !text.starts_with('/'))
            })
            .collect();
        let (mut beyond, mut tests, mut uncounted) = (String::new(), String::new(), String::new());
        let mut current = None;
        for comment in comments.into_iter().rev().map(str::trim) {
            let text = if let Some(text) = comment.strip_prefix("Beyond:") {
                current = Some(&mut beyond);
                text
            } else if let Some(text) = comment.strip_prefix("Tests:") {
                current = Some(&mut tests);
                text
            } else if let Some(text) = comment.strip_prefix("Uncounted:") {
                current = Some(&mut uncounted);
                text
            } else {
                comment
            };
            if let Some(current) = &mut current {
                current.push(' ');
                current.push_str(text.trim());
            }
        }
        Row {
            name: self.name.to_string(),
            line,
            field,
            default: default_text(&self.default),
            beyond: beyond.trim().to_owned(),
            tests: tests.split_whitespace().map(str::to_owned).collect(),
            uncounted: uncounted.trim().to_owned(),
        }
    }
}

/// Returns the page with its tables written anew.
///
/// # Errors
/// When a place names no table, or a table with tests has no place.
pub(crate) fn write_page(page: &str, tables: &[Table]) -> Result<String, String> {
    let mut fresh = String::new();
    let mut rest = page;
    let mut missing: Vec<&str> = tables
        .iter()
        .filter(|table| table.rows.iter().any(|row| !row.tests.is_empty()))
        .map(|table| table.name.as_str())
        .collect();
    while let Some(begin) = rest.find(BEGIN) {
        let name = &rest[begin + BEGIN.len()..];
        let name = &name[..name.find(" -->").unwrap_or(name.len())];
        let table = tables.iter().find(|table| table.name == name);
        let table = table.ok_or_else(|| format!("{PAGE}: there is no `settings!` of {name}"))?;
        let end = rest[begin..].find(END).map(|end| begin + end);
        let end = end.ok_or_else(|| format!("{PAGE}: the table of {name} has no {END}"))?;
        missing.retain(|missing| *missing != name);
        fresh.push_str(&rest[..begin]);
        let _ = write!(fresh, "{BEGIN}{name} -->\n{}{END}", markdown(table));
        rest = &rest[end + END.len()..];
    }
    match &missing[..] {
        [] => Ok(fresh + rest),
        missing => Err(format!(
            "{PAGE} has no place for {}: add `{BEGIN}… -->` and `{END}`",
            missing.join(", ")
        )),
    }
}

fn markdown(table: &Table) -> String {
    let mut text = "| setting | default | beyond it | tests |\n|---|---|---|---|\n".to_owned();
    for row in table.rows.iter().filter(|row| !row.tests.is_empty()) {
        let beyond = if row.beyond.is_empty() {
            "–"
        } else {
            &row.beyond
        };
        let tests: Vec<_> = row.tests.iter().map(|test| format!("`{test}`")).collect();
        let _ = writeln!(
            text,
            "| `{}::{}` | {} | {beyond} | {} |",
            table.name,
            row.name,
            row.default,
            tests.join(", ")
        );
    }
    text
}

/// Returns a default for people: `4 MiB`, `30 s`, `10 a second, 100 at once`, `off`.
fn default_text(default: &Expr) -> String {
    let text = || default.to_token_stream().to_string().replace(' ', "");
    match default {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Bool(value) if value.value => "on".to_owned(),
            Lit::Bool(_) => "off".to_owned(),
            _ => value(default).map_or_else(text, number_text),
        },
        Expr::Path(path) if path.path.is_ident("None") => "none".to_owned(),
        Expr::Call(call) => {
            let function = call.func.to_token_stream().to_string().replace(' ', "");
            let Some(argument) = call.args.first() else {
                return match function.as_str() {
                    "Vec::new" => "none".to_owned(),
                    _ => text(),
                };
            };
            match (function.as_str(), value(argument)) {
                ("Some", _) => default_text(argument),
                ("Duration::from_secs", Some(seconds)) => duration_text(seconds * 1000),
                ("Duration::from_millis", Some(milliseconds)) => duration_text(milliseconds),
                ("Rate::per_second", Some(number)) => format!("{} a second", number_text(number)),
                _ => text(),
            }
        }
        Expr::MethodCall(call) if call.method == "burst" => {
            let burst = call.args.first().and_then(value).map(number_text);
            let rate = default_text(&call.receiver);
            burst.map_or_else(text, |burst| format!("{rate}, {burst} at once"))
        }
        _ if text() == "Duration::ZERO" => "0".to_owned(),
        other => match value(other) {
            Some(bytes) if bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
            Some(bytes) if bytes % (1 << 10) == 0 => format!("{} KiB", bytes >> 10),
            Some(number) => number_text(number),
            None => text(),
        },
    }
}

fn duration_text(milliseconds: u64) -> String {
    match milliseconds {
        0 => "0".to_owned(),
        time if time % 3_600_000 == 0 => format!("{} h", time / 3_600_000),
        time if time % 60_000 == 0 => format!("{} min", time / 60_000),
        time if time % 1000 == 0 => format!("{} s", time / 1000),
        time => format!("{time} ms"),
    }
}

/// Returns a number with commas between its thousands.
fn number_text(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the value of a number, a product, or a shifted number.
fn value(expression: &Expr) -> Option<u64> {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().ok(),
            _ => None,
        },
        Expr::Binary(binary) => {
            let (left, right) = (value(&binary.left)?, value(&binary.right)?);
            match binary.op {
                BinOp::Mul(_) => left.checked_mul(right),
                BinOp::Shl(_) => left.checked_shl(right.try_into().ok()?),
                _ => None,
            }
        }
        Expr::Paren(inner) => value(&inner.expr),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A table of settings as a source.
    pub(crate) const CODE: &str = r#"
settings! {
    /// Limits.
    pub struct Limits {
        /// Calls.
        // Beyond: `too many calls: the limit
        // is … (Limits::max_calls)`
        // Tests: bounds::one
        //   bounds::two
        #[cfg(feature = "a")]
        max_calls: Option<usize> [from usize] = Some(1 << 10),
        /// A name.
        name: bool = false,
    }
}
"#;

    pub(crate) fn read(code: &str) -> Vec<Table> {
        let path = "crates/turnbuckle-session/src/limits.rs";
        let tree = Tree::new(&[(path, code)]);
        let (sources, errors) = parse_all(&tree);
        assert_eq!(errors, [""; 0]);
        tables(&tree, &sources)
    }

    #[test]
    fn a_table_is_read_with_its_comments_and_written_into_the_page() {
        let page = format!("a\n\n{BEGIN}Limits -->\nold\n{END}\nb\n");
        let row = "| `Limits::max_calls` | 1 KiB | `too many calls: the limit is … (Limits::max_calls)` \
                   | `bounds::one`, `bounds::two` |\n";
        let fresh = write_page(&page, &read(CODE)).unwrap();
        assert!(fresh.contains(row), "{fresh}");
        assert!(fresh.starts_with("a\n\n<!--") && fresh.ends_with("-->\nb\n"));
        assert_eq!(write_page(&fresh, &read(CODE)).unwrap(), fresh);
        assert!(!fresh.contains("Limits::name"));
    }

    #[test]
    fn a_table_without_a_place_and_a_place_without_a_table_are_errors() {
        assert!(write_page("", &read(CODE)).unwrap_err().contains("Limits"));
        let page = format!("{BEGIN}Other -->\n{END}");
        assert!(write_page(&page, &[]).unwrap_err().contains("Other"));
    }

    #[test]
    fn defaults_are_written_for_people() {
        for (code, text) in [
            ("None", "none"),
            ("Vec::new()", "none"),
            ("false", "off"),
            ("10_000", "10,000"),
            ("4 << 20", "4 MiB"),
            ("4 * 1024", "4 KiB"),
            ("Duration::from_secs(30 * 60)", "30 min"),
            ("Some(Duration::from_secs(3600))", "1 h"),
            ("Duration::from_millis(100)", "100 ms"),
            ("Duration::ZERO", "0"),
            ("Rate::per_second(10_000)", "10,000 a second"),
            (
                "Rate::per_second(10).burst(100)",
                "10 a second, 100 at once",
            ),
            ("Limits::default()", "Limits::default()"),
        ] {
            assert_eq!(default_text(&syn::parse_str(code).unwrap()), text, "{code}");
        }
    }
}
