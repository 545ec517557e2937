//! Tools from OpenAPI documents: the examples at recorded servers.

mod answers;
mod forms;
mod hostile;

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle::testing::{self, Checker, TestClient};
use turnbuckle::types::{CallToolResult, Tool};
use turnbuckle_serve::openapi::{Credential, Document, Options, server};

use crate::recorded::{Exchange, RecordedServer};

const GITHUB: &str = include_str!("../../../../../examples/openapi/github.yaml");
const GITLAB: &str = include_str!("../../../../../examples/openapi/gitlab.yaml");

async fn connect(document: &str, options: Options) -> TestClient {
    let document = Document::parse(document).unwrap();
    testing::connect(server(&document, options).unwrap())
        .await
        .unwrap()
}

async fn call(client: &TestClient, tool: &str, arguments: Value) -> CallToolResult {
    client.call_tool(tool, &arguments).await.unwrap()
}

/// Calls a tool that must succeed, and returns its structured content.
async fn structured(client: &TestClient, tool: &str, arguments: Value) -> Value {
    let result = call(client, tool, arguments).await;
    assert_ne!(result.is_error, Some(true), "{}", result.text());
    let structured: Value = result
        .structured_content
        .as_ref()
        .unwrap()
        .decode()
        .unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&result.text()).unwrap(),
        structured
    );
    structured
}

async fn tools(client: &TestClient) -> Vec<Tool> {
    client.list_tools().fetch_all().await.unwrap()
}

async fn tool(client: &TestClient, name: &str) -> Tool {
    let mut tools = tools(client).await;
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    let at = names.iter().position(|known| *known == name);
    let at = at.unwrap_or_else(|| panic!("{names:?}"));
    tools.swap_remove(at)
}

fn schema(tool: &Tool) -> Value {
    serde_json::from_str(tool.input_schema.as_str()).unwrap()
}

/// Returns a document with these paths.
fn document(paths: Value) -> String {
    json!({"openapi": "3.1.0", "info": {"title": "Test", "version": "1"}, "paths": paths})
        .to_string()
}

#[tokio::test]
async fn a_part_of_githubs_api_works_at_a_recorded_server() {
    let github = RecordedServer::from_json(include_str!("../recorded/github.json")).await;
    let token = Credential::bearer("a-token").unwrap();
    let options = Options::new().server_url(&github.url).credential(token);
    let client = connect(GITHUB, options).await;
    let hello = json!({"owner": "octocat", "repo": "Hello-World"});
    let with = |more: Value| {
        let mut all = hello.clone();
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        all
    };

    let repository = structured(&client, "repos_get", hello.clone()).await;
    assert_eq!(repository["owner"]["login"], "octocat");
    assert_eq!(
        github.last().header("authorization"),
        Some("Bearer a-token")
    );
    assert!(
        github
            .last()
            .header("user-agent")
            .unwrap()
            .starts_with("turnbuckle/")
    );

    let arguments = with(json!({"state": "all", "labels": ["bug", "help wanted"], "per_page": 2}));
    let issues = structured(&client, "issues_list", arguments).await;
    assert_eq!(issues[1]["number"], 1);

    let created = structured(
        &client,
        "issues_create",
        with(json!({"title": "It waves", "labels": ["bug"]})),
    )
    .await;
    assert_eq!(created["number"], 3);
    assert_eq!(
        github.last().header("content-type"),
        Some("application/json")
    );
    let change = with(json!({"number": 3, "state": "closed", "state_reason": null}));
    assert_eq!(
        structured(&client, "issues_update", change).await["state"],
        "closed"
    );

    let locked = call(&client, "issues_lock", with(json!({"number": 3}))).await;
    assert_eq!(locked.text(), "HTTP 204 No Content");
    assert_eq!(github.last().body, "", "no argument of the body, no body");
    let unlocked = call(&client, "issues_unlock", with(json!({"number": 3}))).await;
    assert_ne!(unlocked.is_error, Some(true));

    let missing = call(&client, "issues_get", with(json!({"number": 404}))).await;
    assert_eq!(missing.is_error, Some(true));
    assert!(
        missing.text().starts_with("HTTP 404 Not Found\n\n{"),
        "{}",
        missing.text()
    );
    let arguments = json!({"q": "repo:octocat/Hello-World is:open"});
    let limited = call(&client, "search_issues", arguments).await;
    assert!(
        limited
            .text()
            .starts_with("HTTP 403 Forbidden\nRetry-After: 60\n\n"),
        "{}",
        limited.text()
    );
}

#[tokio::test]
async fn a_part_of_gitlabs_api_works_at_a_recorded_server() {
    let gitlab = RecordedServer::from_json(include_str!("../recorded/gitlab.json")).await;
    let options = Options::new()
        .server_url(format!("{}/api/v4", gitlab.url))
        .credential(Credential::header("PRIVATE-TOKEN", "secret").unwrap());
    let client = connect(GITLAB, options).await;
    let project = structured(&client, "getProject", json!({"id": "group/project"})).await;
    assert_eq!(project["forked_from_project"]["id"], 3);
    assert_eq!(gitlab.last().header("private-token"), Some("secret"));
    let arguments = json!({"id": 7, "iids[]": [4, 5], "not": {"author_username": "bot"}});
    let requests = structured(&client, "listMergeRequests", arguments).await;
    assert_eq!(requests[0]["author"]["name"], "Ana");
    let note = json!({"id": 7, "iid": 4, "body": "Looks good & works"});
    assert_eq!(structured(&client, "addNote", note).await["id"], 99);
    let file = json!({"id": 7, "file_path": "src/main.rs", "ref": "main"});
    assert_eq!(
        call(&client, "getRawFile", file).await.text(),
        "fn main() {}\n"
    );
    let deleted = call(&client, "deleteVariable", json!({"id": 7, "key": "KEY"})).await;
    assert_ne!(deleted.is_error, Some(true), "{}", deleted.text());
}

#[tokio::test]
async fn the_check_of_the_examples_is_clean() {
    let api = RecordedServer::start(Vec::new()).await;
    for text in [GITHUB, GITLAB] {
        let document = Document::parse(text).unwrap();
        let server = server(&document, Options::new().server_url(&api.url)).unwrap();
        Checker::new(server).run().await.unwrap().assert_clean();
    }
}

#[tokio::test]
async fn a_method_gives_its_hints() {
    let client = connect(GITHUB, Options::new()).await;
    let hints = async |name| {
        let hints = tool(&client, name).await.annotations.unwrap();
        (
            hints.read_only_hint,
            hints.destructive_hint,
            hints.idempotent_hint,
        )
    };
    assert_eq!(hints("repos_get").await, (Some(true), None, None));
    assert_eq!(
        hints("issues_unlock").await,
        (Some(false), Some(true), Some(true))
    );
    assert_eq!(hints("issues_lock").await, (Some(false), None, Some(true)));
    assert_eq!(hints("issues_create").await, (Some(false), None, None));
}

#[tokio::test]
async fn parameters_and_body_become_one_flat_object() {
    let paths = json!({"/pets/{id}": {"post": {
        "summary": "Feed", "description": "Feed a pet.", "deprecated": true,
        "parameters": [
            {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}},
            {"name": "id", "in": "query", "schema": {"type": "string", "nullable": true, "enum": ["a"]}},
            {"name": "X-Trace", "in": "header", "schema": {"type": "string", "pattern": "^[a-z]+$"}},
            {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
            {"name": "key", "in": "query", "schema": {"type": "string"}},
        ],
        "requestBody": {"required": true, "content": {"application/json": {"schema": {"allOf": [
            {"type": "object", "required": ["id", "made"], "properties": {
                "id": {"type": "number", "minimum": 0, "exclusiveMinimum": true, "minLength": 3},
                "made": {"type": "string", "readOnly": true},
            }},
            {"properties": {"food": {"oneOf": [{"type": "string"}, {"type": "null"}]}}},
        ]}}}},
    }}});
    let options = Options::new()
        .server_url("https://api.example.com")
        .credential(Credential::query("key", "secret"));
    let client = connect(&document(paths), options).await;
    let tool = tool(&client, "post_pets_id").await;
    assert_eq!(
        tool.description.as_deref(),
        Some("Feed\n\nFeed a pet.\n\nDeprecated.\n\nHTTP: POST /pets/{id}")
    );
    let expected = json!({
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "query_id": {"type": ["string", "null"], "enum": ["a", null]},
            "X-Trace": {"type": "string", "description": "Pattern: ^[a-z]+$"},
            "body_id": {"type": "number", "exclusiveMinimum": 0},
            "food": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["id", "body_id"],
        "additionalProperties": false,
    });
    assert_eq!(schema(&tool), expected);
}

#[tokio::test]
async fn arguments_stand_where_the_document_says() {
    let paths = json!({
        "/a/{x}": {"put": {"operationId": "put",
            "parameters": [
                {"name": "x", "in": "path", "required": true, "schema": {"type": "array"}},
                {"name": "o", "in": "query", "schema": {"type": "object"}},
                {"name": "p", "in": "query", "style": "pipeDelimited", "explode": false, "schema": {"type": "array"}},
                {"name": "s", "in": "query", "style": "spaceDelimited", "explode": false, "schema": {"type": "array"}},
                {"name": "j", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}},
                {"name": "H", "in": "header", "explode": true, "schema": {"type": "object"}},
                {"name": "c", "in": "cookie", "schema": {"type": "string"}},
            ],
            "requestBody": {"content": {"application/json": {"schema": {"type": "array"}}}},
        }},
        "/text": {"post": {"operationId": "text", "requestBody": {"content": {"text/plain": {}}}}},
    });
    let request = "PUT /a/1,b%2Fc?m=1&n=x%20y&p=1%7C2&s=a%20b&j=%7B%22k%22%3A1%7D";
    let exchange = |request: &str| Exchange {
        request: request.to_owned(),
        sent: None,
        status: 200,
        headers: Vec::new(),
        body: Value::Null,
    };
    let api = RecordedServer::start(vec![exchange(request), exchange("POST /text")]).await;
    let client = connect(&document(paths), Options::new().server_url(&api.url)).await;
    let arguments = json!({
        "x": [1, "b/c"], "o": {"m": 1, "n": "x y"}, "p": [1, 2], "s": ["a", "b"], "j": {"k": 1},
        "H": {"a": 1}, "c": "; path=/", "body": [1.50, 12345678901234567890_u64],
    });
    let result = call(&client, "put", arguments).await;
    assert_eq!(result.text(), "HTTP 200 OK");
    let last = api.last();
    assert_eq!(last.header("h"), Some("a=1"));
    assert_eq!(last.header("cookie"), Some("c=%3B%20path%3D%2F"));
    assert_eq!(last.body, "[1.5,12345678901234567890]");
    call(&client, "text", json!({"body": "ä"})).await;
    assert_eq!(
        (&*api.last().body, api.last().header("content-type")),
        ("ä", Some("text/plain"))
    );
}

#[tokio::test]
async fn an_argument_cannot_leave_its_place() {
    let paths = json!({
        "/users/{id}/keys": {"get": {"operationId": "keys", "parameters": [
            {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
            {"name": "H", "in": "header", "schema": {"type": "string"}},
        ]}},
    });
    let api = RecordedServer::start(Vec::new()).await;
    let client = connect(&document(paths), Options::new().server_url(&api.url)).await;
    for id in ["..", ".", ""] {
        let refused = call(&client, "keys", json!({"id": id})).await;
        assert!(refused.text().contains("in a path"), "{}", refused.text());
    }
    let header = call(&client, "keys", json!({"id": "a", "H": "b\r\nEvil: 1"})).await;
    assert!(
        header.text().contains("a header cannot have"),
        "{}",
        header.text()
    );
    assert_eq!(api.requests().len(), 0);
    call(&client, "keys", json!({"id": "../admin?x=%2e#y"})).await;
    assert_eq!(
        api.last().request,
        "GET /users/..%2Fadmin%3Fx%3D%252e%23y/keys"
    );
}

#[tokio::test]
async fn responses_are_bounded() {
    let long = "ä".repeat(100);
    let exchange = |path: &str, body: Value| Exchange {
        request: format!("GET {path}"),
        sent: None,
        status: 200,
        headers: Vec::new(),
        body,
    };
    let typed = json!({"200": {"content": {"application/json": {"schema": {"type": "object"}}}}});
    let paths = json!({
        "/text": {"get": {"operationId": "text"}},
        "/json": {"get": {"operationId": "json", "responses": typed}},
        "/html": {"get": {"operationId": "html", "responses": typed}},
        "/never": {"get": {"operationId": "never"}},
    });
    let api = RecordedServer::start(vec![
        exchange("/text", long.clone().into()),
        exchange("/json", json!({"a": long})),
        exchange("/html", "<html>".into()),
    ])
    .await;
    let options = Options::new().server_url(&api.url).max_response_bytes(101);
    let client = connect(&document(paths.clone()), options).await;
    let text = call(&client, "text", json!({})).await;
    let text = text.text();
    assert_eq!(
        text,
        format!(
            "{}\n\n[Cut: the response has more than 101 bytes (--max-response).]",
            "ä".repeat(50)
        )
    );
    let cut = call(&client, "json", json!({})).await;
    assert_eq!(cut.is_error, Some(true));
    assert!(cut.text().contains("ask for less"), "{}", cut.text());
    let html = call(&client, "html", json!({})).await;
    assert!(
        html.text().contains("no JSON") && html.text().ends_with("<html>"),
        "{}",
        html.text()
    );

    // A server that never answers.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let options = Options::new()
        .server_url(url)
        .timeout(Duration::from_millis(50));
    let client = connect(&document(paths), options).await;
    let never = call(&client, "never", json!({})).await;
    assert_eq!(never.text(), "GET /never: no answer within 50ms");
}
