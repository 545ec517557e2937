//! The future of an answer.

use std::pin::Pin;
use std::task::{self, Poll, ready};

use turnbuckle_session::handler::PeerError;
use turnbuckle_session::internal::block_on;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{
    CreateMessageRequestParams, CreateMessageResult, InputRequest, Json, ModelPreferences,
};

use super::{Ask, not_blocking};
use crate::error::AskError;
use crate::request::input::declared::check_one;
use crate::request::input::{LegacyInputError, legacy};

/// A question to the client, as a future of its answer. The question is asked when the future is
/// first polled.
///
/// Specification: client/elicitation, client/sampling, client/roots (2026-07-28).
#[must_use = "a question is not asked until its future is awaited"]
pub struct AnswerFuture<T> {
    ask: Ask,
    key: Option<String>,
    state: AnswerState,
    read: fn(&InputRequest, &Json) -> Result<T, AskError>,
}

/// The state of a question.
enum AnswerState {
    /// Not asked yet, or invalid.
    Unasked(Box<Result<InputRequest, AskError>>),
    /// Asked, under this key.
    Waiting(Box<InputRequest>, String, AnswerSource),
    /// Answered or failed.
    Finished,
}

/// The way in which the answer comes.
enum AnswerSource {
    /// In the next run of the handler; this run is dropped before. If the run is not watched, the
    /// future is the end of the request.
    NextRun(Option<BoxFuture<()>>),
    /// In the response to a request to a legacy client.
    LegacyRequest(BoxFuture<Result<Json, LegacyInputError>>),
    /// The answer is known already.
    Known(Json),
}

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<T> AnswerFuture<T> {
    pub(super) fn new(
        ask: Ask,
        request: Result<InputRequest, AskError>,
        read: fn(&InputRequest, &Json) -> Result<T, AskError>,
    ) -> Self {
        Self {
            ask,
            key: None,
            state: AnswerState::Unasked(Box::new(request)),
            read,
        }
    }

    /// Sets the key of the question in the protocol, of at most 128 bytes.
    ///
    /// Each question of a request has a key of its own; without this call it is `form-1`, `form-2`,
    /// `sample-1` and so on. Equal questions that are asked in parallel are distinguished by their
    /// keys. A client that knows the key can send the answer with its first request.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Blocks the thread of a blocking handler until the answer is there.
    ///
    /// A blocking handler is run again for the answers of a modern client, as an async one is. Its
    /// thread cannot be dropped: in a run that ends with questions, this returns
    /// [`AskError::Ended`], and the handler should return at once, by `?`. Its output is not used.
    ///
    /// # Errors
    /// As by awaiting the future; also if this is not the thread of a blocking handler.
    pub fn blocking_wait(self) -> Result<T, AskError> {
        block_on(self).unwrap_or_else(|| Err(not_blocking("AnswerFuture::blocking_wait")))
    }

    /// Checks the question, logs it, and finds out how the answer comes.
    fn submit(&mut self, request: InputRequest) -> Result<(), AskError> {
        let call = &self.ask.context.call;
        check_one(&request, call).map_err(AskError::before_asking)?;
        let answer_log = &self.ask.round.answer_log;
        let key = answer_log.ask(self.key.as_deref(), &request)?;
        let answer = match self
            .key
            .as_deref()
            .and_then(|key| self.ask.round.unsolicited_answer(key))
        {
            Some(unsolicited) => {
                answer_log.record_answer(&key, unsolicited.clone());
                Some(unsolicited.clone())
            }
            None => answer_log
                .answer(&key)
                .filter(|_| self.ask.context.is_legacy()),
        };
        let call = call.clone();
        let source = match answer {
            Some(answer) => AnswerSource::Known(answer),
            None if self.ask.context.is_legacy() => {
                let request = request.clone();
                AnswerSource::LegacyRequest(Box::pin(async move {
                    legacy::ask_one(&call, request).await
                }))
            }
            None if answer_log.is_watched() => AnswerSource::NextRun(None),
            None => AnswerSource::NextRun(Some(Box::pin(async move { call.cancelled().await }))),
        };
        self.state = AnswerState::Waiting(Box::new(request), key, source);
        Ok(())
    }
}

impl<T> Future for AnswerFuture<T> {
    type Output = Result<T, AskError>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let AnswerState::Unasked(request) = &mut this.state {
            let request = std::mem::replace(&mut **request, Err(AskError::Ended));
            this.state = AnswerState::Finished;
            if let Err(error) = request.and_then(|request| this.submit(request)) {
                return Poll::Ready(Err(error));
            }
        }
        let AnswerState::Waiting(request, key, source) = &mut this.state else {
            return Poll::Ready(Err(AskError::Ended));
        };
        let answer_log = &this.ask.round.answer_log;
        let answer = match source {
            AnswerSource::Known(answer) => Ok(answer.clone()),
            AnswerSource::LegacyRequest(answer) => match ready!(answer.as_mut().poll(cx)) {
                Ok(answer) => {
                    answer_log.record_answer(key, answer.clone());
                    Ok(answer)
                }
                Err(reason) => {
                    answer_log.withdraw(key);
                    Err(legacy_error(request, reason))
                }
            },
            AnswerSource::NextRun(ended) => match answer_log.poll_answer(key, cx) {
                Poll::Ready(answer) => answer,
                Poll::Pending => {
                    let Some(ended) = ended else {
                        return Poll::Pending;
                    };
                    ready!(ended.as_mut().poll(cx));
                    answer_log.withdraw(key);
                    Err(AskError::Ended)
                }
            },
        };
        let answer = answer.and_then(|answer| (this.read)(request, &answer));
        this.state = AnswerState::Finished;
        Poll::Ready(answer)
    }
}

impl<T> Drop for AnswerFuture<T> {
    fn drop(&mut self) {
        if let AnswerState::Waiting(_, key, _) = &self.state {
            self.ask.round.answer_log.withdraw(key);
        }
    }
}

/// The error code of a legacy client whose user rejected sampling.
///
/// Specification: client/sampling, "Error Handling" (2025-11-25).
const USER_REJECTED: i64 = -1;

/// Returns the error for a question that a legacy client did not answer.
fn legacy_error(request: &InputRequest, reason: LegacyInputError) -> AskError {
    match (request, reason) {
        (InputRequest::CreateMessage(_), LegacyInputError::Failed(PeerError::Refused(error)))
            if error.code == USER_REJECTED =>
        {
            AskError::Declined
        }
        (_, LegacyInputError::Failed(PeerError::Ended)) => AskError::Ended,
        (_, reason) => reason.into(),
    }
}

impl AnswerFuture<CreateMessageResult> {
    /// Sets how many tokens the model can write.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        if let Some(params) = self.params() {
            params.max_tokens = tokens.into();
        }
        self
    }

    /// Sets the system prompt.
    pub fn system(mut self, prompt: impl Into<String>) -> Self {
        if let Some(params) = self.params() {
            params.system_prompt = Some(prompt.into());
        }
        self
    }

    /// Sets preferences for a model; the client decides.
    pub fn prefer(mut self, preferences: ModelPreferences) -> Self {
        if let Some(params) = self.params() {
            params.model_preferences = Some(preferences);
        }
        self
    }

    /// Returns the sampling parameters, if the question was not asked yet.
    fn params(&mut self) -> Option<&mut CreateMessageRequestParams> {
        match &mut self.state {
            AnswerState::Unasked(request) => match &mut **request {
                Ok(InputRequest::CreateMessage(params)) => Some(params),
                _ => None,
            },
            _ => None,
        }
    }
}

// The question may be confidential.
debug_fields!([T] AnswerFuture<T> { key });
