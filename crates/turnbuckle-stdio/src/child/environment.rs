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
    #[test]
    fn a_command_tells_the_whole_environment_of_its_program() {
        // Cargo sets it for tests.
        let name = OsStr::new("CARGO_MANIFEST_DIR");
        let command = super::super::Command::new("x")
            .env("KEY", "k")
            .env("PATH", "/here");
        let environment = command.environment();
        assert_eq!(environment.get(OsStr::new("KEY")), Some(&"k".into()));
        assert_eq!(environment.get(OsStr::new("PATH")), Some(&"/here".into()));
        assert!(!environment.contains_key(name));
        assert!(command.inherit_env(true).environment().contains_key(name));
    }
}
