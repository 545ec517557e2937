//! Tests of declared capabilities and their consequences.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{
    CompletionRequest, Extension, HandlerContext, Prompt, ReadRequest, Resource, Server,
    ServerBuilder,
};
use turnbuckle_types::{EmptyResult, ExtensionRequest, Json, Request};

use crate::asking::{self, KINDS, requests, required_capability};
use crate::support::{able, code, connect_able, error_text, message, result, taking};

type Kind = (&'static str, fn(ServerBuilder) -> ServerBuilder);

/// Everything that a server can be given, alone, and the capability that it is.
const SERVERS: [Kind; 9] = [
    ("tools", |it| {
        it.tool(taking("t", json!({"type": "object"})))
    }),
    ("tools", ServerBuilder::dynamic_tools),
    ("prompts", |it| {
        it.prompt(Prompt::builder("p").handler(async |(): (), _: HandlerContext| String::new()))
    }),
    ("prompts", ServerBuilder::dynamic_prompts),
    ("resources", |it| {
        it.resource(
            Resource::builder("r:1", "r").handler(async |_: ReadRequest, _: HandlerContext| ""),
        )
    }),
    ("resources", |it| {
        let read = async |_: ReadRequest, _: HandlerContext| "";
        it.resource(Resource::builder("r:{x}", "r").handler(read))
    }),
    ("resources", ServerBuilder::dynamic_resources),
    ("completions", ServerBuilder::dynamic_completions),
    ("logging", ServerBuilder::logging),
];

/// Returns the capabilities that a server declares: in the handshake, or in discovery.
async fn declared_capabilities(case: Case, server: &Server) -> Value {
    let mut client = Client::connect(case, server).await;
    match client.handshake() {
        Some(result) => result["capabilities"].clone(),
        None => {
            let answer = client.request("server/discover", json!({})).await;
            result(&answer)["capabilities"].clone()
        }
    }
}

// requirement: 4e6bf2935280 74aa4a3fec2c a468e13d6ce6 b8a5e91028be f472c7cdb95e
#[tokio::test(start_paused = true)]
async fn registered_kinds_are_declared() {
    for case in Case::all() {
        for (kind, add) in SERVERS {
            let server = add(Server::new("s", "1")).build().unwrap();
            let mut expected = match kind {
                "tools" | "prompts" => json!({kind: {"listChanged": true}}),
                "resources" => json!({kind: {"listChanged": true, "subscribe": true}}),
                _ => json!({kind: {}}),
            };
            if kind == "completions" && !case.revision.features().completions_capability {
                expected = json!({});
            }
            assert_eq!(
                declared_capabilities(case, &server).await,
                expected,
                "{case} {kind}"
            );
        }
        let nothing = Server::new("s", "1").build().unwrap();
        assert_eq!(
            declared_capabilities(case, &nothing).await,
            json!({}),
            "{case}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn completions_are_declared_where_an_item_has_a_completer() {
    let empty = async |_: CompletionRequest, _: HandlerContext| Vec::<String>::new();
    let read = async |_: ReadRequest, _: HandlerContext| "";
    let template = Resource::builder("r:{x}", "r")
        .handler(read)
        .complete("x", empty);
    let server = Server::new("s", "1").resource(template).build().unwrap();
    for case in Case::all() {
        let has = declared_capabilities(case, &server)
            .await
            .get("completions")
            .is_some();
        assert_eq!(
            has,
            case.revision.features().completions_capability,
            "{case}"
        );
    }
}

// requirement: 4bde8b77cab8 60a70291f1db bf40b4d36a4f db9f9011d489
#[tokio::test(start_paused = true)]
async fn methods_of_an_undeclared_kind_are_32601() {
    let methods = [
        ("tools", "tools/list", json!({})),
        ("tools", "tools/call", json!({"name": "t"})),
        ("prompts", "prompts/list", json!({})),
        ("prompts", "prompts/get", json!({"name": "p"})),
        ("resources", "resources/list", json!({})),
        ("resources", "resources/templates/list", json!({})),
        ("resources", "resources/read", json!({"uri": "r:1"})),
        ("resources", "resources/subscribe", json!({"uri": "r:1"})),
        ("resources", "resources/unsubscribe", json!({"uri": "r:1"})),
        (
            "completions",
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}),
        ),
        ("logging", "logging/setLevel", json!({"level": "info"})),
    ];
    for case in Case::all() {
        for (kind, add) in SERVERS {
            let server = add(Server::new("s", "1")).build().unwrap();
            let mut client = Client::connect(case, &server).await;
            for (of, method, params) in &methods {
                let answer = client.request(method, params.clone()).await;
                if *of != kind {
                    assert_eq!(code(&answer), -32601, "{case} {kind} {method}");
                }
            }
        }
    }
}

#[test]
fn an_undeclared_kind_of_item_cannot_be_added() {
    let server = Server::new("s", "1").build().unwrap();
    let read = async |_: ReadRequest, _: HandlerContext| "";
    let handler = |_: (), _: HandlerContext| async { String::new() };
    for (refused, says) in [
        (
            server.add_tool(taking("t", json!({"type": "object"}))),
            "dynamic_tools",
        ),
        (
            server.add_prompt(Prompt::builder("p").handler(handler)),
            "dynamic_prompts",
        ),
        (
            server.add_resource(Resource::builder("r:1", "r").handler(read)),
            "dynamic_resources",
        ),
        (
            server.add_resource(Resource::builder("r:{x}", "r").handler(read)),
            "dynamic_resources",
        ),
    ] {
        assert!(refused.unwrap_err().to_string().contains(says), "{says}");
    }
    let server = Server::new("s", "1").dynamic_resources().build().unwrap();
    let completing = Resource::builder("r:{x}", "r")
        .handler(read)
        .complete("x", async |_: CompletionRequest, _: HandlerContext| {
            Vec::<String>::new()
        });
    let refused = server.add_resource(completing).unwrap_err();
    assert!(
        refused.to_string().contains("dynamic_completions"),
        "{refused}"
    );
    let odd = Server::new("s", "1").experimental("x", "5".parse::<Json>().unwrap());
    assert!(odd.build().is_err());
}

/// Clients that lack what a question of that kind needs.
fn lacking(case: Case, kind: &str) -> Vec<Value> {
    let whole = able(case.revision);
    let without = |name: &str| {
        let mut less = whole.clone();
        less.as_object_mut().unwrap().remove(name);
        less
    };
    let with = |name: &str, part: Value| {
        let mut less = whole.clone();
        less[name] = part;
        less
    };
    let parts = case.revision.features().sampling_tools;
    let mut lacking = match kind {
        "form" => vec![
            without("elicitation"),
            with("elicitation", json!({"url": {}})),
        ],
        "url" => vec![
            without("elicitation"),
            with("elicitation", json!({})),
            with("elicitation", json!({"form": {}})),
        ],
        "sample" => vec![without("sampling")],
        "tools" | "context" => vec![without("sampling")],
        _ => vec![without("roots")],
    };
    match kind {
        "tools" => lacking.push(with("sampling", json!({"context": {}}))),
        "context" if parts => lacking.push(with("sampling", json!({"tools": {}}))),
        _ => {}
    }
    lacking.push(json!({}));
    lacking
}

// requirement: 4bde8b77cab8 7063c41e3cf9 bf40b4d36a4f
#[tokio::test(start_paused = true)]
async fn nothing_undeclared_is_asked() {
    let server = asking::server();
    for case in Case::all() {
        for kind in KINDS {
            for capabilities in lacking(case, kind) {
                let mut client = connect_able(case, &server, capabilities).await;
                for (method, params) in requests(kind) {
                    let answer = client.request(method, params).await;
                    assert_ne!(
                        answer["result"]["resultType"], "input_required",
                        "{case} {kind}"
                    );
                }
                // And beside them all other questions in the same round are not asked either.
                let both = requests(&format!("{kind},sample,form"));
                for (method, params) in both {
                    let answer = client.request(method, params).await;
                    assert_ne!(
                        answer["result"]["resultType"], "input_required",
                        "{case} {kind}"
                    );
                }
                assert_eq!(client.messages().await, [Value::Null; 0], "{case} {kind}");
            }
        }
    }
}

// requirement: 8f1696eda91b e7bec066c5f6
#[tokio::test(start_paused = true)]
async fn a_missing_capability_is_named() {
    let server = asking::server();
    for case in Case::all() {
        for kind in KINDS {
            let mut client = connect_able(case, &server, json!({})).await;
            for (method, params) in requests(kind) {
                let answer = client.request(method, params).await;
                let name = required_capability(kind)
                    .as_object()
                    .unwrap()
                    .keys()
                    .next()
                    .unwrap()
                    .clone();
                if case.is_modern() {
                    assert_eq!(code(&answer), -32021, "{case} {kind}");
                    let mut required = required_capability(kind);
                    if kind == "form" {
                        required = json!({"elicitation": {"form": {}}});
                    }
                    assert_eq!(
                        answer["error"]["data"]["requiredCapabilities"], required,
                        "{case}"
                    );
                } else if method == "tools/call" {
                    assert!(
                        error_text(&answer).contains(&name),
                        "{case} {kind}: {answer}"
                    );
                } else {
                    assert_eq!(code(&answer), -32602, "{case} {kind} {method}");
                    assert!(message(&answer).contains(&name), "{case} {kind}: {answer}");
                }
            }
        }
    }
}

struct Probe;

impl Request for Probe {
    const METHOD: &'static str = "example/probe";
    type Params = EmptyResult;
    type Result = EmptyResult;
}

impl ExtensionRequest for Probe {
    const EXTENSION: &'static str = "com.example/one";
}

#[test]
fn two_extensions_cannot_add_the_same_method() {
    let probing = |id: &str| {
        Extension::new(id)
            .method::<Probe, _, _>(async |_, _: HandlerContext| Ok(EmptyResult::new()))
    };
    let built = |extensions: [Extension; 2]| {
        let builder = Server::new("s", "1");
        let builder = extensions
            .into_iter()
            .fold(builder, ServerBuilder::extension);
        builder.build().map(drop).map_err(|error| error.to_string())
    };
    let other = Extension::new("com.example/other");
    assert_eq!(built([probing("com.example/one"), other]), Ok(()));
    let probe = async |_, _: HandlerContext| Ok(EmptyResult::new());
    let twice = built([
        probing("com.example/one").method::<Probe, _, _>(probe),
        Extension::new("com.example/other"),
    ]);
    assert!(twice.unwrap_err().contains("two methods \"example/probe\""));
    let foreign = built([
        probing("com.example/two"),
        Extension::new("com.example/other"),
    ]);
    let belongs = "\"example/probe\" belongs to the extension \"com.example/one\"";
    assert!(foreign.unwrap_err().contains(belongs));
    let same = built(["", ""].map(|_| Extension::new("com.example/one")));
    assert!(same.unwrap_err().contains("two extensions"));
    let typed = |id: &str| Extension::new(id).result_type("task");
    let twice = built([typed("com.example/one"), typed("com.example/two")]);
    assert!(twice.unwrap_err().contains("two result types \"task\""));
}
