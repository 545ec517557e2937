//! Discovery: the metadata of the protected resource and of its authorization server.
//!
//! Each candidate's answer goes into the transcript, and one bad document does not end the
//! discovery. Called by the login before a registration.
//!
//! Specification: basic/authorization/authorization-server-discovery (2026-07-28), and
//! basic/authorization, "Server Metadata Discovery" (2025-03-26).

use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use self::document::{Failure, FailureKind};
use self::resource::ResourceSearch;
use crate::challenge::Challenge;
use crate::error::{AuthError, AuthErrorKind};
use crate::metadata::{AuthorizationServerMetadata, ProtectedResourceMetadata};
use crate::outbound::Outbound;
use crate::transcript::{Recorder, StepKind};

mod document;
mod resource;
mod server;
#[cfg(test)]
mod tests;

/// The metadata that a login needs.
#[derive(Debug, Clone)]
pub(crate) struct Discovery {
    /// The identifier of the resource, byte for byte as in its metadata. `None` for servers of
    /// 2025-03-26, which have no such metadata.
    pub(crate) resource: Option<String>,
    /// The scopes that the resource's metadata lists.
    pub(crate) resource_scopes: Option<Vec<String>>,
    /// The issuer, byte for byte. Credentials are kept by it.
    pub(crate) issuer: String,
    /// The metadata of the authorization server.
    pub(crate) server: AuthorizationServerMetadata,
    /// True if the server has no resource metadata, as in 2025-03-26.
    pub(crate) is_legacy: bool,
}

/// The most issuers of one resource that are tried.
const MAX_ISSUERS: usize = 8;

/// The time after which no further issuer of a resource is tried.
const MAX_ISSUERS_TIME: Duration = Duration::from_secs(30);

/// Finds the authorization server of the MCP server at `server`.
///
/// `server_text` is the URL as the user wrote it. `challenge` is that of the refused request, if
/// there was one. `preferred_issuer` is tried first if the resource lists it.
///
/// # Errors
/// Fails when no usable metadata was found. The error's transcript has every candidate's answer.
pub(crate) async fn discover(
    outbound: &Outbound,
    server: &Url,
    server_text: &str,
    challenge: Option<&Challenge>,
    preferred_issuer: Option<&str>,
    recorder: &Recorder,
) -> Result<Discovery, AuthError> {
    let announced = challenge.and_then(Challenge::resource_metadata);
    let search = resource::find(outbound, server, server_text, announced, recorder).await?;
    let ResourceSearch::Found(resource) = search else {
        return discover_legacy(outbound, server, recorder).await;
    };
    let server = match resource.authorization_servers.is_empty() {
        true => find_at_origin(outbound, server, recorder)
            .await
            .map_err(|failures| {
                discovery_error("no usable metadata of the authorization server", &failures)
            })?,
        false => find_listed(outbound, &resource, preferred_issuer, recorder).await?,
    };
    Ok(Discovery {
        resource: Some(resource.resource),
        resource_scopes: resource.scopes_supported,
        issuer: server.issuer.clone(),
        server,
        is_legacy: false,
    })
}

/// Finds the metadata of one of the issuers that the resource lists.
async fn find_listed(
    outbound: &Outbound,
    resource: &ProtectedResourceMetadata,
    preferred_issuer: Option<&str>,
    recorder: &Recorder,
) -> Result<AuthorizationServerMetadata, AuthError> {
    let mut issuers: Vec<&str> = Vec::new();
    let listed = resource.authorization_servers.iter().map(String::as_str);
    let preferred = preferred_issuer.filter(|issuer| listed.clone().any(|known| known == *issuer));
    for issuer in preferred.into_iter().chain(listed) {
        if !issuers.contains(&issuer) && issuers.len() < MAX_ISSUERS {
            issuers.push(issuer);
        }
    }
    let mut problem = "no usable metadata of the authorization server".to_owned();
    let mut failures = Vec::new();
    let started = Instant::now();
    for issuer in issuers {
        if started.elapsed() >= MAX_ISSUERS_TIME {
            problem += &format!(" within {} s", MAX_ISSUERS_TIME.as_secs());
            break;
        }
        match server::find(outbound, issuer, &[issuer], recorder).await {
            Ok(server) => return Ok(server),
            Err(more) => {
                let is_transient =
                    |(_, failure): &(String, Failure)| failure.kind == FailureKind::Transient;
                // Credentials of this issuer may exist. Another issuer would need another login.
                let is_final = preferred == Some(issuer) && more.iter().any(is_transient);
                failures.extend(more);
                if is_final {
                    break;
                }
            }
        }
    }
    Err(discovery_error(&problem, &failures))
}

/// Finds an authorization server at the origin of the MCP server, as in 2025-03-26.
async fn find_at_origin(
    outbound: &Outbound,
    server: &Url,
    recorder: &Recorder,
) -> Result<AuthorizationServerMetadata, server::Failures> {
    let origin = server.origin().ascii_serialization();
    let with_slash = format!("{origin}/");
    server::find(outbound, &origin, &[&origin, &with_slash], recorder).await
}

/// Finds the authorization server of an MCP server without resource metadata.
///
/// Specification: basic/authorization, "Server Metadata Discovery" and "Fallbacks for Servers
/// without Metadata Discovery" (2025-03-26).
async fn discover_legacy(
    outbound: &Outbound,
    server: &Url,
    recorder: &Recorder,
) -> Result<Discovery, AuthError> {
    let step = StepKind::AuthorizationServerMetadata;
    let metadata = match find_at_origin(outbound, server, recorder).await {
        Ok(metadata) => metadata,
        Err(failures)
            if failures
                .iter()
                .all(|(_, failure)| failure.kind == FailureKind::Absent) =>
        {
            let metadata = default_endpoints(&server.origin().ascii_serialization());
            recorder.record(
                step,
                "find metadata",
                "the server has none",
                "use the default endpoints: /authorize, /token, /register",
            );
            metadata
        }
        Err(failures) => {
            let problem = "no metadata of the protected resource, and no usable metadata of an \
                        authorization server at the MCP server";
            return Err(discovery_error(problem, &failures));
        }
    };
    Ok(Discovery {
        resource: None,
        resource_scopes: None,
        issuer: metadata.issuer.clone(),
        server: metadata,
        is_legacy: true,
    })
}

fn default_endpoints(origin: &str) -> AuthorizationServerMetadata {
    let methods = ["none", "client_secret_basic", "client_secret_post"];
    AuthorizationServerMetadata {
        issuer: origin.to_owned(),
        authorization_endpoint: Some(format!("{origin}/authorize")),
        token_endpoint: Some(format!("{origin}/token")),
        registration_endpoint: Some(format!("{origin}/register")),
        response_types_supported: vec!["code".to_owned()],
        token_endpoint_auth_methods_supported: Some(methods.map(str::to_owned).to_vec()),
        // 2025-03-26 requires PKCE of every server, so it cannot be advertised here.
        code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
        ..AuthorizationServerMetadata::default()
    }
}

/// Creates the error of a step of which every candidate failed.
fn discovery_error(problem: &str, failures: &[(String, Failure)]) -> AuthError {
    let worst = failures.iter().map(|(_, failure)| failure.kind).max();
    let kind = match worst {
        Some(FailureKind::Refused) => AuthErrorKind::UrlRefused,
        Some(FailureKind::Transient) => AuthErrorKind::Network,
        Some(FailureKind::Invalid | FailureKind::Absent) | None => AuthErrorKind::Discovery,
    };
    let answers: Vec<String> = failures
        .iter()
        .map(|(url, failure)| format!("{url}: {}", failure.text))
        .collect();
    AuthError::new(kind, format!("{problem} ({})", answers.join("; ")))
}
