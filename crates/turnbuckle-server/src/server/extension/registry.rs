//! The registered extensions of a server.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};

use turnbuckle_session::handler::{Peer, Signal};
use turnbuckle_session::internal::{HandlerOutcome, NotificationFuture};
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{
    ClientCapabilities, ErrorKind, Extra, ProtocolError, RawObject, SubscriptionFilter,
};
use turnbuckle_wire::era::params::{MetaFields, raw_meta};

use super::background::BackgroundStart;
use super::filter::FilterHandler;
use crate::Server;
use crate::error::failure::{Failure, FailureKind};
use crate::handler::failure_log::report_error;
use crate::request::context::HandlerContext;
use crate::server::ServerInner;
use crate::server::subscription::topic_key;

/// The service of an extension for clients that did not declare it.
///
/// It is about methods, notifications and subscriptions; a result type always needs the declaration.
/// Clients of a revision without extensions never have access to methods and subscriptions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UndeclaredPolicy {
    /// The extension does not exist for them: its methods are answered with "method not found"
    /// (-32601), and its members of a subscription filter are ignored.
    #[default]
    Hidden,
    /// Requests and subscriptions are refused with an error that names the extension as a missing
    /// capability (-32021, `requiredCapabilities`).
    MissingCapability,
    /// Requests are served like those of clients that declared it.
    Served,
}

/// The view that an extension's work beside requests has of its server; see
/// [`Extension::background`](crate::Extension::background).
#[derive(Clone)]
pub struct Background {
    server: Weak<ServerInner>,
    end: Signal,
}

impl Background {
    /// Returns the server, or `None` once it has ended. Work should not keep it: the server ends when
    /// nothing holds it any more.
    #[must_use]
    pub fn server(&self) -> Option<Server> {
        self.server.upgrade().map(Server)
    }

    /// Returns the signal that closes when the server ends.
    #[must_use]
    pub fn end(&self) -> &Signal {
        &self.end
    }
}

debug_fields!(Background { end });

/// Converts the failure of a handler of an extension.
pub(super) fn error_of(failure: Failure, context: &HandlerContext) -> ProtocolError {
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

/// Answers a request, given its text.
pub(super) type MethodHandler = Arc<dyn Fn(&str, HandlerContext) -> HandlerOutcome + Send + Sync>;

/// Answers a request of any method, given its name and text.
pub(in crate::server) type FallbackHandler =
    Arc<dyn Fn(&str, &str, HandlerContext) -> HandlerOutcome + Send + Sync>;

/// Handles a notification, given its text; `None` if the text is malformed.
pub(super) type NotificationHandler =
    Arc<dyn Fn(&str, &Peer) -> Option<NotificationFuture> + Send + Sync>;

/// The registered extensions.
#[derive(Default)]
pub(crate) struct Extensions {
    pub(super) methods: HashMap<&'static str, MethodEntry>,
    pub(super) notifications: HashMap<&'static str, (Owner, NotificationHandler)>,
    pub(in crate::server) result_types: HashMap<&'static str, Arc<str>>,
    pub(super) filters: Vec<FilterEntry>,
    /// Answers requests of methods that no extension has.
    fallback: Option<FallbackHandler>,
    /// The work that was not started yet; `None` if no extension has any.
    pub(super) background: Option<BackgroundStart<Background>>,
}

/// A registered method.
pub(super) struct MethodEntry {
    pub(super) owner: Owner,
    pub(super) mirrored_param: Option<&'static str>,
    pub(super) handler: MethodHandler,
}

/// A registered member of subscription filters.
pub(super) struct FilterEntry {
    pub(super) owner: Owner,
    pub(super) member: &'static str,
    pub(super) accept: FilterHandler,
}

/// The extension that something belongs to, and its service for clients that did not declare it.
#[derive(Clone)]
pub(super) struct Owner {
    pub(super) id: Arc<str>,
    pub(super) undeclared: UndeclaredPolicy,
}

impl Owner {
    /// Returns whether a request may use the extension: `Ok(false)` if the extension does not exist for
    /// the client.
    ///
    /// # Errors
    /// When the client did not declare the extension and is to be told so.
    fn admit(&self, context: &HandlerContext) -> Result<bool, ProtocolError> {
        if !context.features().extensions {
            return Ok(false);
        }
        match self.undeclared {
            UndeclaredPolicy::Served => Ok(true),
            _ if context.declares_extension(&self.id) => Ok(true),
            UndeclaredPolicy::Hidden => Ok(false),
            UndeclaredPolicy::MissingCapability => {
                let mut needed = ClientCapabilities::new();
                needed.extensions.insert(&*self.id, RawObject::empty());
                let message = format!(
                    "this needs the extension {}, which the client does not declare",
                    self.id
                );
                Err(ProtocolError::missing_required_client_capability(
                    needed, message,
                ))
            }
        }
    }
}

impl Extensions {
    /// Returns no extensions yet, with the handler of all other methods.
    pub(in crate::server) fn with_fallback(fallback: Option<FallbackHandler>) -> Self {
        Self {
            fallback,
            ..Self::default()
        }
    }

    /// Starts the work beside requests, if there is any and this is the first time.
    pub(in crate::server) fn start_background(&self, server: &Server) {
        if let Some(background) = &self.background {
            background.start(|end| Background {
                server: Arc::downgrade(&server.0),
                end: end.clone(),
            });
        }
    }

    /// Returns the member of the parameters that the header `Mcp-Name` mirrors in requests of a method.
    pub(in crate::server) fn mirrored_param(&self, method: &str) -> Option<&'static str> {
        self.methods.get(method)?.mirrored_param
    }

    /// Answers a request of an extension's method; `None` if the method does not exist for the client.
    ///
    /// # Errors
    /// When the client did not declare the extension and is to be told so.
    pub(crate) fn answer(
        &self,
        name: &str,
        text: &str,
        context: HandlerContext,
    ) -> Result<Option<HandlerOutcome>, ProtocolError> {
        let Some(method) = self.methods.get(name) else {
            let fallback = self.fallback.as_ref();
            let fallback = fallback.filter(|_| context.features().extensions);
            return Ok(fallback.map(|handler| handler(name, text, context)));
        };
        let admitted = method.owner.admit(&context)?;
        Ok(admitted.then(|| (method.handler)(text, context)))
    }

    /// Passes a notification on to its handler, if the client may use the extension.
    pub(crate) fn notify(&self, name: &str, text: &str, peer: &Peer) -> Option<NotificationFuture> {
        let (owner, handler) = self.notifications.get(name)?;
        let admitted = match owner.undeclared {
            UndeclaredPolicy::Served => true,
            // Without capabilities in the notification, those of a modern client are unknown: accept it.
            UndeclaredPolicy::Hidden | UndeclaredPolicy::MissingCapability => {
                declares(&owner.id, text, peer).unwrap_or(true)
            }
        };
        admitted.then(|| handler(text, peer)).flatten()
    }

    /// Accepts the members of a subscription filter that belong to extensions: adds the accepted values
    /// to `accepted`, and returns the keys of the topics.
    ///
    /// # Errors
    /// When an extension refuses a value, or the client did not declare the extension and is to be told
    /// so.
    pub(in crate::server) async fn accept_filters(
        &self,
        wanted: &Extra,
        accepted: &mut SubscriptionFilter,
        context: &HandlerContext,
    ) -> Result<Vec<String>, ProtocolError> {
        let mut topics = BTreeSet::new();
        for FilterEntry {
            owner,
            member,
            accept,
        } in &self.filters
        {
            let Some(value) = wanted.get(member) else {
                continue;
            };
            if !owner.admit(context)? {
                continue;
            }
            let part = accept(value, context.clone())?.await;
            let part = part.map_err(|failure| error_of(failure, context))?;
            if let Some(value) = part.value {
                accepted.extra.insert(*member, value);
                let keys = part.topics.iter().map(|topic| topic_key(&owner.id, topic));
                topics.extend(keys);
            }
        }
        Ok(topics.into_iter().collect())
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
