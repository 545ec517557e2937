//! The exchange of one message: its POST, the response, and the resumption of a stream that ended
//! early.
//!
//! Specification: basic/transports/streamable-http (2026-07-28), basic/transports, "Sending Messages
//! to the Server" and "Resumability and Redelivery" (2025-11-25).

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use http_body::Body as _;
use tokio::time::Instant;
use turnbuckle_session::transport::{Frame, LinkError, OutboundKind, OutboundMessage};
use turnbuckle_types::RequestId;
use turnbuckle_types::base::text::Escaped;

use super::error::HttpClientError;
use super::event_decoder::EventDecoder;
use super::event_reader::{self, StreamEnd};
use super::link_state::{LinkState, MirroredHeader, StreamError, is_transient, session_id_for};
use super::reconnect::ReconnectSchedule;
use super::response::{ContentType, ErrorResponse, read_body, read_error_response};
use super::response_body::ClientResponseBody;

/// Bytes that are read of a body without a message, so that its connection can be used again.
const MAX_DRAIN_BYTES: usize = 4 << 10;

/// The time that reading a body without a message may take.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(100);

/// Sends a message and handles its response, until the exchange has ended or the link is closed.
pub(crate) async fn send_message(
    state: Arc<LinkState>,
    message: OutboundMessage,
) -> Result<(), LinkError> {
    let mut closing = pin!(state.closing.closing());
    let mut exchange = pin!(run_exchange(&state, message));
    poll_fn(|cx| {
        if state.closing.is_closing() {
            return Poll::Ready(Err(LinkError::Closed));
        }
        match exchange.as_mut().poll(cx) {
            // Registers for the end of the link only when the exchange has to wait.
            Poll::Pending => closing.as_mut().poll(cx).map(|()| Err(LinkError::Closed)),
            ended => ended,
        }
    })
    .await
}

async fn run_exchange(state: &LinkState, message: OutboundMessage) -> Result<(), LinkError> {
    let OutboundMessage {
        frame,
        kind,
        headers,
    } = message;
    let (frame, session) = (Bytes::from(frame), session_id_for(state, &kind));
    if kind == OutboundKind::Response {
        return send_answer(state, &frame, &headers, session.as_ref()).await;
    }
    let response = state.post(frame, &headers, session.as_ref()).await?;
    let id = kind.request_id();
    if !response.status().is_success() {
        return match (read_error_response(response, session.is_some()).await, id) {
            (ErrorResponse::JsonRpc { frame, status }, Some(id)) => {
                deliver_error(state, id, frame, status)
            }
            (error, _) => Err(error.into_link_error()),
        };
    }
    if matches!(kind, OutboundKind::Initialize(_)) {
        state.store_session_id(response.headers())?;
    }
    let status = response.status().as_u16();
    let content_type = ContentType::from_headers(response.headers());
    let body = response.into_body();
    match (id, content_type) {
        (None, ContentType::EventStream) => Ok(()),
        (None, _) => {
            drain_body(body).await;
            Ok(())
        }
        (Some(id), ContentType::Json) => read_json_response(state, id, body).await,
        (Some(id), ContentType::EventStream) => read_event_stream(state, id, body).await,
        (Some(_), ContentType::Missing) if matches!(status, 202 | 204) => {
            Err(LinkError::ProtocolViolation {
                reason: format!("a request that was taken (HTTP {status}) and not answered"),
            })
        }
        (Some(_), other) => Err(other.to_unexpected_error()),
    }
}

/// Sends the answer to a question of the server, again after a failure that may pass: the server ignores an
/// answer that it has, and a question without an answer keeps its call waiting.
async fn send_answer(
    state: &LinkState,
    frame: &Bytes,
    headers: &[MirroredHeader],
    session: Option<&HeaderValue>,
) -> Result<(), LinkError> {
    let mut schedule = ReconnectSchedule::new(&state.remote.options);
    loop {
        let error = match state.post(frame.clone(), headers, session).await {
            Ok(response) if response.status().is_success() => {
                drain_body(response.into_body()).await;
                return Ok(());
            }
            Ok(response) => {
                let may_pass = is_transient(response.status());
                let error = read_error_response(response, session.is_some()).await;
                let error = error.into_link_error();
                if !may_pass {
                    return Err(error);
                }
                error
            }
            Err(error @ (LinkError::Unreachable { .. } | LinkError::ConnectionLost { .. })) => {
                error
            }
            Err(error) => return Err(error),
        };
        let Ok(delay) = schedule.next_delay(None) else {
            return Err(error);
        };
        tracing::debug!(error = %Escaped(&error), "an answer is sent again in {delay:?}");
        tokio::time::sleep(delay).await;
    }
}

/// Reads a body without a message to its end, if that is short and near.
pub(crate) async fn drain_body(mut body: ClientResponseBody) {
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, read_body(&mut body, MAX_DRAIN_BYTES)).await;
}

/// Hands a JSON-RPC error with an error status to the inbox.
fn deliver_error(
    state: &LinkState,
    id: &RequestId,
    frame: Bytes,
    status: u16,
) -> Result<(), LinkError> {
    state.inbox.receive(Frame::Message(frame.clone()), Some(id));
    if state.inbox.is_pending(id) {
        return Err(ErrorResponse::JsonRpc { frame, status }.into_link_error());
    }
    Ok(())
}

async fn read_json_response(
    state: &LinkState,
    id: &RequestId,
    mut body: ClientResponseBody,
) -> Result<(), LinkError> {
    let limit = state.remote.options.max_message_bytes;
    if body.size_hint().lower() > limit as u64 {
        return Err(LinkError::MessageTooLarge { limit });
    }
    let read = read_body(&mut body, limit).await;
    let read = read.map_err(connection_lost)?;
    if !read.is_complete {
        return Err(LinkError::MessageTooLarge { limit });
    }
    state.inbox.receive(Frame::Message(read.bytes), Some(id));
    if state.inbox.is_pending(id) {
        return Err(LinkError::ProtocolViolation {
            reason: "an answer to a request that does not answer it".to_owned(),
        });
    }
    Ok(())
}

async fn read_event_stream(
    state: &LinkState,
    id: &RequestId,
    mut body: ClientResponseBody,
) -> Result<(), LinkError> {
    let limit = state.remote.options.max_message_bytes;
    let mut decoder = EventDecoder::new(limit);
    let mut schedule = ReconnectSchedule::new(&state.remote.options);
    loop {
        match event_reader::read_events(&*state.inbox, &mut decoder, body, Some(id)).await {
            StreamEnd::Answered => return Ok(()),
            StreamEnd::TooLarge => return Err(LinkError::MessageTooLarge { limit }),
            StreamEnd::Ended {
                reason,
                made_progress,
                duration,
            } => {
                if !state.can_resume() || decoder.resume_point().last_event_id.is_none() {
                    return Err(LinkError::ConnectionLost { reason });
                }
                schedule.record_connection(made_progress, duration);
                body = resume_stream(state, &decoder, &mut schedule, reason).await?;
            }
        }
    }
}

/// Opens the rest of a stream, after a delay and as often as the schedule allows.
async fn resume_stream(
    state: &LinkState,
    decoder: &EventDecoder,
    schedule: &mut ReconnectSchedule,
    mut reason: String,
) -> Result<ClientResponseBody, LinkError> {
    let resume_point = decoder.resume_point();
    loop {
        let ended = Instant::now();
        let delay = schedule
            .next_delay(resume_point.reconnect_delay)
            .map_err(|limit| {
                let reason = format!("{reason}, and {limit}");
                LinkError::ConnectionLost { reason }
            })?;
        tokio::time::sleep_until(ended + delay).await;
        match state.open_stream(resume_point.last_event_id.as_ref()).await {
            Ok(body) => return Ok(body),
            Err(StreamError::Transient(error)) => reason = error.to_string(),
            // The server took the request: the error says so, whatever the reason here.
            Err(StreamError::Permanent(error)) => {
                let reason = format!("{reason}, and it cannot be taken up again: {error}");
                if matches!(error, LinkError::SessionNotFound) {
                    state.inbox.fail(error);
                }
                return Err(LinkError::ConnectionLost { reason });
            }
        }
    }
}

/// Converts the error of reading a body: the request was sent in any case.
fn connection_lost(error: HttpClientError) -> LinkError {
    LinkError::ConnectionLost {
        reason: error.to_string(),
    }
}
