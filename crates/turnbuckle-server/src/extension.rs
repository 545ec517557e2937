//! Extensions: methods, result types and notifications beyond the core, under an id.
//!
//! They are offered only to clients that declared the extension for the very request; to all
//! others they do not exist.
//!
//! Specification: basic/versioning, "Extension Negotiation" (2026-07-28).

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use turnbuckle_schema::shorten;
use turnbuckle_session::{Handling, Peer, Reaction};
use turnbuckle_types::{
    ClientCapabilities, Error, ErrorKind, Json, Meta, Notification, RawObject, Request, meta,
};
use turnbuckle_wire::era::params::{MetaFields, raw_meta, raw_params};
use turnbuckle_wire::era::{Body, Reply, Target};
use turnbuckle_wire::json::{self, Unwritable};
use turnbuckle_wire::revision::Method;

use crate::context::Context;
use crate::error::BuildError;
use crate::failure::{Failure, Kind, Result};
use crate::output::{OutputCheck, ToolOutput};
use crate::tool::Tool;

/// An extension that a server offers.
///
/// Specification: basic/versioning, "Extension Negotiation" (2026-07-28).
pub struct Extension {
    id: String,
    settings: RawObject,
    methods: Vec<(&'static str, Arc<dyn ExtensionMethod>)>,
    notifications: Vec<(&'static str, Arc<dyn Hears>)>,
    result_types: BTreeSet<&'static str>,
}

impl Extension {
    /// An extension under this id: a reverse-domain prefix, a slash and a name.
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

    /// What the server declares of it.
    #[must_use]
    pub fn settings(mut self, settings: RawObject) -> Self {
        self.settings = settings;
        self
    }

    /// Answers requests of a method.
    #[must_use]
    pub fn method<M, F, Fut>(mut self, handler: F) -> Self
    where
        M: Request,
        F: Fn(M::Params, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<M::Result>> + Send + 'static,
    {
        let answer = move |text: &str, context: Context| -> Handling {
            let params = raw_params(text).map_or("{}", |raw| raw.as_str());
            let params: M::Params = match serde_json::from_str(params) {
                Ok(params) => params,
                Err(error) => {
                    let reason = shorten(&error.to_string());
                    let error = Error::invalid_params(format!("{}: {reason}", M::METHOD));
                    return Reply::Error(error).into();
                }
            };
            let run = handler(params, context);
            Handling::Pending(Box::pin(async move {
                match run.await {
                    Ok(result) => Reply::Complete(Box::new(AsIs(result))),
                    Err(failure) => Reply::Error(error_of(failure)),
                }
            }))
        };
        self.methods.push((M::METHOD, Arc::new(answer)));
        self
    }

    /// Hears notifications of a method, from clients that declared the extension: in the handshake of
    /// their session, or in the notification itself. The modern era has no session, and does not ask
    /// of notifications that they carry what requests do: one on a pipe that says nothing of its
    /// client is heard from anybody, and over HTTP none comes at all.
    #[must_use]
    pub fn notification<N, F, Fut>(mut self, handler: F) -> Self
    where
        N: Notification,
        F: Fn(N::Params, Peer) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let hear = move |text: &str, peer: &Peer| -> Option<Reaction> {
            let params = raw_params(text).map_or("{}", |raw| raw.as_str());
            let params: N::Params = serde_json::from_str(params).ok()?;
            Some(Box::pin(handler(params, peer.clone())))
        };
        self.notifications.push((N::METHOD, Arc::new(hear)));
        self
    }

    /// Adds a type that results may have; see [`ExtensionResult`].
    #[must_use]
    pub fn result_type(mut self, name: &'static str) -> Self {
        self.result_types.insert(name);
        self
    }
}

impl Tool {
    /// Its metadata, to add to: what an extension says of a tool stands beside what its author said.
    pub fn meta_mut(&mut self) -> &mut Meta {
        &mut self.draft.about.say().meta
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extension")
            .field("id", &self.id)
            .field("settings", &self.settings)
            .field("result_types", &self.result_types)
            .finish_non_exhaustive()
    }
}

fn error_of(failure: Failure) -> Error {
    let asks = || Error::internal("a method of an extension cannot ask for input");
    match failure.into_kind() {
        // To have URLs visited first is to ask, too.
        Kind::Protocol(error) => match error.kind() {
            ErrorKind::UrlElicitationRequired(_) => asks(),
            _ => error,
        },
        Kind::Told(message) => Error::internal(message),
        Kind::Arguments(error) => Error::invalid_params(error.to_string()),
        Kind::Input(_) => asks(),
    }
}

/// A result of a type that an extension defines, returned by a tool.
///
/// A handler may return it only where [`Context::extension`](turnbuckle_session::Context::extension)
/// says that the client declared the extension.
///
/// Specification: basic/versioning, "Extension Negotiation" (2026-07-28).
#[derive(Debug, Clone, PartialEq)]
pub struct ExtensionResult<T> {
    /// The type, registered with [`Extension::result_type`].
    pub result_type: &'static str,
    /// The result: an object.
    pub value: T,
}

impl<T: Serialize + Send + 'static> ToolOutput for ExtensionResult<T> {
    fn check(&self, _: &OutputCheck) -> Result<()> {
        // The extension says what its results are, not the tool's schema.
        Ok(())
    }

    fn into_reply(self) -> Result<Reply> {
        Ok(Reply::Extension(
            self.result_type,
            Box::new(AsIs(self.value)),
        ))
    }
}

/// A result that no revision but its own extension's knows anything of.
struct AsIs<T>(T);

impl<T: Serialize + Send> Body for AsIs<T> {
    fn write(&self, target: &Target<'_>, out: &mut Vec<u8>) -> std::result::Result<(), Unwritable> {
        json::write_object(out, &self.0, target.additions)
    }
}

trait ExtensionMethod: Send + Sync {
    fn answer(&self, text: &str, context: Context) -> Handling;
}

impl<F: Fn(&str, Context) -> Handling + Send + Sync> ExtensionMethod for F {
    fn answer(&self, text: &str, context: Context) -> Handling {
        self(text, context)
    }
}

trait Hears: Send + Sync {
    fn hear(&self, text: &str, peer: &Peer) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>>;
}

impl<F: Fn(&str, &Peer) -> Option<Reaction> + Send + Sync> Hears for F {
    fn hear(&self, text: &str, peer: &Peer) -> Option<Reaction> {
        self(text, peer)
    }
}

/// The registered extensions.
#[derive(Default)]
pub(crate) struct Extensions {
    methods: HashMap<&'static str, (Arc<str>, Arc<dyn ExtensionMethod>)>,
    notifications: HashMap<&'static str, (Arc<str>, Arc<dyn Hears>)>,
    result_types: HashMap<&'static str, Arc<str>>,
}

impl Extensions {
    /// Adds an extension; its id and settings come back, to be declared.
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
        for (name, hears) in extension.notifications {
            if Method::parse(name).is_some() {
                return Err(fail(format!("{name:?} is a notification of the core")));
            }
            let heard = (id.clone(), hears);
            if self.notifications.insert(name, heard).is_some() {
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

    /// Answers a request that is of no core method, if this client may make it.
    pub(crate) fn answer(&self, name: &str, text: &str, context: Context) -> Option<Handling> {
        let (id, method) = self.methods.get(name)?;
        context
            .extension(id)
            .filter(|_| context.features().extensions)?;
        Some(method.answer(text, context))
    }

    /// Hears of a notification that is none of the core, if this client may tell it.
    pub(crate) fn hear(&self, name: &str, text: &str, peer: &Peer) -> Option<Reaction> {
        let (id, hears) = self.notifications.get(name)?;
        // Nobody knows what a modern client declared that does not say so here.
        let declared = declares(id, text, peer).unwrap_or(true);
        declared.then(|| hears.hear(text, peer)).flatten()
    }

    /// Whether this client may be sent a result of that type.
    pub(crate) fn admits(&self, result_type: &str, context: &Context) -> bool {
        self.result_types
            .get(result_type)
            .is_some_and(|id| context.features().extensions && context.extension(id).is_some())
    }
}

/// Whether the sender of a notification declared an extension: in the notification, or else in the
/// handshake of its session. `None` where neither says anything of it.
fn declares(id: &str, text: &str, peer: &Peer) -> Option<bool> {
    let meta = raw_meta(text).and_then(|meta| meta.decode::<MetaFields<'_>>().ok());
    if let Some(carried) = meta.and_then(|meta| meta.client_capabilities) {
        let carried: ClientCapabilities = carried.decode().unwrap_or_default();
        return Some(carried.extensions.contains_key(id));
    }
    let state = peer.state()?;
    Some(state.capabilities().extensions.contains_key(id))
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.methods.keys()).finish()
    }
}
