//! The text of a command: its command line, and the error if it cannot be run.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use turnbuckle_types::base::quote;

use super::command::Command;

/// The largest number of characters of one argument, and of a command line, that are shown.
const MAX_WORD_CHARS: usize = 80;
const MAX_LINE_CHARS: usize = 240;

/// The parts of names of options and variables whose values are secrets.
const SECRET_NAME_PARTS: &[&str] = &[
    "auth",
    "bearer",
    "credential",
    "header",
    "key",
    "passw",
    "secret",
    "token",
];

/// Returns the command line as it may be shown: shortened, without control characters, credentials in
/// URLs and the values of options and variables that are named like secrets.
pub(super) fn display(program: &OsStr, args: &[OsString]) -> String {
    let mut line = quote(&program.to_string_lossy());
    let mut hides_next = false;
    for arg in args {
        let arg = arg.to_string_lossy();
        let hidden = std::mem::take(&mut hides_next) && !arg.starts_with('-');
        let word = match secret_name(&arg) {
            _ if hidden => "…".into(),
            Some(name) => format!("{}=…", quote(&without_credentials(name))),
            None => {
                hides_next = arg.starts_with('-') && !arg.contains('=') && is_secret(&arg);
                quote(&without_credentials(&arg))
            }
        };
        if line.chars().count() + word.chars().count() >= MAX_LINE_CHARS {
            line.push_str(" …");
            break;
        }
        line.push(' ');
        line.push_str(&word);
    }
    line
}

/// Returns the text before the first `=` that is followed by a secret. There can be several `=`: an
/// option may set a variable.
fn secret_name(word: &str) -> Option<&str> {
    word.match_indices('=')
        .map(|(at, _)| &word[..at])
        .find(|name| is_secret(name))
}

/// Returns a word with the credentials in its URLs replaced.
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
    name == "-H" || SECRET_NAME_PARTS.iter().any(|part| lower.contains(part))
}

/// Returns a word as a shell reads it, shortened.
fn quote(word: &str) -> String {
    match word.char_indices().nth(MAX_WORD_CHARS) {
        Some((end, _)) => quote::quote(&word[..end]) + "…",
        None => quote::quote(word),
    }
}

/// Returns the error text of a command that cannot be run, with what to do about it.
pub(super) fn spawn_error(command: &Command, error: &io::Error) -> String {
    let program = quote(&command.program.to_string_lossy());
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

    fn display_words(words: &[&str]) -> String {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        display(&words[0], &words[1..])
    }

    #[test]
    fn a_line_reads_as_it_was_typed() {
        assert_eq!(
            display_words(&["npx", "-y", "server", "a b", ""]),
            "npx -y server 'a b' ''"
        );
        assert_eq!(display_words(&["a\u{1b}[31m"]), "'a\\u{1b}[31m'");
    }

    #[test]
    fn secrets_are_left_out() {
        assert_eq!(
            display_words(&["s", "--api-key=abc", "x"]),
            "s --api-key=… x"
        );
        assert_eq!(
            display_words(&["s", "--token", "abc", "x"]),
            "s --token … x"
        );
        assert_eq!(display_words(&["s", "--token", "--abc"]), "s --token --abc");
        assert_eq!(display_words(&["s", "-H", "Cookie: abc"]), "s -H …");
        assert_eq!(
            display_words(&["env", "GITHUB_TOKEN=abc", "s"]),
            "env GITHUB_TOKEN=… s"
        );
        assert_eq!(
            display_words(&["docker", "run", "--env=GITHUB_TOKEN=abc", "img"]),
            "docker run --env=GITHUB_TOKEN=… img"
        );
        assert_eq!(display_words(&["s", "--token=abc=="]), "s --token=…");
        assert_eq!(
            display_words(&["s", "https://h/?a=b&token=abc"]),
            "s 'https://h/?a=b&token'=…"
        );
        assert_eq!(display_words(&["s", "--a=b", "c"]), "s --a=b c");
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
            ("https://host/@scope?a@b", "'https://host/@scope?a@b'"),
            ("git@host:a/b", "git@host:a/b"),
            ("://", "://"),
        ] {
            assert_eq!(display_words(&["s", word]), format!("s {expected}"));
        }
    }

    #[test]
    fn long_lines_are_cut() {
        let long = "x".repeat(1000);
        assert!(display_words(&[&long]).chars().count() <= MAX_WORD_CHARS + 1);
        let many = vec!["word"; 1000];
        let line = display_words(&many);
        assert!(
            line.ends_with(" …") && line.chars().count() < MAX_LINE_CHARS + 3,
            "{line}"
        );
    }
}
