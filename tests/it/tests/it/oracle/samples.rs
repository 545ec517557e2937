//! Values of every type, with every member filled in, in the form of the newest vocabulary.

use serde_json::{Value, json};

/// A member that no schema knows, which has to reach every reader.
pub(super) const UNKNOWN: &str = "com.example.unknown";

/// Returns `_meta` of a thing.
fn meta() -> Value {
    json!({"com.example/kept": [1, 2.50]})
}

/// Returns `_meta` of a question to the client.
fn question_meta() -> Value {
    json!({"com.example/kept": 1, "progressToken": 7})
}

/// Returns `_meta` of a message, with the keys that the modern envelope knows.
fn envelope() -> Value {
    json!({
        "com.example/kept": 1,
        "progressToken": "token",
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": implementation(),
        "io.modelcontextprotocol/clientCapabilities": client_capabilities(),
        "io.modelcontextprotocol/logLevel": "info"
    })
}

fn result_meta() -> Value {
    json!({
        "com.example/kept": 1,
        "io.modelcontextprotocol/serverInfo": implementation(),
        "io.modelcontextprotocol/subscriptionId": 7
    })
}

fn notification_meta() -> Value {
    json!({"com.example/kept": 1, "io.modelcontextprotocol/subscriptionId": 7})
}

fn annotations() -> Value {
    json!({"audience": ["user", "assistant"], "priority": 0.5, "lastModified": "2025-01-12T15:00:58Z"})
}

fn icons() -> Value {
    json!([{"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"}])
}

fn implementation() -> Value {
    json!({"name": "n", "version": "1", "title": "N", "description": "d",
        "websiteUrl": "https://example.com", "icons": icons()})
}

fn text_contents() -> Value {
    json!({"uri": "file:///a", "mimeType": "text/plain", "text": "t", "_meta": meta()})
}

fn blob_contents() -> Value {
    json!({"uri": "file:///b", "mimeType": "image/png", "blob": "AA==", "_meta": meta()})
}

/// Returns one block of every kind.
pub(super) fn content() -> Vec<Value> {
    let common = |mut block: Value| {
        block["annotations"] = annotations();
        block["_meta"] = meta();
        block
    };
    vec![
        common(json!({"type": "text", "text": "t"})),
        common(json!({"type": "image", "data": "AA==", "mimeType": "image/png"})),
        common(json!({"type": "audio", "data": "AQ==", "mimeType": "audio/wav"})),
        common(
            json!({"type": "resource_link", "uri": "file:///a", "name": "a", "title": "A",
            "description": "d", "mimeType": "text/plain", "size": 7, "icons": icons()}),
        ),
        common(json!({"type": "resource", "resource": text_contents()})),
        common(json!({"type": "resource", "resource": blob_contents()})),
    ]
}

fn tool(name: &str, output: Value) -> Value {
    json!({
        "name": name, "title": "T", "description": "d", "icons": icons(), "_meta": meta(),
        "inputSchema": {"$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object", "required": ["a"],
            "properties": {"a": {"type": "string"}, "b": true, "c": false}},
        "outputSchema": output,
        "annotations": {"title": "H", "readOnlyHint": true, "destructiveHint": false,
            "idempotentHint": true, "openWorldHint": false},
        "execution": {"taskSupport": "optional"},
        UNKNOWN: 1
    })
}

fn tools() -> Value {
    json!([
        tool(
            "object",
            json!({"$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object", "properties": {"b": true, "c": false}})
        ),
        tool(
            "list",
            json!({"type": "array", "items": {"$ref": "#/$defs/i"}, "$defs": {"i": {}}})
        ),
        tool("either", json!({"type": ["object", "null"]})),
        tool("any", json!({})),
        tool(
            "choice",
            json!({"oneOf": [{"type": "object"}, {"type": "object"}]})
        ),
    ])
}

fn server_capabilities() -> Value {
    json!({
        "tools": {"listChanged": true}, "prompts": {"listChanged": true},
        "resources": {"listChanged": true, "subscribe": true},
        "completions": {}, "logging": {},
        "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
        "extensions": {"com.example/e": {}}, "experimental": {"x": {}}
    })
}

fn client_capabilities() -> Value {
    json!({
        "roots": {"listChanged": true}, "sampling": {"tools": {}, "context": {}},
        "elicitation": {"form": {}, "url": {}},
        "tasks": {"list": {}, "cancel": {}, "requests": {
            "sampling": {"createMessage": {}}, "elicitation": {"create": {}}}},
        "extensions": {"com.example/e": {}}, "experimental": {"x": {}}
    })
}

fn task() -> Value {
    json!({"taskId": "t", "status": "working", "statusMessage": "m", "createdAt": "2025-11-25T10:30:00Z",
        "lastUpdatedAt": "2025-11-25T10:40:00Z", "ttl": 60_000, "pollInterval": 5_000})
}

/// Returns `_meta` of a message that belongs to a task.
fn related_task() -> Value {
    json!({"com.example/kept": 1, "io.modelcontextprotocol/related-task": {"taskId": "t"}})
}

fn cached(mut result: Value) -> Value {
    result["ttlMs"] = 60_000.into();
    result["cacheScope"] = "public".into();
    result["_meta"] = result_meta();
    result
}

fn page(mut result: Value) -> Value {
    result["nextCursor"] = "c".into();
    cached(result)
}

/// Forms whose fields every revision with forms can ask for.
pub(super) fn form() -> Value {
    json!({
        "message": "m", "mode": "form", "_meta": question_meta(), "task": {"ttl": 60_000},
        "requestedSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object", "required": ["s"],
            "properties": {
                "s": {"type": "string", "title": "S", "description": "d", "format": "email",
                    "minLength": 1, "maxLength": 9, "default": "a"},
                "n": {"type": "integer", "title": "N", "description": "d",
                    "minimum": 1, "maximum": 9, "default": 3},
                "b": {"type": "boolean", "title": "B", "description": "d", "default": true},
                "one": {"type": "string", "title": "O", "description": "d",
                    "enum": ["x", "y"], "default": "x"},
                "titled": {"type": "string", "title": "O", "description": "d",
                    "oneOf": [{"const": "x", "title": "X"}, {"const": "y", "title": "Y"}],
                    "default": "x"},
                "named": {"type": "string", "title": "O", "description": "d",
                    "enum": ["x", "y"], "enumNames": ["X", "Y"], "default": "x"}
            }
        }
    })
}

/// Returns a form with choices of several values.
pub(super) fn form_of_several() -> Value {
    json!({
        "message": "m", "mode": "form",
        "requestedSchema": {"type": "object", "properties": {
            "many": {"type": "array", "title": "M", "description": "d", "minItems": 1,
                "maxItems": 2, "items": {"type": "string", "enum": ["x", "y"]}, "default": ["x"]},
            "titled": {"type": "array", "title": "M", "description": "d", "minItems": 1,
                "maxItems": 2, "items": {"anyOf": [{"const": "x", "title": "X"}]}, "default": ["x"]}
        }}
    })
}

/// Returns a visit to a URL.
pub(super) fn url() -> Value {
    json!({"message": "m", "mode": "url", "url": "https://example.com/a", "elicitationId": "e",
        "_meta": question_meta(), "task": {"ttl": 60_000}})
}

/// Returns a question to a model that every revision can ask.
pub(super) fn question() -> Value {
    let message = |block: Value| json!({"role": "user", "content": block, "_meta": meta()});
    let blocks = content().into_iter().take(3);
    json!({
        "messages": blocks.map(message).collect::<Vec<_>>(),
        "maxTokens": 100, "systemPrompt": "s", "includeContext": "thisServer",
        "temperature": 0.5, "stopSequences": ["."], "metadata": {"m": 1}, "_meta": question_meta(),
        "task": {"ttl": 60_000},
        "modelPreferences": {"hints": [{"name": "h"}], "costPriority": 0.1,
            "speedPriority": 0.2, "intelligencePriority": 0.3}
    })
}

/// Returns a question to a model that may use tools.
pub(super) fn question_with_tools() -> Value {
    let mut question = question();
    question["tools"] = tools();
    question["toolChoice"] = json!({"mode": "auto"});
    question["messages"] = json!([
        {"role": "assistant", "_meta": meta(), "content": [
            {"type": "text", "text": "t"},
            {"type": "tool_use", "id": "1", "name": "n", "input": {"a": 1}, "_meta": meta()}]},
        {"role": "user", "content": [{"type": "tool_result", "toolUseId": "1", "isError": false,
            "content": content(), "structuredContent": [1], "_meta": meta()}]},
        {"role": "assistant", "content":
            {"type": "tool_use", "id": "2", "name": "n", "input": {}, "_meta": meta()}},
        {"role": "user", "content": {"type": "tool_result", "toolUseId": "2", "isError": true,
            "content": [], "structuredContent": {"a": 1}, "_meta": meta()}}
    ]);
    question
}

/// Results by the method that they answer.
pub(super) fn results() -> Vec<(&'static str, Value)> {
    let prompts = json!([{"name": "p", "title": "P", "description": "d", "icons": icons(),
        "_meta": meta(), "arguments": [
            {"name": "a", "title": "A", "description": "d", "required": true}]}]);
    let resource = json!({"uri": "file:///a", "name": "a", "title": "A", "description": "d",
        "mimeType": "text/plain", "size": 7, "icons": icons(), "annotations": annotations(),
        "_meta": meta()});
    let template = json!({"uriTemplate": "file:///{a}", "name": "a", "title": "A",
        "description": "d", "mimeType": "text/plain", "icons": icons(),
        "annotations": annotations(), "_meta": meta()});
    let said = |block: Value| json!({"role": "assistant", "content": block});
    let said: Vec<_> = content().into_iter().map(said).collect();
    let answer = |content: Value| {
        json!({"role": "assistant", "content": content, "model": "m", "stopReason": "endTurn",
            "_meta": meta()})
    };
    let mut results = vec![
        (
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities":
            server_capabilities(), "serverInfo": implementation(), "instructions": "i",
            "_meta": meta()}),
        ),
        ("ping", json!({"_meta": meta()})),
        ("resources/subscribe", json!({"_meta": meta()})),
        ("resources/unsubscribe", json!({"_meta": meta()})),
        ("logging/setLevel", json!({"_meta": meta()})),
        (
            "server/discover",
            cached(json!({"supportedVersions": ["2026-07-28"],
            "capabilities": server_capabilities(), "instructions": "i"})),
        ),
        ("tools/list", page(json!({"tools": tools()}))),
        ("resources/list", page(json!({"resources": [resource]}))),
        (
            "resources/templates/list",
            page(json!({"resourceTemplates": [template]})),
        ),
        ("prompts/list", page(json!({"prompts": prompts}))),
        (
            "resources/read",
            cached(json!({"contents": [text_contents(), blob_contents()]})),
        ),
        (
            "prompts/get",
            json!({"description": "d", "messages": said, "_meta": result_meta()}),
        ),
        (
            "completion/complete",
            json!({"completion": {"values": ["v"], "total": 2,
            "hasMore": true}, "_meta": result_meta()}),
        ),
        ("subscriptions/listen", json!({"_meta": result_meta()})),
        ("tasks/get", task()),
        ("tasks/cancel", task()),
        (
            "tasks/result",
            json!({"content": [], "_meta": related_task()}),
        ),
        (
            "tasks/list",
            json!({"tasks": [task()], "nextCursor": "c", "_meta": meta()}),
        ),
        ("sampling/createMessage", answer(json!(content()[..3]))),
        ("sampling/createMessage", answer(json!([]))),
        (
            "sampling/createMessage",
            answer(json!([{"type": "tool_use", "id": "1", "name": "n",
            "input": {}}])),
        ),
        (
            "sampling/createMessage",
            answer(json!({"type": "tool_result", "toolUseId": "1",
            "content": content()})),
        ),
        (
            "elicitation/create",
            json!({"action": "accept",
            "content": {"s": "x", "n": 1, "b": true}, "_meta": meta()}),
        ),
        (
            "roots/list",
            json!({"roots": [{"uri": "file:///a", "name": "a", "_meta": meta()}],
            "_meta": meta()}),
        ),
    ];
    results.extend(
        content()
            .into_iter()
            .take(3)
            .map(|block| ("sampling/createMessage", answer(block))),
    );
    for structured in [json!({"a": 1}), json!([1, 2]), json!("s"), json!(null)] {
        for content in [content(), vec![]] {
            let result = json!({"content": content, "structuredContent": structured,
                "isError": false, "_meta": result_meta()});
            results.push(("tools/call", result));
        }
    }
    for (_, result) in &mut results {
        result[UNKNOWN] = json!({"kept": 1.50});
        if result["_meta"]
            .get("io.modelcontextprotocol/serverInfo")
            .is_some()
        {
            result["resultType"] = "complete".into();
        }
    }
    results
}

/// Questions inside a result.
pub(super) fn input_required() -> Value {
    json!({
        "requestState": "s", "_meta": result_meta(),
        "inputRequests": {
            "form": {"method": "elicitation/create", "params": form()},
            "several": {"method": "elicitation/create", "params": form_of_several()},
            "url": {"method": "elicitation/create", "params": url()},
            "model": {"method": "sampling/createMessage", "params": question()},
            "tools": {"method": "sampling/createMessage", "params": question_with_tools()},
            "roots": {"method": "roots/list", "params": {"_meta": meta()}}
        }
    })
}

/// Returns parameters of requests from the client.
pub(super) fn requests() -> Vec<(&'static str, Value)> {
    let retried = |mut params: Value| {
        params["inputResponses"] = json!({
            "form": {"action": "accept", "content": {"s": "x", "many": ["x"]}},
            "model": {"role": "assistant", "content": content()[0], "model": "m",
                "stopReason": "endTurn", "_meta": meta()},
            "roots": {"roots": [{"uri": "file:///a", "name": "a", "_meta": meta()}]}
        });
        params["requestState"] = "s".into();
        params
    };
    let complete = |reference: Value| {
        json!({"ref": reference, "argument": {"name": "a", "value": "v"},
            "context": {"arguments": {"b": "w"}}})
    };
    let mut requests = vec![
        (
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities":
            client_capabilities(), "clientInfo": implementation()}),
        ),
        ("ping", json!({})),
        ("server/discover", json!({})),
        ("tools/list", json!({"cursor": "c"})),
        ("resources/list", json!({"cursor": "c"})),
        ("resources/templates/list", json!({"cursor": "c"})),
        ("prompts/list", json!({"cursor": "c"})),
        (
            "tools/call",
            retried(json!({"name": "n", "arguments": {"a": 1}, "task": {"ttl": 60_000}})),
        ),
        (
            "prompts/get",
            retried(json!({"name": "n", "arguments": {"a": "b"}})),
        ),
        ("resources/read", retried(json!({"uri": "file:///a"}))),
        ("resources/subscribe", json!({"uri": "file:///a"})),
        ("resources/unsubscribe", json!({"uri": "file:///a"})),
        (
            "completion/complete",
            complete(json!({"type": "ref/prompt", "name": "p", "title": "P"})),
        ),
        (
            "completion/complete",
            complete(json!({"type": "ref/resource", "uri": "file:///{a}"})),
        ),
        ("logging/setLevel", json!({"level": "info"})),
        ("tasks/get", json!({"taskId": "t"})),
        ("tasks/result", json!({"taskId": "t"})),
        ("tasks/list", json!({"cursor": "c"})),
        ("tasks/cancel", json!({"taskId": "t"})),
        ("subscriptions/listen", json!({"notifications": filter()})),
    ];
    for (_, params) in &mut requests {
        params["_meta"] = envelope();
        params[UNKNOWN] = json!({"kept": 1.50});
    }
    requests
}

fn filter() -> Value {
    json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["file:///a"]})
}

/// Returns parameters of notifications from either side.
pub(super) fn notifications() -> Vec<(&'static str, Value)> {
    let mut notifications = vec![
        ("notifications/initialized", json!({})),
        (
            "notifications/cancelled",
            json!({"requestId": 1, "reason": "r"}),
        ),
        (
            "notifications/progress",
            json!({"progressToken": "t", "progress": 0.5, "total": 2,
            "message": "m"}),
        ),
        (
            "notifications/message",
            json!({"level": "info", "logger": "l", "data": {"a": 1}}),
        ),
        ("notifications/tools/list_changed", json!({})),
        ("notifications/prompts/list_changed", json!({})),
        ("notifications/resources/list_changed", json!({})),
        (
            "notifications/resources/updated",
            json!({"uri": "file:///a"}),
        ),
        ("notifications/roots/list_changed", json!({})),
        (
            "notifications/subscriptions/acknowledged",
            json!({"notifications": filter()}),
        ),
        (
            "notifications/elicitation/complete",
            json!({"elicitationId": "e"}),
        ),
        ("notifications/tasks/status", task()),
    ];
    for (_, params) in &mut notifications {
        params["_meta"] = notification_meta();
        params[UNKNOWN] = json!({"kept": 1.50});
    }
    notifications
}
