//! Runs handlers: polled in place while they are ready, moved to a task the first time they are
//! not. The only place of the server's end that spawns.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{self, Poll};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use turnbuckle_types::{Error, Principal};
use turnbuckle_wire::era::{ParamHeader, Reply};
use turnbuckle_wire::revision::Method;

use crate::server::underway::Handler;
use crate::{
    Dispatch, HandlerOutcome, IncomingNotification, IncomingRequest, Limits, NotificationFuture,
    Peer, PeerError, RequestContext, Session, Signal,
};

/// A handler under way.
pub(crate) type HandlerFuture = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// A handler after it was first polled.
pub(crate) enum Started {
    /// It is done.
    Ready(Reply),
    /// It waits for something. It was polled once.
    Pending(HandlerFuture),
}

/// Starts a handler in place. A context that outlives it can do nothing any more.
pub(crate) fn start(
    dispatch: &dyn Dispatch,
    call: IncomingRequest<'_>,
    context: &RequestContext,
    cx: &mut task::Context<'_>,
) -> Started {
    let handling = catch_unwind(AssertUnwindSafe(|| dispatch.call(call, context.clone())));
    let reply = match handling {
        Ok(HandlerOutcome::Ready(reply)) => reply,
        Ok(HandlerOutcome::Pending(mut running)) => match poll_guarded(&mut running, cx) {
            Poll::Ready(reply) => reply,
            Poll::Pending => return Started::Pending(running),
        },
        Err(panic) => panicked(&*panic).into(),
    };
    context.end();
    Started::Ready(reply)
}

/// How long a handler may run before its deadline, if it has one.
pub(crate) fn deadline_of(method: Option<Method>, limits: &Limits) -> Option<Duration> {
    (method != Some(Method::SubscriptionsListen)).then_some(limits.handler_timeout)
}

/// Moves a handler to a task of its own, where a runtime is left for that. Its end gets its reply,
/// or nothing when the request was cancelled: its route hears of that at once, and the handler has
/// its grace.
pub(crate) fn detach(handler: Handler) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return;
    };
    runtime.spawn(async move {
        let Handler {
            mut running,
            context,
            deadline,
            since,
            grace,
            end,
            ..
        } = handler;
        let waited = since.map(|since| Instant::from_std(since).elapsed());
        let deadline = deadline.map(|it| it.saturating_sub(waited.unwrap_or_default()));
        let reply = match run(&mut running, &context, deadline).await {
            Over::Replied(reply) => {
                drop(running);
                reply
            }
            Over::Late(reply) => {
                context.cancel();
                wind_up(running, &context, grace).await;
                Some(reply)
            }
            Over::Cancelled => {
                context.route().finish(None);
                wind_up(running, &context, grace).await;
                let unwanted = end.answer(&context, None);
                return drop(unwanted);
            }
        };
        context.end();
        let answer = end.answer(&context, reply);
        context.route().finish(answer);
    });
}

/// Runs what holds its thread on a thread for that. A panic is an error, as that of a handler is.
pub(crate) async fn run_apart<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let guarded = move || catch_unwind(AssertUnwindSafe(work));
    match tokio::task::spawn_blocking(guarded).await {
        Ok(done) => done.map_err(|panic| panicked(&*panic)),
        Err(_) => Err(Error::internal("the server is being shut down")),
    }
}

/// Does something with a thing after a while, if it is still there and `over` has not fired. What is
/// not there any more is not kept for that; without a runtime nothing happens.
pub(crate) fn later<T: Send + Sync + 'static>(
    wait: Duration,
    of: Weak<T>,
    over: Signal,
    act: impl FnOnce(Arc<T>) + Send + 'static,
) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = over.cancelled() => return,
            }
            if let Some(of) = of.upgrade() {
                act(of);
            }
        });
    }
}

/// Lets somebody hear what a server says. A panic there ends nothing but the hearing.
pub(crate) fn guard_callback(hear: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(hear)) {
        drop(panicked(&*panic));
    }
}

/// Lets a dispatch hear of a notification. A panic there ends nothing but the hearing.
pub(crate) fn hear(
    dispatch: &dyn Dispatch,
    notice: IncomingNotification<'_>,
    peer: &Peer,
) -> Option<NotificationFuture> {
    catch_unwind(AssertUnwindSafe(|| {
        dispatch.handle_notification(notice, peer)
    }))
    .inspect_err(|panic| drop(panicked(&**panic)))
    .unwrap_or_default()
}

/// Runs what a notification set off, until it is done or `ended` fires. `permit` is given back
/// then.
pub(crate) fn react(reaction: NotificationFuture, ended: Signal, permit: OwnedSemaphorePermit) {
    tokio::spawn(async move {
        tokio::select! {
            () = reaction => {}
            () = ended.cancelled() => {}
        }
        drop(permit);
    });
}

/// Asks a client every so often whether it is there. Its session ends the first time that it does
/// not say so in time. A client that has no connection cannot be asked, which ends nothing.
pub(crate) fn keep_asking(session: Arc<Session>, every: Duration, timeout: Duration) {
    let peer = session.peer();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = session.ended().cancelled() => return,
            }
            if !peer.is_heard() {
                continue;
            }
            match peer.ping_anyway(timeout).await {
                Err(PeerError::TimedOut { .. }) if peer.is_heard() => {
                    tracing::warn!(
                        ?timeout,
                        "a ping was not answered in time (Limits::ping_timeout): the session ends"
                    );
                    return session.end();
                }
                Err(PeerError::Ended) => return,
                // A refusal is a sign of life too. Who cannot hear is asked again.
                Ok(()) | Err(_) => {}
            }
        }
    });
}

/// How a handler's time ended.
enum Over {
    /// By its reply, if that is still wanted.
    Replied(Option<Reply>),
    /// By its deadline: this is the answer.
    Late(Reply),
    /// Because its request was cancelled.
    Cancelled,
}

async fn run(
    running: &mut HandlerFuture,
    context: &RequestContext,
    deadline: Option<Duration>,
) -> Over {
    let handler = std::future::poll_fn(|cx| poll_guarded(running, cx));
    let own = context.take_deadline();
    let own = own.filter(|(own, _)| deadline.is_none_or(|longest| *own < longest));
    let deadline = own.as_ref().map(|(own, _)| *own).or(deadline);
    let late = async {
        match deadline {
            Some(deadline) => tokio::time::sleep(deadline).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        reply = handler => Over::Replied((!context.is_cancelled()).then_some(reply)),
        () = context.cancelled() => Over::Cancelled,
        () = late => Over::Late(match own {
            Some((_, late)) => late(),
            None => Error::internal(
                "the request took longer than the server allows (Limits::handler_timeout)",
            )
            .into(),
        }),
    }
}

/// Gives a cancelled handler its grace.
async fn wind_up(mut running: HandlerFuture, context: &RequestContext, grace: Duration) {
    let handler = std::future::poll_fn(|cx| poll_guarded(&mut running, cx));
    if tokio::time::timeout(grace, handler).await.is_err() {
        tracing::debug!(id = %context.id(), "a cancelled handler did not finish in its grace");
    }
}

/// Polls a handler. A panic is an error.
pub(crate) fn poll_guarded(running: &mut HandlerFuture, cx: &mut task::Context<'_>) -> Poll<Reply> {
    match catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(cx))) {
        Ok(poll) => poll,
        Err(panic) => Poll::Ready(panicked(&*panic).into()),
    }
}

/// Asks a dispatch what headers a tool's arguments are mirrored in.
pub(crate) fn mirrored(
    dispatch: &dyn Dispatch,
    tool: &str,
    principal: Option<&Principal>,
) -> Result<Arc<[ParamHeader]>, Error> {
    catch_unwind(AssertUnwindSafe(|| dispatch.param_headers(tool, principal)))
        .map_err(|panic| panicked(&*panic))
}

/// Runs a step of a handler.
///
/// # Errors
/// When it panics: what is told of it, which is nothing of what it said.
#[doc(hidden)]
pub fn catch_panic<T>(step: impl FnOnce() -> T) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(step)).map_err(|panic| panicked(&*panic))
}

#[cold]
fn panicked(panic: &(dyn Any + Send)) -> Error {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    tracing::error!(message, "a handler panicked");
    Error::internal("the handler failed unexpectedly")
}
