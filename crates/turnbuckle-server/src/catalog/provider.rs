//! Registered providers: calls of their functions, within their bounds.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle_session::internal::count_refusal;
use turnbuckle_session::transport::HttpNeeds;
use turnbuckle_types::ProtocolError;
use turnbuckle_types::base::debug_fields;
use turnbuckle_wire::era::Reply;

use super::provider_cursor::MAX_CURSOR_BYTES;
use crate::error::BuildError;
use crate::error::failure::{Failure, Result};
use crate::handler::{FailureMapping, failure_reply};
use crate::items::access::AccessRules;
use crate::items::prompt::Prompt;
use crate::items::provider::{GroupProviders, ListFunction, Provider, ProviderFunction};
use crate::items::registration::Registration;
use crate::items::resource::Resource;
use crate::items::tool::Tool;
use crate::request::context::HandlerContext;
use crate::request::extract::{HandlerRequirements, Invocation, RequestPayload};
use crate::request::list::{ListPage, ListRequest};
use crate::schema::{ArgumentReader, SchemaCache};

/// The most items of one page of a provider.
const MAX_PAGE_ITEMS: usize = 10_000;

/// The registered providers of a server, each kind in the order of registration.
#[derive(Debug, Default)]
pub(crate) struct Providers {
    pub(crate) tools: Vec<ProviderEntry<Tool>>,
    pub(crate) prompts: Vec<ProviderEntry<Prompt>>,
    pub(crate) resources: Vec<ProviderEntry<Resource>>,
}

impl Providers {
    /// Adds the providers of a group.
    ///
    /// # Errors
    /// If a function of a provider has a parameter that the server cannot supply.
    pub(crate) fn register(
        &mut self,
        providers: GroupProviders,
        registration: &Registration,
    ) -> Result<(), BuildError> {
        for provider in providers.tools {
            self.tools.push(provider.register(registration)?);
        }
        for provider in providers.prompts {
            self.prompts.push(provider.register(registration)?);
        }
        for provider in providers.resources {
            self.resources.push(provider.register(registration)?);
        }
        Ok(())
    }

    /// Returns the rules of who can see and use the items of each provider.
    pub(crate) fn access_rules(&self) -> impl Iterator<Item = &AccessRules> {
        let tools = self.tools.iter().map(|provider| &provider.access);
        let prompts = self.prompts.iter().map(|provider| &provider.access);
        let resources = self.resources.iter().map(|provider| &provider.access);
        tools.chain(prompts).chain(resources)
    }
}

/// A registered provider.
pub(crate) struct ProviderEntry<T> {
    name: Cow<'static, str>,
    pub(crate) list: Option<ProviderFunction<ListPage<T>>>,
    pub(crate) list_templates: Option<ProviderFunction<ListPage<T>>>,
    find: Option<ProviderFunction<Option<T>>>,
    pub(crate) timeout: Duration,
    /// The settings around the provider, with which its items are registered.
    pub(crate) registration: Registration,
    /// The rules of the groups around the provider.
    pub(crate) access: AccessRules,
}

impl<T: Send + 'static> Provider<T> {
    fn register(self, registration: &Registration) -> Result<ProviderEntry<T>, BuildError> {
        let Self {
            name,
            list,
            list_templates,
            find,
            timeout,
        } = self;
        let needs = list
            .iter()
            .chain(&list_templates)
            .map(|function| function.needs);
        for needs in needs.chain(find.iter().map(|function| function.needs)) {
            let needs = HandlerRequirements::collect(needs);
            check_requirements(&needs, registration)
                .map_err(|error| BuildError::new(format!("provider {name:?}: {error}")))?;
        }
        // An item may read the head of the request in which it is found.
        registration.http_needs.add(HttpNeeds {
            head: true,
            extensions: true,
        });
        let mut registration = registration.clone();
        registration.compiled_schemas = Some(Arc::new(SchemaCache::default()));
        Ok(ProviderEntry {
            name,
            list,
            list_templates,
            find,
            timeout,
            access: registration.access(AccessRules::default()),
            registration,
        })
    }
}

fn check_requirements(
    needs: &HandlerRequirements,
    registration: &Registration,
) -> Result<(), BuildError> {
    registration.check_requirements(needs)?;
    if needs.asks {
        return Err(BuildError::new(
            "a function takes an Ask, but a provider cannot ask the client",
        ));
    }
    if needs.arguments.is_some() {
        return Err(BuildError::new(
            "a function takes arguments, but a provider has none: take a ListRequest or an ItemName",
        ));
    }
    Ok(())
}

impl<T: Send + 'static> ProviderEntry<T> {
    /// Lists one page of items.
    pub(crate) async fn list(
        &self,
        function: &ProviderFunction<ListPage<T>>,
        request: &ListRequest,
        context: &HandlerContext,
    ) -> Result<ListPage<T>, ProtocolError> {
        let payload = RequestPayload::List(request);
        let page = self.call(function, payload, context).await?;
        let reason = if page.items.len() > MAX_PAGE_ITEMS {
            format!("a page of more than {MAX_PAGE_ITEMS} items")
        } else if page.next_cursor.as_ref().map_or(0, String::len) > MAX_CURSOR_BYTES {
            format!("a cursor of more than {MAX_CURSOR_BYTES} bytes")
        } else if page.next_cursor.is_some() && page.next_cursor == request.cursor {
            "the cursor that it was given, so that its list would not come to an end".to_owned()
        } else {
            return Ok(page);
        };
        Err(self.fault(&format!("returned {reason}")))
    }

    /// Finds the item with a name or URI, which has the prefix of the groups around the provider.
    pub(crate) async fn find(
        &self,
        name: &str,
        context: &HandlerContext,
    ) -> Result<Option<T>, ProtocolError> {
        let Some(function) = &self.find else {
            return Ok(None);
        };
        self.call(function, RequestPayload::Find(name), context)
            .await
    }

    /// Returns the error for an item that cannot be registered, and logs the reason.
    pub(crate) fn invalid_item(&self, error: &BuildError) -> ProtocolError {
        let provider = &*self.name;
        tracing::error!(
            provider,
            "an item of a provider is left out, since it is not valid: {error}"
        );
        self.fault("returned an item that is not valid")
    }

    /// Returns the error for something that the provider must not do.
    pub(crate) fn fault(&self, what: &str) -> ProtocolError {
        ProtocolError::internal(format!("the provider {:?} {what}", self.name))
    }

    /// Calls a function and waits for its output.
    async fn call<O: Send + 'static>(
        &self,
        function: &ProviderFunction<O>,
        payload: RequestPayload<'_>,
        context: &HandlerContext,
    ) -> Result<O, ProtocolError> {
        let invocation = Invocation {
            context,
            payload,
            reader: &ArgumentReader::without_arguments(),
            states: &self.registration.states,
        };
        match tokio::time::timeout(self.timeout, function.call(&invocation)).await {
            Ok(output) => output.map_err(|failure| self.function_error(failure, context)),
            Err(_) => {
                let (provider, timeout) = (&*self.name, self.timeout);
                tracing::warn!(
                    provider,
                    "a provider took longer than {timeout:?} (Provider::timeout)"
                );
                count_refusal("Provider::timeout");
                Err(self.fault("did not answer in time"))
            }
        }
    }

    /// Returns the error for a function that failed, and logs it.
    fn function_error(&self, failure: Failure, context: &HandlerContext) -> ProtocolError {
        let mapping = FailureMapping::for_kind::<ListFunction<T>>(self.registration.masks_errors());
        let error = match failure_reply(failure.into_kind(), mapping, context) {
            Reply::Error(error) => error,
            _ => self.fault("failed"),
        };
        let provider = &*self.name;
        tracing::warn!(provider, "a provider failed: {error}");
        error
    }
}

debug_fields!([T] ProviderEntry<T> { name, timeout });
