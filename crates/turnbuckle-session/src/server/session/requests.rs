//! The messages that a session receives.

use std::sync::Arc;

use tokio::sync::Semaphore;
use turnbuckle_types::base::text::Escaped;
use turnbuckle_types::{CancelledNotificationParams, ProtocolError, RawJson, RequestId};
use turnbuckle_wire::era::headers::SESSION_ID;
use turnbuckle_wire::era::params::raw_params;
use turnbuckle_wire::era::{Params, Reply};
use turnbuckle_wire::revision::{EraKind, Features, Method, Revision};
use turnbuckle_wire::rpc::{self, Message};

use super::Session;
use crate::server::admission::{Admission, Lifecycle, Served};
use crate::server::context::{ClientDetails, RequestContext, RequestSink};
use crate::server::foreign_messages::ForeignMessage;
use crate::server::handler_task::Completion;
use crate::server::inbound_frame::InboundFrame;
use crate::server::{handshake, tasks};
use crate::shared::incoming::IncomingNotification;
use crate::shared::instance_id::instance_of;
use crate::shared::kernel::{NotificationDecision, RequestDecision};
use crate::shared::panic_guard::catch_panic;
use crate::shared::reply_sink::{EncodedResponse, ReplySink};
use crate::shared::trace::{
    FailureFacts, RequestTrace, Side, TracedNotification, count_refusal, notification_span,
    received_context,
};
use crate::shared::transport::Binding;

/// The outcome of receiving a message.
#[derive(Debug)]
pub enum MessageOutcome {
    /// The response is ready.
    Response(EncodedResponse),
    /// The request runs, and [`ReplySink::finish`] will be called on its sink.
    Pending,
    /// The message wants no response.
    NoResponse,
}

impl Session {
    /// Receives a message. `modern` is the revision of a request that carries an envelope; all
    /// other messages speak the session's own revision. A response that is not ready at once goes
    /// to `sink`.
    pub fn receive(
        self: &Arc<Self>,
        message: Message<'_, Params<'_>>,
        modern: Option<Revision>,
        frame: InboundFrame<'_>,
        sink: &Arc<dyn ReplySink>,
    ) -> MessageOutcome {
        match message {
            Message::Request(request) => self.receive_request(&request, modern, frame, sink),
            Message::Notification(notification) => {
                self.receive_notification(&notification, frame);
                MessageOutcome::NoResponse
            }
            Message::Response(response) => {
                self.receive_response(response, frame);
                MessageOutcome::NoResponse
            }
        }
    }

    fn receive_request(
        self: &Arc<Self>,
        request: &rpc::Request<'_, Params<'_>>,
        modern: Option<Revision>,
        frame: InboundFrame<'_>,
        sink: &Arc<dyn ReplySink>,
    ) -> MessageOutcome {
        let admission = Admission {
            dispatch: &self.dispatch,
            limits: &self.state.limits,
            account: self.account.account(),
            features: self.features(modern),
            binding: self.binding,
            lifecycle: SessionLifecycle {
                session: self,
                is_modern: modern.is_some(),
            },
        };
        match admission.serve(request, frame, || RequestSink::Shared(sink.clone())) {
            Served::Response(response) | Served::HandlerResponse(_, response) => {
                MessageOutcome::Response(response)
            }
            Served::Pending(_) => MessageOutcome::Pending,
            Served::Cancelled(_) => {
                sink.finish(None);
                MessageOutcome::Pending
            }
        }
    }

    fn features(&self, modern: Option<Revision>) -> &'static Features {
        match (modern, self.legacy()) {
            (Some(revision), _) => revision.features(),
            (None, Some(legacy)) => legacy.features(),
            (None, None) => Revision::NEWEST_LEGACY.features(),
        }
    }

    fn receive_notification(
        &self,
        notification: &rpc::Notification<'_, Params<'_>>,
        frame: InboundFrame<'_>,
    ) {
        let span = notification_span(|| self.trace_notification(notification, frame));
        let _entered = span.enter();
        let method = Method::parse(&notification.method);
        let request_id = notification
            .params
            .request_id
            .and_then(|raw| RequestId::from_json(raw.as_str()));
        let decision = self
            .state
            .kernel()
            .judge_notification(method, request_id.as_ref());
        match decision {
            NotificationDecision::Cancel(request) => {
                log_cancel_reason(request.id(), frame.text);
                request.cancel();
            }
            NotificationDecision::Initialized => {
                if let Some(legacy) = self.legacy() {
                    legacy.set_initialized();
                }
            }
            NotificationDecision::Other => self.handle_notification(IncomingNotification {
                method,
                name: &notification.method,
                text: frame.text,
            }),
            NotificationDecision::Ignored => {
                if let Some(foreign) = frame.foreign
                    && method == Some(Method::Cancelled)
                    && request_id.is_some()
                {
                    let frame = frame.frame.clone();
                    foreign.add(ForeignMessage::Cancellation { frame });
                }
            }
        }
    }

    /// Returns the facts for the span of a notification that was received.
    #[cold]
    fn trace_notification<'a>(
        &self,
        notification: &'a rpc::Notification<'_, Params<'_>>,
        frame: InboundFrame<'a>,
    ) -> TracedNotification<'a> {
        let head = frame.transport.http.as_deref();
        // The head of a duplex transport is that of the connection, and not of this message.
        let own_head = head.filter(|_| self.binding != Binding::Duplex);
        TracedNotification {
            side: Side::Server,
            method: &notification.method,
            uri: None,
            features: self.legacy().map(|legacy| legacy.features()),
            transport: frame.transport_name(self.binding),
            session_id: own_head.and_then(|head| head.header(SESSION_ID)),
            parent: received_context(frame.text, own_head),
        }
    }

    fn handle_notification(&self, notification: IncomingNotification<'_>) {
        let name = notification.name;
        if notification.method == Method::ListRoots.invalidated_by()
            && let Some(legacy) = self.legacy()
        {
            legacy.clear_roots(true);
        }
        let Ok(permit) = self.notification_permits().try_acquire_owned() else {
            count_refusal("Limits::max_notification_handlers");
            tracing::debug!(
                name,
                "a notification was dropped: too many are being handled \
                 (Limits::max_notification_handlers)"
            );
            return;
        };
        let dispatch = &self.dispatch.dispatch;
        let handling = catch_panic(|| dispatch.handle_notification(notification, &self.peer()));
        if let Ok(Some(future)) = handling {
            tasks::spawn_notification(future, self.end_signal().clone(), permit);
        }
    }

    fn notification_permits(&self) -> Arc<Semaphore> {
        let max = self.state.limits.max_notification_handlers;
        let permits = || Arc::new(Semaphore::new(max.min(Semaphore::MAX_PERMITS)));
        self.notification_permits.get_or_init(permits).clone()
    }

    fn receive_response(&self, response: rpc::Response<'_>, frame: InboundFrame<'_>) {
        let waiting = self.state.kernel().take_waiting(response.id.as_ref());
        // The task that sent the request may have given up: then the response is dropped.
        if let Some(waiting) = waiting {
            drop(waiting.send(response.outcome.map(RawJson::to_json)));
            return;
        }
        let sender = response.id.as_ref().and_then(instance_of);
        match (frame.foreign, sender) {
            (Some(foreign), Some(sender)) if !self.is_instance(sender) => {
                let (instance, frame) = (sender.into(), frame.frame.clone());
                foreign.add(ForeignMessage::Response { instance, frame });
            }
            _ => tracing::debug!(id = ?response.id, "a response to a request that nobody made"),
        }
    }

    /// Returns whether this instance of the server has that name.
    fn is_instance(&self, name: &str) -> bool {
        let kernel = self.state.kernel();
        kernel.instance().is_some_and(|own| **own == *name)
    }
}

/// The lifecycle of a session's request.
struct SessionLifecycle<'a> {
    session: &'a Arc<Session>,
    is_modern: bool,
}

impl Lifecycle for SessionLifecycle<'_> {
    type Completion = SessionCompletion;

    fn judge(&self, id: &RequestId, method: Option<Method>, era: EraKind) -> RequestDecision {
        self.session.state.kernel().judge_request(id, method, era)
    }

    fn initialize(
        &self,
        request: &rpc::Request<'_, Params<'_>>,
        frame: InboundFrame<'_>,
        trace: Option<Box<RequestTrace>>,
    ) -> EncodedResponse {
        let Session {
            state, dispatch, ..
        } = &**self.session;
        let max_bytes = state.limits.max_handshake_bytes;
        let (identity, has_memory) = (dispatch.dispatch.identity(), self.session.has_memory);
        let (features, reply) =
            match handshake::initialize(identity, frame.text, max_bytes, has_memory) {
                Ok((legacy, reply)) => {
                    let features = legacy.features();
                    let is_first = state.legacy.set(Arc::new(legacy)).is_ok();
                    debug_assert!(is_first, "the kernel lets one handshake through");
                    state.kernel().handshake_succeeded();
                    self.session
                        .open(frame.transport_name(self.session.binding));
                    (features, reply)
                }
                Err(error) => {
                    state.kernel().handshake_failed();
                    (Revision::NEWEST_LEGACY.features(), Reply::from(error))
                }
            };
        if let Some(trace) = trace {
            trace.end(&reply, features, FailureFacts::default());
        }
        dispatch.encode(&request.id, &reply, features)
    }

    fn client(&self) -> Option<ClientDetails> {
        let legacy = self.session.legacy().filter(|_| !self.is_modern)?;
        Some(ClientDetails::Session {
            session: self.session.state.clone(),
            legacy: legacy.clone(),
        })
    }

    fn begin(&self, context: &RequestContext) -> Result<(), ProtocolError> {
        let mut kernel = self.session.state.kernel();
        kernel.begin_request(context.id().clone(), context.cancel_handle())
    }

    fn finish(&self, id: &RequestId) -> bool {
        self.session.state.kernel().finish_request(id).is_some()
    }

    fn completion(&self) -> SessionCompletion {
        SessionCompletion(self.session.clone())
    }
}

/// Completes a session's request whose handler ran in a task.
struct SessionCompletion(Arc<Session>);

impl Completion for SessionCompletion {
    fn complete(self, context: &RequestContext, reply: Option<Reply>) -> Option<EncodedResponse> {
        let Session {
            state, dispatch, ..
        } = &*self.0;
        state.kernel().finish_request(context.id())?;
        reply.map(|reply| {
            let account = &context.state.account;
            dispatch.encode_counted(context.id(), &reply, context.features(), account, 0)
        })
    }
}

/// Logs the reason that a client gave for a cancellation.
#[cold]
fn log_cancel_reason(id: &RequestId, text: &str) {
    let params = raw_params(text).and_then(|raw| raw.decode().ok());
    let reason = params.and_then(|params: CancelledNotificationParams| params.reason);
    let reason: Option<String> = reason.map(|text| text.chars().take(256).collect());
    tracing::debug!(id = %Escaped(&id), ?reason, "the client cancelled a request");
}
