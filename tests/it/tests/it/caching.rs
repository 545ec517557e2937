//! Cache hints: which results have them, and what they say.

use std::num::NonZeroUsize;
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{HandlerContext, Prompt, ReadRequest, Resource, Server, ServerBuilder};
use turnbuckle_types::{CacheScope, ReadResourceResult, ResourceContents};

use crate::support::{connect_as, result, taking};

/// Returns the requests whose results can be cached.
fn cacheable() -> [(&'static str, Value); 7] {
    [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "r:1"})),
        ("resources/read", json!({"uri": "r:x"})),
    ]
}

fn builder() -> ServerBuilder {
    let read = async |_: ReadRequest, _: HandlerContext| "";
    Server::new("caching", "1.0.0")
        .tool(taking("t", json!({"type": "object"})))
        .prompt(Prompt::builder("p").handler(async |(): (), _: HandlerContext| String::new()))
        .resource(Resource::builder("r:1", "r").handler(read))
        .resource(Resource::builder("r:{x}", "r").handler(read))
}

fn hints(answer: &Value) -> (&Value, &Value) {
    (&result(answer)["ttlMs"], &result(answer)["cacheScope"])
}

// requirement: 62b6a60a9ff5 6889106e63ff 7aaf47101c9b 89d8eb769074 cbf5812cd6e5 f7973665da97
#[tokio::test(start_paused = true)]
async fn every_cacheable_result_has_hints() {
    let server = builder().build().unwrap();
    for case in Case::modern() {
        let mut client = Client::connect(case, &server).await;
        for (method, params) in cacheable() {
            let answer = client.request(method, params).await;
            // Unless the author says more, nothing is to be kept.
            assert_eq!(
                hints(&answer),
                (&json!(0), &json!("private")),
                "{case} {method}"
            );
        }
        for (method, params) in [
            ("tools/call", json!({"name": "t"})),
            ("prompts/get", json!({"name": "p"})),
        ] {
            let answer = client.request(method, params).await;
            assert_eq!(
                hints(&answer),
                (&Value::Null, &Value::Null),
                "{case} {method}"
            );
        }
    }
    for case in Case::legacy() {
        let mut client = Client::connect(case, &server).await;
        for (method, params) in cacheable().into_iter().skip(1) {
            let answer = client.request(method, params).await;
            assert_eq!(
                hints(&answer),
                (&Value::Null, &Value::Null),
                "{case} {method}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_author_of_a_server_sets_the_cache_hints() {
    let read = async |_: ReadRequest, _: HandlerContext| "";
    let own = async |_: ReadRequest, _: HandlerContext| {
        ReadResourceResult::new([] as [ResourceContents; 0])
            .ttl_ms(7u64)
            .cache_scope(CacheScope::Public)
    };
    let server = Server::new("caching", "1.0.0")
        .list_cache(Duration::from_secs(1), CacheScope::Public)
        .discovery_cache(Duration::from_secs(2), CacheScope::Public)
        .resource(
            Resource::builder("r:1", "r")
                .handler(read)
                .cache(Duration::from_secs(3), CacheScope::Public),
        )
        .resource(
            Resource::builder("r:2", "r")
                .handler(own)
                .cache(Duration::from_secs(3), CacheScope::Private),
        )
        .resource(
            Resource::builder("r:3", "r")
                .handler(read)
                .cache(Duration::from_secs(3), CacheScope::Public)
                .visible_to(|_| true),
        )
        .build()
        .unwrap();
    for case in Case::modern() {
        let mut client = Client::connect(case, &server).await;
        for (method, params, ttl, scope) in [
            // One of the resources is not for everybody.
            ("resources/list", json!({}), 1000, "private"),
            ("resources/templates/list", json!({}), 1000, "public"),
            ("server/discover", json!({}), 2000, "public"),
            ("resources/read", json!({"uri": "r:1"}), 3000, "public"),
            ("resources/read", json!({"uri": "r:2"}), 7, "public"),
            ("resources/read", json!({"uri": "r:3"}), 3000, "private"),
        ] {
            let answer = client.request(method, params).await;
            assert_eq!(
                hints(&answer),
                (&json!(ttl), &json!(scope)),
                "{case} {method}"
            );
        }
    }
}

// requirement: 033753c1c59c bdb52f339e78
#[tokio::test(start_paused = true)]
async fn one_scope_for_all_pages() {
    let named = |name: &str| taking(name, json!({"type": "object"}));
    let paged = || {
        Server::new("pages", "1.0.0")
            .page_size(NonZeroUsize::MIN)
            .list_cache(Duration::from_secs(1), CacheScope::Public)
            .tool(named("a"))
            .tool(named("b"))
    };
    for (server, scope) in [
        (paged(), "public"),
        (paged().tool(named("c").scope("write")), "public"),
        (
            paged().tool(named("c").scope("write").hide_without_scopes()),
            "private",
        ),
        (
            paged().tool(named("c").visible_to(|who| who.is_some())),
            "private",
        ),
    ] {
        let server = server.build().unwrap();
        for case in Case::modern() {
            for mut client in [
                Client::connect(case, &server).await,
                connect_as(case, &server, "ada").await,
            ] {
                let mut params = json!({});
                loop {
                    let page = client.request("tools/list", params).await;
                    assert_eq!(hints(&page), (&json!(1000), &json!(scope)), "{case}");
                    let Some(cursor) = result(&page).get("nextCursor") else {
                        break;
                    };
                    params = json!({"cursor": cursor});
                }
            }
        }
    }
    // What becomes private while it runs is so from the first page on.
    let server = paged().build().unwrap();
    for case in Case::modern() {
        server.remove_tool("c");
        let mut client = Client::connect(case, &server).await;
        let page = client.request("tools/list", json!({})).await;
        assert_eq!(hints(&page).1, "public", "{case}");
        let hidden = named("c").scope("write").hide_without_scopes();
        server.add_tool(hidden).unwrap();
        let page = client.request("tools/list", json!({})).await;
        assert_eq!(hints(&page).1, "private", "{case}");
    }
}

// requirement: c437ee73059e
#[tokio::test(start_paused = true)]
async fn a_time_to_live_is_never_negative() {
    let read = async |_: ReadRequest, _: HandlerContext| "";
    for ttl in [0, 1, u64::from(u32::MAX), i64::MAX.unsigned_abs(), u64::MAX] {
        let server = Server::new("caching", "1.0.0")
            .tool(taking("t", json!({"type": "object"})))
            .prompt(Prompt::builder("p").handler(async |(): (), _: HandlerContext| String::new()))
            .resource(
                Resource::builder("r:1", "r")
                    .handler(read)
                    .cache(Duration::from_millis(ttl), CacheScope::Public),
            )
            .resource(
                Resource::builder("r:{x}", "r")
                    .handler(read)
                    .cache(Duration::from_millis(ttl), CacheScope::Public),
            )
            .list_cache(Duration::from_millis(ttl), CacheScope::Public)
            .discovery_cache(Duration::from_millis(ttl), CacheScope::Public)
            .build()
            .unwrap();
        for case in Case::modern() {
            let mut client = Client::connect(case, &server).await;
            for (method, params) in cacheable() {
                let answer = client.request(method, params).await;
                assert_eq!(hints(&answer).0.as_u64(), Some(ttl), "{case} {method}");
            }
        }
    }
}
