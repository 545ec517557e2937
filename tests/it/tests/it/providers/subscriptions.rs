//! Changes of provided items, and who is notified of them.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{ItemName, Provider, Resource, Result, Server};

use super::{Table, provider_server, register};
use crate::support::{code, message, result};

fn methods(messages: &[Value]) -> Vec<&str> {
    messages
        .iter()
        .filter_map(|message| message["method"].as_str())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn provided_resources_that_exist_are_subscribed_to() {
    let table = Table::with(&["a"]);
    let server = register(provider_server(&table, 2), &["x"])
        .build()
        .unwrap();
    let wanted = ["row:x", "row:a", "row-a:column", "row:b", "no uri"];
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        if case.is_modern() {
            let filter = json!({"resourceSubscriptions": wanted, "resourcesListChanged": true});
            let params = json!({"notifications": filter});
            client.start("subscriptions/listen", params).await;
            let acknowledged = client.next().await;
            let honoured = &acknowledged["params"]["notifications"]["resourceSubscriptions"];
            assert_eq!(honoured, &json!(wanted[..3]), "{case}");
        } else {
            for (at, uri) in wanted.into_iter().enumerate() {
                let params = json!({"uri": uri});
                let answer = client.request("resources/subscribe", params).await;
                match at < 3 {
                    true => drop(result(&answer).clone()),
                    false => assert_eq!(code(&answer), -32002, "{case} {uri}"),
                }
            }
        }
        client.settle().await;
        for uri in wanted {
            server.notify_resource_updated(uri);
        }
        server.notify_resources_changed();
        let messages = client.messages().await;
        let (updated, changed) = (
            "notifications/resources/updated",
            "notifications/resources/list_changed",
        );
        let mut methods = methods(&messages);
        methods.sort_unstable();
        assert_eq!(methods, [changed, updated, updated, updated], "{case}");
        if case.is_legacy() {
            let params = json!({"uri": "row:a"});
            result(&client.request("resources/unsubscribe", params).await);
            server.notify_resource_updated("row:a");
            client.expect_silence().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_failing_provider_fails_the_subscription() {
    async fn find(_: ItemName) -> Result<Option<Resource>> {
        Err("the database is down".into())
    }
    let server = Server::new("failing", "1.0.0")
        .provider(Provider::resources("failing").find(find))
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let answer = if case.is_modern() {
            let filter = json!({"resourceSubscriptions": ["row:a"]});
            let params = json!({"notifications": filter});
            client.request("subscriptions/listen", params).await
        } else {
            let params = json!({"uri": "row:a"});
            client.request("resources/subscribe", params).await
        };
        assert_eq!(code(&answer), -32603, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_lookups_of_one_subscription_are_bounded_together() {
    async fn find(_: ItemName) -> Option<Resource> {
        tokio::time::sleep(Duration::from_secs(4)).await;
        None
    }
    let server = Server::new("slow", "1.0.0")
        .provider(Provider::resources("slow").find(find))
        .build()
        .unwrap();
    for case in Case::modern() {
        let mut client = Client::connect(case, &server).await;
        let params = |count: usize| {
            let uris: Vec<_> = (0..count).map(|n| format!("row:{n}")).collect();
            json!({"notifications": {"resourceSubscriptions": uris}})
        };
        client.start("subscriptions/listen", params(2)).await;
        let acknowledged = client.next().await;
        let honoured = &acknowledged["params"]["notifications"]["resourceSubscriptions"];
        assert_eq!(honoured, &json!([]), "{case}");
        let begun = Instant::now();
        let refused = client.request("subscriptions/listen", params(1000)).await;
        assert!(message(&refused).contains("Provider::timeout"), "{case}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{case}");
    }
}
