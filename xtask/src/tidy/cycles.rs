//! The files of a crate that import each other.

use super::rule::{Project, Rule, Violation};
use crate::imports::{Imports, circles};

/// The largest circle that is allowed, in files.
const MAX_FILES: usize = 3;

pub(super) const RULE: Rule = Rule {
    name: "cycles",
    reason: "a file that imports, over others, what imports it cannot be read before them: move \
             what they share into a file of its own",
    check,
};

fn check(project: &Project) -> Vec<Violation> {
    let mut found = Vec::new();
    for (package, imports) in project.crates() {
        let large = circles(&imports)
            .into_iter()
            .filter(|circle| circle.len() > MAX_FILES);
        found.extend(large.map(|circle| {
            let what = describe(package, &circle, &imports);
            Violation::file(circle[0], what)
        }));
    }
    found
}

/// Returns the imports of a circle, a line for each file.
fn describe(package: &str, circle: &[&str], imports: &Imports<'_>) -> String {
    let short = |path: &str| {
        path.strip_prefix(package)
            .unwrap_or(path)
            .trim_start_matches("/src/")
            .to_owned()
    };
    let mut text = format!("{} files import each other:", circle.len());
    for file in circle {
        let inside = imports
            .get(file)
            .into_iter()
            .flatten()
            .filter(|other| circle.contains(other));
        let imports: Vec<_> = inside.map(|other| short(other)).collect();
        text.push_str(&format!(
            "\n    {} imports {}",
            short(file),
            imports.join(", ")
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files
            .iter()
            .map(|(name, text)| (format!("crates/a/src/{name}.rs"), *text))
            .collect();
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (path.as_str(), *text))
            .collect();
        let project = Project::parse(Tree::new(&files)).unwrap();
        check(&project)
            .into_iter()
            .map(|violation| violation.what)
            .collect()
    }

    const ROOT: (&str, &str) = ("lib", "mod b; mod c; mod d; mod e; pub use b::B;");

    #[test]
    fn a_circle_of_four_files_is_found() {
        let files = |last| {
            [
                ROOT,
                ("b", "use crate::c::C; pub struct B(C);"),
                ("c", "use crate::d; pub struct C(d::D);"),
                (
                    "d/mod",
                    "pub struct D(super::e::E); #[cfg(test)] mod tests { use crate::b::B; }",
                ),
                ("e", last),
            ]
        };
        let found_here = found(&files("pub struct E(Box<crate::B>);"));
        assert_eq!(found_here.len(), 1);
        assert!(found_here[0].starts_with("4 files"), "{found_here:?}");
        assert!(
            !found_here[0].contains("lib.rs"),
            "a re-export is no import"
        );
        assert_eq!(
            found(&files("pub struct E(Box<crate::c::C>);")),
            [""; 0],
            "three are allowed"
        );
        assert_eq!(
            found(&files(
                "pub struct E; impl E { fn b(&self) { self.b.f() } }"
            )),
            [""; 0]
        );
    }
}
