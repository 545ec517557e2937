//! The tools.

use std::sync::Arc;

use turnbuckle::prelude::*;

use super::calls::{Access, Calls};
use super::diff::{Sides, diff};
use super::limits::Limits;
use super::repository::Repositories;
use super::scan::Parts;
use super::{change, checkout, log, status};
use crate::fault;

/// The tools of the server.
pub(super) struct Git {
    repositories: Arc<Repositories>,
    limits: Limits,
    calls: Calls,
}

impl Git {
    /// Creates the tools for some repositories.
    pub(super) fn new(repositories: Repositories, limits: Limits) -> Self {
        Self {
            repositories: Arc::new(repositories),
            limits,
            calls: Calls::new(),
        }
    }

    /// Runs work that reads some parts of a repository.
    async fn read(
        &self,
        path: &str,
        parts: Parts,
        work: impl FnOnce(&git2::Repository, &Limits) -> fault::Result<String> + Send + 'static,
    ) -> Result<String> {
        let work =
            move |repository: &mut git2::Repository, limits: &Limits| work(repository, limits);
        self.run(path, Access::Read, parts, work).await
    }

    /// Runs work that changes a repository and uses some parts of it. Such calls take turns.
    async fn change(
        &self,
        path: &str,
        parts: Parts,
        work: impl FnOnce(&mut git2::Repository, &Limits) -> fault::Result<String> + Send + 'static,
    ) -> Result<String> {
        self.run(path, Access::Change, parts, work).await
    }

    /// Runs work on a repository that uses some parts of it.
    async fn run(
        &self,
        path: &str,
        access: Access,
        parts: Parts,
        work: impl FnOnce(&mut git2::Repository, &Limits) -> fault::Result<String> + Send + 'static,
    ) -> Result<String> {
        let path = self.repositories.locate(path);
        let path = path.map_err(IntoFailure::into_failure)?;
        let (repositories, limits) = (Arc::clone(&self.repositories), self.limits.clone());
        let (key, call_timeout) = (path.clone(), limits.call_timeout);
        let work = move || {
            work(
                &mut repositories.repository(&path, parts, &limits)?,
                &limits,
            )
        };
        self.calls.run(key, access, call_timeout, work).await
    }
}

#[server]
impl Git {
    /// Shows the branch, and the files that are staged, changed and untracked.
    #[tool(
        read_only = true,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    async fn git_status(&self, repo_path: String) -> Result<String> {
        self.read(&repo_path, Parts::WorkTree, move |repository, limits| {
            let status = status::status(repository, limits)?;
            Ok(format!("Repository status:\n{}", status.trim_end()))
        })
        .await
    }

    /// Shows changes in the work tree that are not staged.
    #[tool(
        read_only = true,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    async fn git_diff_unstaged(
        &self,
        repo_path: String,
        #[schema(default = 3)] context_lines: u32,
    ) -> Result<String> {
        self.read(&repo_path, Parts::WorkTree, move |repository, limits| {
            let text = diff(repository, &Sides::Unstaged, context_lines, limits)?;
            Ok(format!("Unstaged changes:\n{text}"))
        })
        .await
    }

    /// Shows changes that the next commit takes.
    #[tool(
        read_only = true,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    async fn git_diff_staged(
        &self,
        repo_path: String,
        #[schema(default = 3)] context_lines: u32,
    ) -> Result<String> {
        self.read(&repo_path, Parts::WorkTree, move |repository, limits| {
            let text = diff(repository, &Sides::Staged, context_lines, limits)?;
            Ok(format!("Staged changes:\n{text}"))
        })
        .await
    }

    /// Shows how the work tree differs from a branch, a tag or a commit.
    #[tool(
        read_only = true,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    async fn git_diff(
        &self,
        repo_path: String,
        target: String,
        #[schema(default = 3)] context_lines: u32,
    ) -> Result<String> {
        self.read(&repo_path, Parts::WorkTree, move |repository, limits| {
            let text = diff(repository, &Sides::Revision(&target), context_lines, limits)?;
            Ok(format!("Diff with {target}:\n{text}"))
        })
        .await
    }

    /// Commits what is staged.
    #[tool(
        read_only = false,
        destructive = false,
        idempotent = false,
        open_world = false
    )]
    async fn git_commit(&self, repo_path: String, message: String) -> Result<String> {
        self.change(&repo_path, Parts::GitDir, move |repository, _| {
            change::commit(repository, &message)
        })
        .await
    }

    /// Stages files for the next commit; `.` stages all.
    #[tool(
        read_only = false,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    async fn git_add(
        &self,
        repo_path: String,
        #[schema(min_len = 1)] files: Vec<String>,
    ) -> Result<String> {
        self.change(&repo_path, Parts::WorkTree, move |repository, limits| {
            change::add(repository, &files, limits)
        })
        .await
    }

    /// Unstages all changes. Files stay as they are.
    #[tool(
        read_only = false,
        destructive = true,
        idempotent = true,
        open_world = false
    )]
    async fn git_reset(&self, repo_path: String) -> Result<String> {
        self.change(&repo_path, Parts::WorkTree, move |repository, _| {
            change::reset(repository)
        })
        .await
    }

    /// Lists commits from the current one back.
    #[tool(
        read_only = true,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    async fn git_log(
        &self,
        repo_path: String,
        #[schema(default = 10)] max_count: usize,
        /// Leave out older commits: `2024-01-15`, `2024-01-15T14:30:25`, `Jan 15 2024`, `yesterday`, `2 weeks ago`
        start_timestamp: Option<String>,
        /// Leave out newer commits, in the same forms
        end_timestamp: Option<String>,
    ) -> Result<String> {
        self.read(&repo_path, Parts::GitDir, move |repository, limits| {
            let (start, end) = (start_timestamp.as_deref(), end_timestamp.as_deref());
            log::log(repository, max_count, start, end, limits)
        })
        .await
    }

    /// Creates a branch at another one, or at the current one.
    #[tool(
        read_only = false,
        destructive = false,
        idempotent = false,
        open_world = false
    )]
    async fn git_create_branch(
        &self,
        repo_path: String,
        branch_name: String,
        base_branch: Option<String>,
    ) -> Result<String> {
        self.change(&repo_path, Parts::GitDir, move |repository, limits| {
            change::create_branch(repository, &branch_name, base_branch.as_deref(), limits)
        })
        .await
    }

    /// Switches to a branch, or to a tag or commit without a branch. Changes that would be lost stop it.
    #[tool(
        read_only = false,
        destructive = false,
        idempotent = false,
        open_world = false
    )]
    async fn git_checkout(&self, repo_path: String, branch_name: String) -> Result<String> {
        self.change(&repo_path, Parts::WorkTree, move |repository, limits| {
            checkout::checkout(repository, &branch_name, limits)
        })
        .await
    }

    /// Shows a commit with its changes, or a file or directory as REVISION:PATH.
    #[tool(
        read_only = true,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    async fn git_show(&self, repo_path: String, revision: String) -> Result<String> {
        self.read(&repo_path, Parts::WorkTree, move |repository, limits| {
            log::show(repository, &revision, limits)
        })
        .await
    }

    /// Lists branches.
    #[tool(
        read_only = true,
        destructive = false,
        idempotent = true,
        open_world = false
    )]
    async fn git_branch(
        &self,
        /// Path of the repository
        repo_path: String,
        #[schema(description = "Which branches: `local`, `remote` or `all`")] branch_type: String,
        /// A commit that the branches have
        contains: Option<String>,
        /// A commit that the branches do not have
        not_contains: Option<String>,
    ) -> Result<String> {
        self.read(&repo_path, Parts::GitDir, move |repository, limits| {
            let (contains, not_contains) = (contains.as_deref(), not_contains.as_deref());
            log::branches(repository, &branch_type, contains, not_contains, limits)
        })
        .await
    }
}
