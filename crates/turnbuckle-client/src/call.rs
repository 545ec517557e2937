//! One request, from the caller's word to its result: deadlines, rounds of input, repetition.

use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::time::timeout;
use turnbuckle_session::{About, Ask, AskError, Late, LinkError, Patience, Progressing, RawResult};
use turnbuckle_types::method::CallTool;
use turnbuckle_types::{
    InputRequired, InputResponses, LogLevel, ProgressParams, Request, undecoded,
};
use turnbuckle_wire::era::{Project, ResultType, code, is_complete, result_type};
use turnbuckle_wire::revision::EraKind;

use crate::Error;
use crate::client::Shared;
use crate::clock::Clock;
use crate::live::Live;
use crate::method::{ServerMethod, declared, settle};
use crate::progress::{Listener, Progress};

/// A request that is ready to be made; awaiting it makes it.
///
/// Dropping the future while it waits takes the request back on the wire.
///
/// Specification: basic/patterns/cancellation (2026-07-28).
#[must_use = "a call is made when it is awaited"]
pub struct Call<M: ServerMethod> {
    shared: Arc<Shared>,
    params: M::Params,
    options: Options,
    /// Why it cannot be made.
    fault: Option<String>,
}

/// How one request is made.
#[derive(Clone, Default)]
pub(crate) struct Options {
    pub(crate) patience: Option<Patience>,
    pub(crate) listener: Option<Arc<dyn Progressing>>,
    /// The same, where its reader has to know when the call ends.
    pub(crate) progress: Option<Arc<Listener>>,
    pub(crate) log_level: Option<LogLevel>,
    /// Whether the caller says that the request may be sent twice.
    pub(crate) repeatable: bool,
    /// Whether a result that was kept will not do.
    pub(crate) fresh: bool,
    /// Whether of a tool's result only the structured form is wanted.
    pub(crate) structured: bool,
}

impl<M: ServerMethod> Call<M> {
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(crate) fn new(shared: Arc<Shared>, params: M::Params) -> Self {
        Self {
            shared,
            params,
            options: Options::default(),
            fault: None,
        }
    }

    pub(crate) fn with_options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    pub(crate) fn or_fault(self, fault: Option<String>) -> Self {
        Self { fault, ..self }
    }

    /// How long the server may be silent about the request, in place of the client's setting; each
    /// notice of progress starts that anew.
    pub fn timeout(mut self, silence: Duration) -> Self {
        self.options.patience = Some(self.patience().silence(silence));
        self
    }

    /// How long the request may take in all, whatever the server says of its progress and however
    /// often it asks for input: the time that a user takes counts, and so does connecting again.
    pub fn timeout_in_all(mut self, total: Duration) -> Self {
        self.options.patience = Some(self.patience().total(total));
        self
    }

    fn patience(&self) -> Patience {
        self.options.patience.unwrap_or(self.shared.patience)
    }

    /// The same call, and beside it what the server says of its progress.
    ///
    /// Specification: basic/patterns/progress (2026-07-28).
    pub fn with_progress(mut self) -> (Self, Progress) {
        let progress = Progress::new();
        let listener = progress.listener();
        self.options.listener = Some(listener.clone());
        self.options.progress = Some(listener);
        (self, progress)
    }

    /// Has `heard` told of the server's progress. It must not take long: nothing else is read from
    /// the server meanwhile.
    pub fn on_progress(mut self, heard: impl Fn(ProgressParams) + Send + Sync + 'static) -> Self {
        struct Tell<F>(F);
        impl<F: Fn(ProgressParams) + Send + Sync + 'static> Progressing for Tell<F> {
            fn progress(&self, params: ProgressParams) {
                (self.0)(params);
            }
        }
        self.options.listener = Some(Arc::new(Tell(heard)));
        self.options.progress = None;
        self
    }

    /// From which level on this request wants the server's log messages. In the modern era only
    /// requests say so; in the legacy era the session does, with
    /// [`Client::set_log_level`](crate::Client::set_log_level).
    pub fn log_level(mut self, level: LogLevel) -> Self {
        self.options.log_level = Some(level);
        self
    }

    /// Says that the request may be sent twice: when the connection is lost it is made again, even
    /// if the server may have acted upon it.
    pub fn repeatable(mut self) -> Self {
        self.options.repeatable = true;
        self
    }

    /// Asks the server even if its last answer may still be used.
    pub fn fresh(mut self) -> Self {
        self.options.fresh = true;
        self
    }

    /// What is sent, to change members that have no method of their own.
    pub fn params_mut(&mut self) -> &mut M::Params {
        &mut self.params
    }

    /// Makes the request, and makes it again, under a new id, each time that it is called.
    ///
    /// # Errors
    /// When there is no result: see [`Error`].
    pub async fn send(&self) -> Result<M::Result, Error> {
        let _sending = self.options.progress.as_ref().map(|heard| heard.sending());
        if let Some(fault) = &self.fault {
            return Err(Error::Unwritable(fault.clone()));
        }
        self.shared.request::<M>(&self.params, &self.options).await
    }
}

impl Call<CallTool> {
    /// Makes the call and decodes its structured result. The content beside it is not looked at,
    /// unless the tool failed.
    ///
    /// # Errors
    /// When there is no result; [`Error::ToolFailed`] when the tool says that it failed;
    /// [`Error::InvalidResult`] when there is no structured result or it is no `T`.
    pub async fn structured<T: DeserializeOwned>(mut self) -> Result<T, Error> {
        self.options.structured = true;
        let result = self.send().await?;
        let invalid = |reason: String| Error::InvalidResult {
            method: CallTool::METHOD.to_owned(),
            reason,
        };
        if result.is_error == Some(true) {
            return Err(Error::ToolFailed(Box::new(result)));
        }
        let structured = result
            .structured_content
            .ok_or_else(|| invalid("it has no structured content".into()))?;
        structured
            .decode()
            .map_err(|error| invalid(format!("its structured content: {error}")))
    }
}

impl<M: ServerMethod> IntoFuture for Call<M> {
    type Output = Result<M::Result, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.send().await })
    }
}

impl<M: ServerMethod> Clone for Call<M> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            params: self.params.clone(),
            options: self.options.clone(),
            fault: self.fault.clone(),
        }
    }
}

impl<M: ServerMethod> fmt::Debug for Call<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("method", &M::METHOD)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// Makes a request within the time that it may take in all, however often it is made.
    pub(crate) async fn request<M: ServerMethod>(
        self: &Arc<Self>,
        params: &M::Params,
        options: &Options,
    ) -> Result<M::Result, Error> {
        let clock = Clock::start(options.patience.unwrap_or(self.patience));
        self.attempts::<M>(params, options, clock).await
    }

    /// A connection, within the time that a server may be silent.
    pub(crate) async fn live(&self, clock: Clock) -> Result<Arc<Live>, Error> {
        if let Some(live) = self.lifeline.alive() {
            return Ok(live);
        }
        // Boxed, as is whatever is done now and then: a call is no larger for it.
        let opened = Box::pin(self.lifeline.live());
        match clock.patience.silence {
            Some(silence) => match clock.within(timeout(silence, opened)).await? {
                Ok(live) => live,
                Err(_) => Err(Error::TimedOut(Late::Silent(silence))),
            },
            None => clock.within(opened).await?,
        }
    }

    /// Makes a request, and makes it again where that is safe and worth it.
    async fn attempts<M: ServerMethod>(
        self: &Arc<Self>,
        params: &M::Params,
        options: &Options,
        clock: Clock,
    ) -> Result<M::Result, Error> {
        let mut place = self.cache.place::<M>(params);
        if !options.fresh
            && let Some(place) = &place
            && let Some(kept) = self.cache.get::<M>(place)
        {
            return Ok(kept);
        }
        let mut repeated = false;
        let mut corrected = false;
        loop {
            let live = self.live(clock).await?;
            let outcome = self.rounds::<M>(&live, params, options, clock).await;
            let error = match outcome {
                Ok((mut result, size)) => {
                    self.settled::<M>(&live, params, &mut result, options, clock)
                        .await?;
                    if let (Some(place), Some(size)) = (place.take(), size) {
                        self.cache.keep::<M>(&live, place, &result, size);
                    }
                    return Ok(result);
                }
                Err(error) => error,
            };
            match &error {
                Error::Lost { reason, .. } | Error::Unreachable { reason, .. }
                    if !repeated && (error.is_lost() || live.conversation.is_lost()) =>
                {
                    let safe = M::SAFE_AGAIN || options.repeatable || self.is_safe::<M>(params);
                    // A session's cursors end with it.
                    let bound = M::is_bound(params) && live.server.era() == EraKind::Legacy;
                    // What was too large once is so again.
                    let vain = matches!(reason, LinkError::Closed | LinkError::TooLarge { .. });
                    if !safe || bound || vain {
                        return Err(error);
                    }
                    repeated = true;
                }
                // The tool's schema may have changed: it says which headers there are.
                Error::Refused(refusal)
                    if refusal.code == code::HEADER_MISMATCH
                        && M::METHOD == CallTool::METHOD
                        && !corrected =>
                {
                    corrected = true;
                    clock.within(self.learn_tools(options)).await??;
                }
                Error::Refused(refusal) if refusal.code == code::URL_REQUIRED && !corrected => {
                    corrected = true;
                    let visiting = Box::pin(self.router.answers().visit_first(refusal));
                    let deadline = live.conversation.limits().answer_deadline;
                    let agreed = clock.within(timeout(deadline, visiting)).await?;
                    if !agreed.unwrap_or_default() {
                        return Err(error);
                    }
                }
                // Where it is a list, its cursor was bad.
                Error::Refused(refusal)
                    if refusal.code == code::INVALID_PARAMS && place.is_some() =>
                {
                    self.cache.forget_pages(M::METHOD);
                    return Err(error);
                }
                _ => return Err(error),
            }
        }
    }

    /// Does with a result what its method asks for. A tool whose definition may have changed is
    /// listed anew before its result is refused.
    async fn settled<M: ServerMethod>(
        self: &Arc<Self>,
        live: &Live,
        params: &M::Params,
        result: &mut M::Result,
        options: &Options,
        clock: Clock,
    ) -> Result<(), Error> {
        let error = match settle::<M>(self, live, params, result) {
            Err(error) if self.tools.is_outdated(live, M::about(params).name) => error,
            outcome => return outcome,
        };
        match clock.within(self.learn_tools(options)).await? {
            Ok(()) => settle::<M>(self, live, params, result),
            Err(_) => Err(error),
        }
    }

    /// One request with as many rounds of input as the server asks for. Tells beside the result
    /// how long its JSON was, if the first round had it.
    async fn rounds<M: ServerMethod>(
        self: &Arc<Self>,
        live: &Arc<Live>,
        params: &M::Params,
        options: &Options,
        clock: Clock,
    ) -> Result<(M::Result, Option<usize>), Error> {
        let unsupported = |reason| Error::Unsupported {
            method: M::METHOD.to_owned(),
            reason,
            revision: live.server.revision,
        };
        if !turnbuckle_session::reaches_server(M::METHOD, live.server.revision) {
            return Err(unsupported("the revision has no such request"));
        }
        declared::<M>(&live.server).map_err(unsupported)?;
        let mut retried: Option<M::Params> = None;
        for round in 0..=self.max_rounds {
            let params = retried.as_ref().unwrap_or(params);
            let raw = self.ask::<M>(live, params, options, clock).await?;
            let invalid = |reason: String| Error::InvalidResult {
                method: M::METHOD.to_owned(),
                reason,
            };
            let (text, features) = (raw.as_str(), live.speaks.features());
            let size = (round == 0).then_some(text.len());
            // Nearly always it is the answer, which is decoded once.
            let decoded = match M::decode(text, options.structured) {
                Ok(result) if is_complete(M::said_type(&result), features) => {
                    return Ok((result, size));
                }
                decoded => decoded,
            };
            match result_type(text, features) {
                Some(ResultType::Complete) => {
                    let result = decoded.map_err(|error| invalid(undecoded(&error)))?;
                    return Ok((result, size));
                }
                Some(ResultType::InputRequired) => {
                    let required: InputRequired =
                        serde_json::from_str(text).map_err(|error| invalid(undecoded(&error)))?;
                    let mut next = params.clone();
                    let Some((responses, state)) = M::input(&mut next) else {
                        return Err(invalid("it must not ask for input".into()));
                    };
                    if required.is_empty() {
                        return Err(invalid("it asks for input and for nothing".into()));
                    }
                    if round == self.max_rounds {
                        break;
                    }
                    let fulfilled = Box::pin(self.fulfil(live, &required, round));
                    *responses = clock.within(fulfilled).await??;
                    *state = required.request_state;
                    retried = Some(next);
                }
                Some(ResultType::Other(name)) => {
                    return Err(invalid(format!("its type {name:?} is not known here")));
                }
                None => return Err(invalid("it is no object, or does not name its type".into())),
            }
        }
        Err(Error::TooManyRounds {
            limit: self.max_rounds,
        })
    }

    /// Answers what a server asks inside a result, as long as its connection lasts. A round that
    /// only hands on state waits a while: the server is not ready.
    async fn fulfil(
        &self,
        live: &Live,
        required: &InputRequired,
        round: usize,
    ) -> Result<InputResponses, Error> {
        if required.input_requests.is_empty() {
            let wait = Duration::from_millis(100) * (1u32 << round.min(6));
            tokio::time::sleep(wait).await;
            return Ok(InputResponses::new());
        }
        let requests = &required.input_requests;
        let deadline = live.conversation.limits().answer_deadline;
        tokio::select! {
            biased;
            answers = self.router.answers().fulfil(&live.server, requests) => answers,
            () = live.conversation.ended().cancelled() => Err(self.failed(AskError::Link {
                error: live.conversation.cause().unwrap_or(LinkError::Closed),
                sent: true,
            })),
            () = tokio::time::sleep(deadline) => Err(Error::Unanswered {
                method: requests.values().next().map_or("", |asked| asked.method()).to_owned(),
                reason: format!(
                    "it took longer than {deadline:?} (ConversationLimits::answer_deadline)"
                ),
            }),
        }
    }

    async fn ask<M: ServerMethod>(
        &self,
        live: &Arc<Live>,
        params: &M::Params,
        options: &Options,
        clock: Clock,
    ) -> Result<RawResult, Error> {
        let mirrored = match M::METHOD == CallTool::METHOD {
            true => M::about(params)
                .name
                .and_then(|name| self.tools.headers(name)),
            false => None,
        };
        let mut ask = Ask::new(M::METHOD, Some(params), &live.speaks);
        ask.about = About {
            mirrored: mirrored.as_deref().unwrap_or_default(),
            ..M::about(params)
        };
        ask.patience = clock.patience;
        ask.since = Some(clock.began);
        // A call may take long: progress keeps it alive, whoever listens.
        ask.progress = M::METHOD == CallTool::METHOD;
        ask.listener = options.listener.clone();
        ask.log_level = options.log_level.or(self.log_level);
        self.asked(live, ask).await
    }

    pub(crate) async fn asked<P>(
        &self,
        live: &Arc<Live>,
        ask: Ask<'_, P>,
    ) -> Result<RawResult, Error>
    where
        P: serde::Serialize + Project + Clone + Sync,
    {
        live.conversation
            .ask(ask)
            .await
            .map_err(|error| self.failed(error))
    }

    pub(crate) fn failed(&self, error: AskError) -> Error {
        Error::of_ask(error, &self.address)
    }
}
