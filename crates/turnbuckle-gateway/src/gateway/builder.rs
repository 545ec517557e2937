//! Building of a gateway from its file.

use std::collections::BTreeMap;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use turnbuckle::auth::ResourceServer;
use turnbuckle::http::HttpConnector;
use turnbuckle::servers::config::ConfigFile;
use turnbuckle::servers::{
    NAME_SEPARATOR, ProxiedItem, Rule, Servers, ServersBuilder, ServersLimits, UpstreamMode,
    UpstreamOptions,
};
use turnbuckle::session::transport::Connector;
use turnbuckle::store::Store;
use turnbuckle::types::{Audit, AuditRecord, Prompt, Resource, ResourceTemplate, Tool};
use turnbuckle::{KeyRing, Server, ServerBuilder};
use turnbuckle_types::KeyLabel;
use turnbuckle_types::base::{debug_fields, random};

use super::Gateway;
use crate::audit::{AuditLog, AuditPlace, AuditWriter};
use crate::caller::Caller;
use crate::error::GatewayError;
use crate::file::{Auth, GatewayFile, Upstream};
use crate::lazy::LazyTools;
use crate::metrics::Metrics;
use crate::offers::LeftOut;
use crate::policy::{Policy, Subject};
use crate::routes::{Policies, Routes};
use crate::upstreams::{HttpHook, connector};

/// The name that clients see if the file has none.
const DEFAULT_NAME: &str = "turnbuckle-gateway";

/// The time for which the start waits for upstreams. Some clients list once, and some hosts give a server 10
/// seconds for all of its start.
const START_TIMEOUT: Duration = Duration::from_secs(2);

/// The key of the digests of arguments, made of the keys that instances share.
const AUDIT_LABEL: KeyLabel = KeyLabel::new("gateway audit");

/// Builds a [`Gateway`].
#[must_use]
pub struct GatewayBuilder {
    file: GatewayFile,
    directory: PathBuf,
    configs: Vec<(ConfigFile, PathBuf)>,
    connectors: BTreeMap<String, Arc<dyn Connector>>,
    http: Option<Arc<HttpHook>>,
    store: Option<Arc<dyn Store>>,
    is_silent: bool,
    start_timeout: Duration,
    inherits_stderr: bool,
}

debug_fields!(GatewayBuilder { file });

impl GatewayBuilder {
    pub(super) fn new(file: GatewayFile) -> Self {
        Self {
            file,
            directory: PathBuf::from("."),
            configs: Vec::new(),
            connectors: BTreeMap::new(),
            http: None,
            store: None,
            is_silent: false,
            start_timeout: START_TIMEOUT,
            inherits_stderr: false,
        }
    }

    /// Returns the file.
    #[must_use]
    pub fn file(&self) -> &GatewayFile {
        &self.file
    }

    /// Sets the directory at which the relative paths of the file start. Default: the current directory.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        let directory = Path::new(".").join(directory.into());
        // Commands run in it, and their programs may start at it: both must mean the same place.
        self.directory = path::absolute(&directory).unwrap_or(directory);
        self
    }

    /// Adds the servers of an `mcp.json`, with `workspace` as the project directory. All of their items are
    /// offered.
    pub fn config(mut self, config: ConfigFile, workspace: impl Into<PathBuf>) -> Self {
        self.configs.push((config, workspace.into()));
        self
    }

    /// Sets the connector to an upstream of the file, whose table has rules and limits, but neither a `command`
    /// nor a `url`: for instance to a server in this process.
    pub fn connector(mut self, upstream: impl Into<String>, connector: impl Connector) -> Self {
        self.connectors.insert(upstream.into(), Arc::new(connector));
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

    /// Sets the store that the file names; this crate opens none.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Shows clients three tools, which search, describe and call all others, if `is_lazy` or the file says
    /// so.
    pub fn lazy(mut self, is_lazy: bool) -> Self {
        self.file.lazy = Some(is_lazy || self.file.lazy == Some(true));
        self
    }

    /// Leaves the audit log of the file alone, for a gateway that serves nobody.
    pub fn without_audit(mut self) -> Self {
        self.is_silent = true;
        self
    }

    /// Sets how long [`connect`](Self::connect) waits for upstreams. Default: 2 seconds.
    pub fn start_timeout(mut self, timeout: Duration) -> Self {
        self.start_timeout = timeout;
        self
    }

    /// Lets the commands of upstreams write to the standard error of this process. Otherwise the end of what a
    /// command has written is part of its error, which clients of standard streams read, too.
    pub fn inherit_stderr(mut self) -> Self {
        self.inherits_stderr = true;
        self
    }

    /// Connects the upstreams, and returns once each is ready or its first attempt has failed, or after the
    /// [`start_timeout`](Self::start_timeout). An upstream that is not connected then is no error: it is tried again,
    /// the others are served, and clients are told when its items are there. Needs a tokio runtime.
    ///
    /// # Errors
    /// Returns an error if a setting of the file cannot be used, or there is no upstream.
    pub async fn connect(self) -> Result<Gateway, GatewayError> {
        let policies = self.policies()?;
        let keys = self.keys()?;
        let metrics = Arc::new(Metrics::default());
        let audit = Arc::new(self.audit(keys.as_ref(), &metrics)?);
        let auth = match &self.file.auth {
            Some(auth) => Some(resource_server(auth, self.store.as_ref(), &audit)?),
            None => None,
        };
        let mut server = self.server(keys, &audit);
        let mut left_out = BTreeMap::new();
        let mut servers = with_rules(self.servers(&mut left_out)?, &policies);
        let lazy = self.file.lazy == Some(true);
        let lazy = lazy.then(LazyTools::default);
        if let Some(lazy) = &lazy {
            server = lazy.add_to(server);
            servers = servers.tools(|tool: &mut ProxiedItem<Tool>| {
                tool.hide_from_lists();
                Rule::Keep
            });
        }
        let proxy = servers.proxy(server).await;
        let proxy = proxy.map_err(|error| GatewayError::new(error.to_string()))?;
        if let Some(lazy) = lazy {
            lazy.start(proxy.servers());
        }
        audit.set_routes(Routes {
            servers: proxy.servers().downgrade(),
            policies: policies.clone(),
        });
        Ok(Gateway {
            proxy,
            policies,
            left_out: Arc::new(left_out),
            audit,
            metrics,
            metrics_path: self.file.metrics,
            allow_hosts: self.file.allow_hosts,
            auth,
        })
    }

    fn policies(&self) -> Result<Policies, GatewayError> {
        let mut policies = BTreeMap::new();
        for (name, upstream) in &self.file.upstream {
            let policy = check_name(name).and_then(|()| self.check_new_names(name, upstream));
            let policy = policy.and_then(|()| Policy::new(upstream));
            let policy = policy.map_err(|error| error.in_upstream(name))?;
            policies.insert(name.clone(), Arc::new(policy));
        }
        Ok(Arc::new(policies))
    }

    /// Checks that no new name of an upstream's items begins as the names of another one's items do: that one may have
    /// or get an item of this name.
    fn check_new_names(&self, upstream: &str, table: &Upstream) -> Result<(), GatewayError> {
        for (own, name) in &table.rename {
            let start = name.split_once(NAME_SEPARATOR).map_or("", |it| it.0);
            if start != upstream && self.file.upstream.contains_key(start) {
                return Err(GatewayError::new(format!(
                    "`rename`: the new name {name:?} of {own:?} begins with {start:?} and {NAME_SEPARATOR:?}, as \
                     those of the upstream {start:?} do: take another name"
                )));
            }
        }
        Ok(())
    }

    fn keys(&self) -> Result<Option<KeyRing>, GatewayError> {
        let keys = self.file.keys_env.as_deref().map(KeyRing::from_env);
        let keys = keys.transpose();
        let keys = keys.map_err(|error| GatewayError::new(format!("`keys_env`: {error}")))?;
        let has_store = self.file.store.is_some() || self.store.is_some();
        match has_store && keys.is_none() {
            true => Err(GatewayError::new(
                "`store` needs `keys_env`: its contents are encrypted under these keys",
            )),
            false => Ok(keys),
        }
    }

    fn audit(
        &self,
        keys: Option<&KeyRing>,
        metrics: &Arc<Metrics>,
    ) -> Result<AuditLog, GatewayError> {
        let place = self.file.audit.as_deref().filter(|_| !self.is_silent);
        let place = place.and_then(|text| AuditPlace::parse(text, &self.directory));
        let start = |place| AuditWriter::start(place, metrics.lost_lines.clone());
        let writer = place.map(start).transpose()?;
        let derived = keys.map(|keys| keys.derive(AUDIT_LABEL));
        let shared = derived
            .as_ref()
            .and_then(|keys| keys.secrets().next().copied());
        let key = match shared {
            Some(key) => key,
            None => random::bytes().map_err(|error| GatewayError::new(error.to_string()))?,
        };
        Ok(AuditLog::new(writer, metrics.clone(), key))
    }

    /// Returns the builder of the server that clients see.
    fn server(&self, keys: Option<KeyRing>, audit: &Arc<AuditLog>) -> ServerBuilder {
        let name = self.file.name.as_deref().unwrap_or(DEFAULT_NAME);
        let mut server =
            Server::new(name, env!("CARGO_PKG_VERSION")).audit(SharedAudit(audit.clone()));
        if let Some(instructions) = &self.file.instructions {
            server = server.instructions(instructions);
        }
        if let Some(keys) = keys {
            server = server.keys(keys);
        }
        match &self.store {
            Some(store) => server.store(store.clone()),
            None => server,
        }
    }

    fn servers(&self, left_out: &mut LeftOut) -> Result<ServersBuilder, GatewayError> {
        if self.file.upstream.is_empty() && self.configs.is_empty() {
            return Err(GatewayError::new(
                "there is no upstream: add a table such as [upstream.files]",
            ));
        }
        let name = self.file.name.as_deref().unwrap_or(DEFAULT_NAME);
        let limits = ServersLimits::default().first_attempt_timeout(self.start_timeout);
        let mut servers = Servers::builder(name, env!("CARGO_PKG_VERSION")).limits(limits);
        if self.inherits_stderr {
            servers = servers.inherit_stderr();
        }
        for (config, workspace) in &self.configs {
            servers = servers.config(config.clone(), workspace.clone());
        }
        if let Some(hook) = self.http.clone() {
            servers = servers.http_connectors(move |upstream, connector| hook(upstream, connector));
        }
        for (name, upstream) in &self.file.upstream {
            let connector = match self.connectors.get(name) {
                Some(connector) => Ok(connector.clone()),
                None => connector(
                    name,
                    upstream,
                    &self.directory,
                    &Caller::default(),
                    self.http.as_deref(),
                    self.inherits_stderr,
                    left_out.entry(name.clone()).or_default(),
                ),
            };
            let connector = connector.map_err(|error| error.in_upstream(name))?;
            if upstream.limits.in_flight == Some(0) {
                let reason = "`limits.in_flight` is 0: it must be at least 1";
                return Err(GatewayError::new(reason).in_upstream(name));
            }
            servers = servers
                .server(name.as_str(), connector)
                .upstream(name, |options| upstream_options(options, upstream));
            if upstream.mode == Some(UpstreamMode::PerPrincipal) && upstream.has_caller_headers() {
                servers = self.with_caller_headers(servers, name, upstream);
            }
        }
        Ok(servers)
    }
}

impl GatewayBuilder {
    /// Gives each principal its own headers.
    fn with_caller_headers(
        &self,
        servers: ServersBuilder,
        name: &str,
        upstream: &Upstream,
    ) -> ServersBuilder {
        let (settings, table) = (upstream.clone(), upstream.clone());
        let (upstream_name, directory) = (name.to_owned(), self.directory.clone());
        let hook = self.http.clone();
        servers.upstream(name, move |options| {
            options.connector_for(
                move |context| Caller::new(&settings, context.principal()).to_json(),
                move |json| {
                    let caller = Caller::from_json(json)?;
                    let hook = hook.as_deref();
                    // Only upstreams with a URL have headers of the caller.
                    let left_out = &mut Vec::new();
                    connector(
                        &upstream_name,
                        &table,
                        &directory,
                        &caller,
                        hook,
                        false,
                        left_out,
                    )
                },
            )
        })
    }
}

/// Passes records to the log that the gateway has, too.
struct SharedAudit(Arc<AuditLog>);

impl Audit for SharedAudit {
    fn record(&self, record: &AuditRecord<'_>) {
        self.0.record(record);
    }

    fn digest_arguments(&self, arguments: &str) -> Option<[u8; 16]> {
        self.0.digest_arguments(arguments)
    }
}

fn resource_server(
    auth: &Auth,
    store: Option<&Arc<dyn Store>>,
    audit: &Arc<AuditLog>,
) -> Result<ResourceServer, GatewayError> {
    let mut server = ResourceServer::builder(&*auth.resource)
        .issuer(&*auth.issuer)
        .required_scopes(auth.scopes.iter().map(String::as_str))
        .audit(SharedAudit(audit.clone()));
    if let Some(store) = store {
        server = server.store(store.clone());
    }
    for (key, value) in [("issuer", &auth.issuer), ("resource", &auth.resource)] {
        if value.is_empty() {
            return Err(GatewayError::new(format!("`auth` has no `{key}`, a URL")));
        }
    }
    server
        .build()
        .map_err(|error| GatewayError::new(format!("`auth`: {error}")))
}

/// Checks that the name of an upstream cannot be taken for the beginning of an item's name of another one.
fn check_name(name: &str) -> Result<(), GatewayError> {
    match [NAME_SEPARATOR, "+"]
        .into_iter()
        .find(|it| name.contains(it))
    {
        Some(separator) => Err(GatewayError::new(format!(
            "its name has {separator:?}, which stands between the name of an upstream and that of its item: \
             give it another name"
        ))),
        None => Ok(()),
    }
}

fn upstream_options(mut options: UpstreamOptions, upstream: &Upstream) -> UpstreamOptions {
    if let Some(mode) = upstream.mode {
        options = options.mode(mode);
    }
    if let Some(idle) = upstream.idle {
        options = options.idle_timeout(idle.0);
    }
    let limits = &upstream.limits;
    if let Some(requests) = limits.in_flight {
        options = options.max_in_flight(requests);
    }
    if let Some(timeout) = limits.timeout {
        options = options.total_timeout(timeout.0);
    }
    match limits.result_bytes {
        Some(size) => options.max_result_bytes(size.0),
        None => options,
    }
}

/// Adds the rules of all upstreams.
fn with_rules(servers: ServersBuilder, policies: &Policies) -> ServersBuilder {
    /// Renames an item that is kept, and adds its scopes.
    macro_rules! apply {
        ($policies:expr, $Item:ty, $Subject:ident, $is_renamed:literal) => {{
            let policies = $policies.clone();
            move |item: &mut ProxiedItem<$Item>| {
                let Some(policy) = policies.get(item.server()) else {
                    return Rule::Keep;
                };
                let own_name = item.own_name().to_owned();
                policy.mark_used(Subject::$Subject(&own_name));
                let Some(scopes) = policy.scopes(Subject::$Subject(&own_name)) else {
                    return Rule::Drop;
                };
                if $is_renamed && let Some(name) = policy.new_name(&own_name) {
                    item.rename(name);
                }
                item.scopes(scopes);
                Rule::Keep
            }
        }};
    }
    servers
        .tools(apply!(policies, Tool, Name, true))
        .prompts(apply!(policies, Prompt, Name, true))
        .resources(apply!(policies, Resource, Uri, false))
        .resource_templates(apply!(policies, ResourceTemplate, Template, false))
}
