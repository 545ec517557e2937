//! Messages from the server: classification, responses, notifications, oversized and invalid
//! frames.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use tokio::time::Instant;
use turnbuckle_types::{
    CancelledNotificationParams, ProgressNotificationParams, ProgressToken, RawJson, RequestId,
};
use turnbuckle_wire::era::params::raw_params;
use turnbuckle_wire::era::{Params, VersionHeader};
use turnbuckle_wire::revision::Method;
use turnbuckle_wire::rpc::{self, DecodeErrorKind, Message};
use turnbuckle_wire::{FrameKind, classify};

use super::client_session::ClientSession;
use super::request_tag::RequestTag;
use super::response::{RawResult, RequestError};
use crate::client::link::{Inbox, LinkKind};
use crate::client::link_error::LinkError;
use crate::client::message_observer::MessageObserver;
use crate::shared::incoming::IncomingNotification;
use crate::shared::kernel::NotificationDecision;
use crate::shared::panic_guard::guard_callback;
use crate::shared::trace::{Side, TracedNotification, notification_span, received_context};
use crate::shared::transport::Frame;

/// The inbox of a session. Its link holds it, which does not keep the session alive.
pub(super) struct SessionInbox {
    pub(super) session: Weak<ClientSession>,
    pub(super) observer: Option<Arc<dyn MessageObserver>>,
}

impl Inbox for SessionInbox {
    fn receive(&self, frame: Frame, exchange: Option<&RequestId>) {
        if let Some(observer) = &self.observer {
            guard_callback(|| observer.on_receive(&frame));
        }
        let session = self.session.upgrade();
        let Some(session) = session.filter(|session| !session.is_closed()) else {
            return;
        };
        match frame {
            Frame::Message(frame) => session.receive_frame(&frame, exchange),
            Frame::TooLong { limit } => session.handle_oversized(limit, exchange),
        }
    }

    fn is_pending(&self, id: &RequestId) -> bool {
        self.session
            .upgrade()
            .is_some_and(|session| session.kernel().get_waiting(id).is_some())
    }

    fn fail(&self, reason: LinkError) {
        if let Some(observer) = &self.observer {
            guard_callback(|| observer.on_disconnect(&reason));
        }
        if let Some(session) = self.session.upgrade() {
            session.abort(reason);
        }
    }
}

impl ClientSession {
    fn receive_frame(&self, frame: &Bytes, exchange: Option<&RequestId>) {
        match classify(frame, VersionHeader::NotApplicable) {
            FrameKind::Message { text, message, .. } => {
                self.handle_message(frame, text, message, exchange);
            }
            FrameKind::Batch(text) => self.receive_batch(frame, text, exchange),
            FrameKind::Invalid(_) => {
                self.skip_invalid(std::str::from_utf8(frame).unwrap_or("bytes that are not UTF-8"));
            }
        }
    }

    fn receive_batch(&self, frame: &Bytes, text: &str, exchange: Option<&RequestId>) {
        let elements = match rpc::split_batch(text, self.limits.max_batch_messages) {
            Ok(elements) => elements,
            Err(error) => {
                if error.kind == DecodeErrorKind::InvalidRequest {
                    let limit = self.limits.max_batch_messages;
                    tracing::warn!(
                        limit,
                        "a batch of the server was too long (ClientLimits::max_batch_messages) and is skipped"
                    );
                }
                return self.skip_invalid(text);
            }
        };
        for element in elements {
            match rpc::decode::<Params<'_>>(element) {
                Ok(message) => self.handle_message(frame, element, message, exchange),
                Err(_) => self.skip_invalid(element),
            }
        }
    }

    fn handle_message(
        &self,
        frame: &Bytes,
        text: &str,
        message: Message<'_, Params<'_>>,
        exchange: Option<&RequestId>,
    ) {
        match message {
            Message::Response(response) => {
                let id = match (&response.id, &response.outcome) {
                    // A server that could not read the id sends none: the exchange names the request.
                    (None, Err(_)) => exchange,
                    (id, _) => id.as_ref(),
                };
                let outcome = match response.outcome {
                    Ok(result) => Ok(RawResult::new(frame, result.as_str())),
                    Err(error) => Err(RequestError::ErrorResponse(error)),
                };
                self.complete_request(id, outcome);
            }
            Message::Notification(notification) => {
                // Progress names its request.
                if Method::parse(&notification.method) != Some(Method::Progress) {
                    self.count_bytes(text.len(), exchange);
                }
                self.handle_notification(&notification, text, exchange);
            }
            Message::Request(request) => {
                self.count_bytes(text.len(), exchange);
                self.handle_request(request, text, exchange);
            }
        }
    }

    /// Counts a message of the server for the request of its exchange. On a duplex link it may be about
    /// any request that waits, and so counts for all of them.
    fn count_bytes(&self, bytes: usize, exchange: Option<&RequestId>) {
        let limit = self.limits.max_request_bytes;
        let kernel = self.kernel();
        match (exchange, self.link_kind()) {
            (Some(id), _) => {
                if let Some(pending) = kernel.get_waiting(id) {
                    pending.response.count_bytes(bytes, limit);
                }
            }
            (None, LinkKind::Duplex) => {
                for pending in kernel.waiting_values() {
                    pending.response.count_bytes(bytes, limit);
                }
            }
            // Such messages are about no request.
            (None, LinkKind::Exchange) => {}
        }
    }

    /// Returns the tag of the request that a log message is about, as [`find_tag`](Self::find_tag) does for
    /// questions. A log message may come late: it may also be about a request that the server has answered in
    /// the last minutes.
    fn find_log_tag(&self, exchange: Option<&RequestId>) -> Option<RequestTag> {
        let tag = self.find_tag(exchange)?;
        let is_certain = exchange.is_some() || self.abandoned_requests().were_all_of(&tag);
        is_certain.then_some(tag)
    }

    /// Returns the tag of the request that a message of the server is about. On the exchange of a
    /// request it is about that request. Elsewhere it is about one of the requests that the server may
    /// be working on, and the tag is that of the newest: if all tagged ones since the server last worked on none
    /// came on the same connection, and `None` otherwise. A server may ask late, after its answer.
    pub(super) fn find_tag(&self, exchange: Option<&RequestId>) -> Option<RequestTag> {
        let kernel = self.kernel();
        let mut abandoned = self.abandoned_requests();
        abandoned.remove_expired(Instant::now());
        if let Some(id) = exchange {
            let waiting = kernel.get_waiting(id).and_then(|it| it.tag.as_ref());
            return waiting.or_else(|| abandoned.get(id)).cloned();
        }
        let waiting = || {
            let requests = kernel.waiting_requests();
            requests.filter_map(|(id, pending)| Some((id, pending.tag.as_ref()?)))
        };
        let (_, newest) = waiting().max_by_key(|(id, _)| *id)?;
        let connection = newest.connection();
        let is_only_one = waiting().all(|(_, tag)| tag.connection() == connection);
        (is_only_one && abandoned.are_all_of(connection)).then(|| newest.clone())
    }

    fn complete_request(&self, id: Option<&RequestId>, outcome: Result<RawResult, RequestError>) {
        let mut kernel = self.kernel();
        let Some(pending) = kernel.take_waiting(id) else {
            if let Some(id) = id {
                self.abandoned_requests().remove(id);
            }
            drop(kernel);
            tracing::debug!(?id, "a response to a request that is not pending");
            return;
        };
        if let Some(tag) = &pending.tag {
            self.abandoned_requests().insert_answered(tag);
        }
        drop(kernel);
        pending.response.complete(outcome);
    }

    /// Counts and reports a frame that is no valid message.
    fn skip_invalid(&self, text: &str) {
        let count = self.invalid_messages.fetch_add(1, Ordering::Relaxed) + 1;
        let beginning: String = text.chars().take(80).collect();
        if count == 1 {
            tracing::warn!(
                beginning,
                "the server wrote something that is no message; it is skipped, and so is more of it"
            );
        }
        guard_callback(|| self.handler.handle_invalid_message(count, &beginning));
    }

    fn handle_notification(
        &self,
        notification: &rpc::Notification<'_, Params<'_>>,
        text: &str,
        exchange: Option<&RequestId>,
    ) {
        let span = notification_span(|| TracedNotification {
            uri: notification.params.uri.and_then(RawJson::text),
            parent: received_context(text, None),
            ..self.trace_notification(Side::Server, &notification.method)
        });
        let _entered = span.enter();
        let method = Method::parse(&notification.method);
        if method == Some(Method::Progress) {
            return self.handle_progress(text);
        }
        let request_id = notification
            .params
            .request_id
            .and_then(|raw| RequestId::from_json(raw.as_str()));
        let decision = self
            .kernel()
            .judge_notification(method, request_id.as_ref());
        let is_for_handler = match decision {
            NotificationDecision::Cancel(signal) => {
                log_cancel_reason(text);
                signal.cancel();
                false
            }
            NotificationDecision::Other => true,
            // A cancellation that names no request of the server may end a stream that this side
            // opened.
            NotificationDecision::Ignored => method == Some(Method::Cancelled),
            NotificationDecision::Initialized => false,
        };
        if is_for_handler {
            let name = &*notification.method;
            let notice = IncomingNotification { method, name, text };
            let tag = match method {
                Some(Method::LoggingMessage) => self.find_log_tag(exchange),
                _ => None,
            };
            guard_callback(|| self.handler.handle_notification(notice, tag.as_ref()));
        }
    }

    fn handle_progress(&self, text: &str) {
        let params: Option<ProgressNotificationParams> =
            raw_params(text).and_then(|raw| raw.decode().ok());
        let Some(params) = params else { return };
        let id = match &params.progress_token {
            ProgressToken::Int(number) => RequestId::from(*number),
            _ => return,
        };
        let handler = {
            let kernel = self.kernel();
            let Some(pending) = kernel.get_waiting(&id) else {
                return;
            };
            pending.response.record_activity();
            let limit = self.limits.max_request_bytes;
            pending.response.count_bytes(text.len(), limit);
            pending.progress_handler.clone()
        };
        if let Some(handler) = handler {
            guard_callback(|| handler.handle_progress(params));
        }
    }

    /// Handles a frame that was larger than the link accepts and was skipped.
    ///
    /// On an exchange the frame belonged to the request of that exchange. On a duplex link it may
    /// have been any message. If exactly one request with a deadline waits (or else exactly one
    /// request at all), it ends with an error instead of waiting for a response that may have been
    /// skipped. That is a guess, so the request stays in the table until its caller takes it back.
    fn handle_oversized(&self, limit: usize, exchange: Option<&RequestId>) {
        tracing::warn!(limit, "a message of the server was too long and is skipped");
        let mut kernel = self.kernel();
        let response = match (exchange, self.link_kind()) {
            (Some(id), _) => kernel
                .take_waiting(Some(id))
                .map(|pending| pending.response),
            (None, LinkKind::Duplex) => {
                let waiting = || kernel.waiting_values().map(|pending| &pending.response);
                let with_deadline = waiting().filter(|response| response.has_deadline());
                single(with_deadline).or_else(|| single(waiting())).cloned()
            }
            // Responses come on the exchanges of their requests.
            (None, LinkKind::Exchange) => None,
        };
        drop(kernel);
        if let Some(response) = response {
            let error = LinkError::MessageTooLarge { limit };
            response.complete(Err(RequestError::Link { error, sent: true }));
        }
    }
}

/// Returns the only item; `None` if there are several or none.
fn single<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    items.next().filter(|_| items.next().is_none())
}

/// Logs why the server cancelled one of its requests.
fn log_cancel_reason(text: &str) {
    let params = raw_params(text).and_then(|raw| raw.decode().ok());
    let reason = params.and_then(|params: CancelledNotificationParams| params.reason);
    let reason: Option<String> = reason.map(|text| text.chars().take(256).collect());
    tracing::debug!(?reason, "the server cancelled a request of its own");
}
