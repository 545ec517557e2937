//! The reply sink of a POST of the legacy era.

use std::sync::{Arc, OnceLock};

use tokio::sync::futures::Notified;
use turnbuckle_session::internal::{EncodedResponse, InboundFrame, QueueFull, ReplySink};
#[cfg(feature = "store")]
use turnbuckle_types::RequestId;
use turnbuckle_wire::era::Params;
#[cfg(feature = "store")]
use turnbuckle_wire::rpc;
use turnbuckle_wire::rpc::Message;

use super::sessions::HttpSession;
#[cfg(feature = "store")]
use crate::streams::OpenRequests;
use crate::streams::SessionStream;

/// The reply sink of one POST of the legacy era.
#[derive(Debug)]
pub(super) enum PostSink {
    /// A stream of a session. It is made when something is sent that is not an immediate response.
    Session {
        session: Arc<HttpSession>,
        stream: OnceLock<Arc<SessionStream>>,
        /// The requests of the POST, if other instances serve the session too.
        #[cfg(feature = "store")]
        requests: PostRequests,
    },
    /// The stream of a POST without a session.
    Single(Arc<SessionStream>),
}

impl PostSink {
    /// Creates the sink of a POST with this message, or with the batch in the frame.
    pub(super) fn of_session(
        session: &Arc<HttpSession>,
        message: Option<&Message<'_, Params<'_>>>,
        frame: InboundFrame<'_>,
    ) -> Arc<Self> {
        #[cfg(not(feature = "store"))]
        let _ = (message, frame);
        Arc::new(Self::Session {
            session: session.clone(),
            stream: OnceLock::new(),
            #[cfg(feature = "store")]
            requests: PostRequests::find(session, message, frame),
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
            Self::Session {
                session, stream, ..
            } => stream.get_or_init(|| {
                let stream = session.new_stream();
                stream.expect_reader();
                stream
            }),
        }
    }

    /// Copies the stream for other instances, if they serve the session too.
    #[cfg(feature = "store")]
    pub(super) fn copy_stream(&self) {
        let Self::Session {
            session,
            stream,
            requests,
        } = self
        else {
            return;
        };
        if let (Some(stream), Some(copies), Some(legacy)) =
            (stream.get(), &session.copies, session.session.legacy())
        {
            let ids = requests.first.iter().chain(&requests.others).cloned();
            copies.copy(stream, OpenRequests::new(ids, legacy.features()));
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

/// The ids of the requests of a POST.
#[cfg(feature = "store")]
#[derive(Debug, Default)]
pub(super) struct PostRequests {
    first: Option<RequestId>,
    /// The ids of a batch.
    others: Vec<RequestId>,
}

#[cfg(feature = "store")]
impl PostRequests {
    /// Returns the requests of a POST if other instances serve the session too, and none otherwise.
    fn find(
        session: &HttpSession,
        message: Option<&Message<'_, Params<'_>>>,
        frame: InboundFrame<'_>,
    ) -> Self {
        if session.copies.is_none() {
            return Self::default();
        }
        let id_of = |message: &Message<'_, Params<'_>>| match message {
            Message::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        if let Some(message) = message {
            return Self {
                first: id_of(message),
                others: Vec::new(),
            };
        }
        let max = session.session.limits().max_batch_messages;
        let elements = rpc::split_batch(frame.text, max).unwrap_or_default();
        let ids = elements
            .iter()
            .filter_map(|text| id_of(&rpc::decode(text).ok()?));
        Self {
            first: None,
            others: ids.collect(),
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
