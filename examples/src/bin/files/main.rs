//! A file server: clients list, read, search and watch the files below some directories, and write
//! them with `--write`. It shows resource templates, subscriptions, completion, the roots of a
//! client, and safe handling of paths.
//!
//! Run it with `cargo run -p turnbuckle-examples --bin files -- DIRECTORY`.
//!
//! ```text
//! files ~/notes ~/code                     serves the client that started it, on stdio
//! files ~/notes --write                    lets clients write files, too
//! files ~/notes --http 127.0.0.1:8080      serves http://127.0.0.1:8080/mcp
//! ```
//!
//! Clients cannot reach files outside of these directories, with any path or through symbolic
//! links. A client with roots is also limited to its roots. [`client_path`] parses paths, in Unix
//! syntax, and [`grant`] opens them.

mod client_path;
mod grant;
mod read;
mod search;
mod watch;
mod write;

use std::path::PathBuf;

use clap::Parser;
use turnbuckle::prelude::*;
use turnbuckle::types::{ProtocolError, ReadResourceResult};
use turnbuckle::{CompletionRequest, ResourceOutput, RunArgs};

use grant::{Tree, run_blocking, tree_for_client};
use read::{Content, Listing, Text};
use search::SearchResult;

/// Serves the files below some directories.
#[derive(Parser)]
struct Options {
    /// The directories to serve.
    #[arg(required = true)]
    roots: Vec<PathBuf>,
    /// Lets clients write files.
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    run: RunArgs,
}

#[tokio::main]
async fn main() -> turnbuckle::Result {
    let options = Options::parse();
    let tree = Tree::open(&options.roots)?;
    let mut server = Server::new("files", env!("CARGO_PKG_VERSION"))
        .instructions("Paths are absolute, or file:// URIs. Begin with `list_directory`.")
        .state(tree.clone())
        .group(Files(tree.clone()))
        .resource(
            Resource::builder("file:///{+path}", "file")
                .description("The contents of a file, or the entries of a directory as JSON.")
                .complete("path", complete_path)
                .handler(read_file),
        );
    for grant in tree.grants() {
        let name = grant.path().display().to_string();
        let directory = Resource::builder(client_path::file_uri(grant.path()), name)
            .description("The entries of a served directory, as JSON.")
            .mime_type("application/json")
            .handler(read_file);
        server = server.resource(directory);
    }
    if options.write {
        server = server.tools(tools![write_text]);
    }
    let server = server.build()?;
    // Dropping the watcher stops it.
    let _watcher = watch::start(&tree, server.clone())?;
    server.run_with(options.run).await
}

/// The tools and resources for reading.
struct Files(Tree);

#[server]
impl Files {
    /// List the entries of a directory with their names, kinds and sizes.
    #[tool(read_only, open_world = false)]
    async fn list_directory(
        &self,
        /** an absolute path or a file:// URI; without a path, the served directories are listed */
        path: Option<String>,
        ask: Ask,
    ) -> Result<Listing> {
        let tree = tree_for_client(&self.0, &ask).await?;
        run_blocking(move || match path {
            Some(path) => read::list(&tree.resolve(&path)?),
            None => Ok(read::list_grants(&tree)),
        })
        .await
    }

    /// Read lines of a text file.
    #[tool(read_only, open_world = false)]
    async fn read_text(
        &self,
        /** an absolute path or a file:// URI */
        path: String,
        /** the number of the first line to read, from 1 */
        #[schema(default = 1, min = 1)]
        line: usize,
        /** the number of lines to read */
        #[schema(default = 1000, min = 1, max = 10000)]
        count: usize,
        ask: Ask,
    ) -> Result<Text> {
        let tree = tree_for_client(&self.0, &ask).await?;
        run_blocking(move || read::read_lines(&tree.resolve(&path)?, line, count)).await
    }

    /// Search files for a text, ignoring case.
    #[tool(read_only, open_world = false)]
    async fn search(
        &self,
        /** the text to search for */
        #[schema(min_len = 1, max_len = 200)]
        text: String,
        /** a file or directory to search, as an absolute path or a file:// URI; default: all */
        path: Option<String>,
        ask: Ask,
        cancel: Cancellation,
    ) -> Result<SearchResult> {
        let tree = tree_for_client(&self.0, &ask).await?;
        run_blocking(move || {
            let locations = match path {
                Some(path) => vec![tree.resolve(&path)?],
                None => tree.locations(),
            };
            Ok(search::search(&locations, &text, || cancel.is_cancelled()))
        })
        .await
    }
}

/// Create a text file, or replace its contents.
#[tool(destructive, idempotent, open_world = false)]
async fn write_text(
    /** an absolute path or a file:// URI; its directory must exist */
    path: String,
    /** the new contents of the file */
    #[schema(max_len = 1_000_000)]
    text: String,
    tree: State<Tree>,
    ask: Ask,
) -> Result<String> {
    let tree = tree_for_client(&tree, &ask).await?;
    run_blocking(move || {
        let location = tree.resolve(&path)?;
        write::replace(&location, text.as_bytes())?;
        Ok(format!(
            "wrote {} bytes to {}",
            text.len(),
            location.path().display()
        ))
    })
    .await
}

/// Reads the file or directory with a URI. A file that the client may not read is reported as not
/// found.
async fn read_file(
    request: ReadRequest,
    tree: State<Tree>,
    ask: Ask,
) -> Result<ReadResourceResult> {
    let tree = tree_for_client(&tree, &ask).await?;
    // The URI itself is used, not the variable of the template, so that it is decoded only once.
    let uri = request.uri;
    let requested = uri.clone();
    let content = run_blocking(move || Ok(read::read(&tree.resolve_uri(&requested)?))).await;
    match content {
        Ok(Ok(Content::Text(text, mime))) => text.into_result(&uri, Some(mime)),
        Ok(Ok(Content::Bytes(bytes, mime))) => bytes.into_result(&uri, Some(mime)),
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::FileTooLarge => Err(error.into()),
        Ok(Err(_)) | Err(_) => Err(ProtocolError::resource_not_found(uri).into()),
    }
}

/// Completes a path with the entries of its directory.
///
/// A completer cannot ask the client for its roots, so a client with roots gets no completions.
async fn complete_path(
    request: CompletionRequest,
    tree: State<Tree>,
    client: ClientInfo,
) -> Vec<String> {
    if client.capabilities().roots.is_some() {
        return Vec::new();
    }
    let tree = tree.arc;
    let found = run_blocking(move || Ok(read::complete(&tree, &request.value))).await;
    found.unwrap_or_default()
}
