//! One request to the server, from its id to its answer.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use tokio::sync::oneshot;
use turnbuckle_types::{CancelledParams, ErrorObject, ProgressParams, RequestId};
use turnbuckle_wire::era::{Added, Project, write_request};
use turnbuckle_wire::revision::{EraKind, Method};
use turnbuckle_wire::rpc;

use super::{Conversation, Pending};
use crate::context::Span;
use crate::driver;
use crate::link::{LinkError, LinkKind, Parcel, ParcelKind};
use crate::patience::{Heard, late};
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
    /// Whether the server is asked to tell of its progress.
    pub progress: bool,
    /// Who hears of it.
    pub listener: Option<Arc<dyn Progressing>>,
    /// From which level on log messages are wanted, where a request says so.
    pub log_level: Option<turnbuckle_types::LogLevel>,
    /// Is told the request's id before it is sent.
    pub begun: Option<&'a (dyn Fn(&RequestId) + Send + Sync)>,
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
            progress: false,
            listener: None,
            log_level: None,
            begun: None,
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
#[derive(Debug, Clone)]
pub struct RawResult {
    frame: Bytes,
    span: Span,
}

impl RawResult {
    pub(super) fn new(frame: &Bytes, part: &str) -> Self {
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
        let heard = Heard::now();
        let (answered, mut answer) = oneshot::channel();
        let pending = Pending {
            answered,
            heard: heard.clone(),
            listener: ask.listener.clone(),
        };
        let id = self.take_up(pending)?;
        let opens = ask.method == Method::Initialize.as_str();
        let mut waiting = Waiting {
            conversation: self,
            id,
            answered: false,
            sent: false,
            // What opens a connection is never cancelled, and an exchange of the modern era is by
            // closing it.
            by_message: !opens
                && ask.method != Method::Discover.as_str()
                && (link.kind() == LinkKind::Duplex
                    || ask.speaks.features().era == EraKind::Legacy),
            late: None,
        };
        if let Some(begun) = ask.begun {
            begun(&waiting.id);
        }
        let added = Added {
            envelope: ask.speaks.envelope(),
            progress: ask.progress || ask.listener.is_some(),
            log_level: ask.log_level,
        };
        let features = ask.speaks.features();
        let frame = write_request(&waiting.id, ask.method, ask.params, features, added)
            .map_err(|error| unwritable(&error))?;
        let id = waiting.id.clone();
        let mut carrying = link.carry(Parcel {
            frame: frame.into(),
            kind: match opens {
                true => ParcelKind::Initialize(id),
                false => ParcelKind::Request(id),
            },
            headers,
        });
        let kept_waiting = || self.kept_waiting();
        let mut late = std::pin::pin!(late(ask.patience, &heard, kept_waiting));
        // A pipe has a request once it is carried, and not before.
        waiting.sent = link.may_have_sent();
        let mut carried = false;
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => {
                    waiting.answered = true;
                    return match answer {
                        Ok(outcome) => outcome,
                        Err(_) => Err(self.why_lost()),
                    };
                }
                outcome = &mut carrying, if !carried => match outcome {
                    Err(error) => {
                        let sent = !error.is_unsent();
                        waiting.sent = sent;
                        self.note(&error);
                        return Err(AskError::Link { error, sent });
                    }
                    Ok(()) if link.kind() == LinkKind::Duplex => {
                        carried = true;
                        waiting.sent = true;
                    }
                    Ok(()) => {
                        let answer = answer.try_recv();
                        waiting.answered = answer.is_ok();
                        return answer.unwrap_or_else(|_| Err(AskError::Link {
                            error: LinkError::Violation {
                                reason: "the exchange ended without an answer to the request"
                                    .into(),
                            },
                            sent: true,
                        }));
                    }
                },
                verdict = &mut late => {
                    waiting.late = Some(verdict);
                    return Err(AskError::TimedOut(verdict));
                }
            }
        }
    }
}

/// A request that waits; taken back when it is dropped unanswered.
struct Waiting<'a> {
    conversation: &'a Arc<Conversation>,
    id: RequestId,
    /// It is not among those that wait any more.
    answered: bool,
    sent: bool,
    by_message: bool,
    late: Option<Late>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
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
