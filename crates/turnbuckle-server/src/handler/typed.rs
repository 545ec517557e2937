//! A handler behind its item: what it takes is made, it is run, and what it returned becomes a
//! reply.

use std::convert::identity;
use std::future::ready;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{self, Poll, Waker};
use std::time::{Duration, Instant};

use turnbuckle_session::{Handling, caught, run_blocking};
use turnbuckle_types::{Error, RawJson};
use turnbuckle_wire::era::headers::mirrored_name;

use super::request::{Kept, Request};
use super::rounds::{Again, Run, Terms, admitted, handling, panicked};
use super::{Handler, InPlace, Kind, Returns};
use crate::context::Context;
use crate::extract::{Incoming, States, Subject};
use crate::failure::{Failure, Result};
use crate::schema::Intake;
use crate::scope::Scope;
use crate::turns::Turns;

/// A handler whose types are no longer seen.
pub(crate) trait Callable: Send + Sync {
    fn call(self: Arc<Self>, request: Request<'_>) -> Handling;
}

/// Makes what is called, once what surrounds it is known, and whether it may ask its client. It has
/// the handler and nothing else: no room on the heap for a function that captures nothing.
pub(crate) type Maker<K> =
    Box<dyn FnOnce(<K as Kind>::Frame, Intake, &Scope, bool) -> Arc<dyn Callable> + Send + Sync>;

/// What makes a handler callable, where it is polled.
pub(crate) fn maker<K, H, M>(handler: H) -> Maker<K>
where
    K: Kind,
    H: Handler<K, M>,
    M: 'static,
{
    Box::new(move |frame, intake, scope, asks| made(handler, asks, frame, intake, scope, None))
}

/// What makes a sync handler callable, on the pool for those that block.
pub(crate) fn blocking_maker<K, H, E>(handler: H) -> Maker<K>
where
    K: Kind,
    H: Handler<K, InPlace<E>>,
    E: 'static,
{
    Box::new(move |frame, intake, scope, asks| {
        let pool = Some(scope.blocking.clone());
        made(handler, asks, frame, intake, scope, pool)
    })
}

fn made<K: Kind, H: Handler<K, M>, M: 'static>(
    handler: H,
    asks: bool,
    frame: K::Frame,
    intake: Intake,
    scope: &Scope,
    pool: Option<Arc<Turns>>,
) -> Arc<dyn Callable> {
    Arc::new(Typed::<K, H, M> {
        handler,
        frame,
        intake,
        states: scope.states.clone(),
        asks,
        pool,
        runs: AtomicU32::new(0),
        found_slow: AtomicBool::new(false),
        marker: PhantomData,
    })
}

struct Typed<K: Kind, H, M> {
    handler: H,
    frame: K::Frame,
    intake: Intake,
    states: Arc<States>,
    /// Whether it may ask its client in the middle.
    asks: bool,
    /// Where it runs, if it blocks.
    pool: Option<Arc<Turns>>,
    /// How often it ran in place.
    runs: AtomicU32,
    /// Whether it was warned about.
    found_slow: AtomicBool,
    marker: PhantomData<fn(M)>,
}

/// A handler that holds its thread for longer keeps others waiting.
const SLOW: Duration = Duration::from_millis(100);

/// That many runs are timed at first, and one in so many later.
const TIMED: u32 = 32;

impl<K: Kind, H: Handler<K, M>, M: 'static> Typed<K, H, M> {
    fn start(&self, context: &Context, subject: Subject<'_>) -> Result<H::Run> {
        if let Subject::Arguments(arguments) = subject {
            self.intake.admit(arguments)?;
        }
        self.handler.start(&Incoming {
            context,
            subject,
            intake: &self.intake,
            states: &self.states,
        })
    }

    /// Runs a sync handler, here and now.
    fn start_in_place(&self, context: &Context, subject: Subject<'_>) -> Result<H::Run> {
        let before = self.runs.fetch_add(1, Ordering::Relaxed);
        if before > TIMED && !before.is_multiple_of(TIMED) {
            return self.start(context, subject);
        }
        let begun = Instant::now();
        let run = self.start(context, subject);
        let held = begun.elapsed();
        if held > SLOW && !self.found_slow.swap(true, Ordering::Relaxed) {
            warn_of::<K>(context, held);
        }
        run
    }

    /// Runs a sync handler on the pool, as soon as there is room.
    fn run_apart(self: Arc<Self>, pool: Arc<Turns>, kept: Kept) -> Run {
        Box::pin(async move {
            let turn = pool.take(&kept.context).await?;
            let work = move || {
                // It is given back when the work is done, whoever still waits for that.
                let _turn = turn;
                if kept.context.is_cancelled() {
                    return Err(Failure::new("the call was cancelled before it began"));
                }
                let run = kept.with_subject(|subject| self.start(&kept.context, subject))?;
                finished::<K, H, M>(run)?.reply(&self.frame, kept.uri())
            };
            let done = run_blocking(work).await;
            done.unwrap_or_else(|error| Err(panicked(K::TELLS, error)))
        })
    }
}

/// What a run came to that is ready at once.
fn finished<K: Kind, H: Handler<K, M>, M>(run: H::Run) -> Result<H::Output> {
    let mut cx = task::Context::from_waker(Waker::noop());
    match std::pin::pin!(run).poll(&mut cx) {
        Poll::Ready(output) => Ok(output),
        Poll::Pending => Err(Error::internal("a handler that runs in place was not ready").into()),
    }
}

#[cold]
fn warn_of<K: Kind>(context: &Context, held: Duration) {
    let name = mirrored_name(K::METHOD, &context.params()).flatten();
    let name = name.and_then(RawJson::text);
    let name = name.as_deref().unwrap_or_default();
    let held = held.as_millis();
    match K::ATTRIBUTE {
        Some(attribute) => tracing::warn!(
            name,
            "a sync handler held its thread for {held} ms, and everything else on it: mark it \
             `#[{attribute}(blocking)]`, or give it to `.blocking(…)` instead of `.handler(…)`"
        ),
        None => tracing::warn!(
            name,
            "a sync completer held its thread for {held} ms, and everything else on it: make it \
             async"
        ),
    }
}

impl<K: Kind, H: Handler<K, M>, M: 'static> Callable for Typed<K, H, M> {
    fn call(self: Arc<Self>, mut request: Request<'_>) -> Handling {
        if self.asks {
            request.context = request.context.asking();
        }
        if let Some(pool) = self.pool.clone() {
            let context = request.context.clone();
            let run = self.clone().run_apart(pool, request.keep());
            return handling(self, context, run, identity);
        }
        if H::IN_PLACE {
            let reply = caught(|| {
                let run = self.start_in_place(&request.context, request.subject())?;
                finished::<K, H, M>(run)?.reply(&self.frame, request.uri())
            });
            let context = request.into_parts().0;
            let reply = reply.unwrap_or_else(|error| Err(panicked(K::TELLS, error)));
            return match reply {
                Ok(reply) => admitted(reply, &context).into(),
                Err(failure) => handling(self, context, ready(Err(failure)), identity),
            };
        }
        let run = caught(|| self.start(&request.context, request.subject()));
        let run = run.unwrap_or_else(|error| Err(panicked(K::TELLS, error)));
        let (context, uri) = request.into_parts();
        match run {
            Ok(run) => {
                let this = self.clone();
                handling(self, context, run, move |output| {
                    output.reply(&this.frame, uri.as_deref())
                })
            }
            Err(failure) => handling(self, context, ready(Err(failure)), identity),
        }
    }
}

impl<K: Kind, H: Handler<K, M>, M: 'static> Again for Typed<K, H, M> {
    fn again(self: Arc<Self>, context: Context) -> Run {
        let kept = Kept::again::<K>(context, &self.frame);
        if let Some(pool) = self.pool.clone() {
            return self.run_apart(pool, kept);
        }
        Box::pin(async move {
            let run = kept.with_subject(|subject| self.start(&kept.context, subject))?;
            run.await.reply(&self.frame, kept.uri())
        })
    }

    fn terms(&self) -> Terms {
        Terms::of::<K>()
    }
}
