//! Items of a proxy: definitions of the merged view with handlers that forward requests.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use turnbuckle_client::EraKind;
use turnbuckle_server as server;
use turnbuckle_server::{
    Ask, CompletionRequest, Failure, HandlerContext, RawArguments, ReadRequest, TaskSupport,
};
use turnbuckle_types::{
    CallToolResult, CompleteResult, CompletionContext, CompletionReference, GetPromptResult, Map,
    Meta, Prompt, PromptReference, ProtocolError, ReadResourceResult, Resource, ResourceTemplate,
    ResourceTemplateReference, TASKS_EXTENSION, TaskSupportLevel, Tool, meta,
};

use crate::proxy::call_error::CallError;
use crate::proxy::forward::forward;
use crate::proxy::from_server;
use crate::proxy::route::Route;
use crate::view::items::{Listed, ServerItem};
use crate::view::merged_uris::sealed;

/// The upstream item that a handler was made for.
#[derive(Clone)]
struct Owner {
    server: Arc<str>,
    own_name: Arc<str>,
}

impl Owner {
    fn new<T>(listed: &ServerItem<T>) -> Self {
        Self {
            server: listed.server.clone(),
            own_name: listed.own_name.clone(),
        }
    }

    /// Checks that the item still has its name in the merged view. Otherwise another item might be used, for
    /// which the client may lack scopes.
    fn check<T>(&self, found: Option<ServerItem<T>>, kind: &str) -> Result<(), Failure> {
        match found {
            Some(it) if it.server == self.server && it.own_name == self.own_name => Ok(()),
            _ => Err(ProtocolError::invalid_params(format!("the {kind} is gone")).into()),
        }
    }
}

impl Route {
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
    ) -> Result<CompleteResult, Failure> {
        let servers = self.servers()?;
        let request = servers.complete(reference, argument, &typing.value);
        let server = request.server().unwrap_or_default().into();
        let max_in_flight = request.max_in_flight();
        let _active = self.calls.begin(server, max_in_flight, context).await?;
        let lease = self.connect(&request, context).await?;
        let request = request.with_lease(lease);
        // Nobody is asked for a completion, but the server must ask no other client meanwhile.
        let (tag, _) = from_server::tag(context, &self.calls.keys, request.has_own_connection());
        let meta = forwarded_meta(context);
        let request = request.configure(|mut request| {
            let params = request.params_mut();
            params.meta = meta;
            if !typing.arguments.is_empty() {
                params.context = Some(CompletionContext::new().arguments(typing.arguments));
            }
            request.tag(tag)
        });
        let mut result = request.await.map_err(CallError::from)?;
        sealed::Rewrite::remove_envelope(&mut result);
        Ok(result)
    }
}

/// Restricts an item of the server to the principals that a rule names.
macro_rules! restrict {
    ($builder:ident, $listed:ident) => {
        if let Some(access) = &$listed.access {
            for scope in &access.scopes {
                $builder = $builder.scope(scope);
            }
            if access.is_unlisted {
                $builder = $builder.hide_from_lists();
            }
            for visible in &access.visible {
                let visible = visible.clone();
                $builder = $builder.visible_to(move |principal| visible(principal));
            }
        }
    };
}

/// The `_meta` keys of requests that are about the connection which a message came on.
const CONNECTION_KEYS: [&str; 6] = [
    meta::PROGRESS_TOKEN,
    meta::PROTOCOL_VERSION,
    meta::CLIENT_INFO,
    meta::CLIENT_CAPABILITIES,
    meta::LOG_LEVEL,
    meta::RELATED_TASK,
];

/// Returns the `_meta` of a request as it is passed on.
pub(super) fn forwarded_meta(context: &HandlerContext) -> Meta {
    let mut meta = context.meta().unwrap_or_default();
    for key in CONNECTION_KEYS {
        meta.remove(key);
    }
    meta
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
        let name = listed.item.name.clone();
        let mut builder =
            server::Tool::builder(name.clone()).foreign_definition(listed.item.clone());
        restrict!(builder, listed);
        if route.declared.tasks && route.has_tasks(listed) {
            // A call becomes a task when that of the server does; clients without tasks wait for it.
            builder = builder.task(TaskSupport::optional().after(Duration::MAX));
        }
        let owner = Owner::new(listed);
        let handler = move |arguments: RawArguments, context: HandlerContext, ask: Ask| {
            let (route, name, owner) = (route.clone(), name.clone(), owner.clone());
            async move {
                let servers = route.servers()?;
                owner.check(servers.tool(&name), "tool")?;
                let meta = forwarded_meta(&context);
                let request = servers.call_tool(&name, &arguments.0);
                let request = request.configure(|mut request| {
                    request.params_mut().meta = meta;
                    request
                });
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
        let name = listed.item.name.clone();
        let mut builder =
            server::Prompt::builder(name.clone()).foreign_definition(listed.item.clone());
        restrict!(builder, listed);
        let owner = Owner::new(listed);
        let arguments = listed.item.arguments.iter().flatten();
        for argument in arguments.filter(|_| route.declared.completions) {
            let (route, argument) = (route.clone(), argument.name.clone());
            let (name, owner) = (name.clone(), owner.clone());
            builder = builder.complete(
                argument.clone(),
                move |typing: CompletionRequest, context: HandlerContext| {
                    let (route, name, argument) = (route.clone(), name.clone(), argument.clone());
                    let owner = owner.clone();
                    async move {
                        owner.check(route.servers()?.prompt(&name), "prompt")?;
                        let reference = PromptReference::new(name).into();
                        route.complete(reference, &argument, typing, &context).await
                    }
                },
            );
        }
        let handler = move |arguments: RawArguments, context: HandlerContext, ask: Ask| {
            let (route, name, owner) = (route.clone(), name.clone(), owner.clone());
            async move {
                let given: Map<String> = arguments.0.decode()?;
                let given = given
                    .iter()
                    .map(|(name, value)| (name.to_owned(), value.clone()));
                let given: Vec<(String, String)> = given.collect();
                let servers = route.servers()?;
                owner.check(servers.prompt(&name), "prompt")?;
                let meta = forwarded_meta(&context);
                let request = servers.get_prompt(&name, given);
                let request = request.configure(|mut request| {
                    request.params_mut().meta = meta;
                    request
                });
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
                let meta = forwarded_meta(&context);
                let servers = route.servers()?;
                if let Some((_, Some(access))) = servers.readable(&read.uri) {
                    access.check(&read.uri, context.principal())?;
                }
                let request = servers.read_resource(&read.uri);
                let request = request.configure(|mut request| {
                    request.params_mut().meta = meta;
                    request
                });
                forward(&route, request, &context, &ask).await as server::Result<ReadResourceResult>
            }
        }
    };
}

/// Returns a provider of the resources that no server lists and no template matches, such as those that the
/// result of a tool links to.
pub(super) fn unlisted_resources(
    route: Arc<OnceLock<Route>>,
) -> server::Provider<server::Resource> {
    server::Provider::resources("unlisted").find(move |server::ItemName(uri): server::ItemName| {
        let route = route.get()?.clone();
        if !route.servers().ok()?.may_read_unlisted(&uri) {
            return None;
        }
        let resource = server::Resource::builder(uri.clone(), uri);
        Some(resource.handler(read_handler!(route)))
    })
}

impl Proxied for Resource {
    fn add_to(
        listed: &ServerItem<Self>,
        server: &server::Server,
        route: Route,
    ) -> Result<(), String> {
        let item = &listed.item;
        let mut builder = server::Resource::builder(item.uri.clone(), item.name.clone())
            .foreign_definition(item.clone());
        restrict!(builder, listed);
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
        let item = &listed.item;
        let template = item.uri_template.clone();
        let mut builder = server::Resource::builder(template.clone(), item.name.clone())
            .foreign_template(item.clone());
        restrict!(builder, listed);
        let parsed = server::UriTemplate::parse(&template).map_err(|error| error.to_string())?;
        let variables = parsed.variables().into_iter();
        for variable in variables.filter(|_| route.declared.completions) {
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
