//! Servers that demand a token: their challenge, and what it leads to.
//!
//! Only a request with a token that nobody issued is sent: a server that serves it demands none. Whether
//! a server tells tokens of other audiences, or expired ones, apart cannot be seen without such tokens.
//!
//! Specification: basic/authorization; RFC 9728.

use http::{Method, Uri};
use serde_json::{Value, json};
use turnbuckle_wire::revision::Revision;

use crate::case::Bind;
use crate::check::{Check, Stop};
use crate::context::CheckContext;
use crate::probe::Answer;
use crate::report::Level;

/// The revisions in which a server names its authorization servers.
const WITH_METADATA: &[Revision] = &[
    Revision::V2025_06_18,
    Revision::V2025_11_25,
    Revision::V2026_07_28,
];

/// The path below which the metadata of a resource stand.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "auth.401-challenge",
        Level::Must,
        "an invalid token is refused with 401 and a challenge",
        |cx| Box::pin(challenge(cx)),
    )
    .only_over(&[Bind::Http])
    .requires(&["4558ad02d0ea", "8f44fa585c91", "b31c9281a31f", "cb2bd668084c", "3ae52de09483", "28f26ebdccb9", "f19141707e1e"])
    .fix("answer with 401 and `WWW-Authenticate: Bearer resource_metadata=\"…\"`"),
    Check::new(
        "auth.metadata-found",
        Level::Must,
        "the metadata of the resource are found, and name an authorization server",
        |cx| Box::pin(metadata_found(cx)),
    )
    .only_over(&[Bind::Http])
    .revisions(WITH_METADATA)
    .requires(&["15cf12af3afd", "60c9fa53da47", "07b3648000a8", "75cf14dd64d1", "3cb045f671b0"])
    .once()
    .fix("serve the metadata of RFC 9728 below /.well-known/oauth-protected-resource"),
    Check::new(
        "auth.resource-matches",
        Level::Must,
        "the metadata are those of the endpoint",
        |cx| Box::pin(resource_matches(cx)),
    )
    .only_over(&[Bind::Http])
    .revisions(WITH_METADATA)
    .requires(&["15cf12af3afd"])
    .once()
    .fix("set `resource` to the URL of the endpoint, as clients write it"),
    Check::new(
        "auth.https-issuer",
        Level::Must,
        "authorization servers are reached over HTTPS, or on this machine",
        |cx| Box::pin(https_issuer(cx)),
    )
    .only_over(&[Bind::Http])
    .revisions(WITH_METADATA)
    .requires(&["b4ed9af096d1", "416eda68887e", "b2719fd95e8f"])
    .once()
    .fix("name authorization servers by https URLs"),
    Check::new(
        "auth.pkce-s256",
        Level::Should,
        "an authorization server on the same host offers PKCE with S256",
        |cx| Box::pin(pkce(cx)),
    )
    .only_over(&[Bind::Http])
    .revisions(&[Revision::V2025_11_25, Revision::V2026_07_28])
    .requires(&["98361036fb4f", "cd58ea0d15ae"])
    .once()
    .fix("put `\"code_challenge_methods_supported\": [\"S256\"]` into the metadata: clients refuse without it"),
];

/// Sends a request with a token that nobody issued; skips if the server demands none.
async fn refusal(cx: &mut CheckContext<'_>) -> Result<Answer, Stop> {
    let message = super::http::opening(cx);
    let ask = cx
        .post(&message)?
        .header("authorization", "Bearer check-invalid");
    let answer = ask.send().await?;
    match answer.status {
        200..=299 => Err(Stop::Skip("the server demands no token".into())),
        _ => Ok(answer),
    }
}

async fn challenge(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let answer = refusal(cx).await?;
    if answer.status != 401 {
        cx.fault(format!(
            "an invalid token is refused with {} instead of 401",
            answer.status
        ));
        return Ok(());
    }
    let Some(challenge) = answer.header("www-authenticate") else {
        cx.fault("the 401 has no header WWW-Authenticate");
        return Ok(());
    };
    let scheme = challenge.split_whitespace().next().unwrap_or_default();
    if !["bearer", "dpop"].contains(&scheme.to_ascii_lowercase().as_str()) {
        cx.fault(format!(
            "the challenge is of the scheme `{scheme}` instead of Bearer"
        ));
    }
    // Later revisions also allow the well-known URI alone.
    if cx.revision() == Revision::V2025_06_18 && resource_metadata(challenge).is_none() {
        cx.fault("the challenge has no `resource_metadata`");
    }
    Ok(())
}

/// Returns the value of `resource_metadata` in a challenge.
fn resource_metadata(challenge: &str) -> Option<&str> {
    let (_, rest) = challenge.split_once("resource_metadata=")?;
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split([',', ' ']).next(),
    }
}

/// Returns the places of the metadata, in the order in which clients look.
fn metadata_paths(challenge: Option<&str>, endpoint: &Uri) -> Result<Vec<String>, Stop> {
    let named = challenge.and_then(resource_metadata);
    if let Some(uri) = named.and_then(|url| url.parse::<Uri>().ok()) {
        if uri.authority() != endpoint.authority() {
            return Err(Stop::Skip(format!(
                "the metadata are at another host: {uri}"
            )));
        }
        return Ok(vec![uri.path().to_owned()]);
    }
    let path = endpoint.path().trim_end_matches('/');
    Ok(vec![format!("{WELL_KNOWN}{path}"), WELL_KNOWN.to_owned()])
}

/// Returns the metadata of the resource, and where they were found; `None` if they are not.
async fn metadata(cx: &mut CheckContext<'_>) -> Result<Option<(String, Value)>, Stop> {
    let answer = refusal(cx).await?;
    if answer.status != 401 {
        return Err(Stop::Skip(format!(
            "the server answers with {} instead of 401",
            answer.status
        )));
    }
    let challenge = answer.header("www-authenticate").map(str::to_owned);
    for path in metadata_paths(challenge.as_deref(), cx.endpoint_uri()?)? {
        if let Some(found) = document(cx, &path).await? {
            return Ok(Some((path, found)));
        }
    }
    Ok(None)
}

/// Returns a JSON document of the server's host; `None` if there is none.
async fn document(cx: &mut CheckContext<'_>, path: &str) -> Result<Option<Value>, Stop> {
    let ask = cx.ask(Method::GET, "")?.to(path);
    let answer = ask.header("accept", "application/json").send().await?;
    if answer.status != 200 {
        return Ok(None);
    }
    Ok(answer.json().await.ok().filter(Value::is_object))
}

/// Returns the metadata; skips if there are none, which another check reports.
async fn found_metadata(cx: &mut CheckContext<'_>) -> Result<Value, Stop> {
    let found = metadata(cx).await?;
    let (_, found) = found.ok_or_else(|| Stop::Skip("the resource has no metadata".into()))?;
    Ok(found)
}

async fn metadata_found(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let Some((path, found)) = metadata(cx).await? else {
        cx.fault(format!(
            "neither the challenge nor {WELL_KNOWN} leads to the metadata of the resource"
        ));
        return Ok(());
    };
    let servers = found["authorization_servers"].as_array();
    if servers.is_none_or(Vec::is_empty) {
        cx.fault(format!(
            "the metadata at {path} name no authorization server"
        ));
    }
    Ok(())
}

async fn resource_matches(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let found = found_metadata(cx).await?;
    let endpoint = cx.endpoint_uri()?.clone();
    let Some(resource) = found["resource"].as_str() else {
        cx.fault("the metadata have no `resource`");
        return Ok(());
    };
    let covers = |uri: &Uri| {
        let path = uri.path().trim_end_matches('/');
        let rest = endpoint.path().strip_prefix(path);
        uri.authority() == endpoint.authority()
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if !resource.parse::<Uri>().is_ok_and(|uri| covers(&uri)) {
        cx.fault(format!(
            "the metadata of {endpoint} have the `resource` {resource}"
        ));
    }
    Ok(())
}

/// Returns the authorization servers in the metadata.
fn issuers(metadata: &Value) -> Vec<Uri> {
    let servers = metadata["authorization_servers"].as_array();
    let urls = servers.into_iter().flatten().filter_map(Value::as_str);
    urls.filter_map(|url| url.parse().ok()).take(10).collect()
}

async fn https_issuer(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for issuer in issuers(&found_metadata(cx).await?) {
        let is_local = issuer
            .host()
            .is_some_and(turnbuckle_types::base::host::is_loopback);
        if issuer.scheme_str() != Some("https") && !is_local {
            cx.fault(format!(
                "the authorization server {issuer} is not reached over HTTPS"
            ));
        }
    }
    Ok(())
}

async fn pkce(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let endpoint = cx.endpoint_uri()?.clone();
    let all = issuers(&found_metadata(cx).await?);
    let own: Vec<_> = all
        .iter()
        .filter(|issuer| issuer.authority() == endpoint.authority())
        .collect();
    if own.is_empty() {
        return Err(Stop::Skip(
            "the authorization servers are other hosts, which are not asked".into(),
        ));
    }
    for issuer in own {
        let path = issuer.path().trim_end_matches('/');
        let places = [
            format!("/.well-known/oauth-authorization-server{path}"),
            format!("/.well-known/openid-configuration{path}"),
            format!("{path}/.well-known/openid-configuration"),
        ];
        let mut found = None;
        for place in &places {
            found = document(cx, place).await?;
            if found.is_some() {
                break;
            }
        }
        let Some(found) = found else {
            cx.fault(format!("the authorization server {issuer} has no metadata"));
            continue;
        };
        let methods = found["code_challenge_methods_supported"].as_array();
        if !methods.is_some_and(|methods| methods.contains(&json!("S256"))) {
            cx.fault(format!(
                "the metadata of {issuer} do not name the method S256 of PKCE"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_the_metadata_is_read_from_a_challenge() {
        let quoted =
            r#"Bearer error="invalid_token", resource_metadata="https://a/b,c", scope="x""#;
        assert_eq!(resource_metadata(quoted), Some("https://a/b,c"));
        assert_eq!(
            resource_metadata("Bearer resource_metadata=https://a, scope=x"),
            Some("https://a")
        );
        assert_eq!(resource_metadata("Bearer"), None);
    }

    #[test]
    fn metadata_of_another_host_are_not_asked_for() {
        let endpoint: Uri = "http://127.0.0.1:1/mcp/".parse().unwrap();
        let paths = |challenge: Option<&str>| metadata_paths(challenge, &endpoint).ok();
        let well_known = [format!("{WELL_KNOWN}/mcp"), WELL_KNOWN.to_owned()];
        assert_eq!(paths(None).unwrap(), well_known);
        let named = |host: &str| format!("Bearer resource_metadata=\"http://{host}/m\"");
        assert_eq!(paths(Some(&named("127.0.0.1:1"))).unwrap(), ["/m"]);
        assert_eq!(paths(Some(&named("a.example"))), None);
    }
}
