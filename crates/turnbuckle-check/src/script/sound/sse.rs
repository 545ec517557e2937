//! The HTTP+SSE transport of the first revision: one stream, and a POST per message.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;
use serde_json::Value;
use tokio::sync::mpsc::unbounded_channel;
use turnbuckle_types::base::random;

use super::super::lock;
use super::change::Listener;
use super::outlet::Outlet;
use super::refusal::{Refusal, error_to};
use super::reply::{Reply, event_reply, json_reply, refuse, status, wants_events};
use super::server::Sound;
use super::session::Session;
use super::streams::{SoundBody, SseConnection};

/// Connections that a server has at a time.
const MAX_CONNECTIONS: usize = 1000;

impl Sound {
    /// Opens a stream, whose first event says where to post.
    pub(super) fn open_sse(&self, parts: &Parts) -> Result<Reply, Box<Reply>> {
        if !wants_events(&parts.headers) {
            return Err(refuse(StatusCode::NOT_ACCEPTABLE));
        }
        let unavailable = |_| refuse(StatusCode::SERVICE_UNAVAILABLE);
        let id = random::secret().map_err(unavailable)?;
        let (to, mut sent) = unbounded_channel();
        let outlet = Outlet::new(to, self.faults.clone());
        let session = Arc::new(Session::default());
        session.set_general(outlet.clone());
        self.add_listener(Listener::Session(session.clone()));
        let mut connections = lock(&self.state.sse);
        connections.retain(|_, connection| connection.outlet.is_open());
        if connections.len() == MAX_CONNECTIONS {
            return Err(refuse(StatusCode::SERVICE_UNAVAILABLE));
        }
        let (events, frames) = unbounded_channel();
        let endpoint = format!("event: endpoint\ndata: /messages?session={id}\n\n");
        // The receiver is there.
        let _ = events.send(self.faults.event_of(endpoint));
        connections.insert(id, Arc::new(SseConnection { session, outlet }));
        let faults = self.faults.clone();
        let work = tokio::spawn(async move {
            while let Some(message) = sent.recv().await.filter(|it| !it.is_null()) {
                let event = faults.event_of(format!("event: message\ndata: {message}\n\n"));
                let _ = events.send(event);
            }
        });
        Ok(event_reply(
            SoundBody::new(frames).ending(work.abort_handle()),
        ))
    }

    /// Takes a message; what it causes comes on the stream.
    pub(super) fn post_sse(&self, parts: &Parts, body: &Bytes) -> Result<Reply, Box<Reply>> {
        let id = parts
            .uri
            .query()
            .and_then(|query| query.strip_prefix("session="));
        let connection = lock(&self.state.sse).get(id.unwrap_or_default()).cloned();
        let connection = connection.filter(|it| it.outlet.is_open());
        let connection = connection.ok_or_else(|| refuse(StatusCode::NOT_FOUND))?;
        let session = &connection.session;
        let message: Value = serde_json::from_slice(body).map_err(|error| {
            let refusal = Refusal::new(-32700, &format!("no JSON: {error}"));
            Box::new(json_reply(
                StatusCode::BAD_REQUEST,
                &error_to(session, &Value::Null, refusal),
            ))
        })?;
        let id = message.get("id").cloned();
        if let Some(work) = self.receive(session, message, &connection.outlet) {
            let work = tokio::spawn(work).abort_handle();
            if let Some(id) = id {
                session.set_abort(&id, work);
            }
        }
        Ok(status(StatusCode::ACCEPTED))
    }
}
