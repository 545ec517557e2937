//! A proxy: many servers, served as one.

mod active_calls;
mod forward;
mod from_server;
mod items;
mod parked;
mod question;
mod sync;
pub(crate) mod target;
pub(crate) mod tool_caller;
mod updates;

use std::collections::HashSet;
use std::sync::Arc;

use turnbuckle_server::{BuildError, Server, ServerBuilder, Tasks};

use crate::builder::ServersBuilder;
use crate::proxy::active_calls::ActiveCalls;
use crate::proxy::items::Route;
use crate::proxy::sync::ItemSync;
use crate::proxy::target::ProxiedServers;
use crate::proxy::tool_caller::ToolCaller;
use crate::servers::Servers;
use crate::view::merged_view::ReservedNames;
use turnbuckle_types::base::debug_fields;

/// Many servers, served as one [`Server`] whose items are those of the merged view.
///
/// Calls, reads, prompts and completions go to the server that has the item. Progress comes back, and
/// a cancelled request is cancelled there. A server's forms, URLs, sampling requests and questions for
/// roots go to the client whose request they are about, and so do its log messages of at least the
/// client's level: a request sets the level of a legacy server, to the lowest of the clients with
/// requests under way. A client without roots has an empty list of them.
///
/// Over HTTP, the stream tells the request. Elsewhere, a message reaches a client only if the server
/// works on requests of no other client; a request that was cancelled counts until the server has answered
/// it, for ten minutes at most. All other messages reach nobody, and the server reads that its question
/// was cancelled.
///
/// All clients share the connection to a server, unless its [`UpstreamMode`](crate::UpstreamMode) gives each
/// session or principal its own. Lists, and updates of resources, come from one connection in any mode.
///
/// No client has more than half of the requests that a server takes at once
/// ([`ClientLimits::max_outgoing_requests`](turnbuckle_session::transport::ClientLimits::max_outgoing_requests)).
/// A client is a principal, else an address, else a session. Those that wait have their turn.
///
/// Each side may speak any revision. A client of the modern era answers a question with another
/// request: the request to the server waits for it, for ten minutes at most. Then, or if too many wait,
/// the client reads an error, and has to call again: no call runs twice by itself. A client that is
/// subscribed to a resource gets the updates of its server.
///
/// A call that becomes a task at its server becomes one of the proxy, for clients that take tasks; for others
/// the proxy waits for it. The tasks of the proxy end with its process.
///
/// The servers are closed when the proxy is dropped; keep it while the server runs.
#[derive(Clone)]
pub struct Proxy {
    server: Server,
    servers: Servers,
    calls: Arc<ActiveCalls>,
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
        ToolCaller::new(Route {
            servers: self.servers.downgrade(),
            calls: self.calls.clone(),
        })
    }
}

impl ServersBuilder {
    /// Connects all servers, as [`connect`](Self::connect) does, and adds their items to `server`, a builder
    /// with whatever the proxy has of its own: layers, instructions, keys, a store, further items.
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
        let servers = from_server::install(self).connect().await?;
        let server = server
            .dynamic_tools()
            .dynamic_resources()
            .dynamic_prompts()
            .dynamic_completions()
            .logging()
            .default_extension(Tasks::new())
            .state(target.clone())
            .build()?;
        let mut members = servers.state().members.iter();
        if members.any(|member| member.options.by_client.is_some()) {
            server.keep_http_heads();
        }
        let own_uris: HashSet<String> = server.resource_uris().into_iter().collect();
        target.set(&servers, own_uris.clone());
        servers.state().reserve(ReservedNames {
            tools: server.tool_names().into_iter().collect(),
            prompts: server.prompt_names().into_iter().collect(),
            uris: own_uris,
        });
        let calls = Arc::new(ActiveCalls::default());
        ItemSync::start(&servers, server.clone(), calls.clone());
        Ok(Proxy {
            server,
            servers,
            calls,
        })
    }
}

debug_fields!(Proxy { servers });
