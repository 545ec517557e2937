//! Items of a proxy: definitions of the merged view with handlers that forward requests.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle_client::EraKind;
use turnbuckle_server as server;
use turnbuckle_server::{
    Ask, CompletionRequest, Failure, HandlerContext, RawArguments, ReadRequest, TaskSupport,
};
use turnbuckle_types::{
    CallToolResult, CompletionContext, CompletionReference, GetPromptResult, Map, Prompt,
    PromptReference, ReadResourceResult, Resource, ResourceTemplate, ResourceTemplateReference,
    TASKS_EXTENSION, TaskSupportLevel, Tool,
};

use crate::proxy::active_calls::ActiveCalls;
use crate::proxy::forward::{connect, forward, to_failure};
use crate::proxy::from_server;
use crate::servers::{Servers, WeakServers};
use crate::view::items::{Listed, ServerItem};

/// The way from a handler to the servers, which the handler does not keep open.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) servers: WeakServers,
    pub(super) calls: Arc<ActiveCalls>,
}

impl Route {
    pub(super) fn servers(&self) -> Result<Servers, Failure> {
        let closed = || Failure::new("the servers of the proxy are closed");
        self.servers.upgrade().ok_or_else(closed)
    }

    /// Returns whether calls of a tool may become tasks of its server.
    fn has_tasks(&self, tool: &ServerItem<Tool>) -> bool {
        let support = tool.item.execution.as_ref().and_then(|it| it.task_support);
        if let Some(support) = support {
            return support != TaskSupportLevel::Forbidden;
        }
        let client = self
            .servers()
            .ok()
            .and_then(|servers| servers.client(&tool.server).ok());
        let info = client.and_then(|client| client.server_info());
        info.is_some_and(|info| {
            info.era() == EraKind::Modern
                && info.capabilities.extensions.contains_key(TASKS_EXTENSION)
        })
    }

    async fn complete(
        &self,
        reference: CompletionReference,
        argument: &str,
        typing: CompletionRequest,
        context: &HandlerContext,
    ) -> Result<Vec<String>, Failure> {
        let servers = self.servers()?;
        let request = servers.complete(reference, argument, &typing.value);
        let server = request.server().unwrap_or_default().into();
        let max_in_flight = request.max_in_flight();
        let _active = self.calls.begin(server, max_in_flight, context).await?;
        let request = connect(&servers, request, context).await?;
        // Nobody is asked for a completion, but the server must ask no other client meanwhile.
        let (tag, _) = from_server::tag(context, &self.calls.keys);
        let arguments = CompletionContext::new().arguments(typing.arguments);
        let request = request.configure(|mut request| {
            request.params_mut().context = Some(arguments);
            request.tag(tag)
        });
        let completed = request.await.map_err(to_failure)?;
        Ok(completed.completion.values)
    }
}

macro_rules! copy_info {
    ($builder:ident, $definition:ident, $listed:ident) => {
        if let Some(title) = &$definition.title {
            $builder = $builder.title(title.clone());
        }
        if let Some(description) = &$definition.description {
            $builder = $builder.description(description.clone());
        }
        for icon in $definition.icons.iter().flatten() {
            $builder = $builder.icon(icon.clone());
        }
        $builder = $builder.meta($definition.meta.clone());
        if let Some(access) = &$listed.access {
            for scope in &access.scopes {
                $builder = $builder.scope(scope);
            }
            for visible in &access.visible {
                let visible = visible.clone();
                $builder = $builder.visible_to(move |principal| visible(principal));
            }
        }
    };
}

/// A type of item that a proxy serves.
pub(super) trait Proxied: Listed + Sized {
    /// Adds the item to the server of the proxy, in place of one of the same name.
    fn add_to(
        listed: &ServerItem<Self>,
        server: &server::Server,
        route: Route,
    ) -> Result<(), String>;

    /// Removes the item of this name.
    fn remove_from(server: &server::Server, key: &str);
}

impl Proxied for Tool {
    fn add_to(
        listed: &ServerItem<Self>,
        server: &server::Server,
        route: Route,
    ) -> Result<(), String> {
        let item = &*listed.item;
        let name = item.name.clone();
        let mut builder =
            server::Tool::builder(name.clone()).input_schema(item.input_schema.clone());
        copy_info!(builder, item, listed);
        if let Some(schema) = &item.output_schema {
            builder = builder.output_schema(schema.clone());
        }
        if let Some(annotations) = &item.annotations {
            builder = builder.annotations(annotations.clone());
        }
        if route.has_tasks(listed) {
            // A call becomes a task when that of the server does; clients without tasks wait for it.
            builder = builder.task(TaskSupport::optional().after(Duration::MAX));
        }
        let handler = move |arguments: RawArguments, context: HandlerContext, ask: Ask| {
            let (route, name) = (route.clone(), name.clone());
            async move {
                let request = route.servers()?.call_tool(&name, &arguments.0);
                forward(&route, request, &context, &ask).await as server::Result<CallToolResult>
            }
        };
        server
            .add_tool(builder.handler(handler))
            .map_err(|error| error.to_string())
    }

    fn remove_from(server: &server::Server, key: &str) {
        server.remove_tool(key);
    }
}

impl Proxied for Prompt {
    fn add_to(
        listed: &ServerItem<Self>,
        server: &server::Server,
        route: Route,
    ) -> Result<(), String> {
        let item = &*listed.item;
        let name = item.name.clone();
        let arguments = item.arguments.clone().unwrap_or_default();
        let mut builder = server::Prompt::builder(name.clone());
        copy_info!(builder, item, listed);
        for argument in &arguments {
            let (route, argument) = (route.clone(), argument.name.clone());
            let name = name.clone();
            builder = builder.complete(
                argument.clone(),
                move |typing: CompletionRequest, context: HandlerContext| {
                    let (route, name, argument) = (route.clone(), name.clone(), argument.clone());
                    async move {
                        let reference = PromptReference::new(name).into();
                        route.complete(reference, &argument, typing, &context).await
                    }
                },
            );
        }
        let builder = builder.arguments(arguments);
        let handler = move |arguments: RawArguments, context: HandlerContext, ask: Ask| {
            let (route, name) = (route.clone(), name.clone());
            async move {
                let given: Map<String> = arguments.0.decode()?;
                let given = given
                    .iter()
                    .map(|(name, value)| (name.to_owned(), value.clone()));
                let given: Vec<(String, String)> = given.collect();
                let request = route.servers()?.get_prompt(&name, given);
                forward(&route, request, &context, &ask).await as server::Result<GetPromptResult>
            }
        };
        server
            .add_prompt(builder.handler(handler))
            .map_err(|error| error.to_string())
    }

    fn remove_from(server: &server::Server, key: &str) {
        server.remove_prompt(key);
    }
}

/// Returns the handler that reads a resource.
macro_rules! read_handler {
    ($route:ident) => {
        move |read: ReadRequest, context: HandlerContext, ask: Ask| {
            let route = $route.clone();
            async move {
                let request = route.servers()?.read_resource(&read.uri);
                forward(&route, request, &context, &ask).await as server::Result<ReadResourceResult>
            }
        }
    };
}

impl Proxied for Resource {
    fn add_to(
        listed: &ServerItem<Self>,
        server: &server::Server,
        route: Route,
    ) -> Result<(), String> {
        let item = &*listed.item;
        let mut builder = server::Resource::builder(item.uri.clone(), item.name.clone());
        copy_info!(builder, item, listed);
        if let Some(mime_type) = &item.mime_type {
            builder = builder.mime_type(Cow::Owned(mime_type.clone()));
        }
        if let Some(annotations) = &item.annotations {
            builder = builder.annotations(annotations.clone());
        }
        server
            .add_resource(builder.handler(read_handler!(route)))
            .map_err(|error| error.to_string())
    }

    fn remove_from(server: &server::Server, key: &str) {
        server.remove_resource(key);
    }
}

impl Proxied for ResourceTemplate {
    fn add_to(
        listed: &ServerItem<Self>,
        server: &server::Server,
        route: Route,
    ) -> Result<(), String> {
        let item = &*listed.item;
        let template = item.uri_template.clone();
        let mut builder = server::Resource::builder(template.clone(), item.name.clone());
        copy_info!(builder, item, listed);
        if let Some(mime_type) = &item.mime_type {
            builder = builder.mime_type(Cow::Owned(mime_type.clone()));
        }
        if let Some(annotations) = &item.annotations {
            builder = builder.annotations(annotations.clone());
        }
        let parsed = server::UriTemplate::parse(&template).map_err(|error| error.to_string())?;
        for variable in parsed.variables() {
            let (route, template) = (route.clone(), template.clone());
            let variable = variable.to_owned();
            builder = builder.complete(
                variable.clone(),
                move |typing: CompletionRequest, context: HandlerContext| {
                    let (route, template) = (route.clone(), template.clone());
                    let variable = variable.clone();
                    async move {
                        let reference = ResourceTemplateReference::new(template).into();
                        route.complete(reference, &variable, typing, &context).await
                    }
                },
            );
        }
        server
            .add_resource(builder.handler(read_handler!(route)))
            .map_err(|error| error.to_string())
    }

    fn remove_from(server: &server::Server, key: &str) {
        server.remove_resource(key);
    }
}
