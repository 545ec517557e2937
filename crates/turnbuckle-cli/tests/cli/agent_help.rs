//! The skill that `agent-help` prints.

use crate::support::run;

#[test]
fn agent_help_prints_a_skill_whose_commands_all_parse() {
    let skill = run(&["agent-help"]).ends(0).out;
    let commands: Vec<&str> = skill
        .lines()
        .filter(|line| line.starts_with("turnbuckle "))
        .collect();
    assert!(commands.len() > 30, "{commands:#?}");
    for line in commands {
        let mut words = shlex::split(line).expect("it is a line of a shell");
        let redirection = words
            .iter()
            .position(|word| ["|", "<", ">"].contains(&&**word));
        words.truncate(redirection.unwrap_or(words.len()));
        // Behind all other options: those are parsed before the help is printed.
        let end = words.iter().position(|word| word == "--");
        words.insert(end.unwrap_or(words.len()), "--help".to_owned());
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        let help = run(&words).ends(0).out;
        assert!(help.contains("Usage: turnbuckle"), "{line}");
    }
}

#[test]
fn the_folder_of_the_skill_is_one_that_clients_verify() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/skills");
    let program = env!("CARGO_BIN_EXE_turnbuckle");
    let words = [
        "skill", "verify", "--", program, "serve", "skills", folder, "--stdio",
    ];
    let verified = run(&words).ends(0);
    assert!(verified.out.contains("turnbuckle"), "{verified:#?}");
}
