//! The servers as one client of a proxy sees them: with the items and the connections that the client has for itself.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use turnbuckle_client::{Client, RequestBuilder, ServerMethod};
use turnbuckle_server::{HandlerContext, Server, Subscriber};
use turnbuckle_types::base::text::Escaped;
use turnbuckle_types::{ProtocolError, Resource, ResourceTemplate, Tool};

use crate::connections::Connections;
use crate::connections::client_view::ClientView;
use crate::connections::lease::Lease;
use crate::connections::own_lists::OwnLists;
use crate::connections::upstream::UpstreamMode;
use crate::error::Error;
use crate::member::status::ServerState;
use crate::request::ServerRequest;
use crate::rules::Ruled;
use crate::servers::{ReadableUri, Servers};
use crate::view::item_kind::ItemKind;
use crate::view::items::ServerItem;
use crate::view::merged_view::Merged;

/// The longest time for which a request waits for the lists that say whether its item exists. Opening a connection
/// has timeouts of its own.
const MAX_FIND_WAIT: Duration = Duration::from_secs(60);

/// A resource of a client's own connections.
pub(crate) enum OwnResource {
    Listed(ServerItem<Resource>),
    /// The templates of the server, one of which may match the URI.
    Templates(Vec<ServerItem<ResourceTemplate>>),
}

impl Servers {
    /// Returns the tools that the client of a request to a proxy has: those of the servers whose connections clients
    /// share, and those that its own connections list. Connections that are not open are opened. A server that
    /// cannot be reached, or not within [`ServersLimits::own_list_timeout`](crate::ServersLimits), is left out.
    pub async fn tools_for(&self, context: &HandlerContext) -> Vec<ServerItem<Tool>> {
        let own = self.own_items(context).await;
        let mut tools = self.state().common_view().tools.clone();
        tools.extend_from_slice(&own.merged.tools);
        tools
    }

    /// Returns the tool of this name that the client of a request to a proxy has.
    ///
    /// # Errors
    /// Returns an error if the lists of the client's own connection, which say so, cannot be read.
    pub async fn tool_for(
        &self,
        name: &str,
        context: &HandlerContext,
    ) -> Result<Option<ServerItem<Tool>>, Error> {
        match self.state().common_view().tool(name) {
            Some(tool) => Ok(Some(tool.clone())),
            None => self.find_own(name, context).await,
        }
    }

    /// Returns whether a server is connected or idle, or a client of a proxy has an open connection to it.
    #[must_use]
    pub fn is_reachable(&self, server: &str) -> bool {
        let state = self.state().member(server).map(|it| it.status().state);
        state.is_some_and(|it| matches!(it, ServerState::Ready | ServerState::Idle))
            || (self.connections(server)).is_some_and(|it| it.has_own_connection())
    }

    /// Returns the items that only the client of a request has. What is not known is read first.
    pub(crate) async fn own_items(&self, context: &HandlerContext) -> Arc<ClientView> {
        let deadline = Instant::now() + self.state().limits.own_list_timeout;
        // They are all read at once.
        let updates = self
            .0
            .connections
            .iter()
            .map(|it| (it, it.begin_update(context)));
        for (connections, update) in updates.collect::<Vec<_>>() {
            let updated = match update {
                Ok(None) => Ok(()),
                Ok(Some(update)) => update.wait(deadline).await,
                Err(error) => Err(error),
            };
            if let Err(error) = updated {
                let server = connections.server_name();
                tracing::debug!(server, error = %Escaped(&error), "a client has no items of a server");
            }
        }
        self.client_view(context)
    }

    /// Reads what is not known of the lists of the connection that a client has for itself to one server.
    async fn update_own_list(&self, index: usize, context: &HandlerContext) -> Result<(), Error> {
        let update = match self.0.connections.get(index) {
            Some(connections) => connections.begin_update(context)?,
            None => None,
        };
        match update {
            Some(update) => update.wait(Instant::now() + MAX_FIND_WAIT).await,
            None => Ok(()),
        }
    }

    /// Returns the item of this name, URI or URI template that only the client of a request has.
    ///
    /// # Errors
    /// Returns an error if the lists of the connection, which say so, cannot be read.
    pub(crate) async fn find_own<T: Merged>(
        &self,
        name: &str,
        context: &HandlerContext,
    ) -> Result<Option<ServerItem<T>>, Error> {
        let lists = self.own_lists(context);
        let view = self.view_of(&lists);
        let known = T::find(&view.merged, name);
        let owner = match known {
            Some(item) => self.index_of(&item.server),
            None => self.name_owner(T::KIND, name),
        };
        let is_current = |index: usize| {
            let lists = lists.get(index).and_then(Option::as_ref);
            lists.is_some_and(|it| it.are_current())
        };
        match owner {
            Some(index) if is_current(index) => return Ok(known.cloned()),
            Some(index) if self.is_private(index) => self.update_own_list(index, context).await?,
            // A rule may have given the name to an item of any of them.
            _ => drop(self.own_items(context).await),
        }
        Ok(T::find(&self.client_view(context).merged, name).cloned())
    }

    /// Returns what a client's own connection has at a URI, listed or not; `None` if the URI is of a server whose
    /// connections are shared, or a rule has dropped it.
    ///
    /// # Errors
    /// Returns an error if the lists of the connection, which say so, cannot be read.
    pub(crate) async fn find_own_resource(
        &self,
        uri: &str,
        context: &HandlerContext,
    ) -> Result<Option<OwnResource>, Error> {
        let Some((index, member, _)) = self.uri_owner(uri) else {
            return Ok(None);
        };
        if !self.is_private(index) {
            return Ok(None);
        }
        self.update_own_list(index, context).await?;
        let view = self.client_view(context);
        if let Some(listed) = view.merged.resource(uri) {
            return Ok(Some(OwnResource::Listed(listed.clone())));
        }
        let templates = view.merged.templates.iter();
        let templates = templates.filter(|it| it.server == member.name).cloned();
        Ok(Some(OwnResource::Templates(templates.collect())))
    }

    /// Returns the owner of a URI that the client of a request may read.
    ///
    /// # Errors
    /// Returns an error if the lists of the client's own connection, which say so, cannot be read.
    pub(crate) async fn readable_for(
        &self,
        uri: &str,
        context: &HandlerContext,
    ) -> Result<Option<ReadableUri>, Error> {
        if let Some((index, ..)) = self.uri_owner(uri)
            && self.is_private(index)
        {
            self.update_own_list(index, context).await?;
        }
        Ok(self.readable_now(uri, context))
    }

    /// Returns the owner of a URI that the client of a request may read, by the lists that are known.
    fn readable_now(&self, uri: &str, context: &HandlerContext) -> Option<ReadableUri> {
        let (index, ..) = self.uri_owner(uri)?;
        match self.is_private(index) {
            true => self.readable_in(&self.client_view(context).merged, uri),
            false => self.readable_in(&self.state().common_view(), uri),
        }
    }

    /// Checks that no rule keeps the client of a request from a resource, by the lists that are known. The resource of
    /// no server is that of the proxy itself.
    ///
    /// # Errors
    /// If the resource does not exist for the client, or the client lacks a scope.
    pub(crate) fn check_resource(
        &self,
        uri: &str,
        context: &HandlerContext,
    ) -> Result<(), ProtocolError> {
        if self.uri_owner(uri).is_none() {
            return Ok(());
        }
        let readable = self.readable_now(uri, context);
        let readable = readable.ok_or_else(|| ProtocolError::resource_not_found(uri))?;
        let access = readable.access;
        access.map_or(Ok(()), |it| it.check(uri, context.principal()))
    }

    /// Checks that no rule keeps the client of a request from what a server's template expands to: a URI, or the
    /// template of the variables without values.
    ///
    /// # Errors
    /// As [`check_resource`](Self::check_resource).
    pub(crate) fn check_expansion(
        &self,
        server: &Arc<str>,
        expanded: &str,
        context: &HandlerContext,
    ) -> Result<(), ProtocolError> {
        let Some(member) = self.state().member(server) else {
            return Ok(());
        };
        let merged = member.prefix.uri(expanded);
        if !expanded.contains('{') {
            return self.check_resource(&merged, context);
        }
        let template = ResourceTemplate::new(merged.as_str(), expanded);
        let rules = &self.state().rules;
        match rules.apply(server, &expanded.into(), template) {
            Ruled::Kept(kept) => {
                let access = kept.access;
                access.map_or(Ok(()), |it| it.check(&merged, context.principal()))
            }
            _ => Err(ProtocolError::resource_not_found(merged)),
        }
    }

    /// Returns whether rules decide about URIs.
    pub(crate) fn has_uri_rules(&self) -> bool {
        let rules = &self.state().rules;
        !rules.resources.is_empty() || !rules.templates.is_empty()
    }

    /// Returns whether a client of a proxy may read a resource that is neither listed nor matched by a
    /// template. Rules about templates decide about such URIs, so that none may be read beside them.
    pub(crate) fn may_read_unlisted(&self, uri: &str, context: &HandlerContext) -> bool {
        self.state().rules.templates.is_empty()
            && self.state().common_view().resource(uri).is_none()
            && self.readable_now(uri, context).is_some()
    }

    /// Returns the item of this name that the client of a request has, by the lists that are known.
    pub(crate) fn find_now<T: Merged>(
        &self,
        name: &str,
        context: &HandlerContext,
    ) -> Option<ServerItem<T>> {
        if let Some(common) = T::find(&self.state().common_view(), name) {
            return Some(common.clone());
        }
        T::find(&self.client_view(context).merged, name).cloned()
    }

    /// Returns the server and the own URI of a resource that the client of a request has, by the lists that are
    /// known.
    pub(crate) fn resource_owner_now(
        &self,
        uri: &str,
        context: &HandlerContext,
    ) -> Option<(Arc<str>, Arc<str>)> {
        let readable = self.readable_now(uri, context)?;
        Some((readable.server, readable.own_uri))
    }

    /// Returns the items that only the client of a request has, by the lists that are known.
    pub(crate) fn client_view(&self, context: &HandlerContext) -> Arc<ClientView> {
        self.view_of(&self.own_lists(context))
    }

    /// Returns the lists of the connections that a client has for itself, by the index of the server.
    fn own_lists(&self, context: &HandlerContext) -> Vec<Option<Arc<OwnLists>>> {
        let connections = self.0.connections.iter();
        connections.map(|it| it.own_lists(context)).collect()
    }

    fn view_of(&self, lists: &[Option<Arc<OwnLists>>]) -> Arc<ClientView> {
        let members = self.state().members.iter();
        let both = members.zip(lists).enumerate();
        let open = both.filter(|(_, (_, lists))| lists.is_some());
        // Sessions of one principal share some connections, but not all: the view is that of the session.
        let keeper =
            open.min_by_key(|(_, (member, _))| member.options.mode != UpstreamMode::PerSession);
        ClientView::of_lists(lists, keeper.map(|(index, _)| index), self.state())
    }

    /// Returns the server that an item of this name would be of, if its clients have connections of their own.
    fn name_owner(&self, kind: ItemKind, name: &str) -> Option<usize> {
        let members = || self.state().members.iter();
        let prefixed =
            || members().position(|it| !it.prefix.is_empty() && it.prefix.own_name(name).is_some());
        members()
            .position(|it| it.hidden_names.find(kind, name).is_some())
            .or_else(prefixed)
            .or_else(|| members().position(|it| it.prefix.is_empty()))
            .filter(|index| self.is_private(*index))
    }

    /// Returns why a tool of a server that clients share is not known, if the server is not connected.
    pub(crate) fn unavailable_tool(&self, name: &str) -> Option<Error> {
        let members = self.state().members.iter();
        let mut owners = members.filter(|member| {
            let is_shared = !member.options.mode.is_private() && !member.prefix.is_empty();
            is_shared && member.prefix.own_name(name).is_some()
        });
        owners.find_map(|member| member.request_client().err())
    }

    /// Returns whether clients of a proxy have connections, and so lists, of their own to any server.
    pub(crate) fn has_own_lists(&self) -> bool {
        self.state()
            .members
            .iter()
            .any(|it| it.options.mode.is_private())
    }

    pub(crate) fn index_of(&self, server: &str) -> Option<usize> {
        self.state()
            .members
            .iter()
            .position(|it| *it.name == *server)
    }

    fn is_private(&self, index: usize) -> bool {
        let member = self.state().members.get(index);
        member.is_some_and(|it| it.options.mode.is_private())
    }

    /// Creates a request to a server for a client of a proxy. A connection that only the client has is opened.
    ///
    /// # Errors
    /// Returns [`Error::UnknownServer`], or [`Error::NotReady`] if the server is not connected.
    pub(crate) async fn request_for<M: ServerMethod>(
        &self,
        server: &str,
        context: &HandlerContext,
        request: impl FnOnce(&Client) -> RequestBuilder<M>,
    ) -> Result<ServerRequest<M>, Error> {
        let member = self.member(server)?;
        if !member.options.mode.is_private() {
            let request = request(&member.request_client()?);
            return Ok(ServerRequest::new(member.clone(), request));
        }
        // Boxed: the future of every call would have room for the opening of a connection.
        let lease = Box::pin(self.acquire(server, context)).await?;
        let request = ServerRequest::new(member.clone(), request(lease.client()));
        Ok(request.with_lease(Some(lease), |request| request))
    }

    /// Returns a connection to a server for a request of a proxy's client.
    ///
    /// # Errors
    /// Returns [`Error::UnknownServer`], or [`Error::NotReady`] if there is no connection for the client.
    pub(crate) async fn acquire(
        &self,
        server: &str,
        context: &HandlerContext,
    ) -> Result<Lease, Error> {
        match self.connections(server) {
            Some(connections) => connections.acquire(context).await,
            None => Err(Error::UnknownServer {
                server: server.to_owned(),
            }),
        }
    }

    /// Returns the connections to a server, by its name.
    fn connections(&self, server: &str) -> Option<&Arc<Connections>> {
        let members = self.state().members.iter();
        let mut both = members.zip(&self.0.connections);
        let (_, connections) = both.find(|(member, _)| *member.name == *server)?;
        Some(connections)
    }

    /// Returns whether clients of a proxy have connections of their own to a server.
    pub(crate) fn has_own_connections(&self, server: &str) -> bool {
        let connections = self.connections(server);
        connections.is_some_and(|it| it.own_updates().is_some())
    }

    /// Tells the clients of `server` of the changes on their own connections from now on.
    pub(crate) fn notify_clients_of(&self, server: &Server) {
        let updates = self.0.connections.iter().filter_map(|it| it.own_updates());
        updates.for_each(|updates| updates.set_server(server.clone()));
    }

    /// Begins a subscription of a client on its own connections, to the lists and to those of these resources that
    /// come from such connections, and waits until their servers, which are asked at once, have answered. Returns the
    /// resources that are refused, with the reasons.
    pub(crate) async fn subscribe_client(
        &self,
        context: &HandlerContext,
        subscriber: &Subscriber,
        uris: &[String],
    ) -> Vec<(Arc<str>, Error)> {
        let owned: Vec<_> = uris
            .iter()
            .filter_map(|uri| Some((self.resource_owner_now(uri, context)?, uri)))
            .collect();
        let mut waits = JoinSet::new();
        for (member, connections) in self.state().members.iter().zip(&self.0.connections) {
            let of_member = owned
                .iter()
                .filter(|((server, _), _)| *server == member.name);
            let uris = of_member.map(|((_, own), uri)| (own.clone(), uri.as_str().into()));
            let uris: Vec<_> = uris.collect();
            let (connections, context) = (connections.clone(), context.clone());
            let subscriber = subscriber.clone();
            waits.spawn(async move { connections.subscribe(&context, &subscriber, uris).await });
        }
        let mut refused = Vec::new();
        while let Some(of_server) = waits.join_next().await {
            refused.extend(of_server.unwrap_or_default());
        }
        refused
    }

    /// Has the connections of clients look again which resources the clients are subscribed to.
    pub(crate) fn update_own_connections(&self) {
        let updates = self.0.connections.iter().filter_map(|it| it.own_updates());
        updates.for_each(|updates| updates.update());
    }
}
