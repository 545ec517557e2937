//! Protocol extensions: methods, notifications and result types under an extension id.
//!
//! They are offered only to clients that declared the extension in the request (or, in the legacy
//! era, in the handshake); for all others they do not exist.
//!
//! Specification: basic/versioning, "Extension Negotiation" (2026-07-28).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde::Serialize;
use turnbuckle_session::handler::Peer;
use turnbuckle_session::internal::{HandlerOutcome, NotificationFuture};
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::base::text::shorten;
use turnbuckle_types::{
    ClientCapabilities, ErrorKind, Json, Meta, Notification, ProtocolError, RawObject, Request,
    meta,
};
use turnbuckle_wire::era::params::{MetaFields, raw_meta, raw_params};
use turnbuckle_wire::era::{Reply, ResultBody, WriteTarget};
use turnbuckle_wire::json::{self, WriteError};
use turnbuckle_wire::revision::Method;

use crate::error::BuildError;
use crate::error::failure::{Failure, FailureKind, Result};
use crate::handler::failure_log::report_error;
use crate::handler::output::tool::{OutputValidator, ToolOutput};
use crate::items::tool::Tool;
use crate::request::context::HandlerContext;

/// A protocol extension that a server offers.
///
/// Specification: basic/versioning, "Extension Negotiation" (2026-07-28).
pub struct Extension {
    id: String,
    settings: RawObject,
    methods: Vec<(&'static str, MethodHandler)>,
    notifications: Vec<(&'static str, NotificationHandler)>,
    result_types: BTreeSet<&'static str>,
}

impl Extension {
    /// Creates an extension with this id: a reverse-domain prefix, a slash and a name.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            settings: RawObject::empty(),
            methods: Vec::new(),
            notifications: Vec::new(),
            result_types: BTreeSet::new(),
        }
    }

    /// Sets the settings that the server declares with the extension.
    #[must_use]
    pub fn settings(mut self, settings: RawObject) -> Self {
        self.settings = settings;
        self
    }

    /// Adds a handler for requests of a method.
    #[must_use]
    pub fn method<M, F, Fut>(mut self, handler: F) -> Self
    where
        M: Request,
        F: Fn(M::Params, HandlerContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<M::Result>> + Send + 'static,
    {
        let answer = move |text: &str, context: HandlerContext| -> HandlerOutcome {
            let params = raw_params(text).map_or("{}", |raw| raw.as_str());
            let params: M::Params = match serde_json::from_str(params) {
                Ok(params) => params,
                Err(error) => {
                    let reason = shorten(&error.to_string());
                    let error = ProtocolError::invalid_params(format!("{}: {reason}", M::METHOD));
                    return Reply::Error(error).into();
                }
            };
            let run = handler(params, context.clone());
            HandlerOutcome::Pending(Box::pin(async move {
                match run.await {
                    Ok(result) => Reply::Complete(Box::new(AsIs(result))),
                    Err(failure) => Reply::Error(error_of(failure, &context)),
                }
            }))
        };
        self.methods.push((M::METHOD, Arc::new(answer)));
        self
    }

    /// Adds a handler for notifications of a method.
    ///
    /// It is called for clients that declared the extension, in the handshake of their session or
    /// in the notification itself. The modern era has no session and does not require notifications
    /// to carry capabilities: on a pipe, a notification without them is accepted from any client,
    /// and over HTTP there are no client notifications.
    #[must_use]
    pub fn notification<N, F, Fut>(mut self, handler: F) -> Self
    where
        N: Notification,
        F: Fn(N::Params, Peer) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let notify = move |text: &str, peer: &Peer| -> Option<NotificationFuture> {
            let params = raw_params(text).map_or("{}", |raw| raw.as_str());
            let params: N::Params = serde_json::from_str(params).ok()?;
            Some(Box::pin(handler(params, peer.clone())))
        };
        self.notifications.push((N::METHOD, Arc::new(notify)));
        self
    }

    /// Adds a result type; see [`ExtensionResult`].
    #[must_use]
    pub fn result_type(mut self, name: &'static str) -> Self {
        self.result_types.insert(name);
        self
    }
}

impl<H> Tool<H> {
    /// Returns the tool's `_meta`, so that an extension can add to it.
    pub fn meta_mut(&mut self) -> &mut Meta {
        &mut self.draft.settings.info.extras_mut().meta
    }
}

debug_fields!(Extension {
    id,
    settings,
    result_types
});

fn error_of(failure: Failure, context: &HandlerContext) -> ProtocolError {
    let asks = || ProtocolError::internal("a method of an extension cannot ask for input");
    match failure.into_kind() {
        // Requiring URLs to be visited is a question, too.
        FailureKind::Protocol { error, .. } => match error.kind() {
            ErrorKind::UrlElicitationRequired(_) => asks(),
            _ => error,
        },
        FailureKind::Message { text, .. } => ProtocolError::internal(text),
        FailureKind::Error { error, is_hidden } => {
            let mask = is_hidden || context.settings.masks_errors;
            ProtocolError::internal(report_error(None, context, &*error, mask))
        }
        FailureKind::Arguments(error) => ProtocolError::invalid_params(error.to_string()),
        FailureKind::NeedsInput(_) => asks(),
    }
}

/// A tool's result of a type that an extension defines.
///
/// A handler may return it only if
/// [`HandlerContext::extension`](turnbuckle_session::handler::RequestContext::extension) shows that the
/// client declared the extension.
///
/// Specification: basic/versioning, "Extension Negotiation" (2026-07-28).
#[derive(Debug, Clone, PartialEq)]
pub struct ExtensionResult<T> {
    /// The type, registered with [`Extension::result_type`].
    pub result_type: &'static str,
    /// The result, which must encode as an object.
    pub value: T,
}

impl<T: Serialize + Send + 'static> ToolOutput for ExtensionResult<T> {
    fn check(&self, _: &OutputValidator) -> Result<()> {
        // The extension defines the result, not the tool's output schema.
        Ok(())
    }

    fn into_reply(self) -> Result<Reply> {
        Ok(Reply::Extension(
            self.result_type,
            Box::new(AsIs(self.value)),
        ))
    }
}

/// A result that is sent unchanged in every revision.
struct AsIs<T>(T);

impl<T: Serialize + Send> ResultBody for AsIs<T> {
    fn write(
        &self,
        target: &WriteTarget<'_>,
        out: &mut Vec<u8>,
    ) -> std::result::Result<(), WriteError> {
        json::write_object(out, &self.0, target.additions)
    }
}

/// Answers a request, given its text.
type MethodHandler = Arc<dyn Fn(&str, HandlerContext) -> HandlerOutcome + Send + Sync>;

/// Handles a notification, given its text; `None` if the text is malformed.
type NotificationHandler = Arc<dyn Fn(&str, &Peer) -> Option<NotificationFuture> + Send + Sync>;

/// The registered extensions.
#[derive(Default)]
pub(crate) struct Extensions {
    methods: HashMap<&'static str, (Arc<str>, MethodHandler)>,
    notifications: HashMap<&'static str, (Arc<str>, NotificationHandler)>,
    pub(super) result_types: HashMap<&'static str, Arc<str>>,
}

impl Extensions {
    /// Adds an extension and returns its id and settings, to be declared.
    pub(crate) fn add(&mut self, extension: Extension) -> Result<(String, Json), BuildError> {
        let fail =
            |reason: String| BuildError::new(format!("extension {:?}: {reason}", extension.id));
        match meta::check_extension_id(&extension.id) {
            Ok(()) | Err(turnbuckle_types::MetaKeyError::Reserved) => {}
            Err(error) => return Err(fail(error.to_string())),
        }
        let id: Arc<str> = extension.id.as_str().into();
        for (name, method) in extension.methods {
            if Method::parse(name).is_some() {
                return Err(fail(format!("{name:?} is a method of the core")));
            }
            if self.methods.insert(name, (id.clone(), method)).is_some() {
                return Err(fail(format!("there are two methods {name:?}")));
            }
        }
        for (name, handler) in extension.notifications {
            if Method::parse(name).is_some() {
                return Err(fail(format!("{name:?} is a notification of the core")));
            }
            let entry = (id.clone(), handler);
            if self.notifications.insert(name, entry).is_some() {
                return Err(fail(format!("there are two notifications {name:?}")));
            }
        }
        for name in extension.result_types {
            if matches!(name, "complete" | "input_required") || name.len() > 32 {
                return Err(fail(format!("{name:?} cannot be a result type of its own")));
            }
            if self.result_types.insert(name, id.clone()).is_some() {
                return Err(fail(format!("there are two result types {name:?}")));
            }
        }
        Ok((extension.id, extension.settings.into()))
    }

    /// Answers a request of an extension's method, if the client declared the extension.
    pub(crate) fn answer(
        &self,
        name: &str,
        text: &str,
        context: HandlerContext,
    ) -> Option<HandlerOutcome> {
        let (id, method) = self.methods.get(name)?;
        context
            .extension(id)
            .filter(|_| context.features().extensions)?;
        Some(method(text, context))
    }

    /// Passes a notification on to its handler, if the client declared the extension.
    pub(crate) fn notify(&self, name: &str, text: &str, peer: &Peer) -> Option<NotificationFuture> {
        let (id, handler) = self.notifications.get(name)?;
        // Without capabilities in the notification, those of a modern client are unknown: accept it.
        let declared = declares(id, text, peer).unwrap_or(true);
        declared.then(|| handler(text, peer)).flatten()
    }
}

/// Returns whether the sender of a notification declared an extension: in the notification, or else
/// in the handshake. `None` if neither says anything.
fn declares(id: &str, text: &str, peer: &Peer) -> Option<bool> {
    let meta = raw_meta(text).and_then(|meta| meta.decode::<MetaFields<'_>>().ok());
    if let Some(carried) = meta.and_then(|meta| meta.client_capabilities) {
        let carried: ClientCapabilities = carried.decode().unwrap_or_default();
        return Some(carried.extensions.contains_key(id));
    }
    let state = peer.legacy_state()?;
    Some(state.capabilities().extensions.contains_key(id))
}
