use super::*;
use crate::config::Config;

const READERS: usize = 8;

fn stream_of(id: u64, events: usize, bytes: usize) -> Arc<Stream> {
    let config = Config::new().replay_events(events).replay_bytes(bytes);
    Replay::new(&config.max_readers(READERS)).stream(id)
}

fn cx() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

fn answer() -> Answer {
    Answer {
        frame: b"{}".to_vec(),
        tail: Bytes::new(),
        failure: None,
    }
}

fn say(stream: &Stream) -> bool {
    stream.send(b"{}".to_vec()).is_ok()
}

/// After the event of that number, whoever heard it.
fn after(sequence: u64) -> Option<Place> {
    Some(Place {
        sequence,
        connection: None,
    })
}

/// After the event of that number, where that connection began.
fn after_joining(sequence: u64, connection: u64) -> Option<Place> {
    Some(Place {
        sequence,
        connection: Some(connection),
    })
}

/// The ids of the events that can be read now.
fn ids(reader: &Reader) -> Vec<String> {
    let mut ids = Vec::new();
    while let Poll::Ready(Some(event)) = reader.poll_next(&mut cx()) {
        let text = String::from_utf8(event.to_vec()).unwrap();
        let id = text.lines().next().unwrap().strip_prefix("id: ");
        ids.push(id.unwrap().to_owned());
    }
    ids
}

fn is_over(reader: &Reader) -> bool {
    matches!(reader.poll_next(&mut cx()), Poll::Ready(None))
}

#[test]
fn what_was_said_can_be_heard_again_from_any_point() {
    let stream = stream_of(4, 10, 1000);
    let first = stream.attach(None).unwrap();
    assert!((0..3).all(|_| say(&stream)));
    assert_eq!(ids(&first), ["4-1", "4-2", "4-3"]);
    drop(first);
    let again = stream.attach(after(1)).unwrap();
    assert_eq!(ids(&again), ["4-2", "4-3"]);
    assert_eq!(ids(&stream.attach(None).unwrap()), [""; 0]);
    for unknown in [4, 9, u64::MAX] {
        assert!(stream.attach(after(unknown)).is_none(), "{unknown}");
    }
}

#[test]
fn of_several_readers_the_newest_reads_and_the_one_before_takes_over() {
    let stream = stream_of(0, 10, 1000);
    let one = stream.attach(None).unwrap();
    let two = stream.attach(None).unwrap();
    say(&stream);
    assert_eq!((ids(&one), ids(&two)), (vec![], vec!["0-1".to_owned()]));
    assert!(!one.has_turn() && two.has_turn());
    drop(two);
    say(&stream);
    assert!(one.has_turn());
    assert_eq!(ids(&one), ["0-2"]);
    let more: Vec<_> = (0..READERS).map(|_| stream.attach(None)).collect();
    assert!(is_over(&one), "there is no place for it any more");
    assert!(!is_over(more[0].as_ref().unwrap()));
}

#[test]
fn what_went_to_one_connection_is_not_said_again_to_another() {
    let stream = stream_of(0, 10, 1000);
    let one = stream.attach(None).unwrap();
    let two = stream.attach(None).unwrap();
    assert!((0..2).all(|_| say(&stream)));
    assert_eq!(ids(&two), ["0-1", "0-2"]);
    drop(two);
    assert!((0..2).all(|_| say(&stream)));
    assert_eq!(ids(&one), ["0-3", "0-4"]);
    // The second comes back while the first stands.
    let again = stream.attach(after(1)).unwrap();
    assert_eq!(ids(&again), ["0-2"]);
    assert!(say(&stream));
    assert_eq!(ids(&again), ["0-5"]);
    drop(again);
    assert!(say(&stream));
    assert_eq!(ids(&one), ["0-6"]);
    // Both are gone, and each comes back.
    drop(one);
    let second = stream.attach(after(1)).unwrap();
    assert_eq!(ids(&second), ["0-2", "0-5"]);
    let first = stream.attach(after(3)).unwrap();
    assert_eq!(ids(&first), ["0-4", "0-6"]);
}

#[test]
fn a_connection_that_has_its_turn_back_hears_nothing_twice() {
    let stream = stream_of(0, 10, 1000);
    let one = stream.attach(None).unwrap();
    assert!((0..4).all(|_| say(&stream)));
    assert_eq!(ids(&one), ["0-1", "0-2", "0-3", "0-4"]);
    // Its client has not noticed, or lost it without our noticing.
    let again = stream.attach(after(2)).unwrap();
    assert!(matches!(again.poll_next(&mut cx()), Poll::Ready(Some(_))));
    drop(again);
    assert!(say(&stream));
    assert_eq!(ids(&one), ["0-5"]);
}

#[test]
fn a_connection_is_taken_up_again_where_it_began() {
    let stream = stream_of(0, 10, 1000);
    let one = stream.attach(None).unwrap();
    assert!(say(&stream));
    assert_eq!(ids(&one), ["0-1"]);
    let two = stream.attach(None).unwrap();
    assert!((0..2).all(|_| say(&stream)));
    assert_eq!(ids(&two), ["0-2", "0-3"]);
    // Each has heard nothing but its own id. Both may still seem to stand.
    for _ in 0..2 {
        let first = stream.attach(after_joining(0, one.number())).unwrap();
        assert_eq!(ids(&first), ["0-1"]);
        let second = stream.attach(after_joining(1, two.number())).unwrap();
        assert_eq!(ids(&second), ["0-2", "0-3"]);
    }
    for stranger in [0, 99] {
        assert!(stream.attach(after_joining(1, stranger)).is_none());
    }
}

#[test]
fn what_is_said_again_is_waited_for_and_what_is_passed_over_is_not() {
    let stream = stream_of(0, 3, 1000);
    let one = stream.attach(None).unwrap();
    let two = stream.attach(None).unwrap();
    assert!(say(&stream));
    assert_eq!(ids(&two), ["0-1"]);
    drop(two);
    assert!((0..3).all(|_| say(&stream)));
    assert_eq!(ids(&one), ["0-2", "0-3", "0-4"]);
    // The second is behind by as many as are kept, and all of them are the first one's.
    let again = stream.attach(after(1)).unwrap();
    assert!(!say(&stream));
    let room = std::pin::pin!(stream.space.notified());
    assert!(ids(&again).is_empty());
    assert!(room.poll(&mut cx()).is_ready() && say(&stream));
    assert_eq!(ids(&again), ["0-5"]);
    // The first is behind, and waited for until another one has its turn.
    let overtaken = stream.attach(after(2)).unwrap();
    assert!(!say(&stream));
    let newest = stream.attach(None).unwrap();
    for _ in 0..5 {
        assert!(say(&stream));
        assert_eq!(ids(&newest).len(), 1);
    }
    assert!(is_over(&overtaken));
}

#[test]
fn the_log_is_bounded_and_says_when_it_forgot() {
    let stream = stream_of(1, 3, 1000);
    assert!((0..10).all(|_| say(&stream)));
    assert!((1..=6).all(|forgotten| stream.attach(after(forgotten)).is_none()));
    assert_eq!(
        ids(&stream.attach(after(7)).unwrap()),
        ["1-8", "1-9", "1-10"]
    );
    const EVENT: usize = "id: 1-1\nevent: message\ndata: {}\n\n".len();
    for (bytes, kept) in [(4 * EVENT, 4), (4 * EVENT - 1, 3)] {
        let small = stream_of(1, 100, bytes);
        assert!((0..4).all(|_| say(&small)));
        assert_eq!(small.bytes(), kept * EVENT);
        assert_eq!(small.attach(after(0)).is_some(), kept == 4);
        assert_eq!(ids(&small.attach(after(1)).unwrap()), ["1-2", "1-3", "1-4"]);
    }
}

#[test]
fn a_slow_reader_holds_its_sender_up_and_one_that_leaves_does_not() {
    let stream = stream_of(1, 3, 1000);
    let reader = stream.attach(None).unwrap();
    assert!((0..3).all(|_| say(&stream)));
    assert!(!say(&stream));
    drop(reader);
    assert!((0..10).all(|_| say(&stream)));
    assert!(stream.state().log.len() <= 3);
}

#[test]
fn what_nobody_has_read_is_kept_while_somebody_could() {
    let stream = stream_of(1, 3, 1000);
    let reader = stream.attach(None).unwrap();
    assert!((0..3).all(|_| say(&stream)));
    stream.done(Some(answer()));
    assert_eq!(ids(&reader), ["1-1", "1-2", "1-3", "1-4"]);
    assert!(is_over(&reader));
}

#[test]
fn an_answer_alone_is_no_stream_and_one_after_messages_is() {
    let silent = stream_of(1, 3, 1000);
    silent.done(Some(answer()));
    let first = silent.poll_first(&mut cx());
    assert!(matches!(first, Poll::Ready(First::Answer(_))));

    let telling = stream_of(1, 3, 1000);
    let reader = telling.attach(None).unwrap();
    say(&telling);
    let first = telling.poll_first(&mut cx());
    assert!(matches!(first, Poll::Ready(First::Stream)));
    telling.open(true);
    telling.done(Some(answer()));
    assert_eq!(ids(&reader), ["1-1", "1-2"]);
    assert!(is_over(&reader));

    let cancelled = stream_of(1, 3, 1000);
    cancelled.done(None);
    let first = cancelled.poll_first(&mut cx());
    assert!(matches!(first, Poll::Ready(First::Nothing)));
}

#[test]
fn the_answers_of_a_batch_are_one_array_or_an_event_each() {
    let together = stream_of(1, 9, 1000);
    together.part(answer()).unwrap();
    together.part(answer()).unwrap();
    together.done(None);
    match together.poll_first(&mut cx()) {
        Poll::Ready(First::Answer(answer)) => assert_eq!(answer.frame, b"[{},{}]"),
        _ => panic!("no answer"),
    }

    let apart = stream_of(1, 9, 1000);
    let reader = apart.attach(None).unwrap();
    apart.part(answer()).unwrap();
    apart.open(false);
    assert_eq!(ids(&reader), ["1-1"]);
    apart.part(answer()).unwrap();
    assert_eq!(ids(&reader), ["1-2"]);
    apart.done(None);
    assert!(is_over(&reader));
}

#[test]
fn a_pause_ends_the_connection_and_not_the_stream() {
    let stream = stream_of(1, 3, 1000);
    let reader = stream.attach(None).unwrap();
    stream.open(true);
    stream.pause();
    assert!(is_over(&reader));
    stream.done(Some(answer()));
    let back = stream.attach(after(0)).unwrap();
    assert_eq!(ids(&back), ["1-1"]);
    assert!(is_over(&back));
}

#[test]
fn a_pause_before_there_is_a_stream_makes_one_and_ends_its_connection() {
    for resumable in [true, false] {
        let stream = stream_of(1, 3, 1000);
        let reader = stream.attach(None).unwrap();
        stream.pause();
        let first = stream.poll_first(&mut cx());
        assert!(matches!(first, Poll::Ready(First::Stream)));
        stream.open(resumable);
        assert_eq!(is_over(&reader), resumable);
    }
}

#[test]
fn a_stream_that_nobody_could_resume_is_not_paused() {
    let stream = stream_of(1, 3, 1000);
    let reader = stream.attach(None).unwrap();
    stream.open(false);
    stream.pause();
    stream.done(Some(answer()));
    assert_eq!(ids(&reader), ["1-1"]);
}

#[test]
fn an_ended_stream_takes_nothing_more() {
    let stream = stream_of(1, 3, 1000);
    let reader = stream.attach(None).unwrap();
    stream.end();
    assert!(say(&stream) && stream.part(answer()).is_ok());
    stream.done(Some(answer()));
    assert!(is_over(&reader) && stream.bytes() == 0);
}
