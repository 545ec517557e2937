//! Completion in a shell, as its script calls the tool.

use crate::peers::legacy_server;
use crate::support::{HttpDemo, Run, Scratch, command};
use crate::terminal::TerminalSession;

/// Completes the last word in a directory whose `home` is that of the user.
pub(crate) fn complete(scratch: &Scratch, words: &[&str]) -> Vec<String> {
    let mut command = command(&[&["--", "turnbuckle"], words].concat());
    command
        .current_dir(scratch.path())
        .env("TURNBUCKLE_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_COMPLETE_SPACE", "true")
        .env("_CLAP_IFS", "\n");
    for name in ["HOME", "XDG_DATA_HOME", "LOCALAPPDATA"] {
        command.env(name, scratch.name("home"));
    }
    let is_option = words.last().is_some_and(|word| word.starts_with('-'));
    let run = Run::new(command.output().expect("the tool runs")).ends(0);
    assert_eq!(run.err, "", "{run:#?}");
    let words = run.out.lines().map(|word| word.trim().to_owned());
    // An option completes an empty word, too.
    let is_wanted = |word: &String| !word.is_empty() && (is_option || !word.starts_with('-'));
    words.filter(is_wanted).collect()
}

#[test]
fn what_a_server_offers_completes_a_word() {
    let scratch = Scratch::new();
    let demo = HttpDemo::start();
    let url = &*demo.url;
    for (words, expected) in [
        (&["call", url, "ech"][..], &["echo"][..]),
        (&["call", url, "echo", ""], &["message="]),
        (&["call", "-q", url, "slow_echo", "s"], &["seconds="]),
        (&["prompt", url, "test_simple"], &["test_simple_prompt"]),
        (
            &["prompt", url, "test_prompt_with_arguments", "arg"],
            &["arg1=", "arg2="],
        ),
        (&["read", url, "test://static-t"], &["test://static-text"]),
        (&["lis"], &["list", "listen"]),
        (&["info", "--prot"], &["--protocol-version"]),
        (&["call", url, "nosuch", "x"], &[]),
    ] {
        assert_eq!(complete(&scratch, words), expected, "{words:?}");
    }
}

#[test]
fn a_server_of_a_file_is_started_only_once_the_user_has_agreed() {
    let scratch = Scratch::new();
    let started = scratch.name("started");
    let script = legacy_server(&format!(
        r#"echo started >{started}
        list() {{ answer '{{"tools":[{{"name":"plain","inputSchema":{{"type":"object"}}}},{{"name":"x; rm -rf ~","inputSchema":{{"type":"object"}}}}]}}'; }}"#
    ));
    let config = serde_json::json!({"mcpServers": {
        "shelly": {"command": "sh", "args": [scratch.file("server.sh", &script)]},
        "other": {"command": "x"},
    }});
    let config = scratch.file(".mcp.json", &config.to_string());
    assert_eq!(complete(&scratch, &["call", "she"]), ["shelly"]);
    assert_eq!(complete(&scratch, &["shell", "oth"]), ["other"]);
    for words in [
        &["call", "shelly", ""][..],
        &["call", "-c", &config, "shelly", ""],
        &["call", "--yes", "shelly", ""],
    ] {
        assert!(complete(&scratch, words).is_empty(), "{words:?}");
    }
    assert!(!std::path::Path::new(&started).exists());
    let home = scratch.name("home");
    let env = ["HOME", "XDG_DATA_HOME", "LOCALAPPDATA"].map(|name| (name, &*home));
    let directory = scratch.path().to_str().expect("it is UTF-8");
    let mut at = TerminalSession::start_in(&["info", "shelly"], &env, directory);
    at.expect("Use it? [y/N]", "y\n");
    assert_eq!(at.end().1, Some(0));
    // A name that a shell would read otherwise is left out.
    assert_eq!(complete(&scratch, &["call", "shelly", ""]), ["plain"]);
}
