//! Suggestions for what is being typed.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{
    Args, CompletionRequest, HandlerContext, Prompt, ReadRequest, Resource, Server,
};

use crate::support::{code, message, result};

#[derive(Deserialize, JsonSchema)]
struct Trip {
    #[expect(dead_code, reason = "only its name is of interest")]
    from: String,
    #[expect(dead_code, reason = "only its name is of interest")]
    to: Option<String>,
}

fn server() -> Server {
    let places = async |typing: CompletionRequest, _: HandlerContext| {
        let from = typing.arguments.get("from").cloned().unwrap_or_default();
        vec![format!("{}ern", typing.value), from]
    };
    let many = async |typing: CompletionRequest, _: HandlerContext| {
        let count = typing.value.parse().unwrap_or(0);
        (0..count).map(|n: u32| n.to_string()).collect::<Vec<_>>()
    };
    Server::new("completion", "1.0.0")
        .prompt(
            Prompt::builder("trip")
                .handler(async |Args(_): Args<Trip>, _: HandlerContext| String::new())
                .complete("to", places),
        )
        .resource(
            Resource::builder("note:{id}/{page}", "n")
                .handler(async |_: ReadRequest, _: HandlerContext| "")
                .complete("id", many),
        )
        .resource(
            Resource::builder("note:1", "one")
                .handler(async |_: ReadRequest, _: HandlerContext| ""),
        )
        .build()
        .unwrap()
}

fn of_prompt(name: &str) -> Value {
    json!({"type": "ref/prompt", "name": name})
}

fn of_template(uri: &str) -> Value {
    json!({"type": "ref/resource", "uri": uri})
}

// requirement: 6f94069d6e54 875e580244df eba52b45c2dd
#[tokio::test(start_paused = true)]
async fn a_missing_argument_is_32602() {
    let whole = json!({"ref": of_prompt("trip"), "argument": {"name": "to", "value": "B"}});
    for case in Case::all() {
        let mut client = Client::connect(case, &server()).await;
        result(&client.request("completion/complete", whole.clone()).await);
        let mut broken = vec![json!({})];
        for path in [
            "/ref",
            "/argument",
            "/ref/type",
            "/ref/name",
            "/argument/name",
            "/argument/value",
        ] {
            for wrong in [None, Some(json!(5)), Some(Value::Null)] {
                let mut params = whole.clone();
                let (parent, name) = path.rsplit_once('/').unwrap();
                let parent = params.pointer_mut(parent).unwrap().as_object_mut().unwrap();
                match wrong {
                    None => drop(parent.remove(name)),
                    Some(wrong) => drop(parent.insert(name.into(), wrong)),
                }
                broken.push(params);
            }
        }
        for params in broken {
            let answer = client.request("completion/complete", params.clone()).await;
            assert_eq!(code(&answer), -32602, "{case} {params}");
        }
        let long = json!({"ref": {"type": "x".repeat(100_000)}, "argument": {}});
        let answer = client.request("completion/complete", long).await;
        assert_eq!(code(&answer), -32602, "{case}");
        assert!(message(&answer).len() < 300, "{case}");
    }
}

// requirement: 6f94069d6e54 875e580244df afdc4fadf695
#[tokio::test(start_paused = true)]
async fn an_unknown_reference_is_32602() {
    for case in Case::all() {
        let mut client = Client::connect(case, &server()).await;
        for (reference, argument) in [
            (of_prompt("nothing"), "to"),
            (of_prompt("trip"), "nothing"),
            (of_template("nothing:{id}"), "id"),
            (of_template("note:{id}/{page}"), "nothing"),
            (json!({"type": "ref/nothing", "name": "trip"}), "to"),
        ] {
            let params = json!({"ref": reference, "argument": {"name": argument, "value": ""}});
            let answer = client.request("completion/complete", params).await;
            assert_eq!(code(&answer), -32602, "{case} {reference}");
            let named = message(&answer).contains("nothing");
            let typed = message(&answer).contains("type of reference");
            assert!(named || typed, "{case}: {answer}");
        }
        // One that exists and has no suggestions of its own has none.
        for (reference, argument) in [
            (of_prompt("trip"), "from"),
            (of_template("note:{id}/{page}"), "page"),
        ] {
            let params = json!({"ref": reference, "argument": {"name": argument, "value": ""}});
            let answer = client.request("completion/complete", params).await;
            assert_eq!(result(&answer)["completion"]["values"], json!([]), "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reference_is_a_template_or_a_uri() {
    let of_length = |bytes: usize| format!("note:{}/1", "x".repeat(bytes - 7));
    for case in Case::all() {
        let mut client = Client::connect(case, &server()).await;
        for (uri, known) in [
            ("note:{id}/{page}".to_owned(), true),
            (of_length(2048), true),
            (of_length(2049), false),
            ("note:é/1".to_owned(), false),
            ("note:%4/1".to_owned(), false),
        ] {
            let argument = json!({"name": "id", "value": "1"});
            let params = json!({"ref": of_template(&uri), "argument": argument});
            let answer = client.request("completion/complete", params).await;
            assert_eq!(answer.get("result").is_some(), known, "{case} {uri:.16}");
            assert!(known || code(&answer) == -32602, "{case} {uri:.16}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_suggestions_are_sent_and_the_rest_is_counted() {
    for case in Case::all() {
        let mut client = Client::connect(case, &server()).await;
        for (count, sent, more) in [(0, 0, false), (100, 100, false), (101, 100, true)] {
            let params = json!({
                "ref": of_template("note:{id}/{page}"),
                "argument": {"name": "id", "value": count.to_string()},
            });
            let answer = client.request("completion/complete", params).await;
            let completion = &result(&answer)["completion"];
            assert_eq!(
                completion["values"].as_array().unwrap().len(),
                sent,
                "{case}"
            );
            assert_eq!(completion["total"], count, "{case}");
            assert_eq!(completion["hasMore"], more, "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_completer_receives_the_known_arguments() {
    for case in Case::all() {
        let mut client = Client::connect(case, &server()).await;
        let mut params =
            json!({"ref": of_prompt("trip"), "argument": {"name": "to", "value": "B"}});
        if case.revision.features().completion_context {
            params["context"] = json!({"arguments": {"from": "Basel"}});
        }
        let answer = client.request("completion/complete", params).await;
        let from = if case.revision.features().completion_context {
            "Basel"
        } else {
            ""
        };
        assert_eq!(
            result(&answer)["completion"]["values"],
            json!(["Bern", from]),
            "{case}"
        );
    }
}
