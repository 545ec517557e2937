//! Resources and resource templates: what a client may read.
//!
//! Specification: server/resources (2026-07-28).

mod entry;
mod output;

use std::fmt;
use std::sync::Arc;

use serde_json::value::RawValue;
use turnbuckle_types::{Annotations, CacheScope, Error, Number};

use crate::access::Access;
use crate::cache::Cache;
use crate::completion::{Completer, Completers};
use crate::error::BuildError;
use crate::extract::Needs;
use crate::failure::Result;
use crate::handler::{Handler, InPlace, Maker, blocking_maker, maker};
use crate::item::item_setters;
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
    pub(crate) fn arguments(&self) -> Result<Box<RawValue>> {
        let variables = self.variables.to_json();
        serde_json::value::to_raw_value(&variables)
            .map_err(|error| Error::internal(error.to_string()).into())
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
    pub(crate) draft: Draft,
    make: Maker<Self>,
    needs: Needs,
}

/// A resource that has no function yet; see [`Resource::builder`].
///
/// Specification: server/resources (2026-07-28).
#[must_use]
pub struct ResourceBuilder {
    draft: Draft,
}

/// What is said of a resource; its URI may be a template.
pub(crate) struct Draft {
    pub(crate) definition: turnbuckle_types::Resource,
    pub(crate) access: Access,
    pub(crate) policy: Policy,
    pub(crate) completers: Completers,
    cache: Option<Cache>,
}

impl Draft {
    pub(crate) fn is_template(&self) -> bool {
        is_template(&self.definition.uri)
    }
}

/// Whether this names a family of resources: no URI has a brace.
pub(crate) fn is_template(uri: &str) -> bool {
    uri.contains('{')
}

macro_rules! resource_setters {
    () => {
        /// Its media type, also of contents that name none.
        pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
            self.draft.definition.mime_type = Some(mime_type.into());
            self
        }

        /// Hints at whom it is for, and how much it matters.
        pub fn annotations(mut self, annotations: Annotations) -> Self {
            self.draft.definition.annotations = Some(annotations);
            self
        }

        /// Its size in bytes. A template has none.
        pub fn size(mut self, bytes: u64) -> Self {
            self.draft.definition.size = Some(Number::from(bytes));
            self
        }

        /// For how long a client may keep what it read, in milliseconds, and whether it may be
        /// shared between users. By default it is not to be kept.
        pub fn cache(mut self, ttl_ms: u64, scope: CacheScope) -> Self {
            self.draft.cache = Some(Cache { ttl_ms, scope });
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
        let mut needs = Needs::default();
        H::needs(&mut needs);
        Resource {
            draft: self.draft,
            make: maker(handler, needs.asks),
            needs,
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
        let mut needs = Needs::default();
        H::needs(&mut needs);
        Resource {
            draft: self.draft,
            make: blocking_maker(handler, needs.asks),
            needs,
        }
    }
}

impl Resource {
    /// Begins a resource at this URI, or the resources whose URIs match this RFC 6570 template.
    pub fn builder(uri: impl Into<String>, name: impl Into<String>) -> ResourceBuilder {
        ResourceBuilder {
            draft: Draft {
                definition: turnbuckle_types::Resource::new(uri, name),
                access: Access::default(),
                policy: Policy::default(),
                completers: Completers::default(),
                cache: None,
            },
        }
    }

    resource_setters!();

    pub(crate) fn register(self, scope: &Scope) -> Result<Registered, BuildError> {
        let uri = self.draft.definition.uri.clone();
        let kind = match self.draft.is_template() {
            true => "resource template",
            false => "resource",
        };
        self.finish(scope)
            .map_err(|error| BuildError::new(format!("{kind} {uri:?}: {error}")))
    }

    fn finish(self, scope: &Scope) -> Result<Registered, BuildError> {
        let failed = |error: &dyn fmt::Display| BuildError::new(error.to_string());
        let is_template = self.draft.is_template();
        let Draft {
            definition,
            access,
            policy,
            completers,
            cache,
        } = self.draft;
        if let Some(media_type) = definition.mime_type.as_deref() {
            check_media_type(media_type).map_err(|error| failed(&error))?;
        }
        let template = if is_template {
            let template = UriTemplate::parse(&definition.uri).map_err(|error| failed(&error))?;
            check_template_scheme(&definition.uri).map_err(|error| failed(&error))?;
            Some(Arc::new(template))
        } else {
            check_uri(&definition.uri).map_err(|error| failed(&error))?;
            None
        };
        let variables = template.as_deref().map(UriTemplate::variables);
        let known = |name: &str| variables.iter().flatten().any(|known| *known == name);
        if let Some(unknown) = completers.other_than(known) {
            return Err(BuildError::new(format!(
                "it completes {unknown:?}, which is no variable of it"
            )));
        }
        scope.provide(&self.needs)?;
        let access = scope.access(access);
        let completers = completers.register(scope)?;
        let frame = Frame {
            mime_type: definition.mime_type.clone(),
            cache: cache.unwrap_or_default(),
            restricted: access.is_restricted(),
            template: template.clone(),
        };
        let intake = match self.needs.arguments {
            Some(_) => Intake::new(Held::derived(self.needs.schema()?), true, false),
            None => Intake::of_nothing(),
        };
        let call = (self.make)(frame, intake, scope);
        let call = scope.guard::<Self>(call, &definition.uri, &policy);
        let Some(template) = template else {
            return Ok(Registered::One(ResourceEntry {
                definition,
                access,
                call,
            }));
        };
        if definition.size.is_some() {
            return Err(BuildError::new("a template has no size"));
        }
        Ok(Registered::Family(TemplateEntry {
            definition: template_of(definition),
            access,
            call,
            template,
            completers,
        }))
    }
}

/// A definition whose URI is a template.
fn template_of(resource: turnbuckle_types::Resource) -> turnbuckle_types::ResourceTemplate {
    let mut template = turnbuckle_types::ResourceTemplate::new(resource.uri, resource.name);
    template.title = resource.title;
    template.description = resource.description;
    template.icons = resource.icons;
    template.mime_type = resource.mime_type;
    template.annotations = resource.annotations;
    template.meta = resource.meta;
    template
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource")
            .field("definition", &self.draft.definition)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ResourceBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceBuilder")
            .field("definition", &self.draft.definition)
            .finish_non_exhaustive()
    }
}
