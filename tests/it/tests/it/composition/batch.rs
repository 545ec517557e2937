//! Many changes at once, while the server runs.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{Prompt, Resource, Server, Tool};

use crate::support::{call, code, list_values, message, text};

fn tool(name: &'static str, says: &'static str) -> Tool {
    Tool::builder(name).handler(move || says)
}

fn prompt(name: &'static str) -> Prompt {
    Prompt::builder(name).handler(|| "prompted")
}

fn resource(uri: &'static str) -> Resource {
    Resource::builder(uri, "r").handler(|| "read")
}

fn server() -> Server {
    ["a", "b", "c"]
        .into_iter()
        .fold(Server::new("s", "1"), |server, name| {
            server.tool(tool(name, "old"))
        })
        .prompt(prompt("p"))
        .resource(resource("r:1"))
        .resource(resource("r:{x}"))
        .build()
        .unwrap()
}

async fn tools(client: &mut Client) -> String {
    let answer = client.request("tools/list", json!({})).await;
    list_values(&answer, "tools", "name").join(" ")
}

/// Connects a client that receives notifications of changes.
async fn hearing(case: Case, server: &Server) -> Client {
    let mut client = Client::connect(case, server).await;
    if case.is_modern() {
        let lists = ["tools", "prompts", "resources"];
        let wanted = lists.map(|kind| (format!("{kind}ListChanged"), Value::from(true)));
        let wanted = Value::Object(wanted.into_iter().collect());
        client
            .start("subscriptions/listen", json!({"notifications": wanted}))
            .await;
        client.next().await;
    }
    client.messages().await;
    client
}

async fn notification_methods(client: &mut Client) -> Vec<String> {
    let messages = client.messages().await;
    let kinds = messages.iter().map(|message| {
        let method = message["method"].as_str().unwrap();
        let kind = method.strip_prefix("notifications/").unwrap();
        kind.strip_suffix("/list_changed").unwrap().to_owned()
    });
    kinds.collect()
}

#[tokio::test(start_paused = true)]
async fn each_kind_that_changed_is_announced_once_and_no_other() {
    for case in Case::all() {
        let server = server();
        let mut client = hearing(case, &server).await;
        let batch = server.update().disable_tool("b").add_tool(tool("a", "new"));
        let batch = batch.remove_tool("c").add_tool(tool("d", "new"));
        batch.apply().unwrap();
        assert_eq!(notification_methods(&mut client).await, ["tools"], "{case}");
        assert_eq!(tools(&mut client).await, "a d", "{case}");
        assert_eq!(
            text(&call(&mut client, "a", json!({})).await),
            "new",
            "{case}"
        );
        let hidden = call(&mut client, "b", json!({})).await;
        assert_eq!(message(&hidden), "Unknown tool: b", "{case}");

        let again = server.update().disable_tool("b").enable_prompt("p");
        again.apply().unwrap();
        assert_eq!(
            notification_methods(&mut client).await,
            [""; 0],
            "nothing changed, {case}"
        );

        let all = server.update().enable_tool("b").disable_prompt("p");
        all.disable_resource("r:1")
            .disable_resource("r:{x}")
            .apply()
            .unwrap();
        let mut kinds = notification_methods(&mut client).await;
        kinds.sort();
        assert_eq!(kinds, ["prompts", "resources", "tools"], "{case}");
        assert_eq!(
            tools(&mut client).await,
            "a b d",
            "it keeps its place, {case}"
        );
        let got = client.request("prompts/get", json!({"name": "p"})).await;
        assert_eq!(code(&got), -32602, "{case}");
        for uri in ["r:1", "r:2"] {
            let read = client.request("resources/read", json!({"uri": uri})).await;
            assert!(read.get("error").is_some(), "{uri}, {case}");
        }
        let lists = [
            ("prompts/list", "prompts", "name"),
            ("resources/list", "resources", "uri"),
            (
                "resources/templates/list",
                "resourceTemplates",
                "uriTemplate",
            ),
        ];
        for (method, list, key) in lists {
            let answer = client.request(method, json!({})).await;
            assert_eq!(list_values(&answer, list, key), [""; 0], "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_cannot_be_applied_changes_nothing() {
    for case in Case::all() {
        let server = server();
        let mut client = hearing(case, &server).await;
        let good = || server.update().disable_tool("a").add_tool(tool("d", "new"));
        let refused = [
            (good().remove_prompt("q"), "there is no prompt \"q\""),
            (good().enable_tool("x"), "there is no tool \"x\""),
            (
                good().remove_tool("b").disable_tool("b"),
                "there is no tool \"b\"",
            ),
            (
                good().disable_resource("r:9"),
                "there is no resource \"r:9\"",
            ),
            (
                good().remove_resource("r:{y}"),
                "there is no resource template \"r:{y}\"",
            ),
            (good().add_tool(tool("a b", "")), "tool \"a b\""),
            (
                good().add_resource(resource("no uri")),
                "resource \"no uri\"",
            ),
        ];
        for (batch, why) in refused {
            let error = batch.apply().unwrap_err().to_string();
            assert!(error.starts_with(why), "{error}");
        }
        assert_eq!(notification_methods(&mut client).await, [""; 0], "{case}");
        assert_eq!(tools(&mut client).await, "a b c", "{case}");
    }
}

#[test]
fn items_of_an_undeclared_capability_cannot_be_added() {
    let server = Server::new("s", "1").tool(tool("a", "")).build().unwrap();
    let error = server.update().add_prompt(prompt("p")).apply().unwrap_err();
    assert!(error.to_string().contains("dynamic_prompts"), "{error}");
}
