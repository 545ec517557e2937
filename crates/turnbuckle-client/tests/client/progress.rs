//! Progress notifications of a request.

use std::time::Duration;

use crate::scripted_server::{builder, legacy};
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn progress_ends_when_its_request_is_dropped() {
    let (client, _scripted) = legacy(builder(), "2025-11-25", |_, message| {
        (message["method"] == "tools/call").then(|| Ok(json!({"content": []})))
    })
    .await;
    let (call, mut progress) = client.call_tool("t", &()).with_progress();
    let other = call.clone();
    for _ in 0..2 {
        let sent = async { tokio::join!(call.send(), other.send()) };
        let over = async { while progress.next().await.is_some() {} };
        let both = async { tokio::join!(sent, over) };
        let (sent, ()) = tokio::time::timeout(Duration::from_secs(9), both)
            .await
            .unwrap();
        assert!(sent.0.is_ok() && sent.1.is_ok());
    }
    // A request that was not sent yet has not ended.
    let (_call, mut progress) = client.call_tool("t", &()).with_progress();
    let none = tokio::time::timeout(Duration::from_secs(9), progress.next()).await;
    assert!(none.is_err());
}
