//! The imports between the files of a crate.
//!
//! An import of a name from a module that re-exports it is an import from the file that defines it,
//! and a re-export alone imports nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Item, UseTree};

use crate::source::{Source, Token, attributes, flatten, is_test_only};

/// The files that each file of a crate imports, by their paths; or its modules, by their names.
pub(crate) type Imports<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Returns the imports of each crate of some sources, with the crate's package. A package with
/// several binaries or tests has several crates.
pub(crate) fn crates(sources: &[Source]) -> Vec<(&str, Imports<'_>)> {
    let mut packages: BTreeMap<&str, BTreeMap<&str, &Source>> = BTreeMap::new();
    for source in sources {
        packages
            .entry(source.package())
            .or_default()
            .insert(&source.path, source);
    }
    let mut found = Vec::new();
    for (package, files) in packages {
        for root in files.keys().filter(|path| is_root(package, path)) {
            let mut crate_ = Crate {
                files: &files,
                modules: Vec::new(),
            };
            crate_.add_file(root, folder_of_root(root), None);
            found.push((package, crate_.edges()));
        }
    }
    found
}

/// Returns the imports between the modules at the top of a crate, each of which is a key.
pub(crate) fn top_modules<'a>(package: &str, imports: &Imports<'a>) -> Imports<'a> {
    let mut modules = Imports::new();
    for (file, targets) in imports {
        let Some(module) = top_module(package, file) else {
            continue;
        };
        let others = targets
            .iter()
            .filter_map(|target| top_module(package, target));
        let row = modules.entry(module).or_default();
        row.extend(others.filter(|other| *other != module));
    }
    modules
}

/// Returns the module at the top of a crate that holds a file: `server` for `src/server/tls.rs`.
pub(crate) fn top_module<'a>(package: &str, file: &'a str) -> Option<&'a str> {
    let inner = file.strip_prefix(package)?.strip_prefix("/src/")?;
    let first = inner.split('/').next()?;
    let module = first.strip_suffix(".rs").unwrap_or(first);
    (!matches!(module, "lib" | "main" | "bin")).then_some(module)
}

/// Returns the floors of modules by their imports, from the top: each module stands one floor above
/// the highest that it imports. Modules that import each other stand on one floor together.
pub(crate) fn floors<'a>(modules: &Imports<'a>) -> Vec<Vec<&'a str>> {
    let circles = circles(modules);
    let circle_of = |module: &str| circles.iter().find(|circle| circle.contains(&module));
    let mut floors: Vec<Vec<&str>> = Vec::new();
    let mut open: BTreeSet<&str> = modules.keys().copied().collect();
    while !open.is_empty() {
        let is_free = |module: &&&str| {
            let own = circle_of(module);
            let together = own.map_or(std::slice::from_ref(*module), Vec::as_slice);
            let mut imports = together.iter().flat_map(|module| &modules[module]);
            imports.all(|other| !open.contains(other) || together.contains(other))
        };
        let floor: Vec<&str> = open.iter().filter(is_free).copied().collect();
        open.retain(|module| !floor.contains(module));
        floors.insert(0, floor);
    }
    floors
}

/// Returns whether a crate begins at a file.
fn is_root(package: &str, path: &str) -> bool {
    let inner = path.strip_prefix(package).unwrap_or(path);
    let parts: Vec<&str> = inner.trim_start_matches('/').split('/').collect();
    match parts[..] {
        ["src", "lib.rs" | "main.rs"] | ["src", "bin", _] | ["src", "bin", _, "main.rs"] => true,
        ["examples" | "tests" | "fuzz_targets", file] => file.ends_with(".rs"),
        ["examples" | "tests", _, "main.rs"] => true,
        _ => false,
    }
}

/// Returns the folder of the modules that a crate's first file declares.
fn folder_of_root(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A crate's modules; the first is its root.
struct Crate<'f, 'a> {
    files: &'f BTreeMap<&'a str, &'a Source>,
    modules: Vec<Module<'a>>,
}

struct Module<'a> {
    file: &'a str,
    parent: Option<usize>,
    children: HashMap<String, usize>,
    /// The names of the items that the module defines.
    items: BTreeSet<String>,
    /// The names that it imports, each with its path and whether it is a re-export.
    imports: HashMap<String, (Vec<String>, bool)>,
    /// The paths of the imports of all that a module has.
    globs: Vec<Vec<String>>,
    /// The tokens of its items that are neither modules nor imports.
    tokens: Vec<Token>,
}

impl<'a> Crate<'_, 'a> {
    /// Adds the module of a file; `folder` is where the modules stand that it declares.
    fn add_file(&mut self, file: &str, folder: &str, parent: Option<usize>) -> Option<usize> {
        let (&file, source) = self.files.get_key_value(file)?;
        Some(self.add(file, folder, parent, &source.items))
    }

    fn add(&mut self, file: &'a str, folder: &str, parent: Option<usize>, items: &[Item]) -> usize {
        let index = self.modules.len();
        self.modules.push(Module {
            file,
            parent,
            children: HashMap::new(),
            items: BTreeSet::new(),
            imports: HashMap::new(),
            globs: Vec::new(),
            tokens: Vec::new(),
        });
        let mut stream = TokenStream::new();
        for item in items.iter().filter(|item| !is_test_only(attributes(item))) {
            match item {
                Item::Mod(module) => {
                    let name = module.ident.to_string();
                    let inner = format!("{folder}/{name}");
                    let child = match &module.content {
                        Some((_, items)) => Some(self.add(file, &inner, Some(index), items)),
                        None => self
                            .add_file(&format!("{inner}.rs"), &inner, Some(index))
                            .or_else(|| {
                                self.add_file(&format!("{inner}/mod.rs"), &inner, Some(index))
                            }),
                    };
                    if let Some(child) = child {
                        self.modules[index].children.insert(name, child);
                    }
                }
                Item::Use(item) => {
                    let is_reexport = !matches!(item.vis, syn::Visibility::Inherited);
                    self.modules[index].import(&item.tree, &mut Vec::new(), is_reexport);
                }
                item => {
                    self.modules[index].items.extend(name_of(item));
                    item.to_tokens(&mut stream);
                }
            }
        }
        flatten(stream, &mut self.modules[index].tokens);
        index
    }

    /// Returns the files that each file imports.
    fn edges(&self) -> Imports<'a> {
        let mut edges = Imports::new();
        for (index, module) in self.modules.iter().enumerate() {
            edges.entry(module.file).or_default();
            let private = module
                .imports
                .values()
                .filter(|(_, is_reexport)| !is_reexport);
            let imported = private.map(|(path, _)| path.clone());
            // A single name is an import only where the module re-exports it, and uses it too.
            let is_import = |path: &Vec<String>| {
                let reexport = module
                    .imports
                    .get(&path[0])
                    .is_some_and(|(_, is_reexport)| *is_reexport);
                path.len() > 1 || reexport
            };
            for path in imported.chain(paths(&module.tokens).filter(is_import)) {
                let target = self
                    .resolve(index, &path, 0)
                    .map(|target| self.modules[target].file);
                if let Some(target) = target.filter(|target| *target != module.file) {
                    edges.entry(module.file).or_default().insert(target);
                }
            }
        }
        edges
    }

    /// Returns the module that defines what the path names, as seen from a module.
    fn resolve(&self, from: usize, path: &[String], depth: usize) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        let module = &self.modules[from];
        match first.as_str() {
            _ if depth > 12 => None,
            "crate" => self.resolve_in(0, rest, depth),
            "self" => self.resolve_in(from, rest, depth),
            "super" => match rest.first().map(String::as_str) {
                Some("super") => self.resolve(module.parent?, rest, depth + 1),
                _ => self.resolve_in(module.parent?, rest, depth),
            },
            _ => self.resolve_in(from, path, depth),
        }
    }

    /// Returns the module that defines the name at the end of the path within a module.
    fn resolve_in(&self, module: usize, path: &[String], depth: usize) -> Option<usize> {
        let Some((first, rest)) = path.split_first() else {
            return Some(module);
        };
        let Module {
            children,
            items,
            imports,
            globs,
            ..
        } = &self.modules[module];
        if items.contains(first) {
            return Some(module);
        }
        if let Some(&child) = children.get(first) {
            return self.resolve_in(child, rest, depth + 1);
        }
        if let Some((target, _)) = imports.get(first) {
            let whole: Vec<_> = target.iter().chain(rest).cloned().collect();
            // An import of a name from another crate: the path would lead back here.
            return (target.first() != Some(first))
                .then(|| self.resolve(module, &whole, depth + 1))?;
        }
        globs.iter().filter(|_| depth < 12).find_map(|glob| {
            let whole: Vec<_> = glob.iter().chain(path).cloned().collect();
            self.resolve(module, &whole, depth + 4)
        })
    }
}

impl Module<'_> {
    fn import(&mut self, tree: &UseTree, path: &mut Vec<String>, is_reexport: bool) {
        match tree {
            UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                self.import(&tree.tree, path, is_reexport);
                path.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, path, is_reexport);
                }
            }
            UseTree::Glob(_) => self.globs.push(path.clone()),
            UseTree::Name(tree) if tree.ident == "self" => {
                let name = path.last().cloned().unwrap_or_default();
                self.imports.insert(name, (path.clone(), is_reexport));
            }
            UseTree::Name(tree) => self.import_as(&tree.ident, &tree.ident, path, is_reexport),
            UseTree::Rename(tree) => self.import_as(&tree.ident, &tree.rename, path, is_reexport),
        }
    }

    fn import_as(
        &mut self,
        own: &syn::Ident,
        name: &syn::Ident,
        path: &[String],
        is_reexport: bool,
    ) {
        let mut path = path.to_vec();
        path.push(own.to_string());
        // A trait that is imported without a name has one of its own here.
        let name = match name == "_" {
            true => format!("_{}", self.imports.len()),
            false => name.to_string(),
        };
        self.imports.insert(name, (path, is_reexport));
    }
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(name.to_string())
}

/// Returns the paths among tokens, single names included, but no names of members.
fn paths(tokens: &[Token]) -> impl Iterator<Item = Vec<String>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(token) = tokens.get(at) {
            let is_member = at > 0 && tokens[at - 1].is('.');
            at += 1;
            let Some(first) = token.ident().filter(|_| !is_member) else {
                continue;
            };
            let mut path = vec![first.to_owned()];
            while let [one, other, next, ..] = &tokens[at..]
                && let (true, true, Some(name)) = (one.is(':'), other.is(':'), next.ident())
            {
                path.push(name.to_owned());
                at += 3;
            }
            return Some(path);
        }
        None
    })
}

/// Returns the strongly connected sets of more than one file, each in order.
pub(crate) fn circles<'a>(edges: &Imports<'a>) -> Vec<Vec<&'a str>> {
    let reach = |from: &'a str| {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(file) = open.pop() {
            for next in edges.get(file).into_iter().flatten() {
                if reached.insert(*next) {
                    open.push(next);
                }
            }
        }
        reached
    };
    let reached: BTreeMap<_, _> = edges.keys().map(|file| (*file, reach(file))).collect();
    let mut circles: BTreeSet<Vec<&str>> = BTreeSet::new();
    for (file, all) in &reached {
        let back = |other: &&&str| reached.get(**other).is_some_and(|all| all.contains(file));
        let circle: Vec<_> = all.iter().filter(back).copied().collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}
