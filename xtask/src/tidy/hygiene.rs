//! Small rules for every file: no test switched off in silence, no trace of the machine that it
//! was written on, the workspace's lints everywhere.

use super::source::read;
use super::{Breach, Wall};
use crate::tree::Tree;

pub(super) const IGNORED: Wall = Wall {
    name: "ignored tests",
    advice: "say why: #[ignore = \"reason\"], or delete the test",
    check: ignored,
};

pub(super) const PLACES: Wall = Wall {
    name: "machine paths",
    advice: "no absolute path of one machine and no registry's host may stand in the project; \
             use a path from the root, or a variable",
    check: places,
};

pub(super) const LINTS: Wall = Wall {
    name: "lints",
    advice: "every Cargo.toml of the workspace says [lints] workspace = true",
    check: lints,
};

fn ignored(tree: &Tree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (path, text) in tree.texts(".rs") {
        let mark = "#[ignore";
        // Test modules are blanked in the views, so each line is read on its own here.
        let lines = text.lines().enumerate();
        for (line, content) in lines.filter(|(_, content)| content.contains(mark)) {
            let source = read(path, content);
            let Some(at) = source.bare.find(mark) else {
                continue;
            };
            let reason = source
                .literals()
                .iter()
                .any(|(_, text)| !text.trim().is_empty());
            if !(source.bare[at + mark.len()..].trim_start().starts_with('=') && reason) {
                let what = "ignored without a reason".to_owned();
                breaches.push(Breach {
                    path: path.to_owned(),
                    line: line + 1,
                    what,
                });
            }
        }
    }
    breaches
}

/// Beginnings of paths and hosts; in two parts each, so that this list is no breach itself.
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

fn places(tree: &Tree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (path, text) in tree.texts("") {
        for trace in TRACES {
            for (offset, _) in text.match_indices(trace) {
                // `a/home/b` and `file:///home/b` are inside something, not a machine's.
                let before = text[..offset].chars().next_back().unwrap_or(' ');
                let inside = before.is_alphanumeric() || "./_-}*".contains(before);
                if !(inside && trace.starts_with('/')) {
                    breaches.push(Breach::at(path, text, offset, *trace));
                }
            }
        }
    }
    breaches
}

fn lints(tree: &Tree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (path, text) in tree.texts("Cargo.toml") {
        let manifest: toml::Table = match text.parse() {
            Ok(manifest) => manifest,
            Err(error) => {
                breaches.push(Breach::of(path, error.to_string()));
                continue;
            }
        };
        // A manifest with a workspace of its own, such as a fuzz crate's, inherits nothing.
        let member = manifest.contains_key("package") && !manifest.contains_key("workspace");
        let lints = manifest
            .get("lints")
            .and_then(|lints| lints.get("workspace"));
        if member && lints.and_then(toml::Value::as_bool) != Some(true) {
            breaches.push(Breach::of(path, "does not take the workspace's lints"));
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(wall: &Wall, path: &str, text: &str) -> usize {
        (wall.check)(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn a_test_ignored_in_silence_is_found() {
        let bare = concat!(
            "#[cfg(test)]\nmod t {\n#[test]\n#[ig",
            "nore]\nfn f() {}\n}"
        );
        assert_eq!(found(&IGNORED, "tests/it/a.rs", bare), 1);
        assert_eq!(found(&IGNORED, "a.rs", concat!("#[ig", "nore = \" \"]")), 1);
        assert_eq!(
            found(
                &IGNORED,
                "a.rs",
                concat!("#[ig", "nore = \"needs a network\"]")
            ),
            0
        );
        assert_eq!(found(&IGNORED, "a.rs", concat!("// #[ig", "nore]")), 0);
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
}
