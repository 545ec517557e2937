//! Three tools instead of all.

use serde_json::{Value, json};
use turnbuckle::prelude::*;
use turnbuckle::testing::TestClient;

use crate::support::{Used, client, gateway, lines, text, upstream};

const NAMES: [&str; 4] = ["issues_list", "issues_delete", "search", "secret"];

const RULES: &str = "lazy = true\naudit = 'audit.jsonl'\n---\nallow = ['issues_*', 'search']\n\
                     deny = ['issues_delete']\nscopes = { search = ['read'] }";

async fn call(client: &TestClient, tool: &str, arguments: Value) -> Result<String, String> {
    let called = client.call_tool(tool, &arguments).await;
    let result = called.map_err(|error| error.to_string())?;
    match result.is_error {
        Some(true) => Err(result.text().into_owned()),
        _ => Ok(result.text().into_owned()),
    }
}

#[tokio::test(start_paused = true)]
async fn three_tools_search_describe_and_call_all_others() {
    let folder = tempfile::tempdir().unwrap();
    let used = Used::default();
    let gateway = gateway(RULES, upstream(&NAMES, &used), folder.path()).await;
    let client = client(&gateway, None).await;
    let listed = client.list_tools().fetch_all().await.unwrap();
    let names: Vec<&str> = listed.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["search_tools", "describe_tool", "call_tool"]);

    let found = call(&client, "search_tools", json!({"query": "ISSUES zzz"}))
        .await
        .unwrap();
    assert_eq!(
        found,
        r#"{"tools":[{"name":"up__issues_list","description":""}],"more":0}"#
    );
    let all = call(&client, "search_tools", json!({"query": ""}))
        .await
        .unwrap();
    assert!(
        all.contains("up__search") && !all.contains("delete") && !all.contains("secret"),
        "{all}"
    );
    let described = call(&client, "describe_tool", json!({"name": "up__issues_list"}))
        .await
        .unwrap();
    assert!(described.contains("inputSchema"), "{described}");

    let arguments = json!({"name": "up__issues_list", "arguments": {"a": "hunter2"}});
    assert_eq!(call(&client, "call_tool", arguments).await.unwrap(), "done");
    for name in ["up__issues_delete", "up__secret", "up__search", "up__other"] {
        call(&client, "call_tool", json!({"name": name}))
            .await
            .unwrap_err();
        call(&client, name, json!({})).await.unwrap_err();
    }
    // Whoever knows a name needs none of the three.
    let direct = call(&client, "up__issues_list", json!({"a": "hunter2"})).await;
    assert_eq!(direct.unwrap(), "done");
    for arguments in [json!({}), json!({"name": 7}), json!({"name": "call_tool"})] {
        call(&client, "call_tool", arguments).await.unwrap_err();
    }
    assert_eq!(*used.lock().unwrap(), ["tool issues_list"; 2]);

    let lines = lines(&gateway, &folder.path().join("audit.jsonl")).await;
    let calls = lines
        .iter()
        .filter(|line| text(line, "name").starts_with("up__"));
    let calls: Vec<String> = calls
        .map(|line| format!("{} {}", text(line, "item"), text(line, "outcome")))
        .collect();
    assert_eq!(
        calls,
        [
            "issues_list completed",
            "issues_delete denied",
            "issues_delete denied",
            "secret denied",
            "secret denied",
            "search missing_scopes",
            "search missing_scopes",
            "other denied",
            "other denied",
            "issues_list completed",
        ]
    );
    // There is one line for each call, with the arguments of the tool that was called.
    let redirected = lines.iter().filter(|it| text(it, "name") == "call_tool");
    assert_eq!(redirected.count(), 3);
    let digests = lines.iter().filter(|it| text(it, "item") == "issues_list");
    let digests: Vec<String> = digests.map(|it| text(it, "arguments")).collect();
    assert_eq!(digests[0], digests[1]);
    let raw = std::fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
    assert!(!raw.contains("hunter2"), "{raw}");
}

#[tokio::test(start_paused = true)]
async fn scopes_of_a_tool_hold_when_it_is_called_by_call_tool() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = gateway(RULES, upstream(&NAMES, &Used::default()), folder.path()).await;
    let user = Principal::new("https://id.example.com", "ann").scopes(["read"]);
    let client = client(&gateway, Some(user)).await;
    let called = call(&client, "call_tool", json!({"name": "up__search"})).await;
    assert_eq!(called.unwrap(), "done");
}
