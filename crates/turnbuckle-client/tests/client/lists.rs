//! Lists: as a whole, by page and as streams, from well and badly behaved servers.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::scripted_server::{Answer, ERAS, builder, connect_to, legacy, modern};
use serde_json::{Value, json};
use turnbuckle_client::Error;
use turnbuckle_server::{Args, HandlerContext, Prompt, ReadRequest, Resource, Server, Tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

fn server() -> Arc<Server> {
    let mut server = Server::new("s", "1").page_size(NonZeroUsize::new(2).unwrap());
    for n in 0..5 {
        server = server
            .tool(
                Tool::builder(format!("t{n}"))
                    .handler(async |Args(_): Args<Nothing>, _: HandlerContext| "done"),
            )
            .resource(
                Resource::builder(format!("mem:///{n}"), "r")
                    .handler(async |_: ReadRequest, _: HandlerContext| "text"),
            )
            .prompt(
                Prompt::builder(format!("p{n}"))
                    .handler(async |Args(_): Args<Nothing>, _: HandlerContext| "said".to_owned()),
            );
    }
    Arc::new(server.build().unwrap())
}

fn tools(names: &[&str], next: Option<&str>) -> Answer {
    let tools: Vec<Value> = names
        .iter()
        .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
        .collect();
    Some(Ok(
        json!({"resultType": "complete", "tools": tools, "nextCursor": next}),
    ))
}

// requirement: bf4e302251dc
#[tokio::test(start_paused = true)]
async fn a_list_is_read_whole_by_page_and_as_a_stream_in_both_eras() {
    for era in ERAS {
        let client = connect_to(&server(), builder().era(era)).await;
        let all = client.list_tools().fetch_all().await.unwrap();
        let names: Vec<_> = all.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["t0", "t1", "t2", "t3", "t4"]);
        assert_eq!(client.list_resources().fetch_all().await.unwrap().len(), 5);
        assert_eq!(client.list_prompts().fetch_all().await.unwrap().len(), 5);

        let list = client.list_tools().idle_timeout(Duration::from_secs(5));
        let first = list.page(None).await.unwrap();
        assert_eq!(first.tools.len(), 2);
        let second = list.page(first.next_cursor.as_deref()).await.unwrap();
        assert_eq!(second.tools[0].name, "t2");

        let mut stream = client.list_prompts();
        let mut names = Vec::new();
        while let Some(prompt) = stream.next().await {
            names.push(prompt.unwrap().name);
        }
        assert_eq!(names, ["p0", "p1", "p2", "p3", "p4"]);
        assert!(stream.next().await.is_none());
    }
}

// requirement: 9ee38a200c66
#[tokio::test(start_paused = true)]
async fn the_empty_string_is_a_cursor_and_null_is_none() {
    let (client, scripted) = modern(builder(), |_, message| match &message["params"]["cursor"] {
        Value::Null => tools(&["a"], Some("")),
        cursor if cursor == "" => tools(&["b"], None),
        _ => Some(Err(-32602)),
    })
    .await;
    let all = client.list_tools().fetch_all().await.unwrap();
    assert_eq!(all.len(), 2);
    let asked = scripted.messages_of("tools/list");
    assert_eq!(asked[0].message["params"].get("cursor"), None);
    assert_eq!(asked[1].message["params"]["cursor"], "");
}

#[tokio::test(start_paused = true)]
async fn a_repeated_cursor_ends_the_list_with_an_error() {
    let script = |_: usize, message: &Value| match message["params"]["cursor"].as_str() {
        Some("a") => tools(&["2"], Some("b")),
        Some("b") => tools(&["3"], Some("a")),
        _ => tools(&["1"], Some("a")),
    };
    let (client, scripted) = modern(builder(), script).await;
    let error = client.list_tools().fetch_all().await.unwrap_err();
    assert!(
        matches!(&error, Error::EndlessList { method } if method == "tools/list"),
        "{error}"
    );
    assert_eq!(scripted.messages_of("tools/list").len(), 3);

    let mut stream = client.list_tools();
    for name in ["1", "2"] {
        assert_eq!(stream.next().await.unwrap().unwrap().name, name);
    }
    let error = stream.next().await.unwrap().unwrap_err();
    assert!(matches!(error, Error::EndlessList { .. }));
    assert!(stream.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_endless_list_is_an_error() {
    let (client, scripted) = legacy(builder(), "2025-06-18", |_, message| {
        let page = message["params"]["cursor"]
            .as_str()
            .unwrap_or("0")
            .parse::<u32>();
        tools(&[], Some(&(page.unwrap() + 1).to_string()))
    })
    .await;
    let error = client.list_tools().fetch_all().await.unwrap_err();
    assert!(matches!(error, Error::EndlessList { .. }), "{error}");
    assert_eq!(scripted.messages_of("tools/list").len(), 10_000);
}

// requirement: 269b9dbf3edb
#[tokio::test(start_paused = true)]
async fn a_bad_cursor_drops_all_pages_and_the_list_is_read_once_more() {
    let edition = Arc::new(AtomicUsize::new(0));
    let server = edition.clone();
    let (client, scripted) = modern(builder(), move |_, message| {
        let now = server.load(Ordering::Relaxed);
        let (first, second) = (format!("first{now}"), format!("second{now}"));
        let mut page = match message["params"]["cursor"].as_str() {
            None => tools(&[&first], Some(&second)),
            Some(cursor) if cursor == second => tools(&[&second], None),
            Some(_) => return Some(Err(-32602)),
        };
        // Only the first page may be used again.
        if let Some(Ok(page)) = &mut page
            && message["params"].get("cursor").is_none()
        {
            page["ttlMs"] = json!(60_000);
        }
        page
    })
    .await;
    assert_eq!(client.list_tools().fetch_all().await.unwrap().len(), 2);
    assert_eq!(scripted.messages_of("tools/list").len(), 2);

    edition.store(1, Ordering::Relaxed);
    let all = client.list_tools().fetch_all().await.unwrap();
    let names: Vec<_> = all.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["first1", "second1"]);
    // The request with the outdated cursor, and both pages again.
    assert_eq!(scripted.messages_of("tools/list").len(), 5);

    let error = client.list_tools().page(Some("none")).await.unwrap_err();
    assert_eq!(error.error_response().unwrap().code, -32602);
    client.list_tools().page(None).await.unwrap();
    assert_eq!(scripted.messages_of("tools/list").len(), 7);
}

// requirement: 67b11621c104
#[tokio::test(start_paused = true)]
async fn a_result_of_an_unknown_type_is_an_error_and_one_of_none_is_complete() {
    let (client, _scripted) = modern(builder(), |_, message| match message["method"].as_str() {
        Some("tools/list") => Some(Ok(json!({"resultType": "partial", "tools": []}))),
        _ => Some(Ok(json!({"prompts": []}))),
    })
    .await;
    let error = client.list_tools().fetch_all().await.unwrap_err();
    assert!(matches!(&error, Error::InvalidResult { reason, .. } if reason.contains("partial")));
    assert!(client.list_prompts().fetch_all().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_malformed_item_of_any_list_is_left_out_and_reported() {
    let script = |_: usize, message: &Value| {
        let (member, good) = match message["method"].as_str() {
            Some("tools/list") => ("tools", json!({"inputSchema": {"type": "object"}})),
            Some("resources/list") => ("resources", json!({"uri": "mem:///good"})),
            Some("resources/templates/list") => {
                ("resourceTemplates", json!({"uriTemplate": "mem:///{good}"}))
            }
            _ => ("prompts", json!({})),
        };
        let named = |name: &str| {
            let mut item = good.clone();
            item["name"] = json!(name);
            item
        };
        let mut bad = named("bad");
        bad["description"] = json!(5);
        let items = json!([named("first"), bad, 7, named("last")]);
        let mut page = json!({"resultType": "complete", "nextCursor": null, "extra": 1});
        page[member] = items;
        Some(Ok(page))
    };
    let reported = Arc::new(Mutex::new(Vec::new()));
    let items = reported.clone();
    let builder = builder().on_invalid_item(move |item| {
        let item = format!("{} {:?}", item.method, item.name);
        items.lock().unwrap().push(item);
    });
    let (client, _scripted) = modern(builder, script).await;
    let tools = client.list_tools().fetch_all().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["first", "last"]);
    let page = client.list_resources().page(None).await.unwrap();
    let names: Vec<_> = page.resources.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["first", "last"]);
    assert!(page.extra.get("extra").is_some());
    let templates = client.list_resource_templates().fetch_all().await.unwrap();
    assert_eq!(templates.len(), 2);
    assert_eq!(client.list_prompts().fetch_all().await.unwrap().len(), 2);
    let reported = reported.lock().unwrap();
    let expected = [
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
    ]
    .iter()
    .flat_map(|method| [format!("{method} \"bad\""), format!("{method} \"\"")]);
    assert_eq!(*reported, expected.collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_not_an_array_is_an_error() {
    let (client, _scripted) = legacy(builder(), "2025-06-18", |_, _| {
        Some(Ok(json!({"tools": {"name": "a"}})))
    })
    .await;
    let error = client.list_tools().fetch_all().await.unwrap_err();
    assert!(matches!(error, Error::InvalidResult { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_page_that_does_not_come_times_out() {
    let (client, scripted) = modern(builder(), |_, _| None).await;
    let mut list = client.list_tools().idle_timeout(Duration::from_secs(2));
    let error = list.next().await.unwrap().unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert!(list.next().await.is_none());
    crate::scripted_server::settle().await;
    assert_eq!(scripted.messages_of("notifications/cancelled").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_declared_and_unknown_is_empty() {
    let unknown = |_: usize, message: &Value| match message["params"]["cursor"] {
        Value::Null => Some(Err(-32601)),
        _ => tools(&["a"], None),
    };
    let (old, _) = legacy(builder(), "2024-11-05", unknown).await;
    let (new, _) = modern(builder(), unknown).await;
    for client in [old, new] {
        assert!(client.list_tools().fetch_all().await.unwrap().is_empty());
        assert!(client.list_tools().next().await.is_none());
        // Who asks for one page gets the answer of the server.
        client.list_tools().page(None).await.unwrap_err();
    }
    // A server that knows the first page knows the list.
    let (client, _) = modern(builder(), |_, message| match message["params"]["cursor"] {
        Value::Null => tools(&["a"], Some("more")),
        _ => Some(Err(-32601)),
    })
    .await;
    client.list_tools().fetch_all().await.unwrap_err();
}
