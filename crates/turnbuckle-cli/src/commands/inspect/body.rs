//! The body of a request, bounded in size and time.

use std::time::Duration;

use http::StatusCode;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};

/// The time that a body may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);

/// The reason why a body was not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyFault {
    #[error("the body has more than {0} bytes")]
    TooLong(usize),
    #[error("the body took more than {} seconds", BODY_TIMEOUT.as_secs())]
    TooSlow,
    #[error("the body was cut off")]
    Lost,
}

impl BodyFault {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Lost => StatusCode::BAD_REQUEST,
        }
    }
}

/// Reads a body of at most `max_bytes`.
pub(super) async fn read_body(body: Incoming, max_bytes: usize) -> Result<Vec<u8>, BodyFault> {
    // A length that is declared is known before the first byte.
    if body.size_hint().lower() > max_bytes as u64 {
        return Err(BodyFault::TooLong(max_bytes));
    }
    let reading = Limited::new(body, max_bytes).collect();
    match tokio::time::timeout(BODY_TIMEOUT, reading).await {
        Ok(Ok(body)) => Ok(body.to_bytes().into()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyFault::TooLong(max_bytes)),
        Ok(Err(_)) => Err(BodyFault::Lost),
        Err(_) => Err(BodyFault::TooSlow),
    }
}
