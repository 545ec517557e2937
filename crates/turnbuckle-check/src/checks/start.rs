//! The beginning of a legacy session: `initialize` and `initialized`.
//!
//! Specification: basic/lifecycle.

use std::time::Duration;

use serde_json::json;
use turnbuckle_wire::revision::Revision;

use super::ask::{all_capabilities, asking_call};
use super::cancel::slow_call;
use crate::check::{Check, Stop};
use crate::context::CheckContext;
use crate::probe::{Handshake, ProbeError};
use crate::report::Level;

/// Time in which a request that is sent at once arrives.
const AT_ONCE: Duration = Duration::from_millis(100);

/// Calls that are under way while a ping is sent.
const BUSY: usize = 8;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "start.version-offer",
        Level::Must,
        "asked for a revision that it does not speak, the server offers one that it speaks",
        |cx| Box::pin(version_offer(cx)),
    )
    .legacy()
    .once()
    .requires(&["8870fa90d726", "048c73d47a90"])
    .fix("answer `initialize` with a revision that you speak, whatever the client asks for"),
    Check::new(
        "start.server-info",
        Level::Must,
        "the answer to `initialize` says who the server is",
        |cx| Box::pin(server_info(cx)),
    )
    .legacy()
    .requires(&["5dab91540e21", "7f20780329e1"])
    .fix("give `serverInfo` a `name` and a `version`"),
    Check::new(
        "start.ping-before-initialized",
        Level::Must,
        "a ping is answered before `initialized` is sent",
        |cx| Box::pin(ping_before_initialized(cx)),
    )
    .legacy()
    .once()
    .requires(&["2a241dfe298b"])
    .fix("answer `ping` at any time after `initialize`"),
    Check::new(
        "start.no-requests-before-initialized",
        Level::Should,
        "the server sends no request but pings before `initialized`",
        |cx| Box::pin(no_requests_before_initialized(cx)),
    )
    .legacy()
    .once()
    .requires(&["c6d7f6178b20"])
    .fix("wait for `notifications/initialized` before you send requests"),
    Check::new(
        "start.version-offer-newest",
        Level::Should,
        "the revision that is offered is the newest one that the server speaks",
        |cx| Box::pin(newest_offer(cx)),
    )
    .legacy()
    .revisions(&[Revision::V2025_11_25])
    .requires(&["6674e82c9a58"])
    .fix("offer the newest revision that you speak"),
    Check::new(
        "start.requests-before-initialize",
        Level::Note,
        "a request before `initialize` is refused",
        |cx| Box::pin(before_initialize(cx)),
    )
    .legacy()
    .once()
    .fix("refuse requests other than `ping` until `initialize` was answered"),
    Check::new(
        "start.batch-refused",
        Level::Must,
        "`initialize` is no part of a batch",
        |cx| Box::pin(initialize_in_batch(cx)),
    )
    .revisions(&[Revision::V2025_03_26])
    .requires(&["296f39ac205f"])
    .fix("refuse a batch that has `initialize` in it"),
    Check::new(
        "start.ping-empty",
        Level::Must,
        "a ping is answered with an empty result",
        |cx| Box::pin(ping_empty(cx)),
    )
    .legacy()
    .requires(&["2a241dfe298b", "7f20780329e1"])
    .fix("answer `ping` with `{}`"),
    Check::new(
        "start.ping-while-busy",
        Level::Must,
        "a ping is answered while calls are under way",
        |cx| Box::pin(ping_while_busy(cx)),
    )
    .legacy()
    .once()
    .requires(&["2a241dfe298b"])
    .fix("answer `ping` at once: it takes no place of a request, and waits for none"),
];

async fn newest_offer(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = cx.fresh(cx.options().handshake(Handshake::None)).await?;
    let mut params = probe.handshake_params();
    params["protocolVersion"] = "1999-12-31".into();
    let answer = probe.request("initialize", params).await?;
    let newest = cx.revision().as_str();
    match answer["result"]["protocolVersion"].as_str() {
        Some(offered) if offered < newest => {
            cx.fault(format!("the server speaks {newest}, and offers {offered}"));
        }
        _ => {}
    }
    Ok(())
}

async fn before_initialize(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = cx.fresh(cx.options().handshake(Handshake::None)).await?;
    let answer = match probe.request("tools/list", json!({})).await {
        Ok(answer) => answer,
        // A status without a message is a refusal too.
        Err(ProbeError::Status { .. } | ProbeError::Closed { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if answer.get("result").is_some() {
        cx.fault("`tools/list` is served before `initialize`");
    }
    Ok(())
}

async fn initialize_in_batch(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = cx.fresh(cx.options().handshake(Handshake::None)).await?;
    let params = probe.handshake_params();
    let batch = json!([
        {"jsonrpc": "2.0", "id": "batch-1", "method": "initialize", "params": params},
        {"jsonrpc": "2.0", "id": "batch-2", "method": "ping"},
    ]);
    probe.send(&batch).await?;
    // Refused as one message, by an error without an id, or not at all: the answer to what comes after it
    // ends the wait.
    let _ = probe.request("ping", json!({})).await;
    let mut answers = probe.waiting_answers();
    let is_opened = answers.any(|it| it["id"] == "batch-1" && it.get("result").is_some());
    if is_opened {
        cx.fault("`initialize` in a batch is answered with a result");
    }
    Ok(())
}

async fn ping_empty(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut result = cx.result("ping", json!({})).await?;
    if let Some(members) = result.as_object_mut() {
        members.remove("_meta");
    }
    if result != json!({}) {
        cx.fault(format!("a ping is answered with {result}"));
    }
    Ok(())
}

async fn ping_while_busy(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let call = slow_call(cx.survey())?;
    let mut probe = cx.fresh(cx.options()).await?;
    let mut calls = Vec::new();
    for _ in 0..BUSY {
        calls.push(probe.start("tools/call", call.clone()).await?);
    }
    let answer = probe.request("ping", json!({})).await?;
    if answer.get("result").is_none() {
        cx.fault(format!(
            "a ping is refused while {BUSY} calls are under way: {}",
            answer["error"]
        ));
    }
    for id in calls {
        probe.cancel(id, Some("a check")).await?;
    }
    Ok(())
}

async fn version_offer(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = cx.fresh(cx.options().handshake(Handshake::None)).await?;
    let mut params = probe.handshake_params();
    params["protocolVersion"] = "1999-12-31".into();
    let answer = probe.request("initialize", params).await?;
    let offered = answer["result"]["protocolVersion"].as_str();
    match offered {
        Some("1999-12-31") => {
            cx.fault("the server accepts the revision 1999-12-31, which does not exist");
        }
        Some(version) if Revision::parse(version).is_none() => {
            cx.fault(format!("the server offers {version}, which is no revision"));
        }
        Some(_) => {}
        None => cx.fault(format!(
            "`initialize` with an unknown revision is refused instead of answered with another: {}",
            answer["error"]
        )),
    }
    Ok(())
}

async fn server_info(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let info = &cx.survey().handshake["serverInfo"];
    for member in ["name", "version"] {
        if !info[member].is_string() {
            cx.fault(format!("`serverInfo` has no `{member}`"));
        }
    }
    Ok(())
}

async fn ping_before_initialized(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let options = cx.options().handshake(Handshake::WithoutInitialized);
    let mut probe = cx.fresh(options).await?;
    let answer = probe.request("ping", json!({})).await?;
    if answer.get("result").is_none() {
        cx.fault(format!(
            "a ping before `initialized` is refused: {}",
            answer["error"]
        ));
    }
    Ok(())
}

async fn no_requests_before_initialized(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    // Declared in full, so that the server has reasons to ask.
    let mut capabilities = all_capabilities();
    capabilities["roots"] = json!({"listChanged": true});
    let options = cx
        .options()
        .handshake(Handshake::WithoutInitialized)
        .capabilities(capabilities);
    let mut probe = cx.fresh(options).await?;
    if let Some(call) = asking_call(cx.survey()) {
        probe.start("tools/call", call).await?;
        probe.wait(AT_ONCE).await?;
    }
    // After the answer, a request that was sent at once has come.
    probe.request("ping", json!({})).await?;
    let messages = probe.take_messages();
    let early = messages
        .iter()
        .filter(|message| message.get("id").is_some())
        .filter_map(|message| message["method"].as_str())
        .find(|method| *method != "ping");
    if let Some(method) = early {
        cx.fault(format!("the server sends {method} before `initialized`"));
    }
    Ok(())
}
