//! Builds many servers: from code, from configuration files, with handlers for all of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use turnbuckle_client::{
    ClientBuilder, EraKind, EraPreference, Form, FormAnswer, Roots, UrlAnswer, UrlRequest,
};
use turnbuckle_server::BuildError;
use turnbuckle_session::transport::Connector;
use turnbuckle_types::{
    CreateMessageRequestParams, CreateMessageResult, LoggingLevel,
    LoggingMessageNotificationParams, Prompt, Resource, ResourceTemplate, Root, Tool,
};

use crate::config::{ConfigError, ConfigFile, Variables, build_connector, workspace_of};
use crate::connections::upstream::UpstreamOptions;
use crate::limits::ServersLimits;
use crate::member::shared::Shared;
use crate::member::state::{ConfigureClient, Member};
use crate::question::ServerQuestion;
use crate::rules::{ItemRules, ProxiedItem, Rule};
use crate::servers::Servers;
use crate::view::names::{MAX_PREFIX_CHARS, Prefix};

/// Writes the methods that add rules.
macro_rules! item_rules {
    ($($(#[$attribute:meta])* $name:ident: $Item:ty => $rules:ident;)+) => {$(
        $(#[$attribute])*
        pub fn $name(
            mut self,
            rule: impl Fn(&mut ProxiedItem<$Item>) -> Rule + Send + Sync + 'static,
        ) -> Self {
            self.rules.$rules.push(Arc::new(rule));
            self
        }
    )+};
}

/// Installs handlers in the client of the server of this name.
type InstallHandlers = Arc<dyn Fn(ClientBuilder, &Arc<str>) -> ClientBuilder + Send + Sync>;

/// Builds [`Servers`].
#[must_use]
pub struct ServersBuilder {
    name: String,
    version: String,
    pub(crate) limits: ServersLimits,
    drafts: Vec<MemberDraft>,
    rules: ItemRules,
    install: Vec<InstallHandlers>,
    pub(crate) mirrors_server_info: bool,
    pub(crate) inherits_stderr: bool,
    #[cfg(feature = "http")]
    http_hook: Option<Arc<crate::config::HttpHook>>,
}

/// A server before the names of all are known.
struct MemberDraft {
    name: Arc<str>,
    source: Source,
    prefix: Option<String>,
    options: UpstreamOptions,
    configure: Vec<ConfigureClient>,
}

/// The way to a server.
enum Source {
    Connector(Arc<dyn Connector>),
    /// An entry of a configuration file, whose variables are expanded when the servers are built.
    Entry {
        entry: crate::config::ServerEntry,
        workspace: PathBuf,
    },
}

impl ServersBuilder {
    pub(crate) fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            limits: ServersLimits::default(),
            drafts: Vec::new(),
            rules: ItemRules::default(),
            install: Vec::new(),
            mirrors_server_info: false,
            inherits_stderr: false,
            #[cfg(feature = "http")]
            http_hook: None,
        }
    }

    /// Adds a server: `name` is what the host calls it. The names of its tools and prompts begin with
    /// the name, shortened where needed; see [`prefix`](Self::prefix).
    pub fn server(mut self, name: impl Into<Arc<str>>, connector: impl Connector) -> Self {
        self.drafts.push(MemberDraft {
            name: name.into(),
            source: Source::Connector(Arc::new(connector)),
            prefix: None,
            options: UpstreamOptions::default(),
            configure: Vec::new(),
        });
        self
    }

    /// Adds the servers of a configuration file, whose paths and `${workspaceFolder}` start at the
    /// file's project directory. Other variables come from the environment of this process. An entry
    /// that cannot be used is a failed server, with the reason in its status.
    ///
    /// The file names commands that will run: read only files that the user trusts.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or parsed.
    pub fn config_file(self, file: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let file = file.as_ref();
        let config = ConfigFile::read(file)?;
        Ok(self.config(config, workspace_of(file)))
    }

    /// Adds the servers of a configuration, as [`config_file`](Self::config_file) does, with
    /// `workspace` as the project directory.
    pub fn config(mut self, config: ConfigFile, workspace: impl Into<PathBuf>) -> Self {
        let workspace = workspace.into();
        for (name, entry) in config.servers {
            self.drafts.push(MemberDraft {
                name: name.into(),
                source: Source::Entry {
                    entry,
                    workspace: workspace.clone(),
                },
                prefix: None,
                options: UpstreamOptions::default(),
                configure: Vec::new(),
            });
        }
        self
    }

    /// Sets the prefix of the names of one server, instead of its own name: at most 32 characters of
    /// `[A-Za-z0-9_-]`, without `__` and without `_` at the end. With an empty prefix, which one
    /// server can have, its names and URIs stay as they are.
    pub fn prefix(self, server: &str, prefix: impl Into<String>) -> Self {
        let prefix = prefix.into();
        self.change(server, |draft| draft.prefix = Some(prefix))
    }

    /// Gives a proxy of a single server the name, the version, the title and the icons of that server.
    pub fn mirror_server_info(mut self) -> Self {
        self.mirrors_server_info = true;
        self
    }

    /// Sets the connections to one server, and the bounds of the requests to it.
    pub fn upstream(
        self,
        server: &str,
        configure: impl FnOnce(UpstreamOptions) -> UpstreamOptions,
    ) -> Self {
        self.change(server, |draft| {
            draft.options = configure(std::mem::take(&mut draft.options));
        })
    }

    item_rules! {
        /// Adds a rule about the tools of all servers: whether a tool is offered, under which name and with
        /// which texts, and to whom.
        ///
        /// A rule holds on lists and calls alike. It runs whenever a list is read, and must decide by the
        /// definition alone. If there are several, each sees what the former ones changed, and all must keep
        /// an item.
        ///
        /// ```
        /// use turnbuckle_servers::{ProxiedItem, Rule, Servers};
        /// use turnbuckle_types::Tool;
        ///
        /// let builder = Servers::builder("example", "1.0.0").tools(|tool: &mut ProxiedItem<Tool>| {
        ///     match (tool.server(), tool.own_name()) {
        ///         ("issues", "delete") => return Rule::Drop,
        ///         ("issues", "list") => tool.rename("issues"),
        ///         _ => {}
        ///     }
        ///     Rule::Keep
        /// });
        /// ```
        tools: Tool => tools;

        /// Adds a rule about the prompts of all servers, as [`tools`](Self::tools) does. It holds on lists,
        /// prompts and completions.
        prompts: Prompt => prompts;

        /// Adds a rule about the resources of all servers, as [`tools`](Self::tools) does. It holds on lists,
        /// reads and subscriptions.
        ///
        /// The rule decides also about URIs that are not listed, such as those that a template matches, whenever
        /// one is read: the definition has the URI, the name is the URI at the server, and nothing else is
        /// set.
        resources: Resource => resources;

        /// Adds a rule about the resource templates of all servers, as [`tools`](Self::tools) does. It holds
        /// on lists, completions, and reads of URIs that only this template matches. With such a rule, a proxy
        /// lets no resource be read that is neither listed nor matched by a template.
        ///
        /// The rule decides also about templates in which a request for a completion has filled in some variables.
        resource_templates: ResourceTemplate => templates;
    }

    /// Adds a change of the client of one server, for instance its timeouts. The change is made after the
    /// handlers of all servers are installed.
    pub fn client(
        self,
        server: &str,
        configure: impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static,
    ) -> Self {
        self.change(server, |draft| draft.configure.push(Arc::new(configure)))
    }

    /// Adds a change of the clients of all servers.
    pub fn clients(
        self,
        configure: impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static,
    ) -> Self {
        self.install(move |builder, _| configure(builder))
    }

    /// Adds a change of the connectors to the URLs of configuration files. It gets the names of the
    /// servers, and is the place for layers. A server whose connector cannot be made is a failed
    /// server, with the reason in its status. For logins, see `oauth` of the `turnbuckle` crate.
    #[cfg(feature = "http")]
    #[cfg_attr(docsrs, doc(cfg(feature = "http")))]
    pub fn http_connectors<E: std::fmt::Display>(
        mut self,
        hook: impl Fn(&str, turnbuckle_http::HttpConnector) -> Result<turnbuckle_http::HttpConnector, E>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let former = self.http_hook.take();
        self.http_hook = Some(Arc::new(move |server, connector| {
            let connector = match &former {
                Some(former) => former(server, connector)?,
                None => connector,
            };
            hook(server, connector).map_err(|error| ConfigError::new(error.to_string()))
        }));
        self
    }

    /// Returns the name of this host, which its servers see.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets the bounds and delays.
    pub fn limits(mut self, limits: ServersLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Installs the handler of forms of all servers; see
    /// [`ClientBuilder::on_form`].
    pub fn on_form<F, Fut>(self, handler: F) -> Self
    where
        F: Fn(Form, ServerQuestion) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = FormAnswer> + Send + 'static,
    {
        let handler = Arc::new(handler);
        self.install(move |builder, server| {
            let (handler, server) = (handler.clone(), server.clone());
            builder.on_form(move |form, context| {
                let server = server.clone();
                handler(form, ServerQuestion { server, context })
            })
        })
    }

    /// Installs the handler of URLs of all servers; see [`ClientBuilder::on_url`].
    pub fn on_url<F, Fut>(self, handler: F) -> Self
    where
        F: Fn(UrlRequest, ServerQuestion) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = UrlAnswer> + Send + 'static,
    {
        let handler = Arc::new(handler);
        self.install(move |builder, server| {
            let (handler, server) = (handler.clone(), server.clone());
            builder.on_url(move |request, context| {
                let server = server.clone();
                handler(request, ServerQuestion { server, context })
            })
        })
    }

    /// Installs the handler of sampling of all servers; see [`ClientBuilder::on_sampling`].
    pub fn on_sampling<F, Fut>(self, handler: F) -> Self
    where
        F: Fn(CreateMessageRequestParams, ServerQuestion) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CreateMessageResult, turnbuckle_types::ProtocolError>>
            + Send
            + 'static,
    {
        let handler = Arc::new(handler);
        self.install(move |builder, server| {
            let (handler, server) = (handler.clone(), server.clone());
            builder.on_sampling(move |params, context| {
                let server = server.clone();
                handler(params, ServerQuestion { server, context })
            })
        })
    }

    /// Installs the handler of questions for roots of all servers, instead of a list of
    /// [`roots`](Self::roots); see [`ClientBuilder::on_roots`].
    pub fn on_roots<F, Fut>(self, handler: F) -> Self
    where
        F: Fn(ServerQuestion) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<Root>, turnbuckle_types::ProtocolError>> + Send + 'static,
    {
        let handler = Arc::new(handler);
        self.install(move |builder, server| {
            let (handler, server) = (handler.clone(), server.clone());
            builder.on_roots(move |context| {
                let server = server.clone();
                handler(ServerQuestion { server, context })
            })
        })
    }

    /// Exposes these roots to all servers. Set other roots for one server with
    /// [`client`](Self::client).
    pub fn roots(self, roots: Roots) -> Self {
        self.install(move |builder, _| builder.roots(roots.clone()))
    }

    /// Calls `callback` for each log message of at least `level`, with the name of the server. The
    /// callback must not block.
    pub fn on_log(
        self,
        level: LoggingLevel,
        callback: impl Fn(&str, LoggingMessageNotificationParams) + Send + Sync + 'static,
    ) -> Self {
        let callback = Arc::new(callback);
        self.install(move |builder, server| {
            let (callback, server) = (callback.clone(), server.clone());
            builder.log_level(level).on_log(move |log| {
                if log.level >= level {
                    callback(&server, log);
                }
            })
        })
    }

    pub(crate) fn install(
        mut self,
        install: impl Fn(ClientBuilder, &Arc<str>) -> ClientBuilder + Send + Sync + 'static,
    ) -> Self {
        self.install.push(Arc::new(install));
        self
    }

    /// Calls `change` for a server that was added before. A setting for an unknown server is an error when the
    /// servers are built.
    fn change(mut self, server: &str, change: impl FnOnce(&mut MemberDraft)) -> Self {
        match self.drafts.iter_mut().find(|draft| *draft.name == *server) {
            Some(draft) => change(draft),
            // An empty name is no server, which `build` says.
            None => self.drafts.push(MemberDraft {
                name: "".into(),
                source: Source::Entry {
                    entry: crate::config::ServerEntry::default(),
                    workspace: server.into(),
                },
                prefix: None,
                options: UpstreamOptions::default(),
                configure: Vec::new(),
            }),
        }
        self
    }

    /// Starts to connect all servers, in parallel, and returns at once. Needs a tokio runtime.
    ///
    /// # Errors
    /// Returns an error if two servers have the same name, a prefix breaks the rules, a setting is for
    /// an unknown server, or there are more servers than [`ServersLimits::max_servers`].
    pub fn start(self) -> Result<Servers, BuildError> {
        let members = self.members()?;
        let shared = Shared::new(self.name, self.version, self.limits, self.rules, members);
        Ok(Servers::start(shared))
    }

    /// Connects all servers, in parallel, and returns once each is ready or its first attempt has
    /// failed. Needs a tokio runtime.
    ///
    /// # Errors
    /// As [`start`](Self::start). A server that cannot be connected is no error; see
    /// [`Servers::status`].
    pub async fn connect(self) -> Result<Servers, BuildError> {
        let servers = self.start()?;
        servers.wait_for_first_attempts().await;
        Ok(servers)
    }

    fn members(&self) -> Result<Vec<Arc<Member>>, BuildError> {
        let max = self.limits.max_servers;
        if self.drafts.len() > max {
            let count = self.drafts.len();
            return Err(BuildError::new(format!(
                "{count} servers are more than {max} (ServersLimits::max_servers)"
            )));
        }
        let mut members: Vec<Arc<Member>> = Vec::with_capacity(self.drafts.len());
        for draft in &self.drafts {
            let member = self.member(draft)?;
            for other in &members {
                if other.name == member.name {
                    return Err(BuildError::new(format!(
                        "two servers are named {:?}",
                        member.name
                    )));
                }
                if other.prefix.overlaps(&member.prefix) {
                    return Err(BuildError::new(format!(
                        "the servers {:?} and {:?} have the same prefix; set another one with \
                         ServersBuilder::prefix",
                        other.name, member.name
                    )));
                }
            }
            members.push(Arc::new(member));
        }
        Ok(members)
    }

    fn member(&self, draft: &MemberDraft) -> Result<Member, BuildError> {
        let name = draft.name.clone();
        if name.is_empty() {
            return Err(BuildError::new(match &draft.source {
                Source::Entry { workspace, .. } if workspace.as_os_str() != "" => format!(
                    "a setting is for the server {:?}, which was not added before",
                    workspace.display()
                ),
                _ => "a server has an empty name".to_owned(),
            }));
        }
        let prefix = match &draft.prefix {
            None => Prefix::of_server(&name),
            Some(prefix) => Prefix::chosen(prefix).ok_or_else(|| {
                BuildError::new(format!(
                    "the prefix {prefix:?} of the server {name:?} is not at most {MAX_PREFIX_CHARS} \
                     characters of [A-Za-z0-9_-] without \"__\", and without \"_\" at the end"
                ))
            })?,
        };
        let mut configure: Vec<ConfigureClient> = Vec::new();
        let connector = match &draft.source {
            Source::Connector(connector) => Ok(connector.clone()),
            Source::Entry { entry, workspace } => {
                let variables = Variables::from_env(workspace);
                let built = entry.resolve(&variables).and_then(|server| {
                    build_connector(
                        &name,
                        server,
                        workspace,
                        self.inherits_stderr,
                        #[cfg(feature = "http")]
                        self.http_hook.as_deref(),
                    )
                });
                if let Ok(built) = &built
                    && built.is_legacy
                {
                    configure.push(Arc::new(|builder| {
                        builder.era(EraPreference::StartWith(EraKind::Legacy))
                    }));
                }
                built
                    .map(|built| built.connector)
                    .map_err(|error| error.to_string())
            }
        };
        for install in &self.install {
            let (install, name) = (install.clone(), name.clone());
            configure.push(Arc::new(move |builder| install(builder, &name)));
        }
        configure.extend(draft.configure.iter().cloned());
        let options = draft.options.clone();
        Ok(Member::new(name, prefix, options, connector, configure))
    }
}

impl std::fmt::Debug for ServersBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.drafts.iter().map(|draft| &*draft.name).collect();
        f.debug_struct("ServersBuilder")
            .field("servers", &names)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
