//! Configuration files of MCP hosts: `mcp.json` and its dialects.
//!
//! Claude, Cursor and others write `{"mcpServers": {…}}`, VS Code writes `{"servers": {…}}`.
//! Comments and trailing commas are allowed. A [`ServerEntry`] becomes a [`ResolvedServer`] once its
//! variables are expanded.
//!
//! ```
//! use turnbuckle_servers::config::{ConfigFile, ResolvedServer, Variables};
//!
//! let file = ConfigFile::parse(r#"{"mcpServers": {"notes": {"command": "notes", "args": ["${DB:-notes.db}"]}}}"#)?;
//! let variables = Variables::from_env("/code/project");
//! let ResolvedServer::Command { program, args, .. } = file.servers["notes"].resolve(&variables)? else {
//!     unreachable!("the entry has a command");
//! };
//! assert_eq!((&*program, &args[..]), ("notes", &["notes.db".to_owned()][..]));
//! # Ok::<(), turnbuckle_servers::config::ConfigError>(())
//! ```

mod connector;
mod entry;
mod expand;
mod file;
mod jsonc;

#[cfg(feature = "http")]
pub(crate) use connector::HttpHook;
pub(crate) use connector::build_connector;
pub use entry::{ResolvedServer, ServerEntry};
pub use expand::{Variables, parse_env_file};
pub use file::{ConfigFile, MAX_FILE_BYTES, workspace_of};
pub use jsonc::to_json as jsonc_to_json;

/// A configuration that cannot be read, or an entry that cannot be used. The text says why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}
