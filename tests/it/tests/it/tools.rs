//! Tools: their names, their schemas, who sees them, and what calling them comes to.

mod arguments;

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_server::{
    Args, HandlerContext, RawArguments, Server, ServerBuilder, Structured, Tool,
};
use turnbuckle_types::{CallToolResult, Json, Schema};

use crate::support::{
    build_error, call, code, connect_as, error_text, list_values, message, missing_name_code,
    principal, result, schema, taking, text,
};

fn builder() -> ServerBuilder {
    Server::new("tools", "1.0.0")
}

// requirement: 00e3a876b7fb 00f895e4bf1a 1d293195c35e 274598ca3606 47b2e01a6405 4b6c30fec931
// requirement: 7d37ee02caee b294045a4f37
#[test]
fn header_annotations_are_checked_at_registration() {
    let annotated = |name: Value, kind: Value| json!({"type": kind, "x-mcp-header": name});
    let region = || annotated("Region".into(), "string".into());
    let of = |properties: Value| json!({"type": "object", "properties": properties});
    let good = [
        of(json!({"a": region(), "b": annotated("Count".into(), "integer".into())})),
        of(json!({"a": annotated("x!#$%&'*+-.^_`|~9".into(), "boolean".into())})),
        of(json!({"a": of(json!({"b": region()})), "c": annotated("C".into(), "string".into())})),
    ];
    for input in good {
        assert!(
            builder().tool(taking("t", input.clone())).build().is_ok(),
            "{input}"
        );
    }
    let bad = [
        of(json!({"a": annotated("".into(), "string".into())})),
        of(json!({"a": annotated("a b".into(), "string".into())})),
        of(json!({"a": annotated("a:b".into(), "string".into())})),
        of(json!({"a": annotated("é".into(), "string".into())})),
        of(json!({"a": annotated("a\rb".into(), "string".into())})),
        of(json!({"a": annotated("a\nb".into(), "string".into())})),
        of(json!({"a": annotated("a\u{7}".into(), "string".into())})),
        of(json!({"a": annotated(5.into(), "string".into())})),
        of(json!({"a": region(), "b": annotated("rEGION".into(), "string".into())})),
        of(json!({"a": region(), "b": of(json!({"c": region()}))})),
        of(json!({"a": annotated("A".into(), "number".into())})),
        of(json!({"a": annotated("A".into(), "object".into())})),
        of(json!({"a": annotated("A".into(), "array".into())})),
        of(json!({"a": annotated("A".into(), "null".into())})),
        of(json!({"a": {"x-mcp-header": "A"}})),
        of(json!({"a": {"type": "array", "items": region()}})),
        of(json!({"a": {"type": "array", "prefixItems": [region()]}})),
        of(json!({"a": {"anyOf": [region()]}})),
        of(json!({"a": {"oneOf": [region()]}})),
        of(json!({"a": {"allOf": [region()]}})),
        of(json!({"a": {"not": region()}})),
        of(json!({"a": {"if": {}, "then": region()}})),
        of(json!({"a": {"if": {}, "else": region()}})),
        of(json!({"a": {"type": "object", "additionalProperties": region()}})),
        of(json!({"a": {"type": "object", "patternProperties": {"^a": region()}}})),
        json!({"type": "object", "allOf": [of(json!({"a": region()}))]}),
        json!({
            "type": "object", "$defs": {"d": region()},
            "properties": {"a": {"$ref": "#/$defs/d"}},
        }),
        json!({"type": "object", "x-mcp-header": "Root"}),
    ];
    for input in bad {
        let reason = build_error(taking("t", input.clone()));
        let named = ["x-mcp-header", "mcp-param-"]
            .iter()
            .any(|it| reason.contains(it));
        assert!(named, "{input}: {reason}");
    }
}

// requirement: 35a8c0759f1a c37d16ec2703 dc746c4cb2c3
#[test]
fn names_are_checked_at_registration() {
    let named = |name: &str| taking(name, json!({"type": "object"}));
    let longest = "x".repeat(128);
    for name in [
        "a",
        "-",
        "getUser",
        "DATA_EXPORT_v2",
        "admin.tools.list",
        &longest,
    ] {
        assert!(builder().tool(named(name)).build().is_ok(), "{name}");
    }
    let longer = "x".repeat(129);
    for name in [
        "", &longer, "a b", "a,b", "a/b", "a:b", "a\n", "über", "٣", "a\u{0}",
    ] {
        build_error(named(name));
        let running = builder().dynamic_tools().build().unwrap();
        assert!(running.add_tool(named(name)).is_err(), "{name:?}");
    }
}

// requirement: 460355cde19c
#[tokio::test(start_paused = true)]
async fn a_repeated_name_is_refused() {
    let one = |says: &'static str| {
        Tool::builder("one").handler(move |(): (), _: HandlerContext| ready(says))
    };
    let twice = builder().tool(one("a")).tool(one("b")).build().unwrap_err();
    assert!(twice.to_string().contains("two tools \"one\""), "{twice}");
    // While it runs, a tool of the same name takes the place of the one before.
    let server = builder().tool(one("a")).build().unwrap();
    server.add_tool(one("b")).unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let list = client.request("tools/list", json!({})).await;
        assert_eq!(list_values(&list, "tools", "name"), ["one"], "{case}");
        assert_eq!(
            text(&call(&mut client, "one", json!({})).await),
            "b",
            "{case}"
        );
    }
}

// requirement: e563230f0f6e
#[tokio::test(start_paused = true)]
async fn names_differ_by_case() {
    let server = builder()
        .tool(Tool::builder("a").handler(async |(): (), _: HandlerContext| "small"))
        .tool(Tool::builder("A").handler(async |(): (), _: HandlerContext| "large"))
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let list = client.request("tools/list", json!({})).await;
        assert_eq!(list_values(&list, "tools", "name"), ["a", "A"], "{case}");
        assert_eq!(text(&call(&mut client, "a", json!({})).await), "small");
        assert_eq!(text(&call(&mut client, "A", json!({})).await), "large");
    }
}

// requirement: 8dd470545491
#[test]
fn an_input_schema_is_an_object() {
    for no_schema in [json!(null), json!([]), json!(true), json!("object")] {
        assert!(Schema::encode(&no_schema).is_err(), "{no_schema}");
    }
    for input in [
        json!({}),
        json!({"type": "array"}),
        json!({"type": ["object", "null"]}),
        json!({"properties": {}}),
    ] {
        assert!(build_error(taking("t", input)).contains("\"type\": \"object\""));
    }
    build_error(Tool::builder("t").handler(async |Args(_): Args<String>, _: HandlerContext| ()));
    build_error(Tool::builder("t").handler(async |Args(_): Args<Vec<u8>>, _: HandlerContext| ()));
}

#[derive(Deserialize, JsonSchema)]
struct Forecast {
    city: String,
    #[schemars(range(min = 1, max = 7))]
    days: u8,
}

// requirement: bf895c33627b
#[tokio::test(start_paused = true)]
async fn bad_arguments_are_a_tool_error() {
    let ran = Arc::new(AtomicUsize::new(0));
    let (typed, written) = (ran.clone(), ran.clone());
    let by_hand = json!({
        "type": "object", "required": ["city"],
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 7}},
    });
    let server = builder()
        .tool(Tool::builder("typed").handler(
            move |Args(forecast): Args<Forecast>, _: HandlerContext| {
                typed.fetch_add(1, Ordering::Relaxed);
                async move { format!("{} {}", forecast.city, forecast.days) }
            },
        ))
        .tool(
            Tool::builder("written")
                .handler(move |_: RawArguments, _: HandlerContext| {
                    written.fetch_add(1, Ordering::Relaxed);
                    async {}
                })
                .input_schema(schema(by_hand.clone())),
        )
        .tool(
            Tool::builder("unread")
                .handler(|| "ran")
                .input_schema(schema(by_hand)),
        )
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        for (arguments, says) in [
            (json!({"days": 1}), "arguments.city: is missing"),
            (json!({"city": 5, "days": 1}), "arguments.city: expected "),
            (json!({"city": "Bern", "days": 8}), "got 8"),
        ] {
            for name in ["typed", "written"] {
                let answer = call(&mut client, name, arguments.clone()).await;
                assert!(
                    error_text(&answer).contains(says),
                    "{case} {name}: {answer}"
                );
            }
        }
        for name in ["typed", "written", "unread"] {
            let missing = client.request("tools/call", json!({"name": name})).await;
            assert!(
                error_text(&missing).contains("arguments.city"),
                "{name}: {missing}"
            );
            let empty = call(&mut client, name, json!({})).await;
            assert!(
                error_text(&empty).contains("arguments.city"),
                "{name}: {empty}"
            );
        }
        assert_eq!(ran.load(Ordering::Relaxed), 0, "{case}");
    }
    let mut client = Client::connect(Case::all()[0], &server).await;
    let good = call(&mut client, "typed", json!({"city": "Bern", "days": 7})).await;
    assert_eq!(text(&good), "Bern 7");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_tool_is_named() {
    let server = builder()
        .tool(taking("known", json!({"type": "object"})))
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let answer = call(&mut client, "unknown", json!({})).await;
        assert_eq!(code(&answer), -32602, "{case}");
        assert!(message(&answer).contains("unknown"), "{answer}");
        for params in [json!({}), json!({"name": 5}), json!({"name": null})] {
            let answer = client.request("tools/call", params).await;
            assert_eq!(code(&answer), missing_name_code(case), "{case}");
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
    note: String,
}

fn summing() -> Server {
    builder()
        .tool(
            Tool::builder("sum").handler(async |(): (), _: HandlerContext| {
                Structured(Sum {
                    sum: 3,
                    note: "a \"b\"\n".into(),
                })
            }),
        )
        .tool(
            Tool::builder("list").handler(async |(): (), _: HandlerContext| Structured(vec![1, 2])),
        )
        .build()
        .unwrap()
}

// requirement: e21b19beb897
#[tokio::test(start_paused = true)]
async fn structured_output_has_a_text_form() {
    let expected = json!({"sum": 3, "note": "a \"b\"\n"});
    for case in Case::all() {
        let mut client = Client::connect(case, &summing()).await;
        let answer = call(&mut client, "sum", json!({})).await;
        let decoded: Value = serde_json::from_str(text(&answer)).unwrap();
        assert_eq!(decoded, expected, "{case}");
        let structured = case.revision.features().structured_output;
        assert_eq!(
            result(&answer).get("structuredContent"),
            structured.then_some(&expected),
            "{case}"
        );
        let list = client.request("tools/list", json!({})).await;
        let declared = result(&list)["tools"][0].get("outputSchema");
        assert_eq!(declared.is_some(), structured, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_structured_value_that_is_not_an_object_is_wrapped_for_older_revisions() {
    for case in Case::all() {
        let mut client = Client::connect(case, &summing()).await;
        let answer = call(&mut client, "list", json!({})).await;
        assert_eq!(text(&answer), "[1,2]", "{case}");
        let list = client.request("tools/list", json!({})).await;
        let schema = &result(&list)["tools"][1]["outputSchema"];
        let features = case.revision.features();
        let (value, kind) = match (features.structured_output, features.structured_any) {
            (false, _) => (Value::Null, Value::Null),
            (true, false) => (json!({"result": [1, 2]}), "object".into()),
            (true, true) => (json!([1, 2]), "array".into()),
        };
        assert_eq!(result(&answer)["structuredContent"], value, "{case}");
        assert_eq!(schema["type"], kind, "{case}");
    }
}

// requirement: 462392e47f61
#[tokio::test(start_paused = true)]
async fn structured_output_off_its_schema_is_an_error() {
    #[derive(Serialize, JsonSchema)]
    struct Grade {
        #[schemars(range(min = 1, max = 6))]
        grade: u8,
    }
    let schema = || {
        schema(json!({
            "type": "object", "required": ["city"], "properties": {"city": {"type": "string"}},
        }))
    };
    let by_hand = async |arguments: RawArguments, _: HandlerContext| match arguments.0.as_str() {
        "{}" => CallToolResult::from_text("no structure"),
        r#"{"fail":1}"# => CallToolResult::error("as told"),
        _ => CallToolResult::new().structured_content(arguments.0),
    };
    #[derive(Deserialize, JsonSchema)]
    struct Give {
        grade: u8,
    }
    let server = builder()
        .tool(
            Tool::builder("written")
                .handler(by_hand)
                .output_schema(schema()),
        )
        .tool(
            Tool::builder("typed").handler(async |Args(give): Args<Give>, _: HandlerContext| {
                Structured(Grade { grade: give.grade })
            }),
        )
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let good = call(&mut client, "written", json!({"city": "Bern"})).await;
        let structured = case.revision.features().structured_output;
        let expected = structured.then(|| json!({"city": "Bern"}));
        assert_eq!(result(&good).get("structuredContent"), expected.as_ref());
        for bad in [json!({"city": 5}), json!({"town": "Bern"}), json!({})] {
            let answer = call(&mut client, "written", bad).await;
            assert_eq!(code(&answer), -32603, "{case}");
            assert!(message(&answer).contains("output"), "{answer}");
        }
        // What failed has no output that could conform.
        let failed = call(&mut client, "written", json!({"fail": 1})).await;
        assert_eq!(error_text(&failed), "as told");

        result(&call(&mut client, "typed", json!({"grade": 6})).await);
        let answer = call(&mut client, "typed", json!({"grade": 7})).await;
        assert_eq!(code(&answer), -32603, "{case}");
        assert!(message(&answer).contains("output.grade"), "{answer}");
    }
}

// requirement: 153749625378
#[tokio::test(start_paused = true)]
async fn a_list_has_the_items_that_the_client_may_see() {
    let says =
        |name: &'static str| Tool::builder(name).handler(async |(): (), _: HandlerContext| "ran");
    let server = builder()
        .tool(says("all"))
        .tool(says("adas").visible_to(|who| who.is_some_and(|who| who.subject == "ada")))
        .tool(says("known").visible_to(|who| who.is_some()))
        .tool(says("scoped").scope("write"))
        .build()
        .unwrap();
    for case in Case::all() {
        let seen: [(Client, &[&str]); 3] = [
            (Client::connect(case, &server).await, &["all", "scoped"]),
            (
                connect_as(case, &server, "bob").await,
                &["all", "known", "scoped"],
            ),
            (
                connect_as(case, &server, "ada").await,
                &["all", "adas", "known", "scoped"],
            ),
        ];
        for (mut client, names) in seen {
            // Twice, as what was encoded for others must not be found.
            for _ in 0..2 {
                let list = client.request("tools/list", json!({})).await;
                assert_eq!(list_values(&list, "tools", "name"), names, "{case}");
            }
            let unknown = call(&mut client, "nothing", json!({})).await;
            for name in ["all", "adas", "known"] {
                let answer = call(&mut client, name, json!({})).await;
                if names.contains(&name) {
                    assert_eq!(text(&answer), "ran", "{case} {name}");
                } else {
                    // It is as if it were not there.
                    assert_eq!(code(&answer), code(&unknown), "{case} {name}");
                    let as_unknown = message(&unknown).replace("nothing", name);
                    assert_eq!(message(&answer), as_unknown, "{case} {name}");
                }
            }
            let scoped = call(&mut client, "scoped", json!({})).await;
            assert!(message(&scoped).contains("write"), "{case}: {scoped}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_scope_opens_the_tool() {
    let server = builder()
        .tool(
            Tool::builder("write")
                .handler(async |(): (), _: HandlerContext| "ran")
                .scope("write"),
        )
        .build()
        .unwrap();
    for case in Case::all() {
        let holder = principal("ada").scopes(["read", "write"]);
        let options = ClientOptions::new().principal(holder);
        let mut client = Client::connect_with(case, &server, options).await;
        assert_eq!(
            text(&call(&mut client, "write", json!({})).await),
            "ran",
            "{case}"
        );
    }
}

// requirement: 965d8cf2d61a
#[tokio::test(start_paused = true)]
async fn the_order_is_stable() {
    let named = |name: &str| taking(name, json!({"type": "object"}));
    let server = ["m", "z", "a", "k"]
        .iter()
        .fold(builder(), |builder, name| builder.tool(named(name)))
        .build()
        .unwrap();
    let mut order: Vec<String> = ["m", "z", "a", "k"].map(Into::into).into();
    for round in 0..3 {
        for case in Case::all() {
            let mut client = Client::connect(case, &server).await;
            for _ in 0..2 {
                let list = client.request("tools/list", json!({})).await;
                assert_eq!(list_values(&list, "tools", "name"), order, "{case}");
            }
        }
        // Whoever stays keeps the place; who comes, comes last; who is replaced, stays.
        let (comes, goes) = (format!("n{round}"), order.remove(1));
        assert!(server.remove_tool(&goes) && !server.remove_tool(&goes));
        server.add_tool(named(&comes)).unwrap();
        server.add_tool(named(&order[0])).unwrap();
        order.push(comes);
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_needs_no_arguments_and_may_return_content() {
    let server = builder()
        .tool(Tool::builder("unit").handler(async |(): (), _: HandlerContext| ()))
        .tool(
            Tool::builder("json").handler(async |_: (), _: HandlerContext| {
                CallToolResult::new().structured_content("null".parse::<Json>().unwrap())
            }),
        )
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let answer = client.request("tools/call", json!({"name": "unit"})).await;
        assert_eq!(result(&answer)["content"], json!([]), "{case}");
        result(&call(&mut client, "json", json!({})).await);
        let surplus = call(&mut client, "unit", json!({"a": 1})).await;
        assert!(
            error_text(&surplus).contains("arguments.a: is not expected here"),
            "{surplus}"
        );
    }
}
