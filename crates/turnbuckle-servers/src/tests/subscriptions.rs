//! Subscriptions of clients to resources behind a proxy, which are answered when the server has answered.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use turnbuckle_client::{ChangeFilter, Client, EraPreference, Error, Subscription};
use turnbuckle_server::{ReadRequest, Resource, Server};
use turnbuckle_session::handler::Change;
use turnbuckle_types::{Audit, AuditOutcome, AuditRecord, ProtocolError};

use super::personal::connect;
use super::support::{ERAS, speak};
use crate::{InProcess, Proxy, Rule, ServerState, Servers, UpstreamMode, UpstreamOptions};

const URI: &str = "one+notes://1";

/// The time in which the server answers.
const DELAY: Duration = Duration::from_secs(3);

const MODES: [UpstreamMode; 4] = [
    UpstreamMode::Shared,
    UpstreamMode::PerSession,
    UpstreamMode::PerPrincipal,
    UpstreamMode::Pool(2),
];

/// Returns a server that answers each subscription to a resource after [`DELAY`], and how many there were. It refuses
/// `notes://2`, and never answers for `notes://3`.
fn origin() -> (Server, Arc<AtomicUsize>) {
    let note = Resource::builder("notes://{id}", "note").handler(|read: ReadRequest| read.uri);
    let server = Server::new("origin", "1").resource(note).build().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    server.on_subscription(move |_, _, uris| {
        counted.fetch_add(uris.len(), Ordering::SeqCst);
        async move {
            let mut refused = Vec::new();
            for uri in uris {
                sleep(DELAY).await;
                match &*uri {
                    "notes://2" => {
                        let error = ProtocolError::invalid_params("not this one");
                        refused.push((uri, error.with_data(&7)));
                    }
                    "notes://3" => std::future::pending().await,
                    _ => {}
                }
            }
            refused
        }
    });
    (server, count)
}

async fn proxy(origin: &Server, options: UpstreamOptions, behind: EraPreference) -> Proxy {
    Servers::builder("host", "1")
        .server("one", InProcess::new(origin.clone()))
        .upstream("one", |_| options)
        .clients(speak(behind))
        .proxy(Server::new("gateway", "1"))
        .await
        .unwrap()
}

async fn subscribe(client: &Client, uris: &[&'static str]) -> Result<Subscription, Error> {
    let filter = ChangeFilter::new();
    let filter = uris
        .iter()
        .fold(filter, |filter, uri| filter.resource(*uri));
    client.subscribe(filter).await
}

/// Returns every mode, with the eras of both sides.
fn cases() -> impl Iterator<Item = (UpstreamMode, EraPreference, EraPreference)> {
    MODES.into_iter().flat_map(|mode| {
        let pairs = ERAS.into_iter();
        pairs.flat_map(move |front| ERAS.map(|behind| (mode, front, behind)))
    })
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_answered_when_the_server_has_answered() {
    for (mode, front, behind) in cases() {
        let case = format!("{mode:?} {front:?} {behind:?}");
        let (origin, count) = origin();
        let proxy = proxy(&origin, UpstreamOptions::default().mode(mode), behind).await;
        let ann = connect(&proxy, "ann", front).await;
        let begun = Instant::now();
        let mut of_ann = subscribe(&ann, &[URI]).await.unwrap();
        assert!(begun.elapsed() >= DELAY, "{case}");
        // Nothing lies between the answer and the update.
        origin.notify_resource_updated("notes://1");
        let updated = timeout(DELAY, of_ann.next()).await;
        assert_eq!(updated, Ok(Some(Change::Resource(URI.into()))), "{case}");
        assert_eq!(count.load(Ordering::SeqCst), 1, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn clients_that_share_a_connection_wait_for_one_answer() {
    for front in ERAS {
        let (origin, count) = origin();
        let options = UpstreamOptions::default();
        let proxy = proxy(&origin, options, EraPreference::Legacy).await;
        let (ann, bob) = (
            connect(&proxy, "ann", front).await,
            connect(&proxy, "bob", front).await,
        );
        let begun = Instant::now();
        let both = tokio::join!(subscribe(&ann, &[URI]), async {
            sleep(DELAY / 2).await;
            subscribe(&bob, &[URI]).await
        });
        assert!(both.0.is_ok() && both.1.is_ok(), "{front:?}");
        let first = begun.elapsed();
        assert!(first >= DELAY && first < DELAY * 3 / 2, "{front:?}");
        // A third one need not wait.
        let eve = connect(&proxy, "eve", front).await;
        let _of_eve = subscribe(&eve, &[URI]).await.unwrap();
        assert!(begun.elapsed() < DELAY * 3 / 2, "{front:?}");
        assert_eq!(count.load(Ordering::SeqCst), 1, "{front:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_legacy_client_reads_the_error_of_the_server() {
    for mode in MODES {
        let (origin, _) = origin();
        let options = UpstreamOptions::default().mode(mode);
        let proxy = proxy(&origin, options, EraPreference::Legacy).await;
        let ann = connect(&proxy, "ann", EraPreference::Legacy).await;
        let refused = subscribe(&ann, &["one+notes://2"]).await;
        let Err(Error::ErrorResponse(error)) = refused else {
            panic!("{mode:?}: {refused:?}");
        };
        assert_eq!((error.code, &*error.message), (-32602, "not this one"));
        assert_eq!(error.data.unwrap().as_str(), "7", "{mode:?}");
        // Nobody is subscribed then.
        assert!(proxy.server().subscribed_resources().is_empty(), "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_modern_client_is_subscribed_to_what_the_server_accepts() {
    for (mode, _, behind) in cases() {
        let case = format!("{mode:?} {behind:?}");
        let (origin, _) = origin();
        let proxy = proxy(&origin, UpstreamOptions::default().mode(mode), behind).await;
        let ann = connect(&proxy, "ann", EraPreference::Modern).await;
        let subscription = subscribe(&ann, &[URI, "one+notes://2"]).await.unwrap();
        let accepted = subscription.acknowledged_filter().changes();
        assert_eq!(accepted, [Change::Resource(URI.into())], "{case}");
        assert_eq!(proxy.server().subscribed_resources(), [URI], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_of_requests_bounds_the_wait() {
    for (mode, _, behind) in cases() {
        let case = format!("{mode:?} {behind:?}");
        let (origin, _) = origin();
        let options = UpstreamOptions::default().mode(mode);
        let options = options.total_timeout(DELAY * 2);
        let proxy = proxy(&origin, options, behind).await;
        let ann = connect(&proxy, "ann", EraPreference::Legacy).await;
        let begun = Instant::now();
        let late = subscribe(&ann, &["one+notes://3"]).await;
        let waited = begun.elapsed();
        assert!(
            waited >= DELAY * 2 && waited < DELAY * 3,
            "{case}: {waited:?}"
        );
        let Err(Error::ErrorResponse(error)) = late else {
            panic!("{case}: {late:?}");
        };
        assert!(error.message.contains("one: "), "{case}: {error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscription_opens_the_connection_of_an_idle_server() {
    for front in ERAS {
        let (origin, _) = origin();
        let options = UpstreamOptions::default().idle_timeout(Duration::from_secs(5));
        let proxy = proxy(&origin, options, EraPreference::Modern).await;
        let ann = connect(&proxy, "ann", front).await;
        let state = || proxy.servers().status()[0].state;
        sleep(Duration::from_secs(10)).await;
        assert_eq!(state(), ServerState::Idle, "{front:?}");
        let _subscription = subscribe(&ann, &[URI]).await.unwrap();
        assert_eq!(state(), ServerState::Ready, "{front:?}");
        // The subscription alone keeps it open no longer than requests do.
        sleep(Duration::from_secs(10)).await;
        assert_eq!(state(), ServerState::Idle, "{front:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_is_given_up_ends() {
    let (origin, _) = origin();
    let options = UpstreamOptions::default();
    let proxy = proxy(&origin, options, EraPreference::Legacy).await;
    let ann = connect(&proxy, "ann", EraPreference::Legacy).await;
    let given_up = timeout(DELAY / 2, subscribe(&ann, &[URI])).await;
    assert!(given_up.is_err());
    sleep(DELAY * 10).await;
    assert!(proxy.server().subscribed_resources().is_empty());
    assert!(origin.subscribed_resources().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_resource_of_the_proxy_itself_is_no_resource_of_a_server() {
    for front in ERAS {
        let (origin, count) = origin();
        let own =
            |uri: &'static str| Resource::builder(uri, "own").handler(|read: ReadRequest| read.uri);
        let server = Server::new("gateway", "1");
        let server = server
            .resource(own("own://1"))
            .resource(own("own://of/{id}"));
        let proxy = Servers::builder("host", "1")
            .server("one", InProcess::new(origin.clone()))
            // All URIs could be of this server.
            .prefix("one", "")
            .proxy(server)
            .await
            .unwrap();
        let ann = connect(&proxy, "ann", front).await;
        let mut subscription = subscribe(&ann, &["own://1", "own://of/2"]).await.unwrap();
        proxy.server().notify_resource_updated("own://of/2");
        let updated = Change::Resource("own://of/2".into());
        assert_eq!(subscription.next().await, Some(updated), "{front:?}");
        assert_eq!(count.load(Ordering::SeqCst), 0, "{front:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn servers_with_a_connection_for_each_client_are_asked_at_once() {
    let mode = |options: UpstreamOptions| options.mode(UpstreamMode::PerSession);
    let proxy = Servers::builder("host", "1")
        .server("one", InProcess::new(origin().0))
        .server("two", InProcess::new(origin().0))
        .upstream("one", mode)
        .upstream("two", mode)
        .proxy(Server::new("gateway", "1"))
        .await
        .unwrap();
    let ann = connect(&proxy, "ann", EraPreference::Modern).await;
    let begun = Instant::now();
    let of_ann = subscribe(&ann, &[URI, "two+notes://1"]).await;
    assert!(of_ann.is_ok() && begun.elapsed() < 2 * DELAY);
}

/// The methods, targets and outcomes of the records of a proxy that are no success.
#[derive(Clone, Default)]
struct Refusals(Arc<Mutex<Vec<String>>>);

impl Audit for Refusals {
    fn record(&self, record: &AuditRecord<'_>) {
        let outcome = match record.outcome {
            AuditOutcome::Completed => return,
            AuditOutcome::MissingScopes(_) => "scopes",
            AuditOutcome::UnknownItem => "unknown",
            _ => "other",
        };
        let texts = [record.method, record.target].map(Option::unwrap_or_default);
        let line = format!("{} {} {outcome}", texts[0], texts[1]);
        self.0.lock().unwrap().push(line);
    }
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_rules_keep_a_client_from_is_refused_and_audited() {
    let uris = [URI, "one+notes://4", "one+notes://5"];
    for (mode, front, behind) in cases() {
        let case = format!("{mode:?} {front:?} {behind:?}");
        let (origin, count) = origin();
        let refusals = Refusals::default();
        let proxy = Servers::builder("host", "1")
            .server("one", InProcess::new(origin))
            .upstream("one", |options| options.mode(mode))
            .clients(speak(behind))
            .resources(|resource| match resource.own_name() {
                "notes://4" => Rule::Drop,
                "notes://5" => {
                    resource.scopes(["notes"]);
                    Rule::Keep
                }
                _ => Rule::Keep,
            })
            .resource_templates(|_| Rule::Keep)
            .proxy(Server::new("gateway", "1").audit(refusals.clone()))
            .await
            .unwrap();
        let ann = connect(&proxy, "ann", front).await;
        let method = match front {
            EraPreference::Modern => {
                let subscription = subscribe(&ann, &uris).await.unwrap();
                let accepted = subscription.acknowledged_filter().changes();
                assert_eq!(accepted, [Change::Resource(URI.into())], "{case}");
                "subscriptions/listen"
            }
            _ => {
                for uri in &uris[1..] {
                    let refused = subscribe(&ann, &[uri]).await;
                    assert!(
                        matches!(refused, Err(Error::ErrorResponse(_))),
                        "{case} {uri}"
                    );
                }
                drop(subscribe(&ann, &uris[..1]).await.unwrap());
                "resources/subscribe"
            }
        };
        let mut found = refusals.0.lock().unwrap().clone();
        found.sort();
        let expected = [
            format!("{method} one+notes://4 unknown"),
            format!("{method} one+notes://5 scopes"),
        ];
        assert_eq!(found, expected, "{case}");
        assert_eq!(count.load(Ordering::SeqCst), 1, "{case}");
    }
}
