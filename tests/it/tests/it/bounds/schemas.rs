//! Limits on the size of schemas and on the work of validating values.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{SchemaLimits, Server};
use turnbuckle_wire::revision::Revision;

use crate::support::{call, error_text, result, taking};

/// Returns a schema with `count` patterns, in as many subschemas and one more.
fn patterns(count: usize) -> Value {
    let members = (0..count).map(|n| (format!("m{n}"), json!({"type": "string", "pattern": "^a"})));
    let members: serde_json::Map<_, _> = members.collect();
    json!({"type": "object", "properties": members})
}

fn build(limits: SchemaLimits, schema: Value) -> Result<Server, String> {
    let server = Server::new("s", "1").schema_limits(limits);
    let built = server.tool(taking("t", schema)).build();
    built.map_err(|error| error.to_string())
}

#[test]
fn schemas_that_are_written_by_hand_are_bounded_by_settings() {
    let nested = json!({
        "type": "object",
        "properties": {"a": {"properties": {"b": {"properties": {"c": {}}}}}},
    });
    for (setting, schema, at, over) in [
        (
            "(SchemaLimits::max_patterns)",
            patterns(3),
            SchemaLimits::new().max_patterns(3),
            SchemaLimits::new().max_patterns(2),
        ),
        (
            "(SchemaLimits::max_subschemas)",
            patterns(3),
            SchemaLimits::new().max_subschemas(4),
            SchemaLimits::new().max_subschemas(3),
        ),
        (
            "(SchemaLimits::max_depth)",
            nested,
            SchemaLimits::new().max_depth(3),
            SchemaLimits::new().max_depth(2),
        ),
    ] {
        assert!(build(at, schema.clone()).is_ok(), "{setting}");
        let refused = build(over, schema).unwrap_err();
        assert!(refused.contains(setting), "{setting}: {refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_work_of_arguments_is_bounded_by_a_setting() {
    for (work, passes) in [(100_000, true), (100, false)] {
        let server = build(SchemaLimits::new().max_work(work), patterns(3)).unwrap();
        let case = Case::pipe(Revision::NEWEST);
        let mut client = Client::connect(case, &server).await;
        let answer = call(&mut client, "t", json!({"m0": "a".repeat(2000)})).await;
        match passes {
            true => assert_ne!(result(&answer)["isError"], true),
            false => {
                let text = error_text(&answer);
                assert!(text.contains("too costly to check"), "{text}");
            }
        }
    }
}
