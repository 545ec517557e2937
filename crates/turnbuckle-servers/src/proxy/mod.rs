//! A proxy: many servers, served as one.

mod active_calls;
mod call;
mod call_error;
mod call_messages;
mod capabilities;
mod capability_cache;
mod elsewhere;
mod extension;
mod forward;
mod forwarded_meta;
mod from_server;
mod items;
mod own_items;
mod parked;
mod question;
mod route;
mod sync;
pub(crate) mod target;
mod template_completion;
pub(crate) mod tool_caller;
mod updates;

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use turnbuckle_server::{BuildError, Server, ServerBuilder};
use turnbuckle_session::transport::Dispatch as _;

use crate::builder::ServersBuilder;
use crate::proxy::active_calls::ActiveCalls;
use crate::proxy::route::Route;
use crate::proxy::sync::ItemSync;
use crate::proxy::target::ProxiedServers;
use crate::proxy::tool_caller::ToolCaller;
use crate::servers::Servers;
use crate::view::merged_view::ReservedNames;
use turnbuckle_types::base::debug_fields;

/// Many servers, served as one [`Server`] whose items have the names of the merged view.
///
/// Calls, reads, prompts and completions go to the server that has the item. Progress comes back, and
/// a cancelled request is cancelled there. A server's forms, URLs, sampling requests and questions for
/// roots go to the client whose request they are about, and so do its log messages of at least the
/// client's level: a request sets the level of a legacy server, to the lowest of the clients with
/// requests under way. A client without roots has an empty list of them.
///
/// Over HTTP, the stream tells the request. Elsewhere, a message reaches a client only if the server has
/// worked on requests of no other client since it last worked on none, because it may come late; a request that
/// was cancelled counts until the server has answered it, for ten minutes at most. All other messages reach
/// nobody, and the server reads that its question was cancelled.
///
/// All clients share the connection to a server, unless its [`UpstreamMode`](crate::UpstreamMode) gives each
/// session or principal its own. A client then has the items that its own connection lists, beside those of the
/// servers that are shared, and no others. Updates of resources, and notices that a list has changed, come from the
/// connection of the client, too. Of items with the same name, those of shared servers come first.
///
/// No client has more than half of the requests that a server takes at once
/// ([`ClientLimits::max_outgoing_requests`](turnbuckle_session::transport::ClientLimits::max_outgoing_requests)).
/// A client is a principal, else an address, else a session. Those that wait have their turn.
///
/// Each side may speak any revision. A client of the modern era answers a question with another
/// request: the request to the server waits for it, for ten minutes at most. Then, or if too many wait,
/// the client reads an error, and has to call again: no call runs twice by itself. With a store
/// ([`ServerBuilder::store`](turnbuckle_server::ServerBuilder::store)), the answer may come to any instance
/// of the proxy; the request ends with the instance that sent it. A client that is subscribed to a resource
/// gets the updates of its server.
///
/// A call that becomes a task at its server becomes one of the proxy, for clients that take tasks; for others
/// the proxy waits for it. The tasks of the proxy end with its process.
///
/// The servers are closed when the proxy is dropped; keep it while the server runs.
#[derive(Clone)]
pub struct Proxy {
    server: Server,
    servers: Servers,
    route: Route,
}

impl Proxy {
    /// Returns the server to run.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Returns the servers behind the proxy.
    #[must_use]
    pub fn servers(&self) -> &Servers {
        &self.servers
    }

    /// Returns a caller of the tools of the servers, for a handler of the proxy's own.
    #[must_use]
    pub fn tool_caller(&self) -> ToolCaller {
        ToolCaller::new(self.route.clone())
    }
}

impl ServersBuilder {
    /// Connects all servers and adds their items to `server`, a builder with whatever the proxy has of its
    /// own: layers, instructions, keys, a store, further items. Returns once each server is ready or its first
    /// attempt to connect has failed, and after [`ServersLimits::first_attempt_timeout`](crate::ServersLimits)
    /// in any case.
    ///
    /// The proxy declares the capabilities that its servers declare, with the settings of extensions that they
    /// agree on. Requests whose methods the proxy does not know go to the server that has an extension which their
    /// client declares, if it is the only one; its notifications do not pass. While a server is
    /// missing, everything is declared that it may have, since capabilities stay as they are. Lists are always
    /// declared to change, as they do when a server comes or goes. Without instructions of its own, the proxy
    /// has those of its servers.
    ///
    /// Handlers of questions and roots that were installed before are replaced, but those of a single server
    /// ([`client`](Self::client)) are not: questions go to the clients of the proxy. An item that `server`
    /// has keeps its name: one of an upstream server with the same name is left out, and the status of that
    /// server says so.
    ///
    /// # Errors
    /// As [`start`](Self::start), and if the server cannot be built.
    pub async fn proxy(self, server: ServerBuilder) -> Result<Proxy, BuildError> {
        let target = Arc::new(ProxiedServers::default());
        let timeout = self.limits.first_attempt_timeout;
        let mirrors_info = self.mirrors_server_info;
        let servers = from_server::install(self).start()?;
        // A server that is silent for longer keeps no client of the others waiting.
        let _ = tokio::time::timeout(timeout, servers.wait_for_first_attempts()).await;
        let (mut server, declared) = capabilities::declare(server, &servers);
        if mirrors_info && let [status] = &*servers.status() {
            let info = status.info.as_ref();
            if let Some(info) = info.and_then(|info| info.implementation.clone()) {
                server = server.implementation(info);
            }
        }
        let later_route = Arc::new(OnceLock::new());
        server = extension::install(server, later_route.clone());
        server = own_items::add_to(server, declared, &servers, &later_route);
        let server = server.state(target.clone()).build()?;
        let mut members = servers.state().members.iter();
        if members.any(|member| member.options.by_client.is_some()) {
            server.keep_http_heads();
        }
        servers.notify_clients_of(&server);
        let own_uris: HashSet<String> = server.resource_uris().into_iter().collect();
        target.set(&servers, own_uris.clone());
        servers.state().reserve(ReservedNames {
            tools: server.tool_names().into_iter().collect(),
            prompts: server.prompt_names().into_iter().collect(),
            uris: own_uris.clone(),
        });
        let route = Route {
            servers: servers.downgrade(),
            calls: Arc::new(ActiveCalls::new(server.cluster())),
            capabilities: Arc::default(),
            declared,
        };
        later_route.get_or_init(|| route.clone());
        ItemSync::start(&servers, server.clone(), route.clone(), own_uris);
        Ok(Proxy {
            server,
            servers,
            route,
        })
    }
}

debug_fields!(Proxy { servers });
