//! A server for the files of some directories.
//!
//! - `access` decides which paths are inside: everything is opened relative to handles of the directories, so that `..`
//!   and symlinks do not lead out, also if they are swapped meanwhile.
//! - `read`, `list`, `write`, `edit` are the operations, bounded by [`Limits`]; `locks` lets one call at a time change a file.
//! - `tools` has the tools, which run the operations on threads for blocking work. What is in memory needs none: `cached`.

mod access;
#[cfg(target_os = "linux")]
mod cached;
#[cfg(not(target_os = "linux"))]
#[path = "not_cached.rs"]
mod cached;
mod edit;
mod limits;
mod list;
mod locks;
mod pattern;
mod read;
mod tools;
mod write;

use std::path::PathBuf;

use turnbuckle::ServerBuilder;
use turnbuckle::prelude::*;

use crate::Error;
use access::Directories;
pub use limits::Limits;
use tools::Filesystem;

/// Options of the server.
#[derive(Debug, Clone, Default)]
pub struct Options {
    directories: Vec<PathBuf>,
    has_client_roots: bool,
    limits: Limits,
}

impl Options {
    /// Creates options without a directory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a directory whose files are served.
    #[must_use]
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.directories.push(path.into());
        self
    }

    /// Lets the roots of the client choose directories: any if the options have none, and otherwise those inside of the
    /// directories of the options. Set it only if the client is the user of this machine, as on standard input.
    #[must_use]
    pub fn client_roots(mut self, has_client_roots: bool) -> Self {
        self.has_client_roots = has_client_roots;
        self
    }

    /// Sets the limits of each call.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

/// Creates the server.
///
/// # Errors
/// If a directory cannot be opened, or there is none and clients may not choose.
pub fn server(options: Options) -> Result<ServerBuilder, Error> {
    if options.directories.is_empty() && !options.has_client_roots {
        return Err(Error::new("name a directory whose files are served"));
    }
    let directories = Directories::open(&options.directories)?;
    let server = Server::new("secure-filesystem-server", env!("CARGO_PKG_VERSION")).title("Files");
    Ok(server.group(Filesystem::new(
        directories,
        options.has_client_roots,
        options.limits,
    )))
}
