//! The tools.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::time::{timeout, timeout_at};
use turnbuckle::prelude::*;
use turnbuckle::types::{ContentBlock, Root};

use super::access::Directories;
use super::edit::{self, Edit};
use super::limits::{Budget, Limits};
use super::list::{self, SortBy};
use super::locks::FileLocks;
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
    locks: Arc<FileLocks>,
}

impl Filesystem {
    /// Creates the tools for some directories.
    pub(super) fn new(directories: Directories, has_client_roots: bool, limits: Limits) -> Self {
        Self {
            directories: Arc::new(directories),
            has_client_roots,
            limits,
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT)),
            locks: Arc::default(),
        }
    }

    /// Returns the roots of the client, if it has some and they choose the directories. If the client does not give them,
    /// those directories hold that the server was started with.
    async fn client_roots(&self, ask: &Ask) -> Result<Option<Vec<Root>>> {
        if !self.has_client_roots {
            return Ok(None);
        }
        // The rest of the time is for the files.
        let roots_timeout = self.limits.call_timeout / 3;
        let has_others = !self.directories.is_empty();
        match timeout(roots_timeout, ask.roots()).await {
            Ok(Ok(roots)) => Ok(Some(roots)),
            Ok(Err(AskError::Unsupported(_))) => Ok(None),
            Ok(Err(AskError::Refused(_) | AskError::Failed(_) | AskError::Malformed(_)))
            | Err(_)
                if has_others =>
            {
                Ok(None)
            }
            Ok(Err(error)) => Err(error.into()),
            Err(_) => {
                let text = format!(
                    "the client has not answered `roots/list` in {roots_timeout:?}: start the server with directories"
                );
                Err(fault::Fault::new(text).into_failure())
            }
        }
    }

    /// Runs work on a thread, with the directories of the client.
    async fn run<T: Send + 'static>(
        &self,
        ask: &Ask,
        work: impl FnOnce(&Directories, &mut Budget) -> fault::Result<T> + Send + 'static,
    ) -> Result<T> {
        let budget = self.limits.start();
        let roots = self.client_roots(ask).await?;
        self.run_with(roots, budget, work).await
    }

    /// Runs work on a thread, with the directories that the roots of the client choose.
    async fn run_with<T: Send + 'static>(
        &self,
        roots: Option<Vec<Root>>,
        mut budget: Budget,
        work: impl FnOnce(&Directories, &mut Budget) -> fault::Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        let Ok(permit) = timeout_at(budget.deadline.into(), permit).await else {
            return Err(budget.too_late().into_failure());
        };
        let permit = permit?;
        let directories = Arc::clone(&self.directories);
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let chosen = roots.and_then(|roots| directories.choose(&roots));
            let directories = chosen.as_ref().unwrap_or(&directories);
            if directories.is_empty() {
                return Err(
                    "there are no allowed directories: start the server with some, or use a client with roots".into(),
                );
            }
            work(directories, &mut budget)
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
        let part = Part::new(head, tail).map_err(IntoFailure::into_failure)?;
        let budget = self.limits.start();
        let roots = self.client_roots(ask).await?;
        if matches!((&roots, part), (None, Part::Whole))
            && let Some(bytes) = self.directories.read_cached(&path)
            && bytes.len() <= self.limits.max_read_bytes
        {
            return Ok(read::lossy(bytes));
        }
        self.run_with(roots, budget, move |directories, budget| {
            read::text(&directories.locate(&path)?, part, budget)
        })
        .await
    }
}

#[server]
impl Filesystem {
    /// Reads a text file. Deprecated: `read_text_file` does the same.
    #[tool(title = "Read File (Deprecated)", read_only = true, open_world = false)]
    async fn read_file(
        &self,
        path: String,
        #[schema(description = "How many of the last lines to read")] tail: Option<u64>,
        #[schema(description = "How many of the first lines to read")] head: Option<u64>,
        ask: Ask,
    ) -> Result<String> {
        self.read_text(&ask, path, head, tail).await
    }

    /// Reads a text file in UTF-8: all of it, or its first or last lines.
    #[tool(title = "Read Text File", read_only = true, open_world = false)]
    async fn read_text_file(
        &self,
        path: String,
        #[schema(description = "How many of the last lines to read")] tail: Option<u64>,
        #[schema(description = "How many of the first lines to read")] head: Option<u64>,
        ask: Ask,
    ) -> Result<String> {
        self.read_text(&ask, path, head, tail).await
    }

    /// Reads an image, a sound or any other file, in Base64 with its media type.
    #[tool(title = "Read Media File", read_only = true, open_world = false)]
    async fn read_media_file(&self, path: String, ask: Ask) -> Result<ContentBlock> {
        self.run(&ask, move |directories, budget| {
            read::media(&directories.locate(&path)?, budget)
        })
        .await
    }

    /// Reads several text files. A file that cannot be read has its error in its place.
    #[tool(title = "Read Multiple Files", read_only = true, open_world = false)]
    async fn read_multiple_files(
        &self,
        /// Paths of the files
        #[schema(min_len = 1)]
        paths: Vec<String>,
        ask: Ask,
    ) -> Result<String> {
        self.run(&ask, move |directories, budget| {
            read::several(directories, &paths, budget)
        })
        .await
    }

    /// Writes a text file. A file that is there is replaced.
    #[tool(
        title = "Write File",
        read_only = false,
        destructive = true,
        idempotent = true,
        open_world = false
    )]
    async fn write_file(&self, path: String, content: String, ask: Ask) -> Result<String> {
        let locks = Arc::clone(&self.locks);
        self.run(&ask, move |directories, budget| {
            let location = directories.locate(&path)?;
            let _guard = locks.lock(&[&location], budget)?;
            write::file(&location, &content, None)?;
            Ok(format!("Successfully wrote to {path}"))
        })
        .await
    }

    /// Replaces texts in a file, one after the other, and returns the difference. A dry run returns the difference only.
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
        /// True to show the difference alone
        #[schema(default = false)]
        dry_run: bool,
        ask: Ask,
    ) -> Result<String> {
        let locks = Arc::clone(&self.locks);
        self.run(&ask, move |directories, budget| {
            let location = directories.locate(&path)?;
            let _guard = locks.lock(&[&location], budget)?;
            edit::file(&location, &edits, dry_run, budget)
        })
        .await
    }

    /// Creates a directory, and those above it. Does nothing if it is there.
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

    /// Lists a directory, one entry a line, as `[FILE]` or `[DIR]`.
    #[tool(title = "List Directory", read_only = true, open_world = false)]
    async fn list_directory(&self, path: String, ask: Ask) -> Result<String> {
        self.run(&ask, move |directories, budget| {
            list::plain(&directories.locate(&path)?, budget)
        })
        .await
    }

    /// Lists a directory with the sizes of its files and their sum.
    #[tool(
        title = "List Directory with Sizes",
        rename_all = "camelCase",
        read_only = true,
        open_world = false
    )]
    async fn list_directory_with_sizes(
        &self,
        path: String,
        /// Order of the entries
        #[schema(default = SortBy::Name)]
        sort_by: SortBy,
        ask: Ask,
    ) -> Result<String> {
        self.run(&ask, move |directories, budget| {
            list::with_sizes(&directories.locate(&path)?, sort_by, budget)
        })
        .await
    }

    /// Returns a directory and all below it as JSON: `name`, `type`, and the `children` of directories.
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

    /// Moves or renames a file or a directory. Fails if the destination is there.
    #[tool(
        title = "Move File",
        read_only = false,
        destructive = true,
        idempotent = false,
        open_world = false
    )]
    async fn move_file(&self, source: String, destination: String, ask: Ask) -> Result<String> {
        let locks = Arc::clone(&self.locks);
        self.run(&ask, move |directories, budget| {
            let from = directories.locate(&source)?;
            let to = directories.locate(&destination)?;
            let _guard = locks.lock(&[&from, &to], budget)?;
            write::rename(&from, &to)?;
            Ok(format!("Successfully moved {source} to {destination}"))
        })
        .await
    }

    /// Finds files and directories below a path by a pattern such as `*.txt` or `**/*.txt`.
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

    /// Returns size, times, type and permissions of a file or a directory.
    #[tool(title = "Get File Info", read_only = true, open_world = false)]
    async fn get_file_info(&self, path: String, ask: Ask) -> Result<String> {
        self.run(&ask, move |directories, _| {
            list::info(&directories.locate(&path)?)
        })
        .await
    }

    /// Lists the directories that the tools may use, with all below them.
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
