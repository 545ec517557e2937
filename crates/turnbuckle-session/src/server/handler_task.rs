//! Runs handlers: polled once in place, and in a task of their own from the first time that they
//! are pending.

use std::pin::Pin;
use std::task::{self, Poll, Waker};
use std::time::Duration;

use tokio::time::Sleep;
use tracing::Instrument;
use turnbuckle_types::ProtocolError;
use turnbuckle_types::base::text::Escaped;
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::{Method, MethodRole};

use crate::server::context::{RequestContext, TimeoutReply};
use crate::server::dispatch::Dispatch;
use crate::shared::incoming::{HandlerFuture, HandlerOutcome, IncomingRequest};
use crate::shared::limits::Limits;
use crate::shared::panic_guard::{catch_panic, poll_handler};
use crate::shared::reply_sink::EncodedResponse;
use crate::shared::trace::{FailureCause, RequestTrace, TracedFailure, count_refusal};

/// A handler after its first poll.
pub(crate) enum StartedHandler {
    /// The handler is done.
    Ready(Reply),
    /// The handler waits for something, and is to be [spawned](HandlerTask::spawn).
    Pending(HandlerFuture),
}

/// Calls a handler and polls it once. After a ready handler nothing is sent with its context any
/// more.
///
/// The poll registers no waker: a task polls a pending handler again at once.
pub(crate) fn start_handler(
    dispatch: &dyn Dispatch,
    request: IncomingRequest<'_>,
    context: &RequestContext,
) -> StartedHandler {
    let outcome = catch_panic(|| dispatch.call(request, context.clone()));
    let reply = match outcome {
        Ok(HandlerOutcome::Ready(reply)) => reply,
        Ok(HandlerOutcome::Pending(mut future)) => {
            let mut cx = task::Context::from_waker(Waker::noop());
            match poll_handler(&mut future, &mut cx) {
                Poll::Ready(reply) => reply,
                Poll::Pending => return StartedHandler::Pending(future),
            }
        }
        Err(error) => error.into(),
    };
    context.finish();
    StartedHandler::Ready(reply)
}

/// Encodes the response of a handler that ran in a task, and forgets its request.
pub(crate) trait Completion: Send + 'static {
    /// Returns the response to send. `None` if there is no reply, or the client wants none any
    /// more.
    fn complete(self, context: &RequestContext, reply: Option<Reply>) -> Option<EncodedResponse>;
}

/// A pending handler that is about to move to a task.
pub(crate) struct HandlerTask<C> {
    pub(crate) future: HandlerFuture,
    pub(crate) context: RequestContext,
    pub(crate) completion: C,
    /// The longest time that the handler may run; `None` is for ever.
    pub(crate) timeout: Option<Duration>,
    /// The longest time that the handler may go on after it was cancelled.
    pub(crate) cancel_timeout: Duration,
    /// The span of the request, if anything is traced.
    pub(crate) trace: Option<Box<RequestTrace>>,
}

/// The way in which the time of a handler ended.
enum HandlerEnd {
    /// The handler returned a reply. It is `None` if the request was cancelled meanwhile.
    Replied(Option<Reply>),
    /// The timeout passed; this is the reply instead.
    TimedOut(Reply),
    /// The request was cancelled.
    Cancelled,
}

/// Returns the server's timeout for handlers of a method. Subscription streams and requests that wait
/// for a task have none.
pub(crate) fn handler_timeout(method: Option<Method>, limits: &Limits) -> Option<Duration> {
    let is_unbounded =
        |method: Method| method.role() == MethodRole::Subscription || method.waits_for_task();
    (!method.is_some_and(is_unbounded)).then_some(limits.handler_timeout)
}

impl<C: Completion> HandlerTask<C> {
    /// Spawns a task that runs the handler to its end and finishes the request's reply sink.
    /// Without a runtime the handler is dropped.
    pub(crate) fn spawn(self) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(self.run());
        }
    }

    async fn run(self) {
        let Self {
            mut future,
            context,
            completion,
            timeout,
            cancel_timeout,
            trace,
        } = self;
        let end = match &trace {
            None => run_handler(&mut future, &context, timeout).await,
            Some(trace) => {
                let span = trace.span().clone();
                // Boxed, so that the future of a request without a span does not grow.
                Box::pin(run_handler(&mut future, &context, timeout).instrument(span)).await
            }
        };
        if let Some(trace) = trace {
            match &end {
                HandlerEnd::Replied(Some(reply)) => {
                    trace.end(reply, context.features(), context.failure_facts());
                }
                HandlerEnd::TimedOut(_) => {
                    trace.fail(&TracedFailure::timeout(context.failure_facts()));
                }
                HandlerEnd::Replied(None) | HandlerEnd::Cancelled => drop(trace),
            }
        }
        let reply = match end {
            HandlerEnd::Replied(reply) => {
                drop(future);
                reply
            }
            HandlerEnd::TimedOut(reply) => {
                context.cancel();
                wait_for_cancelled(future, &context, cancel_timeout).await;
                Some(reply)
            }
            HandlerEnd::Cancelled => {
                context.sink().finish(None);
                wait_for_cancelled(future, &context, cancel_timeout).await;
                drop(completion.complete(&context, None));
                return;
            }
        };
        context.finish();
        let response = completion.complete(&context, reply);
        context.sink().finish(response);
    }
}

async fn run_handler(
    future: &mut HandlerFuture,
    context: &RequestContext,
    timeout: Option<Duration>,
) -> HandlerEnd {
    let is_shorter = |own: &(Duration, TimeoutReply)| timeout.is_none_or(|longest| own.0 < longest);
    let own = context.take_timeout().filter(is_shorter);
    // A handler that has to find its item first sets the timeout of the request when it has found it.
    let mut late: Option<(Pin<Box<Sleep>>, TimeoutReply)> = None;
    let handler = std::future::poll_fn(|cx| {
        if let Poll::Ready(reply) = poll_handler(future, cx) {
            return Poll::Ready(Ok(reply));
        }
        if let Some((own, timeout_reply)) = context.take_timeout().filter(is_shorter) {
            late = Some((Box::pin(tokio::time::sleep(own)), timeout_reply));
        }
        match &mut late {
            None => Poll::Pending,
            Some((timer, reply)) => timer.as_mut().poll(cx).map(|()| Err(reply())),
        }
    });
    let timeout = own.as_ref().map(|(own, _)| *own).or(timeout);
    let timed_out = async {
        match timeout {
            Some(timeout) => tokio::time::sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        reply = handler => match reply {
            Ok(reply) => HandlerEnd::Replied((!context.is_cancelled()).then_some(reply)),
            Err(timeout_reply) => HandlerEnd::TimedOut(timeout_reply),
        },
        () = context.cancelled() => HandlerEnd::Cancelled,
        () = timed_out => HandlerEnd::TimedOut(match own {
            Some((_, timeout_reply)) => timeout_reply(),
            None => {
                let timeout = timeout.unwrap_or_default();
                tracing::debug!("a handler took longer than {timeout:?} (Limits::handler_timeout)");
                count_refusal("Limits::handler_timeout");
                context.set_failure_cause(FailureCause::Limit("Limits::handler_timeout"));
                ProtocolError::internal("the request took longer than the server allows").into()
            }
        }),
    }
}

/// Polls a cancelled handler until it ends or `cancel_timeout` has passed.
pub(crate) async fn wait_for_cancelled(
    mut future: HandlerFuture,
    context: &RequestContext,
    cancel_timeout: Duration,
) {
    let handler = std::future::poll_fn(|cx| poll_handler(&mut future, cx));
    if tokio::time::timeout(cancel_timeout, handler).await.is_err() {
        count_refusal("Limits::cancel_timeout");
        tracing::debug!(
            id = %Escaped(context.id()),
            "a cancelled handler did not end in time (Limits::cancel_timeout) and was dropped"
        );
    }
}
