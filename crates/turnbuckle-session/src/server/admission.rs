//! Admission of requests: the one way from a decoded request to its handler, in every era and on
//! every transport.
//!
//! A request in an HTTP exchange of its own and a request of a session differ in the values that
//! they pass: an account, a binding, a reply sink, and a [`Lifecycle`].

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use turnbuckle_types::{
    EmptyResult, ErrorKind, LoggingLevel, ProgressToken, ProtocolError, RawJson, RequestId,
};
use turnbuckle_wire::era::headers::SESSION_ID;
use turnbuckle_wire::era::{Params, Reply};
use turnbuckle_wire::revision::{EraKind, Features, Method, Party};
use turnbuckle_wire::rpc;

use crate::server::context::{
    ClientDetails, LazyState, REQUEST_BYTES, RequestContext, RequestSink, RequestState,
};
use crate::server::dispatch_handle::DispatchHandle;
use crate::server::handler_task::{
    Completion, HandlerTask, StartedHandler, handler_timeout, start_handler,
};
use crate::server::handshake;
use crate::server::inbound_frame::InboundFrame;
use crate::shared::account::OwnerAccount;
use crate::shared::frame_range::FrameRange;
use crate::shared::incoming::{IncomingRequest, received_method};
use crate::shared::kernel::RequestDecision;
use crate::shared::limits::Limits;
use crate::shared::reply_sink::EncodedResponse;
use crate::shared::signal::LazySignal;
use crate::shared::trace::{
    FailureFacts, RequestTrace, Side, TracedRequest, arguments_of, is_traced, received_context,
    target_of,
};
use crate::shared::transport::Binding;

/// The size in bytes of a response that is sent at once and not counted: a connection sends one of
/// them at a time.
const MAX_UNCOUNTED_BYTES: usize = 16 << 10;

/// The rules for when a request may be served, and what is done when it begins and ends.
pub(crate) trait Lifecycle {
    /// Completes a request whose handler ran in a task.
    type Completion: Completion;

    /// Decides what is done with a request.
    fn judge(&self, id: &RequestId, method: Option<Method>, era: EraKind) -> RequestDecision;

    /// Answers `initialize`, and ends its trace.
    fn initialize(
        &self,
        request: &rpc::Request<'_, Params<'_>>,
        frame: InboundFrame<'_>,
        trace: Option<Box<RequestTrace>>,
    ) -> EncodedResponse;

    /// Returns the facts about the client, unless they are in the request's own envelope.
    fn client(&self) -> Option<ClientDetails>;

    /// Records that a request is being served.
    ///
    /// # Errors
    /// Returns an error if the request may not be served after all.
    fn begin(&self, context: &RequestContext) -> Result<(), ProtocolError>;

    /// Records that a request was served in place. Returns whether its response is still wanted.
    fn finish(&self, id: &RequestId) -> bool;

    /// Returns what completes a request whose handler moves to a task.
    fn completion(&self) -> Self::Completion;
}

/// A server that is about to serve a request.
pub(crate) struct Admission<'a, L> {
    pub(crate) dispatch: &'a Arc<DispatchHandle>,
    pub(crate) limits: &'a Limits,
    /// The account whose rates the request counts on.
    pub(crate) account: &'a OwnerAccount,
    /// The features of the revision that the request speaks.
    pub(crate) features: &'static Features,
    pub(crate) binding: Binding,
    pub(crate) lifecycle: L,
}

/// The outcome of serving a request.
pub(crate) enum Served {
    /// The response, made without a handler.
    Response(EncodedResponse),
    /// The response of a handler that was ready at once. The handler may have sent messages before.
    HandlerResponse(RequestContext, EncodedResponse),
    /// The handler runs in a task, and its response goes to the reply sink.
    Pending(RequestContext),
    /// The request was cancelled before its handler was ready: no response is wanted.
    Cancelled(RequestContext),
}

impl<L: Lifecycle> Admission<'_, L> {
    /// Serves a request. A handler that is ready at the first poll is done when this returns; any
    /// other goes on in a task.
    #[inline]
    pub(crate) fn serve(
        &self,
        request: &rpc::Request<'_, Params<'_>>,
        frame: InboundFrame<'_>,
        sink: impl FnOnce() -> RequestSink,
    ) -> Served {
        let is_watched = is_traced() || self.dispatch.dispatch.audit().is_some();
        let mut trace = is_watched.then(|| self.start_trace(request, frame));
        let _entered = trace.as_ref().map(|trace| trace.span().clone().entered());
        let respond = |reply: Reply, trace: Option<Box<RequestTrace>>| {
            if let Some(trace) = trace {
                trace.end(&reply, self.features, FailureFacts::default());
            }
            Served::Response(self.encode(&request.id, &reply))
        };
        let method = match self.admit(&request.method) {
            Ok(method) => method,
            Err(error) => return respond(error.into(), trace),
        };
        match self.lifecycle.judge(&request.id, method, self.features.era) {
            RequestDecision::Refuse(error) => return respond(error.into(), trace),
            RequestDecision::Pong => {
                return respond(Reply::complete(EmptyResult::new()), trace);
            }
            RequestDecision::Open => {
                return Served::Response(self.lifecycle.initialize(request, frame, trace));
            }
            RequestDecision::Serve if method == Some(Method::Discover) => {
                return respond(
                    handshake::discover(self.dispatch.dispatch.identity()),
                    trace,
                );
            }
            RequestDecision::Serve => {}
        }
        let begun = self
            .context(request, frame, sink)
            .and_then(|context| self.lifecycle.begin(&context).map(|()| context));
        let context = match begun {
            Ok(context) => context,
            Err(error) => return respond(error.into(), trace),
        };
        let incoming = IncomingRequest {
            method,
            name: &request.method,
            params: &request.params,
            text: frame.text,
            headers: frame.headers,
        };
        match start_handler(&*self.dispatch.dispatch, incoming, &context) {
            StartedHandler::Ready(reply) => match self.lifecycle.finish(&request.id) {
                true => {
                    if let Some(trace) = trace {
                        trace.end(&reply, self.features, context.failure_facts());
                    }
                    let response = self.dispatch.encode_counted(
                        &request.id,
                        &reply,
                        self.features,
                        self.account,
                        MAX_UNCOUNTED_BYTES,
                    );
                    Served::HandlerResponse(context, response)
                }
                false => Served::Cancelled(context),
            },
            StartedHandler::Pending(future) => {
                let task = HandlerTask {
                    future,
                    context: context.clone(),
                    completion: self.lifecycle.completion(),
                    timeout: handler_timeout(method, self.limits),
                    cancel_timeout: self.limits.cancel_timeout,
                    trace: trace.take(),
                };
                task.spawn();
                Served::Pending(context)
            }
        }
    }

    /// Starts the span of a request.
    #[cold]
    fn start_trace(
        &self,
        request: &rpc::Request<'_, Params<'_>>,
        frame: InboundFrame<'_>,
    ) -> Box<RequestTrace> {
        let head = frame.transport.http.as_deref();
        // The head of a duplex transport is that of the connection, and not of this request.
        let own_head = head.filter(|_| self.binding != Binding::Duplex);
        let dispatch = &self.dispatch.dispatch;
        let redirected = dispatch.redirect(&request.method, &request.params);
        let params = redirected.as_ref().unwrap_or(&request.params);
        RequestTrace::start(&TracedRequest {
            side: Side::Server,
            method: &request.method,
            target: target_of(&request.method, params, frame.text).as_deref(),
            arguments: arguments_of(&request.method, params, frame.text),
            id: Some(&request.id),
            features: self.features,
            transport: frame.transport_name(self.binding),
            session_id: match self.binding {
                Binding::Session => head.and_then(|head| head.header(SESSION_ID)),
                Binding::Duplex | Binding::Exchange => None,
            },
            parent: received_context(frame.text, own_head),
            sender: Some(frame.transport),
            audit: dispatch.audit(),
        })
    }

    /// Returns the method of a request that may be made: the revision has it, or no revision does,
    /// and the account's rates allow it.
    fn admit(&self, name: &str) -> Result<Option<Method>, ProtocolError> {
        let method = received_method(name, Party::Server, self.features)?;
        self.account.admit(method)?;
        // An HTTP endpoint counts handshakes before it opens a session, on the account of their
        // connection.
        if method == Some(Method::Initialize) && self.binding == Binding::Duplex {
            self.account.admit_handshake()?;
        }
        Ok(method)
    }

    fn encode(&self, id: &RequestId, reply: &Reply) -> EncodedResponse {
        self.dispatch.encode(id, reply, self.features)
    }

    fn context(
        &self,
        request: &rpc::Request<'_, Params<'_>>,
        frame: InboundFrame<'_>,
        sink: impl FnOnce() -> RequestSink,
    ) -> Result<RequestContext, ProtocolError> {
        let meta = &request.params.meta;
        let range = |raw: RawJson<'_>| FrameRange::locate(frame.frame, raw.as_str());
        let client = match (self.lifecycle.client(), meta.client_capabilities) {
            (Some(client), _) => client,
            (None, Some(capabilities)) => ClientDetails::Envelope {
                capabilities: range(capabilities),
                info: meta.client_info.map(range),
                decoded: OnceLock::new(),
            },
            (None, None) => {
                return Err(ProtocolError::new(
                    ErrorKind::InvalidEnvelope,
                    "the envelope is incomplete",
                ));
            }
        };
        let log_level = match meta.log_level {
            Some(raw) if self.features.log_by_request => Some(decode_log_level(raw)?),
            _ => None,
        };
        let head_bytes = frame
            .transport
            .http
            .as_ref()
            .map_or(0, |it| it.byte_count());
        let held_bytes = REQUEST_BYTES + head_bytes + 2 * frame.frame.len();
        let identity = self.dispatch.dispatch.identity();
        Ok(RequestContext::new(RequestState {
            id: request.id.clone(),
            features: self.features,
            binding: self.binding,
            frame: frame.frame.clone(),
            meta: request.params.raw_meta.map(range),
            client,
            progress_token: meta.progress_token.map(decode_progress_token).transpose()?,
            log_level,
            logging_declared: identity.capabilities.logging.is_some(),
            transport: frame.transport.clone(),
            sink: sink(),
            signal: LazySignal::default(),
            account: self.account.with_reserved(held_bytes)?,
            lazy: LazyState::default(),
        }))
    }
}

fn decode_log_level(raw: RawJson<'_>) -> Result<LoggingLevel, ProtocolError> {
    raw.decode().map_err(|_| {
        let given = raw.text().unwrap_or(Cow::Borrowed("no string"));
        ProtocolError::invalid_params(format!("there is no log level \"{given:.32}\""))
    })
}

fn decode_progress_token(raw: RawJson<'_>) -> Result<ProgressToken, ProtocolError> {
    ProgressToken::from_json(raw.as_str()).ok_or_else(|| {
        ProtocolError::invalid_params("a progress token must be a string or an integer")
    })
}
