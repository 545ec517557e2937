//! A server with a graph of entities, relations and observations, which a model remembers across conversations.
//!
//! - `graph` is the graph and its operations.
//! - `file` keeps it in a file of JSON lines, also for several processes.
//! - `tools` has the tools and the resource.

mod file;
mod graph;
mod tools;

use std::path::{Path, PathBuf};

use turnbuckle::ServerBuilder;
use turnbuckle::prelude::*;

use crate::Error;
use file::GraphFile;
use tools::Memory;

/// Options of the server.
#[derive(Debug, Clone)]
pub struct Options {
    file: PathBuf,
    max_file_bytes: u64,
}

impl Options {
    /// Creates options with the file that has the graph, which need not exist yet.
    #[must_use]
    pub fn new(file: impl AsRef<Path>) -> Self {
        Self {
            file: file.as_ref().to_owned(),
            max_file_bytes: 64 << 20,
        }
    }

    /// Sets the bytes that the file may have: 64 MiB.
    #[must_use]
    pub fn max_file_bytes(mut self, max_file_bytes: u64) -> Self {
        self.max_file_bytes = max_file_bytes;
        self
    }
}

/// Creates the server.
///
/// # Errors
/// If the file is in no directory, or has no graph.
pub fn server(options: Options) -> Result<ServerBuilder, Error> {
    let fault = |text: String| Error::new(format!("{}: {text}", options.file.display()));
    let file = GraphFile::open(&options.file, options.max_file_bytes)
        .map_err(|error| fault(error.to_string()))?;
    file.read().map_err(|error| fault(error.to_string()))?;
    let server = Server::new("memory-server", env!("CARGO_PKG_VERSION")).title("Memory");
    Ok(server.group(Memory::new(file)))
}
