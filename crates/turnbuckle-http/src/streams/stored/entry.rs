//! The entries of the log of a stream.
//!
//! Each begins with its kind and the generation of the log. A log that is begun anew, since the store was
//! emptied, has another generation, so that a reader never takes its entries for the next ones of the old log.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use super::open_requests::OpenRequests;

/// The most bytes of a piece of a message.
pub(super) const MAX_PIECE_BYTES: usize = 512 << 10;

/// The sequence number of the first error of a stream that has ended without its responses. The owner's own
/// messages have lower numbers, also those that were sent to the client and never written to the log.
pub(super) const FIRST_ERROR: u64 = 1 << 62;

/// The first byte of each kind of entries. An entry of another kind is not read.
const OPEN: u8 = 1;
const PIECE: u8 = 2;
const LAST_PIECE: u8 = 3;
const END: u8 = 4;

/// The bytes before the content of an entry: its kind, and the generation of the log.
const HEAD_BYTES: usize = 5;

/// An entry of the log of a stream.
#[derive(Debug)]
pub(super) enum Entry {
    /// The requests that have no response yet, behind the message with this sequence number.
    Open { sequence: u64, open: OpenRequests },
    /// A message, or a part of one that is too large for an entry.
    Piece(Piece),
    /// The end of the stream, behind the message with this sequence number.
    End { sequence: u64 },
}

/// A piece of a message.
#[derive(Debug, Clone)]
#[cfg_attr(test, derive(Hash))]
pub(super) struct Piece {
    /// The sequence number of the message.
    pub(super) sequence: u64,
    /// The number of the piece in its message, from 0.
    pub(super) index: u32,
    pub(super) is_last: bool,
    pub(super) bytes: Bytes,
}

impl Piece {
    /// Splits a message into pieces.
    pub(super) fn split(sequence: u64, message: &Bytes) -> impl Iterator<Item = Self> + '_ {
        let count = message.len().div_ceil(MAX_PIECE_BYTES).max(1);
        (0..count).map(move |index| {
            let start = index * MAX_PIECE_BYTES;
            let end = message.len().min(start + MAX_PIECE_BYTES);
            Self {
                sequence,
                index: u32::try_from(index).unwrap_or(u32::MAX),
                is_last: index + 1 == count,
                bytes: message.slice(start..end),
            }
        })
    }

    pub(super) fn to_bytes(&self, generation: u32) -> Bytes {
        let mut out = BytesMut::with_capacity(HEAD_BYTES + 12 + self.bytes.len());
        out.put_u8(if self.is_last { LAST_PIECE } else { PIECE });
        out.put_u32(generation);
        out.put_u64(self.sequence);
        out.put_u32(self.index);
        out.extend_from_slice(&self.bytes);
        out.freeze()
    }
}

/// Returns the entry with the requests that are open.
pub(super) fn open_entry(generation: u32, sequence: u64, open: &OpenRequests) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(OPEN);
    out.put_u32(generation);
    out.put_u64(sequence);
    for error in open.errors() {
        out.put_u32(u32::try_from(error.len()).unwrap_or(u32::MAX));
        out.extend_from_slice(error);
    }
    out.freeze()
}

/// Returns the entry that ends a stream.
pub(super) fn end_entry(generation: u32, sequence: u64) -> Bytes {
    let mut out = BytesMut::with_capacity(HEAD_BYTES + 8);
    out.put_u8(END);
    out.put_u32(generation);
    out.put_u64(sequence);
    out.freeze()
}

/// Returns an entry with another generation.
pub(super) fn with_generation(entry: &Bytes, generation: u32) -> Bytes {
    let mut out = BytesMut::from(&entry[..]);
    if let Some(place) = out.get_mut(1..HEAD_BYTES) {
        place.copy_from_slice(&generation.to_be_bytes());
    }
    out.freeze()
}

impl Entry {
    /// Reads an entry and the generation of its log. Returns `None` if it is none of these.
    pub(super) fn read(entry: &Bytes) -> Option<(u32, Self)> {
        let mut rest = entry.clone();
        let kind = rest.try_get_u8().ok()?;
        let generation = rest.try_get_u32().ok()?;
        Some((generation, Self::read_content(kind, rest)?))
    }

    fn read_content(kind: u8, mut rest: Bytes) -> Option<Self> {
        match kind {
            OPEN => {
                let sequence = rest.try_get_u64().ok()?;
                let mut errors = Vec::new();
                while rest.has_remaining() {
                    let length = usize::try_from(rest.try_get_u32().ok()?).ok()?;
                    if length > rest.len() {
                        return None;
                    }
                    errors.push(rest.split_to(length));
                }
                let open = OpenRequests::from_errors(errors)?;
                Some(Self::Open { sequence, open })
            }
            kind @ (PIECE | LAST_PIECE) => Some(Self::Piece(Piece {
                sequence: rest.try_get_u64().ok()?,
                index: rest.try_get_u32().ok()?,
                is_last: kind == LAST_PIECE,
                bytes: rest,
            })),
            END => {
                let sequence = rest.try_get_u64().ok()?;
                (!rest.has_remaining()).then_some(Self::End { sequence })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use turnbuckle_types::RequestId;
    use turnbuckle_wire::revision::Revision;

    use super::*;

    fn open(ids: &[i64]) -> OpenRequests {
        let ids = ids.iter().map(|id| RequestId::from(*id));
        OpenRequests::new(ids, Revision::NEWEST_LEGACY.features())
    }

    #[test]
    fn entries_are_read_as_they_were_written() {
        let requests = open(&[1, 7]);
        let Some((3, Entry::Open { sequence, open })) = Entry::read(&open_entry(3, 8, &requests))
        else {
            panic!("not an entry with open requests");
        };
        assert_eq!(sequence, 8);
        assert!(open.errors().eq(requests.errors()));
        let moved = with_generation(&end_entry(3, 9), 4);
        let Some((4, Entry::End { sequence })) = Entry::read(&moved) else {
            panic!("not an end");
        };
        assert_eq!(sequence, 9);
        let large = Bytes::from(vec![b'x'; 2 * MAX_PIECE_BYTES + 1]);
        let mut joined = Vec::new();
        for (index, piece) in Piece::split(5, &large).enumerate() {
            let Some((5, Entry::Piece(piece))) = Entry::read(&piece.to_bytes(5)) else {
                panic!("not a piece");
            };
            assert_eq!((piece.sequence, piece.index as usize), (5, index));
            assert_eq!(piece.is_last, index == 2);
            joined.extend_from_slice(&piece.bytes);
        }
        assert_eq!(joined, large);
        assert_eq!(Piece::split(1, &Bytes::new()).count(), 1);
    }

    #[test]
    fn what_no_release_writes_is_not_read() {
        for bad in [
            &b""[..],
            b"\x01\0\0\0",
            b"\0\0\0\0\0",
            b"\x05\0\0\0\0{}",
            b"\x01\0\0\0\0\0\0\0\0\0\0\0",
            b"\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            b"\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02{",
            b"\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02{}",
            b"\x01\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff{}",
            b"\x02\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0",
            b"\x04\0\0\0\0\0\0\0\0\0\0\0",
            b"\x04\0\0\0\0\0\0\0\0\0\0\0\0\0",
        ] {
            assert!(Entry::read(&Bytes::from_static(bad)).is_none(), "{bad:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_reading_panic(bytes: Vec<u8>) {
            let _ = Entry::read(&bytes.into());
        }
    }
}
