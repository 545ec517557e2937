//! Token checks for servers: [`ResourceServer`], a tower layer in front of an MCP endpoint.
//!
//! The layer answers requests for the protected resource metadata, refuses requests without a valid
//! token, and gives the inner service the [`Principal`](turnbuckle_types::Principal) in place of the
//! token. Every request is checked by itself; a session never authenticates.
//!
//! Specification: basic/authorization (2026-07-28); RFC 6750, RFC 9728, RFC 9449.

mod authenticator;
mod authorization_header;
mod body;
mod builder;
mod denial;
mod dpop;
mod jwt;
mod layer;
mod proof_store;
mod replay_cache;
mod resource_metadata;
mod resource_uri;
mod scopes;
mod stream_lease;
#[cfg(test)]
mod tests;
mod token;

use std::sync::Arc;

use tower_layer::Layer;
use turnbuckle_types::KeyRing;

use crate::metadata::ProtectedResourceMetadata;

pub use body::{NoBody, ResourceServerBody};
pub use builder::{ResourceServerBuilder, ResourceServerError};
pub use dpop::DpopMode;
pub use layer::{ResourceServerFuture, ResourceServerService};
pub use resource_metadata::MetadataService;
pub use token::{TokenRejection, TokenVerifier, VerifiedToken, VerifyFuture};

use layer::Shared;
use resource_metadata::MetadataDocument;

/// A protected resource: a tower layer that admits requests with a valid token to the service behind
/// it. Cheap to clone; clones share keys and caches.
///
/// ```
/// use turnbuckle_auth::ResourceServer;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let auth = ResourceServer::builder("https://mcp.example.com/mcp")
///     .issuer("https://login.example.com")
///     .required_scopes(["mcp"])
///     .build()?;
/// # let _ = auth;
/// # Ok(())
/// # }
/// ```
///
/// - A request with a valid token reaches the inner service with an `Arc<Principal>` in its extensions
///   and without the token.
/// - A request without one gets 401, with too few scopes 403, and a malformed one 400, each with a
///   `WWW-Authenticate` header. If the issuer cannot be reached, the response is 503.
/// - `OPTIONS` requests pass without a token, for the preflight requests of browsers.
/// - A response of the inner service with [`RequiredScopes`](turnbuckle_types::RequiredScopes) in its
///   extensions becomes a 403 that names these scopes.
///
/// The token must be of a known issuer and for this resource: its audience is the resource's URI.
#[derive(Debug, Clone)]
pub struct ResourceServer {
    shared: Arc<Shared>,
    metadata: Option<Arc<MetadataDocument>>,
    /// True if the application set the scopes in the metadata.
    has_explicit_scopes: bool,
}

impl ResourceServer {
    /// Begins with the URI of the resource: the URL of the MCP endpoint as clients see it, such as
    /// `https://mcp.example.com/mcp`.
    pub fn builder(resource: impl Into<String>) -> ResourceServerBuilder {
        ResourceServerBuilder::new(resource.into())
    }

    /// Returns the canonical URI of the resource.
    #[must_use]
    pub fn resource(&self) -> &str {
        self.shared.authenticator.resource.as_str()
    }

    /// Returns the host of the resource, with its port if the URI names one.
    #[must_use]
    pub fn resource_host(&self) -> Option<&str> {
        let (_, rest) = self.resource().split_once("://")?;
        let host = rest.split(['/', '?', '#']).next()?;
        Some(host).filter(|host| !host.is_empty())
    }

    /// Returns the metadata of the resource. None for a server with static tokens alone, which has no
    /// authorization server.
    #[must_use]
    pub fn metadata(&self) -> Option<&ProtectedResourceMetadata> {
        Some(&self.metadata.as_ref()?.metadata)
    }

    /// Returns the path of the metadata document on the resource's host. The layer answers there, and
    /// at the root form, when it sees such a request.
    #[must_use]
    pub fn metadata_path(&self) -> Option<&str> {
        Some(&self.metadata.as_ref()?.path)
    }

    /// Returns a service that answers with the metadata document, for a router that sends only the
    /// requests of the MCP endpoint through the layer.
    #[must_use]
    pub fn metadata_service(&self) -> Option<MetadataService> {
        self.metadata.clone().map(MetadataService)
    }

    /// Replaces the scopes in the metadata. `offline_access` is left out: a resource never needs it.
    #[must_use]
    pub fn with_scopes_supported<S: Into<String>>(
        mut self,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        let scopes: Vec<String> = scopes.into_iter().map(Into::into).collect();
        self.has_explicit_scopes = true;
        self.replace_scopes(&scopes);
        self
    }

    /// Has the nonces of DPoP derive from the keys of the protected server. Keys that the application
    /// set ([`keys`](ResourceServerBuilder::keys)) stay, and so do those of the first server that
    /// this value and its clones protect.
    #[must_use]
    pub fn with_server_keys(self, keys: Option<&KeyRing>) -> Self {
        if let Some(keys) = keys {
            self.shared.authenticator.dpop.share_keys(keys);
        }
        self
    }

    /// Adds the scopes that the items of a server require to those in the metadata. Scopes that the
    /// application set stay as they are: with
    /// [`scopes_supported`](ResourceServerBuilder::scopes_supported) or
    /// [`with_scopes_supported`](Self::with_scopes_supported).
    #[must_use]
    pub fn with_item_scopes<S: Into<String>>(
        mut self,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        if !self.has_explicit_scopes {
            let known = self.metadata().and_then(|it| it.scopes_supported.clone());
            let mut all = known.unwrap_or_default();
            all.extend(scopes.into_iter().map(Into::into));
            self.replace_scopes(&all);
        }
        self
    }

    fn replace_scopes(&mut self, scopes: &[String]) {
        if let Some(document) = &self.metadata {
            let mut metadata = document.metadata.clone();
            metadata.scopes_supported = scopes_of_metadata(scopes);
            // Texts can always be written as JSON.
            if let Ok(document) = MetadataDocument::new(metadata, document.path.clone()) {
                self.metadata = Some(Arc::new(document));
            }
        }
    }
}

impl<S> Layer<S> for ResourceServer {
    type Service = ResourceServerService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ResourceServerService::new(inner, Arc::clone(&self.shared), self.metadata.clone())
    }
}

/// Returns the scopes for the metadata, each once. None if there are none.
fn scopes_of_metadata(scopes: &[String]) -> Option<Vec<String>> {
    let mut unique: Vec<String> = Vec::new();
    for scope in scopes {
        if scope != "offline_access" && !unique.contains(scope) {
            unique.push(scope.clone());
        }
    }
    (!unique.is_empty()).then_some(unique)
}
