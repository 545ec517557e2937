//! Tests of the `notes` server.

use serde_json::{Value, json};
use tempfile::TempDir;
use turnbuckle::Client;
use turnbuckle::client::ChangeFilter;
use turnbuckle::session::handler::Change;
use turnbuckle::types::{PromptReference, ResourceTemplateReference};

use crate::harness::{Example, Transport, client_builder, data, read, text, with_timeout};

fn notes(directory: &TempDir, name: &str) -> Example {
    Example::new(env!("CARGO_BIN_EXE_notes")).arg(directory.path().join(name))
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Value {
    let result = client.call_tool(tool, &arguments).await.unwrap();
    assert_ne!(result.is_error, Some(true), "{tool}: {result:?}");
    data(&result)
}

/// Returns the ids of a page and the cursor of the next page.
async fn search(client: &Client, arguments: Value) -> (Vec<i64>, Option<String>) {
    let page = call(client, "search", arguments).await;
    let notes = page["notes"].as_array().unwrap().iter();
    let ids = notes.map(|note| note["id"].as_i64().unwrap()).collect();
    (ids, page["next_cursor"].as_str().map(ToOwned::to_owned))
}

#[tokio::test]
async fn notes_are_written_found_read_and_deleted() {
    let directory = TempDir::new().unwrap();
    for (number, transport) in Transport::all().into_iter().enumerate() {
        with_timeout(async {
            let example = notes(&directory, &format!("{number}.db"));
            let (client, _process) = example.connect(transport, client_builder()).await;
            for (title, body, tags) in [
                ("Milk", "Buy two bottles", json!(["shop", "home"])),
                ("Bread", "Buy rye", json!(["shop"])),
                ("Idea", "A server for notes", json!([])),
            ] {
                let arguments = json!({"title": title, "body": body, "tags": tags});
                let note = call(&client, "add", arguments).await;
                assert_eq!(note["title"], title);
            }
            for (arguments, expected) in [
                (json!({}), vec![3, 2, 1]),
                (json!({"text": "buy"}), vec![2, 1]),
                (json!({"text": "bot"}), vec![1]),
                (json!({"text": "buy rye"}), vec![2]),
                (json!({"tag": "home"}), vec![1]),
                (json!({"text": "buy", "tag": "none"}), vec![]),
                // Operators of the query language of SQLite are plain text here.
                (json!({"text": "\" OR 1 --"}), vec![]),
                (json!({"text": "title : milk NEAR ( *"}), vec![]),
                (json!({"text": "'; DROP TABLE notes; --"}), vec![]),
            ] {
                let (found, next) = search(&client, arguments.clone()).await;
                assert_eq!(
                    (found, next),
                    (expected, None),
                    "{transport:?}: {arguments}"
                );
            }

            let edited = json!({"id": 1, "body": "Buy *three* bottles"});
            let note = call(&client, "edit", edited).await;
            assert_eq!(
                note["tags"],
                json!(["home", "shop"]),
                "the tags stay unchanged"
            );
            let result = client.read_resource("notes://1").await.unwrap();
            let expected = ("# Milk\n\nBuy *three* bottles\n", Some("text/markdown"));
            assert_eq!(read(&result), expected);
            assert_eq!(search(&client, json!({"text": "two"})).await.0, [0; 0]);

            let result = client.call_tool("delete", &json!({"id": 2})).await.unwrap();
            assert_eq!(text(&result), "note 2 is deleted");
            let result = client.call_tool("delete", &json!({"id": 2})).await.unwrap();
            assert_eq!(result.is_error, Some(true));
            assert!(client.read_resource("notes://2").await.is_err());
            assert!(client.read_resource("notes://x").await.is_err());
            let listed = client
                .list_resources()
                .bypass_cache()
                .fetch_all()
                .await
                .unwrap();
            let uris: Vec<_> = listed.iter().map(|note| note.uri.as_str()).collect();
            assert_eq!(uris, ["notes://3", "notes://1"]);
            client.close().await;

            let (client, _process) = example.connect(transport, client_builder()).await;
            assert_eq!(
                search(&client, json!({})).await.0,
                [3, 1],
                "the notes are stored"
            );
            assert_eq!(client.list_resources().fetch_all().await.unwrap().len(), 2);
            client.close().await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_search_and_the_list_come_in_pages() {
    let directory = TempDir::new().unwrap();
    with_timeout(async {
        let transport = Transport::newest()[1];
        let (client, _process) = notes(&directory, "db")
            .connect(transport, client_builder())
            .await;
        for number in 1..=120 {
            let note = json!({"title": format!("Note {number}"), "body": ""});
            call(&client, "add", note).await;
        }
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let (ids, next) = search(&client, json!({"cursor": cursor, "limit": 25})).await;
            found.extend(ids);
            let Some(next) = next else { break };
            cursor = Some(next);
        }
        assert_eq!(found, (1..=120).rev().collect::<Vec<_>>());
        let (_, next) = search(&client, json!({"limit": 100})).await;
        assert_eq!(next.as_deref(), Some("21"));
        let result = client
            .call_tool("search", &json!({"cursor": "x"}))
            .await
            .unwrap();
        assert!(text(&result).contains("begin again"), "{result:?}");

        let first = client.list_resources().page(None).await.unwrap();
        assert_eq!(first.resources.len(), 100);
        call(&client, "edit", json!({"id": 7, "title": "New"})).await;
        let listed = client.list_resources().bypass_cache().fetch_all().await;
        let listed = listed.unwrap();
        let uris: Vec<_> = listed.iter().map(|note| note.uri.clone()).collect();
        let expected = (1..=120).rev().map(|id| format!("notes://{id}"));
        assert_eq!(uris, expected.collect::<Vec<_>>());
        assert_eq!(listed[113].name, "New");
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn arguments_are_completed_and_notes_become_a_prompt() {
    let directory = TempDir::new().unwrap();
    with_timeout(async {
        let transport = Transport::newest()[1];
        let (client, _process) = notes(&directory, "db")
            .connect(transport, client_builder())
            .await;
        for (title, tag) in [("Milk", "shop"), ("Show", "show"), ("Other", "other")] {
            let note = json!({"title": title, "body": "text", "tags": [tag]});
            call(&client, "add", note).await;
        }
        let completed = client.complete(PromptReference::new("summarize"), "tag", "sho");
        assert_eq!(completed.await.unwrap().completion.values, ["shop", "show"]);
        let template = ResourceTemplateReference::new("notes://{id}");
        let completed = client.complete(template, "id", "").await.unwrap();
        assert_eq!(completed.completion.values, ["3", "2", "1"]);

        let prompt = client
            .get_prompt("summarize", [("tag", "shop")])
            .await
            .unwrap();
        let [note, order] = prompt.messages.as_slice() else {
            panic!("{prompt:?}");
        };
        assert!(format!("{note:?}").contains("# Milk"));
        assert!(order.content.as_text().unwrap().contains("\"shop\""));
        let none = client.get_prompt("summarize", [("tag", "none")]).await;
        assert!(none.unwrap_err().to_string().contains("there are no notes"));
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn subscribers_are_notified_of_changes() {
    let directory = TempDir::new().unwrap();
    for (number, transport) in Transport::newest().into_iter().enumerate() {
        with_timeout(async {
            let example = notes(&directory, &format!("{number}.db"));
            let (client, _process) = example.connect(transport, client_builder()).await;
            let mut list = client
                .subscribe(ChangeFilter::new().resources())
                .await
                .unwrap();
            call(&client, "add", json!({"title": "a", "body": "b"})).await;
            assert_eq!(list.next().await, Some(Change::Resources), "{transport:?}");
            let filter = ChangeFilter::new().resource("notes://1");
            let mut note = client.subscribe(filter).await.unwrap();
            call(&client, "edit", json!({"id": 1, "body": "c"})).await;
            assert_eq!(
                note.next().await,
                Some(Change::Resource("notes://1".into()))
            );
            client.close().await;
        })
        .await;
    }
}

#[tokio::test]
async fn tools_have_annotations_and_schemas() {
    let directory = TempDir::new().unwrap();
    with_timeout(async {
        let transport = Transport::newest()[1];
        let (client, _process) = notes(&directory, "db")
            .connect(transport, client_builder())
            .await;
        let tools = client.list_tools().fetch_all().await.unwrap();
        let tool = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap();
        let hints = |name: &str| tool(name).annotations.clone().unwrap();
        assert_eq!(hints("search").read_only_hint, Some(true));
        assert_eq!(hints("delete").destructive_hint, Some(true));
        assert_eq!(hints("delete").idempotent_hint, Some(true));
        let schema = tool("search").output_schema.as_ref().unwrap();
        assert!(schema.as_str().contains("next_cursor"), "{schema:?}");
        let schema: Value = serde_json::from_str(tool("search").input_schema.as_str()).unwrap();
        assert_eq!(schema["properties"]["limit"]["maximum"], 100, "{schema}");
        let result = client.call_tool("search", &json!({"limit": 101})).await;
        let output = match result {
            Ok(result) => text(&result).to_owned(),
            Err(error) => error.to_string(),
        };
        assert!(output.contains("100"), "{output}");
        client.close().await;
    })
    .await;
}
