use proptest::collection::vec;
use proptest::prelude::*;
use turnbuckle_session::transport::Frame;

use super::{CHUNK_BYTES, LineDecoder};

/// Returns the text of a line, or the bound that it exceeds.
fn text_or_bound(frame: Frame) -> Result<Vec<u8>, usize> {
    match frame {
        Frame::Message(line) => Ok(line.to_vec()),
        Frame::TooLong { limit } => Err(limit),
    }
}

fn drain(lines: &mut LineDecoder) -> Vec<Result<Vec<u8>, usize>> {
    std::iter::from_fn(|| lines.next_frame())
        .map(text_or_bound)
        .collect()
}

fn frames(input: &[u8], max_bytes: usize) -> Vec<Result<Vec<u8>, usize>> {
    let mut lines = LineDecoder::new(max_bytes);
    lines.push(input);
    lines.end();
    drain(&mut lines)
}

/// Splits the whole input in the simplest way.
fn expected(input: &[u8], max_bytes: usize) -> Vec<Result<Vec<u8>, usize>> {
    input
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty())
        .map(|line| {
            if line.len() > max_bytes {
                Err(max_bytes)
            } else {
                Ok(line.to_vec())
            }
        })
        .collect()
}

#[test]
fn a_line_ends_with_a_newline_or_with_the_input() {
    let text = |line: &str| Ok(line.as_bytes().to_vec());
    assert_eq!(
        frames(b"{}\n[]\r\n\n\r\nnull", 9),
        [text("{}"), text("[]"), text("null")]
    );
    assert_eq!(frames(b"a\rb\n\r\r\n", 9), [text("a\rb"), text("\r")]);
    assert!(frames(b"", 9).is_empty());
}

#[test]
fn the_bound_does_not_count_the_end_of_a_line() {
    let text = |line: &str| Ok(line.as_bytes().to_vec());
    assert_eq!(
        frames(b"1234\r\n12345\r\n1234", 4),
        [text("1234"), Err(4), text("1234")]
    );
    assert_eq!(frames(b"12345", 4), [Err(4)]);
}

#[test]
fn a_line_that_is_too_long_is_reported_once_and_before_its_end() {
    let mut lines = LineDecoder::new(4);
    lines.push(b"12345");
    assert!(
        lines.next_frame().is_none(),
        "a carriage return could follow"
    );
    lines.push(b"6");
    assert_eq!(drain(&mut lines), [Err(4)]);
    lines.push(b"789");
    assert!(drain(&mut lines).is_empty());
    lines.push(b"0\nnext\n");
    assert_eq!(drain(&mut lines), [Ok(b"next".to_vec())]);
}

#[test]
fn lines_of_one_read_share_its_memory() {
    let mut lines = LineDecoder::new(100);
    lines.push(b"first\nsecond\n");
    let (Some(Frame::Message(first)), Some(Frame::Message(second))) =
        (lines.next_frame(), lines.next_frame())
    else {
        panic!("two lines");
    };
    assert_eq!(
        first.as_ptr().wrapping_add("first\n".len()),
        second.as_ptr()
    );
}

#[test]
fn the_memory_of_dropped_lines_is_reused() {
    let mut lines = LineDecoder::new(100);
    lines.push(b"warm up\n");
    assert_eq!(drain(&mut lines).len(), 1);
    let before = lines.buffer.as_ptr() as usize;
    for _ in 0..10 * CHUNK_BYTES {
        lines.push(b"a short line\n");
        assert_eq!(drain(&mut lines).len(), 1);
    }
    let distance = (lines.buffer.as_ptr() as usize).abs_diff(before);
    assert!(distance <= CHUNK_BYTES, "{distance} bytes away");
}

#[test]
fn a_hostile_line_takes_no_more_memory_than_the_bound_and_a_chunk() {
    let max_bytes = 100_000;
    let mut lines = LineDecoder::new(max_bytes);
    let mut reported = 0;
    for _ in 0..1_000 {
        lines.push(&[b'x'; 1_000]);
        reported += drain(&mut lines).len();
        assert!(
            lines.buffer.capacity() <= max_bytes + CHUNK_BYTES,
            "{}",
            lines.buffer.capacity()
        );
        assert!(lines.buffer.len() <= max_bytes + 1);
    }
    assert_eq!(reported, 1);
    lines.push(b"\n");
    assert!(drain(&mut lines).is_empty());
    assert!(
        lines.buffer.capacity() <= CHUNK_BYTES,
        "its memory is given back"
    );
}

#[test]
fn a_long_line_gives_its_memory_back() {
    let mut lines = LineDecoder::new(1 << 20);
    for _ in 0..100 {
        lines.push(&[b'x'; 10_000]);
        assert!(drain(&mut lines).is_empty());
    }
    lines.push(b"\n");
    assert_eq!(drain(&mut lines).len(), 1);
    lines.push(b"short\n");
    assert_eq!(drain(&mut lines).len(), 1);
    assert!(lines.allocated <= CHUNK_BYTES, "{}", lines.allocated);
}

proptest! {
    #[test]
    fn frames_do_not_depend_on_the_pieces(
        input in vec(prop_oneof![4 => Just(b'a'), 1 => Just(b'\r'), 2 => Just(b'\n')], 0..200),
        cuts in vec(0..200_usize, 0..40),
        max_bytes in 0..12_usize,
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(input.len())).collect();
        cuts.extend([0, input.len()]);
        cuts.sort_unstable();
        let mut lines = LineDecoder::new(max_bytes);
        let mut in_pieces = Vec::new();
        for cut in cuts.windows(2) {
            lines.push(&input[cut[0]..cut[1]]);
            in_pieces.extend(drain(&mut lines));
        }
        lines.end();
        in_pieces.extend(drain(&mut lines));
        let expected = expected(&input, max_bytes);
        prop_assert_eq!(&in_pieces, &expected);
        prop_assert_eq!(frames(&input, max_bytes), expected);
    }
}

#[test]
fn a_short_line_keeps_no_memory_of_a_long_one() {
    let mut lines = LineDecoder::new(1 << 20);
    lines.push(&vec![b'x'; 1 << 20]);
    lines.push(b"\n{}\n");
    assert!(matches!(lines.next_frame(), Some(Frame::Message(line)) if line.len() == 1 << 20));
    let Some(Frame::Message(short)) = lines.next_frame() else {
        panic!("there are two lines");
    };
    assert!(short == "{}" && short.is_unique());
}
