//! A server with one tool, by which a model thinks in steps that it can revise and branch.
//!
//! It keeps no thought: only how many there were, and the names of the branches, for each caller.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;
use turnbuckle::ServerBuilder;
use turnbuckle::prelude::*;
use turnbuckle::types::CallToolResult;

use crate::Error;
use crate::fault::{self, Fault};
use crate::output::{pretty, schema_of};

/// The callers whose thoughts are counted. The caller that has been silent longest is forgotten first.
const MAX_CALLERS: usize = 1_024;

/// The branches that one caller may name.
const MAX_BRANCHES: usize = 256;

/// The bytes of the name of a branch.
const MAX_BRANCH_BYTES: usize = 256;

const DESCRIPTION: &str = include_str!("description.md").trim_ascii_end();

/// Options of the server: none so far.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {}

impl Options {
    /// Creates the options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// Creates the server.
///
/// # Errors
/// None so far.
pub fn server(options: Options) -> Result<ServerBuilder, Error> {
    let Options {} = options;
    let server = Server::new("sequential-thinking-server", env!("CARGO_PKG_VERSION"))
        .title("Sequential thinking");
    Ok(server.group(Thoughts::default()))
}

/// The thoughts of all callers.
#[derive(Default)]
struct Thoughts {
    callers: Mutex<HashMap<Option<Identity>, Thinking>>,
}

/// The identity of a caller: see [`Principal::identity`]. Callers without a login are one.
type Identity = (String, String, Option<String>);

/// The thoughts of one caller.
#[derive(Default)]
struct Thinking {
    count: u64,
    branches: Vec<String>,
    /// The number of thoughts of all callers at its last one.
    last: u64,
}

/// The state after a thought.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Progress {
    #[schemars(with = "f64")]
    thought_number: u32,
    #[schemars(with = "f64")]
    total_thoughts: u32,
    next_thought_needed: bool,
    branches: Vec<String>,
    #[schemars(with = "f64")]
    thought_history_length: u64,
}

#[server]
impl Thoughts {
    #[tool(
        title = "Sequential Thinking",
        description = DESCRIPTION,
        rename_all = "camelCase",
        read_only = true,
        destructive = false,
        idempotent = true,
        open_world = false,
        output_schema = schema_of::<Progress>()
    )]
    fn sequentialthinking(
        &self,
        /// The step, in words
        thought: String,
        #[schema(description = "Whether another step follows")] next_thought_needed: bool,
        /// Number of the step, from 1
        #[schema(min = 1)]
        thought_number: u32,
        /// Estimate of the number of steps
        #[schema(min = 1)]
        total_thoughts: u32,
        #[schema(description = "Whether the step corrects an earlier one")] is_revision: Option<
            bool,
        >,
        #[schema(description = "Number of the step that is corrected", min = 1)]
        revises_thought: Option<u32>,
        /// Number of the step at which another way begins
        #[schema(min = 1)]
        branch_from_thought: Option<u32>,
        /// Name of the other way
        branch_id: Option<String>,
        #[schema(description = "Whether more steps than estimated are needed")] needs_more_thoughts: Option<bool>,
        principal: Option<Principal>,
    ) -> Result<CallToolResult> {
        // The model reads its own thoughts; nothing reads them here.
        let _ = (thought, is_revision, revises_thought, needs_more_thoughts);
        let branch = branch_from_thought.and(branch_id);
        let counted = self.count(principal.as_ref(), branch);
        let (branches, thought_history_length) = counted.map_err(IntoFailure::into_failure)?;
        pretty(&Progress {
            thought_number,
            total_thoughts: total_thoughts.max(thought_number),
            next_thought_needed,
            branches,
            thought_history_length,
        })
    }

    /// Counts a thought. Returns the branches of the caller and the number of its thoughts.
    fn count(
        &self,
        principal: Option<&Principal>,
        branch: Option<String>,
    ) -> fault::Result<(Vec<String>, u64)> {
        if let Some(branch) = &branch
            && branch.len() > MAX_BRANCH_BYTES
        {
            let text = format!(
                "branchId has {} bytes, and may have {MAX_BRANCH_BYTES}",
                branch.len()
            );
            return Err(Fault::new(text));
        }
        let identity = principal.map(|principal| {
            let (issuer, subject, client) = principal.identity();
            (
                issuer.to_owned(),
                subject.to_owned(),
                client.map(str::to_owned),
            )
        });
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        let now = callers
            .values()
            .map(|thinking| thinking.last)
            .max()
            .unwrap_or(0)
            + 1;
        if callers.len() >= MAX_CALLERS && !callers.contains_key(&identity) {
            let silent = callers.iter().min_by_key(|(_, thinking)| thinking.last);
            if let Some(silent) = silent.map(|(identity, _)| identity.clone()) {
                callers.remove(&silent);
            }
        }
        let thinking = callers.entry(identity).or_default();
        if let Some(branch) = branch
            && !thinking.branches.contains(&branch)
        {
            if thinking.branches.len() >= MAX_BRANCHES {
                return Err(Fault::new(format!(
                    "there are {MAX_BRANCHES} branches already"
                )));
            }
            thinking.branches.push(branch);
        }
        thinking.count += 1;
        thinking.last = now;
        Ok((thinking.branches.clone(), thinking.count))
    }
}
