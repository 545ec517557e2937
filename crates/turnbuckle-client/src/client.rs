//! A client, and what its user asks of the server.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use turnbuckle_session::{Ask, ConversationLimits, Patience, Verbatim};
use turnbuckle_types::method::{
    CallTool, Complete, GetPrompt, ListTools, Ping, ReadResource, SetLevel,
};
use turnbuckle_types::{
    CallToolParams, CompleteParams, CompletionArgument, GetPromptParams, Json, LogLevel,
    PaginatedParams, RawObject, ReadResourceParams, Reference, Request, RequestParams,
    SetLevelParams, undecoded,
};
use turnbuckle_wire::revision::Features;

use crate::cache::Cache;
use crate::call::{Call, Options};
use crate::clock::Clock;
use crate::live::Lifeline;
use crate::method::ServerMethod;
use crate::page::List;
use crate::router::Router;
use crate::server::ServerInfo;
use crate::subscription::Subscribers;
use crate::tools::Tools;
use crate::{ClientBuilder, Error};

/// A client of one server. Cheap to clone; the connection ends with the last clone, or politely
/// with [`Client::close`].
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) lifeline: Arc<Lifeline>,
    pub(crate) router: Arc<Router>,
    pub(crate) address: String,
    pub(crate) tools: Arc<Tools>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) patience: Patience,
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) max_rounds: usize,
    pub(crate) limits: ConversationLimits,
    /// Whether what the server says of its tools' harmlessness is believed.
    pub(crate) trusts_hints: bool,
}

impl Client {
    /// A client that says it is `name`, `version`.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(name, version)
    }

    /// What the server said of itself in the connection that there is, or was last.
    #[must_use]
    pub fn server(&self) -> Option<Arc<ServerInfo>> {
        Some(self.shared.lifeline.current()?.server.clone())
    }

    /// The server's address, for people.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.shared.address
    }

    /// A request of any method that the protocol knows. What it ends in when it is awaited is told
    /// at [`Call::send`].
    pub fn request<M: ServerMethod>(&self, params: M::Params) -> Call<M> {
        Call::new(self.shared.clone(), params)
    }

    /// Calls a tool with arguments that are a JSON object, or with none (`&()`). Arguments that are
    /// anything else are told when the call is made.
    ///
    /// Specification: server/tools, "Calling Tools" (2026-07-28).
    pub fn call<A: Serialize + ?Sized>(
        &self,
        tool: impl Into<String>,
        arguments: &A,
    ) -> Call<CallTool> {
        let mut params = CallToolParams::new(tool);
        let fault = match Json::of(arguments) {
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
        Call::new(self.shared.clone(), params).or_fault(fault)
    }

    /// Reads a resource.
    ///
    /// Specification: server/resources, "Reading Resources" (2026-07-28).
    pub fn read(&self, uri: impl Into<String>) -> Call<ReadResource> {
        self.request(ReadResourceParams::new(uri))
    }

    /// Fills in a prompt.
    ///
    /// Specification: server/prompts, "Getting a Prompt" (2026-07-28).
    pub fn prompt<K, V>(
        &self,
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = (K, V)>,
    ) -> Call<GetPrompt>
    where
        K: Into<Box<str>>,
        V: Into<String>,
    {
        let mut params = GetPromptParams::new(name);
        for (name, value) in arguments {
            let value: String = value.into();
            params.arguments.insert(name, value);
        }
        self.request(params)
    }

    /// Asks for suggestions for the value of an argument of a prompt or a resource template, of
    /// which `value` was typed so far.
    ///
    /// Specification: server/utilities/completion (2026-07-28).
    pub fn complete(
        &self,
        reference: impl Into<Reference>,
        argument: impl Into<String>,
        value: impl Into<String>,
    ) -> Call<Complete> {
        let argument = CompletionArgument::new(argument, value);
        self.request(CompleteParams::new(reference, argument))
    }

    /// Asks whether the server is there: `ping` in the legacy era, which the modern one has not
    /// ([`Error::Unsupported`]).
    ///
    /// Specification: basic/utilities/ping (2025-11-25).
    pub fn ping(&self) -> Call<Ping> {
        self.request(RequestParams::new())
    }

    /// Says from which level on the server's log messages are wanted: in the legacy era for the
    /// session. In the modern era each request says so itself: see
    /// [`Call::log_level`] and [`ClientBuilder::log_level`].
    ///
    /// Specification: server/utilities/logging (2025-11-25).
    pub fn set_log_level(&self, level: LogLevel) -> Call<SetLevel> {
        self.request(SetLevelParams::new(level))
    }

    /// Makes a request of any method, known to the protocol or not, and returns its result as it
    /// came. It is sent once: nothing is asked back, checked, kept or repeated. `timeout` is how long
    /// it may take in all, connecting included; by default the client's patience holds.
    ///
    /// # Errors
    /// When there is no result: see [`Error`].
    pub async fn raw(
        &self,
        method: &str,
        params: Option<RawObject>,
        timeout: Option<Duration>,
    ) -> Result<Json, Error> {
        let clock = Clock::start(timeout.map_or(self.shared.patience, Patience::at_most));
        let live = self.shared.live(clock).await?;
        let params = params.map(Verbatim);
        let mut ask = Ask::new(method, params.as_ref(), &live.speaks);
        ask.patience = clock.patience;
        ask.since = Some(clock.began);
        let raw = self.shared.asked(&live, ask).await?;
        serde_json::from_str(raw.as_str()).map_err(|error| Error::InvalidResult {
            method: method.to_owned(),
            reason: undecoded(&error),
        })
    }

    /// Says goodbye to the server and waits until nothing of the connection is left. A command that
    /// was run is ended. Requests that wait fail with [`Error::Closed`] or [`Error::Lost`].
    pub async fn close(&self) {
        self.shared.lifeline.close().await;
    }

    /// How many requests wait for the server, and how many of the server's are being answered.
    #[doc(hidden)]
    #[must_use]
    pub fn in_flight(&self) -> (usize, usize) {
        let live = self.shared.lifeline.current();
        live.map_or((0, 0), |live| live.conversation.in_flight())
    }

    /// What holds in the revision that is spoken right now.
    #[must_use]
    pub fn features(&self) -> Option<&'static Features> {
        Some(self.server()?.revision.features())
    }
}

/// Listing tools is a request, which may be due while one is made.
type Learning = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

impl Shared {
    /// Whether a tool may be called again when it is not known whether the server acted.
    pub(crate) fn is_safe<M: ServerMethod>(&self, params: &M::Params) -> bool {
        M::METHOD == CallTool::METHOD
            && self.trusts_hints
            && M::about(params)
                .name
                .is_some_and(|tool| self.tools.is_repeatable(tool))
    }

    /// Lists every tool anew, for what their definitions say.
    pub(crate) fn learn_tools(self: &Arc<Self>, options: &Options) -> Learning {
        let options = Options {
            fresh: true,
            patience: options.patience,
            ..Options::default()
        };
        let call = Call::<ListTools>::new(self.clone(), PaginatedParams::new());
        let list = List::of(call.with_options(options));
        Box::pin(async move { list.all().await.map(drop) })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.lifeline.end();
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.shared.address)
            .finish_non_exhaustive()
    }
}
