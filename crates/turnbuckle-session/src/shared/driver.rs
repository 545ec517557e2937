//! Runs handlers: polled in place while they are ready, moved to a task the first time they are
//! not. The only place that spawns.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{self, Poll};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use turnbuckle_types::{Error, Principal, RequestParams};
use turnbuckle_wire::era::{ParamHeader, Reply};
use turnbuckle_wire::revision::Method;

use crate::server::underway::Handler;
use crate::{
    Ask, AskError, Call, Context, Conversation, Dispatch, Handling, Host, Limits, LinkError,
    Notice, Patience, Peer, PeerError, Reaction, ServerRequest, Session, Signal, Speaks,
};

/// A handler under way.
pub(crate) type Running = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// A handler after it was first polled.
pub(crate) enum Started {
    /// It is done.
    Ready(Reply),
    /// It waits for something. It was polled once.
    Pending(Running),
}

/// Starts a handler in place. A context that outlives it can do nothing any more.
pub(crate) fn start(
    dispatch: &dyn Dispatch,
    call: Call<'_>,
    context: &Context,
    cx: &mut task::Context<'_>,
) -> Started {
    let handling = catch_unwind(AssertUnwindSafe(|| dispatch.call(call, context.clone())));
    let reply = match handling {
        Ok(Handling::Ready(reply)) => reply,
        Ok(Handling::Pending(mut running)) => match poll_guarded(&mut running, cx) {
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
    (method != Some(Method::Listen)).then_some(limits.handler_deadline)
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
                context.route().done(None);
                wind_up(running, &context, grace).await;
                let unwanted = end.answer(&context, None);
                return drop(unwanted);
            }
        };
        context.end();
        let answer = end.answer(&context, reply);
        context.route().done(answer);
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

/// Runs what belongs to a connection of this side until it is done.
pub(crate) fn run_until_done(work: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(work);
}

/// How long a word that nobody waits for may take to reach a server.
const LAST_WORD: Duration = Duration::from_secs(10);

/// Carries an answer to a server, unless it takes longer than that.
pub(crate) async fn in_time<T>(time: Duration, carrying: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(time, carrying).await.ok()
}

/// Sends a last word for a request that was given up, where a runtime is left to do so. A server
/// that does not take it in time never hears it.
pub(crate) fn last_word(work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move {
            let _ = tokio::time::timeout(LAST_WORD, work).await;
        });
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

/// Lets a host answer a request of its server, and runs what that takes. A panic is an error to the
/// server, and ends nothing else.
pub(crate) async fn answer(
    host: &dyn Host,
    call: Call<'_>,
    request: ServerRequest,
    deadline: Duration,
) -> Option<Reply> {
    let signal = request.signal().clone();
    let handling = catch_unwind(AssertUnwindSafe(|| host.call(call, request)));
    let mut running = match handling {
        Ok(Handling::Ready(reply)) => return Some(reply),
        Ok(Handling::Pending(running)) => running,
        Err(panic) => return Some(panicked(&*panic).into()),
    };
    let handler = std::future::poll_fn(|cx| poll_guarded(&mut running, cx));
    tokio::select! {
        biased;
        reply = handler => (!signal.is_cancelled()).then_some(reply),
        () = signal.cancelled() => None,
        () = tokio::time::sleep(deadline) => Some(
            Error::internal(
                "the answer took longer than this client allows (ConversationLimits::answer_deadline)"
            ).into()
        ),
    }
}

/// Lets somebody hear what a server says. A panic there ends nothing but the hearing.
pub(crate) fn tell(hear: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(hear)) {
        drop(panicked(&*panic));
    }
}

/// Lets a dispatch hear of a notification. A panic there ends nothing but the hearing.
pub(crate) fn hear(dispatch: &dyn Dispatch, notice: Notice<'_>, peer: &Peer) -> Option<Reaction> {
    catch_unwind(AssertUnwindSafe(|| dispatch.notified(notice, peer)))
        .inspect_err(|panic| drop(panicked(&**panic)))
        .unwrap_or_default()
}

/// Runs what a notification set off, until it is done or `ended` fires. `permit` is given back
/// then.
pub(crate) fn react(reaction: Reaction, ended: Signal, permit: OwnedSemaphorePermit) {
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

/// Asks a server every so often whether it is there. Its conversation ends the first time that it
/// does not say so in time. Holds nothing of the conversation while it waits.
pub(crate) fn keep_asking_server(
    conversation: &Arc<Conversation>,
    speaks: Arc<Speaks>,
    every: Duration,
    timeout: Duration,
) {
    let (weak, ended) = (Arc::downgrade(conversation), conversation.ended().clone());
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = ended.cancelled() => return,
            }
            let Some(conversation) = weak.upgrade() else {
                return;
            };
            let nothing: Option<&RequestParams> = None;
            let mut ask = Ask::new(Method::Ping.as_str(), nothing, &speaks);
            ask.patience = Patience::at_most(timeout);
            ask.anyway = true;
            // An error is a sign of life too.
            if let Err(AskError::TimedOut(_)) = conversation.ask(ask).await {
                tracing::warn!(
                    ?timeout,
                    "a ping was not answered in time (ClientBuilder::keep_alive): the connection ends"
                );
                conversation.end(LinkError::Broken {
                    reason: format!(
                        "a ping was not answered within {timeout:?} (ClientBuilder::keep_alive)"
                    ),
                });
                return conversation.close().await;
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

async fn run(running: &mut Running, context: &Context, deadline: Option<Duration>) -> Over {
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
                "the request took longer than the server allows (Limits::handler_deadline)",
            )
            .into(),
        }),
    }
}

/// Gives a cancelled handler its grace.
async fn wind_up(mut running: Running, context: &Context, grace: Duration) {
    let handler = std::future::poll_fn(|cx| poll_guarded(&mut running, cx));
    if tokio::time::timeout(grace, handler).await.is_err() {
        tracing::debug!(id = %context.id(), "a cancelled handler did not finish in its grace");
    }
}

/// Polls a handler. A panic is an error.
pub(crate) fn poll_guarded(running: &mut Running, cx: &mut task::Context<'_>) -> Poll<Reply> {
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
    catch_unwind(AssertUnwindSafe(|| dispatch.mirrored(tool, principal)))
        .map_err(|panic| panicked(&*panic))
}

/// Runs a step of a handler.
///
/// # Errors
/// When it panics: what is told of it, which is nothing of what it said.
#[doc(hidden)]
pub fn caught<T>(step: impl FnOnce() -> T) -> Result<T, Error> {
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
