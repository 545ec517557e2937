//! The decoder from bytes to lines.

use bytes::{BufMut, Bytes, BytesMut};
use turnbuckle_session::transport::Frame;

use crate::search::find_newline;
use turnbuckle_types::base::debug_fields;

#[cfg(test)]
mod tests;

/// The room in bytes for one read, unless a line is known to be longer.
const CHUNK_BYTES: usize = 32 << 10;

/// The smallest room in bytes for a read.
const MIN_READ_BYTES: usize = CHUNK_BYTES / 4;

/// A decoder that splits a byte stream into frames, one per line, without copying them.
///
/// A line ends with `\n` or `\r\n`, or with the stream. Empty lines are skipped. A line over the
/// bound becomes one [`Frame::TooLong`], and no more of its bytes are kept.
///
/// The decoder does no I/O: bytes are written into [`read_buffer`](Self::read_buffer), or passed to
/// [`push`](Self::push); frames come out of [`next_frame`](Self::next_frame). Which frames come
/// out does not depend on the pieces in which the bytes came.
///
/// If all frames are taken before more bytes are put in, the buffer never has room for more than the
/// bound and one chunk of 32 KiB, or one piece if that is larger. A frame that is kept keeps the
/// memory of the chunk that it was read in.
///
/// ```
/// use turnbuckle_session::transport::Frame;
/// use turnbuckle_stdio::LineDecoder;
///
/// let mut lines = LineDecoder::new(8);
/// lines.push(b"[1,");
/// assert!(lines.next_frame().is_none());
/// lines.push(b"2]\r\n\"far too long\"\n3");
/// assert!(matches!(lines.next_frame(), Some(Frame::Message(line)) if line == "[1,2]"));
/// assert!(matches!(lines.next_frame(), Some(Frame::TooLong { limit: 8 })));
/// assert!(lines.next_frame().is_none());
/// lines.end();
/// assert!(matches!(lines.next_frame(), Some(Frame::Message(line)) if line == "3"));
/// ```
pub struct LineDecoder {
    buffer: BytesMut,
    /// The size with which the buffer was allocated, frames that were split off included.
    allocated: usize,
    /// The bytes at the start of the buffer that are known to contain no newline.
    searched: usize,
    max_bytes: usize,
    /// Set while the buffer starts in the middle of a line that was too long.
    skipping: bool,
    ended: bool,
}

impl LineDecoder {
    /// Creates a decoder of lines of up to `max_bytes` bytes, without their ends.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            allocated: 0,
            searched: 0,
            max_bytes,
            skipping: false,
            ended: false,
        }
    }

    /// Returns the buffer for the next bytes of the stream, with room for at least 8 KiB.
    pub fn read_buffer(&mut self) -> &mut (impl BufMut + use<>) {
        self.reserve(MIN_READ_BYTES);
        &mut self.buffer
    }

    /// Adds the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        self.buffer.extend_from_slice(bytes);
    }

    /// Ends the stream: the bytes that are left are the last line.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Returns whether the stream has ended.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Returns the next complete frame.
    pub fn next_frame(&mut self) -> Option<Frame> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let (length, end) = match find_newline(unsearched) {
                Some(at) => (self.searched + at, 1),
                None if self.ended && !self.buffer.is_empty() => (self.buffer.len(), 0),
                None => return self.check_partial_line(),
            };
            self.searched = 0;
            let mut line = self.buffer.split_to(length + end);
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            line.truncate(length);
            if line.last() == Some(&b'\r') {
                line.truncate(length - 1);
            }
            if line.len() > self.max_bytes {
                return Some(Frame::TooLong {
                    limit: self.max_bytes,
                });
            }
            if !line.is_empty() {
                // A short line would otherwise keep the memory of the long one that was read before it.
                let is_small = self.allocated > CHUNK_BYTES && line.len() < self.allocated / 4;
                let line = if is_small {
                    Bytes::copy_from_slice(&line)
                } else {
                    line.freeze()
                };
                return Some(Frame::Message(line));
            }
        }
    }

    /// Checks a buffer without a newline. Its line is too long if it is so even without a final `\r`.
    fn check_partial_line(&mut self) -> Option<Frame> {
        let long = !self.skipping && self.buffer.len() > self.max_bytes.saturating_add(1);
        if self.skipping || long {
            self.buffer.clear();
            self.skipping = true;
        }
        self.searched = self.buffer.len();
        long.then_some(Frame::TooLong {
            limit: self.max_bytes,
        })
    }

    /// Makes room for `additional` bytes: in the buffer, in memory that dropped frames gave back, or in
    /// a new buffer of twice the size, but at most that of the longest line and a chunk. A buffer
    /// that has grown for a long line is replaced by a smaller one.
    fn reserve(&mut self, additional: usize) {
        let held = self.buffer.len();
        let outgrown =
            held <= MIN_READ_BYTES && self.allocated > CHUNK_BYTES.max(held + additional);
        if !outgrown && (self.has_room(additional) || self.buffer.try_reclaim(additional)) {
            return;
        }
        let most = self.max_bytes.saturating_add(CHUNK_BYTES);
        let size = held
            .saturating_mul(2)
            .min(most)
            .max(CHUNK_BYTES)
            .max(held + additional);
        let mut larger = BytesMut::with_capacity(size);
        larger.extend_from_slice(&self.buffer);
        self.allocated = size;
        self.buffer = larger;
    }

    fn has_room(&self, additional: usize) -> bool {
        self.buffer.capacity() - self.buffer.len() >= additional
    }
}

// Prints no content of lines.
debug_fields!(LineDecoder { buffered = |it| it.buffer.len(), max_bytes, skipping, ended });
