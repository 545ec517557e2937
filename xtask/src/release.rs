//! `cargo xtask release --dry-run`: checks that a release can be made, and shows its steps. It changes
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::metadata::metadata;
use crate::process::{self, cargo, output};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Check the release and show its steps; a release itself is made by hand
    #[arg(long, required = true)]
    dry_run: bool,
}

/// A crate that is published.
#[derive(Debug, PartialEq, Eq)]
struct Package {
    version: String,
    /// The crates of the workspace that it needs, with the version that it asks for.
    needs: BTreeMap<String, String>,
}

/// Checks the release that the versions of the crates announce.
pub(crate) fn run(_: &Options) -> Result<(), String> {
    let packages = publishable_packages(&metadata()?);
    let changelog = process::root().join("CHANGELOG.md");
    let changelog = std::fs::read_to_string(&changelog)
        .map_err(|error| format!("{}: {error}", changelog.display()))?;
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        output(git.args(arguments).current_dir(process::root()))
    };
    let tags = git(&["tag", "--list"])?;
    let changed = git(&["status", "--porcelain"])?;

    let (version, mut faults) = check_versions(&packages);
    faults.extend(check_changelog(&changelog, &version));
    let tag = format!("v{version}");
    if tags.lines().any(|line| line == tag) {
        faults.push(format!(
            "the tag {tag} exists: raise the version in Cargo.toml"
        ));
    }
    if !changed.is_empty() {
        faults.push("there are changes without a commit: commit them".to_owned());
    }
    let order = match order(&packages) {
        Ok(order) => order,
        Err(circle) => {
            faults.push(circle);
            Vec::new()
        }
    };
    if !faults.is_empty() {
        return Err(format!(
            "{version} cannot be released:\n- {}",
            faults.join("\n- ")
        ));
    }
    process::run(&mut cargo([
        "publish",
        "--workspace",
        "--dry-run",
        "--quiet",
    ]))?;
    println!(
        "{version} can be released. The steps:\n\
         1. git tag --sign {tag} --message {tag}\n\
         2. cargo publish --workspace, which publishes {}\n\
         3. git push origin {tag}",
        order.join(", ")
    );
    Ok(())
}

/// Returns the crates that are published, by name.
fn publishable_packages(metadata: &Value) -> BTreeMap<String, Package> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages = list(&metadata["packages"]);
    // An empty list of registries is `publish = false`.
    let is_published = |package: &&Value| {
        package["publish"]
            .as_array()
            .is_none_or(|it| !it.is_empty())
    };
    let named = packages.iter().filter(is_published).map(|package| {
        // A dependency without a version is one of tests, by its path alone.
        let needs = list(&package["dependencies"]).into_iter();
        let needs = needs
            .filter(|needed| needed["path"].is_string() && needed["req"] != "*")
            .map(|needed| (text(&needed["name"]), text(&needed["req"])));
        let version = text(&package["version"]);
        let needs = needs.collect();
        (text(&package["name"]), Package { version, needs })
    });
    named.collect()
}

/// Returns the version of the release, and a fault for each crate with another one or that asks for
/// another one.
fn check_versions(packages: &BTreeMap<String, Package>) -> (String, Vec<String>) {
    let version = packages
        .get("turnbuckle")
        .map(|package| package.version.clone());
    let version = version.unwrap_or_default();
    let mut faults = Vec::new();
    for (name, package) in packages {
        if package.version != version {
            faults.push(format!(
                "{name} has the version {}, turnbuckle {version}",
                package.version
            ));
        }
        for (needed, asked) in &package.needs {
            if asked.trim_start_matches(['^', '=']) != version {
                faults.push(format!(
                    "{name} asks for {needed} {asked}: set it to {version} in Cargo.toml"
                ));
            }
        }
    }
    (version, faults)
}

/// Returns the faults of the changelog: it needs a section of the version with a date and with lines,
/// and nothing that is unreleased.
fn check_changelog(changelog: &str, version: &str) -> Vec<String> {
    let sections = changelog.split("\n## ").skip(1).map(|section| {
        let (title, body) = section.split_once('\n').unwrap_or((section, ""));
        (title.trim(), body.trim())
    });
    let sections: Vec<_> = sections.collect();
    let mut faults = Vec::new();
    let wanted = format!("{version} - ");
    match sections.iter().find(|(title, _)| title.starts_with(&wanted)) {
        None => faults.push(format!(
            "CHANGELOG.md has no section `## {version} - YYYY-MM-DD`: give the section `Unreleased` this title"
        )),
        Some((title, _)) if !is_date(&title[wanted.len()..]) => {
            faults.push(format!("CHANGELOG.md: the title `{title}` does not end in a date, YYYY-MM-DD"));
        }
        Some((_, "")) => faults.push(format!("CHANGELOG.md says nothing about {version}")),
        Some(_) => {}
    }
    if sections
        .iter()
        .any(|(title, body)| *title == "Unreleased" && !body.is_empty())
    {
        faults.push(format!(
            "CHANGELOG.md has lines below `Unreleased`: move them to {version}"
        ));
    }
    faults
}

/// Returns whether a text is written as a date, YYYY-MM-DD.
fn is_date(text: &str) -> bool {
    let digits =
        |part: &str, count| part.len() == count && part.bytes().all(|it| it.is_ascii_digit());
    let parts: Vec<_> = text.split('-').collect();
    matches!(parts[..], [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2))
}

/// Returns the crates in an order in which each stands behind those that it needs.
fn order(packages: &BTreeMap<String, Package>) -> Result<Vec<&str>, String> {
    let mut ordered: Vec<&str> = Vec::new();
    let mut left: BTreeSet<&str> = packages.keys().map(String::as_str).collect();
    while !left.is_empty() {
        let is_ready = |name: &&str| {
            packages[*name]
                .needs
                .keys()
                .all(|it| !left.contains(it.as_str()))
        };
        let Some(next) = left.iter().copied().find(is_ready) else {
            let circle: Vec<_> = left.into_iter().collect();
            return Err(format!(
                "these crates need each other: {}",
                circle.join(", ")
            ));
        };
        left.remove(next);
        ordered.push(next);
    }
    Ok(ordered)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package(name: &str, version: &str, needs: &[(&str, &str)]) -> Value {
        let needs = needs
            .iter()
            .map(|(name, version)| json!({"name": name, "req": version, "path": "/p"}));
        let needs: Vec<_> = needs
            .chain([json!({"name": "serde", "req": "^1"})])
            .collect();
        json!({"name": name, "version": version, "publish": null, "dependencies": needs})
    }

    fn packages(packages: &[Value]) -> BTreeMap<String, Package> {
        publishable_packages(&json!({"packages": packages}))
    }

    #[test]
    fn crates_are_published_after_those_that_they_need() {
        let mut private = package("xtask", "1.2.0", &[]);
        private["publish"] = json!([]);
        let all = packages(&[
            // A dependency of tests, by path alone, makes no order.
            package("a", "1.2.0", &[("turnbuckle", "^1.2.0"), ("c", "*")]),
            package("c", "1.2.0", &[("a", "^1.2.0")]),
            package("turnbuckle", "1.2.0", &[]),
            private,
        ]);
        assert_eq!(order(&all).unwrap(), ["turnbuckle", "a", "c"]);
        assert_eq!(check_versions(&all), ("1.2.0".to_owned(), vec![]));
        let circle = packages(&[
            package("a", "1.0.0", &[("b", "^1.0.0")]),
            package("b", "1.0.0", &[("a", "^1.0.0")]),
        ]);
        assert!(order(&circle).unwrap_err().contains("a, b"));
    }

    #[test]
    fn versions_that_differ_are_named() {
        let all = packages(&[
            package("a", "1.1.0", &[]),
            package("turnbuckle", "1.2.0", &[("a", "^1.1.0")]),
        ]);
        let (version, faults) = check_versions(&all);
        assert_eq!((&*version, faults.len()), ("1.2.0", 2), "{faults:?}");
        assert!(faults[0].contains("a has the version 1.1.0"), "{faults:?}");
        assert!(
            faults[1].contains("turnbuckle asks for a ^1.1.0"),
            "{faults:?}"
        );
    }

    #[test]
    fn the_changelog_needs_the_version_with_a_date_and_lines() {
        let check = |text: &str| check_changelog(text, "1.2.0");
        assert_eq!(
            check("# C\n\n## Unreleased\n\n## 1.2.0 - 2027-01-02\n\n- x\n"),
            [""; 0]
        );
        for (text, fault) in [
            (
                "# C\n\n## Unreleased\n\n- x\n",
                "no section `## 1.2.0 - YYYY-MM-DD`",
            ),
            ("# C\n\n## 1.2.0 - soon\n\n- x\n", "does not end in a date"),
            (
                "# C\n\n## 1.2.0 - 2027-01-02\n\n## 1.1.0 - 2026-01-02\n\n- x\n",
                "says nothing",
            ),
            (
                "# C\n\n## Unreleased\n\n- y\n\n## 1.2.0 - 2027-01-02\n\n- x\n",
                "lines below",
            ),
        ] {
            assert!(check(text).iter().any(|it| it.contains(fault)), "{text}");
        }
    }

    #[test]
    fn the_crates_of_this_workspace_have_one_version_and_an_order() {
        let all = publishable_packages(&metadata().unwrap());
        assert!(all.contains_key("turnbuckle-types") && !all.contains_key("xtask"));
        assert_eq!(check_versions(&all).1, [""; 0]);
        assert_eq!(order(&all).unwrap().len(), all.len());
    }
}
