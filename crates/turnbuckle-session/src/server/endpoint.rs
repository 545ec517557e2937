//! A server behind an HTTP endpoint: requests without a session, and the sessions that it opens.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use turnbuckle_types::base::debug_fields;

use turnbuckle_types::{AuditOutcome, KeyRing, Principal, ProtocolError, RequestId};
use turnbuckle_wire::era::{Params, Reply, code_of};
use turnbuckle_wire::revision::{EraKind, Method, Revision};
use turnbuckle_wire::rpc;

use crate::server::admission::{Admission, Lifecycle, Served};
use crate::server::context::{ClientDetails, RequestContext, RequestSink};
use crate::server::dispatch::Dispatch;
use crate::server::dispatch_handle::DispatchHandle;
use crate::server::handler_task::Completion;
use crate::server::inbound_frame::InboundFrame;
use crate::server::legacy_state::LegacyState;
use crate::server::response_stream::ResponseStream;
use crate::server::session::Session;
use crate::server::session_record::SessionRecord;
use crate::shared::account::{OwnerAccount, OwnerAccounts, RunningRequest};
use crate::shared::frame_queue::{FrameQueue, FrameQueueLimits};
use crate::shared::kernel::RequestDecision;
use crate::shared::limits::Limits;
use crate::shared::memory_budget::MemoryBudget;
use crate::shared::reply_sink::{EncodedResponse, ReplySink};
use crate::shared::trace::{RefusedSender, RequestTrace, audit_refusal, has_spans};
use crate::shared::transport::{Binding, HttpNeeds, TransportContext};

/// A server behind an HTTP endpoint. It serves requests that need no session, each in an exchange
/// of its own, and opens legacy sessions. Cheap to clone.
#[derive(Clone)]
pub struct ServerEndpoint {
    dispatch: Arc<DispatchHandle>,
    limits: Arc<Limits>,
    accounts: Arc<OwnerAccounts>,
    /// The state of legacy clients without a session, by revision.
    without_session: Arc<[OnceLock<Arc<LegacyState>>; Revision::ALL.len()]>,
}

/// The outcome of serving a request in an exchange of its own.
#[derive(Debug)]
pub enum ExchangeOutcome {
    /// The response is ready, and no message goes before it.
    Response(EncodedResponse),
    /// The response follows, or messages go before it.
    Streaming(ResponseStream),
}

impl ServerEndpoint {
    /// Returns an endpoint of the server `dispatch` with these limits.
    #[must_use]
    pub fn new(dispatch: Arc<dyn Dispatch>, limits: Limits) -> Self {
        let budget = MemoryBudget::new(&limits);
        Self::in_budget(dispatch, limits, budget)
    }

    /// Returns an endpoint whose memory is a part of a budget that others share.
    #[must_use]
    pub fn in_budget(
        dispatch: Arc<dyn Dispatch>,
        limits: Limits,
        budget: Arc<MemoryBudget>,
    ) -> Self {
        let limits = Arc::new(limits);
        Self {
            dispatch: Arc::new(DispatchHandle::new(dispatch)),
            accounts: Arc::new(OwnerAccounts::new(limits.clone(), budget)),
            limits,
            without_session: Arc::default(),
        }
    }

    /// Returns the server that handles the requests.
    #[must_use]
    pub fn dispatch(&self) -> &Arc<dyn Dispatch> {
        &self.dispatch.dispatch
    }

    /// Returns the budget of the memory that the clients of the endpoint make it use.
    #[must_use]
    pub fn memory_budget(&self) -> &Arc<MemoryBudget> {
        self.accounts.budget()
    }

    /// Returns the account whose rates a request counts on: that of the principal, else that of the
    /// connection, else one account for all requests without either.
    #[must_use]
    pub fn account<'a>(
        &'a self,
        principal: Option<&Principal>,
        connection: Option<&'a OwnerAccount>,
    ) -> Cow<'a, OwnerAccount> {
        self.accounts.account_of(principal, connection)
    }

    /// Returns the account of a client that is known by its address alone: by that of an IPv4 address, or of
    /// the /64 network of an IPv6 address.
    #[must_use]
    pub fn account_at(&self, address: IpAddr) -> OwnerAccount {
        self.accounts.account_at(address)
    }

    /// Returns the account of another connection.
    #[must_use]
    pub fn new_account(&self) -> OwnerAccount {
        self.accounts.new_account()
    }

    /// Serves a request of either era without a session. A client of the legacy era is taken to
    /// have declared no capabilities. A handler that is pending goes on in a task.
    pub fn serve(
        &self,
        request: &rpc::Request<'_, Params<'_>>,
        revision: Revision,
        frame: InboundFrame<'_>,
    ) -> ExchangeOutcome {
        let features = revision.features();
        let account = self.account(frame.transport.principal.as_deref(), frame.account);
        let admission = Admission {
            dispatch: &self.dispatch,
            limits: &self.limits,
            account: &account,
            features,
            binding: match features.era {
                EraKind::Modern => Binding::Exchange,
                EraKind::Legacy => Binding::Session,
            },
            lifecycle: SingleRequest {
                endpoint: self,
                account: &account,
                revision,
            },
        };
        let own_queue = || {
            let limits = FrameQueueLimits {
                max_bytes: self.limits.max_queue_bytes,
                max_frames: self.limits.max_queue_messages,
            };
            RequestSink::Own(FrameQueue::new(limits).with_account(account.memory().clone()))
        };
        match admission.serve(request, frame, own_queue) {
            Served::Response(response) => ExchangeOutcome::Response(response),
            Served::HandlerResponse(context, response) => {
                match context.own_queue().filter(|queue| !queue.is_empty()) {
                    None => ExchangeOutcome::Response(response),
                    Some(queue) => {
                        queue.finish(Some(response));
                        ExchangeOutcome::Streaming(ResponseStream::new(context))
                    }
                }
            }
            Served::Pending(context) => ExchangeOutcome::Streaming(ResponseStream::new(context)),
            Served::Cancelled(context) => {
                context.sink().finish(None);
                ExchangeOutcome::Streaming(ResponseStream::new(context))
            }
        }
    }

    /// Waits until no work runs that outlives its request, such as a task. None begins from then on.
    pub async fn join_work(&self) {
        self.dispatch.dispatch.join_work().await;
    }

    /// Returns the parts that handlers and spans read of the HTTP requests in which messages arrive.
    #[must_use]
    pub fn http_needs(&self) -> HttpNeeds {
        let mut needs = self.dispatch.dispatch.http_needs();
        needs.head |= has_spans();
        needs
    }

    /// Returns the keys of what the server hands out and trusts when it comes back, if it has any.
    #[must_use]
    pub fn keys(&self) -> Option<&KeyRing> {
        self.dispatch.dispatch.keys()
    }

    /// Returns this instance among those that share the store of the server, if it has a store.
    #[cfg(feature = "store")]
    #[must_use]
    pub fn cluster(&self) -> Option<&Arc<turnbuckle_cluster::Cluster>> {
        self.dispatch.dispatch.cluster()
    }

    /// Returns the scopes that the items of the server require.
    #[must_use]
    pub fn scopes(&self) -> Vec<String> {
        self.dispatch.dispatch.scopes()
    }

    /// Returns the account of another session: that of its principal, or one of its own, at the address
    /// of the connection that opens it.
    #[must_use]
    pub fn session_account(
        &self,
        principal: Option<&Principal>,
        connection: Option<&OwnerAccount>,
    ) -> OwnerAccount {
        match principal {
            Some(_) => self.account(principal, connection).into_owned(),
            None => {
                let address = connection.and_then(|connection| connection.memory().address());
                self.new_account().with_address(address.cloned())
            }
        }
    }

    /// Returns a legacy session that has received nothing yet. `sink` gets the messages that belong
    /// to no request. The session counts on `account`. If `has_memory` is false, the client is offered
    /// nothing that needs a session between its messages.
    #[must_use]
    pub fn new_session(
        &self,
        account: OwnerAccount,
        sink: Arc<dyn ReplySink>,
        has_memory: bool,
    ) -> Arc<Session> {
        Session::new(
            self.dispatch.clone(),
            Binding::Session,
            self.limits.clone(),
            sink,
            account,
            has_memory,
        )
    }

    /// Returns a legacy session that goes on with the record of one that another instance opened, or
    /// this one earlier; the rest is as in [`new_session`](Self::new_session).
    #[must_use]
    pub fn restore_session(
        &self,
        account: OwnerAccount,
        sink: Arc<dyn ReplySink>,
        has_memory: bool,
        record: &SessionRecord,
    ) -> Arc<Session> {
        let session = self.new_session(account, sink, has_memory);
        session.restore(record);
        session
    }

    /// Returns a legacy session for a single message. Its client is taken to speak `revision` and
    /// to have declared nothing. Without a revision, the message has to open the session.
    #[must_use]
    pub fn new_stateless_session(
        &self,
        revision: Option<Revision>,
        sink: Arc<dyn ReplySink>,
        account: OwnerAccount,
    ) -> Arc<Session> {
        let session = self.new_session(account, sink, true);
        if let Some(revision) = revision {
            session.skip_handshake(revision.features());
        }
        session
    }

    /// Encodes the error response to a request that is refused before it is served, and passes its
    /// record to the audit log.
    #[must_use]
    pub fn refuse(
        &self,
        request: &rpc::Request<'_, Params<'_>>,
        error: ProtocolError,
        revision: Revision,
        sender: &TransportContext,
    ) -> EncodedResponse {
        self.dispatch
            .refuse(request, error, revision.features(), sender)
    }

    /// Passes the record of a message that was refused before it was read to the audit log. `start` is
    /// when the message began to come.
    pub fn audit_refusal(
        &self,
        sender: RefusedSender<'_>,
        outcome: AuditOutcome<'_>,
        start: Instant,
    ) {
        let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        audit_refusal(
            self.dispatch.dispatch.audit(),
            sender,
            None,
            outcome,
            micros,
        );
    }

    /// Returns whether there is an audit log.
    #[must_use]
    pub fn has_audit(&self) -> bool {
        self.dispatch.dispatch.audit().is_some()
    }
}

debug_fields!(ServerEndpoint { limits });

/// The lifecycle of a request without a session: it may always be served.
struct SingleRequest<'a> {
    endpoint: &'a ServerEndpoint,
    account: &'a OwnerAccount,
    revision: Revision,
}

impl Lifecycle for SingleRequest<'_> {
    type Completion = SingleCompletion;

    fn judge(&self, _: &RequestId, method: Option<Method>, _: EraKind) -> RequestDecision {
        match method {
            Some(Method::Ping) => RequestDecision::Pong,
            _ => RequestDecision::Serve,
        }
    }

    fn initialize(
        &self,
        request: &rpc::Request<'_, Params<'_>>,
        _: InboundFrame<'_>,
        trace: Option<Box<RequestTrace>>,
    ) -> EncodedResponse {
        let error = ProtocolError::internal("a request without a session opens none");
        if let Some(trace) = trace {
            trace.fail_with_code(code_of(error.kind(), self.revision.features()));
        }
        let features = self.revision.features();
        self.endpoint
            .dispatch
            .encode(&request.id, &error.into(), features)
    }

    fn client(&self) -> Option<ClientDetails> {
        let features = self.revision.features();
        if features.era == EraKind::Modern {
            return None;
        }
        let new = || Arc::new(LegacyState::without_session(features));
        let known = self.endpoint.without_session.get(self.revision as usize);
        let legacy = known.map(|legacy| legacy.get_or_init(new).clone());
        Some(ClientDetails::Revision {
            legacy: legacy.unwrap_or_else(new),
        })
    }

    fn begin(&self, _: &RequestContext) -> Result<(), ProtocolError> {
        Ok(())
    }

    fn finish(&self, _: &RequestId) -> bool {
        true
    }

    fn completion(&self) -> SingleCompletion {
        SingleCompletion {
            dispatch: self.endpoint.dispatch.clone(),
            _running: self.account.start_request(),
        }
    }
}

/// Completes a request without a session whose handler ran in a task.
struct SingleCompletion {
    dispatch: Arc<DispatchHandle>,
    _running: RunningRequest,
}

impl Completion for SingleCompletion {
    fn complete(self, context: &RequestContext, reply: Option<Reply>) -> Option<EncodedResponse> {
        reply.map(|reply| {
            let account = &context.state.account;
            self.dispatch
                .encode_counted(context.id(), &reply, context.features(), account, 0)
        })
    }
}

#[cfg(test)]
mod tests;
