//! One request in an exchange of its own: no session, nothing remembered.

use std::sync::{Arc, OnceLock};
use std::task;

use turnbuckle_types::{EmptyResult, Error, Principal};
use turnbuckle_wire::era::{ParamHeader, Params, Reply};
use turnbuckle_wire::revision::{EraKind, Method, Party, Revision};
use turnbuckle_wire::rpc;

use crate::server::admission::{Arrival, DispatchHandle, context, method_of};
use crate::server::context::{ClientDetails, RequestSink};
use crate::server::handshake;
use crate::server::underway::{End, ResponseStream, Underway};
use crate::shared::driver::{self, Started};
use crate::shared::rate::Accounts;
use crate::{
    Binding, Dispatch, EncodedResponse, FrameQueue, FrameQueueLimits, InboundFrame,
    IncomingRequest, LegacyState, Limits, RateAccount, ReplySink, Session,
};

/// Serves requests that each come in an exchange of their own.
#[derive(Clone)]
pub struct ServerEndpoint {
    home: Arc<DispatchHandle>,
    limits: Arc<Limits>,
    accounts: Arc<Accounts>,
    /// What is known of legacy clients without a session, by their revision.
    unknown: Arc<[OnceLock<Arc<LegacyState>>; Revision::ALL.len()]>,
}

/// A request that was taken up.
#[derive(Debug)]
pub enum ExchangeOutcome {
    /// It is answered.
    Response(EncodedResponse),
    /// Something was said before the answer, or the answer is still to come.
    Streaming(ResponseStream),
}

impl ServerEndpoint {
    /// Serves with `dispatch`, within `limits`.
    #[must_use]
    pub fn new(dispatch: Arc<dyn Dispatch>, limits: Limits) -> Self {
        let limits = Arc::new(limits);
        Self {
            home: Arc::new(DispatchHandle::new(dispatch)),
            accounts: Arc::new(Accounts::new(limits.clone())),
            limits,
            unknown: Arc::default(),
        }
    }

    /// Who answers.
    #[must_use]
    pub fn dispatch(&self) -> &Arc<dyn Dispatch> {
        &self.home.dispatch
    }

    /// Whose account a request is counted on: the principal's, else the connection's, else that of
    /// all of whom neither is known.
    #[must_use]
    pub fn account(
        &self,
        principal: Option<&Principal>,
        connection: Option<&Arc<RateAccount>>,
    ) -> Arc<RateAccount> {
        self.accounts.of(principal, connection)
    }

    /// Takes up a request that speaks `revision`, of either era: one of the legacy era comes from a
    /// client that is taken to have declared nothing, and opens no session. Its handler runs in
    /// place for as long as it is ready.
    pub fn open(
        &self,
        request: rpc::Request<'_, Params<'_>>,
        revision: Revision,
        delivery: InboundFrame<'_>,
        cx: &mut task::Context<'_>,
    ) -> ExchangeOutcome {
        let features = revision.features();
        let account = self.account(delivery.transport.principal.as_deref(), delivery.account);
        let arrival = Arrival {
            request,
            delivery,
            account: &account,
        };
        let name = &arrival.request.method;
        let encoded = |reply: Reply| self.home.answer(&arrival.request.id, &reply, features);
        let answer = |reply: Reply| ExchangeOutcome::Response(encoded(reply));
        let method = method_of(name, Party::Server, features)
            .and_then(|method| account.admit(method).map(|()| method));
        let method = match method {
            Ok(Some(Method::Discover)) => {
                return answer(handshake::discover(self.home.dispatch.identity()));
            }
            Ok(Some(Method::Ping)) => return answer(Reply::complete(EmptyResult::new())),
            Ok(method) => method,
            Err(error) => return answer(error.into()),
        };
        let (binding, sender) = match features.era {
            EraKind::Modern => (Binding::Exchange, None),
            EraKind::Legacy => (Binding::Session, Some(self.unknown(revision))),
        };
        let way = RequestSink::Own(FrameQueue::new(FrameQueueLimits {
            bytes: self.limits.max_queue_bytes,
            frames: self.limits.max_queue_messages,
        }));
        let context = match context(&arrival, &self.home, features, binding, sender, way) {
            Ok(context) => context,
            Err(error) => return answer(error.into()),
        };
        let call = IncomingRequest {
            method,
            name,
            params: &arrival.request.params,
            text: delivery.text,
        };
        match driver::start(&*self.home.dispatch, call, &context, cx) {
            Started::Ready(reply) if context.outbox().is_none_or(FrameQueue::is_empty) => {
                answer(reply)
            }
            Started::Ready(reply) => {
                ExchangeOutcome::Streaming(ResponseStream::said(context, encoded(reply)))
            }
            Started::Pending(running) => {
                let (home, run) = (self.home.clone(), account.run());
                let underway = Underway::new(
                    running,
                    context.clone(),
                    driver::deadline_of(method, &self.limits),
                    self.limits.cancel_timeout,
                    End::Exchange { home, run },
                );
                ExchangeOutcome::Streaming(ResponseStream::running(underway, context))
            }
        }
    }

    /// What is known of a legacy client without a session.
    fn unknown(&self, revision: Revision) -> ClientDetails {
        let of = |features| move || Arc::new(LegacyState::unreachable(features));
        let state = self
            .unknown
            .get(revision as usize)
            .map(|state| state.get_or_init(of(revision.features())).clone());
        ClientDetails::Unknown {
            state: state.unwrap_or_else(of(revision.features())),
        }
    }

    /// Whether a handler looks at the HTTP requests that messages come in.
    #[must_use]
    pub fn reads_http(&self) -> bool {
        self.home.dispatch.needs_http_head()
    }

    /// The arguments of a tool that are mirrored in headers: none where `principal` sees no such
    /// tool.
    ///
    /// # Errors
    /// When what decides that failed.
    pub fn mirrored(
        &self,
        tool: &str,
        principal: Option<&Principal>,
    ) -> Result<Arc<[ParamHeader]>, Error> {
        driver::mirrored(&*self.home.dispatch, tool, principal)
    }

    /// A legacy session with the same server, on which nothing was said yet. `route` takes what
    /// belongs to no request. It is counted on the account of its principal, if it has one, else on
    /// one of its own.
    #[must_use]
    pub fn session(
        &self,
        route: Arc<dyn ReplySink>,
        principal: Option<&Principal>,
    ) -> Arc<Session> {
        let account = match principal {
            Some(_) => self.account(principal, None),
            None => RateAccount::new(&self.limits),
        };
        self.session_on(account, route)
    }

    fn session_on(&self, account: Arc<RateAccount>, route: Arc<dyn ReplySink>) -> Arc<Session> {
        let limits = self.limits.clone();
        Session::at(self.home.clone(), Binding::Session, limits, route, account)
    }

    /// A legacy session for one message alone. Its client is taken to speak `revision` and to have
    /// declared nothing; without one, the message has to open the session.
    #[must_use]
    pub fn stateless_session(
        &self,
        revision: Option<Revision>,
        route: Arc<dyn ReplySink>,
        account: Arc<RateAccount>,
    ) -> Arc<Session> {
        let session = self.session_on(account, route);
        if let Some(revision) = revision {
            session.assume(revision.features());
        }
        session
    }

    /// The answer to a request that was refused before it could be taken up.
    #[must_use]
    pub fn refuse(
        &self,
        id: &turnbuckle_types::RequestId,
        error: Error,
        revision: Revision,
    ) -> EncodedResponse {
        self.home.answer(id, &error.into(), revision.features())
    }
}

impl std::fmt::Debug for ServerEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
