//! Streamable HTTP: statuses, headers, sessions and streams.
//!
//! Specification: basic/transports, "Streamable HTTP".

use serde_json::json;

use crate::case::Bind;
use crate::check::{Check, Stop};
use crate::context::CheckContext;
use crate::report::Level;

pub(super) const CHECKS: &[Check] = &[Check::new(
    "http.origin-403",
    Level::Must,
    "a request with a foreign Origin is refused with 403",
    |cx| Box::pin(origin(cx)),
)
.only_over(&[Bind::Http])
.requires(&["924320a8df96", "836560555628"])
.fix("compare Origin with a list of allowed hosts before anything else")];

async fn origin(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let method = cx.harmless_request();
    let message = cx.message(1, method, json!({}));
    let ask = cx.post(&message)?.header("origin", "http://evil.example");
    let answer = ask.send().await?;
    if answer.status != 403 {
        cx.fault(format!(
            "a request with the Origin http://evil.example is answered with status {}",
            answer.status
        ));
    }
    Ok(())
}
