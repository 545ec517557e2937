//! Sessions of legacy revisions: their ids, and what ends them.

use http::{HeaderValue, Method};
use serde_json::Value;
use turnbuckle_wire::revision::Revision;

use super::session::{Session, harmless};
use crate::case::Bind;
use crate::check::{Check, Stop};
use crate::context::CheckContext;
use crate::report::Level;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "http.version-header-400",
        Level::Must,
        "a request that names an unknown revision in its header is refused with 400",
        |cx| Box::pin(version_header(cx)),
    )
    .only_over(&[Bind::Http])
    .revisions(&[Revision::V2025_06_18, Revision::V2025_11_25])
    .requires(&["a1c3ff776ffa"])
    .fix("answer a request whose MCP-Protocol-Version you do not speak with 400"),
    Check::new(
        "http.session-id-ascii",
        Level::Must,
        "the id of a session is visible ASCII",
        |cx| Box::pin(id_is_ascii(cx)),
    )
    .only_over(&[Bind::Http])
    .legacy()
    .requires(&["95f11846b8fc"])
    .fix("make ids of characters between 0x21 and 0x7E, such as a random UUID"),
    Check::new(
        "http.session-id-unique",
        Level::Should,
        "two sessions have two ids",
        |cx| Box::pin(id_is_unique(cx)),
    )
    .only_over(&[Bind::Http])
    .legacy()
    .requires(&["0d65f34aeb27"])
    .once()
    .fix("make each id of 128 random bits of a cryptographic generator"),
    Check::new(
        "http.session-missing-400",
        Level::Should,
        "a request without the id of a session, where one is needed, is refused with 400",
        |cx| Box::pin(missing(cx)),
    )
    .only_over(&[Bind::Http])
    .legacy()
    .requires(&["b2e1e415a7b4", "1f228e45a732"])
    .fix("answer requests other than `initialize` that have no Mcp-Session-Id with 400"),
    Check::new(
        "http.delete",
        Level::Note,
        "DELETE ends a session, or is answered with 405",
        |cx| Box::pin(delete(cx)),
    )
    .only_over(&[Bind::Http])
    .legacy()
    .requires(&["271e08773c56", "6e31bcd5db3a"])
    .once()
    .fix("end the session and answer 2xx, or answer 405 if clients may not end it"),
    Check::new(
        "http.session-ended-404",
        Level::Must,
        "a request in a session that has ended is refused with 404",
        |cx| Box::pin(after_end(cx)),
    )
    .only_over(&[Bind::Http])
    .legacy()
    .requires(&["40980dbad1e2"])
    .fix("answer an Mcp-Session-Id that you do not know, or no longer, with 404"),
];

fn expect_id(session: &Session) -> Result<HeaderValue, Stop> {
    let id = session.id.clone();
    id.ok_or_else(|| Stop::Skip("the server gives sessions no id".into()))
}

async fn version_header(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let ask = session.post(cx, &harmless(cx, "check-version"))?;
    let answer = ask
        .header("mcp-protocol-version", "1999-12-31")
        .send()
        .await?;
    if answer.status != 400 {
        cx.fault(format!(
            "a request with `MCP-Protocol-Version: 1999-12-31` is answered with {} instead of 400",
            answer.status
        ));
    }
    Ok(())
}

async fn id_is_ascii(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let id = expect_id(&Session::open(cx).await?)?;
    let is_visible = |byte: &u8| (0x21..=0x7e).contains(byte);
    if id.is_empty() || !id.as_bytes().iter().all(is_visible) {
        cx.fault(format!(
            "the id of the session is `{}`",
            id.as_bytes().escape_ascii()
        ));
    }
    Ok(())
}

async fn id_is_unique(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let first = expect_id(&Session::open(cx).await?)?;
    let second = expect_id(&Session::open(cx).await?)?;
    if first == second {
        cx.fault("two sessions got the same id");
    }
    Ok(())
}

async fn missing(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    expect_id(&session)?;
    let ask = session.post(cx, &harmless(cx, "check-missing"))?;
    let answer = ask.without("mcp-session-id").send().await?;
    let status = answer.status;
    // A server that answers needs no session, and may do so.
    if status == 400 || (status == 200 && answer.json().await?.get("result").is_some()) {
        return Ok(());
    }
    cx.fault(format!(
        "a request without Mcp-Session-Id is answered with {status} instead of 400"
    ));
    Ok(())
}

/// Ends a session and returns the status of the answer.
async fn end(cx: &mut CheckContext<'_>, session: &Session) -> Result<u16, Stop> {
    expect_id(session)?;
    let ask = session.ask(cx, Method::DELETE, "")?;
    Ok(ask.without("accept").send().await?.status)
}

async fn delete(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    match end(cx, &session).await? {
        200..=299 | 405 => {}
        status => cx.fault(format!(
            "DELETE of a session is answered with {status} instead of 2xx or 405"
        )),
    }
    Ok(())
}

async fn after_end(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let status = end(cx, &session).await?;
    if !(200..=299).contains(&status) {
        return Err(Stop::Skip(format!(
            "the server does not let clients end sessions: DELETE is answered with {status}"
        )));
    }
    let ask = session.post(cx, &harmless(cx, "check-ended"))?;
    let answer = ask.send().await?;
    let status = answer.status;
    if status != 404 {
        let message: Value = answer.json().await.unwrap_or_default();
        let what = match message.get("result") {
            Some(_) => " and a result",
            None => "",
        };
        cx.fault(format!(
            "a request in a session that DELETE has ended is answered with {status}{what} instead of 404"
        ));
    }
    Ok(())
}
