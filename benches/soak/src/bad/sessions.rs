//! Legacy sessions that are opened, and treated badly.

use serde_json::{Value, json};

use crate::address::ServerAddress;
use crate::problem::Problem;
use crate::random::Random;
use crate::random::sleep_randomly;
use crate::raw::{Raw, call, of_session, request};

/// Says hello, and never that it has heard the answer.
pub(super) async fn greets_only(place: ServerAddress, _: Random) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    raw.greet().await.map(drop)
}

/// Opens sessions, uses them a little, and leaves them open.
pub(super) async fn never_closes(place: ServerAddress, mut random: Random) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    for _ in 0..1 + random.below(10) {
        let session = raw.open().await?;
        let arguments = json!({"message": "m", "number": 1});
        let echo = request(1, "tools/call", &call("echo", &arguments));
        raw.legacy(&session, &echo).await;
        let (head, _) = raw.answer().await?;
        if head.status != 200 {
            return Err(format!("a sound call is answered by {}", head.status));
        }
    }
    Ok(())
}

/// Ends its session while calls run.
pub(super) async fn deletes_in_mid_call(
    place: ServerAddress,
    mut random: Random,
) -> Result<(), Problem> {
    let mut other = Raw::connect(place.address).await?;
    let session = other.open().await?;
    let mut calls = Vec::new();
    for id in 0..1 + random.below(4) as u64 {
        let mut raw = Raw::connect(place.address).await?;
        let slow = call("slow", &json!({"ms": 30_000}));
        raw.legacy(&session, &request(id, "tools/call", &slow))
            .await;
        calls.push(raw);
    }
    sleep_randomly(&mut random, 300).await;
    other.ask("DELETE", "/mcp", &of_session(&session)).await;
    let (head, _) = other.answer().await?;
    if !matches!(head.status, 200 | 202 | 204) {
        return Err(format!("a DELETE is answered by {}", head.status));
    }
    for mut call in calls {
        // Each is answered, or its stream ends: none is left waiting.
        call.answer().await?;
    }
    let gone = request(9, "ping", &json!({}));
    other.legacy(&session, &gone).await;
    match other.answer().await?.0.status {
        404 => Ok(()),
        status => Err(format!("a session that has ended is answered by {status}")),
    }
}

/// Cancels all that it has asked, what it has not, and what is answered already.
pub(super) async fn cancels_everything(
    place: ServerAddress,
    mut random: Random,
) -> Result<(), Problem> {
    let mut other = Raw::connect(place.address).await?;
    let session = other.open().await?;
    let mut calls = Vec::new();
    for id in 0..8_u64 {
        let mut raw = Raw::connect(place.address).await?;
        let slow = call("slow", &json!({"ms": random.choose(&[0, 10, 30_000])}));
        raw.legacy(&session, &request(id, "tools/call", &slow))
            .await;
        calls.push(raw);
    }
    sleep_randomly(&mut random, 100).await;
    for id in 0..16_u64 {
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id, "reason": "changed my mind"}});
        other.legacy(&session, &cancelled).await;
        let (head, _) = other.answer().await?;
        if head.status != 202 {
            return Err(format!("a notification is answered by {}", head.status));
        }
    }
    drop(calls);
    other.ask("DELETE", "/mcp", &of_session(&session)).await;
    other.answer().await.map(drop)
}

/// Answers, and tells of, what nobody asked.
pub(super) async fn answers_what_was_not_asked(
    place: ServerAddress,
    mut random: Random,
) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    let session = raw.open().await?;
    for _ in 0..20 {
        let id = random.choose(&[
            json!(0),
            json!(1),
            json!("x"),
            json!(-7),
            json!(1.5),
            Value::Null,
        ]);
        let message = random.choose(&[
            json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {}}}),
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": "no"}}),
            json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": id, "progress": 1}}),
            json!({"jsonrpc": "2.0", "method": "notifications/nobody/knows"}),
        ]);
        raw.legacy(&session, &message).await;
        let (head, _) = raw.answer().await?;
        if !matches!(head.status, 202 | 400) {
            return Err(format!("an answer is answered by {}", head.status));
        }
    }
    Ok(())
}

/// Goes as far as it may, and one further.
pub(super) async fn at_the_limits(place: ServerAddress, mut random: Random) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    let session = raw.open().await?;
    let deep = random.choose(&[60, 126, 127, 128, 129, 5000]);
    let nested = format!("{}{}", "[".repeat(deep), "]".repeat(deep));
    let bodies = [
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{nested}}}}}"#
        ),
        request(2, "tools/call", &call(&"n".repeat(5000), &json!({}))).to_string(),
        request(3, "tools/list", &json!({"cursor": "c".repeat(10_000)})).to_string(),
        request(
            4,
            "resources/subscribe",
            &json!({"uri": format!("soak://note/{}", "u".repeat(9000))}),
        )
        .to_string(),
        Value::from(vec![request(5, "ping", &json!({})); 101]).to_string(),
        "{".repeat(100_000),
    ];
    for body in bodies {
        raw.post("/mcp", &of_session(&session), &body).await;
        let (head, _) = raw.answer().await?;
        if head.status >= 500 {
            return Err(format!(
                "a limit is answered by {}: {:.80}",
                head.status, body
            ));
        }
    }
    Ok(())
}
