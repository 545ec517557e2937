//! The connections of a proxy's clients to one server: who shares one, how many there are, and when they end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::sleep;
use turnbuckle_client::{Client, EraPreference};
use turnbuckle_server::{Cancellation, HandlerContext, Server, Tool};
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    Connector, Inbox, Link, LinkKind, OpenFuture, TransportContext, TransportLink, memory_pair,
    serve,
};

use super::separation::OnBehalfOf;
use super::support::{ERAS, speak, tool_names};
use crate::{InProcess, Proxy, ServerState, Servers, UpstreamMode, UpstreamOptions};

/// A connector to servers that tell which connection they are at.
#[derive(Clone, Default)]
struct Numbered {
    name: &'static str,
    opened: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    most_open: Arc<AtomicUsize>,
    most_calls: Arc<AtomicUsize>,
    /// Ends all connections that are open.
    crash: Arc<std::sync::Mutex<Signal>>,
}

impl Numbered {
    fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    fn crash(&self) {
        std::mem::take(&mut *self.crash.lock().unwrap()).cancel();
    }

    /// Returns the server at a connection of this number.
    fn server(&self, number: usize) -> Server {
        let text = format!("{}{number}", self.name);
        let tell = Tool::builder("tell").handler(move || text.clone());
        let (calls, most) = (Arc::new(AtomicUsize::new(0)), self.most_calls.clone());
        let work = Tool::builder("work").handler(move || {
            let (calls, most) = (calls.clone(), most.clone());
            async move {
                most.fetch_max(calls.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                sleep(Duration::from_secs(1)).await;
                calls.fetch_sub(1, Ordering::SeqCst);
            }
        });
        let wait = Tool::builder("wait").handler(async |cancellation: Cancellation| {
            cancellation.cancelled().await;
        });
        let hang = Tool::builder("hang").handler(std::future::pending::<()>);
        let server = Server::new("numbered", "1")
            .tool(hang)
            .tool(tell)
            .tool(work)
            .tool(wait);
        server.build().unwrap()
    }
}

impl Connector for Numbered {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        let number = self.opened.fetch_add(1, Ordering::SeqCst);
        let count = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_open.fetch_max(count, Ordering::SeqCst);
        let (here, there) = memory_pair();
        let crash = self.crash.lock().unwrap().clone();
        let (server, open) = (self.server(number), self.open.clone());
        let serving = serve(
            server,
            there,
            Limits::default(),
            TransportContext::default(),
            crash,
        );
        tokio::spawn(async move {
            let _ = serving.await;
            open.fetch_sub(1, Ordering::SeqCst);
        });
        let link: Arc<dyn Link> = TransportLink::start(here, inbox, 1 << 20);
        Box::pin(std::future::ready(Ok(link)))
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        "numbered connections".into()
    }
}

async fn proxy(numbered: &Numbered, options: UpstreamOptions) -> Proxy {
    let servers = Servers::builder("host", "1").server("one", numbered.clone());
    let servers = servers.upstream("one", |_| options);
    servers.proxy(Server::new("gateway", "1")).await.unwrap()
}

fn mode(mode: UpstreamMode) -> UpstreamOptions {
    UpstreamOptions::default().mode(mode)
}

/// Returns a client that is somebody, in the newest revision of an era.
async fn client_of(proxy: &Proxy, principal: &'static str, era: EraPreference) -> Client {
    let gateway = OnBehalfOf(principal, proxy.server().clone());
    let client = Client::builder("c", "1").era(era).connect(gateway);
    client.await.unwrap()
}

/// Returns the name of the connection that a client's call reaches.
async fn connection_of(client: &Client) -> String {
    client
        .call_tool("one__tell", &())
        .await
        .unwrap()
        .text()
        .into_owned()
}

async fn failure(client: &Client) -> String {
    let result = client.call_tool("one__tell", &()).await;
    match result {
        Ok(result) => result.text().into_owned(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test(start_paused = true)]
async fn each_session_has_a_connection_which_ends_with_it() {
    let numbered = Numbered::default();
    let proxy = proxy(&numbered, mode(UpstreamMode::PerSession)).await;
    let ann = client_of(&proxy, "ann", EraPreference::Legacy).await;
    let again = client_of(&proxy, "ann", EraPreference::Legacy).await;
    let (first, second) = (connection_of(&ann).await, connection_of(&again).await);
    assert_ne!(first, second);
    assert_eq!(connection_of(&ann).await, first);
    // One more has the lists.
    assert_eq!(numbered.open(), 3);
    again.close().await;
    drop(again);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(numbered.open(), 2);
    assert_eq!(connection_of(&ann).await, first);
}

#[tokio::test(start_paused = true)]
async fn a_connection_ends_with_its_session_although_the_server_leaves_a_cancelled_call_open() {
    for behind in ERAS {
        let numbered = Numbered::default();
        let servers = Servers::builder("host", "1")
            .server("one", numbered.clone())
            .upstream("one", |_| mode(UpstreamMode::PerSession))
            .clients(speak(behind));
        let proxy = servers.proxy(Server::new("gateway", "1")).await.unwrap();
        let ann = client_of(&proxy, "ann", EraPreference::Legacy).await;
        for tool in ["one__hang", "one__wait"] {
            let call = ann.call_tool(tool, &());
            tokio::spawn(async move { call.await });
        }
        sleep(Duration::from_secs(1)).await;
        // One has the lists.
        assert_eq!(numbered.open(), 2, "{behind:?}");
        ann.close().await;
        drop(ann);
        sleep(Duration::from_secs(5)).await;
        assert_eq!(numbered.open(), 1, "{behind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_without_sessions_has_a_connection_by_its_principal() {
    let numbered = Numbered::default();
    let proxy = proxy(&numbered, mode(UpstreamMode::PerSession)).await;
    let ann = client_of(&proxy, "ann", EraPreference::Modern).await;
    let again = client_of(&proxy, "ann", EraPreference::Modern).await;
    let bob = client_of(&proxy, "bob", EraPreference::Modern).await;
    assert_eq!(connection_of(&ann).await, connection_of(&again).await);
    assert_ne!(connection_of(&ann).await, connection_of(&bob).await);
}

#[tokio::test(start_paused = true)]
async fn each_principal_has_a_connection_and_nobody_else() {
    for era in ERAS {
        let numbered = Numbered::default();
        let proxy = proxy(&numbered, mode(UpstreamMode::PerPrincipal)).await;
        let ann = client_of(&proxy, "ann", era).await;
        let again = client_of(&proxy, "ann", era).await;
        let bob = client_of(&proxy, "bob", era).await;
        assert_eq!(
            connection_of(&ann).await,
            connection_of(&again).await,
            "{era:?}"
        );
        assert_ne!(
            connection_of(&ann).await,
            connection_of(&bob).await,
            "{era:?}"
        );
        let gateway = InProcess::new(proxy.server().clone());
        let nobody = Client::builder("c", "1")
            .era(era)
            .connect(gateway)
            .await
            .unwrap();
        let refused = failure(&nobody).await;
        assert!(refused.contains("per-principal"), "{refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pool_has_so_many_connections_with_a_call_each() {
    let numbered = Numbered::default();
    let proxy = proxy(&numbered, mode(UpstreamMode::Pool(3))).await;
    let mut calls = Vec::new();
    for principal in ["ann", "bob", "cid", "dan"] {
        let client = client_of(&proxy, principal, EraPreference::Modern).await;
        for _ in 0..5 {
            let call = client.call_tool("one__work", &());
            calls.push(tokio::spawn(async move { call.await }));
        }
    }
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(numbered.most_open.load(Ordering::SeqCst), 3);
    assert_eq!(numbered.most_calls.load(Ordering::SeqCst), 1);
    // The connection for the lists stays.
    sleep(Duration::from_secs(11 * 60)).await;
    assert_eq!(numbered.open(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_and_opened_again_by_the_next_call() {
    let numbered = Numbered::default();
    let options = mode(UpstreamMode::Shared).idle_timeout(Duration::from_secs(60));
    let proxy = proxy(&numbered, options).await;
    let client = client_of(&proxy, "ann", EraPreference::Legacy).await;
    assert_eq!(connection_of(&client).await, "0");
    let waiting = client.call_tool("one__wait", &());
    let waiting = tokio::spawn(async move { waiting.await });
    // A call is a use.
    sleep(Duration::from_secs(45)).await;
    assert_eq!(numbered.open(), 1);
    waiting.abort();
    sleep(Duration::from_secs(90)).await;
    assert_eq!(numbered.open(), 0);
    assert_eq!(proxy.servers().status()[0].state, ServerState::Idle);
    assert_eq!(tool_names(proxy.servers()).len(), 4);
    assert_eq!(client.list_tools().fetch_all().await.unwrap().len(), 4);
    assert_eq!(numbered.open(), 0);
    assert_eq!(connection_of(&client).await, "1");
    sleep(Duration::from_secs(90)).await;
    assert_eq!(numbered.open(), 0);
    // So does a request of the host itself.
    let told = proxy.servers().call_tool("one__tell", &()).await.unwrap();
    assert_eq!(told.text(), "2");
}

#[tokio::test(start_paused = true)]
async fn the_spare_connection_for_lists_is_closed_soon() {
    let numbered = Numbered::default();
    let options = mode(UpstreamMode::PerSession).idle_timeout(Duration::from_secs(60));
    let proxy = proxy(&numbered, options).await;
    let client = client_of(&proxy, "ann", EraPreference::Legacy).await;
    assert_eq!(connection_of(&client).await, "1");
    sleep(Duration::from_secs(10)).await;
    assert_eq!(numbered.open(), 1);
    assert_eq!(connection_of(&client).await, "1");
    sleep(Duration::from_secs(70)).await;
    assert_eq!(numbered.open(), 0);
    assert_eq!(connection_of(&client).await, "2");
}

#[tokio::test(start_paused = true)]
async fn connections_have_a_bound_for_each_server_and_in_all() {
    for in_all in [false, true] {
        let numbered = Numbered::default();
        let options = mode(UpstreamMode::PerPrincipal);
        let mut servers = Servers::builder("host", "1").server("one", numbered.clone());
        servers = match in_all {
            false => servers.upstream("one", |_| options.max_connections(2)),
            true => servers
                .upstream("one", |_| options)
                .limits(crate::ServersLimits::default().max_connections(2)),
        };
        let proxy = servers.proxy(Server::new("gateway", "1")).await.unwrap();
        let ann = client_of(&proxy, "ann", EraPreference::Modern).await;
        let bob = client_of(&proxy, "bob", EraPreference::Modern).await;
        let cid = client_of(&proxy, "cid", EraPreference::Modern).await;
        let (first, second) = (connection_of(&ann).await, connection_of(&bob).await);
        let refused = failure(&cid).await;
        assert!(refused.contains("max_connections"), "{refused}");
        assert_eq!(
            (connection_of(&ann).await, connection_of(&bob).await),
            (first, second)
        );
        // An idle connection makes room.
        sleep(Duration::from_secs(11 * 60)).await;
        assert_eq!(connection_of(&cid).await, "3");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_fails_what_ran_and_is_opened_again_after_growing_delays() {
    let numbered = Numbered::default();
    let proxy = proxy(&numbered, mode(UpstreamMode::PerPrincipal)).await;
    let ann = client_of(&proxy, "ann", EraPreference::Modern).await;
    connection_of(&ann).await;
    let mut delays = BTreeSet::new();
    for _ in 0..3 {
        let waiting = ann.call_tool("one__wait", &());
        let waiting = tokio::spawn(async move { waiting.await });
        sleep(Duration::from_millis(100)).await;
        numbered.crash();
        let lost = waiting.await.unwrap();
        let lost = lost.map_or_else(
            |error| error.to_string(),
            |result| result.text().into_owned(),
        );
        assert!(lost.contains("one:"), "{lost}");
        sleep(Duration::from_millis(100)).await;
        let begun = tokio::time::Instant::now();
        connection_of(&ann).await;
        delays.insert(begun.elapsed().as_secs_f64().round() as u64);
    }
    assert_eq!(delays, BTreeSet::from([1, 2, 4]));
}

#[tokio::test(start_paused = true)]
async fn requests_with_different_settings_share_no_connection() {
    let numbered = Numbered::default();
    let settings = |context: &HandlerContext| {
        let meta = context.meta().and_then(|meta| meta.get::<String>("color"));
        meta.unwrap_or_default()
    };
    let of_color = numbered.clone();
    let options =
        mode(UpstreamMode::PerPrincipal).connector_for(settings, move |color| match color {
            "red" => Ok(Numbered {
                name: "red",
                ..of_color.clone()
            }),
            "" => Ok(of_color.clone()),
            _ => Err("no such color"),
        });
    let proxy = proxy(&numbered, options).await;
    let ann = client_of(&proxy, "ann", EraPreference::Modern).await;
    let colored = async |color: &str| {
        let mut call = ann.call_tool("one__tell", &());
        call.params_mut().meta.set("color", color).unwrap();
        match call.await {
            Ok(result) => result.text().into_owned(),
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(connection_of(&ann).await, "1");
    assert_eq!(colored("red").await, "red2");
    assert_eq!(connection_of(&ann).await, "1");
    let refused = colored("blue").await;
    assert!(refused.contains("no such color"), "{refused}");
}
