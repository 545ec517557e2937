//! Clients that are asked something.

use serde_json::{Value, json};

use crate::address::ServerAddress;
use crate::problem::Problem;
use crate::random::Random;
use crate::random::sleep_randomly;
use crate::raw::{Raw, call, request};

/// Is asked in a session, and does not answer; or leaves when it is asked.
pub(super) async fn never_answers(place: ServerAddress, mut random: Random) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    let session = raw.open().await?;
    raw.legacy(
        &session,
        &request(1, "tools/call", &call("form", &json!({}))),
    )
    .await;
    let head = raw.head().await?;
    if head.status != 200 {
        return Err(format!("a call is answered by {}", head.status));
    }
    if random.below(2) == 0 {
        sleep_randomly(&mut random, 1000).await;
        return Ok(());
    }
    // The question is taken back in time, and the call is answered.
    loop {
        let chunk = raw.chunk().await?;
        if chunk.is_empty() || String::from_utf8_lossy(&chunk).contains(r#""id":1,"#) {
            return Ok(());
        }
    }
}

/// Is asked inside a result, and comes back with what it made up, or not at all.
pub(super) async fn never_comes_back(
    place: ServerAddress,
    mut random: Random,
) -> Result<(), Problem> {
    let mut raw = Raw::connect(place.address).await?;
    raw.modern("tools/call", call("form", &json!({}))).await;
    let (head, body) = raw.answer().await?;
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    let state = answer["result"]["requestState"].as_str();
    let Some(state) = state else {
        return Err(format!("no question, but {}: {answer}", head.status));
    };
    if random.below(3) == 0 {
        return Ok(());
    }
    let mut forged = state.to_owned().into_bytes();
    let at = random.below(forged.len());
    forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
    let mut params = call("form", &json!({}));
    params["requestState"] = String::from_utf8_lossy(&forged).into();
    params["inputResponses"] = json!({"0": {"action": "accept", "content": {"name": "x"}}});
    raw.modern("tools/call", params).await;
    let (_, body) = raw.answer().await?;
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    match answer.get("error") {
        Some(_) => Ok(()),
        None => Err(format!("a state that is forged is taken: {answer}")),
    }
}
