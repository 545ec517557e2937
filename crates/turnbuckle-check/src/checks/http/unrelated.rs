//! Messages on the streams of others: what belongs to a request, and what belongs to none.

use serde_json::{Value, json};
use turnbuckle_wire::revision::Revision;

use super::session::{Session, general_stream, harmless};
use super::streams::{ARRIVAL, MAX_EVENTS, message, read};
use crate::case::Bind;
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;

/// The tool of the official suite that changes the list of tools.
const TRIGGER: &str = "test_trigger_tool_change";

/// The tool of the official suite that reports progress.
const PROGRESS: &str = "test_tool_with_progress";

/// The notification that the list of tools has changed, which belongs to no request.
const CHANGED: &str = "notifications/tools/list_changed";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "http.only-own-messages",
        Level::Must,
        "the stream of a request has nothing that belongs to no request",
        |cx| Box::pin(only_own(cx)),
    )
    .only_over(&[Bind::Http])
    .modern()
    .needs(&[Need::Fixture(TRIGGER)])
    .requires(&["2f0a7ce9e323"])
    .fix("send changes of lists and of resources on streams of subscriptions/listen alone"),
    Check::new(
        "http.unrelated-on-get",
        Level::Should,
        "the stream of GET has what belongs to no request, and that of a request has the rest",
        |cx| Box::pin(on_get(cx)),
    )
    .only_over(&[Bind::Http])
    .legacy()
    .once()
    .needs(&[Need::Fixture(TRIGGER), Need::Fixture(PROGRESS)])
    .requires(&["d1d0e3451175", "db8e23eabe9a"])
    .fix("send changes of lists on the stream of GET, and progress on the stream of its request"),
    Check::new(
        "http.retry-before-close",
        Level::Should,
        "a stream that ends before its response says when to come back",
        |cx| Box::pin(retry(cx)),
    )
    .only_over(&[Bind::Http])
    .revisions(&[Revision::V2025_11_25])
    .needs(&[Need::Fixture("test_reconnection")])
    .requires(&["6ef6db4cd07b"])
    .fix("send an event with `retry` before you close a stream early"),
    Check::new(
        "http.version-header-absent",
        Level::Should,
        "a request without MCP-Protocol-Version is served: in no session, as one of the first revision over HTTP",
        |cx| Box::pin(version_absent(cx)),
    )
    .only_over(&[Bind::Http])
    .revisions(&[
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
    ])
    .requires(&["4ae1ef75b383"])
    .fix("take the revision of the session where the header is missing, and the first one over HTTP where no session says it"),
];

/// Returns the notifications in the response to a call of a tool without arguments.
async fn notifications(
    cx: &mut CheckContext<'_>,
    session: &Session,
    tool: &str,
) -> Result<Vec<Value>, Stop> {
    let meta = json!({"progressToken": "check-own"});
    let params = json!({"name": tool, "arguments": {}, "_meta": meta});
    let call = cx.message("check-own", "tools/call", params);
    let answer = session.post(cx, &call)?.send().await?;
    if !answer.is_stream() {
        return Ok(Vec::new());
    }
    let (events, _) = read(&mut answer.events()).await?;
    let messages = events.iter().filter_map(message);
    Ok(messages.filter(|it| it.get("id").is_none()).collect())
}

async fn only_own(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let found = notifications(cx, &session, TRIGGER).await?;
    if found.iter().any(|it| it["method"] == CHANGED) {
        cx.fault(format!("{CHANGED} came on the stream of a call"));
    }
    Ok(())
}

async fn on_get(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let answer = general_stream(cx, &session).await?;
    if answer.status != 200 || !answer.is_stream() {
        return Err(Stop::Skip("the server has no stream for GET".into()));
    }
    let mut general = answer.events();
    let found = notifications(cx, &session, TRIGGER).await?;
    if found.iter().any(|it| it["method"] == CHANGED) {
        cx.fault(format!("{CHANGED} came on the stream of a call"));
    }
    notifications(cx, &session, PROGRESS).await?;
    for _ in 0..MAX_EVENTS {
        let Some(Some(event)) = general.within(ARRIVAL).await? else {
            break;
        };
        let is_own = |it: &Value| it["params"]["progressToken"] == "check-own";
        if message(&event).is_some_and(|message| is_own(&message)) {
            cx.fault("progress of a call came on the stream of GET");
            break;
        }
    }
    Ok(())
}

async fn retry(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let params = json!({"name": "test_reconnection", "arguments": {}});
    let call = cx.message("check-retry", "tools/call", params);
    let answer = session.post(cx, &call)?.send().await?;
    if !answer.is_stream() {
        return Err(Stop::Skip("a call is not answered with a stream".into()));
    }
    let (events, has_response) = read(&mut answer.events()).await?;
    if has_response || events.iter().all(|event| event.id.is_none()) {
        return Err(Stop::Skip(
            "the server closes no stream before its response".into(),
        ));
    }
    if events.iter().all(|event| event.retry.is_none()) {
        cx.fault("a stream ended before its response, and no event of it had `retry`");
    }
    Ok(())
}

async fn version_absent(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let ask = session.post(cx, &harmless(cx, "check-absent"))?;
    let ask = ask.without("mcp-protocol-version");
    let answer = ask.send().await?;
    if answer.status != 200 {
        let status = answer.status;
        cx.fault(format!(
            "a request without MCP-Protocol-Version is answered with {status}"
        ));
    }
    if session.id.is_none() && cx.revision() == Revision::V2025_03_26 {
        // No other revision has arrays.
        let array = json!([harmless(cx, "check-array")]);
        let ask = cx.post(&array)?.without("mcp-protocol-version");
        let (status, answer) = ask.json().await?;
        if answer[0].get("result").is_none() {
            cx.fault(format!(
                "an array without MCP-Protocol-Version, in no session, is refused with {status}"
            ));
        }
    }
    Ok(())
}
