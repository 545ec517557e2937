//! A server for git repositories, on libgit2, which runs no hook, filter or other program of a repository.
//!
//! - `repository` decides where repositories may be, and finds revisions in them.
//! - `scan` checks the files of a repository, and opens it.
//! - `calls` runs each call on a thread, with a time limit.
//! - `status`, `diff`, `log`, `change` and `checkout` are the operations.
//! - `index` writes the index under its lock, and reads the marks of its entries.
//! - `limits` bounds each call and its result.
//! - `dates` reads the times by which logs are filtered.
//! - `tools` has the tools.

mod calls;
mod change;
mod checkout;
mod dates;
mod diff;
mod index;
mod limits;
mod log;
mod repository;
mod scan;
mod status;
mod tools;

use std::path::PathBuf;

use turnbuckle::ServerBuilder;
use turnbuckle::prelude::*;

use crate::Error;
pub use limits::Limits;
use repository::Repositories;
use tools::Git;

/// Options of the server.
#[derive(Debug, Clone, Default)]
pub struct Options {
    directories: Vec<PathBuf>,
    limits: Limits,
}

impl Options {
    /// Creates options without a directory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a repository, or a directory of repositories.
    #[must_use]
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.directories.push(path.into());
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
/// If there is no directory, or one cannot be opened.
pub fn server(options: Options) -> Result<ServerBuilder, Error> {
    if options.directories.is_empty() {
        return Err(Error::new(
            "name a repository, or a directory of repositories",
        ));
    }
    let repositories = Repositories::open(&options.directories)?;
    let server = Server::new("git", env!("CARGO_PKG_VERSION")).title("Git");
    Ok(server.group(Git::new(repositories, options.limits)))
}
