//! Items that only one client has: those that its own connections list.
//!
//! They are found for each request, by its client. No list of another client has them.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use turnbuckle_server as server;
use turnbuckle_server::{
    HandlerContext, ItemName, ListPage, ListRequest, Provider, RawArguments, ReadRequest,
    ServerBuilder, UriTemplate,
};
use turnbuckle_session::internal::FailureCause;
use turnbuckle_types::{Prompt, Resource, ResourceTemplate, Tool};

use crate::connections::client_view::ClientView;
use crate::error::Error;
use crate::proxy::call_error::OrFailure as _;
use crate::proxy::capabilities::Declared;
use crate::proxy::items::{ItemSource, Proxied, unlisted_resource};
use crate::proxy::route::Route;
use crate::proxy::template_completion::completed_reference;
use crate::servers::Servers;
use crate::servers::for_client::OwnResource;
use crate::view::items::ServerItem;

/// The time that the search for an item may take. What it waits for has shorter timeouts.
const MAX_SEARCH_TIME: Duration = Duration::from_secs(120);

/// The name of the providers, for logs.
const PROVIDER: &str = "connections of clients";

/// The route, once the servers are started.
type LaterRoute = Arc<OnceLock<Route>>;

/// Adds the sources of the items that no list of all clients has.
pub(super) fn add_to(
    mut server: ServerBuilder,
    declared: Declared,
    servers: &Servers,
    route: &LaterRoute,
) -> ServerBuilder {
    let has_own = servers.has_own_lists();
    if declared.tools {
        let mut provider = Provider::tools(PROVIDER).timeout(MAX_SEARCH_TIME);
        if has_own {
            provider = provider.list(list::<Tool>(route));
        }
        let route = route.clone();
        server = server.provider(
            provider.find(move |name: ItemName, context: HandlerContext| {
                let route = route.clone();
                async move { find_tool(&route, &name.0, &context).await }
            }),
        );
    }
    if has_own && declared.prompts {
        let provider = Provider::prompts(PROVIDER).timeout(MAX_SEARCH_TIME);
        let provider = provider.list(list::<Prompt>(route));
        let route = route.clone();
        server = server.provider(
            provider.find(move |name: ItemName, context: HandlerContext| {
                let route = route.clone();
                async move { find_prompt(&route, &name.0, &context).await }
            }),
        );
    }
    if declared.resources {
        let mut provider = Provider::resources(PROVIDER).timeout(MAX_SEARCH_TIME);
        if has_own {
            provider = provider.list(list::<Resource>(route));
            provider = provider.list_templates(list::<ResourceTemplate>(route));
        }
        let route = route.clone();
        server = server.provider(
            provider.find(move |uri: ItemName, context: HandlerContext| {
                let route = route.clone();
                async move { find_resource(&route, uri.0, &context).await }
            }),
        );
    }
    server
}

/// Returns the function that lists the items of one kind. A cursor is the number of the items before it.
fn list<T: Proxied>(
    route: &LaterRoute,
) -> impl Fn(ListRequest, HandlerContext) -> ListFuture<T::Item> + Send + Sync + 'static {
    let route = route.clone();
    move |request, context| {
        let route = route.clone();
        Box::pin(async move {
            let Some(route) = route.get() else {
                return Ok(ListPage::new([]));
            };
            let servers = route.servers()?;
            let view = servers.own_items(&context).await;
            let start = request.cursor.and_then(|it| it.parse().ok()).unwrap_or(0);
            let all = T::all(&view.merged);
            let items = all.iter().skip(start).take(request.limit);
            let items = items.filter_map(|listed| to_item(listed, route, &servers, &view));
            let page = ListPage::new(items);
            let end = start.saturating_add(request.limit);
            Ok(page.next_cursor((end < all.len()).then(|| end.to_string())))
        })
    }
}

type ListFuture<I> = std::pin::Pin<Box<dyn Future<Output = server::Result<ListPage<I>>> + Send>>;

/// Returns the item of the proxy for one of a client's own list; `None` if the proxy cannot serve it.
fn to_item<T: Proxied>(
    listed: &ServerItem<T>,
    route: &Route,
    servers: &Servers,
    view: &ClientView,
) -> Option<T::Item> {
    let index = servers.index_of(&listed.server);
    let info = index.and_then(|index| view.server_info(index).cloned());
    let item = T::to_item(listed, route, &ItemSource::Own(info));
    let item = item.inspect_err(|error| {
        let name = &*listed.own_name;
        tracing::warn!(name, error, "an item cannot be served by the proxy");
    });
    item.ok()
}

/// Finds an item that the client of a request has for itself.
async fn find<T: Proxied>(
    servers: &Servers,
    route: &Route,
    name: &str,
    context: &HandlerContext,
) -> Result<Option<T::Item>, Error> {
    let Some(listed) = servers.find_own::<T>(name, context).await? else {
        return Ok(None);
    };
    let view = servers.client_view(context);
    Ok(to_item(&listed, route, servers, &view))
}

async fn find_tool(
    route: &LaterRoute,
    name: &str,
    context: &HandlerContext,
) -> server::Result<Option<server::Tool>> {
    let Some(route) = route.get() else {
        return Ok(None);
    };
    let servers = route.servers()?;
    let found = match find::<Tool>(&servers, route, name, context).await {
        Ok(None) => servers.unavailable_tool(name).map_or(Ok(None), Err),
        found => found,
    };
    Ok(found.unwrap_or_else(|error| {
        // The model reads why the call has failed.
        let tool = server::Tool::builder(name.to_owned());
        Some(
            tool.handler(move |_: RawArguments, context: HandlerContext| {
                let failed = Err::<String, _>(error.clone()).or_failure(&context);
                async move { failed }
            }),
        )
    }))
}

async fn find_prompt(
    route: &LaterRoute,
    name: &str,
    context: &HandlerContext,
) -> server::Result<Option<server::Prompt>> {
    let Some(route) = route.get() else {
        return Ok(None);
    };
    let found = find::<Prompt>(&route.servers()?, route, name, context).await;
    found.or_failure(context)
}

async fn find_resource(
    route: &LaterRoute,
    uri: String,
    context: &HandlerContext,
) -> server::Result<Option<server::Resource>> {
    let Some(route) = route.get() else {
        return Ok(None);
    };
    let servers = route.servers()?;
    let own = match servers.find_own_resource(&uri, context).await {
        Ok(own) => own,
        // Who reads it reads why it cannot be read; who subscribes to it is told of changes once it can be.
        Err(error) => {
            let resource = server::Resource::builder(uri.clone(), uri);
            return Ok(Some(resource.handler(
                move |_: ReadRequest, context: HandlerContext| {
                    let failed = Err::<String, _>(error.clone()).or_failure(&context);
                    async move { failed }
                },
            )));
        }
    };
    let view = servers.client_view(context);
    let found = own.and_then(|own| match own {
        OwnResource::Listed(listed) => to_item(&listed, route, &servers, &view),
        OwnResource::Templates(templates) => {
            let mut matching = templates.iter().filter(|listed| {
                let template = &*listed.item.uri_template;
                let parsed = UriTemplate::parse(template).ok();
                *template == *uri || parsed.is_some_and(|it| it.matches(&uri).is_some())
            });
            matching.find_map(|listed| to_item(listed, route, &servers, &view))
        }
    });
    let found = found.or_else(|| {
        let is_allowed = servers.may_read_unlisted(&uri, context);
        is_allowed.then(|| unlisted_resource(uri, route.clone()))
    });
    if found.is_none() && completed_reference(context).is_some() {
        context.set_failure_cause(FailureCause::UnknownItem);
    }
    Ok(found)
}
