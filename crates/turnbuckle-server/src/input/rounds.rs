//! The rounds of a modern request: what a retry brings back, and what a round that needs more
//! sends out.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use turnbuckle_session::Context as Call;
use turnbuckle_types::{
    ClientCapabilities, ElicitParams, ElicitationCapability, Error, IncludeContext, InputRequest,
    InputRequests, InputRequired, Json, Map, RawJson, RootsCapability, SamplingCapability,
    Settings, check_tool_use_pairing,
};
use turnbuckle_wire::era::{Params, headers::mirrored_name};
use turnbuckle_wire::revision::{Features, Method};

use super::canonical;
use super::journal::{Journal, KeptJournal};
use super::state::{Binding, KeyRing, SealError, StateError};
use super::{NeedsInput, check_target};

/// The most input responses that one request may bring.
const MAX_RESPONSES: usize = 1024;

/// What one round of a request knows.
#[derive(Default)]
pub(crate) struct Round {
    answers: Map<Json>,
    state: Option<Json>,
    /// The answers that the handler looked at: those it will look at again.
    used: Mutex<Map<Json>>,
    /// What was asked by an [`Ask`](super::Ask).
    journal: Journal,
    /// Whether the handler has one.
    asks: bool,
    /// Whether it came with answers alone, without what an earlier round sealed.
    unsealed: bool,
}

impl Round {
    /// Whether a request brings nothing back from an earlier round.
    pub(crate) fn is_first(params: &Params<'_>) -> bool {
        params.input_responses.is_none() && params.request_state.is_none()
    }

    /// The same round for one run of a handler that may ask in the middle: with a journal of its
    /// own, since a layer may repeat the call.
    pub(crate) fn asking(&self, legacy: bool) -> Self {
        Self {
            answers: self.answers.clone(),
            state: self.state.clone(),
            used: Mutex::default(),
            journal: self.journal.again(legacy),
            asks: true,
            unsealed: self.unsealed,
        }
    }

    pub(crate) fn asks(&self) -> bool {
        self.asks
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The round that follows this one on a legacy session, which keeps everything itself.
    pub(crate) fn next(&self, answers: Map<Json>, state: Option<Json>) -> Self {
        let mut known = self.answers.clone();
        for (key, answer) in answers.iter() {
            known.insert(key, answer.clone());
        }
        Self {
            answers: known,
            state,
            used: Mutex::default(),
            journal: self.journal.next(),
            asks: self.asks,
            unsealed: false,
        }
    }

    pub(crate) fn answer(&self, key: &str) -> Option<&Json> {
        let answer = self.answers.get(key)?;
        self.used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, answer.clone());
        Some(answer)
    }

    /// The answer to a question that was not asked yet: a client that knows its key may bring it
    /// along with the request.
    pub(crate) fn brought(&self, key: &str) -> Option<&Json> {
        self.answers.get(key).filter(|_| self.unsealed)
    }

    pub(crate) fn state(&self) -> Option<&Json> {
        self.state.as_ref()
    }
}

/// Says nothing of what was answered and kept.
impl fmt::Debug for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Round")
            .field("answers", &self.answers.len())
            .field("has_state", &self.state.is_some())
            .field("journal", &self.journal)
            .finish_non_exhaustive()
    }
}

/// What a sealed state holds.
#[derive(serde::Serialize, serde::Deserialize)]
struct Sealed {
    #[serde(rename = "a", default)]
    answers: Map<Json>,
    #[serde(rename = "s", default)]
    state: Option<Json>,
    #[serde(rename = "j", default, skip_serializing_if = "Option::is_none")]
    journal: Option<KeptJournal>,
}

impl Sealed {
    /// What takes the most room.
    fn largest(&self) -> Option<(&str, &str, usize)> {
        let answers = self.answers.iter();
        let answers = answers.map(|(key, it)| ("the answer to", key, it.as_str().len()));
        let state = self.state.as_ref();
        let state = state.map(|it| ("the handler's", "state", it.as_str().len()));
        let kept = self.journal.iter().flat_map(KeptJournal::parts);
        answers
            .chain(state)
            .chain(kept)
            .max_by_key(|(.., size)| *size)
    }
}

/// The request that a state is bound to.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    method: &'static str,
    name: Cow<'a, str>,
    arguments: Option<RawJson<'a>>,
}

impl<'a> Target<'a> {
    pub(crate) fn of(method: Method, params: &Params<'a>) -> Self {
        // Other members may be there too, and say anything.
        let named = mirrored_name(method, params).flatten();
        let named = named.and_then(RawJson::text);
        Self {
            method: method.as_str(),
            name: named.unwrap_or_default(),
            arguments: params.arguments,
        }
    }
}

/// How rounds are kept together.
#[derive(Debug)]
pub(crate) struct Rounds {
    pub(crate) keys: KeyRing,
    /// How long a client may take for its answers, in seconds.
    pub(crate) lifetime: u64,
    /// How often a handler may ask in one request.
    pub(crate) max: usize,
}

impl Rounds {
    /// What a request brings back from an earlier round, if anything.
    pub(crate) fn open(
        &self,
        params: &Params<'_>,
        target: &Target<'_>,
        call: &Call,
    ) -> Result<Option<Round>, Error> {
        if Round::is_first(params) {
            return Ok(None);
        }
        let mut round = Round {
            unsealed: params.request_state.is_none(),
            ..Round::default()
        };
        let mut kept = None;
        if let Some(raw) = params.request_state {
            let state = raw
                .text()
                .ok_or_else(|| Error::invalid_params("\"requestState\" must be a string"))?;
            let payload = self
                .bind(target, call, |binding| {
                    self.keys.open(binding, now(), &state)
                })?
                .map_err(|error: StateError| Error::invalid_params(error.to_string()))?;
            let sealed: Sealed = serde_json::from_slice(&payload)
                .map_err(|_| Error::invalid_params(StateError::NotOurs.to_string()))?;
            round.answers = sealed.answers;
            round.state = sealed.state;
            kept = sealed.journal;
        }
        if let Some(raw) = params.input_responses {
            let responses: Map<Json> = raw
                .decode()
                .map_err(|_| Error::invalid_params("\"inputResponses\" must be an object"))?;
            if responses.len() > MAX_RESPONSES {
                return Err(Error::invalid_params(format!(
                    "there are more than {MAX_RESPONSES} input responses"
                )));
            }
            for (key, answer) in responses.iter() {
                if !answer.is_object() {
                    return Err(Error::invalid_params(format!(
                        "the input response \"{key:.64}\" must be an object"
                    )));
                }
                round.answers.insert(key, answer.clone());
            }
        }
        if let Some(kept) = kept {
            round.journal = kept
                .resumed(&round.answers)
                .ok_or_else(|| Error::invalid_params(StateError::NotOurs.to_string()))?;
        }
        Ok(Some(round))
    }

    /// What a round that needs more sends to a modern client.
    pub(crate) fn seal(
        &self,
        needs: NeedsInput,
        round: Option<&Round>,
        target: &Target<'_>,
        call: &Call,
    ) -> Result<InputRequired, Error> {
        check(&needs.requests, call)?;
        let answers = round.map_or_else(Map::new, |round| {
            round
                .used
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone()
        });
        let journal = match round {
            Some(round) => round.journal.kept(&needs.requests, round.asks)?,
            None => None,
        };
        let mut required = InputRequired::new();
        if needs.state.is_some() || !answers.is_empty() || journal.is_some() {
            let sealed = Sealed {
                answers,
                state: needs.state,
                journal,
            };
            required.request_state = Some(self.sealed(&sealed, target, call)?);
        }
        required.input_requests = needs.requests;
        Ok(required)
    }

    fn sealed(&self, sealed: &Sealed, target: &Target<'_>, call: &Call) -> Result<String, Error> {
        let payload = serde_json::to_vec(sealed)
            .map_err(|error| Error::internal(format!("the state has no form: {error}")))?;
        let expires = now().saturating_add(self.lifetime);
        self.bind(target, call, |binding| {
            self.keys.seal(binding, expires, &payload)
        })?
        .map_err(|error| match (error, sealed.largest()) {
            (SealError::TooLarge, Some((what, name, size))) => {
                Error::internal(format!("{error}: {what} {name:?} takes {size}"))
            }
            _ => Error::internal(error.to_string()),
        })
    }

    fn bind<T>(
        &self,
        target: &Target<'_>,
        call: &Call,
        with: impl FnOnce(&Binding<'_>) -> T,
    ) -> Result<T, Error> {
        let arguments = canonical::of_arguments(target.arguments)
            .map_err(|_| Error::invalid_params("the arguments are nested too deep"))?;
        let principal = call.principal();
        let Target { method, name, .. } = target;
        Ok(with(&Binding {
            method,
            target: name,
            arguments: &arguments,
            principal,
        }))
    }
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// Whether the client declared what it would need to answer. What it did not is never asked.
pub(crate) fn check(requests: &InputRequests, call: &Call) -> Result<(), Error> {
    let mut needed = ClientCapabilities::new();
    for request in requests.values() {
        need(&mut needed, request, call.features());
    }
    check_declared(&needed, call)?;
    requests.values().try_for_each(check_content)
}

/// The same for one question.
pub(crate) fn check_one(request: &InputRequest, call: &Call) -> Result<(), Error> {
    let mut needed = ClientCapabilities::new();
    need(&mut needed, request, call.features());
    check_declared(&needed, call)?;
    check_content(request)
}

fn check_declared(needed: &ClientCapabilities, call: &Call) -> Result<(), Error> {
    let Some(missing) = call.client_capabilities().missing(needed) else {
        return Ok(());
    };
    let names = turnbuckle_wire::json::to_vec(&missing)
        .ok()
        .and_then(|json| String::from_utf8(json).ok())
        .unwrap_or_default();
    Err(Error::missing_capability(
        missing,
        format!("the client did not declare what this needs: {names}"),
    ))
}

fn check_content(request: &InputRequest) -> Result<(), Error> {
    match request {
        InputRequest::CreateMessage(params) => check_tool_use_pairing(&params.messages)
            .map_err(|error| Error::internal(error.to_string())),
        InputRequest::Elicit(ElicitParams::Url(params)) => check_target(params),
        _ => Ok(()),
    }
}

fn need(needed: &mut ClientCapabilities, request: &InputRequest, features: &Features) {
    match request {
        InputRequest::Elicit(params) => {
            let elicitation = needed
                .elicitation
                .get_or_insert_with(ElicitationCapability::new);
            match params {
                ElicitParams::Url(_) => elicitation.url = Some(Settings::new()),
                _ => elicitation.form = Some(Settings::new()),
            }
        }
        InputRequest::CreateMessage(params) => {
            let sampling = needed.sampling.get_or_insert_with(SamplingCapability::new);
            if params.tools.is_some() || params.tool_choice.is_some() {
                sampling.tools = Some(Settings::new());
            }
            // Before tools came, context was a part of sampling as such.
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
    fn what_was_answered_and_kept_is_not_in_a_log() {
        let json = |text: &str| serde_json::from_str::<Json>(text).unwrap();
        let mut answers = Map::new();
        answers.insert(
            "name",
            json(r#"{"action":"accept","content":{"name":"Ada"}}"#),
        );
        let round = Round::default().next(answers, Some(json(r#""a secret""#)));
        assert!(round.answer("name").is_some());
        let needs = NeedsInput::new().ask("name", super::super::Roots);
        let needs = needs.state("a secret").unwrap();
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
