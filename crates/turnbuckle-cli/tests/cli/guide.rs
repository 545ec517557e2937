//! The pages of the guide about the command name every verb and option.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::run;

/// The pages of the guide about the command.
const PAGES: [&str; 10] = [
    "command.md",
    "command-look.md",
    "command-use.md",
    "command-login.md",
    "command-test.md",
    "check.md",
    "gateway.md",
    "inspect.md",
    "hosts.md",
    "example-servers.md",
];

/// Returns the texts of the pages.
fn pages() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/src");
    let read = |name| fs::read_to_string(folder.join(name)).expect("the page is there");
    PAGES.map(read).concat()
}

/// Returns the words of a text that are verbs or options.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
}

#[test]
fn every_verb_and_option_is_in_the_guide() {
    let pages = pages();
    let named: BTreeSet<&str> = words(&pages).collect();
    let mut missing = BTreeSet::new();
    let mut count = 0;
    let mut verbs = vec![String::new()];
    while let Some(verb) = verbs.pop() {
        let line: Vec<&str> = verb.split_whitespace().chain(["--help"]).collect();
        let help = run(&line).ends(0).out;
        let (_, commands) = help.split_once("Commands:\n").unwrap_or_default();
        // A list of verbs ends with an empty line; what goes on a line below a verb is indented more.
        let commands = commands.lines().take_while(|line| !line.is_empty());
        for line in commands.filter(|line| !line.starts_with("   ")) {
            let name = line.split_whitespace().next().unwrap_or_default();
            if name != "help" {
                if !named.contains(name) {
                    missing.insert(format!("{verb} {name}"));
                }
                verbs.push(format!("{verb} {name}"));
            }
        }
        let options = help
            .lines()
            .filter(|line| line.trim_start().starts_with('-'));
        for option in options.filter_map(|line| words(line).find(|word| word.starts_with("--"))) {
            count += 1;
            if !named.contains(option) && !["--help", "--version"].contains(&option) {
                missing.insert(format!("{verb} {option}"));
            }
        }
    }
    assert!(count > 100, "only {count} options were found");
    assert!(
        missing.is_empty(),
        "no page of {PAGES:?} names {missing:#?}"
    );
}
