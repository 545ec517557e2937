//! Rounds of input in the modern era: the answers and state that a retry brings back, and the
//! questions and state that a run sends out.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use turnbuckle_session::handler::RequestContext;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{InputRequests, InputRequiredResult, Json, Map, ProtocolError};
use turnbuckle_wire::era::Params;

use super::answer_log::{AnswerLog, SealedAnswerLog};
use super::bound_request::BoundRequest;
use super::canonical;
use super::declared::check;
use super::leg::{Leg, LegQuestions};
use super::once_claims::OnceRecords;
use super::request_identity::{RequestIdentity, now};
use super::request_state::{MAX_STATE_BYTES, SealError, StateBinding, StateError, StateKeys};
use crate::error::NeedsInput;

/// The most input responses in one request.
const MAX_RESPONSES: usize = 1024;

/// The name of a request in the records of its effects, which is made when it is needed first.
pub(crate) type SharedIdentity = Arc<OnceLock<RequestIdentity>>;

/// The answers and state of one round of a request.
#[derive(Default)]
pub(crate) struct InputRound {
    answers: Map<Json>,
    pub(crate) state: Option<Json>,
    /// The answers that the handler has read, which it will read again in the next run.
    used_answers: Mutex<Map<Json>>,
    /// The log of questions asked with an [`Ask`](super::Ask).
    pub(crate) answer_log: AnswerLog,
    /// True if the handler takes an [`Ask`](super::Ask).
    pub(crate) has_ask: bool,
    /// True if the request has answers but no sealed state.
    without_state: bool,
    /// The name of the request in the records of its effects, once there is one; the same for all runs
    /// of the round.
    identity: SharedIdentity,
    /// The run inside of a task that the round belongs to.
    leg: Option<Arc<Leg>>,
}

impl InputRound {
    /// Returns the round of a request that brings back nothing from an earlier one.
    pub(crate) fn first(identity: SharedIdentity) -> Self {
        Self {
            identity,
            ..Self::default()
        }
    }

    /// Returns this round, the first of a request, for a handler that takes an [`Ask`](super::Ask).
    pub(crate) fn asking(self, legacy: bool) -> Self {
        Self {
            answer_log: AnswerLog::new(legacy),
            has_ask: true,
            ..self
        }
    }

    /// Returns the same round for a run that is inside of a task or may become one.
    #[cfg(feature = "tasks")]
    pub(crate) fn in_leg(&self, leg: Arc<Leg>) -> Self {
        Self {
            answers: self.answers.clone(),
            state: self.state.clone(),
            used_answers: Mutex::default(),
            answer_log: self.answer_log.for_repeat(false),
            has_ask: self.has_ask,
            without_state: self.without_state,
            identity: self.identity.clone(),
            leg: Some(leg),
        }
    }

    /// Returns the name of the request in the records of its effects, which is made now if there is none, for
    /// a request that goes on for this time.
    #[cfg(feature = "tasks")]
    pub(crate) fn identity_for(
        &self,
        time: std::time::Duration,
    ) -> Result<RequestIdentity, ProtocolError> {
        if let Some(identity) = self.identity.get() {
            return Ok(identity.clone());
        }
        let identity = RequestIdentity::new(time.as_secs())
            .map_err(|error| ProtocolError::internal(error.to_string()))?;
        Ok(self.identity.get_or_init(|| identity).clone())
    }

    /// Returns what a run needs that begins as this one does, in the form that
    /// [`unpark`](InputRounds::unpark) reads.
    #[cfg(feature = "tasks")]
    pub(crate) fn to_parked(&self) -> Result<String, ProtocolError> {
        let answer_log = self.answer_log.seal(&InputRequests::new(), false)?;
        if self.answers.is_empty() && self.state.is_none() && answer_log.is_none() {
            return Ok(String::new());
        }
        let state = Sealed {
            answers: self.answers.clone(),
            state: self.state.clone(),
            answer_log,
            identity: None,
        };
        Ok(String::from_utf8_lossy(&encode(&state)?).into_owned())
    }

    /// Returns the run that is inside of a task or may become one, if the round belongs to one.
    pub(crate) fn leg(&self) -> Option<&Leg> {
        self.leg.as_deref()
    }

    /// Returns the run that is inside of a task, if the round belongs to one now.
    pub(crate) fn task_leg(&self) -> Option<&Leg> {
        self.leg.as_deref().filter(|leg| leg.is_in_task())
    }

    /// Returns whether a request brings back nothing from an earlier round.
    pub(crate) fn is_first_round(params: &Params<'_>) -> bool {
        params.input_responses.is_none() && params.request_state.is_none()
    }

    /// Returns the same round for one run of a handler that takes an [`Ask`](super::Ask). Each run
    /// has its own answer log, since a layer may repeat the call.
    pub(crate) fn with_answer_log(&self, legacy: bool) -> Self {
        Self {
            answers: self.answers.clone(),
            state: self.state.clone(),
            used_answers: Mutex::default(),
            answer_log: self.answer_log.for_repeat(legacy),
            has_ask: true,
            without_state: self.without_state,
            identity: self.identity.clone(),
            leg: self.leg.clone(),
        }
    }

    /// Returns the round that follows this one in a legacy session, where nothing has to be sealed.
    pub(crate) fn next_legacy_round(&self, answers: Map<Json>, state: Option<Json>) -> Self {
        let mut all = self.answers.clone();
        for (key, answer) in answers.iter() {
            all.insert(key, answer.clone());
        }
        Self {
            answers: all,
            state,
            used_answers: Mutex::default(),
            answer_log: self.answer_log.for_next_run(),
            has_ask: self.has_ask,
            without_state: false,
            identity: self.identity.clone(),
            leg: self.leg.clone(),
        }
    }

    /// Takes over what earlier rounds have kept, and the answers since.
    fn resume(&mut self, kept: Sealed, answers: &Map<Json>) -> Result<(), ProtocolError> {
        self.answers = kept.answers;
        for (key, answer) in answers.iter() {
            self.answers.insert(key, answer.clone());
        }
        self.state = kept.state;
        if let Some(answer_log) = kept.answer_log {
            self.answer_log = answer_log
                .resume(&self.answers)
                .ok_or_else(|| ProtocolError::invalid_params(StateError::NotOurs.to_string()))?;
        }
        Ok(())
    }

    /// Returns the answer with this key, and marks it as used.
    pub(crate) fn answer(&self, key: &str) -> Option<&Json> {
        let answer = self.answers.get(key)?;
        self.used_answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, answer.clone());
        Some(answer)
    }

    /// Returns the answer to a question that was not asked yet: a client that knows the key of a
    /// question can send its answer with the first request.
    pub(crate) fn unsolicited_answer(&self, key: &str) -> Option<&Json> {
        self.answers.get(key).filter(|_| self.without_state)
    }
}

// The answers and the state may be confidential.
debug_fields!(InputRound {
    answers = |round| round.answers.len(),
    has_state = |round| round.state.is_some(),
    answer_log,
});

/// The content of a sealed state.
#[derive(serde::Serialize, serde::Deserialize)]
struct Sealed {
    #[serde(rename = "a", default)]
    answers: Map<Json>,
    #[serde(rename = "s", default)]
    state: Option<Json>,
    #[serde(rename = "j", default, skip_serializing_if = "Option::is_none")]
    answer_log: Option<SealedAnswerLog>,
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    identity: Option<RequestIdentity>,
}

impl Sealed {
    /// Returns the largest part, for an error message.
    fn largest(&self) -> Option<(&str, &str, usize)> {
        let answers = self.answers.iter();
        let answers = answers.map(|(key, it)| ("the answer to", key, it.as_str().len()));
        let state = self.state.as_ref();
        let state = state.map(|it| ("the handler's", "state", it.as_str().len()));
        let logged = self.answer_log.iter().flat_map(SealedAnswerLog::part_sizes);
        answers
            .chain(state)
            .chain(logged)
            .max_by_key(|(.., size)| *size)
    }
}

/// Opens and seals request state, with the settings for rounds of input.
#[derive(Debug)]
pub(crate) struct InputRounds {
    pub(crate) keys: StateKeys,
    /// The time that a sealed state is accepted, in seconds.
    pub(crate) ttl_secs: u64,
    /// The most rounds of one request of a legacy client.
    pub(crate) max: usize,
    /// The records of effects, if the server has a store.
    pub(crate) once: OnceRecords,
}

impl InputRounds {
    /// Returns the answers and state that a request brings back from an earlier round, if any.
    pub(crate) fn open(
        &self,
        params: &Params<'_>,
        target: &BoundRequest<'_>,
        call: &RequestContext,
    ) -> Result<Option<InputRound>, ProtocolError> {
        if InputRound::is_first_round(params) {
            return Ok(None);
        }
        let mut round = InputRound {
            without_state: params.request_state.is_none(),
            ..InputRound::default()
        };
        let mut opened = None;
        if let Some(raw) = params.request_state {
            let state = raw.text().ok_or_else(|| {
                ProtocolError::invalid_params("\"requestState\" must be a string")
            })?;
            let payload = self
                .bind(target, call, |binding| {
                    self.keys.open(binding, now(), &state)
                })?
                .map_err(|error: StateError| ProtocolError::invalid_params(error.to_string()))?;
            let sealed: Sealed = serde_json::from_slice(&payload)
                .map_err(|_| ProtocolError::invalid_params(StateError::NotOurs.to_string()))?;
            opened = Some(sealed);
        }
        if let Some(raw) = params.input_responses {
            let responses: Map<Json> = raw.decode().map_err(|_| {
                ProtocolError::invalid_params("\"inputResponses\" must be an object")
            })?;
            if responses.len() > MAX_RESPONSES {
                return Err(ProtocolError::invalid_params(format!(
                    "there are more than {MAX_RESPONSES} input responses"
                )));
            }
            for (key, answer) in responses.iter() {
                if !answer.is_object() {
                    return Err(ProtocolError::invalid_params(format!(
                        "the input response \"{key:.64}\" must be an object"
                    )));
                }
                round.answers.insert(key, answer.clone());
            }
        }
        if let Some(sealed) = opened {
            let answers = std::mem::take(&mut round.answers);
            if let Some(identity) = sealed.identity.clone() {
                round.identity = Arc::new(OnceLock::from(identity));
            }
            round.resume(sealed, &answers)?;
        }
        Ok(Some(round))
    }

    /// Builds the `input_required` result of a run that needs more input.
    pub(crate) fn seal(
        &self,
        needs: NeedsInput,
        round: Option<&InputRound>,
        target: &BoundRequest<'_>,
        call: &RequestContext,
    ) -> Result<InputRequiredResult, ProtocolError> {
        let (requests, state) = self.collect(needs, round, call)?;
        let mut required = InputRequiredResult::new();
        if let Some(state) = state {
            required.request_state = Some(self.encode_and_seal(&state, target, call)?);
        }
        required.input_requests = requests;
        Ok(required)
    }

    /// Collects what the next run of a task needs. It is kept by the server, so that nothing is sealed here.
    pub(crate) fn park(
        &self,
        needs: NeedsInput,
        round: Option<&InputRound>,
        call: &RequestContext,
    ) -> Result<LegQuestions, ProtocolError> {
        let (requests, state) = self.collect(needs, round, call)?;
        let state = match state {
            Some(state) => String::from_utf8_lossy(&encode(&state)?).into_owned(),
            None => String::new(),
        };
        if state.len() > MAX_STATE_BYTES {
            return Err(ProtocolError::internal(format!(
                "what the task keeps between its questions takes {} bytes, and may take \
                 {MAX_STATE_BYTES}",
                state.len()
            )));
        }
        Ok(LegQuestions { requests, state })
    }

    /// Returns the round in which a task goes on, with what [`park`](Self::park) kept and the answers since.
    ///
    /// # Errors
    /// When the state is not one that this server writes.
    #[cfg(feature = "tasks")]
    pub(crate) fn unpark(
        &self,
        state: &str,
        answers: &Map<Json>,
        identity: RequestIdentity,
    ) -> Result<InputRound, ProtocolError> {
        let mut round = InputRound {
            identity: Arc::new(OnceLock::from(identity)),
            ..InputRound::default()
        };
        if state.is_empty() {
            round.answers = answers.clone();
        } else {
            let state: Sealed = serde_json::from_str(state).map_err(|error| {
                ProtocolError::internal(format!("the record of the task is not readable: {error}"))
            })?;
            round.resume(state, answers)?;
        }
        Ok(round)
    }

    /// Checks the questions of a run, and collects them with what the next run needs, if it needs anything.
    fn collect(
        &self,
        needs: NeedsInput,
        round: Option<&InputRound>,
        call: &RequestContext,
    ) -> Result<(InputRequests, Option<Sealed>), ProtocolError> {
        let needs = needs.into_needs();
        check(&needs.requests, call)?;
        let answers = round.map_or_else(Map::new, |round| {
            round
                .used_answers
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone()
        });
        let answer_log = match round {
            Some(round) => round.answer_log.seal(&needs.requests, round.has_ask)?,
            None => None,
        };
        // All rounds need the identity, also those before the first effect.
        let identity = match round {
            Some(round) if self.once.0.is_some() => Some(self.identity(round)?.clone()),
            Some(round) => round.identity.get().cloned(),
            None => None,
        };
        let state = (needs.state.is_some() || !answers.is_empty() || answer_log.is_some())
            .then_some(Sealed {
                answers,
                state: needs.state,
                answer_log,
                identity,
            });
        Ok((needs.requests, state))
    }

    /// Returns the identity of the request that a round belongs to, which is made when it is needed
    /// first.
    pub(crate) fn identity<'r>(
        &self,
        round: &'r InputRound,
    ) -> Result<&'r RequestIdentity, ProtocolError> {
        if let Some(identity) = round.identity.get() {
            return Ok(identity);
        }
        let identity = RequestIdentity::new(self.ttl_secs)
            .map_err(|error| ProtocolError::internal(error.to_string()))?;
        Ok(round.identity.get_or_init(|| identity))
    }

    /// Encodes and seals a state.
    fn encode_and_seal(
        &self,
        sealed: &Sealed,
        target: &BoundRequest<'_>,
        call: &RequestContext,
    ) -> Result<String, ProtocolError> {
        let payload = encode(sealed)?;
        let mut expires = now().saturating_add(self.ttl_secs);
        if let Some(identity) = &sealed.identity {
            expires = expires.min(identity.expires_at);
        }
        self.bind(target, call, |binding| {
            self.keys.seal(binding, expires, &payload)
        })?
        .map_err(|error| match (error, sealed.largest()) {
            (SealError::TooLarge, Some((what, name, size))) => {
                ProtocolError::internal(format!("{error}: {what} {name:?} takes {size}"))
            }
            _ => ProtocolError::internal(error.to_string()),
        })
    }

    /// Calls `with` with the binding of a request.
    fn bind<T>(
        &self,
        target: &BoundRequest<'_>,
        call: &RequestContext,
        with: impl FnOnce(&StateBinding<'_>) -> T,
    ) -> Result<T, ProtocolError> {
        let arguments = canonical::canonical_arguments(target.arguments)
            .map_err(|_| ProtocolError::invalid_params("the arguments are nested too deep"))?;
        let principal = call.principal();
        let BoundRequest { method, name, .. } = target;
        Ok(with(&StateBinding {
            method,
            target: name,
            arguments: &arguments,
            principal,
        }))
    }
}

fn encode(state: &Sealed) -> Result<Vec<u8>, ProtocolError> {
    serde_json::to_vec(state).map_err(|error| {
        ProtocolError::internal(format!("the request state cannot be encoded: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_has_no_answers_and_no_state() {
        let json = |text: &str| serde_json::from_str::<Json>(text).unwrap();
        let mut answers = Map::new();
        answers.insert(
            "name",
            json(r#"{"action":"accept","content":{"name":"Ada"}}"#),
        );
        let round = InputRound::default().next_legacy_round(answers, Some(json(r#""a secret""#)));
        assert!(round.answer("name").is_some());
        let needs = NeedsInput::new().ask("name", super::super::Roots);
        let needs = needs.request_state("a secret").unwrap();
        let shown = format!("{round:?} {round:#?} {needs:?} {needs:#?}");
        assert!(
            !shown.contains("Ada") && !shown.contains("secret"),
            "{shown}"
        );
        assert!(
            shown.contains("answers: 1") && shown.contains("\"name\""),
            "{shown}"
        );
    }
}
