//! Running a handler through its rounds of input, until there is a reply.

use std::error::Error;
use std::future::{self, poll_fn};
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, ready};

use pin_project_lite::pin_project;
use turnbuckle_session::internal::{
    FailureCause, HandlerOutcome, HandlerPanic, catch_panic, count_refusal,
};
use turnbuckle_types::{
    CallToolResult, ElicitRequestParams, ErrorKind, InputRequiredResult, ProtocolError, RawJson,
};
use turnbuckle_wire::era::{ProjectedResult, Reply};
use turnbuckle_wire::revision::Method;

use crate::error::failure::{Failure, FailureKind, Result};
use crate::error::{ArgumentError, NeedsInput};
use crate::handler::failure_log::report_error;
use crate::request::context::HandlerContext;
use crate::request::input::{self, BoundRequest};

/// The future of one run of a handler.
pub(crate) type HandlerRun = Pin<Box<dyn Future<Output = Result<Reply>> + Send>>;

/// A handler that can run again, with the parameters of the original request.
pub(crate) trait RunAgain: Send + Sync {
    /// Runs the handler in another round of its request.
    fn run_again(self: Arc<Self>, context: HandlerContext) -> HandlerRun;
}

/// The mapping from failures to replies for requests of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FailureMapping {
    /// The method, which sealed request state is bound to.
    pub(crate) method: Method,
    /// True if failures become an error result for the model.
    errors_in_result: bool,
    /// True if clients read no error that was not made for them.
    masks_errors: bool,
}

impl FailureMapping {
    /// Returns the mapping for a kind of handler.
    pub(crate) fn for_kind<K: super::HandlerKind>(masks_errors: bool) -> Self {
        Self {
            method: K::METHOD,
            errors_in_result: K::ERRORS_IN_RESULT,
            masks_errors,
        }
    }

    /// Returns the mapping for list requests.
    pub(crate) fn for_list(method: Method) -> Self {
        Self {
            method,
            errors_in_result: false,
            masks_errors: false,
        }
    }

    /// Returns whether the client can be asked for input in such a request.
    ///
    /// Specification: basic/patterns/mrtr, "Supported Requests" (2026-07-28).
    fn can_ask(self) -> bool {
        self.method.can_require_input()
    }

    /// Returns the error for a request in which the client cannot be asked.
    fn cannot_ask_reply(self) -> Reply {
        Reply::Error(ProtocolError::internal(match self.method {
            Method::Complete => "a completion cannot ask for input",
            _ if self.can_ask() => "only a handler can ask its client",
            _ => "a list request cannot ask for input",
        }))
    }
}

/// Turns the first run of a handler into the outcome of its request; `handler` runs again once its
/// questions are answered.
///
/// The function is compiled for each handler, so that it has only what depends on the types of one.
pub(crate) fn run_handler(
    mapping: FailureMapping,
    handler: Arc<dyn RunAgain>,
    context: HandlerContext,
    first: impl Future<Output = Result<Reply>> + Send + 'static,
) -> HandlerOutcome {
    // A handler without an `Ask` is not watched, which saves the cost.
    if context.asking_round().is_some() {
        return run_asking_handler(mapping, handler, context, Box::pin(first));
    }
    let rest = RestOfRequest::Run {
        mapping,
        handler,
        context,
    };
    HandlerOutcome::Pending(Box::pin(RunToReply { first, rest }))
}

pin_project! {
    /// A request from the first run of its handler to its reply.
    struct RunToReply<F> {
        #[pin]
        first: F,
        rest: RestOfRequest,
    }
}

impl<F> Future for RunToReply<F>
where
    F: Future<Output = Result<Reply>>,
{
    type Output = Reply;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Reply> {
        let mut this = self.project();
        this.rest.poll(cx, &mut |cx| this.first.as_mut().poll(cx))
    }
}

/// The part of [`RunToReply`] that is the same for all handlers, and compiled once.
enum RestOfRequest {
    /// The handler runs for the first time.
    Run {
        mapping: FailureMapping,
        handler: Arc<dyn RunAgain>,
        context: HandlerContext,
    },
    /// The first run has failed, or asks.
    Failure(Pin<Box<dyn Future<Output = Reply> + Send>>),
    /// The reply was returned.
    Ended,
}

impl RestOfRequest {
    fn poll(&mut self, cx: &mut task::Context<'_>, first: &mut PollRun<'_>) -> Poll<Reply> {
        if let Self::Failure(rest) = self {
            return rest.as_mut().poll(cx);
        }
        let output = ready!(poll_catching_panic(first, cx));
        let Self::Run {
            mapping,
            handler,
            context,
        } = mem::replace(self, Self::Ended)
        else {
            return Poll::Pending;
        };
        match convert_panic(mapping.errors_in_result, output) {
            Ok(reply) => Poll::Ready(check_extension_result(reply, &context)),
            Err(failure) => {
                let mut rest = Box::pin(resolve_failure(mapping, handler, context, failure));
                let polled = rest.as_mut().poll(cx);
                *self = Self::Failure(rest);
                polled
            }
        }
    }
}

/// A function that polls a run of a handler.
type PollRun<'r> = dyn FnMut(&mut task::Context<'_>) -> Poll<Result<Reply>> + 'r;

/// Polls a run and catches a panic.
fn poll_catching_panic(
    run: &mut PollRun<'_>,
    cx: &mut task::Context<'_>,
) -> Poll<Result<Result<Reply>, ProtocolError>> {
    match catch_panic(|| run(cx)) {
        Ok(polled) => polled.map(Ok),
        Err(error) => Poll::Ready(Err(error)),
    }
}

/// Turns what the first run of a handler came to at once into the outcome of its request.
pub(crate) fn finish_handler(
    mapping: FailureMapping,
    handler: Arc<dyn RunAgain>,
    context: HandlerContext,
    reply: Result<Reply>,
) -> HandlerOutcome {
    match reply {
        Ok(reply) => check_extension_result(reply, &context).into(),
        Err(failure) => run_handler(mapping, handler, context, future::ready(Err(failure))),
    }
}

/// Turns the first run of a handler that may wait for answers into the outcome of its request.
fn run_asking_handler(
    mapping: FailureMapping,
    handler: Arc<dyn RunAgain>,
    context: HandlerContext,
    first: HandlerRun,
) -> HandlerOutcome {
    HandlerOutcome::Pending(Box::pin(async move {
        let first = run_catching_panic(mapping.errors_in_result, first);
        match run_watched(&context, first).await {
            Ok(reply) => check_extension_result(reply, &context),
            Err(failure) => Box::pin(resolve_failure(mapping, handler, context, failure)).await,
        }
    }))
}

/// Runs a handler and turns a panic into a failure without the panic's message.
async fn run_catching_panic(errors_in_result: bool, mut run: HandlerRun) -> Result<Reply> {
    let output = poll_fn(|cx| poll_catching_panic(&mut |cx| run.as_mut().poll(cx), cx)).await;
    convert_panic(errors_in_result, output)
}

/// Returns what a run came to; of one that panicked, the failure.
fn convert_panic(
    errors_in_result: bool,
    output: Result<Result<Reply>, ProtocolError>,
) -> Result<Reply> {
    output.unwrap_or_else(|error| Err(panic_failure(errors_in_result, error)))
}

/// Returns the failure of a handler that panicked.
pub(super) fn panic_failure(errors_in_result: bool, error: ProtocolError) -> Failure {
    if errors_in_result {
        Failure::new(error.message()).with_source(HandlerPanic)
    } else {
        error.into()
    }
}

/// Runs a handler until it is ready, or until it waits only for answers of a modern client.
async fn run_watched(
    context: &HandlerContext,
    run: impl Future<Output = Result<Reply>>,
) -> Result<Reply> {
    match context.asking_round() {
        Some(round) => input::run_until_input_required(round, run).await,
        None => run.await,
    }
}

/// Replaces a result of an extension's type with an error if the client did not declare the
/// extension.
fn check_extension_result(reply: Reply, context: &HandlerContext) -> Reply {
    match reply {
        Reply::Extension(kind, _) if !allows_result_type(context, kind) => {
            Reply::Error(ProtocolError::internal(format!(
                "the handler answered with a {kind:?}, which this client did not declare"
            )))
        }
        reply => reply,
    }
}

/// Returns whether the client declared the extension that defines a result type.
fn allows_result_type(context: &HandlerContext, result_type: &str) -> bool {
    let extension = context.settings.result_types.get(result_type);
    extension.is_some_and(|id| context.features().extensions && context.extension(id).is_some())
}

/// Turns a failure into a reply: an error, an error result, or the reply of another round.
async fn resolve_failure(
    mapping: FailureMapping,
    handler: Arc<dyn RunAgain>,
    mut context: HandlerContext,
    mut failure: Failure,
) -> Reply {
    let most = context.settings.input_rounds.max;
    for asked in 0.. {
        let mut needs = match failure.into_kind() {
            FailureKind::NeedsInput(needs) if mapping.can_ask() => needs,
            kind => return failure_reply(kind, mapping, &context),
        };
        if let Some(error) = needs.take_unsupported() {
            return if context.is_legacy() {
                unsupported_reply(mapping, error)
            } else {
                Reply::Error(error)
            };
        }
        if let Err(error) = needs.check() {
            return Reply::Error(error);
        }
        if !context.is_legacy() {
            return ask_modern(mapping, &context, needs);
        }
        if asked == most {
            break;
        }
        let answers = match input::ask_legacy(&context.call, needs.requests()).await {
            Ok(answers) => answers,
            Err(input::LegacyInputError::Unsupported(error)) => {
                return unsupported_reply(mapping, error);
            }
            Err(input::LegacyInputError::Failed(error)) => {
                return message_reply(mapping, error.to_string());
            }
        };
        let state = needs.into_needs().state;
        let round = match context.round() {
            Some(round) => round.next_legacy_round(answers, state),
            None => context.first_round().next_legacy_round(answers, state),
        };
        context = context.with_round(round);
        let (handler, again) = (handler.clone(), context.clone());
        let run = Box::pin(async move { handler.run_again(again).await });
        let run = run_catching_panic(mapping.errors_in_result, run);
        failure = match run_watched(&context, run).await {
            Ok(reply) => return check_extension_result(reply, &context),
            Err(failure) => failure,
        };
    }
    tracing::warn!(
        "a request asked its client more than {most} times (ServerBuilder::max_input_rounds)"
    );
    count_refusal("ServerBuilder::max_input_rounds");
    message_reply(
        mapping,
        format!("the request asked its client more than {most} times"),
    )
}

/// Returns the reply for a failure of a handler, or of a layer around it, that asks for no input.
pub(crate) fn failure_reply(
    failure: FailureKind,
    mapping: FailureMapping,
    context: &HandlerContext,
) -> Reply {
    let report = |error: &(dyn Error + 'static), mask| {
        report_error(Some(mapping.method), context, error, mask)
    };
    match failure {
        FailureKind::Message { text, source } => {
            match source {
                Some(source) if source.is::<HandlerPanic>() => {
                    context.set_failure_cause(FailureCause::Panic);
                    if HandlerPanic::is_logged() {
                        context.set_failure_logged();
                    }
                }
                Some(source) => drop(report(&*source, false)),
                None => {}
            }
            message_reply(mapping, text)
        }
        FailureKind::Error { error, is_hidden } => {
            let mask = is_hidden || mapping.masks_errors;
            message_reply(mapping, report(&*error, mask))
        }
        FailureKind::Arguments(error) => argument_error_reply(mapping, context, &error),
        FailureKind::Protocol { error, source } => {
            match source.as_deref() {
                Some(source) => drop(report(source, false)),
                None if error
                    .cause()
                    .is_some_and(|cause| !cause.is::<HandlerPanic>()) =>
                {
                    drop(report(&error, false));
                }
                None => {}
            }
            protocol_error_reply(mapping, context, error)
        }
        FailureKind::NeedsInput(_) => mapping.cannot_ask_reply(),
    }
}

/// Returns an `input_required` result with sealed request state. Inside of a task, the questions go to its
/// record instead.
fn ask_modern(mapping: FailureMapping, context: &HandlerContext, needs: NeedsInput) -> Reply {
    let rounds = &context.settings.input_rounds;
    if let Some(round) = context.round()
        && let Some(leg) = round.task_leg()
    {
        return match rounds.park(needs, Some(round), &context.call) {
            Ok(questions) => {
                leg.park(questions);
                Reply::InputRequired(Box::new(ProjectedResult(InputRequiredResult::new())))
            }
            Err(error) => Reply::Error(error),
        };
    }
    let target = BoundRequest::new(mapping.method, &context.params());
    match rounds.seal(needs, context.round(), &target, &context.call) {
        Ok(required) => Reply::InputRequired(Box::new(ProjectedResult(required))),
        Err(error) => Reply::Error(error),
    }
}

/// Returns an error result with a message, or an internal error.
fn message_reply(mapping: FailureMapping, message: String) -> Reply {
    if mapping.errors_in_result {
        Reply::complete(CallToolResult::error(message))
    } else {
        Reply::Error(ProtocolError::internal(message))
    }
}

/// Returns the reply for arguments that do not match: an error result, so that the model can
/// correct them, or an invalid-params error.
fn argument_error_reply(
    mapping: FailureMapping,
    context: &HandlerContext,
    error: &ArgumentError,
) -> Reply {
    if error.is_too_costly() {
        tracing::debug!(
            "arguments are too costly to check against the schema (SchemaLimits::max_work)"
        );
        count_refusal("SchemaLimits::max_work");
        context.set_failure_cause(FailureCause::Limit("SchemaLimits::max_work"));
    }
    context.set_failure_cause(FailureCause::InvalidArguments);
    if !mapping.errors_in_result {
        return Reply::Error(ProtocolError::invalid_params(error.to_string()));
    }
    let name = context
        .params()
        .name
        .and_then(RawJson::text)
        .unwrap_or_default();
    let message = format!("Invalid arguments for tool {name:?}: {error}");
    Reply::complete(CallToolResult::error(message))
}

/// Returns the reply if a legacy client cannot be asked: an error result, since a model may find
/// another way, or an error.
fn unsupported_reply(mapping: FailureMapping, error: ProtocolError) -> Reply {
    if *error.kind() == ErrorKind::Internal {
        // A mistake of the handler, independent of the client.
        Reply::Error(error)
    } else if mapping.errors_in_result {
        Reply::complete(CallToolResult::error(error.message()))
    } else {
        Reply::Error(ProtocolError::invalid_params(error.message()))
    }
}

/// Returns the reply for a protocol error of the handler.
///
/// An error that requires URLs to be visited first is sent as such if the revision has it, as
/// questions in the modern era, and as a message otherwise.
fn protocol_error_reply(
    mapping: FailureMapping,
    context: &HandlerContext,
    error: ProtocolError,
) -> Reply {
    let ErrorKind::UrlElicitationRequired(urls) = error.kind() else {
        return Reply::Error(error);
    };
    if !mapping.can_ask() {
        return mapping.cannot_ask_reply();
    }
    if context.features().url_required_error {
        if !context.client_capabilities().supports_elicitation_url() {
            return unsupported_reply(mapping, error);
        }
        return match input::assign_elicitation_ids(urls.clone()) {
            Ok(urls) => Reply::Error(ProtocolError::url_elicitation_required(
                urls,
                error.message(),
            )),
            Err(reason) => Reply::Error(reason),
        };
    }
    if context.is_legacy() {
        let links: Vec<&str> = urls.iter().map(|url| url.url.as_str()).collect();
        return message_reply(mapping, format!("{}: {}", error.message(), links.join(" ")));
    }
    let needs = urls
        .iter()
        .enumerate()
        .fold(NeedsInput::new(), |needs, (at, url)| {
            needs.ask(
                &format!("url{}", at + 1),
                ElicitRequestParams::Url(url.clone()),
            )
        });
    ask_modern(mapping, context, needs)
}
