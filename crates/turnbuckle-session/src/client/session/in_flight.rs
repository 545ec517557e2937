//! Requests in flight: sending a request, waiting for its response, and taking it back.

use std::fmt;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::time::Instant;
use tracing::Instrument;
use turnbuckle_types::CancelledNotificationParams;
use turnbuckle_types::RequestId;
use turnbuckle_types::base::debug_fields;
use turnbuckle_wire::era::{RequestAdditions, write_request};
use turnbuckle_wire::revision::{EraKind, Method, MethodRole};
use turnbuckle_wire::rpc;

use super::client_session::ClientSession;
use super::pending_response::{Outcome, PendingRequest, PendingResponse};
use super::request::OutboundRequest;
use super::response::{RawResult, RequestError};
use crate::client::link::{LinkKind, SendFuture};
use crate::client::link_error::LinkError;
use crate::client::outbound_message::{OutboundKind, OutboundMessage};
use crate::client::tasks;
use crate::client::timeouts::TimeoutKind;
use crate::shared::trace::{
    RequestTrace, Side, TracedFailure, TracedRequest, is_traced, telemetry,
};

impl ClientSession {
    /// Sends a request and returns the future of its result, which holds nothing of the request itself.
    ///
    /// Dropping the future takes the request back: the server is sent a cancellation, or the
    /// request's exchange is closed.
    pub fn send_request<'a>(self: &'a Arc<Self>, request: OutboundRequest<'_>) -> SentRequest<'a> {
        let state = match is_traced() {
            false => match self.start(request, None) {
                Ok(in_flight) => State::InFlight(in_flight),
                Err(error) => State::Boxed(Box::pin(ready(Err(error)))),
            },
            // Boxed, so that the future of a request without a span does not grow.
            true => State::Boxed(self.send_traced(request)),
        };
        SentRequest(state)
    }

    /// Sends a request in a span of its own.
    fn send_traced<'a>(self: &'a Arc<Self>, request: OutboundRequest<'_>) -> BoxedRequest<'a> {
        let method = Method::parse(request.method);
        let trace = RequestTrace::start(&TracedRequest {
            side: Side::Client,
            method: request.method,
            target: request.mirrored.name,
            arguments: None,
            id: None,
            features: request.revision.features(),
            transport: self.network_transport(),
            session_id: None,
            parent: None,
            sender: None,
            audit: None,
        });
        let span = trace.span().clone();
        let started = span.in_scope(|| self.start(request, Some(&trace)));
        Box::pin(async move {
            let outcome = match started {
                Ok(in_flight) => in_flight.instrument(span).await,
                Err(error) => Err(error),
            };
            match &outcome {
                Ok(result) if reports_tool_error(method, result.as_str()) => {
                    trace.fail(&TracedFailure::TOOL_ERROR);
                }
                Ok(_) => trace.succeed(),
                Err(RequestError::ErrorResponse(error)) => {
                    trace.fail_with_code(error.code);
                }
                Err(error) => trace.fail(&TracedFailure::from_type(match error {
                    RequestError::Link { .. } => "connection_lost",
                    RequestError::TimedOut(_) => "timeout",
                    RequestError::TooManyRequests { .. } => "too_many_requests",
                    _ => "unwritable",
                })),
            }
            outcome
        })
    }

    /// Sends a request as far as that is possible at once.
    fn start<'a>(
        self: &'a Arc<Self>,
        request: OutboundRequest<'_>,
        trace: Option<&RequestTrace>,
    ) -> Result<InFlightRequest<'a>, RequestError> {
        let link = self.link.get().ok_or(RequestError::Link {
            error: LinkError::Closed,
            sent: false,
        })?;
        let unwritable = |error: &dyn fmt::Display| RequestError::Unwritable(error.to_string());
        let mut headers = match link.kind() {
            LinkKind::Duplex => Vec::new(),
            LinkKind::Exchange => request
                .revision
                .headers(request.method, request.mirrored)
                .map_err(|error| unwritable(&error))?,
        };
        let now = Instant::now();
        let started_at = request.started_at.map_or(now, Instant::from_std);
        let response =
            PendingResponse::new(request.timeouts, started_at, now, self.waited_for_user());
        let deadline = response.initial_deadline(now);
        let response = Arc::new(response);
        let wants_progress = request.wants_progress || request.progress_handler.is_some();
        let pending = PendingRequest {
            response: response.clone(),
            progress_handler: request.progress_handler,
            tag: request.tag,
        };
        let id = self.register_request(pending, request.ignores_limit)?;
        let role = Method::role_of(request.method);
        let is_duplex = link.kind() == LinkKind::Duplex;
        let features = request.revision.features();
        let mut in_flight = InFlightRequest {
            session: self,
            id,
            response,
            send_future: None,
            is_duplex,
            is_answered: false,
            may_be_sent: false,
            // Requests that open a connection are never cancelled. An exchange of the modern era is
            // cancelled by closing it.
            cancel_by_message: !matches!(role, MethodRole::Handshake | MethodRole::Discovery)
                && (is_duplex || features.era == EraKind::Legacy),
            timeout: None,
            is_flooded: false,
        };
        if let Some(deadline) = deadline {
            self.timer.schedule(deadline, self);
        }
        if let Some(on_id_assigned) = request.on_id_assigned {
            on_id_assigned(&in_flight.id);
        }
        let frame = {
            let context = trace.and_then(|trace| {
                trace.record_id(&in_flight.id);
                telemetry()?.current_context()
            });
            let context = context.unwrap_or_default();
            if !is_duplex {
                let own = context
                    .iter()
                    .map(|(key, value)| (key.into(), value.to_owned().into()));
                headers.extend(own);
            }
            let trace_members = context.to_members();
            let additions = RequestAdditions {
                envelope: request.revision.envelope(),
                capabilities: request.capabilities.map(|it| it.as_str()),
                progress: wants_progress,
                log_level: request.log_level,
                trace: &trace_members,
            };
            write_request(
                &in_flight.id,
                request.method,
                request.params,
                features,
                additions,
            )
            .map_err(|error| unwritable(&error))?
        };
        let id = in_flight.id.clone();
        let message = OutboundMessage {
            frame,
            kind: match role {
                MethodRole::Handshake => OutboundKind::Initialize(id),
                _ => OutboundKind::Request(id),
            },
            headers,
        };
        self.observe_sent(&message);
        match link.try_send(message) {
            Ok(()) => in_flight.may_be_sent = true,
            Err(message) => {
                in_flight.send_future = Some(link.send(message));
                in_flight.may_be_sent = link.may_have_sent();
            }
        }
        Ok(in_flight)
    }
}

/// Returns whether the result of a method is the error result of a tool.
fn reports_tool_error(method: Option<Method>, result: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct ToolResult {
        #[serde(rename = "isError", default)]
        is_error: Option<bool>,
    }
    let decode = || serde_json::from_str::<ToolResult>(result).ok();
    method.is_some_and(Method::can_report_errors)
        && decode().is_some_and(|it| it.is_error == Some(true))
}

/// The future of a request's result.
#[must_use = "dropping it takes the request back"]
pub struct SentRequest<'a>(State<'a>);

enum State<'a> {
    InFlight(InFlightRequest<'a>),
    Boxed(BoxedRequest<'a>),
}

type BoxedRequest<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

impl Future for SentRequest<'_> {
    /// The result, or the reason why there is none.
    type Output = Result<RawResult, RequestError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::InFlight(in_flight) => Pin::new(in_flight).poll(cx),
            State::Boxed(boxed) => boxed.as_mut().poll(cx),
        }
    }
}

debug_fields!(['a] SentRequest<'a> {});

/// A request that waits for its response; dropping it takes the request back.
struct InFlightRequest<'a> {
    session: &'a Arc<ClientSession>,
    id: RequestId,
    response: Arc<PendingResponse>,
    /// The sending, while that is not done.
    send_future: Option<SendFuture>,
    is_duplex: bool,
    /// True if the session's table no longer holds the request. After an error it may still hold it.
    is_answered: bool,
    /// True if the server may have received the request.
    may_be_sent: bool,
    /// True if a cancellation is sent when the request is taken back.
    cancel_by_message: bool,
    timeout: Option<TimeoutKind>,
    /// True if the server sent more about the request than
    /// [`max_request_bytes`](crate::transport::ClientLimits::max_request_bytes).
    is_flooded: bool,
}

impl Future for InFlightRequest<'_> {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let this = self.get_mut();
        if let Some(sending) = &mut this.send_future {
            // Clears the waker: a response that arrives while this task polls needs to wake nobody.
            if let Some(outcome) = this.response.take_outcome() {
                return this.finish(outcome);
            }
            match sending.as_mut().poll(cx) {
                Poll::Pending => {}
                Poll::Ready(sent) => {
                    this.send_future = None;
                    if let Poll::Ready(end) = this.handle_sent(sent) {
                        return Poll::Ready(end);
                    }
                }
            }
        }
        match std::task::ready!(this.response.poll(cx)) {
            Ok(outcome) => this.finish(outcome),
            Err(timeout) => {
                this.timeout = Some(timeout);
                Poll::Ready(Err(RequestError::TimedOut(timeout)))
            }
        }
    }
}

impl InFlightRequest<'_> {
    /// Returns the outcome. A session that ends reports all pending requests as sent; this one knows
    /// better.
    fn finish(&mut self, mut outcome: Outcome) -> Poll<Outcome> {
        self.is_answered = outcome.is_ok();
        self.is_flooded = matches!(outcome, Err(RequestError::TooManyBytes { .. }));
        if let Err(RequestError::Link { sent, .. }) = &mut outcome {
            *sent &= self.may_be_sent;
        }
        Poll::Ready(outcome)
    }

    /// Handles the end of the sending, which on an exchange link is the end of the exchange.
    fn handle_sent(&mut self, sent: Result<(), LinkError>) -> Poll<Outcome> {
        self.may_be_sent |= sent.is_ok();
        // A response that has arrived counts, however the sending ended.
        let outcome = self.response.take_outcome();
        if let Err(error) = &sent {
            self.session.abort_if_session_not_found(error);
        }
        if let Some(outcome) = outcome {
            return self.finish(outcome);
        }
        if let Err(error) = sent {
            let sent = !error.is_unsent();
            self.may_be_sent = sent;
            return Poll::Ready(Err(RequestError::Link { error, sent }));
        }
        if self.is_duplex {
            return Poll::Pending;
        }
        Poll::Ready(Err(RequestError::Link {
            error: LinkError::ProtocolViolation {
                reason: "the exchange ended without an answer to the request".into(),
            },
            sent: true,
        }))
    }
}

impl Drop for InFlightRequest<'_> {
    fn drop(&mut self) {
        // First of all, so that the server sees the end of the exchange before the cancellation.
        self.send_future = None;
        if self.is_answered {
            return;
        }
        let mut kernel = self.session.kernel();
        let taken = kernel.take_waiting(Some(&self.id));
        let unanswered = taken.map(|pending| pending.tag);
        let is_unanswered = unanswered.is_some();
        if let Some(tag) = unanswered.flatten().filter(|_| self.may_be_sent) {
            self.session
                .abandoned_requests()
                .insert(self.id.clone(), tag);
        }
        drop(kernel);
        if !is_unanswered
            || !self.may_be_sent
            || !self.cancel_by_message
            || self.session.is_closed()
        {
            return;
        }
        let reason = match self.timeout {
            Some(_) => "no answer came in time",
            None if self.is_flooded => "too many messages came about it",
            None => "the answer is no longer wanted",
        };
        let mut params = CancelledNotificationParams::new().reason(reason);
        params.request_id = Some(self.id.clone());
        let Ok(frame) = rpc::encode_notification(Method::Cancelled.as_str(), Some(&params)) else {
            return;
        };
        let session = self.session.clone();
        let sending = async move {
            // Best effort: a response that comes all the same is ignored.
            let _ = session
                .send_notification_frame(frame, Method::Cancelled.as_str())
                .await;
        };
        // The span of the request.
        tasks::spawn_final_message(sending.in_current_span());
    }
}
