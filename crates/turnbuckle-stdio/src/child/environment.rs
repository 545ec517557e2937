//! The environment variables that a server inherits from its client.

use std::ffi::{OsStr, OsString};

#[cfg(not(windows))]
const INHERITED_NAMES: &[&str] = &[
    "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "USER",
];

#[cfg(windows)]
const INHERITED_NAMES: &[&str] = &[
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

/// Returns whether a variable is inherited: its name is in the list, and its value is not a function
/// that a shell exported.
pub(super) fn is_inherited((name, value): &(OsString, OsString)) -> bool {
    is_inherited_name(name) && !value.as_encoded_bytes().starts_with(b"()")
}

fn is_inherited_name(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let is_name = |inherited: &&str| {
        *inherited == name || (cfg!(windows) && inherited.eq_ignore_ascii_case(name))
    };
    name.starts_with("LC_") || INHERITED_NAMES.iter().any(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(name: &str, value: &str) -> bool {
        is_inherited(&(name.into(), value.into()))
    }

    #[test]
    fn only_variables_in_the_list_are_inherited() {
        assert!(passes("PATH", "/bin"));
        assert!(passes("LC_ALL", "C"));
        assert!(!passes("AWS_SECRET_ACCESS_KEY", "x"));
        assert!(!passes("PATHS", "x"));
        assert!(!passes("TERM", "() { :; }"));
        assert_eq!(passes("Path", "x"), cfg!(windows));
    }
}
