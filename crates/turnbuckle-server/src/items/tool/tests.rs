use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
#[cfg(feature = "tasks")]
use turnbuckle_types::TaskSupportLevel;

use super::{TaskSupport, Tool};
use crate::{Args, Extension, Server, ServerBuilder, Structured};

/// Defines a type for arguments and results that counts how often its schema is made.
macro_rules! counted {
    ($name:ident, $made:ident, $schema:tt) => {
        static $made: AtomicUsize = AtomicUsize::new(0);

        #[derive(Deserialize, serde::Serialize)]
        struct $name {
            a: u8,
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $made.fetch_add(1, Ordering::Relaxed);
                json_schema!($schema)
            }
        }
    };
}

fn thousand(tool: impl Fn(String) -> Tool) -> ServerBuilder {
    (0..1_000).fold(Server::new("s", "1"), |server, n| {
        server.tool(tool(format!("t{n}")))
    })
}

#[test]
fn a_written_schema_with_a_constraint_of_another_type_is_refused() {
    let build = |input: &str, output: &str| {
        let tool = Tool::builder("find")
            .input_schema(input.parse().unwrap())
            .output_schema(output.parse().unwrap())
            .handler(|| Structured(1));
        let server = Server::new("s", "1").tool(tool).build();
        server.map(drop).map_err(|error| error.to_string())
    };
    let sound = r#"{"type":"object"}"#;
    assert_eq!(build(sound, r#"{"type":"integer","minimum":1}"#), Ok(()));
    let input = r#"{"type":"object","properties":{"name":{"type":"string","minimum":1}}}"#;
    let error = build(input, sound).unwrap_err();
    assert!(
        error.contains("tool \"find\"") && error.contains("use `minLength`"),
        "{error}"
    );
    let error = build(sound, r#"{"type":"integer","maxLength":1}"#).unwrap_err();
    assert!(error.contains("use `maximum`"), "{error}");
}

#[test]
fn a_schema_is_made_when_its_tool_is_first_listed() {
    counted!(Plain, MADE, { "type": "object", "properties": { "a": { "type": "integer" } } });
    let tool = |name| {
        let same = |Args(it): Args<Plain>| Structured(Plain { a: it.a });
        Tool::builder(name).handler(same)
    };
    let server = thousand(tool).assemble().unwrap();
    assert_eq!(MADE.load(Ordering::Relaxed), 0);

    let tool = server.0.catalogs.tools.get("t7", None).unwrap();
    let definition = tool.definition().unwrap();
    assert!(definition.input_schema.as_str().contains("integer"));
    assert!(definition.output_schema.is_some());
    tool.definition().unwrap();
    assert_eq!(MADE.load(Ordering::Relaxed), 2);

    // The check keeps the schemas that it made.
    server.check().unwrap();
    assert_eq!(MADE.load(Ordering::Relaxed), 2 + 2_000);
}

#[test]
fn an_invalid_schema_is_an_error() {
    counted!(Header, HEADERS, { "type": "object", "properties": {
        "a": { "type": "number", "x-mcp-header": "A" },
    } });
    counted!(Pattern, PATTERNS, { "type": "object", "properties": {
        "a": { "type": "string", "pattern": "(" },
    } });
    let server =
        || Server::new("s", "1").tool(Tool::builder("bad").handler(|_: Args<Header>| "done"));
    assert_eq!(
        server().build().unwrap_err().to_string(),
        "tool \"bad\": x-mcp-header at #/properties/a needs the type integer, string or boolean"
    );
    // Without that check, the tool is not listed.
    let server = server().assemble().unwrap();
    assert!(server.check().is_err());
    let tool = server.0.catalogs.tools.get("bad", None).unwrap();
    assert!(tool.definition().is_none());
    assert_eq!(HEADERS.load(Ordering::Relaxed), 2);

    let bad = Tool::builder("bad").handler(|_: Args<Pattern>| "done");
    let error = Server::new("s", "1")
        .tool(bad)
        .build()
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("tool \"bad\": ") && error.contains('('),
        "{error}"
    );
    assert!(PATTERNS.load(Ordering::Relaxed) > 0);
}

#[test]
fn schemas_of_types_that_are_not_structs_are_built_at_once() {
    counted!(Other, MADE, { "type": "object" });
    let other = Tool::builder("t").handler(|_: Args<Box<Other>>| "done");
    Server::new("s", "1").tool(other).assemble().unwrap();
    assert_eq!(MADE.load(Ordering::Relaxed), 0);

    let map = Tool::builder("t").handler(|_: Args<std::collections::BTreeMap<String, Other>>| "");
    Server::new("s", "1").tool(map).assemble().unwrap();
    assert_eq!(MADE.load(Ordering::Relaxed), 1);
    let list = Tool::builder("t").handler(|_: Args<Vec<u8>>| "done");
    assert!(Server::new("s", "1").tool(list).assemble().is_err());
}

#[test]
fn a_tool_with_tasks_needs_a_server_with_tasks() {
    let tool = || {
        Tool::builder("render")
            .task(TaskSupport::optional())
            .handler(|| "done")
    };
    let server = || Server::new("s", "1");
    let refused = "tool \"render\": its calls may become tasks, but the server has no tasks: add \
                   .extension(Tasks::new()) to its builder";
    let error = server().tool(tool()).build().unwrap_err();
    assert_eq!(error.to_string(), refused);
    // Another extension does not help, and a tool of a running server is checked alike.
    let other = server().extension(Extension::new("com.example/tasks"));
    let other = other.dynamic_tools().build().unwrap();
    assert_eq!(other.add_tool(tool()).unwrap_err().to_string(), refused);

    // Nor does one that only has the name.
    let named = server().extension(Extension::new(turnbuckle_types::TASKS_EXTENSION));
    assert!(named.tool(tool()).build().is_err());
}

#[cfg(feature = "tasks")]
#[test]
fn the_definition_of_a_tool_says_which_of_its_calls_are_tasks() {
    let tool = || {
        Tool::builder("render")
            .task(TaskSupport::optional())
            .handler(|| "done")
    };
    let server = Server::new("s", "1").extension(crate::Tasks::new());
    let server = server.tool(tool()).dynamic_tools();
    let server = server.build().unwrap();
    server.add_tool(tool()).unwrap();
    let only = Tool::builder("only").task(TaskSupport::required());
    server.add_tool(only.handler(|| "done")).unwrap();
    server
        .add_tool(Tool::builder("plain").handler(|| "done"))
        .unwrap();
    let level = |name| {
        let tool = server.0.catalogs.tools.get(name, None).unwrap();
        let execution = tool.definition().unwrap().execution;
        execution.map(|execution| execution.task_support)
    };
    assert_eq!(level("render"), Some(Some(TaskSupportLevel::Optional)));
    assert_eq!(level("only"), Some(Some(TaskSupportLevel::Required)));
    assert_eq!(level("plain"), None);
}
