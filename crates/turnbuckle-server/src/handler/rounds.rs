//! Runs a handler of any kind through its rounds.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{self, Poll};

use turnbuckle_session::{Handling, caught};
use turnbuckle_types::{CallToolResult, ElicitParams, Error, ErrorKind, RawJson};
use turnbuckle_wire::era::{Projected, Reply};
use turnbuckle_wire::revision::Method;

use crate::context::Context;
use crate::failure::{Failure, Kind, Result};
use crate::input::{self, NeedsInput, Round, Target};
use crate::schema::ArgumentError;

/// One run of a handler.
pub(crate) type Run = Pin<Box<dyn Future<Output = Result<Reply>> + Send>>;

/// A handler that can be run again when the answers to its questions are there.
pub(crate) trait Again: Send + Sync + 'static {
    /// Runs it with the parameters that the request came with.
    fn again(self: Arc<Self>, context: Context) -> Run;

    /// What its failures come to.
    fn terms(&self) -> Terms;
}

/// What failures come to that answer requests of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    /// The method: rounds are bound to that, and to what the request names.
    method: Method,
    /// Whether failures are told to a model, inside a result.
    tells: bool,
}

impl Terms {
    pub(crate) fn of<K: super::Kind>() -> Self {
        Self {
            method: K::METHOD,
            tells: K::TELLS,
        }
    }

    /// Whether the client can be asked for input first.
    ///
    /// Specification: basic/patterns/mrtr, "Supported Requests" (2026-07-28).
    fn may_ask(self) -> bool {
        matches!(
            self.method,
            Method::CallTool | Method::GetPrompt | Method::ReadResource
        )
    }

    /// Why the client is not asked.
    fn cannot_ask(self) -> Reply {
        Reply::Error(Error::internal(match self.may_ask() {
            true => "only a handler can ask its client",
            false => "a completion cannot ask for input",
        }))
    }
}

/// A first run under way becomes the answer to its request: `finish` makes its reply of what it came
/// to. The two come apart so that the run is held once, and not in another that waits for it.
pub(crate) fn handling<F>(
    handler: Arc<dyn Again>,
    context: Context,
    first: F,
    finish: impl FnOnce(F::Output) -> Result<Reply> + Send + 'static,
) -> Handling
where
    F: Future + Send + 'static,
{
    // What does not ask is not watched, and pays nothing for it.
    if context.asking_round().is_none() {
        return Handling::Pending(Box::pin(async move {
            let tells = handler.terms().tells;
            let mut first = pin!(first);
            let output = poll_fn(|cx| poll_caught(first.as_mut(), cx)).await;
            let reply = output.and_then(|output| caught(|| finish(output)));
            match reply.unwrap_or_else(|error| Err(panicked(tells, error))) {
                Ok(reply) => admitted(reply, &context),
                Err(failure) => Box::pin(settle(handler, context, failure)).await,
            }
        }));
    }
    Handling::Pending(Box::pin(async move {
        let first = async move { finish(first.await) };
        match watched(&context, told_of(handler.terms().tells, first)).await {
            Ok(reply) => admitted(reply, &context),
            Err(failure) => Box::pin(settle(handler, context, failure)).await,
        }
    }))
}

/// A run whose panic is a failure like any other: a model that called a tool reads that it failed,
/// and nothing of what the panic said.
async fn told_of<F>(tells: bool, run: F) -> Result<Reply>
where
    F: Future<Output = Result<Reply>>,
{
    let mut run = pin!(run);
    let output = poll_fn(|cx| poll_caught(run.as_mut(), cx)).await;
    output.unwrap_or_else(|error| Err(panicked(tells, error)))
}

/// Polls such a run.
fn poll_caught<F: Future>(
    run: Pin<&mut F>,
    cx: &mut task::Context<'_>,
) -> Poll<Result<F::Output, Error>> {
    match caught(|| run.poll(cx)) {
        Ok(polled) => polled.map(Ok),
        Err(error) => Poll::Ready(Err(error)),
    }
}

/// What a handler that panicked fails with.
pub(super) fn panicked(tells: bool, error: Error) -> Failure {
    if tells {
        Failure::new(error.message())
    } else {
        error.into()
    }
}

/// A run that ends when all that it waits for are answers of a modern client.
async fn watched(context: &Context, run: impl Future<Output = Result<Reply>>) -> Result<Reply> {
    match context.asking_round() {
        Some(round) => input::attend(round, run).await,
        None => run.await,
    }
}

/// A result of an extension's type goes only to clients that declared the extension.
pub(super) fn admitted(reply: Reply, context: &Context) -> Reply {
    match reply {
        Reply::Extension(kind, _) if !context.server().0.extensions.admits(kind, context) => {
            Reply::Error(Error::internal(format!(
                "the handler answered with a {kind:?}, which this client did not declare"
            )))
        }
        reply => reply,
    }
}

/// What a failure comes to: an error, an error result, or another round.
async fn settle(handler: Arc<dyn Again>, mut context: Context, mut failure: Failure) -> Reply {
    let most = context.server().rounds().max;
    let terms = handler.terms();
    for asked in 0.. {
        let mut needs = match failure.into_kind() {
            Kind::Input(needs) if terms.may_ask() => *needs,
            kind => return failed(kind, terms, &context),
        };
        if let Some(error) = needs.take_unable() {
            return if context.is_legacy() {
                unable(terms, error)
            } else {
                Reply::Error(error)
            };
        }
        if let Err(error) = needs.check() {
            return Reply::Error(error);
        }
        if !context.is_legacy() {
            return ask_modern(terms, &context, needs);
        }
        if asked == most {
            break;
        }
        let answers = match input::ask_legacy(context.call(), &needs.requests).await {
            Ok(answers) => answers,
            Err(input::NoAnswer::Unable(error)) => return unable(terms, error),
            Err(input::NoAnswer::Failed(error)) => return told(terms, error.to_string()),
        };
        let round = match context.round() {
            Some(round) => round.next(answers, needs.state),
            None => Round::default().next(answers, needs.state),
        };
        context = context.in_round(round);
        let run = told_of(terms.tells, handler.clone().again(context.clone()));
        failure = match watched(&context, run).await {
            Ok(reply) => return admitted(reply, &context),
            Err(failure) => failure,
        };
    }
    told(
        terms,
        format!("the request asked its client more than {most} times (ServerBuilder::max_rounds)"),
    )
}

/// What a failure comes to that nobody can be asked for, of a handler or of a layer around it.
pub(crate) fn failed(failure: Kind, terms: Terms, context: &Context) -> Reply {
    match failure {
        Kind::Told(message) => told(terms, message),
        Kind::Arguments(error) => misused(terms, context, &error),
        Kind::Protocol(error) => refused(terms, context, error),
        Kind::Input(_) => terms.cannot_ask(),
    }
}

fn ask_modern(terms: Terms, context: &Context, needs: NeedsInput) -> Reply {
    let rounds = context.server().rounds();
    let target = Target::of(terms.method, &context.params());
    match rounds.seal(needs, context.round(), &target, context.call()) {
        Ok(required) => Reply::NeedsInput(Box::new(Projected(required))),
        Err(error) => Reply::Error(error),
    }
}

fn told(terms: Terms, message: String) -> Reply {
    if terms.tells {
        Reply::complete(CallToolResult::error(message))
    } else {
        Reply::Error(Error::internal(message))
    }
}

/// Bad arguments are told to the model, so that it can do better; elsewhere they are an error.
fn misused(terms: Terms, context: &Context, error: &ArgumentError) -> Reply {
    if !terms.tells {
        return Reply::Error(Error::invalid_params(error.to_string()));
    }
    let name = context
        .params()
        .name
        .and_then(RawJson::text)
        .unwrap_or_default();
    let message = format!("Invalid arguments for tool {name:?}: {error}");
    Reply::complete(CallToolResult::error(message))
}

/// A legacy client cannot be asked that: a model may find another way, a user has to be told.
fn unable(terms: Terms, error: Error) -> Reply {
    if *error.kind() == ErrorKind::Internal {
        // The handler's own fault, whatever the client can do.
        Reply::Error(error)
    } else if terms.tells {
        Reply::complete(CallToolResult::error(error.message()))
    } else {
        Reply::Error(Error::invalid_params(error.message()))
    }
}

/// An error of the protocol. One that wants URLs to be visited first is an error where the revision
/// has one, questions in the modern era, something to be told elsewhere.
fn refused(terms: Terms, context: &Context, error: Error) -> Reply {
    let ErrorKind::UrlElicitationRequired(urls) = error.kind() else {
        return Reply::Error(error);
    };
    if !terms.may_ask() {
        return terms.cannot_ask();
    }
    if context.features().url_required_error {
        if !context.client_capabilities().supports_elicitation_url() {
            return unable(terms, error);
        }
        return match input::name_urls(urls.clone()) {
            Ok(urls) => Reply::Error(Error::url_elicitation_required(urls, error.message())),
            Err(reason) => Reply::Error(reason),
        };
    }
    if context.is_legacy() {
        let links: Vec<&str> = urls.iter().map(|url| url.url.as_str()).collect();
        return told(terms, format!("{}: {}", error.message(), links.join(" ")));
    }
    let needs = urls
        .iter()
        .enumerate()
        .fold(NeedsInput::new(), |needs, (at, url)| {
            needs.ask(&format!("url{}", at + 1), ElicitParams::Url(url.clone()))
        });
    ask_modern(terms, context, needs)
}
