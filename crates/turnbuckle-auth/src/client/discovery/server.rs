//! The metadata of the authorization server: its candidates, and the check of its `issuer`.

use turnbuckle_types::base::text::Escaped;
use url::Url;

use super::document::{Failure, FailureKind, fetch};
use crate::metadata::AuthorizationServerMetadata;
use crate::outbound::{Outbound, display_url_text};
use crate::transcript::{Recorder, StepKind};

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// The failures of all candidates of an issuer, by URL.
pub(super) type Failures = Vec<(String, Failure)>;

/// Asks the candidates of `issuer` in the order of the specification. The document's `issuer` must
/// be one of `accepted`, byte for byte.
pub(super) async fn find(
    outbound: &Outbound,
    issuer: &str,
    accepted: &[&str],
    recorder: &Recorder,
) -> Result<AuthorizationServerMetadata, Failures> {
    let step = StepKind::AuthorizationServerMetadata;
    let candidates = match candidates(outbound, issuer) {
        Ok(candidates) => candidates,
        Err(failure) => {
            let shown = display_url_text(issuer);
            let request = format!("use the issuer {shown}");
            recorder.fail(
                step,
                request,
                &failure.text,
                "do not use it",
                advice(failure.kind),
            );
            return Err(vec![(shown, failure)]);
        }
    };
    let mut failures = Vec::new();
    for url in candidates {
        let request = format!("GET {url}");
        match fetch_checked(outbound, &url, accepted).await {
            Ok((document, answer)) => {
                let decision = format!("use the issuer {}", document.issuer);
                recorder.record(step, request, answer, decision);
                return Ok(document);
            }
            Err(failure) => {
                let next = "try the next candidate";
                match failure.kind {
                    FailureKind::Absent => recorder.record(step, request, &failure.text, next),
                    kind => recorder.fail(step, request, &failure.text, next, advice(kind)),
                }
                failures.push((url, failure));
            }
        }
    }
    Err(failures)
}

fn advice(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Absent => "",
        FailureKind::Invalid => {
            "the issuer in authorization_servers and in the authorization server's metadata must be \
             the same text, to the last slash, and a token_endpoint must be there"
        }
        FailureKind::Transient => "try again later",
        FailureKind::Refused => "issuers and endpoints must be https URLs that clients can reach",
    }
}

async fn fetch_checked(
    outbound: &Outbound,
    url: &str,
    accepted: &[&str],
) -> Result<(AuthorizationServerMetadata, String), Failure> {
    let (document, answer) = fetch::<AuthorizationServerMetadata>(outbound, url).await?;
    if document.issuer.is_empty() && document.token_endpoint.is_none() {
        // Some servers answer every path with an object, for instance with an error.
        return Err(Failure::new(
            FailureKind::Absent,
            answer + ", without issuer",
        ));
    }
    if !accepted.contains(&document.issuer.as_str()) {
        let expected = display_url_text(accepted.first().copied().unwrap_or_default());
        let named = display_url_text(&document.issuer);
        let text = format!("{answer}, its issuer is {named}, but {expected} was asked for");
        return Err(Failure::new(FailureKind::Invalid, text));
    }
    let Some(token_endpoint) = document.token_endpoint.as_deref() else {
        return Err(Failure::new(
            FailureKind::Invalid,
            answer + ", without token_endpoint",
        ));
    };
    outbound.check_url(token_endpoint)?;
    if let Some(endpoint) = document.authorization_endpoint.as_deref() {
        outbound.check_url(endpoint).inspect_err(|error| {
            tracing::warn!(error = %Escaped(error), "no browser is sent to the authorization server");
        })?;
    }
    Ok((document, answer))
}

fn candidates(outbound: &Outbound, issuer: &str) -> Result<Vec<String>, Failure> {
    let url = outbound.check_url(issuer)?;
    if url.query().is_some() || url.fragment().is_some() {
        let text = "an issuer has no query and no fragment";
        return Err(Failure::new(FailureKind::Invalid, text));
    }
    Ok(candidate_urls(&url))
}

fn candidate_urls(issuer: &Url) -> Vec<String> {
    let origin = issuer.origin().ascii_serialization();
    let path = issuer.path();
    match path.strip_suffix('/').unwrap_or(path) {
        "" => vec![format!("{origin}{OAUTH}"), format!("{origin}{OPENID}")],
        path => vec![
            format!("{origin}{OAUTH}{path}"),
            format!("{origin}{OPENID}{path}"),
            format!("{origin}{path}{OPENID}"),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // requirement: 0e707a3c1973 3d733691eafe 4a793592e88c 7a2391561cdd babd98adaf58 ec139670cbab
    // requirement: f9ef1ab210f6 fadf8689de39
    #[test]
    fn candidates_are_those_of_the_specification() {
        let urls = |issuer: &str| candidate_urls(&Url::parse(issuer).unwrap());
        let with_path = [
            "https://auth.example.com/.well-known/oauth-authorization-server/tenant1",
            "https://auth.example.com/.well-known/openid-configuration/tenant1",
            "https://auth.example.com/tenant1/.well-known/openid-configuration",
        ];
        assert_eq!(urls("https://auth.example.com/tenant1"), with_path);
        assert_eq!(urls("https://auth.example.com/tenant1/"), with_path);
        assert_eq!(
            urls("https://auth.example.com"),
            [
                "https://auth.example.com/.well-known/oauth-authorization-server",
                "https://auth.example.com/.well-known/openid-configuration",
            ]
        );
    }
}
