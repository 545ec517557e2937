//! A gateway: the upstreams of a file, connected and served as one server.

use std::path::PathBuf;
use std::sync::Arc;

use turnbuckle::Server;
use turnbuckle::http::HttpConnector;
use turnbuckle::servers::config::ConfigFile;
use turnbuckle::servers::{Proxy, Servers, ServersBuilder};
use turnbuckle_types::base::debug_fields;

use crate::error::GatewayError;
use crate::file::GatewayFile;
use crate::upstreams::{HttpHook, connector};

/// The name that clients see if the file has none.
const DEFAULT_NAME: &str = "turnbuckle-gateway";

/// Many servers behind one endpoint. The servers are closed when it is dropped.
#[derive(Debug, Clone)]
pub struct Gateway {
    proxy: Proxy,
}

/// Builds a [`Gateway`].
#[must_use]
pub struct GatewayBuilder {
    file: GatewayFile,
    directory: PathBuf,
    configs: Vec<(ConfigFile, PathBuf)>,
    http: Option<Arc<HttpHook>>,
}

debug_fields!(GatewayBuilder { file });

impl Gateway {
    /// Returns a builder of the gateway that a file describes.
    pub fn builder(file: GatewayFile) -> GatewayBuilder {
        GatewayBuilder {
            file,
            directory: PathBuf::from("."),
            configs: Vec::new(),
            http: None,
        }
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
}

impl GatewayBuilder {
    /// Sets the directory at which the relative paths of the file start. Default: the current directory.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    /// Adds the servers of an `mcp.json`, with `workspace` as the project directory. All of their items are
    /// offered.
    pub fn config(mut self, config: ConfigFile, workspace: impl Into<PathBuf>) -> Self {
        self.configs.push((config, workspace.into()));
        self
    }

    /// Sets a change of the connectors to URLs, for instance a layer that logs in. It gets the name of the
    /// upstream.
    pub fn http_connectors<E: std::fmt::Display>(
        mut self,
        hook: impl Fn(&str, HttpConnector) -> Result<HttpConnector, E> + Send + Sync + 'static,
    ) -> Self {
        self.http = Some(Arc::new(move |upstream, connector| {
            hook(upstream, connector).map_err(|error| GatewayError::new(error.to_string()))
        }));
        self
    }

    /// Connects the upstreams, and returns once each is ready or its first attempt has failed. An upstream
    /// that cannot be connected is no error: it is tried again, and the others are served. Needs a tokio
    /// runtime.
    ///
    /// # Errors
    /// Returns an error if a setting of the file cannot be used, or there is no upstream.
    pub async fn connect(self) -> Result<Gateway, GatewayError> {
        let name = self.file.name.as_deref().unwrap_or(DEFAULT_NAME).to_owned();
        let version = env!("CARGO_PKG_VERSION");
        let servers = self.servers(&name, version)?;
        let proxy = servers.proxy(Server::new(name, version)).await;
        let proxy = proxy.map_err(|error| GatewayError::new(error.to_string()))?;
        Ok(Gateway { proxy })
    }

    fn servers(self, name: &str, version: &str) -> Result<ServersBuilder, GatewayError> {
        if self.file.upstream.is_empty() && self.configs.is_empty() {
            return Err(GatewayError::new(
                "there is no upstream: add a table such as [upstream.files]",
            ));
        }
        let mut servers = Servers::builder(name, version);
        for (config, workspace) in self.configs {
            servers = servers.config(config, workspace);
        }
        if let Some(hook) = self.http.clone() {
            servers = servers.http_connectors(move |upstream, connector| hook(upstream, connector));
        }
        for (name, upstream) in &self.file.upstream {
            let connector = connector(name, upstream, &self.directory, self.http.as_deref())
                .map_err(|error| error.in_upstream(name))?;
            servers = servers.server(name.as_str(), connector);
        }
        Ok(servers)
    }
}
