//! Type-erased handlers: extract the parameters, call the function, convert its output into a
//! reply.

use std::future::ready;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{self, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use turnbuckle_session::internal::{HandlerOutcome, catch_panic, run_blocking};
use turnbuckle_types::{ProtocolError, RawJson};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::era::headers::mirrored_name;

use super::first_run::{ConvertOutput, FirstRun};
use super::request::{DetachedRequest, ErasedHandler, HandlerRequest};
use super::rounds::{
    FailureMapping, HandlerRun, RunAgain, finish_handler, panic_failure, run_handler,
};
use super::{Handler, HandlerKind, HandlerOutput, SyncMarker};
use crate::error::failure::{Failure, Result};
use crate::handler::concurrency_limit::ConcurrencyLimit;
use crate::request::context::HandlerContext;
use crate::request::extract::{Invocation, RequestPayload, States};
use crate::schema::ArgumentReader;

/// Makes a handler callable once the settings around it are known.
///
/// The factory holds only the function, so a function that captures nothing takes no memory on the
/// heap.
pub(crate) type HandlerFactory<K> = Box<
    dyn FnOnce(
            <K as HandlerKind>::ReplyOptions,
            ArgumentReader,
            &HandlerSettings<'_>,
        ) -> Arc<dyn ErasedHandler>
        + Send
        + Sync,
>;

/// The settings of an item's handler.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HandlerSettings<'a> {
    /// The state that the handler can take.
    pub(crate) states: &'a Arc<States>,
    /// Limits how many blocking handlers run at once.
    pub(crate) blocking: &'a Arc<ConcurrencyLimit>,
    /// True if the handler takes an [`Ask`](crate::Ask).
    pub(crate) asks: bool,
    /// True if clients read no error that was not made for them.
    pub(crate) masks_errors: bool,
}

/// Returns the factory of a handler that is polled in place.
pub(crate) fn handler_factory<K, H, M>(handler: H) -> HandlerFactory<K>
where
    K: HandlerKind<Reply = Reply>,
    H: Handler<K, M>,
    M: 'static,
{
    Box::new(move |reply_options, reader, settings| {
        Arc::new(TypedHandler::<K, H, M, false>::new(
            handler,
            reply_options,
            UntypedPart::new(reader, settings),
        ))
    })
}

/// Returns the factory of a sync handler that runs on the blocking pool.
pub(crate) fn blocking_handler_factory<K, H, E>(handler: H) -> HandlerFactory<K>
where
    K: HandlerKind<Reply = Reply>,
    H: Handler<K, SyncMarker<E>>,
    E: 'static,
{
    Box::new(move |reply_options, reader, settings| {
        Arc::new(TypedHandler::<K, H, SyncMarker<E>, true>::new(
            handler,
            reply_options,
            UntypedPart::new(reader, settings),
        ))
    })
}

/// A handler with its item's settings. With `ON_POOL` it runs on the blocking pool: a parameter of the
/// type, so that no other handler is compiled for the pool.
struct TypedHandler<K: HandlerKind, H, M, const ON_POOL: bool> {
    handler: H,
    reply_options: K::ReplyOptions,
    untyped: UntypedPart,
    marker: PhantomData<fn(M)>,
}

/// The part of [`TypedHandler`] that is the same for all handlers, and compiled once.
struct UntypedPart {
    reader: ArgumentReader,
    states: Arc<States>,
    asks: bool,
    masks_errors: bool,
    /// The limit of the blocking pool.
    blocking: Arc<ConcurrencyLimit>,
    /// The number of runs in place.
    runs: AtomicU32,
    /// True once a warning about a slow handler was logged.
    warned_slow: AtomicBool,
}

impl UntypedPart {
    fn new(reader: ArgumentReader, settings: &HandlerSettings<'_>) -> Self {
        Self {
            reader,
            states: settings.states.clone(),
            asks: settings.asks,
            masks_errors: settings.masks_errors,
            blocking: settings.blocking.clone(),
            runs: AtomicU32::new(0),
            warned_slow: AtomicBool::new(false),
        }
    }

    /// Checks the arguments and returns the call from which the parameters are extracted.
    fn invocation<'a>(
        &'a self,
        context: &'a HandlerContext,
        payload: RequestPayload<'a>,
    ) -> Result<Invocation<'a>> {
        if let RequestPayload::Arguments(arguments) = payload {
            self.reader.check_unread(arguments)?;
        }
        Ok(Invocation {
            context,
            payload,
            reader: &self.reader,
            states: &self.states,
        })
    }
}

/// A sync handler that holds its thread for longer than this is logged once, since it delays
/// everything else on the thread.
const SLOW_HANDLER: Duration = Duration::from_millis(100);

/// The number of first runs that are timed; later, one in this many is.
const TIMED_RUNS: u32 = 32;

impl<K, H, M, const ON_POOL: bool> TypedHandler<K, H, M, ON_POOL>
where
    K: HandlerKind<Reply = Reply>,
    H: Handler<K, M>,
    M: 'static,
{
    fn new(handler: H, reply_options: K::ReplyOptions, untyped: UntypedPart) -> Self {
        Self {
            handler,
            reply_options,
            untyped,
            marker: PhantomData,
        }
    }

    /// Checks the arguments, extracts the parameters at once and calls the function.
    fn start(&self, context: &HandlerContext, payload: RequestPayload<'_>) -> Result<H::Run> {
        self.handler
            .start(&self.untyped.invocation(context, payload)?)
    }

    /// Runs a handler from its parameters to its reply, while its extractors wait.
    fn run_detached(self: Arc<Self>, request: DetachedRequest) -> HandlerRun {
        Box::pin(async move {
            let run = {
                let invocation = self
                    .untyped
                    .invocation(&request.context, request.payload())?;
                self.handler.start_waiting(&invocation).await?
            };
            self.convert(run.await, request.uri())
        })
    }

    fn mapping(&self) -> FailureMapping {
        FailureMapping::for_kind::<K>(self.untyped.masks_errors)
    }

    /// Runs a sync handler on this thread, up to its reply.
    fn reply_in_place(&self, request: &HandlerRequest<'_>) -> Result<Reply> {
        let run = self.start_in_place(&request.context, request.payload())?;
        self.convert(ready_output::<K, H, M>(run)?, request.uri())
    }

    /// Runs a sync handler on this thread, and sometimes measures its time.
    fn start_in_place(
        &self,
        context: &HandlerContext,
        payload: RequestPayload<'_>,
    ) -> Result<H::Run> {
        let before = self.untyped.runs.fetch_add(1, Ordering::Relaxed);
        if before > TIMED_RUNS && !before.is_multiple_of(TIMED_RUNS) {
            return self.start(context, payload);
        }
        let begun = Instant::now();
        let run = self.start(context, payload);
        let elapsed = begun.elapsed();
        if elapsed > SLOW_HANDLER && !self.untyped.warned_slow.swap(true, Ordering::Relaxed) {
            warn_slow::<K>(context, elapsed);
        }
        run
    }

    /// Starts a sync handler on a thread of the blocking pool, which waits for its extractors.
    fn start_on_pool(&self, request: &DetachedRequest) -> Result<H::Run> {
        let invocation = self
            .untyped
            .invocation(&request.context, request.payload())?;
        if H::EXTRACTS_AT_ONCE {
            return self.handler.start(&invocation);
        }
        Handle::current().block_on(async {
            tokio::select! {
                run = self.handler.start_waiting(&invocation) => run,
                // The request is cancelled, so this message is not sent.
                () = request.context.cancelled() => Err(Failure::new("the call was cancelled")),
            }
        })
    }

    /// Runs a sync handler on the blocking pool, once a permit is free.
    fn run_on_pool(self: Arc<Self>, request: DetachedRequest) -> HandlerRun {
        Box::pin(async move {
            let permit = self.untyped.blocking.acquire(&request.context).await?;
            let work = move || {
                // The permit is held until the work is done, even if nobody waits for the result any more.
                let _permit = permit;
                if request.context.is_cancelled() {
                    return Err(Failure::new("the call was cancelled before it began"));
                }
                let run = self.start_on_pool(&request)?;
                self.convert(ready_output::<K, H, M>(run)?, request.uri())
            };
            let done = run_blocking(work).await;
            done.unwrap_or_else(|error| Err(panic_failure(K::ERRORS_IN_RESULT, error)))
        })
    }
}

/// Returns the output of a future that is ready at once.
fn ready_output<K: HandlerKind, H: Handler<K, M>, M>(run: H::Run) -> Result<H::Output> {
    let mut cx = task::Context::from_waker(Waker::noop());
    match std::pin::pin!(run).poll(&mut cx) {
        Poll::Ready(output) => Ok(output),
        Poll::Pending => {
            Err(ProtocolError::internal("a handler that runs in place was not ready").into())
        }
    }
}

/// Logs that a sync handler held its thread for long.
#[cold]
fn warn_slow<K: HandlerKind>(context: &HandlerContext, elapsed: Duration) {
    let name = mirrored_name(K::METHOD, &context.params()).flatten();
    let name = name.and_then(RawJson::text);
    let name = name.as_deref().unwrap_or_default();
    let elapsed = elapsed.as_millis();
    match K::CALL_KIND.attribute() {
        Some(attribute) => tracing::warn!(
            name,
            "a sync handler held its thread for {elapsed} ms, and everything else on it: mark it \
             `#[{attribute}(blocking)]`, or give it to `.blocking(…)` instead of `.handler(…)`"
        ),
        None => tracing::warn!(
            name,
            "a sync completer held its thread for {elapsed} ms, and everything else on it: make it \
             async"
        ),
    }
}

impl<K, H, M, const ON_POOL: bool> ConvertOutput for TypedHandler<K, H, M, ON_POOL>
where
    K: HandlerKind<Reply = Reply>,
    H: Handler<K, M>,
{
    type Output = H::Output;

    fn convert(&self, output: H::Output, uri: Option<&str>) -> Result<Reply> {
        output.into_handler_reply(&self.reply_options, uri)
    }
}

impl<K, H, M, const ON_POOL: bool> RunAgain for TypedHandler<K, H, M, ON_POOL>
where
    K: HandlerKind<Reply = Reply>,
    H: Handler<K, M>,
    M: 'static,
{
    fn run_again(self: Arc<Self>, context: HandlerContext) -> HandlerRun {
        let request = DetachedRequest::for_rerun::<K>(context, &self.reply_options);
        if ON_POOL {
            return self.run_on_pool(request);
        }
        if !H::EXTRACTS_AT_ONCE {
            return self.run_detached(request);
        }
        match self.start(&request.context, request.payload()) {
            Ok(run) => Box::pin(FirstRun::new(run, self, request.uri().map(str::to_owned))),
            Err(failure) => Box::pin(ready(Err(failure))),
        }
    }
}

impl<K, H, M, const ON_POOL: bool> ErasedHandler for TypedHandler<K, H, M, ON_POOL>
where
    K: HandlerKind<Reply = Reply>,
    H: Handler<K, M>,
    M: 'static,
{
    fn call(self: Arc<Self>, mut request: HandlerRequest<'_>) -> HandlerOutcome {
        let mapping = self.mapping();
        if self.untyped.asks {
            request.context = request.context.for_asking_handler();
        }
        if ON_POOL || !H::EXTRACTS_AT_ONCE {
            let (this, context) = (self.clone(), request.context.clone());
            let run = match ON_POOL {
                true => self.run_on_pool(request.detach()),
                false => self.run_detached(request.detach()),
            };
            return run_handler(mapping, this, context, run);
        }
        if H::IS_SYNC {
            let mut reply = None;
            let ended = catch(&mut || reply = Some(self.reply_in_place(&request)));
            let reply = unless_panicked(K::ERRORS_IN_RESULT, ended, reply);
            return finish_handler(mapping, self, request.into_parts().0, reply);
        }
        let mut run = None;
        let ended = catch(&mut || run = Some(self.start(&request.context, request.payload())));
        let (context, uri) = request.into_parts();
        match unless_panicked(K::ERRORS_IN_RESULT, ended, run) {
            Ok(run) => {
                let run = FirstRun::new(run, self.clone(), uri);
                run_handler(mapping, self, context, run)
            }
            Err(failure) => finish_handler(mapping, self, context, Err(failure)),
        }
    }
}

/// Runs a function of user code, whose panic is an error. It is compiled once for all functions.
fn catch(function: &mut dyn FnMut()) -> Result<(), ProtocolError> {
    catch_panic(function)
}

/// Returns what a function of user code has left, or the failure of its panic.
fn unless_panicked<T>(
    errors_in_result: bool,
    ended: Result<(), ProtocolError>,
    left: Option<Result<T>>,
) -> Result<T> {
    match (ended, left) {
        (Ok(()), Some(left)) => left,
        (Ok(()), None) => Err(ProtocolError::internal("a handler has left nothing").into()),
        (Err(panic), _) => Err(panic_failure(errors_in_result, panic)),
    }
}
