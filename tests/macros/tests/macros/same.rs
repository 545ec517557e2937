//! Attributes expand to the same items that a user would write by hand.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use turnbuckle::prelude::Result;
use turnbuckle::types::{CacheScope, Icon, ToolAnnotations};
use turnbuckle::{
    Args, CompletionRequest, Group, Prompt, Resource, Server, State, Structured, Tool, prompt,
    prompts, resource, resources, testing, tool, tools,
};

/// A drawn shape.
#[derive(Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Shape {
    Circle,
    Square,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Drawn {
    shape: Shape,
    width: f64,
}

/// Draw a shape.
///
/// It is drawn once:
///
/// - in black,
/// - on white.
#[tool(
    title = "Draw",
    read_only,
    destructive = false,
    idempotent = true,
    open_world = false,
    icon = "https://example.com/draw.png",
    icon = "https://example.com/dark.png",
    scope = "draw",
    rename_all = "camelCase"
)]
async fn draw(
    State { arc: pen }: State<String>,
    /// The shape to draw
    shape: Shape,
    /** The width of the line */
    #[schema(min = 1, max = 9.5, default = 3, example = 2.0)]
    line_width: f64,
    #[schema(
        pattern = "^[a-z]+$",
        min_len = 1,
        max_len = 20,
        title = "Name",
        description = "The owner of the drawing",
        format = "hostname"
    )]
    owner: Option<String>,
    #[schema(rename = "where", header = "Region")] region: String,
    #[schema(exclusive_min = 0, exclusive_max = 100, multiple_of = 5)] percent: i32,
    #[schema(max_len = 3)] tags: Vec<String>,
    #[schema(default = "anyone", example = "me", example = "you")] friend: String,
    #[schema(default)] loud: bool,
    #[schema(default = 2)] copies: Option<u8>,
) -> Result<Drawn> {
    let _ = (pen, owner, region, percent, tags, friend, loud, copies);
    Ok(Drawn {
        shape,
        width: line_width,
    })
}

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Draw {
    /// The shape to draw
    shape: Shape,
    /// The width of the line
    #[serde(default = "three")]
    #[schemars(example = 2.0, extend("minimum" = 1, "maximum" = 9.5))]
    line_width: f64,
    /// The owner of the drawing
    #[schemars(
        title = "Name",
        length(min = 1, max = 20),
        extend("pattern" = "^[a-z]+$", "format" = "hostname")
    )]
    owner: Option<String>,
    #[serde(rename = "where")]
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 100, "multipleOf" = 5))]
    percent: i32,
    #[schemars(length(max = 3))]
    tags: Vec<String>,
    #[serde(default = "default_friend")]
    #[schemars(example = &"me", example = &"you")]
    friend: String,
    #[serde(default)]
    loud: bool,
    #[serde(default = "two")]
    copies: Option<u8>,
}

fn three() -> f64 {
    3.0
}

fn default_friend() -> String {
    "anyone".to_owned()
}

fn two() -> Option<u8> {
    Some(2)
}

fn drawing() -> Tool {
    Tool::builder("draw")
        .description("Draw a shape.\n\nIt is drawn once:\n\n- in black,\n- on white.")
        .title("Draw")
        .annotations(
            ToolAnnotations::new()
                .read_only_hint(true)
                .destructive_hint(false)
                .idempotent_hint(true)
                .open_world_hint(false),
        )
        .icon(Icon::new("https://example.com/draw.png"))
        .icon(Icon::new("https://example.com/dark.png"))
        .scope("draw")
        .handler(|_: State<String>, Args(it): Args<Draw>| {
            Structured(Drawn {
                shape: it.shape,
                width: it.line_width,
            })
        })
}

/// Review code
#[prompt(name = "code-review", title = "Review")]
fn review(
    /** The language */
    #[schema(complete = languages)]
    language: String,
    /// The code
    code: Option<String>,
) -> String {
    language + &code.unwrap_or_default()
}

fn languages(typing: CompletionRequest) -> Vec<String> {
    vec![typing.value + "ust"]
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Review {
    /// The language
    language: String,
    /// The code
    code: Option<String>,
}

/// A user's note
#[resource(
    "notes://{user}/{id}",
    title = "Note",
    mime = "text/plain",
    cache(ttl = 60_000, public)
)]
fn note(user: String, #[schema(complete = ids)] id: String) -> String {
    format!("{id} of {user}")
}

async fn ids(_: CompletionRequest) -> Vec<&'static str> {
    vec!["7"]
}

#[resource("notes://readme", size = 5)]
fn readme() -> &'static str {
    "hello"
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Note {
    user: String,
    id: String,
}

fn by_hand() -> Group {
    let reviewing = Prompt::builder("code-review")
        .title("Review")
        .description("Review code")
        .complete("language", languages)
        .handler(|Args(it): Args<Review>| it.language + &it.code.unwrap_or_default());
    let notes = Resource::builder("notes://{user}/{id}", "note")
        .title("Note")
        .description("A user's note")
        .mime_type("text/plain")
        .cache(Duration::from_secs(60), CacheScope::Public)
        .complete("id", ids)
        .handler(|Args(Note { user, id }): Args<Note>| format!("{id} of {user}"));
    let hello = Resource::builder("notes://readme", "readme")
        .size(5)
        .handler(|| "hello");
    Group::new()
        .tool(drawing())
        .prompt(reviewing)
        .resource(notes)
        .resource(hello)
}

fn by_attribute() -> Group {
    Group::new()
        .tools(tools![draw])
        .prompts(prompts![review])
        .resources(resources![note, readme])
}

fn server(group: Group) -> turnbuckle::ServerBuilder {
    Server::new("same", "1.0.0")
        .state("a pen".to_owned())
        .group(group)
}

#[tokio::test]
async fn clients_see_the_same() {
    let by_attribute = testing::surface(server(by_attribute())).await.unwrap();
    let by_hand = testing::surface(server(by_hand())).await.unwrap();
    assert!(
        by_hand.contains("\"x-mcp-header\": \"Region\""),
        "{by_hand}"
    );
    assert_eq!(by_attribute, by_hand);
}

#[tokio::test]
async fn clients_get_the_same() {
    let mut results = Vec::new();
    for group in [by_attribute(), by_hand()] {
        let client = testing::connect(server(group)).await.unwrap();
        let read = client.read_resource("notes://me/7").await.unwrap();
        let prompt = client
            .get_prompt("code-review", [("language", "rust")])
            .await;
        results.push((
            serde_json::to_value(&read).unwrap(),
            serde_json::to_value(prompt.unwrap()).unwrap(),
        ));
    }
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0].0["contents"][0]["text"], "7 of me");
    assert_eq!(results[0].0["ttlMs"], json!(60_000));
}
