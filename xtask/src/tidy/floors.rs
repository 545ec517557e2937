//! The floors of each crate: `floors.toml` beside this file.

use std::collections::{BTreeMap, BTreeSet};

use super::map::MAP;
use super::rule::{Project, Rule, Violation};
use crate::imports::{Imports, circles, top_module, top_modules};

pub(super) const RULE: Rule = Rule {
    name: "floors",
    reason: "a module at the top of a crate imports only from floors below its own: move what both \
             need down, or change the plan in xtask/src/tidy/floors.toml",
    check: |project| check(project, TABLE),
};

pub(super) const CIRCLES: Rule = Rule {
    name: "circles",
    reason: "at most three modules at the top of a crate import each other, and none in a crate \
             with floors: move what they share into a module below",
    check: |project| {
        let mut found = Vec::new();
        for (package, imports) in project_crates(project) {
            let modules = top_modules(package, &imports);
            let large = |circle: &&Vec<&str>| circle.len() > MAX_MODULES;
            for circle in circles(&modules).iter().filter(large) {
                let what = format!("{} import each other", circle.join(", "));
                found.push(Violation::file(package, what));
            }
        }
        found
    },
};

/// The largest circle of modules that is allowed in a crate without floors.
const MAX_MODULES: usize = 3;

const TABLE: &str = include_str!("floors.toml");

/// The file of the table, which violations of it name.
const PATH: &str = "xtask/src/tidy/floors.toml";

/// The floors of each crate by its name: the modules of each floor, from the top.
type Table = BTreeMap<String, Vec<Vec<String>>>;

/// Returns the crates of the libraries and of the command, with the imports of their files.
fn project_crates(project: &Project) -> impl Iterator<Item = (&str, Imports<'_>)> {
    let in_crates = |(package, imports): &(&str, Imports<'_>)| {
        let is_library = |file: &&str| file.starts_with(&format!("{package}/src/"));
        package.starts_with("crates/") && imports.keys().any(is_library)
    };
    project.crates().filter(in_crates)
}

fn check(project: &Project, table: &str) -> Vec<Violation> {
    let table: BTreeMap<String, Row> = match toml::from_str(table) {
        Ok(table) => table,
        Err(error) => return vec![Violation::file(PATH, error.to_string())],
    };
    let table: Table = table
        .into_iter()
        .map(|(name, row)| (name, row.floors))
        .collect();
    let map = project.tree.text(MAP).unwrap_or_default();
    let rows = table.iter().map(|(name, floors)| row_of_map(name, floors));
    let missing = rows.filter(|row| !map.lines().any(|line| line == row));
    let mut found: Vec<_> = missing
        .map(|row| Violation::file(MAP, format!("the table of floors lacks the row {row}")))
        .collect();
    for (package, imports) in project_crates(project) {
        let name = package.trim_start_matches("crates/");
        let Some(floors) = table.get(name) else {
            continue;
        };
        let floor_of = |module: &str| {
            let has = |floor: &Vec<String>| floor.iter().any(|name| name == module);
            floors.iter().position(has)
        };
        let modules = top_modules(package, &imports);
        let existing: BTreeSet<&str> = modules.keys().copied().collect();
        for module in floors.iter().flatten() {
            if !existing.contains(module.as_str()) {
                let what = format!("{name} has no module {module}: strike it from the table");
                found.push(Violation::file(PATH, what));
            }
        }
        for (module, others) in &modules {
            let Some(floor) = floor_of(module) else {
                let what = format!("{name}: the module {module} has no floor");
                found.push(Violation::file(PATH, what));
                continue;
            };
            let is_up = |other: &&&str| floor_of(other).is_some_and(|other| other <= floor);
            for other in others.iter().filter(is_up) {
                for (file, target) in between(package, &imports, module, other) {
                    let what = format!("{module} imports {other}, which is not below it: {target}");
                    found.push(Violation::file(file, what));
                }
            }
        }
    }
    found
}

/// Returns the row of a crate in the table of floors on the map: `·` stands between floors.
pub(crate) fn row_of_map(name: &str, floors: &[Vec<String>]) -> String {
    let floor = |modules: &Vec<String>| {
        let modules: Vec<_> = modules.iter().map(|name| format!("`{name}`")).collect();
        modules.join(", ")
    };
    let floors: Vec<_> = floors.iter().map(floor).collect();
    format!("| `{name}` | {} |", floors.join(" · "))
}

/// The floors of one crate.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    floors: Vec<Vec<String>>,
}

/// Returns the imports of files of one top module from files of another.
fn between<'a>(
    package: &'a str,
    imports: &'a Imports<'a>,
    module: &'a str,
    other: &'a str,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let inside = move |file: &str, name: &str| top_module(package, file) == Some(name);
    let pairs = imports
        .iter()
        .flat_map(|(file, targets)| targets.iter().map(move |target| (*file, *target)));
    pairs.filter(move |(file, target)| inside(file, module) && inside(target, other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn found(table: &str, b: &str) -> Vec<String> {
        let files = [
            ("crates/a/src/lib.rs", "mod b; mod c; mod d; pub use d::D;"),
            ("crates/a/src/b.rs", b),
            ("crates/a/src/c/mod.rs", "pub mod e;"),
            (
                "crates/a/src/c/e.rs",
                "use crate::d::D; pub struct E(D); #[cfg(test)] mod tests { use crate::b::B; }",
            ),
            ("crates/a/src/d.rs", "pub struct D;"),
            (MAP, MAP_TEXT),
        ];
        let project = Project::parse(Tree::new(&files)).unwrap();
        check(&project, table)
            .into_iter()
            .map(|violation| format!("{}: {}", violation.path, violation.what))
            .collect()
    }

    const MAP_TEXT: &str = "\
| `a` | `b` · `c` · `d` |
| `a` | `c` · `b` · `d` |
| `a` | `b`, `c` · `d` |
| `a` | `b` · `x` · `d` |
";

    const FLOORS: &str = "[a]\nfloors = [[\"b\"], [\"c\"], [\"d\"]]\n";

    #[test]
    fn an_import_from_below_is_allowed() {
        assert_eq!(
            found(FLOORS, "use crate::c::e::E; pub struct B(E);"),
            [""; 0]
        );
    }

    #[test]
    fn an_import_from_above_or_from_the_same_floor_is_found() {
        for floors in [
            "[a]\nfloors = [[\"c\"], [\"b\"], [\"d\"]]\n",
            "[a]\nfloors = [[\"b\", \"c\"], [\"d\"]]\n",
        ] {
            assert_eq!(
                found(floors, "use crate::c::e::E; pub struct B(E);"),
                ["crates/a/src/b.rs: b imports c, which is not below it: \
                     crates/a/src/c/e.rs"]
            );
        }
    }

    #[test]
    fn the_table_names_each_module() {
        let found = found(
            "[a]\nfloors = [[\"b\"], [\"x\"], [\"d\"]]\n",
            "pub struct B;",
        );
        assert_eq!(
            found,
            [
                "xtask/src/tidy/floors.toml: a has no module x: strike it from the table",
                "xtask/src/tidy/floors.toml: a: the module c has no floor"
            ]
        );
    }

    #[test]
    fn the_map_shows_the_floors() {
        let table = "[a]\nfloors = [[\"b\"], [\"c\"], [\"d\"], []]\n";
        assert_eq!(
            found(table, "pub struct B;"),
            ["ARCHITECTURE.md: the table of floors lacks the row | `a` | `b` · `c` · `d` ·  |"]
        );
    }

    #[test]
    fn a_circle_of_four_modules_is_found() {
        let text = |other: &str| format!("use crate::{other}::S; pub struct S;");
        let files = |last: &str| {
            let names = ["b", "c", "d", "e"];
            let mut files = vec![(
                "crates/a/src/lib.rs".to_owned(),
                "mod b; mod c; mod d; mod e;".to_owned(),
            )];
            for (index, name) in names.iter().enumerate() {
                let other = names.get(index + 1).copied().unwrap_or(last);
                files.push((format!("crates/a/src/{name}.rs"), text(other)));
            }
            files
        };
        let count = |last: &str| {
            let files = files(last);
            let files: Vec<_> = files
                .iter()
                .map(|(path, text)| (path.as_str(), text.as_str()))
                .collect();
            let project = Project::parse(Tree::new(&files)).unwrap();
            (CIRCLES.check)(&project).len()
        };
        assert_eq!(count("b"), 1);
        assert_eq!(count("c"), 0, "three are allowed");
    }
}
