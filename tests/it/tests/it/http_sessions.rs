//! The sessions of the legacy era: their ids, who may use them, and how they end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use turnbuckle_http::{HttpLimits, HttpServerOptions, HttpTimeouts};
use turnbuckle_it::web::{Web, sessions};
use turnbuckle_server::{HandlerContext, Server, Tool};
use turnbuckle_session::handler::Limits;
use turnbuckle_wire::revision::Revision;

use crate::http::busy;
use crate::refusals::Refusals;
use crate::servers::{echo, echo_builder};
use crate::support::{assert_random, code, principal};

const MINUTE: Duration = Duration::from_secs(60);

/// Creates a server whose tools never end, with a count of their running calls: one tool is quiet,
/// and one is woken all the time.
pub(crate) fn holding() -> (Server, Arc<AtomicUsize>) {
    struct Here(Arc<AtomicUsize>);
    impl Drop for Here {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let here = Arc::new(AtomicUsize::new(0));
    let come = |count: &Arc<AtomicUsize>| {
        count.fetch_add(1, Ordering::SeqCst);
        Here(count.clone())
    };
    let (count, awake) = (here.clone(), here.clone());
    let hold = move |(): (), _: HandlerContext| {
        let here = come(&count);
        async move {
            std::future::pending::<()>().await;
            drop(here);
        }
    };
    let wake = move |(): (), _: HandlerContext| {
        let here = come(&awake);
        async move {
            let _here = here;
            for _ in 0..u64::MAX {
                tokio::time::sleep(Duration::from_millis(7)).await;
            }
        }
    };
    let server = echo_builder()
        .tool(Tool::builder("hold").handler(hold))
        .tool(Tool::builder("wake").handler(wake))
        .build()
        .unwrap();
    (server, here)
}

// requirement: 0d65f34aeb27 2bef1d9caf0d
#[tokio::test(start_paused = true)]
async fn session_ids_are_random() {
    let web = Web::new(&echo());
    let mut ids = Vec::new();
    for _ in 0..500 {
        ids.push(web.open(Revision::NEWEST_LEGACY).await.id);
    }
    assert_random(&ids);
}

// requirement: 95f11846b8fc
#[tokio::test(start_paused = true)]
async fn session_ids_are_visible_ascii() {
    for revision in sessions() {
        let web = Web::new(&echo());
        for _ in 0..50 {
            let id = web.open(revision).await.id;
            assert!(id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{id}");
        }
    }
}

// requirement: 1f228e45a732 b2e1e415a7b4
#[tokio::test(start_paused = true)]
async fn a_missing_session_id_is_400() {
    for revision in sessions() {
        let session = Web::new(&echo()).open(revision).await;
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
        for ask in [
            session.request(1, "ping", &json!({})),
            session.post(&note),
            session.post(&answer),
            session.post(&json!([note])),
            session.get(),
            session.delete(),
        ] {
            let got = ask.without("mcp-session-id").send().await;
            assert_eq!(got.status, 400, "{revision}");
        }
    }
}

// requirement: 40980dbad1e2
#[tokio::test(start_paused = true)]
async fn an_ended_session_is_404() {
    let options =
        HttpServerOptions::new().timeouts(HttpTimeouts::new().session_idle_timeout(10 * MINUTE));
    for revision in sessions() {
        let web = Web::with(&echo(), options.clone());
        let deleted = web.open(revision).await;
        assert_eq!(deleted.delete().send().await.status, 204);
        let idle = web.open(revision).await;
        tokio::time::sleep(11 * MINUTE).await;
        for session in [deleted, idle] {
            let again = web.initialize(revision, json!({}));
            for ask in [
                session.request(1, "ping", &json!({})),
                session.get(),
                session.delete(),
                session.post(&json!({"jsonrpc": "2.0", "method": "notifications/x"})),
                again.header("mcp-session-id", &session.id),
            ] {
                assert_eq!(ask.send().await.status, 404, "{revision}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_handshake_is_refused() {
    for revision in sessions() {
        let web = Web::new(&echo());
        let session = web.open(revision).await;
        let again = web.initialize(revision, json!({}));
        let (status, answer) = again.header("mcp-session-id", &session.id).json().await;
        assert_eq!((status, code(&answer)), (400, -32600), "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_used_is_not_idle() {
    let web = Web::with(
        &busy(),
        HttpServerOptions::new().timeouts(HttpTimeouts::new().session_idle_timeout(10 * MINUTE)),
    );
    let [asking, reading, working] = [(), (), ()].map(|()| web.open(Revision::NEWEST_LEGACY));
    let (asking, reading, working) = (asking.await, reading.await, working.await);
    let _general = reading.get().events().await;
    let nap = working
        .call_tool(1, "sleep", &json!({"seconds": 3000}))
        .events()
        .await;
    drop(nap);
    for _ in 0..8 {
        tokio::time::sleep(6 * MINUTE).await;
        let got = asking.request(1, "ping", &json!({})).send().await;
        assert_eq!(got.status, 200);
    }
    for session in [reading, working] {
        let got = session.request(2, "ping", &json!({})).send().await;
        assert_eq!(got.status, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_is_idle_only_from_the_end_of_its_use() {
    let refusals = Refusals::start();
    let web = Web::with(
        &busy(),
        HttpServerOptions::new().timeouts(HttpTimeouts::new().session_idle_timeout(10 * MINUTE)),
    );
    let [reading, working] = [(), ()].map(|()| web.open(Revision::NEWEST_LEGACY));
    let (reading, working) = (reading.await, working.await);
    let general = reading.get().events().await;
    let nap = working
        .call_tool(1, "sleep", &json!({"seconds": 1200}))
        .events()
        .await;
    drop(nap);
    tokio::time::sleep(20 * MINUTE).await;
    drop(general);
    tokio::time::sleep(5 * MINUTE).await;
    for session in [&reading, &working] {
        let got = session.request(2, "ping", &json!({})).send().await;
        assert_eq!(got.status, 200);
    }
    tokio::time::sleep(15 * MINUTE).await;
    for session in [&reading, &working] {
        let got = session.request(3, "ping", &json!({})).send().await;
        assert_eq!(got.status, 404);
    }
    assert_eq!(refusals.count("HttpTimeouts::session_idle_timeout"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_handshake_has_to_end_in_time() {
    let web = Web::new(&echo());
    for ended in [false, true] {
        let opened = web
            .initialize(Revision::NEWEST_LEGACY, json!({}))
            .send()
            .await;
        let id = opened.header("mcp-session-id").unwrap().to_owned();
        // An open stream does not make up for it.
        let get = web.ask(http::Method::GET).header("mcp-session-id", &id);
        let _general = get.events().await;
        let post = |message: Value| web.post(message.to_string()).header("mcp-session-id", &id);
        if ended {
            let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            assert_eq!(post(note).send().await.status, 202);
        }
        tokio::time::sleep(2 * MINUTE).await;
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let status = post(ping).send().await.status;
        assert_eq!(status, if ended { 200 } else { 404 });
    }
}

#[tokio::test(start_paused = true)]
async fn how_long_a_handshake_may_take_is_settable() {
    let refusals = Refusals::start();
    let limit = Duration::from_secs(10);
    let brief = Duration::from_millis(1);
    for (wait, status) in [(limit - brief, 200), (limit + brief, 404)] {
        let web = Web::with(
            &echo(),
            HttpServerOptions::new().timeouts(HttpTimeouts::new().handshake_timeout(limit)),
        );
        let opening = web.initialize(Revision::NEWEST_LEGACY, json!({}));
        let opened = opening.send().await;
        let id = opened.header("mcp-session-id").unwrap().to_owned();
        tokio::time::sleep(wait).await;
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let ping = web.post(ping.to_string()).header("mcp-session-id", &id);
        let got = ping.send().await;
        assert_eq!(got.status, status);
        let ended = refusals.count("HttpTimeouts::handshake_timeout");
        assert_eq!(ended, usize::from(status == 404));
        if status == 404 {
            let error = got.json().await["error"]["message"].to_string();
            assert!(
                error.contains("HttpTimeouts::session_idle_timeout or handshake_timeout"),
                "{error}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn unfinished_handshakes_do_not_block_other_clients() {
    let web = Web::with(
        &echo(),
        HttpServerOptions::new().http_limits(HttpLimits::new().max_sessions(5)),
    );
    let honest = web.open(Revision::NEWEST_LEGACY).await;
    for _ in 0..100 {
        let opened = web.initialize(Revision::NEWEST_LEGACY, json!({}));
        assert_eq!(opened.send().await.status, 200);
    }
    // The session whose handshake was concluded is still there, and another can be opened.
    let (status, _) = honest
        .call_tool(1, "echo", &json!({"text": "a"}))
        .json()
        .await;
    assert_eq!(status, 200);
    let session = web.open(Revision::NEWEST_LEGACY).await;
    assert_eq!(session.delete().send().await.status, 204);
}

#[tokio::test(start_paused = true)]
async fn sessions_in_use_keep_their_places() {
    let web = Web::with(
        &echo(),
        HttpServerOptions::new().http_limits(HttpLimits::new().max_sessions(2)),
    );
    let mut streams = Vec::new();
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let session = web.open(Revision::NEWEST_LEGACY).await;
        streams.push(session.get().send().await);
        sessions.push(session);
    }
    let open = || web.initialize(Revision::NEWEST_LEGACY, json!({}));
    let (status, answer) = open().json().await;
    assert_eq!(status, 503);
    let message = answer["error"]["message"].to_string();
    assert!(message.contains("HttpLimits::max_sessions"), "{message}");
    // A client that vanishes leaves its place.
    drop(streams.pop());
    assert_eq!(open().send().await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn nothing_stays_of_a_client_that_vanished() {
    let (server, here) = holding();
    let mut limits = Limits::default();
    limits.handler_timeout = 5 * MINUTE;
    let options = HttpServerOptions::new()
        .timeouts(HttpTimeouts::new().session_idle_timeout(10 * MINUTE))
        .limits(limits);
    let web = Web::with(&server, options);
    let session = web.open(Revision::NEWEST_LEGACY).await;
    drop(session.call_tool(1, "hold", &json!({})).events().await);
    let waiting = session.call_tool(2, "hold", &json!({})).send();
    assert!(timeout(Duration::from_millis(10), waiting).await.is_err());
    assert_eq!(here.load(Ordering::SeqCst), 2);
    tokio::time::sleep(20 * MINUTE).await;
    assert_eq!(here.load(Ordering::SeqCst), 0);
    assert_eq!(session.get().send().await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_session_takes_everything_with_it() {
    let (server, here) = holding();
    let web = Web::new(&server);
    let session = web.open(Revision::NEWEST_LEGACY).await;
    let mut general = session.get().events().await;
    let mut held = session.call_tool(1, "hold", &json!({})).events().await;
    let waiting = tokio::spawn(session.call_tool(2, "hold", &json!({})).send());
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(here.load(Ordering::SeqCst), 2);
    assert_eq!(session.delete().send().await.status, 204);
    for events in [&mut general, &mut held] {
        let rest = events.within(Duration::from_millis(10)).await;
        assert_eq!(rest.last(), Some(&None), "the stream ends at once");
    }
    let waited = timeout(Duration::from_millis(10), waiting).await;
    let ended = waited.expect("it ends at once").unwrap();
    assert!(ended.events().messages().await.is_empty());
    tokio::time::sleep(Limits::default().cancel_timeout + Duration::from_millis(1)).await;
    assert_eq!(here.load(Ordering::SeqCst), 0);
}

/// However far its calls are: polled in place, on a task, or on a stream.
#[tokio::test(start_paused = true)]
async fn a_session_is_deleted_at_any_time_of_its_calls() {
    let waits = Duration::from_millis(200);
    let grace = Limits::default().cancel_timeout;
    for revision in sessions() {
        for pause in [0, 1, 50, 199, 200, 201, 300] {
            for tool in ["hold", "wake"] {
                let (server, here) = holding();
                let web = Web::with(
                    &server,
                    HttpServerOptions::new().timeouts(HttpTimeouts::new().json_wait(waits)),
                );
                let session = web.open(revision).await;
                let mut calls = JoinSet::new();
                for id in 1..=3 {
                    let call = session.call_tool(id, tool, &json!({})).send();
                    calls.spawn(async move { call.await.events().messages().await });
                    tokio::task::yield_now().await;
                }
                tokio::time::sleep(Duration::from_millis(pause)).await;
                assert_eq!(here.load(Ordering::SeqCst), 3, "{revision} {pause} {tool}");
                let deleted = Instant::now();
                assert_eq!(session.delete().send().await.status, 204);
                for messages in calls.join_all().await {
                    assert!(messages.is_empty(), "{revision} {pause} {tool}");
                }
                // With the session, whatever their handlers do with their grace.
                let took = deleted.elapsed();
                let at_once = Duration::from_millis(1);
                assert!(took <= at_once, "{revision} {pause} {tool}: {took:?}");
                tokio::time::sleep(grace + Duration::from_millis(1)).await;
                assert_eq!(here.load(Ordering::SeqCst), 0, "{revision} {pause} {tool}");
                let gone = session.request(9, "ping", &json!({})).send().await;
                assert_eq!(gone.status, 404);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_endpoint_ends_its_sessions() {
    let (server, here) = holding();
    let web = Web::new(&server);
    let session = web.open(Revision::NEWEST_LEGACY).await;
    drop(session.call_tool(1, "hold", &json!({})).events().await);
    assert_eq!(here.load(Ordering::SeqCst), 1);
    drop((web, session));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(here.load(Ordering::SeqCst), 0);
}

// requirement: 4edb6a87e900 67a1e62c629d
#[tokio::test(start_paused = true)]
async fn a_session_is_its_openers() {
    let web = Web::new(&echo());
    for revision in sessions() {
        let opening = web
            .initialize(revision, json!({}))
            .principal(principal("ann"));
        let opened = opening.send().await;
        let id = opened.header("mcp-session-id").unwrap();
        let asked = || {
            let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
            web.post(ping.to_string()).header("mcp-session-id", id)
        };
        let got = asked().principal(principal("ann")).send().await;
        assert_eq!(got.status, 200, "{revision}");
        assert_eq!(asked().principal(principal("bob")).send().await.status, 404);
        assert_eq!(asked().send().await.status, 404);
        for verb in [http::Method::GET, http::Method::DELETE] {
            let ask = web.ask(verb).header("mcp-session-id", id);
            let got = ask.principal(principal("bob")).send().await;
            assert_eq!(got.status, 404);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_answers_no_ping_has_no_session() {
    let mut limits = Limits::default();
    limits.ping_interval = Some(MINUTE);
    limits.ping_timeout = Duration::from_secs(10);
    let web = Web::with(&echo(), HttpServerOptions::new().limits(limits));
    for answers in [true, false] {
        let session = web.open(Revision::NEWEST_LEGACY).await;
        let mut general = session.get().events().await;
        for _ in 0..3 {
            let (_, ping) = general.next_message().await.expect("a ping");
            if answers {
                let pong = json!({"jsonrpc": "2.0", "id": ping["id"], "result": {}});
                assert_eq!(session.post(&pong).send().await.status, 202);
            } else if ping["method"] == "notifications/cancelled" {
                // It is given up; there is no other.
                break;
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        let got = session.request(1, "ping", &json!({})).send().await;
        assert_eq!(got.status, if answers { 200 } else { 404 });
    }
}
