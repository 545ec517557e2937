//! A legacy session, or a pipe that carries both eras: what its requests share.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task;

use bytes::Bytes;
use tokio::sync::{Semaphore, oneshot};
use turnbuckle_types::{
    CancelledNotificationParams, ErrorKind, ErrorObject, Json, RawJson, RequestId,
};
use turnbuckle_wire::era::params::raw_params;
use turnbuckle_wire::era::{Params, Reply, write_decode_error};
use turnbuckle_wire::revision::{EraKind, Features, Method, Party, Revision};
use turnbuckle_wire::rpc::{self, DecodeError, DecodeErrorKind, Message};

use crate::server::admission::{Arrival, DispatchHandle, context, method_of};
use crate::server::context::{ClientDetails, RequestSink};
use crate::server::handshake;
use crate::server::underway::{End, Underway};
use crate::shared::driver::{self, Started};
use crate::shared::kernel::{Kernel, NotificationDecision, RequestDecision};
use crate::shared::reply_sink::{EncodedResponse, ReplySink};
use crate::{
    Binding, ChangeFeed, IncomingNotification, IncomingRequest, LegacyState, Limits, Peer,
    RateAccount, RequestContext, Signal, TransportContext,
};

/// What waits for an answer of the client: the result as raw JSON, or its error.
pub(crate) type Waiting = oneshot::Sender<Result<Json, ErrorObject>>;

/// One connection or session, shared by its requests.
pub struct Session {
    home: Arc<DispatchHandle>,
    binding: Binding,
    limits: Arc<Limits>,
    account: Arc<RateAccount>,
    kernel: Mutex<Kernel<RequestContext, Waiting>>,
    legacy: OnceLock<Arc<LegacyState>>,
    /// Where messages go that belong to no request.
    route: Arc<dyn ReplySink>,
    feed: Arc<ChangeFeed>,
    /// How much may be set off by notifications at a time.
    reactions: OnceLock<Arc<Semaphore>>,
    ended: Signal,
}

/// What became of a message.
#[derive(Debug)]
pub enum MessageOutcome {
    /// It is answered.
    Response(EncodedResponse),
    /// It will be answered by its route.
    Pending,
    /// The same, and its handler is still here: it goes on by itself once this is dropped.
    Held(Underway),
    /// It wants no answer.
    NoResponse,
}

/// A message with the room it came into.
#[derive(Clone, Copy)]
pub struct InboundFrame<'a> {
    /// The frame that it was decoded from.
    pub frame: &'a Bytes,
    /// The frame as text.
    pub text: &'a str,
    /// What the transport knows beside it.
    pub transport: &'a TransportContext,
    /// Whose it is, if there is no principal: the connection's.
    pub account: Option<&'a Arc<RateAccount>>,
}

impl std::fmt::Debug for InboundFrame<'_> {
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
        home: Arc<DispatchHandle>,
        binding: Binding,
        limits: impl Into<Arc<Limits>>,
        route: Arc<dyn ReplySink>,
        account: Arc<RateAccount>,
    ) -> Arc<Self> {
        let limits = limits.into();
        Arc::new(Self {
            home,
            binding,
            account,
            kernel: Mutex::new(Kernel::new(
                limits.max_in_flight,
                limits.max_outgoing_requests,
            )),
            reactions: OnceLock::new(),
            limits,
            legacy: OnceLock::new(),
            route,
            feed: Arc::new(ChangeFeed::new()),
            ended: Signal::new(),
        })
    }

    /// Takes the handshake as done, by a client that speaks `features` and declared nothing.
    pub(crate) fn assume(&self, features: &'static Features) {
        let state = LegacyState::unreachable(features);
        if self.legacy.set(Arc::new(state)).is_ok() {
            self.kernel().handshake_succeeded();
        }
    }

    pub(crate) fn kernel(&self) -> MutexGuard<'_, Kernel<RequestContext, Waiting>> {
        self.kernel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What its handshake left behind, once there was one.
    #[must_use]
    pub fn legacy(&self) -> Option<&Arc<LegacyState>> {
        self.legacy.get()
    }

    /// What its legacy client has not heard of yet.
    #[must_use]
    pub fn feed(&self) -> &Arc<ChangeFeed> {
        &self.feed
    }

    /// The bounds it works in.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The turns of what notifications set off.
    fn reactions(&self) -> Arc<Semaphore> {
        let most = self
            .limits
            .max_notification_handlers
            .min(Semaphore::MAX_PERMITS);
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
        for context in self.kernel().running_requests() {
            context.close();
        }
    }

    /// Ends the session and everything that belongs to it.
    pub fn end(&self) {
        self.ended.cancel();
        self.feed.close();
        self.home.dispatch.session_closed(&self.feed);
        let (calls, waiting) = self.kernel().end();
        for context in calls {
            context.give_up();
        }
        // Whoever waits for the client sees the channel close.
        drop(waiting);
    }

    /// The answer to a frame that is no message.
    #[must_use]
    pub fn encode_refusal(&self, refusal: &DecodeError) -> EncodedResponse {
        let mut frame = Vec::with_capacity(128);
        write_decode_error(
            &mut frame,
            refusal,
            self.legacy().map(|state| state.features()),
        );
        let kind = match refusal.kind {
            DecodeErrorKind::ParseError => ErrorKind::ParseError,
            DecodeErrorKind::InvalidRequest => ErrorKind::InvalidRequest,
            DecodeErrorKind::InvalidParams | DecodeErrorKind::InvalidNotification => {
                ErrorKind::InvalidParams
            }
        };
        EncodedResponse {
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
        delivery: InboundFrame<'_>,
        route: &Arc<dyn ReplySink>,
        cx: &mut task::Context<'_>,
    ) -> MessageOutcome {
        match message {
            Message::Request(request) => self.request(request, modern, delivery, route, cx),
            Message::Notification(notification) => {
                self.notification(&notification, delivery);
                MessageOutcome::NoResponse
            }
            Message::Response(response) => {
                self.response(response);
                MessageOutcome::NoResponse
            }
        }
    }

    fn request(
        self: &Arc<Self>,
        request: rpc::Request<'_, Params<'_>>,
        modern: Option<Revision>,
        delivery: InboundFrame<'_>,
        route: &Arc<dyn ReplySink>,
        cx: &mut task::Context<'_>,
    ) -> MessageOutcome {
        let features = self.features(modern);
        let answer = |id: &RequestId, reply: Reply| {
            MessageOutcome::Response(self.home.answer(id, &reply, features))
        };
        let method = match method_of(&request.method, Party::Server, features) {
            Ok(method) => method,
            Err(error) => return answer(&request.id, error.into()),
        };
        if let Err(error) = self.account.admit(method) {
            return answer(&request.id, error.into());
        }
        let step = self
            .kernel()
            .judge_request(&request.id, method, features.era);
        match step {
            RequestDecision::Refuse(error) => answer(&request.id, error.into()),
            RequestDecision::Pong => answer(
                &request.id,
                Reply::complete(turnbuckle_types::EmptyResult::new()),
            ),
            RequestDecision::Open => self.open(&request, delivery.text),
            RequestDecision::Serve if method == Some(Method::Discover) => answer(
                &request.id,
                handshake::discover(self.home.dispatch.identity()),
            ),
            RequestDecision::Serve => {
                let sender = match (modern, self.legacy.get()) {
                    (None, Some(state)) => Some(ClientDetails::Legacy {
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

    fn open(
        self: &Arc<Self>,
        request: &rpc::Request<'_, Params<'_>>,
        text: &str,
    ) -> MessageOutcome {
        match handshake::open(
            self.home.dispatch.identity(),
            text,
            self.limits.max_handshake_bytes,
        ) {
            Ok((state, reply)) => {
                let features = state.features();
                let fresh = self.legacy.set(Arc::new(state)).is_ok();
                debug_assert!(fresh, "the kernel lets one handshake through");
                self.kernel().handshake_succeeded();
                self.home.dispatch.session_opened(&self.peer());
                if let Some(every) = self.limits.ping_interval {
                    driver::keep_asking(self.clone(), every, self.limits.ping_timeout);
                }
                MessageOutcome::Response(self.home.answer(&request.id, &reply, features))
            }
            Err(error) => {
                self.kernel().handshake_failed();
                let features = Revision::NEWEST_LEGACY.features();
                MessageOutcome::Response(self.home.answer(&request.id, &error.into(), features))
            }
        }
    }

    fn serve(
        self: &Arc<Self>,
        arrival: &Arrival<'_>,
        method: Option<Method>,
        features: &'static Features,
        sender: Option<ClientDetails>,
        route: &Arc<dyn ReplySink>,
        cx: &mut task::Context<'_>,
    ) -> MessageOutcome {
        let id = &arrival.request.id;
        let answer =
            |reply: Reply| MessageOutcome::Response(self.home.answer(id, &reply, features));
        let way = RequestSink::Shared(route.clone());
        let context = context(arrival, &self.home, features, self.binding, sender, way);
        let context = match context {
            Ok(context) => context,
            Err(error) => return answer(error.into()),
        };
        if let Err(error) = self.kernel().begin_request(id.clone(), context.clone()) {
            return answer(error.into());
        }
        let call = IncomingRequest {
            method,
            name: &arrival.request.method,
            params: &arrival.request.params,
            text: arrival.delivery.text,
        };
        match driver::start(&*self.home.dispatch, call, &context, cx) {
            Started::Ready(reply) => match self.kernel().finish_request(id) {
                Some(_) => answer(reply),
                // Cancelled meanwhile: nothing is sent for it any more.
                None => {
                    route.finish(None);
                    MessageOutcome::Pending
                }
            },
            Started::Pending(running) => {
                let deadline = driver::deadline_of(method, &self.limits);
                let (grace, end) = (self.limits.cancel_timeout, End::Session(self.clone()));
                MessageOutcome::Held(Underway::new(running, context, deadline, grace, end))
            }
        }
    }

    /// A handler that was not ready at once has ended: the answer, if that is still wanted.
    pub(crate) fn finish(
        &self,
        context: &RequestContext,
        reply: Option<Reply>,
        features: &'static Features,
    ) -> Option<EncodedResponse> {
        self.kernel().finish_request(context.id())?;
        reply.map(|reply| self.home.answer(context.id(), &reply, features))
    }

    fn notification(
        self: &Arc<Self>,
        notification: &rpc::Notification<'_, Params<'_>>,
        delivery: InboundFrame<'_>,
    ) {
        let method = Method::parse(&notification.method);
        let named = notification
            .params
            .request_id
            .and_then(|raw| RequestId::from_json(raw.as_str()));
        let heard = self.kernel().judge_notification(method, named.as_ref());
        match heard {
            NotificationDecision::Cancel(context) => {
                log_reason(context.id(), delivery.text);
                context.give_up();
            }
            NotificationDecision::Initialized => {
                if let Some(state) = self.legacy.get() {
                    state.set_initialized();
                }
            }
            NotificationDecision::Other => {
                let name = &*notification.method;
                let notice = IncomingNotification {
                    method,
                    name,
                    text: delivery.text,
                };
                let Ok(permit) = self.reactions().try_acquire_owned() else {
                    tracing::debug!(
                        name,
                        "a notification was dropped: too many are being heard (Limits::max_notification_handlers)"
                    );
                    return;
                };
                let reaction = driver::hear(&*self.home.dispatch, notice, &self.peer());
                if let Some(reaction) = reaction {
                    driver::react(reaction, self.ended.clone(), permit);
                }
            }
            NotificationDecision::Ignored => {}
        }
    }

    fn response(&self, response: rpc::Response<'_>) {
        let waiting = self.kernel().take_waiting(response.id.as_ref());
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
        state
            .features()
            .batching
            .then_some(self.limits.max_batch_messages)
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
    let reason = params.and_then(|params: CancelledNotificationParams| params.reason);
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
