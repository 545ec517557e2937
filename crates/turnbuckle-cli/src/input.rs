//! Reading of the files, the environment variables and the standard input that a command line names.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use turnbuckle::servers::config::parse_env_file;

use crate::error::CliError;

/// The largest text of arguments, in bytes.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// Returns the contents of a file.
pub(crate) fn read_file(file: &Path) -> Result<Vec<u8>, CliError> {
    fs::read(file).map_err(|error| unusable(&file.display(), &error))
}

/// Returns the value of an environment variable.
pub(crate) fn read_variable(variable: &str) -> Result<String, CliError> {
    std::env::var(variable)
        .map_err(|_| CliError::usage(format!("the environment variable {variable} is not set")))
}

/// Returns the variables of a file with one `NAME=VALUE` per line.
pub(crate) fn read_env_file(file: &Path) -> Result<BTreeMap<String, String>, CliError> {
    let text = fs::read_to_string(file).map_err(|error| unusable(&file.display(), &error))?;
    parse_env_file(&text).map_err(|error| unusable(&file.display(), &error))
}

/// Returns the text that a word stands for: `-` is standard input, `@file` a file, anything else
/// itself.
pub(crate) fn read_text(word: &str) -> Result<String, CliError> {
    match (word, word.strip_prefix('@')) {
        ("-", _) => read_limited(io::stdin().lock(), "standard input"),
        (_, Some(file)) => read_text_file(file),
        (text, None) => Ok(text.to_owned()),
    }
}

/// Returns the text of a file.
pub(crate) fn read_text_file(file: &str) -> Result<String, CliError> {
    let opened = File::open(file).map_err(|error| unusable(&file, &error))?;
    read_limited(opened, file)
}

fn read_limited(source: impl Read, name: &str) -> Result<String, CliError> {
    let mut text = String::new();
    let read = source.take(MAX_TEXT_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| unusable(&name, &error))?;
    if text.len() as u64 > MAX_TEXT_BYTES {
        return Err(unusable(
            &name,
            &format!("larger than {MAX_TEXT_BYTES} bytes"),
        ));
    }
    Ok(text)
}

fn unusable(name: &dyn std::fmt::Display, reason: &dyn std::fmt::Display) -> CliError {
    CliError::usage(format!("{name}: {reason}"))
}
