//! Lines: which frames come out does not depend on the pieces in which the bytes came.

use bytes::BufMut;
use turnbuckle_session::transport::Frame;
use turnbuckle_stdio::LineDecoder;

/// The least room that [`LineDecoder::read_buffer`] promises.
const LEAST_ROOM: usize = 8 << 10;

/// The most that it may have: the largest cap of an input and one chunk.
const MOST_ROOM: usize = u8::MAX as usize + (32 << 10);

/// The most pieces whose lengths an input names.
const MAX_PIECES: usize = 16;

/// A line as a reader sees it: its text, or that it was over this cap.
type Seen = Result<Vec<u8>, usize>;

/// Runs the target on `input`: the limit, how many lengths follow, the lengths of the pieces (taken
/// in turn), and the stream.
pub fn lines(input: &[u8]) {
    let [cap, count, rest @ ..] = input else {
        return;
    };
    let cap = usize::from(*cap);
    let count = usize::from(*count) % (MAX_PIECES + 1);
    let Some((lengths, stream)) = rest.split_at_checked(count) else {
        return;
    };
    let expected = model(stream, cap);
    assert_eq!(in_pieces(stream, cap, &[], push), expected, "at once");
    assert_eq!(in_pieces(stream, cap, lengths, push), expected, "pushed");
    assert_eq!(in_pieces(stream, cap, lengths, read), expected, "read");
}

/// Returns the frames, split in the simplest manner.
fn model(stream: &[u8], cap: usize) -> Vec<Seen> {
    stream
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty())
        .map(|line| (line.len() <= cap).then(|| line.to_vec()).ok_or(cap))
        .collect()
}

/// Returns the frames of the stream in pieces of these lengths, in turn, or in one piece if there
/// are none.
fn in_pieces(
    stream: &[u8],
    cap: usize,
    lengths: &[u8],
    put: fn(&mut LineDecoder, &[u8]),
) -> Vec<Seen> {
    let mut lines = LineDecoder::new(cap);
    let mut frames = Vec::new();
    let mut lengths = lengths.iter().cycle();
    let mut rest = stream;
    while !rest.is_empty() {
        let length = lengths
            .next()
            .map_or(rest.len(), |length| usize::from(*length) + 1);
        let (piece, later) = rest.split_at(length.min(rest.len()));
        put(&mut lines, piece);
        frames.extend(std::iter::from_fn(|| lines.next_frame()).map(to_seen));
        rest = later;
    }
    lines.end();
    frames.extend(std::iter::from_fn(|| lines.next_frame()).map(to_seen));
    frames
}

fn push(lines: &mut LineDecoder, piece: &[u8]) {
    lines.push(piece);
}

/// As a reader does it, with an eye on how much room it is given.
fn read(lines: &mut LineDecoder, mut piece: &[u8]) {
    while !piece.is_empty() {
        let space = lines.read_buffer();
        let room = space.chunk_mut().len();
        assert!(
            (LEAST_ROOM..=MOST_ROOM).contains(&room),
            "room for {room} bytes"
        );
        let (taken, rest) = piece.split_at(room.min(piece.len()));
        space.put_slice(taken);
        piece = rest;
    }
}

fn to_seen(frame: Frame) -> Seen {
    match frame {
        Frame::Message(line) => Ok(line.to_vec()),
        Frame::TooLong { limit } => Err(limit),
    }
}
