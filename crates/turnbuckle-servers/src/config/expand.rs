//! Expansion of variables such as `${VAR}` in configuration files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{ConfigError, MAX_FILE_BYTES};
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::base::text::shorten;

/// Returns the value of an environment variable, if it is set.
type Environment<'a> = Box<dyn Fn(&str) -> Option<String> + 'a>;

/// The sources of variable values: an environment, and the project directory of the configuration
/// file.
pub struct Variables<'a> {
    env: Environment<'a>,
    workspace: PathBuf,
}

impl<'a> Variables<'a> {
    /// Creates variables with the values that `env` returns. `workspace` is the project directory.
    pub fn new(workspace: impl Into<PathBuf>, env: impl Fn(&str) -> Option<String> + 'a) -> Self {
        Self {
            env: Box::new(env),
            workspace: workspace.into(),
        }
    }

    /// Creates variables with the environment of this process.
    #[must_use]
    pub fn from_env(workspace: impl Into<PathBuf>) -> Self {
        Self::new(workspace, |name| std::env::var(name).ok())
    }

    /// Replaces every `${…}`: `${VAR}`, `${env:VAR}`, `${VAR:-default}`, `${workspaceFolder}` and
    /// `${userHome}`.
    ///
    /// # Errors
    /// Returns an error that names a variable that is unknown, or that is not set and has no
    /// default, or if the text grows beyond [`MAX_FILE_BYTES`].
    pub fn expand(&self, text: &str) -> Result<String, ConfigError> {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            expanded.push_str(&rest[..start]);
            let after = &rest[start + 2..];
            let Some(end) = after.find('}') else {
                return Err(ConfigError::new(format!(
                    "\"${{\" without \"}}\" in {:?}",
                    shorten(text)
                )));
            };
            expanded.push_str(&self.resolve(&after[..end])?);
            if expanded.len() as u64 > MAX_FILE_BYTES {
                return Err(ConfigError::new(format!(
                    "with its variables, {:?} is larger than {MAX_FILE_BYTES} bytes \
                     (config::MAX_FILE_BYTES)",
                    shorten(text)
                )));
            }
            rest = &after[end + 1..];
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    /// Returns the value of one reference, such as `env:VAR`.
    fn resolve(&self, reference: &str) -> Result<String, ConfigError> {
        if let Some(id) = reference.strip_prefix("input:") {
            return Err(ConfigError::new(format!(
                "${{input:{id}}} is not supported: set an environment variable and write ${{env:NAME}}"
            )));
        }
        match reference {
            "workspaceFolder" | "workspaceRoot" => {
                return Ok(self.workspace.to_string_lossy().into_owned());
            }
            "workspaceFolderBasename" => {
                let name = self.workspace.file_name().unwrap_or_default();
                return Ok(name.to_string_lossy().into_owned());
            }
            "userHome" => {
                let home = (self.env)("HOME").or_else(|| (self.env)("USERPROFILE"));
                return home.ok_or_else(|| ConfigError::new("neither HOME nor USERPROFILE is set"));
            }
            "pathSeparator" | "/" => return Ok(std::path::MAIN_SEPARATOR_STR.to_owned()),
            _ => {}
        }
        let name = reference.strip_prefix("env:").unwrap_or(reference);
        let (name, default) = match name.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (name, None),
        };
        let valid = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !valid {
            return Err(ConfigError::new(format!(
                "the variable ${{{reference}}} is not supported"
            )));
        }
        // As in a shell, the default also stands for an empty value.
        let value = (self.env)(name).filter(|value| default.is_none() || !value.is_empty());
        value
            .or_else(|| default.map(ToOwned::to_owned))
            .ok_or_else(|| ConfigError::new(format!("the environment variable {name} is not set")))
    }
}

debug_fields!(Variables<'a> { workspace });

/// Parses a file with one `NAME=VALUE` per line. Blank lines and lines that begin with `#` are
/// skipped.
///
/// # Errors
/// Returns an error that has the number of the first other line.
pub fn parse_env_file(text: &str) -> Result<BTreeMap<String, String>, ConfigError> {
    let mut variables = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=') else {
            return Err(ConfigError::new(format!(
                "line {} is not NAME=VALUE",
                number + 1
            )));
        };
        let value = value.trim();
        let unquoted = ['"', '\''].iter().find_map(|quote| {
            value
                .strip_prefix(*quote)
                .and_then(|rest| rest.strip_suffix(*quote))
        });
        variables.insert(name.trim().to_owned(), unquoted.unwrap_or(value).to_owned());
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(text: &str) -> Result<String, String> {
        let env = |name: &str| match name {
            "KEY" => Some("value".to_owned()),
            "EMPTY" => Some(String::new()),
            "HOME" => Some("/srv/me".to_owned()),
            _ => None,
        };
        Variables::new("/code/project", env)
            .expand(text)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn known_variables_are_expanded() {
        for (text, expected) in [
            ("plain $KEY {KEY}", "plain $KEY {KEY}"),
            ("a ${KEY} b ${env:KEY}", "a value b value"),
            ("${NONE:-default}/x", "default/x"),
            ("${EMPTY:-default}", "default"),
            ("${env:NONE:-https://x/}", "https://x/"),
            ("[${EMPTY}]", "[]"),
            ("${NONE:-}", ""),
            ("${workspaceFolder}/bin", "/code/project/bin"),
            ("${userHome}", "/srv/me"),
        ] {
            assert_eq!(expand(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn an_error_names_the_variable_without_a_value() {
        for (text, named) in [
            ("${NONE}", "NONE"),
            ("${env:NONE}", "NONE"),
            ("${input:token}", "token"),
            ("${command:x}", "command:x"),
            ("${KEY", "without"),
        ] {
            let error = expand(text).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn a_text_does_not_grow_beyond_the_largest_file() {
        let variables = Variables::new("/p", |_| Some("x".repeat(1 << 20)));
        assert!(variables.expand(&"${A}".repeat(4)).is_ok());
        let error = variables.expand(&"${A}".repeat(1 << 20)).unwrap_err();
        assert!(error.to_string().contains("MAX_FILE_BYTES"), "{error}");
        assert!(error.to_string().len() < 300);
    }

    #[test]
    fn env_files_are_read_line_by_line() {
        let read = parse_env_file("# no\n\nA=1\nexport B = \"two words\" \nC='x=y'\nD=").unwrap();
        let read: Vec<_> = read
            .iter()
            .map(|(name, value)| (&name[..], &value[..]))
            .collect();
        assert_eq!(
            read,
            [("A", "1"), ("B", "two words"), ("C", "x=y"), ("D", "")]
        );
        let error = parse_env_file("A=1\nwrong").unwrap_err().to_string();
        assert!(error.contains("line 2"));
    }
}
