//! The client and its requests to the server.

pub(crate) mod builder;
mod input_handlers;

use std::sync::Arc;
use std::time::Duration;
use turnbuckle_types::base::debug_fields;

use serde::Serialize;
use turnbuckle_session::internal::InFlight;
use turnbuckle_session::transport::Timeouts;
use turnbuckle_types::method::{
    CallTool, Complete, GetPrompt, ListPrompts, ListResourceTemplates, ListResources, ListTasks,
    ListTools, Ping, ReadResource, SetLevel,
};
use turnbuckle_types::{
    CallToolRequestParams, CompleteRequestParams, CompletionArgument, CompletionReference,
    ExtensionRequest, GetPromptRequestParams, Json, LoggingLevel, PaginatedRequestParams,
    RawObject, ReadResourceRequestParams, RequestParams, SetLevelRequestParams,
};
use turnbuckle_wire::revision::Features;

use crate::client::builder::ClientBuilder;
use crate::error::Error;
use crate::incoming::filter::ChangeFilter;
use crate::method::ServerMethod;
use crate::request::builder::RequestBuilder;
use crate::request::extension::ExtensionRequestBuilder;
use crate::request::inner::ClientInner;
use crate::request::list::List;
use crate::request::options::RequestOptions;
use crate::request::task::handle::TaskHandle;
use crate::request::task::running::RunningTask;
use crate::server_info::ServerInfo;
use crate::subscription::Subscription;

/// A client of one server. Clones share one connection, which is dropped with the last of them;
/// [`Client::close`] ends it properly.
#[derive(Clone)]
pub struct Client {
    pub(crate) inner: Arc<ClientInner>,
}

impl Client {
    /// Returns a builder for a client that calls itself `name` and `version`.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(name, version)
    }

    /// Returns the server's description of itself, from the current connection or the last one.
    #[must_use]
    pub fn server_info(&self) -> Option<Arc<ServerInfo>> {
        Some(self.inner.reconnector.last_connection()?.server.clone())
    }

    /// Returns the server's address: its URL or its command.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.inner.address
    }

    /// Creates a request of any method that the protocol knows. See [`RequestBuilder::send`] for
    /// its outcome.
    pub fn request<M: ServerMethod>(&self, params: M::Params) -> RequestBuilder<M> {
        RequestBuilder::new(self.inner.clone(), params)
    }

    /// Returns a request of another client of the same server as one of this client: it is sent over this
    /// client's connection, through its layers. Its options stay.
    pub fn rebind<M: ServerMethod>(&self, request: RequestBuilder<M>) -> RequestBuilder<M> {
        request.with_inner(self.inner.clone())
    }

    /// Returns whether a request is one of this client or of a clone of it.
    #[must_use]
    pub fn owns<M: ServerMethod>(&self, request: &RequestBuilder<M>) -> bool {
        request.is_of(&self.inner)
    }

    /// Creates a call of a tool. The arguments have to serialize to a JSON object; `&()` stands for
    /// none. Other arguments are an error when the call is sent.
    ///
    /// Specification: server/tools, "Calling Tools" (2026-07-28).
    pub fn call_tool<A: Serialize + ?Sized>(
        &self,
        tool: impl Into<String>,
        arguments: &A,
    ) -> RequestBuilder<CallTool> {
        let mut params = CallToolRequestParams::new(tool);
        let build_error = match Json::encode(arguments) {
            Ok(json) if json.is_null() => None,
            Ok(json) => match RawObject::try_from(json) {
                Ok(object) => {
                    params.arguments = Some(object);
                    None
                }
                Err(_) => Some("the arguments of a tool have to be a JSON object".to_owned()),
            },
            Err(error) => Some(error.to_string()),
        };
        RequestBuilder::new(self.inner.clone(), params).with_build_error(build_error)
    }

    /// Returns a task of the server, to wait for it or to ask for its state. The handle may come from
    /// another process: see [`RequestBuilder::start`].
    pub fn task(&self, handle: impl Into<TaskHandle>) -> RunningTask {
        RunningTask::new(self.inner.clone(), handle.into())
    }

    /// Returns the list of the tasks that the server keeps for this client. Only the revision 2025-11-25
    /// has such a list; in others reading it fails with [`Error::Unsupported`].
    ///
    /// Specification: basic/utilities/tasks, "Listing Tasks" (2025-11-25).
    pub fn list_tasks(&self) -> List<ListTasks> {
        List::new(self.request(PaginatedRequestParams::new()))
    }

    /// Creates a request to read a resource.
    ///
    /// Specification: server/resources, "Reading Resources" (2026-07-28).
    pub fn read_resource(&self, uri: impl Into<String>) -> RequestBuilder<ReadResource> {
        self.request(ReadResourceRequestParams::new(uri))
    }

    /// Creates a request to fill in a prompt.
    ///
    /// Specification: server/prompts, "Getting a Prompt" (2026-07-28).
    pub fn get_prompt<K, V>(
        &self,
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = (K, V)>,
    ) -> RequestBuilder<GetPrompt>
    where
        K: Into<Box<str>>,
        V: Into<String>,
    {
        let mut params = GetPromptRequestParams::new(name);
        for (name, value) in arguments {
            let value: String = value.into();
            params.arguments.insert(name, value);
        }
        self.request(params)
    }

    /// Returns the list of the server's tools.
    pub fn list_tools(&self) -> List<ListTools> {
        List::new(self.request(PaginatedRequestParams::new()))
    }

    /// Returns the list of the server's resources.
    pub fn list_resources(&self) -> List<ListResources> {
        List::new(self.request(PaginatedRequestParams::new()))
    }

    /// Returns the list of the server's resource templates.
    pub fn list_resource_templates(&self) -> List<ListResourceTemplates> {
        List::new(self.request(PaginatedRequestParams::new()))
    }

    /// Returns the list of the server's prompts.
    pub fn list_prompts(&self) -> List<ListPrompts> {
        List::new(self.request(PaginatedRequestParams::new()))
    }

    /// Creates a request for suggestions for an argument of a prompt or a resource template.
    /// `value` is what the user has typed so far.
    ///
    /// Specification: server/utilities/completion (2026-07-28).
    pub fn complete(
        &self,
        reference: impl Into<CompletionReference>,
        argument: impl Into<String>,
        value: impl Into<String>,
    ) -> RequestBuilder<Complete> {
        let argument = CompletionArgument::new(argument, value);
        self.request(CompleteRequestParams::new(reference, argument))
    }

    /// Creates a `ping`. Only the legacy era has this method; in the modern era sending it fails
    /// with [`Error::Unsupported`].
    ///
    /// Specification: basic/utilities/ping (2025-11-25).
    pub fn ping(&self) -> RequestBuilder<Ping> {
        self.request(RequestParams::new())
    }

    /// Creates a request for the least severe level of log messages that the server sends in this
    /// session. Only the legacy era has this method; in the modern era see
    /// [`RequestBuilder::log_level`] and [`ClientBuilder::log_level`].
    ///
    /// Specification: server/utilities/logging (2025-11-25).
    pub fn set_log_level(&self, level: LoggingLevel) -> RequestBuilder<SetLevel> {
        self.request(SetLevelRequestParams::new(level))
    }

    /// Sends a request of any method, known to the protocol or not, and returns its result as it
    /// came.
    ///
    /// The request is sent once. Headers that mirror arguments of a tool are sent if the client has
    /// listed the tool. Results are not checked or cached, and questions inside them are
    /// not answered. `timeout` limits the total time with connecting; without it, the client's
    /// timeouts apply.
    ///
    /// # Errors
    /// Returns an [`Error`] if there is no result.
    pub async fn request_raw(
        &self,
        method: &str,
        params: Option<RawObject>,
        timeout: Option<Duration>,
    ) -> Result<Json, Error> {
        let options = RequestOptions {
            timeouts: timeout.map(Timeouts::uniform),
            ..RequestOptions::default()
        };
        let method = method.to_owned().into();
        self.inner.raw_request(method, params, options).await
    }

    /// Creates a request of an extension. The header `Mcp-Name` mirrors the parameter that the type of the
    /// request names.
    ///
    /// The server must have declared the extension. Most extensions also need the client's declaration:
    /// [`ClientBuilder::extension`].
    ///
    /// Specification: basic/versioning, "Extension Negotiation" (2026-07-28).
    pub fn request_extension<M: ExtensionRequest>(
        &self,
        params: M::Params,
    ) -> ExtensionRequestBuilder<M> {
        ExtensionRequestBuilder::new(self.inner.clone(), params)
    }

    /// Subscribes to changes. Every change after this call is reported.
    ///
    /// # Errors
    /// Returns [`Error::TimedOut`] if the server does not acknowledge the subscription in time, and
    /// [`Error::Unsupported`] if it supports none of the requested changes. If it supports some,
    /// [`Subscription::acknowledged_filter`] has them.
    pub async fn subscribe(&self, filter: ChangeFilter) -> Result<Subscription, Error> {
        Subscription::open(self.inner.clone(), filter).await
    }

    /// Waits until the current connection is lost or closed. Over HTTP the loss of a server shows
    /// only when a request fails.
    pub async fn wait_for_disconnect(&self) {
        if let Some(connection) = self.inner.reconnector.last_connection() {
            connection.session.closed().cancelled().await;
        }
    }

    /// Opens another connection if the current one was lost, as the next request would.
    ///
    /// # Errors
    /// Returns an [`Error`] if the server cannot be reached, or the limits of
    /// [`ClientBuilder::reconnect_policy`] are used up.
    pub async fn reconnect(&self) -> Result<(), Error> {
        self.inner.reconnector.connection().await.map(drop)
    }

    /// Ends the connection properly and waits until it is gone. A server that was started as a
    /// command is stopped. Requests that wait fail with [`Error::Closed`] or
    /// [`Error::ConnectionLost`].
    pub async fn close(&self) {
        self.inner.reconnector.close().await;
    }

    /// Removes all cached results that the server did not call public.
    ///
    /// Call this whenever requests are made on behalf of somebody else, for instance after the
    /// credentials that a connector sends were changed. After a login in which a request waited for
    /// the user, it happens by itself.
    pub fn clear_private_cache(&self) {
        self.inner.cache.clear_private();
    }

    /// Returns the numbers of requests in flight, in both directions.
    #[must_use]
    pub fn in_flight(&self) -> InFlight {
        let connection = self.inner.reconnector.last_connection();
        connection.map_or_else(InFlight::default, |connection| {
            connection.session.in_flight()
        })
    }

    /// Returns the features of the revision of the current connection, or the last one.
    #[must_use]
    pub fn features(&self) -> Option<&'static Features> {
        Some(self.server_info()?.revision.features())
    }
}

debug_fields!(Client { server = |it| it.inner.address.clone() });
