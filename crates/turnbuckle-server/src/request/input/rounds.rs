//! Rounds of input in the modern era: the answers and state that a retry brings back, and the
//! questions and state that a run sends out.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use turnbuckle_session::handler::RequestContext;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{
    ClientCapabilities, ElicitRequestParams, ElicitationCapability, IncludeContext, InputRequest,
    InputRequests, InputRequiredResult, Json, Map, ProtocolError, RawJson, RootsCapability,
    SamplingCapability, Settings, check_tool_use_pairing,
};
use turnbuckle_wire::era::{Params, headers::mirrored_name};
use turnbuckle_wire::revision::{Features, Method};

use super::answer_log::{AnswerLog, SealedAnswerLog};
use super::canonical;
use super::check_elicitation_url;
use super::once_claims::OnceRecords;
use super::request_identity::{RequestIdentity, now};
use super::request_state::{SealError, StateBinding, StateError, StateKeys};
use crate::error::NeedsInput;

/// The most input responses in one request.
const MAX_RESPONSES: usize = 1024;

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
    identity: Arc<OnceLock<RequestIdentity>>,
}

impl InputRound {
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
        }
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

/// The method, name and arguments of the request that a state is bound to.
#[derive(Debug)]
pub(crate) struct BoundRequest<'a> {
    method: &'static str,
    name: Cow<'a, str>,
    arguments: Option<RawJson<'a>>,
}

impl<'a> BoundRequest<'a> {
    pub(crate) fn new(method: Method, params: &Params<'a>) -> Self {
        // Other members of the params may have names, too; the method's table decides which one counts.
        let named = mirrored_name(method, params).flatten();
        let named = named.and_then(RawJson::text);
        Self {
            method: method.as_str(),
            name: named.unwrap_or_default(),
            arguments: params.arguments,
        }
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
        let mut answer_log = None;
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
            round.answers = sealed.answers;
            round.state = sealed.state;
            round.identity = Arc::new(sealed.identity.map(OnceLock::from).unwrap_or_default());
            answer_log = sealed.answer_log;
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
        if let Some(sealed) = answer_log {
            round.answer_log = sealed
                .resume(&round.answers)
                .ok_or_else(|| ProtocolError::invalid_params(StateError::NotOurs.to_string()))?;
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
        let mut required = InputRequiredResult::new();
        if needs.state.is_some() || !answers.is_empty() || answer_log.is_some() {
            // All rounds need the identity, also those before the first effect.
            let identity = match round.filter(|_| self.once.0.is_some()) {
                Some(round) => Some(self.identity(round)?.clone()),
                None => None,
            };
            let sealed = Sealed {
                answers,
                state: needs.state,
                answer_log,
                identity,
            };
            required.request_state = Some(self.encode_and_seal(&sealed, target, call)?);
        }
        required.input_requests = needs.requests;
        Ok(required)
    }

    /// Returns the identity of the request that a round belongs to, which is made when it is needed
    /// first.
    pub(super) fn identity<'r>(
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
        let payload = serde_json::to_vec(sealed).map_err(|error| {
            ProtocolError::internal(format!("the request state cannot be encoded: {error}"))
        })?;
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

/// Checks that the client declared the capabilities that answering requires, and that the questions
/// are valid.
pub(crate) fn check(requests: &InputRequests, call: &RequestContext) -> Result<(), ProtocolError> {
    let mut needed = ClientCapabilities::new();
    for request in requests.values() {
        need(&mut needed, request, call.features());
    }
    check_declared(&needed, call)?;
    requests.values().try_for_each(check_content)
}

/// Checks one question in the same way.
pub(crate) fn check_one(
    request: &InputRequest,
    call: &RequestContext,
) -> Result<(), ProtocolError> {
    let mut needed = ClientCapabilities::new();
    need(&mut needed, request, call.features());
    check_declared(&needed, call)?;
    check_content(request)
}

fn check_declared(needed: &ClientCapabilities, call: &RequestContext) -> Result<(), ProtocolError> {
    let Some(missing) = call.client_capabilities().missing(needed) else {
        return Ok(());
    };
    let names = turnbuckle_wire::json::to_vec(&missing)
        .ok()
        .and_then(|json| String::from_utf8(json).ok())
        .unwrap_or_default();
    Err(ProtocolError::missing_required_client_capability(
        missing,
        format!("the client did not declare what this needs: {names}"),
    ))
}

fn check_content(request: &InputRequest) -> Result<(), ProtocolError> {
    match request {
        InputRequest::CreateMessage(params) => check_tool_use_pairing(&params.messages)
            .map_err(|error| ProtocolError::internal(error.to_string())),
        InputRequest::Elicit(ElicitRequestParams::Url(params)) => check_elicitation_url(params),
        _ => Ok(()),
    }
}

/// Adds the capabilities that a question requires.
fn need(needed: &mut ClientCapabilities, request: &InputRequest, features: &Features) {
    match request {
        InputRequest::Elicit(params) => {
            let elicitation = needed
                .elicitation
                .get_or_insert_with(ElicitationCapability::new);
            match params {
                ElicitRequestParams::Url(_) => elicitation.url = Some(Settings::new()),
                _ => elicitation.form = Some(Settings::new()),
            }
        }
        InputRequest::CreateMessage(params) => {
            let sampling = needed.sampling.get_or_insert_with(SamplingCapability::new);
            if params.tools.is_some() || params.tool_choice.is_some() {
                sampling.tools = Some(Settings::new());
            }
            // Revisions without tools in sampling have no capability for context either.
            let context = params.include_context.as_ref();
            let context = context.filter(|_| features.sampling_tools);
            if context.is_some_and(|context| *context != IncludeContext::None) {
                sampling.context = Some(Settings::new());
            }
        }
        InputRequest::ListRoots(_) => {
            needed.roots.get_or_insert_with(RootsCapability::new);
        }
        _ => {}
    }
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
