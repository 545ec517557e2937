//! The choice of operations, and hostile documents.

use serde_json::{Value, json};
use turnbuckle::testing;
use turnbuckle_serve::openapi::{Credential, Document, Options, server, server_with_left_out};

use super::{GITHUB, call, connect, document, schema, tool, tools};

#[tokio::test]
async fn patterns_choose_operations() {
    let names = async |options: Options| {
        let client = connect(GITHUB, options).await;
        let mut names: Vec<String> = tools(&client)
            .await
            .into_iter()
            .map(|tool| tool.name)
            .collect();
        names.sort();
        names.join(" ")
    };
    let by_name = Options::new().allow(["issues_*"]).deny(["*lock"]);
    assert_eq!(
        names(by_name).await,
        "issues_create issues_get issues_list issues_update"
    );
    let by_id = Options::new().allow(["repos/*"]);
    assert_eq!(names(by_id).await, "repos_get repos_get-readme");
    let by_path = Options::new().allow(["GET /search/*"]);
    assert_eq!(names(by_path).await, "search_issues");
    let denied = Options::new().deny(["PUT *", "DELETE *", "POST *", "PATCH *", "*get*"]);
    assert_eq!(names(denied).await, "issues_list search_issues");
    let none = server(
        &Document::parse(GITHUB).unwrap(),
        Options::new().allow(["nothing"]),
    );
    assert!(none.err().unwrap().to_string().contains("no operation"));
}

#[tokio::test]
async fn ten_thousand_operations_need_an_allow_list() {
    let paths: serde_json::Map<String, Value> = (0..10_000)
        .map(|number| {
            (
                format!("/p{number}"),
                json!({"get": {"operationId": format!("op{number}")}}),
            )
        })
        .collect();
    let document = Document::parse(&document(paths.into())).unwrap();
    let options = || Options::new().server_url("https://api.example.com");
    let error = server(&document, options()).err().unwrap().to_string();
    assert!(
        error.starts_with("10000 operations") && error.contains("--max-operations"),
        "{error}"
    );
    let few = server(&document, options().allow(["op77*"])).unwrap();
    let client = testing::connect(few).await.unwrap();
    assert_eq!(tools(&client).await.len(), 111);
}

#[tokio::test]
async fn cycles_are_cut_and_schemas_are_bounded() {
    let mut schemas = json!({
        "Tree": {"type": "object", "properties": {
            "value": {"type": "string"}, "left": {"$ref": "#/components/schemas/Tree"},
            "children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
        }},
        "Loop": {"$ref": "#/components/schemas/Loop"},
    });
    // Each has ten of the next: 10^30 in all.
    for level in 0..30 {
        let next = json!({"$ref": format!("#/components/schemas/L{}", level + 1)});
        let properties: serde_json::Map<String, Value> = (0..10)
            .map(|number| (format!("p{number}"), next.clone()))
            .collect();
        schemas[format!("L{level}")] = json!({"type": "object", "properties": properties});
    }
    let body = |name: &str| {
        json!({"post": {"operationId": name, "requestBody": {"content": {"application/json": {
            "schema": {"$ref": format!("#/components/schemas/{name}")},
        }}}}})
    };
    let document = json!({
        "openapi": "3.0.0", "info": {},
        "paths": {"/t": body("Tree"), "/l": body("L0"), "/loop": body("Loop"), "/remote": {
            "get": {"operationId": "remote", "parameters": [{"$ref": "https://evil.example/p.json"}]},
        }},
        "components": {"schemas": schemas},
    });
    let options = Options::new().server_url("https://api.example.com");
    let client = connect(&document.to_string(), options).await;
    let tree = schema(&tool(&client, "Tree").await);
    let left = &tree["properties"]["left"]["properties"];
    assert_eq!(left["value"], json!({"type": "string"}));
    assert_eq!(left["left"], json!({"description": "another Tree"}));
    assert_eq!(
        left["children"]["items"],
        json!({"description": "another Tree"})
    );
    let large = tool(&client, "L0").await;
    let size = large.input_schema.as_str().len();
    assert!((1_000..200_000).contains(&size), "{size}");
    let looped = schema(&tool(&client, "Loop").await);
    assert_eq!(
        looped["properties"]["body"],
        json!({"description": "another Loop"})
    );
    let names: Vec<String> = tools(&client)
        .await
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    assert!(
        !names.contains(&"remote".to_owned()),
        "nothing is fetched: {names:?}"
    );
}

#[tokio::test]
async fn operations_with_schemas_of_other_documents_are_left_out_and_named() {
    let body = |schema: Value| json!({"post": {"requestBody": {"content": {"application/json": {"schema": schema}}}}});
    let paths = json!({
        "/good": {"get": {"operationId": "good"}},
        "/body": body(json!({"$ref": "http://evil.example/x"})),
        "/property": body(json!({"type": "object", "properties": {"z": {"$ref": "other.json#/Foo"}}})),
        "/deep": body(json!({"allOf": [{"type": "object", "properties": {
            "a": {"type": "array", "items": {"anyOf": [{"$ref": "#/components/schemas/Far"}]}},
        }}]})),
        "/parameter": {"get": {"parameters": [
            {"name": "a", "in": "query", "schema": {"$ref": "file:///etc/passwd"}},
        ]}},
        "/item": {"$ref": "other.yaml"},
        "/form": {"post": {"requestBody": {"content": {"multipart/form-data": {}}}}},
        "/{unset}": {"get": {}},
    });
    let mut document: Value = serde_json::from_str(&document(paths)).unwrap();
    document["components"] = json!({"schemas": {"Far": {"$ref": "far.json"}}});
    let parsed = Document::parse(&document.to_string()).unwrap();
    let options = || Options::new().server_url("https://api.example.com");
    let (server, left_out) = server_with_left_out(&parsed, options()).unwrap();
    let client = testing::connect(server).await.unwrap();
    let tools = tools(&client).await;
    assert_eq!(tools.len(), 1, "{left_out}");
    let left_out = left_out.to_string();
    for (operation, reason) in [
        ("POST /body", "http://evil.example/x names another document"),
        ("POST /property", "other.json#/Foo names another document"),
        ("POST /deep", "far.json names another document"),
        (
            "GET /parameter",
            "file:///etc/passwd names another document",
        ),
        ("/item", "other.yaml names another document"),
        ("POST /form", "no media type of JSON"),
        ("GET /{unset}", "the variable \"unset\""),
    ] {
        let start = format!("{operation} is left out: ");
        let line = left_out.lines().find(|line| line.starts_with(&start));
        assert!(line.is_some_and(|line| line.contains(reason)), "{left_out}");
    }
    assert_eq!(left_out.lines().count(), 7, "{left_out}");

    let only = options().allow(["POST /form"]);
    let error = server_with_left_out(&parsed, only).err().unwrap();
    let text = error.to_string();
    assert!(text.contains("POST /form is left out"), "{text}");
}

#[test]
fn at_most_20_operations_are_named() {
    let paths: serde_json::Map<String, Value> = (0..30)
        .map(|number| {
            let path = format!("/{}\n{number}/{{unset}}", "x".repeat(1_000));
            (path, json!({"get": {}}))
        })
        .chain([("/good".to_owned(), json!({"get": {}}))])
        .collect();
    let document = Document::parse(&document(paths.into())).unwrap();
    let options = Options::new().server_url("https://api.example.com");
    let (_, left_out) = server_with_left_out(&document, options).unwrap();
    let left_out = left_out.to_string();
    assert_eq!(left_out.lines().count(), 21, "{left_out}");
    assert!(left_out.ends_with("\n10 more operations are left out"));
    assert!(left_out.len() < 10_000, "{}", left_out.len());
}

#[tokio::test]
async fn schemas_of_the_wrong_form_harm_nobody() {
    let wrong = json!({
        "type": "string", "minLength": "three", "maxLength": -1, "minimum": 1, "enum": [], "pattern": "(",
        "format": 7, "default": {"deep": [1]}, "properties": [], "items": 3, "required": "all", "allOf": {},
    });
    let paths = json!({
        "/a": {"get": {"operationId": "a", "parameters": [
            {"name": "w", "in": "query", "schema": wrong}, {"name": "u", "in": "query", "schema": {"type": "file"}},
            {"name": "n", "in": "query", "schema": 7},
        ], "responses": {"200": {"content": {"application/json": {"schema": [1]}}}}}},
        "/b": {"get": {"operationId": "a"}, "post": 7},
        "/no-name": {"get": {"parameters": [{"in": "query"}]}},
        "/label": {"get": {"parameters": [{"name": "l", "in": "path", "style": "label"}]}},
        "/{unset}": {"get": {}},
        "/file": {"post": {"requestBody": {"content": {"multipart/form-data": {}}}}},
        "/else": {"get": {"servers": [{"url": "https://else.example.com"}]}},
    });
    let mut document: Value = serde_json::from_str(&document(paths)).unwrap();
    document["servers"] = json!([{"url": "https://api.example.com"}]);
    let client = connect(&document.to_string(), Options::new()).await;
    let names: Vec<String> = tools(&client)
        .await
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    assert_eq!(names, ["a", "a_2"]);
    let properties = &schema(&tool(&client, "a").await)["properties"];
    assert_eq!(
        properties["w"],
        json!({"type": "string", "description": "Pattern: (", "default": {"deep": [1]}})
    );
    assert_eq!(
        (&properties["u"], &properties["n"]),
        (&json!({}), &json!({}))
    );
}

#[tokio::test]
async fn a_document_cannot_choose_an_address_inside() {
    let of = |url: &str| {
        let mut document: Value =
            serde_json::from_str(&document(json!({"/a": {"get": {"operationId": "a"}}}))).unwrap();
        document["servers"] =
            json!([{"url": url, "variables": {"host": {"default": "127.0.0.1"}}}]);
        Document::parse(&document.to_string()).unwrap()
    };
    for (url, reason) in [
        ("http://api.example.com", "https://"),
        ("/relative", "relative"),
        ("https://user:password@api.example.com", "credentials"),
        ("file:///etc/passwd", "https://"),
    ] {
        let error = server(&of(url), Options::new()).err().unwrap().to_string();
        assert!(
            error.contains(reason) && error.contains("--server-url"),
            "{url}: {error}"
        );
    }
    for url in [
        "https://127.0.0.1:1",
        "https://{host}:1",
        "https://localhost:1",
        "https://[::1]:1",
        "https://10.0.0.1",
        "https://169.254.169.254",
    ] {
        let client = testing::connect(server(&of(url), Options::new()).unwrap())
            .await
            .unwrap();
        let refused = call(&client, "a", json!({})).await;
        assert!(
            refused.text().starts_with("GET /a: the address "),
            "{url}: {}",
            refused.text()
        );
    }
}

#[tokio::test]
async fn names_that_are_made_unique_stay_short() {
    let id = "x".repeat(80);
    let paths: serde_json::Map<String, Value> = (0..12)
        .map(|number| (format!("/{number}"), json!({"get": {"operationId": id}})))
        .collect();
    let options = Options::new().server_url("https://api.example.com");
    let client = connect(&document(paths.into()), options).await;
    let tools = tools(&client).await;
    assert_eq!(tools.len(), 12);
    assert!(tools.iter().all(|tool| tool.name.len() == 64), "{tools:?}");
}

#[test]
fn credentials_are_not_shown() {
    let options = Options::new()
        .credential(Credential::bearer("token-1").unwrap())
        .credential(Credential::basic("user", "token-2").unwrap())
        .credential(Credential::query("key", "token-3"));
    let shown = format!("{options:?}");
    assert!(
        shown.contains("authorization") && shown.contains("key"),
        "{shown}"
    );
    assert!(
        !shown.contains("token-") && !shown.contains("Basic"),
        "{shown}"
    );
    assert!(Credential::basic("a:b", "c").is_err() && Credential::bearer("a\nb").is_err());
}
