//! The audit log has a line for each call and each refusal, and never the arguments.

use std::future::IntoFuture as _;
use std::time::Duration;

use serde_json::json;
use turnbuckle::Client;
use turnbuckle::client::{ChangeFilter, EraPreference};
use turnbuckle::http::{HttpConnector, HttpServer, HttpServerOptions};
use turnbuckle::prelude::*;
use turnbuckle::testing;
use turnbuckle::types::{PromptReference, ResourceTemplateReference};
use turnbuckle_gateway::{Gateway, GatewayFile};

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
    assert_eq!(digests[7].len(), 32);
    assert_ne!(digests[7], digests[8]);
    let raw = std::fs::read_to_string(&path).unwrap();
    assert!(!raw.contains("hunter2"), "{raw}");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_or_completion_that_a_rule_forbids_is_denied() {
    let folder = tempfile::tempdir().unwrap();
    for era in [EraPreference::Modern, EraPreference::Legacy] {
        let path = folder.path().join(format!("{era:?}.jsonl"));
        let rules = format!(
            "audit = '{}'\n---\ndeny = ['db://secret/*']",
            path.display()
        );
        let gateway = gateway(&rules, upstream(&NAMES, &Used::default()), folder.path()).await;
        let client = testing::client(gateway.server().clone());
        let client = client
            .configure(move |it| it.era(era))
            .connect()
            .await
            .unwrap();
        let filter = ChangeFilter::new().resource("up+db://main");
        let filter = filter.resource("up+db://%73ecret/1");
        let subscribed = client.subscribe(filter).await;
        assert_eq!(subscribed.is_ok(), era == EraPreference::Modern);
        let template = ResourceTemplateReference::new("up+db://Secret/1");
        client.complete(template, "path", "t").await.unwrap_err();
        drop(subscribed);
        let lines = lines(&gateway, &path).await;
        let lines = lines.iter().filter(|it| text(it, "outcome") != "completed");
        let found: Vec<_> = lines
            .map(|line| ["item", "outcome"].map(|key| text(line, key)).join(" "))
            .collect();
        assert_eq!(
            found,
            ["db://%73ecret/1 denied", "db://Secret/1 denied"],
            "{era:?}"
        );
    }
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

#[tokio::test(start_paused = true)]
async fn the_outcome_of_a_limit_of_an_upstream_names_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let hang = Tool::builder("hang").handler(std::future::pending::<()>);
    let large = Tool::builder("large").handler(|| "x".repeat(2000));
    let upstream = Server::new("upstream", "1").tool(hang).tool(large);
    let rules = "audit = 'audit.jsonl'\n---\nlimits = { in_flight = 1, timeout = '40s', result_bytes = 1000 }";
    let gateway = gateway(rules, upstream.build().unwrap(), folder.path()).await;
    let client = client(&gateway, None).await;
    let _ = client.call_tool("up__large", &json!({})).await;
    let none = json!({});
    let second = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let _ = client.call_tool("up__large", &none).await;
    };
    let (_, ()) = tokio::join!(client.call_tool("up__hang", &none).into_future(), second);
    let lines = lines(&gateway, &folder.path().join("audit.jsonl")).await;
    let mut outcomes: Vec<_> = lines
        .iter()
        .map(|line| ["item", "outcome", "detail"].map(|key| text(line, key)))
        .collect();
    outcomes.sort();
    let expected = [
        ["hang", "timed_out", "limits.timeout"],
        ["large", "refused", "limits.in_flight"],
        ["large", "refused", "limits.result_bytes"],
    ];
    assert_eq!(outcomes, expected);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_gets_no_connection_is_refused_and_its_upstream_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let hang = Tool::builder("hang").handler(std::future::pending::<()>);
    let upstream = Server::new("upstream", "1").tool(hang).build().unwrap();
    let rules = "audit = 'audit.jsonl'\n---\nmode = 'pool:1'\nlimits = { timeout = '40s' }";
    let gateway = gateway(rules, upstream, folder.path()).await;
    let client = client(&gateway, None).await;
    let none = json!({});
    let call = || client.call_tool("up__hang", &none).into_future();
    let _ = tokio::join!(call(), call());
    let lines = lines(&gateway, &folder.path().join("audit.jsonl")).await;
    let outcomes: Vec<_> = lines
        .iter()
        .map(|line| ["outcome", "detail"].map(|key| text(line, key)))
        .collect();
    let expected = [["refused", "connections"], ["timed_out", "limits.timeout"]];
    assert_eq!(outcomes, expected);
}

#[tokio::test(start_paused = true)]
async fn the_wait_for_others_counts_for_the_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let hang = Tool::builder("hang").handler(std::future::pending::<()>);
    let work = Tool::builder("work").handler(|| tokio::time::sleep(Duration::from_secs(6)));
    let upstream = Server::new("upstream", "1").tool(hang).tool(work);
    let rules = "audit = 'audit.jsonl'\n---\nlimits = { in_flight = 1, timeout = '10s' }";
    let gateway = gateway(rules, upstream.build().unwrap(), folder.path()).await;
    let client = client(&gateway, None).await;
    let none = json!({});
    let begun = tokio::time::Instant::now();
    let call = |name| client.call_tool(name, &none).into_future();
    let _ = tokio::join!(call("up__work"), call("up__hang"), call("up__hang"));
    assert_eq!(begun.elapsed().as_secs(), 10);
    let lines = lines(&gateway, &folder.path().join("audit.jsonl")).await;
    let outcomes: Vec<_> = lines.iter().map(|it| text(it, "outcome")).collect();
    assert_eq!(outcomes, ["completed", "timed_out", "timed_out"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_call_whose_upstream_ends_says_so_and_not_what_it_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"while read -r line; do
        id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
        case $line in
            *'"initialize"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}" ;;
            *'tools/list'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"tools\":[{\"name\":\"crash\",\"inputSchema\":{\"type\":\"object\"}}]}}" ;;
            *'tools/call'*) echo hunter2 >&2; exit 9 ;;
            *'"id"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"no\"}}" ;;
        esac
    done"#;
    let file = GatewayFile::parse_toml(&format!(
        "audit = 'audit.jsonl'\n[upstream.up]\ncommand = {}",
        json!(["sh", "-c", script])
    ));
    let builder = Gateway::builder(file.unwrap()).directory(folder.path());
    let gateway = builder.connect().await.unwrap();
    let http = HttpServer::bind(
        gateway.server().clone(),
        "127.0.0.1:0",
        HttpServerOptions::new(),
    );
    let http = http.await.unwrap();
    let connector = HttpConnector::new(&http.url()).unwrap();
    tokio::spawn(http.serve());
    let over_http = Client::builder("c", "1").connect(connector).await.unwrap();
    for _ in 0..2 {
        // The second one reads that the upstream is not connected, unless it is back already.
        let failed = over_http.call_tool("up__crash", &json!({})).await.unwrap();
        let text = failed.text();
        assert!(text.contains("up"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
    for line in lines(&gateway, &folder.path().join("audit.jsonl")).await {
        assert_eq!(line["outcome"], "upstream_unavailable", "{line:?}");
    }
}
