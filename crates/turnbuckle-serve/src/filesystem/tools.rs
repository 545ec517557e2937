//! The tools.

use std::sync::Arc;

use tokio::sync::Semaphore;
use turnbuckle::prelude::*;
use turnbuckle::types::ContentBlock;

use super::access::Directories;
use super::edit::{self, Edit};
use super::limits::{Budget, Limits};
use super::list::{self, SortBy};
use super::read::{self, Part};
use super::write;
use crate::fault;

/// The calls that use the file system at a time. Others wait.
const MAX_CONCURRENT: usize = 16;

/// The tools of the server.
pub(super) struct Filesystem {
    directories: Arc<Directories>,
    has_client_roots: bool,
    limits: Limits,
    /// Permits of threads: a file system that does not answer keeps no more threads than these.
    permits: Arc<Semaphore>,
}

impl Filesystem {
    /// Creates the tools for some directories.
    pub(super) fn new(directories: Directories, has_client_roots: bool, limits: Limits) -> Self {
        Self {
            directories: Arc::new(directories),
            has_client_roots,
            limits,
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT)),
        }
    }

    /// Runs work on a thread, with the directories of the client.
    async fn run<T: Send + 'static>(
        &self,
        ask: &Ask,
        work: impl FnOnce(&Directories, &mut Budget) -> fault::Result<T> + Send + 'static,
    ) -> Result<T> {
        let roots = match self.has_client_roots {
            true => match ask.roots().await {
                Ok(roots) => Some(roots),
                Err(AskError::Unsupported(_)) => None,
                Err(error) => return Err(error.into()),
            },
            false => None,
        };
        let permit = Arc::clone(&self.permits).acquire_owned().await?;
        let directories = Arc::clone(&self.directories);
        let limits = self.limits.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let chosen = roots.and_then(|roots| directories.choose(&roots));
            let directories = chosen.as_ref().unwrap_or(&directories);
            if directories.is_empty() {
                return Err(
                    "there are no allowed directories: start the server with some, or use a client with roots".into(),
                );
            }
            work(directories, &mut limits.start())
        });
        done.await?.map_err(IntoFailure::into_failure)
    }

    async fn read_text(
        &self,
        ask: &Ask,
        path: String,
        head: Option<u64>,
        tail: Option<u64>,
    ) -> Result<String> {
        self.run(ask, move |directories, budget| {
            let part = Part::new(head, tail)?;
            read::text(&directories.locate(&path)?, part, budget)
        })
        .await
    }
}

#[server]
impl Filesystem {
    /// Read the complete contents of a file as text. DEPRECATED: Use read_text_file instead.
    #[tool(title = "Read File (Deprecated)", read_only = true, open_world = false)]
    async fn read_file(
        &self,
        path: String,
        #[schema(description = "If provided, returns only the last N lines of the file")]
        tail: Option<u64>,
        #[schema(description = "If provided, returns only the first N lines of the file")]
        head: Option<u64>,
        ask: Ask,
    ) -> Result<String> {
        self.read_text(&ask, path, head, tail).await
    }

    /// Read the complete contents of a file from the file system as text. Handles various text encodings and provides detailed error messages if the file cannot be read. Use this tool when you need to examine the contents of a single file. Use the 'head' parameter to read only the first N lines of a file, or the 'tail' parameter to read only the last N lines of a file. Operates on the file as text regardless of extension. Only works within allowed directories.
    #[tool(title = "Read Text File", read_only = true, open_world = false)]
    async fn read_text_file(
        &self,
        path: String,
        #[schema(description = "If provided, returns only the last N lines of the file")]
        tail: Option<u64>,
        #[schema(description = "If provided, returns only the first N lines of the file")]
        head: Option<u64>,
        ask: Ask,
    ) -> Result<String> {
        self.read_text(&ask, path, head, tail).await
    }

    /// Read a file and return it as a base64-encoded content block with its MIME type. Image and audio files are returned as image/audio content; any other file type is returned as an embedded resource. Only works within allowed directories.
    #[tool(title = "Read Media File", read_only = true, open_world = false)]
    async fn read_media_file(&self, path: String, ask: Ask) -> Result<ContentBlock> {
        self.run(&ask, move |directories, budget| {
            read::media(&directories.locate(&path)?, budget)
        })
        .await
    }

    /// Read the contents of multiple files simultaneously. This is more efficient than reading files one by one when you need to analyze or compare multiple files. Each file's content is returned with its path as a reference. Failed reads for individual files won't stop the entire operation. Only works within allowed directories.
    #[tool(title = "Read Multiple Files", read_only = true, open_world = false)]
    async fn read_multiple_files(
        &self,
        /// Array of file paths to read. Each path must be a string pointing to a valid file within allowed directories.
        #[schema(min_len = 1)]
        paths: Vec<String>,
        ask: Ask,
    ) -> Result<String> {
        self.run(&ask, move |directories, budget| {
            read::several(directories, &paths, budget)
        })
        .await
    }

    /// Create a new file or completely overwrite an existing file with new content. Use with caution as it will overwrite existing files without warning. Handles text content with proper encoding. Only works within allowed directories.
    #[tool(
        title = "Write File",
        read_only = false,
        destructive = true,
        idempotent = true,
        open_world = false
    )]
    async fn write_file(&self, path: String, content: String, ask: Ask) -> Result<String> {
        self.run(&ask, move |directories, _| {
            write::file(&directories.locate(&path)?, &content)?;
            Ok(format!("Successfully wrote to {path}"))
        })
        .await
    }

    /// Make line-based edits to a text file. Each edit replaces exact line sequences with new content. Returns a git-style diff showing the changes made. Only works within allowed directories.
    #[tool(
        title = "Edit File",
        rename_all = "camelCase",
        read_only = false,
        destructive = true,
        idempotent = false,
        open_world = false
    )]
    async fn edit_file(
        &self,
        path: String,
        edits: Vec<Edit>,
        /// Preview changes using git-style diff format
        #[schema(default = false)]
        dry_run: bool,
        ask: Ask,
    ) -> Result<String> {
        self.run(&ask, move |directories, budget| {
            edit::file(&directories.locate(&path)?, &edits, dry_run, budget)
        })
        .await
    }

    /// Create a new directory or ensure a directory exists. Can create multiple nested directories in one operation. If the directory already exists, this operation will succeed silently. Perfect for setting up directory structures for projects or ensuring required paths exist. Only works within allowed directories.
    #[tool(
        title = "Create Directory",
        read_only = false,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    async fn create_directory(&self, path: String, ask: Ask) -> Result<String> {
        self.run(&ask, move |directories, _| {
            directories.create_dir(&path)?;
            Ok(format!("Successfully created directory {path}"))
        })
        .await
    }

    /// Get a detailed listing of all files and directories in a specified path. Results clearly distinguish between files and directories with [FILE] and [DIR] prefixes. This tool is essential for understanding directory structure and finding specific files within a directory. Only works within allowed directories.
    #[tool(title = "List Directory", read_only = true, open_world = false)]
    async fn list_directory(&self, path: String, ask: Ask) -> Result<String> {
        self.run(&ask, move |directories, budget| {
            list::plain(&directories.locate(&path)?, budget)
        })
        .await
    }

    /// Get a detailed listing of all files and directories in a specified path, including sizes. Results clearly distinguish between files and directories with [FILE] and [DIR] prefixes. This tool is useful for understanding directory structure and finding specific files within a directory. Only works within allowed directories.
    #[tool(
        title = "List Directory with Sizes",
        rename_all = "camelCase",
        read_only = true,
        open_world = false
    )]
    async fn list_directory_with_sizes(
        &self,
        path: String,
        /// Sort entries by name or size
        #[schema(default = SortBy::Name)]
        sort_by: SortBy,
        ask: Ask,
    ) -> Result<String> {
        self.run(&ask, move |directories, budget| {
            list::with_sizes(&directories.locate(&path)?, sort_by, budget)
        })
        .await
    }

    /// Get a recursive tree view of files and directories as a JSON structure. Each entry includes 'name', 'type' (file/directory), and 'children' for directories. Files have no children array, while directories always have a children array (which may be empty). The output is formatted with 2-space indentation for readability. Only works within allowed directories.
    #[tool(
        title = "Directory Tree",
        rename_all = "camelCase",
        read_only = true,
        open_world = false
    )]
    async fn directory_tree(
        &self,
        path: String,
        #[schema(default)] exclude_patterns: Vec<String>,
        ask: Ask,
    ) -> Result<String> {
        self.run(&ask, move |directories, budget| {
            list::tree(&directories.locate(&path)?, &exclude_patterns, budget)
        })
        .await
    }

    /// Move or rename files and directories. Can move files between directories and rename them in a single operation. If the destination exists, the operation will fail. Works across different directories and can be used for simple renaming within the same directory. Both source and destination must be within allowed directories.
    #[tool(
        title = "Move File",
        read_only = false,
        destructive = true,
        idempotent = false,
        open_world = false
    )]
    async fn move_file(&self, source: String, destination: String, ask: Ask) -> Result<String> {
        self.run(&ask, move |directories, _| {
            write::rename(
                &directories.locate(&source)?,
                &directories.locate(&destination)?,
            )?;
            Ok(format!("Successfully moved {source} to {destination}"))
        })
        .await
    }

    /// Recursively search for files and directories matching a pattern. The patterns should be glob-style patterns that match paths relative to the working directory. Use pattern like '*.ext' to match files in current directory, and '**/*.ext' to match files in all subdirectories. Returns full paths to all matching items. Great for finding files when you don't know their exact location. Only searches within allowed directories.
    #[tool(
        title = "Search Files",
        rename_all = "camelCase",
        read_only = true,
        open_world = false
    )]
    async fn search_files(
        &self,
        path: String,
        pattern: String,
        #[schema(default)] exclude_patterns: Vec<String>,
        ask: Ask,
    ) -> Result<String> {
        self.run(&ask, move |directories, budget| {
            list::search(
                &directories.locate(&path)?,
                &pattern,
                &exclude_patterns,
                budget,
            )
        })
        .await
    }

    /// Retrieve detailed metadata about a file or directory. Returns comprehensive information including size, creation time, last modified time, permissions, and type. This tool is perfect for understanding file characteristics without reading the actual content. Only works within allowed directories.
    #[tool(title = "Get File Info", read_only = true, open_world = false)]
    async fn get_file_info(&self, path: String, ask: Ask) -> Result<String> {
        self.run(&ask, move |directories, _| {
            list::info(&directories.locate(&path)?)
        })
        .await
    }

    /// Returns the list of directories that this server is allowed to access. Subdirectories within these allowed directories are also accessible. Use this to understand which directories and their nested paths are available before trying to access files.
    #[tool(
        title = "List Allowed Directories",
        read_only = true,
        open_world = false
    )]
    async fn list_allowed_directories(&self, ask: Ask) -> Result<String> {
        self.run(&ask, |directories, _| {
            Ok(format!(
                "Allowed directories:\n{}",
                directories.paths().join("\n")
            ))
        })
        .await
    }
}
