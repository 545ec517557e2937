//! By which paths a crate's items can be reached from outside.

use std::collections::HashMap;

use rustdoc_types::{Crate, Id, Item, ItemEnum, ItemKind};

/// The path of an item for those who use it, by where it is defined and what it is.
pub(super) type Names = HashMap<(String, ItemKind), String>;

/// What can be reached from a crate's root.
#[derive(Default)]
pub(super) struct Exports {
    /// The paths of the crate's own items, the shortest first.
    pub(super) own: HashMap<Id, Vec<String>>,
    /// What is re-exported from other crates.
    pub(super) others: Vec<Other>,
    /// The globs among the re-exports, by the path of their module.
    pub(super) globs: Vec<String>,
}

/// One item of another crate under a path of this one.
pub(super) struct Other {
    pub(super) path: String,
    /// As the source names it.
    pub(super) source: String,
    pub(super) id: Option<Id>,
}

/// The names that signatures of all the crates use.
pub(super) fn names<'a>(crates: impl Iterator<Item = &'a Crate>) -> Names {
    let mut names = Names::new();
    for krate in crates {
        for (id, paths) in Exports::of(krate).own {
            if let (Some(defined), Some(path)) = (krate.paths.get(&id), paths.into_iter().next()) {
                names.insert((defined.path.join("::"), defined.kind), path);
            }
        }
    }
    names
}

impl Exports {
    pub(super) fn of(krate: &Crate) -> Self {
        let mut exports = Self::default();
        if let Some(root) = krate.index.get(&krate.root) {
            let name = root.name.clone().unwrap_or_default();
            exports.walk(krate, root, &name, &mut vec![root.id]);
        }
        for paths in exports.own.values_mut() {
            paths.sort_by_cached_key(|path| (path.matches("::").count(), path.clone()));
            paths.dedup();
        }
        exports
    }

    /// The shortest path of one of the crate's own items; none for what is not public.
    pub(super) fn path(&self, id: Id) -> Option<&str> {
        self.own.get(&id)?.first().map(String::as_str)
    }

    /// Takes in a module at `path`; `inside` are the modules around it, as they may name each
    /// other in a circle.
    fn walk(&mut self, krate: &Crate, module: &Item, path: &str, inside: &mut Vec<Id>) {
        let ItemEnum::Module(children) = &module.inner else {
            return;
        };
        for child in children.items.iter().filter_map(|id| krate.index.get(id)) {
            let (item, name) = match &child.inner {
                ItemEnum::Use(reexport) if reexport.is_glob => {
                    self.globs
                        .push(format!("{path}: pub use {}::*", reexport.source));
                    continue;
                }
                ItemEnum::Use(reexport) => match own(krate, reexport.id) {
                    Some(item) => (item, reexport.name.as_str()),
                    None => {
                        self.others.push(Other {
                            path: format!("{path}::{}", reexport.name),
                            source: reexport.source.clone(),
                            id: reexport.id,
                        });
                        continue;
                    }
                },
                _ => (child, child.name.as_deref().unwrap_or_default()),
            };
            let path = format!("{path}::{name}");
            if !inside.contains(&item.id) {
                inside.push(item.id);
                self.walk(krate, item, &path, inside);
                inside.pop();
            }
            self.own.entry(item.id).or_default().push(path);
        }
    }
}

/// An item of the crate itself; the index holds some of others too.
fn own(krate: &Crate, id: Option<Id>) -> Option<&Item> {
    krate.index.get(&id?).filter(|item| item.crate_id == 0)
}
