//! Subscriptions of legacy sessions.

use std::time::Duration;

use serde_json::json;

use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;

/// The resource of the official conformance suite that can be subscribed to.
const WATCHED: &str = "test://watched-resource";

/// A tool that announces a change of the resource whose URI it is given.
const TRIGGER: &str = "test_trigger_resource_update";

/// The notification about a change.
const UPDATED: &str = "notifications/resources/updated";

/// Time in which a notification that must not come would come.
const QUIET: Duration = Duration::from_millis(100);

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "resources.subscribe",
        Level::Note,
        "a listed resource can be subscribed to and unsubscribed from",
        |cx| Box::pin(subscribe(cx)),
    )
    .legacy()
    .needs(&[Need::Capability("resources.subscribe"), Need::Resource])
    .fix("answer `resources/subscribe` and `resources/unsubscribe` with an empty result, or do not declare `subscribe`"),
    Check::new(
        "resources.subscribe-updates",
        Level::Note,
        "a change of a resource reaches who subscribed to it",
        |cx| Box::pin(updates(cx)),
    )
    .legacy()
    .needs(&[Need::Capability("resources.subscribe"), Need::FixtureResource(WATCHED), Need::Fixture(TRIGGER)])
    .fix("send `notifications/resources/updated` with the URI to each session that subscribed to it"),
    Check::new(
        "resources.unsubscribe-stops",
        Level::Note,
        "after `resources/unsubscribe` no change is announced",
        |cx| Box::pin(unsubscribe_stops(cx)),
    )
    .legacy()
    .needs(&[Need::Capability("resources.subscribe"), Need::FixtureResource(WATCHED), Need::Fixture(TRIGGER)])
    .fix("forget the subscription at `resources/unsubscribe`"),
];

async fn subscribe(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let uris = cx
        .survey()
        .resources
        .iter()
        .filter_map(|it| it["uri"].as_str());
    let uri = uris
        .clone()
        .find(|uri| *uri == WATCHED)
        .or(uris.clone().next());
    let uri = uri.unwrap_or_default();
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        let answer = cx.request(method, json!({"uri": uri})).await?;
        if let Some(error) = answer.get("error") {
            cx.fault_at(
                uri,
                format!("{method} is refused, though `subscribe` is declared: {error}"),
            );
        }
    }
    Ok(())
}

/// Skips a check if the server has no tool that announces changes.
fn need_trigger(cx: &CheckContext<'_>) -> Result<(), Stop> {
    let survey = cx.survey();
    match survey
        .tool(TRIGGER)
        .is_some_and(|tool| survey.is_callable(tool))
    {
        true => Ok(()),
        false => Err(Stop::Skip(format!(
            "the server has no tool `{TRIGGER}` that announces a change"
        ))),
    }
}

/// Announces a change of the watched resource.
async fn trigger(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let params = json!({"name": TRIGGER, "arguments": {"uri": WATCHED}});
    cx.result("tools/call", params).await.map(drop)
}

async fn updates(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    need_trigger(cx)?;
    cx.result("resources/subscribe", json!({"uri": WATCHED}))
        .await?;
    let _ = cx.probe().await?.take_messages();
    trigger(cx).await?;
    let update = cx.probe().await?.next_of(UPDATED).await?;
    let uri = &update["params"]["uri"];
    if uri != WATCHED {
        cx.fault_at(
            WATCHED,
            format!("the change of {WATCHED} is announced as one of {uri}"),
        );
    }
    cx.result("resources/unsubscribe", json!({"uri": WATCHED}))
        .await?;
    Ok(())
}

async fn unsubscribe_stops(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    need_trigger(cx)?;
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        cx.result(method, json!({"uri": WATCHED})).await?;
    }
    let _ = cx.probe().await?.take_messages();
    trigger(cx).await?;
    let probe = cx.probe().await?;
    probe.wait(QUIET).await?;
    let messages = probe.take_messages();
    if messages
        .iter()
        .any(|it| it["method"] == UPDATED && it["params"]["uri"] == WATCHED)
    {
        cx.fault_at(
            WATCHED,
            "a change is announced after the subscription ended",
        );
    }
    Ok(())
}
