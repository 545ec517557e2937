//! `cargo xtask tidy`: rules about the source that the compiler does not check.
//!
//! A rule has a name, a reason that its error shows, and a function from the project's files to
//! the violations. The tests of each rule show it firing.

mod counted;
mod cycles;
mod dependencies;
mod extractors;
mod files;
mod floors;
mod homes;
mod literals;
mod log_fields;
mod map;
mod pages;
mod rule;
mod security;
mod settings;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::mutants;
use crate::process;
pub(crate) use rule::Project;
use rule::{Rule, Violation};

use crate::source::{package_of, parse_all};
use crate::tree::Tree;

const MUTATIONS: Rule = Rule {
    name: "mutations",
    reason: "a mutation changes a text of the source, and names a test and a requirement that \
             exist and name each other: bring tests/mutations.toml up to date",
    check: |project| {
        let broken = mutants::broken(project).into_iter();
        broken
            .map(|what| Violation::file(mutants::LIST, what))
            .collect()
    },
};

const RULES: &[Rule] = &[
    literals::DATES,
    literals::METHODS,
    literals::HEADERS,
    literals::PURITY,
    homes::RULE,
    log_fields::RULE,
    extractors::RULE,
    dependencies::OURS,
    dependencies::THIRD_PARTY,
    files::SIZE,
    files::PLACES,
    files::LINTS,
    files::GLOBS,
    files::HIDDEN,
    files::TOP,
    cycles::RULE,
    floors::RULE,
    floors::CIRCLES,
    map::RULE,
    pages::LINKS,
    pages::ERRORS,
    pages::CODE,
    security::RULE,
    MUTATIONS,
    words::FIRST_WORDS,
    words::VERBS,
    words::NAMES,
    words::ALIASES,
    words::REPETITIONS,
    settings::RULE,
    counted::RULE,
];

/// The part of the result that is shown.
#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// Count the violations of each rule by package, and fail for none
    #[arg(long)]
    count: bool,
    /// List the violations of the rules whose names begin so
    #[arg(long, value_name = "RULE")]
    list: Vec<String>,
    /// Only look at files whose paths begin so
    #[arg(long, value_name = "PATH", default_value = "")]
    under: String,
    /// Look at another checkout of the project
    #[arg(long)]
    root: Option<PathBuf>,
}

/// Checks every rule; an error lists every violation.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let root = options.root.clone().unwrap_or_else(process::root);
    let tree = Tree::read(&root)?;
    let (sources, unparsed) = parse_all(&tree);
    let project = Project::new(tree, sources);
    let found = RULES.iter().map(|rule| {
        let mut found = (rule.check)(&project);
        found.retain(|violation| violation.path.starts_with(&options.under));
        (rule, found)
    });
    let found: Vec<_> = found.collect();
    if options.count {
        print!("{}", counts(&found));
        println!("{}", unparsed.join("\n"));
        return Ok(());
    }
    let listed = |rule: &Rule| {
        options
            .list
            .iter()
            .any(|start| rule.name.starts_with(start))
    };
    let mut report = report(&found, |rule| options.list.is_empty() || listed(rule));
    report.push_str(&unparsed.join("\n"));
    if report.is_empty() {
        println!("{} rules hold", RULES.len());
        return Ok(());
    }
    Err(report)
}

/// Returns the violations of the chosen rules as text, each rule's below its reason.
fn report(found: &[(&Rule, Vec<Violation>)], is_shown: impl Fn(&Rule) -> bool) -> String {
    let mut report = String::new();
    let broken = found
        .iter()
        .filter(|(rule, violations)| !violations.is_empty() && is_shown(rule));
    for (rule, violations) in broken {
        report.push_str(&format!("\n{}: {}\n", rule.name, rule.reason));
        for violation in violations {
            report.push_str(&format!("  {violation}\n"));
        }
    }
    report
}

/// Returns a table of how often each rule is broken in each package.
fn counts(found: &[(&Rule, Vec<Violation>)]) -> String {
    let broken: Vec<_> = found
        .iter()
        .filter(|(_, violations)| !violations.is_empty())
        .collect();
    let mut packages: BTreeSet<&str> = BTreeSet::new();
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (rule, violations) in &broken {
        for violation in violations {
            let package = package_of(&violation.path);
            packages.insert(package);
            *counts.entry((package, rule.name)).or_default() += 1;
        }
    }
    let mut table = format!("{:<28}", "");
    for (rule, _) in &broken {
        table.push_str(&format!(" {:>12}", rule.name));
    }
    for package in packages {
        table.push_str(&format!("\n{package:<28}"));
        for (rule, _) in &broken {
            let count = counts.get(&(package, rule.name)).map(usize::to_string);
            table.push_str(&format!(" {:>12}", count.unwrap_or_default()));
        }
    }
    table.push_str(&format!("\n{:<28}", "together"));
    for (_, violations) in &broken {
        table.push_str(&format!(" {:>12}", violations.len()));
    }
    table + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_the_rule_the_reason_and_the_place() {
        let violation = Violation::new("crates/turnbuckle-http/src/a.rs", 2, "it is not so");
        let report = report(&[(&literals::DATES, vec![violation])], |_| true);
        for part in [
            literals::DATES.name,
            literals::DATES.reason,
            "crates/turnbuckle-http/src/a.rs:2: it is not so",
        ] {
            assert!(report.contains(part), "{report}");
        }
    }
}
