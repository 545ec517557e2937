//! One stream of a legacy session: it outlives its connection, and what it said can be heard again.
//!
//! Specification: basic/transports, "Resumability and Redelivery" (2025-11-25).

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::Instant;
use turnbuckle_session::{Answer, Full, Route};

use crate::event;

/// A stream with its log.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) id: u64,
    max_events: usize,
    max_bytes: usize,
    state: Mutex<State>,
    space: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// What was said last, encoded: enough to say it again.
    log: VecDeque<Bytes>,
    /// The sequence number of the first event in the log.
    first: u64,
    bytes: usize,
    /// The sequence number after the last event.
    next: u64,
    /// Up to where some reader has taken it.
    taken: u64,
    /// Counts readers: only the newest one reads.
    reader: u64,
    /// Whether the newest reader is still there.
    attached: bool,
    waker: Option<Waker>,
    /// The client was told to come back for the rest.
    paused: bool,
    /// Set when the request has ended, or the stream's session.
    ended: Option<Instant>,
    /// The answer, while nothing went before it: it may still go out as plain JSON.
    answer: Option<Answer>,
    /// Whether this became a stream at all.
    streaming: bool,
}

/// What a POST finds out about its request while it waits.
pub(crate) enum First {
    /// The answer, and nothing before it.
    Answer(Answer),
    /// There are messages, or the client is to come back: it has to be a stream.
    Stream,
    /// It ended without an answer.
    Nothing,
}

impl Stream {
    pub(crate) fn new(id: u64, max_events: usize, max_bytes: usize) -> Self {
        let state = State {
            first: 1,
            next: 1,
            taken: 1,
            ..State::default()
        };
        Self {
            id,
            max_events,
            max_bytes,
            state: Mutex::new(state),
            space: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the request said nothing yet.
    pub(crate) fn is_silent(&self) -> bool {
        let state = self.state();
        state.log.is_empty() && !state.paused
    }

    pub(crate) fn poll_first(&self, cx: &mut Context<'_>) -> Poll<First> {
        let mut state = self.state();
        if !state.log.is_empty() || state.paused {
            return Poll::Ready(First::Stream);
        }
        if let Some(answer) = state.answer.take() {
            return Poll::Ready(First::Answer(answer));
        }
        if state.ended.is_some() {
            return Poll::Ready(First::Nothing);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Makes it a stream: from now on an answer is an event like any other.
    pub(crate) fn open(&self) {
        let mut state = self.state();
        state.streaming = true;
        if let Some(answer) = state.answer.take() {
            self.push(&mut state, &answer.frame);
        }
    }

    /// A new reader, after the event of that number; the reader before it, if any, has read its
    /// last. `None` when that event is no longer known.
    pub(crate) fn attach(&self, after: Option<u64>) -> Option<Reader> {
        let mut state = self.state();
        let next = match after {
            None => state.taken,
            Some(after) => after.checked_add(1)?,
        };
        if next < state.first || next > state.next {
            return None;
        }
        state.reader += 1;
        state.attached = true;
        state.paused = false;
        state.taken = next;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        Some(Reader {
            number: state.reader,
            next,
        })
    }

    pub(crate) fn detach(&self, reader: &Reader) {
        let mut state = self.state();
        if state.reader == reader.number {
            state.attached = false;
        }
        drop(state);
        // Nobody has to wait for a reader that is not there.
        self.space.notify_waiters();
    }

    /// The next event for a reader; `None` when it has read its last.
    pub(crate) fn poll_read(
        &self,
        reader: &mut Reader,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Bytes>> {
        let mut state = self.state();
        if state.reader != reader.number {
            return Poll::Ready(None);
        }
        if reader.next < state.next {
            let at = usize::try_from(reader.next - state.first).unwrap_or(usize::MAX);
            let event = state.log.get(at).cloned();
            reader.next += 1;
            state.taken = state.taken.max(reader.next);
            drop(state);
            self.space.notify_waiters();
            return Poll::Ready(event);
        }
        if state.paused || state.ended.is_some() {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Whether the client is to come back for the rest.
    pub(crate) fn is_paused(&self) -> bool {
        self.state().paused
    }

    /// Whether somebody reads it.
    pub(crate) fn is_attached(&self) -> bool {
        self.state().attached
    }

    /// When it ended, if it has.
    pub(crate) fn ended(&self) -> Option<Instant> {
        self.state().ended
    }

    /// Ends it: nothing is said on it any more.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.ended.get_or_insert_with(Instant::now);
        wake(state);
        self.space.notify_waiters();
    }

    fn push(&self, state: &mut State, frame: &[u8]) {
        let event = event::numbered(self.id, state.next, frame);
        state.next += 1;
        state.bytes += event.len();
        state.log.push_back(event);
        // What was taken may be forgotten; what nobody comes for is forgotten too, at the bound.
        while state.log.len() > self.max_events || state.bytes > self.max_bytes {
            if state.log.len() == 1 || (state.attached && state.first >= state.taken) {
                break;
            }
            if let Some(oldest) = state.log.pop_front() {
                state.bytes -= oldest.len();
                state.first += 1;
                state.taken = state.taken.max(state.first);
            }
        }
    }
}

/// Somebody who reads a stream.
#[derive(Debug)]
pub(crate) struct Reader {
    number: u64,
    next: u64,
}

impl Reader {
    /// The number of the event before the one that is read next.
    pub(crate) fn position(&self) -> u64 {
        self.next - 1
    }
}

impl Route for Stream {
    fn send(&self, frame: Vec<u8>) -> Result<(), Full> {
        let mut state = self.state();
        if state.ended.is_some() {
            return Ok(());
        }
        if state.attached {
            let behind = usize::try_from(state.next - state.taken).unwrap_or(usize::MAX);
            let bytes: usize = state.log.iter().rev().take(behind).map(Bytes::len).sum();
            let fits = behind < self.max_events && bytes + frame.len() <= self.max_bytes;
            if behind > 0 && !fits {
                return Err(Full(frame));
            }
        }
        self.push(&mut state, &frame);
        wake(state);
        Ok(())
    }

    fn space(&self) -> Notified<'_> {
        self.space.notified()
    }

    fn done(&self, answer: Option<Answer>) {
        let mut state = self.state();
        if state.ended.is_some() {
            return;
        }
        match answer {
            Some(answer) if state.streaming || !state.log.is_empty() => {
                self.push(&mut state, &answer.frame);
            }
            answer => state.answer = answer,
        }
        state.ended = Some(Instant::now());
        wake(state);
    }

    fn pause(&self) {
        let mut state = self.state();
        state.paused = true;
        state.attached = false;
        wake(state);
        self.space.notify_waiters();
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cx() -> Context<'static> {
        Context::from_waker(Waker::noop())
    }

    fn read(stream: &Stream, reader: &mut Reader) -> Option<String> {
        match stream.poll_read(reader, &mut cx()) {
            Poll::Ready(Some(event)) => Some(String::from_utf8(event.to_vec()).unwrap()),
            _ => None,
        }
    }

    fn id(event: Option<String>) -> String {
        event
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .trim_start_matches("id: ")
            .to_owned()
    }

    #[test]
    fn what_was_said_can_be_heard_again_from_any_point() {
        let stream = Stream::new(4, 10, 1000);
        let mut first = stream.attach(None).unwrap();
        for n in 1..=3 {
            stream.send(format!("{{\"n\":{n}}}").into()).unwrap();
        }
        assert_eq!(id(read(&stream, &mut first)), "4-1");
        assert_eq!(id(read(&stream, &mut first)), "4-2");
        let mut again = stream.attach(Some(1)).unwrap();
        assert_eq!(id(read(&stream, &mut again)), "4-2");
        assert_eq!(id(read(&stream, &mut again)), "4-3");
        assert!(
            read(&stream, &mut first).is_none(),
            "only the newest reader reads"
        );
        let mut rest = stream.attach(None).unwrap();
        assert!(read(&stream, &mut rest).is_none());
        assert!(stream.attach(Some(9)).is_none());
    }

    #[test]
    fn the_log_is_bounded_and_says_when_it_forgot() {
        let stream = Stream::new(1, 3, 1000);
        for _ in 0..10 {
            stream.send(b"{}".to_vec()).unwrap();
        }
        assert!(stream.attach(Some(1)).is_none());
        let mut reader = stream.attach(Some(7)).unwrap();
        assert_eq!(id(read(&stream, &mut reader)), "1-8");
    }

    #[test]
    fn a_slow_reader_holds_its_sender_up_and_one_that_leaves_does_not() {
        let stream = Stream::new(1, 3, 1000);
        let reader = stream.attach(None).unwrap();
        for _ in 0..3 {
            stream.send(b"{}".to_vec()).unwrap();
        }
        assert!(stream.send(b"{}".to_vec()).is_err());
        stream.detach(&reader);
        for _ in 0..10 {
            stream.send(b"{}".to_vec()).unwrap();
        }
        assert!(stream.state().log.len() <= 3);
    }

    #[test]
    fn an_answer_alone_is_no_stream_and_one_after_messages_is() {
        let answer = || {
            Some(Answer {
                frame: b"{}".to_vec(),
                failure: None,
            })
        };
        let silent = Stream::new(1, 3, 1000);
        silent.done(answer());
        assert!(matches!(
            silent.poll_first(&mut cx()),
            Poll::Ready(First::Answer(_))
        ));

        let telling = Stream::new(1, 3, 1000);
        telling.send(b"{}".to_vec()).unwrap();
        assert!(matches!(
            telling.poll_first(&mut cx()),
            Poll::Ready(First::Stream)
        ));
        telling.open();
        telling.done(answer());
        let mut reader = telling.attach(None).unwrap();
        assert_eq!(id(read(&telling, &mut reader)), "1-1");
        assert_eq!(id(read(&telling, &mut reader)), "1-2");
        assert!(matches!(
            telling.poll_read(&mut reader, &mut cx()),
            Poll::Ready(None)
        ));

        let cancelled = Stream::new(1, 3, 1000);
        cancelled.done(None);
        assert!(matches!(
            cancelled.poll_first(&mut cx()),
            Poll::Ready(First::Nothing)
        ));
    }

    #[test]
    fn a_pause_ends_the_reader_and_not_the_stream() {
        let stream = Stream::new(1, 3, 1000);
        stream.open();
        let mut reader = stream.attach(None).unwrap();
        stream.pause();
        assert!(matches!(
            stream.poll_read(&mut reader, &mut cx()),
            Poll::Ready(None)
        ));
        stream.done(Some(Answer {
            frame: b"{}".to_vec(),
            failure: None,
        }));
        let mut back = stream.attach(Some(0)).unwrap();
        assert_eq!(id(read(&stream, &mut back)), "1-1");
        assert!(matches!(
            stream.poll_read(&mut back, &mut cx()),
            Poll::Ready(None)
        ));
    }
}
