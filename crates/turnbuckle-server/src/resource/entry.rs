//! A registered resource: how it is found and read.

use std::borrow::Cow;
use std::sync::Arc;

use turnbuckle_session::Handling;
use turnbuckle_types::{CacheScope, Number, ReadResourceResult};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Method;

use super::{Reading, Resource, ResourceOutput, Said};
use crate::access::Access;
use crate::cache::Cache;
use crate::catalog::Item;
use crate::completion::CompleterEntries;
use crate::context::Context;
use crate::failure::Result;
use crate::handler::{Callable, Kind, Request, Returns};
use crate::item::{About, told};
use crate::uri_template::{UriTemplate, Variables};

/// What the replies of a resource need.
#[derive(Debug)]
pub struct Frame {
    pub(super) mime_type: Option<Cow<'static, str>>,
    pub(super) cache: Cache,
    pub(super) restricted: bool,
    pub(super) template: Option<Arc<UriTemplate>>,
}

impl Frame {
    fn with_cache(&self, mut result: ReadResourceResult) -> ReadResourceResult {
        result.ttl_ms.get_or_insert(self.cache.ttl_ms);
        let scope = result.cache_scope.take();
        result.cache_scope = Some(if self.restricted {
            CacheScope::Private
        } else {
            scope.unwrap_or_else(|| self.cache.scope.clone())
        });
        result
    }
}

impl Kind for Resource {
    type Frame = Frame;

    const METHOD: Method = Method::ReadResource;
    const TELLS: bool = false;
    const ATTRIBUTE: Option<&'static str> = Some("resource");

    fn reading(frame: &Frame, uri: &str) -> Option<Reading> {
        let template = frame.template.as_ref();
        let matched = template.and_then(|template| template.matches(uri));
        Some(Reading::new(uri.to_owned(), matched.unwrap_or_default()))
    }
}

impl<T: ResourceOutput> Returns<Resource> for T {
    fn reply(self, frame: &Frame, uri: Option<&str>) -> Result<Reply> {
        let result = self.into_result(uri.unwrap_or_default(), frame.mime_type.as_deref())?;
        Ok(Reply::complete(frame.with_cache(result)))
    }
}

/// What a resource became.
pub(crate) enum Registered {
    One(ResourceEntry),
    Family(TemplateEntry),
}

/// A registered resource.
pub(crate) struct ResourceEntry {
    pub(super) said: Said,
    pub(super) about: About,
    pub(super) access: Access,
    pub(super) call: Arc<dyn Callable>,
}

impl Item for ResourceEntry {
    fn key(&self) -> &str {
        &self.said.uri
    }

    fn access(&self) -> &Access {
        &self.access
    }
}

/// A registered template.
pub(crate) struct TemplateEntry {
    pub(super) said: Said,
    pub(super) about: About,
    pub(crate) template: Arc<UriTemplate>,
    pub(crate) completers: CompleterEntries,
    pub(super) access: Access,
    pub(super) call: Arc<dyn Callable>,
}

impl Item for TemplateEntry {
    fn key(&self) -> &str {
        &self.said.uri
    }

    fn access(&self) -> &Access {
        &self.access
    }
}

impl ResourceEntry {
    /// Its definition as clients are told it.
    pub(crate) fn told(&self) -> turnbuckle_types::Resource {
        let Said {
            uri,
            name,
            mime_type,
            annotations,
            size,
        } = &self.said;
        let definition = turnbuckle_types::Resource::new(&**uri, &**name);
        let mut definition = told!(definition, self.about);
        definition.mime_type = mime_type.as_deref().map(str::to_owned);
        definition.annotations.clone_from(annotations);
        definition.size = size.map(Number::from);
        definition
    }

    pub(crate) fn read(&self, uri: String, context: Context) -> Handling {
        let reading = Reading::new(uri, Variables::new());
        self.call
            .clone()
            .call(Request::of_reading(context, reading))
    }
}

impl TemplateEntry {
    /// Its definition as clients are told it.
    pub(crate) fn told(&self) -> turnbuckle_types::ResourceTemplate {
        let Said {
            uri,
            name,
            mime_type,
            annotations,
            size: _,
        } = &self.said;
        let definition = turnbuckle_types::ResourceTemplate::new(&**uri, &**name);
        let mut definition = told!(definition, self.about);
        definition.mime_type = mime_type.as_deref().map(str::to_owned);
        definition.annotations.clone_from(annotations);
        definition
    }

    pub(crate) fn read(&self, reading: Reading, context: Context) -> Handling {
        self.call
            .clone()
            .call(Request::of_reading(context, reading))
    }
}
