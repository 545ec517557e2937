//! The options of one request.

use std::sync::Arc;

use turnbuckle_session::internal::ProgressHandler;
use turnbuckle_session::transport::{RequestTag, Timeouts};
use turnbuckle_types::{ExtensionRequest, LoggingLevel, RawObject};

use crate::error::Error;
use crate::request::progress::ProgressListener;
use crate::request::task::handle::TaskHandle;

/// A function that is told of the task that a call became.
pub(crate) type TaskCallback = Arc<dyn Fn(&TaskHandle) + Send + Sync>;

/// The options of one request.
#[derive(Clone, Default)]
pub(crate) struct RequestOptions {
    pub(crate) timeouts: Option<Timeouts>,
    pub(crate) listener: Option<Arc<dyn ProgressHandler>>,
    /// Also `listener`, if its reader must be told when the request has ended.
    pub(crate) progress: Option<Arc<ProgressListener>>,
    pub(crate) log_level: Option<LoggingLevel>,
    /// The capabilities of the client that the request is for, instead of those of this one.
    pub(crate) capabilities: Option<Arc<RawObject>>,
    pub(crate) tag: Option<RequestTag>,
    /// True if the request may be sent again although the server may have acted on it.
    pub(crate) allow_retry: bool,
    /// True if the server is asked although a cached result may still be used.
    pub(crate) bypass_cache: bool,
    /// The most bytes of a result.
    pub(crate) max_result_bytes: Option<usize>,
    /// True if structured content is not held against the output schema of the tool.
    pub(crate) skips_output_check: bool,
    /// True if the content blocks of a tool's result are skipped.
    pub(crate) structured_only: bool,
    /// True if the call may become a task, which is then returned instead of its result.
    pub(crate) starts_task: bool,
    /// Called when the call has become a task that is waited for.
    pub(crate) on_task: Option<TaskCallback>,
    /// The facts about a request of an extension.
    pub(crate) extension: Option<&'static ExtensionFacts>,
}

impl RequestOptions {
    /// Returns whether the call is to be a task where the server leaves that to the client.
    pub(crate) fn wants_task(&self) -> bool {
        self.starts_task || self.on_task.is_some()
    }

    /// Checks the bytes of a result.
    ///
    /// # Errors
    /// If there are more than the request allows.
    pub(crate) fn check_result_size(&self, method: &str, result: &str) -> Result<(), Error> {
        let bytes = result.len();
        match self.max_result_bytes {
            Some(limit) if bytes > limit => Err(Error::ResultTooLarge {
                method: method.to_owned(),
                bytes,
                limit,
            }),
            _ => Ok(()),
        }
    }
}

/// The facts about a request of an extension.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExtensionFacts {
    /// The id of the extension.
    pub(crate) id: &'static str,
    /// The member of the parameters that the header `Mcp-Name` mirrors.
    pub(crate) mirrored_param: Option<&'static str>,
    /// True if the request may be sent again although the server may have acted on it.
    pub(crate) is_safe_to_resend: bool,
}

impl ExtensionFacts {
    pub(crate) const fn new<M: ExtensionRequest>() -> Self {
        Self {
            id: M::EXTENSION,
            mirrored_param: M::MIRRORED_PARAM,
            is_safe_to_resend: M::IS_SAFE_TO_RESEND,
        }
    }
}
