//! The two directions of a connection: what was posted, and what is to stand on the stream.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, mpsc};
use turnbuckle_session::{Frame, Transport};

use crate::event;

/// What a posted message takes up at least of the room for all: so their number is bounded too.
const LEAST: usize = 1024;

/// Where posted messages wait until they are taken.
#[derive(Debug)]
pub(crate) struct Inbox {
    /// Bounded by the room that every message in it takes up.
    posts: mpsc::UnboundedSender<Post>,
    room: Arc<Semaphore>,
    capacity: usize,
    turns: Arc<Semaphore>,
}

#[derive(Debug)]
struct Post {
    frame: Bytes,
    /// Free again when the message is taken.
    _room: OwnedSemaphorePermit,
}

/// The connection has ended: nothing more is taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Gone;

impl Inbox {
    /// Leave to bring a message, as soon as there are not too many who do.
    pub(crate) async fn turn(&self) -> Result<SemaphorePermit<'_>, Gone> {
        self.turns.acquire().await.map_err(|_| Gone)
    }

    /// Hands a message over, once there is room for it. One message always fits an empty inbox.
    /// What waits in it is a copy: a part of a body, or of what a connection has read, would hold
    /// the whole, and take up more than its room.
    pub(crate) async fn put(&self, frame: &[u8]) -> Result<(), Gone> {
        let size = frame.len().clamp(LEAST, self.capacity);
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let room = self.room.clone().acquire_many_owned(size).await;
        let post = Post {
            _room: room.map_err(|_| Gone)?,
            frame: Bytes::copy_from_slice(frame),
        };
        self.posts.send(post).map_err(|_| Gone)
    }
}

/// Events that wait to leave. Both who writes them and who sends them are polled by one task.
#[derive(Debug, Clone, Default)]
pub(crate) struct Page(Arc<Mutex<Vec<u8>>>);

impl Page {
    fn text(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text().is_empty()
    }

    /// Takes everything; `None` when there is nothing.
    pub(crate) fn take(&self) -> Option<Bytes> {
        let text = std::mem::take(&mut *self.text());
        (!text.is_empty()).then(|| text.into())
    }
}

/// What ends the input of a connection.
pub(crate) type Ending = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// The server's end of a connection.
pub(crate) struct Lanes {
    posts: mpsc::UnboundedReceiver<Post>,
    room: Arc<Semaphore>,
    turns: Arc<Semaphore>,
    page: Page,
    /// When the first message has to be there.
    first: Option<Ending>,
    /// When no more are taken.
    last: Option<Ending>,
}

/// The directions of a connection: its inbox, that holds so many bytes at least and takes so many
/// bodies at a time, and its page.
pub(crate) fn lanes(
    capacity: usize,
    turns: usize,
    first: Ending,
    last: Ending,
) -> (Inbox, Page, Lanes) {
    let capacity = capacity.clamp(LEAST, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
    let room = Arc::new(Semaphore::new(capacity));
    let turns = Arc::new(Semaphore::new(turns.clamp(1, Semaphore::MAX_PERMITS)));
    let (sender, posts) = mpsc::unbounded_channel();
    let page = Page::default();
    let lanes = Lanes {
        posts,
        room: room.clone(),
        turns: turns.clone(),
        page: page.clone(),
        first: Some(first),
        last: Some(last),
    };
    let inbox = Inbox {
        posts: sender,
        room,
        capacity,
        turns,
    };
    (inbox, page, lanes)
}

impl Lanes {
    /// Takes no more than what is there already.
    fn end(&mut self) {
        self.turns.close();
        self.room.close();
        self.posts.close();
    }

    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        let mut reached = false;
        for ending in [&mut self.first, &mut self.last] {
            let polled = ending.as_mut().map(|it| it.as_mut().poll(cx).is_ready());
            if polled == Some(true) {
                *ending = None;
                reached = true;
            }
        }
        reached
    }
}

impl Transport for Lanes {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Frame>> {
        let mut post = self.posts.poll_recv(cx);
        if post.is_pending() && self.is_over(cx) {
            self.end();
            post = self.posts.poll_recv(cx);
        }
        post.map(|post| {
            let frame = post?.frame;
            self.first = None;
            Some(Frame::Message(frame))
        })
    }

    fn queue(&mut self, frame: &[u8]) {
        event::append_message(&mut self.page.text(), frame);
    }

    fn queued(&self) -> usize {
        self.page.text().len()
    }

    /// Whoever takes the page polls again after that.
    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.queued() {
            0 => Poll::Ready(Ok(())),
            _ => Poll::Pending,
        }
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests;
