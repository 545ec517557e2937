//! The location of an issuer's keys, from the metadata of the authorization server.
//!
//! Specification: RFC 8414 section 3, OpenID Connect Discovery 1.0 section 4.

use serde::Deserialize;
use url::Url;

use crate::outbound::Outbound;

#[derive(Deserialize)]
struct IssuerMetadata {
    issuer: String,
    jwks_uri: Option<String>,
}

/// Returns the URL of an issuer's keys. The first document that names exactly this issuer counts.
///
/// # Errors
/// Returns how each location answered.
pub(super) async fn find_jwks_url(outbound: &Outbound, issuer: &str) -> Result<String, String> {
    let mut failures = Vec::new();
    for url in metadata_urls(issuer) {
        match read(outbound, &url, issuer).await {
            Ok(jwks_url) => return Ok(jwks_url),
            Err(failure) => failures.push(format!("{url}: {failure}")),
        }
    }
    Err(format!(
        "no metadata of the issuer: {}",
        failures.join("; ")
    ))
}

async fn read(outbound: &Outbound, url: &str, issuer: &str) -> Result<String, String> {
    let response = outbound.get(url).await.map_err(|error| error.to_string())?;
    if response.status != 200 {
        return Err(format!("status {}", response.status));
    }
    let metadata: IssuerMetadata =
        serde_json::from_slice(&response.body).map_err(|error| format!("malformed: {error}"))?;
    if metadata.issuer != issuer {
        return Err("it is of another issuer".to_owned());
    }
    metadata
        .jwks_uri
        .ok_or_else(|| "it has no jwks_uri".to_owned())
}

/// Returns the locations of an issuer's metadata, in the order in which they are tried.
fn metadata_urls(issuer: &str) -> Vec<String> {
    let Ok(url) = Url::parse(issuer) else {
        return Vec::new();
    };
    let origin = url.origin().ascii_serialization();
    let path = url.path();
    let path = path.strip_suffix('/').unwrap_or(path);
    let mut urls = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        urls.push(format!("{origin}{path}/.well-known/openid-configuration"));
    }
    urls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_looked_for_in_the_order_of_the_specification() {
        assert_eq!(
            metadata_urls("https://as.example/tenant"),
            [
                "https://as.example/.well-known/oauth-authorization-server/tenant",
                "https://as.example/.well-known/openid-configuration/tenant",
                "https://as.example/tenant/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            metadata_urls("https://as.example"),
            [
                "https://as.example/.well-known/oauth-authorization-server",
                "https://as.example/.well-known/openid-configuration",
            ]
        );
    }
}
