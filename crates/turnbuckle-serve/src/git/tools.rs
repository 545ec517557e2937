//! The tools.

use turnbuckle::prelude::*;

use super::diff::{Sides, diff};
use super::limits::Limits;
use super::repository::Repositories;
use super::{change, log, status};
use crate::fault;

/// The tools of the server.
pub(super) struct Git {
    repositories: Repositories,
    limits: Limits,
}

impl Git {
    /// Creates the tools for some repositories.
    pub(super) fn new(repositories: Repositories, limits: Limits) -> Self {
        Self {
            repositories,
            limits,
        }
    }

    /// Runs work on a repository.
    fn run(
        &self,
        path: &str,
        work: impl FnOnce(&git2::Repository, &Limits) -> fault::Result<String>,
    ) -> fault::Result<String> {
        let repository = self.repositories.repository(path)?;
        work(&repository, &self.limits)
    }
}

#[server]
impl Git {
    /// Shows the working tree status
    #[tool(
        blocking,
        read_only = true,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    fn git_status(&self, repo_path: String) -> fault::Result<String> {
        self.run(&repo_path, |repository, limits| {
            let status = status::status(repository, limits)?;
            Ok(format!("Repository status:\n{}", status.trim_end()))
        })
    }

    /// Shows changes in the working directory that are not yet staged
    #[tool(
        blocking,
        read_only = true,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    fn git_diff_unstaged(
        &self,
        repo_path: String,
        #[schema(default = 3)] context_lines: u32,
    ) -> fault::Result<String> {
        self.run(&repo_path, |repository, limits| {
            let text = diff(repository, &Sides::Unstaged, context_lines, limits)?;
            Ok(format!("Unstaged changes:\n{text}"))
        })
    }

    /// Shows changes that are staged for commit
    #[tool(
        blocking,
        read_only = true,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    fn git_diff_staged(
        &self,
        repo_path: String,
        #[schema(default = 3)] context_lines: u32,
    ) -> fault::Result<String> {
        self.run(&repo_path, |repository, limits| {
            let text = diff(repository, &Sides::Staged, context_lines, limits)?;
            Ok(format!("Staged changes:\n{text}"))
        })
    }

    /// Shows differences between branches or commits
    #[tool(
        blocking,
        read_only = true,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    fn git_diff(
        &self,
        repo_path: String,
        target: String,
        #[schema(default = 3)] context_lines: u32,
    ) -> fault::Result<String> {
        self.run(&repo_path, |repository, limits| {
            let text = diff(repository, &Sides::Revision(&target), context_lines, limits)?;
            Ok(format!("Diff with {target}:\n{text}"))
        })
    }

    /// Records changes to the repository
    #[tool(
        blocking,
        read_only = false,
        destructive = false,
        idempotent = false,
        open_world = false
    )]
    fn git_commit(&self, repo_path: String, message: String) -> fault::Result<String> {
        self.run(&repo_path, |repository, _| {
            change::commit(repository, &message)
        })
    }

    /// Adds file contents to the staging area
    #[tool(
        blocking,
        read_only = false,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    fn git_add(&self, repo_path: String, files: Vec<String>) -> fault::Result<String> {
        self.run(&repo_path, |repository, limits| {
            change::add(repository, &files, limits)
        })
    }

    /// Unstages all staged changes
    #[tool(
        blocking,
        read_only = false,
        destructive = true,
        idempotent = true,
        open_world = false
    )]
    fn git_reset(&self, repo_path: String) -> fault::Result<String> {
        self.run(&repo_path, |repository, _| change::reset(repository))
    }

    /// Shows the commit logs
    #[tool(
        blocking,
        read_only = true,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    fn git_log(
        &self,
        repo_path: String,
        #[schema(default = 10)] max_count: usize,
        /// Start timestamp for filtering commits. Accepts: ISO 8601 format (e.g., '2024-01-15T14:30:25'), relative dates (e.g., '2 weeks ago', 'yesterday'), or absolute dates (e.g., '2024-01-15', 'Jan 15 2024')
        start_timestamp: Option<String>,
        /// End timestamp for filtering commits. Accepts: ISO 8601 format (e.g., '2024-01-15T14:30:25'), relative dates (e.g., '2 weeks ago', 'yesterday'), or absolute dates (e.g., '2024-01-15', 'Jan 15 2024')
        end_timestamp: Option<String>,
    ) -> fault::Result<String> {
        self.run(&repo_path, |repository, limits| {
            let (start, end) = (start_timestamp.as_deref(), end_timestamp.as_deref());
            log::log(repository, max_count, start, end, limits)
        })
    }

    /// Creates a new branch from an optional base branch
    #[tool(
        blocking,
        read_only = false,
        destructive = false,
        idempotent = false,
        open_world = false
    )]
    fn git_create_branch(
        &self,
        repo_path: String,
        branch_name: String,
        base_branch: Option<String>,
    ) -> fault::Result<String> {
        self.run(&repo_path, |repository, _| {
            change::create_branch(repository, &branch_name, base_branch.as_deref())
        })
    }

    /// Switches branches
    #[tool(
        blocking,
        read_only = false,
        destructive = false,
        idempotent = false,
        open_world = false
    )]
    fn git_checkout(&self, repo_path: String, branch_name: String) -> fault::Result<String> {
        self.run(&repo_path, |repository, _| {
            change::checkout(repository, &branch_name)
        })
    }

    /// Shows the contents of a commit
    #[tool(
        blocking,
        read_only = true,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    fn git_show(&self, repo_path: String, revision: String) -> fault::Result<String> {
        self.run(&repo_path, |repository, limits| {
            log::show(repository, &revision, limits)
        })
    }

    /// List Git branches
    #[tool(
        blocking,
        read_only = true,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    fn git_branch(
        &self,
        /// The path to the Git repository.
        repo_path: String,
        #[schema(
            description = "Whether to list local branches ('local'), remote branches ('remote') or all branches('all')."
        )]
        branch_type: String,
        /// The commit sha that branch should contain. Do not pass anything to this param if no commit sha is specified
        contains: Option<String>,
        /// The commit sha that branch should NOT contain. Do not pass anything to this param if no commit sha is specified
        not_contains: Option<String>,
    ) -> fault::Result<String> {
        self.run(&repo_path, |repository, limits| {
            let (contains, not_contains) = (contains.as_deref(), not_contains.as_deref());
            log::branches(repository, &branch_type, contains, not_contains, limits)
        })
    }
}
