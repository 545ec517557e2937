//! The rules about which crate may depend on which: `dependencies.toml` beside this file.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::rule::{Project, Rule, Violation};

pub(super) const OURS: Rule = Rule {
    name: "crates",
    reason: "messages flow through the crates in one direction: change the design and \
             xtask/src/tidy/dependencies.toml before a crate depends on another of ours",
    check: |project| compare(project, "our crate", |row| &row.ours, is_ours),
};

pub(super) const THIRD_PARTY: Rule = Rule {
    name: "third-party",
    reason: "a dependency is a decision (well kept, small, licensed alike): enter it in \
             xtask/src/tidy/dependencies.toml",
    check: |project| {
        compare(
            project,
            "the crate",
            |row| &row.third_party,
            |name| !is_ours(name),
        )
    },
};

/// The dependencies of one crate.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    ours: BTreeSet<String>,
    third_party: BTreeSet<String>,
}

const TABLE: &str = include_str!("dependencies.toml");

/// The folders of the packages that the table has.
const FOLDERS: &[&str] = &["crates/", "tests/interop/"];

fn is_ours(name: &str) -> bool {
    name.starts_with("turnbuckle")
}

fn compare(
    project: &Project,
    kind: &str,
    column: fn(&Row) -> &BTreeSet<String>,
    is_in_column: fn(&str) -> bool,
) -> Vec<Violation> {
    let table: BTreeMap<String, Row> = match toml::from_str(TABLE) {
        Ok(table) => table,
        Err(error) => {
            return vec![Violation::file(
                "xtask/src/tidy/dependencies.toml",
                error.to_string(),
            )];
        }
    };
    let mut found = Vec::new();
    let manifests = project.tree.texts("/Cargo.toml");
    for (path, text) in
        manifests.filter(|(path, _)| FOLDERS.iter().any(|folder| path.starts_with(folder)))
    {
        let (name, mut used) = match dependencies(text) {
            Ok(read) => read,
            Err(error) => {
                found.push(Violation::file(path, error));
                continue;
            }
        };
        let Some(row) = table.get(&name) else {
            found.push(Violation::file(path, format!("{name} is not in the table")));
            continue;
        };
        used.retain(|name| is_in_column(name));
        let extra = used.difference(column(row)).map(|other| {
            format!("{name} depends on {kind} {other}, which the table does not list")
        });
        let unused = column(row).difference(&used).map(|other| {
            format!("{name} does not depend on {kind} {other}: strike it from the table")
        });
        found.extend(extra.chain(unused).map(|what| Violation::file(path, what)));
    }
    found
}

/// Returns a package's name and its dependencies, those for single targets included.
fn dependencies(text: &str) -> Result<(String, BTreeSet<String>), String> {
    let manifest: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| error.to_string())?;
    let name = manifest
        .get("package")
        .and_then(|package| package.get("name")?.as_str());
    let name = name.ok_or("no package name")?.to_owned();
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(toml::Table::values);
    let sections = manifest
        .get("dependencies")
        .into_iter()
        .chain(targets.filter_map(|target| target.get("dependencies")));
    let used = sections
        .filter_map(toml::Value::as_table)
        .flat_map(toml::Table::iter);
    let used = used.map(|(key, value)| {
        let renamed = value.get("package").and_then(toml::Value::as_str);
        renamed.unwrap_or(key).to_owned()
    });
    Ok((name, used.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn found(rule: &Rule, name: &str, dependencies: &str) -> Vec<String> {
        let path = format!("crates/{name}/Cargo.toml");
        let text = format!("[package]\nname = \"{name}\"\n[dependencies]\n{dependencies}");
        let project = Project::parse(Tree::new(&[(&path, &text)])).unwrap();
        (rule.check)(&project)
            .into_iter()
            .map(|violation| violation.what)
            .collect()
    }

    #[test]
    fn a_dependency_against_the_direction_is_found() {
        let one = found(
            &OURS,
            "turnbuckle-types",
            "turnbuckle-wire.workspace = true",
        );
        assert!(
            one.len() == 1 && one[0].contains("turnbuckle-wire"),
            "{one:?}"
        );
        let target = "turnbuckle-session = \"1\"\nturnbuckle-types = \"1\"\n\
                      [target.'cfg(unix)'.dependencies]\nx = { package = \"turnbuckle-http\", version = \"1\" }";
        assert_eq!(found(&OURS, "turnbuckle-stdio", target).len(), 1);
    }

    #[test]
    fn a_dependency_that_is_gone_and_a_crate_that_is_new_are_found() {
        let gone = found(&OURS, "turnbuckle-wire", "");
        assert!(gone[0].contains("strike it"), "{gone:?}");
        assert_eq!(
            found(&OURS, "turnbuckle-extra", ""),
            ["turnbuckle-extra is not in the table"]
        );
    }

    #[test]
    fn a_third_party_crate_is_in_the_table_unless_tests_alone_need_it() {
        let agreed = "base64 = \"0.22\"\nchacha20poly1305 = \"0.10\"\nfoldhash = \"0.2\"\n\
                      getrandom = \"0.3\"\nserde = \"1\"\nserde_json = \"1\"\nstrsim = \"0.11\"\nthiserror = \"2\"\n\
                      zeroize = \"1\"\n";
        let found = |dependencies: &str| found(&THIRD_PARTY, "turnbuckle-types", dependencies);
        assert_eq!(found(agreed), [""; 0]);
        assert_eq!(
            found(&format!("{agreed}[dev-dependencies]\nproptest = \"1\"")),
            [""; 0]
        );
        assert_eq!(found(&format!("{agreed}regex = \"1\"")).len(), 1);
        assert_eq!(found("serde = \"1\"").len(), 8);
    }
}
