//! Own names of items that their names in the merged view do not show.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::view::item_kind::ItemKind;
use crate::view::items::{ItemList, Listed, ServerItems};
use crate::view::names::Prefix;

/// The most names that are remembered, of tools and of prompts.
const MAX_NAMES: usize = 10_000;

/// The most bytes of an own name that is remembered.
const MAX_NAME_BYTES: usize = 1_024;

/// The own names of the tools and prompts that connections of clients have listed, by those names in the merged view
/// that are shortened or given by a rule. For the audit of requests, also of those that came too late.
#[derive(Default)]
pub(crate) struct HiddenNames(Mutex<Names>);

#[derive(Default)]
struct Names {
    tools: HashMap<String, Arc<str>>,
    prompts: HashMap<String, Arc<str>>,
}

impl HiddenNames {
    /// Adds the names of the items of a server.
    pub(crate) fn add(&self, prefix: &Prefix, items: &ServerItems) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        add(&mut names.tools, prefix, &items.tools);
        add(&mut names.prompts, prefix, &items.prompts);
        for (merged, own) in &*items.dropped_names {
            insert(&mut names.tools, merged, own);
            insert(&mut names.prompts, merged, own);
        }
    }

    /// Returns the own name of an item.
    pub(crate) fn find(&self, kind: ItemKind, merged: &str) -> Option<Arc<str>> {
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let names = match kind {
            ItemKind::Tool => &names.tools,
            ItemKind::Prompt => &names.prompts,
            ItemKind::Resource => return None,
        };
        names.get(merged).cloned()
    }
}

fn add<T: Listed>(names: &mut HashMap<String, Arc<str>>, prefix: &Prefix, items: &ItemList<T>) {
    for item in items.iter().map(|it| &it.item) {
        let merged = item.item.key();
        if prefix.own_name(merged) != Some(&*item.own_name) {
            insert(names, merged, &item.own_name);
        }
    }
}

fn insert(names: &mut HashMap<String, Arc<str>>, merged: &str, own: &Arc<str>) {
    if names.len() < MAX_NAMES && own.len() <= MAX_NAME_BYTES {
        names.insert(merged.to_owned(), own.clone());
    }
}
