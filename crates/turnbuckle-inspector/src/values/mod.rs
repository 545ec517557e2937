//! Big JSON values: one index of byte ranges, from which lines of a tree, matches of a search and blocks
//! of content are made. Nothing is parsed into other values or changed.

mod blocks;
mod document;
mod rows;
mod scan;
mod search;
pub(crate) mod string;

#[cfg(test)]
mod tests;

pub use blocks::Blob;
pub use document::{Document, Value};
pub use rows::OpenPaths;
pub(crate) use search::find_ignoring_case;
