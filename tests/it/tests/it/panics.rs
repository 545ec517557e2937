//! A handler that panics fails alone.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{
    CompletionRequest, Extension, HandlerContext, Prompt, ReadRequest, Resource, Result, Server,
    Tool,
};
use turnbuckle_types::{CompleteRequestParams, CompleteResult, ExtensionRequest, Request};

use crate::support::{assert_panicked, call, code, connect_able, message, text};

struct Probe;

impl Request for Probe {
    const METHOD: &'static str = "example/probe";
    type Params = CompleteRequestParams;
    type Result = CompleteResult;
}

impl ExtensionRequest for Probe {
    const EXTENSION: &'static str = "com.example/probe";
}

/// Panics at once, after a while, or before there is a future at all.
fn server() -> Server {
    let later = async |_: ReadRequest, _: HandlerContext| -> String {
        tokio::task::yield_now().await;
        panic!("secret of a resource");
    };
    let completer = async |_: CompletionRequest, _: HandlerContext| -> Vec<String> {
        panic!("secret of a completer")
    };
    let before = |_: ReadRequest, _: HandlerContext| -> std::future::Ready<String> {
        panic!("secret, at once")
    };
    let probing = Extension::new("com.example/probe").method::<Probe, _, _>(
        async |_: CompleteRequestParams, _: HandlerContext| -> Result<CompleteResult> {
            panic!("secret probe")
        },
    );
    Server::new("panicking", "1.0.0")
        .tool(Tool::builder("good").handler(async |(): (), _: HandlerContext| "good"))
        .tool(
            Tool::builder("now").handler(async |(): (), _: HandlerContext| -> String {
                panic!("secret of a tool")
            }),
        )
        .tool(
            Tool::builder("later").handler(async |(): (), _: HandlerContext| -> String {
                tokio::task::yield_now().await;
                panic!("secret of a tool");
            }),
        )
        .tool(Tool::builder("before").handler(
            |(): (), _: HandlerContext| -> std::future::Ready<String> { panic!("secret, at once") },
        ))
        .tool(
            Tool::builder("seen")
                .handler(async |(): (), _: HandlerContext| "")
                .visible_to(|_| panic!("secret rule")),
        )
        .prompt(
            Prompt::builder("now").handler(async |(): (), _: HandlerContext| -> String {
                panic!("secret of a prompt")
            }),
        )
        .resource(Resource::builder("r:1", "r").handler(later))
        .resource(
            Resource::builder("r:{x}", "r")
                .handler(before)
                .complete("x", completer),
        )
        .extension(probing)
        .on_roots_changed(|_| -> std::future::Ready<()> { panic!("a hook") })
        .build()
        .unwrap()
}

// requirement: 2f94305590a8 6874cd012a11 7d94cfcf27df b70c4ec639de cbae528a1c77
#[tokio::test(start_paused = true)]
async fn a_panic_says_nothing_of_itself() {
    let server = server();
    for case in Case::all() {
        let able = json!({"roots": {"listChanged": true}, "extensions": {"com.example/probe": {}}});
        let mut client = connect_able(case, &server, able).await;
        let completing = json!({
            "ref": {"type": "ref/resource", "uri": "r:{x}"}, "argument": {"name": "x", "value": ""},
        });
        let mut panicking = vec![
            ("tools/call", json!({"name": "now"})),
            ("tools/call", json!({"name": "later"})),
            ("tools/call", json!({"name": "before"})),
            ("tools/call", json!({"name": "seen"})),
            ("tools/list", json!({})),
            ("prompts/get", json!({"name": "now"})),
            ("resources/read", json!({"uri": "r:1"})),
            ("resources/read", json!({"uri": "r:2"})),
            ("completion/complete", completing.clone()),
        ];
        if case.revision.features().extensions {
            panicking.push(("example/probe", completing));
        }
        for (method, params) in panicking {
            let ran = method == "tools/call" && params["name"] != "seen";
            let answer = client.request(method, params).await;
            if ran {
                // The model is told that it failed.
                assert_panicked(&answer, case);
                continue;
            }
            assert_eq!(code(&answer), -32603, "{case} {method}");
            // What it says is for the log, not for the client.
            assert!(!message(&answer).contains("secret"), "{case}: {answer}");
            assert_eq!(
                text(&call(&mut client, "good", json!({})).await),
                "good",
                "{case}"
            );
        }
        if case.is_legacy() {
            for _ in 0..100 {
                client
                    .notify("notifications/roots/list_changed", json!({}))
                    .await;
            }
            assert_eq!(
                text(&call(&mut client, "good", json!({})).await),
                "good",
                "{case}"
            );
        }
        assert_eq!(client.messages().await, [Value::Null; 0], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_beside_a_panic_are_answered() {
    let server = server();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let mut ids = Vec::new();
        for n in 0..20 {
            let name = ["good", "later", "now"][n % 3];
            ids.push((
                client.start("tools/call", json!({"name": name})).await,
                name,
            ));
        }
        for (id, name) in ids {
            let answer = client.response(id).await;
            match name {
                "good" => assert_eq!(text(&answer), "good", "{case}"),
                _ => assert_panicked(&answer, case),
            }
        }
    }
}
