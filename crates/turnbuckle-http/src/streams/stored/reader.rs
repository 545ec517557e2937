//! The state of a read of a stream's log, for a client that has come back to another instance.

use bytes::Bytes;
use turnbuckle_store::{LogSlice, Position};

use super::entry::{Entry, FIRST_ERROR, Piece, end_entry};
use super::open_requests::OpenRequests;
use super::writer::{MAX_MESSAGE_BYTES, error_entries};

/// The largest sequence number that a client may claim to have received.
const MAX_SEQUENCE: u64 = 1 << 63;

/// The reader of the log of a stream, for a client that has received the stream's events up to a sequence
/// number.
#[derive(Debug, Clone)]
#[cfg_attr(test, derive(Hash))]
pub(super) struct LogReader {
    /// The position of the last entry that was read.
    position: Position,
    /// The generation of the log. An entry of an earlier one was written for a log that is gone.
    generation: u32,
    /// True once an entry of that generation was read.
    has_read: bool,
    /// The sequence number of the last event that the client has received.
    received: u64,
    /// The sequence number of the newest message of the owner in the log.
    logged: u64,
    /// The requests without a response, once the log was found to say which they are.
    open: Option<OpenRequests>,
    /// The pieces of a message whose last piece was not read yet.
    pieces: Vec<Piece>,
    pieces_bytes: usize,
}

/// A step of a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReadStep {
    /// The next message for the client.
    Event { sequence: u64, message: Bytes },
    /// The end of the stream.
    End,
    /// Events that the client has not received are not in the log any more, or never were.
    Lost,
}

impl LogReader {
    pub(super) fn new(received: u64) -> Self {
        Self {
            position: Position(0),
            generation: 0,
            has_read: false,
            received: received.min(MAX_SEQUENCE),
            logged: 0,
            open: None,
            pieces: Vec::new(),
            pieces_bytes: 0,
        }
    }

    /// Returns the position behind which the log is to be read next.
    pub(super) fn position(&self) -> Position {
        self.position
    }

    /// Returns whether the log has told which requests the stream has.
    pub(super) fn knows_requests(&self) -> bool {
        self.open.is_some()
    }

    /// Reads a part of the log behind the [`position`](Self::position). Returns the steps to take, of which
    /// [`ReadStep::End`] and [`ReadStep::Lost`] are the last.
    pub(super) fn read(&mut self, slice: &LogSlice) -> Vec<ReadStep> {
        let mut steps = Vec::new();
        if slice.last < self.position {
            self.begin_anew(self.generation.wrapping_add(1));
            return steps;
        }
        for (position, entry) in (slice.start.0..).zip(&slice.entries) {
            let step = match Entry::read(entry) {
                Some((generation, _)) if generation < self.generation => None,
                Some((generation, _)) if generation > self.generation && self.has_read => {
                    self.begin_anew(generation);
                    break;
                }
                Some((generation, entry)) => {
                    (self.generation, self.has_read) = (generation, true);
                    self.read_entry(entry)
                }
                None => Some(ReadStep::Lost),
            };
            self.position = Position(position);
            let is_last = matches!(step, Some(ReadStep::End | ReadStep::Lost));
            steps.extend(step);
            if is_last {
                break;
            }
        }
        steps
    }

    /// Reads the log from its beginning, since it is another one: the store was emptied.
    fn begin_anew(&mut self, generation: u32) {
        self.position = Position(0);
        (self.generation, self.has_read) = (generation, false);
        self.clear_pieces();
    }

    fn read_entry(&mut self, entry: Entry) -> Option<ReadStep> {
        match entry {
            Entry::Open { sequence, .. } | Entry::End { sequence } if sequence > self.received => {
                Some(ReadStep::Lost)
            }
            Entry::Open { open, .. } => {
                self.open = Some(open);
                None
            }
            Entry::Piece(piece) => self.read_piece(piece),
            Entry::End { .. } => Some(ReadStep::End),
        }
    }

    fn read_piece(&mut self, piece: Piece) -> Option<ReadStep> {
        if piece.index == 0 {
            self.clear_pieces();
        }
        let is_next = match self.pieces.last() {
            Some(last) => (last.sequence, last.index + 1) == (piece.sequence, piece.index),
            None => piece.index == 0,
        };
        let sequence = piece.sequence;
        self.pieces_bytes += piece.bytes.len();
        if !is_next || self.pieces_bytes > MAX_MESSAGE_BYTES {
            self.clear_pieces();
            return (sequence > self.received).then_some(ReadStep::Lost);
        }
        let is_last = piece.is_last;
        self.pieces.push(piece);
        is_last.then(|| self.join_pieces(sequence))?
    }

    fn join_pieces(&mut self, sequence: u64) -> Option<ReadStep> {
        let message = match &*self.pieces {
            [whole] => whole.bytes.clone(),
            pieces => {
                let mut message = Vec::with_capacity(self.pieces_bytes);
                pieces
                    .iter()
                    .for_each(|it| message.extend_from_slice(&it.bytes));
                message.into()
            }
        };
        self.clear_pieces();
        if let Some(open) = &mut self.open {
            open.remove_answered(&message);
        }
        if sequence < FIRST_ERROR {
            self.logged = sequence;
        }
        if sequence <= self.received {
            return None;
        }
        if sequence > self.received.saturating_add(1) && sequence < FIRST_ERROR {
            return Some(ReadStep::Lost);
        }
        self.received = sequence;
        Some(ReadStep::Event { sequence, message })
    }

    fn clear_pieces(&mut self) {
        self.pieces.clear();
        self.pieces_bytes = 0;
    }

    /// Returns the position and the entries that end the stream in the place of its owner, which has ended:
    /// an error for each request without a response, and the end. Returns `None` if the log does not say
    /// which requests there are: the owner has written nothing.
    pub(super) fn abort(&self) -> Option<(Position, Vec<Bytes>)> {
        let generation = self.generation;
        let first = FIRST_ERROR.max(self.received + 1);
        let mut entries: Vec<_> = error_entries(generation, first, self.open.as_ref()?).collect();
        entries.push(end_entry(generation, self.logged));
        Some((Position(self.position.0 + 1), entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a log whose messages have these sequence numbers, behind the message `received`.
    fn read(received: u64, sequences: &[u64]) -> Vec<ReadStep> {
        let message = Bytes::from_static(b"{}");
        let pieces = sequences.iter().flat_map(|it| Piece::split(*it, &message));
        let entries: Vec<_> = pieces.map(|piece| piece.to_bytes(0)).collect();
        let last = Position(entries.len() as u64);
        LogReader::new(received).read(&LogSlice {
            entries,
            start: Position(1),
            first: Position(1),
            last,
        })
    }

    #[test]
    fn a_message_that_is_missing_is_never_skipped() {
        let event = |sequence| ReadStep::Event {
            sequence,
            message: Bytes::from_static(b"{}"),
        };
        assert_eq!(read(0, &[1, 2]), [event(1), event(2)]);
        assert_eq!(read(0, &[1, 3]), [event(1), ReadStep::Lost]);
        assert_eq!(read(1, &[3]), [ReadStep::Lost]);
        assert_eq!(read(2, &[1, 3]), [event(3)]);
        assert_eq!(read(9, &[1, 3]), []);
        // Errors follow whatever the client has received.
        assert_eq!(read(9, &[1, FIRST_ERROR]), [event(FIRST_ERROR)]);
    }
}
