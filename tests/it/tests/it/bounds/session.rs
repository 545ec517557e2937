//! Limits on the concurrent work of one client.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use turnbuckle_http::HttpServerOptions;
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_it::web::Web;
use turnbuckle_server::{Ask, AskError, HandlerContext, Server, Tool};
use turnbuckle_session::handler::{Limits, Peer, Rate};
use turnbuckle_session::internal::WriteTimeout;

use super::{echoing, refused_by};
use crate::refusals::Refusals;
use crate::servers::echo;
use crate::support::result;

fn nap() -> Value {
    json!({"name": "sleep", "arguments": {"seconds": 50}})
}

#[tokio::test(start_paused = true)]
async fn the_requests_in_flight_are_limited() {
    // Over HTTP the modern era has no peer but a principal.
    let counted = |case: &Case| case.is_legacy() || case.is_duplex();
    for case in Case::all().into_iter().filter(counted) {
        let options = ClientOptions::new().limits(Limits::new().max_in_flight(3));
        let mut client = Client::connect_with(case, &echo(), options).await;
        for _ in 0..2 {
            client.start("tools/call", nap()).await;
        }
        client.settle().await;
        result(&client.request("tools/call", echoing()).await);
        client.start("tools/call", nap()).await;
        client.settle().await;
        let refused = client.request("tools/call", echoing()).await;
        refused_by(&refused, "the limit is 3 (Limits::max_in_flight)");
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_holds_so_many_messages() {
    let refusals = Refusals::start();
    use turnbuckle_wire::revision::Revision;
    let batching = Revision::ALL
        .into_iter()
        .filter(|revision| revision.features().batching);
    for case in Case::with_revisions(batching) {
        let options = ClientOptions::new().limits(Limits::new().max_batch_messages(2));
        let mut client = Client::connect_with(case, &echo(), options).await;
        let ping = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        let before = refusals.count("Limits::max_batch_messages");
        let two = client.exchange(&json!([ping(51), ping(52)])).await;
        assert_eq!(two.as_array().map(Vec::len), Some(2), "{case}");
        client.send(&json!([ping(53), ping(54), ping(55)])).await;
        let refused: Value = serde_json::from_str(&client.next_raw().await).unwrap();
        refused_by(&refused, "at most 2 messages (Limits::max_batch_messages)");
        let refused = refusals.count("Limits::max_batch_messages") - before;
        assert_eq!(refused, 1, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_running_notification_handlers_are_limited() {
    let count = Arc::new(AtomicUsize::new(0));
    let counting = count.clone();
    let server = Server::new("roots", "1.0.0")
        .on_roots_changed(move |_: Peer| {
            counting.fetch_add(1, Ordering::SeqCst);
            std::future::pending()
        })
        .build()
        .unwrap();
    for case in Case::legacy() {
        for most in [1, 3] {
            let options = ClientOptions::new()
                .capabilities(json!({"roots": {}}))
                .limits(Limits::new().max_notification_handlers(most));
            let mut client = Client::connect_with(case, &server, options).await;
            for _ in 0..most + 5 {
                client
                    .notify("notifications/roots/list_changed", json!({}))
                    .await;
            }
            result(&client.request("ping", json!({})).await);
            assert_eq!(count.swap(0, Ordering::SeqCst), most, "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_is_too_long_is_kept_without_its_decoration() {
    let seen = Arc::new(Mutex::new(None));
    let sees = seen.clone();
    let look = move |(): (), context: HandlerContext| {
        let sees = sees.clone();
        async move {
            *sees.lock().unwrap() = context.client_info().and_then(|info| info.title);
        }
    };
    let server = Server::new("s", "1").tool(Tool::builder("look").handler(look));
    let server = server.build().unwrap();
    let titled = Case::legacy()
        .into_iter()
        .filter(|case| case.revision.as_str() >= "2025-06-18");
    for case in titled {
        let info = json!({"name": "tester", "version": "1", "title": "The tester"});
        let params = json!({
            "protocolVersion": case.revision.as_str(),
            "capabilities": {},
            "clientInfo": info,
        });
        let size = params.to_string().len();
        for (keep, kept) in [(size, Some("The tester".to_owned())), (size - 1, None)] {
            let options = ClientOptions::new()
                .client_info(info.clone())
                .limits(Limits::new().max_handshake_bytes(keep));
            let mut client = Client::connect_with(case, &server, options).await;
            let call = json!({"name": "look", "arguments": {}});
            result(&client.request("tools/call", call).await);
            assert_eq!(seen.lock().unwrap().take(), kept, "{case} {keep}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_messages_that_wait_for_an_exchange_are_limited() {
    for most in [1, 5, 10] {
        let steps = Arc::new(AtomicUsize::new(0));
        let counter = steps.clone();
        let flood = move |(): (), context: HandlerContext| {
            let steps = counter.clone();
            async move {
                for step in 1..=100_u32 {
                    context.progress(step, None).await;
                    if step == 1 {
                        // That begins the response.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                    steps.store(step as usize, Ordering::SeqCst);
                }
            }
        };
        let server = Server::new("s", "1").tool(Tool::builder("flood").handler(flood));
        let limits = Limits::new()
            .max_queue_messages(most)
            .progress_rate(Rate::UNLIMITED);
        let web = Web::with(
            &server.build().unwrap(),
            HttpServerOptions::new().limits(limits),
        );
        let params = json!({"name": "flood", "arguments": {}, "_meta": {"progressToken": 1}});
        let mut events = web.modern("tools/call", params).events().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        // The first message began the response; those that wait come after it.
        assert_eq!(steps.load(Ordering::SeqCst), most + 1);
        let mut count = 0;
        while events.next_message().await.is_some() {
            count += 1;
        }
        assert_eq!(count, 101, "all are sent, and the answer");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_takes_longer_than_its_deadline_is_answered_for() {
    for case in Case::all() {
        for (seconds, passes) in [(51, true), (49, false)] {
            let limits = Limits::new().handler_timeout(Duration::from_secs(seconds));
            let options = ClientOptions::new().limits(limits);
            let mut client = Client::connect_with(case, &echo(), options).await;
            let answer = client.request("tools/call", nap()).await;
            match passes {
                true => assert!(answer["result"].is_object(), "{answer}"),
                false => refused_by(&answer, "longer than the server allows"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn questions_that_wait_count_for_the_memory_of_their_owner() {
    let asks = |ask: Ask| async move { Ok::<_, AskError>(ask.roots().await?.len().to_string()) };
    let server = Server::new("s", "1").tool(Tool::builder("asks").handler(asks));
    let server = server.build().unwrap();
    for case in Case::duplex(Case::legacy()) {
        // Four calls take some 50 KiB by themselves.
        let options = ClientOptions::new()
            .capabilities(json!({"roots": {}}))
            .limits(Limits::new().max_owner_bytes(90 << 10));
        let mut client = Client::connect_with(case, &server, options).await;
        let call = || json!({"name": "asks", "arguments": {}});
        for _ in 0..4 {
            client.start("tools/call", call()).await;
        }
        client.settle().await;
        let refused = client.request("tools/call", call()).await;
        refused_by(&refused, "Limits::max_owner_bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_reads_nothing_is_counted_once() {
    let refusals = Refusals::start();
    let (ours, _theirs) = tokio::io::duplex(4);
    let setting = "StdioOptions::write_timeout";
    let mut stream = WriteTimeout::new(ours, Duration::from_secs(60), setting);
    assert!(stream.write_all(b"more than four").await.is_err());
    assert_eq!(refusals.count(setting), 1);
    // The connection is still shut down.
    assert!(stream.write_all(b"more").await.is_err());
    assert_eq!(refusals.count(setting), 1);
}
