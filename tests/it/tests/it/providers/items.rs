//! Items of providers: called, read, got and completed as registered ones are.

use std::time::Duration;

use serde_json::json;
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{Ask, Group, ItemName, ListRequest, Provider, Result, Server, Tool};

use super::{Table, find_tool, provider_server, tool};
use crate::support::{
    Question, call, code, connect_able, connect_as, converse, error_text, message, result, text,
};

#[tokio::test(start_paused = true)]
async fn provided_tools_are_called_with_valid_arguments_only() {
    let table = Table::with(&["a"]);
    let server = provider_server(&table, 2).build().unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let called = call(&mut client, "a", json!({"n": 3})).await;
        assert_eq!(text(&called), "a {\"n\":3}", "{case}");
        for bad in [json!({}), json!({"n": 0}), json!({"n": "many"})] {
            let refused = call(&mut client, "a", bad).await;
            assert!(error_text(&refused).contains("Invalid arguments"), "{case}");
        }
        let no_object = call(&mut client, "a", json!([])).await;
        assert_eq!(code(&no_object), -32602, "{case}");
        for unknown in ["b", "", "no tool's name", &"x".repeat(200)] {
            let answer = call(&mut client, unknown, json!({})).await;
            assert_eq!(code(&answer), -32602, "{case} {unknown:.20}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn provided_resources_prompts_and_templates_are_read_got_and_completed() {
    let table = Table::with(&["a"]);
    let server = provider_server(&table, 2).build().unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        for (uri, text) in [("row:a", "row:a"), ("row-a:x", "Some(Text(\"x\"))")] {
            let read = client.request("resources/read", json!({"uri": uri})).await;
            assert_eq!(result(&read)["contents"][0]["text"], text, "{case}");
        }
        for uri in ["row:b", "row-b:x"] {
            let read = client.request("resources/read", json!({"uri": uri})).await;
            let not_found = client
                .request("resources/read", json!({"uri": "other:"}))
                .await;
            assert_eq!(code(&read), code(&not_found), "{case}");
        }
        let params = json!({"name": "a", "arguments": {"words": "hello"}});
        let got = client.request("prompts/get", params).await;
        let text = &result(&got)["messages"][0]["content"]["text"];
        assert_eq!(text, "hello", "{case}");
        let unknown = client.request("prompts/get", json!({"name": "b"})).await;
        assert_eq!(code(&unknown), -32602, "{case}");

        let prompt = json!({"type": "ref/prompt", "name": "a"});
        let template = |uri: &str| json!({"type": "ref/resource", "uri": uri});
        for (reference, argument, suggestion) in [
            (prompt, "words", "x!"),
            (template("row-a:{column}"), "column", "x?"),
            (template("row-a:y"), "column", "x?"),
        ] {
            let params =
                |name: &str| json!({"ref": reference, "argument": {"name": name, "value": "x"}});
            let completed = client
                .request("completion/complete", params(argument))
                .await;
            let values = &result(&completed)["completion"]["values"];
            assert_eq!(values, &json!([suggestion]), "{case}");
            let refused = client.request("completion/complete", params("other")).await;
            assert_eq!(code(&refused), -32602, "{case}");
        }
        for reference in [
            json!({"type": "ref/prompt", "name": "b"}),
            template("row-b:{column}"),
            template("row:a"),
        ] {
            let params = json!({"ref": reference, "argument": {"name": "column", "value": "x"}});
            let refused = client.request("completion/complete", params).await;
            assert_eq!(code(&refused), -32602, "{case} {reference}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn scopes_and_visibility_of_a_found_item_hold() {
    async fn find(ItemName(name): ItemName) -> Option<Tool> {
        match name.as_str() {
            "open" => Some(tool("open")),
            "scoped" => Some(tool("scoped").scope("tools:scoped")),
            "adas" => {
                Some(tool("adas").visible_to(|who| who.is_some_and(|it| it.subject == "ada")))
            }
            _ => None,
        }
    }
    let hidden = Group::new()
        .visible_to(|who| who.is_some_and(|who| who.subject == "ada"))
        .provider(Provider::tools("hidden").find(async |_: ItemName| Some(tool("hidden"))));
    let server = Server::new("scopes", "1.0.0")
        .provider(Provider::tools("tools").find(find))
        .group(hidden)
        .build()
        .unwrap();
    for case in Case::all() {
        for name in ["ada", "bob"] {
            let mut client = connect_as(case, &server, name).await;
            let n = || json!({"n": 1});
            text(&call(&mut client, "open", n()).await);
            let scoped = call(&mut client, "scoped", n()).await;
            assert!(message(&scoped).contains("tools:scoped"), "{case}");
            for own in ["adas", "hidden"] {
                let called = call(&mut client, own, n()).await;
                match name {
                    "ada" => drop(text(&called).to_owned()),
                    _ => assert_eq!(code(&called), -32602, "{case} {own}"),
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_provided_tool_asks_its_client_and_has_its_own_timeout() {
    async fn find(ItemName(name): ItemName) -> Option<Tool> {
        tokio::task::yield_now().await;
        match name.as_str() {
            "ask" => Some(
                Tool::builder("ask").handler(async |ask: Ask| -> Result<String> {
                    let roots = ask.roots().await?;
                    Ok(format!("{} roots", roots.len()))
                }),
            ),
            "slow" => Some(
                Tool::builder("slow")
                    .handler(async || tokio::time::sleep(Duration::from_secs(60)).await)
                    .timeout(Duration::from_secs(5)),
            ),
            _ => None,
        }
    }
    let server = Server::new("asking", "1.0.0")
        .provider(Provider::tools("tools").find(find))
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = connect_able(case, &server, json!({"roots": {}})).await;
        let begun = tokio::time::Instant::now();
        let slow = call(&mut client, "slow", json!({})).await;
        assert!(error_text(&slow).contains("5s"), "{case}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{case}");
        let params = json!({"name": "ask", "arguments": {}});
        let roots = |_: &Question| json!({"roots": []});
        let (answer, asked) = converse(&mut client, "tools/call", params, roots).await;
        assert_eq!((text(&answer), asked.len()), ("0 roots", 1), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_item_of_another_name_than_was_asked_for_is_an_error() {
    let server = Server::new("liar", "1.0.0")
        .provider(
            Provider::tools("liar")
                .list(async |_: ListRequest| vec![tool("a")])
                .find(async |_: ItemName| Some(tool("a"))),
        )
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let answer = call(&mut client, "b", json!({"n": 1})).await;
        assert_eq!(code(&answer), -32603, "{case}");
        assert!(message(&answer).contains("\"liar\""), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_without_find_has_items_that_are_read_elsewhere() {
    let table = Table::with(&["a"]);
    let server = Server::new("listed", "1.0.0")
        .state(table)
        .provider(Provider::tools("listed").list(super::list_tools))
        .provider(Provider::tools("found").find(find_tool))
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let called = call(&mut client, "a", json!({"n": 3})).await;
        assert_eq!(text(&called), "a {\"n\":3}", "{case}");
    }
}
