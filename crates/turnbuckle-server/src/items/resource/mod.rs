//! Resources and resource templates: data that a client can read.
//!
//! Specification: server/resources (2026-07-28).

mod entry;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle_types::base::{debug_fields, setters};
use turnbuckle_types::{Annotations, CacheScope, UriTemplate};

use crate::error::BuildError;
use crate::handler::{
    Handler, HandlerFactory, SyncMarker, blocking_handler_factory, handler_factory,
};
use crate::items::cache_hint::CacheHint;
use crate::items::completion::{Completer, Completers};
use crate::items::registration::Registration;
use crate::items::{ItemSettings, NoHandler, item_setters};
use crate::name_rules::{check_media_type, check_template_scheme, check_uri};
use crate::request::extract::{AddRequirements, HandlerRequirements};
use crate::schema::{ArgumentReader, EnforcedSchema, check_constraints};

use entry::ReadReplyOptions;
pub(crate) use entry::{RegisteredResource, ResourceEntry, TemplateEntry};

/// A resource under a URI, or the resources of a URI template (RFC 6570), with the function that
/// reads them.
///
/// ```
/// use turnbuckle_server::{ReadRequest, Resource};
///
/// let note = Resource::builder("notes://{id}", "note")
///     .mime_type("text/plain")
///     .handler(|request: ReadRequest| format!("You asked for {}.", request.uri));
/// ```
///
/// Specification: server/resources (2026-07-28).
#[must_use]
pub struct Resource<H = ResourceHandler> {
    /// Boxed, so that passing a resource from setter to setter moves one pointer.
    pub(crate) draft: Box<ResourceDraft>,
    handler: H,
}

/// The function that reads a resource.
pub struct ResourceHandler {
    make: HandlerFactory<Resource>,
    needs: AddRequirements,
}

/// The definition of a resource before its registration.
pub(crate) struct ResourceDraft {
    fields: ResourceFields,
    settings: ItemSettings,
    pub(crate) completers: Completers,
    cache: Option<CacheHint>,
}

/// The fields that only resources have. The URI may be a template.
#[derive(Debug)]
pub(crate) struct ResourceFields {
    uri: Cow<'static, str>,
    name: Cow<'static, str>,
    mime_type: Option<Cow<'static, str>>,
    annotations: Option<Annotations>,
    size: Option<u64>,
    forwarded: Option<ForwardedResource>,
}

/// The definition of a resource or a template that another server has.
#[derive(Debug)]
enum ForwardedResource {
    Resource(Arc<turnbuckle_types::Resource>),
    Template(Arc<turnbuckle_types::ResourceTemplate>),
}

/// Returns whether this is a URI template: URIs have no braces.
pub(crate) fn is_template(uri: &str) -> bool {
    uri.contains('{')
}

impl<H> Resource<H> {
    setters! {
        /// Sets the media type, also for contents that have none.
        mime_type(mime_type: impl Into<Cow<'static, str>>) {
            draft.fields.mime_type = Some(mime_type.into())
        }

        /// Sets hints about audience and priority.
        annotations(annotations: Annotations) { draft.fields.annotations = Some(annotations) }

        /// Sets the size in bytes. Templates have no size.
        size(bytes: u64) { draft.fields.size = Some(bytes) }

        /// Sets for how long clients may cache what they read, in whole milliseconds, and whether
        /// caches may share it. Default: not cached.
        cache(ttl: Duration, scope: CacheScope) { draft.cache = Some(CacheHint::new(ttl, scope)) }
    }

    setters! {
        /// Sends this definition as it is, under the URI of the builder, for a resource that another server
        /// has.
        foreign_definition(definition: Arc<turnbuckle_types::Resource>) {
            draft.fields.forwarded = Some(ForwardedResource::Resource(definition))
        }

        /// Sends this definition as it is, under the template of the builder, for the resources of a template
        /// that another server has.
        foreign_template(definition: Arc<turnbuckle_types::ResourceTemplate>) {
            draft.fields.forwarded = Some(ForwardedResource::Template(definition))
        }
    }

    /// Sets a completer for one of the template's variables.
    pub fn complete<C, M>(mut self, variable: impl Into<String>, completer: C) -> Self
    where
        C: Handler<Completer, M>,
        M: 'static,
    {
        self.draft.completers.add(variable.into(), completer);
        self
    }

    item_setters!("Resource");
}

impl Resource<NoHandler> {
    /// Starts a resource at this URI, or the resources whose URIs match this RFC 6570 template.
    pub fn builder(uri: impl Into<Cow<'static, str>>, name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            draft: Box::new(ResourceDraft {
                fields: ResourceFields {
                    uri: uri.into(),
                    name: name.into(),
                    mime_type: None,
                    annotations: None,
                    size: None,
                    forwarded: None,
                },
                settings: ItemSettings::default(),
                completers: Completers::default(),
                cache: None,
            }),
            handler: NoHandler,
        }
    }

    /// Sets the function that reads the resource: sync or async, with extractors as parameters; see
    /// [`Handler`].
    ///
    /// The URI and the template's variables are a [`ReadRequest`](crate::ReadRequest); the variables can also be taken
    /// as an [`Args<T>`](crate::Args).
    pub fn handler<H, M>(self, handler: H) -> Resource
    where
        H: Handler<Resource, M>,
        M: 'static,
    {
        self.with_handler(ResourceHandler {
            make: handler_factory(handler),
            needs: H::add_requirements,
        })
    }

    /// Sets a sync function that holds its thread, because it reads files, computes or calls
    /// blocking code.
    ///
    /// It runs on the runtime's blocking pool, up to
    /// [`max_blocking`](crate::ServerBuilder::max_blocking) at once; further calls wait. A running
    /// function cannot be stopped: one that takes long should look at
    /// [`Cancellation`](crate::Cancellation) now and then.
    pub fn blocking<H, E>(self, handler: H) -> Resource
    where
        H: Handler<Resource, SyncMarker<E>>,
        E: 'static,
    {
        self.with_handler(ResourceHandler {
            make: blocking_handler_factory(handler),
            needs: H::add_requirements,
        })
    }

    fn with_handler(self, handler: ResourceHandler) -> Resource {
        Resource {
            draft: self.draft,
            handler,
        }
    }
}

impl Resource {
    pub(crate) fn register(
        self,
        registration: &Registration,
    ) -> Result<RegisteredResource, BuildError> {
        let uri = self.draft.fields.uri.clone();
        let kind = if is_template(&uri) {
            "resource template"
        } else {
            "resource"
        };
        self.finish(registration)
            .map_err(|error| BuildError::new(format!("{kind} {uri:?}: {error}")))
    }

    fn finish(self, registration: &Registration) -> Result<RegisteredResource, BuildError> {
        let failed = |error: &dyn fmt::Display| BuildError::new(error.to_string());
        let ResourceDraft {
            fields,
            settings,
            completers,
            cache,
        } = *self.draft;
        let ItemSettings {
            info,
            access,
            policy,
        } = settings;
        if let Some(media_type) = fields.mime_type.as_deref() {
            check_media_type(media_type).map_err(|error| failed(&error))?;
        }
        let template = if is_template(&fields.uri) {
            let template = UriTemplate::parse(&fields.uri).map_err(|error| failed(&error))?;
            check_template_scheme(&fields.uri).map_err(|error| failed(&error))?;
            Some(Arc::new(template))
        } else {
            check_uri(&fields.uri).map_err(|error| failed(&error))?;
            None
        };
        let variables = template.as_deref().map(UriTemplate::variables);
        let is_variable = |name: &str| variables.iter().flatten().any(|variable| *variable == name);
        if let Some(unknown) = completers.first_unknown(is_variable) {
            return Err(BuildError::new(format!(
                "it has a completer for {unknown:?}, but no variable of that name"
            )));
        }
        let needs = HandlerRequirements::collect(self.handler.needs);
        registration.check_requirements(&needs)?;
        let access = registration.access(access);
        let completers = completers.register(&fields.uri, &policy, registration)?;
        let reply_options = ReadReplyOptions {
            mime_type: fields.mime_type.clone(),
            cache: cache.unwrap_or_default(),
            restricted: access.is_restricted(),
            template: template.clone(),
        };
        let reader = match needs.arguments {
            Some(_) => {
                let schema = needs.schema()?;
                check_constraints(&schema)?;
                ArgumentReader::new(EnforcedSchema::from_derived(schema), true, false)
            }
            None => ArgumentReader::without_arguments(),
        };
        let settings = registration.handler_settings(needs.asks, &policy);
        let call = (self.handler.make)(reply_options, reader, &settings);
        let call = registration.wrap_handler::<Self>(call, &fields.uri, true, &policy);
        if template.is_some() && fields.size.is_some() {
            return Err(BuildError::new("a template has no size"));
        }
        let entry = ResourceEntry {
            fields,
            info,
            access,
            call,
        };
        Ok(match template {
            None => RegisteredResource::Resource(entry),
            Some(template) => RegisteredResource::Template(TemplateEntry {
                entry,
                template,
                completers,
            }),
        })
    }
}

debug_fields!(ResourceDraft { fields, settings });
debug_fields!([H] Resource<H> { draft });
