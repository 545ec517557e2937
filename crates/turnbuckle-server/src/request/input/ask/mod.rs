//! [`Ask`]: questions to the client as straight code.

mod answer_future;
mod form;
mod form_answer;
mod sampling;

use std::pin::pin;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use turnbuckle_session::internal::block_on;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::base::text::Escaped;
use turnbuckle_types::{
    CreateMessageResult, ElicitAction, ElicitRequestFormParams, ElicitRequestParams,
    ElicitRequestUrlParams, ElicitResult, InputRequest, Json, ProtocolError, Root,
};

use super::answer_log::check_name;
use super::once_claims::{ClaimError, Claimed};
use super::{InputRound, Question, Roots};
use crate::error::AskError;
use crate::error::failure::{Failure, Result};
use crate::request::context::HandlerContext;
use crate::request::extract::{Extract, HandlerRequirements, Invocation, RequestPayload};
use crate::schema::describe_mismatch;

pub use answer_future::AnswerFuture;
pub use sampling::IntoSamplingRequest;

/// Asks the client in the middle of a request: its user with a form or a URL, its model, or for its
/// roots. Cheap to clone.
///
/// ```
/// use turnbuckle_server::{Args, Ask, Failure, Server, Tool};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Deploy {
///     target: String,
/// }
///
/// /// What the form asks for.
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Confirm {
///     /// Really?
///     really: bool,
/// }
///
/// async fn deploy(Args(deploy): Args<Deploy>, ask: Ask) -> Result<String, Failure> {
///     let build: u64 = ask.once("build", async { Ok(42) }).await?;
///     let go: Confirm = ask.form(format!("Deploy build {build} to {}?", deploy.target)).await?;
///     if !go.really {
///         return Ok("nothing was deployed".to_owned());
///     }
///     Ok(format!("build {build} is out"))
/// }
///
/// let server = Server::new("deploy", "1.0.0")
///     .tool(Tool::builder("deploy").handler(deploy))
///     .build()?;
/// # Ok::<(), turnbuckle_server::BuildError>(())
/// ```
///
/// # How it works
///
/// A legacy client is sent a request, and the handler waits for the answer. A modern client cannot
/// be sent requests: its own request is answered with the questions, and the handler's future is
/// dropped. When the client sends the answers, **the handler runs again from its beginning**, and
/// questions that have an answer resolve at once. So the code between two questions runs once for
/// each round: put work that must not be done twice into [`once`](Self::once). If a handler awaits something
/// else at the same time as an answer, that is dropped too, unless it is the body of a `once`.
///
/// Questions that are awaited together (`tokio::join!`) are sent together. Do not race a question
/// against anything else (`select!`): the race could end differently in the next run.
///
/// A handler has to repeat its questions in each run. Questions are identified by their content, and
/// answers are handed out in the order of their rounds. A question that changed between two rounds,
/// is left out, or comes in another order ends the run with [`AskError::Changed`]; it never gets the
/// answer to another question. So a message must not contain text that changes from run to run, such as
/// the time. Equal questions are distinguished by their order; if they are asked in parallel, give
/// each a [`key`](AnswerFuture::key).
///
/// # What sealing protects against
///
/// Between two rounds, answers and values are kept by the client, encrypted and bound to the method,
/// its target, the arguments, the principal and a lifetime
/// ([`request_state_ttl`](crate::ServerBuilder::request_state_ttl)). The client can neither read nor change
/// them. **But it may send the same state twice**: sealing limits a replay to the same request within
/// the lifetime, it does not make a state usable only once. What must happen at most once, such as a
/// payment, goes into [`once`](Self::once) on a server with a store, or needs an idempotency key.
///
/// # Bounds
///
/// A request can ask at most 256 questions, and its answers and values can take at most 64 KiB;
/// otherwise the error is [`AskError::TooLarge`].
///
/// Specification: basic/patterns/mrtr, client/elicitation, client/sampling, client/roots (2026-07-28).
#[derive(Clone)]
pub struct Ask {
    context: HandlerContext,
    round: Arc<InputRound>,
}

impl Ask {
    /// Asks the user to fill in a form with the fields of `T`: text, numbers, booleans, enums
    /// without data, and lists of such enums; optional ones as `Option` or with a default.
    ///
    /// Doc comments become descriptions; those of an enum's variants become titles. Bounds and
    /// formats are part of the form. `()` is a form without fields, for a yes or no.
    ///
    /// The answer is checked against the form, leniently (`"5"` is accepted for a number), and
    /// decoded. Do not ask for secrets in a form; use a [`url`](Self::url) for them.
    ///
    /// # Errors
    /// Through the future: the user declines or cancels, the client does not support forms, the
    /// answer does not match, or `T` has a field that no form can have, which the error names.
    pub fn form<T: DeserializeOwned + JsonSchema>(
        &self,
        message: impl Into<String>,
    ) -> AnswerFuture<T> {
        let form = form::schema_of::<T>()
            .map(|schema| InputRequest::from(ElicitRequestFormParams::new(message.into(), schema)));
        AnswerFuture::new(self.clone(), form, read_form)
    }

    /// Asks the user to fill in a form given as protocol parameters, and returns the result as the
    /// client sent it. A user who declines is not an error here.
    ///
    /// # Errors
    /// Through the future: the client does not support forms, or the answer does not match.
    pub fn raw_form(&self, form: ElicitRequestFormParams) -> AnswerFuture<ElicitResult> {
        AnswerFuture::new(self.clone(), Ok(form.into()), read_outcome)
    }

    /// Asks the user to open a URL and to do the rest there, out of the client's sight.
    ///
    /// The future resolves when the user has agreed; the server itself has to find out whether the
    /// user did as the page asks.
    ///
    /// # Errors
    /// Through the future: the user declines or cancels, or the client does not support URLs.
    pub fn url(&self, message: impl Into<String>, url: impl Into<String>) -> AnswerFuture<()> {
        let params = ElicitRequestUrlParams::new(message.into(), url.into());
        AnswerFuture::new(self.clone(), Ok(params.into()), read_url)
    }

    /// Asks the client's model: with a text as the user's message, with messages, or with
    /// [`CreateMessageRequestParams`](turnbuckle_types::CreateMessageRequestParams). The default is at most 1,000
    /// tokens.
    ///
    /// The revision 2026-07-28 deprecates sampling (SEP-2577): in a new server, call the API of a
    /// model's provider instead.
    ///
    /// # Errors
    /// Through the future: the client declines, or does not support sampling.
    pub fn sample(&self, what: impl IntoSamplingRequest) -> AnswerFuture<CreateMessageResult> {
        let params = what.into_sampling_request();
        AnswerFuture::new(self.clone(), Ok(params.into()), read_sample)
    }

    /// Asks for the directories that the client has opened to the server.
    ///
    /// Every revision demands absolute `file://` URIs: a root with another one is left out, with a
    /// warning in the log.
    ///
    /// The revision 2026-07-28 deprecates roots (SEP-2577): in a new server, take directories as
    /// arguments, as URIs of resources, or from the configuration.
    ///
    /// # Errors
    /// Through the future: the client does not support roots, or sends invalid ones.
    pub fn roots(&self) -> AnswerFuture<Vec<Root>> {
        AnswerFuture::new(self.clone(), Ok(InputRequest::list_roots()), read_roots)
    }

    /// Runs `body` and keeps its value: later rounds of this request get the value under the same
    /// `name`, and `body` does not run again. A failure is not kept.
    ///
    /// While a body runs, the handler is not dropped for a question that waits. A body cannot ask.
    /// The value is returned as decoded from its JSON, also the first time. Values are forgotten
    /// with the request, and sent to the client sealed, so keep them small.
    ///
    /// **With a store** ([`ServerBuilder::store`](crate::ServerBuilder), feature `store`), `body` runs at
    /// most once for a request of a modern client, on all instances, also when the client sends an older
    /// state again: before it runs, it is claimed in the store, and a run that comes later gets the
    /// value of the first one. If the first run was interrupted, or is still under way, the error is
    /// [`AskError::OutcomeUnknown`]. A client that starts the request anew makes another request. All
    /// rounds of a request must end within a day.
    ///
    /// **Without a store this is not "at most once".** If the client sends an older state again, the
    /// body runs again; so it does if the server crashes after the body and before its answer. See [what
    /// sealing protects against](Self#what-sealing-protects-against).
    ///
    /// # Errors
    /// [`AskError::Failed`] with the body's own failure, for a second `once` of that name in one
    /// run, or if the value does not survive JSON; [`AskError::Changed`] if the value kept by an
    /// earlier run has another type; with a store, [`AskError::OutcomeUnknown`], and
    /// [`AskError::Store`] if the store fails before the body has begun.
    pub async fn once<T, F>(&self, name: &str, body: F) -> Result<T, AskError>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = Result<T>>,
    {
        let answer_log = &self.round.answer_log;
        if let Some(value) = answer_log.begin_once(name)? {
            return self.decode_kept(name, &value);
        }
        let guard = answer_log.enter_once_body();
        let claim = match self.claim_once(name).await? {
            None => None,
            Some(Claimed::Now(claim)) => Some(claim),
            Some(Claimed::Done(value)) => {
                let decoded = self.decode_kept(name, &value)?;
                answer_log.record_once(name, value);
                return Ok(decoded);
            }
            Some(Claimed::Unknown) => return Err(AskError::OutcomeUnknown(name.to_owned())),
        };
        let mut body = pin!(body);
        let given = std::future::poll_fn(|cx| guard.poll(|| body.as_mut().poll(cx))).await;
        let value = match given {
            Ok(value) => value,
            Err(failure) => {
                if let Some(claim) = claim {
                    report("gave back", claim.release().await);
                }
                return Err(AskError::Failed(failure));
            }
        };
        let bad = |error: serde_json::Error| {
            AskError::Failed(Failure::new(format!(
                "the value of `once` {name:?} cannot be encoded as JSON and decoded again: {error}"
            )))
        };
        let json = Json::encode(&value).map_err(bad)?;
        let value = json.decode().map_err(bad)?;
        if let Some(claim) = claim {
            report("recorded", claim.complete(json.clone()).await);
        }
        answer_log.record_once(name, json);
        Ok(value)
    }

    /// Returns the value that [`once`](Self::once) has kept under `name` in this run or an earlier one; `None`
    /// if there is none.
    ///
    /// # Errors
    /// [`AskError::Changed`] if the value has another type.
    pub fn once_value<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, AskError> {
        let value = self.round.answer_log.once_value(name);
        value
            .map(|value| self.decode_kept(name, &value))
            .transpose()
    }

    /// Decodes a value that `once` has kept.
    fn decode_kept<T: DeserializeOwned>(&self, name: &str, value: &Json) -> Result<T, AskError> {
        value.decode().map_err(|_| {
            let reason = format!("what `once` kept as {name:?} is of another type");
            self.round.answer_log.refuse(reason)
        })
    }

    /// Claims an effect of this request, if the server keeps records of effects and a client could send
    /// an older round again.
    async fn claim_once(&self, name: &str) -> Result<Option<Claimed>, AskError> {
        let rounds = &self.context.settings.input_rounds;
        let Some(records) = rounds.once.0.as_ref().filter(|_| !self.context.is_legacy()) else {
            return Ok(None);
        };
        let identity = rounds.identity(&self.round);
        let identity = identity.map_err(|error| AskError::Failed(error.into()))?;
        let claimed = records.claim(identity.record(name), identity.record_ttl());
        let claimed = claimed
            .await
            .map_err(|ClaimError(reason)| AskError::Store(reason))?;
        Ok(Some(claimed))
    }

    /// Returns a key for services that do an effect once for each key, such as the header `Idempotency-Key`:
    /// the same in all runs of this request, also after a restart of a server whose task it is, and another
    /// one for each `name` and each request.
    ///
    /// It is what a [`once`](Self::once) needs whose process may end between the effect and its record: the
    /// service recognises the effect when the handler does it again.
    ///
    /// # Errors
    /// [`AskError::Failed`] for a name that is empty or longer than 128 bytes, or without a source of
    /// randomness.
    pub fn idempotency_key(&self, name: &str) -> Result<String, AskError> {
        check_name(name)?;
        let identity = self.context.settings.input_rounds.identity(&self.round);
        let identity = identity.map_err(|error| AskError::Failed(error.into()))?;
        Ok(identity.idempotency_key(name))
    }

    /// Runs `body` and keeps its value like [`once`](Self::once), in a blocking handler.
    ///
    /// # Errors
    /// As `once`; also if this is not the thread of a blocking handler.
    pub fn blocking_once<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        body: impl FnOnce() -> Result<T>,
    ) -> Result<T, AskError> {
        block_on(self.once(name, async { body() }))
            .unwrap_or_else(|| Err(not_blocking("Ask::blocking_once")))
    }
}

/// Logs that the record of an effect was not `changed`: later runs cannot tell how the effect ended.
fn report(changed: &str, result: Result<(), ClaimError>) {
    if let Err(error) = result {
        tracing::warn!(error = %Escaped(&error), "the record of an effect was not {changed} (Ask::once)");
    }
}

/// Returns the error for blocking on a thread that has other work to do.
#[cold]
fn not_blocking(function: &str) -> AskError {
    AskError::Failed(
        ProtocolError::internal(format!(
            "{function} needs a blocking handler: mark it `blocking`, or await the future"
        ))
        .into(),
    )
}

impl Extract for Ask {
    const IS_READY: bool = true;

    async fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        if matches!(invocation.payload, RequestPayload::Completion(_)) {
            return Err(Failure::new("a completer cannot ask the client"));
        }
        let context = invocation.context.clone();
        let round = context.asking_round().cloned().ok_or_else(|| {
            Failure::new(
                "an extractor that contains an Ask must add its requirements in `add_requirements`",
            )
        })?;
        Ok(Self { context, round })
    }

    fn add_requirements(requirements: &mut HandlerRequirements) {
        requirements.asks = true;
    }
}

debug_fields!(Ask { context });

fn read_form<T: DeserializeOwned>(question: &InputRequest, answer: &Json) -> Result<T, AskError> {
    let InputRequest::Elicit(ElicitRequestParams::Form(form)) = question else {
        return Err(AskError::Malformed("it answers no form".to_owned()));
    };
    let result = require_accepted(decode_answer(answer)?)?;
    form_answer::read(result, &form.requested_schema)
}

fn read_outcome(question: &InputRequest, answer: &Json) -> Result<ElicitResult, AskError> {
    let InputRequest::Elicit(ElicitRequestParams::Form(form)) = question else {
        return Err(AskError::Malformed("it answers no form".to_owned()));
    };
    let result = Question::parse_answer(form, answer);
    result.map_err(|error| AskError::Malformed(error.message().to_owned()))
}

fn read_url(_: &InputRequest, answer: &Json) -> Result<(), AskError> {
    require_accepted(decode_answer(answer)?).map(drop)
}

fn read_sample(_: &InputRequest, answer: &Json) -> Result<CreateMessageResult, AskError> {
    decode_answer(answer)
}

fn read_roots(_: &InputRequest, answer: &Json) -> Result<Vec<Root>, AskError> {
    let result = Roots.parse_answer(answer);
    let result = result.map_err(|error| AskError::Malformed(error.message().to_owned()))?;
    Ok(result.roots)
}

/// Decodes an answer to the protocol's type for it.
fn decode_answer<T: DeserializeOwned>(answer: &Json) -> Result<T, AskError> {
    answer
        .decode()
        .map_err(|error| AskError::Malformed(describe_mismatch(answer.as_str(), &error)))
}

/// Returns an error unless the user accepted.
fn require_accepted(result: ElicitResult) -> Result<ElicitResult, AskError> {
    match result.action {
        ElicitAction::Accept => Ok(result),
        ElicitAction::Decline => Err(AskError::Declined),
        ElicitAction::Cancel => Err(AskError::Cancelled),
    }
}
