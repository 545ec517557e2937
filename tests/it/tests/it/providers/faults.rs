//! Providers that fail, are slow, or break the rules.

use std::num::NonZeroUsize;
use std::time::Duration;

use serde_json::json;
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{
    Args, Ask, ItemName, ListPage, ListRequest, Provider, Resource, Result, Server, State, Tool,
};
use turnbuckle_types::ProtocolError;
use turnbuckle_wire::revision::Revision;

use super::{next_cursor, tool};
use crate::refusals::Refusals;
use crate::support::{call, code, list_values, message, result};

/// Returns a server with two registered tools, a provider in between and one that works.
fn around(provider: Provider<Tool>) -> Server {
    Server::new("faults", "1.0.0")
        .page_size(NonZeroUsize::new(10).unwrap())
        .tool(tool("x"))
        .provider(provider)
        .provider(Provider::tools("last").list(async |_: ListRequest| vec![tool("z")]))
        .build()
        .unwrap()
}

/// Asserts that the first page has the registered tool, and the second is an error with this text.
async fn assert_second_page_fails(case: Case, server: &Server, expected: &str) {
    let mut client = Client::connect(case, server).await;
    let first = client.request("tools/list", json!({})).await;
    assert_eq!(list_values(&first, "tools", "name"), ["x"], "{case}");
    let params = json!({"cursor": next_cursor(&first).unwrap()});
    for _ in 0..2 {
        let second = client.request("tools/list", params.clone()).await;
        assert_eq!(code(&second), -32603, "{case}");
        assert!(message(&second).contains(expected), "{case}: {second}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failing_provider_fails_its_page_and_no_other() {
    async fn list(_: ListRequest) -> Result<Vec<Tool>> {
        Err("the database is down".into())
    }
    let server = around(Provider::tools("failing").list(list));
    for case in Case::all() {
        assert_second_page_fails(case, &server, "the database is down").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_provider_is_given_up_by_name() {
    let refusals = Refusals::start();
    async fn list(_: ListRequest) -> Vec<Tool> {
        tokio::time::sleep(Duration::from_secs(3600)).await;
        Vec::new()
    }
    async fn find(_: ItemName) -> Option<Tool> {
        tokio::time::sleep(Duration::from_secs(3600)).await;
        None
    }
    let slow = Provider::tools("slow")
        .list(list)
        .find(find)
        .timeout(Duration::from_secs(2));
    let server = around(slow);
    for case in Case::all() {
        let begun = tokio::time::Instant::now();
        assert_second_page_fails(case, &server, "\"slow\" did not answer in time").await;
        let mut client = Client::connect(case, &server).await;
        let called = call(&mut client, "other", json!({"n": 1})).await;
        assert_eq!(code(&called), -32603, "{case}");
        assert!(message(&called).contains("\"slow\""), "{case}");
        assert!(begun.elapsed() < Duration::from_secs(30), "{case}");
    }
    assert!(refusals.count("Provider::timeout") > 0);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_recovers_is_listed_by_the_next_page() {
    let calls = std::sync::atomic::AtomicU32::new(0);
    let list = move |_: ListRequest| {
        let failed = calls
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed)
            .is_multiple_of(2);
        match failed {
            true => Err("busy"),
            false => Ok(vec![tool("y")]),
        }
    };
    let server = around(Provider::tools("recovers").list(list));
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let pages = super::pages(&mut client, super::LISTS[0]).await;
        assert_eq!(pages, [vec!["x"], vec!["y", "z"]], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn pages_and_cursors_of_providers_are_bounded() {
    async fn endless(request: ListRequest) -> ListPage<Tool> {
        ListPage::new([]).next_cursor(request.cursor.or_else(|| Some("same".to_owned())))
    }
    for case in [Case::pipe(Revision::NEWEST)] {
        let many = |items: usize| {
            let list = move |_: ListRequest| vec_of_tools(items);
            around(Provider::tools("many").list(list))
        };
        assert_second_page_fails(case, &many(10_001), "more than 10000 items").await;
        let mut client = Client::connect(case, &many(10_000)).await;
        let first = client.request("tools/list", json!({})).await;
        assert_eq!(list_values(&first, "tools", "name").len(), 10);

        let long = |bytes: usize| {
            let list =
                move |_: ListRequest| ListPage::<Tool>::new([]).next_cursor("c".repeat(bytes));
            around(Provider::tools("long").list(list))
        };
        assert_second_page_fails(case, &long(4097), "more than 4096 bytes").await;
        let server = long(4096);
        let mut client = Client::connect(case, &server).await;
        let first = client.request("tools/list", json!({})).await;
        let params = json!({"cursor": next_cursor(&first).unwrap()});
        let second = client.request("tools/list", params).await;
        assert!(
            message(&second).contains("the cursor that it was given"),
            "{case}"
        );

        let mut client =
            Client::connect(case, &around(Provider::tools("endless").list(endless))).await;
        let first = client.request("tools/list", json!({})).await;
        let params = json!({"cursor": next_cursor(&first).unwrap()});
        let second = client.request("tools/list", params).await;
        assert!(message(&second).contains("\"endless\""), "{case}");
    }
}

fn vec_of_tools(count: usize) -> Vec<Tool> {
    (0..count).map(|n| tool(&format!("t{n}"))).collect()
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_not_valid_is_left_out() {
    let list = |_: ListRequest| {
        let bad = Tool::builder("bad name").handler(|| "");
        let twice = || tool("twice");
        vec![tool("a"), bad, twice(), twice(), tool("b")]
    };
    let server = around(Provider::tools("invalid").list(list));
    let misplaced = |_: ListRequest| vec![super::resource("a"), super::template("b")];
    let misplaced = Server::new("misplaced", "1.0.0")
        .provider(
            Provider::resources("misplaced")
                .list(misplaced)
                .list_templates(misplaced),
        )
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let page = client.request("tools/list", json!({})).await;
        let listed = list_values(&page, "tools", "name");
        assert_eq!(listed, ["x", "a", "twice", "b", "z"], "{case}");
        let mut client = Client::connect(case, &misplaced).await;
        for (list, expected) in super::LISTS[2..].iter().zip(["a", "b"]) {
            let page = client.request(list.0, json!({})).await;
            assert_eq!(list_values(&page, list.1, list.2), [expected], "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_protocol_error_of_a_provider_keeps_its_code() {
    async fn find(ItemName(uri): ItemName) -> Result<Option<Resource>> {
        Err(ProtocolError::invalid_params(format!("{uri} is not for you")).into())
    }
    let server = Server::new("strict", "1.0.0")
        .provider(Provider::resources("strict").find(find))
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let read = client
            .request("resources/read", json!({"uri": "a:b"}))
            .await;
        assert_eq!(
            (code(&read), message(&read)),
            (-32602, "a:b is not for you")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_panics_ends_one_request_and_nothing_else() {
    async fn list(_: ListRequest) -> Vec<Tool> {
        tokio::task::yield_now().await;
        panic!("a secret")
    }
    let server = Server::new("panics", "1.0.0")
        .provider(Provider::tools("panics").list(list))
        .tool(tool("x"))
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let page = client.request("tools/list", json!({})).await;
        assert_eq!(code(&page), -32603, "{case}");
        assert!(!message(&page).contains("secret"), "{case}");
        result(&call(&mut client, "x", json!({"n": 1})).await);
    }
}

#[test]
fn functions_that_cannot_be_called_are_refused_when_the_server_is_built() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}
    let asks = Provider::tools("asks").list(async |_: Ask| Vec::<Tool>::new());
    let takes = Provider::tools("takes").find(async |_: Args<Nothing>| None::<Tool>);
    let state = Provider::tools("state").find(async |_: State<u128>| None::<Tool>);
    for (provider, expected) in [
        (asks, "provider \"asks\": a function takes an Ask"),
        (takes, "provider \"takes\": a function takes arguments"),
        (state, "u128"),
    ] {
        let built = Server::new("s", "1").provider(provider).build();
        let error = built.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
