//! The state of the log of a stream, as its owner writes it.

use std::collections::VecDeque;

use bytes::Bytes;
use turnbuckle_store::{LogSlice, Position};

use super::entry::{FIRST_ERROR, Piece, end_entry, open_entry, with_generation};
use super::open_requests::OpenRequests;

/// The most messages of one append, and the bytes after which no further one is added.
const MAX_BATCH_PIECES: usize = 64;
const MAX_BATCH_BYTES: usize = 1 << 20;

/// The most bytes of a message.
pub(super) const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// The part of a log that is kept.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(test, derive(Hash))]
pub(super) struct LogBounds {
    pub(super) entries: usize,
    pub(super) bytes: usize,
}

/// The state of the log of a stream as its owner knows it.
#[derive(Debug, Clone)]
#[cfg_attr(test, derive(Hash))]
pub(super) struct LogWriter {
    bounds: LogBounds,
    generation: u32,
    /// The position of the next entry.
    next: Position,
    /// The requests without a response among the messages that were put into batches.
    open: OpenRequests,
    /// The pieces that are in no batch yet.
    waiting: VecDeque<Piece>,
    /// The pieces of messages of which some are in the log already.
    joined: Vec<Bytes>,
    waiting_bytes: usize,
    /// The sequence numbers of the newest message, and of the newest one of which all pieces were put into
    /// batches.
    sequence: u64,
    batched: u64,
    /// The entries that are being written, or whose fate is unknown.
    batch: Option<Batch>,
    /// The newest entries, within the bounds; those of the newest message stay.
    kept: VecDeque<KeptEntry>,
    kept_bytes: usize,
    /// The number of entries in the log from the newest one with the open requests on; 0 if there is none.
    since_open: usize,
    end: Option<StreamEnd>,
    state: WriterState,
}

/// An entry that is kept in the log.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(test, derive(Hash))]
struct KeptEntry {
    bytes: usize,
    /// The sequence number of its message, or of the one before it.
    sequence: u64,
}

/// The reason that a stream has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(Hash))]
pub(super) enum StreamEnd {
    /// The client expects nothing more.
    Clean,
    /// The instance ends before the responses: each open request is answered by an error.
    Aborted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(Hash))]
enum WriterState {
    Writing,
    /// The end of the stream is in the log.
    Ended,
    /// Another instance has ended the stream.
    Fenced,
}

/// Entries that are appended together.
#[derive(Debug, Clone)]
#[cfg_attr(test, derive(Hash))]
pub(super) struct Batch {
    pub(super) at: Position,
    pub(super) entries: Vec<Bytes>,
    /// The sequence number of the message before the first one of the batch.
    after: u64,
    /// The number of entries of the log that are kept.
    pub(super) keep: usize,
    /// True if the end of the stream is the last entry.
    pub(super) is_end: bool,
    bytes: usize,
}

/// The meaning of a refused append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The entries are in the log: an append that seemed to fail had its effect.
    Written,
    /// The append is to be repeated.
    Again,
    /// Another instance has ended the stream.
    Fenced,
}

impl LogWriter {
    /// Creates the writer of a new stream with these requests.
    pub(super) fn new(open: OpenRequests, bounds: LogBounds) -> Self {
        Self {
            bounds,
            generation: 0,
            next: Position(1),
            open,
            waiting: VecDeque::new(),
            joined: Vec::new(),
            waiting_bytes: 0,
            sequence: 0,
            batched: 0,
            batch: None,
            kept: VecDeque::new(),
            kept_bytes: 0,
            since_open: 0,
            end: None,
            state: WriterState::Writing,
        }
    }

    /// Adds a message of the stream. One that is too large is not written.
    pub(super) fn push(&mut self, sequence: u64, message: &Bytes) {
        if self.is_over() || self.end.is_some() {
            return;
        }
        self.sequence = sequence;
        if message.len() <= MAX_MESSAGE_BYTES {
            self.waiting_bytes += message.len();
            self.waiting.extend(Piece::split(sequence, message));
        }
    }

    /// Ends the stream behind its messages.
    pub(super) fn end(&mut self, end: StreamEnd) {
        self.end.get_or_insert(end);
    }

    /// Returns the bytes that are not known to be written.
    pub(super) fn bytes(&self) -> usize {
        let batch = self.batch.as_ref().map_or(0, |batch| batch.bytes);
        self.waiting_bytes + batch
    }

    /// Returns whether there is something to write.
    pub(super) fn has_more(&self) -> bool {
        let waits = !self.waiting.is_empty() || self.end.is_some();
        !self.is_over() && (waits || self.batch.is_some())
    }

    /// Drops the oldest message that is in no batch yet, and returns whether there was one. Readers notice
    /// by the sequence numbers.
    pub(super) fn drop_oldest(&mut self) -> bool {
        let sequence = self.waiting.front().map(|piece| piece.sequence);
        while let Some(piece) = self.waiting.front()
            && Some(piece.sequence) == sequence
        {
            self.waiting_bytes -= piece.bytes.len();
            self.waiting.pop_front();
        }
        self.joined.clear();
        sequence.is_some()
    }

    /// Returns whether nothing more will be written.
    pub(super) fn is_over(&self) -> bool {
        self.state != WriterState::Writing
    }

    /// Returns the entries to append now. They stay the same until it is known that they are in the log.
    /// With `renew` there is at least one while the stream is open.
    pub(super) fn next_batch(&mut self, renew: bool) -> Option<&Batch> {
        if self.batch.is_none() && !self.is_over() {
            self.batch = self.new_batch(renew);
        }
        self.batch.as_ref()
    }

    fn new_batch(&mut self, renew: bool) -> Option<Batch> {
        let mut entries = Vec::new();
        let mut sequences = Vec::new();
        let mut bytes = 0;
        let after = self.batched;
        // The newest entry with the open requests is dropped when the log has grown by its bounds.
        let mut since_open = self.since_open;
        if since_open == 0 {
            entries.push(open_entry(self.generation, self.batched, &self.open));
        }
        while entries.len() < MAX_BATCH_PIECES
            && bytes < MAX_BATCH_BYTES
            && let Some(piece) = self.waiting.pop_front()
        {
            bytes += piece.bytes.len();
            self.waiting_bytes -= piece.bytes.len();
            sequences.resize(entries.len(), after);
            sequences.push(piece.sequence);
            entries.push(piece.to_bytes(self.generation));
            self.note(piece);
        }
        let is_end = self.waiting.is_empty() && self.end.is_some();
        if is_end {
            if self.end == Some(StreamEnd::Aborted) {
                entries.extend(error_entries(self.generation, FIRST_ERROR, &self.open));
            }
            entries.push(end_entry(self.generation, self.sequence));
        }
        since_open += entries.len();
        if !is_end && (since_open > self.count_kept(&entries) || (renew && self.since_open > 0)) {
            entries.push(open_entry(self.generation, self.batched, &self.open));
            since_open = 1;
        }
        if entries.is_empty() {
            return None;
        }
        self.since_open = since_open;
        let newest = sequences.last().copied().unwrap_or(after);
        sequences.resize(entries.len(), newest);
        self.keep(&entries, &sequences);
        Some(Batch {
            at: self.next,
            after,
            keep: self.kept.len().max(entries.len()),
            bytes: entries.iter().map(Bytes::len).sum(),
            entries,
            is_end,
        })
    }

    /// Adds entries to those that are kept, and drops the oldest ones over the bounds.
    fn keep(&mut self, entries: &[Bytes], sequences: &[u64]) {
        for (entry, &sequence) in entries.iter().zip(sequences) {
            let bytes = entry.len();
            self.kept.push_back(KeptEntry { bytes, sequence });
            self.kept_bytes += bytes;
        }
        let newest = self.kept.back().map(|entry| entry.sequence);
        while (self.kept.len() > self.bounds.entries || self.kept_bytes > self.bounds.bytes)
            && let Some(oldest) = self.kept.front()
            && Some(oldest.sequence) != newest
        {
            self.kept_bytes -= oldest.bytes;
            self.kept.pop_front();
        }
    }

    /// Notes a response once all its pieces are in batches.
    fn note(&mut self, piece: Piece) {
        let is_last = piece.is_last;
        if is_last {
            self.batched = piece.sequence;
        }
        if self.open.is_empty() {
            return;
        }
        self.joined.push(piece.bytes);
        if is_last {
            let joined = std::mem::take(&mut self.joined);
            match &*joined {
                [whole] => self.open.remove_answered(whole),
                pieces => self.open.remove_answered(&pieces.concat()),
            }
        }
    }

    /// Returns the number of the newest entries that are kept once these are in the log.
    fn count_kept(&self, entries: &[Bytes]) -> usize {
        let mut bytes = 0;
        let newest = entries.iter().rev().map(Bytes::len);
        let sizes = newest.chain(self.kept.iter().rev().map(|entry| entry.bytes));
        let fits = |size: &usize| {
            bytes += size;
            bytes <= self.bounds.bytes
        };
        sizes.take_while(fits).take(self.bounds.entries).count()
    }

    /// Notes that the batch is in the log.
    pub(super) fn confirm_batch(&mut self) {
        let Some(batch) = self.batch.take() else {
            return;
        };
        self.next = Position(batch.at.0 + batch.entries.len() as u64);
        if batch.is_end {
            self.state = WriterState::Ended;
        }
    }

    /// Returns the meaning of the refusal of the batch, by the entries that are in the log at its place.
    pub(super) fn judge_refusal(&mut self, found: &LogSlice) -> Refusal {
        let Some(batch) = &mut self.batch else {
            return Refusal::Again;
        };
        if found.start == batch.at && found.entries.starts_with(&batch.entries) {
            self.confirm_batch();
            return Refusal::Written;
        }
        if found.last.0 >= batch.at.0 {
            self.state = WriterState::Fenced;
            self.batch = None;
            self.waiting.clear();
            self.waiting_bytes = 0;
            return Refusal::Fenced;
        }
        if found.last.0 + 1 < batch.at.0 {
            // The store was emptied, or the log has expired.
            self.generation += 1;
            batch.at = Position(1);
            for entry in &mut batch.entries {
                *entry = with_generation(entry, self.generation);
            }
            let open = open_entry(self.generation, batch.after, &self.open);
            batch.entries.insert(0, open);
            batch.keep = batch.entries.len();
            self.since_open = batch.entries.len();
            let sequence = self.batched;
            let kept = |entry: &Bytes| KeptEntry {
                bytes: entry.len(),
                sequence,
            };
            self.kept = batch.entries.iter().map(kept).collect();
            self.kept_bytes = batch.entries.iter().map(Bytes::len).sum();
        }
        Refusal::Again
    }
}

/// Returns the entries with the errors of open requests, from this sequence number on.
pub(super) fn error_entries(
    generation: u32,
    first: u64,
    open: &OpenRequests,
) -> impl Iterator<Item = Bytes> + '_ {
    let errors = (first..).zip(open.errors());
    errors.flat_map(move |(sequence, error)| {
        Piece::split(sequence, error).map(move |it| it.to_bytes(generation))
    })
}
