//! What the tool says: results on standard output, everything else on standard error.

mod content;
mod json;
mod paint;
mod save;
mod screen;
mod terminal;

pub(crate) use content::{blocks, contents};
pub(crate) use json::pretty;
pub(crate) use paint::{Ink, size};
pub(crate) use screen::Screen;
pub(crate) use terminal::{clean, line, shell};
