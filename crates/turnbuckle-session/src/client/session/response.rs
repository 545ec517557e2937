//! Results of requests, and the reasons why there is none.

use turnbuckle_types::base::debug_fields;

use bytes::Bytes;
use turnbuckle_types::ErrorObject;

use crate::client::link_error::LinkError;
use crate::client::timeouts::TimeoutKind;
use crate::shared::frame_range::FrameRange;

/// A result as it was received: JSON inside its frame.
#[derive(Clone)]
pub struct RawResult {
    frame: Bytes,
    span: FrameRange,
}

impl RawResult {
    pub(crate) fn new(frame: &Bytes, part: &str) -> Self {
        Self {
            frame: frame.clone(),
            span: FrameRange::locate(frame, part),
        }
    }

    /// Returns the JSON.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.span.of_frame(&self.frame)).unwrap_or_default()
    }
}

debug_fields!(RawResult { bytes = |it| it.as_str().len() });

/// The reason why a request has no result.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum RequestError {
    /// The server answered with an error.
    ErrorResponse(ErrorObject),
    /// The link could not deliver the request or its response.
    Link {
        /// The cause.
        error: LinkError,
        /// True if the server may have acted upon the request. Where this is `false`, the request may
        /// be sent again.
        sent: bool,
    },
    /// No response came in time. The server was sent a cancellation.
    TimedOut(TimeoutKind),
    /// Too many requests wait for responses already.
    TooManyRequests {
        /// The limit (`ClientLimits::max_outgoing_requests`).
        limit: usize,
    },
    /// The server sent too many bytes of progress, log messages and questions about the request. It
    /// was sent a cancellation.
    TooManyBytes {
        /// The limit (`ClientLimits::max_request_bytes`).
        limit: usize,
    },
    /// The request cannot be written in a form that can be sent.
    Unwritable(String),
}
