//! Changes on the connections that clients have for themselves.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use turnbuckle_client::{ChangeFilter, EraPreference, Subscription};
use turnbuckle_server::{ReadRequest, Resource, Server, Tool};
use turnbuckle_session::handler::{Change, Limits, Signal};
use turnbuckle_session::transport::{
    Connector, Inbox, Link, LinkKind, OpenFuture, TransportContext, TransportLink, memory_pair,
    serve,
};

use super::personal::connect;
use super::support::{ERAS, speak};
use crate::{Proxy, Servers, UpstreamMode};

const URI: &str = "one+notes://1";

/// A connector that opens each connection to a server of its own, as that to a command does.
#[derive(Clone, Default)]
struct Separate {
    servers: Arc<Mutex<Vec<Server>>>,
    crash: Arc<Mutex<Signal>>,
}

impl Separate {
    /// Returns the resources that are watched at each of the servers.
    fn subscriptions(&self) -> Vec<Vec<String>> {
        let servers = self.servers.lock().unwrap();
        servers.iter().map(Server::subscribed_resources).collect()
    }

    /// Waits until this number of servers has a resource that is watched.
    async fn until_watched(&self, count: usize) {
        let all = async {
            while self
                .subscriptions()
                .iter()
                .filter(|it| !it.is_empty())
                .count()
                != count
            {
                sleep(Duration::from_millis(1)).await;
            }
        };
        let watched = timeout(Duration::from_secs(5), all).await;
        watched.unwrap_or_else(|_| panic!("{:?} and not {count}", self.subscriptions()));
    }
}

impl Connector for Separate {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        let touch = Tool::builder("touch").handler(async |server: Server| {
            server.notify_resource_updated("notes://1");
        });
        let grow = Tool::builder("grow").handler(async |server: Server| {
            let _ = server.add_tool(Tool::builder("new").handler(|| "new"));
        });
        let note = Resource::builder("notes://{id}", "note").handler(|read: ReadRequest| read.uri);
        let server = Server::new("separate", "1");
        let server = server.tool(touch).tool(grow).resource(note);
        let server = server.build().unwrap();
        self.servers.lock().unwrap().push(server.clone());
        let (here, there) = memory_pair();
        let crash = self.crash.lock().unwrap().clone();
        let context = TransportContext::default();
        tokio::spawn(serve(server, there, Limits::default(), context, crash));
        let link: Arc<dyn Link> = TransportLink::start(here, inbox, 1 << 20);
        Box::pin(std::future::ready(Ok(link)))
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        "a server of its own".into()
    }
}

async fn proxy(separate: &Separate, mode: UpstreamMode, behind: EraPreference) -> Proxy {
    Servers::builder("host", "1")
        .server("one", separate.clone())
        .upstream("one", |options| options.mode(mode))
        .clients(speak(behind))
        .proxy(Server::new("gateway", "1"))
        .await
        .unwrap()
}

/// Returns the change that a subscriber is told of within a second.
async fn next(subscription: &mut Subscription) -> Option<Change> {
    let next = timeout(Duration::from_secs(1), subscription.next()).await;
    next.ok().flatten()
}

/// Returns every mode in which clients have connections of their own, with the eras of both sides.
fn cases() -> impl Iterator<Item = (UpstreamMode, EraPreference, EraPreference)> {
    let modes = [UpstreamMode::PerSession, UpstreamMode::PerPrincipal];
    modes.into_iter().flat_map(|mode| {
        let pairs = ERAS.into_iter();
        pairs.flat_map(move |front| ERAS.map(|behind| (mode, front, behind)))
    })
}

#[tokio::test(start_paused = true)]
async fn updates_of_a_resource_come_from_the_connection_of_the_client_to_that_client() {
    for (mode, front, behind) in cases() {
        let case = format!("{mode:?} {front:?} {behind:?}");
        let separate = Separate::default();
        let proxy = proxy(&separate, mode, behind).await;
        let (ann, bob) = (
            connect(&proxy, "ann", front).await,
            connect(&proxy, "bob", front).await,
        );
        let filter = || ChangeFilter::new().resource(URI);
        // The subscription opens the connection.
        let mut of_ann = ann.subscribe(filter()).await.unwrap();
        let mut of_bob = bob.subscribe(filter()).await.unwrap();
        ann.call_tool("one__touch", &()).await.unwrap();
        let updated = Some(Change::Resource(URI.into()));
        assert_eq!(next(&mut of_ann).await, updated, "{case}");
        assert_eq!(next(&mut of_bob).await, None, "{case}");
        bob.call_tool("one__touch", &()).await.unwrap();
        assert_eq!(next(&mut of_bob).await, updated, "{case}");
        // The end of a subscription reaches the server too.
        drop(of_bob);
        separate.until_watched(1).await;
        ann.call_tool("one__touch", &()).await.unwrap();
        assert_eq!(next(&mut of_ann).await, updated, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_list_of_a_clients_connection_is_told_to_that_client() {
    for (mode, front, behind) in cases() {
        let case = format!("{mode:?} {front:?} {behind:?}");
        let separate = Separate::default();
        let proxy = proxy(&separate, mode, behind).await;
        let (ann, bob) = (
            connect(&proxy, "ann", front).await,
            connect(&proxy, "bob", front).await,
        );
        let filter = || ChangeFilter::new().tools();
        let mut of_ann = ann.subscribe(filter()).await.unwrap();
        let mut of_bob = bob.subscribe(filter()).await.unwrap();
        for client in [&ann, &bob] {
            client.call_tool("one__touch", &()).await.unwrap();
        }
        sleep(Duration::from_secs(1)).await;
        ann.call_tool("one__grow", &()).await.unwrap();
        assert_eq!(next(&mut of_ann).await, Some(Change::Tools), "{case}");
        assert_eq!(next(&mut of_bob).await, None, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_resource_is_watched_again_on_the_next_connection_of_its_client() {
    for (mode, front, behind) in cases() {
        let separate = Separate::default();
        let proxy = proxy(&separate, mode, behind).await;
        let ann = connect(&proxy, "ann", front).await;
        let mut updates = ann
            .subscribe(ChangeFilter::new().resource(URI))
            .await
            .unwrap();
        separate.until_watched(1).await;
        std::mem::take(&mut *separate.crash.lock().unwrap()).cancel();
        sleep(Duration::from_secs(30)).await;
        ann.call_tool("one__touch", &()).await.unwrap();
        separate.until_watched(1).await;
        ann.call_tool("one__touch", &()).await.unwrap();
        let updated = Some(Change::Resource(URI.into()));
        assert_eq!(
            next(&mut updates).await,
            updated,
            "{mode:?} {front:?} {behind:?}"
        );
    }
}
