//! Streams of events: what is on them, what ends them, and what a client that lost one gets.

use std::collections::HashSet;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use turnbuckle_wire::revision::Revision;

use super::super::cancel::slow_call;
use super::session::{Session, general_stream, harmless};
use crate::case::Bind;
use crate::check::{Check, Stop};
use crate::context::CheckContext;
use crate::probe::{Answer, Event, Events, ProbeError};
use crate::report::Level;

/// Time in which a message that a server has sent arrives.
pub(super) const ARRIVAL: Duration = Duration::from_millis(200);

/// Calls that are under way when their responses are closed.
const HELD: usize = 8;

/// Events that are read of one stream.
pub(super) const MAX_EVENTS: usize = 1000;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "http.stream-ends-with-response",
        Level::Should,
        "the response to a request is on its stream, and ends it",
        |cx| Box::pin(ends_with_response(cx)),
    )
    .only_over(&[Bind::Http])
    .requires(&[
        "c45fd7df28f9",
        "10b4503c07b2",
        "e8ac3f56b1ea",
        "720fc78ab010",
        "07ce0df2a811",
        "06248f6152a1",
        "f47d435cce9e",
        "4c0c824cbc15",
        "8366387c568a",
        "523358227e71",
    ])
    .fix("close the stream of a POST once the response is on it, not before"),
    Check::new(
        "http.no-buffering",
        Level::Should,
        "a stream tells proxies not to hold it back",
        |cx| Box::pin(no_buffering(cx)),
    )
    .only_over(&[Bind::Http])
    .modern()
    .requires(&["c3f267944f09"])
    .fix("send `X-Accel-Buffering: no` with each stream"),
    Check::new(
        "http.one-stream-per-message",
        Level::Must,
        "a message is on one stream only, and no response on the stream of GET",
        |cx| Box::pin(one_stream(cx)),
    )
    .only_over(&[Bind::Http])
    .legacy()
    .requires(&["9ad4484b3fa1", "29874d03990b"])
    .once()
    .fix("send what belongs to a request on the stream of its POST alone"),
    Check::new(
        "http.priming-event",
        Level::Should,
        "a stream begins with an event that has an id and no data",
        |cx| Box::pin(priming(cx)),
    )
    .only_over(&[Bind::Http])
    .revisions(&[Revision::V2025_11_25])
    .requires(&["e933c8c55fad"])
    .fix("begin each stream with an id and an empty `data`, so that a client can come back to it"),
    Check::new(
        "http.event-ids-unique",
        Level::Must,
        "no id of an event comes twice in a session",
        |cx| Box::pin(ids_unique(cx)),
    )
    .only_over(&[Bind::Http])
    .legacy()
    .requires(&["8069a11f51e7"])
    .once()
    .fix("number events over all streams of a session, or put the stream into the id"),
    Check::new(
        "http.resume",
        Level::Must,
        "a stream that is resumed has no messages of another one",
        |cx| Box::pin(resume(cx)),
    )
    .only_over(&[Bind::Http])
    .legacy()
    .requires(&["d093cb4c0642", "f21c7d61a193"])
    .once()
    .fix("replay only the events after Last-Event-ID that belong to the same stream"),
    Check::new(
        "http.disconnect-is-not-cancel",
        Level::Should,
        "a request goes on when its connection is lost",
        |cx| Box::pin(disconnect(cx)),
    )
    .only_over(&[Bind::Http])
    .legacy()
    .requires(&["2daf68ea6036"])
    .once()
    .fix("keep the request running, and its response for a client that comes back"),
    Check::new(
        "http.disconnect-cancels",
        Level::Should,
        "calls whose responses were closed take no place of others",
        |cx| Box::pin(disconnect_cancels(cx)),
    )
    .only_over(&[Bind::Http])
    .modern()
    .requires(&["ef60663a1045"])
    .fix("cancel a request when its response is closed, and end its work"),
];

/// Returns a request with more than its response on its stream, if the server has a tool for it.
fn request(cx: &CheckContext<'_>, id: &str) -> Value {
    let survey = cx.survey();
    let is_plain = |tool: &&Value| !tool["inputSchema"].to_string().contains("x-mcp-header");
    let talkative = ["test_tool_with_progress", "test_tool_with_logging"];
    let fixtures = talkative.iter().filter_map(|name| survey.tool(name));
    let mut tools = fixtures
        .filter(|tool| survey.is_callable(tool))
        .chain(survey.callable_tools().filter(is_plain));
    match tools.next() {
        Some(tool) => {
            let arguments = survey.arguments(tool);
            let params = json!({"name": tool["name"], "arguments": arguments,
                "_meta": {"progressToken": id}});
            cx.message(id, "tools/call", params)
        }
        None => harmless(cx, id),
    }
}

/// Sends a request; skips if the answer is no stream.
async fn stream(cx: &mut CheckContext<'_>, session: &Session, id: &str) -> Result<Answer, Stop> {
    let answer = session.post(cx, &request(cx, id))?.send().await?;
    match answer.is_stream() {
        true => Ok(answer),
        false => Err(Stop::Skip(format!(
            "a request is answered with `{}`, not with a stream",
            answer.media_type()
        ))),
    }
}

pub(super) fn message(event: &Event) -> Option<Value> {
    serde_json::from_str(event.message()?).ok()
}

fn is_response(message: &Value) -> bool {
    message.get("method").is_none() && message.get("id").is_some()
}

/// Reads a stream up to a response or its end; the last event is the response, if one came.
pub(super) async fn read(events: &mut Events) -> Result<(Vec<Event>, bool), Stop> {
    let mut found = Vec::new();
    while let Some(event) = events.next().await? {
        let is_last = message(&event).is_some_and(|message| is_response(&message));
        found.push(event);
        if is_last || found.len() >= MAX_EVENTS {
            return Ok((found, is_last));
        }
    }
    Ok((found, false))
}

async fn ends_with_response(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let mut events = stream(cx, &session, "check-1").await?.events();
    let (found, has_response) = read(&mut events).await?;
    if !has_response {
        // A stream with ids may be closed and polled.
        if found.iter().all(|event| event.id.is_none()) {
            cx.fault("the stream of a request ended without its response");
        }
        return Ok(());
    }
    match events.within(cx.timeout()).await? {
        Some(None) => {}
        Some(Some(event)) => {
            let text = event.data.unwrap_or_default();
            cx.fault(format!("after the response the stream goes on: {text}"));
        }
        None => cx.fault(format!(
            "{:?} after the response the stream is still open",
            cx.timeout()
        )),
    }
    Ok(())
}

async fn no_buffering(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let answer = stream(cx, &session, "check-1").await?;
    match answer.header("x-accel-buffering") {
        Some(value) if value.eq_ignore_ascii_case("no") => {}
        Some(value) => cx.fault(format!("a stream has `X-Accel-Buffering: {value}`")),
        None => cx.fault("a stream has no header X-Accel-Buffering"),
    }
    Ok(())
}

async fn one_stream(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let mut general = Vec::new();
    for _ in 0..2 {
        let answer = general_stream(cx, &session).await?;
        if answer.status != 200 || !answer.is_stream() {
            break;
        }
        general.push(answer.events());
    }
    if general.is_empty() {
        return Err(Stop::Skip("the server has no stream for GET".into()));
    }
    let answer = session.post(cx, &request(cx, "check-1"))?.send().await?;
    let own: Vec<Value> = match answer.is_stream() {
        true => {
            let (found, _) = read(&mut answer.events()).await?;
            found.iter().filter_map(message).collect()
        }
        false => vec![answer.json().await?],
    };
    let mut seen: Vec<Value> = Vec::new();
    for stream in &mut general {
        let mut here = Vec::new();
        while let Some(Some(event)) = stream.within(ARRIVAL).await? {
            let Some(message) = message(&event) else {
                continue;
            };
            let method = message["method"]
                .as_str()
                .unwrap_or("a response")
                .to_owned();
            // Two notifications of two changes are equal.
            if method.ends_with("list_changed") || method.ends_with("/updated") {
                continue;
            }
            if own.contains(&message) {
                cx.fault(format!(
                    "{method} came on the stream of its request and on that of GET"
                ));
            } else if is_response(&message) {
                cx.fault("a response came on the stream of GET");
            } else if seen.contains(&message) {
                cx.fault(format!("{method} came on two streams of GET"));
            }
            here.push(message);
            if here.len() >= MAX_EVENTS {
                break;
            }
        }
        seen.append(&mut here);
    }
    Ok(())
}

async fn priming(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let mut events = stream(cx, &session, "check-1").await?.events();
    let Some(first) = events.next().await? else {
        cx.fault("the stream of a request has no event");
        return Ok(());
    };
    if first.id.is_none() {
        cx.fault("the first event of a stream has no id");
    } else if first.message().is_some() {
        cx.fault("the first event of a stream has data already");
    }
    Ok(())
}

async fn ids_unique(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let mut seen = HashSet::new();
    for id in ["check-1", "check-2"] {
        let (found, _) = read(&mut stream(cx, &session, id).await?.events()).await?;
        for event_id in found.into_iter().filter_map(|event| event.id) {
            if !seen.insert(event_id.clone()) {
                cx.fault(format!(
                    "two events of the session have the id `{event_id}`"
                ));
            }
        }
    }
    expect_ids(!seen.is_empty())
}

fn expect_ids(has_ids: bool) -> Result<(), Stop> {
    match has_ids {
        true => Ok(()),
        false => Err(Stop::Skip("the events of the server have no ids".into())),
    }
}

/// Makes a call for a moment, and returns the reason if it is refused meanwhile.
async fn refusal(
    cx: &mut CheckContext<'_>,
    id: &str,
    call: &Value,
) -> Result<Option<String>, Stop> {
    let message = cx.message(id, "tools/call", call.clone());
    match cx.post(&message)?.timeout(ARRIVAL).json().await {
        Ok((status, answer)) if answer.get("error").is_some() => {
            Ok(Some(format!("{status}: {}", answer["error"])))
        }
        Ok((_, answer)) if answer["result"]["isError"] == true => {
            Ok(Some(answer["result"]["content"][0]["text"].to_string()))
        }
        Ok(_) | Err(ProbeError::TimedOut { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn disconnect_cancels(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut call = slow_call(cx.survey())?;
    // Progress begins the response.
    call["_meta"] = json!({"progressToken": "check-held"});
    if let Some(reason) = refusal(cx, "check-held-before", &call).await? {
        return Err(Stop::Skip(format!("the call is refused anyway: {reason}")));
    }
    let mut held = Vec::new();
    for at in 0..HELD {
        let message = cx.message(format!("check-held-{at}"), "tools/call", call.clone());
        match cx.post(&message)?.timeout(ARRIVAL).send().await {
            Ok(answer) => held.push(answer),
            // The request ends with the wait.
            Err(ProbeError::TimedOut { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    drop(held);
    tokio::time::sleep(ARRIVAL).await;
    if let Some(reason) = refusal(cx, "check-held-after", &call).await? {
        cx.fault(format!(
            "after {HELD} calls whose responses were closed, another is refused: {reason}"
        ));
    }
    Ok(())
}

/// Asks for the events of a stream after one of them.
async fn resumed_stream(
    cx: &mut CheckContext<'_>,
    session: &Session,
    last: &str,
) -> Result<Events, Stop> {
    let ask = session.ask(cx, Method::GET, "")?;
    let answer = ask.header("last-event-id", last).send().await?;
    match answer.status {
        200 if answer.is_stream() => Ok(answer.events()),
        status => Err(Stop::Skip(format!(
            "the server resumes no streams: GET with Last-Event-ID is answered with {status}"
        ))),
    }
}

async fn resume(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let (first, _) = read(&mut stream(cx, &session, "check-a").await?.events()).await?;
    read(&mut stream(cx, &session, "check-b").await?.events()).await?;
    let last = first.iter().find_map(|event| event.id.as_deref());
    expect_ids(last.is_some())?;
    let mut events = resumed_stream(cx, &session, last.unwrap_or_default()).await?;
    for _ in 0..MAX_EVENTS {
        let Some(Some(event)) = events.within(ARRIVAL).await? else {
            break;
        };
        let Some(message) = message(&event) else {
            continue;
        };
        let token = &message["params"]["progressToken"];
        if message["id"] == "check-b" || *token == "check-b" {
            cx.fault("a stream that was resumed has a message of another stream");
            break;
        }
    }
    Ok(())
}

async fn disconnect(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let mut events = stream(cx, &session, "check-1").await?.events();
    let first = events.next().await?.unwrap_or_default();
    let is_over = message(&first).is_some_and(|message| is_response(&message));
    expect_ids(first.id.is_some() && !is_over)?;
    drop(events);
    let ask = session.post(cx, &harmless(cx, "check-after"))?;
    if ask.send().await?.status == 404 {
        cx.fault("the session ends when the connection of one of its requests is lost");
        return Ok(());
    }
    let id = first.id.unwrap_or_default();
    match resumed_response(cx, &session, &id, cx.timeout()).await? {
        Some(response) => {
            if let Some(error) = response.get("error") {
                cx.fault(format!(
                    "a request whose connection was lost is answered with an error: {error}"
                ));
            }
        }
        None if replays(cx, &session).await? => cx.fault(
            "the response to a request whose connection was lost never came on the resumed stream",
        ),
        None => {
            let reason = "the server does not send the response of a stream that has ended again";
            return Err(Stop::Skip(reason.into()));
        }
    }
    Ok(())
}

/// Returns whether the response of a request that was not lost comes again.
async fn replays(cx: &mut CheckContext<'_>, session: &Session) -> Result<bool, Stop> {
    let (whole, _) = read(&mut stream(cx, session, "check-2").await?.events()).await?;
    let Some(id) = whole.into_iter().find_map(|event| event.id) else {
        return Ok(false);
    };
    let response = resumed_response(cx, session, &id, ARRIVAL).await?;
    Ok(response.is_some())
}

/// Returns the response that comes on the stream of the event with that id, if there is one in time.
async fn resumed_response(
    cx: &mut CheckContext<'_>,
    session: &Session,
    last: &str,
    limit: Duration,
) -> Result<Option<Value>, Stop> {
    let mut events = resumed_stream(cx, session, last).await?;
    let end = tokio::time::Instant::now() + limit;
    loop {
        let left = end.saturating_duration_since(tokio::time::Instant::now());
        match events.within(left).await? {
            Some(Some(event)) => {
                if let Some(response) = message(&event).filter(is_response) {
                    return Ok(Some(response));
                }
            }
            Some(None) | None => return Ok(None),
        }
    }
}
