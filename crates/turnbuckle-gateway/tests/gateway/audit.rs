//! The audit log has a line for each call and each refusal, and never the arguments.

use serde_json::json;
use turnbuckle::prelude::*;
use turnbuckle::types::{PromptReference, ResourceTemplateReference};

use crate::support::{Used, client, gateway, lines, text, upstream};

const NAMES: [&str; 3] = ["search", "delete", "fail"];

#[tokio::test(start_paused = true)]
async fn each_call_and_each_refusal_has_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let rules = "audit = 'audit.jsonl'\n---\ndeny = ['delete']\nscopes = { fail = ['admin'] }";
    let gateway = gateway(rules, upstream(&NAMES, &Used::default()), folder.path()).await;
    let user = Principal::new("https://id.example.com", "ann").client("app");
    let client = client(&gateway, Some(user)).await;
    for name in ["up__search", "up__delete", "up__fail", "up__other", "other"] {
        let _ = client.call_tool(name, &json!({"query": "hunter2"})).await;
    }
    let _ = client.read_resource("up+db://main").await;
    let _ = client
        .get_prompt("up__delete", [("topic", "hunter2")])
        .await;
    let _ = client.list_tools().fetch_all().await;
    let prompt = PromptReference::new("up__search");
    client.complete(prompt, "topic", "t").await.unwrap();
    let template = ResourceTemplateReference::new("up+db://{+path}");
    let _ = client.complete(template, "path", "t").await;
    let path = folder.path().join("audit.jsonl");
    let lines = lines(&gateway, &path).await;
    let found: Vec<String> = lines
        .iter()
        .map(|line| {
            ["method", "name", "upstream", "item", "outcome", "detail"]
                .map(|key| text(line, key))
                .join(" ")
        })
        .collect();
    assert_eq!(
        found,
        [
            "tools/call up__search up search completed -",
            "tools/call up__delete up delete denied -",
            "tools/call up__fail up fail missing_scopes admin",
            "tools/call up__other up other unknown_item -",
            "tools/call other - - unknown_item -",
            "resources/read up+db://main up db://main completed -",
            "prompts/get up__delete up delete denied -",
            "completion/complete up__search up search completed -",
            "completion/complete up+db://{+path} up db://{+path} completed -",
        ]
    );
    for line in &lines {
        assert_eq!(text(line, "principal"), "ann");
        assert_eq!(text(line, "issuer"), "https://id.example.com");
        assert_eq!(text(line, "client"), "app");
        assert!(line["micros"].is_u64());
        assert!(text(line, "time").ends_with('Z'));
    }
    // Equal arguments have the same digest, which needs a key to be tried out.
    let digests: Vec<String> = lines.iter().map(|line| text(line, "arguments")).collect();
    assert_eq!(digests[0].len(), 32);
    assert_eq!(digests[0], digests[4]);
    assert_ne!(digests[0], digests[6]);
    let raw = std::fs::read_to_string(&path).unwrap();
    assert!(!raw.contains("hunter2"), "{raw}");
}

#[tokio::test(start_paused = true)]
async fn digests_of_two_gateways_agree_only_if_they_share_keys() {
    let folder = tempfile::tempdir().unwrap();
    let mut digests = Vec::new();
    for name in ["one", "two"] {
        let rules = format!("audit = '{name}'\n---\n");
        let gateway = gateway(&rules, upstream(&NAMES, &Used::default()), folder.path()).await;
        let client = client(&gateway, None).await;
        client
            .call_tool("up__search", &json!({"a": 1}))
            .await
            .unwrap();
        let lines = lines(&gateway, &folder.path().join(name)).await;
        digests.push(lines[0]["arguments"].clone());
    }
    assert_ne!(digests[0], digests[1]);
}

#[tokio::test(start_paused = true)]
async fn a_call_of_an_upstream_that_is_gone_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let rules = "audit = 'audit.jsonl'\n[upstream.gone]\nurl = 'http://127.0.0.1:9/mcp'\n---\n";
    let gateway = gateway(rules, upstream(&NAMES, &Used::default()), folder.path()).await;
    let client = client(&gateway, None).await;
    let _ = client.call_tool("gone__search", &json!({})).await;
    assert!(client.call_tool("up__search", &json!({})).await.is_ok());
    let lines = lines(&gateway, &folder.path().join("audit.jsonl")).await;
    assert_eq!(lines[0]["outcome"], "upstream_unavailable");
    assert_eq!(lines[0]["upstream"], "gone");
    assert_eq!(lines[1]["outcome"], "completed");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_a_shortened_name_has_the_upstream_and_its_own_name() {
    const LONG: &str = "a_tool_with_a_name_of_more_than_sixty_four_characters_with_its_prefix";
    let folder = tempfile::tempdir().unwrap();
    let upstream = || upstream(&[LONG], &Used::default());
    let open = gateway("", upstream(), folder.path()).await;
    let listed = client(&open, None).await.list_tools().fetch_all().await;
    let name = listed.unwrap()[0].name.clone();
    assert!(!name.contains("prefix"), "{name}");
    let rules = format!("audit = 'audit.jsonl'\n---\ndeny = ['{LONG}']");
    let closed = gateway(&rules, upstream(), folder.path()).await;
    let client = client(&closed, None).await;
    client.call_tool(&*name, &json!({})).await.unwrap_err();
    let _ = client
        .get_prompt(&*name, [("topic", "t")])
        .await
        .unwrap_err();
    for line in lines(&closed, &folder.path().join("audit.jsonl")).await {
        let keys = ["upstream", "item", "outcome"].map(|key| text(&line, key));
        assert_eq!(keys, ["up", LONG, "denied"]);
    }
}
