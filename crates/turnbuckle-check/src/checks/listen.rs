//! Subscriptions of the modern era: `subscriptions/listen`.
//!
//! Specification: basic/utilities/subscriptions (2026-07-28).

use serde_json::{Value, json};

use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::probe::Probe;
use crate::report::Level;

/// Key of `_meta` in which a notification names its subscription.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// The tool of the official suite that changes the list of tools.
const TRIGGER: &str = "test_trigger_tool_change";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "listen.acknowledged-first",
        Level::Must,
        "a subscription is acknowledged before anything else comes, and names its request",
        |cx| Box::pin(acknowledged_first(cx)),
    )
    .modern()
    .requires(&["7970c96256dd"])
    .fix("send `notifications/subscriptions/acknowledged` with the id of the request first"),
    Check::new(
        "listen.subscription-id",
        Level::Must,
        "each notification of a subscription names it",
        |cx| Box::pin(subscription_id(cx)),
    )
    .modern()
    .needs(&[
        Need::Capability("tools.listChanged"),
        Need::Fixture(TRIGGER),
    ])
    .requires(&["5c58469424c9"])
    .fix("add the id of the listen request to `_meta` of each of its notifications"),
    Check::new(
        "listen.only-asked-kinds",
        Level::Must,
        "a subscription gets only the notifications that it asked for",
        |cx| Box::pin(only_asked_kinds(cx)),
    )
    .modern()
    .needs(&[
        Need::Capability("tools.listChanged"),
        Need::Fixture(TRIGGER),
    ])
    .requires(&["31f5dc1ceade"])
    .fix("send a notification only to the subscriptions that asked for its kind"),
];

/// Opens a subscription, and returns its id and the acknowledgement.
async fn listen(cx: &mut CheckContext<'_>, filter: Value) -> Result<(Probe, i64, Value), Stop> {
    let survey = cx.survey();
    let mut probe = cx.fresh(cx.options()).await?;
    let params = json!({"notifications": filter});
    let id = probe.start("subscriptions/listen", params).await?;
    let first = probe.next_or_response(id).await?;
    let lists = ["tools", "prompts", "resources"];
    let declares = |list: &&str| survey.capability(&format!("{list}.listChanged")).is_some();
    let may_refuse =
        !lists.iter().any(declares) && survey.capability("resources.subscribe").is_none();
    if first.get("error").is_some() && may_refuse {
        return Err(Stop::Skip(
            "the server declares nothing to subscribe to".into(),
        ));
    }
    Ok((probe, id, first))
}

/// Triggers a change of the list of tools, over a connection that listens or another.
async fn trigger(cx: &mut CheckContext<'_>, probe: &mut Probe) -> Result<(), Stop> {
    let params = json!({"name": TRIGGER, "arguments": {}});
    let harmless = cx.harmless_request();
    probe.request("tools/call", params).await?;
    probe.request(harmless, json!({})).await?;
    Ok(())
}

async fn acknowledged_first(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let (_probe, id, first) = listen(cx, json!({"toolsListChanged": true})).await?;
    if let Some(error) = first.get("error") {
        cx.fault(format!("the subscription is refused: {error}"));
        return Ok(());
    }
    if first["method"] != ACKNOWLEDGED {
        let found = first["method"].clone();
        cx.fault(format!("the first message of a subscription is {found}"));
        return Ok(());
    }
    let named = &first["params"]["_meta"][SUBSCRIPTION];
    if *named != id {
        let named = named.clone();
        cx.fault(format!(
            "the acknowledgement names {named} instead of the request {id}"
        ));
    }
    Ok(())
}

async fn subscription_id(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let (mut probe, id, _) = listen(cx, json!({"toolsListChanged": true})).await?;
    trigger(cx, &mut probe).await?;
    let notification = probe.next_of("notifications/tools/list_changed").await?;
    let named = notification["params"]["_meta"][SUBSCRIPTION].clone();
    if named != id {
        cx.fault(format!(
            "a notification names {named} instead of the request {id}"
        ));
    }
    Ok(())
}

async fn only_asked_kinds(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let (mut probe, _, _) = listen(cx, json!({"promptsListChanged": true})).await?;
    trigger(cx, &mut probe).await?;
    let messages = probe.take_messages();
    let is_change = |it: &&Value| it["method"] == "notifications/tools/list_changed";
    if messages.iter().any(|it| is_change(&it)) {
        cx.fault("a subscription to changes of prompts gets a change of tools");
    }
    Ok(())
}
