//! Which variables a server sees without being given them.

use std::ffi::{OsStr, OsString};

#[cfg(not(windows))]
const PASSED: &[&str] = &[
    "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "USER",
];

#[cfg(windows)]
const PASSED: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOME",
    "HOMEDRIVE",
    "HOMEPATH",
    "LANG",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TERM",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// Whether a variable is passed on: a known name, and not a function that a shell exported.
pub(super) fn is_harmless((name, value): &(OsString, OsString)) -> bool {
    is_passed(name) && !value.as_encoded_bytes().starts_with(b"()")
}

fn is_passed(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let is_name = |passed: &&str| match cfg!(windows) {
        true => passed.eq_ignore_ascii_case(name),
        false => *passed == name,
    };
    name.starts_with("LC_") || PASSED.iter().any(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(name: &str, value: &str) -> bool {
        is_harmless(&(name.into(), value.into()))
    }

    #[test]
    fn what_a_program_needs_is_passed_and_nothing_else() {
        assert!(passes("PATH", "/bin"));
        assert!(passes("LC_ALL", "C"));
        assert!(!passes("AWS_SECRET_ACCESS_KEY", "x"));
        assert!(!passes("PATHS", "x"));
        assert!(!passes("TERM", "() { :; }"));
        assert_eq!(passes("Path", "x"), cfg!(windows));
    }
}
