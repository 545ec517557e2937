//! What a client is, can answer and puts up with, before it connects.

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_schema::SchemaLimits;
use turnbuckle_session::{Connector, ConversationLimits, Patience};
use turnbuckle_types::meta::check_extension_id;
use turnbuckle_types::{
    ClientCapabilities, Implementation, LogLevel, LogParams, MetaKeyError, RawObject,
};

use crate::answering::{Answers, Pace};
use crate::cache::Cache;
use crate::client::Shared;
use crate::connect::Opening;
use crate::listening::Listening;
use crate::live::{Lifeline, Reconnects};
use crate::router::Router;
use crate::server::Era;
use crate::{Client, Error};

/// Builds a [`Client`].
#[must_use]
pub struct ClientBuilder {
    info: Implementation,
    pub(crate) answers: Answers,
    pub(crate) listening: Listening,
    era: Era,
    limits: ConversationLimits,
    patience: Patience,
    connect_timeout: Duration,
    probe_timeout: Duration,
    reconnects: Reconnects,
    log_level: Option<LogLevel>,
    max_rounds: usize,
    trusts_hints: bool,
    keep_alive: Option<(Duration, Duration)>,
}

impl ClientBuilder {
    pub(crate) fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation::new(name, version),
            answers: Answers::default(),
            listening: Listening::default(),
            era: Era::Auto,
            limits: ConversationLimits::default(),
            patience: Patience::default(),
            connect_timeout: Duration::from_secs(30),
            probe_timeout: Duration::from_secs(3),
            reconnects: Reconnects::default(),
            log_level: None,
            max_rounds: 16,
            trusts_hints: false,
            keep_alive: None,
        }
    }

    /// Who the client says it is, with everything there is to say.
    pub fn info(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// Which eras and revisions are spoken. Default: whichever the server speaks.
    pub fn era(mut self, era: Era) -> Self {
        self.era = era;
        self
    }

    /// How long a request may wait for its answer, unless it says otherwise. Default: 60 seconds of
    /// silence, one hour in all.
    pub fn patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// How long a connection may take to be ready. Default 30 seconds.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long a server on a pipe may be silent about the first, modern request before a legacy
    /// handshake is tried beside it. Default 3 seconds. Whichever is answered first tells.
    pub fn probe_timeout(mut self, timeout: Duration) -> Self {
        self.probe_timeout = timeout;
        self
    }

    /// How often a server that keeps dying is connected to again.
    pub fn reconnects(mut self, reconnects: Reconnects) -> Self {
        self.reconnects = reconnects;
        self
    }

    /// How much may be going on at once, and how fast the server may ask.
    pub fn limits(mut self, limits: ConversationLimits) -> Self {
        self.limits = limits;
        self
    }

    /// How often a server may ask for input before it answers one request. Default 16.
    ///
    /// Specification: basic/patterns/mrtr (2026-07-28).
    pub fn max_rounds(mut self, rounds: usize) -> Self {
        self.max_rounds = rounds;
        self
    }

    /// Asks a legacy server every so often whether it is there; a connection on which it does not
    /// say so within `timeout` is given up. Default: never. The modern era has no such question.
    pub fn keep_alive(mut self, every: Duration, timeout: Duration) -> Self {
        self.keep_alive = Some((every, timeout));
        self
    }

    /// Whether results are used again for as long as the server says. Default: they are.
    pub fn cache(mut self, on: bool) -> Self {
        self.listening.cache = Arc::new(match on {
            true => Cache::default(),
            false => Cache::off(),
        });
        self
    }

    /// Believes the server where it says that calling a tool again does no harm (`readOnlyHint`,
    /// `idempotentHint`): such a call is repeated when its connection was lost. Default: not.
    pub fn trust_tool_hints(mut self) -> Self {
        self.trusts_hints = true;
        self
    }

    /// From which level on modern requests want the server's log messages. Default: none.
    pub fn log_level(mut self, level: LogLevel) -> Self {
        self.log_level = Some(level);
        self
    }

    /// Hears the server's log messages. It must not take long: nothing else is read meanwhile.
    pub fn on_log(mut self, heard: impl Fn(LogParams) + Send + Sync + 'static) -> Self {
        self.listening.on_log = Some(Box::new(heard));
        self
    }

    /// Hears of what a server wrote that is no message: how much so far, and its beginning. The
    /// first of it is logged as a warning in any case.
    pub fn on_noise(mut self, heard: impl Fn(u64, &str) + Send + Sync + 'static) -> Self {
        self.listening.on_noise = Some(Box::new(heard));
        self
    }

    /// Hears of a tool that is left out of every list, because its definition asks for a header that
    /// cannot be: the tool's name, and what is wrong. It is logged as a warning in any case. Tools
    /// are left out only where headers mirror arguments: over HTTP in the modern era.
    ///
    /// Specification: basic/transports/streamable-http, "Custom Headers from Tool Parameters"
    /// (2026-07-28).
    pub fn on_invalid_tool(self, heard: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        // Whoever came first hears.
        let _ = self.listening.tools.on_invalid.set(Box::new(heard));
        self
    }

    /// The bounds of the server's output schemas, and of the work that results make with them.
    pub fn schema_limits(self, limits: SchemaLimits) -> Self {
        let _ = self.listening.tools.limits.set(limits);
        self
    }

    /// Declares an extension with its settings: the server may then use it. Revisions before
    /// 2026-07-28 have no place for it. An id that breaks the rules, such as one without a prefix, is
    /// told by [`connect`](Self::connect).
    ///
    /// Specification: basic/versioning, "Extension Negotiation" (2026-07-28).
    pub fn extension(mut self, id: impl Into<String>, settings: RawObject) -> Self {
        self.answers.extensions.insert(id.into(), settings);
        self
    }

    /// What the client will say that it can do: it follows from the handlers that are installed.
    #[must_use]
    pub fn capabilities(&self) -> ClientCapabilities {
        self.answers.capabilities()
    }

    /// Connects, and finds out how the server wants to be spoken with.
    ///
    /// # Errors
    /// When it cannot be reached, or there is no revision in common: see [`Error`].
    /// [`Error::Unwritable`] when an [`extension`](Self::extension) cannot be declared.
    pub async fn connect(mut self, connector: impl Connector) -> Result<Client, Error> {
        for id in self.answers.extensions.keys() {
            match check_extension_id(id) {
                // The official extensions are declared like any other.
                Ok(()) | Err(MetaKeyError::Reserved) => {}
                Err(error) => {
                    return Err(Error::Unwritable(format!("the extension {id:?}: {error}")));
                }
            }
        }
        self.answers.pace = Arc::new(Pace::new(&self.limits));
        let connector: Arc<dyn Connector> = Arc::new(connector);
        let address = connector.describe();
        let opening = Opening {
            info: self.info,
            capabilities: self.answers.capabilities(),
            era: self.era,
            limits: self.limits.clone(),
            connect_timeout: self.connect_timeout,
            probe_timeout: self.probe_timeout,
            keep_alive: self.keep_alive,
        };
        let tools = self.listening.tools.clone();
        let cache = self.listening.cache.clone();
        let subscribers = self.listening.subscribers.clone();
        let router = Arc::new(Router::new(self.answers, self.listening));
        let shared = Arc::new(Shared {
            lifeline: Arc::new(Lifeline::new(
                opening,
                connector,
                router.clone(),
                self.reconnects,
            )),
            router,
            address,
            tools,
            cache,
            subscribers,
            patience: self.patience,
            log_level: self.log_level,
            max_rounds: self.max_rounds,
            limits: self.limits,
            trusts_hints: self.trusts_hints,
        });
        shared.lifeline.live().await?;
        Ok(Client { shared })
    }
}

impl std::fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("info", &self.info)
            .field("era", &self.era)
            .finish_non_exhaustive()
    }
}
