//! The JSON report.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;
use turnbuckle_types::base::text::mark_hidden;

use super::Report;

/// Writes the report as indented JSON. Hidden characters are written as escapes, since JSON is also
/// read at a terminal.
///
/// # Errors
/// When `out` fails.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    write_value(report, out)
}

/// Writes a value as indented JSON with hidden characters as escapes.
pub(crate) fn write_value(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    let mut visible = String::with_capacity(text.len() + 1);
    // JSON has hidden characters in strings alone, apart from the line breaks of the indentation.
    for (char, is_hidden) in mark_hidden(&text) {
        if !is_hidden || char == '\n' {
            visible.push(char);
            continue;
        }
        for unit in char.encode_utf16(&mut [0; 2]) {
            let _ = write!(visible, "\\u{unit:04x}");
        }
    }
    visible.push('\n');
    out.write_all(visible.as_bytes())
}
