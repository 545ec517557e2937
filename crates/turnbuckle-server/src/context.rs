//! What a handler sees.

use std::ops::Deref;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use turnbuckle_session::{Context as Call, Peer};
use turnbuckle_types::{ElicitationCompleteParams, Error, Json};
use turnbuckle_wire::revision::Method;

use crate::Server;
use crate::input::{NeedsInput, Question, Round};
use crate::schema::misfit;

/// One request, seen by its handler: who asks, the way back while it runs, and the answers to what
/// the handler asked its client. Cheap to clone.
///
/// Everything of [`turnbuckle_session::Context`] is here too.
#[derive(Clone, Debug)]
pub struct Context {
    call: Call,
    server: Server,
    round: Option<Arc<Round>>,
}

impl Deref for Context {
    type Target = Call;

    fn deref(&self) -> &Call {
        &self.call
    }
}

impl Context {
    pub(crate) fn new(call: Call, server: Server, round: Option<Round>) -> Self {
        Self {
            call,
            server,
            round: round.map(Arc::new),
        }
    }

    pub(crate) fn in_round(&self, round: Round) -> Self {
        Self {
            round: Some(Arc::new(round)),
            ..self.clone()
        }
    }

    /// This request, for one run of a handler that may ask its client in the middle.
    pub(crate) fn asking(mut self) -> Self {
        let legacy = self.is_legacy();
        let round = match self.round() {
            Some(recorded) => recorded.asking(legacy),
            None => Round::default().asking(legacy),
        };
        self.round = Some(Arc::new(round));
        self
    }

    /// What keeps the questions of a handler that may ask.
    pub(crate) fn asking_round(&self) -> Option<&Arc<Round>> {
        self.round.as_ref().filter(|round| round.asks())
    }

    pub(crate) fn round(&self) -> Option<&Round> {
        self.round.as_deref()
    }

    pub(crate) fn call(&self) -> &Call {
        &self.call
    }

    /// The server that this handler belongs to: to add, remove and change what it offers.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Reaches this client, and no other, after the request is over.
    #[must_use]
    pub fn announcer(&self) -> Announcer {
        let peer = self.call.session_peer();
        Announcer(peer.filter(|_| self.call.features().elicitation_id))
    }

    /// Asks the client, and goes on only with its answer.
    ///
    /// The first time there is none: the `Err` that ends this run of the handler with `?`. The
    /// client answers, and the handler is run again from its beginning, with all answers so far;
    /// so what comes before the last question must not do anything twice. One question after
    /// another takes a round each; [`NeedsInput`] asks several at once.
    ///
    /// # Errors
    /// When the answer is not there yet, or has not the form that was asked for.
    pub fn ask<Q: Question>(&self, key: &str, question: Q) -> Result<Q::Answer, crate::Failure> {
        match self.raw_answer(key) {
            Some(answer) => Ok(question.read(answer)?),
            None => Err(NeedsInput::new().ask(key, question).into()),
        }
    }

    /// The answer to a question of an earlier round, if it is there.
    ///
    /// # Errors
    /// When it has not the form that was asked for.
    pub fn answer<Q: Question>(&self, key: &str, question: &Q) -> Result<Option<Q::Answer>, Error> {
        self.raw_answer(key)
            .map(|answer| question.read(answer))
            .transpose()
    }

    /// The answer to a question of an earlier round as raw JSON, if it is there.
    #[must_use]
    pub fn raw_answer(&self, key: &str) -> Option<&Json> {
        self.round.as_deref()?.answer(key)
    }

    /// What [`NeedsInput::state`] kept in the last round.
    ///
    /// # Errors
    /// When it is of another type.
    pub fn state<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let Some(state) = self.round.as_deref().and_then(Round::state) else {
            return Ok(None);
        };
        state.decode().map(Some).map_err(|error| {
            let reason = misfit(state.as_str(), &error);
            Error::internal(format!("the kept state has another type: {reason}"))
        })
    }
}

/// Tells one client that what it was asked to visit a URL for is done. Cheap to clone, and of use
/// for as long as the client's session lives.
///
/// Only the revision with such an announcement gets it; for clients of all others nothing happens.
///
/// Specification: client/elicitation, "Completion Notifications" (2025-11-25).
#[derive(Debug, Clone)]
pub struct Announcer(Option<Peer>);

impl Announcer {
    /// Announces the end of the interaction whose URL was given this `elicitation_id`.
    pub async fn elicitation_complete(&self, elicitation_id: impl Into<String>) {
        if let Some(peer) = &self.0 {
            let method = Method::ElicitationComplete.as_str();
            let params = ElicitationCompleteParams::new(elicitation_id);
            peer.notify(method, params).await;
        }
    }
}
