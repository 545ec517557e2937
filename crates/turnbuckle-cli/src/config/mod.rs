//! Servers that other programs' files name: `mcp.json` in its dialects.

mod expand;
mod find;
mod jsonc;
mod servers;

pub(crate) use expand::Variables;
pub(crate) use expand::env_file;
pub(crate) use find::{Missing, lookup};
pub(crate) use servers::Reached;
