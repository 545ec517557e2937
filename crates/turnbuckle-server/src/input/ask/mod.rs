//! Asking the client as straight code.

mod asked;
mod error;
mod form;
mod lenient;
mod sample;

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use turnbuckle_types::{
    CreateMessageResult, ElicitAction, ElicitFormParams, ElicitParams, ElicitResult,
    ElicitUrlParams, InputRequest, Json, Root,
};

use super::{Question, Roots, Round};
use crate::context::Context;
use crate::extract::{Extract, Incoming, Needs, Subject};
use crate::failure::{Failure, Result};
use crate::schema::misfit;

pub use asked::Asked;
pub use error::AskError;
pub use sample::IntoSample;

/// Asks the client in the middle of a request: its user by a form or a URL, its model, its roots.
/// Cheap to clone.
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
/// A legacy client is sent a request, and the handler waits. A modern one cannot be: there the
/// request is answered with the questions, the handler's future is dropped, and when the client comes
/// back with the answers **the handler runs again from its beginning**. A question that has an answer
/// then resolves at once. So the code between two questions runs once for each round: what must not
/// happen twice goes into [`once`](Self::once). Where a handler waits for an answer beside something
/// else, that something is dropped too, unless it is a body of `once`.
///
/// Questions that are waited for together (`tokio::join!`) go out together. Do not race a question
/// against anything (`select!`): the next run could end the race otherwise.
///
/// A handler has to ask again what it asked before. Questions are told by their content, not by their
/// place, and answers are handed out in the order of their rounds; a question that changed between
/// two rounds, is left out, or comes in another order is refused as [`AskError::Changed`] and never
/// given the answer of another one. Equal questions are told apart by their order; where they are
/// asked in parallel, give each a [`key`](Asked::key). So a message must not hold what changes from
/// run to run, such as the time.
///
/// # What the seal is worth
///
/// Between the rounds answers and values travel through the client, encrypted and bound to the
/// method, its target, the arguments, the principal and a lifetime
/// ([`input_lifetime`](crate::ServerBuilder::input_lifetime)). The client can neither read nor change
/// them. **But it may send the same state twice**: the seal bounds a replay to the very same request
/// within the lifetime, it does not make a state usable only once. What may happen once at most, a
/// payment say, needs a guard on the server, such as an idempotency key or a record of what was done.
///
/// # Bounds
///
/// A request asks at most 256 questions, and what it keeps between its rounds takes at most 64 KiB;
/// more is [`AskError::TooLarge`].
///
/// Specification: basic/patterns/mrtr, client/elicitation, client/sampling, client/roots (2026-07-28).
#[derive(Clone)]
pub struct Ask {
    context: Context,
    round: Arc<Round>,
}

impl Ask {
    /// Asks the user to fill in a form, whose fields are those of `T`: text, numbers, booleans,
    /// enums without data, and lists of such enums; optional ones as `Option` or with a default. Doc
    /// comments become descriptions; of an enum's variants, titles. Bounds and formats are told too.
    /// `()` is a form without fields: a yes or no.
    ///
    /// What the user filled in is checked against the form, leniently (`"5"` where a number is due),
    /// and decoded. Not for secrets: those belong behind a [`url`](Self::url).
    ///
    /// # Errors
    /// Through the future: the user declines or cancels, the client has no forms, the answer does
    /// not fit, or `T` holds something that no form can, which the error names.
    pub fn form<T: DeserializeOwned + JsonSchema>(&self, message: impl Into<String>) -> Asked<T> {
        let form = form::schema_of::<T>()
            .map(|schema| InputRequest::from(ElicitFormParams::new(message.into(), schema)));
        Asked::new(self.clone(), form, read_form)
    }

    /// Asks the user to fill in a form that is put together by hand, and gives what came of it: a no
    /// is no error here.
    ///
    /// # Errors
    /// Through the future: the client has no forms, or the answer does not fit.
    pub fn form_of(&self, form: ElicitFormParams) -> Asked<ElicitResult> {
        Asked::new(self.clone(), Ok(form.into()), read_outcome)
    }

    /// Asks the user to go to a URL, where the rest happens out of the client's sight. Resolves when
    /// they agreed to; whether they did what waits there is for the server to find out.
    ///
    /// # Errors
    /// Through the future: the user declines or cancels, or the client opens no URLs.
    pub fn url(&self, message: impl Into<String>, url: impl Into<String>) -> Asked<()> {
        let params = ElicitUrlParams::new(message.into(), url.into());
        Asked::new(self.clone(), Ok(params.into()), read_url)
    }

    /// Asks the client's model: a text that the user says, messages, or
    /// [`CreateMessageParams`](turnbuckle_types::CreateMessageParams). It may write 1,000 tokens
    /// unless told otherwise.
    ///
    /// The revision 2026-07-28 deprecates sampling (SEP-2577): a new server calls the API of a
    /// model's provider itself.
    ///
    /// # Errors
    /// Through the future: the client declines, or has no such capability.
    pub fn sample(&self, what: impl IntoSample) -> Asked<CreateMessageResult> {
        let params = what.into_sample();
        Asked::new(self.clone(), Ok(params.into()), read_sample)
    }

    /// Asks for the directories that the client opens to the server.
    ///
    /// The revision 2026-07-28 deprecates roots (SEP-2577): a new server takes directories as
    /// arguments, as URIs of resources, or from its configuration.
    ///
    /// # Errors
    /// Through the future: the client has no roots to tell of, or answers with bad ones.
    pub fn roots(&self) -> Asked<Vec<Root>> {
        Asked::new(self.clone(), Ok(InputRequest::list_roots()), read_roots)
    }

    /// Runs `body` and remembers what it gave: the runs of later rounds get that under the same
    /// `name`, and `body` is not run again. A failure is not remembered.
    ///
    /// While a body runs, the handler is not dropped for a question that waits. A body cannot ask.
    /// The value is what comes back from its JSON, the first time too. Values are forgotten with the
    /// request, and sent to the client sealed, so keep them small.
    ///
    /// **This is not "at most once".** A client that never comes back leaves what was done as it is;
    /// one that sends an older state again, or starts the request anew, has the body run again; and
    /// so has a crash between the body's end and the answer. See [what the seal is
    /// worth](Self#what-the-seal-is-worth).
    ///
    /// # Errors
    /// [`AskError::Failed`] with the body's own failure, for a second `once` of that name in one run,
    /// or when the value does not come back from its JSON; [`AskError::Changed`] when the value that
    /// an earlier run kept is of another type.
    pub async fn once<T, F>(&self, name: &str, body: F) -> Result<T, AskError>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = Result<T>>,
    {
        let journal = self.round.journal();
        if let Some(kept) = journal.recall(name)? {
            return kept.decode().map_err(|_| {
                journal.refuse(format!("what `once` kept as {name:?} is of another type"))
            });
        }
        let guard = journal.body();
        let mut body = pin!(body);
        let given = std::future::poll_fn(|cx| guard.poll(|| body.as_mut().poll(cx))).await;
        let json = match given {
            Ok(value) => Json::of(&value),
            Err(failure) => return Err(AskError::Failed(failure)),
        };
        let bad = |error: serde_json::Error| {
            AskError::Failed(Failure::new(format!(
                "what `once` gave as {name:?} does not go through JSON: {error}"
            )))
        };
        let json = json.map_err(bad)?;
        let value = json.decode().map_err(bad)?;
        journal.keep(name, json);
        Ok(value)
    }
}

impl Extract for Ask {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        if matches!(incoming.subject, Subject::Typing(_)) {
            return Err(Failure::new("completing cannot ask the client"));
        }
        let context = incoming.context.clone();
        let round = context.asking_round().cloned().ok_or_else(|| {
            Failure::new("an extractor that has an Ask has to say so in its `needs`")
        })?;
        Ok(Self { context, round })
    }

    fn needs(needs: &mut Needs) {
        needs.asks = true;
    }
}

impl fmt::Debug for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ask").field(&self.context).finish()
    }
}

fn read_form<T: DeserializeOwned>(asked: &InputRequest, answer: &Json) -> Result<T, AskError> {
    let InputRequest::Elicit(ElicitParams::Form(form)) = asked else {
        return Err(AskError::Malformed("it answers no form".to_owned()));
    };
    let result = accepted(asked_of(answer)?)?;
    lenient::read(result, &form.requested_schema)
}

fn read_outcome(asked: &InputRequest, answer: &Json) -> Result<ElicitResult, AskError> {
    let InputRequest::Elicit(ElicitParams::Form(form)) = asked else {
        return Err(AskError::Malformed("it answers no form".to_owned()));
    };
    let result = Question::read(form, answer);
    result.map_err(|error| AskError::Malformed(error.message().to_owned()))
}

fn read_url(_: &InputRequest, answer: &Json) -> Result<(), AskError> {
    accepted(asked_of(answer)?).map(drop)
}

fn read_sample(_: &InputRequest, answer: &Json) -> Result<CreateMessageResult, AskError> {
    asked_of(answer)
}

fn read_roots(_: &InputRequest, answer: &Json) -> Result<Vec<Root>, AskError> {
    let result = Roots.read(answer);
    let result = result.map_err(|error| AskError::Malformed(error.message().to_owned()))?;
    Ok(result.roots)
}

/// An answer of the form that the protocol has for it.
fn asked_of<T: DeserializeOwned>(answer: &Json) -> Result<T, AskError> {
    answer
        .decode()
        .map_err(|error| AskError::Malformed(misfit(answer.as_str(), &error)))
}

fn accepted(result: ElicitResult) -> Result<ElicitResult, AskError> {
    match result.action {
        ElicitAction::Accept => Ok(result),
        ElicitAction::Decline => Err(AskError::Declined),
        ElicitAction::Cancel => Err(AskError::Cancelled),
    }
}
