//! Resources and resource templates: what a client may read.
//!
//! Specification: server/resources (2026-07-28).

mod entry;
mod output;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle_types::{Annotations, CacheScope, Error, Json};

use crate::access::Access;
use crate::cache::Cache;
use crate::completion::{Completer, Completers};
use crate::error::BuildError;
use crate::extract::{Declare, Needs};
use crate::failure::Result;
use crate::handler::{Handler, InPlace, Maker, blocking_maker, maker};
use crate::item::{About, item_setters};
use crate::name::{check_media_type, check_template_scheme, check_uri};
use crate::policy::Policy;
use crate::schema::{Held, Intake};
use crate::scope::Scope;
use crate::uri_template::{UriTemplate, Variables};

use entry::Frame;
pub(crate) use entry::{Registered, ResourceEntry, TemplateEntry};
pub use output::ResourceOutput;

/// What is to be read.
///
/// Specification: server/resources, "Reading Resources" (2026-07-28).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Reading {
    /// The URI that was asked for.
    pub uri: String,
    /// What a template's variables are in it.
    pub variables: Variables,
}

impl Reading {
    pub(crate) fn new(uri: String, variables: Variables) -> Self {
        Self { uri, variables }
    }

    /// The variables as arguments.
    pub(crate) fn arguments(&self) -> Result<Json> {
        let variables = self.variables.to_json();
        Json::of(&variables).map_err(|error| Error::internal(error.to_string()).into())
    }
}

/// What a client may read: one resource under a URI, or those of a URI template (RFC 6570), and the
/// function that reads them.
///
/// ```
/// use turnbuckle_server::{Reading, Resource};
///
/// let note = Resource::builder("notes://{id}", "note")
///     .mime_type("text/plain")
///     .handler(|reading: Reading| format!("You asked for {}.", reading.uri));
/// ```
///
/// Specification: server/resources (2026-07-28).
#[must_use]
pub struct Resource {
    pub(crate) draft: Box<Draft>,
    make: Maker<Self>,
    needs: Declare,
}

/// A resource that has no function yet; see [`Resource::builder`].
///
/// Specification: server/resources (2026-07-28).
#[must_use]
pub struct ResourceBuilder {
    /// Apart, so that a resource is handed on cheaply.
    draft: Box<Draft>,
}

/// What is said of a resource.
pub(crate) struct Draft {
    pub(crate) said: Said,
    pub(crate) about: About,
    pub(crate) access: Access,
    pub(crate) policy: Policy,
    pub(crate) completers: Completers,
    cache: Option<Cache>,
}

/// What is said of a resource alone; its URI may be a template.
#[derive(Debug)]
pub(crate) struct Said {
    uri: Cow<'static, str>,
    name: Cow<'static, str>,
    mime_type: Option<Cow<'static, str>>,
    annotations: Option<Annotations>,
    size: Option<u64>,
}

/// Whether this names a family of resources: no URI has a brace.
pub(crate) fn is_template(uri: &str) -> bool {
    uri.contains('{')
}

macro_rules! resource_setters {
    () => {
        /// Its media type, also of contents that name none.
        pub fn mime_type(mut self, mime_type: impl Into<Cow<'static, str>>) -> Self {
            self.draft.said.mime_type = Some(mime_type.into());
            self
        }

        /// Hints at whom it is for, and how much it matters.
        pub fn annotations(mut self, annotations: Annotations) -> Self {
            self.draft.said.annotations = Some(annotations);
            self
        }

        /// Its size in bytes. A template has none.
        pub fn size(mut self, bytes: u64) -> Self {
            self.draft.said.size = Some(bytes);
            self
        }

        /// For how long a client may keep what it read, in whole milliseconds, and whether it may
        /// be shared between users. By default it is not to be kept.
        pub fn cache(mut self, ttl: Duration, scope: CacheScope) -> Self {
            self.draft.cache = Some(Cache::new(ttl, scope));
            self
        }

        /// Suggests values for one of its template's variables while the user types.
        pub fn complete<H, M>(mut self, variable: impl Into<String>, completer: H) -> Self
        where
            H: Handler<Completer, M>,
            M: 'static,
        {
            self.draft.completers.add(variable.into(), completer);
            self
        }

        item_setters!("Resource");
    };
}

impl ResourceBuilder {
    resource_setters!();

    /// The function that reads it: of extractors, sync or async; see [`Handler`].
    ///
    /// What is read is a [`Reading`]; a template's variables come as an
    /// [`Args<T>`](crate::Args) too.
    pub fn handler<H, M>(self, handler: H) -> Resource
    where
        H: Handler<Resource, M>,
        M: 'static,
    {
        Resource {
            draft: self.draft,
            make: maker(handler),
            needs: H::needs,
        }
    }

    /// A sync function that holds its thread, instead of a [`handler`](Self::handler): it reads
    /// files, computes, or calls what blocks. It runs on a pool of the server's, up to
    /// [`max_blocking`](crate::ServerBuilder::max_blocking) of them at once; further calls wait.
    ///
    /// Nothing can stop it in the middle: one that takes long looks at [`Cancel`](crate::Cancel)
    /// now and then.
    pub fn blocking<H, E>(self, handler: H) -> Resource
    where
        H: Handler<Resource, InPlace<E>>,
        E: 'static,
    {
        Resource {
            draft: self.draft,
            make: blocking_maker(handler),
            needs: H::needs,
        }
    }
}

impl Resource {
    /// Begins a resource at this URI, or the resources whose URIs match this RFC 6570 template.
    pub fn builder(
        uri: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
    ) -> ResourceBuilder {
        ResourceBuilder {
            draft: Box::new(Draft {
                said: Said {
                    uri: uri.into(),
                    name: name.into(),
                    mime_type: None,
                    annotations: None,
                    size: None,
                },
                about: About::default(),
                access: Access::default(),
                policy: Policy::default(),
                completers: Completers::default(),
                cache: None,
            }),
        }
    }

    resource_setters!();

    pub(crate) fn register(self, scope: &Scope) -> Result<Registered, BuildError> {
        let uri = self.draft.said.uri.clone();
        let kind = match is_template(&uri) {
            true => "resource template",
            false => "resource",
        };
        self.finish(scope)
            .map_err(|error| BuildError::new(format!("{kind} {uri:?}: {error}")))
    }

    fn finish(self, scope: &Scope) -> Result<Registered, BuildError> {
        let failed = |error: &dyn fmt::Display| BuildError::new(error.to_string());
        let Draft {
            said,
            about,
            access,
            policy,
            completers,
            cache,
        } = *self.draft;
        if let Some(media_type) = said.mime_type.as_deref() {
            check_media_type(media_type).map_err(|error| failed(&error))?;
        }
        let template = if is_template(&said.uri) {
            let template = UriTemplate::parse(&said.uri).map_err(|error| failed(&error))?;
            check_template_scheme(&said.uri).map_err(|error| failed(&error))?;
            Some(Arc::new(template))
        } else {
            check_uri(&said.uri).map_err(|error| failed(&error))?;
            None
        };
        let variables = template.as_deref().map(UriTemplate::variables);
        let known = |name: &str| variables.iter().flatten().any(|known| *known == name);
        if let Some(unknown) = completers.other_than(known) {
            return Err(BuildError::new(format!(
                "it completes {unknown:?}, which is no variable of it"
            )));
        }
        let needs = Needs::of(self.needs);
        scope.provide(&needs)?;
        let access = scope.access(access);
        let completers = completers.register(scope)?;
        let frame = Frame {
            mime_type: said.mime_type.clone(),
            cache: cache.unwrap_or_default(),
            restricted: access.is_restricted(),
            template: template.clone(),
        };
        let intake = match needs.arguments {
            Some(_) => Intake::new(Held::derived(needs.schema()?), true, false),
            None => Intake::of_nothing(),
        };
        let call = (self.make)(frame, intake, scope, needs.asks);
        let call = scope.guard::<Self>(call, &said.uri, &policy);
        let Some(template) = template else {
            return Ok(Registered::One(ResourceEntry {
                said,
                about,
                access,
                call,
            }));
        };
        if said.size.is_some() {
            return Err(BuildError::new("a template has no size"));
        }
        Ok(Registered::Family(TemplateEntry {
            said,
            about,
            access,
            call,
            template,
            completers,
        }))
    }
}

impl fmt::Debug for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Draft")
            .field("said", &self.said)
            .field("about", &self.about)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource")
            .field("draft", &self.draft)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ResourceBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceBuilder")
            .field("draft", &self.draft)
            .finish_non_exhaustive()
    }
}
