//! Answers of APIs that are not what the document says, or repeat the request.

use serde_json::{Value, json};
use turnbuckle_serve::openapi::{Credential, Options};

use super::{call, connect, document, tool};
use crate::recorded::{Exchange, RecordedServer};

fn exchange(request: &str, status: u16, headers: &[&str], body: Value) -> Exchange {
    Exchange {
        request: request.to_owned(),
        sent: None,
        status,
        headers: headers.iter().map(|&header| header.to_owned()).collect(),
        body,
    }
}

#[tokio::test]
async fn credentials_that_an_api_repeats_are_not_shown() {
    let api = RecordedServer::start(vec![
        exchange(
            "GET /moved?api_key=key-%22secret%22",
            301,
            &["Location: https://user:word@other.example/moved/?api_key=key-%22secret%22#token-secret"],
            Value::Null,
        ),
        exchange(
            "GET /error?api_key=key-%22secret%22",
            500,
            &["Retry-After: token-secret"],
            json!({"authorization": "Bearer token-secret", "key": "key-\"secret\""}),
        ),
        exchange(
            "GET /echo?api_key=key-%22secret%22",
            200,
            &[],
            json!({"login": "Basic dXNlcjpwYXNzLXNlY3JldA==", "cookie": "id=cookie-secret", "password": "pass-secret",
                   "url": "/echo?api_key=key-%22secret%22", "token": "token-secret"}),
        ),
    ])
    .await;
    let get = |name: &str| json!({"get": {"operationId": name}});
    let paths = json!({"/moved": get("moved"), "/error": get("error"), "/echo": get("echo")});
    let options = Options::new()
        .server_url(&api.url)
        .credential(Credential::query("api_key", "key-\"secret\""))
        .credential(Credential::header("Cookie", "id=cookie-secret; a=1").unwrap())
        .credential(Credential::basic("user", "pass-secret").unwrap())
        .credential(Credential::bearer("token-secret").unwrap());
    let client = connect(&document(paths), options).await;
    let moved = call(&client, "moved", json!({})).await;
    assert_eq!(
        moved.text(),
        "HTTP 301 Moved Permanently to https://other.example/moved/: redirects are not followed"
    );
    let error = call(&client, "error", json!({})).await;
    assert_eq!(
        error.text(),
        "HTTP 500 Internal Server Error\nRetry-After: [redacted]\n\n\
         {\"authorization\":\"[redacted]\",\"key\":\"[redacted]\"}"
    );
    let echo = call(&client, "echo", json!({})).await;
    let structured: Value = echo.structured_content.as_ref().unwrap().decode().unwrap();
    let expected = json!({"login": "[redacted]", "cookie": "id=[redacted]", "password": "[redacted]",
                          "url": "/echo?api_key=[redacted]", "token": "[redacted]"});
    assert_eq!(structured, expected);
    assert!(!echo.text().contains("secret"), "{}", echo.text());
}

#[tokio::test]
async fn an_answer_that_the_document_does_not_promise_is_an_error_result_with_its_body() {
    let typed = json!({"200": {"content": {"application/json": {"schema": {
        "type": "object", "properties": {"a": {"type": "integer"}},
    }}}}});
    let operation = |name: &str| json!({"operationId": name, "responses": typed});
    let paths = json!({
        "/wrong": {"post": operation("wrong")}, "/null": {"get": operation("null")},
        "/empty": {"delete": operation("empty")}, "/head": {"head": operation("head")},
    });
    let api = RecordedServer::start(vec![
        exchange("POST /wrong", 201, &[], json!({"a": "text"})),
        exchange(
            "GET /null",
            200,
            &["Content-Type: application/json"],
            "null".into(),
        ),
        exchange("DELETE /empty", 204, &[], Value::Null),
        exchange(
            "HEAD /head",
            200,
            &["Content-Type: application/json"],
            Value::Null,
        ),
    ])
    .await;
    let client = connect(&document(paths), Options::new().server_url(&api.url)).await;
    for (name, parts) in [
        (
            "wrong",
            [
                "HTTP 201 Created: the response does not match",
                "response.a: ",
                "\n\n{\"a\":\"text\"}",
            ],
        ),
        (
            "null",
            [
                "HTTP 200 OK: the response does not match",
                "null",
                "\n\nnull",
            ],
        ),
        (
            "empty",
            [
                "HTTP 204 No Content: the response is no JSON",
                "\"\"",
                "\n\n",
            ],
        ),
    ] {
        let result = call(&client, name, json!({})).await;
        assert_eq!(result.is_error, Some(true));
        let text = result.text();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    assert!(tool(&client, "head").await.output_schema.is_none());
    let head = call(&client, "head", json!({})).await;
    assert_eq!(head.text(), "HTTP 200 OK");
    assert_ne!(head.is_error, Some(true));
}
