//! Tokens of others, and how a server treats them: of another user, of another server, expired ones.
//!
//! A checker cannot mint tokens, so the user names them. Each check asks for as little as shows the rule.
//!
//! Specification: basic/authorization, basic/authorization/security-considerations.

use http::Method;
use serde_json::{Value, json};
use turnbuckle_wire::revision::Revision;

use super::http::session::{Session, harmless, opening};
use super::tasks::{extension, legacy};
use crate::case::Bind;
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::probe::{Answer, Probe};
use crate::report::Level;
use crate::target::OtherToken;

pub(super) const HTTP: &[Bind] = &[Bind::Http];

/// A token that nobody issued.
const INVALID: &str = "check-invalid";

/// Calls that are tried for one that needs another scope.
const MAX_CALLS: usize = 10;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "auth.token-in-query",
        Level::Must,
        "a token in the URL is not accepted",
        |cx| Box::pin(in_query(cx)),
    )
    .only_over(HTTP)
    .requires(&["5545d04935b0"])
    .once()
    .fix("read tokens from the Authorization header alone"),
    Check::new(
        "auth.broken-signature",
        Level::Must,
        "a token whose signature is wrong is refused with 401",
        |cx| Box::pin(broken_signature(cx)),
    )
    .only_over(HTTP)
    .requires(&["4558ad02d0ea", "6250088fb1a9", "5c8fbef1db1c"])
    .once()
    .fix("verify the signature of every token before anything in it is believed"),
    Check::new(
        "auth.expired",
        Level::Must,
        "an expired token is refused with 401",
        |cx| Box::pin(refuse_token(cx, OtherToken::Expired)),
    )
    .only_over(HTTP)
    .requires(&["4558ad02d0ea"])
    .once()
    .fix("compare `exp` with the clock, or ask the authorization server"),
    Check::new(
        "auth.foreign-audience",
        Level::Must,
        "a token for another server is refused with 401",
        |cx| Box::pin(refuse_token(cx, OtherToken::Foreign)),
    )
    .only_over(HTTP)
    .requires(&["2b577b0c8903", "ffdbb4924039", "191fec6b8487", "772a89216815", "6cd185751b6f"])
    .once()
    .fix("accept tokens alone whose `aud` is the URL of this server"),
    Check::new(
        "auth.scope-403",
        Level::Should,
        "a request that needs another scope is refused with 403 and names it",
        |cx| Box::pin(scope(cx)),
    )
    .only_over(HTTP)
    .revisions(&[Revision::V2025_11_25, Revision::V2026_07_28])
    .requires(&["542ce86814c6", "a93772b38962", "89e59a5e873d"])
    .once()
    .fix("answer with 403 and `WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"…\"`"),
    Check::new(
        "http.session-of-other-principal",
        Level::Must,
        "the session of one user is not open to another",
        |cx| Box::pin(session(cx)),
    )
    .only_over(HTTP)
    .legacy()
    .requires(&["6250088fb1a9"])
    .once()
    .fix("bind each session to the user of its first request, and answer others as if there were none"),
    Check::new(
        "tasks.foreign-principal",
        Level::Must,
        "the tasks of one user are not open to another",
        |cx| Box::pin(task(cx)),
    )
    .only_over(HTTP)
    .revisions(&[Revision::V2025_11_25, Revision::V2026_07_28])
    .needs(&[Need::CallableTool])
    .requires(&["78f0824a713e", "a2ea1c0f5281", "5b4fc2fcec1a"])
    .fix("bind each task to the user who made it, and answer others as if there were none"),
    Check::new(
        "cache.private-with-identity",
        Level::Must,
        "what a list says to everybody is the same for another user",
        |cx| Box::pin(lists(cx)),
    )
    .only_over(HTTP)
    .modern()
    .requires(&["01edd1a79c89"])
    .once()
    .fix("declare `cacheScope: \"private\"` where the result depends on who asks"),
];

/// Sends the first request of a client with a token.
async fn open_with(cx: &mut CheckContext<'_>, token: &str) -> Result<Answer, Stop> {
    let ask = cx.post(&opening(cx))?;
    let ask = ask.header("authorization", format!("Bearer {token}"));
    Ok(ask.send().await?)
}

/// Skips where the server serves a token that nobody issued: it demands none.
async fn expect_login(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    match open_with(cx, INVALID).await?.status {
        200..=299 => Err(Stop::Skip("the server demands no token".into())),
        _ => Ok(()),
    }
}

/// Skips where the token of the other user is not served: it shows nothing then.
pub(super) async fn other_user<'r>(cx: &mut CheckContext<'r>) -> Result<&'r str, Stop> {
    let token = cx.other_token(OtherToken::User)?;
    expect_login(cx).await?;
    match open_with(cx, token).await?.status {
        200..=299 => Ok(token),
        status => Err(Stop::Skip(format!(
            "the token of the other user is refused with {status}"
        ))),
    }
}

async fn in_query(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let token = other_user(cx).await?;
    let path = cx.endpoint_uri()?.path().to_owned();
    let ask = cx.post(&opening(cx))?;
    let ask = ask.to(&format!("{path}?access_token={token}"));
    let answer = ask.header("authorization", format!("Bearer {INVALID}"));
    if (200..=299).contains(&answer.send().await?.status) {
        cx.fault("a request with a token in the URL, and a wrong one in its header, is served");
    }
    Ok(())
}

/// Returns a token of three parts whose last one is another.
fn with_other_signature(token: &str) -> Option<String> {
    let (signed, signature) = token.rsplit_once('.')?;
    let is_jwt = signed.matches('.').count() == 1 && signature.len() >= 8;
    // The middle is changed, since bits of the last character may stand for nothing.
    let swapped = signature.char_indices().map(|(at, c)| match c {
        'A' if at == 4 => 'B',
        _ if at == 4 => 'A',
        c => c,
    });
    is_jwt.then(|| format!("{signed}.{}", swapped.collect::<String>()))
}

async fn broken_signature(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let token = other_user(cx).await?;
    let broken = with_other_signature(token)
        .ok_or_else(|| Stop::Skip("the token of the other user is no signed one".into()))?;
    expect_401(cx, &broken, "a token with a wrong signature").await
}

async fn refuse_token(cx: &mut CheckContext<'_>, kind: OtherToken) -> Result<(), Stop> {
    let token = cx.other_token(kind)?;
    expect_login(cx).await?;
    let what = match kind {
        OtherToken::Expired => "an expired token",
        _ => "a token for another server",
    };
    expect_401(cx, token, what).await
}

async fn expect_401(cx: &mut CheckContext<'_>, token: &str, what: &str) -> Result<(), Stop> {
    match open_with(cx, token).await?.status {
        401 => {}
        200..=299 => cx.fault(format!("{what} is accepted")),
        status => cx.fault(format!("{what} is refused with {status} instead of 401")),
    }
    Ok(())
}

async fn scope(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let token = cx.other_token(OtherToken::Narrow)?;
    expect_login(cx).await?;
    let answer = open_with(cx, token).await?;
    match answer.status {
        200..=299 => {}
        _ => return expect_challenge(cx, &answer),
    }
    let header = format!("Bearer {token}");
    let session = Session::open_as(cx, Some(&header)).await?;
    let survey = cx.survey();
    let names = survey.callable_tools().take(MAX_CALLS);
    let calls =
        names.map(|tool| json!({"name": tool["name"], "arguments": survey.arguments(tool)}));
    for (number, params) in calls.enumerate() {
        let message = cx.message(format!("check-scope-{number}"), "tools/call", params);
        let ask = session.post(cx, &message)?.header("authorization", &header);
        let answer = ask.send().await?;
        if matches!(answer.status, 401 | 403) {
            return expect_challenge(cx, &answer);
        }
    }
    Err(Stop::Skip(
        "nothing that may be asked needs more than the token allows".into(),
    ))
}

fn expect_challenge(cx: &mut CheckContext<'_>, answer: &Answer) -> Result<(), Stop> {
    if answer.status != 403 {
        let status = answer.status;
        cx.fault(format!(
            "a token with too few scopes is refused with {status} instead of 403"
        ));
        return Ok(());
    }
    let challenge = answer.header("www-authenticate").unwrap_or_default();
    for part in ["error=\"insufficient_scope\"", "scope=\""] {
        if !challenge.contains(part) {
            cx.fault(format!(
                "the challenge of the 403 has no `{part}`: {challenge:?}"
            ));
        }
    }
    Ok(())
}

async fn session(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let token = other_user(cx).await?;
    let session = Session::open(cx).await?;
    if session.id.is_none() {
        return Err(Stop::Skip("the server gives sessions no id".into()));
    }
    let header = format!("Bearer {token}");
    let ask = session.post(cx, &harmless(cx, "check-other"))?;
    let posted = ask.header("authorization", &header).send().await?.status;
    if (200..=299).contains(&posted) {
        cx.fault("a request of another user in the session is answered");
    }
    let ask = session.ask(cx, Method::DELETE, "")?.without("accept");
    let ended = ask.header("authorization", &header).send().await?.status;
    if (200..=299).contains(&ended) {
        cx.fault("another user can end the session");
    }
    Ok(())
}

async fn task(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    other_user(cx).await?;
    let (mut own, task, options) = match cx.is_modern() {
        true => {
            let mut own = extension::declaring(cx).await?;
            let task = extension::start(cx, &mut own).await?;
            (own, task, extension::declaring_options(cx))
        }
        false => {
            let mut own = cx.fresh(cx.options()).await?;
            let task = legacy::start(cx, &mut own, 0).await?;
            (own, task, cx.options())
        }
    };
    let params = json!({"taskId": task["taskId"]});
    let found = own.request("tasks/get", params.clone()).await?;
    if found.get("result").is_none() {
        return Err(Stop::Skip("the task is not found by its own user".into()));
    }
    let mut other = cx.fresh_as(OtherToken::User, options)?.await?;
    for method in ["tasks/get", "tasks/cancel"] {
        let answer = other.request(method, params.clone()).await?;
        if answer.get("result").is_some() {
            cx.fault(format!(
                "{method} of a task of another user is answered with a result"
            ));
        }
    }
    Ok(())
}

async fn lists(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    other_user(cx).await?;
    let methods = [
        ("tools", "tools/list"),
        ("prompts", "prompts/list"),
        ("resources", "resources/list"),
    ];
    let mut own = cx.fresh(cx.options()).await?;
    let mut other = cx.fresh_as(OtherToken::User, cx.options())?.await?;
    let mut is_any = false;
    for (name, method) in methods {
        let first = page(&mut own, method).await?;
        if first["cacheScope"] != "public" {
            continue;
        }
        is_any = true;
        let second = page(&mut other, method).await?;
        // A list that changes by itself shows nothing.
        let is_stable = page(&mut own, method).await?[name] == first[name];
        if is_stable && first[name] != second[name] {
            let sentence = "the list is `public`, and another user is shown another one";
            cx.fault_at(method, sentence);
        }
    }
    match is_any {
        true => Ok(()),
        false => Err(Stop::Skip("no list is `public`".into())),
    }
}

/// Returns the first page of a list; null if there is none.
async fn page(probe: &mut Probe, method: &str) -> Result<Value, Stop> {
    Ok(probe.request(method, json!({})).await?["result"].take())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_changed_where_every_bit_counts() {
        let changed = with_other_signature("head.body.signature").unwrap();
        assert_eq!(changed, "head.body.signAture");
        assert_eq!(
            with_other_signature("h.b.abcdAefgh").unwrap(),
            "h.b.abcdBefgh"
        );
        assert_eq!(with_other_signature("opaque"), None);
        assert_eq!(with_other_signature("a.b.short"), None);
    }
}
