//! Bodies of responses, and the streams of a legacy session, which a client can resume.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;

use super::super::lock;
use super::faults::Faults;
use super::outlet::Outlet;
use super::session::Session;

/// Streams that a session keeps for a client that comes back.
const MAX_STREAMS: usize = 100;

/// The body of a response.
pub struct SoundBody {
    frames: UnboundedReceiver<Bytes>,
    /// The work that ends when the body is dropped.
    work: Option<AbortHandle>,
}

impl SoundBody {
    /// Returns a body without a byte.
    pub(crate) fn empty() -> Self {
        Self::new(unbounded_channel().1)
    }

    /// Returns a body of these bytes.
    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        let (to, frames) = unbounded_channel();
        // The receiver is there.
        let _ = to.send(bytes.into());
        Self::new(frames)
    }

    pub(super) fn new(frames: UnboundedReceiver<Bytes>) -> Self {
        Self { frames, work: None }
    }

    /// Ends a work when the body is dropped.
    pub(super) fn ending(mut self, work: AbortHandle) -> Self {
        self.work = Some(work);
        self
    }
}

impl Drop for SoundBody {
    fn drop(&mut self) {
        if let Some(work) = &self.work {
            work.abort();
        }
    }
}

impl Body for SoundBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = self.frames.poll_recv(cx);
        frame.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// A legacy session over HTTP.
#[derive(Default)]
pub(super) struct HttpSession {
    pub(super) session: Arc<Session>,
    streams: Mutex<Streams>,
}

#[derive(Default)]
struct Streams {
    opened: usize,
    kept: Vec<Arc<EventStream>>,
}

impl HttpSession {
    /// Opens a stream of the session.
    pub(super) fn open_stream(&self, faults: Arc<Faults>) -> Arc<EventStream> {
        let mut streams = lock(&self.streams);
        streams.opened += 1;
        if streams.kept.len() == MAX_STREAMS {
            streams.kept.remove(0);
        }
        let stream = Arc::new(EventStream {
            number: streams.opened,
            faults,
            log: Mutex::default(),
        });
        streams.kept.push(stream.clone());
        stream
    }

    /// Returns the rest of the stream that the client has read up to an event.
    pub(super) fn resume(&self, last_event_id: &str) -> Option<UnboundedReceiver<Bytes>> {
        let (stream, event) = last_event_id.split_once('-')?;
        let stream: usize = stream.parse().ok()?;
        let event: usize = event.parse().ok()?;
        let streams = lock(&self.streams);
        let stream = streams.kept.iter().find(|kept| kept.number == stream)?;
        stream.read(event)
    }

    /// Ends every stream.
    pub(super) fn close(&self) {
        for stream in &lock(&self.streams).kept {
            stream.end();
        }
    }
}

/// A stream of a session: its events, and who reads them.
pub(super) struct EventStream {
    number: usize,
    faults: Arc<Faults>,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    events: Vec<Bytes>,
    is_over: bool,
    reader: Option<UnboundedSender<Bytes>>,
}

impl EventStream {
    /// Adds an event without a message, which tells the client where it is.
    pub(super) fn prime(&self) {
        self.push("");
    }

    /// Adds a message.
    pub(super) fn send(&self, message: &Value) {
        self.push(&message.to_string());
    }

    /// Cuts the reader off; the stream goes on.
    pub(super) fn cut(&self) {
        lock(&self.log).reader = None;
    }

    fn push(&self, data: &str) {
        let mut log = lock(&self.log);
        let id = format!("{}-{}", self.number, log.events.len() + 1);
        let event = self.faults.event_of(format!("id: {id}\ndata: {data}\n\n"));
        log.events.push(event.clone());
        if let Some(reader) = &log.reader {
            let _ = reader.send(event);
        }
    }

    /// Returns the events after that many, and those to come; `None` if there are not so many. An
    /// earlier reader is cut off.
    pub(super) fn read(&self, after: usize) -> Option<UnboundedReceiver<Bytes>> {
        let (to, frames) = unbounded_channel();
        let mut log = lock(&self.log);
        for event in log.events.get(after..)? {
            let _ = to.send(event.clone());
        }
        log.reader = (!log.is_over).then_some(to);
        Some(frames)
    }

    /// Ends the stream.
    pub(super) fn end(&self) {
        let mut log = lock(&self.log);
        log.is_over = true;
        log.reader = None;
    }
}

/// A connection of the first revision over HTTP: its session, and its stream.
pub(super) struct SseConnection {
    pub(super) session: Arc<Session>,
    pub(super) outlet: Outlet,
}
