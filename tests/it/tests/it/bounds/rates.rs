//! Limits on the rate of a client's requests.

use std::time::Duration;

use serde_json::json;
use turnbuckle_http::{HttpServerOptions, Sessions};
use turnbuckle_it::harness::{Bind, Case, Client, ClientOptions};
use turnbuckle_it::web::Web;
use turnbuckle_session::handler::{Limits, Rate};
use turnbuckle_types::Principal;
use turnbuckle_wire::revision::{Method, Revision};

use super::{echoing, refused_by};
use crate::servers::{echo, full_server, params_of};
use crate::support::{code, principal, result};

/// Returns a rate of three at once, and ten a second.
fn three() -> Rate {
    Rate::per_second(10).burst(3)
}

const TENTH: Duration = Duration::from_millis(100);

// requirement: 88a982285d4d
#[tokio::test(start_paused = true)]
async fn calls_that_come_too_fast_are_refused_by_name() {
    for case in Case::all() {
        let options = ClientOptions::new().limits(Limits::new().call_rate(three()));
        let mut client = Client::connect_with(case, &echo(), options).await;
        for _ in 0..3 {
            result(&client.request("tools/call", echoing()).await);
        }
        for method in ["tools/call", "tools/list"] {
            let refused = client.request(method, echoing()).await;
            refused_by(&refused, "the limit is 10 a second (Limits::call_rate)");
            assert_eq!(code(&refused), -32603, "{case}");
            assert_eq!(refused["error"]["data"]["retryAfterMs"], 100, "{case}");
        }
        tokio::time::sleep(TENTH).await;
        result(&client.request("tools/call", echoing()).await);
        let refused = client.request("tools/call", echoing()).await;
        refused_by(&refused, "(Limits::call_rate)");
    }
}

// requirement: 00084ca2140d b4fc1949b9bb
#[tokio::test(start_paused = true)]
async fn completions_have_a_rate_of_their_own() {
    for case in Case::all() {
        let never = Rate::per_second(0);
        let limits = Limits::new().call_rate(never).completion_rate(three());
        let options = ClientOptions::new().limits(limits);
        let mut client = Client::connect_with(case, &full_server(), options).await;
        let typing = || params_of(Method::Complete);
        for _ in 0..3 {
            result(&client.request("completion/complete", typing()).await);
        }
        let refused = client.request("completion/complete", typing()).await;
        refused_by(&refused, "(Limits::completion_rate)");
        let refused = client.request("tools/call", echoing()).await;
        refused_by(&refused, "(Limits::call_rate)");
        tokio::time::sleep(TENTH).await;
        result(&client.request("completion/complete", typing()).await);
    }
}

#[tokio::test(start_paused = true)]
async fn pings_cancellations_and_unsubscriptions_pass_an_exhausted_rate() {
    for case in Case::legacy() {
        let options = ClientOptions::new().limits(Limits::new().call_rate(three()));
        let mut client = Client::connect_with(case, &full_server(), options).await;
        let one = || json!({"uri": "test://one"});
        result(&client.request("resources/subscribe", one()).await);
        result(&client.request("tools/call", echoing()).await);
        let nap = json!({"name": "sleep", "arguments": {"seconds": 50}});
        let nap = client.start("tools/call", nap).await;
        client.settle().await;
        let refused = client.request("tools/call", echoing()).await;
        refused_by(&refused, "(Limits::call_rate)");
        for _ in 0..10 {
            result(&client.request("ping", json!({})).await);
        }
        result(&client.request("resources/unsubscribe", one()).await);
        client.cancel(nap).await;
        client.wait(Duration::from_secs(100)).await;
        assert!(!client.is_answered(nap).await, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_request_of_a_batch_counts() {
    let batching = Revision::ALL
        .into_iter()
        .filter(|revision| revision.features().batching);
    for case in Case::with_revisions(batching) {
        let options = ClientOptions::new().limits(Limits::new().call_rate(three()));
        let mut client = Client::connect_with(case, &echo(), options).await;
        let call = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": echoing()});
        let batch = json!([call(51), call(52), call(53), call(54)]);
        let answers = client.exchange(&batch).await;
        let answers = answers.as_array().expect("an array");
        for answer in answers {
            match answer["id"].as_u64() {
                Some(54) => refused_by(answer, "(Limits::call_rate)"),
                _ => assert!(answer["result"].is_object(), "{case}: {answer}"),
            }
        }
        assert_eq!(answers.len(), 4, "{case}");
    }
}

fn endpoint() -> Web {
    let limits = Limits::new().call_rate(three());
    Web::with(&echo(), HttpServerOptions::new().limits(limits))
}

#[tokio::test(start_paused = true)]
async fn over_http_a_refusal_says_when_to_come_again() {
    let web = endpoint();
    let call = || web.call_tool("echo", json!({"text": "t"}));
    for _ in 0..3 {
        assert_eq!(call().send().await.status, 200);
    }
    let refused = call().send().await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("retry-after"), Some("1"));
    refused_by(&refused.json().await, "(Limits::call_rate)");
    // In a session an error is an answer like any other.
    let session = web.open(Revision::NEWEST_LEGACY).await;
    for id in 0..3 {
        let called = session.call_tool(id, "echo", &json!({"text": "t"}));
        assert_eq!(called.send().await.status, 200);
    }
    let refused = session
        .call_tool(4, "echo", &json!({"text": "t"}))
        .send()
        .await;
    assert_eq!(refused.status, 200);
    assert_eq!(refused.header("retry-after"), Some("1"));
    refused_by(&refused.json().await, "(Limits::call_rate)");
}

#[tokio::test(start_paused = true)]
async fn each_principal_has_a_rate_of_its_own_wherever_it_asks() {
    let web = endpoint();
    let call = |name: &str| {
        let call = web.call_tool("echo", json!({"text": "t"}));
        call.principal(principal(name)).send()
    };
    for name in ["ann", "bob"] {
        for _ in 0..3 {
            assert_eq!(call(name).await.status, 200);
        }
        assert_eq!(call(name).await.status, 429, "{name}");
    }
    // A subject is known by its issuer and its client too: another's is somebody else.
    for stranger in [
        Principal::new("https://other.example", "ann"),
        principal("ann").client("other"),
    ] {
        let call = || {
            web.call_tool("echo", json!({"text": "t"}))
                .principal(stranger.clone())
        };
        for _ in 0..3 {
            assert_eq!(call().send().await.status, 200, "{stranger:?}");
        }
        assert_eq!(call().send().await.status, 429, "{stranger:?}");
    }
    // Of whom nothing is known share one.
    let anybody = || web.call_tool("echo", json!({"text": "t"})).send();
    for _ in 0..3 {
        assert_eq!(anybody().await.status, 200);
    }
    assert_eq!(anybody().await.status, 429);
}

#[tokio::test(start_paused = true)]
async fn each_session_has_a_rate_of_its_own() {
    let web = endpoint();
    for _ in 0..3 {
        let session = web.open(Revision::NEWEST_LEGACY).await;
        for id in 0..4 {
            let call = session.call_tool(id, "echo", &json!({"text": "t"}));
            let answer = call.send().await.json().await;
            match id {
                3 => refused_by(&answer, "(Limits::call_rate)"),
                _ => assert!(answer["result"].is_object(), "{answer}"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stateless_server_does_not_renew_the_rate_with_each_message() {
    let options = HttpServerOptions::new()
        .sessions(Sessions::Stateless)
        .limits(Limits::new().call_rate(three()));
    let web = Web::with(&echo(), options);
    let call = |id: u32| {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": echoing()});
        web.post(call.to_string()).json()
    };
    for id in 0..3 {
        assert!(call(id).await.1["result"].is_object());
    }
    refused_by(&call(4).await.1, "(Limits::call_rate)");
}

#[tokio::test(start_paused = true)]
async fn principals_beyond_the_table_share_a_rate() {
    let limits = Limits::new().call_rate(three()).max_principals(1);
    let web = Web::with(&echo(), HttpServerOptions::new().limits(limits));
    let call = |name: &str| {
        let call = web.call_tool("echo", json!({"text": "t"}));
        call.principal(principal(name)).send()
    };
    assert_eq!(call("ann").await.status, 200);
    for name in ["bob", "cid", "dan"] {
        assert_eq!(call(name).await.status, 200, "{name}");
    }
    assert_eq!(call("eve").await.status, 429);
    assert_eq!(call("ann").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn the_requests_of_a_principal_are_limited_over_exchanges() {
    let limits = Limits::new().max_in_flight(2);
    let web = Web::with(&echo(), HttpServerOptions::new().limits(limits));
    let nap = |name: &str| {
        let call = web.call_tool("sleep", json!({"seconds": 50}));
        tokio::spawn(call.principal(principal(name)).send())
    };
    let _two = (nap("ann"), nap("ann"));
    tokio::time::sleep(Duration::from_millis(10)).await;
    let refused = web.call_tool("echo", json!({"text": "t"}));
    let refused = refused.principal(principal("ann")).send().await;
    assert_eq!(refused.status, 429);
    refused_by(
        &refused.json().await,
        "the limit is 2 (Limits::max_in_flight)",
    );
    let other = web.call_tool("echo", json!({"text": "t"}));
    let other = other.principal(principal("bob")).send().await;
    assert_eq!(other.status, 200);
    tokio::time::sleep(Duration::from_secs(100)).await;
    let again = web.call_tool("echo", json!({"text": "t"}));
    let again = again.principal(principal("ann")).send().await;
    assert_eq!(again.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_full_table_and_an_empty_bucket_do_not_stop_the_reader() {
    let duplex = |case: &Case| matches!(case.binding, Bind::Pipe | Bind::Stream);
    for case in Case::legacy().into_iter().filter(duplex) {
        let limits = Limits::new()
            .max_in_flight(1)
            .call_rate(Rate::per_second(0).burst(5));
        let options = ClientOptions::new().limits(limits);
        let mut client = Client::connect_with(case, &echo(), options).await;
        let nap = json!({"name": "sleep", "arguments": {"seconds": 5}});
        let nap = client.start("tools/call", nap).await;
        for sent in 0..100 {
            let refused = client.request("tools/call", echoing()).await;
            let setting = if sent < 4 {
                "(Limits::max_in_flight)"
            } else {
                "(Limits::call_rate)"
            };
            refused_by(&refused, setting);
        }
        result(&client.request("ping", json!({})).await);
        result(&client.response(nap).await);
    }
}
