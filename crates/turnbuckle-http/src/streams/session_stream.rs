//! One SSE stream of a legacy session. A stream outlives its connections: what was sent on it is
//! kept in its [`ReplayLog`] and can be replayed to a client that comes back.
//!
//! Specification: basic/transports, "Resumability and Redelivery" (2025-11-25).

#[cfg(feature = "store")]
use std::sync::OnceLock;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::Instant;
use turnbuckle_session::internal::{
    EncodedResponse, MemoryAccount, MemoryPermit, QueueFull, ReplySink,
};
use turnbuckle_types::base::change_position::ChangePosition;

use super::replay_log::{ReplayBudget, ReplayLog};
#[cfg(feature = "store")]
use super::stored::StreamCopy;
use crate::event::{StreamName, StreamPosition};

mod reader;
mod readers;
#[cfg(feature = "store")]
mod remote_reader;

pub(crate) use reader::{ReaderReservation, StreamReader};
use readers::Readers;
#[cfg(feature = "store")]
pub(crate) use remote_reader::{MAX_WAITING, RemoteReader, StandaloneMessage};

/// The largest number of open connections of one stream; one more closes the oldest.
const MAX_CONNECTIONS: usize = 8;

/// A stream: its replay log, the connections that read it, and the response to the POST that it
/// belongs to.
#[derive(Debug)]
pub(crate) struct SessionStream {
    name: StreamName,
    /// The account of the session, on which the events count.
    account: MemoryAccount,
    state: Mutex<StreamState>,
    /// Notified when a sender that had to wait may try again.
    space: Notify,
    /// The instance that sends messages to the client, if other instances serve the session too.
    #[cfg(feature = "store")]
    remote_reader: OnceLock<Box<RemoteReader>>,
}

#[derive(Debug)]
struct StreamState {
    log: ReplayLog,
    readers: Readers,
    /// The response, once the stream is that of a POST.
    post: Option<Box<PostState>>,
}

/// The response to the POST of a stream, until it is known whether it is JSON or an SSE stream.
#[derive(Debug, Default)]
struct PostState {
    /// Set once the response is an SSE stream.
    is_streaming: bool,
    /// Set if the client can resume the stream.
    is_resumable: bool,
    /// Set if the connection is to be closed as soon as the response is a stream.
    close_requested: bool,
    /// The response, while no message was sent before it: it may still go out as plain JSON.
    response: Option<EncodedResponse>,
    /// The responses to the messages of a batch, likewise.
    batch: Vec<EncodedResponse>,
    /// Wakes the POST that waits for its [`FirstOutput`].
    waker: Option<Waker>,
}

/// The first output of a POST, which decides between a JSON response and an SSE stream.
pub(crate) enum FirstOutput {
    /// The response, and no message before it.
    Response(EncodedResponse),
    /// Messages, or a request to close the connection: the response has to be a stream.
    Stream,
    /// The end of the request, without a response.
    Nothing,
}

impl SessionStream {
    pub(crate) fn new(
        name: impl Into<StreamName>,
        replay_budget: Arc<ReplayBudget>,
        account: MemoryAccount,
    ) -> Arc<Self> {
        let state = StreamState {
            log: ReplayLog::new(replay_budget),
            readers: Readers::new(),
            post: None,
        };
        Arc::new(Self {
            name: name.into(),
            account,
            state: Mutex::new(state),
            space: Notify::new(),
            #[cfg(feature = "store")]
            remote_reader: OnceLock::new(),
        })
    }

    /// Returns the name of the stream in the ids of its events.
    pub(crate) fn name(&self) -> &StreamName {
        &self.name
    }

    /// Returns the account on which the events count.
    pub(crate) fn account(&self) -> &MemoryAccount {
        &self.account
    }

    /// Appends a response, whose permit goes along with it.
    fn append_response(&self, state: &mut StreamState, mut response: EncodedResponse) {
        let mut memory = std::mem::take(&mut response.memory);
        memory.absorb(self.account.reserve_beyond_limits(0));
        state.append(&self.name, &response.into_bytes(), memory);
    }

    fn state(&self) -> MutexGuard<'_, StreamState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether nothing was sent on the stream yet that has to go out as an event.
    pub(crate) fn is_silent(&self) -> bool {
        let state = self.state();
        state.log.is_empty() && !state.is_close_requested()
    }

    /// Keeps what is sent for a reader that is about to be attached.
    pub(crate) fn expect_reader(&self) {
        self.state().readers.set_reserved(true);
    }

    /// Keeps what is sent for a reader, until the reservation is used or dropped.
    pub(crate) fn reserve_reader(self: &Arc<Self>) -> ReaderReservation {
        self.expect_reader();
        ReaderReservation(self.clone())
    }

    /// Returns the first output of the POST, once there is one.
    pub(crate) fn poll_first_output(&self, cx: &mut Context<'_>) -> Poll<FirstOutput> {
        let mut state = self.state();
        if !state.log.is_empty() || state.is_close_requested() {
            return Poll::Ready(FirstOutput::Stream);
        }
        if state.log.is_closed() {
            let response = state.post.as_mut().and_then(|post| post.take_response());
            return Poll::Ready(response.map_or(FirstOutput::Nothing, FirstOutput::Response));
        }
        state.post().waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Makes the response to the POST an SSE stream: from now on a response is an event like any
    /// other message. A client can come back to a `resumable` stream after its connection ended.
    pub(crate) fn start_streaming(&self, resumable: bool) {
        let mut state = self.state();
        let post = state.post();
        post.is_streaming = true;
        post.is_resumable = resumable;
        let is_closing = std::mem::take(&mut post.close_requested);
        let response = post.response.take();
        let batch = std::mem::take(&mut post.batch);
        for response in batch.into_iter().chain(response) {
            self.append_response(&mut state, response);
        }
        if is_closing && resumable {
            state.readers.close_all();
        }
    }

    /// Adds a connection, which is sent new events from now on. With a position it resumes the
    /// connection that the position belongs to, and is first sent again what that one was sent
    /// after the position. Older connections wait until it is gone; beyond [`MAX_CONNECTIONS`] the
    /// oldest is closed. Returns `None` if the
    /// position is unknown, or no longer known.
    pub(crate) fn attach(self: &Arc<Self>, after: Option<StreamPosition>) -> Option<StreamReader> {
        let mut guard = self.state();
        let state = &mut *guard;
        let attached = state.readers.attach(after, &state.log, MAX_CONNECTIONS)?;
        drop(guard);
        attached.displaced.into_iter().for_each(Waker::wake);
        Some(StreamReader::new(
            attached.number,
            attached.after,
            self.clone(),
        ))
    }

    /// Writes what was sent on the stream, and what is sent from now on, for other instances.
    #[cfg(feature = "store")]
    pub(crate) fn copy_to(&self, copy: Box<dyn StreamCopy>) {
        self.state().log.copy_to(copy);
    }

    /// Tells another instance to which the client went that it has come back here.
    #[cfg(feature = "store")]
    pub(crate) fn end_follower(&self) {
        if let Some(copy) = self.state().log.copy() {
            copy.end_follower();
        }
    }

    /// Closes all connections: the client has gone to another instance.
    #[cfg(feature = "store")]
    pub(crate) fn close_connections(&self) {
        let wakers = self.state().readers.close_all();
        wakers.into_iter().for_each(Waker::wake);
        self.space.notify_waiters();
    }

    /// Sets what is known of the instance at which the client reads the stream, once.
    #[cfg(feature = "store")]
    pub(crate) fn set_remote_reader(&self, remote: RemoteReader) {
        let _ = self.remote_reader.set(Box::new(remote));
    }

    /// Returns what is known of the instance at which the client reads the stream.
    #[cfg(feature = "store")]
    pub(crate) fn remote_reader(&self) -> Option<&RemoteReader> {
        self.remote_reader.get().map(|remote| &**remote)
    }

    /// Returns whether a connection reads the stream, or is about to.
    pub(crate) fn is_attached(&self) -> bool {
        self.state().readers.is_read()
    }

    /// Returns when the stream ended, if it has.
    pub(crate) fn ended_at(&self) -> Option<Instant> {
        self.state().log.closed_at()
    }

    /// Returns the bytes that are kept for replay.
    pub(crate) fn replay_bytes(&self) -> usize {
        self.state().log.bytes()
    }

    /// Sends a message. With a position in the log of changes, the ids of this event and of later ones
    /// name it.
    fn send_event(&self, frame: Vec<u8>, changes: Option<ChangePosition>) -> Result<(), QueueFull> {
        let mut state = self.state();
        if state.log.is_closed() {
            return Ok(());
        }
        let unread = state.readers.first_unread();
        if state.readers.is_read() && !state.log.has_room(unread, frame.len()) {
            return Err(QueueFull(frame));
        }
        let memory = match self.account.reserve_free(frame.len()) {
            Ok(memory) => memory,
            // The reader makes room when it reads what it has not read yet.
            Err(_) if state.readers.is_read() && unread < state.log.next_sequence() => {
                return Err(QueueFull(frame));
            }
            Err(_) => self.account.reserve_beyond_limits(frame.len()),
        };
        if let Some(position) = changes {
            state.log.set_changes(position);
        }
        state.append(&self.name, &frame, memory);
        wake(state);
        Ok(())
    }

    /// Sends the notification of a change. The client is told of everything up to `position` once it has
    /// received it. Returns whether there was space.
    pub(crate) fn send_change(&self, frame: Vec<u8>, position: ChangePosition) -> bool {
        let position = self.name.instance.as_ref().map(|_| position);
        self.send_event(frame, position).is_ok()
    }

    /// Returns the name of the standalone stream in the ids of its events, for a client that was told of all
    /// changes up to a position. Later ids name the position as well.
    pub(crate) fn name_at(&self, position: ChangePosition) -> StreamName {
        let mut name = self.name.clone();
        if name.instance.is_some() {
            name.changes = Some(position);
            self.state().log.set_changes(position);
        }
        name
    }

    /// Ends the stream: nothing more is sent on it.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.log.close();
        wake_all(state);
        self.space.notify_waiters();
    }

    /// Wakes the active reader, and the POST that waits for its first output.
    pub(crate) fn wake_reader(&self) {
        wake(self.state());
    }
}

impl StreamState {
    fn append(&mut self, stream: &StreamName, message: &[u8], memory: MemoryPermit) {
        self.log.append(stream, message, memory);
        self.trim();
    }

    /// Removes events that are over a bound: what was read, or everything if nobody reads.
    fn trim(&mut self) {
        let keep_from = if self.readers.is_read() {
            self.readers.first_unread()
        } else {
            u64::MAX
        };
        self.log.trim(keep_from);
        self.readers.skip_removed(&self.log);
    }

    fn post(&mut self) -> &mut PostState {
        self.post.get_or_insert_default()
    }

    fn is_close_requested(&self) -> bool {
        self.post.as_ref().is_some_and(|post| post.close_requested)
    }

    /// Returns whether a response has to be an event.
    fn sends_events(&self) -> bool {
        !self.log.is_empty() || self.post.as_ref().is_some_and(|post| post.is_streaming)
    }
}

impl PostState {
    /// Takes the response, or the array of the responses to a batch.
    fn take_response(&mut self) -> Option<EncodedResponse> {
        if self.response.is_some() || self.batch.is_empty() {
            return self.response.take();
        }
        let mut frame = Vec::new();
        let mut memory = MemoryPermit::default();
        for response in std::mem::take(&mut self.batch) {
            frame.push(if frame.is_empty() { b'[' } else { b',' });
            frame.extend_from_slice(&response.frame);
            frame.extend_from_slice(&response.tail);
            memory.absorb(response.memory);
        }
        frame.push(b']');
        Some(EncodedResponse {
            frame,
            tail: Bytes::new(),
            failure: None,
            memory,
        })
    }
}

impl ReplySink for SessionStream {
    fn send(&self, frame: Vec<u8>) -> Result<(), QueueFull> {
        #[cfg(feature = "store")]
        let frame = match self.remote_reader.get() {
            None => frame,
            Some(remote) => match remote.take(frame) {
                Ok(()) => return Ok(()),
                Err(frame) => frame,
            },
        };
        self.send_event(frame, None)
    }

    fn wait_for_space(&self) -> Notified<'_> {
        self.space.notified()
    }

    fn send_batch_response(&self, answer: EncodedResponse) -> Option<EncodedResponse> {
        let mut state = self.state();
        if state.log.is_closed() {
            return None;
        }
        if state.sends_events() {
            self.append_response(&mut state, answer);
            wake(state);
        } else {
            state.post().batch.push(answer);
        }
        None
    }

    fn finish(&self, answer: Option<EncodedResponse>) {
        let mut state = self.state();
        if state.log.is_closed() {
            return;
        }
        match answer {
            Some(answer) if state.sends_events() => self.append_response(&mut state, answer),
            Some(answer) => state.post().response = Some(answer),
            None => {}
        }
        state.log.close();
        wake_all(state);
    }

    fn has_reader(&self) -> bool {
        self.is_attached()
    }

    fn close_sse_stream(&self) {
        let mut state = self.state();
        let post = state.post();
        if !post.is_streaming {
            // The response has to be a stream for this. Whether the client can resume it is known
            // once it is one.
            post.close_requested = true;
            wake(state);
        } else if post.is_resumable {
            let wakers = state.readers.close_all();
            drop(state);
            wakers.into_iter().for_each(Waker::wake);
        }
        self.space.notify_waiters();
    }
}

/// Wakes the active reader and the POST that waits for its first output.
fn wake(mut state: MutexGuard<'_, StreamState>) {
    let reader = state.readers.take_active_waker();
    let post = state.post.as_mut().and_then(|post| post.waker.take());
    drop(state);
    post.into_iter().chain(reader).for_each(Waker::wake);
}

/// Wakes all readers and the POST that waits for its first output.
fn wake_all(mut state: MutexGuard<'_, StreamState>) {
    let readers = state.readers.take_wakers();
    let post = state.post.as_mut().and_then(|post| post.waker.take());
    drop(state);
    post.into_iter().chain(readers).for_each(Waker::wake);
}

#[cfg(test)]
mod tests;
