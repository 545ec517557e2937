//! The context of a request, as handlers see it.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use turnbuckle_session::handler::{Peer, RequestContext};
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{
    ElicitationCompleteNotificationParams, Json, LoggingLevel, Number, ProtocolError, RawJson,
};
use turnbuckle_wire::revision::Method;

use crate::error::NeedsInput;
use crate::request::extract::States;
#[cfg(feature = "tasks")]
use crate::request::input::Leg;
use crate::request::input::{InputRound, InputRounds, Question, SharedIdentity};
use crate::request::redaction::{Redact, Redactions};
use crate::schema::describe_mismatch;

/// The context of one request, as its handler sees it: the client, the way to send it messages
/// while the request runs, the answers to earlier questions, and the server. Cheap to clone.
///
/// Dereferences to [`turnbuckle_session::handler::RequestContext`], which has everything that does not
/// depend on this server.
#[derive(Clone)]
pub struct HandlerContext {
    pub(crate) call: RequestContext,
    pub(crate) settings: Arc<ServerSettings>,
    round: Option<Arc<InputRound>>,
    /// The name of a request in the records of its effects, if there is no round yet to hold it. All runs
    /// share it, also those that a layer repeats.
    identity: Option<SharedIdentity>,
    /// The arguments that a layer put in the place of those in the message.
    replaced_arguments: Option<Arc<Json>>,
    /// The redactions of log messages and progress that layers put around the handler.
    redactions: Option<Arc<Redactions>>,
}

/// The settings of a server that its handlers need while they run.
pub(crate) struct ServerSettings {
    /// The most calls that can wait at one concurrency limit.
    pub(crate) max_waiting: usize,
    /// True if clients read no error that was not made for them.
    pub(crate) masks_errors: bool,
    /// Seals and opens the request state of requests that ask for input.
    pub(crate) input_rounds: InputRounds,
    /// The id of the extension that defines a result type, by the name of the type.
    pub(crate) result_types: HashMap<&'static str, Arc<str>>,
    /// The state around all items.
    pub(crate) states: Arc<States>,
}

debug_fields!(HandlerContext { call, round });

impl Deref for HandlerContext {
    type Target = RequestContext;

    fn deref(&self) -> &RequestContext {
        &self.call
    }
}

impl HandlerContext {
    /// Creates the context of a request; `round` holds the answers and the state of a retry.
    pub(crate) fn new(
        call: RequestContext,
        settings: Arc<ServerSettings>,
        round: Option<InputRound>,
    ) -> Self {
        let has_records = settings.input_rounds.once.0.is_some();
        Self {
            call,
            identity: (has_records && round.is_none()).then(SharedIdentity::default),
            settings,
            round: round.map(Arc::new),
            replaced_arguments: None,
            redactions: None,
        }
    }

    /// Returns the state of this type that the server's builder was given, for layers and methods of
    /// extensions. Handlers take it as a [`State`](crate::State).
    #[must_use]
    pub fn state<T: ?Sized + Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.settings.states.get()
    }

    /// Returns the round of a request that brings back nothing from an earlier one.
    pub(crate) fn first_round(&self) -> InputRound {
        InputRound::first(self.identity.clone().unwrap_or_default())
    }

    /// Returns this context for another round of input.
    pub(crate) fn with_round(&self, round: InputRound) -> Self {
        Self {
            round: Some(Arc::new(round)),
            ..self.clone()
        }
    }

    /// Returns this context for a handler that may outlive the request, with the detached request `call`.
    #[cfg(feature = "tasks")]
    pub(crate) fn in_leg(&self, call: RequestContext, leg: Arc<Leg>) -> Self {
        let round = match self.round() {
            Some(round) => round.in_leg(leg),
            None => self.first_round().in_leg(leg),
        };
        Self {
            call,
            round: Some(Arc::new(round)),
            ..self.clone()
        }
    }

    /// Replaces the arguments of the message.
    pub(crate) fn replace_arguments(&mut self, arguments: Json) {
        self.replaced_arguments = Some(Arc::new(arguments));
    }

    /// Returns the arguments that a layer put in the place of those in the message.
    pub(crate) fn replaced_arguments(&self) -> Option<RawJson<'_>> {
        self.replaced_arguments.as_deref().map(RawJson::from)
    }

    /// Redacts what the handler sends while it runs, before the layers that were added earlier do.
    pub(crate) fn add_redaction(&mut self, redact: Arc<Redact>) {
        let outer = self.redactions.take();
        self.redactions = Some(Arc::new(Redactions::new(redact, outer)));
    }

    /// Sends a log message as [`RequestContext::log`] does, redacted by the
    /// [`redaction`](crate::middleware::redaction) around the handler.
    pub async fn log<T: Serialize + ?Sized>(
        &self,
        level: LoggingLevel,
        logger: Option<&str>,
        data: &T,
    ) {
        let Some(redactions) = &self.redactions else {
            return self.call.log(level, logger, data).await;
        };
        // Data without a JSON form cannot be sent.
        if let Ok(mut data) = Json::encode(data) {
            redactions.redact_json(&mut data);
            self.call.log(level, logger, &data).await;
        }
    }

    /// Reports progress with a message as [`RequestContext::progress_message`] does, redacted by the
    /// [`redaction`](crate::middleware::redaction) around the handler.
    pub async fn progress_message(
        &self,
        progress: impl Into<Number>,
        total: Option<Number>,
        message: impl Into<String>,
    ) {
        let mut message = message.into();
        if let Some(redactions) = &self.redactions {
            redactions.redact_text(&mut message);
        }
        self.call.progress_message(progress, total, message).await;
    }

    /// Lets the call go on as a task from now on, for a handler that finds out that it will take long.
    ///
    /// It is so if the tool has [`task`](crate::Tool::task) with a time after which calls become tasks and
    /// the client takes tasks. Otherwise, and in a task, nothing changes.
    pub fn continue_as_task(&self) {
        if let Some(leg) = self.round().and_then(InputRound::leg) {
            leg.wish_for_task();
        }
    }

    /// Returns whether the call is a task or may become one. For turnbuckle's other crates: a handler works in
    /// the same way in either case.
    #[must_use]
    pub fn takes_task(&self) -> bool {
        self.round().and_then(InputRound::leg).is_some()
    }

    /// Returns this context for one run of a handler that takes an [`Ask`](crate::Ask), with an
    /// answer log of its own.
    pub(crate) fn for_asking_handler(mut self) -> Self {
        let legacy = self.is_legacy();
        let round = match self.round() {
            Some(recorded) => recorded.with_answer_log(legacy),
            None => self.first_round().asking(legacy),
        };
        self.round = Some(Arc::new(round));
        self
    }

    /// Returns the round with the answer log of a handler that takes an [`Ask`](crate::Ask).
    pub(crate) fn asking_round(&self) -> Option<&Arc<InputRound>> {
        self.round.as_ref().filter(|round| round.has_ask)
    }

    /// Returns the round of input, if the request has one.
    pub(crate) fn round(&self) -> Option<&InputRound> {
        self.round.as_deref()
    }

    /// Returns a notifier that can tell this client, also after the request, that a URL elicitation
    /// is complete.
    #[must_use]
    pub fn elicitation_notifier(&self) -> ElicitationNotifier {
        let peer = self.call.session_peer();
        ElicitationNotifier(peer.filter(|_| self.call.features().elicitation_id))
    }

    /// Asks the client a question and returns its answer.
    ///
    /// If there is no answer yet, the `Err` ends this run of the handler with `?`. The client
    /// answers, and the handler runs again from its beginning with all answers so far; so the code
    /// before the last question must not do anything that must happen only once. Each question
    /// takes a round; [`NeedsInput`] asks several at once.
    ///
    /// # Errors
    /// When there is no answer yet, or the answer does not have the requested form.
    pub fn ask<Q: Question>(&self, key: &str, question: Q) -> Result<Q::Answer, crate::Failure> {
        match self.raw_answer(key) {
            Some(answer) => Ok(question.parse_answer(answer)?),
            None => Err(NeedsInput::new().ask(key, question).into()),
        }
    }

    /// Returns the answer to a question of an earlier round, if there is one.
    ///
    /// # Errors
    /// When the answer does not have the requested form.
    pub fn answer<Q: Question>(
        &self,
        key: &str,
        question: &Q,
    ) -> Result<Option<Q::Answer>, ProtocolError> {
        self.raw_answer(key)
            .map(|answer| question.parse_answer(answer))
            .transpose()
    }

    /// Returns the answer to a question of an earlier round as raw JSON, if there is one.
    #[must_use]
    pub fn raw_answer(&self, key: &str) -> Option<&Json> {
        self.round.as_deref()?.answer(key)
    }

    /// Returns the state that [`NeedsInput::request_state`] kept in the last round.
    ///
    /// # Errors
    /// When the state has another type.
    pub fn request_state<T: DeserializeOwned>(&self) -> Result<Option<T>, ProtocolError> {
        let Some(state) = self.round.as_deref().and_then(|round| round.state.as_ref()) else {
            return Ok(None);
        };
        state.decode().map(Some).map_err(|error| {
            let reason = describe_mismatch(state.as_str(), &error);
            ProtocolError::internal(format!(
                "the state kept by NeedsInput::request_state has another type: {reason}"
            ))
        })
    }
}

/// Notifies one client that a URL elicitation is complete. Cheap to clone, and usable for as long
/// as the client's session lives.
///
/// Only the revision that has this notification sends it; for clients of all others, nothing
/// happens.
///
/// Specification: client/elicitation, "Completion Notifications" (2025-11-25).
#[derive(Debug, Clone)]
pub struct ElicitationNotifier(Option<Peer>);

impl ElicitationNotifier {
    /// Sends `notifications/elicitation/complete` for the elicitation with this `elicitation_id`.
    pub async fn notify_complete(&self, elicitation_id: impl Into<String>) {
        if let Some(peer) = &self.0 {
            let method = Method::ElicitationComplete.as_str();
            let params = ElicitationCompleteNotificationParams::new(elicitation_id);
            peer.notify(method, params).await;
        }
    }
}
