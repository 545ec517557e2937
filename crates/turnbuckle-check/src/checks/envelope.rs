//! Requests of the modern era: discovery, the envelope, and the members of results.
//!
//! Specification: basic/versioning and basic/index, "_meta" (2026-07-28).

use serde_json::{Value, json};

use crate::case::Bind;
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::probe::Handshake;
use crate::report::Level;

/// Key of `_meta` in which a request names its revision.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Key of `_meta` in which a request names the capabilities of the client.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A revision that does not exist.
const UNKNOWN_REVISION: &str = "2999-12-31";

/// Key of `_meta` in which a result names the server.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "envelope.missing-field-32602",
        Level::Must,
        "a request without a required member of its envelope is refused with -32602",
        |cx| Box::pin(missing_field(cx)),
    )
    .modern()
    .requires(&["b68b2e5b380e"])
    .fix("refuse a request whose `_meta` lacks the protocol version or the client's capabilities"),
    Check::new(
        "envelope.unknown-version-32022",
        Level::Must,
        "a request of an unknown revision is refused with -32022 and the list of those served",
        |cx| Box::pin(unknown_version(cx)),
    )
    .modern()
    .requires(&["7d049f8e4eb6"])
    .fix("answer an unknown revision with -32022, and list what you speak in `data.supported`"),
    Check::new(
        "envelope.result-type",
        Level::Must,
        "every result names its type",
        |cx| Box::pin(result_type(cx)),
    )
    .modern()
    .requires(&["8e2a30eda7e2"])
    .fix("add `resultType` to every result: \"complete\", or what an extension defines"),
    Check::new(
        "envelope.server-info-in-results",
        Level::Should,
        "every result says which server it is of",
        |cx| Box::pin(server_info(cx)),
    )
    .modern()
    .requires(&["e361a557c429", "443d197e9715"])
    .fix("add the name and version of the server to `_meta` of every result"),
    Check::new(
        "envelope.discover",
        Level::Must,
        "`server/discover` is answered, and lists the revision that it was asked in",
        |cx| Box::pin(discover(cx)),
    )
    .modern()
    .requires(&["8bec9222d177", "845b6a3bae33", "a0816e823fd5"])
    .fix("answer `server/discover` with all revisions that you speak, and with your capabilities"),
    Check::new(
        "envelope.nothing-remembered",
        Level::Must,
        "the first request of a connection is served, whatever it is",
        |cx| Box::pin(nothing_remembered(cx)),
    )
    .modern()
    .needs(&[Need::Capability("tools")])
    .requires(&["0705efc7d780"])
    .fix("take what you need of a client from the envelope of each request"),
    Check::new(
        "envelope.no-server-requests",
        Level::Must,
        "the server sends no requests",
        |cx| Box::pin(no_server_requests(cx)),
    )
    .modern()
    .requires(&["3fbe8c354921", "0bef669f904e", "d8f377d978bb"])
    .fix("ask by `input_required`, not by requests of your own"),
    Check::new(
        "envelope.status-400",
        Level::Must,
        "a request whose envelope is refused has the HTTP status 400",
        |cx| Box::pin(status_400(cx)),
    )
    .modern()
    .only_over(&[Bind::Http])
    .requires(&["79ec2020c215", "6a6028059f8e"])
    .fix("send the error of a missing or unknown envelope with status 400"),
];

async fn discover(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let result = cx.result("server/discover", json!({})).await?;
    let versions = result["supportedVersions"].as_array();
    let revision = cx.revision().as_str();
    if !versions.is_some_and(|all| all.iter().any(|it| it == revision)) {
        cx.fault(format!("`supportedVersions` does not list {revision}"));
    }
    if !result["capabilities"].is_object() {
        cx.fault("the result has no `capabilities`");
    }
    Ok(())
}

async fn nothing_remembered(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = cx.fresh(cx.options().handshake(Handshake::None)).await?;
    let answer = probe.request("tools/list", json!({})).await?;
    if answer.get("result").is_none() {
        let error = &answer["error"];
        cx.fault(format!(
            "`tools/list` as the first request of a connection fails: {error}"
        ));
    }
    Ok(())
}

async fn no_server_requests(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let survey = cx.survey();
    let capabilities = json!({"elicitation": {"form": {}}, "sampling": {}, "roots": {}});
    let meta = json!({CAPABILITIES: capabilities});
    let probe = cx.probe().await?;
    probe.take_messages();
    for name in ["test_sampling", "test_elicitation", "test_list_roots"] {
        let is_usable = survey
            .tool(name)
            .is_some_and(|tool| survey.is_callable(tool));
        if is_usable {
            let arguments = json!({"prompt": "check", "message": "check"});
            let params = json!({"name": name, "arguments": arguments, "_meta": meta});
            let id = probe.start("tools/call", params).await?;
            // A server that asks by a request waits for the answer, not for us.
            let _ = probe.response(id).await;
        }
    }
    probe.request("server/discover", json!({})).await?;
    let messages = probe.take_messages();
    let mut requests = messages.iter().filter(|it| it.get("id").is_some());
    if let Some(method) = requests.find_map(|it| it["method"].as_str()) {
        cx.fault(format!("the server sends the request {method}"));
    }
    Ok(())
}

async fn status_400(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut message = cx.message("check-status", "tools/list", json!({}));
    if let Some(meta) = message["params"]["_meta"].as_object_mut() {
        meta.remove(CAPABILITIES);
    }
    let answer = cx.post(&message)?.send().await?;
    if answer.status != 400 {
        let status = answer.status;
        cx.fault(format!(
            "a request without `{CAPABILITIES}` has the status {status}"
        ));
    }
    let meta = json!({VERSION: UNKNOWN_REVISION});
    let message = cx.message("check-status", "tools/list", json!({"_meta": meta}));
    let ask = cx.post(&message)?;
    let answer = ask
        .header("mcp-protocol-version", UNKNOWN_REVISION)
        .send()
        .await?;
    if answer.status != 400 {
        let status = answer.status;
        cx.fault(format!(
            "a request of the revision {UNKNOWN_REVISION} has the status {status}"
        ));
    }
    Ok(())
}

async fn missing_field(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for name in [CAPABILITIES, VERSION] {
        let mut message = cx.message("check-envelope", "tools/list", json!({}));
        if let Some(meta) = message["params"]["_meta"].as_object_mut() {
            meta.remove(name);
        }
        let probe = cx.probe().await?;
        probe.send(&message).await?;
        let answer = probe.response("check-envelope").await?;
        match answer["error"]["code"].as_i64() {
            Some(-32602) => {}
            Some(code) => cx.fault(format!(
                "a request without `{name}` is refused with {code} instead of -32602"
            )),
            None => cx.fault(format!("a request without `{name}` is served")),
        }
    }
    Ok(())
}

async fn unknown_version(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let meta = json!({VERSION: UNKNOWN_REVISION});
    let answer = cx.request("tools/list", json!({"_meta": meta})).await?;
    match answer["error"]["code"].as_i64() {
        Some(-32022) => {}
        Some(code) => cx.fault(format!(
            "a request of the revision {UNKNOWN_REVISION} is refused with {code} instead of -32022"
        )),
        None => {
            cx.fault(format!(
                "a request of the revision {UNKNOWN_REVISION}, which does not exist, is served"
            ));
            return Ok(());
        }
    }
    let supported = answer["error"]["data"]["supported"].as_array();
    let revision = cx.revision().as_str();
    if !supported.is_some_and(|all| all.iter().any(|it| it == revision)) {
        cx.fault(format!(
            "`data.supported` of the refusal does not list {revision}, which the server speaks"
        ));
    }
    Ok(())
}

/// Returns results of requests that need no arguments, with their methods.
async fn results(cx: &mut CheckContext<'_>) -> Result<Vec<(&'static str, Value)>, Stop> {
    let mut methods = vec!["server/discover"];
    for (capability, method) in [
        ("tools", "tools/list"),
        ("resources", "resources/list"),
        ("prompts", "prompts/list"),
    ] {
        if cx.survey().capability(capability).is_some() {
            methods.push(method);
        }
    }
    let mut results = Vec::new();
    for method in methods {
        results.push((method, cx.result(method, json!({})).await?));
    }
    Ok(results)
}

async fn result_type(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (method, result) in results(cx).await? {
        if !result["resultType"].is_string() {
            cx.fault_at(method, "the result has no `resultType`");
        }
    }
    Ok(())
}

async fn server_info(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (method, result) in results(cx).await? {
        if !result["_meta"][SERVER_INFO]["name"].is_string() {
            cx.fault_at(
                method,
                format!("`_meta` of the result has no `{SERVER_INFO}`"),
            );
        }
    }
    Ok(())
}
