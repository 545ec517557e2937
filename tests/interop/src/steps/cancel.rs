//! Taking a request back.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::problem::Problem;
use crate::scene::{Scene, text, until};

/// Time that a call without any message has to arrive at the server.
const ARRIVAL: Duration = Duration::from_millis(200);

#[derive(Deserialize)]
struct Cancel {
    tool: String,
    arguments: Value,
    /// The tool that tells what was cancelled: in `structuredContent.count`, unless `says` is in
    /// its text.
    counter: Option<String>,
    says: Option<String>,
    /// True if the call reports no progress when it begins.
    #[serde(default)]
    silent: bool,
}

/// Drops a call, and checks that the server sees the cancellation and that the connection still
/// works.
pub(super) async fn cancel(scene: &Scene) -> Result<(), Problem> {
    let entry: Cancel = scene.entry("cancel")?;
    let before = cancelled(scene, &entry).await?;
    let running = Arc::new(Notify::new());
    let started = running.clone();
    let call = scene.client.call_tool(&entry.tool, &entry.arguments);
    let call = call.on_progress(move |_| started.notify_one());
    let begun = async {
        match entry.silent {
            true => sleep(ARRIVAL).await,
            false => running.notified().await,
        }
    };
    tokio::select! {
        outcome = call.into_future() => {
            return Err(format!("it ended before it was cancelled: {outcome:?}").into());
        }
        () = begun => {}
    }
    if entry.counter.is_some() {
        let entry = &entry;
        until("the cancelled call in the server's count", || async move {
            Ok(cancelled(scene, entry).await? == before + 1)
        })
        .await?;
    }
    scene.names("tools").await.map(drop)
}

/// Returns the number of calls that the server saw cancelled; `None` if the server does not count
/// them.
async fn cancelled(scene: &Scene, entry: &Cancel) -> Result<u64, Problem> {
    let Some(counter) = &entry.counter else {
        return Ok(0);
    };
    let result = scene.succeed(counter, &json!({})).await?;
    if let Some(says) = &entry.says {
        return Ok(text(&result).contains(says).into());
    }
    // A revision without structured results has the same as text.
    let text = match &result.structured_content {
        Some(structured) => structured.as_str().to_owned(),
        None => text(&result),
    };
    let counted: Value = serde_json::from_str(&text)?;
    Ok(counted["count"]
        .as_u64()
        .ok_or("the counter does not count")?)
}
