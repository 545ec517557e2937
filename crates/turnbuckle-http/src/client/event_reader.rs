//! Reading a stream of events into the inbox.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use turnbuckle_session::transport::{Frame, Inbox};
use turnbuckle_types::RequestId;

use super::event_decoder::{Event, EventDecoder};
use super::response_body::ClientResponseBody;

/// The time that the server may take to end a stream whose request is answered, so that its
/// connection can be used again.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(100);

/// The reason why reading a stream ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The request was answered.
    Answered,
    /// An event on the request's stream was larger than the limit.
    TooLarge,
    /// The stream ended before the request was answered.
    Ended {
        /// The cause.
        reason: String,
        /// True if the stream carried anything new.
        made_progress: bool,
        /// The time for which the stream was open.
        duration: Duration,
    },
}

/// Hands the messages of a stream to the inbox, until the request `exchange` is answered or the
/// stream ends.
pub(crate) async fn read_events(
    inbox: &dyn Inbox,
    decoder: &mut EventDecoder,
    mut body: ClientResponseBody,
    exchange: Option<&RequestId>,
) -> StreamEnd {
    let begin = Instant::now();
    let last = decoder.resume_point().last_event_id.clone();
    let mut has_message = false;
    decoder.reset();
    let reason = loop {
        let mut chunk = match body.next_chunk().await {
            Some(Ok(chunk)) => chunk,
            Some(Err(error)) => break error.to_string(),
            None => break "the server ended the stream".to_owned(),
        };
        while let Some(event) = decoder.next_event(&mut chunk) {
            match event {
                Event::Message(message) => {
                    has_message = true;
                    inbox.receive(Frame::Message(message), exchange);
                    if exchange.is_some_and(|id| !inbox.is_pending(id)) {
                        drain(body).await;
                        return StreamEnd::Answered;
                    }
                }
                Event::TooLarge if exchange.is_some() => return StreamEnd::TooLarge,
                Event::TooLarge => {
                    let limit = decoder.max_message_bytes();
                    inbox.receive(Frame::TooLong { limit }, None);
                }
                Event::Endpoint(_) | Event::Other => {}
            }
        }
        // The response may have come on another stream.
        if exchange.is_some_and(|id| !inbox.is_pending(id)) {
            return StreamEnd::Answered;
        }
    };
    let made_progress = has_message || decoder.resume_point().last_event_id != last;
    StreamEnd::Ended {
        reason,
        made_progress,
        duration: begin.elapsed(),
    }
}

/// Reads a stream to its end, if that is near.
async fn drain(mut body: ClientResponseBody) {
    let end = async { while let Some(Ok(Bytes { .. })) = body.next_chunk().await {} };
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, end).await;
}
