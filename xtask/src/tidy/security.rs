//! The rule that SECURITY.md and docs/security-tests.md are true: their tests, settings and the errors
//! that they quote exist, and the tables are those of the sources.

use std::collections::BTreeSet;

use super::pages::{code_spans, is_printed, printed_texts};
use super::rule::{Project, Rule, Violation};
use crate::settings::{PAGE, Table, tables, write_page};
use crate::source::Token;

pub(super) const RULE: Rule = Rule {
    name: "security",
    reason: "each limit has its error and its tests in comments of its row, docs/security-tests.md has the \
             rows that `cargo xtask settings` writes, and all that the page names exists",
    check,
};

/// Types of settings that limit something.
const LIMITING: &[&str] = &["usize", "u8", "u16", "u32", "u64", "Duration", "Rate"];

fn check(project: &Project) -> Vec<Violation> {
    let tables = tables(&project.tree, &project.sources);
    let page = project.tree.text(PAGE).unwrap_or_default();
    let mut found: Vec<_> = tables.iter().flat_map(find_untested).collect();
    found.extend(match write_page(page, &tables) {
        Ok(fresh) if fresh == page => None,
        Ok(_) => Some(Violation::file(
            PAGE,
            "it is stale: run `cargo xtask settings`",
        )),
        Err(error) => Some(Violation::file(PAGE, error)),
    });
    found.extend(unknown_names(project, &tables));
    found
}

/// Returns the limits of a table that name no test.
fn find_untested(table: &Table) -> Vec<Violation> {
    let limits = table.rows.iter().filter(|row| {
        let mut names = row.field.iter().filter_map(Token::ident);
        row.tests.is_empty() && names.any(|name| LIMITING.contains(&name))
    });
    limits
        .map(|row| {
            let what = format!("{}::{} has no `// Tests:`", table.name, row.name);
            Violation::new(&table.path, row.line, what)
        })
        .collect()
}

/// Returns the tests, settings and errors on the pages that do not exist.
fn unknown_names(project: &Project, tables: &[Table]) -> Vec<Violation> {
    let (tests, printed) = (project.test_paths(), printed_texts(project));
    let settings: BTreeSet<String> = tables
        .iter()
        .flat_map(|table| {
            let row = |row: &crate::settings::Row| format!("{}::{}", table.name, row.name);
            table.rows.iter().map(row)
        })
        .collect();
    let mut found = Vec::new();
    for path in ["SECURITY.md", PAGE] {
        let page = project.tree.text(path).unwrap_or_default();
        for (line, code) in code_spans(page) {
            let what = match code.rsplit_once("::") {
                _ if code.contains(' ') => {
                    (!is_printed(&code, &printed)).then(|| format!("nothing prints {code:?}"))
                }
                Some((first, _)) if first.chars().all(|c| !c.is_uppercase()) => {
                    (!tests.contains(&code)).then(|| format!("there is no test {code}"))
                }
                Some((first, _)) => {
                    let is_table = tables.iter().any(|table| table.name == first);
                    (is_table && !settings.contains(&code))
                        .then(|| format!("there is no setting {code}"))
                }
                None => None,
            };
            found.extend(what.map(|what| Violation::new(path, line, what)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;
    use crate::tree::Tree;

    const CODE: &str = "settings! {\n    pub struct Limits {\n        /// Calls.\n        \
                        // Beyond: `at most … calls (Limits::max_calls)`\n        \
                        // Tests: bounds::the_bound_holds\n        \
                        max_calls: usize = 5,\n    }\n}\n\
                        fn f() { fail(\"at most {n} calls (Limits::max_calls)\"); }\n";
    const TESTS: &str = "#[test]\nfn the_bound_holds() {}\n";

    fn found(code: &str, page: &str) -> Vec<String> {
        let files = [
            (PAGE, page),
            ("crates/turnbuckle-session/src/limits.rs", code),
            ("tests/it/tests/it/bounds.rs", TESTS),
        ];
        let project = Project::parse(Tree::new(&files)).unwrap();
        let found = check(&project).into_iter();
        found.map(|violation| violation.what).collect()
    }

    fn page() -> String {
        let empty = "<!-- settings: Limits -->\n<!-- end -->\n";
        write_page(empty, &crate::settings::tests::read(CODE)).unwrap()
    }

    #[test]
    fn a_page_of_fresh_rows_and_existing_names_is_well() {
        assert_eq!(found(CODE, &page()), [""; 0]);
    }

    #[test]
    fn a_name_that_does_not_exist_is_found() {
        for (code, what) in [
            (
                "`bounds::it_does_not`",
                "there is no test bounds::it_does_not",
            ),
            ("`Limits::out`", "there is no setting Limits::out"),
            ("`at least … times`", "nothing prints \"at least … times\""),
        ] {
            assert_eq!(found(CODE, &format!("{}{code}", page())), [what]);
        }
    }

    #[test]
    fn a_stale_row_and_a_limit_without_a_test_are_found() {
        let stale = page().replace("| 5 |", "| 6 |");
        assert_eq!(
            found(CODE, &stale),
            ["it is stale: run `cargo xtask settings`"]
        );
        let code = CODE.replace("// Tests: bounds::the_bound_holds", "");
        let found = found(&code, "");
        assert_eq!(found, ["Limits::max_calls has no `// Tests:`"]);
    }

    #[test]
    fn the_tables_of_the_crates_are_found() {
        let tree = Tree::read(&process::root()).unwrap();
        let has_table = |(path, text): &(&str, &str)| {
            path.starts_with("crates/") && text.contains("\nsettings! {")
        };
        let files: Vec<_> = tree.texts(".rs").filter(has_table).collect();
        let project = Project::parse(Tree::new(&files)).unwrap();
        let tables = tables(&project.tree, &project.sources);
        let names: Vec<_> = tables.iter().map(|table| table.name.as_str()).collect();
        assert!(names.len() >= files.len().max(8), "{names:?}");
        assert!(tables.iter().all(|table| table.rows.len() > 1));
    }
}
