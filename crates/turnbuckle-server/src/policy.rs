//! What a server, a group or an item says of how its calls are run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle_session::Handling;
use turnbuckle_wire::era::Reply;

use crate::failure::Failure;
use crate::handler::{Callable, Kind, Request, Terms, told};
use crate::service::{Around, ItemKind, Layered};
use crate::turns::{InTurn, Turns};

/// What one of them says; most say nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Policy(Option<Box<Said>>);

#[derive(Clone, Default)]
pub(crate) struct Said {
    pub(crate) deadline: Option<Deadline>,
    pub(crate) turns: Option<Arc<Turns>>,
    /// The outermost first.
    pub(crate) layers: Vec<Arc<dyn Around>>,
}

impl Policy {
    /// To say more.
    pub(crate) fn say(&mut self) -> &mut Said {
        self.0.get_or_insert_default()
    }
}

/// How long a call may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    pub(crate) after: Duration,
    /// What its author wrote to set it.
    pub(crate) set_by: &'static str,
}

impl fmt::Debug for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Said")
            .field("deadline", &self.deadline)
            .field("turns", &self.turns)
            .field("layers", &self.layers.len())
            .finish()
    }
}

/// Surrounds what is called with what is said of it: by itself, and by what is around it, the
/// outermost first. Where nobody says anything it stays as it is.
///
/// The deadline is for everything that a call takes. Layers come next, and then the waiting for a
/// turn, so that a layer may answer what would have to wait.
pub(crate) fn guarded<K: Kind>(
    mut call: Arc<dyn Callable>,
    name: &str,
    around: &[Policy],
    own: &Policy,
) -> Arc<dyn Callable> {
    let all = || around.iter().chain([own]).filter_map(|it| it.0.as_deref());
    let turns: Vec<_> = all().rev().filter_map(|it| it.turns.clone()).collect();
    if !turns.is_empty() {
        call = Arc::new(InTurn {
            inner: call,
            turns,
            tells: K::TELLS,
        });
    }
    let layers: Vec<_> = all().flat_map(|it| it.layers.iter().cloned()).collect();
    if !layers.is_empty()
        && let Some(kind) = ItemKind::of::<K>()
    {
        call = Arc::new(Layered::new(call, kind, name, layers, Terms::of::<K>()));
    }
    match all().rev().find_map(|it| it.deadline) {
        None => call,
        Some(deadline) => Arc::new(Timed::new(call, deadline, K::TELLS)),
    }
}

/// Something whose calls have a deadline.
struct Timed {
    inner: Arc<dyn Callable>,
    after: Duration,
    late: Arc<dyn Fn() -> Reply + Send + Sync>,
}

impl Timed {
    fn new(inner: Arc<dyn Callable>, deadline: Deadline, tells: bool) -> Self {
        let Deadline { after, set_by } = deadline;
        let late = move || {
            let message = format!("the call took longer than {after:?} ({set_by})");
            told(Failure::new(message), tells)
        };
        Self {
            inner,
            after,
            late: Arc::new(late),
        }
    }
}

impl Callable for Timed {
    fn call(self: Arc<Self>, request: Request<'_>) -> Handling {
        let context = request.context();
        context.set_deadline(self.after, self.late.clone());
        self.inner.clone().call(request)
    }
}

/// The setters of a policy; `$set_by` names whose they are.
macro_rules! policy_setters {
    ($set_by:literal, $this:ident => $policy:expr) => {
        /// How long one call may take; by default as long as the session allows (an hour). The
        /// innermost says: an item's own counts instead of its group's, and a group's instead of
        /// the server's, also when it is longer.
        ///
        /// It counts from when the call first waits, and whatever it waits for counts: its turn, a
        /// layer, an answer of the client. (A modern client answers with a new request, which has
        /// a deadline of its own.) When it has passed, the call is answered with an error
        /// that says so; the handler's [`Cancel`](crate::Cancel) fires, and it has a short grace
        /// (2 s by default) before its future is dropped. A sync function that runs in place cannot
        /// be stopped.
        pub fn deadline(mut $this, deadline: std::time::Duration) -> Self {
            $policy.say().deadline = Some(crate::policy::Deadline {
                after: deadline,
                set_by: concat!($set_by, "::deadline"),
            });
            $this
        }

        /// How many calls run at once, of all clients together; at least one. Further ones wait
        /// for their turn, in order, up to [`ServerBuilder::max_waiting`](crate::ServerBuilder::max_waiting)
        /// of them; more are refused with an error that says so. A call keeps its place until it is answered, also while a legacy client is
        /// asked something. What an item, its group and its server say all holds.
        pub fn max_concurrent(mut $this, calls: usize) -> Self {
            let turns = crate::turns::Turns::new(calls, concat!($set_by, "::max_concurrent"));
            $policy.say().turns = Some(std::sync::Arc::new(turns));
            $this
        }

        /// Puts a tower layer around the calls; see [`service`](crate::service). The first that is
        /// given is the outermost, and the layers of what is around are outside of these.
        pub fn layer<L>(mut $this, layer: L) -> Self
        where
            L: tower_layer::Layer<crate::service::CallService>,
            L::Service: crate::service::AroundCalls,
        {
            let around = crate::service::around(layer.layer(crate::service::CallService::new()));
            $policy.say().layers.push(around);
            $this
        }
    };
}
pub(crate) use policy_setters;
