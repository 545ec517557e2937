//! Which traits are implemented: one line for all that a type has under the same conditions.

use std::collections::{BTreeMap, BTreeSet};

use rustdoc_types::{Id, Impl, ItemEnum, Type};

use super::{Lister, all};
use crate::api::exports::Exports;
use crate::api::print::Printer;

/// Traits that the compiler implements by itself, and that are missed where it does not.
const MISSED: &[&str] = &["Send", "Sync", "Unpin"];

/// What a derive of `PartialEq` brings along.
const UNSAID: &str = "StructuralPartialEq";

/// What the traits of one line have in common: the path they stand at, and the text around them.
type Place = (String, String, String);

impl Lister<'_> {
    /// Lists the impls of the crate's public types, and those of its traits for others' types.
    pub(super) fn impls(&mut self, exports: &Exports) {
        let mut traits: BTreeMap<Place, BTreeSet<String>> = BTreeMap::new();
        for item in self.krate.index.values().filter(|item| item.crate_id == 0) {
            if let ItemEnum::Impl(held) = &item.inner
                && let Some((place, name)) = self.implemented(held, exports)
            {
                traits.entry(place).or_default().insert(name);
            }
        }
        for ((path, before, after), names) in traits {
            let names: Vec<String> = names.into_iter().collect();
            let mut printer = Printer::new(self.krate, self.names);
            printer.push(&before).push(&names.join(" + ")).push(&after);
            self.add(&path, true, printer);
        }
    }

    fn implemented(&mut self, held: &Impl, exports: &Exports) -> Option<(Place, String)> {
        let of = held.trait_.as_ref()?;
        let missed = held.is_negative && MISSED.contains(&of.path.as_str());
        if held.blanket_impl.is_some() || (held.is_synthetic && !missed) || of.path == UNSAID {
            return None;
        }
        let path = match (self.public(&of.id, exports), subject(&held.for_)) {
            // Of a type of the crate; of a private one it is nobody's business.
            (Some(_), Some(id)) if self.is_own(id) => exports.path(id)?,
            (Some(Some(path)), _) => path,
            _ => return None,
        };
        let mut name = Printer::new(self.krate, self.names);
        name.push(if held.is_negative { "!" } else { "" }).path(of);
        for item in all(self.krate, &held.items) {
            if let ItemEnum::AssocType {
                type_: Some(of), ..
            } = &item.inner
            {
                name.given(item.name.as_deref().unwrap_or_default(), of);
            }
        }
        let mut before = Printer::new(self.krate, self.names);
        before.push("impl").parameters(&held.generics.params);
        before.push(" ");
        let mut after = Printer::new(self.krate, self.names);
        after.push(" for ").ty(&held.for_);
        after.conditions(&[], &held.generics.where_predicates);
        let text = format!("{}{}{}", before.text, name.text, after.text);
        for part in [&name, &before, &after] {
            self.foreign(&part.foreign, &text);
        }
        Some(((path.to_owned(), before.text, after.text), name.text))
    }

    /// The path of a trait of the crate, `Some(None)` for one of another crate, and nothing for
    /// one that is not public.
    fn public<'e>(&self, id: &Id, exports: &'e Exports) -> Option<Option<&'e str>> {
        if self.is_own(*id) {
            exports.path(*id).map(Some)
        } else {
            Some(None)
        }
    }

    fn is_own(&self, id: Id) -> bool {
        let summary = self.krate.paths.get(&id);
        summary.is_none_or(|summary| summary.crate_id == 0)
    }
}

/// The type that an impl is about, behind its borrows.
fn subject(of: &Type) -> Option<Id> {
    match of {
        Type::ResolvedPath(path) => Some(path.id),
        Type::BorrowedRef { type_, .. } | Type::Slice(type_) => subject(type_),
        _ => None,
    }
}
