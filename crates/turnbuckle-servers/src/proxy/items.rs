//! Items of a proxy: definitions of the merged view with handlers that forward requests.

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_client::{Client, EraKind, RequestBuilder, ServerInfo, ServerMethod};
use turnbuckle_server as server;
use turnbuckle_server::{
    Ask, BuildError, CompletionRequest, Failure, HandlerContext, RawArguments, ReadRequest,
    TaskSupport,
};
use turnbuckle_types::method::Complete;
use turnbuckle_types::{
    CallToolResult, CompleteResult, CompletionContext, GetPromptResult, Map, Prompt,
    PromptReference, ProtocolError, RawObject, ReadResourceResult, Resource, ResourceTemplate,
    ResourceTemplateReference, TASKS_EXTENSION, TaskSupportLevel, Tool,
};

use crate::proxy::call_error::OrFailure as _;
use crate::proxy::call_messages;
use crate::proxy::forward::forward;
use crate::proxy::forwarded_meta::forwarded_meta;
use crate::proxy::from_server;
use crate::proxy::route::Route;
use crate::proxy::template_completion::TemplateCompletion;
use crate::request::ServerRequest;
use crate::view::items::ServerItem;
use crate::view::merged_uris::sealed;
use crate::view::merged_view::Merged;

/// The list that an item of the proxy is of.
#[derive(Clone)]
pub(super) enum ItemSource {
    /// The common list of all clients.
    Common,
    /// The list of one client's own connection, whose server says this of itself.
    Own(Option<Arc<ServerInfo>>),
}

/// The upstream item that a handler was made for.
struct Owner<T> {
    listed: ServerItem<T>,
    is_common: bool,
}

impl<T> Clone for Owner<T> {
    fn clone(&self) -> Self {
        Self {
            listed: self.listed.clone(),
            is_common: self.is_common,
        }
    }
}

impl<T: Merged> Owner<T> {
    fn new(listed: &ServerItem<T>, source: &ItemSource) -> Self {
        Self {
            listed: listed.clone(),
            is_common: matches!(source, ItemSource::Common),
        }
    }

    /// Creates a request for the item, on behalf of the client of `context`.
    ///
    /// # Errors
    /// If the item no longer has its name in the list of all clients: a rule may have dropped it. The item of a
    /// client's own list was found for this request.
    async fn request<M: ServerMethod>(
        &self,
        route: &Route,
        context: &HandlerContext,
        request: impl FnOnce(&Client, &str) -> RequestBuilder<M>,
    ) -> Result<ServerRequest<M>, Failure> {
        let Self { listed, is_common } = self;
        if *is_common {
            let view = route.servers()?.state().common_view();
            let found = T::find(&view, listed.item.key());
            if !found.is_some_and(|it| it.is_same_item(listed)) {
                let kind = T::KIND;
                return Err(ProtocolError::invalid_params(format!("the {kind} is gone")).into());
            }
        }
        let own_name = &listed.own_name;
        let request = |client: &Client| request(client, own_name);
        route.request(&listed.server, context, request).await
    }
}

impl Route {
    /// Returns whether calls of a tool may become tasks of its server.
    fn has_tasks(&self, tool: &ServerItem<Tool>, source: &ItemSource) -> bool {
        let support = tool.item.execution.as_ref().and_then(|it| it.task_support);
        if let Some(support) = support {
            return support != TaskSupportLevel::Forbidden;
        }
        let info = match source {
            ItemSource::Own(info) => info.clone(),
            ItemSource::Common => {
                let servers = self.servers().ok();
                let client = servers.and_then(|servers| servers.client(&tool.server).ok());
                client.and_then(|client| client.server_info())
            }
        };
        info.is_some_and(|info| {
            info.era() == EraKind::Modern
                && info.capabilities.extensions.contains_key(TASKS_EXTENSION)
        })
    }

    /// Sends a request for a completion.
    async fn complete(
        &self,
        request: ServerRequest<Complete>,
        typing: CompletionRequest,
        context: &HandlerContext,
    ) -> Result<CompleteResult, Failure> {
        let (request, _active, lease) = self.begin(request, context).await?;
        // Nobody is asked for a completion, but the server must ask no other client meanwhile.
        let (messages, _) = call_messages::channel();
        let is_own = request.has_own_connection(lease.as_ref());
        let tag = from_server::tag(context, &self.calls.keys, is_own, messages);
        let meta = forwarded_meta(context);
        let request = request.with_lease(lease, |mut request| {
            let params = request.params_mut();
            params.meta = meta;
            if !typing.arguments.is_empty() {
                params.context = Some(CompletionContext::new().arguments(typing.arguments));
            }
            request.tag(tag)
        });
        let mut result = request.await.or_failure(context)?;
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

/// A type of item that a proxy serves.
pub(super) trait Proxied: Merged {
    /// The item of a server.
    type Item: Send + 'static;

    /// Returns the item of the proxy, whose handlers forward requests.
    ///
    /// # Errors
    /// Returns the reason why the proxy cannot serve the item.
    fn to_item(
        listed: &ServerItem<Self>,
        route: &Route,
        source: &ItemSource,
    ) -> Result<Self::Item, String>;

    /// Adds an item to the server of the proxy, in place of one of the same name.
    fn add_to(item: Self::Item, server: &server::Server) -> Result<(), BuildError>;

    /// Removes the item of this name.
    fn remove_from(server: &server::Server, key: &str);
}

impl Proxied for Tool {
    type Item = server::Tool;

    fn to_item(
        listed: &ServerItem<Self>,
        route: &Route,
        source: &ItemSource,
    ) -> Result<server::Tool, String> {
        let mut builder =
            server::Tool::builder(listed.item.name.clone()).foreign_definition(listed.item.clone());
        restrict!(builder, listed);
        if route.declared.tasks && route.has_tasks(listed, source) {
            // A call becomes a task when that of the server does; clients without tasks wait for it.
            builder = builder.task(TaskSupport::optional().after(Duration::MAX));
        }
        let (route, owner) = (route.clone(), Owner::new(listed, source));
        let handler = move |arguments: RawArguments, context: HandlerContext, ask: Ask| {
            let (route, owner) = (route.clone(), owner.clone());
            async move {
                let arguments = RawObject::try_from(arguments.0)?;
                let request = owner.request(&route, &context, |client, name| {
                    let mut request = client.call_tool(name, &());
                    request.params_mut().arguments = Some(arguments);
                    request.params_mut().meta = forwarded_meta(&context);
                    route.capabilities.declare(request, client, &context)
                });
                let request = request.await?;
                forward(&route, request, &context, &ask).await as server::Result<CallToolResult>
            }
        };
        Ok(builder.handler(handler))
    }

    fn add_to(item: server::Tool, server: &server::Server) -> Result<(), BuildError> {
        server.add_tool(item)
    }

    fn remove_from(server: &server::Server, key: &str) {
        server.remove_tool(key);
    }
}

impl Proxied for Prompt {
    type Item = server::Prompt;

    fn to_item(
        listed: &ServerItem<Self>,
        route: &Route,
        source: &ItemSource,
    ) -> Result<server::Prompt, String> {
        let mut builder = server::Prompt::builder(listed.item.name.clone())
            .foreign_definition(listed.item.clone());
        restrict!(builder, listed);
        let (route, owner) = (route.clone(), Owner::new(listed, source));
        let arguments = listed.item.arguments.iter().flatten();
        for argument in arguments.filter(|_| route.declared.completions) {
            let (route, owner, argument) = (route.clone(), owner.clone(), argument.name.clone());
            builder = builder.complete(
                argument.clone(),
                move |typing: CompletionRequest, context: HandlerContext| {
                    let (route, owner, argument) = (route.clone(), owner.clone(), argument.clone());
                    async move {
                        let request = owner.request(&route, &context, |client, name| {
                            client.complete(PromptReference::new(name), argument, &*typing.value)
                        });
                        let request = request.await?;
                        route.complete(request, typing, &context).await
                    }
                },
            );
        }
        let handler = move |arguments: RawArguments, context: HandlerContext, ask: Ask| {
            let (route, owner) = (route.clone(), owner.clone());
            async move {
                let given: Map<String> = arguments.0.decode()?;
                let given = given
                    .iter()
                    .map(|(name, value)| (name.to_owned(), value.clone()));
                let given: Vec<(String, String)> = given.collect();
                let request = owner.request(&route, &context, |client, name| {
                    let mut request = client.get_prompt(name, given);
                    request.params_mut().meta = forwarded_meta(&context);
                    route.capabilities.declare(request, client, &context)
                });
                let request = request.await?;
                forward(&route, request, &context, &ask).await as server::Result<GetPromptResult>
            }
        };
        Ok(builder.handler(handler))
    }

    fn add_to(item: server::Prompt, server: &server::Server) -> Result<(), BuildError> {
        server.add_prompt(item)
    }

    fn remove_from(server: &server::Server, key: &str) {
        server.remove_prompt(key);
    }
}

/// Reads a resource at any URI of the servers.
async fn read(
    route: Route,
    read: ReadRequest,
    context: HandlerContext,
    ask: Ask,
) -> server::Result<ReadResourceResult> {
    let readable = route.servers()?.readable_for(&read.uri, &context).await;
    let Some(readable) = readable.or_failure(&context)? else {
        return Err(ProtocolError::resource_not_found(read.uri).into());
    };
    if let Some(access) = &readable.access {
        access.check(&read.uri, context.principal())?;
    }
    let request = route.request(&readable.server, &context, |client| {
        let mut request = client.read_resource(&*readable.own_uri);
        request.params_mut().meta = forwarded_meta(&context);
        route.capabilities.declare(request, client, &context)
    });
    let request = request.await?;
    forward(&route, request, &context, &ask).await
}

/// Returns the handler that reads a resource.
macro_rules! read_handler {
    ($route:ident) => {
        move |request: ReadRequest, context: HandlerContext, ask: Ask| {
            read($route.clone(), request, context, ask)
        }
    };
}

/// Returns a resource that no server lists and no template matches, such as one that the result of a tool links
/// to.
pub(super) fn unlisted_resource(uri: String, route: Route) -> server::Resource {
    let resource = server::Resource::builder(uri.clone(), uri);
    resource.handler(read_handler!(route))
}

impl Proxied for Resource {
    type Item = server::Resource;

    fn to_item(
        listed: &ServerItem<Self>,
        route: &Route,
        _: &ItemSource,
    ) -> Result<server::Resource, String> {
        let item = &listed.item;
        let mut builder = server::Resource::builder(item.uri.clone(), item.name.clone())
            .foreign_definition(item.clone());
        restrict!(builder, listed);
        let route = route.clone();
        Ok(builder.handler(read_handler!(route)))
    }

    fn add_to(item: server::Resource, server: &server::Server) -> Result<(), BuildError> {
        server.add_resource(item)
    }

    fn remove_from(server: &server::Server, key: &str) {
        server.remove_resource(key);
    }
}

impl Proxied for ResourceTemplate {
    type Item = server::Resource;

    fn to_item(
        listed: &ServerItem<Self>,
        route: &Route,
        source: &ItemSource,
    ) -> Result<server::Resource, String> {
        let item = &listed.item;
        let template = item.uri_template.clone();
        let mut builder = server::Resource::builder(template.clone(), item.name.clone())
            .foreign_template(item.clone());
        restrict!(builder, listed);
        let (route, owner) = (route.clone(), Owner::new(listed, source));
        let parsed = server::UriTemplate::parse(&template).map_err(|error| error.to_string())?;
        let variables = parsed.variables().into_iter();
        for variable in variables.filter(|_| route.declared.completions) {
            let (route, owner, variable) = (route.clone(), owner.clone(), variable.to_owned());
            builder = builder.complete(
                variable.clone(),
                move |typing: CompletionRequest, context: HandlerContext| {
                    let (route, owner, variable) = (route.clone(), owner.clone(), variable.clone());
                    async move {
                        let completion =
                            TemplateCompletion::new(&owner.listed, &variable, &typing, &context);
                        completion.check(&route.servers()?, &context)?;
                        let request = owner.request(&route, &context, |client, template| {
                            let reference = ResourceTemplateReference::new(template);
                            client.complete(reference, variable, &*typing.value)
                        });
                        let request = request.await?;
                        let mut result = route.complete(request, typing, &context).await?;
                        completion.retain_permitted(&route.servers()?, &mut result, &context);
                        Ok::<_, Failure>(result)
                    }
                },
            );
        }
        Ok(builder.handler(read_handler!(route)))
    }

    fn add_to(item: server::Resource, server: &server::Server) -> Result<(), BuildError> {
        server.add_resource(item)
    }

    fn remove_from(server: &server::Server, key: &str) {
        server.remove_resource(key);
    }
}
