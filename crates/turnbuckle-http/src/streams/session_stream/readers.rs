//! The connections of one stream, and what each of them is sent next.

use std::ops::Range;
use std::task::Waker;

use bytes::Bytes;

use crate::event::StreamPosition;
use crate::streams::replay_log::ReplayLog;

/// The connections of one stream. The newest one is sent new events; the others wait until it is
/// gone, so that every event goes to one connection.
#[derive(Debug)]
pub(super) struct Readers {
    connections: Vec<Connection>,
    /// The number of the newest connection that there ever was.
    newest: u64,
    /// The sequence number of the first event that no connection was sent or has skipped.
    next: u64,
    /// Set while a connection is about to be attached.
    reserved: bool,
}

#[derive(Debug)]
struct Connection {
    number: u64,
    /// The line of the connection; see [`LoggedEvent`](crate::streamable::replay_log::LoggedEvent).
    line: u64,
    /// The events among which those of its line are replayed to it.
    replay: Range<u64>,
    waker: Option<Waker>,
}

/// A connection that was attached.
pub(super) struct Attached {
    pub(super) number: u64,
    /// The sequence number of the event after which the connection begins.
    pub(super) after: u64,
    /// Wakes the reader of the connection that was closed to make room.
    pub(super) displaced: Option<Waker>,
}

/// The next event of a connection.
pub(super) enum NextEvent {
    Event(Bytes),
    /// No event yet.
    Pending,
    /// The event that it had to be sent next was removed, or the connection was closed.
    Lost,
}

impl Readers {
    pub(super) fn new() -> Self {
        Self {
            connections: Vec::new(),
            newest: 0,
            next: 1,
            reserved: false,
        }
    }

    pub(super) fn set_reserved(&mut self, reserved: bool) {
        self.reserved = reserved;
    }

    /// Returns whether a connection reads the stream, or is about to.
    pub(super) fn is_read(&self) -> bool {
        self.reserved || !self.connections.is_empty()
    }

    /// Returns the sequence number of the first event that the reading connection was not sent.
    pub(super) fn first_unread(&self) -> u64 {
        let replay = self.connections.last().map(|it| &it.replay);
        replay
            .filter(|replay| !replay.is_empty())
            .map_or(self.next, |replay| replay.start)
    }

    /// Adds a connection. With a position it resumes the line that the position is on; without one
    /// it begins a new line. If there are `max` connections already, the oldest one is closed.
    /// Returns `None` if the position is unknown, or no longer known.
    pub(super) fn attach(
        &mut self,
        after: Option<StreamPosition>,
        log: &ReplayLog,
        max: usize,
    ) -> Option<Attached> {
        let number = self.newest + 1;
        let (start, line) = match after {
            None => (self.next, number),
            Some(position) => (
                position.sequence.checked_add(1)?,
                self.line_of(position, log)?,
            ),
        };
        if start < log.first_sequence() || start > log.next_sequence() {
            return None;
        }
        let replay = start..self.next;
        self.next = self.next.max(start);
        self.newest = number;
        let is_full = self.connections.len() >= max;
        let displaced = is_full.then(|| self.connections.remove(0));
        // Most streams have one, and the least that a push makes room for is four.
        self.connections.reserve_exact(1);
        self.connections.push(Connection {
            number,
            line,
            replay,
            waker: None,
        });
        Some(Attached {
            number,
            after: start - 1,
            displaced: displaced.and_then(|it| it.waker),
        })
    }

    /// Returns the line that a position is on. An event that was sent to nobody is on the first.
    fn line_of(&self, position: StreamPosition, log: &ReplayLog) -> Option<u64> {
        match position.connection {
            Some(connection) => (1..=self.newest)
                .contains(&connection)
                .then_some(connection),
            None => Some(log.line(position.sequence).max(1)),
        }
    }

    /// Returns whether the connection of that number is the one that is sent new events.
    pub(super) fn is_active(&self, number: u64) -> bool {
        self.connections
            .last()
            .is_some_and(|it| it.number == number)
    }

    /// Returns whether the connection of that number has events to be replayed to it.
    pub(super) fn is_replaying(&self, number: u64) -> bool {
        let mut connections = self.connections.iter();
        connections.any(|it| it.number == number && !it.replay.is_empty())
    }

    /// Takes the next event for the connection of that number: one to be replayed, or a new one if
    /// the connection is the active one.
    pub(super) fn take_next(&mut self, number: u64, log: &mut ReplayLog) -> NextEvent {
        let is_active = self.is_active(number);
        let mut connections = self.connections.iter_mut();
        let Some(connection) = connections.find(|it| it.number == number) else {
            return NextEvent::Lost;
        };
        for sequence in connection.replay.by_ref() {
            match log.event(sequence) {
                Some(event) if event.line == 0 || event.line == connection.line => {
                    return NextEvent::Event(event.bytes.clone());
                }
                Some(_) => {}
                None => return NextEvent::Lost,
            }
        }
        if is_active && let Some(event) = log.assign_line(self.next, connection.line) {
            self.next += 1;
            return NextEvent::Event(event.bytes.clone());
        }
        NextEvent::Pending
    }

    /// Skips the events that the log no longer keeps.
    pub(super) fn skip_removed(&mut self, log: &ReplayLog) {
        self.next = self.next.max(log.first_sequence());
    }

    /// Sets whom to wake when the connection of that number can read on.
    pub(super) fn set_waker(&mut self, number: u64, waker: &Waker) {
        let mut connections = self.connections.iter_mut();
        if let Some(connection) = connections.find(|it| it.number == number) {
            connection.waker = Some(waker.clone());
        }
    }

    /// Takes the waker of the active connection.
    pub(super) fn take_active_waker(&mut self) -> Option<Waker> {
        self.connections.last_mut()?.waker.take()
    }

    /// Takes the wakers of all connections.
    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        let connections = self.connections.iter_mut();
        connections.filter_map(|it| it.waker.take()).collect()
    }

    /// Removes the connection of that number.
    pub(super) fn remove(&mut self, number: u64) {
        self.connections.retain(|it| it.number != number);
    }

    /// Closes all connections, and returns the wakers of their readers.
    pub(super) fn close_all(&mut self) -> Vec<Waker> {
        let connections = std::mem::take(&mut self.connections);
        connections.into_iter().filter_map(|it| it.waker).collect()
    }
}
