use std::future::{pending, poll_fn};
use std::task::Waker;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::*;

const TURNS: usize = 64;

const BRIEFLY: Duration = Duration::from_secs(1);

fn after(time: Duration) -> Ending {
    Box::pin(sleep(time))
}

fn never() -> Ending {
    Box::pin(pending())
}

async fn next(lanes: &mut Lanes) -> Option<Bytes> {
    match poll_fn(|cx| lanes.poll_frame(cx)).await? {
        Frame::Message(frame) => Some(frame),
        Frame::TooLong { limit } => panic!("over {limit}"),
    }
}

/// Hands over as many as there is room for.
async fn fill(inbox: &Inbox, frame: &'static [u8]) -> usize {
    let mut taken = 0;
    while timeout(BRIEFLY, inbox.put(frame)).await == Ok(Ok(())) {
        taken += 1;
    }
    taken
}

#[tokio::test(start_paused = true)]
async fn an_inbox_has_room_for_so_many_and_so_much() {
    for (capacity, frame, fits) in [
        (4096, &b"{}"[..], 4),
        (4096, &[b' '; 2000], 2),
        (4096, &[b' '; 4096], 1),
        // Whatever it is, one fits.
        (4096, &[b' '; 100_000], 1),
        (0, b"{}", 1),
    ] {
        let (inbox, _, mut lanes) = lanes(capacity, TURNS, never(), never());
        assert_eq!(fill(&inbox, frame).await, fits);
        for _ in 0..fits {
            assert_eq!(next(&mut lanes).await.unwrap(), frame);
        }
        assert_eq!(fill(&inbox, frame).await, fits, "there is room again");
    }
}

#[tokio::test(start_paused = true)]
async fn so_many_bodies_are_brought_at_a_time() {
    let (inbox, _, lanes) = lanes(1024, TURNS, never(), never());
    let mut turns = Vec::new();
    while let Ok(turn) = timeout(BRIEFLY, inbox.turn()).await {
        turns.push(turn.unwrap());
    }
    assert_eq!(turns.len(), TURNS);
    turns.pop();
    assert!(inbox.turn().await.is_ok());
    drop(lanes);
    assert!(inbox.turn().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_hears_of_the_end() {
    let (inbox, _, lanes) = lanes(1024, TURNS, never(), never());
    inbox.put(b"1").await.unwrap();
    let waiting = inbox.put(b"2");
    let end = async {
        sleep(BRIEFLY).await;
        drop(lanes);
    };
    assert_eq!(tokio::join!(waiting, end).0, Err(Gone));
    assert_eq!(inbox.put(b"3").await, Err(Gone));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_says_nothing_is_not_waited_for() {
    let begin = tokio::time::Instant::now();
    let (inbox, _, mut silent) = lanes(1024, TURNS, after(BRIEFLY), never());
    assert_eq!(next(&mut silent).await, None);
    assert_eq!(begin.elapsed(), BRIEFLY);
    assert_eq!(inbox.put(b"1").await, Err(Gone));

    let (inbox, _, mut heard) = lanes(1024, TURNS, after(BRIEFLY), never());
    inbox.put(b"1").await.unwrap();
    assert_eq!(next(&mut heard).await.unwrap(), "1");
    assert!(timeout(BRIEFLY * 100, next(&mut heard)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn what_is_there_at_the_end_is_still_taken() {
    let (inbox, _, mut lanes) = lanes(4096, TURNS, never(), after(BRIEFLY));
    for frame in [&b"1"[..], b"2"] {
        inbox.put(frame).await.unwrap();
    }
    sleep(BRIEFLY * 2).await;
    assert_eq!(next(&mut lanes).await.unwrap(), "1");
    assert_eq!(next(&mut lanes).await.unwrap(), "2");
    assert_eq!(next(&mut lanes).await, None);
    assert_eq!(inbox.put(b"3").await, Err(Gone));
}

#[tokio::test(start_paused = true)]
async fn what_is_queued_is_sent_when_the_page_is_taken() {
    let (_inbox, page, mut lanes) = lanes(1024, TURNS, never(), never());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(lanes.poll_flush(&mut cx).is_ready());
    assert_eq!(page.take(), None);
    lanes.queue(b"1");
    lanes.queue(b"2");
    assert!(lanes.poll_flush(&mut cx).is_pending());
    let events = page.take().unwrap();
    assert_eq!(events.len(), 2 * b"event: message\ndata: 1\n\n".len());
    assert_eq!(lanes.queued(), 0);
    assert!(lanes.poll_flush(&mut cx).is_ready());
}
