//! Requests for items that are not registered: a provider finds the item, and its handler answers.

#[cfg(feature = "tasks")]
use std::sync::Arc;

use turnbuckle_session::handler::RequestContext;
use turnbuckle_session::internal::{FailureCause, HandlerOutcome, count_refusal};
use turnbuckle_session::transport::HttpHead;
use turnbuckle_types::base::text::is_hidden;
use turnbuckle_types::{ErrorKind, ProtocolError, SubscriptionFilter, TemplateVariables};
use turnbuckle_wire::era::headers::{HeaderSource, HeaderValues};

use crate::Server;
use crate::catalog::list::ListedItem;
use crate::catalog::provider::ProviderEntry;
use crate::items::CatalogItem;
use crate::items::prompt::PromptEntry;
use crate::items::resource::{RegisteredResource, Resource, TemplateEntry};
use crate::items::tool::ToolEntry;
use crate::name_rules::{MAX_URI, check_prompt_name, check_tool_name, check_uri};
use crate::request::context::HandlerContext;
use crate::request::read::ReadRequest;
#[cfg(feature = "tasks")]
use crate::server::tasks::TaskForm;

/// A provided resource, or a resource of a provided template.
pub(super) struct ProvidedResource {
    pub(super) resource: RegisteredResource,
    variables: TemplateVariables,
}

/// Returns the outcome of a request that is answered by a future.
pub(super) fn pending(
    answer: impl Future<Output = Result<HandlerOutcome, ProtocolError>> + Send + 'static,
) -> HandlerOutcome {
    HandlerOutcome::Pending(Box::pin(async move {
        match answer.await {
            Ok(HandlerOutcome::Ready(reply)) => reply,
            Ok(HandlerOutcome::Pending(handler)) => handler.await,
            Err(error) => error.into(),
        }
    }))
}

impl Server {
    /// Returns whether a provider may have a tool of this name.
    pub(super) fn may_provide_tool(&self, name: &str) -> bool {
        !self.0.catalogs.providers.tools.is_empty()
            && !self.0.catalogs.tools.contains(name)
            && check_tool_name(name).is_ok()
    }

    /// Returns whether a provider may have a prompt of this name.
    pub(super) fn may_provide_prompt(&self, name: &str) -> bool {
        !self.0.catalogs.providers.prompts.is_empty()
            && !self.0.catalogs.prompts.contains(name)
            && check_prompt_name(name).is_ok()
    }

    /// Returns whether a provider may have a resource at this URI.
    pub(super) fn may_provide_resource(&self, uri: &str) -> bool {
        !self.0.catalogs.providers.resources.is_empty()
            && !self.0.catalogs.resources.contains(uri)
            && check_uri(uri).is_ok()
    }

    /// Returns whether a provider may have a resource template that a client names by its text, or by
    /// a URI that it matches.
    pub(super) fn may_provide_template(&self, name: &str) -> bool {
        !self.0.catalogs.providers.resources.is_empty()
            && name.len() <= MAX_URI
            && !name.contains(is_hidden)
    }

    /// Finds a tool or prompt that a provider has and that the principal can use.
    ///
    /// # Errors
    /// If a provider fails, or the principal lacks a scope.
    pub(super) async fn find_provided<T: ListedItem>(
        &self,
        name: &str,
        context: &HandlerContext,
    ) -> Result<Option<T>, ProtocolError> {
        for provider in T::providers(&self.0.catalogs) {
            let Some(inner_name) = provider.registration.strip_prefix(name) else {
                continue;
            };
            let Some(item) = find_in(provider, inner_name, context).await? else {
                continue;
            };
            let item = T::register(item, &provider.registration)
                .map_err(|error| provider.invalid_item(&error))?;
            if item.key() != name {
                return Err(provider.fault("found an item of another name than was asked for"));
            }
            if can_use(&item, context)? {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    /// Finds a resource that a provider has and that the principal can read.
    ///
    /// # Errors
    /// If a provider fails, or the principal lacks a scope.
    pub(super) async fn find_provided_resource(
        &self,
        uri: &str,
        context: &HandlerContext,
    ) -> Result<Option<ProvidedResource>, ProtocolError> {
        for provider in &self.0.catalogs.providers.resources {
            let Some(resource) = find_resource_in(provider, uri, context).await? else {
                continue;
            };
            let (variables, can_read) = match &resource {
                RegisteredResource::Resource(found) => (
                    (found.key() == uri).then(TemplateVariables::new),
                    can_use(found, context)?,
                ),
                RegisteredResource::Template(found) => {
                    (found.template.matches(uri), can_use(found, context)?)
                }
            };
            let Some(variables) = variables else {
                return Err(provider.fault("found a resource of another URI than was asked for"));
            };
            if can_read {
                return Ok(Some(ProvidedResource {
                    resource,
                    variables,
                }));
            }
        }
        Ok(None)
    }

    /// Finds the template that a client names to complete one of its variables: by its text, or by
    /// a URI that it matches.
    ///
    /// # Errors
    /// If a provider fails, or the principal lacks a scope.
    pub(super) async fn find_provided_template(
        &self,
        name: &str,
        context: &HandlerContext,
    ) -> Result<Option<TemplateEntry>, ProtocolError> {
        for provider in &self.0.catalogs.providers.resources {
            if let Some(RegisteredResource::Template(template)) =
                find_resource_in(provider, name, context).await?
                && (template.key() == name || template.template.matches(name).is_some())
                && can_use(&template, context)?
            {
                return Ok(Some(template));
            }
        }
        Ok(None)
    }

    /// Calls a provided tool.
    pub(super) async fn call_provided_tool(
        self,
        name: String,
        context: HandlerContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        let tool = self.find_provided::<ToolEntry>(&name, &context).await?;
        let tool = tool.ok_or_else(|| unknown_tool(&name, &context))?;
        let http = context.http().filter(|_| !context.is_legacy()).cloned();
        let headers = http.as_deref().map(CapturedHeaders);
        let headers = headers.as_ref().map(|headers| headers as &dyn HeaderSource);
        let arguments = context.params().arguments;
        #[cfg(feature = "tasks")]
        if let Some(tasks) = &self.0.tasks
            && let Some(form) = TaskForm::of_call(&tool, &context)?
        {
            tool.check_headers(arguments, headers)?;
            return Ok(tasks.call(Arc::new(tool), arguments, form, context.clone()));
        }
        Ok(tool.call(arguments, headers, context.clone()))
    }

    /// Calls a registered or provided tool with the arguments of the message of `context`, for another run of
    /// a task.
    #[cfg(feature = "tasks")]
    pub(super) async fn run_tool(
        &self,
        name: &str,
        context: HandlerContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        let principal = context.principal();
        if let Some(tool) = self.0.catalogs.tools.get(name, principal) {
            tool.access().check_scopes(principal)?;
            return Ok(tool.run(context));
        }
        if self.may_provide_tool(name)
            && let Some(tool) = self.find_provided::<ToolEntry>(name, &context).await?
        {
            return Ok(tool.run(context));
        }
        Err(unknown_tool(name, &context))
    }

    /// Gets a provided prompt.
    pub(super) async fn get_provided_prompt(
        self,
        name: String,
        context: HandlerContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        let prompt = self.find_provided::<PromptEntry>(&name, &context).await?;
        let prompt = prompt.ok_or_else(|| unknown_prompt(&name, &context))?;
        Ok(prompt.get(context.params().arguments, context.clone()))
    }

    /// Reads a provided resource.
    pub(super) async fn read_provided_resource(
        self,
        uri: String,
        context: HandlerContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        let found = self.find_provided_resource(&uri, &context).await?;
        let Some(found) = found else {
            return Err(ProtocolError::resource_not_found(uri));
        };
        Ok(match found.resource {
            RegisteredResource::Resource(resource) => resource.read(uri, context),
            RegisteredResource::Template(template) => {
                template.read(ReadRequest::new(uri, found.variables), context)
            }
        })
    }

    /// Subscribes a legacy session to a provided resource.
    pub(super) async fn subscribe_to_provided(
        self,
        uri: String,
        context: HandlerContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        if self.find_provided_resource(&uri, &context).await?.is_none() {
            return Err(ProtocolError::resource_not_found(uri));
        }
        self.add_subscription(&uri, &context)
    }

    /// Adds to a filter the provided resources among `uris`.
    ///
    /// # Errors
    /// If a provider fails, or all together take longer than the slowest of them may take to answer
    /// once: a client could otherwise make them search for hours.
    pub(super) async fn honour_provided(
        &self,
        uris: Vec<String>,
        honoured: &mut SubscriptionFilter,
        context: &HandlerContext,
    ) -> Result<(), ProtocolError> {
        if uris.is_empty() {
            return Ok(());
        }
        let timeouts = self
            .0
            .catalogs
            .providers
            .resources
            .iter()
            .map(|it| it.timeout);
        let search = self.find_subscribed(uris, honoured, context);
        match tokio::time::timeout(timeouts.max().unwrap_or_default(), search).await {
            Ok(found) => found,
            Err(_) => {
                count_refusal("Provider::timeout");
                Err(ProtocolError::internal(
                    "the providers did not find all resources of the subscription in time \
                     (Provider::timeout)",
                ))
            }
        }
    }

    async fn find_subscribed(
        &self,
        uris: Vec<String>,
        honoured: &mut SubscriptionFilter,
        context: &HandlerContext,
    ) -> Result<(), ProtocolError> {
        for uri in uris {
            let found = self.find_provided_resource(&uri, context).await;
            let exists = match found {
                Ok(found) => found.is_some(),
                Err(error) if matches!(error.kind(), ErrorKind::Forbidden(_)) => false,
                Err(error) => return Err(error),
            };
            if exists {
                let accepted = &mut honoured.resource_subscriptions;
                accepted.get_or_insert_default().push(uri);
            }
        }
        Ok(())
    }
}

/// The headers of a request that were captured for handlers.
struct CapturedHeaders<'h>(&'h dyn HttpHead);

impl HeaderSource for CapturedHeaders<'_> {
    fn values(&self, name: &str) -> HeaderValues<'_> {
        self.0.header(name).map(str::as_bytes).into()
    }
}

/// Returns the item that a provider has under a name, if the principal may see the provider's items.
async fn find_in<T: Send + 'static>(
    provider: &ProviderEntry<T>,
    name: &str,
    context: &HandlerContext,
) -> Result<Option<T>, ProtocolError> {
    if !provider.access.is_visible_to(context.principal()) {
        return Ok(None);
    }
    provider.find(name, context).await
}

/// Returns the resource or template that a provider has under a name, registered.
async fn find_resource_in(
    provider: &ProviderEntry<Resource>,
    name: &str,
    context: &HandlerContext,
) -> Result<Option<RegisteredResource>, ProtocolError> {
    let item = find_in(provider, name, context).await?;
    let registered = item.map(|item| item.register(&provider.registration));
    registered
        .transpose()
        .map_err(|error| provider.invalid_item(&error))
}

/// Returns whether the principal can see an item.
///
/// # Errors
/// If the principal can see the item and lacks one of its scopes.
fn can_use(item: &impl CatalogItem, context: &RequestContext) -> Result<bool, ProtocolError> {
    let (access, principal) = (item.access(), context.principal());
    if !access.is_visible_to(principal) {
        return Ok(false);
    }
    access.check_scopes(principal).map(|()| true)
}

/// Returns the error for a tool that does not exist.
pub(super) fn unknown_tool(name: &str, context: &RequestContext) -> ProtocolError {
    context.set_failure_cause(FailureCause::UnknownItem);
    ProtocolError::invalid_params(format!("Unknown tool: {name:.128}"))
}

/// Returns the error for a prompt that does not exist.
pub(super) fn unknown_prompt(name: &str, context: &RequestContext) -> ProtocolError {
    context.set_failure_cause(FailureCause::UnknownItem);
    ProtocolError::invalid_params(format!("Unknown prompt: {name:.128}"))
}
