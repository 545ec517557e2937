//! Reading of the files, the environment variables and the standard input that a command line names,
//! and of the lines that the user types.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use turnbuckle::servers::config::parse_env_file;

use crate::error::CliError;

pub(crate) use lines::{LineSource, MAX_LINE_BYTES, is_reading, read_line_of, read_typed_line};

mod lines;

/// The largest text of arguments, in bytes.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// Returns the contents of a file, such as one of certificates.
pub(crate) fn read_file(file: &Path) -> Result<Vec<u8>, CliError> {
    read_limited(open_file(file)?, &file.display(), MAX_TEXT_BYTES)
}

/// Returns the value of an environment variable.
pub(crate) fn read_variable(variable: &str) -> Result<String, CliError> {
    std::env::var(variable)
        .map_err(|_| CliError::usage(format!("the environment variable {variable} is not set")))
}

/// Returns the variables of an open file with one `NAME=VALUE` per line.
pub(crate) fn read_env_file(
    opened: File,
    file: &Path,
) -> Result<BTreeMap<String, String>, CliError> {
    let text = read_text_limited(opened, &file.display(), MAX_TEXT_BYTES)?;
    parse_env_file(&text).map_err(|error| unusable(&file.display(), &error))
}

/// Opens a file that the command line names.
pub(crate) fn open_file(file: &Path) -> Result<File, CliError> {
    File::open(file).map_err(|error| unusable(&file.display(), &error))
}

/// Returns the text that a word stands for: `-` is standard input, `@file` a file, anything else
/// itself.
pub(crate) fn read_text(word: &str) -> Result<String, CliError> {
    match (word, word.strip_prefix('@')) {
        ("-", _) => read_text_limited(io::stdin().lock(), &"standard input", MAX_TEXT_BYTES),
        (_, Some(file)) => read_text_file(file),
        (text, None) => Ok(text.to_owned()),
    }
}

/// Returns the text of a file.
pub(crate) fn read_text_file(file: &str) -> Result<String, CliError> {
    read_text_limited(open_file(Path::new(file))?, &file, MAX_TEXT_BYTES)
}

/// Reads a text of at most `max_bytes`. `name` is that of its source.
pub(crate) fn read_text_limited(
    source: impl Read,
    name: &dyn Display,
    max_bytes: u64,
) -> Result<String, CliError> {
    let bytes = read_limited(source, name, max_bytes)?;
    String::from_utf8(bytes).map_err(|_| unusable(name, &"it is not UTF-8"))
}

fn read_limited(
    source: impl Read,
    name: &dyn Display,
    max_bytes: u64,
) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let read = source.take(max_bytes + 1).read_to_end(&mut bytes);
    read.map_err(|error| unusable(name, &error))?;
    match bytes.len() as u64 > max_bytes {
        true => Err(unusable(name, &format!("larger than {max_bytes} bytes"))),
        false => Ok(bytes),
    }
}

fn unusable(name: &dyn Display, reason: &dyn Display) -> CliError {
    CliError::usage(format!("{name}: {reason}"))
}
