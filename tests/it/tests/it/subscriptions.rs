//! Changes, and who hears of them.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Bind, Case, Client};
use turnbuckle_server::{HandlerContext, Prompt, ReadRequest, Resource, Server};

use crate::support::{code, connect_as, result, taking};

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn server() -> Server {
    let read = async |_: ReadRequest, _: HandlerContext| "";
    Server::new("changing", "1.0.0")
        .dynamic_tools()
        .dynamic_prompts()
        .resource(Resource::builder("r:1", "one").handler(read))
        .resource(Resource::builder("r:2", "two").handler(read))
        .resource(
            Resource::builder("r:ada", "adas")
                .handler(read)
                .visible_to(|who| who.is_some_and(|who| who.subject == "ada")),
        )
        .build()
        .unwrap()
}

fn add_prompt(server: &Server) {
    let prompt = Prompt::builder("p").handler(async |(): (), _: HandlerContext| String::new());
    server.add_prompt(prompt).unwrap();
}

/// Something that changes a server, and the notification that tells of it.
type Changing = (fn(&Server), &'static str);

/// Everything that can change, and how its notification is called.
const CHANGES: [Changing; 13] = [
    (
        |it| it.add_tool(taking("t", json!({"type": "object"}))).unwrap(),
        TOOLS,
    ),
    (
        |it| it.add_tool(taking("t", json!({"type": "object"}))).unwrap(),
        TOOLS,
    ),
    (|it| assert!(it.remove_tool("t")), TOOLS),
    (Server::notify_tools_changed, TOOLS),
    (add_prompt, PROMPTS),
    (add_prompt, PROMPTS),
    (|it| assert!(it.remove_prompt("p")), PROMPTS),
    (Server::notify_prompts_changed, PROMPTS),
    (
        |it| {
            it.add_resource(
                Resource::builder("r:3", "r").handler(async |_: ReadRequest, _: HandlerContext| ""),
            )
            .unwrap()
        },
        RESOURCES,
    ),
    (|it| assert!(it.remove_resource("r:3")), RESOURCES),
    (
        |it| {
            let read = async |_: ReadRequest, _: HandlerContext| "";
            it.add_resource(Resource::builder("r:{x}", "r").handler(read))
                .unwrap();
        },
        RESOURCES,
    ),
    (|it| assert!(it.remove_resource("r:{x}")), RESOURCES),
    (Server::notify_resources_changed, RESOURCES),
];
const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// Opens a listen, up to its acknowledgement: its id, and what it will be told.
async fn listen(client: &mut Client, filter: Value) -> (i64, Value) {
    let id = client
        .start("subscriptions/listen", json!({"notifications": filter}))
        .await;
    let acknowledged = client.next().await;
    assert_eq!(acknowledged["method"], ACKNOWLEDGED, "{acknowledged}");
    assert_eq!(
        acknowledged["params"]["_meta"][SUBSCRIPTION], id,
        "{acknowledged}"
    );
    (id, acknowledged["params"]["notifications"].clone())
}

fn full_filter() -> Value {
    json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["r:1", "r:2"],
    })
}

fn methods(messages: &[Value]) -> Vec<&str> {
    messages
        .iter()
        .map(|it| it["method"].as_str().unwrap())
        .collect()
}

// requirement: 07ab52ce5b9c 282a767299ae 2a14424c73b1 c884a9c99fbb db9b3b4898e1
#[tokio::test(start_paused = true)]
async fn a_changed_list_is_announced() {
    for case in Case::all() {
        let server = server();
        let mut client = Client::connect(case, &server).await;
        if case.is_modern() {
            listen(&mut client, full_filter()).await;
        }
        client.settle().await;
        for (change, method) in CHANGES {
            change(&server);
            assert_eq!(methods(&client.messages().await), [method], "{case}");
        }
        // What does not change is not announced.
        assert!(!server.remove_tool("nothing") && !server.remove_prompt("nothing"));
        assert!(!server.remove_resource("r:9") && !server.remove_resource("r:{y}"));
        client.expect_silence().await;
    }
}

#[tokio::test(start_paused = true)]
async fn changes_coalesce() {
    for case in Case::all() {
        let server = server();
        let mut client = Client::connect(case, &server).await;
        if case.is_modern() {
            listen(&mut client, full_filter()).await;
        } else {
            result(
                &client
                    .request("resources/subscribe", json!({"uri": "r:1"}))
                    .await,
            );
        }
        client.settle().await;
        for _ in 0..10_000 {
            server.notify_tools_changed();
            server.notify_resource_updated("r:1");
        }
        let messages = client.messages().await;
        assert_eq!(methods(&messages), [TOOLS, UPDATED], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_subscribed_resource_is_announced() {
    for case in Case::legacy() {
        let server = server();
        let mut client = Client::connect(case, &server).await;
        let mut other = Client::connect(case, &server).await;
        let one = json!({"uri": "r:1"});
        assert_eq!(
            result(&client.request("resources/subscribe", one.clone()).await),
            &json!({})
        );
        // Once more changes nothing.
        result(&client.request("resources/subscribe", one.clone()).await);
        server.notify_resource_updated("r:2");
        server.notify_resource_updated("r:1");
        let messages = client.messages().await;
        assert_eq!(methods(&messages), [UPDATED], "{case}");
        assert_eq!(messages[0]["params"], one);
        other.expect_silence().await;
        for _ in 0..2 {
            let answer = client.request("resources/unsubscribe", one.clone()).await;
            assert_eq!(result(&answer), &json!({}), "{case}");
        }
        server.notify_resource_updated("r:1");
        client.expect_silence().await;
        // What one does not see cannot be followed.
        for uri in ["r:ada", "r:9"] {
            let answer = client
                .request("resources/subscribe", json!({"uri": uri}))
                .await;
            assert_eq!(code(&answer), -32002, "{case}");
        }
    }
}

// requirement: 31f5dc1ceade
#[tokio::test(start_paused = true)]
async fn only_asked_kinds_arrive() {
    let filters = [
        (json!({}), &[][..]),
        (json!({"toolsListChanged": false}), &[]),
        (json!({"toolsListChanged": true}), &[TOOLS]),
        (json!({"promptsListChanged": true}), &[PROMPTS]),
        (json!({"resourcesListChanged": true}), &[RESOURCES]),
        (json!({"resourceSubscriptions": ["r:2"]}), &[UPDATED]),
        (json!({"resourceSubscriptions": []}), &[]),
        (json!({"resourceSubscriptions": ["r:ada", "r:9"]}), &[]),
        (
            full_filter(),
            &[TOOLS, PROMPTS, RESOURCES, UPDATED, UPDATED],
        ),
    ];
    for case in Case::modern() {
        let server = server();
        for (filter, expected) in filters.clone() {
            let mut client = connect_as(case, &server, "bob").await;
            listen(&mut client, filter.clone()).await;
            change_everything(&server);
            assert_eq!(
                methods(&client.messages().await),
                expected,
                "{case} {filter}"
            );
        }
        // Without a listen there is nothing at all.
        let mut client = Client::connect(case, &server).await;
        change_everything(&server);
        client.expect_silence().await;
    }
}

fn change_everything(server: &Server) {
    server.notify_tools_changed();
    server.notify_prompts_changed();
    server.notify_resources_changed();
    for uri in ["r:1", "r:2", "r:ada", "r:9"] {
        server.notify_resource_updated(uri);
    }
}

#[tokio::test(start_paused = true)]
async fn the_acknowledgement_lists_the_accepted_notifications() {
    let only_tools = Server::new("s", "1").dynamic_tools().build().unwrap();
    for case in Case::modern() {
        let mut client = Client::connect(case, &only_tools).await;
        let (_, honoured) = listen(&mut client, full_filter()).await;
        assert_eq!(honoured, json!({"toolsListChanged": true}), "{case}");
        let all = server();
        let follow = json!({"resourceSubscriptions": ["r:1", "r:ada", "r:9"]});
        let mut bob = connect_as(case, &all, "bob").await;
        let (_, honoured) = listen(&mut bob, follow.clone()).await;
        assert_eq!(
            honoured,
            json!({"resourceSubscriptions": ["r:1"]}),
            "{case}"
        );
        let mut ada = connect_as(case, &all, "ada").await;
        let (_, honoured) = listen(&mut ada, follow).await;
        assert_eq!(
            honoured,
            json!({"resourceSubscriptions": ["r:1", "r:ada"]}),
            "{case}"
        );
    }
}

// requirement: 7970c96256dd
#[tokio::test(start_paused = true)]
async fn the_acknowledgement_comes_first() {
    for case in Case::modern() {
        let server = server();
        let changing = server.clone();
        // Changes at every moment, those of opening included.
        let changes = tokio::spawn(async move {
            loop {
                change_everything(&changing);
                tokio::task::yield_now().await;
            }
        });
        let mut client = Client::connect(case, &server).await;
        let mut ids = Vec::new();
        for _ in 0..5 {
            let filter = json!({"notifications": full_filter()});
            ids.push(client.start("subscriptions/listen", filter).await);
            let id = *ids.last().unwrap();
            let acknowledges = |it: &Value| {
                it["method"] == ACKNOWLEDGED && it["params"]["_meta"][SUBSCRIPTION] == id
            };
            for _ in 0..10_000 {
                if acknowledges(&client.next().await) {
                    break;
                }
            }
            for _ in 0..100 {
                client.next().await;
            }
        }
        changes.abort();
        for id in ids {
            let about = |it: &&Value| it["params"]["_meta"][SUBSCRIPTION] == id;
            let messages: Vec<_> = client.received_messages().iter().filter(about).collect();
            assert!(
                messages.len() > 1,
                "{case}: the listen {id} was told nothing"
            );
            assert_eq!(messages[0]["method"], ACKNOWLEDGED, "{case}");
            let again = messages
                .iter()
                .filter(|it| it["method"] == ACKNOWLEDGED)
                .count();
            assert_eq!(again, 1, "{case}");
        }
    }
}

// requirement: 5c58469424c9
#[tokio::test(start_paused = true)]
async fn every_notification_names_its_subscription() {
    for case in Case::modern() {
        let server = server();
        let mut client = Client::connect(case, &server).await;
        let (first, _) = listen(&mut client, json!({"toolsListChanged": true})).await;
        let (second, _) = listen(&mut client, full_filter()).await;
        change_everything(&server);
        client.settle().await;
        client.server_stop().close();
        client.response(first).await;
        let end = client.response(second).await;
        assert_eq!(end["result"]["_meta"][SUBSCRIPTION], second, "{case}");
        let of = |id: i64| {
            let about = move |it: &&Value| it["params"]["_meta"][SUBSCRIPTION] == id;
            let notified: Vec<_> = client
                .received_messages()
                .iter()
                .filter(about)
                .cloned()
                .collect();
            methods(&notified)
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        // Where the end of the stream does not say it, a message does.
        let end = (case.binding != Bind::Http).then_some("notifications/cancelled");
        let expected: [&[&str]; 2] = [
            &[ACKNOWLEDGED, TOOLS],
            &[ACKNOWLEDGED, TOOLS, PROMPTS, RESOURCES, UPDATED, UPDATED],
        ];
        for (id, expected_methods) in [first, second].into_iter().zip(expected) {
            let expected_methods: Vec<_> = expected_methods.iter().copied().chain(end).collect();
            assert_eq!(of(id), expected_methods, "{case}");
        }
        let unnamed = |it: &&Value| {
            it.get("method").is_some() && it["params"]["_meta"].get(SUBSCRIPTION).is_none()
        };
        assert_eq!(
            client.received_messages().iter().find(unnamed),
            None,
            "{case}"
        );
    }
}

// requirement: 42220e3e7eef 501f86b4fd7b
#[tokio::test(start_paused = true)]
async fn a_graceful_end_is_answered() {
    for case in Case::modern() {
        let server = server();
        let mut client = Client::connect(case, &server).await;
        let (id, _) = listen(&mut client, full_filter()).await;
        assert!(!client.is_answered(id).await);
        client.server_stop().close();
        let end = client.response(id).await;
        assert_eq!(result(&end)["resultType"], "complete", "{case}");
        assert_eq!(result(&end)["_meta"][SUBSCRIPTION], id, "{case}");
        client.messages().await;
        // It was the last of it.
        change_everything(&server);
        client.expect_silence().await;
    }
}

// requirement: 81b071abbaaa
#[tokio::test(start_paused = true)]
async fn a_pipes_graceful_end_is_told_and_answered() {
    for case in Case::modern()
        .into_iter()
        .filter(|it| it.binding != Bind::Http)
    {
        let server = server();
        let mut client = Client::connect(case, &server).await;
        let (id, _) = listen(&mut client, full_filter()).await;
        client.server_stop().close();
        let end = client.response(id).await;
        let received = client.received_messages();
        let [.., cancelled, answer] = received else {
            panic!("{received:?}")
        };
        assert_eq!(cancelled["method"], "notifications/cancelled", "{case}");
        assert_eq!(cancelled["params"]["requestId"], id, "{case}");
        assert_eq!(answer, &end, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_listen_is_silent() {
    for case in Case::modern() {
        let server = server();
        let mut client = Client::connect(case, &server).await;
        let (id, _) = listen(&mut client, full_filter()).await;
        let (stays, _) = listen(&mut client, json!({"toolsListChanged": true})).await;
        client.cancel(id).await;
        client.settle().await;
        change_everything(&server);
        let messages = client.messages().await;
        assert_eq!(methods(&messages), [TOOLS], "{case}");
        assert_eq!(
            messages[0]["params"]["_meta"][SUBSCRIPTION], stays,
            "{case}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_subscriptions_of_a_client_are_limited() {
    let read = async |_: ReadRequest, _: HandlerContext| "";
    let server = Server::new("s", "1")
        .resource(Resource::builder("r:{x}", "r").handler(read))
        .max_subscriptions(2)
        .build()
        .unwrap();
    for case in Case::modern() {
        let mut client = Client::connect(case, &server).await;
        let uris = json!({"notifications": {"resourceSubscriptions": ["r:1", "r:2", "r:3"]}});
        let answer = client.request("subscriptions/listen", uris).await;
        assert_eq!(code(&answer), -32602, "{case}");
        // What is named twice is one.
        let twice = json!({"resourceSubscriptions": ["r:1", "r:2", "r:1"]});
        let (_, honoured) = listen(&mut client, twice).await;
        let once = json!({"resourceSubscriptions": ["r:1", "r:2"]});
        assert_eq!(honoured, once, "{case}");
        for bad in [
            json!({}),
            json!({"notifications": 5}),
            json!({"notifications": null}),
        ] {
            let answer = client.request("subscriptions/listen", bad).await;
            assert_eq!(code(&answer), -32602, "{case}");
        }
    }
    for case in Case::legacy() {
        let mut client = Client::connect(case, &server).await;
        for uri in ["r:1", "r:2", "r:1"] {
            result(
                &client
                    .request("resources/subscribe", json!({"uri": uri}))
                    .await,
            );
        }
        let third = client
            .request("resources/subscribe", json!({"uri": "r:3"}))
            .await;
        assert_eq!(code(&third), -32602, "{case}");
        result(
            &client
                .request("resources/unsubscribe", json!({"uri": "r:1"}))
                .await,
        );
        result(
            &client
                .request("resources/subscribe", json!({"uri": "r:3"}))
                .await,
        );
    }
}

/// Returns a URI of that length in bytes.
fn of_length(bytes: usize) -> String {
    format!("r:{}", "x".repeat(bytes - 2))
}

#[tokio::test(start_paused = true)]
async fn an_invalid_uri_is_not_subscribed() {
    let read = async |_: ReadRequest, _: HandlerContext| "";
    let server = Server::new("s", "1")
        .resource(Resource::builder("r:{x}", "r").handler(read))
        .build()
        .unwrap();
    let bad = [of_length(2049), "r:é".to_owned(), "r:%4".to_owned()];
    for case in Case::modern() {
        let mut client = Client::connect(case, &server).await;
        let mut uris = bad.to_vec();
        uris.push(of_length(2048));
        let (_, honoured) = listen(&mut client, json!({"resourceSubscriptions": uris})).await;
        let good = json!({"resourceSubscriptions": [of_length(2048)]});
        assert_eq!(honoured, good, "{case}");
    }
    for case in Case::legacy() {
        let mut client = Client::connect(case, &server).await;
        for uri in &bad {
            let params = json!({"uri": uri});
            let answer = client.request("resources/subscribe", params).await;
            assert_eq!(code(&answer), -32002, "{case}");
        }
        let params = json!({"uri": of_length(2048)});
        result(&client.request("resources/subscribe", params).await);
    }
}
