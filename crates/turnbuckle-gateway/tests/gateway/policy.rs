//! Rules hold on lists, calls, prompts, completions and URIs.

use proptest::prelude::*;
use serde_json::json;
use turnbuckle::prelude::*;
use turnbuckle::types::{PromptReference, ResourceTemplateReference};
use turnbuckle_gateway::{Gateway, GatewayFile};
use turnbuckle_types::base::glob;

use crate::support::{Used, client, gateway, upstream};

const NAMES: [&str; 5] = ["issues_list", "issues_delete", "search", "repos", "s"];

/// Returns the names of the tools that a client of a gateway with these rules sees, and what the upstream was
/// asked for after the client has tried everything. It is the same whether clients share a connection or not.
async fn try_everything(rules: &str) -> (Vec<String>, Vec<String>) {
    let shared = try_everything_in_mode(rules, "shared").await;
    let own = try_everything_in_mode(rules, "per-session").await;
    assert_eq!(shared, own);
    own
}

async fn try_everything_in_mode(rules: &str, mode: &str) -> (Vec<String>, Vec<String>) {
    let rules = &format!("{rules}\nmode = '{mode}'");
    let used = Used::default();
    let folder = std::env::temp_dir();
    let gateway = gateway(rules, upstream(&NAMES, &used), &folder).await;
    let client = client(&gateway, None).await;
    let listed = client.list_tools().fetch_all().await.unwrap();
    let prompts = client.list_prompts().fetch_all().await.unwrap();
    let tools: Vec<String> = listed.iter().map(|it| it.name.clone()).collect();
    let prompts: Vec<String> = prompts.iter().map(|it| it.name.clone()).collect();
    assert_eq!(tools, prompts);
    for name in NAMES {
        for name in [name.to_owned(), format!("up__{name}"), "renamed".to_owned()] {
            let _ = client.call_tool(&name, &json!({})).await;
            let _ = client.get_prompt(&name, [("topic", "tea")]).await;
            let _ = client
                .complete(PromptReference::new(&*name), "topic", "t")
                .await;
        }
    }
    for uri in ["main", "a/b", "secret/c", "%73ecret/c", "a/../secret/c"] {
        let _ = client.read_resource(format!("up+db://{uri}")).await;
    }
    gateway.close().await;
    let mut used = used.lock().unwrap().clone();
    used.sort();
    used.dedup();
    (tools, used)
}

#[tokio::test(start_paused = true)]
async fn what_is_not_allowed_is_neither_listed_nor_called() {
    let (tools, used) = try_everything("allow = ['issues_*', 's']\ndeny = ['*_delete']").await;
    assert_eq!(tools, ["up__issues_list", "up__s"]);
    let expected = ["issues_list", "s"];
    let expected = ["completion", "prompt", "tool"]
        .iter()
        .flat_map(|kind| expected.iter().map(move |name| format!("{kind} {name}")));
    assert_eq!(used, expected.collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_renamed_item_has_its_new_name_alone() {
    let (tools, used) = try_everything("allow = ['search']\nrename = { search = 'renamed' }").await;
    assert_eq!(tools, ["renamed"]);
    assert_eq!(used, ["completion search", "prompt search", "tool search"]);
}

#[tokio::test(start_paused = true)]
async fn rules_about_uris_hold_on_what_a_template_matches() {
    let (_, used) =
        try_everything("allow = ['db://*']\ndeny = ['db://secret*', 'db://*/secret*']").await;
    assert_eq!(used, ["uri db://a/b", "uri db://main"]);
}

#[tokio::test(start_paused = true)]
async fn a_template_that_no_rule_allows_completes_nothing() {
    let upstream = upstream(&NAMES, &Used::default());
    let gateway = gateway("allow = ['search']", upstream, &std::env::temp_dir()).await;
    let client = client(&gateway, None).await;
    assert!(
        client
            .list_resource_templates()
            .fetch_all()
            .await
            .unwrap()
            .is_empty()
    );
    let reference = ResourceTemplateReference::new("up+db://{+path}");
    assert!(client.complete(reference, "path", "a").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn scopes_of_uris_are_demanded_for_every_spelling() {
    let used = Used::default();
    let rules = "scopes = { 'db://priv/*' = ['adm'] }";
    let gateway = gateway(rules, upstream(&NAMES, &used), &std::env::temp_dir()).await;
    let user = |scope: &str| Principal::new("https://id.example.com", "ann").scopes([scope]);
    for (scope, is_allowed) in [("other", false), ("adm", true)] {
        let client = client(&gateway, Some(user(scope))).await;
        for uri in [
            "db://priv/b",
            "db://pri%76/b",
            "db://Priv//b",
            "db://priv%2Fb",
        ] {
            let uri = format!("up+{uri}");
            let read = client.read_resource(&*uri).await;
            assert_eq!(read.is_ok(), is_allowed, "{uri} {read:?}");
            let completed = ResourceTemplateReference::new(&*uri);
            let completed = client.complete(completed, "path", "").await;
            assert_eq!(completed.is_ok(), is_allowed, "{uri} {completed:?}");
        }
        assert!(client.read_resource("up+db://pub/b").await.is_ok());
        assert!(client.read_resource("up+db://pub/../priv/b").await.is_err());
    }
    // The upstream gets each URI as the client wrote it.
    let used = used.lock().unwrap().clone();
    let expected = [
        "pub/b", "priv/b", "pri%76/b", "Priv//b", "priv%2Fb", "pub/b",
    ];
    assert_eq!(used, expected.map(|it| format!("uri db://{it}")));
}

#[tokio::test(start_paused = true)]
async fn scopes_of_the_file_are_demanded() {
    let used = Used::default();
    let rules = "scopes = { 'issues_*' = ['issues'] }";
    let gateway = gateway(rules, upstream(&NAMES, &used), &std::env::temp_dir()).await;
    let user = |scopes: &[&str]| {
        Principal::new("https://id.example.com", "ann").scopes(scopes.iter().copied())
    };
    for (principal, is_allowed) in [
        (None, false),
        (Some(user(&["other"])), false),
        (Some(user(&["issues"])), true),
    ] {
        let client = client(&gateway, principal).await;
        let called = client.call_tool("up__issues_list", &json!({})).await;
        assert_eq!(called.is_ok(), is_allowed);
        assert!(client.call_tool("up__search", &json!({})).await.is_ok());
    }
    let offers = gateway.offers();
    let issues = offers[0]
        .tools
        .iter()
        .find(|it| &*it.own_name == "issues_list");
    assert_eq!(issues.unwrap().scopes, ["issues"]);
}

#[tokio::test(start_paused = true)]
async fn an_offer_names_the_rules_without_an_effect() {
    let rules = "allow = ['search', 'saerch', 'repos', 's']\ndeny = ['delete']\n\
                 rename = { serach = 'x', repos = 'no name', s = 'search2', search = 'search2' }\n\
                 scopes = { 'isues_*' = ['a'], 'db://secrets/*' = ['b'] }";
    let gateway = gateway(
        rules,
        upstream(&NAMES, &Used::default()),
        &std::env::temp_dir(),
    )
    .await;
    let offers = gateway.offers();
    assert_eq!(offers[0].tools.len(), 1);
    assert_eq!(
        offers[0].unused_rules,
        [
            "`allow`: \"saerch\" matches none of its items",
            "`deny`: \"delete\" matches none of its items",
            "`scopes`: \"isues_*\" matches none of its items",
            "`rename`: \"repos\" is left out: a rule gives it the name \"no name\", which is not valid",
            "`rename`: \"search\" is left out: the name \"search2\" is that of \"s\" of the server \"up\"",
            "`rename`: it has no \"serach\" that is offered"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_offer_names_a_tool_that_is_left_out_beside_a_prompt_of_its_name() {
    let upstream = Server::new("upstream", "1")
        .tool(Tool::builder("hello").handler(|| "tool"))
        .tool(Tool::builder("bye").handler(|| "tool"))
        .prompt(Prompt::builder("hello").handler(|| "prompt"));
    let rules = "rename = { hello = 'up__bye' }";
    let gateway = gateway(rules, upstream.build().unwrap(), &std::env::temp_dir()).await;
    let offer = gateway.offers().remove(0);
    let names = [&offer.tools[0], &offer.prompts[0]].map(|it| (&*it.name, &*it.own_name));
    assert_eq!(names, [("up__bye", "bye"), ("up__bye", "hello")]);
    assert_eq!(
        offer.unused_rules,
        [
            "`rename`: \"hello\" is left out: the name \"up__bye\" is that of \"bye\" of the server \"up\""
        ]
    );
}

#[tokio::test]
async fn the_name_of_an_upstream_cannot_be_the_beginning_of_anothers_items() {
    for name in ["a__b", "a+b"] {
        let file = GatewayFile::parse_toml(&format!("[upstream.'{name}']\ncommand = ['x']"));
        let error = Gateway::builder(file.unwrap()).connect().await.unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("between the name of an upstream and"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_new_name_cannot_begin_as_the_names_of_another_upstream_do() {
    for (rename, is_refused) in [
        ("b__ask", true),
        ("b___ask", true),
        ("b__", true),
        ("a__ask", false),
        ("bb__ask", false),
        ("b_ask", false),
        ("ask__b__ask", false),
    ] {
        let text = format!(
            "[upstream.a]\ncommand = ['/']\nrename = {{ echo = '{rename}' }}\n[upstream.b]\ncommand = ['/']"
        );
        let file = GatewayFile::parse_toml(&text).unwrap();
        let connected = Gateway::builder(file).connect().await;
        let expected = format!(
            "the upstream \"a\": `rename`: the new name \"{rename}\" of \"echo\" begins with \"b\" and \"__\""
        );
        match connected {
            Err(error) => assert!(
                is_refused && error.to_string().starts_with(&expected),
                "{error}"
            ),
            Ok(_) => assert!(!is_refused, "{rename}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// The upstream is asked for what the rules permit, and for nothing else.
    #[test]
    fn what_is_not_listed_cannot_be_called(
        allow in proptest::collection::vec("[is*_delrt]{0,6}\\*?", 0..3),
        deny in proptest::collection::vec("\\*?[is_delrt]{1,6}\\*?", 0..3),
    ) {
        let allow: Vec<String> = allow.into_iter().filter(|it| !it.is_empty()).collect();
        let rules = format!("allow = {allow:?}\ndeny = {deny:?}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let (tools, used) = runtime.unwrap().block_on(try_everything(&rules));
        let permitted = |name: &&str| {
            allow.iter().any(|it| glob::matches(it, name)) && !deny.iter().any(|it| glob::matches(it, name))
        };
        let names: Vec<&str> = NAMES.into_iter().filter(permitted).collect();
        let listed: Vec<String> = names.iter().map(|name| format!("up__{name}")).collect();
        prop_assert_eq!(tools, listed);
        let mut called: Vec<String> = names.iter().map(|name| format!("tool {name}")).collect();
        called.sort();
        let used: Vec<String> = used.into_iter().filter(|it| it.starts_with("tool ")).collect();
        prop_assert_eq!(used, called);
    }
}
