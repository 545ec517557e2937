//! Asks the client, in the way of each era.

use std::time::Duration;

use serde_json::{Map, Value, json};
use turnbuckle_types::base::random;

use super::super::lock;
use super::call::Call;
use super::questions::{Ask, RequestState, form, name};
use super::refusal::Refusal;

/// Time that a client of the legacy era has for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// States that are kept for retries; older ones are forgotten all at once.
const MAX_STATES: usize = 1000;

/// The reason for which a request is not answered yet.
pub(super) enum Pending {
    /// The client has to answer questions and send the request again.
    Required(Value),
    /// The state that the client sent is wrong.
    Refused(Refusal),
    /// The client did not answer.
    Failed(String),
}

impl Call {
    /// Asks the client, and returns its answers by their keys.
    pub(super) async fn ask(&self, asks: impl IntoIterator<Item = Ask>) -> Result<Value, Pending> {
        let asks: Vec<_> = asks.into_iter().collect();
        if !self.is_modern() {
            return self.ask_by_requests(asks).await;
        }
        self.check_answers()?;
        // These questions have no state: one that comes is not of this request.
        self.take_state()?;
        let given = self.given(&asks, Map::new());
        match missing(&asks, &given) {
            missing if missing.is_empty() => Ok(given.into()),
            // Without a state there is nowhere to keep the answers.
            _ => Err(Pending::Required(required(
                &asks.iter().collect::<Vec<_>>(),
            ))),
        }
    }

    /// Asks a client of the modern era, and keeps in a state what it has answered.
    pub(super) async fn ask_with_state(
        &self,
        asks: impl IntoIterator<Item = Ask>,
    ) -> Result<Value, Pending> {
        let asks: Vec<_> = asks.into_iter().collect();
        let state = self.take_state()?;
        let asked_before = state.is_some();
        let given = state.map(|state| state.given).unwrap_or_default();
        let given = self.given(&asks, given);
        let missing = missing(&asks, &given);
        if missing.is_empty() && asked_before {
            return Ok(given.into());
        }
        let missing = if missing.is_empty() {
            asks.iter().collect()
        } else {
            missing
        };
        Err(self.require(&missing, 1, given))
    }

    /// Asks two questions, the second once the first is answered.
    pub(super) async fn ask_twice(&self) -> Result<Value, Pending> {
        let first = [form("step1", "First?", name())];
        let second = [form("step2", "Second?", name())];
        let (round, given) = match self.take_state()? {
            None => return Err(self.require(&[&first[0]], 1, Map::new())),
            Some(state) => (state.round, state.given),
        };
        let asks = if round == 1 { &first } else { &second };
        let given = self.given(asks, given);
        match (missing(asks, &given).is_empty(), round) {
            (true, 1) => Err(self.require(&[&second[0]], 2, given)),
            (true, _) => Ok(given.into()),
            (false, round) => Err(self.require(&[&asks[0]], round, given)),
        }
    }

    async fn ask_by_requests(&self, asks: Vec<Ask>) -> Result<Value, Pending> {
        let mut given = Map::new();
        self.session.initialized().await;
        for ask in asks {
            let answer = self.session.ask(&self.outlet, ask.method, &ask.params);
            let answer = tokio::time::timeout(ANSWER_TIMEOUT, answer).await;
            match answer {
                Ok(Ok(response)) if is_wrong_form(&ask, &response["result"]) => {
                    return Err(Pending::Failed("the form is filled in wrongly".into()));
                }
                Ok(Ok(mut response)) if response.get("result").is_some() => {
                    given.insert(ask.key.to_owned(), response["result"].take());
                }
                Ok(Ok(response)) => {
                    return Err(Pending::Failed(format!(
                        "the client refused: {}",
                        response["error"]
                    )));
                }
                _ => return Err(Pending::Failed("the client did not answer".into())),
            }
        }
        Ok(given.into())
    }

    /// Adds the sound answers of the request to those that were given before.
    fn given(&self, asks: &[Ask], mut given: Map<String, Value>) -> Map<String, Value> {
        for ask in asks {
            let answer = &self.params["inputResponses"][ask.key];
            if is_answer(ask.method, answer) && !is_wrong_form(ask, answer) {
                given.insert(ask.key.to_owned(), answer.clone());
            }
        }
        given
    }

    /// Returns what makes a request the same as before: all but its envelope, answers and state.
    fn identity(&self) -> Value {
        let mut params = self.params.clone();
        if let Some(params) = params.as_object_mut() {
            params.retain(|name, _| {
                !["_meta", "inputResponses", "requestState"].contains(&name.as_str())
            });
        }
        json!([self.method, params])
    }

    fn check_answers(&self) -> Result<(), Pending> {
        match self.params.get("inputResponses") {
            None | Some(Value::Object(_)) => Ok(()),
            Some(_) => {
                let refusal = Refusal::new(-32602, "the inputResponses are no object");
                Err(Pending::Refused(refusal))
            }
        }
    }

    fn take_state(&self) -> Result<Option<RequestState>, Pending> {
        let Some(text) = self.params.get("requestState") else {
            return Ok(None);
        };
        let text = text.as_str().unwrap_or_default();
        let state = lock(&self.sound.state.request_states).remove(text);
        match state {
            Some(state) if state.request == self.identity() => Ok(Some(state)),
            _ => {
                let refusal = Refusal::new(-32602, "the requestState is not one of this request");
                Err(Pending::Refused(refusal))
            }
        }
    }

    fn require(&self, asks: &[&Ask], round: usize, given: Map<String, Value>) -> Pending {
        let Ok(text) = random::secret() else {
            return Pending::Refused(Refusal::new(-32603, "no randomness"));
        };
        let mut states = lock(&self.sound.state.request_states);
        if states.len() == MAX_STATES {
            states.clear();
        }
        let request = self.identity();
        states.insert(
            text.clone(),
            RequestState {
                request,
                round,
                given,
            },
        );
        let mut result = required(asks);
        result["requestState"] = text.into();
        Pending::Required(result)
    }
}

fn missing<'a>(asks: &'a [Ask], given: &Map<String, Value>) -> Vec<&'a Ask> {
    asks.iter()
        .filter(|ask| !given.contains_key(ask.key))
        .collect()
}

fn required(asks: &[&Ask]) -> Value {
    let requests: Map<_, _> = asks
        .iter()
        .map(|ask| {
            (
                ask.key.to_owned(),
                json!({"method": ask.method, "params": ask.params}),
            )
        })
        .collect();
    json!({"resultType": "input_required", "inputRequests": requests})
}

/// Returns whether an accepted form has content that its schema refuses.
fn is_wrong_form(ask: &Ask, answer: &Value) -> bool {
    let schema = &ask.params["requestedSchema"];
    answer["action"] == "accept"
        && schema.is_object()
        && !jsonschema::is_valid(schema, answer.get("content").unwrap_or(&Value::Null))
}

fn is_answer(method: &str, answer: &Value) -> bool {
    match method {
        "elicitation/create" => match answer["action"].as_str() {
            Some("accept") => answer.get("content").is_none_or(Value::is_object),
            Some("decline" | "cancel") => true,
            _ => false,
        },
        "sampling/createMessage" => answer["role"].is_string() && !answer["content"].is_null(),
        _ => answer["roots"].is_array(),
    }
}
