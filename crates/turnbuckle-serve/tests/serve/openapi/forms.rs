//! Forms, cookies and numbers in requests.

use serde_json::{Value, json};
use turnbuckle_serve::openapi::{Credential, Document, Options, server_with_left_out};

use super::{call, connect, document, schema, tool};
use crate::recorded::RecordedServer;

fn form(encoding: Value) -> Value {
    let properties = json!({
        "text": {"type": "string"}, "list": {"type": "array", "items": {"type": "string"}},
        "object": {"type": "object", "additionalProperties": true},
    });
    json!({"post": {"operationId": "form", "requestBody": {"content": {"application/x-www-form-urlencoded": {
        "schema": {"type": "object", "properties": properties}, "encoding": encoding,
    }}}}})
}

#[tokio::test]
async fn a_form_is_encoded_as_the_document_says() {
    let api = RecordedServer::start(Vec::new()).await;
    let arguments =
        json!({"text": "a b&c", "list": ["1", "2 3"], "object": {"k": "v", "n": 1.50, "x": null}});
    for (encoding, sent) in [
        (
            json!({}),
            "list=1&list=2+3&object=%7B%22k%22%3A%22v%22%2C%22n%22%3A1.5%2C%22x%22%3Anull%7D&text=a+b%26c",
        ),
        (
            json!({"object": {"style": "deepObject", "explode": true}, "list": {"explode": false}}),
            "list=1,2+3&object%5Bk%5D=v&object%5Bn%5D=1.5&text=a+b%26c",
        ),
        (
            json!({
                "object": {"style": "form"}, "list": {"contentType": "application/json"},
                "text": {"contentType": "text/plain; charset=utf-8"},
            }),
            "list=%5B%221%22%2C%222+3%22%5D&k=v&n=1.5&text=a+b%26c",
        ),
        (
            json!({"list": {"style": "pipeDelimited"}, "object": {"style": "form", "explode": false}}),
            "list=1%7C2+3&object=k,v,n,1.5&text=a+b%26c",
        ),
    ] {
        let paths = json!({"/form": form(encoding.clone())});
        let client = connect(&document(paths), Options::new().server_url(&api.url)).await;
        call(&client, "form", arguments.clone()).await;
        assert_eq!(api.last().body, sent, "{encoding}");
    }
}

#[test]
fn an_operation_whose_form_is_not_supported_is_left_out() {
    for (encoding, reason) in [
        (
            json!({"object": {"contentType": "application/xml"}}),
            "the field \"object\" has the media type \"application/xml\"",
        ),
        (
            json!({"list": {"style": "matrix"}}),
            "the field \"list\" has the style \"matrix\"",
        ),
    ] {
        let paths = json!({"/form": form(encoding), "/a": {"get": {}}});
        let document = Document::parse(&document(paths)).unwrap();
        let options = Options::new().server_url("https://api.example.com");
        let (_, left_out) = server_with_left_out(&document, options).unwrap();
        let left_out = left_out.to_string();
        assert_eq!(left_out, format!("POST /form is left out: {reason}"));
    }
}

#[tokio::test]
async fn arguments_replace_no_credential() {
    let object = json!({"type": "object", "additionalProperties": true});
    let paths = json!({"/a": {"get": {"operationId": "a", "parameters": [
        {"name": "session", "in": "cookie", "schema": {"type": "string"}},
        {"name": "theme", "in": "cookie", "schema": {"type": "string"}},
        {"name": "cookies", "in": "cookie", "schema": object},
        {"name": "query", "in": "query", "schema": object},
    ]}}});
    let api = RecordedServer::start(Vec::new()).await;
    let options = Options::new()
        .server_url(&api.url)
        .credential(Credential::header("Cookie", "session=hush; id=7").unwrap())
        .credential(Credential::query("a key", "hush"));
    let client = connect(&document(paths), options).await;
    let properties = schema(&tool(&client, "a").await)["properties"].clone();
    assert!(properties.get("session").is_none(), "{properties}");
    let arguments = json!({
        "theme": "dark", "cookies": {"session": "mine", "more": "1"}, "query": {"a key": "mine", "b": 2},
    });
    call(&client, "a", arguments).await;
    let sent = api.last();
    assert_eq!(
        sent.header("cookie"),
        Some("session=hush; id=7; theme=dark; more=1")
    );
    assert_eq!(sent.request, "GET /a?b=2&a%20key=hush");
}

#[tokio::test]
async fn numbers_in_arrays_keep_their_digits() {
    let paths = json!({"/a": {"get": {"operationId": "a", "parameters": [
        {"name": "n", "in": "query", "schema": {"type": "array", "items": {"type": "number"}}},
    ]}}});
    let api = RecordedServer::start(Vec::new()).await;
    let client = connect(&document(paths), Options::new().server_url(&api.url)).await;
    let numbers: Value = serde_json::from_str(r#"{"n": [12345678901234567890, 1.0]}"#).unwrap();
    call(&client, "a", numbers).await;
    assert_eq!(api.last().request, "GET /a?n=12345678901234567890&n=1.0");
    let raw: turnbuckle::types::Json = r#"{"n":[12345678901234567890123]}"#.parse().unwrap();
    client.call_tool("a", &raw).await.unwrap();
    assert_eq!(api.last().request, "GET /a?n=12345678901234567890123");
}
