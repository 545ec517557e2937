//! Resources and resource templates: what a client may read.
//!
//! Specification: server/resources (2026-07-28).

use std::fmt;
use std::sync::Arc;

use turnbuckle_session::{Handling, Method, Reply};
use turnbuckle_types::{
    Annotations, BlobResourceContents, CacheScope, Number, ReadResourceResult, ResourceContents,
    TextResourceContents,
};

use crate::access::Access;
use crate::cache::Cache;
use crate::catalog::Item;
use crate::completion::{Completer, Completers};
use crate::context::Context;
use crate::error::BuildError;
use crate::failure::{Failure, Result};
use crate::handler::{Again, Run, handling};
use crate::item::item_setters;
use crate::name::{check_media_type, check_template_scheme, check_uri};
use crate::uri_template::{UriTemplate, Variables};

/// What is to be read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Reading {
    /// The URI that was asked for.
    pub uri: String,
    /// What a template's variables are in it.
    pub variables: Variables,
}

/// The setters that resources and templates share.
macro_rules! resource_setters {
    () => {
        /// Its media type, also of contents that name none.
        #[must_use]
        pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
            self.definition.mime_type = Some(mime_type.into());
            self
        }

        /// Hints at whom it is for, and how much it matters.
        #[must_use]
        pub fn annotations(mut self, annotations: Annotations) -> Self {
            self.definition.annotations = Some(annotations);
            self
        }

        /// For how long a client may keep what it read, in milliseconds, and whether it may be
        /// shared between users. By default it is not to be kept.
        #[must_use]
        pub fn cache(mut self, ttl_ms: u64, scope: CacheScope) -> Self {
            self.cache = Some(Cache { ttl_ms, scope });
            self
        }

        item_setters!();
    };
}

/// A resource: its definition and the function that reads it. Made by [`resource`].
pub struct Resource {
    pub(crate) definition: turnbuckle_types::Resource,
    access: Access,
    cache: Option<Cache>,
    read: Arc<dyn Readable>,
}

/// A resource at `uri`, read by `handler`: a function of what is read and a [`Context`].
#[must_use]
pub fn resource<H: ResourceHandler>(
    uri: impl Into<String>,
    name: impl Into<String>,
    handler: H,
) -> Resource {
    Resource {
        definition: turnbuckle_types::Resource::new(uri, name),
        access: Access::default(),
        cache: None,
        read: Arc::new(handler),
    }
}

impl Resource {
    resource_setters!();

    /// Its size in bytes.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.definition.size = Some(Number::from(bytes));
        self
    }

    pub(crate) fn register(self) -> Result<ResourceEntry, BuildError> {
        let uri = &self.definition.uri;
        let media_type = self.definition.mime_type.as_deref();
        check_uri(uri)
            .and_then(|()| media_type.map_or(Ok(()), check_media_type))
            .map_err(|error| BuildError::new(format!("resource {uri:?}: {error}")))?;
        Ok(ResourceEntry {
            reader: Arc::new(Reader {
                read: self.read,
                mime_type: self.definition.mime_type.clone(),
                cache: self.cache,
                restricted: self.access.is_restricted(),
                template: None,
            }),
            definition: self.definition,
            access: self.access,
        })
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

/// A family of resources under a URI template. Made by [`resource_template`].
pub struct ResourceTemplate {
    pub(crate) definition: turnbuckle_types::ResourceTemplate,
    access: Access,
    cache: Option<Cache>,
    pub(crate) completers: Completers,
    read: Arc<dyn Readable>,
}

/// The resources whose URIs match the RFC 6570 template `uri_template`, read by `handler`: a
/// function of what is read and a [`Context`].
#[must_use]
pub fn resource_template<H: ResourceHandler>(
    uri_template: impl Into<String>,
    name: impl Into<String>,
    handler: H,
) -> ResourceTemplate {
    ResourceTemplate {
        definition: turnbuckle_types::ResourceTemplate::new(uri_template, name),
        access: Access::default(),
        cache: None,
        completers: Completers::default(),
        read: Arc::new(handler),
    }
}

impl ResourceTemplate {
    resource_setters!();

    /// Suggests values for one of its variables while the user types.
    #[must_use]
    pub fn complete(mut self, variable: impl Into<String>, completer: impl Completer) -> Self {
        self.completers.add(variable.into(), completer);
        self
    }

    pub(crate) fn register(self) -> Result<TemplateEntry, BuildError> {
        let text = &self.definition.uri_template;
        let fail =
            |reason: String| BuildError::new(format!("resource template {text:?}: {reason}"));
        let template = UriTemplate::parse(text).map_err(|error| fail(error.to_string()))?;
        check_template_scheme(text).map_err(|error| fail(error.to_string()))?;
        let media_type = self.definition.mime_type.as_deref();
        media_type
            .map_or(Ok(()), check_media_type)
            .map_err(|error| fail(error.to_string()))?;
        let variables = template.variables();
        if let Some(unknown) = self
            .completers
            .other_than(|known| variables.contains(&known))
        {
            return Err(fail(format!(
                "it completes {unknown:?}, which is no variable of it"
            )));
        }
        let template = Arc::new(template);
        Ok(TemplateEntry {
            reader: Arc::new(Reader {
                read: self.read,
                mime_type: self.definition.mime_type.clone(),
                cache: self.cache,
                restricted: self.access.is_restricted(),
                template: Some(template.clone()),
            }),
            template,
            definition: self.definition,
            access: self.access,
            completers: self.completers,
        })
    }
}

impl fmt::Debug for ResourceTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceTemplate")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

/// A registered resource.
pub(crate) struct ResourceEntry {
    pub(crate) definition: turnbuckle_types::Resource,
    pub(crate) reader: Arc<Reader>,
    access: Access,
}

impl Item for ResourceEntry {
    fn key(&self) -> &str {
        &self.definition.uri
    }

    fn access(&self) -> &Access {
        &self.access
    }
}

/// A registered template.
pub(crate) struct TemplateEntry {
    pub(crate) definition: turnbuckle_types::ResourceTemplate,
    pub(crate) reader: Arc<Reader>,
    pub(crate) template: Arc<UriTemplate>,
    pub(crate) completers: Completers,
    access: Access,
}

impl Item for TemplateEntry {
    fn key(&self) -> &str {
        &self.definition.uri_template
    }

    fn access(&self) -> &Access {
        &self.access
    }
}

/// What a resource may be read as.
pub trait ResourceOutput: Send + 'static {
    /// The result; contents without a media type get `mime_type`.
    ///
    /// # Errors
    /// When it is a failure.
    fn into_result(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResourceResult>;
}

impl ResourceOutput for ReadResourceResult {
    fn into_result(self, _: &str, _: Option<&str>) -> Result<ReadResourceResult> {
        Ok(self)
    }
}

impl ResourceOutput for Vec<ResourceContents> {
    fn into_result(mut self, _: &str, mime_type: Option<&str>) -> Result<ReadResourceResult> {
        for contents in &mut self {
            let said = match contents {
                ResourceContents::Text(text) => &mut text.mime_type,
                ResourceContents::Blob(blob) => &mut blob.mime_type,
                _ => continue,
            };
            if said.is_none() {
                *said = mime_type.map(Into::into);
            }
        }
        Ok(ReadResourceResult::new(self))
    }
}

impl ResourceOutput for String {
    fn into_result(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResourceResult> {
        let mut text = TextResourceContents::new(uri, self);
        text.mime_type = mime_type.map(Into::into);
        Ok(ReadResourceResult::new([ResourceContents::Text(text)]))
    }
}

impl ResourceOutput for &'static str {
    fn into_result(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResourceResult> {
        self.to_owned().into_result(uri, mime_type)
    }
}

/// Bytes are sent as Base64.
impl ResourceOutput for Vec<u8> {
    fn into_result(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResourceResult> {
        use base64::Engine as _;
        let blob = base64::engine::general_purpose::STANDARD.encode(self);
        let mut blob = BlobResourceContents::new(uri, blob);
        blob.mime_type = mime_type.map(Into::into);
        Ok(ReadResourceResult::new([ResourceContents::Blob(blob)]))
    }
}

impl<T: ResourceOutput, E: Into<Failure> + Send + 'static> ResourceOutput
    for std::result::Result<T, E>
{
    fn into_result(self, uri: &str, mime_type: Option<&str>) -> Result<ReadResourceResult> {
        self.map_err(Into::into)?.into_result(uri, mime_type)
    }
}

/// A function that can read a resource: of what is read and a [`Context`], async.
pub trait ResourceHandler: Send + Sync + 'static {
    /// What it returns.
    type Output: ResourceOutput;

    /// Runs it.
    fn call(
        &self,
        reading: Reading,
        context: Context,
    ) -> impl Future<Output = Self::Output> + Send + 'static;
}

impl<F, Fut> ResourceHandler for F
where
    F: Fn(Reading, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: ResourceOutput> + Send + 'static,
{
    type Output = Fut::Output;

    fn call(
        &self,
        reading: Reading,
        context: Context,
    ) -> impl Future<Output = Self::Output> + Send + 'static {
        self(reading, context)
    }
}

/// A handler whose type is no longer seen.
trait Readable: Send + Sync {
    fn read(&self, reading: Reading, context: Context, reader: Arc<Reader>) -> Run;
}

impl<H: ResourceHandler> Readable for H {
    fn read(&self, reading: Reading, context: Context, reader: Arc<Reader>) -> Run {
        let uri = reading.uri.clone();
        let run = self.call(reading, context);
        Box::pin(async move {
            let result = run.await.into_result(&uri, reader.mime_type.as_deref())?;
            Ok(Reply::complete(reader.with_cache(result)))
        })
    }
}

/// Reads a resource, or one of a template.
pub(crate) struct Reader {
    read: Arc<dyn Readable>,
    mime_type: Option<String>,
    cache: Option<Cache>,
    restricted: bool,
    template: Option<Arc<UriTemplate>>,
}

impl Reader {
    pub(crate) fn read(self: &Arc<Self>, reading: Reading, context: Context) -> Handling {
        let run = self.read.read(reading, context.clone(), self.clone());
        handling(self.clone(), context, run)
    }

    fn with_cache(&self, mut result: ReadResourceResult) -> ReadResourceResult {
        let cache = self.cache.clone().unwrap_or_default();
        result.ttl_ms.get_or_insert(cache.ttl_ms);
        let scope = result.cache_scope.take().unwrap_or(cache.scope);
        result.cache_scope = Some(if self.restricted {
            CacheScope::Private
        } else {
            scope
        });
        result
    }
}

impl Reading {
    pub(crate) fn new(uri: String, variables: Variables) -> Self {
        Self { uri, variables }
    }
}

impl Again for Reader {
    fn again(self: Arc<Self>, context: Context) -> Run {
        let params = context.params();
        let uri = params
            .uri
            .and_then(turnbuckle_session::params::text)
            .unwrap_or_default();
        let matched = self
            .template
            .as_ref()
            .and_then(|template| template.matches(&uri));
        let reading = Reading::new(uri.into_owned(), matched.unwrap_or_default());
        self.read.read(reading, context.clone(), self.clone())
    }

    fn tells(&self) -> bool {
        false
    }

    fn method(&self) -> Method {
        Method::ReadResource
    }
}
