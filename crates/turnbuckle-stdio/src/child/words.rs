//! A command in words: its line, and why it could not be run.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use super::Command;

/// Characters of one argument, and of a line, that are shown.
const LONGEST_WORD: usize = 80;
const LONGEST_LINE: usize = 240;

/// Parts of the names of options whose values are nobody's business.
const SECRET: &[&str] = &[
    "auth",
    "bearer",
    "credential",
    "header",
    "key",
    "passw",
    "secret",
    "token",
];

/// The command line, shortened, without control characters, credentials in URLs, and what the name
/// of an option or a variable says is a secret.
pub(super) fn line(program: &OsStr, args: &[OsString]) -> String {
    let mut line = shown(&program.to_string_lossy());
    let mut hides_next = false;
    for arg in args {
        let arg = arg.to_string_lossy();
        let hidden = std::mem::take(&mut hides_next) && !arg.starts_with('-');
        let word = match secret_name(&arg) {
            _ if hidden => "…".into(),
            Some(name) => format!("{}=…", shown(&without_credentials(name))),
            None => {
                hides_next = arg.starts_with('-') && !arg.contains('=') && is_secret(&arg);
                shown(&without_credentials(&arg))
            }
        };
        if line.chars().count() + word.chars().count() >= LONGEST_LINE {
            line.push_str(" …");
            break;
        }
        line.push(' ');
        line.push_str(&word);
    }
    line
}

/// What stands before the first `=` that a secret follows. There can be several: an option may set
/// a variable.
fn secret_name(word: &str) -> Option<&str> {
    word.match_indices('=')
        .map(|(at, _)| &word[..at])
        .find(|name| is_secret(name))
}

/// A word whose URLs do not say who is to be let in.
fn without_credentials(word: &str) -> String {
    let mut parts = word.split("://");
    let mut safe = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let authority = part.split(['/', '?', '#', '\\']).next();
        let host = authority.and_then(|authority| authority.rsplit_once('@'));
        safe.push_str("://");
        match host {
            Some((credentials, _)) => {
                safe.push('…');
                safe.push_str(part.get(credentials.len()..).unwrap_or_default());
            }
            None => safe.push_str(part),
        }
    }
    safe
}

fn is_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    name == "-H" || SECRET.iter().any(|part| lower.contains(part))
}

/// A word as one would type it, roughly.
fn shown(word: &str) -> String {
    let mut short: String = word
        .chars()
        .take(LONGEST_WORD)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if word.chars().nth(LONGEST_WORD).is_some() {
        short.push('…');
    }
    if short.is_empty() || short.contains(char::is_whitespace) {
        short = format!("\"{short}\"");
    }
    short
}

/// Why a command could not be run, and what can be done about it.
pub(super) fn unreachable(command: &Command, error: &io::Error) -> String {
    let program = shown(&command.program.to_string_lossy());
    if let Some(directory) = command.current_dir.as_deref().filter(|path| !path.is_dir()) {
        let directory = directory.display();
        return format!("cannot run {program}: there is no directory {directory} to run it in");
    }
    let is_path = Path::new(&command.program).components().count() > 1;
    let advice: Cow<'_, str> = match error.kind() {
        io::ErrorKind::NotFound if !is_path => {
            "there is no such program in PATH; install it, or give its full path".into()
        }
        io::ErrorKind::NotFound if Path::new(&command.program).exists() => {
            "the file is there, but what its first line names as interpreter is not".into()
        }
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::PermissionDenied => {
            "it may not be executed; check that it is a program and its permissions".into()
        }
        _ => error.to_string().into(),
    };
    format!("cannot run {program}: {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> String {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        line(&words[0], &words[1..])
    }

    #[test]
    fn a_line_reads_as_it_was_typed() {
        assert_eq!(
            of(&["npx", "-y", "server", "a b", ""]),
            "npx -y server \"a b\" \"\""
        );
        assert_eq!(of(&["a\u{1b}[31m"]), "a\u{fffd}[31m");
    }

    #[test]
    fn secrets_are_left_out() {
        assert_eq!(of(&["s", "--api-key=abc", "x"]), "s --api-key=… x");
        assert_eq!(of(&["s", "--token", "abc", "x"]), "s --token … x");
        assert_eq!(of(&["s", "--token", "--abc"]), "s --token --abc");
        assert_eq!(of(&["s", "-H", "Cookie: abc"]), "s -H …");
        assert_eq!(
            of(&["env", "GITHUB_TOKEN=abc", "s"]),
            "env GITHUB_TOKEN=… s"
        );
        assert_eq!(
            of(&["docker", "run", "--env=GITHUB_TOKEN=abc", "img"]),
            "docker run --env=GITHUB_TOKEN=… img"
        );
        assert_eq!(of(&["s", "--token=abc=="]), "s --token=…");
        assert_eq!(
            of(&["s", "https://h/?a=b&token=abc"]),
            "s https://h/?a=b&token=…"
        );
        assert_eq!(of(&["s", "--a=b", "c"]), "s --a=b c");
    }

    #[test]
    fn credentials_in_urls_are_left_out() {
        for (word, expected) in [
            ("postgresql://user:pw@host/db", "postgresql://…@host/db"),
            (
                "--db=postgresql://pw@host:1/",
                "--db=postgresql://…@host:1/",
            ),
            ("a://p@w@h,b://pw@h", "a://…@h,b://…@h"),
            ("https://host/@scope?a@b", "https://host/@scope?a@b"),
            ("git@host:a/b", "git@host:a/b"),
            ("://", "://"),
        ] {
            assert_eq!(of(&["s", word]), format!("s {expected}"));
        }
    }

    #[test]
    fn long_lines_are_cut() {
        let long = "x".repeat(1000);
        assert!(of(&[&long]).chars().count() <= LONGEST_WORD + 1);
        let many = vec!["word"; 1000];
        let line = of(&many);
        assert!(
            line.ends_with(" …") && line.chars().count() < LONGEST_LINE + 3,
            "{line}"
        );
    }
}
