//! JSON Schema: which dialects, which references, and how much of it.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{Args, HandlerContext, Profile, RawArguments, Server, Structured, Tool};
use turnbuckle_wire::revision::Revision;

use crate::support::{build_error, call, error_text, result, schema, taking, text};

const DRAFT_2020_12: &str = "https://json-schema.org/draft/2020-12/schema";
const DRAFT_07: &str = "http://json-schema.org/draft-07/schema#";

/// Returns whether a tool with that schema accepts those arguments.
async fn takes(input: &Value, arguments: Value) -> bool {
    let server = Server::new("s", "1")
        .tool(taking("t", input.clone()))
        .build()
        .unwrap();
    let mut client = Client::connect(Case::pipe(Revision::NEWEST), &server).await;
    let answer = call(&mut client, "t", arguments).await;
    result(&answer)["isError"] != true
}

/// Returns a schema whose `pair` is a text and a number, spelled in either dialect.
fn pair(dialect: Option<&str>, keyword: &str) -> Value {
    let mut input = json!({
        "type": "object",
        "properties": {"pair": {keyword: [{"type": "string"}, {"type": "number"}]}},
    });
    if let Some(dialect) = dialect {
        input["$schema"] = dialect.into();
    }
    input
}

// requirement: d5aeb246a9d4 eac9c7da104a
#[tokio::test(start_paused = true)]
async fn both_dialects_validate() {
    let (good, bad) = (json!({"pair": ["a", 1]}), json!({"pair": [1, "a"]}));
    let newer = pair(Some(DRAFT_2020_12), "prefixItems");
    assert!(takes(&newer, good.clone()).await && !takes(&newer, bad.clone()).await);
    let older = pair(Some(DRAFT_07), "items");
    assert!(takes(&older, good.clone()).await && !takes(&older, bad.clone()).await);
    // A word of the other dialect is none.
    assert!(takes(&pair(Some(DRAFT_07), "prefixItems"), bad.clone()).await);
    build_error(taking("t", pair(Some(DRAFT_2020_12), "items")));
    // In the older one nothing stands beside a reference.
    let beside = |dialect: &str| {
        json!({
            "$schema": dialect, "type": "object", "definitions": {"any": {}},
            "properties": {"a": {"$ref": "#/definitions/any", "maximum": 1}},
        })
    };
    assert!(takes(&beside(DRAFT_07), json!({"a": 2})).await);
    assert!(!takes(&beside(DRAFT_2020_12), json!({"a": 2})).await);
    // The mark at the end of a dialect's name does not matter.
    for dialect in [
        "https://json-schema.org/draft/2020-12/schema#",
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft-07/schema#",
    ] {
        let input = json!({"$schema": dialect, "type": "object", "required": ["a"]});
        assert!(takes(&input, json!({"a": 1})).await && !takes(&input, json!({})).await);
    }
}

// requirement: 0cc40f599e67
#[tokio::test(start_paused = true)]
async fn no_dialect_means_2020_12() {
    let input = pair(None, "prefixItems");
    assert!(takes(&input, json!({"pair": ["a", 1]})).await);
    assert!(!takes(&input, json!({"pair": [1, "a"]})).await);
    build_error(taking("t", pair(None, "items")));
}

// requirement: abc11277e879 d5aeb246a9d4
#[test]
fn dialects_are_documented() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let read = |path: &str| std::fs::read_to_string(crates.join(path)).unwrap();
    let documentation: String = read("turnbuckle-server/src/lib.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .collect();
    for words in ["JSON Schema", "2020-12", "draft-07"] {
        assert!(documentation.contains(words), "{words}");
    }
}

// requirement: 3672ea9bb2ae
#[test]
fn an_unknown_dialect_is_a_named_error() {
    for dialect in [
        json!("http://json-schema.org/draft-04/schema#"),
        json!("https://json-schema.org/draft/2019-09/schema"),
        json!("nonsense"),
        json!(""),
        json!(7),
        json!(null),
    ] {
        let input = json!({"$schema": dialect, "type": "object"});
        let reason = build_error(taking("t", input));
        assert!(
            reason.contains("dialect") && reason.contains("2020-12"),
            "{dialect}: {reason}"
        );
    }
    let output = Tool::builder("t")
        .handler(async |(): (), _: HandlerContext| ())
        .output_schema(schema(
            json!({"$schema": "http://json-schema.org/draft-04/schema#"}),
        ));
    assert!(build_error(output).contains("dialect"));
    // Nor does a part of a schema speak another.
    let inside = json!({
        "type": "object", "properties": {"a": {"$schema": DRAFT_07, "type": "string"}},
    });
    build_error(taking("t", inside));
}

// requirement: b42c05c272cc
#[test]
fn an_invalid_schema_is_refused_at_registration() {
    for property in [
        json!({"type": 5}),
        json!({"type": "text"}),
        json!({"minimum": "1"}),
        json!({"required": "a"}),
        json!({"enum": 5}),
        json!({"pattern": "("}),
        json!({"pattern": "(?=a)"}),
        json!({"$ref": "#/nowhere"}),
        json!({"$ref": 5}),
        json!(5),
    ] {
        let input = json!({"type": "object", "properties": {"a": property}});
        let reason = build_error(taking("t", input));
        assert!(reason.starts_with("tool \"t\": "), "{property}: {reason}");
        let output = Tool::builder("t")
            .handler(async |(): (), _: HandlerContext| ())
            .output_schema(schema(json!({"properties": {"a": property}})));
        build_error(output);
    }
}

// requirement: 54e0a4a1fcae b9c19ec20b69 bc9e73f6913b
#[test]
fn a_remote_reference_is_refused_and_never_fetched() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let here = format!("http://{}/schema.json", listener.local_addr().unwrap());
    for (keyword, dialect) in [
        ("$ref", DRAFT_2020_12),
        ("$dynamicRef", DRAFT_2020_12),
        ("$ref", DRAFT_07),
    ] {
        for target in [&*here, "file:///etc/passwd", "other.json", "//127.0.0.1/x"] {
            let input = json!({
                "$schema": dialect, "type": "object", "properties": {"a": {keyword: target}},
            });
            let reason = build_error(taking("t", input.clone()));
            assert!(
                reason.contains("leads out of the schema"),
                "{target}: {reason}"
            );
            let output = Tool::builder("t")
                .handler(async |(): (), _: HandlerContext| ())
                .output_schema(schema(input));
            build_error(output);
        }
    }
    // Nor by way of a base that makes a local reference remote.
    let based = json!({
        "type": "object", "properties": {"a": {"$id": here, "$ref": "#/b"}},
    });
    build_error(taking("t", based));
    let at_the_root = json!({"$id": here, "type": "object", "properties": {"a": {"$ref": "b"}}});
    build_error(taking("t", at_the_root));
    let accepted = listener.accept().map(drop);
    assert_eq!(accepted.unwrap_err().kind(), ErrorKind::WouldBlock);
}

/// Returns the time for which this thread has used a processor. What other programs use does not count.
#[cfg(unix)]
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.try_into().unwrap()
}

/// Returns the time since the first call.
#[cfg(not(unix))]
fn processor_time() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

// requirement: 64ac131fb73b
#[test]
fn depth_and_size_are_bounded() {
    let deep = |levels: usize| {
        let inner = (0..levels).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}));
        json!({"type": "object", "properties": {"a": inner}})
    };
    let wide = |count: usize| {
        let properties: serde_json::Map<_, _> = (0..count)
            .map(|n| (n.to_string(), json!({"type": "string"})))
            .collect();
        json!({"type": "object", "properties": properties})
    };
    // Doubles with every step.
    let expanding = |steps: usize| {
        let mut defs = serde_json::Map::new();
        defs.insert("d0".into(), json!({"type": "string"}));
        for n in 1..=steps {
            let twice = json!({"$ref": format!("#/$defs/d{}", n - 1)});
            defs.insert(format!("d{n}"), json!({"anyOf": [twice.clone(), twice]}));
        }
        let properties = json!({"a": {"$ref": format!("#/$defs/d{steps}")}});
        json!({"type": "object", "properties": properties, "$defs": defs})
    };
    let endless = json!({
        "type": "object", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        "properties": {"a": {"$ref": "#/$defs/a"}},
    });
    for good in [deep(20), wide(500), expanding(8)] {
        assert!(
            Server::new("s", "1")
                .tool(taking("t", good))
                .build()
                .is_ok()
        );
    }
    let started = processor_time();
    for bad in [deep(70), deep(120), wide(100_000), expanding(30), endless] {
        let reason = build_error(taking("t", bad));
        assert!(reason.len() < 500, "{reason}");
    }
    let taken = processor_time() - started;
    assert!(taken < Duration::from_secs(20), "{taken:?}");
}

#[tokio::test(start_paused = true)]
async fn a_schema_that_recurs_meets_a_hostile_value() {
    // Whoever nests costs the double with every step, if nobody counts.
    let input = json!({
        "type": "object", "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"anyOf": [
            {"type": "string"},
            {"items": {"$ref": "#/$defs/a"}, "maxItems": 1},
            {"items": {"$ref": "#/$defs/a"}, "minItems": 1},
        ]}},
    });
    // Only the general validator knows the keyword.
    let mut general = input.clone();
    general["not"] = json!({"required": ["b"]});
    let nested = |levels: usize| {
        serde_json::from_str::<Value>(&format!("{}1{}", "[".repeat(levels), "]".repeat(levels)))
    };
    let server = Server::new("s", "1")
        .tool(taking("fast", input))
        .tool(taking("general", general))
        .build()
        .unwrap();
    let started = processor_time();
    let mut client = Client::connect(Case::pipe(Revision::NEWEST), &server).await;
    let arguments = json!({"a": nested(100).unwrap()});
    // The value is valid; the general validator gives it up.
    let answer = call(&mut client, "fast", arguments.clone()).await;
    assert_ne!(result(&answer)["isError"], true, "{answer}");
    let answer = call(&mut client, "general", arguments).await;
    assert!(error_text(&answer).contains("arguments"), "{answer}");
    let taken = processor_time() - started;
    assert!(taken < Duration::from_secs(20), "{taken:?}");
    for tool in ["fast", "general"] {
        let good = call(&mut client, tool, json!({"a": [["x"]]})).await;
        assert_ne!(result(&good)["isError"], true);
    }
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Tree {
    /// Name of the thing.
    name: String,
    #[schemars(range(min = 1))]
    weight: Option<u32>,
    #[serde(default)]
    branches: Vec<Tree>,
    kind: Kind,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(tag = "is")]
enum Kind {
    Leaf,
    Fork { ways: (u8, bool) },
}

// requirement: caaa47afc70f
#[tokio::test(start_paused = true)]
async fn derived_schemas_are_2020_12() {
    let server = Server::new("s", "1")
        .schema_profile(Profile::Spec)
        .tool(
            Tool::builder("tree")
                .handler(async |Args(tree): Args<Tree>, _: HandlerContext| Structured(tree)),
        )
        .tool(Tool::builder("raw").handler(async |_: RawArguments, _: HandlerContext| ""))
        .build()
        .unwrap();
    let mut client = Client::connect(Case::pipe(Revision::NEWEST), &server).await;
    let list = client.request("tools/list", json!({})).await;
    let tree = &result(&list)["tools"][0];
    for schema in [&tree["inputSchema"], &tree["outputSchema"]] {
        assert_eq!(schema["$schema"], DRAFT_2020_12);
        assert!(
            jsonschema::draft202012::meta::is_valid(schema),
            "{schema:#}"
        );
    }
    for schema in [
        &tree["inputSchema"],
        &result(&list)["tools"][1]["inputSchema"],
    ] {
        assert_eq!(schema["type"], "object");
        assert!(
            jsonschema::draft202012::meta::is_valid(schema),
            "{schema:#}"
        );
    }
    let arguments = json!({"name": "oak", "kind": {"is": "Fork", "ways": [1, true]}});
    let answer = call(&mut client, "tree", arguments).await;
    assert!(text(&answer).contains("oak"));
}

#[tokio::test(start_paused = true)]
async fn arguments_are_listed_as_they_were_declared() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its fields are of interest")]
    struct Note {
        title: String,
        body: Option<String>,
        author: String,
    }
    let server = Server::new("s", "1")
        .tool(Tool::builder("note").handler(|_: Args<Note>| ""))
        .prompt(turnbuckle_server::Prompt::builder("note").handler(|_: Args<Note>| ""))
        .build()
        .unwrap();
    let mut client = Client::connect(Case::pipe(Revision::NEWEST), &server).await;
    let prompts = client.request("prompts/list", json!({})).await;
    let arguments = result(&prompts)["prompts"][0]["arguments"]
        .as_array()
        .unwrap();
    let names: Vec<_> = arguments.iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["title", "body", "author"]);
}
