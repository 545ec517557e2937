use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Returns the events of a text in chunks of `size` bytes, and the resume point.
fn events(text: &[u8], size: usize) -> (Vec<Event>, ResumePoint) {
    let mut decoder = EventDecoder::new(64);
    let mut events = Vec::new();
    for piece in text.chunks(size) {
        let mut piece = Bytes::copy_from_slice(piece);
        while let Some(event) = decoder.next_event(&mut piece) {
            events.push(event);
        }
    }
    (events, decoder.resume_point().clone())
}

fn messages(text: &str) -> Vec<String> {
    let (whole, ..) = events(text.as_bytes(), usize::MAX);
    let text = |event| match event {
        Event::Message(bytes) => Some(String::from_utf8(bytes.to_vec()).unwrap()),
        _ => None,
    };
    whole.into_iter().filter_map(text).collect()
}

#[test]
fn events_are_read_as_the_standard_says() {
    for (text, expected) in [
        ("data: a\n\n", &["a"][..]),
        ("data:a\n\n", &["a"]),
        ("data:  a\n\n", &[" a"]),
        ("data: a\r\n\r\n", &["a"]),
        ("data: a\r\r", &["a"]),
        ("data: a\r\n\ndata: b\n\r\n", &["a", "b"]),
        ("\u{feff}data: a\n\n", &["a"]),
        ("\u{feff}\u{feff}data: a\n\ndata: b\n\n", &["b"]),
        ("data: a\ndata: b\n\n", &["a\nb"]),
        ("data\ndata: b\n\n", &["\nb"]),
        ("event: message\ndata: a\n\n", &["a"]),
        ("event: other\ndata: a\n\ndata: b\n\n", &["b"]),
        ("event: other\nevent: message\ndata: a\n\n", &["a"]),
        ("event: endpoint\ndata: a\n\n", &[]),
        (": comment\n:\n\n\ndata: a\n: comment\n\n", &["a"]),
        ("Data: a\ndatum: b\nnothing\n\n", &[]),
        ("data: a", &[]),
        ("data: a\n", &[]),
        ("data\n\n", &[]),
        ("data: \n\n", &[]),
        ("\n\n\n", &[]),
    ] {
        assert_eq!(messages(text), expected, "{text:?}");
    }
}

#[test]
fn half_a_byte_order_mark_is_the_beginning_of_a_line() {
    for text in [&b"\xEFdata: a\n\n"[..], b"\xEF\xBBdata: a\n\n"] {
        for size in [1, 2, 64] {
            assert_eq!(events(text, size).0, []);
        }
    }
}

#[test]
fn the_resume_point_follows_ids_and_retries() {
    let cursor = |text: &str| events(text.as_bytes(), usize::MAX).1;
    let id = |text: &str| {
        cursor(text)
            .last_event_id
            .map(|id| id.to_str().unwrap().to_owned())
    };
    assert_eq!(id("id: 1\ndata: a\n\n").as_deref(), Some("1"));
    assert_eq!(id("id: 1\n\n").as_deref(), Some("1"));
    assert_eq!(id("id: 1\n").as_deref(), None, "the event is not over");
    assert_eq!(id("id: 1\n\ndata: a\n\n").as_deref(), Some("1"));
    assert_eq!(id("id: 1\n\nid\n\n").as_deref(), None, "taken back");
    assert_eq!(id("id: 1\n\nid: a\0b\n\n").as_deref(), Some("1"));
    assert_eq!(id(&format!("id: {}\n\n", "x".repeat(2000))), None);
    let retry = |text: &str| cursor(text).reconnect_delay.map(|wait| wait.as_millis());
    assert_eq!(retry("retry: 500\n"), Some(500));
    assert_eq!(
        retry("retry: 500\nretry: +1\nretry: 1.5\nretry:\n"),
        Some(500)
    );
    assert_eq!(
        retry("retry: 99999999999999999999\n"),
        Some(u128::from(u64::MAX))
    );
}

#[test]
fn an_event_over_the_limit_is_reported_once_and_skipped() {
    let fits = format!("data: {}\n\n", "x".repeat(64));
    assert_eq!(messages(&fits).len(), 1);
    let lines = |count| format!("id: 9\n{}\n", "data: 0123456\n".repeat(count));
    assert_eq!(messages(&lines(8)).len(), 1, "63 bytes and their breaks");
    for long in [
        format!("id: 9\ndata: {}\ndata: more\n\n", "x".repeat(65)),
        format!("data: {}\nid: 9\nevent: other\n\n", "x".repeat(65)),
        format!("id: 9\ndata: {}\r\n\r\n", "x".repeat(50_000)),
        format!("id: 9\nnothing: {}\n\n", "x".repeat(50_000)),
        lines(9),
    ] {
        let text = format!("{long}data: a\n\n");
        for size in [1, 7, 4096, usize::MAX] {
            let (found, cursor) = events(text.as_bytes(), size);
            let a = [Event::Message(Bytes::from_static(b"a"))];
            assert_eq!(found, [&[Event::TooLarge][..], &a].concat(), "{size}");
            assert_eq!(cursor.last_event_id.unwrap(), "9");
        }
    }
    let comment = format!(":{}\ndata: a\n\n", "x".repeat(50_000));
    assert_eq!(events(comment.as_bytes(), 100).0.len(), 1);
}

#[test]
fn memory_is_bounded() {
    let mut decoder = EventDecoder::new(64);
    for text in ["x", ":x", "data: x\n", "data: x", "id: x"] {
        decoder.reset();
        for _ in 0..10_000 {
            let mut piece = Bytes::copy_from_slice(text.as_bytes());
            while decoder.next_event(&mut piece).is_some() {}
            let kept = decoder.line.capacity() + decoder.event.data.capacity();
            assert!(kept <= 4 * (64 + MAX_FIELD_BYTES), "{text:?}: {kept}");
        }
    }
}

#[test]
fn another_connection_begins_anew_where_the_last_one_ended() {
    let mut decoder = EventDecoder::new(64);
    let mut piece = Bytes::from_static(b"id: 1\ndata: a\n\nid: 2\ndata: half\nda");
    assert!(decoder.next_event(&mut piece).is_some());
    assert_eq!(decoder.next_event(&mut piece), None);
    decoder.reset();
    let mut piece = Bytes::from_static(b"\xEF\xBB\xBFdata: b\n\n");
    let message = Event::Message(Bytes::from_static(b"b"));
    assert_eq!(decoder.next_event(&mut piece), Some(message));
    assert_eq!(decoder.resume_point().last_event_id.as_ref().unwrap(), "1");
}

/// Generates lines with and without a meaning.
fn line() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        Just("data: {}".to_owned()),
        Just("data".to_owned()),
        Just("event: message".to_owned()),
        Just("event: endpoint".to_owned()),
        Just("id: 7".to_owned()),
        Just("retry: 10".to_owned()),
        Just(":".to_owned()),
        Just(String::new()),
        "[a-z\u{feff}: ]{0,80}",
        "data: [a-z\u{e9}]{0,80}",
    ];
    let end = prop_oneof![Just("\n"), Just("\r"), Just("\r\n")];
    (text, end).prop_map(|(text, end)| text + end)
}

proptest! {
    #[test]
    fn chunks_of_any_size_make_the_same_events(
        lines in vec(line(), 0..20),
        mark: bool,
    ) {
        let text = if mark { "\u{feff}" } else { "" }.to_owned() + &lines.concat();
        let whole = events(text.as_bytes(), usize::MAX);
        for size in 1..text.len() {
            prop_assert_eq!(&events(text.as_bytes(), size), &whole);
        }
    }

    #[test]
    fn any_bytes_are_read(text in vec(any::<u8>(), 0..200), size in 1..20_usize) {
        prop_assert_eq!(decode_events(&text, size, 32), decode_events(&text, usize::MAX, 32));
    }

    #[test]
    fn events_of_our_server_are_decoded(frames in vec("[ -~]{1,60}", 1..5), size in 1..90_usize) {
        let mut text = Vec::new();
        for (number, frame) in frames.iter().enumerate() {
            text.extend_from_slice(&crate::event::message_with_id(&3.into(), number as u64, frame.as_bytes()));
            crate::event::append_message(&mut text, frame.as_bytes());
        }
        let (back, _) = events(&text, size);
        let twice: Vec<_> = frames.iter().flat_map(|it| [it.clone(), it.clone()]).collect();
        prop_assert_eq!(back, twice.into_iter().map(|it| Event::Message(it.into())).collect::<Vec<_>>());
    }
}
