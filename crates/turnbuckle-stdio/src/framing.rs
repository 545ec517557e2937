//! Lines out of bytes that arrive in any pieces.

use std::fmt;

use bytes::{BufMut, BytesMut};
use turnbuckle_session::Frame;

use crate::search::newline;

#[cfg(test)]
mod tests;

/// What one read is given room for, unless a line is known to be longer.
const CHUNK: usize = 32 << 10;

/// Room that is too small for a read to be worth it.
const LEAST: usize = CHUNK / 4;

/// Cuts a byte stream into frames, one per line, without copying them out of what was read.
///
/// A line ends with `\n` or `\r\n`, or with the stream. Empty lines are skipped. A line over the
/// cap becomes one [`Frame::TooLong`], and no byte of it is kept from then on.
///
/// It does no I/O: bytes are written into [`space`](Self::space), or given to
/// [`push`](Self::push); frames come out of [`next_frame`](Self::next_frame). Which frames come
/// out does not depend on the pieces in which the bytes came.
///
/// If the frames are taken before more bytes are put in, it never has room for more than the cap
/// and one chunk of 32 KiB, or one piece where that is larger. A frame that is kept keeps the
/// chunk that it was read in.
///
/// ```
/// use turnbuckle_session::Frame;
/// use turnbuckle_stdio::Lines;
///
/// let mut lines = Lines::new(8);
/// lines.push(b"[1,");
/// assert!(lines.next_frame().is_none());
/// lines.push(b"2]\r\n\"far too long\"\n3");
/// assert!(matches!(lines.next_frame(), Some(Frame::Message(line)) if line == "[1,2]"));
/// assert!(matches!(lines.next_frame(), Some(Frame::TooLong { limit: 8 })));
/// assert!(lines.next_frame().is_none());
/// lines.end();
/// assert!(matches!(lines.next_frame(), Some(Frame::Message(line)) if line == "3"));
/// ```
pub struct Lines {
    buffer: BytesMut,
    /// The size in which the buffer was allocated; what was cut off in front counts.
    allocated: usize,
    /// Bytes at the start of the buffer that are known to hold no line's end.
    searched: usize,
    cap: usize,
    /// The buffer starts in the middle of a line that was over the cap.
    skipping: bool,
    ended: bool,
}

impl Lines {
    /// Takes lines of up to `cap` bytes, not counting their ends.
    #[must_use]
    pub fn new(cap: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            allocated: 0,
            searched: 0,
            cap,
            skipping: false,
            ended: false,
        }
    }

    /// Room for the next bytes of the stream, at least 8 KiB in one piece.
    pub fn space(&mut self) -> &mut (impl BufMut + use<>) {
        self.reserve(LEAST);
        &mut self.buffer
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        self.buffer.extend_from_slice(bytes);
    }

    /// Says that the stream has ended: what is left is the last line.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether the stream has ended.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// The next frame that is complete.
    pub fn next_frame(&mut self) -> Option<Frame> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let (length, end) = match newline(unsearched) {
                Some(at) => (self.searched + at, 1),
                None if self.ended && !self.buffer.is_empty() => (self.buffer.len(), 0),
                None => return self.unfinished(),
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
            if line.len() > self.cap {
                return Some(Frame::TooLong { limit: self.cap });
            }
            if !line.is_empty() {
                return Some(Frame::Message(line.freeze()));
            }
        }
    }

    /// The buffer holds no line's end. A line is over the cap even if a `\r` comes off.
    fn unfinished(&mut self) -> Option<Frame> {
        let long = !self.skipping && self.buffer.len() > self.cap.saturating_add(1);
        if self.skipping || long {
            self.buffer.clear();
            self.skipping = true;
        }
        self.searched = self.buffer.len();
        long.then_some(Frame::TooLong { limit: self.cap })
    }

    /// Makes room for `additional` bytes: what there is, or what taken frames gave back, or a new
    /// buffer of twice the size, yet never for more than the longest line and a chunk. A buffer
    /// that has grown for a long line goes with it.
    fn reserve(&mut self, additional: usize) {
        let held = self.buffer.len();
        let outgrown = held <= LEAST && self.allocated > CHUNK.max(held + additional);
        if !outgrown && (self.has_room(additional) || self.buffer.try_reclaim(additional)) {
            return;
        }
        let most = self.cap.saturating_add(CHUNK);
        let size = held
            .saturating_mul(2)
            .min(most)
            .max(CHUNK)
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

/// Without what the lines say.
impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("buffered", &self.buffer.len())
            .field("cap", &self.cap)
            .field("skipping", &self.skipping)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
