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
        work: impl FnOnce(&mut git2::Repository, &Limits) -> fault::Result<String>,
    ) -> fault::Result<String> {
        let mut repository = self.repositories.repository(path)?;
        work(&mut repository, &self.limits)
    }
}

#[server]
impl Git {
    /// Shows the branch, and the files that are staged, changed and untracked.
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

    /// Shows changes in the work tree that are not staged.
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

    /// Shows changes that the next commit takes.
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

    /// Shows how the work tree differs from a branch, a tag or a commit.
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

    /// Commits what is staged.
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

    /// Stages files for the next commit; `.` stages all.
    #[tool(
        blocking,
        read_only = false,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    fn git_add(
        &self,
        repo_path: String,
        #[schema(min_len = 1)] files: Vec<String>,
    ) -> fault::Result<String> {
        self.run(&repo_path, |repository, limits| {
            change::add(repository, &files, limits)
        })
    }

    /// Unstages all changes. Files stay as they are.
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

    /// Lists commits from the current one back.
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
        /// Leave out older commits: `2024-01-15`, `2024-01-15T14:30:25`, `Jan 15 2024`, `yesterday`, `2 weeks ago`
        start_timestamp: Option<String>,
        /// Leave out newer commits, in the same forms
        end_timestamp: Option<String>,
    ) -> fault::Result<String> {
        self.run(&repo_path, |repository, limits| {
            let (start, end) = (start_timestamp.as_deref(), end_timestamp.as_deref());
            log::log(repository, max_count, start, end, limits)
        })
    }

    /// Creates a branch at another one, or at the current one.
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

    /// Switches to a branch, or to a tag or commit without a branch. Changes that would be lost stop it.
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

    /// Shows a commit with its changes, or a file or directory as REVISION:PATH.
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

    /// Lists branches.
    #[tool(
        blocking,
        read_only = true,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    fn git_branch(
        &self,
        /// Path of the repository
        repo_path: String,
        #[schema(description = "Which branches: `local`, `remote` or `all`")] branch_type: String,
        /// A commit that the branches have
        contains: Option<String>,
        /// A commit that the branches do not have
        not_contains: Option<String>,
    ) -> fault::Result<String> {
        self.run(&repo_path, |repository, limits| {
            let (contains, not_contains) = (contains.as_deref(), not_contains.as_deref());
            log::branches(repository, &branch_type, contains, not_contains, limits)
        })
    }
}
