//! Progress notifications.
//!
//! Specification: basic/utilities/progress.

use std::time::Duration;

use serde_json::{Value, json};

use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::probe::Probe;
use crate::report::Level;

/// The tool of the official suite that reports progress.
const TOOL: &str = "test_tool_with_progress";

/// Time in which a report that a server sends behind the answer arrives.
const LATER: Duration = Duration::from_millis(50);

const NOTIFICATION: &str = "notifications/progress";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "progress.token-echoed",
        Level::Must,
        "progress carries the token of its request",
        |cx| Box::pin(token_echoed(cx)),
    )
    .needs(&[Need::Fixture(TOOL)])
    .requires(&["e3b94f2d42b8", "0588cd8f646e"])
    .fix("copy `_meta.progressToken` of the request into the notification, with its type"),
    Check::new(
        "progress.increasing",
        Level::Must,
        "progress increases with each notification",
        |cx| Box::pin(increasing(cx)),
    )
    .needs(&[Need::Fixture(TOOL)])
    .requires(&["b393cf02f49e"])
    .fix("send a notification only when the value is larger than the last one"),
    Check::new(
        "progress.none-after-answer",
        Level::Must,
        "no progress comes after the answer",
        |cx| Box::pin(none_after_answer(cx)),
    )
    .needs(&[Need::Fixture(TOOL)])
    .requires(&["458723ccde2a", "f677a95c094a"])
    .fix("stop reporting before you answer, and send both in order"),
    Check::new(
        "progress.only-asked",
        Level::Must,
        "no progress comes without a token",
        |cx| Box::pin(only_asked(cx)),
    )
    .needs(&[Need::Fixture(TOOL)])
    .requires(&["e3b94f2d42b8", "f677a95c094a"])
    .fix("report progress only for requests with `_meta.progressToken`"),
];

/// Calls the tool with that token, and returns the connection after the answer.
async fn call<'c>(
    cx: &'c mut CheckContext<'_>,
    token: Option<Value>,
) -> Result<&'c mut Probe, Stop> {
    let mut params = json!({"name": TOOL, "arguments": {}});
    if let Some(token) = token {
        params["_meta"] = json!({"progressToken": token});
    }
    let probe = cx.probe().await?;
    probe.take_messages();
    probe.request("tools/call", params).await?;
    Ok(probe)
}

/// Returns the parameters of progress notifications.
fn progress(messages: &[Value]) -> impl Iterator<Item = &Value> {
    let of_progress = messages.iter().filter(|it| it["method"] == NOTIFICATION);
    of_progress.map(|it| &it["params"])
}

fn none() -> Stop {
    Stop::Skip(format!("`{TOOL}` reports no progress"))
}

async fn token_echoed(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for token in [json!("check-token"), json!(4_711)] {
        let messages = call(cx, Some(token.clone())).await?.take_messages();
        if progress(&messages).next().is_none() {
            return Err(none());
        }
        if let Some(wrong) = progress(&messages).find(|it| it["progressToken"] != token) {
            let found = wrong["progressToken"].clone();
            cx.fault(format!(
                "the request has the token {token}, its progress {found}"
            ));
        }
    }
    Ok(())
}

async fn increasing(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let messages = call(cx, Some(json!("check-token"))).await?.take_messages();
    let values: Vec<_> = progress(&messages)
        .filter_map(|it| it["progress"].as_f64())
        .collect();
    if values.is_empty() {
        return Err(none());
    }
    if let Some(pair) = values.windows(2).find(|pair| pair[1] <= pair[0]) {
        cx.fault(format!("progress goes from {} to {}", pair[0], pair[1]));
    }
    Ok(())
}

async fn none_after_answer(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let harmless = cx.harmless_request();
    let probe = call(cx, Some(json!("check-token"))).await?;
    let before = probe.take_messages();
    if progress(&before).next().is_none() {
        return Err(none());
    }
    probe.wait(LATER).await?;
    probe.request(harmless, json!({})).await?;
    let after = probe.take_messages();
    if progress(&after).next().is_some() {
        cx.fault("progress of a call comes after its answer");
    }
    Ok(())
}

async fn only_asked(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let messages = call(cx, None).await?.take_messages();
    if let Some(found) = progress(&messages).next() {
        cx.fault(format!("a call without a token gets progress: {found}"));
    }
    Ok(())
}
