use std::future::{pending, poll_fn};
use std::task::Waker;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use turnbuckle_session::handler::Limits;

use super::*;

const MAX_BODIES: usize = 64;

const BRIEFLY: Duration = Duration::from_secs(1);

fn after(time: Duration) -> EndOfInput {
    Box::pin(sleep(time))
}

fn never() -> EndOfInput {
    Box::pin(pending())
}

fn open(
    capacity: usize,
    max_bodies: usize,
    deadline: EndOfInput,
    shutdown: EndOfInput,
) -> (MessageQueue, EventBuffer, SseTransport) {
    let account = OwnerAccount::new(&Limits::new());
    open_transport(account, capacity, max_bodies, deadline, shutdown)
}

async fn next(transport: &mut SseTransport) -> Option<Bytes> {
    match poll_fn(|cx| transport.poll_frame(cx)).await? {
        Frame::Message(frame) => Some(frame),
        Frame::TooLong { limit } => panic!("over {limit}"),
    }
}

/// Hands over as many as there is room for.
async fn fill(queue: &MessageQueue, frame: &'static [u8]) -> usize {
    let mut taken = 0;
    while timeout(BRIEFLY, queue.push(frame)).await == Ok(Ok(())) {
        taken += 1;
    }
    taken
}

#[tokio::test(start_paused = true)]
async fn a_queue_is_bounded_in_number_and_bytes() {
    for (capacity, frame, fits) in [
        (4096, &b"{}"[..], 4),
        (4096, &[b' '; 2000], 2),
        (4096, &[b' '; 4096], 1),
        // Whatever it is, one fits.
        (4096, &[b' '; 100_000], 1),
        (0, b"{}", 1),
    ] {
        let (queue, _, mut transport) = open(capacity, MAX_BODIES, never(), never());
        assert_eq!(fill(&queue, frame).await, fits);
        for _ in 0..fits {
            assert_eq!(next(&mut transport).await.unwrap(), frame);
        }
        assert_eq!(fill(&queue, frame).await, fits, "there is room again");
    }
}

#[tokio::test(start_paused = true)]
async fn the_bodies_that_are_received_at_a_time_are_limited() {
    let (queue, _, transport) = open(1024, MAX_BODIES, never(), never());
    let mut permits = Vec::new();
    while let Ok(permit) = timeout(BRIEFLY, queue.permit()).await {
        permits.push(permit.unwrap());
    }
    assert_eq!(permits.len(), MAX_BODIES);
    permits.pop();
    assert!(queue.permit().await.is_ok());
    drop(transport);
    assert!(queue.permit().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_waiting_push_fails_when_the_connection_ends() {
    let (queue, _, transport) = open(1024, MAX_BODIES, never(), never());
    queue.push(b"1").await.unwrap();
    let waiting = queue.push(b"2");
    let end = async {
        sleep(BRIEFLY).await;
        drop(transport);
    };
    assert_eq!(tokio::join!(waiting, end).0, Err(PushError::Closed));
    assert_eq!(queue.push(b"3").await, Err(PushError::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_client_has_to_send_a_message_before_the_deadline() {
    let begin = tokio::time::Instant::now();
    let (queue, _, mut silent) = open(1024, MAX_BODIES, after(BRIEFLY), never());
    assert_eq!(next(&mut silent).await, None);
    assert_eq!(begin.elapsed(), BRIEFLY);
    assert_eq!(queue.push(b"1").await, Err(PushError::Closed));

    let (queue, _, mut heard) = open(1024, MAX_BODIES, after(BRIEFLY), never());
    queue.push(b"1").await.unwrap();
    assert_eq!(next(&mut heard).await.unwrap(), "1");
    assert!(timeout(BRIEFLY * 100, next(&mut heard)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn queued_messages_are_received_after_the_end() {
    let (queue, _, mut transport) = open(4096, MAX_BODIES, never(), after(BRIEFLY));
    for frame in [&b"1"[..], b"2"] {
        queue.push(frame).await.unwrap();
    }
    sleep(BRIEFLY * 2).await;
    assert_eq!(next(&mut transport).await.unwrap(), "1");
    assert_eq!(next(&mut transport).await.unwrap(), "2");
    assert_eq!(next(&mut transport).await, None);
    assert_eq!(queue.push(b"3").await, Err(PushError::Closed));
}

#[tokio::test(start_paused = true)]
async fn queued_frames_are_sent_when_the_buffer_is_taken() {
    let (_queue, buffer, mut transport) = open(1024, MAX_BODIES, never(), never());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(transport.poll_flush(&mut cx).is_ready());
    assert_eq!(buffer.take(), None);
    transport.queue(b"1");
    transport.queue(b"2");
    assert!(transport.poll_flush(&mut cx).is_pending());
    let events = buffer.take().unwrap();
    assert_eq!(events.len(), 2 * b"event: message\ndata: 1\n\n".len());
    assert_eq!(transport.queued_bytes(), 0);
    assert!(transport.poll_flush(&mut cx).is_ready());
}
