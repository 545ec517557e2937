//! The client's end of one connection: its requests, and what the server asks and tells.
//!
//! It shares the kernel with the server's end: who waits for which answer, which requests of the
//! peer are being answered, and what a cancellation ends.

mod alarm;
mod ask;
mod awaited;
mod host;
mod inbox;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use turnbuckle_types::RequestId;
use turnbuckle_wire::era::Project;
use turnbuckle_wire::revision::{Features, Method, Party};
use turnbuckle_wire::rpc;

pub use ask::{Ask, AskError, Progressing, RawResult};
pub use host::{Host, ServerRequest};

use alarm::Alarm;
use awaited::Awaited;
use inbox::Door;

use crate::client::link::{Link, LinkError, LinkKind, Parcel, ParcelKind};
use crate::shared::driver;
use crate::shared::kernel::{Kernel, Unasked};
use crate::{About, Connector, Rate, Signal, Speaks, setters};

/// How much a server may have going at once, how fast it may ask, and how long that may take.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConversationLimits {
    /// Requests to the server that may wait for their answers. Whether it is still there is asked
    /// all the same. Default 1,024.
    pub outgoing: usize,
    /// Requests of the server that may be under way; one more is refused by name. Default 64.
    pub in_flight: usize,
    /// Messages in one batch. Default 100.
    pub batch: usize,
    /// How long answering one request of the server may take, or what it asks inside one result;
    /// users are asked here, so it is long: default ten minutes.
    pub answer_deadline: Duration,
    /// Answers to the server that may wait for it to take them; more are dropped. Default 1,024.
    pub replies: usize,
    /// How long the server may take to take an answer; then it is dropped. Default 60 s.
    pub reply_time: Duration,
    /// How often the server may ask for sampling; what comes faster is refused as if the user had.
    /// Default 10 a second, 100 at once.
    pub sampling: Rate,
    /// How often the server may ask the user; what comes faster is refused. Default 10 a second,
    /// 100 at once.
    pub elicitation: Rate,
    /// Questions that one round of a modern request, or one error, may hold. Default 32.
    pub questions: usize,
    /// Pages that one list may have; a list that goes on ends in an error. Default 10,000.
    pub list_pages: usize,
    /// Items that are collected of one list; longer ones can be read as streams. Default 100,000.
    pub list_items: usize,
}

impl Default for ConversationLimits {
    fn default() -> Self {
        Self {
            outgoing: 1024,
            in_flight: 64,
            batch: 100,
            answer_deadline: Duration::from_secs(600),
            replies: 1024,
            reply_time: Duration::from_secs(60),
            sampling: Rate::per_second(10).burst(100),
            elicitation: Rate::per_second(10).burst(100),
            questions: 32,
            list_pages: 10_000,
            list_items: 100_000,
        }
    }
}

impl ConversationLimits {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets how many requests to the server may wait for their answers.
        outgoing: usize;
        /// Sets how many requests of the server may be under way.
        in_flight: usize;
        /// Sets how many messages a batch may hold.
        batch: usize;
        /// Sets how long answering the server may take.
        answer_deadline: Duration;
        /// Sets how many answers to the server may wait.
        replies: usize;
        /// Sets how long the server may take to take an answer.
        reply_time: Duration;
        /// Sets how often the server may ask for sampling.
        sampling: Rate;
        /// Sets how often the server may ask the user.
        elicitation: Rate;
        /// Sets how many questions may come at once.
        questions: usize;
        /// Sets how many pages a list may have.
        list_pages: usize;
        /// Sets how many items of a list are collected.
        list_items: usize;
    }
}

/// Who waits for an answer.
pub(crate) struct Pending {
    awaited: Arc<Awaited>,
    listener: Option<Arc<dyn Progressing>>,
}

/// One connection to a server.
pub struct Conversation {
    me: Weak<Self>,
    host: Arc<dyn Host>,
    limits: ConversationLimits,
    kernel: Mutex<Kernel<Signal, Pending>>,
    link: OnceLock<Arc<dyn Link>>,
    /// How the server's messages are to be read; nothing is known of that before it was found out.
    speaks: OnceLock<Arc<Speaks>>,
    lost: Mutex<Option<LinkError>>,
    ended: Signal,
    noise: AtomicU64,
    /// When a request of the server was last answered.
    answered: Mutex<Instant>,
    /// Tells requests that no answer came in time.
    alarm: Arc<Alarm>,
    /// Answers to the server that wait to be taken.
    replies: Arc<Semaphore>,
}

impl Conversation {
    /// Opens a connection on which nothing was said yet.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub async fn open(
        connector: &dyn Connector,
        host: Arc<dyn Host>,
        limits: ConversationLimits,
    ) -> Result<Arc<Self>, LinkError> {
        let conversation = Arc::new_cyclic(|me: &Weak<Self>| Self {
            me: me.clone(),
            host,
            kernel: Mutex::new(
                Kernel::new(limits.in_flight, limits.outgoing)
                    .set_by("ConversationLimits::in_flight"),
            ),
            replies: Arc::new(Semaphore::new(limits.replies.min(Semaphore::MAX_PERMITS))),
            limits,
            link: OnceLock::new(),
            speaks: OnceLock::new(),
            lost: Mutex::new(None),
            ended: Signal::new(),
            noise: AtomicU64::new(0),
            answered: Mutex::new(Instant::now()),
            alarm: Arc::default(),
        });
        let inbox = Weak::clone(&conversation.me);
        let link = connector.open(Arc::new(Door(inbox))).await?;
        let _ = conversation.link.set(link);
        Ok(conversation)
    }

    fn kernel(&self) -> MutexGuard<'_, Kernel<Signal, Pending>> {
        self.kernel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn link(&self) -> Option<&Arc<dyn Link>> {
        self.link.get()
    }

    /// How much the server may have going at once.
    #[must_use]
    pub fn limits(&self) -> &ConversationLimits {
        &self.limits
    }

    /// How its link delivers.
    #[must_use]
    pub fn kind(&self) -> LinkKind {
        self.link().map_or(LinkKind::Duplex, |link| link.kind())
    }

    /// It is known how the server speaks: from now on its requests are answered. In the legacy era
    /// this is said when the handshake has been answered, before `initialized` goes out.
    pub fn settle(&self, speaks: Arc<Speaks>) {
        if self.speaks.set(speaks).is_ok() {
            self.kernel().opened();
        }
    }

    /// The handshake is over: the link may fetch what the server says of itself. Resolves once it
    /// does.
    pub async fn established(&self) {
        if let (Some(link), Some(speaks)) = (self.link(), self.speaks.get()) {
            link.established(speaks.features()).await;
        }
    }

    /// Asks a legacy server every so often whether it is there, and ends the connection the first
    /// time that it does not say so within `timeout`. The modern era has no such question.
    pub fn keep_asking(self: &Arc<Self>, every: Duration, timeout: Duration) {
        if let Some(speaks) = self.speaks.get()
            && Method::Ping.reaches(Party::Server, speaks.features().revision)
        {
            driver::keep_asking_server(self, speaks.clone(), every, timeout);
        }
    }

    /// Whether the connection has died or was closed.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Tells when the connection has died or was closed.
    #[must_use]
    pub fn ended(&self) -> &Signal {
        &self.ended
    }

    /// Why the connection has died; none while it lives.
    #[must_use]
    pub fn cause(&self) -> Option<LinkError> {
        self.lost
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// How many frames were skipped because they were no messages.
    #[must_use]
    pub fn noise(&self) -> u64 {
        self.noise.load(Ordering::Relaxed)
    }

    /// How many requests wait for their answers, and how many of the server are being answered.
    #[must_use]
    pub fn in_flight(&self) -> (usize, usize) {
        let kernel = self.kernel();
        (kernel.waiting_ids().count(), kernel.in_flight())
    }

    /// Until when the server was waiting for this side, as far as can be told.
    fn kept_waiting(&self) -> Instant {
        match self.kernel().in_flight() {
            0 => *self.last_answered(),
            _ => Instant::now(),
        }
    }

    fn last_answered(&self) -> MutexGuard<'_, Instant> {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_up(&self, pending: Pending, anyway: bool) -> Result<RequestId, AskError> {
        let mut kernel = self.kernel();
        let taken = match anyway {
            true => kernel.ask_anyway(pending),
            false => kernel.ask(pending),
        };
        drop(kernel);
        taken.map_err(|unasked| match unasked {
            Unasked::Ended => AskError::Link {
                error: self.cause().unwrap_or(LinkError::Closed),
                sent: false,
            },
            Unasked::TooMany => AskError::TooMany {
                limit: self.limits.outgoing,
            },
        })
    }

    /// Sends a notification, without what the revision in which it is said lacks.
    ///
    /// # Errors
    /// When it could not be sent.
    pub async fn notify<P>(&self, method: &str, params: &P) -> Result<(), AskError>
    where
        P: Serialize + Project + Clone,
    {
        let mut params = params.clone();
        if let Some(features) = self.features().filter(|features| !params.fits(features)) {
            params.project(features);
        }
        let frame = rpc::notification(method, Some(&params))
            .map_err(|error| AskError::Unwritable(error.to_string()))?;
        let sent = self.carry_notification(frame, method).await;
        sent.map_err(|error| AskError::Link { error, sent: true })
    }

    async fn carry_notification(&self, frame: Vec<u8>, method: &str) -> Result<(), LinkError> {
        self.carry(frame, ParcelKind::Notification, method).await
    }

    async fn carry(&self, frame: Vec<u8>, kind: ParcelKind, method: &str) -> Result<(), LinkError> {
        let link = self.link().ok_or(LinkError::Closed)?;
        let headers = match (link.kind(), self.speaks.get()) {
            (LinkKind::Exchange, Some(speaks)) => {
                speaks.headers(method, About::default()).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        let parcel = Parcel {
            frame,
            kind,
            headers,
        };
        let carrying = match link.take(parcel) {
            Ok(()) => return Ok(()),
            Err(parcel) => link.carry(parcel),
        };
        tokio::select! {
            biased;
            carried = carrying => carried.inspect_err(|error| self.note(error)),
            () = self.ended.cancelled() => Err(LinkError::Closed),
        }
    }

    /// A session that is gone takes its connection with it.
    fn note(&self, error: &LinkError) {
        if matches!(error, LinkError::SessionGone) {
            self.end(error.clone());
        }
    }

    fn features(&self) -> Option<&'static Features> {
        self.speaks.get().map(|speaks| speaks.features())
    }

    /// Says goodbye and ends everything that belongs to the connection.
    pub async fn close(&self) {
        self.end(LinkError::Closed);
        if let Some(link) = self.link() {
            link.close().await;
        }
    }

    /// Ends everything that belongs to the connection, without saying goodbye.
    pub fn end(&self, why: LinkError) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if lost.is_some() {
            return;
        }
        *lost = Some(why.clone());
        drop(lost);
        let mut kernel = self.kernel();
        self.ended.cancel();
        let (answering, waiting) = kernel.end();
        drop(kernel);
        for signal in answering {
            signal.cancel();
        }
        for pending in waiting {
            // Whatever ended the connection: others may have reached the server before.
            let (error, sent) = (why.clone(), true);
            pending.awaited.arrive(Err(AskError::Link { error, sent }));
        }
    }
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation")
            .field("speaks", &self.features().map(|features| features.revision))
            .field("lost", &self.is_lost())
            .finish_non_exhaustive()
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

#[cfg(test)]
mod tests;
