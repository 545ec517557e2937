//! Functions: what they take, what they return, and that they can still be called.

use std::fmt;

use serde_json::json;
use turnbuckle::prelude::ClientInfo;
use turnbuckle::prelude::Result;
use turnbuckle::types::{ContentBlock, Meta};
use turnbuckle::{
    Args, Cancellation, Extract, Failure, HandlerContext, Invocation, Log, Progress, RawArguments,
    Server, State, Tool, data, item, testing, tool, tools,
};

use crate::arguments::call_text;

fn server() -> turnbuckle::ServerBuilder {
    Server::new("functions", "1.0.0")
}

struct User(String);

impl Extract for User {
    async fn extract(_: &Invocation<'_>) -> Result<Self> {
        Ok(Self("ada".to_owned()))
    }
}

#[tool]
async fn everywhere(
    progress: Progress,
    a: u8,
    State { arc: words }: State<Vec<String>>,
    mut b: u8,
    #[extract] User(user): User,
    cancel: Cancellation,
    _log: Log,
    (): (),
    meta: Meta,
) -> String {
    progress.report(1u64).await;
    b += 1;
    let _ = (cancel, meta);
    format!("{a} {b} {user} {}", words.len())
}

#[tool]
fn whole(Args(Pair { a, b }): Args<Pair>, client: ClientInfo, context: HandlerContext) -> String {
    let _ = (client, context);
    format!("{a}{b}")
}

#[tool]
fn raw(RawArguments(raw): RawArguments) -> String {
    raw.to_string()
}

#[data]
#[derive(Debug, PartialEq)]
struct Pair {
    a: u8,
    #[schema(default = 7)]
    b: u8,
}

#[tokio::test]
async fn extractors_can_be_in_any_position() {
    let server = || {
        server()
            .state(vec![String::new()])
            .tools(tools![everywhere, whole, raw])
    };
    let pair = json!({"a": 1, "b": 2});
    assert_eq!(
        call_text(server(), "everywhere", pair.clone()).await,
        "1 3 ada 1"
    );
    assert_eq!(call_text(server(), "whole", json!({"a": 1})).await, "17");
    assert_eq!(
        call_text(server(), "raw", json!({"a":1})).await,
        "{\"a\":1}"
    );
}

/// An error that is no `std::error::Error`.
#[derive(Debug)]
struct Storm;

impl turnbuckle::IntoFailure for Storm {
    fn into_failure(self) -> Failure {
        Failure::new(self.to_string())
    }
}

impl fmt::Display for Storm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a storm")
    }
}

#[tool]
fn data_of(a: u8) -> Pair {
    Pair { a, b: 0 }
}

#[tool]
fn either(a: u8) -> Result<Pair, Storm> {
    if a == 0 {
        Err(Storm)
    } else {
        Ok(Pair { a, b: 0 })
    }
}

#[tool]
async fn text_or(text: String) -> Result<String> {
    let number: u8 = text.parse()?;
    if number > 9 {
        return Err(Failure::new("too much"));
    }
    Ok(number.to_string())
}

#[tool]
fn nothing() {}

#[tool]
fn several() -> Vec<ContentBlock> {
    vec![ContentBlock::text("a"), ContentBlock::text("b")]
}

#[tool]
fn maybe(a: u8) -> Option<Pair> {
    (a > 0).then_some(Pair { a, b: 1 })
}

#[tool]
fn opaque() -> impl Iterator<Item = u8> + serde::Serialize + schemars::JsonSchema + Send {
    Numbers
}

#[data]
struct Numbers;

impl Iterator for Numbers {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        None
    }
}

#[tokio::test]
async fn data_is_structured_content_and_errors_are_text() {
    let tools = || {
        let server = server().tools(tools![data_of, either, text_or, nothing]);
        server.tools(tools![several, maybe, opaque])
    };
    let client = testing::connect(tools()).await.unwrap();
    let pair = client.call_tool("data_of", &json!({"a": 1})).await.unwrap();
    assert_eq!(
        serde_json::to_value(&pair.structured_content).unwrap(),
        json!({"a": 1, "b": 0})
    );
    let pair = client.call_tool("either", &json!({"a": 1})).await.unwrap();
    assert!(pair.structured_content.is_some());
    let listed = client.list_tools().fetch_all().await.unwrap();
    let has_schema = |name: &str| {
        let tool = listed.iter().find(|tool| tool.name == name).unwrap();
        tool.output_schema.is_some()
    };
    for (name, structured) in [
        ("data_of", true),
        ("either", true),
        ("maybe", true),
        ("opaque", true),
        ("text_or", false),
        ("nothing", false),
        ("several", false),
    ] {
        assert_eq!(has_schema(name), structured, "{name}");
    }
    assert_eq!(
        call_text(tools(), "either", json!({"a": 0})).await,
        "a storm"
    );
    assert_eq!(
        call_text(tools(), "text_or", json!({"text": "5"})).await,
        "5"
    );
    assert_eq!(
        call_text(tools(), "text_or", json!({"text": "50"})).await,
        "too much"
    );
    let text = call_text(tools(), "text_or", json!({"text": "x"})).await;
    assert_eq!(text, "invalid digit found in string");
    assert_eq!(call_text(tools(), "several", json!({})).await, "ab");
}

/// Factorial.
#[tool(blocking)]
fn factorial(n: u32) -> u64 {
    if n == 0 {
        1
    } else {
        u64::from(n) * factorial(n - 1)
    }
}

#[tokio::test]
async fn a_function_can_still_be_called() {
    assert_eq!(factorial(5), 120);
    assert_eq!(either(1).unwrap(), Pair { a: 1, b: 0 });
    assert_eq!(text_or("7".to_owned()).await.unwrap(), "7");
    let spawned = tokio::spawn(text_or("8".to_owned()));
    assert_eq!(spawned.await.unwrap().unwrap(), "8");
    let text = call_text(
        server().tools(tools![factorial]),
        "factorial",
        json!({"n": 4}),
    )
    .await;
    assert_eq!(text, "24");
}

mod renamed {
    pub(super) mod elsewhere {
        pub(crate) use turnbuckle::*;
    }

    #[turnbuckle::tool(crate = "crate::functions::renamed::elsewhere")]
    pub(super) fn add(a: i64, b: i64) -> String {
        (a + b).to_string()
    }
}

#[tokio::test]
async fn the_facade_may_have_another_name() {
    let tool: Tool = item!(renamed::add);
    let text = call_text(server().tool(tool), "add", json!({"a": 1, "b": 2})).await;
    assert_eq!(text, "3");
}

/// Only where it is asked for.
#[tool]
#[cfg(any())]
fn absent(none: DoesNotExist) {}

#[tool]
#[must_use]
#[allow(clippy::ptr_arg)]
fn with_attributes() -> String {
    String::new()
}

#[test]
fn other_attributes_are_kept() {
    let _ = with_attributes();
}
