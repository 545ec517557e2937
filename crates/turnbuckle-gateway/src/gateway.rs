//! A gateway: the upstreams of a file, connected and served as one server.

mod builder;

use std::time::Duration;

use turnbuckle::auth::ResourceServer;
use turnbuckle::http::{HttpServer, HttpServerOptions};
use turnbuckle::servers::{Proxy, Servers};
use turnbuckle::{Authorize as _, Server};

use std::sync::Arc;

use crate::audit::AuditLog;
use crate::file::GatewayFile;
use crate::metrics::Metrics;
use crate::offers::{LeftOut, UpstreamOffer, offers};
use crate::routes::Policies;

pub use builder::GatewayBuilder;

/// Many servers behind one endpoint. The servers are closed when it is dropped.
#[derive(Debug, Clone)]
pub struct Gateway {
    proxy: Proxy,
    policies: Policies,
    left_out: Arc<LeftOut>,
    audit: Arc<AuditLog>,
    metrics: Arc<Metrics>,
    metrics_path: Option<String>,
    allow_hosts: Vec<String>,
    auth: Option<ResourceServer>,
}

impl Gateway {
    /// Returns a builder of the gateway that a file describes.
    pub fn builder(file: GatewayFile) -> GatewayBuilder {
        GatewayBuilder::new(file)
    }

    /// Returns the server to run.
    #[must_use]
    pub fn server(&self) -> &Server {
        self.proxy.server()
    }

    /// Returns the upstream servers.
    #[must_use]
    pub fn servers(&self) -> &Servers {
        self.proxy.servers()
    }

    /// Returns what each upstream offers now, and to whom.
    #[must_use]
    pub fn offers(&self) -> Vec<UpstreamOffer> {
        offers(self.servers(), &self.policies, &self.left_out)
    }

    /// Returns whether requests need a token.
    #[must_use]
    pub fn has_auth(&self) -> bool {
        self.auth.is_some()
    }

    /// Sets the names under which clients reach the gateway, as far as the file has them.
    #[must_use]
    pub fn http_options(&self, options: HttpServerOptions) -> HttpServerOptions {
        let of_resource = self.auth.as_ref().and_then(ResourceServer::resource_host);
        let hosts: Vec<&str> = match (&*self.allow_hosts, of_resource) {
            ([], None) => return options,
            ([], Some(host)) => vec![host],
            (hosts, _) => hosts.iter().map(String::as_str).collect(),
        };
        options.allowed_hosts(hosts.into_iter().chain(["localhost", "127.0.0.1", "[::1]"]))
    }

    /// Adds the authorization and the metrics of the file to a server that was bound for
    /// [`server`](Self::server).
    #[must_use]
    pub fn protect(&self, http: HttpServer) -> HttpServer {
        let http = match &self.auth {
            Some(auth) => http.auth(auth.clone()),
            None => http,
        };
        let Some(path) = &self.metrics_path else {
            return http;
        };
        let (metrics, servers) = (self.metrics.clone(), self.servers().downgrade());
        http.metrics_route(path)
            .add_metrics(move |text| metrics.write(text, servers.upgrade().as_ref()))
    }

    /// Closes the upstreams, and writes what is left of the audit log.
    pub async fn close(&self) {
        self.servers().close().await;
        self.audit.flush(FLUSH_TIMEOUT);
    }
}

/// The time that the end of a gateway gives to the audit log.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
