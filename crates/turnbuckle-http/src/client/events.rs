//! A body that is a stream of events, read to the inbox.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use turnbuckle_session::{Frame, Inbox};
use turnbuckle_types::RequestId;

use super::decode::{Decoder, Event};
use super::http::AnswerBody;

/// A connection that stood so long was worth it, whatever came over it.
const STEADY: Duration = Duration::from_secs(60);

/// How long a server may take to end a stream whose purpose is fulfilled, so that its connection
/// can be used again.
const LINGER: Duration = Duration::from_millis(100);

/// How reading ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The request was answered.
    Answered,
    /// An event of that request's was too large.
    TooLarge,
    /// The stream ended first.
    Over {
        /// Why, in words.
        reason: String,
        /// Something new came of it.
        fruitful: bool,
    },
}

/// Hands what the stream carries to the inbox, for as long as there is something to wait for.
pub(crate) async fn read(
    inbox: &dyn Inbox,
    decoder: &mut Decoder,
    mut body: AnswerBody,
    exchange: Option<&RequestId>,
) -> End {
    let begin = Instant::now();
    let last = decoder.cursor().id.clone();
    let mut came = false;
    decoder.restart();
    let reason = loop {
        let mut piece = match body.piece().await {
            Some(Ok(piece)) => piece,
            Some(Err(failure)) => break failure.to_string(),
            None => break "the server ended the stream".to_owned(),
        };
        while let Some(event) = decoder.next(&mut piece) {
            match event {
                Event::Message(message) => {
                    came = true;
                    inbox.receive(Frame::Message(message), exchange);
                    if exchange.is_some_and(|id| !inbox.awaits(id)) {
                        linger(body).await;
                        return End::Answered;
                    }
                }
                Event::TooLarge if exchange.is_some() => return End::TooLarge,
                Event::TooLarge => {
                    let limit = decoder.max();
                    inbox.receive(Frame::TooLong { limit }, None);
                }
                Event::Endpoint(_) | Event::Other => {}
            }
        }
        // The answer may have come another way.
        if exchange.is_some_and(|id| !inbox.awaits(id)) {
            return End::Answered;
        }
    };
    let fruitful = came || decoder.cursor().id != last || begin.elapsed() >= STEADY;
    End::Over { reason, fruitful }
}

/// Reads to the end, if that is near.
async fn linger(mut body: AnswerBody) {
    let end = async { while let Some(Ok(Bytes { .. })) = body.piece().await {} };
    let _ = tokio::time::timeout(LINGER, end).await;
}
