//! Configuration files of MCP clients: `mcp.json` and its dialects.

mod expand;
mod find;
mod jsonc;
mod servers;

pub(crate) use expand::Variables;
pub(crate) use expand::parse_env_file;
pub(crate) use find::{ServerNotFound, find_server};
pub(crate) use servers::ResolvedServer;
