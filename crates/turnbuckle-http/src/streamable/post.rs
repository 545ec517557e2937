//! The way back of what was posted in the legacy era: a stream, made when there is something for
//! one.

use std::sync::{Arc, OnceLock};

use tokio::sync::futures::Notified;
use turnbuckle_session::{Answer, Full, Route};

use super::sessions::Open;
use super::stream::Stream;

/// The way back of one POST. An answer that is there at once leaves without it.
#[derive(Debug)]
pub(super) enum Post {
    /// To a client that has a session.
    InSession {
        open: Arc<Open>,
        stream: OnceLock<Arc<Stream>>,
    },
    /// To one that has none.
    Alone(Arc<Stream>),
}

impl Post {
    pub(super) fn in_session(open: &Arc<Open>) -> Arc<Self> {
        Arc::new(Self::InSession {
            open: open.clone(),
            stream: OnceLock::new(),
        })
    }

    pub(super) fn alone(stream: Arc<Stream>) -> Arc<Self> {
        Arc::new(Self::Alone(stream))
    }

    /// The stream. Whoever posted is about to read it: nothing is forgotten before.
    pub(super) fn stream(&self) -> &Arc<Stream> {
        match self {
            Self::Alone(stream) => stream,
            Self::InSession { open, stream } => stream.get_or_init(|| {
                let stream = open.new_stream(open.general.replay());
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

impl Route for Post {
    fn send(&self, frame: Vec<u8>) -> Result<(), Full> {
        self.stream().send(frame)
    }

    fn space(&self) -> Notified<'_> {
        self.stream().space()
    }

    fn part(&self, answer: Answer) -> Result<(), Answer> {
        self.stream().part(answer)
    }

    fn done(&self, answer: Option<Answer>) {
        self.stream().done(answer);
    }

    fn is_heard(&self) -> bool {
        self.stream().is_heard()
    }

    fn stir(&self) {
        self.stream().stir();
    }

    fn pause(&self) {
        self.stream().pause();
    }
}
