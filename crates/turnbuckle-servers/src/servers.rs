//! The handle of many servers.

pub(crate) mod for_client;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde::Serialize;
use tokio::task::JoinHandle;
use turnbuckle_client::Client;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::method::{CallTool, Complete, GetPrompt, ReadResource};
use turnbuckle_types::{CompletionReference, Prompt, Resource, ResourceTemplate, Tool};

use crate::builder::ServersBuilder;
use crate::change::Changes;
use crate::connections::Connections;
use crate::error::Error;
use crate::member::shared::Shared;
use crate::member::state::Member;
use crate::member::status::ServerStatus;
use crate::member::supervisor::supervise;
use crate::request::ServerRequest;
use crate::rules::{ItemAccess, Ruled};
use crate::view::item_kind::ItemKind;
use crate::view::items::ServerItem;
use crate::view::merged_view::MergedView;

/// Many servers at once. Clones share the servers, which are closed with the last of them;
/// [`Servers::close`] closes them properly.
///
/// Each server is connected, watched and connected again by itself. The tools, resources and prompts
/// of all servers are one list, in the order in which the servers were added. A name begins with the
/// prefix of its server, and depends on nothing else.
#[derive(Clone)]
pub struct Servers(Arc<Handle>);

/// A resource that can be read.
pub(crate) struct ReadableUri {
    pub(crate) server: Arc<str>,
    /// The URI at the server.
    pub(crate) own_uri: Arc<str>,
    /// The principals that can read it, if a rule restricts them.
    pub(crate) access: Option<Arc<ItemAccess>>,
}

/// A reference to [`Servers`] that does not keep them open.
#[derive(Clone)]
pub struct WeakServers(Weak<Handle>);

debug_fields!(WeakServers {});

impl WeakServers {
    /// Returns the servers, if they are still open.
    #[must_use]
    pub fn upgrade(&self) -> Option<Servers> {
        self.0.upgrade().map(Servers)
    }
}

/// Closes the servers when it is dropped.
struct Handle {
    shared: Arc<Shared>,
    /// The connections of a proxy's clients to each server.
    connections: Vec<Arc<Connections>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.stop.cancel();
        self.shared.changes.close();
    }
}

impl Servers {
    /// Returns a builder for a host that calls itself `name` and `version`.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServersBuilder {
        ServersBuilder::new(name, version)
    }

    pub(crate) fn start(shared: Shared) -> Self {
        let shared = Arc::new(shared);
        let members = shared.members.iter();
        let connections = members
            .clone()
            .map(|member| Arc::new(Connections::new(shared.clone(), member.clone())));
        let connections: Vec<_> = connections.collect();
        let supervising =
            members.map(|member| tokio::spawn(supervise(shared.clone(), member.clone())));
        let sweeping = connections.iter().map(|connections| {
            let connections = connections.clone();
            tokio::spawn(async move { connections.sweep().await })
        });
        let tasks = supervising.chain(sweeping);
        Self(Arc::new(Handle {
            tasks: Mutex::new(tasks.collect()),
            shared: shared.clone(),
            connections,
        }))
    }

    /// Returns a reference that does not keep the servers open.
    #[must_use]
    pub fn downgrade(&self) -> WeakServers {
        WeakServers(Arc::downgrade(&self.0))
    }

    pub(crate) fn state(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    /// Waits until each server is ready or its first attempt to connect has failed.
    pub async fn wait_for_first_attempts(&self) {
        for member in &self.state().members {
            let mut settled = member.settled.subscribe();
            // The sender lives as long as the member.
            let _ = settled.wait_for(|settled| *settled).await;
        }
    }

    /// Returns the tools of all servers.
    #[must_use]
    pub fn tools(&self) -> Vec<ServerItem<Tool>> {
        self.state().view().tools.clone()
    }

    /// Returns the resources of all servers.
    #[must_use]
    pub fn resources(&self) -> Vec<ServerItem<Resource>> {
        self.state().view().resources.clone()
    }

    /// Returns the resource templates of all servers.
    #[must_use]
    pub fn resource_templates(&self) -> Vec<ServerItem<ResourceTemplate>> {
        self.state().view().templates.clone()
    }

    /// Returns the prompts of all servers.
    #[must_use]
    pub fn prompts(&self) -> Vec<ServerItem<Prompt>> {
        self.state().view().prompts.clone()
    }

    /// Returns the tool of this name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<ServerItem<Tool>> {
        self.state().view().tool(name).cloned()
    }

    /// Returns the prompt of this name.
    #[must_use]
    pub fn prompt(&self, name: &str) -> Option<ServerItem<Prompt>> {
        self.state().view().prompt(name).cloned()
    }

    /// Returns the server that an item of the merged view belongs to, and its name, URI or URI template there.
    /// The item need not exist: the name says which server it would be of. `None` if it is of none.
    #[must_use]
    pub fn item_owner(&self, kind: ItemKind, name: &str) -> Option<(Arc<str>, Arc<str>)> {
        let listed = match kind {
            ItemKind::Tool => self.tool(name).map(ServerItem::into_owner),
            ItemKind::Prompt => self.prompt(name).map(ServerItem::into_owner),
            ItemKind::Resource => {
                let (_, member, own) = self.uri_owner(name)?;
                return Some((member.name.clone(), own.into()));
            }
        };
        let members = || self.state().members.iter();
        let hidden = || {
            members().find_map(|member| {
                let own = member.hidden_names.find(kind, name)?;
                Some((member.name.clone(), own))
            })
        };
        listed.or_else(hidden).or_else(|| {
            members().find_map(|member| {
                let own = member.prefix.own_name(name)?;
                let items = member.items();
                let dropped = items.dropped_names.get(name).cloned();
                Some((member.name.clone(), dropped.unwrap_or_else(|| own.into())))
            })
        })
    }

    /// Returns the state of every server, in the order in which they were added.
    #[must_use]
    pub fn status(&self) -> Vec<ServerStatus> {
        let view = self.state().view();
        let members = self.state().members.iter().enumerate();
        let status = members.map(|(index, member)| {
            let mut status = member.status();
            let problems = view.problems.iter().filter(|(server, _)| *server == index);
            status
                .problems
                .extend(problems.map(|(_, problem)| problem.clone()));
            status
        });
        status.collect()
    }

    /// Subscribes to changes of the merged view and of the servers' states, from now on.
    #[must_use]
    pub fn changes(&self) -> Changes {
        self.state().changes.subscribe()
    }

    /// Returns the client of one server, for requests that are not of the merged view. The client is
    /// another one after the server was connected again.
    ///
    /// # Errors
    /// Returns [`Error::UnknownServer`], or [`Error::NotReady`] if the server is not connected.
    pub fn client(&self, server: &str) -> Result<Client, Error> {
        self.member(server)?.client()
    }

    /// Reads the lists of a connected server anew, and connects another one without further delay.
    ///
    /// # Errors
    /// Returns [`Error::UnknownServer`].
    pub fn refresh(&self, server: &str) -> Result<(), Error> {
        self.member(server)?.refresh.notify_one();
        Ok(())
    }

    /// Creates a call of the tool of this name in the merged view. See
    /// [`Client::call_tool`](turnbuckle_client::Client::call_tool) for the arguments.
    pub fn call_tool<A: Serialize + ?Sized>(
        &self,
        tool: &str,
        arguments: &A,
    ) -> ServerRequest<CallTool> {
        let found = self.tool(tool);
        self.request(
            ItemKind::Tool,
            tool,
            found.map(ServerItem::into_owner),
            |client, own| client.call_tool(own, arguments),
        )
    }

    /// Creates a request to read the resource of this URI in the merged view, listed or not.
    pub fn read_resource(&self, uri: &str) -> ServerRequest<ReadResource> {
        self.request(
            ItemKind::Resource,
            uri,
            self.readable_owner(uri),
            |client, own| client.read_resource(own),
        )
    }

    /// Creates a request to fill in the prompt of this name in the merged view.
    pub fn get_prompt<K, V>(
        &self,
        prompt: &str,
        arguments: impl IntoIterator<Item = (K, V)>,
    ) -> ServerRequest<GetPrompt>
    where
        K: Into<Box<str>>,
        V: Into<String>,
    {
        let found = self.prompt(prompt);
        self.request(
            ItemKind::Prompt,
            prompt,
            found.map(ServerItem::into_owner),
            |client, own| client.get_prompt(own, arguments),
        )
    }

    /// Creates a request for suggestions for an argument of a prompt or resource template of the
    /// merged view. `value` is what the user has typed so far.
    pub fn complete(
        &self,
        reference: impl Into<CompletionReference>,
        argument: &str,
        value: &str,
    ) -> ServerRequest<Complete> {
        let mut reference = reference.into();
        let (kind, name) = match &mut reference {
            CompletionReference::Prompt(prompt) => (ItemKind::Prompt, &mut prompt.name),
            CompletionReference::Resource(template) => (ItemKind::Resource, &mut template.uri),
            _ => {
                return ServerRequest::from_error(Error::UnknownItem {
                    kind: ItemKind::Prompt,
                    name: String::new(),
                });
            }
        };
        let merged = std::mem::take(name);
        let found = match kind {
            ItemKind::Prompt => self.prompt(&merged).map(ServerItem::into_owner),
            _ => self.resource_owner(&merged),
        };
        if let Some((_, own)) = &found {
            own.as_ref().clone_into(name);
        }
        self.request(kind, &merged, found, |client, _| {
            client.complete(reference, argument, value)
        })
    }

    /// Closes all servers properly and waits until they are gone. Commands are stopped.
    pub async fn close(&self) {
        self.state().stop.cancel();
        let tasks = {
            let mut tasks = self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *tasks)
        };
        for task in tasks {
            // A task that panicked is gone as well.
            let _ = task.await;
        }
        self.state().merge();
        self.state().changes.close();
    }

    fn member(&self, server: &str) -> Result<&Arc<Member>, Error> {
        self.state()
            .member(server)
            .ok_or_else(|| Error::UnknownServer {
                server: server.to_owned(),
            })
    }

    /// Returns the server that a URI of the merged view belongs to, and the server's own URI. A prefix
    /// is more than none.
    ///
    /// `None` for a URI that a rule has dropped.
    fn resource_owner(&self, uri: &str) -> Option<(Arc<str>, Arc<str>)> {
        self.resource_owner_in(&self.state().view(), uri)
    }

    /// Returns the owner of a URI by the rules about the items of a view.
    fn resource_owner_in(&self, view: &MergedView, uri: &str) -> Option<(Arc<str>, Arc<str>)> {
        let (index, member, own) = self.uri_owner(uri)?;
        let is_dropped = view.is_dropped(index, own);
        (!is_dropped).then(|| (member.name.clone(), own.into()))
    }

    /// Returns the server that a URI of the merged view belongs to, dropped or not, with its index and the
    /// server's own URI.
    fn uri_owner<'a>(&self, uri: &'a str) -> Option<(usize, &Arc<Member>, &'a str)> {
        let members = || self.state().members.iter().enumerate();
        let prefixed = members().filter(|(_, member)| !member.prefix.is_empty());
        let bare = members().filter(|(_, member)| member.prefix.is_empty());
        let mut owners = prefixed.chain(bare);
        owners.find_map(|(index, member)| {
            let own = member.prefix.own_uri(uri)?;
            Some((index, member, own))
        })
    }

    /// Returns the server that has a resource at a URI of the merged view, and the server's own URI. The
    /// resource need not be listed: then the rules about resources decide about its URI.
    pub(crate) fn readable_owner(&self, uri: &str) -> Option<(Arc<str>, Arc<str>)> {
        let readable = self.readable_in(&self.state().view(), uri)?;
        Some((readable.server, readable.own_uri))
    }

    /// Returns the owner of a URI by the rules and the items of a view, and the principals that can read it if a rule
    /// restricts them.
    fn readable_in(&self, view: &MergedView, uri: &str) -> Option<ReadableUri> {
        let (server, own_uri) = self.resource_owner_in(view, uri)?;
        let rules = &self.state().rules;
        let access = if rules.resources.is_empty() {
            None
        } else if let Some(listed) = view.resource(uri) {
            listed.access.clone()
        } else {
            match rules.apply(&server, &own_uri, Resource::new(uri, &*own_uri)) {
                Ruled::Kept(kept) => kept.access,
                _ => return None,
            }
        };
        Some(ReadableUri {
            server,
            own_uri,
            access,
        })
    }

    /// Routes a request to the server that has the item.
    fn request<M: turnbuckle_client::ServerMethod>(
        &self,
        kind: ItemKind,
        name: &str,
        owner: Option<(Arc<str>, Arc<str>)>,
        request: impl FnOnce(&Client, &str) -> turnbuckle_client::RequestBuilder<M>,
    ) -> ServerRequest<M> {
        let Some((server, own)) = owner else {
            let name = name.to_owned();
            return ServerRequest::from_error(Error::UnknownItem { kind, name });
        };
        let routed = self.member(&server).and_then(|member| {
            let client = member.request_client()?;
            Ok(ServerRequest::new(member.clone(), request(&client, &own)))
        });
        routed.unwrap_or_else(ServerRequest::from_error)
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.state().members.iter().map(|member| &member.name);
        f.debug_tuple("Servers")
            .field(&names.collect::<Vec<_>>())
            .finish()
    }
}
