//! A question on its way.

use std::fmt;
use std::pin::Pin;
use std::task::{self, Poll, ready};

use turnbuckle_session::PeerError;
use turnbuckle_types::{
    CreateMessageParams, CreateMessageResult, InputRequest, Json, ModelPreferences,
};

use super::{Ask, AskError};
use crate::input::rounds::check_one;
use crate::input::{NoAnswer, legacy};

/// A question to the client: a future of its answer. It is put when the future is first polled.
///
/// Specification: client/elicitation, client/sampling, client/roots (2026-07-28).
#[must_use = "a question is not put until its future is awaited"]
pub struct Asked<T> {
    ask: Ask,
    key: Option<String>,
    stage: Stage,
    read: fn(&InputRequest, &Json) -> Result<T, AskError>,
}

enum Stage {
    /// Not put yet, or impossible to put.
    New(Box<Result<InputRequest, AskError>>),
    /// Put, under that key.
    Put(Box<InputRequest>, String, Way),
    /// Answered.
    Over,
}

/// How the answer comes.
enum Way {
    /// In another run: this one is dropped before. Where nobody watches over it, the end of the
    /// request is waited for.
    Later(Option<Waiting<()>>),
    /// By a request of its own.
    Now(Waiting<Result<Json, NoAnswer>>),
    /// It is there already.
    Known(Json),
}

type Waiting<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<T> Asked<T> {
    pub(super) fn new(
        ask: Ask,
        request: Result<InputRequest, AskError>,
        read: fn(&InputRequest, &Json) -> Result<T, AskError>,
    ) -> Self {
        Self {
            ask,
            key: None,
            stage: Stage::New(Box::new(request)),
            read,
        }
    }

    /// The key of the question on the wire, at most 128 bytes long. Each question of a request has one
    /// of its own: `form-1`, `form-2`, `sample-1` and so on, where none is given. Equal questions that
    /// are asked in parallel are told apart by it. A client that knows the key may bring the answer
    /// along with its first request.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    fn put(&mut self, request: InputRequest) -> Result<(), AskError> {
        let call = self.ask.context.call();
        check_one(&request, call).map_err(AskError::unaskable)?;
        let journal = self.ask.round.journal();
        let key = journal.ask(self.key.as_deref(), &request)?;
        let known = match self
            .key
            .as_deref()
            .and_then(|key| self.ask.round.brought(key))
        {
            Some(brought) => {
                journal.answered(&key, brought.clone());
                Some(brought.clone())
            }
            None => journal
                .answer(&key)
                .filter(|_| self.ask.context.is_legacy()),
        };
        let call = call.clone();
        let way = match known {
            Some(answer) => Way::Known(answer),
            None if self.ask.context.is_legacy() => {
                let request = request.clone();
                Way::Now(Box::pin(
                    async move { legacy::ask_one(&call, request).await },
                ))
            }
            None if journal.is_watched() => Way::Later(None),
            None => Way::Later(Some(Box::pin(async move { call.cancelled().await }))),
        };
        self.stage = Stage::Put(Box::new(request), key, way);
        Ok(())
    }
}

impl<T> Future for Asked<T> {
    type Output = Result<T, AskError>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Stage::New(request) = &mut this.stage {
            let request = std::mem::replace(&mut **request, Err(AskError::Ended));
            this.stage = Stage::Over;
            if let Err(error) = request.and_then(|request| this.put(request)) {
                return Poll::Ready(Err(error));
            }
        }
        let Stage::Put(request, key, way) = &mut this.stage else {
            return Poll::Ready(Err(AskError::Ended));
        };
        let journal = this.ask.round.journal();
        let answer = match way {
            Way::Known(answer) => Ok(answer.clone()),
            Way::Now(answer) => match ready!(answer.as_mut().poll(cx)) {
                Ok(answer) => {
                    journal.answered(key, answer.clone());
                    Ok(answer)
                }
                Err(reason) => {
                    journal.withdraw(key);
                    Err(refusal(request, reason))
                }
            },
            Way::Later(ended) => match journal.poll_answer(key, cx) {
                Poll::Ready(answer) => answer,
                Poll::Pending => {
                    let Some(ended) = ended else {
                        return Poll::Pending;
                    };
                    ready!(ended.as_mut().poll(cx));
                    journal.withdraw(key);
                    Err(AskError::Ended)
                }
            },
        };
        let answer = answer.and_then(|answer| (this.read)(request, &answer));
        this.stage = Stage::Over;
        Poll::Ready(answer)
    }
}

impl<T> Drop for Asked<T> {
    fn drop(&mut self) {
        if let Stage::Put(_, key, _) = &self.stage {
            self.ask.round.journal().withdraw(key);
        }
    }
}

/// What a user's no to sampling is told by.
///
/// Specification: client/sampling, "Error Handling" (2025-11-25).
const REJECTED: i64 = -1;

/// Why a legacy client gave no answer.
fn refusal(request: &InputRequest, reason: NoAnswer) -> AskError {
    match (request, reason) {
        (InputRequest::CreateMessage(_), NoAnswer::Failed(PeerError::Refused(error)))
            if error.code == REJECTED =>
        {
            AskError::Declined
        }
        (_, NoAnswer::Failed(PeerError::Ended)) => AskError::Ended,
        (_, reason) => reason.into(),
    }
}

impl Asked<CreateMessageResult> {
    /// How many tokens the model may write.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        if let Some(params) = self.params() {
            params.max_tokens = tokens.into();
        }
        self
    }

    /// Instructions to the model.
    pub fn system(mut self, prompt: impl Into<String>) -> Self {
        if let Some(params) = self.params() {
            params.system_prompt = Some(prompt.into());
        }
        self
    }

    /// Which model to ask; the client decides.
    pub fn prefer(mut self, preferences: ModelPreferences) -> Self {
        if let Some(params) = self.params() {
            params.model_preferences = Some(preferences);
        }
        self
    }

    fn params(&mut self) -> Option<&mut CreateMessageParams> {
        match &mut self.stage {
            Stage::New(request) => match &mut **request {
                Ok(InputRequest::CreateMessage(params)) => Some(params),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Says nothing of what is asked.
impl<T> fmt::Debug for Asked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
