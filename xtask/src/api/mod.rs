//! What the library crates offer, line by line: `docs/api/<crate>.txt`, read in every review.
//!
//! The listings come from rustdoc's JSON, which is the compiler's own view: what macros make is in
//! them, and what is `#[doc(hidden)]` is not. A change of the public API is a change of a listing.
//!
//! What counts as an item is what a user has to learn: types, traits, functions, methods, constants,
//! macros and modules. Fields and variants are part of their type, and so is the setter of a public
//! field (`fn name(self, value) -> Self` beside `pub name`), as macros write both from one line. The
//! lines are those of `src` without tests and blank lines.

mod exports;
mod limits;
mod lines;
mod listing;
mod print;
mod rustdoc;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::process;
use limits::Size;

pub(crate) use rustdoc::in_its_place;

/// Where the listings stand, from the workspace's root.
const FOLDER: &str = "docs/api";

/// The way out that a stale listing names.
const RENEW: &str = "`cargo xtask api` writes them anew; the change belongs to the commit";

/// `cargo xtask api [--check]`: writes the listings, or compares them with what is there; both
/// hold the limits.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let check = match arguments {
        [] => false,
        [only] if only == "--check" => true,
        _ => return Err("takes nothing or --check".into()),
    };
    let packages = packages()?;
    let crates = rustdoc::build(&packages)?;
    let names = exports::names(crates.values());
    let (mut texts, mut sizes, mut faults) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (package, krate) in &crates {
        let listing = listing::of(krate, &names);
        sizes.push(Size {
            package: package.clone(),
            items: listing.items,
            lines: lines::of(&process::root().join("crates").join(package).join("src"))?,
        });
        faults.extend(listing.faults);
        texts.insert(format!("{package}.txt"), listing.text);
    }
    let folder = process::root().join(FOLDER);
    if check {
        faults.extend(differences(&texts, &read(&folder)?));
    } else {
        write(&texts, &folder)?;
    }
    print!("{}", limits::table(&sizes));
    faults.extend(limits::fault(&sizes));
    if faults.is_empty() {
        Ok(())
    } else {
        Err(format!("\n{}", faults.join("\n")))
    }
}

/// The library crates of the workspace, by the names of their folders, which are their own.
fn packages() -> Result<Vec<String>, String> {
    let folder = process::root().join("crates");
    let names = names_in(&folder)?.into_iter();
    Ok(names
        .filter(|name| folder.join(name).join("src/lib.rs").is_file())
        .collect())
}

/// The names in a folder, in order.
fn names_in(folder: &Path) -> Result<Vec<String>, String> {
    let unreadable = |error| format!("cannot read {}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(unreadable)?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The listings that are there, by the names of their files; none where the folder is not.
fn read(folder: &Path) -> Result<BTreeMap<String, String>, String> {
    if !folder.is_dir() {
        return Ok(BTreeMap::new());
    }
    let mut texts = BTreeMap::new();
    for name in names_in(folder)? {
        let file = folder.join(&name);
        let text = fs::read_to_string(&file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        texts.insert(name, text);
    }
    Ok(texts)
}

/// Writes the listings and removes those of crates that are gone.
fn write(texts: &BTreeMap<String, String>, folder: &Path) -> Result<(), String> {
    let failed = |file: PathBuf| move |error| format!("cannot write {}: {error}", file.display());
    fs::create_dir_all(folder).map_err(failed(folder.to_path_buf()))?;
    for name in names_in(folder)? {
        if !texts.contains_key(&name) {
            let file = folder.join(name);
            fs::remove_file(&file).map_err(failed(file))?;
        }
    }
    for (name, text) in texts {
        let file = folder.join(name);
        fs::write(&file, text).map_err(failed(file))?;
    }
    Ok(())
}

/// The lines that the code has and the listings lack (`+`), and the other way round (`-`).
fn differences(
    made: &BTreeMap<String, String>,
    there: &BTreeMap<String, String>,
) -> Option<String> {
    let mut report = String::new();
    let names = made
        .keys()
        .chain(there.keys().filter(|name| !made.contains_key(*name)));
    for name in names {
        let lines = |texts: &BTreeMap<String, String>| -> Vec<String> {
            let text = texts.get(name).map(String::as_str).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        };
        let (made, there) = (lines(made), lines(there));
        let gone = there.iter().filter(|line| !made.contains(line));
        let new = made.iter().filter(|line| !there.contains(line));
        let changes: Vec<String> = gone
            .map(|line| format!("  - {line}\n"))
            .chain(new.map(|line| format!("  + {line}\n")))
            .collect();
        if !changes.is_empty() {
            report.push_str(&format!("{FOLDER}/{name}:\n{}", changes.concat()));
        } else if made != there {
            report.push_str(&format!("{FOLDER}/{name}: in another order\n"));
        }
    }
    (!report.is_empty()).then(|| format!("the public API is not what is listed: {RENEW}\n{report}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listings(of: &[(&str, &str)]) -> BTreeMap<String, String> {
        let texts = of.iter();
        texts
            .map(|&(name, text)| (name.to_owned(), text.to_owned()))
            .collect()
    }

    #[test]
    fn a_change_is_reported_by_its_lines_in_both_directions() {
        let made = listings(&[("a.txt", "fn a\nfn b(u8)\n"), ("b.txt", "fn c\n")]);
        let there = listings(&[("a.txt", "fn a\nfn b(u16)\n"), ("gone.txt", "fn d\n")]);
        let report = differences(&made, &there).unwrap();
        assert!(
            report.ends_with(
                "docs/api/a.txt:\n  - fn b(u16)\n  + fn b(u8)\ndocs/api/b.txt:\n  + fn c\n\
                 docs/api/gone.txt:\n  - fn d\n"
            ),
            "{report}"
        );
        assert_eq!(differences(&made, &made), None);
    }

    #[test]
    fn the_same_lines_in_another_order_are_a_change() {
        let made = listings(&[("a.txt", "fn a\nfn b\n")]);
        let there = listings(&[("a.txt", "fn b\nfn a\n")]);
        assert!(
            differences(&made, &there)
                .unwrap()
                .contains("another order")
        );
    }

    #[test]
    fn the_facade_is_a_library_and_the_command_is_none() {
        let packages = packages().unwrap();
        assert!(packages.contains(&"turnbuckle".to_owned()));
        assert!(!packages.contains(&"turnbuckle-cli".to_owned()));
    }
}
