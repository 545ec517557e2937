//! A legacy session, or a pipe that carries both eras: what its requests share.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task;

use bytes::Bytes;
use tokio::sync::{Semaphore, oneshot};
use turnbuckle_types::{CancelledParams, ErrorKind, ErrorObject, Json, RawJson, RequestId};
use turnbuckle_wire::era::params::raw_params;
use turnbuckle_wire::era::{Params, Reply, write_refusal};
use turnbuckle_wire::revision::{EraKind, Features, Method, Party, Revision};
use turnbuckle_wire::rpc::{self, Message, Refusal, RefusalKind};

use crate::server::context::{Sender, Way};
use crate::server::handshake;
use crate::server::request::{Arrival, Home, context, method_of};
use crate::server::underway::{End, Underway};
use crate::shared::driver::{self, Started};
use crate::shared::kernel::{Heard, Kernel, Step};
use crate::shared::route::{Answer, Route};
use crate::{
    Account, Binding, Call, Context, Feed, LegacyState, Limits, Notice, Peer, Signal,
    TransportContext,
};

/// What waits for an answer of the client: the result as raw JSON, or its error.
pub(crate) type Waiting = oneshot::Sender<Result<Json, ErrorObject>>;

/// One connection or session, shared by its requests.
pub struct Session {
    home: Arc<Home>,
    binding: Binding,
    limits: Arc<Limits>,
    account: Arc<Account>,
    kernel: Mutex<Kernel<Context, Waiting>>,
    legacy: OnceLock<Arc<LegacyState>>,
    /// Where messages go that belong to no request.
    route: Arc<dyn Route>,
    feed: Arc<Feed>,
    /// How much may be set off by notifications at a time.
    reactions: OnceLock<Arc<Semaphore>>,
    ended: Signal,
}

/// What became of a message.
#[derive(Debug)]
pub enum Received {
    /// It is answered.
    Answered(Answer),
    /// It will be answered by its route.
    Running,
    /// The same, and its handler is still here: it goes on by itself once this is dropped.
    Held(Underway),
    /// It wants no answer.
    Accepted,
}

/// A message with the room it came into.
#[derive(Clone, Copy)]
pub struct Delivery<'a> {
    /// The frame that it was decoded from.
    pub frame: &'a Bytes,
    /// The frame as text.
    pub text: &'a str,
    /// What the transport knows beside it.
    pub transport: &'a TransportContext,
    /// Whose it is, if there is no principal: the connection's.
    pub account: Option<&'a Arc<Account>>,
}

impl std::fmt::Debug for Delivery<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delivery")
            .field("bytes", &self.frame.len())
            .finish_non_exhaustive()
    }
}

impl Session {
    /// A session on which nothing was said yet. `route` takes what belongs to no request; what is
    /// asked is counted on `account`.
    pub(crate) fn at(
        home: Arc<Home>,
        binding: Binding,
        limits: impl Into<Arc<Limits>>,
        route: Arc<dyn Route>,
        account: Arc<Account>,
    ) -> Arc<Self> {
        let limits = limits.into();
        Arc::new(Self {
            home,
            binding,
            account,
            kernel: Mutex::new(Kernel::new(limits.in_flight, limits.outgoing)),
            reactions: OnceLock::new(),
            limits,
            legacy: OnceLock::new(),
            route,
            feed: Arc::new(Feed::new()),
            ended: Signal::new(),
        })
    }

    /// Takes the handshake as done, by a client that speaks `features` and declared nothing.
    pub(crate) fn assume(&self, features: &'static Features) {
        let state = LegacyState::unreachable(features);
        if self.legacy.set(Arc::new(state)).is_ok() {
            self.kernel().opened();
        }
    }

    pub(crate) fn kernel(&self) -> MutexGuard<'_, Kernel<Context, Waiting>> {
        self.kernel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What its handshake left behind, once there was one.
    #[must_use]
    pub fn legacy(&self) -> Option<&Arc<LegacyState>> {
        self.legacy.get()
    }

    /// What its legacy client has not heard of yet.
    #[must_use]
    pub fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// The bounds it works in.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The turns of what notifications set off.
    fn reactions(&self) -> Arc<Semaphore> {
        let most = self.limits.reactions.min(Semaphore::MAX_PERMITS);
        let turns = || Arc::new(Semaphore::new(most));
        self.reactions.get_or_init(turns).clone()
    }

    /// Tells when it has ended.
    #[must_use]
    pub fn ended(&self) -> &Signal {
        &self.ended
    }

    /// How many requests of the client are being answered.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.kernel().in_flight()
    }

    /// The client, for messages that belong to no request.
    #[must_use]
    pub fn peer(self: &Arc<Self>) -> Peer {
        Peer::of_request(self.clone(), self.route.clone(), self.ended.clone())
    }

    /// Asks every request under way to come to its own end.
    pub(crate) fn wind_down(&self) {
        for context in self.kernel().calls() {
            context.close();
        }
    }

    /// Ends the session and everything that belongs to it.
    pub fn end(&self) {
        self.ended.cancel();
        self.feed.close();
        self.home.dispatch.closed(&self.feed);
        let (calls, waiting) = self.kernel().end();
        for context in calls {
            context.give_up();
        }
        // Whoever waits for the client sees the channel close.
        drop(waiting);
    }

    /// The answer to a frame that is no message.
    #[must_use]
    pub fn refuse(&self, refusal: &Refusal) -> Answer {
        let mut frame = Vec::with_capacity(128);
        write_refusal(
            &mut frame,
            refusal,
            self.legacy().map(|state| state.features()),
        );
        let kind = match refusal.kind {
            RefusalKind::Malformed => ErrorKind::Malformed,
            RefusalKind::NotAMessage => ErrorKind::NotAMessage,
            RefusalKind::Params | RefusalKind::Notification => ErrorKind::InvalidParams,
        };
        Answer {
            frame,
            tail: Bytes::new(),
            failure: Some(kind),
        }
    }

    /// Takes a message that speaks `modern`, or the session's own revision. An answer that is not
    /// there at once goes to `route`.
    pub fn receive(
        self: &Arc<Self>,
        message: Message<'_, Params<'_>>,
        modern: Option<Revision>,
        delivery: Delivery<'_>,
        route: &Arc<dyn Route>,
        cx: &mut task::Context<'_>,
    ) -> Received {
        match message {
            Message::Request(request) => self.request(request, modern, delivery, route, cx),
            Message::Notification(notification) => {
                self.notification(&notification, delivery);
                Received::Accepted
            }
            Message::Response(response) => {
                self.response(response);
                Received::Accepted
            }
        }
    }

    fn request(
        self: &Arc<Self>,
        request: rpc::Request<'_, Params<'_>>,
        modern: Option<Revision>,
        delivery: Delivery<'_>,
        route: &Arc<dyn Route>,
        cx: &mut task::Context<'_>,
    ) -> Received {
        let features = self.features(modern);
        let answer = |id: &RequestId, reply: Reply| {
            Received::Answered(self.home.answer(id, &reply, features))
        };
        let method = match method_of(&request.method, Party::Server, features) {
            Ok(method) => method,
            Err(error) => return answer(&request.id, error.into()),
        };
        if let Err(error) = self.account.admit(method) {
            return answer(&request.id, error.into());
        }
        let step = self.kernel().request(&request.id, method, features.era);
        match step {
            Step::Refuse(error) => answer(&request.id, error.into()),
            Step::Pong => answer(
                &request.id,
                Reply::complete(turnbuckle_types::EmptyResult::new()),
            ),
            Step::Open => self.open(&request, delivery.text),
            Step::Serve if method == Some(Method::Discover) => answer(
                &request.id,
                handshake::discover(self.home.dispatch.identity()),
            ),
            Step::Serve => {
                let sender = match (modern, self.legacy.get()) {
                    (None, Some(state)) => Some(Sender::Legacy {
                        session: self.clone(),
                        state: state.clone(),
                    }),
                    _ => None,
                };
                let arrival = Arrival {
                    request,
                    delivery,
                    account: &self.account,
                };
                self.serve(&arrival, method, features, sender, route, cx)
            }
        }
    }

    fn features(&self, modern: Option<Revision>) -> &'static Features {
        match (modern, self.legacy.get()) {
            (Some(revision), _) => revision.features(),
            (None, Some(state)) => state.features(),
            (None, None) => Revision::NEWEST_LEGACY.features(),
        }
    }

    fn open(self: &Arc<Self>, request: &rpc::Request<'_, Params<'_>>, text: &str) -> Received {
        match handshake::open(
            self.home.dispatch.identity(),
            text,
            self.limits.handshake_bytes,
        ) {
            Ok((state, reply)) => {
                let features = state.features();
                let fresh = self.legacy.set(Arc::new(state)).is_ok();
                debug_assert!(fresh, "the kernel lets one handshake through");
                self.kernel().opened();
                self.home.dispatch.opened(&self.peer());
                if let Some(every) = self.limits.ping_interval {
                    driver::keep_asking(self.clone(), every, self.limits.ping_timeout);
                }
                Received::Answered(self.home.answer(&request.id, &reply, features))
            }
            Err(error) => {
                self.kernel().not_opened();
                let features = Revision::NEWEST_LEGACY.features();
                Received::Answered(self.home.answer(&request.id, &error.into(), features))
            }
        }
    }

    fn serve(
        self: &Arc<Self>,
        arrival: &Arrival<'_>,
        method: Option<Method>,
        features: &'static Features,
        sender: Option<Sender>,
        route: &Arc<dyn Route>,
        cx: &mut task::Context<'_>,
    ) -> Received {
        let id = &arrival.request.id;
        let answer = |reply: Reply| Received::Answered(self.home.answer(id, &reply, features));
        let way = Way::Shared(route.clone());
        let context = context(arrival, &self.home, features, self.binding, sender, way);
        let context = match context {
            Ok(context) => context,
            Err(error) => return answer(error.into()),
        };
        if let Err(error) = self.kernel().begin(id.clone(), context.clone()) {
            return answer(error.into());
        }
        let call = Call {
            method,
            name: &arrival.request.method,
            params: &arrival.request.params,
            text: arrival.delivery.text,
        };
        match driver::start(&*self.home.dispatch, call, &context, cx) {
            Started::Ready(reply) => match self.kernel().finish(id) {
                Some(_) => answer(reply),
                // Cancelled meanwhile: nothing is sent for it any more.
                None => {
                    route.done(None);
                    Received::Running
                }
            },
            Started::Pending(running) => {
                let deadline = driver::deadline_of(method, &self.limits);
                let (grace, end) = (self.limits.cancel_grace, End::Session(self.clone()));
                Received::Held(Underway::new(running, context, deadline, grace, end))
            }
        }
    }

    /// A handler that was not ready at once has ended: the answer, if that is still wanted.
    pub(crate) fn finish(
        &self,
        context: &Context,
        reply: Option<Reply>,
        features: &'static Features,
    ) -> Option<Answer> {
        self.kernel().finish(context.id())?;
        reply.map(|reply| self.home.answer(context.id(), &reply, features))
    }

    fn notification(
        self: &Arc<Self>,
        notification: &rpc::Notification<'_, Params<'_>>,
        delivery: Delivery<'_>,
    ) {
        let method = Method::parse(&notification.method);
        let named = notification
            .params
            .request_id
            .and_then(|raw| RequestId::from_json(raw.as_str()));
        let heard = self.kernel().notification(method, named.as_ref());
        match heard {
            Heard::Cancel(context) => {
                log_reason(context.id(), delivery.text);
                context.give_up();
            }
            Heard::Initialized => {
                if let Some(state) = self.legacy.get() {
                    state.set_initialized();
                }
            }
            Heard::Other => {
                let name = &*notification.method;
                let notice = Notice {
                    method,
                    name,
                    text: delivery.text,
                };
                let Ok(permit) = self.reactions().try_acquire_owned() else {
                    tracing::debug!(
                        name,
                        "a notification was dropped: too many are being heard (Limits::reactions)"
                    );
                    return;
                };
                let reaction = driver::hear(&*self.home.dispatch, notice, &self.peer());
                if let Some(reaction) = reaction {
                    driver::react(reaction, self.ended.clone(), permit);
                }
            }
            Heard::Ignored => {}
        }
    }

    fn response(&self, response: rpc::Response<'_>) {
        let waiting = self.kernel().response(response.id.as_ref());
        match waiting {
            // Whoever asked may have given up: then nobody hears.
            Some(waiting) => drop(waiting.send(response.outcome.map(RawJson::to_json))),
            None => tracing::debug!(id = ?response.id, "an answer to a request that nobody made"),
        }
    }

    /// Whether a batch may come, and how long it may be.
    #[must_use]
    pub(crate) fn batch_limit(&self) -> Option<usize> {
        let state = self.legacy.get()?;
        state.features().batching.then_some(self.limits.batch)
    }

    /// Whether messages of the legacy era are what this session speaks at all.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.legacy
            .get()
            .is_some_and(|state| state.features().era == EraKind::Legacy)
    }
}

/// Why a client gave up on a request: for whoever looks for a fault.
#[cold]
fn log_reason(id: &RequestId, text: &str) {
    let params = raw_params(text).and_then(|raw| raw.decode().ok());
    let reason = params.and_then(|params: CancelledParams| params.reason);
    let reason: Option<String> = reason.map(|text| text.chars().take(256).collect());
    tracing::debug!(%id, ?reason, "the client gave up on a request");
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("binding", &self.binding)
            .field(
                "revision",
                &self.legacy().map(|state| state.features().revision),
            )
            .finish_non_exhaustive()
    }
}
