//! Strain that every server has to stand: bounded, and on other machines only when the user asks.

use serde_json::json;

use crate::check::{Check, Stop};
use crate::context::CheckContext;
use crate::report::Level;

pub(super) const CHECKS: &[Check] = &[Check::new(
    "robust.requests-at-once",
    Level::Should,
    "32 requests at once are all answered",
    |cx| Box::pin(requests_at_once(cx)),
)
.hostile()
.requires(&["9774fb4db6ac"])
.fix("answer each request by its id, whatever else is under way")];

async fn requests_at_once(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let method = cx.harmless_request();
    let probe = cx.probe().await?;
    let mut ids = Vec::new();
    for _ in 0..32 {
        ids.push(probe.start(method, json!({})).await?);
    }
    for id in ids {
        probe.response(id).await?;
    }
    Ok(())
}
