//! Output of the tool: results on standard output, everything else on standard error.

mod console;
mod content;
mod save;
mod style;

pub(crate) use crate::json::{one_line, pretty};
pub(crate) use console::{Console, write_stdout};
pub(crate) use content::{render_blocks, render_contents};
pub(crate) use style::{Style, format_bytes};
pub(crate) use turnbuckle_types::base::quote::shell_quote;
pub(crate) use turnbuckle_types::base::terminal::{sanitize, sanitize_line};
