//! Requests of HTTP: who may send them, and which status answers them.

use serde_json::{Value, json};

use super::session::{Session, general_stream, harmless, opening};
use crate::case::Bind;
use crate::check::{Check, Stop};
use crate::context::CheckContext;
use crate::report::Level;
use crate::requirement::Requirement;
use turnbuckle_wire::revision::Revision;

/// Bytes of a body that most servers refuse.
const LARGE_BODY_BYTES: usize = 8 << 20;

/// A header that no server has a use for.
const OWN_HEADER: &str = "x-check-brought";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "http.origin-403",
        Level::Must,
        "a request with a foreign Origin is refused with 403",
        |cx| Box::pin(origin(cx)),
    )
    .only_over(&[Bind::Http])
    .requires(&["924320a8df96", "836560555628", "81e3ba44c553"])
    .fix("compare Origin with a list of allowed hosts before anything else, and answer 403"),
    Check::new(
        "http.foreign-host",
        Level::Note,
        "a server on this machine refuses requests for a foreign host",
        |cx| Box::pin(foreign_host(cx)),
    )
    .only_over(&[Bind::Http])
    .requires(&["836560555628", "81e3ba44c553"])
    .once()
    .fix("compare Host with the names of this machine: a page can rebind its own name to 127.0.0.1"),
    Check::new(
        "http.accept-406",
        Level::Note,
        "a POST that accepts neither JSON nor a stream is refused",
        |cx| Box::pin(accept(cx)),
    )
    .only_over(&[Bind::Http])
    .requires(&["178c17027890", "ab175fb19019"])
    .once()
    .fix("answer 406 when Accept names neither `application/json` nor `text/event-stream`"),
    Check::new(
        "http.accept-stream",
        Level::Note,
        "a POST that accepts a stream alone is answered with one, or refused",
        |cx| Box::pin(accept_stream(cx)),
    )
    .only_over(&[Bind::Http])
    .once()
    .fix("answer with `text/event-stream`, or with 406, when Accept has no `application/json`"),
    Check::new(
        "http.own-headers",
        Level::Note,
        "a response has no header that its request brought",
        |cx| Box::pin(own_headers(cx)),
    )
    .only_over(&[Bind::Http])
    .once()
    .fix("build the response anew: headers of a request can carry secrets"),
    Check::new(
        "http.fractional-id",
        Level::Note,
        "a request whose id has a fraction is refused",
        |cx| Box::pin(fractional_id(cx)),
    )
    .only_over(&[Bind::Http])
    .once()
    .requires(&["bdbcccfb5804"])
    .fix("refuse a request whose id is neither a string nor an integer with -32600"),
    Check::new(
        "http.batch-refused",
        Level::Note,
        "an array of messages is refused",
        |cx| Box::pin(batch_refused(cx)),
    )
    .only_over(&[Bind::Http])
    .revisions(&[Revision::V2025_06_18, Revision::V2025_11_25])
    .requires(&["eec68e833063"])
    .fix("take one message in a body: this revision has no batches"),
    Check::new(
        "http.content-type",
        Level::Must,
        "a request is answered with one JSON object or with a stream",
        |cx| Box::pin(content_type(cx)),
    )
    .only_over(&[Bind::Http])
    .requires(&[
        "379126580a11",
        "92849b5648c2",
        "8a878408facb",
        "d22fc3bc78b1",
        "f8dcbfc1584c",
    ])
    .fix("set Content-Type to `application/json` for one object, to `text/event-stream` for a stream"),
    Check::new(
        "http.notification-202",
        Level::Must,
        "an accepted notification is answered with 202 and no body",
        |cx| Box::pin(notification(cx)),
    )
    .only_over(&[Bind::Http])
    .requires(&["2012895f5a37", "f184d5dd2b88", "e401c44e955e", "b3ef20986626"])
    .fix("answer a POST of a notification with 202 Accepted and an empty body"),
    Check::new(
        "http.get-405-or-stream",
        Level::Must,
        "GET opens a stream or is answered with 405",
        |cx| Box::pin(get(cx)),
    )
    .only_over(&[Bind::Http])
    .legacy()
    .requires(&["57a50efea51b", "f61210e137c2"])
    .once()
    .fix("answer GET with `text/event-stream`, or with 405 if you have no stream for it"),
    Check::new(
        "http.unknown-method-404",
        Level::Must,
        "a request with an unknown method is answered with 404 and -32601",
        |cx| Box::pin(unknown_method(cx)),
    )
    .only_over(&[Bind::Http])
    .modern()
    .requires(&["242e8080f4dd"])
    .fix("answer with status 404, and the error -32601 in the body"),
    Check::new(
        "http.body-limit-413",
        Level::Should,
        "a body of 8 MiB is refused with 413, or answered, and the server lives on",
        |cx| Box::pin(body_limit(cx)),
    )
    .only_over(&[Bind::Http])
    .hostile()
    .once()
    .fix("bound the bytes of a body, and answer 413 beyond"),
];

/// The requirement that names the status for a bad Origin, in the revisions that have it.
const FORBIDDEN_ORIGIN: &str = "924320a8df96";

/// Fails unless the endpoint is of this machine: which hosts and origins a public server trusts is its own
/// decision.
fn expect_local(cx: &CheckContext<'_>) -> Result<(), Stop> {
    match cx.is_local() {
        true => Ok(()),
        false => Err(Stop::Skip(
            "the server is on another machine: whom it trusts cannot be told".into(),
        )),
    }
}

async fn origin(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    expect_local(cx)?;
    let answer = cx
        .post(&opening(cx))?
        .header("origin", "https://check.invalid")
        .send()
        .await?;
    let sentence = Requirement::find(FORBIDDEN_ORIGIN);
    let names_status = sentence.is_some_and(|it| it.stands_in(cx.revision()));
    match answer.status {
        403 => {}
        400..=499 if !names_status => {}
        status => cx.fault(format!(
            "a request with `Origin: https://check.invalid` is answered with {status} instead of 403"
        )),
    }
    Ok(())
}

async fn foreign_host(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    expect_local(cx)?;
    // The second one is no host at all: a port is digits.
    for host in ["check.invalid", "localhost:+80"] {
        let answer = cx.post(&opening(cx))?.header("host", host).send().await?;
        if !(400..=499).contains(&answer.status) {
            cx.fault(format!(
                "a request with `Host: {host}` is answered with {}",
                answer.status
            ));
        }
    }
    Ok(())
}

async fn accept(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let ask = session.post(cx, &harmless(cx, "check-accept"))?;
    let answer = ask.header("accept", "text/plain").send().await?;
    if !(400..=499).contains(&answer.status) {
        cx.fault(format!(
            "a POST with `Accept: text/plain` is answered with {} and `{}`",
            answer.status,
            answer.media_type()
        ));
    }
    Ok(())
}

async fn accept_stream(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let ask = session.post(cx, &harmless(cx, "check-stream"))?;
    let answer = ask.header("accept", "text/event-stream").send().await?;
    if answer.status == 200 && !answer.is_stream() {
        cx.fault(format!(
            "a POST with `Accept: text/event-stream` is answered with `{}`",
            answer.media_type()
        ));
    }
    Ok(())
}

async fn own_headers(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let ask = session.post(cx, &harmless(cx, "check-headers"))?;
    let answer = ask.header(OWN_HEADER, "brought").send().await?;
    if answer.header(OWN_HEADER).is_some() {
        cx.fault(format!(
            "the header {OWN_HEADER} of a request comes back in its response"
        ));
    }
    Ok(())
}

async fn fractional_id(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let mut message = harmless(cx, "check-fraction");
    message["id"] = json!(1.5);
    let (_, answer) = session.post(cx, &message)?.json().await?;
    if answer.get("result").is_some() {
        cx.fault("a request with the id 1.5 is answered with a result");
    }
    Ok(())
}

async fn batch_refused(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let (status, answer) = session
        .post(cx, &json!([harmless(cx, "check-array")]))?
        .json()
        .await?;
    let has_result = answer.get("result").is_some() || answer[0].get("result").is_some();
    if has_result {
        cx.fault(format!(
            "an array with a request is answered with {status} and a result"
        ));
    }
    Ok(())
}

async fn content_type(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let answer = session
        .post(cx, &harmless(cx, "check-type"))?
        .send()
        .await?;
    match answer.media_type().as_str() {
        "text/event-stream" => {}
        "application/json" => {
            let text = answer.text().await?;
            let parsed = serde_json::from_str::<Value>(&text);
            if !parsed.is_ok_and(|value| value.is_object()) {
                cx.fault("the body of a response to one request is not one JSON object");
            }
        }
        "" => cx.fault(format!(
            "the response to a request, {}, has no Content-Type",
            answer.status
        )),
        media => cx.fault(format!("the response to a request is `{media}`")),
    }
    Ok(())
}

async fn notification(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    if let Some((status, body)) = &session.initialized {
        expect_accepted(cx, "notifications/initialized", *status, body);
        return Ok(());
    }
    // A server may refuse this one: nothing of it is under way.
    let method = "notifications/cancelled";
    let message = json!({"jsonrpc": "2.0", "method": method,
        "params": {"requestId": "check-never-sent"}});
    let answer = session.post(cx, &message)?.send().await?;
    let status = answer.status;
    if !(400..=499).contains(&status) {
        let body = answer.text().await?;
        expect_accepted(cx, method, status, &body);
    }
    Ok(())
}

fn expect_accepted(cx: &mut CheckContext<'_>, method: &str, status: u16, body: &str) {
    if status != 202 {
        cx.fault(format!(
            "the notification {method} is answered with {status} instead of 202"
        ));
    } else if !body.is_empty() {
        cx.fault(format!(
            "the 202 that answers the notification {method} has a body"
        ));
    }
}

async fn get(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let answer = general_stream(cx, &session).await?;
    match answer.status {
        405 => {}
        200 if answer.is_stream() => {}
        200 => cx.fault(format!(
            "GET is answered with `{}` instead of `text/event-stream`",
            answer.media_type()
        )),
        status => cx.fault(format!(
            "GET is answered with {status} instead of a stream or 405"
        )),
    }
    Ok(())
}

async fn unknown_method(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let message = cx.message("check-unknown", "check/no-such-method", json!({}));
    let (status, answer) = cx.post(&message)?.json().await?;
    let code = &answer["error"]["code"];
    if status != 404 || *code != -32601 {
        cx.fault(format!(
            "an unknown method is answered with {status} and {code} instead of 404 and -32601"
        ));
    }
    Ok(())
}

async fn body_limit(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let session = Session::open(cx).await?;
    let request = session.post(cx, &harmless(cx, "check-large"))?;
    // A connection that ends while the body is sent is a refusal too.
    if let Ok(answer) = request.pad_body(LARGE_BODY_BYTES).send().await
        && answer.status >= 500
    {
        cx.fault(format!(
            "a body of 8 MiB is answered with {} instead of 413",
            answer.status
        ));
    }
    let after = session.post(cx, &harmless(cx, "check-after"))?.send().await;
    if let Err(error) = after {
        cx.fault(format!(
            "after a body of 8 MiB the server answers no more: {error}"
        ));
    }
    Ok(())
}
