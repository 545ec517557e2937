//! The duplex transport of one HTTP+SSE connection: a queue of posted messages, and a buffer of
//! events for the stream.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, mpsc};
use turnbuckle_session::internal::{MemoryExceeded, OwnerAccount};
use turnbuckle_session::transport::{Frame, Transport};

use crate::event;

/// The room that a posted message takes at least, which bounds the number of messages too.
const MIN_MESSAGE_BYTES: usize = 1024;

/// The queue of posted messages that wait to be received.
#[derive(Debug)]
pub(crate) struct MessageQueue {
    /// Bounded by `room`, of which every queued message holds its size.
    messages: mpsc::UnboundedSender<PostedMessage>,
    room: Arc<Semaphore>,
    capacity: usize,
    bodies: Arc<Semaphore>,
    /// The account of the messages.
    account: OwnerAccount,
}

#[derive(Debug)]
struct PostedMessage {
    frame: Bytes,
    /// The message's room, free again when the message is received.
    _room: OwnedSemaphorePermit,
}

/// The reason why a message was not queued.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PushError {
    Closed,
    NoMemory(MemoryExceeded),
}

/// The error of a connection that has ended and takes no more messages.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConnectionClosed;

impl MessageQueue {
    /// Returns the account of the connection.
    pub(crate) fn account(&self) -> &OwnerAccount {
        &self.account
    }

    /// Waits for a permit to receive the body of a message. Few bodies are received at a time.
    pub(crate) async fn permit(&self) -> Result<SemaphorePermit<'_>, ConnectionClosed> {
        self.bodies.acquire().await.map_err(|_| ConnectionClosed)
    }

    /// Returns a permit to receive the body of a message, if there is one now.
    #[cfg(feature = "store")]
    pub(crate) fn permit_now(&self) -> Option<OwnedSemaphorePermit> {
        self.bodies.clone().try_acquire_owned().ok()
    }

    /// Waits for room and queues a message. One message always fits an empty queue. The message is
    /// copied, since a slice of a larger buffer would keep more memory than its size.
    pub(crate) async fn push(&self, frame: &[u8]) -> Result<(), PushError> {
        let size = frame.len().clamp(MIN_MESSAGE_BYTES, self.capacity);
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let room = self.room.clone().acquire_many_owned(size).await;
        let memory = self.account.memory().reserve(frame.len());
        let message = PostedMessage {
            _room: room.map_err(|_| PushError::Closed)?,
            frame: memory
                .map_err(PushError::NoMemory)?
                .attach(Bytes::copy_from_slice(frame)),
        };
        self.messages.send(message).map_err(|_| PushError::Closed)
    }
}

/// The events that wait to be sent. One task writes and sends them.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventBuffer(Arc<Mutex<Vec<u8>>>);

impl EventBuffer {
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Takes all events, or returns `None` if there are none.
    pub(crate) fn take(&self) -> Option<Bytes> {
        let text = std::mem::take(&mut *self.lock());
        (!text.is_empty()).then(|| text.into())
    }
}

/// A future that ends the input of a connection when it is ready.
pub(crate) type EndOfInput = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// The server's end of an HTTP+SSE connection, as a transport of frames.
pub(crate) struct SseTransport {
    messages: mpsc::UnboundedReceiver<PostedMessage>,
    room: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
    buffer: EventBuffer,
    /// Ends the input unless a message was received before.
    handshake_deadline: Option<EndOfInput>,
    /// Ends the input when the server shuts down.
    shutdown: Option<EndOfInput>,
}

/// Opens the transport of a connection, whose messages count on `account`: its queue, which holds
/// `capacity` bytes of messages and lets `max_bodies` bodies be received at a time, its event buffer,
/// and the server's end.
pub(crate) fn open_transport(
    account: OwnerAccount,
    capacity: usize,
    max_bodies: usize,
    handshake_deadline: EndOfInput,
    shutdown: EndOfInput,
) -> (MessageQueue, EventBuffer, SseTransport) {
    let capacity = capacity.clamp(
        MIN_MESSAGE_BYTES,
        Semaphore::MAX_PERMITS.min(u32::MAX as usize),
    );
    let room = Arc::new(Semaphore::new(capacity));
    let bodies = Arc::new(Semaphore::new(max_bodies.clamp(1, Semaphore::MAX_PERMITS)));
    let (sender, messages) = mpsc::unbounded_channel();
    let buffer = EventBuffer::default();
    let transport = SseTransport {
        messages,
        room: room.clone(),
        bodies: bodies.clone(),
        buffer: buffer.clone(),
        handshake_deadline: Some(handshake_deadline),
        shutdown: Some(shutdown),
    };
    let queue = MessageQueue {
        messages: sender,
        room,
        capacity,
        bodies,
        account,
    };
    (queue, buffer, transport)
}

impl SseTransport {
    /// Closes the queue: messages that are in it are still received, and no more are taken.
    fn end(&mut self) {
        self.bodies.close();
        self.room.close();
        self.messages.close();
    }

    /// Polls what ends the input, and returns whether it is over.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> bool {
        let mut is_over = false;
        for end in [&mut self.handshake_deadline, &mut self.shutdown] {
            let polled = end.as_mut().map(|it| it.as_mut().poll(cx).is_ready());
            if polled == Some(true) {
                *end = None;
                is_over = true;
            }
        }
        is_over
    }
}

impl Transport for SseTransport {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Frame>> {
        let mut message = self.messages.poll_recv(cx);
        if message.is_pending() && self.poll_end(cx) {
            self.end();
            message = self.messages.poll_recv(cx);
        }
        message.map(|message| {
            let frame = message?.frame;
            self.handshake_deadline = None;
            Some(Frame::Message(frame))
        })
    }

    fn queue(&mut self, frame: &[u8]) {
        event::append_message(&mut self.buffer.lock(), frame);
    }

    fn queued_bytes(&self) -> usize {
        self.buffer.lock().len()
    }

    /// Returns ready when the stream has taken the buffer, which polls the connection again after
    /// that.
    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.queued_bytes() {
            0 => Poll::Ready(Ok(())),
            _ => Poll::Pending,
        }
    }
}

impl Drop for SseTransport {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests;
