//! The state of the model, and the events that change it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bytes::Bytes;
use turnbuckle_store::{LogSlice, Position};
use turnbuckle_types::RequestId;
use turnbuckle_wire::revision::Revision;

use super::super::OpenRequests;
use super::super::entry::{Entry, FIRST_ERROR};
use super::super::open_requests::INSTANCE_ENDED;
use super::super::reader::{LogReader, ReadStep};
use super::super::writer::{LogBounds, LogWriter, Refusal, StreamEnd};

const NOTIFICATION: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
const RESPONSES: [&str; 2] = [
    r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
];

/// The messages of the stream of one request, and of that of a batch.
pub(super) const ONE: &[&str] = &[NOTIFICATION, RESPONSES[0]];
pub(super) const BATCH: &[&str] = &[NOTIFICATION, RESPONSES[0], RESPONSES[1]];

/// The number of times that each fault occurs on one path.
#[derive(Hash, Debug, Clone, Copy)]
pub(super) struct Faults {
    pub(super) cuts: u8,
    pub(super) failures: u8,
    pub(super) pauses: u8,
    pub(super) emptied: u8,
}

#[derive(Hash, Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Awake,
    Paused,
    Dead,
}

/// An append on its way to the store and back.
#[derive(Hash, Debug, Clone)]
struct Flight {
    at: Position,
    entries: Vec<Bytes>,
    /// True if it was appended; none if it has not reached the store.
    outcome: Option<bool>,
}

#[derive(Hash, Debug, Clone)]
enum Connection {
    /// No connection, and the client waits for more.
    None,
    /// A connection to the owner.
    Local,
    /// A connection to another instance.
    Remote(LogReader),
    /// The stream has ended.
    Ended,
    /// The client was told that its events are not known any more.
    Unknown,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    OwnerSends,
    OwnerAppends,
    StoreAppends,
    OwnerHears { well: bool },
    Pause,
    Wake,
    Die,
    Stop,
    LeaseExpires,
    StoreIsEmptied,
    ClientReads,
    ClientIsCut,
    ClientResumes { here: bool },
    FollowerReads,
    FollowerAborts,
    StoreAborts,
}

#[derive(Hash, Debug, Clone)]
pub(super) struct World {
    messages: &'static [&'static str],
    faults: Faults,
    log: Vec<Bytes>,
    was_emptied: bool,
    owner: Owner,
    has_lease: bool,
    writer: LogWriter,
    /// The number of messages that the owner has sent.
    sent: usize,
    has_ended: bool,
    flight: Option<Flight>,
    connection: Connection,
    /// The newest message that was ever in the log.
    logged: u64,
    /// The events that the client has received.
    received: Vec<(u64, Bytes)>,
    abort: Option<Flight>,
}

impl World {
    pub(super) fn new(messages: &'static [&'static str], faults: Faults) -> Self {
        let features = Revision::NEWEST_LEGACY.features();
        let ids = (1..messages.len()).map(|id| RequestId::from(id as i64));
        let open = OpenRequests::new(ids, features);
        let bounds = LogBounds {
            entries: 100,
            bytes: 1 << 20,
        };
        Self {
            messages,
            faults,
            log: Vec::new(),
            was_emptied: false,
            owner: Owner::Awake,
            has_lease: true,
            writer: LogWriter::new(open, bounds),
            sent: 0,
            has_ended: false,
            flight: None,
            connection: Connection::Local,
            logged: 0,
            received: Vec::new(),
            abort: None,
        }
    }

    pub(super) fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    fn position(&self) -> u64 {
        self.received.last().map_or(0, |(sequence, _)| *sequence)
    }

    /// Returns a part of the log, as a store does.
    fn slice(&self, after: Position, entries: usize) -> LogSlice {
        let last = self.log.len() as u64;
        let after = usize::try_from(after.0).unwrap().min(self.log.len());
        let entries: Vec<_> = self.log[after..].iter().take(entries).cloned().collect();
        LogSlice {
            start: Position(if entries.is_empty() {
                0
            } else {
                after as u64 + 1
            }),
            entries,
            first: Position(last.min(1)),
            last: Position(last),
        }
    }

    fn append(&mut self, at: Position, entries: &[Bytes]) -> bool {
        let is_next = at.0 == self.log.len() as u64 + 1;
        if is_next {
            self.log.extend_from_slice(entries);
            let sequences = entries.iter().filter_map(|entry| match Entry::read(entry) {
                Some((_, Entry::Piece(piece))) if piece.sequence < FIRST_ERROR => {
                    Some(piece.sequence)
                }
                _ => None,
            });
            self.logged = sequences.max().unwrap_or(0).max(self.logged);
        }
        is_next
    }

    /// Returns every event that can happen now.
    pub(super) fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let is_awake = self.owner == Owner::Awake;
        if is_awake {
            if self.sent < self.messages.len() && !self.has_ended {
                events.push(Event::OwnerSends);
                events.push(Event::Stop);
            }
            if self.flight.is_none() && self.writer.clone().next_batch(false).is_some() {
                events.push(Event::OwnerAppends);
            }
            if self.faults.pauses > 0 {
                events.push(Event::Pause);
            }
        }
        match &self.flight {
            Some(flight) if flight.outcome.is_none() => {
                events.push(Event::StoreAppends);
                if is_awake && self.faults.failures > 0 {
                    events.push(Event::OwnerHears { well: false });
                }
            }
            Some(_) if is_awake => {
                events.push(Event::OwnerHears { well: true });
                if self.faults.failures > 0 {
                    events.push(Event::OwnerHears { well: false });
                }
            }
            _ => {}
        }
        if self.owner == Owner::Paused {
            events.push(Event::Wake);
        }
        if self.owner != Owner::Dead {
            events.push(Event::Die);
        }
        if !is_awake && self.has_lease {
            events.push(Event::LeaseExpires);
        }
        if self.faults.emptied > 0 && !self.log.is_empty() {
            events.push(Event::StoreIsEmptied);
        }
        match &self.connection {
            Connection::Local => {
                events.push(Event::ClientReads);
                if self.faults.cuts > 0 {
                    events.push(Event::ClientIsCut);
                }
            }
            Connection::Remote(_) => {
                events.extend([Event::FollowerReads, Event::FollowerAborts]);
                if self.faults.cuts > 0 {
                    events.push(Event::ClientIsCut);
                }
            }
            Connection::None => {
                events.push(Event::ClientResumes { here: false });
                events.push(Event::ClientResumes { here: true });
            }
            Connection::Ended | Connection::Unknown => {}
        }
        if self.abort.is_some() {
            events.push(Event::StoreAborts);
        }
        events
    }

    pub(super) fn happen(&mut self, event: Event) {
        match event {
            Event::OwnerSends => {
                let message = Bytes::from_static(self.messages[self.sent].as_bytes());
                self.sent += 1;
                self.writer.push(self.sent as u64, &message);
                if self.sent == self.messages.len() {
                    self.end_local(StreamEnd::Clean);
                }
            }
            Event::Stop => self.end_local(StreamEnd::Aborted),
            Event::OwnerAppends => {
                let batch = self.writer.next_batch(false).expect("it was there");
                self.flight = Some(Flight {
                    at: batch.at,
                    entries: batch.entries.clone(),
                    outcome: None,
                });
            }
            Event::StoreAppends => {
                let mut flight = self.flight.take().expect("it was there");
                flight.outcome = Some(self.append(flight.at, &flight.entries));
                self.flight = Some(flight);
            }
            Event::OwnerHears { well } => self.owner_hears(well),
            Event::Pause => {
                self.faults.pauses -= 1;
                self.owner = Owner::Paused;
                self.cut_local();
            }
            Event::Wake => {
                self.owner = Owner::Awake;
                self.has_lease = true;
            }
            Event::Die => {
                self.owner = Owner::Dead;
                self.cut_local();
            }
            Event::LeaseExpires => self.has_lease = false,
            Event::StoreIsEmptied => {
                self.faults.emptied -= 1;
                self.was_emptied = true;
                self.log.clear();
            }
            Event::ClientReads => self.client_reads(),
            Event::ClientIsCut => {
                self.faults.cuts -= 1;
                self.connection = Connection::None;
            }
            Event::ClientResumes { here } => self.client_resumes(here),
            Event::FollowerReads => self.follower_reads(2),
            Event::FollowerAborts => {
                let is_gone =
                    !self.has_lease || (self.owner == Owner::Awake && self.writer.is_over());
                if let Connection::Remote(reader) = &self.connection
                    && is_gone
                    && reader.position().0 == self.log.len() as u64
                {
                    match reader.abort() {
                        None => self.forget_client(),
                        Some((at, entries)) => {
                            self.abort = Some(Flight {
                                at,
                                entries,
                                outcome: None,
                            });
                        }
                    }
                }
            }
            Event::StoreAborts => {
                if let Some(abort) = self.abort.take() {
                    self.append(abort.at, &abort.entries);
                }
            }
        }
    }

    fn end_local(&mut self, end: StreamEnd) {
        self.has_ended = true;
        self.writer.end(end);
    }

    /// Loses the connection to an owner that does not run.
    fn cut_local(&mut self) {
        if matches!(self.connection, Connection::Local) {
            self.connection = Connection::None;
        }
    }

    fn owner_hears(&mut self, well: bool) {
        let Some(flight) = self.flight.take() else {
            return;
        };
        if !well {
            self.faults.failures -= 1;
            // An append that seems to have failed may still reach the store.
            if flight.outcome.is_none() && self.abort.is_none() {
                self.abort = Some(flight);
            }
            return;
        }
        if flight.outcome == Some(true) {
            return self.writer.confirm_batch();
        }
        let found = self.slice(Position(flight.at.0 - 1), flight.entries.len());
        if self.writer.judge_refusal(&found) == Refusal::Fenced {
            self.has_ended = true;
        }
    }

    fn client_reads(&mut self) {
        let next = self.position() + 1;
        match self.messages[..self.sent].get(usize::try_from(next).unwrap() - 1) {
            Some(message) => self.receive(next, Bytes::from_static(message.as_bytes())),
            None if self.has_ended => {
                // The owner's clients reconnect for the rest; those of a clean end have everything.
                let is_complete = self.sent == self.messages.len();
                self.connection = match is_complete {
                    true => Connection::Ended,
                    false => Connection::None,
                };
            }
            None => {}
        }
    }

    fn client_resumes(&mut self, here: bool) {
        let is_known_here = self.position() <= self.sent as u64;
        if here && self.owner == Owner::Awake && is_known_here && !self.has_ended {
            self.connection = Connection::Local;
        } else if !here || self.owner == Owner::Awake {
            let is_known = !self.log.is_empty() || self.owner == Owner::Awake;
            if is_known {
                self.connection = Connection::Remote(LogReader::new(self.position()));
            } else if !self.has_lease {
                self.forget_client();
            }
        }
    }

    fn follower_reads(&mut self, entries: usize) {
        let Connection::Remote(mut reader) = self.connection.clone() else {
            return;
        };
        let steps = reader.read(&self.slice(reader.position(), entries));
        self.connection = Connection::Remote(reader);
        for step in steps {
            if !matches!(self.connection, Connection::Remote(_)) {
                return;
            }
            match step {
                ReadStep::Event { sequence, message } => self.receive(sequence, message),
                ReadStep::End => self.connection = Connection::Ended,
                ReadStep::Lost => self.forget_client(),
            }
        }
    }

    /// Tells the client that its events are not known.
    fn forget_client(&mut self) {
        let is_empty = self.log.is_empty();
        assert!(is_empty || self.was_emptied, "lost from a sound store");
        self.connection = Connection::Unknown;
    }

    fn receive(&mut self, sequence: u64, message: Bytes) {
        assert!(
            sequence > self.position(),
            "an event twice, or out of order"
        );
        // Of a batch nobody knows the errors that an emptied store has kept.
        let may_repeat = sequence >= FIRST_ERROR && self.was_emptied;
        let is_new = self.received.iter().all(|(_, earlier)| *earlier != message);
        assert!(is_new || may_repeat, "a message twice");
        if sequence < FIRST_ERROR {
            assert_eq!(sequence, self.position() + 1, "a message is missing");
        }
        self.received.push((sequence, message));
        for id in 1..self.messages.len() {
            // Of a batch whose owner has ended nobody knows the responses that the store does not keep.
            let was_written = self.logged > id as u64 && !self.was_emptied;
            let most = if sequence >= FIRST_ERROR && !was_written {
                2
            } else {
                1
            };
            assert!(self.responses(id) <= most, "two responses to {id}");
        }
        if (1..self.messages.len()).all(|id| self.responses(id) > 0) {
            self.connection = Connection::Ended;
        }
    }

    /// Returns the number of responses to a request, errors included.
    fn responses(&self, id: usize) -> usize {
        let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},");
        let received = self.received.iter();
        received
            .filter(|(_, message)| message.starts_with(head.as_bytes()))
            .count()
    }

    /// Ends everything from here: the client that comes back has each response or its error.
    pub(super) fn close(mut self, owner_lives: bool) {
        if owner_lives && self.owner != Owner::Dead {
            (self.owner, self.has_lease) = (Owner::Awake, true);
        } else {
            (self.owner, self.has_lease) = (Owner::Dead, false);
            self.cut_local();
        }
        for _ in 0..40 {
            if self.owner == Owner::Awake {
                if self.sent < self.messages.len() && !self.has_ended {
                    self.happen(Event::OwnerSends);
                }
                if self.flight.is_none() && self.writer.next_batch(false).is_some() {
                    self.happen(Event::OwnerAppends);
                }
                if self.flight.is_some() {
                    if self.flight.as_ref().is_some_and(|it| it.outcome.is_none()) {
                        self.happen(Event::StoreAppends);
                    }
                    self.happen(Event::OwnerHears { well: true });
                }
            }
            match self.connection {
                Connection::Local => self.happen(Event::ClientReads),
                Connection::None => self.happen(Event::ClientResumes { here: false }),
                Connection::Remote(_) => {
                    self.happen(Event::FollowerReads);
                    self.happen(Event::FollowerAborts);
                    self.happen(Event::StoreAborts);
                }
                Connection::Ended | Connection::Unknown => break,
            }
        }
        match self.connection {
            Connection::Ended => {
                for id in 1..self.messages.len() {
                    assert!(self.responses(id) > 0, "{id} ended in silence: {self:#?}");
                }
            }
            Connection::Unknown => {}
            _ => panic!("the client still waits: {self:#?}"),
        }
        let errors = self
            .received
            .iter()
            .filter(|(sequence, _)| *sequence >= FIRST_ERROR);
        for (_, error) in errors {
            assert!(std::str::from_utf8(error).unwrap().contains(INSTANCE_ENDED));
        }
    }
}
