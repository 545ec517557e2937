//! Requests of the server: which are answered, by whom, and how the responses are sent.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tracing::Instrument as _;
use turnbuckle_types::base::text::{Escaped, Foreign};
use turnbuckle_types::{EmptyResult, ErrorKind, ProtocolError, RequestId};
use turnbuckle_wire::era::{Params, Reply};
use turnbuckle_wire::revision::{EraKind, Features, Method, MethodRole, Party, Revision};
use turnbuckle_wire::rpc::{self, Message};

use super::client_session::ClientSession;
use super::handler::{ClientHandler, ServerRequest};
use crate::client::outbound_message::OutboundKind;
use crate::client::tasks;
use crate::shared::incoming::received_method;
use crate::shared::incoming::{HandlerOutcome, IncomingRequest};
use crate::shared::kernel::RequestDecision;
use crate::shared::panic_guard::{catch_panic, poll_handler};
use crate::shared::reply_sink::EncodedResponse;
use crate::shared::trace::{
    FailureFacts, RequestTrace, Side, TracedRequest, is_traced, received_context,
};

/// The most characters of an unexpected method that a line of the log has.
const MAX_METHOD_CHARS: usize = 200;

impl ClientSession {
    /// Handles a request of the server. A modern server must not send any.
    pub(super) fn handle_request(
        &self,
        request: rpc::Request<'_, Params<'_>>,
        text: &str,
        exchange: Option<&RequestId>,
    ) {
        let Some(session) = self.weak_self.upgrade() else {
            return;
        };
        let reply = |features, reply: Reply| {
            let frame = EncodedResponse::encode(&request.id, &reply, features, None).into_bytes();
            session.clone().spawn_response(frame);
        };
        let Some(features) = self.features() else {
            let early = ProtocolError::new(ErrorKind::InvalidRequest, "the handshake is not over");
            let features = Revision::NEWEST_LEGACY.features();
            return match Method::role_of(&request.method) {
                MethodRole::Liveness => reply(features, Reply::complete(EmptyResult::new())),
                _ => reply(features, early.into()),
            };
        };
        if features.era == EraKind::Modern {
            let method = Foreign::cut(&request.method, MAX_METHOD_CHARS);
            tracing::debug!(method = %Escaped(&method), "a modern server must not send requests");
            return;
        }
        let method = match received_method(&request.method, Party::Client, features) {
            Ok(method) => method,
            Err(error) => return reply(features, error.into()),
        };
        let server_request = ServerRequest::new(request.id.clone(), self.find_tag(exchange));
        let decision = {
            let mut kernel = self.kernel();
            if self.is_closed() {
                return;
            }
            match kernel.judge_request(&request.id, method, features.era) {
                RequestDecision::Serve => kernel
                    .begin_request(request.id.clone(), server_request.signal().clone())
                    .map_or_else(RequestDecision::Refuse, |()| RequestDecision::Serve),
                decision => decision,
            }
        };
        match decision {
            RequestDecision::Pong => reply(features, Reply::complete(EmptyResult::new())),
            RequestDecision::Refuse(error) => reply(features, error.into()),
            RequestDecision::Open => {
                reply(
                    features,
                    ProtocolError::method_not_found(&request.method).into(),
                );
            }
            RequestDecision::Serve => {
                let (method, text) = (request.method.into_owned(), text.to_owned());
                tasks::spawn(session.answer_request(method, text, server_request, features));
            }
        }
    }

    /// Runs the handler of one request and sends its response, if the server still wants it.
    async fn answer_request(
        self: Arc<Self>,
        name: String,
        text: String,
        server_request: ServerRequest,
        features: &'static Features,
    ) {
        let id = server_request.id().clone();
        let mut trace = None;
        let reply = match rpc::decode::<Params<'_>>(&text) {
            Ok(Message::Request(request)) => {
                let call = IncomingRequest {
                    method: Method::parse(&name),
                    name: &name,
                    params: &request.params,
                    text: &text,
                    headers: None,
                };
                let timeout = self.limits.handler_timeout;
                let handling = run_handler(&*self.handler, call, server_request, timeout);
                if is_traced() {
                    let started = RequestTrace::start(&TracedRequest {
                        side: Side::Server,
                        method: &name,
                        target: None,
                        arguments: None,
                        id: Some(&id),
                        features,
                        transport: self.network_transport(),
                        session_id: None,
                        parent: received_context(&text, None),
                        sender: None,
                        audit: None,
                    });
                    let span = started.span().clone();
                    trace = Some(started);
                    Box::pin(handling.instrument(span)).await
                } else {
                    handling.await
                }
            }
            _ => None,
        };
        *self.last_reply_at() = Instant::now();
        let is_wanted = self.kernel().finish_request(&id).is_some();
        let reply = reply.filter(|_| is_wanted);
        if let (Some(trace), Some(reply)) = (trace, &reply) {
            trace.end(reply, features, FailureFacts::default());
        }
        if let Some(reply) = reply
            && let Some(_permit) = self.acquire_reply_permit()
        {
            self.send_response(EncodedResponse::encode(&id, &reply, features, None).into_bytes())
                .await;
        }
    }

    /// Returns a permit for a response that waits to be sent; `None` when the server sends requests
    /// and does not read the responses.
    fn acquire_reply_permit(&self) -> Option<OwnedSemaphorePermit> {
        let permit = self.reply_permits.clone().try_acquire_owned();
        permit
            .inspect_err(|_| {
                tracing::debug!(
                    "the server does not take its answers: one is dropped (ClientLimits::max_queued_replies)"
                )
            })
            .ok()
    }

    /// Spawns the sending of a response.
    fn spawn_response(self: Arc<Self>, frame: Vec<u8>) {
        if let Some(permit) = self.acquire_reply_permit() {
            tasks::spawn(async move {
                self.send_response(frame).await;
                drop(permit);
            });
        }
    }

    async fn send_response(&self, frame: Vec<u8>) {
        let sending = self.send_frame(frame, OutboundKind::Response, "");
        match tokio::time::timeout(self.limits.reply_timeout, sending).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::debug!(error = %Escaped(&error), "an answer to the server could not be sent");
            }
            Err(_) => tracing::debug!(
                "the server did not take an answer in time (ClientLimits::reply_timeout)"
            ),
        }
    }
}

/// Runs the handler of a request of the server; `None` when the server cancelled the request.
///
/// A handler that panics, or takes longer than `timeout`, is answered with an error.
async fn run_handler(
    handler: &dyn ClientHandler,
    call: IncomingRequest<'_>,
    request: ServerRequest,
    timeout: Duration,
) -> Option<Reply> {
    let signal = request.signal().clone();
    let mut future = match catch_panic(|| handler.handle_request(call, request)) {
        Ok(HandlerOutcome::Ready(reply)) => return Some(reply),
        Ok(HandlerOutcome::Pending(future)) => future,
        Err(error) => return Some(error.into()),
    };
    let handler = std::future::poll_fn(|cx| poll_handler(&mut future, cx));
    tokio::select! {
        biased;
        reply = handler => (!signal.is_cancelled()).then_some(reply),
        () = signal.cancelled() => None,
        () = tokio::time::sleep(timeout) => Some(
            ProtocolError::internal(
                "the answer took longer than this client allows (ClientLimits::handler_timeout)"
            ).into()
        ),
    }
}
