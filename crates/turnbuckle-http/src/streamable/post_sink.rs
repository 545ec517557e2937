//! The reply sink of a POST of the legacy era.

use std::sync::{Arc, OnceLock};

use tokio::sync::futures::Notified;
use turnbuckle_session::internal::{EncodedResponse, QueueFull, ReplySink};

use super::sessions::HttpSession;
use crate::streams::SessionStream;

/// The reply sink of one POST of the legacy era.
#[derive(Debug)]
pub(super) enum PostSink {
    /// A stream of a session. It is made when something is sent that is not an immediate response.
    Session {
        session: Arc<HttpSession>,
        stream: OnceLock<Arc<SessionStream>>,
    },
    /// The stream of a POST without a session.
    Single(Arc<SessionStream>),
}

impl PostSink {
    pub(super) fn of_session(session: &Arc<HttpSession>) -> Arc<Self> {
        Arc::new(Self::Session {
            session: session.clone(),
            stream: OnceLock::new(),
        })
    }

    pub(super) fn single(stream: Arc<SessionStream>) -> Arc<Self> {
        Arc::new(Self::Single(stream))
    }

    /// Returns the stream. It keeps everything for the response to the POST, which is about to read
    /// it.
    pub(super) fn stream(&self) -> &Arc<SessionStream> {
        match self {
            Self::Single(stream) => stream,
            Self::Session { session, stream } => stream.get_or_init(|| {
                let stream = session.new_stream();
                stream.expect_reader();
                stream
            }),
        }
    }

    /// Returns whether nothing was sent that has to be an event of a stream.
    pub(super) fn is_silent(&self) -> bool {
        match self {
            Self::Single(stream) => stream.is_silent(),
            Self::Session { stream, .. } => stream.get().is_none_or(|stream| stream.is_silent()),
        }
    }
}

impl ReplySink for PostSink {
    fn send(&self, frame: Vec<u8>) -> Result<(), QueueFull> {
        self.stream().send(frame)
    }

    fn wait_for_space(&self) -> Notified<'_> {
        self.stream().wait_for_space()
    }

    fn send_batch_response(&self, response: EncodedResponse) -> Option<EncodedResponse> {
        self.stream().send_batch_response(response)
    }

    fn finish(&self, response: Option<EncodedResponse>) {
        self.stream().finish(response);
    }

    fn has_reader(&self) -> bool {
        self.stream().has_reader()
    }

    fn close_sse_stream(&self) {
        self.stream().close_sse_stream();
    }
}
