//! One crate's listing: a line for each item, field, variant, re-export and set of trait impls.

mod impls;
mod items;

use std::collections::{BTreeMap, BTreeSet};

use rustdoc_types::{Crate, Id, Item};

use super::exports::{Exports, Names, Other};
use super::limits::is_agreed;
use super::print::Printer;

/// What is written, counted and wrong.
pub(super) struct Listing {
    pub(super) text: String,
    pub(super) items: usize,
    pub(super) faults: Vec<String>,
}

/// Lists a crate.
pub(super) fn of(krate: &Crate, names: &Names) -> Listing {
    let exports = Exports::of(krate);
    let mut lister = Lister {
        krate,
        names,
        lines: Vec::new(),
        items: 0,
        foreign: BTreeMap::new(),
    };
    for (id, paths) in &exports.own {
        if let (Some(item), [path, others @ ..]) = (krate.index.get(id), paths.as_slice()) {
            lister.item(item, path);
            for other in others {
                lister.line(other, |to| to.push(&format!("pub use {other} = {path}")));
            }
        }
    }
    for other in &exports.others {
        lister.reexport(other);
    }
    lister.impls(&exports);
    lister.lines.sort();
    let mut faults: Vec<String> = exports
        .globs
        .iter()
        .map(|glob| format!("a glob re-export: {glob}"))
        .collect();
    faults.extend(lister.foreign.iter().map(|(name, lines)| {
        let lines = lines.iter().map(|line| format!("\n  {line}"));
        format!("{name} is foreign:{}", lines.collect::<String>())
    }));
    let lines = lister.lines.iter().map(|line| format!("{}\n", line.text));
    Listing {
        text: lines.collect(),
        items: lister.items,
        faults,
    }
}

/// One line, in the order of the listing: by path, the impls after all else of the same path.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    path: String,
    is_impl: bool,
    text: String,
}

struct Lister<'a> {
    krate: &'a Crate,
    names: &'a Names,
    lines: Vec<Line>,
    items: usize,
    /// Other crates' items that may not stand where they stand: there, line by line.
    foreign: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> Lister<'a> {
    /// Adds the line that `write` writes.
    fn line(
        &mut self,
        path: &str,
        write: impl for<'p> FnOnce(&'p mut Printer<'a>) -> &'p mut Printer<'a>,
    ) {
        let mut printer = Printer::new(self.krate, self.names);
        write(&mut printer);
        self.add(path, false, printer);
    }

    fn add(&mut self, path: &str, is_impl: bool, printer: Printer<'_>) {
        let Printer { text, foreign, .. } = printer;
        self.foreign(&foreign, &text);
        self.lines.push(Line {
            path: path.to_owned(),
            is_impl,
            text,
        });
    }

    /// Notes that a line names what it should not.
    fn foreign(&mut self, names: &BTreeSet<String>, line: &str) {
        for name in names {
            let lines = self.foreign.entry(name.clone()).or_default();
            lines.insert(line.to_owned());
        }
    }

    fn reexport(&mut self, other: &Other) {
        let text = format!("pub use {} = {}", other.path, other.source);
        let summary = other.id.and_then(|id| self.krate.paths.get(&id));
        if let Some(summary) = summary
            && let (Some(krate), Some(name)) = (summary.path.first(), summary.path.last())
            && !is_agreed(krate, name, summary.kind)
        {
            self.foreign(&[format!("{krate}::{name}")].into(), &text);
        }
        self.line(&other.path, |to| to.push(&text));
    }
}

/// The items of the ids; what is hidden has an id and no item.
fn all<'a, 'i>(
    krate: &'a Crate,
    ids: impl IntoIterator<Item = &'i Id>,
) -> impl Iterator<Item = &'a Item> {
    ids.into_iter().filter_map(|id| krate.index.get(id))
}

#[cfg(test)]
mod tests;
