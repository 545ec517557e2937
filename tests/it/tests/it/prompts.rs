//! Prompts: who sees them, and how their arguments are checked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{Args, BuildError, HandlerContext, Prompt, Server, ServerBuilder};

use crate::support::{code, connect_as, list_values, message, missing_name_code, result};

fn builder() -> ServerBuilder {
    Server::new("prompts", "1.0.0")
}

#[derive(Deserialize, JsonSchema)]
struct Review {
    /// The code to review.
    code: String,
    style: Option<String>,
}

// requirement: e3aff1c9d429 eba52b45c2dd
#[tokio::test(start_paused = true)]
async fn a_missing_argument_is_32602() {
    let ran = Arc::new(AtomicUsize::new(0));
    let counter = ran.clone();
    let server = builder()
        .prompt(Prompt::builder("review").handler(
            move |Args(review): Args<Review>, _: HandlerContext| {
                counter.fetch_add(1, Ordering::Relaxed);
                async move { format!("{} {}", review.code, review.style.unwrap_or_default()) }
            },
        ))
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let list = client.request("prompts/list", json!({})).await;
        let arguments = &result(&list)["prompts"][0]["arguments"];
        assert_eq!(arguments[0]["name"], "code", "{case}");
        assert_eq!(arguments[0]["required"], true, "{case}");
        assert_eq!(arguments[0]["description"], "The code to review.", "{case}");
        assert_eq!(arguments[1]["required"], false, "{case}");
        for params in [
            json!({"name": "review"}),
            json!({"name": "review", "arguments": {}}),
            json!({"name": "review", "arguments": {"style": "dry"}}),
            json!({"name": "review", "arguments": {"code": 5}}),
            json!({"name": "review", "arguments": {"code": null}}),
        ] {
            let answer = client.request("prompts/get", params).await;
            assert_eq!(code(&answer), -32602, "{case}");
            assert!(
                message(&answer).contains("arguments.code"),
                "{case}: {answer}"
            );
        }
        let no_object = json!({"name": "review", "arguments": []});
        let answer = client.request("prompts/get", no_object).await;
        assert_eq!(code(&answer), -32602, "{case}");
        let answer = client
            .request("prompts/get", json!({"arguments": {}}))
            .await;
        assert_eq!(code(&answer), missing_name_code(case), "{case}");
        assert_eq!(ran.load(Ordering::Relaxed), 0, "{case}");
        let params = json!({"name": "review", "arguments": {"code": "fn"}});
        let good = client.request("prompts/get", params).await;
        assert_eq!(
            result(&good)["messages"][0]["content"]["text"],
            "fn ",
            "{case}"
        );
        ran.store(0, Ordering::Relaxed);
    }
}

// requirement: afdc4fadf695
#[tokio::test(start_paused = true)]
async fn an_unknown_name_is_32602() {
    let server = builder().dynamic_prompts().build().unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let answer = client
            .request("prompts/get", json!({"name": "nothing"}))
            .await;
        assert_eq!(code(&answer), -32602, "{case}");
        assert!(message(&answer).contains("nothing"), "{case}: {answer}");
        let long = "x".repeat(50_000);
        let answer = client.request("prompts/get", json!({"name": long})).await;
        assert_eq!(code(&answer), -32602, "{case}");
        assert!(message(&answer).len() < 200, "{case}");
    }
}

// requirement: b6826507c974
#[tokio::test(start_paused = true)]
async fn a_list_has_the_items_that_the_client_may_see() {
    let says = async |(): (), _: HandlerContext| "ran".to_owned();
    let server = builder()
        .prompt(Prompt::builder("all").handler(says))
        .prompt(
            Prompt::builder("adas")
                .handler(says)
                .visible_to(|who| who.is_some_and(|who| who.subject == "ada")),
        )
        .prompt(Prompt::builder("scoped").handler(says).scope("write"))
        .build()
        .unwrap();
    for case in Case::all() {
        let seen: [(Client, &[&str]); 3] = [
            (Client::connect(case, &server).await, &["all", "scoped"]),
            (connect_as(case, &server, "bob").await, &["all", "scoped"]),
            (
                connect_as(case, &server, "ada").await,
                &["all", "adas", "scoped"],
            ),
        ];
        for (mut client, names) in seen {
            for _ in 0..2 {
                let list = client.request("prompts/list", json!({})).await;
                assert_eq!(list_values(&list, "prompts", "name"), names, "{case}");
            }
            let answer = client.request("prompts/get", json!({"name": "adas"})).await;
            if names.contains(&"adas") {
                assert_eq!(result(&answer)["messages"][0]["content"]["text"], "ran");
            } else {
                assert_eq!(message(&answer), "Unknown prompt: adas", "{case}");
            }
            let scoped = client
                .request("prompts/get", json!({"name": "scoped"}))
                .await;
            assert!(message(&scoped).contains("write"), "{case}");
        }
    }
}

#[test]
fn arguments_are_read_from_text() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Counted {
        count: Vec<u32>,
    }
    let reason = |built: Result<Server, BuildError>| built.map(drop).unwrap_err().to_string();
    let counted = Prompt::builder("counted")
        .handler(async |Args(_): Args<Counted>, _: HandlerContext| String::new());
    assert!(
        reason(builder().prompt(counted).build()).contains("\"count\" cannot be parsed from text")
    );
    let bare = Prompt::builder("bare")
        .handler(async |Args(_): Args<String>, _: HandlerContext| String::new());
    assert!(reason(builder().prompt(bare).build()).contains("object"));
    for name in ["", "a\nb", &"x".repeat(257)] {
        let named = Prompt::builder(name.to_owned())
            .handler(async |(): (), _: HandlerContext| String::new());
        assert!(builder().prompt(named).build().is_err(), "{name:?}");
    }
}
