//! The rules about files, their paths, and the tops of crates.

use super::rule::{Project, Rule, Violation};
use crate::source::{Source, Token};

pub(super) const SIZE: Rule = Rule {
    name: "size",
    reason: "a file with one purpose has at most 500 lines: split it",
    check: |project| {
        let counted = project
            .tree
            .texts(".rs")
            .map(|(path, text)| (path, text.lines().count()));
        let large = counted.filter(|(_, lines)| *lines > MAX_LINES);
        large
            .map(|(path, lines)| Violation::file(path, format!("{lines} lines")))
            .collect()
    },
};

pub(super) const PLACES: Rule = Rule {
    name: "places",
    reason: "no absolute path of one machine and no host of a registry may stand in the project: \
             use a path from the root, or a variable",
    check: places,
};

pub(super) const LINTS: Rule = Rule {
    name: "lints",
    reason: "every Cargo.toml of the workspace has `[lints] workspace = true`",
    check: lints,
};

pub(super) const GLOBS: Rule = Rule {
    name: "globs",
    reason: "a lib.rs names what it re-exports one by one: a glob makes every addition public",
    check: |project| {
        let libraries = project
            .production()
            .filter(|source| source.path.ends_with("/lib.rs"));
        libraries.flat_map(globs).collect()
    },
};

pub(super) const HIDDEN: Rule = Rule {
    name: "hidden",
    reason: "`#[doc(hidden)]` makes an item public and says that nobody may use it: the workspace \
             has at most ten, each below a comment that gives its reason",
    check: hidden,
};

pub(super) const TOP: Rule = Rule {
    name: "top",
    reason: "the top of a crate is its table of contents: about a dozen modules, the others in \
             folders of one side or one feature (turnbuckle-types has a module for each page of \
             the specification)",
    check: |project| project.production().filter_map(top).collect(),
};

/// The most lines of a Rust file.
const MAX_LINES: usize = 500;

/// The most hidden items of the workspace.
const MAX_HIDDEN: usize = 10;

/// The most modules at the top of a crate.
const MAX_MODULES: usize = 14;

/// Beginnings of paths and hosts; in two parts each, so that this list is no violation itself.
const TRACES: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/tm", "p/"),
    concat!("crates.io", "/api"),
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("registry.", "npmjs"),
    concat!("pypi", ".org"),
    concat!("deb.", "debian"),
];

fn places(project: &Project) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in project.tree.texts("") {
        for trace in TRACES {
            for (offset, _) in text.match_indices(trace) {
                // `a/home/b` and `file:///home/b` are inside something, not a machine's.
                let before = text[..offset].chars().next_back().unwrap_or(' ');
                let is_inside = before.is_alphanumeric() || "./_-}*".contains(before);
                if !(is_inside && trace.starts_with('/')) {
                    let line = 1 + text[..offset].matches('\n').count();
                    found.push(Violation::new(path, line, *trace));
                }
            }
        }
    }
    found
}

fn lints(project: &Project) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in project.tree.texts("Cargo.toml") {
        let manifest: toml::Table = match text.parse() {
            Ok(manifest) => manifest,
            Err(error) => {
                found.push(Violation::file(path, error.to_string()));
                continue;
            }
        };
        // A manifest with a workspace of its own, such as fuzz's, inherits nothing.
        let is_member = manifest.contains_key("package") && !manifest.contains_key("workspace");
        let lints = manifest
            .get("lints")
            .and_then(|lints| lints.get("workspace"));
        if is_member && lints.and_then(toml::Value::as_bool) != Some(true) {
            found.push(Violation::file(path, "does not take the workspace's lints"));
        }
    }
    found
}

fn globs(source: &Source) -> Vec<Violation> {
    fn has_glob(tree: &syn::UseTree) -> bool {
        match tree {
            syn::UseTree::Path(tree) => has_glob(&tree.tree),
            syn::UseTree::Group(group) => group.items.iter().any(has_glob),
            syn::UseTree::Glob(_) => true,
            syn::UseTree::Name(_) | syn::UseTree::Rename(_) => false,
        }
    }
    let uses = source.items.iter().filter_map(|item| match item {
        syn::Item::Use(item) => Some(item),
        _ => None,
    });
    let globs =
        uses.filter(|item| matches!(item.vis, syn::Visibility::Public(_)) && has_glob(&item.tree));
    let line = |item: &syn::ItemUse| item.use_token.span.start().line;
    globs
        .map(|item| Violation::new(&source.path, line(item), "a public glob"))
        .collect()
}

fn hidden(project: &Project) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut count = 0;
    for source in project.production() {
        let text = project.tree.text(&source.path).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let attributes = source.production.windows(3).filter(|window| {
            window[0].ident() == Some("doc")
                && window[1].is('(')
                && window[2].ident() == Some("hidden")
        });
        for line in attributes.map(|window| window[0].line) {
            count += 1;
            let above = line
                .checked_sub(2)
                .and_then(|line| lines.get(line))
                .unwrap_or(&"")
                .trim();
            let has_reason = above.starts_with("// ")
                || lines
                    .get(line - 1)
                    .is_some_and(|line| line.contains("] // "));
            if count > MAX_HIDDEN {
                found.push(Violation::new(
                    &source.path,
                    line,
                    format!("hidden item {count} of {MAX_HIDDEN}"),
                ));
            } else if !has_reason {
                found.push(Violation::new(
                    &source.path,
                    line,
                    "a hidden item without a reason above it",
                ));
            }
        }
    }
    found
}

fn top(source: &Source) -> Option<Violation> {
    let is_top = source.path.ends_with("/src/lib.rs") || source.path.ends_with("/src/main.rs");
    if !is_top || source.package() == "crates/turnbuckle-types" {
        return None;
    }
    let modules = source.production.windows(3).filter(|window: &&[Token]| {
        window[0].ident() == Some("mod") && window[1].ident().is_some() && window[2].is(';')
    });
    let count = modules.count();
    (count > MAX_MODULES).then(|| {
        Violation::file(
            &source.path,
            format!("{count} modules at the top, at most {MAX_MODULES}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn found(rule: &Rule, path: &str, text: &str) -> usize {
        let project = Project::parse(Tree::new(&[(path, text)])).unwrap();
        (rule.check)(&project).len()
    }

    #[test]
    fn a_long_file_is_found() {
        assert_eq!(found(&SIZE, "xtask/src/a.rs", &"\n".repeat(500)), 0);
        assert_eq!(found(&SIZE, "xtask/src/a.rs", &"\n".repeat(501)), 1);
    }

    #[test]
    fn a_machines_path_or_a_registrys_host_is_found() {
        let path = concat!("see /wo", "rk/x and /ho", "me/me/y");
        assert_eq!(found(&PLACES, "README.md", path), 2);
        let host = concat!("https://registry.", "npmjs.org/x");
        assert_eq!(found(&PLACES, "tests/js/package-lock.json", host), 1);
        assert_eq!(
            found(
                &PLACES,
                "README.md",
                "teamwork/x, src/home/mod.rs, crates.io/crates/x"
            ),
            0
        );
    }

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let path = "crates/a/Cargo.toml";
        assert_eq!(found(&LINTS, path, "[package]\nname = \"a\"\n"), 1);
        assert_eq!(
            found(&LINTS, path, "[package]\n[lints]\nworkspace = false\n"),
            1
        );
        assert_eq!(
            found(&LINTS, path, "[package]\n[lints]\nworkspace = true\n"),
            0
        );
        assert_eq!(
            found(&LINTS, "fuzz/Cargo.toml", "[package]\n[workspace]\n"),
            0
        );
        assert_eq!(found(&LINTS, path, "[package"), 1);
    }

    #[test]
    fn a_public_glob_in_a_library_is_found() {
        let lib = "crates/turnbuckle/src/lib.rs";
        assert_eq!(found(&GLOBS, lib, "pub use turnbuckle_types::*;"), 1);
        assert_eq!(found(&GLOBS, lib, "pub use a::{\n    B,\n    c::*,\n};"), 1);
        assert_eq!(
            found(
                &GLOBS,
                lib,
                "pub use a::{B, C};\nuse d::*;\n// pub use e::*;"
            ),
            0
        );
        assert_eq!(
            found(&GLOBS, "crates/turnbuckle/src/tool.rs", "pub use a::*;"),
            0
        );
    }

    #[test]
    fn a_hidden_item_needs_a_reason_and_there_are_at_most_ten() {
        let path = "crates/a/src/b.rs";
        assert_eq!(
            found(&HIDDEN, path, "/// A.\n#[doc(hidden)]\npub fn a() {}"),
            1
        );
        let good = "// Macros name it.\n#[doc(hidden)]\npub fn a() {}\n";
        assert_eq!(found(&HIDDEN, path, &good.repeat(10)), 0);
        assert_eq!(found(&HIDDEN, path, &good.repeat(12)), 2);
        assert_eq!(found(&HIDDEN, path, "// #[doc(hidden)]\nfn a() {}"), 0);
    }

    #[test]
    fn a_crate_with_many_modules_at_its_top_is_found() {
        let modules = |count| {
            (0..count)
                .map(|number| format!("mod m{number};\n"))
                .collect::<String>()
        };
        assert_eq!(found(&TOP, "crates/a/src/lib.rs", &modules(14)), 0);
        assert_eq!(found(&TOP, "crates/a/src/lib.rs", &modules(15)), 1);
        assert_eq!(found(&TOP, "crates/a/src/b.rs", &modules(15)), 0);
        assert_eq!(
            found(&TOP, "crates/turnbuckle-types/src/lib.rs", &modules(15)),
            0
        );
    }
}
