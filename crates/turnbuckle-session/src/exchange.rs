//! One request of the modern era in an exchange of its own: no session, nothing remembered.

use std::sync::Arc;
use std::task;

use turnbuckle_types::{Error, Principal};
use turnbuckle_wire::era::{ParamHeader, Params, Reply};
use turnbuckle_wire::revision::{Method, Party, Revision};
use turnbuckle_wire::rpc;

use crate::driver::{self, Started};
use crate::request::{Arrival, Home, context, method_of};
use crate::{Answer, Binding, Call, Delivery, Dispatch, Limits, Route, Session, Signal, handshake};

/// Serves requests that each come in an exchange of their own.
#[derive(Clone)]
pub struct Exchange {
    home: Arc<Home>,
    limits: Arc<Limits>,
}

/// A request that was taken up.
#[derive(Debug)]
pub enum Opened {
    /// It is answered.
    Answered(Answer),
    /// Its handler runs on; what it says and the answer come by the route. Cancelling the signal
    /// gives it up.
    Running(Signal),
}

impl Exchange {
    /// Serves with `dispatch`, within `limits`.
    #[must_use]
    pub fn new(dispatch: Arc<dyn Dispatch>, limits: Limits) -> Self {
        Self {
            home: Arc::new(Home::new(dispatch)),
            limits: Arc::new(limits),
        }
    }

    /// Who answers.
    #[must_use]
    pub fn dispatch(&self) -> &Arc<dyn Dispatch> {
        &self.home.dispatch
    }

    /// Takes up a request that speaks `revision`. Its handler runs in place for as long as it is
    /// ready; the delivery's route is used from the first time that it is not, or notifies.
    pub fn open(
        &self,
        request: rpc::Request<'_, Params<'_>>,
        revision: Revision,
        delivery: Delivery<'_>,
        cx: &mut task::Context<'_>,
    ) -> Opened {
        let features = revision.features();
        let arrival = Arrival {
            request,
            frame: delivery.frame,
            text: delivery.text,
        };
        let answer = |reply: Reply| {
            Opened::Answered(self.home.answer(&arrival.request.id, &reply, features))
        };
        let method = match method_of(&arrival.request.method, Party::Server, features) {
            Ok(Some(Method::Discover)) => {
                return answer(handshake::discover(self.home.dispatch.identity()));
            }
            Ok(method) => method,
            Err(error) => return answer(error.into()),
        };
        let context = context(
            &arrival,
            &self.home,
            features,
            Binding::Exchange,
            None,
            delivery.route.clone(),
            delivery.transport.clone(),
        );
        let context = match context {
            Ok(context) => context,
            Err(error) => return answer(error.into()),
        };
        let call = Call {
            method,
            name: &arrival.request.method,
            params: &arrival.request.params,
            text: delivery.text,
        };
        match driver::start(&*self.home.dispatch, call, &context, cx) {
            Started::Ready(reply) => answer(reply),
            Started::Pending(running) => {
                let signal = context.signal().clone();
                let home = self.home.clone();
                let (route, end) = (delivery.route.clone(), context.clone());
                driver::detach(
                    running,
                    context,
                    driver::deadline_of(method, &self.limits),
                    self.limits.cancel_grace,
                    move |reply| {
                        route.done(reply.map(|reply| home.answer(end.id(), &reply, features)));
                    },
                );
                Opened::Running(signal)
            }
        }
    }

    /// Whether a handler looks at the HTTP requests that messages come in.
    #[must_use]
    pub fn reads_http(&self) -> bool {
        self.home.dispatch.reads_http()
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
    /// belongs to no request.
    #[must_use]
    pub fn session(&self, route: Arc<dyn Route>) -> Arc<Session> {
        Session::at(
            self.home.clone(),
            Binding::Session,
            (*self.limits).clone(),
            route,
        )
    }

    /// A legacy session for one message alone: its client is taken to speak `revision` and to have
    /// declared nothing.
    #[must_use]
    pub fn stateless_session(&self, revision: Revision, route: Arc<dyn Route>) -> Arc<Session> {
        let session = self.session(route);
        session.assume(revision.features());
        session
    }

    /// The answer to a request that was refused before it could be taken up.
    #[must_use]
    pub fn refuse(
        &self,
        id: &turnbuckle_types::RequestId,
        error: Error,
        revision: Revision,
    ) -> Answer {
        self.home.answer(id, &error.into(), revision.features())
    }
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
