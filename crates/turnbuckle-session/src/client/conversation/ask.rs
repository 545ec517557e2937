//! One request to the server, from its id to its answer.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use serde::Serialize;
use tokio::time::Instant;
use turnbuckle_types::{CancelledParams, ErrorObject, ProgressParams, RequestId};
use turnbuckle_wire::era::{Added, Project, write_request};
use turnbuckle_wire::revision::{EraKind, Method};
use turnbuckle_wire::rpc;

use super::awaited::{Awaited, Outcome};
use super::{Conversation, Pending};
use crate::client::link::{Carrying, LinkError, LinkKind, Parcel, ParcelKind};
use crate::server::context::Span;
use crate::shared::driver;
use crate::{About, Late, Patience, Speaks};

/// Who hears how a request gets on.
pub trait Progressing: Send + Sync + 'static {
    /// Takes a notice. It must not take long: nothing else is read meanwhile.
    fn progress(&self, params: ProgressParams);
}

/// A request to be made.
pub struct Ask<'a, P> {
    /// The method.
    pub method: &'a str,
    /// Its parameters.
    pub params: Option<&'a P>,
    /// How it is spoken.
    pub speaks: &'a Speaks,
    /// What it is about.
    pub about: About<'a>,
    /// How long it may take.
    pub patience: Patience,
    /// Since when its time in all counts; since it is made, unless this says otherwise.
    pub since: Option<Instant>,
    /// Whether the server is asked to tell of its progress.
    pub progress: bool,
    /// Who hears of it.
    pub listener: Option<Arc<dyn Progressing>>,
    /// From which level on log messages are wanted, where a request says so.
    pub log_level: Option<turnbuckle_types::LogLevel>,
    /// Is told the request's id before it is sent.
    pub begun: Option<&'a (dyn Fn(&RequestId) + Send + Sync)>,
    /// Whether it is made however many wait already.
    pub(crate) anyway: bool,
}

impl<'a, P> Ask<'a, P> {
    /// A request with the usual patience.
    #[must_use]
    pub fn new(method: &'a str, params: Option<&'a P>, speaks: &'a Speaks) -> Self {
        Self {
            method,
            params,
            speaks,
            about: About::default(),
            patience: Patience::default(),
            since: None,
            progress: false,
            listener: None,
            log_level: None,
            begun: None,
            anyway: false,
        }
    }
}

impl<P> fmt::Debug for Ask<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask")
            .field("method", &self.method)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

/// A result as it came: JSON inside its frame.
#[derive(Clone)]
pub struct RawResult {
    frame: Bytes,
    span: Span,
}

impl RawResult {
    pub(crate) fn new(frame: &Bytes, part: &str) -> Self {
        Self {
            frame: frame.clone(),
            span: Span::of(frame, part),
        }
    }

    /// The JSON.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.span.in_frame(&self.frame)).unwrap_or_default()
    }
}

impl fmt::Debug for RawResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawResult")
            .field("bytes", &self.as_str().len())
            .finish_non_exhaustive()
    }
}

/// Why a request has no result.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum AskError {
    /// The server answered with an error.
    Refused(ErrorObject),
    /// The connection could not carry the request or its answer.
    Link {
        /// Why.
        error: LinkError,
        /// Whether the server may have acted upon the request.
        sent: bool,
    },
    /// No answer came in time; the request was taken back.
    TimedOut(Late),
    /// Too many requests wait already.
    TooMany {
        /// How many may (`ConversationLimits::outgoing`).
        limit: usize,
    },
    /// The request has no form in which it could be sent.
    Unwritable(String),
}

impl Conversation {
    /// Makes a request and waits for its result. Dropping the future takes the request back.
    ///
    /// # Errors
    /// When there is no result: see [`AskError`].
    pub async fn ask<P>(self: &Arc<Self>, ask: Ask<'_, P>) -> Result<RawResult, AskError>
    where
        P: Serialize + Project + Clone + Sync,
    {
        let link = self.link().ok_or(AskError::Link {
            error: LinkError::Closed,
            sent: false,
        })?;
        let unwritable = |error: &dyn fmt::Display| AskError::Unwritable(error.to_string());
        let headers = match link.kind() {
            LinkKind::Duplex => Vec::new(),
            LinkKind::Exchange => ask
                .speaks
                .headers(ask.method, ask.about)
                .map_err(|error| unwritable(&error))?,
        };
        let now = Instant::now();
        let awaited = Awaited::new(ask.patience, ask.since.unwrap_or(now), now);
        let due = awaited.first_due(now);
        let awaited = Arc::new(awaited);
        let progress = ask.progress || ask.listener.is_some();
        let pending = Pending {
            awaited: awaited.clone(),
            listener: ask.listener,
        };
        let id = self.take_up(pending, ask.anyway)?;
        let opens = ask.method == Method::Initialize.as_str();
        let is_duplex = link.kind() == LinkKind::Duplex;
        let features = ask.speaks.features();
        let mut waiting = Waiting {
            conversation: self,
            id,
            awaited,
            carrying: None,
            is_duplex,
            answered: false,
            sent: false,
            // What opens a connection is never cancelled, and an exchange of the modern era is by
            // closing it.
            by_message: !opens
                && ask.method != Method::Discover.as_str()
                && (is_duplex || features.era == EraKind::Legacy),
            late: None,
        };
        if let Some(due) = due {
            self.wake_by(due);
        }
        if let Some(begun) = ask.begun {
            begun(&waiting.id);
        }
        let added = Added {
            envelope: ask.speaks.envelope(),
            progress,
            log_level: ask.log_level,
        };
        let frame = write_request(&waiting.id, ask.method, ask.params, features, added)
            .map_err(|error| unwritable(&error))?;
        let id = waiting.id.clone();
        let parcel = Parcel {
            frame,
            kind: match opens {
                true => ParcelKind::Initialize(id),
                false => ParcelKind::Request(id),
            },
            headers,
        };
        match link.take(parcel) {
            Ok(()) => waiting.sent = true,
            Err(parcel) => {
                waiting.carrying = Some(link.carry(parcel));
                // A pipe has a request once it is carried, and not before.
                waiting.sent = link.may_have_sent();
            }
        }
        std::future::poll_fn(|cx| waiting.poll(cx)).await
    }
}

/// A request that waits; taken back when it is dropped unanswered.
struct Waiting<'a> {
    conversation: &'a Arc<Conversation>,
    id: RequestId,
    awaited: Arc<Awaited>,
    /// What is still being done to carry it.
    carrying: Option<Carrying>,
    is_duplex: bool,
    /// It is not among those that wait any more. After an error it may still be.
    answered: bool,
    sent: bool,
    by_message: bool,
    late: Option<Late>,
}

impl Waiting<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        if let Some(carrying) = &mut self.carrying {
            // An answer that comes while it is carried here has to wake nobody.
            if let Some(outcome) = self.awaited.take() {
                return self.answered(outcome);
            }
            match carrying.as_mut().poll(cx) {
                Poll::Pending => {}
                Poll::Ready(carried) => {
                    self.carrying = None;
                    if let Poll::Ready(end) = self.carried(carried) {
                        return Poll::Ready(end);
                    }
                }
            }
        }
        match ready!(self.awaited.poll(cx)) {
            Ok(outcome) => self.answered(outcome),
            Err(late) => {
                self.late = Some(late);
                Poll::Ready(Err(AskError::TimedOut(late)))
            }
        }
    }

    /// A connection that ends says of all who wait that they were sent; this one knows.
    fn answered(&mut self, mut outcome: Outcome) -> Poll<Outcome> {
        self.answered = outcome.is_ok();
        if let Err(AskError::Link { sent, .. }) = &mut outcome {
            *sent &= self.sent;
        }
        Poll::Ready(outcome)
    }

    /// It has been carried: an exchange has ended with that.
    fn carried(&mut self, carried: Result<(), LinkError>) -> Poll<Outcome> {
        self.sent |= carried.is_ok();
        // What has arrived stands, however carrying it ended.
        let arrived = self.awaited.take();
        if let Err(error) = &carried {
            self.conversation.note(error);
        }
        if let Some(outcome) = arrived {
            return self.answered(outcome);
        }
        if let Err(error) = carried {
            let sent = !error.is_unsent();
            self.sent = sent;
            return Poll::Ready(Err(AskError::Link { error, sent }));
        }
        if self.is_duplex {
            return Poll::Pending;
        }
        Poll::Ready(Err(AskError::Link {
            error: LinkError::Violation {
                reason: "the exchange ended without an answer to the request".into(),
            },
            sent: true,
        }))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // An exchange is closed before its server hears of that.
        self.carrying = None;
        if self.answered {
            return;
        }
        let unanswered = self.conversation.kernel().response(Some(&self.id));
        if unanswered.is_none() || !self.sent || !self.by_message || self.conversation.is_lost() {
            return;
        }
        let reason = match self.late {
            Some(_) => "no answer came in time",
            None => "the answer is no longer wanted",
        };
        let mut params = CancelledParams::new().reason(reason);
        params.request_id = Some(self.id.clone());
        let Ok(frame) = rpc::notification(Method::Cancelled.as_str(), Some(&params)) else {
            return;
        };
        let conversation = self.conversation.clone();
        driver::last_word(async move {
            // Best effort: the answer is ignored when it comes all the same.
            let _ = conversation
                .carry_notification(frame, Method::Cancelled.as_str())
                .await;
        });
    }
}
