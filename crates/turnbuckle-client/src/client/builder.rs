//! Builds a client: its identity, handlers, timeouts and limits.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use turnbuckle_types::base::{debug_fields, setters};

use tower_layer::Layer;
use tower_service::Service;
use turnbuckle_schema::SchemaLimits;
use turnbuckle_session::transport::{
    ClientLimits, Connector, MessageObserver, RequestTag, Timeouts,
};
use turnbuckle_types::meta::check_extension_id;
use turnbuckle_types::{
    ClientCapabilities, ExtensionNotification, Implementation, LoggingLevel,
    LoggingMessageNotificationParams, MetaKeyError, RawObject,
};

use crate::cache::ResultCache;
use crate::client::Client;
use crate::connection::connect::ConnectOptions;
use crate::connection::policy::ReconnectPolicy;
use crate::error::Error;
use crate::incoming::notifications::NotificationHandlers;
use crate::incoming::router::IncomingRouter;
use crate::input::handlers::InputHandlers;
use crate::input::rates::QuestionRates;
use crate::input::tasks::ReceivedTasks;
use crate::request::inner::ClientInner;
use crate::request::reconnector::Reconnector;
use crate::request::service::{
    ClientRequest, ClientResponse, ClientService, LayerService, boxed_service,
};
use crate::server_info::EraPreference;
use crate::tools::invalid_items::InvalidItem;

/// Builds a [`Client`].
#[must_use]
pub struct ClientBuilder {
    info: Implementation,
    pub(crate) input: InputHandlers,
    pub(crate) notifications: NotificationHandlers,
    era: EraPreference,
    limits: ClientLimits,
    timeouts: Timeouts,
    connect_timeout: Duration,
    probe_timeout: Duration,
    reconnect_policy: ReconnectPolicy,
    log_level: Option<LoggingLevel>,
    max_input_rounds: usize,
    trust_tool_hints: bool,
    keep_alive: Option<(Duration, Duration)>,
    layers: Vec<Arc<dyn LayerService>>,
    observer: Option<Arc<dyn MessageObserver>>,
    server_name: Option<String>,
}

impl ClientBuilder {
    pub(crate) fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation::new(name, version),
            input: InputHandlers::default(),
            notifications: NotificationHandlers::default(),
            era: EraPreference::Auto,
            limits: ClientLimits::default(),
            timeouts: Timeouts::default(),
            connect_timeout: Duration::from_secs(30),
            probe_timeout: Duration::from_secs(3),
            reconnect_policy: ReconnectPolicy::default(),
            log_level: None,
            max_input_rounds: 16,
            trust_tool_hints: false,
            keep_alive: None,
            layers: Vec::new(),
            observer: None,
            server_name: None,
        }
    }

    setters! {
        /// Sets the client's full description of itself, with title, icons and website.
        info(info: Implementation) { info = info }

        /// Sets the eras and revisions that may be spoken. Default: any that the server speaks.
        era(era: EraPreference) { era = era }

        /// Sets the timeouts of requests. Default: 60 seconds without a sign of the server, one hour in
        /// all.
        timeouts(timeouts: Timeouts) { timeouts = timeouts }

        /// Sets the time in which a connection has to be ready. Default: 30 seconds.
        connect_timeout(timeout: Duration) { connect_timeout = timeout }

        /// Sets how long a server on a pipe may leave the first, modern request unanswered before a
        /// legacy handshake is tried beside it. The first response decides. Default: 3 seconds.
        probe_timeout(timeout: Duration) { probe_timeout = timeout }

        /// Sets the limits of reconnecting to a server whose connection is lost again and again.
        reconnect_policy(policy: ReconnectPolicy) { reconnect_policy = policy }

        /// Sets the limits of requests in both directions.
        limits(limits: ClientLimits) { limits = limits }

        /// Sets how often a server may ask for input before it answers one request. Default: 16.
        ///
        /// Specification: basic/patterns/mrtr (2026-07-28).
        max_input_rounds(rounds: usize) { max_input_rounds = rounds }

        /// Sets whether calls may become tasks, whose results the client fetches later, and whether a server
        /// of 2025-11-25 may start its questions to the installed handlers as tasks. Default: true.
        ///
        /// Specification: ext-tasks, tasks; basic/utilities/tasks (2025-11-25).
        tasks(on: bool) { input.without_tasks = !on }

        /// Sends a `ping` to a legacy server every `interval` and drops a connection on which the
        /// response takes longer than `timeout`. Default: no pings. The modern era has no such request.
        keep_alive(interval: Duration, timeout: Duration) { keep_alive = Some((interval, timeout)) }

        /// Sets whether results are cached for as long as the server allows. Default: true.
        cache(on: bool) {
            notifications.cache = Arc::new(match on {
                true => ResultCache::default(),
                false => ResultCache::new_disabled(),
            })
        }
    }

    /// Trusts a tool's `readOnlyHint` and `idempotentHint`: such a call is sent again when its
    /// connection was lost. Default: they are not trusted.
    pub fn trust_tool_hints(mut self) -> Self {
        self.trust_tool_hints = true;
        self
    }

    setters! {
        /// Sets the least severe level of log messages that modern requests ask the server for.
        /// Default: no log messages.
        log_level(level: LoggingLevel) { log_level = Some(level) }

        /// Calls `callback` for each valid log message of the server. The callback must not block: the
        /// client reads nothing else meanwhile.
        on_log(callback: impl Fn(LoggingMessageNotificationParams) + Send + Sync + 'static) {
            notifications.on_log = Some(Box::new(move |message, _| callback(message)))
        }

        /// Calls `callback` for each valid log message of the server, instead of that of
        /// [`on_log`](Self::on_log), with the [tag](crate::RequestBuilder::tag) of the request that the
        /// message is about, as far as [`QuestionContext::request_tag`](crate::QuestionContext::request_tag)
        /// has it. The callback must not block: the client reads nothing else meanwhile.
        on_tagged_log(
            callback: impl Fn(LoggingMessageNotificationParams, Option<&RequestTag>)
            + Send
            + Sync
            + 'static
        ) {
            notifications.on_log = Some(Box::new(callback))
        }

        /// Calls `callback` when the server wrote something that is no message, with the number of such
        /// outputs so far and the beginning of this one. The first is logged as a warning in any case.
        on_invalid_message(callback: impl Fn(u64, &str) + Send + Sync + 'static) {
            notifications.on_invalid_message = Some(Box::new(callback))
        }
    }

    /// Calls `callback` for every item that is left out of a list because it is not valid: a tool,
    /// resource, resource template or prompt that does not decode, and a tool that asks for an HTTP
    /// header that cannot be sent (checked only over HTTP in the modern era). The other items of the
    /// list stay. Each such item is logged as a warning in any case. Only the first callback that is
    /// set is called.
    ///
    /// Specification: basic/transports/streamable-http, "Custom Headers from Tool Parameters"
    /// (2026-07-28).
    pub fn on_invalid_item(
        self,
        callback: impl Fn(InvalidItem<'_>) + Send + Sync + 'static,
    ) -> Self {
        let tools = &self.notifications.tools;
        tools.invalid_items.set_callback(Box::new(callback));
        self
    }

    /// Sets the limits of the server's output schemas and of the work for checking results against
    /// them.
    pub fn schema_limits(self, limits: SchemaLimits) -> Self {
        let _ = self.notifications.tools.limits.set(limits);
        self
    }

    /// Declares an extension with its settings, so that the server may use it. Revisions before
    /// 2026-07-28 cannot declare extensions. [`connect`](Self::connect) fails for an id that breaks
    /// the rules, for instance one without a prefix.
    ///
    /// Specification: basic/versioning, "Extension Negotiation" (2026-07-28).
    pub fn extension(mut self, id: impl Into<String>, settings: RawObject) -> Self {
        self.input.extensions.insert(id.into(), settings);
        self
    }

    /// Calls `callback` for each valid notification of an extension. Where the extension has subscriptions,
    /// a [`ChangeFilter`](crate::ChangeFilter::extension) makes the server send them. The callback must not
    /// block: the client reads nothing else meanwhile.
    pub fn on_notification<N: ExtensionNotification>(
        mut self,
        callback: impl Fn(N::Params) + Send + Sync + 'static,
    ) -> Self {
        self.notifications.add_extension::<N>(callback);
        self
    }

    /// Adds a tower layer around the requests of the program, for instance one made by
    /// [`from_fn`](crate::service::from_fn). Of several, the first that is added gets a request first.
    ///
    /// Layers see calls, lists, reads and all other requests that are made with [`Client`], also those
    /// that the cache answers, and the lists of tools that the client reads by itself. They do not
    /// see handshakes, pings and the requests of a [`Subscription`](crate::Subscription); a
    /// [`message_observer`](Self::message_observer) does.
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<ClientService>,
        L::Service:
            Service<ClientRequest, Response = ClientResponse> + Clone + Send + Sync + 'static,
        <L::Service as Service<ClientRequest>>::Error:
            Into<Box<dyn std::error::Error + Send + Sync>> + Send,
        <L::Service as Service<ClientRequest>>::Future: Send + 'static,
    {
        let service = layer.layer(ClientService(()));
        self.layers.push(boxed_service(service));
        self
    }

    /// Sets an observer of all messages of the client, in both directions, for instance to record
    /// them. Default: none.
    pub fn message_observer(mut self, observer: impl MessageObserver) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Sets the name under which errors and questions show the server, instead of its address: where who reads them must not
    /// know the address.
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.server_name = Some(name.into());
        self
    }

    /// Returns the capabilities that the client declares; they follow from the installed handlers.
    #[must_use]
    pub fn capabilities(&self) -> ClientCapabilities {
        self.input.capabilities()
    }

    /// Connects to the server and agrees on a revision.
    ///
    /// # Errors
    /// Returns an [`Error`] if the server cannot be reached or has no revision in common, and
    /// [`Error::InvalidRequest`] if an [`extension`](Self::extension) cannot be declared.
    pub async fn connect(mut self, connector: impl Connector) -> Result<Client, Error> {
        for id in self.input.extensions.keys() {
            match check_extension_id(id) {
                // The reserved prefix belongs to the official extensions, which may be declared.
                Ok(()) | Err(MetaKeyError::Reserved) => {}
                Err(error) => {
                    return Err(Error::InvalidRequest(format!(
                        "the extension {id:?}: {error}"
                    )));
                }
            }
        }
        self.input.rates = Arc::new(QuestionRates::new(&self.limits));
        self.input.tasks = Arc::new(ReceivedTasks::new(&self.limits));
        let connector: Arc<dyn Connector> = Arc::new(connector);
        let name = self.server_name;
        let address = name.unwrap_or_else(|| connector.description());
        let user_waits = connector.user_waits();
        let options = ConnectOptions {
            info: self.info,
            capabilities: self.input.capabilities(),
            era: self.era,
            limits: self.limits.clone(),
            connect_timeout: self.connect_timeout,
            probe_timeout: self.probe_timeout,
            keep_alive: self.keep_alive,
            observer: self.observer,
        };
        let tools = self.notifications.tools.clone();
        let cache = self.notifications.cache.clone();
        let subscriptions = self.notifications.subscriptions.clone();
        let router = Arc::new(IncomingRouter::new(self.input, self.notifications));
        let inner = Arc::new(ClientInner {
            reconnector: Arc::new(Reconnector::new(
                options,
                connector,
                router.clone(),
                self.reconnect_policy,
            )),
            router,
            address,
            tools,
            cache,
            subscriptions,
            timeouts: self.timeouts,
            user_waits,
            seen_user_waits: AtomicU64::new(0),
            log_level: self.log_level,
            max_input_rounds: self.max_input_rounds,
            limits: self.limits,
            trust_tool_hints: self.trust_tool_hints,
            layers: self.layers,
        });
        inner.reconnector.connection().await?;
        Ok(Client { inner })
    }
}

debug_fields!(ClientBuilder { info, era });
