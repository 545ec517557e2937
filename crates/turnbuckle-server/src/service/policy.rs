//! Call policies: the timeout, concurrency limit and layers of a server, a group or an item.

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_session::internal::{HandlerOutcome, count_refusal};
use turnbuckle_types::base::debug_fields;
use turnbuckle_wire::era::Reply;

use crate::error::failure::Failure;
use crate::handler::concurrency_limit::{ConcurrencyLimit, ConcurrencyLimited};
use crate::handler::{
    ErasedHandler, FailureMapping, HandlerKind, HandlerRequest, wrapper_failure_reply,
};
use crate::service::{DynMiddleware, LayerTarget, LayeredHandler};

/// The call policy of a server, a group or an item. Most are empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallPolicy(Option<Box<PolicySettings>>);

/// The settings of a call policy.
#[derive(Clone, Default)]
pub(crate) struct PolicySettings {
    pub(crate) timeout: Option<CallTimeout>,
    pub(crate) concurrency: Option<Arc<ConcurrencyLimit>>,
    /// The layers, outermost first.
    pub(crate) layers: Vec<DynMiddleware>,
    /// Set if clients read, or do not read, errors that were not made for them.
    pub(crate) masks_errors: Option<bool>,
}

/// Returns whether errors are masked: by the innermost policy that says so.
pub(crate) fn masks_errors(around: &[CallPolicy], own: &CallPolicy) -> bool {
    let mut all = around.iter().chain([own]).filter_map(|it| it.0.as_deref());
    let mask = all.rfind(|it| it.masks_errors.is_some());
    mask.and_then(|it| it.masks_errors).unwrap_or(false)
}

impl CallPolicy {
    /// Returns the settings, to be changed.
    pub(crate) fn settings_mut(&mut self) -> &mut PolicySettings {
        self.0.get_or_insert_default()
    }

    /// Adds a limit of running calls; `set_by` names the setter, for the log.
    pub(crate) fn limit_concurrency(&mut self, calls: usize, set_by: &'static str) {
        let limit = ConcurrencyLimit::new(calls, set_by);
        self.settings_mut().concurrency = Some(Arc::new(limit));
    }

    /// Returns the layers, outermost first.
    pub(crate) fn layers(&self) -> &[DynMiddleware] {
        self.0.as_deref().map_or(&[], |settings| &settings.layers)
    }
}

/// The time that a call may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallTimeout {
    pub(crate) duration: Duration,
    /// The setter that set it, for the log.
    pub(crate) set_by: &'static str,
}

debug_fields!(PolicySettings {
    timeout,
    concurrency,
    layers = |settings| settings.layers.len(),
    masks_errors,
});

/// Wraps a handler in its own policy and in the policies around it, outermost first. Without any
/// setting the handler stays as it is.
///
/// The timeout covers everything that a call does. Layers come next, and then the concurrency
/// limits, so that a layer can answer calls that would have to wait. Of several timeouts the
/// innermost counts.
pub(crate) fn apply_policies<K: HandlerKind>(
    mut call: Arc<dyn ErasedHandler>,
    name: &str,
    read_only: bool,
    around: &[CallPolicy],
    own: &CallPolicy,
) -> Arc<dyn ErasedHandler> {
    let all = || around.iter().chain([own]).filter_map(|it| it.0.as_deref());
    let concurrency: Vec<_> = all()
        .rev()
        .filter_map(|it| it.concurrency.clone())
        .collect();
    if !concurrency.is_empty() {
        call = Arc::new(ConcurrencyLimited {
            inner: call,
            limits: concurrency,
            errors_in_result: K::ERRORS_IN_RESULT,
        });
    }
    let target = LayerTarget {
        kind: K::CALL_KIND,
        name: name.into(),
        read_only,
        mapping: FailureMapping::for_kind::<K>(masks_errors(around, own)),
    };
    call = apply_layers(call, target, around, own);
    match all().rev().find_map(|it| it.timeout) {
        None => call,
        Some(timeout) => Arc::new(TimeLimited::new(call, name, timeout, K::ERRORS_IN_RESULT)),
    }
}

/// Wraps a handler in its own layers and in those around it. Without any it stays as it is.
pub(crate) fn apply_layers(
    call: Arc<dyn ErasedHandler>,
    target: LayerTarget,
    around: &[CallPolicy],
    own: &CallPolicy,
) -> Arc<dyn ErasedHandler> {
    let all = around.iter().chain([own]);
    let layers: Vec<_> = all.flat_map(|policy| policy.layers()).cloned().collect();
    if layers.is_empty() {
        call
    } else {
        Arc::new(LayeredHandler {
            inner: call,
            about: target,
            layers,
        })
    }
}

/// A handler whose calls have a timeout.
struct TimeLimited {
    inner: Arc<dyn ErasedHandler>,
    duration: Duration,
    timeout_reply: Arc<dyn Fn() -> Reply + Send + Sync>,
}

impl TimeLimited {
    fn new(
        inner: Arc<dyn ErasedHandler>,
        name: &str,
        timeout: CallTimeout,
        errors_in_result: bool,
    ) -> Self {
        let CallTimeout { duration, set_by } = timeout;
        let name: Box<str> = name.into();
        let timeout_reply = move || {
            let message = format!("the call took longer than {duration:?}");
            tracing::warn!(name, "{message} ({set_by})");
            count_refusal(set_by);
            wrapper_failure_reply(Failure::new(message), errors_in_result)
        };
        Self {
            inner,
            duration,
            timeout_reply: Arc::new(timeout_reply),
        }
    }
}

impl ErasedHandler for TimeLimited {
    fn call(self: Arc<Self>, request: HandlerRequest<'_>) -> HandlerOutcome {
        request
            .context
            .set_timeout(self.duration, self.timeout_reply.clone());
        self.inner.clone().call(request)
    }
}

/// The setters of a call policy. `$set_by` names the type that has them, for the log, and `$policy`
/// its field.
macro_rules! policy_setters {
    ($set_by:literal, $($policy:ident).+) => {
        turnbuckle_types::base::setters! {
            /// Limits how long one call can take. Default: as long as the session allows (one hour).
            ///
            /// The innermost timeout counts: an item's own replaces that of its group, and a group's
            /// replaces that of the server, also if it is longer.
            ///
            /// The time starts when the call first waits, and includes waiting for a concurrency limit,
            /// for layers and for answers of the client. (A modern client answers with a new request,
            /// which has a timeout of its own.) When the time is over, the call is answered with an
            /// error; the handler's [`Cancellation`](crate::Cancellation) fires, and its future is
            /// dropped after a short grace period (2 s by default). A sync function that runs in place
            /// cannot be stopped.
            timeout(timeout: std::time::Duration) {
                $($policy).+.settings_mut().timeout = Some(crate::service::policy::CallTimeout {
                    duration: timeout,
                    set_by: concat!($set_by, "::timeout"),
                })
            }

            /// Limits how many calls run at once, of all clients together; at least one.
            ///
            /// Further calls wait in order, up to
            /// [`ServerBuilder::max_waiting`](crate::ServerBuilder::max_waiting) of them; more are
            /// refused with an error. A call counts until it is answered, also while a legacy client is
            /// being asked. Limits of an item, its groups and its server all apply.
            max_concurrent(calls: usize) {
                $($policy).+.limit_concurrency(calls, concat!($set_by, "::max_concurrent"))
            }

            /// Masks errors that were not made for clients, or shows them. Default: they are shown.
            ///
            /// If they are masked, a client reads a neutral sentence with a short reference instead of an
            /// error that the handler returned by `?`, and the log has the error with that reference. A
            /// [`Failure`](crate::Failure) with a message for the model and a protocol error are sent as
            /// they are. The innermost setting counts: an item's own replaces that of its group, and a
            /// group's replaces that of the server.
            ///
            /// Turn it on in a server for users that you do not trust: errors can name files, addresses and
            /// tables.
            mask_error_details(mask: bool) {
                $($policy).+.settings_mut().masks_errors = Some(mask)
            }
        }

        /// Wraps requests in a layer: a function ([`middleware::from_fn`](crate::middleware::from_fn)),
        /// one of [`middleware`](crate::middleware), or any tower layer
        /// ([`service`](crate::service)).
        ///
        /// The first layer given is the outermost. Layers of enclosing groups and of the server are
        /// outside of these. The layers of a server also see its list requests.
        pub fn layer<L>(mut self, layer: L) -> Self
        where
            L: tower_layer::Layer<crate::service::CallService>,
            L::Service: crate::service::Middleware,
        {
            let service = layer.layer(crate::service::CallService::new());
            let layers = &mut self.$($policy).+.settings_mut().layers;
            layers.push(crate::service::boxed_middleware(service));
            self
        }
    };
}
pub(crate) use policy_setters;
