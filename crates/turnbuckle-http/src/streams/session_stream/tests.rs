use turnbuckle_session::handler::Limits;
use turnbuckle_session::internal::OwnerAccount;

use super::*;
use crate::options::ReplayLimits;

fn stream_of(id: u64, events: usize, bytes: usize) -> Arc<SessionStream> {
    let limits = ReplayLimits::new()
        .max_stream_events(events)
        .max_stream_bytes(bytes);
    SessionStream::new(id, ReplayBudget::new(&limits), memory())
}

fn memory() -> MemoryAccount {
    OwnerAccount::new(&Limits::new()).memory().clone()
}

fn cx() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

fn answer() -> EncodedResponse {
    EncodedResponse {
        frame: b"{}".to_vec(),
        tail: Bytes::new(),
        failure: None,
        memory: MemoryPermit::default(),
    }
}

fn send_one(stream: &SessionStream) -> bool {
    stream.send(b"{}".to_vec()).is_ok()
}

/// Returns the position after the event of that number.
fn after(sequence: u64) -> Option<StreamPosition> {
    Some(StreamPosition {
        sequence,
        connection: None,
    })
}

/// Returns the position after the event of that number, at which that connection began.
fn after_start_of(sequence: u64, connection: u64) -> Option<StreamPosition> {
    Some(StreamPosition {
        sequence,
        connection: Some(connection),
    })
}

/// Reads all events that are ready, and returns their ids.
fn read_ids(reader: &StreamReader) -> Vec<String> {
    let mut ids = Vec::new();
    while let Poll::Ready(Some(event)) = reader.poll_next(&mut cx()) {
        let text = String::from_utf8(event.to_vec()).unwrap();
        let id = text.lines().next().unwrap().strip_prefix("id: ");
        ids.push(id.unwrap().to_owned());
    }
    ids
}

fn is_over(reader: &StreamReader) -> bool {
    matches!(reader.poll_next(&mut cx()), Poll::Ready(None))
}

#[test]
fn events_are_replayed_from_any_position() {
    let stream = stream_of(4, 10, 1000);
    let first = stream.attach(None).unwrap();
    assert!((0..3).all(|_| send_one(&stream)));
    assert_eq!(read_ids(&first), ["4-1", "4-2", "4-3"]);
    drop(first);
    let again = stream.attach(after(1)).unwrap();
    assert_eq!(read_ids(&again), ["4-2", "4-3"]);
    assert_eq!(read_ids(&stream.attach(None).unwrap()), [""; 0]);
    for unknown in [4, 9, u64::MAX] {
        assert!(stream.attach(after(unknown)).is_none(), "{unknown}");
    }
}

#[test]
fn the_newest_of_several_readers_reads_and_the_one_before_takes_over() {
    let stream = stream_of(0, 10, 1000);
    let one = stream.attach(None).unwrap();
    let two = stream.attach(None).unwrap();
    send_one(&stream);
    assert_eq!(
        (read_ids(&one), read_ids(&two)),
        (vec![], vec!["0-1".to_owned()])
    );
    assert!(!one.is_active() && two.is_active());
    drop(two);
    send_one(&stream);
    assert!(one.is_active());
    assert_eq!(read_ids(&one), ["0-2"]);
    let more: Vec<_> = (0..MAX_CONNECTIONS).map(|_| stream.attach(None)).collect();
    assert!(is_over(&one), "it was closed for a newer one");
    assert!(!is_over(more[0].as_ref().unwrap()));
}

#[test]
fn an_event_is_replayed_only_to_the_connection_that_was_sent_it() {
    let stream = stream_of(0, 10, 1000);
    let one = stream.attach(None).unwrap();
    let two = stream.attach(None).unwrap();
    assert!((0..2).all(|_| send_one(&stream)));
    assert_eq!(read_ids(&two), ["0-1", "0-2"]);
    drop(two);
    assert!((0..2).all(|_| send_one(&stream)));
    assert_eq!(read_ids(&one), ["0-3", "0-4"]);
    // The second connection is resumed while the first is open.
    let again = stream.attach(after(1)).unwrap();
    assert_eq!(read_ids(&again), ["0-2"]);
    assert!(send_one(&stream));
    assert_eq!(read_ids(&again), ["0-5"]);
    drop(again);
    assert!(send_one(&stream));
    assert_eq!(read_ids(&one), ["0-6"]);
    // Both are closed, and both are resumed.
    drop(one);
    let second = stream.attach(after(1)).unwrap();
    assert_eq!(read_ids(&second), ["0-2", "0-5"]);
    let first = stream.attach(after(3)).unwrap();
    assert_eq!(read_ids(&first), ["0-4", "0-6"]);
}

#[test]
fn a_connection_that_becomes_active_again_reads_nothing_twice() {
    let stream = stream_of(0, 10, 1000);
    let one = stream.attach(None).unwrap();
    assert!((0..4).all(|_| send_one(&stream)));
    assert_eq!(read_ids(&one), ["0-1", "0-2", "0-3", "0-4"]);
    // The connection is resumed although it still seems to be open.
    let again = stream.attach(after(2)).unwrap();
    assert!(matches!(again.poll_next(&mut cx()), Poll::Ready(Some(_))));
    drop(again);
    assert!(send_one(&stream));
    assert_eq!(read_ids(&one), ["0-5"]);
}

#[test]
fn a_connection_is_resumed_from_its_first_event() {
    let stream = stream_of(0, 10, 1000);
    let one = stream.attach(None).unwrap();
    assert!(send_one(&stream));
    assert_eq!(read_ids(&one), ["0-1"]);
    let two = stream.attach(None).unwrap();
    assert!((0..2).all(|_| send_one(&stream)));
    assert_eq!(read_ids(&two), ["0-2", "0-3"]);
    // The clients know only the ids of their first events. Both connections may still seem open.
    for _ in 0..2 {
        let first = stream.attach(after_start_of(0, one.number())).unwrap();
        assert_eq!(read_ids(&first), ["0-1"]);
        let second = stream.attach(after_start_of(1, two.number())).unwrap();
        assert_eq!(read_ids(&second), ["0-2", "0-3"]);
    }
    for stranger in [0, 99] {
        assert!(stream.attach(after_start_of(1, stranger)).is_none());
    }
}

#[test]
fn senders_wait_for_replayed_events_and_not_for_skipped_ones() {
    let stream = stream_of(0, 3, 1000);
    let one = stream.attach(None).unwrap();
    let two = stream.attach(None).unwrap();
    assert!(send_one(&stream));
    assert_eq!(read_ids(&two), ["0-1"]);
    drop(two);
    assert!((0..3).all(|_| send_one(&stream)));
    assert_eq!(read_ids(&one), ["0-2", "0-3", "0-4"]);
    // The second is behind by as many events as are kept, and all of them are those of the first.
    let again = stream.attach(after(1)).unwrap();
    assert!(!send_one(&stream));
    let space = std::pin::pin!(stream.space.notified());
    assert!(read_ids(&again).is_empty());
    assert!(space.poll(&mut cx()).is_ready() && send_one(&stream));
    assert_eq!(read_ids(&again), ["0-5"]);
    // The first is behind, and senders wait for it until another connection is active.
    let overtaken = stream.attach(after(2)).unwrap();
    assert!(!send_one(&stream));
    let newest = stream.attach(None).unwrap();
    for _ in 0..5 {
        assert!(send_one(&stream));
        assert_eq!(read_ids(&newest).len(), 1);
    }
    assert!(is_over(&overtaken));
}

#[test]
fn the_log_is_bounded_and_removed_positions_are_unknown() {
    let stream = stream_of(1, 3, 1000);
    assert!((0..10).all(|_| send_one(&stream)));
    assert!((1..=6).all(|forgotten| stream.attach(after(forgotten)).is_none()));
    assert_eq!(
        read_ids(&stream.attach(after(7)).unwrap()),
        ["1-8", "1-9", "1-10"]
    );
    const EVENT: usize = "id: 1-1\nevent: message\ndata: {}\n\n".len();
    for (bytes, kept) in [(4 * EVENT, 4), (4 * EVENT - 1, 3)] {
        let small = stream_of(1, 100, bytes);
        assert!((0..4).all(|_| send_one(&small)));
        assert_eq!(small.replay_bytes(), kept * EVENT);
        assert_eq!(small.attach(after(0)).is_some(), kept == 4);
        assert_eq!(
            read_ids(&small.attach(after(1)).unwrap()),
            ["1-2", "1-3", "1-4"]
        );
    }
}

#[test]
fn a_slow_reader_blocks_its_sender_and_one_that_leaves_does_not() {
    let stream = stream_of(1, 3, 1000);
    let reader = stream.attach(None).unwrap();
    assert!((0..3).all(|_| send_one(&stream)));
    assert!(!send_one(&stream));
    drop(reader);
    assert!((0..10).all(|_| send_one(&stream)));
    let log = &stream.state().log;
    assert!(log.next_sequence() - log.first_sequence() <= 3);
}

#[test]
fn unread_events_are_kept_while_there_is_a_reader() {
    let stream = stream_of(1, 3, 1000);
    let reader = stream.attach(None).unwrap();
    assert!((0..3).all(|_| send_one(&stream)));
    stream.finish(Some(answer()));
    assert_eq!(read_ids(&reader), ["1-1", "1-2", "1-3", "1-4"]);
    assert!(is_over(&reader));
}

#[test]
fn a_response_alone_is_json_and_one_after_messages_is_an_event() {
    let json = stream_of(1, 3, 1000);
    json.finish(Some(answer()));
    let first = json.poll_first_output(&mut cx());
    assert!(matches!(first, Poll::Ready(FirstOutput::Response(_))));

    let streaming = stream_of(1, 3, 1000);
    let reader = streaming.attach(None).unwrap();
    send_one(&streaming);
    let first = streaming.poll_first_output(&mut cx());
    assert!(matches!(first, Poll::Ready(FirstOutput::Stream)));
    streaming.start_streaming(true);
    streaming.finish(Some(answer()));
    assert_eq!(read_ids(&reader), ["1-1", "1-2"]);
    assert!(is_over(&reader));

    let cancelled = stream_of(1, 3, 1000);
    cancelled.finish(None);
    let first = cancelled.poll_first_output(&mut cx());
    assert!(matches!(first, Poll::Ready(FirstOutput::Nothing)));
}

#[test]
fn the_responses_to_a_batch_are_one_array_or_an_event_each() {
    let together = stream_of(1, 9, 1000);
    together.send_batch_response(answer());
    together.send_batch_response(answer());
    together.finish(None);
    match together.poll_first_output(&mut cx()) {
        Poll::Ready(FirstOutput::Response(answer)) => assert_eq!(answer.frame, b"[{},{}]"),
        _ => panic!("no answer"),
    }

    let apart = stream_of(1, 9, 1000);
    let reader = apart.attach(None).unwrap();
    apart.send_batch_response(answer());
    apart.start_streaming(false);
    assert_eq!(read_ids(&reader), ["1-1"]);
    apart.send_batch_response(answer());
    assert_eq!(read_ids(&reader), ["1-2"]);
    apart.finish(None);
    assert!(is_over(&reader));
}

#[test]
fn closing_the_connection_does_not_end_the_stream() {
    let stream = stream_of(1, 3, 1000);
    let reader = stream.attach(None).unwrap();
    stream.start_streaming(true);
    stream.close_sse_stream();
    assert!(is_over(&reader));
    stream.finish(Some(answer()));
    let back = stream.attach(after(0)).unwrap();
    assert_eq!(read_ids(&back), ["1-1"]);
    assert!(is_over(&back));
}

#[test]
fn closing_the_connection_before_the_first_output_makes_a_stream() {
    for resumable in [true, false] {
        let stream = stream_of(1, 3, 1000);
        let reader = stream.attach(None).unwrap();
        stream.close_sse_stream();
        let first = stream.poll_first_output(&mut cx());
        assert!(matches!(first, Poll::Ready(FirstOutput::Stream)));
        stream.start_streaming(resumable);
        assert_eq!(is_over(&reader), resumable);
    }
}

#[test]
fn the_connection_of_a_stream_that_cannot_be_resumed_is_not_closed() {
    let stream = stream_of(1, 3, 1000);
    let reader = stream.attach(None).unwrap();
    stream.start_streaming(false);
    stream.close_sse_stream();
    stream.finish(Some(answer()));
    assert_eq!(read_ids(&reader), ["1-1"]);
}

#[test]
fn an_ended_stream_takes_nothing_more() {
    let stream = stream_of(1, 3, 1000);
    let reader = stream.attach(None).unwrap();
    stream.end();
    assert!(send_one(&stream) && stream.send_batch_response(answer()).is_none());
    stream.finish(Some(answer()));
    assert!(is_over(&reader) && stream.replay_bytes() == 0);
}

#[test]
fn unread_events_are_kept_beyond_the_total() {
    const EVENT: usize = "id: 1-1\nevent: message\ndata: {}\n\n".len();
    let options = ReplayLimits::new().max_total_bytes(0);
    let stream = SessionStream::new(1, ReplayBudget::new(&options), memory());
    let reader = stream.attach(None);
    assert!((0..3).all(|_| send_one(&stream)));
    assert_eq!(stream.replay_bytes(), 3 * EVENT);
    drop(reader);
    assert!(send_one(&stream));
    assert_eq!(stream.replay_bytes(), 0, "nobody is there to read it");
}

#[test]
fn the_replay_log_of_a_stream_counts_for_its_owner() {
    let account = memory();
    let limits = ReplayBudget::new(&ReplayLimits::new());
    let stream = SessionStream::new(1, limits, account.clone());
    let reader = stream.attach(None).unwrap();
    stream.start_streaming(true);
    assert!(send_one(&stream));
    let mut counted = answer();
    counted.memory = account.reserve(counted.byte_count()).unwrap();
    stream.finish(Some(counted));
    assert_eq!(account.used(), stream.replay_bytes());
    let Poll::Ready(Some(event)) = reader.poll_next(&mut cx()) else {
        panic!("there are two events");
    };
    drop((reader, stream));
    assert_eq!(account.used(), event.len(), "it is still being sent");
    drop(event);
    assert_eq!(account.used(), 0);
}
