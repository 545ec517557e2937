//! Requests to one of many servers.

use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use turnbuckle_client::{RequestBuilder, ServerMethod};
use turnbuckle_types::method::CallTool;
use turnbuckle_types::{LoggingLevel, ProgressNotificationParams};

use crate::connections::lease::Lease;
use crate::error::Error;
use crate::member::state::Member;
use crate::view::merged_uris::{MergedUris, sealed};

/// The part of a connection's requests that stays free for those of a proxy itself.
const RESERVED_SHARE: usize = 16;

/// A request to the server that has an item. Awaiting it sends it; dropping the future while it waits
/// cancels the request at the server.
///
/// URIs of resources in the result are those of the merged view.
#[must_use = "a request is sent when it is awaited"]
pub struct ServerRequest<M: ServerMethod>(Result<Box<Routed<M>>, Box<Error>>);

/// A request with the server that it goes to. Boxed, as its error is: it is large, and moves through futures.
struct Routed<M: ServerMethod> {
    member: Arc<Member>,
    request: RequestBuilder<M>,
    /// The connection that the request takes, if it is not that of the supervisor.
    lease: Option<Lease>,
}

impl<M: ServerMethod> Routed<M> {
    /// Sends the request over the connection of the supervisor. The outer error is that there is none.
    async fn send_over_shared_connection(
        &self,
    ) -> Result<Result<M::Result, turnbuckle_client::Error>, Error> {
        let lease = self.member.lease(None).await?;
        Ok(match lease.client().owns(&self.request) {
            true => self.request.send().await,
            false => {
                let request = lease.client().rebind(self.request.clone());
                request.send().await
            }
        })
    }
}

impl<M: ServerMethod> ServerRequest<M> {
    /// Creates a request to a server, within the bounds of its settings.
    pub(crate) fn new(member: Arc<Member>, mut request: RequestBuilder<M>) -> Self {
        if let Some(total) = member.options.total_timeout {
            request = request.total_timeout(total);
        }
        if let Some(bytes) = member.options.max_result_bytes {
            request = request.max_result_bytes(bytes);
        }
        Self(Ok(Box::new(Routed {
            member,
            request,
            lease: None,
        })))
    }

    pub(crate) fn from_error(error: Error) -> Self {
        Self(Err(Box::new(error)))
    }

    /// Returns the name of the server; `None` if no server has the item.
    #[must_use]
    pub fn server(&self) -> Option<&str> {
        self.0.as_ref().ok().map(|routed| &*routed.member.name)
    }

    /// Returns the name of the server.
    ///
    /// # Errors
    /// Returns the error that sending the request would.
    pub(crate) fn server_name(&self) -> Result<&Arc<str>, Error> {
        Ok(&self.route()?.member.name)
    }

    /// Returns how many requests of clients of a proxy the server gets at once: as many as its settings say,
    /// within those that the connection takes beside the proxy's own lists, subscriptions and signs of life.
    pub(crate) fn max_in_flight(&self) -> usize {
        let Ok(routed) = &self.0 else {
            return 1;
        };
        let max_requests = routed.request.limits().max_outgoing_requests;
        let shared = (max_requests - max_requests / RESERVED_SHARE).max(1);
        routed
            .member
            .options
            .max_in_flight
            .map_or(shared, |max| max.min(shared))
    }

    /// Returns how long a request to the server may take in all, if its settings say so.
    pub(crate) fn upstream_timeout(&self) -> Option<Duration> {
        self.0.as_ref().ok()?.member.options.total_timeout
    }

    /// Returns whether the connection that the request takes is known.
    pub(crate) fn has_lease(&self) -> bool {
        self.0.as_ref().is_ok_and(|routed| routed.lease.is_some())
    }

    /// Returns whether the request takes a connection that only its client has: `lease`, or the one that was taken
    /// before.
    pub(crate) fn has_own_connection(&self, lease: Option<&Lease>) -> bool {
        let routed = self.0.as_ref();
        routed.is_ok_and(|routed| {
            lease.or(routed.lease.as_ref()).is_some() && routed.member.options.mode.is_private()
        })
    }

    /// Sets how long the server may send nothing about the request, as
    /// [`RequestBuilder::idle_timeout`] does.
    pub fn idle_timeout(self, silence: Duration) -> Self {
        self.configure(|request| request.idle_timeout(silence))
    }

    /// Sets how long the request may take in all, as [`RequestBuilder::total_timeout`] does.
    pub fn total_timeout(self, total: Duration) -> Self {
        self.configure(|request| request.total_timeout(total))
    }

    /// Calls `configure` with the request to the server: its log level, its parameters, whether it may
    /// be sent again.
    pub fn configure(self, configure: impl FnOnce(RequestBuilder<M>) -> RequestBuilder<M>) -> Self {
        self.map(|routed| Routed {
            request: configure(routed.request),
            ..routed
        })
    }

    /// Calls `callback` for each progress notification, with the name of the server. The callback
    /// must not block.
    pub fn on_progress(
        self,
        callback: impl Fn(&str, ProgressNotificationParams) + Send + Sync + 'static,
    ) -> Self {
        let server = self
            .0
            .as_ref()
            .ok()
            .map(|routed| routed.member.name.clone());
        self.configure(|request| {
            let server = server.unwrap_or_default();
            request.on_progress(move |progress| callback(&server, progress))
        })
    }

    /// Takes a connection of a proxy's client, over which it is sent, and calls `configure` with the request.
    pub(crate) fn with_lease(
        self,
        lease: Option<Lease>,
        configure: impl FnOnce(RequestBuilder<M>) -> RequestBuilder<M>,
    ) -> Self {
        self.map(|routed| {
            let request = configure(routed.request);
            Routed {
                request: match &lease {
                    Some(lease) => lease.client().rebind(request),
                    None => request,
                },
                lease: lease.or(routed.lease),
                member: routed.member,
            }
        })
    }

    fn map(self, change: impl FnOnce(Routed<M>) -> Routed<M>) -> Self {
        Self(self.0.map(|mut routed| {
            *routed = change(*routed);
            routed
        }))
    }

    fn route(&self) -> Result<&Routed<M>, Error> {
        let routed = self.0.as_deref();
        routed.map_err(|error| Error::clone(error))
    }

    /// Returns the connection that was taken, and its server.
    fn lease_and_member(&self) -> Option<(&Lease, &Member)> {
        let routed = self.0.as_ref().ok()?;
        Some((routed.lease.as_ref()?, &routed.member))
    }

    /// Sets the level of log messages in the session of a legacy server, if it is another one than before:
    /// `own`, or `lowest` if the connection is for several clients.
    pub(crate) async fn set_session_log_level(
        &self,
        own: Option<LoggingLevel>,
        lowest: Option<LoggingLevel>,
    ) {
        let Some((lease, member)) = self.lease_and_member() else {
            return;
        };
        let level = match member.options.mode.is_private() {
            true => own,
            false => lowest,
        };
        if let Some(level) = level {
            lease.set_log_level(level).await;
        }
    }

    /// Sends the request and returns its result.
    ///
    /// # Errors
    /// Returns an [`Error`] if no server has the item, the server is not connected, or the request
    /// fails.
    pub async fn send(&self) -> Result<M::Result, Error>
    where
        M::Result: MergedUris,
    {
        let routed = self.route()?;
        let failed = |error| Error::Request {
            server: routed.member.name.clone(),
            error,
        };
        let sent = match &routed.lease {
            Some(_) => routed.request.send().await,
            // Boxed, so that the future of a proxied request has no room for it.
            None => Box::pin(routed.send_over_shared_connection()).await?,
        };
        let mut result = sent.map_err(failed)?;
        sealed::Rewrite::to_merged(&mut result, &routed.member.prefix);
        Ok(result)
    }
}

impl ServerRequest<CallTool> {
    /// Sends the call and decodes the structured content of its result, as
    /// [`RequestBuilder::structured_content`] does.
    ///
    /// # Errors
    /// Returns an [`Error`] if no server has the tool, the server is not connected, the call or the
    /// tool fails, or the content is no `T`.
    pub async fn structured_content<T: DeserializeOwned>(self) -> Result<T, Error> {
        let Routed {
            member, request, ..
        } = *self.0.map_err(|error| *error)?;
        let lease = member.lease(None).await?;
        let decoded = lease.client().rebind(request).structured_content().await;
        decoded.map_err(|error| Error::Request {
            server: member.name.clone(),
            error,
        })
    }
}

impl<M> IntoFuture for ServerRequest<M>
where
    M: ServerMethod,
    M::Result: MergedUris,
{
    type Output = Result<M::Result, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.send().await })
    }
}

impl<M: ServerMethod> std::fmt::Debug for ServerRequest<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerRequest")
            .field("server", &self.server())
            .field("method", &M::METHOD)
            .finish_non_exhaustive()
    }
}
