//! Answers requests: which function handles which method, and what every result has.

use serde_json::{Map, Value, json};
use turnbuckle_wire::revision::Method;

use super::call::Call;
use super::interlude::Interlude;
use super::refusal::{Answer, Refusal, error_to};
use super::{items, prompts, resources, tools};

/// Items on a page of a list.
const PAGE: usize = 12;

/// Handles the request and sends its response.
pub(super) async fn run(call: Call) {
    let script = &call.sound.before_answer;
    if let Some(script) = script.as_ref().filter(|_| call.method != "initialize") {
        let interlude = Interlude::new(call.session.clone(), call.outlet.clone());
        script(&call.method, interlude).await;
    }
    let answer = answer(&call).await;
    let response = match answer {
        Ok(result) => {
            let result = in_envelope(&call, result);
            json!({"jsonrpc": "2.0", "id": call.id, "result": result})
        }
        Err(refusal) => error_to(&call.session, &call.id, refusal),
    };
    call.outlet.send(response);
}

async fn answer(call: &Call) -> Answer {
    match call.method.as_str() {
        "initialize" => Ok(json!({
            "protocolVersion": call.revision.as_str(),
            "capabilities": items::capabilities(call.revision),
            "serverInfo": items::server_info(),
            "instructions": "A server for tests.",
        })),
        "server/discover" => Ok(json!({
            "supportedVersions": call.sound.revisions.iter().map(|it| it.as_str()).collect::<Vec<_>>(),
            "capabilities": items::capabilities(call.revision),
            "instructions": "A server for tests.",
        })),
        "ping" => Ok(json!({})),
        "tools/list" => page(call, "tools", items::tools(call.revision)),
        "tools/call" => tools::call(call).await,
        "resources/list" => page(call, "resources", resources::list(call.features())),
        "resources/templates/list" => page(
            call,
            "resourceTemplates",
            resources::templates(call.features()),
        ),
        "resources/read" => resources::read(call),
        "resources/subscribe" | "resources/unsubscribe" => resources::subscribe(call),
        "prompts/list" => page(call, "prompts", prompts::list(call.features())),
        "prompts/get" => prompts::get(call).await,
        "completion/complete" => prompts::complete(call),
        "logging/setLevel" => match call.session.set_level(&call.params["level"]) {
            true => Ok(json!({})),
            false => Err(Refusal::new(-32602, "no such level")),
        },
        "subscriptions/listen" => call.listen().await,
        _ => Err(Refusal::new(-32601, "no such method")),
    }
}

/// Returns one page of a list.
fn page(call: &Call, member: &str, items: Vec<Value>) -> Answer {
    let refusal = || Refusal::new(-32602, "no such cursor");
    let start = match call.params.get("cursor") {
        None => 0,
        Some(cursor) => {
            let cursor = cursor.as_str().ok_or_else(refusal)?;
            let start = cursor
                .strip_prefix(member)
                .and_then(|it| it.strip_prefix('@'));
            let start = start.and_then(|it| it.parse().ok()).ok_or_else(refusal)?;
            match start % PAGE == 0 && start > 0 && start < items.len() {
                true => start,
                false => return Err(refusal()),
            }
        }
    };
    let page: Vec<_> = items.iter().skip(start).take(PAGE).collect();
    let mut result = json!({member: page});
    if start + PAGE < items.len() {
        result["nextCursor"] = format!("{member}@{}", start + PAGE).into();
    }
    Ok(result)
}

/// Adds what modern results have.
fn in_envelope(call: &Call, mut result: Value) -> Value {
    if !call.is_modern() {
        return result;
    }
    if result.get("resultType").is_none() {
        result["resultType"] = "complete".into();
    }
    let is_complete = result["resultType"] == "complete";
    if is_complete && Method::parse(&call.method).is_some_and(Method::is_cacheable) {
        result["ttlMs"] = 1000.into();
        result["cacheScope"] = "public".into();
    }
    let mut meta = result["_meta"]
        .as_object()
        .cloned()
        .unwrap_or_else(Map::new);
    meta.insert(
        "io.modelcontextprotocol/serverInfo".into(),
        items::server_info(),
    );
    result["_meta"] = meta.into();
    result
}
