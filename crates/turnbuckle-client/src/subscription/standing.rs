//! What a subscription rests on, as long as the server tells of changes.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle_session::{Ask, AskError, Late, Patience, RawResult};
use turnbuckle_types::method::{Listen, Subscribe};
use turnbuckle_types::{ListenParams, Request, RequestId};
use turnbuckle_wire::revision::EraKind;

use super::follow::{Follows, follow};
use super::slot::{Signals, Slot};
use crate::Error;
use crate::client::Shared;
use crate::live::Live;

/// How long the answer to a stream that the server ended may take, before it is taken back.
const GRACE: Duration = Duration::from_secs(1);

/// A server that tells of changes. Dropping it has the server tell no more.
pub(super) enum Standing {
    /// By itself, and of the resources that the session follows.
    Session(Follows),
    /// On a stream.
    Stream(Listening),
}

impl Standing {
    /// Has the server tell of changes, on a connection that is opened now if need be.
    pub(super) async fn establish(shared: &Arc<Shared>, slot: &Arc<Slot>) -> Result<Self, Error> {
        let live = shared.lifeline.live().await?;
        match live.server.era() {
            EraKind::Legacy => session(shared, slot, &live).await.map(Self::Session),
            EraKind::Modern => {
                let listening = Listening::open(shared, slot, &live);
                listening.acknowledged(shared).await.map(Self::Stream)
            }
        }
    }

    /// Resolves when the server tells of nothing any more; says why.
    pub(super) async fn ended(&mut self) -> String {
        match self {
            Self::Session(follows) => follows.ended().await,
            Self::Stream(listening) => listening.ended().await,
        }
    }
}

fn unsupported(method: &str, live: &Live) -> Error {
    Error::Unsupported {
        method: method.to_owned(),
        reason: "the server tells of none of these changes",
        revision: live.server.revision,
    }
}

async fn session(
    shared: &Arc<Shared>,
    slot: &Arc<Slot>,
    live: &Arc<Live>,
) -> Result<Follows, Error> {
    let honoured = slot.interest().declared(&live.server.capabilities);
    if honoured.is_empty() {
        return Err(unsupported(Subscribe::METHOD, live));
    }
    let follows = follow(shared, live, honoured.uris()).await?;
    slot.honour(honoured);
    Ok(follows)
}

/// An open `subscriptions/listen`.
pub(super) struct Listening {
    slot: Arc<Slot>,
    live: Arc<Live>,
    signals: Signals,
    answer: Answer,
}

type Answer = Pin<Box<dyn Future<Output = Result<RawResult, AskError>> + Send>>;

impl Listening {
    fn open(shared: &Arc<Shared>, slot: &Arc<Slot>, live: &Arc<Live>) -> Self {
        let signals = Signals::default();
        let (params, told) = (ListenParams::new(slot.interest().filter()), signals.clone());
        let (log_level, speaks) = (shared.log_level, live.speaks.clone());
        let (conversation, begins) = (live.conversation.clone(), slot.clone());
        let answer = async move {
            let begun = |id: &RequestId| begins.begin(id, told.clone());
            let mut ask = Ask::new(Listen::METHOD, Some(&params), &speaks);
            ask.patience = Patience::FOREVER;
            ask.log_level = log_level;
            ask.begun = Some(&begun);
            conversation.ask(ask).await
        };
        Self {
            slot: slot.clone(),
            live: live.clone(),
            signals,
            answer: Box::pin(answer),
        }
    }

    /// Waits until the server says what it will tell of.
    async fn acknowledged(mut self, shared: &Shared) -> Result<Self, Error> {
        let Patience { silence, total, .. } = shared.patience;
        let (bound, late) = match (silence, total) {
            (Some(silence), total) if total.is_none_or(|total| silence < total) => {
                (silence, Late::Silent(silence))
            }
            (_, Some(total)) => (total, Late::InAll(total)),
            (_, None) => (Duration::MAX, Late::InAll(Duration::MAX)),
        };
        tokio::select! {
            biased;
            () = self.signals.acknowledged.cancelled() => {}
            answer = &mut self.answer => return Err(match answer {
                Ok(_) => Error::InvalidResult {
                    method: Listen::METHOD.to_owned(),
                    reason: "the stream ended before it was acknowledged".into(),
                },
                Err(error) => shared.failed(error),
            }),
            () = tokio::time::sleep(bound) => return Err(Error::TimedOut(late)),
        }
        match self.slot.honoured().is_empty() {
            true => Err(unsupported(Listen::METHOD, &self.live)),
            false => Ok(self),
        }
    }

    async fn ended(&mut self) -> String {
        let answer = tokio::select! {
            answer = &mut self.answer => Some(answer),
            () = self.signals.over.cancelled() => {
                tokio::time::timeout(GRACE, &mut self.answer).await.ok()
            }
        };
        match answer {
            Some(Err(error)) => Error::of_ask(error, "the server").to_string(),
            Some(Ok(_)) | None => "the server ended the stream".into(),
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.slot.end_stream();
    }
}
