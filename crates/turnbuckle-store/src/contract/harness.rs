//! One run of the test, and the steps that rules are made of.

use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::backend::{ContractBackend, ContractFuture};
use crate::error::{StoreError, StoreErrorKind};
use crate::store::Store;
use crate::types::StoreKey;

/// The time within which an operation of a store that has failed fails.
pub(super) const FAILURE_TIMEOUT: Duration = Duration::from_secs(10);

/// A time to live that is tested to its end.
pub(super) const SHORT: Duration = Duration::from_secs(2);

/// A time to live that does not end during the test.
pub(super) const LONG: Duration = Duration::from_secs(3600);

/// The time that passes so that `SHORT` has ended.
pub(super) const PAST_SHORT: Duration = Duration::from_millis(2100);

/// The reason that a rule does not hold.
pub(super) struct Broken(pub(super) String);

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Self(format!("{:?}: {error}", error.kind()))
    }
}

pub(super) type Checked = Result<(), Broken>;
pub(super) type Rule = for<'t> fn(&'t Test<'_>) -> ContractFuture<'t, Checked>;

/// A run of the test.
pub(super) struct Test<'b> {
    pub(super) backend: &'b dyn ContractBackend,
    pub(super) store: Arc<dyn Store>,
    /// A handle of another process, as it were.
    pub(super) other: Arc<dyn Store>,
    /// The beginning of each key, so that runs do not disturb each other.
    pub(super) prefix: String,
}

impl Test<'_> {
    /// Returns a key of this run.
    pub(super) fn key(&self, name: &str) -> Result<StoreKey, Broken> {
        Ok(StoreKey::new(format!("{}/{name}", self.prefix))?)
    }

    pub(super) async fn expire(&self) {
        self.backend.advance(PAST_SHORT).await;
    }
}

/// Fails unless both are equal.
pub(super) fn expect<T: PartialEq + Debug>(step: &str, found: T, expected: T) -> Checked {
    if found == expected {
        return Ok(());
    }
    let shown = |it: &T| {
        let text = format!("{it:?}");
        text.chars().take(200).collect::<String>()
    };
    let (found, expected) = (shown(&found), shown(&expected));
    Err(Broken(format!(
        "{step}: expected {expected}, found {found}"
    )))
}

/// Fails unless an operation failed with this kind of error.
pub(super) fn expect_error<T: Debug>(
    step: &str,
    result: Result<T, StoreError>,
    kinds: &[StoreErrorKind],
) -> Checked {
    match result {
        Err(error) if kinds.contains(&error.kind()) => Ok(()),
        Err(error) => Err(Broken(format!(
            "{step}: expected an error of {kinds:?}, found {:?}: {error}",
            error.kind()
        ))),
        Ok(done) => Err(Broken(format!(
            "{step}: expected an error of {kinds:?}, found {done:?}"
        ))),
    }
}

/// Returns the value, or fails if there is none.
pub(super) fn present<T>(step: &str, value: Option<T>) -> Result<T, Broken> {
    value.ok_or_else(|| Broken(format!("{step}: found nothing")))
}

pub(super) fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

/// Returns a text of `length` bytes.
pub(super) fn fill(length: usize) -> Bytes {
    vec![b'v'; length].into()
}

/// Runs `count` futures side by side and returns their results.
pub(super) async fn all<T, F>(count: u32, make: impl Fn(u32) -> F) -> Result<Vec<T>, Broken>
where
    T: Send + 'static,
    F: Future<Output = Result<T, StoreError>> + Send + 'static,
{
    let tasks: Vec<_> = (0..count)
        .map(|number| tokio::spawn(make(number)))
        .collect();
    let mut results = Vec::with_capacity(tasks.len());
    for task in tasks {
        let result = task.await.map_err(|error| Broken(error.to_string()))?;
        results.push(result?);
    }
    Ok(results)
}
