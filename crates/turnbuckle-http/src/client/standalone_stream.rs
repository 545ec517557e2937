//! The stream on which a legacy server sends messages that belong to no request.
//!
//! Specification: basic/transports, "Listening for Messages from the Server" (2025-11-25).

use std::sync::Arc;

use tokio::sync::oneshot;
use turnbuckle_session::transport::LinkError;
use turnbuckle_types::base::text::Escaped;

use super::event_decoder::EventDecoder;
use super::event_reader::{self, StreamEnd};
use super::link_state::{LinkState, StreamError};
use super::reconnect::ReconnectSchedule;

/// Reads the stream until the link is closed, or the server offers no stream. `answered` is dropped
/// once the first response is there.
pub(crate) async fn listen(state: Arc<LinkState>, answered: oneshot::Sender<()>) {
    tokio::select! {
        biased;
        () = state.closing.closing() => {}
        () = follow(&state, answered) => {}
    }
}

async fn follow(state: &LinkState, answered: oneshot::Sender<()>) {
    let mut decoder = EventDecoder::new(state.remote.options.max_message_bytes);
    let mut schedule = ReconnectSchedule::new(&state.remote.options);
    let mut opened = false;
    let mut answered = Some(answered);
    loop {
        let stream = state
            .open_stream(decoder.resume_point().last_event_id.as_ref())
            .await;
        drop(answered.take());
        let reason = match stream {
            Ok(body) => {
                opened = true;
                match event_reader::read_events(&*state.inbox, &mut decoder, body, None).await {
                    StreamEnd::Ended {
                        reason,
                        made_progress,
                        duration,
                    } => {
                        schedule.record_connection(made_progress, duration);
                        reason
                    }
                    // These happen on streams of requests only.
                    StreamEnd::Answered | StreamEnd::TooLarge => return,
                }
            }
            // Before that, 404 may also mean that the server offers no stream.
            Err(StreamError::Permanent(LinkError::SessionNotFound)) if opened => {
                state.inbox.fail(LinkError::SessionNotFound);
                return;
            }
            Err(StreamError::Permanent(error)) => {
                // The server may have forgotten the event, and still offer the stream from now on.
                let is_authorized = !matches!(error, LinkError::Unauthorized { .. });
                if !is_authorized || !decoder.forget_last_event_id() {
                    tracing::debug!(error = %Escaped(&error), "the server offers no stream of its own");
                    return;
                }
                tracing::debug!(error = %Escaped(&error), "what the server said meanwhile is lost");
                error.to_string()
            }
            Err(StreamError::Transient(error)) => error.to_string(),
        };
        let delay = match schedule.next_delay(decoder.resume_point().reconnect_delay) {
            Ok(delay) => delay,
            Err(limit) => {
                tracing::warn!(reason, "the server's own stream is given up: {limit}");
                return;
            }
        };
        tokio::time::sleep(delay).await;
    }
}
