//! Pages of lists, and their cursors.

use std::num::NonZeroUsize;

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{HandlerContext, Prompt, ReadRequest, Resource, Server};

use crate::support::{code, list_values, result, taking};

/// The lists: their method, where their items are, and the name of an item.
const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("prompts/list", "prompts", "name"),
    ("resources/list", "resources", "name"),
    ("resources/templates/list", "resourceTemplates", "name"),
];

fn server(items: usize, page: usize) -> Server {
    let mut builder = Server::new("pages", "1.0.0").page_size(NonZeroUsize::new(page).unwrap());
    for n in 0..items {
        let name = format!("n{n}");
        builder = builder
            .tool(taking(&name, json!({"type": "object"})))
            .prompt(
                Prompt::builder(name.clone())
                    .handler(async |(): (), _: HandlerContext| String::new()),
            )
            .resource(
                Resource::builder(format!("n:{n}"), name.clone())
                    .handler(async |_: ReadRequest, _: HandlerContext| ""),
            )
            .resource(
                Resource::builder(format!("n:{n}/{{x}}"), name)
                    .handler(async |_: ReadRequest, _: HandlerContext| ""),
            );
    }
    builder.build().unwrap()
}

// requirement: 09ea0fd9e76a a4292eb88a60
#[tokio::test(start_paused = true)]
async fn an_invalid_cursor_is_32602() {
    let server = server(5, 2);
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let mut cursors = Vec::new();
        for (method, _, _) in LISTS {
            let first = client.request(method, json!({})).await;
            cursors.push(
                result(&first)["nextCursor"]
                    .as_str()
                    .expect("a cursor")
                    .to_owned(),
            );
        }
        for (at, (method, list, name)) in LISTS.into_iter().enumerate() {
            let own = &cursors[at];
            let foreign = &cursors[(at + 1) % LISTS.len()];
            let mut bad = ["", " ", "garbage", "AAAA", "é", foreign]
                .map(str::to_owned)
                .to_vec();
            bad.push("A".repeat(100_000));
            bad.push(format!("{own}="));
            bad.push(own[1..].to_owned());
            for place in 0..own.len() {
                let other = if &own[place..=place] == "A" { "B" } else { "A" };
                let mut changed = own.clone();
                changed.replace_range(place..=place, other);
                bad.push(changed);
            }
            for cursor in bad {
                let answer = client.request(method, json!({"cursor": cursor})).await;
                assert_eq!(code(&answer), -32602, "{case} {method} {cursor:.40}");
            }
            for no_string in [json!(5), json!([]), json!({}), json!(true)] {
                let answer = client.request(method, json!({"cursor": no_string})).await;
                assert_eq!(code(&answer), -32602, "{case} {method}");
            }
            // And what is right goes on being served.
            let next = client.request(method, json!({"cursor": own})).await;
            assert_eq!(
                list_values(&next, list, name),
                ["n2", "n3"],
                "{case} {method}"
            );
        }
    }
}

// requirement: 1eb1c6d7c838
#[tokio::test(start_paused = true)]
async fn cursors_are_stable() {
    for case in Case::all() {
        let server = server(6, 2);
        let mut client = Client::connect(case, &server).await;
        let mut seen = Vec::new();
        let mut params = json!({});
        for step in 0.. {
            let page = client.request("tools/list", params).await;
            seen.extend(list_values(&page, "tools", "name"));
            let Some(cursor) = result(&page).get("nextCursor") else {
                break;
            };
            params = json!({"cursor": cursor});
            match step {
                // What was seen goes, the one that the cursor names included; somebody comes.
                0 => {
                    assert!(server.remove_tool("n0") && server.remove_tool("n1"));
                    server
                        .add_tool(taking("late", json!({"type": "object"})))
                        .unwrap();
                }
                1 => assert!(server.remove_tool("n4")),
                _ => {}
            }
        }
        assert_eq!(seen, ["n0", "n1", "n2", "n3", "n5", "late"], "{case}");
        // Another connection takes the same cursor; asked again, it gives the same page.
        let mut other = Client::connect(case, &server).await;
        let first = other.request("tools/list", json!({})).await;
        let cursor = &result(&first)["nextCursor"];
        for client in [&mut client, &mut other] {
            for _ in 0..2 {
                let page = client
                    .request("tools/list", json!({"cursor": cursor}))
                    .await;
                assert_eq!(
                    list_values(&page, "tools", "name"),
                    ["n5", "late"],
                    "{case}"
                );
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_page_has_no_cursor() {
    for case in Case::all() {
        for (items, pages) in [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2)] {
            let server = match items {
                0 => Server::new("pages", "1.0.0")
                    .dynamic_tools()
                    .dynamic_prompts()
                    .dynamic_resources()
                    .build()
                    .unwrap(),
                _ => server(items, 2),
            };
            let mut client = Client::connect(case, &server).await;
            for (method, list, name) in LISTS {
                let (mut seen, mut count, mut params) = (Vec::new(), 0, json!({}));
                loop {
                    let page = client.request(method, params).await;
                    seen.extend(list_values(&page, list, name));
                    count += 1;
                    match result(&page).get("nextCursor") {
                        Some(Value::String(cursor)) => params = json!({"cursor": cursor}),
                        Some(other) => panic!("{case}: {other}"),
                        None => break,
                    }
                }
                let all: Vec<_> = (0..items).map(|n| format!("n{n}")).collect();
                assert_eq!((seen, count), (all, pages), "{case} {method}");
            }
        }
    }
}
