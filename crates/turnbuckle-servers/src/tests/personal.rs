//! A server that shows each user other items, and proxies in front of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::sleep;
use turnbuckle_client::{Client, EraPreference};
use turnbuckle_server::{
    CompletionRequest, Prompt, RawArguments, ReadRequest, Resource, Server, ServerBuilder, Tool,
};
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    Connector, Inbox, Link, LinkError, LinkKind, OpenFuture, TransportContext, TransportLink,
    memory_pair, serve,
};
use turnbuckle_types::PromptArgument;

use super::separation::OnBehalfOf;
use super::support::ERAS;
use crate::{Proxy, Servers, ServersBuilder, UpstreamMode, UpstreamOptions};

/// A connector to servers whose items depend on whose connection it is. Each connection has a server of its own.
#[derive(Clone, Default)]
pub(super) struct Personal {
    who: String,
    pub(super) settings: Arc<Settings>,
}

#[derive(Default)]
pub(super) struct Settings {
    /// True if a connection of nobody is refused.
    pub(super) needs_login: bool,
    /// The time that it takes to open a connection of somebody.
    pub(super) delay: Duration,
    pub(super) opened: AtomicUsize,
    pub(super) crash: Mutex<Signal>,
}

impl Personal {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            who: String::new(),
            settings: Arc::new(settings),
        }
    }

    /// Returns the settings of an upstream that is connected for each client by its name.
    pub(super) fn options(&self, mode: UpstreamMode) -> UpstreamOptions {
        let this = self.clone();
        UpstreamOptions::default().mode(mode).connector_for(
            |context| {
                context
                    .principal()
                    .map(|it| it.subject.clone())
                    .unwrap_or_default()
            },
            move |who| {
                Ok::<_, String>(Self {
                    who: who.to_owned(),
                    ..this.clone()
                })
            },
        )
    }

    fn server(&self) -> Server {
        let who = match &*self.who {
            "" => "nobody".to_owned(),
            who => who.to_owned(),
        };
        let (name, prompt, reader) = (who.clone(), who.clone(), who.clone());
        let login = Tool::builder("login").handler(async |server: Server| {
            let later = Tool::builder("later").handler(|| "later");
            server.add_tool(later).map_err(|error| error.to_string())
        });
        let logout = Tool::builder("logout").handler(async |server: Server| {
            server.remove_tool("later");
        });
        Server::new("personal", "1")
            .tool(Tool::builder("name").handler(move || name.clone()))
            .tool(Tool::builder(format!("{who}_tool")).handler(|| "own"))
            .tool(login)
            .tool(logout)
            .prompt(
                Prompt::builder(format!("{who}_prompt"))
                    .arguments([PromptArgument::new("topic")])
                    .complete("topic", move |_: CompletionRequest| vec![prompt.clone()])
                    .handler(|_: RawArguments| "a prompt"),
            )
            .resource(Resource::builder(format!("{who}://all"), "all").handler(|| "all"))
            .resource(
                Resource::builder(format!("{who}://notes/{{id}}"), "note")
                    .complete("id", move |_: CompletionRequest| vec![reader.clone()])
                    .handler(|read: ReadRequest| read.uri),
            )
            .build()
            .unwrap()
    }
}

impl Connector for Personal {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        Box::pin(async move {
            self.settings.opened.fetch_add(1, Ordering::SeqCst);
            match (&*self.who, self.settings.needs_login) {
                ("", true) => {
                    return Err(LinkError::Unauthorized {
                        status: 401,
                        challenge: None,
                        failure: None,
                        body: String::new(),
                    });
                }
                ("", false) => {}
                _ => sleep(self.settings.delay).await,
            }
            let (here, there) = memory_pair();
            let crash = self.settings.crash.lock().unwrap().clone();
            let context = TransportContext::default();
            tokio::spawn(serve(
                self.server(),
                there,
                Limits::default(),
                context,
                crash,
            ));
            let link: Arc<dyn Link> = TransportLink::start(here, inbox, 1 << 20);
            Ok(link)
        })
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        "a server for each user".into()
    }
}

/// Returns every mode in which clients have connections of their own, with the eras of both sides.
pub(super) fn cases() -> impl Iterator<Item = (UpstreamMode, EraPreference, EraPreference)> {
    let modes = [UpstreamMode::PerSession, UpstreamMode::PerPrincipal];
    modes.into_iter().flat_map(|mode| {
        let pairs = ERAS.into_iter();
        pairs.flat_map(move |front| ERAS.map(|behind| (mode, front, behind)))
    })
}

pub(super) fn servers(personal: &Personal, mode: UpstreamMode) -> ServersBuilder {
    let options = personal.options(mode);
    Servers::builder("host", "1")
        .server("one", personal.clone())
        .upstream("one", |_| options)
}

pub(super) async fn proxy(servers: ServersBuilder) -> Proxy {
    servers.proxy(gateway()).await.unwrap()
}

pub(super) fn gateway() -> ServerBuilder {
    Server::new("gateway", "1")
}

pub(super) async fn connect(proxy: &Proxy, name: &'static str, era: EraPreference) -> Client {
    let gateway = OnBehalfOf(name, proxy.server().clone());
    let client = Client::builder("c", "1").era(era);
    client.connect(gateway).await.unwrap()
}

/// Returns the names of the tools that a client sees.
pub(super) async fn tools(client: &Client) -> Vec<String> {
    let tools = client
        .list_tools()
        .bypass_cache()
        .fetch_all()
        .await
        .unwrap();
    tools.into_iter().map(|it| it.name).collect()
}

pub(super) fn is_unknown<T: std::fmt::Debug>(result: Result<T, turnbuckle_client::Error>) -> bool {
    matches!(result, Err(turnbuckle_client::Error::ErrorResponse(error)) if error.code == -32602 || error.code == -32002)
}

/// Calls a tool and returns the text of its result or of its failure.
pub(super) async fn call(client: &Client, tool: &str) -> String {
    match client.call_tool(tool, &()).await {
        Ok(result) => result.text().into_owned(),
        Err(error) => error.to_string(),
    }
}
