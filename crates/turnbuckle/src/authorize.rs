//! Protecting a server by one call.

use tower_layer::Layer as _;
use turnbuckle_auth::ResourceServer;
use turnbuckle_auth::server::ResourceServerService;
use turnbuckle_http::{HttpServer, HttpServerOptions, HttpSse, StreamableHttp};

/// Endpoints that take the check of tokens in one call.
///
/// ```
/// use turnbuckle::auth::ResourceServer;
/// use turnbuckle::http::{HttpServer, HttpServerOptions};
/// use turnbuckle::{Authorize, Server, Tool};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let auth = ResourceServer::builder("https://mcp.example.com/mcp")
///     .issuer("https://login.example.com")
///     .build()?;
/// let orders = Tool::builder("orders").scope("orders:read").handler(|| "none");
/// let server = Server::new("shop", "1.0.0").tool(orders).build()?;
/// let options = HttpServerOptions::new().allowed_hosts(["mcp.example.com"]);
/// HttpServer::bind(server, "127.0.0.1:0", options).await?.auth(auth);
/// # Ok(())
/// # }
/// ```
///
/// Specification: basic/authorization (2026-07-28).
pub trait Authorize {
    /// The endpoint with the check in front of it.
    type Authorized;

    /// Lets only requests with a valid token through.
    ///
    /// The scopes that the items of the server require are added to those of the resource's metadata,
    /// unless [`scopes_supported`](turnbuckle_auth::server::ResourceServerBuilder::scopes_supported)
    /// set these.
    /// Nonces of DPoP are derived from the keys of the server
    /// ([`ServerBuilder::keys`](crate::ServerBuilder::keys)).
    /// The result also answers at [`ResourceServer::metadata_path`]: a router of your own sends that
    /// path to it, too.
    fn auth(self, auth: ResourceServer) -> Self::Authorized;
}

/// Allows the host of the resource and the loopback names, unless hosts are allowed already.
pub(crate) fn with_resource_host(
    options: HttpServerOptions,
    auth: &ResourceServer,
) -> HttpServerOptions {
    match auth.resource_host() {
        Some(host) if options.allowed_hosts.is_none() => {
            options.allowed_hosts([host, "localhost", "127.0.0.1", "[::1]"])
        }
        _ => options,
    }
}

impl Authorize for HttpServer {
    type Authorized = Self;

    fn auth(self, auth: ResourceServer) -> Self {
        let auth = auth.with_server_keys(self.keys());
        let auth = auth.with_item_scopes(self.scopes());
        self.layer(auth)
    }
}

impl Authorize for StreamableHttp {
    type Authorized = ResourceServerService<Self>;

    fn auth(self, auth: ResourceServer) -> Self::Authorized {
        let auth = auth.with_server_keys(self.keys());
        auth.with_item_scopes(self.scopes()).layer(self)
    }
}

impl Authorize for HttpSse {
    type Authorized = ResourceServerService<Self>;

    fn auth(self, auth: ResourceServer) -> Self::Authorized {
        let auth = auth.with_server_keys(self.keys());
        auth.with_item_scopes(self.scopes()).layer(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_the_resource_is_allowed_unless_hosts_are_named() {
        let auth = ResourceServer::builder("https://mcp.example.com:8443/mcp")
            .issuer("https://login.example.com")
            .build()
            .unwrap_or_else(|error| panic!("{error}"));
        let options = with_resource_host(HttpServerOptions::new(), &auth);
        let expected = ["mcp.example.com:8443", "localhost", "127.0.0.1", "[::1]"];
        assert_eq!(
            options.allowed_hosts.as_deref(),
            Some(&expected.map(str::to_owned)[..])
        );
        let own = HttpServerOptions::new().allowed_hosts(["other.example"]);
        let options = with_resource_host(own, &auth);
        assert_eq!(
            options.allowed_hosts,
            Some(vec!["other.example".to_owned()])
        );
    }
}
