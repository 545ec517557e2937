//! A files server: what is below some directories, to be read, searched and watched, and with
//! `--write` to be changed.
//!
//! ```text
//! files ~/notes ~/code                     serves the client that started it
//! files ~/notes --write                    lets clients write, too
//! files ~/notes --http 127.0.0.1:8080      serves http://127.0.0.1:8080/mcp
//! ```
//!
//! Nothing outside of these directories can be reached, by no path and through no symbolic link; and
//! of a client that has roots, nothing outside of those either. See [`place`] for paths, which are
//! those of Unix, and [`grant`] for how they are opened.

mod grant;
mod place;
mod read;
mod search;
mod watch;
mod write;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser;
use turnbuckle::prelude::*;
use turnbuckle::types::{Error, ReadResourceResult};
use turnbuckle::{CompletionRequest, ResourceOutput};

use grant::{Tree, of_client, off_thread};
use read::{Content, Listing, Text};
use search::Found;

/// Serves the files below some directories.
#[derive(Parser)]
struct Options {
    /// The directories.
    #[arg(required = true)]
    roots: Vec<PathBuf>,
    /// Lets clients write files.
    #[arg(long)]
    write: bool,
    /// Serves HTTP at this address instead of standard input and output.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
}

#[tokio::main]
async fn main() -> Result {
    let options = Options::parse();
    let tree = Tree::open(&options.roots)?;
    let mut server = Server::new("files", env!("CARGO_PKG_VERSION"))
        .instructions("Paths are absolute, or file:// URIs. Begin with `list_directory`.")
        .state(tree.clone())
        .group(Files(tree.clone()))
        .resource(
            Resource::builder("file:///{+path}", "file")
                .description("A file as it is, or what is in a directory, as JSON.")
                .complete("path", complete)
                .handler(read_file),
        );
    for grant in tree.grants() {
        let name = grant.path().display().to_string();
        let directory = Resource::builder(place::uri_of(grant.path()), name)
            .description("A directory that is served; its entries, as JSON.")
            .mime_type("application/json")
            .handler(read_file);
        server = server.resource(directory);
    }
    if options.write {
        server = server.tool(write_text);
    }
    let server = server.build()?;
    // It watches for as long as it is there.
    let _watcher = watch::start(&tree, server.clone())?;
    match options.http {
        Some(address) => server.serve_http(&address).await,
        None => server.serve_stdio().await,
    }
}

/// The tools and resources for reading.
struct Files(Tree);

#[server]
impl Files {
    /// List a directory: the names in it, what they are, and how large.
    #[tool(read_only, open_world = false)]
    async fn list_directory(
        &self,
        /** an absolute path or a file:// URI; without it, the directories that are served */
        path: Option<String>,
        ask: Ask,
    ) -> Result<Listing> {
        let tree = of_client(&self.0, &ask).await?;
        off_thread(move || match path {
            Some(path) => read::list(&tree.find(&path)?),
            None => Ok(read::overview(&tree)),
        })
        .await
    }

    /// Read lines of a text file.
    #[tool(read_only, open_world = false)]
    async fn read_text(
        &self,
        /** an absolute path or a file:// URI */
        path: String,
        /** the first line to read, from 1 */
        #[schema(default = 1, min = 1)]
        line: usize,
        /** how many lines to read */
        #[schema(default = 1000, min = 1, max = 10000)]
        count: usize,
        ask: Ask,
    ) -> Result<Text> {
        let tree = of_client(&self.0, &ask).await?;
        off_thread(move || read::lines(&tree.find(&path)?, line, count)).await
    }

    /// Find text in files, whatever its case.
    #[tool(read_only, open_world = false)]
    async fn search(
        &self,
        /** what to look for */
        #[schema(min_len = 1, max_len = 200)]
        text: String,
        /** where: an absolute path or a file:// URI; without it, everywhere */
        path: Option<String>,
        ask: Ask,
        cancel: Cancellation,
    ) -> Result<Found> {
        let tree = of_client(&self.0, &ask).await?;
        off_thread(move || {
            let places = match path {
                Some(path) => vec![tree.find(&path)?],
                None => tree.places(),
            };
            Ok(search::search(&places, &text, || cancel.is_cancelled()))
        })
        .await
    }
}

/// Write a text file: a new one, or all of one that is there.
#[tool(destructive, idempotent, open_world = false)]
async fn write_text(
    /** an absolute path or a file:// URI; its directory must be there */
    path: String,
    /** everything that the file is to hold */
    #[schema(max_len = 1_000_000)]
    text: String,
    tree: State<Tree>,
    ask: Ask,
) -> Result<String> {
    let tree = of_client(&tree, &ask).await?;
    off_thread(move || {
        let place = tree.find(&path)?;
        write::replace(&place, text.as_bytes())?;
        Ok(format!(
            "wrote {} bytes to {}",
            text.len(),
            place.path().display()
        ))
    })
    .await
}

/// Reads what stands at a URI. What may not be read is not there.
async fn read_file(
    reading: ReadRequest,
    tree: State<Tree>,
    ask: Ask,
) -> Result<ReadResourceResult> {
    let tree = of_client(&tree, &ask).await?;
    // The URI itself, not what the template made of it: decoded once, by our own rules.
    let uri = reading.uri;
    let at = uri.clone();
    let content = off_thread(move || Ok(read::read(&tree.find_uri(&at)?))).await;
    match content {
        Ok(Ok(Content::Text(text, mime))) => text.into_result(&uri, Some(mime)),
        Ok(Ok(Content::Bytes(bytes, mime))) => bytes.into_result(&uri, Some(mime)),
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::FileTooLarge => Err(error.into()),
        Ok(Err(_)) | Err(_) => Err(Error::resource_not_found(uri).into()),
    }
}

/// Completes a path: what is in the directory that was typed so far.
///
/// Completing cannot ask a client for its roots, so one that has some is told nothing.
async fn complete(typing: CompletionRequest, tree: State<Tree>, client: ClientInfo) -> Vec<String> {
    if client.capabilities().roots.is_some() {
        return Vec::new();
    }
    let tree = Arc::clone(&tree.0);
    let found = off_thread(move || Ok(read::complete(&tree, &typing.value))).await;
    found.unwrap_or_default()
}
