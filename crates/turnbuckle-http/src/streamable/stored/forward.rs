//! Messages of clients that belong to another instance.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use turnbuckle_cluster::{Delivery, MessageKind};
use turnbuckle_session::internal::ForeignMessage;
use turnbuckle_types::base::text::Escaped;

use super::StoredSessions;
use super::messages::{SessionMessage, encode};
use crate::reply::{HttpReply, error_reply, set_retry_after, store_reply};
use crate::streamable::sessions::HttpSession;

/// The time after which a client may send a response again that did not arrive.
const RETRY_DELAY: Duration = Duration::from_secs(1);

impl StoredSessions {
    /// Passes the messages of a POST to the instances that they are for, and saves what the POST
    /// changed. Returns the reply to the POST: `reply` itself, unless the POST wants no answer and a
    /// response in it has not arrived.
    pub(in crate::streamable) async fn finish_post(
        &self,
        open: &Arc<HttpSession>,
        messages: Vec<ForeignMessage>,
        reply: HttpReply,
    ) -> HttpReply {
        if Self::is_changed(open) {
            // Saved later if that fails.
            let _ = self.save(open).await;
        }
        let Some(id) = open.stored_id() else {
            return reply;
        };
        for message in messages {
            let forwarded = match message {
                ForeignMessage::Response { instance, frame } => {
                    self.forward_response(id, &instance, &frame).await
                }
                ForeignMessage::Cancellation { frame } => {
                    self.forward_cancellation(id, &frame).await;
                    Ok(())
                }
            };
            match forwarded {
                Err(refusal) if reply.is_accepted() => return refusal,
                Err(_) => {
                    tracing::warn!("the response to a question of another instance was lost");
                    return reply;
                }
                Ok(()) => {}
            }
        }
        reply
    }

    /// Sends a client's response to the instance that waits for it.
    async fn forward_response(
        &self,
        session: &str,
        instance: &str,
        frame: &Bytes,
    ) -> Result<(), HttpReply> {
        let body = message_body(session, frame);
        let sent = self
            .cluster
            .send(instance, MessageKind::SessionMessage, body);
        match sent.await {
            // Nobody waits for the response any more if the session or the instance is gone.
            Ok(Delivery::Delivered | Delivery::NotThere | Delivery::NoInstance) => Ok(()),
            Ok(Delivery::Unanswered) => {
                let message =
                    "the instance that asked did not take the response in time: send it again";
                let mut refusal = error_reply(StatusCode::SERVICE_UNAVAILABLE, message);
                set_retry_after(&mut refusal, RETRY_DELAY);
                Err(refusal)
            }
            Err(error) => Err(store_reply(&error)),
        }
    }

    /// Tells all other instances of a cancellation; the one that serves the request acts.
    async fn forward_cancellation(&self, session: &str, frame: &Bytes) {
        let body = message_body(session, frame);
        let sent = self.cluster.broadcast(MessageKind::SessionMessage, body);
        if let Err(error) = sent.await {
            tracing::debug!(error = %Escaped(&error), "a cancellation did not reach other instances");
        }
    }
}

fn message_body(session: &str, frame: &Bytes) -> Bytes {
    encode(&SessionMessage {
        session: session.to_owned(),
        message: String::from_utf8_lossy(frame).into_owned(),
    })
}
