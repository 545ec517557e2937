//! The stream on which a legacy server says what belongs to no request.
//!
//! Specification: basic/transports, "Listening for Messages from the Server" (2025-11-25).

use std::sync::Arc;

use tokio::sync::oneshot;
use turnbuckle_session::LinkError;

use super::core::{Core, NoStream};
use super::decode::Decoder;
use super::events::{self, End};
use super::resume::Pace;

/// Listens until the link is closed, or there is nothing to listen to. `answered` is dropped once
/// the server's first answer is there.
pub(crate) async fn listen(core: Arc<Core>, answered: oneshot::Sender<()>) {
    tokio::select! {
        biased;
        () = core.closing.closing() => {}
        () = follow(&core, answered) => {}
    }
}

async fn follow(core: &Core, answered: oneshot::Sender<()>) {
    let mut decoder = Decoder::new(core.remote.options.max_message);
    let mut pace = Pace::new(&core.remote.options);
    let mut opened = false;
    let mut answered = Some(answered);
    loop {
        let stream = core.stream(decoder.cursor().id.as_ref()).await;
        drop(answered.take());
        let reason = match stream {
            Ok(body) => {
                opened = true;
                match events::read(&*core.inbox, &mut decoder, body, None).await {
                    End::Over { reason, fruitful } => {
                        if fruitful {
                            pace.fruitful();
                        }
                        reason
                    }
                    // Only a request is answered, or given up for an event's size.
                    End::Answered | End::TooLarge => return,
                }
            }
            // Servers that offer no stream may say so with this status as well.
            Err(NoStream::Lasting(LinkError::SessionGone)) if opened => {
                core.inbox.lost(LinkError::SessionGone);
                return;
            }
            Err(NoStream::Lasting(error)) => {
                // A server keeps for a while only what it said: it may refuse the place, and not the
                // stream.
                let admitted = !matches!(error, LinkError::Unauthorized { .. });
                if !admitted || !decoder.forget_place() {
                    tracing::debug!(%error, "the server offers no stream of its own");
                    return;
                }
                tracing::debug!(%error, "what the server said meanwhile is lost");
                error.to_string()
            }
            Err(NoStream::Passing(error)) => error.to_string(),
        };
        let wait = match pace.next(decoder.cursor().retry) {
            Ok(wait) => wait,
            Err(spent) => {
                tracing::warn!(reason, "the server's own stream is given up: {spent}");
                return;
            }
        };
        tokio::time::sleep(wait).await;
    }
}
