//! Protocol extensions: methods, notifications, result types and subscriptions under an extension id.
//!
//! They are for clients that declared the extension in the request (or, in the legacy era, in the
//! handshake). [`UndeclaredPolicy`] says what others get.
//!
//! Specification: basic/versioning, "Extension Negotiation" (2026-07-28).

mod background;
mod fallback;
mod filter;
pub(super) mod registry;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use turnbuckle_session::handler::Peer;
use turnbuckle_session::internal::{HandlerOutcome, NotificationFuture};
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::base::text::shorten;
use turnbuckle_types::{
    ExtensionNotification, ExtensionRequest, Json, Meta, ProtocolError, RawObject,
    SubscriptionFilter, meta,
};
use turnbuckle_wire::era::params::raw_params;
use turnbuckle_wire::era::{Reply, ResultBody, WriteTarget};
use turnbuckle_wire::json::{self, WriteError};
use turnbuckle_wire::revision::Method;

use crate::error::BuildError;
use crate::error::failure::Result;
use crate::handler::output::tool::{OutputValidator, ToolOutput};
use crate::items::IntoItem;
use crate::items::group::Group;
use crate::items::tool::Tool;
use crate::request::context::HandlerContext;
#[cfg(feature = "tasks")]
use crate::server::tasks::TaskOptions;

pub use filter::AcceptedFilter;
pub use registry::{Background, UndeclaredPolicy};

use background::BackgroundTask;
use filter::{FilterHandler, filter_handler};
use registry::{
    Extensions, FilterEntry, MethodEntry, MethodHandler, NotificationHandler, Owner, error_of,
};

/// A protocol extension that a server offers.
///
/// Specification: basic/versioning, "Extension Negotiation" (2026-07-28).
pub struct Extension {
    id: String,
    settings: RawObject,
    undeclared: UndeclaredPolicy,
    methods: Vec<ExtensionMethod>,
    notifications: Vec<ExtensionNotice>,
    result_types: BTreeSet<&'static str>,
    filters: Vec<(&'static str, FilterHandler)>,
    background: Vec<BackgroundTask<Background>>,
    pub(super) items: Vec<Group>,
    /// The settings of tasks, if this is the extension for them.
    #[cfg(feature = "tasks")]
    pub(super) tasks: Option<TaskOptions>,
}

/// A method, before it is registered.
struct ExtensionMethod {
    name: &'static str,
    /// The extension that the type of the request names.
    extension: &'static str,
    /// The member of the parameters that the header `Mcp-Name` mirrors.
    mirrored_param: Option<&'static str>,
    handler: MethodHandler,
}

/// A notification, before it is registered.
struct ExtensionNotice {
    name: &'static str,
    /// The extension that the type of the notification names.
    extension: &'static str,
    handler: NotificationHandler,
}

impl Extension {
    /// Creates an extension with this id: a reverse-domain prefix, a slash and a name.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            settings: RawObject::empty(),
            undeclared: UndeclaredPolicy::Hidden,
            methods: Vec::new(),
            notifications: Vec::new(),
            result_types: BTreeSet::new(),
            filters: Vec::new(),
            background: Vec::new(),
            items: Vec::new(),
            #[cfg(feature = "tasks")]
            tasks: None,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Sets the settings that the server declares with the extension.
    #[must_use]
    pub fn settings(mut self, settings: RawObject) -> Self {
        self.settings = settings;
        self
    }

    /// Sets what clients get that did not declare the extension. By default it is hidden from them.
    #[must_use]
    pub fn undeclared_policy(mut self, policy: UndeclaredPolicy) -> Self {
        self.undeclared = policy;
        self
    }

    /// Adds tools, prompts, resources and providers that the server offers with the extension, to every
    /// client.
    #[must_use]
    pub fn items(mut self, items: impl IntoItem<Group>) -> Self {
        self.items.push(items.into_item());
        self
    }

    /// Adds a handler for requests of a method.
    ///
    /// The name may be that of a core method of revisions without extensions; clients of those get the
    /// core's answer.
    #[must_use]
    pub fn method<M, F, Fut>(mut self, handler: F) -> Self
    where
        M: ExtensionRequest,
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
        self.methods.push(ExtensionMethod {
            name: M::METHOD,
            extension: M::EXTENSION,
            mirrored_param: M::MIRRORED_PARAM,
            handler: Arc::new(answer),
        });
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
        N: ExtensionNotification,
        F: Fn(N::Params, Peer) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let notify = move |text: &str, peer: &Peer| -> Option<NotificationFuture> {
            let params = raw_params(text).map_or("{}", |raw| raw.as_str());
            let params: N::Params = serde_json::from_str(params).ok()?;
            Some(Box::pin(handler(params, peer.clone())))
        };
        self.notifications.push(ExtensionNotice {
            name: N::METHOD,
            extension: N::EXTENSION,
            handler: Arc::new(notify),
        });
        self
    }

    /// Adds a member to the filter of `subscriptions/listen`. `accept` gets the value that a client sent
    /// and returns the part of it that is accepted, with the topics that the client is subscribed to from
    /// then on; [`Server::notify_topic`](crate::Server::notify_topic) notifies the subscribers of a topic.
    ///
    /// Topics count for [`ServerBuilder::max_subscriptions`](crate::ServerBuilder::max_subscriptions) and
    /// [`max_total_subscriptions`](crate::ServerBuilder::max_total_subscriptions) like resources. A
    /// failure of `accept` refuses the whole subscription.
    ///
    /// Specification: basic/patterns/subscriptions (2026-07-28).
    #[must_use]
    pub fn filter<T, F, Fut>(mut self, member: &'static str, accept: F) -> Self
    where
        T: DeserializeOwned + Send + 'static,
        F: Fn(T, HandlerContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<AcceptedFilter>> + Send + 'static,
    {
        self.filters.push((member, filter_handler(member, accept)));
        self
    }

    /// Adds work that runs beside the requests, from the time when the server is first served until it
    /// ends: a loop that polls a folder, for example.
    ///
    /// The work should end when [`Background::end`] fires, and is dropped a few seconds later. A panic ends
    /// the work and is logged.
    #[must_use]
    pub fn background<F, Fut>(mut self, work: F) -> Self
    where
        F: FnOnce(Background) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.background.push(BackgroundTask::new(&self.id, work));
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
    undeclared,
    result_types
});

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

/// Returns the body of a result that is sent unchanged in every revision.
#[cfg(feature = "tasks")]
pub(super) fn as_is<T: Serialize + Send + 'static>(value: T) -> Box<dyn ResultBody> {
    Box::new(AsIs(value))
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

impl Extension {
    /// Returns whether this is the extension for tasks.
    pub(super) fn is_tasks(&self) -> bool {
        #[cfg(feature = "tasks")]
        return self.tasks.is_some();
        #[cfg(not(feature = "tasks"))]
        false
    }

    /// Registers the extension, and returns its id and settings, to be declared.
    pub(super) fn register(
        self,
        extensions: &mut Extensions,
    ) -> Result<(String, Json), BuildError> {
        let extension = self;
        let fail =
            |reason: String| BuildError::new(format!("extension {:?}: {reason}", extension.id));
        match meta::check_extension_id(&extension.id) {
            Ok(()) | Err(turnbuckle_types::MetaKeyError::Reserved) => {}
            Err(error) => return Err(fail(error.to_string())),
        }
        let owner = Owner {
            id: extension.id.as_str().into(),
            undeclared: extension.undeclared,
        };
        let check_owner = |name: &str, named: &str| match named == extension.id {
            true => Ok(()),
            false => Err(fail(format!("{name:?} belongs to the extension {named:?}"))),
        };
        for method in extension.methods {
            let name = method.name;
            check_owner(name, method.extension)?;
            if Method::parse(name).is_some_and(|core| !core.is_free_for_extensions()) {
                return Err(fail(format!("{name:?} is a method of the core")));
            }
            let entry = MethodEntry {
                owner: owner.clone(),
                mirrored_param: method.mirrored_param,
                handler: method.handler,
            };
            if extensions.methods.insert(name, entry).is_some() {
                return Err(fail(format!("there are two methods {name:?}")));
            }
        }
        for notice in extension.notifications {
            let name = notice.name;
            check_owner(name, notice.extension)?;
            if Method::parse(name).is_some() {
                return Err(fail(format!("{name:?} is a notification of the core")));
            }
            let entry = (owner.clone(), notice.handler);
            if extensions.notifications.insert(name, entry).is_some() {
                return Err(fail(format!("there are two notifications {name:?}")));
            }
        }
        for name in extension.result_types {
            if matches!(name, "complete" | "input_required") || name.len() > 32 {
                return Err(fail(format!("{name:?} cannot be a result type of its own")));
            }
            if extensions
                .result_types
                .insert(name, owner.id.clone())
                .is_some()
            {
                return Err(fail(format!("there are two result types {name:?}")));
            }
        }
        for (member, accept) in extension.filters {
            let json = serde_json::json!({ member: null }).to_string();
            let is_core = serde_json::from_str::<SubscriptionFilter>(&json)
                .is_ok_and(|filter| filter.extra.is_empty());
            if is_core
                || extensions
                    .filters
                    .iter()
                    .any(|entry| entry.member == member)
            {
                return Err(fail(format!(
                    "there is a member {member:?} of filters already"
                )));
            }
            extensions.filters.push(FilterEntry {
                owner: owner.clone(),
                member,
                accept,
            });
        }
        if !extension.background.is_empty() {
            extensions
                .background
                .get_or_insert_default()
                .add(extension.background);
        }
        Ok((extension.id, extension.settings.into()))
    }
}
