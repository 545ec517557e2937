//! The replay log of one stream: the events that a client may ask for again.
//!
//! A log knows events, their positions and its bounds. It does not know who is connected: the
//! stream that owns the log decides what is sent to whom, and wakes its readers. A copy for other
//! instances gets each event as it is appended.
//!
//! Specification: basic/transports, "Resumability and Redelivery" (2025-11-25).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::time::Instant;
use turnbuckle_session::internal::MemoryPermit;
use turnbuckle_types::base::change_position::ChangePosition;

#[cfg(feature = "store")]
use super::stored::StreamCopy;
use crate::event::{self, StreamName};
use crate::options::ReplayLimits;

/// The bounds of every replay log of one endpoint, and the bytes that all of them keep together.
#[derive(Debug)]
pub(crate) struct ReplayBudget {
    limits: ReplayLimits,
    total_bytes: AtomicUsize,
}

impl ReplayBudget {
    pub(crate) fn new(limits: &ReplayLimits) -> Arc<Self> {
        Arc::new(Self {
            limits: limits.clone(),
            total_bytes: AtomicUsize::new(0),
        })
    }

    /// Returns whether all logs together keep more than
    /// [`ReplayLimits::max_total_bytes`].
    pub(crate) fn is_exceeded(&self) -> bool {
        self.total_bytes.load(Ordering::Relaxed) > self.limits.max_total_bytes
    }

    fn add(&self, bytes: usize) {
        self.total_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn subtract(&self, bytes: usize) {
        self.total_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The kept events of one stream, in order. Sequence numbers start at 1 and have no gaps.
#[derive(Debug)]
pub(crate) struct ReplayLog {
    budget: Arc<ReplayBudget>,
    /// The position in the log of changes that the ids of events name, if there is one.
    changes: Option<ChangePosition>,
    events: VecDeque<LoggedEvent>,
    /// The sequence number of the oldest kept event.
    first_sequence: u64,
    /// The line of the newest event that was removed.
    removed_line: u64,
    bytes: usize,
    closed_at: Option<Instant>,
    /// The copy of the log that other instances read.
    #[cfg(feature = "store")]
    copy: Option<Box<dyn StreamCopy>>,
}

/// One event of a replay log.
#[derive(Debug)]
pub(crate) struct LoggedEvent {
    /// The event as it is sent, with its id.
    pub(crate) bytes: Bytes,
    /// The line of connections that the event was sent on, 0 before it was sent. A line is one
    /// connection and those that resume it; its number is that of its first connection. An event is
    /// replayed on its own line only.
    pub(crate) line: u64,
}

impl ReplayLog {
    pub(crate) fn new(budget: Arc<ReplayBudget>) -> Self {
        Self {
            budget,
            changes: None,
            events: VecDeque::new(),
            first_sequence: 1,
            removed_line: 0,
            bytes: 0,
            closed_at: None,
            #[cfg(feature = "store")]
            copy: None,
        }
    }

    /// Copies the log from its first event on. Nothing was removed from it yet.
    #[cfg(feature = "store")]
    pub(crate) fn copy_to(&mut self, copy: Box<dyn StreamCopy>) {
        for (sequence, event) in (self.first_sequence..).zip(&self.events) {
            copy.push(sequence, &event::message_of(&event.bytes));
        }
        if self.is_closed() {
            copy.end();
        }
        self.copy = Some(copy);
    }

    /// Returns the copy of the log that other instances read.
    #[cfg(feature = "store")]
    pub(crate) fn copy(&self) -> Option<&dyn StreamCopy> {
        self.copy.as_deref()
    }

    /// Sets the position in the log of changes that the ids of events name from now on.
    pub(crate) fn set_changes(&mut self, position: ChangePosition) {
        self.changes = Some(position);
    }

    /// Appends a message as an event whose id names its stream and the event's sequence number. The
    /// memory of the event is held by `memory` for as long as the event is kept or being sent.
    pub(crate) fn append(&mut self, stream: &StreamName, message: &[u8], mut memory: MemoryPermit) {
        let sequence = self.next_sequence();
        let bytes = match self.changes {
            None => event::message_with_id(stream, sequence, message),
            changes => {
                let stream = StreamName {
                    changes,
                    ..stream.clone()
                };
                event::message_with_id(&stream, sequence, message)
            }
        };
        memory.resize_beyond_limits(bytes.len());
        let bytes = memory.attach(bytes);
        #[cfg(feature = "store")]
        if let Some(copy) = &self.copy {
            copy.push(sequence, &event::message_of(&bytes));
        }
        self.bytes += bytes.len();
        self.budget.add(bytes.len());
        self.events.push_back(LoggedEvent { bytes, line: 0 });
    }

    /// Returns the event with that sequence number, unless it was removed or does not exist yet.
    pub(crate) fn event(&self, sequence: u64) -> Option<&LoggedEvent> {
        self.events.get(self.index(sequence)?)
    }

    /// Records the line that an event is sent on, and returns the event.
    pub(crate) fn assign_line(&mut self, sequence: u64, line: u64) -> Option<&LoggedEvent> {
        let index = self.index(sequence)?;
        let event = self.events.get_mut(index)?;
        event.line = line;
        Some(event)
    }

    /// Returns the line of an event. The newest removed event is still known.
    pub(crate) fn line(&self, sequence: u64) -> u64 {
        self.event(sequence)
            .map_or(self.removed_line, |event| event.line)
    }

    /// Returns the sequence number of the oldest kept event, or of the next one if none is kept.
    pub(crate) fn first_sequence(&self) -> u64 {
        self.first_sequence
    }

    /// Returns the sequence number that the next event will have.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.first_sequence + self.events.len() as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Returns the bytes of all kept events.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether another message of `bytes` bytes may wait for a reader that has not read
    /// the events from `unread` on: with them it stays within the log's bounds, or there are none.
    pub(crate) fn has_room(&self, unread: u64, bytes: usize) -> bool {
        let behind = usize::try_from(self.next_sequence() - unread).unwrap_or(usize::MAX);
        if behind == 0 {
            return true;
        }
        let newest = self.events.iter().rev().take(behind);
        let unread_bytes: usize = newest.map(|event| event.bytes.len()).sum();
        let limits = &self.budget.limits;
        behind < limits.max_stream_events && unread_bytes + bytes <= limits.max_stream_bytes
    }

    /// Removes the oldest events while the log, or all logs of the endpoint together, are over a
    /// bound. Events from `keep_from` on stay. The newest event stays unless all logs together are
    /// over their bound: an event that is too large for it is sent once and not kept.
    pub(crate) fn trim(&mut self, keep_from: u64) {
        while self.first_sequence < keep_from
            && (self.exceeds_total() || (self.is_over_bounds() && self.events.len() > 1))
        {
            if let Some(event) = self.events.pop_front() {
                self.bytes -= event.bytes.len();
                self.budget.subtract(event.bytes.len());
                self.first_sequence += 1;
                self.removed_line = event.line;
            } else {
                return;
            }
        }
    }

    /// Returns whether all logs of the endpoint together keep more than they may.
    pub(crate) fn exceeds_total(&self) -> bool {
        self.budget.is_exceeded()
    }

    fn is_over_bounds(&self) -> bool {
        let limits = &self.budget.limits;
        self.events.len() > limits.max_stream_events || self.bytes > limits.max_stream_bytes
    }

    /// Closes the log: its stream has ended, and no event follows. The age of a closed log counts
    /// from its first close.
    pub(crate) fn close(&mut self) {
        self.closed_at.get_or_insert_with(Instant::now);
        #[cfg(feature = "store")]
        if let Some(copy) = &self.copy {
            copy.end();
        }
    }

    /// Returns when the log was closed, if it was.
    pub(crate) fn closed_at(&self) -> Option<Instant> {
        self.closed_at
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed_at.is_some()
    }

    fn index(&self, sequence: u64) -> Option<usize> {
        usize::try_from(sequence.checked_sub(self.first_sequence)?).ok()
    }
}

impl Drop for ReplayLog {
    fn drop(&mut self) {
        self.budget.subtract(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &[u8] = b"{}";
    const EVENT_BYTES: usize = "id: 1-1\nevent: message\ndata: {}\n\n".len();

    /// A position behind every event: nothing has to be kept for a reader.
    const NO_READER: u64 = u64::MAX;

    fn total(budget: &ReplayBudget) -> usize {
        budget.total_bytes.load(Ordering::Relaxed)
    }

    fn append(log: &mut ReplayLog, events: usize) {
        for _ in 0..events {
            log.append(&4.into(), MESSAGE, MemoryPermit::default());
            log.trim(NO_READER);
        }
    }

    #[test]
    fn events_are_read_by_their_sequence_numbers() {
        let budget = ReplayBudget::new(&ReplayLimits::new());
        let mut log = ReplayLog::new(budget);
        assert!(log.is_empty());
        assert_eq!((log.first_sequence(), log.next_sequence()), (1, 1));
        append(&mut log, 2);
        assert_eq!((log.first_sequence(), log.next_sequence()), (1, 3));
        let event = log.event(2).unwrap();
        assert_eq!(event.bytes, "id: 4-2\nevent: message\ndata: {}\n\n");
        for unknown in [0, 3, u64::MAX] {
            assert!(log.event(unknown).is_none(), "{unknown}");
        }
    }

    #[test]
    fn count_and_bytes_are_bounded() {
        for (options, kept) in [
            (ReplayLimits::new().max_stream_events(3), 3),
            (ReplayLimits::new().max_stream_bytes(4 * EVENT_BYTES), 4),
            (ReplayLimits::new().max_stream_bytes(4 * EVENT_BYTES - 1), 3),
            // The newest event of a stream is kept.
            (ReplayLimits::new().max_stream_bytes(0), 1),
        ] {
            let mut log = ReplayLog::new(ReplayBudget::new(&options));
            append(&mut log, 9);
            assert_eq!(log.bytes(), kept * EVENT_BYTES, "{options:?}");
            assert_eq!(log.next_sequence() - log.first_sequence(), kept as u64);
        }
    }

    #[test]
    fn all_logs_together_keep_no_more_than_the_total() {
        let options = ReplayLimits::new().max_total_bytes(4 * EVENT_BYTES);
        let budget = ReplayBudget::new(&options);
        let [mut one, mut two] = [(); 2].map(|()| ReplayLog::new(budget.clone()));
        append(&mut one, 3);
        append(&mut two, 1);
        assert_eq!(total(&budget), 4 * EVENT_BYTES, "the total is not exceeded");
        assert_eq!(one.first_sequence(), 1);
        // The log that exceeds it removes its own oldest event.
        append(&mut one, 1);
        assert_eq!(total(&budget), 4 * EVENT_BYTES);
        assert_eq!((one.first_sequence(), two.first_sequence()), (2, 1));
        drop(one);
        assert_eq!(total(&budget), EVENT_BYTES, "a dropped log keeps nothing");
    }

    #[test]
    fn unread_events_are_not_removed() {
        let options = ReplayLimits::new().max_total_bytes(0);
        let budget = ReplayBudget::new(&options);
        let mut log = ReplayLog::new(budget.clone());
        for _ in 0..3 {
            log.append(&4.into(), MESSAGE, MemoryPermit::default());
            log.trim(2);
        }
        assert_eq!(log.first_sequence(), 2);
        assert_eq!(total(&budget), 2 * EVENT_BYTES);
        log.trim(NO_READER);
        assert_eq!(total(&budget), 0, "read, and not kept");
        assert_eq!((log.first_sequence(), log.next_sequence()), (4, 4));
    }

    #[test]
    fn the_total_of_all_logs_is_exact() {
        let options = ReplayLimits::new().max_total_bytes(3 * EVENT_BYTES);
        let budget = ReplayBudget::new(&options);
        let mut logs: Vec<_> = (0..9).map(|_| ReplayLog::new(budget.clone())).collect();
        logs.iter_mut().for_each(|log| append(log, 1));
        assert_eq!(total(&budget), 3 * EVENT_BYTES);
        assert!(logs[8].is_empty() && logs[8].next_sequence() == 2);
    }

    #[test]
    fn the_line_of_the_newest_removed_event_is_known() {
        let options = ReplayLimits::new().max_stream_events(1);
        let mut log = ReplayLog::new(ReplayBudget::new(&options));
        append(&mut log, 1);
        assert!(log.assign_line(1, 7).is_some());
        append(&mut log, 1);
        assert_eq!((log.line(1), log.line(2)), (7, 0));
        assert!(log.assign_line(1, 8).is_none(), "it was removed");
    }

    #[test]
    fn a_reader_may_lag_by_the_retained_bytes() {
        let options = ReplayLimits::new().max_stream_events(3);
        let mut log = ReplayLog::new(ReplayBudget::new(&options));
        assert!(log.has_room(1, usize::MAX), "nothing is unread");
        append(&mut log, 3);
        assert!(!log.has_room(1, MESSAGE.len()));
        assert!(log.has_room(2, MESSAGE.len()));
        assert!(!log.has_room(2, 1 << 20), "too many bytes");
    }

    #[tokio::test(start_paused = true)]
    async fn the_age_of_a_log_counts_from_its_first_close() {
        let budget = ReplayBudget::new(&ReplayLimits::new());
        let mut log = ReplayLog::new(budget);
        assert!(!log.is_closed() && log.closed_at().is_none());
        log.close();
        let closed_at = log.closed_at();
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        log.close();
        assert!(log.is_closed());
        assert_eq!(log.closed_at(), closed_at);
    }
}
