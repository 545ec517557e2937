//! The places from which assertions about a user or a workload come.

use std::fmt;
use std::future::Future;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::client::store::BoxFuture;
use crate::secret::Secret;

/// The error of a function that provides assertions.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A source may ask a person to log in, which takes a while.
const SOURCE_TIMEOUT: Duration = Duration::from_secs(300);
const MAX_ASSERTION_BYTES: usize = 128 * 1024;

/// The parameters of an assertion, for the function that provides it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AssertionRequest {
    /// The issuer of the authorization server that receives the assertion. It is the usual audience.
    pub issuer: String,
    /// The token endpoint of the authorization server. Some servers want this as the audience.
    pub token_endpoint: String,
    /// The resource that the token is for.
    pub resource: Option<String>,
}

type SourceFn =
    dyn Fn(AssertionRequest) -> BoxFuture<'static, Result<Secret, BoxError>> + Send + Sync;

/// A function or a file that provides assertions.
#[derive(Clone)]
pub(super) enum AssertionSource {
    Function(Arc<SourceFn>),
    File(PathBuf),
}

impl AssertionSource {
    pub(super) fn from_fn<F>(
        function: impl Fn(AssertionRequest) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Secret, BoxError>> + Send + 'static,
    {
        Self::Function(Arc::new(move |request| Box::pin(function(request))))
    }

    /// Returns a fresh assertion, without spaces around it. A file is read anew each time.
    ///
    /// # Errors
    /// Fails when the source fails, takes longer than five minutes or gives nothing usable.
    pub(super) async fn assertion(&self, request: AssertionRequest) -> Result<Secret, String> {
        let provide = async {
            match self {
                Self::Function(function) => function(request).await,
                Self::File(path) => read_file(path.clone()).await,
            }
        };
        let provided = tokio::time::timeout(SOURCE_TIMEOUT, provide).await;
        let provided = provided.map_err(|_| "it took longer than five minutes".to_owned())?;
        let assertion = provided.map_err(|error| error.to_string())?;
        // With the spaces around it: a file is read up to the limit, and must not be cut.
        if assertion.expose().len() > MAX_ASSERTION_BYTES {
            return Err(format!("it is longer than {MAX_ASSERTION_BYTES} bytes"));
        }
        let text = assertion.expose().trim();
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        Ok(Secret::new(text))
    }
}

async fn read_file(path: PathBuf) -> Result<Secret, BoxError> {
    tokio::task::spawn_blocking(move || read_bounded(&path)).await?
}

fn read_bounded(path: &Path) -> Result<Secret, BoxError> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut text = String::new();
    let limit = u64::try_from(MAX_ASSERTION_BYTES)?.saturating_add(1);
    file.take(limit).read_to_string(&mut text).map_err(failed)?;
    Ok(Secret::new(text))
}

impl fmt::Debug for AssertionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function(_) => f.write_str("Function"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}
