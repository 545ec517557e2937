//! What a handler sees of its request: who asks, what the client can do, and the way back while
//! the request runs.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use turnbuckle_types::{
    ClientCapabilities, Implementation, Json, LogLevel, LogParams, Meta, Number, Principal,
    ProgressParams, ProgressToken, RequestId,
};
use turnbuckle_wire::era::params;
use turnbuckle_wire::era::{Project, Reply};
use turnbuckle_wire::revision::{EraKind, Features, Method};
use turnbuckle_wire::rpc;

use crate::rate::Account;
use crate::reports::{Reports, Taken};
use crate::signal::LazySignal;
use crate::{
    Binding, Feed, HttpHead, LegacyState, Outbox, Peer, Route, Session, Signal, TransportContext,
    driver,
};

/// One request, seen by its handler. Cheap to clone; a clone that outlives the request can do
/// nothing any more.
#[derive(Clone)]
pub struct Context {
    pub(crate) state: Arc<State>,
}

pub(crate) struct State {
    pub(crate) id: RequestId,
    pub(crate) features: &'static Features,
    pub(crate) binding: Binding,
    pub(crate) frame: Bytes,
    pub(crate) sender: Sender,
    pub(crate) progress_token: Option<ProgressToken>,
    /// The level from which on this request wants log messages; a legacy session has its own.
    pub(crate) log_level: Option<LogLevel>,
    /// Whether the server declared that it logs.
    pub(crate) logs: bool,
    pub(crate) transport: TransportContext,
    pub(crate) way: Way,
    pub(crate) signal: LazySignal,
    pub(crate) reports: OnceLock<Box<Reports>>,
    /// Whose it is.
    pub(crate) account: Arc<Account>,
    /// An account of this request alone, where the other is everybody's: of its log messages.
    pub(crate) own: OnceLock<Arc<Account>>,
    /// What was set of a deadline before the handler began to wait.
    pub(crate) deadline: Mutex<Option<(Duration, Late)>>,
}

/// What a request is answered with when its deadline has passed.
type Late = Arc<dyn Fn() -> Reply + Send + Sync>;

/// The way back of a request.
#[expect(
    clippy::large_enum_variant,
    reason = "it is there once, in a context's own allocation"
)]
pub(crate) enum Way {
    /// One that was there before it.
    Shared(Arc<dyn Route>),
    /// One of its own, which costs nothing until something is said on it.
    Own(Outbox),
}

/// What is known of the client.
pub(crate) enum Sender {
    /// What the request's own envelope says, as ranges of its frame, read when asked for.
    Modern {
        capabilities: Span,
        info: Option<Span>,
        read: OnceLock<Box<ClientCapabilities>>,
    },
    /// Nothing but its revision: a legacy request without a session.
    Unknown { state: Arc<LegacyState> },
    /// What the session's handshake left behind.
    Legacy {
        session: Arc<Session>,
        state: Arc<LegacyState>,
    },
}

/// A range of a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    start: usize,
    end: usize,
}

impl Span {
    /// Where `part` is in `frame`; empty when it is not in it.
    pub(crate) fn of(frame: &[u8], part: &str) -> Self {
        let start = (part.as_ptr() as usize).wrapping_sub(frame.as_ptr() as usize);
        match start.checked_add(part.len()) {
            Some(end) if end <= frame.len() => Self { start, end },
            _ => Self { start: 0, end: 0 },
        }
    }

    pub(crate) fn in_frame(self, frame: &[u8]) -> &[u8] {
        frame.get(self.start..self.end).unwrap_or_default()
    }
}

impl Context {
    pub(crate) fn new(state: State) -> Self {
        Self {
            state: Arc::new(state),
        }
    }

    /// The whole message that the request came as.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.state.frame).unwrap_or_default()
    }

    /// What was captured of its parameters, read again from the message.
    #[doc(hidden)]
    #[must_use]
    pub fn params(&self) -> params::Params<'_> {
        match rpc::decode(self.text()) {
            Ok(rpc::Message::Request(request)) => request.params,
            _ => params::Params::default(),
        }
    }

    /// The request's id.
    #[must_use]
    pub fn id(&self) -> &RequestId {
        &self.state.id
    }

    /// What the client's revision knows. Handlers do not need it: whatever they say is told to
    /// each client in what it knows.
    #[must_use]
    pub fn features(&self) -> &'static Features {
        self.state.features
    }

    /// How the request was delivered.
    #[must_use]
    pub fn binding(&self) -> Binding {
        self.state.binding
    }

    /// Whether the client can only be asked by requests of the server's own.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        self.state.features.era == EraKind::Legacy
    }

    /// On whose behalf the request is made, where the transport established it.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.state.transport.principal.as_deref()
    }

    /// The HTTP request that this one came in, where it came in one and a handler asks for such.
    #[must_use]
    pub fn http(&self) -> Option<&Arc<dyn HttpHead>> {
        self.state.transport.http.as_ref()
    }

    /// What the client declared that it can do.
    #[must_use]
    pub fn client_capabilities(&self) -> &ClientCapabilities {
        match &self.state.sender {
            Sender::Legacy { state, .. } | Sender::Unknown { state } => state.capabilities(),
            Sender::Modern {
                capabilities, read, ..
            } => read.get_or_init(|| {
                let json = capabilities.in_frame(&self.state.frame);
                serde_json::from_slice(json).unwrap_or_default()
            }),
        }
    }

    /// Who the client says it is. It may say anything: for display and logs only.
    #[must_use]
    pub fn client_info(&self) -> Option<Implementation> {
        match &self.state.sender {
            Sender::Legacy { state, .. } | Sender::Unknown { state } => {
                state.client_info().cloned()
            }
            Sender::Modern { info, .. } => {
                serde_json::from_slice((*info)?.in_frame(&self.state.frame)).ok()
            }
        }
    }

    /// The request's `_meta`, as it came.
    #[must_use]
    pub fn meta(&self) -> Option<Meta> {
        serde_json::from_str(params::raw_meta(self.text())?.get()).ok()
    }

    /// Whether the client gave up on the request. Nothing is sent for it any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.state.signal.is_cancelled()
    }

    /// Resolves when the client gives up on the request. The handler then has a short grace to
    /// finish before its future is dropped.
    pub async fn cancelled(&self) {
        self.state.signal.get().cancelled().await;
    }

    /// Resolves when the connection or the server is about to end: for handlers that would go on
    /// for ever otherwise.
    pub async fn closing(&self) {
        match &self.state.transport.shutdown {
            None => self.state.signal.get().closing().await,
            Some(shutdown) => tokio::select! {
                () = self.state.signal.get().closing() => {}
                () = shutdown.closing() => {}
            },
        }
    }

    /// Says that nobody waits for the outcome any more.
    pub(crate) fn cancel(&self) {
        self.state.signal.cancel();
    }

    /// Asks the handler to come to its own end.
    pub(crate) fn close(&self) {
        self.state.signal.close();
    }

    /// Gives the request up, and has whoever waits for its answer see that.
    pub(crate) fn give_up(&self) {
        self.state.signal.cancel();
        self.route().stir();
    }

    /// The way back.
    pub(crate) fn route(&self) -> &dyn Route {
        match &self.state.way {
            Way::Shared(route) => &**route,
            Way::Own(outbox) => outbox,
        }
    }

    /// The way back of an exchange.
    pub(crate) fn outbox(&self) -> Option<&Outbox> {
        match &self.state.way {
            Way::Shared(_) => None,
            Way::Own(outbox) => Some(outbox),
        }
    }

    pub(crate) fn has_deadline(&self) -> bool {
        self.own_deadline().is_some()
    }

    /// Gives the request that long, if the session does not give it less: then it is cancelled, and
    /// `late` is its answer. Counts from when the handler first waits, and has to be said before.
    #[doc(hidden)]
    pub fn set_deadline(&self, deadline: Duration, late: Arc<dyn Fn() -> Reply + Send + Sync>) {
        *self.own_deadline() = Some((deadline, late));
    }

    pub(crate) fn take_deadline(&self) -> Option<(Duration, Late)> {
        self.own_deadline().take()
    }

    fn own_deadline(&self) -> MutexGuard<'_, Option<(Duration, Late)>> {
        let deadline = self.state.deadline.lock();
        deadline.unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports progress, if the client asked for it. Values that do not increase are not sent,
    /// nor are those beyond the range of floats.
    ///
    /// Waits while the client is too far behind to take more.
    ///
    /// Specification: basic/patterns/progress (2026-07-28).
    pub async fn progress(&self, progress: impl Into<Number>, total: Option<Number>) {
        self.report(progress.into(), total, None).await;
    }

    /// Reports progress with a message for the user; see [`progress`](Self::progress).
    pub async fn progress_message(
        &self,
        progress: impl Into<Number>,
        total: Option<Number>,
        message: impl Into<String>,
    ) {
        self.report(progress.into(), total, Some(message.into()))
            .await;
    }

    async fn report(&self, progress: Number, total: Option<Number>, message: Option<String>) {
        let Some(token) = &self.state.progress_token else {
            return;
        };
        let value = progress.as_f64();
        if !value.is_finite() {
            return;
        }
        let mut params = ProgressParams::new(token.clone(), progress);
        params.total = total.filter(|total| total.as_f64().is_finite());
        params.message = message;
        let rate = || Box::new(Reports::new(self.state.account.progress()));
        match self.state.reports.get_or_init(rate).take(value, params) {
            Taken::Send(params) => self.notify(Method::Progress.as_str(), params).await,
            Taken::Later(wait) => driver::later(wait, Arc::downgrade(&self.state), |state| {
                Self { state }.catch_up();
            }),
            Taken::Never => {}
        }
    }

    /// Sends the newest report that came too fast, if there is one: it says what those before it
    /// said, and more.
    pub(crate) fn catch_up(&self) {
        let Some(reports) = self.state.reports.get() else {
            return;
        };
        reports.newest(|mut params| {
            if self.is_cancelled() {
                return;
            }
            if !params.fits(self.state.features) {
                params.project(self.state.features);
            }
            if let Ok(frame) = rpc::notification(Method::Progress.as_str(), Some(&params)) {
                // A reader that is too far behind hears of the end instead.
                let _ = self.route().send(frame);
            }
        });
    }

    /// Sends a log message, if the client wants those of that level: a legacy client by its
    /// session's level, a modern one by what this very request says. Nothing is sent by a server
    /// that did not declare logging.
    ///
    /// Specification: server/utilities/logging (2026-07-28).
    pub async fn log<T: Serialize + ?Sized>(
        &self,
        level: LogLevel,
        logger: Option<&str>,
        data: &T,
    ) {
        let wanted = match &self.state.sender {
            Sender::Legacy { state, .. } | Sender::Unknown { state } => state.wants(level),
            Sender::Modern { .. } => self.state.log_level.is_some_and(|least| level >= least),
        };
        if !wanted || !self.state.logs {
            return;
        }
        match self.log_account().log() {
            None => return,
            Some(0) => {}
            Some(unsaid) => {
                let told = format!("{unsaid} log messages were left out (Limits::logs)");
                if let Ok(told) = serde_json::value::to_raw_value(&told) {
                    let params = LogParams::new(level, told);
                    self.notify(Method::Log.as_str(), params).await;
                }
            }
        }
        let Ok(data) = serde_json::value::to_raw_value(data) else {
            return;
        };
        let mut params = LogParams::new(level, data);
        params.logger = logger.map(Into::into);
        self.notify(Method::Log.as_str(), params).await;
    }

    /// Where its log messages are counted: nobody hears how many of somebody else's were left out.
    fn log_account(&self) -> &Arc<Account> {
        let State { account, own, .. } = &*self.state;
        match account.is_shared() {
            true => own.get_or_init(|| account.fresh()),
            false => account,
        }
    }

    /// Sends a notification about this request on the request's own way back.
    ///
    /// Waits while the client is too far behind to take more.
    pub async fn notify<P: Serialize + Project>(&self, method: &str, mut params: P) {
        if !params.fits(self.state.features) {
            params.project(self.state.features);
        }
        match rpc::notification(method, Some(&params)) {
            Ok(frame) => self.send_frame(frame).await,
            Err(error) => tracing::warn!(method, %error, "a notification could not be written"),
        }
    }

    /// Sends a notification that was encoded before; see [`notify`](Self::notify).
    #[doc(hidden)]
    pub async fn send_frame(&self, frame: Vec<u8>) {
        send(self.route(), self.state.signal.get(), frame).await;
    }

    /// Lets the client come back for the rest of the answer, where its stream can be resumed:
    /// frees the connection of a request that takes long.
    ///
    /// Specification: basic/transports, "Resumability and Redelivery" (2025-11-25).
    pub fn pause_stream(&self) {
        if self.state.features.polling_streams {
            self.route().pause();
        }
    }

    /// The client of a legacy session, to be asked on this request's own stream; a modern client
    /// takes no requests.
    #[must_use]
    pub fn peer(&self) -> Option<Peer> {
        match (&self.state.sender, &self.state.way) {
            (Sender::Legacy { session, .. }, Way::Shared(route)) => Some(Peer::of_request(
                session.clone(),
                route.clone(),
                self.state.signal.get().clone(),
            )),
            _ => None,
        }
    }

    /// The client of a legacy session, for what belongs to no request; it outlives this one.
    #[doc(hidden)]
    #[must_use]
    pub fn session_peer(&self) -> Option<Peer> {
        match &self.state.sender {
            Sender::Modern { .. } | Sender::Unknown { .. } => None,
            Sender::Legacy { session, .. } => Some(session.peer()),
        }
    }

    /// What tells a legacy session of changes.
    #[doc(hidden)]
    #[must_use]
    pub fn session_feed(&self) -> Option<&Arc<Feed>> {
        match &self.state.sender {
            Sender::Modern { .. } | Sender::Unknown { .. } => None,
            Sender::Legacy { session, .. } => Some(session.feed()),
        }
    }

    /// The state of the legacy session that the request belongs to.
    #[doc(hidden)]
    #[must_use]
    pub fn session_state(&self) -> Option<&LegacyState> {
        match &self.state.sender {
            Sender::Modern { .. } | Sender::Unknown { .. } => None,
            Sender::Legacy { state, .. } => Some(state),
        }
    }

    /// The settings of an extension that the client declared for this request, or in the handshake
    /// of its session, as raw JSON.
    #[must_use]
    pub fn extension(&self, id: &str) -> Option<&RawValue> {
        self.client_capabilities()
            .extensions
            .get(id)
            .map(Json::as_raw)
    }
}

/// Sends on a route, waiting for room; nothing is sent once `signal` says cancelled. Whether it was.
pub(crate) async fn send(route: &dyn Route, signal: &Signal, mut frame: Vec<u8>) -> bool {
    loop {
        if signal.is_cancelled() {
            return false;
        }
        let mut space = std::pin::pin!(route.space());
        space.as_mut().enable();
        match route.send(frame) {
            Ok(()) => return true,
            Err(full) => frame = full.0,
        }
        tokio::select! {
            () = space => {}
            () = signal.cancelled() => return false,
        }
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("id", &self.state.id)
            .field("revision", &self.state.features.revision)
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}
