//! The way back of what was posted in the legacy era: a stream, made when there is something for
//! one.

use std::sync::{Arc, OnceLock};

use tokio::sync::futures::Notified;
use turnbuckle_session::{EncodedResponse, QueueFull, ReplySink};

use super::sessions::HttpSession;
use super::stream::SessionStream;

/// The way back of one POST. An answer that is there at once leaves without it.
#[derive(Debug)]
pub(super) enum PostSink {
    /// To a client that has a session.
    InSession {
        open: Arc<HttpSession>,
        stream: OnceLock<Arc<SessionStream>>,
    },
    /// To one that has none.
    Alone(Arc<SessionStream>),
}

impl PostSink {
    pub(super) fn in_session(open: &Arc<HttpSession>) -> Arc<Self> {
        Arc::new(Self::InSession {
            open: open.clone(),
            stream: OnceLock::new(),
        })
    }

    pub(super) fn alone(stream: Arc<SessionStream>) -> Arc<Self> {
        Arc::new(Self::Alone(stream))
    }

    /// The stream. Whoever posted is about to read it: nothing is forgotten before.
    pub(super) fn stream(&self) -> &Arc<SessionStream> {
        match self {
            Self::Alone(stream) => stream,
            Self::InSession { open, stream } => stream.get_or_init(|| {
                let stream = open.new_stream();
                stream.expect_reader();
                stream
            }),
        }
    }

    /// Whether the request said nothing yet.
    pub(super) fn is_silent(&self) -> bool {
        match self {
            Self::Alone(stream) => stream.is_silent(),
            Self::InSession { stream, .. } => stream.get().is_none_or(|it| it.is_silent()),
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

    fn send_batch_response(&self, answer: EncodedResponse) -> Result<(), EncodedResponse> {
        self.stream().send_batch_response(answer)
    }

    fn finish(&self, answer: Option<EncodedResponse>) {
        self.stream().finish(answer);
    }

    fn has_reader(&self) -> bool {
        self.stream().has_reader()
    }

    fn stir(&self) {
        self.stream().stir();
    }

    fn close_sse_stream(&self) {
        self.stream().close_sse_stream();
    }
}
