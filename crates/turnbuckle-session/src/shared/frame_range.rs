//! A part of a frame, kept as a range of its bytes.

use turnbuckle_wire::era::params::raw_meta;

/// A range of bytes of a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameRange {
    start: usize,
    end: usize,
}

impl FrameRange {
    /// Returns the range of `part` in `frame`: an empty one if `part` is not a slice of it.
    pub(crate) fn locate(frame: &[u8], part: &str) -> Self {
        let start = (part.as_ptr() as usize).wrapping_sub(frame.as_ptr() as usize);
        match start.checked_add(part.len()) {
            Some(end) if end <= frame.len() => Self { start, end },
            _ => Self { start: 0, end: 0 },
        }
    }

    /// Returns the range of `_meta` in a frame; `None` if it has none.
    pub(crate) fn locate_meta(frame: &[u8]) -> Option<Self> {
        let meta = raw_meta(std::str::from_utf8(frame).ok()?)?;
        Some(Self::locate(frame, meta.as_str()))
    }

    /// Returns the bytes of `frame` in this range.
    pub(crate) fn of_frame(self, frame: &[u8]) -> &[u8] {
        frame.get(self.start..self.end).unwrap_or_default()
    }
}
