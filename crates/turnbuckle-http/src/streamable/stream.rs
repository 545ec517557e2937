//! One stream of a legacy session: it outlives its connection, and what it said can be heard again.
//!
//! Specification: basic/transports, "Resumability and Redelivery" (2025-11-25).

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::Instant;
use turnbuckle_session::{Answer, Full, Route};

use super::replay::Replay;
use crate::event::{self, Place};

mod reader;

pub(crate) use reader::{Awaited, Reader};

/// A stream with its log.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) id: u64,
    replay: Arc<Replay>,
    state: Mutex<State>,
    space: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// What was said last, encoded: enough to say it again.
    log: VecDeque<Said>,
    /// The sequence number of the first event in the log.
    first: u64,
    /// The line that the event before that went to.
    before: u64,
    bytes: usize,
    /// The sequence number after the last event.
    next: u64,
    /// Up to where some reader has taken it; never less than before.
    taken: u64,
    /// Somebody is about to read it.
    awaited: bool,
    /// Who is connected. The last one reads; those before it wait for their turn, so that every
    /// event goes to one of them.
    readers: Vec<Attached>,
    /// The number of the newest reader.
    newest: u64,
    /// Whoever waits for [`First`].
    waiting: Option<Waker>,
    /// The client is to come back for the rest, as soon as this is a stream.
    paused: bool,
    /// Whether the client could come back.
    resumable: bool,
    /// Whether this became a stream at all.
    streaming: bool,
    /// The answer, while nothing went before it: it may still go out as plain JSON.
    answer: Option<Answer>,
    /// The answers to the parts of a batch, likewise.
    parts: Vec<Vec<u8>>,
    /// Set when the request has ended, or the stream's session.
    ended: Option<Instant>,
}

/// An event. It goes to one line of connections: one, and those that take it up again where it
/// broke off. The number of a line is that of its first connection.
#[derive(Debug)]
struct Said {
    event: Bytes,
    /// 0 before it went to any.
    line: u64,
}

#[derive(Debug)]
struct Attached {
    number: u64,
    line: u64,
    /// Where what went to its line is said again. What went to others stays theirs.
    again: Range<u64>,
    waker: Option<Waker>,
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
    pub(super) fn new(id: u64, replay: Arc<Replay>) -> Arc<Self> {
        let state = State {
            first: 1,
            next: 1,
            taken: 1,
            ..State::default()
        };
        Arc::new(Self {
            id,
            replay,
            state: Mutex::new(state),
            space: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the request said nothing yet.
    pub(crate) fn is_silent(&self) -> bool {
        let state = self.state();
        state.log.is_empty() && !state.paused
    }

    /// Says that somebody is about to read it.
    pub(crate) fn expect_reader(&self) {
        self.state().awaited = true;
    }

    /// The same, for as long as what this gives is there.
    pub(crate) fn awaited(self: &Arc<Self>) -> Awaited {
        self.expect_reader();
        Awaited(self.clone())
    }

    pub(crate) fn poll_first(&self, cx: &mut Context<'_>) -> Poll<First> {
        let mut state = self.state();
        if !state.log.is_empty() || state.paused {
            return Poll::Ready(First::Stream);
        }
        if state.ended.is_some() {
            let answer = state.answer.take().or_else(|| array(&mut state.parts));
            return Poll::Ready(answer.map_or(First::Nothing, First::Answer));
        }
        state.waiting = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Makes it a stream: from now on an answer is an event like any other. Whether the client can
    /// come back for the rest when its connection ends is said by `resumable`.
    pub(crate) fn open(&self, resumable: bool) {
        let mut state = self.state();
        state.streaming = true;
        state.resumable = resumable;
        let answer = state.answer.take().map(Answer::into_frame);
        for frame in std::mem::take(&mut state.parts).into_iter().chain(answer) {
            self.push(&mut state, &frame);
        }
        if std::mem::take(&mut state.paused) && resumable {
            state.readers.clear();
        }
    }

    /// A new connection. It takes up the line that a place is on, where that broke off, and begins
    /// one of its own without; then it reads what nobody has read yet. Those that there are wait
    /// until it is gone. `None` when that place is not known (any more).
    pub(crate) fn attach(self: &Arc<Self>, after: Option<Place>) -> Option<Reader> {
        let mut state = self.state();
        let number = state.newest + 1;
        let (next, line) = match after {
            None => (state.taken, number),
            Some(place) => (place.sequence.checked_add(1)?, state.line_of(place)?),
        };
        if next < state.first || next > state.next {
            return None;
        }
        let again = next..state.taken;
        state.taken = state.taken.max(next);
        state.newest = number;
        let crowded = state.readers.len() >= self.replay.readers;
        let oldest = crowded.then(|| state.readers.remove(0));
        state.readers.push(Attached {
            number,
            line,
            again,
            waker: None,
        });
        drop(state);
        wake_each(oldest.into_iter().filter_map(|it| it.waker));
        Some(Reader::new(number, next - 1, self.clone()))
    }

    /// Whether somebody reads it.
    pub(crate) fn is_attached(&self) -> bool {
        self.state().is_read()
    }

    /// When it ended, if it has.
    pub(crate) fn ended(&self) -> Option<Instant> {
        self.state().ended
    }

    /// Who counts what it keeps.
    pub(super) fn replay(&self) -> &Arc<Replay> {
        &self.replay
    }

    /// Bytes that are kept for replay.
    pub(crate) fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// Ends it: nothing is said on it any more.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.ended.get_or_insert_with(Instant::now);
        wake_all(state);
        self.space.notify_waiters();
    }

    /// Lets whoever reads it look again.
    pub(crate) fn wake(&self) {
        wake(self.state());
    }

    fn push(&self, state: &mut State, frame: &[u8]) {
        let event = event::numbered(self.id, state.next, frame);
        state.next += 1;
        state.bytes += event.len();
        self.replay.keep(event.len());
        state.log.push_back(Said { event, line: 0 });
        self.trim(state);
    }

    /// Forgets what is over a bound: what was taken, and what nobody comes for.
    fn trim(&self, state: &mut State) {
        while state.log.len() > self.replay.events
            || state.bytes > self.replay.bytes
            || self.replay.is_over()
        {
            if state.log.len() == 1 || (state.is_read() && state.first >= state.awaits()) {
                break;
            }
            if let Some(Said { event, line }) = state.log.pop_front() {
                state.bytes -= event.len();
                self.replay.forget(event.len());
                state.first += 1;
                state.before = line;
                state.taken = state.taken.max(state.first);
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.replay.forget(state.bytes);
    }
}

impl State {
    fn is_read(&self) -> bool {
        self.awaited || !self.readers.is_empty()
    }

    /// What whoever reads it has to hear next.
    fn awaits(&self) -> u64 {
        let again = self.readers.last().map(|it| &it.again);
        again
            .filter(|again| !again.is_empty())
            .map_or(self.taken, |again| again.start)
    }

    /// Where an event is in the log.
    fn index_of(&self, sequence: u64) -> usize {
        let index = sequence.checked_sub(self.first);
        index
            .and_then(|index| usize::try_from(index).ok())
            .unwrap_or(usize::MAX)
    }

    /// The line that a place is on. Where nobody was there to hear an event, it is the first one.
    fn line_of(&self, place: Place) -> Option<u64> {
        if let Some(connection) = place.connection {
            return (1..=self.newest)
                .contains(&connection)
                .then_some(connection);
        }
        let said = self.log.get(self.index_of(place.sequence));
        Some(said.map_or(self.before, |said| said.line).max(1))
    }

    /// What is said again to the connection at that place: nothing once that is over, and the end
    /// where it was forgotten, as it may be when it is another one's turn.
    fn say_again(&mut self, place: usize) -> Option<Option<Bytes>> {
        while let Some(sequence) = self.readers[place].again.next() {
            let line = self.readers[place].line;
            match self.log.get(self.index_of(sequence)) {
                Some(said) if said.line == 0 || said.line == line => {
                    return Some(Some(said.event.clone()));
                }
                Some(_) => {}
                None => return Some(None),
            }
        }
        None
    }

    /// What nobody has heard yet, for the connection at that place.
    fn say(&mut self, place: usize) -> Option<Bytes> {
        let index = self.index_of(self.taken);
        let said = self.log.get_mut(index)?;
        said.line = self.readers[place].line;
        self.taken += 1;
        Some(said.event.clone())
    }
}

impl Route for Stream {
    fn send(&self, frame: Vec<u8>) -> Result<(), Full> {
        let mut state = self.state();
        if state.ended.is_some() {
            return Ok(());
        }
        if state.is_read() {
            let behind = usize::try_from(state.next - state.awaits()).unwrap_or(usize::MAX);
            let newest = state.log.iter().rev().take(behind);
            let bytes: usize = newest.map(|said| said.event.len()).sum();
            let Replay {
                events, bytes: max, ..
            } = *self.replay;
            let fits = behind < events && bytes + frame.len() <= max;
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

    fn part(&self, answer: Answer) -> Result<(), Answer> {
        let mut state = self.state();
        if state.ended.is_some() {
            return Ok(());
        }
        if state.streaming || !state.log.is_empty() {
            self.push(&mut state, &answer.into_frame());
            wake(state);
        } else {
            state.parts.push(answer.into_frame());
        }
        Ok(())
    }

    fn done(&self, answer: Option<Answer>) {
        let mut state = self.state();
        if state.ended.is_some() {
            return;
        }
        match answer {
            Some(answer) if state.streaming || !state.log.is_empty() => {
                self.push(&mut state, &answer.into_frame());
            }
            answer => state.answer = answer,
        }
        state.ended = Some(Instant::now());
        wake_all(state);
    }

    fn is_heard(&self) -> bool {
        self.is_attached()
    }

    fn stir(&self) {
        self.wake();
    }

    fn pause(&self) {
        let mut state = self.state();
        if !state.streaming {
            // It becomes one for this; then it is known whether the client could come back.
            state.paused = true;
            wake(state);
        } else if state.resumable {
            let readers = std::mem::take(&mut state.readers);
            drop(state);
            wake_each(readers.into_iter().filter_map(|it| it.waker));
        }
        self.space.notify_waiters();
    }
}

/// Wakes whoever has to hear that there is something new.
fn wake(mut state: MutexGuard<'_, State>) {
    let reader = state.readers.last_mut().and_then(|it| it.waker.take());
    let waiting = state.waiting.take();
    drop(state);
    wake_each(waiting.into_iter().chain(reader));
}

/// Wakes everybody.
fn wake_all(mut state: MutexGuard<'_, State>) {
    let readers: Vec<_> = state.readers.iter_mut().map(|it| it.waker.take()).collect();
    let waiting = state.waiting.take();
    drop(state);
    wake_each(waiting.into_iter().chain(readers.into_iter().flatten()));
}

fn wake_each(wakers: impl Iterator<Item = Waker>) {
    wakers.for_each(Waker::wake);
}

/// Answers in one array; `None` when there are none.
fn array(answers: &mut Vec<Vec<u8>>) -> Option<Answer> {
    if answers.is_empty() {
        return None;
    }
    let mut frame = vec![b'['];
    frame.extend_from_slice(&answers.join(&b','));
    frame.push(b']');
    answers.clear();
    Some(Answer {
        frame,
        tail: Bytes::new(),
        failure: None,
    })
}

#[cfg(test)]
mod tests;
