//! `cargo xtask api`: what the library crates offer, line by line in `docs/api/<crate>.txt`.
//!
//! The listings are those of the crate `public-api`, which reads rustdoc's JSON: what macros make is
//! in them, and what is `#[doc(hidden)]` is not. A change of the public API is a change of a listing.
//! Of an implementation of a trait, the listing has its head alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use public_api::tokens::Token;
use public_api::{PublicApi, PublicItem};

use crate::process;
use crate::rustdoc;
use crate::source::parse_all;
use crate::tree::Tree;

/// The folder of the listings, from the root.
const FOLDER: &str = "docs/api";

/// The most public items per 1,000 lines, over all the library crates but the [internal](INTERNAL)
/// one. Fields and variants are part of their type, and so is the setter of a public field.
const MAX_ITEMS: usize = 31;

/// The crate whose items are public for the other crates of the workspace only: they are not counted.
const INTERNAL: &str = "turnbuckle-wire";

/// The crates of the checks and of YAML. They work with plain JSON and plain HTTP on purpose, so these may stand in
/// their signatures too.
const PLAIN: &[&str] = &["turnbuckle_check", "turnbuckle_yaml"];

/// The names that may stand in the signatures of [`PLAIN`] alone.
const PLAIN_NAMES: &[(&str, &[&str])] = &[
    ("serde_json", &["Map", "Value"]),
    ("http", &["HeaderMap", "Parts"]),
    ("http_body_util", &["UnsyncBoxBody"]),
];

/// The names of other crates that may stand in signatures; where none is named, any may. A major
/// version of one of these is one of ours, so each has its reason.
const AGREED: &[(&str, &[&str])] = &[
    ("alloc", &[]),
    ("core", &[]),
    ("std", &[]),
    // What a user's own data derive.
    ("serde", &[]),
    ("serde_core", &[]),
    ("schemars", &["JsonSchema"]),
    // How services and layers of all makers fit together.
    ("tower_layer", &["Layer"]),
    ("tower_service", &["Service"]),
    // What those services are about over HTTP: hyper, axum and tower-http use the same types.
    ("http", &["Extensions", "Request", "Response", "Uri"]),
    ("clap_builder", &["Args", "FromArgMatches"]),
    // A connection that `turnbuckle-serve` takes from `turnbuckle-postgres`; the facade does not have it.
    ("tokio_postgres", &["Client"]),
    ("http_body", &["Body"]),
    // The pieces of such a body, and a frame that is shared without a copy.
    ("bytes", &["Buf", "Bytes"]),
    // What pin-project-lite writes for a type that holds a future. Nobody names it.
    ("pin_project_lite", &["PinnedFieldsOf"]),
    // What every combinator over items that arrive one by one takes.
    ("futures_core", &["Stream"]),
    // Byte streams on tokio, and the future with which a sender waits for space without a box.
    ("tokio", &["AsyncRead", "AsyncWrite", "Notified"]),
    // JSON as text that was checked and not taken apart, and why it could not be.
    ("serde_json", &["Error", "RawValue"]),
];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Compare the listings with the code instead of writing them
    #[arg(long)]
    pub(crate) check: bool,
}

/// One crate's listing.
struct Listing {
    text: String,
    items: usize,
    faults: Vec<String>,
}

/// Writes the listings, or compares them with those that are there; both check the limits.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let packages = packages(&process::root())?;
    rustdoc::write_json(&packages)?;
    list_all(&packages, options.check)
}

fn list_all(packages: &[String], check: bool) -> Result<(), String> {
    let root = process::root();
    let (mut texts, mut faults) = (BTreeMap::new(), Vec::new());
    let (mut all_items, mut all_lines) = (0, 0);
    println!("{:<20} {:>6} {:>7}", "crate", "items", "lines");
    for package in packages {
        let listing = list(&read(package)?);
        let lines = production_lines(&root.join("crates").join(package).join("src"))?;
        println!("{package:<20} {:>6} {lines:>7}", listing.items);
        if package != INTERNAL {
            (all_items, all_lines) = (all_items + listing.items, all_lines + lines);
        }
        faults.extend(listing.faults);
        texts.insert(format!("{package}.txt"), listing.text);
    }
    println!("{:<20} {all_items:>6} {all_lines:>7}", "together");
    if all_items * 1000 > MAX_ITEMS * all_lines {
        faults.push(format!(
            "{all_items} public items in {all_lines} lines: at most {MAX_ITEMS} per 1,000; \
             an item that nobody outside needs is `pub(crate)`"
        ));
    }
    let folder = root.join(FOLDER);
    let listed = Tree::read(&folder).unwrap_or_default();
    let listed = listed
        .texts(".txt")
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .collect();
    if check {
        faults.extend(differences(&texts, &listed));
    } else {
        write(&folder, &texts, &listed).map_err(|error| format!("{FOLDER}: {error}"))?;
    }
    match faults.is_empty() {
        true => Ok(()),
        false => Err(format!("\n{}", faults.join("\n"))),
    }
}

/// Returns the names of the library crates, which are those of their folders.
fn packages(root: &Path) -> Result<Vec<String>, String> {
    let folder = root.join("crates");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let folders = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().join("src/lib.rs").is_file());
    let mut names: Vec<_> = folders
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

fn read(package: &str) -> Result<PublicApi, String> {
    let file = process::target().join(format!("doc/{}.json", package.replace('-', "_")));
    let api = public_api::Builder::from_rustdoc_json(&file);
    let api = api
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .include_function_parameter_names(true);
    api.build().map_err(|error| {
        format!(
            "{}: {error}; the version of public-api in xtask/Cargo.toml goes with the toolchain",
            file.display()
        )
    })
}

fn list(api: &PublicApi) -> Listing {
    let is_impl = |item: &&PublicItem| {
        item.tokens()
            .next()
            .is_some_and(|token| token.text() == "impl")
    };
    let impls: Vec<_> = api.items().filter(is_impl).collect();
    let of_trait: Vec<_> = impls
        .iter()
        .filter(|item| item.to_string().contains(" for "))
        .map(|item| item.id())
        .collect();
    let is_listed = |item: &&PublicItem| {
        let is_inherent_impl = is_impl(item) && !of_trait.contains(&item.id());
        !is_inherent_impl
            && item
                .parent_id()
                .is_none_or(|parent| !of_trait.contains(&parent))
    };
    let mut lines: Vec<(String, Option<String>)> = api
        .items()
        .filter(is_listed)
        .map(|item| (item.to_string(), item_path(item)))
        .collect();
    lines.dedup();
    let fields: BTreeSet<&str> = lines
        .iter()
        .filter(|(_, counted)| counted.is_none())
        .filter_map(|(line, _)| Some(line.strip_prefix("pub ")?.split_once(": ")?.0))
        .collect();
    let items = lines.iter().filter_map(|(_, counted)| counted.as_deref());
    // The crate itself is no item.
    let items = items
        .filter(|path| path.contains("::") && !fields.contains(path))
        .count();
    let faults = lines.iter().flat_map(|(line, _)| faults(line)).collect();
    let text = compact(lines.iter().map(|(line, _)| short(line)));
    Listing {
        text,
        items,
        faults,
    }
}

/// Returns a line with the names alone of what is in the standard library.
fn short(line: &str) -> String {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut text = String::new();
    for piece in line.split_inclusive(|c| !is_path(c)) {
        let is_standard = ["alloc::", "core::", "std::"]
            .iter()
            .any(|root| piece.starts_with(root));
        let name = piece.rsplit("::").next().filter(|_| is_standard);
        text.push_str(name.unwrap_or(piece));
    }
    text
}

/// Joins the lines, and the traits that follow each other for the same type in one line.
fn compact(lines: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    let mut last: Option<(String, Vec<String>)> = None;
    let flush = |last: &mut Option<(String, Vec<String>)>, text: &mut String| {
        if let Some((of, traits)) = last.take() {
            text.push_str(&format!("impl {} for {of}\n", traits.join(" + ")));
        }
    };
    for line in lines {
        let simple = line
            .strip_prefix("impl ")
            .and_then(|rest| rest.split_once(" for "));
        match (simple, &mut last) {
            (Some(("StructuralPartialEq", _)), _) => {}
            (Some((name, of)), Some((same, traits))) if of == same => traits.push(name.to_owned()),
            (Some((name, of)), _) => {
                flush(&mut last, &mut text);
                last = Some((of.to_owned(), vec![name.to_owned()]));
            }
            (None, _) => {
                flush(&mut last, &mut text);
                text.push_str(&line);
                text.push('\n');
            }
        }
    }
    flush(&mut last, &mut text);
    text
}

/// Returns the path of an item that counts: a type, trait, function, constant, macro, or module.
fn item_path(item: &PublicItem) -> Option<String> {
    let mut tokens = item
        .tokens()
        .skip_while(|token| !matches!(token, Token::Kind(_)));
    tokens.next()?;
    let is_path = |token: &&Token| {
        matches!(
            token,
            Token::Identifier(_) | Token::Function(_) | Token::Type(_)
        ) || token.text() == "::"
    };
    Some(
        tokens
            .skip(1)
            .take_while(is_path)
            .map(Token::text)
            .collect(),
    )
}

/// Returns what is wrong with a line: a glob, a foreign type.
fn faults(line: &str) -> Vec<String> {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut faults = Vec::new();
    if line.starts_with("pub use ") && line.ends_with("::*") {
        faults.push(format!("a glob: {line}"));
    }
    for path in line.split(|c: char| !is_path(c)) {
        let path = path.trim_matches(':');
        if let Some((krate, rest)) = path.split_once("::") {
            let name = rest.rsplit("::").next().unwrap_or_default();
            let is_plain =
                PLAIN.iter().any(|it| line.contains(it)) && is_listed(PLAIN_NAMES, krate, name);
            if !is_agreed(krate, name) && !is_plain {
                faults.push(format!("{path} is foreign: {line}"));
            }
        }
    }
    faults
}

/// Returns whether a name of a crate may stand in a signature.
fn is_agreed(krate: &str, name: &str) -> bool {
    // The associated type of a parameter begins with a capital.
    let is_ours = krate == "turnbuckle"
        || krate.starts_with("turnbuckle_")
        || krate.starts_with(char::is_uppercase);
    is_ours || is_listed(AGREED, krate, name)
}

/// Returns whether a list has a name of a crate.
fn is_listed(list: &[(&str, &[&str])], krate: &str, name: &str) -> bool {
    let found = list.iter().find(|(listed, _)| *listed == krate);
    found.is_some_and(|(_, names)| names.is_empty() || names.contains(&name))
}

/// Counts the lines under `folder` that have code or documentation and are not of tests.
fn production_lines(folder: &Path) -> Result<usize, String> {
    let (sources, errors) = parse_all(&Tree::read(folder)?);
    if let Some(error) = errors.into_iter().next() {
        return Err(error);
    }
    let production = sources.iter().filter(|source| {
        !source
            .path
            .split('/')
            .any(|part| part == "tests" || part == "tests.rs")
    });
    let lines = production.map(|source| {
        let lines: BTreeSet<_> = source.production.iter().map(|token| token.line).collect();
        lines.len()
    });
    Ok(lines.sum())
}

/// Writes the listings and removes those of crates that are gone.
fn write(
    folder: &Path,
    texts: &BTreeMap<String, String>,
    listed: &BTreeMap<String, String>,
) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let gone: Vec<PathBuf> = listed
        .keys()
        .filter(|name| !texts.contains_key(*name))
        .map(|name| folder.join(name))
        .collect();
    for file in gone {
        fs::remove_file(file)?;
    }
    for (name, text) in texts {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}

/// Returns the lines that only the listings have (`-`) and that only the code has (`+`).
fn differences(
    texts: &BTreeMap<String, String>,
    listed: &BTreeMap<String, String>,
) -> Option<String> {
    let mut report = String::new();
    let names: BTreeSet<_> = texts.keys().chain(listed.keys()).collect();
    for name in names {
        let lines = |texts: &BTreeMap<String, String>| -> Vec<String> {
            texts
                .get(name)
                .map(String::as_str)
                .unwrap_or_default()
                .lines()
                .map(str::to_owned)
                .collect()
        };
        let (code, list) = (lines(texts), lines(listed));
        if code == list {
            continue;
        }
        report.push_str(&format!("\n{FOLDER}/{name}:"));
        report.extend(
            list.iter()
                .filter(|line| !code.contains(line))
                .map(|line| format!("\n  - {line}")),
        );
        report.extend(
            code.iter()
                .filter(|line| !list.contains(line))
                .map(|line| format!("\n  + {line}")),
        );
    }
    let renew = "the public API is not what is listed; `cargo xtask api` lists it again, and the change belongs to the commit:";
    (!report.is_empty()).then(|| format!("{renew}{report}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_types_and_globs_are_faults() {
        for line in [
            "pub fn a::f(body: hyper::body::Incoming)",
            "pub a::B::c: schemars::Schema",
            "pub use turnbuckle::a::*",
            "impl core::convert::From<hyper::Error> for turnbuckle::Error",
            "pub fn turnbuckle::f(value: serde_json::value::Value)",
        ] {
            assert!(!faults(line).is_empty(), "{line}");
        }
        for line in [
            "pub fn turnbuckle::f<T: schemars::JsonSchema>(request: http::request::Request<T>) -> T::Output",
            "impl<S: tower_service::Service> serde_core::ser::Serialize for turnbuckle_http::A<S>",
            "pub fn turnbuckle_types::A::b(&self) -> core::option::Option<bytes::bytes::Bytes>",
            "pub fn turnbuckle_check::f(value: serde_json::value::Value)",
        ] {
            assert_eq!(faults(line), [""; 0], "{line}");
        }
    }

    #[test]
    fn paths_of_the_standard_library_are_short_and_impls_of_a_type_share_a_line() {
        let line =
            "pub fn a::f(b: &core::option::Option<std::path::Path>) -> c::D<alloc::sync::Arc<str>>";
        assert_eq!(
            short(line),
            "pub fn a::f(b: &Option<Path>) -> c::D<Arc<str>>"
        );
        let lines = [
            "pub struct a::B",
            "impl Clone for a::B",
            "impl Debug for a::B",
            "impl<T> C<T> for a::B",
            "pub fn a::f()",
        ];
        let text = compact(lines.iter().map(|line| (*line).to_owned()));
        assert_eq!(
            text,
            "pub struct a::B\nimpl Clone + Debug for a::B\nimpl<T> C<T> for a::B\npub fn a::f()\n"
        );
    }

    #[test]
    fn a_change_is_reported_by_its_lines_in_both_directions() {
        let listings = |list: &[(&str, &str)]| -> BTreeMap<String, String> {
            list.iter()
                .map(|&(name, text)| (name.to_owned(), text.to_owned()))
                .collect()
        };
        let code = listings(&[("a.txt", "fn a\nfn b(u8)\n"), ("b.txt", "fn c\n")]);
        let listed = listings(&[("a.txt", "fn a\nfn b(u16)\n"), ("gone.txt", "fn d\n")]);
        let report = differences(&code, &listed).unwrap();
        let expected = "\ndocs/api/a.txt:\n  - fn b(u16)\n  + fn b(u8)\ndocs/api/b.txt:\n  + fn c\ndocs/api/gone.txt:\n  - fn d";
        assert!(report.ends_with(expected), "{report}");
        assert_eq!(differences(&code, &code), None);
        let reordered = listings(&[("a.txt", "fn b(u8)\nfn a\n"), ("b.txt", "fn c\n")]);
        assert!(differences(&code, &reordered).is_some());
    }
}
