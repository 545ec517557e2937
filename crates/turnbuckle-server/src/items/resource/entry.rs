//! Registered resources and resource templates.

use std::borrow::Cow;
use std::sync::Arc;

use turnbuckle_session::internal::HandlerOutcome;
use turnbuckle_types::{CacheScope, Number, ReadResourceResult, TemplateVariables, UriTemplate};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Method;

use super::{ForwardedResource, Resource, ResourceFields};
use crate::error::failure::Result;
use crate::handler::CallKind;
use crate::handler::output::resource::ResourceOutput;
use crate::handler::{ErasedHandler, HandlerKind, HandlerOutput, HandlerRequest, OwnedPayload};
use crate::items::CatalogItem;
use crate::items::access::AccessRules;
use crate::items::cache_hint::CacheHint;
use crate::items::completion::CompleterEntries;
use crate::items::{ItemInfo, with_item_info};
use crate::request::context::HandlerContext;
use crate::request::read::ReadRequest;

/// The settings of a resource that its replies depend on.
#[derive(Debug)]
pub struct ReadReplyOptions {
    pub(super) mime_type: Option<Cow<'static, str>>,
    pub(super) cache: CacheHint,
    pub(super) restricted: bool,
    pub(super) template: Option<Arc<UriTemplate>>,
}

impl ReadReplyOptions {
    /// Adds the cache hints that the result does not have.
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

impl HandlerKind for Resource {
    type ReplyOptions = ReadReplyOptions;
    type Reply = Reply;

    const METHOD: Method = Method::ReadResource;
    const ERRORS_IN_RESULT: bool = false;
    const CALL_KIND: CallKind = CallKind::Resource;

    fn read_request(reply_options: &ReadReplyOptions, uri: &str) -> Option<ReadRequest> {
        let template = reply_options.template.as_ref();
        let matched = template.and_then(|template| template.matches(uri));
        Some(ReadRequest::new(
            uri.to_owned(),
            matched.unwrap_or_default(),
        ))
    }
}

impl<T: ResourceOutput> HandlerOutput<Resource> for T {
    fn into_handler_reply(
        self,
        reply_options: &ReadReplyOptions,
        uri: Option<&str>,
    ) -> Result<Reply> {
        let result =
            self.into_result(uri.unwrap_or_default(), reply_options.mime_type.as_deref())?;
        Ok(Reply::complete(reply_options.with_cache(result)))
    }
}

/// A registered resource or template.
pub(crate) enum RegisteredResource {
    Resource(ResourceEntry),
    Template(TemplateEntry),
}

/// A registered resource.
pub(crate) struct ResourceEntry {
    pub(super) fields: ResourceFields,
    pub(super) info: ItemInfo,
    pub(super) access: AccessRules,
    pub(super) call: Arc<dyn ErasedHandler>,
}

impl CatalogItem for ResourceEntry {
    fn key(&self) -> &str {
        &self.fields.uri
    }

    fn access(&self) -> &AccessRules {
        &self.access
    }
}

/// A registered resource template.
pub(crate) struct TemplateEntry {
    pub(super) entry: ResourceEntry,
    pub(crate) template: Arc<UriTemplate>,
    pub(crate) completers: CompleterEntries,
}

impl CatalogItem for TemplateEntry {
    fn key(&self) -> &str {
        self.entry.key()
    }

    fn access(&self) -> &AccessRules {
        self.entry.access()
    }
}

impl ResourceEntry {
    /// Returns the definition for `resources/list`.
    pub(crate) fn definition(&self) -> turnbuckle_types::Resource {
        let fields = &self.fields;
        if let Some(ForwardedResource::Resource(forwarded)) = &fields.forwarded {
            let mut definition = turnbuckle_types::Resource::clone(forwarded);
            definition.uri = fields.uri.clone().into_owned();
            return definition;
        }
        let definition = turnbuckle_types::Resource::new(&*fields.uri, &*fields.name);
        let mut definition = with_item_info!(definition, self.info);
        definition.mime_type = fields.mime_type.as_deref().map(str::to_owned);
        definition.annotations.clone_from(&fields.annotations);
        definition.size = fields.size.map(Number::from);
        definition
    }

    pub(crate) fn read(&self, uri: String, context: HandlerContext) -> HandlerOutcome {
        self.answer(ReadRequest::new(uri, TemplateVariables::new()), context)
    }

    fn answer(&self, request: ReadRequest, context: HandlerContext) -> HandlerOutcome {
        let request = HandlerRequest::with_payload(context, OwnedPayload::Read(request));
        self.call.clone().call(request)
    }
}

impl TemplateEntry {
    /// Returns the definition for `resources/templates/list`.
    pub(crate) fn definition(&self) -> turnbuckle_types::ResourceTemplate {
        let fields = &self.entry.fields;
        if let Some(ForwardedResource::Template(forwarded)) = &fields.forwarded {
            let mut definition = turnbuckle_types::ResourceTemplate::clone(forwarded);
            definition.uri_template = fields.uri.clone().into_owned();
            return definition;
        }
        let definition = turnbuckle_types::ResourceTemplate::new(&*fields.uri, &*fields.name);
        let mut definition = with_item_info!(definition, self.entry.info);
        definition.mime_type = fields.mime_type.as_deref().map(str::to_owned);
        definition.annotations.clone_from(&fields.annotations);
        definition
    }

    pub(crate) fn read(&self, request: ReadRequest, context: HandlerContext) -> HandlerOutcome {
        self.entry.answer(request, context)
    }
}
