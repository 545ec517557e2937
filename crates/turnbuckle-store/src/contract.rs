//! A test of the rules that each [`Store`](crate::Store) keeps, for stores of this project and of others.
//!
//! A backend says how it is opened, and how time passes for it:
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use turnbuckle_store::contract::{self, ContractBackend, ContractFuture};
//! use turnbuckle_store::{MemoryStore, Store, StoreFuture};
//!
//! struct Backend(MemoryStore);
//!
//! impl ContractBackend for Backend {
//!     fn open(&self) -> StoreFuture<'_, Arc<dyn Store>> {
//!         Box::pin(async { Ok(Arc::new(self.0.clone()) as Arc<dyn Store>) })
//!     }
//!
//!     fn advance(&self, time: Duration) -> ContractFuture<'_, ()> {
//!         Box::pin(tokio::time::advance(time))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), contract::ContractViolation> {
//! contract::check(&Backend(MemoryStore::new())).await?;
//! # Ok(())
//! # }
//! ```

mod backend;
mod faults;
#[cfg(test)]
mod flawed;
mod harness;
mod logs;
mod queues;
mod topics;
mod values;

use std::time::{Duration, SystemTime};

pub use backend::{ContractBackend, ContractFuture, Fault};
use harness::{Broken, Rule, Test};

/// The time within which each rule is tested, without the time that [`ContractBackend::advance`] takes.
const RULE_TIMEOUT: Duration = Duration::from_secs(60);

/// A rule of [`Store`](crate::Store) that a store broke. `Display` names the rule and what was found.
#[derive(Debug, thiserror::Error)]
#[error("the store breaks the rule “{rule}”: {found}")]
pub struct ContractViolation {
    rule: &'static str,
    found: String,
}

impl ContractViolation {
    /// Returns the rule.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        self.rule
    }
}

/// Returns the rules, in the order in which they are tested.
fn rules() -> impl Iterator<Item = &'static (&'static str, Rule)> {
    let groups: [&[_]; 5] = [
        values::RULES,
        logs::RULES,
        topics::RULES,
        queues::RULES,
        faults::RULES,
    ];
    groups.into_iter().flatten()
}

/// Returns the names of all rules.
#[must_use]
pub fn rule_names() -> Vec<&'static str> {
    rules().map(|(name, _)| *name).collect()
}

/// Checks a store against the rules of [`Store`](crate::Store).
///
/// The test uses keys of its own, which begin with `contract-test/` and expire within an hour. It needs a
/// tokio runtime with time. It does not test what is left after a crash.
///
/// # Errors
/// Fails with the first rule that the store breaks.
pub async fn check(backend: &dyn ContractBackend) -> Result<(), ContractViolation> {
    let setup = "a store can be opened twice";
    let open = async || {
        backend
            .open()
            .await
            .map_err(|error| violation(setup, error))
    };
    let nanos = SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap_or_default()
        .as_nanos();
    let test = Test {
        backend,
        store: open().await?,
        other: open().await?,
        prefix: format!("contract-test/{}-{nanos}", std::process::id()),
    };
    for (rule, run) in rules() {
        match tokio::time::timeout(RULE_TIMEOUT, run(&test)).await {
            Ok(Ok(())) => {}
            Ok(Err(broken)) => return Err(violation(rule, broken)),
            Err(_) => return Err(violation(rule, Broken("no answer for 60 s".to_owned()))),
        }
    }
    Ok(())
}

fn violation(rule: &'static str, broken: impl Into<Broken>) -> ContractViolation {
    let Broken(found) = broken.into();
    ContractViolation { rule, found }
}

#[cfg(test)]
mod tests;
