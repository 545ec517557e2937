//! The metadata of the protected resource: its candidates, and the check of its `resource`.

use turnbuckle_types::base::text::is_ambiguous_in_url;
use url::Url;

use super::document::{Failure, FailureKind, fetch};
use crate::error::{AuthError, AuthErrorKind};
use crate::metadata::ProtectedResourceMetadata;
use crate::outbound::{Outbound, display_url_text};
use crate::transcript::{Recorder, StepKind};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The outcome of the search for the resource's metadata.
pub(super) enum ResourceSearch {
    /// A document whose `resource` is the MCP server.
    Found(Box<ProtectedResourceMetadata>),
    /// No candidate has a document, as with servers of 2025-03-26.
    Absent,
}

struct Candidate {
    url: String,
    is_announced: bool,
}

/// Asks the candidates in the order of the specification.
pub(super) async fn find(
    outbound: &Outbound,
    server: &Url,
    server_text: &str,
    announced: Option<&str>,
    recorder: &Recorder,
) -> Result<ResourceSearch, AuthError> {
    let mut failures: Vec<(String, Failure)> = Vec::new();
    let mut without_issuer = None;
    for candidate in candidates(server, announced) {
        let shown = display_url_text(&candidate.url);
        let request = match candidate.is_announced {
            true => format!("GET {shown} (announced by the challenge)"),
            false => format!("GET {shown}"),
        };
        let failure = match fetch_checked(outbound, server, server_text, &candidate.url).await {
            Ok((document, answer)) if document.authorization_servers.is_empty() => {
                let answer = answer + ", without authorization_servers";
                recorder.fail(
                    StepKind::ResourceMetadata,
                    request,
                    &answer,
                    "look for another document",
                    "the MCP server must list at least one issuer in authorization_servers",
                );
                without_issuer.get_or_insert(document);
                continue;
            }
            Ok((document, answer)) => {
                let decision = format!("use it for the resource {}", document.resource);
                recorder.record(StepKind::ResourceMetadata, request, answer, decision);
                return Ok(ResourceSearch::Found(Box::new(document)));
            }
            Err(CandidateFailure::OtherResource(resource)) => {
                let text = other_resource(&resource, server_text);
                let advice = "the MCP server must name its own URL, or a parent of it, as resource";
                if candidate.is_announced {
                    recorder.fail(StepKind::ResourceMetadata, request, &text, "stop", advice);
                    let message = format!("the metadata at {shown} is refused: {text}; {advice}");
                    return Err(AuthError::new(AuthErrorKind::Discovery, message));
                }
                let next = "do not use it; try the next candidate";
                recorder.fail(StepKind::ResourceMetadata, request, &text, next, advice);
                Failure::new(FailureKind::Invalid, text)
            }
            Err(CandidateFailure::Other(failure)) => {
                let next = "try the next candidate";
                let step = StepKind::ResourceMetadata;
                match failure.kind {
                    FailureKind::Absent if !candidate.is_announced => {
                        recorder.record(step, request, &failure.text, next);
                    }
                    kind => recorder.fail(step, request, &failure.text, next, advice(kind)),
                }
                failure
            }
        };
        failures.push((shown, failure));
    }
    if let Some(document) = without_issuer {
        return Ok(ResourceSearch::Found(Box::new(document)));
    }
    let is_absent = failures
        .iter()
        .all(|(_, failure)| failure.kind == FailureKind::Absent);
    if is_absent && announced.is_none() {
        return Ok(ResourceSearch::Absent);
    }
    let problem = "no usable metadata of the protected resource";
    Err(super::discovery_error(problem, &failures))
}

fn advice(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Absent => "the MCP server announces a document that is not there",
        FailureKind::Invalid => {
            "the document must be a JSON object with resource and authorization_servers"
        }
        FailureKind::Transient => "try again later",
        FailureKind::Refused => {
            "the MCP server must announce an https URL that its clients can reach"
        }
    }
}

enum CandidateFailure {
    OtherResource(String),
    Other(Failure),
}

async fn fetch_checked(
    outbound: &Outbound,
    server: &Url,
    server_text: &str,
    url: &str,
) -> Result<(ProtectedResourceMetadata, String), CandidateFailure> {
    let fetched = fetch::<ProtectedResourceMetadata>(outbound, url).await;
    let (document, answer) = fetched.map_err(CandidateFailure::Other)?;
    if document.resource.is_empty() {
        // Some servers answer every path with an object, for instance with an error.
        let kind = match document.authorization_servers.is_empty() {
            true => FailureKind::Absent,
            false => FailureKind::Invalid,
        };
        let failure = Failure::new(kind, answer + ", without resource");
        return Err(CandidateFailure::Other(failure));
    }
    match document.resource == server_text || covers(&document.resource, server) {
        true => Ok((document, answer)),
        false => Err(CandidateFailure::OtherResource(document.resource)),
    }
}

fn other_resource(resource: &str, server_text: &str) -> String {
    let resource = display_url_text(resource);
    let server = display_url_text(server_text);
    format!("its resource is {resource}, but the MCP server is {server}")
}

fn candidates(server: &Url, announced: Option<&str>) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut add = |url: String, is_announced: bool| {
        if !candidates.iter().any(|known| known.url == url) {
            candidates.push(Candidate { url, is_announced });
        }
    };
    if let Some(url) = announced {
        add(url.to_owned(), true);
    }
    let origin = server.origin().ascii_serialization();
    let path = server.path();
    let query = server
        .query()
        .map_or(String::new(), |query| format!("?{query}"));
    if path != "/" {
        add(format!("{origin}{WELL_KNOWN}{path}{query}"), false);
        // Servers rarely tell `/mcp/` from `/mcp`.
        let without_slash = path.strip_suffix('/').unwrap_or(path);
        add(format!("{origin}{WELL_KNOWN}{without_slash}{query}"), false);
    }
    add(format!("{origin}{WELL_KNOWN}"), false);
    candidates
}

/// Returns true if `resource` identifies the MCP server at `server`: its URL, or a parent of it.
///
/// A trailing slash and the case of scheme and host do not matter.
pub(super) fn covers(resource: &str, server: &Url) -> bool {
    // A URL parser drops or replaces these, and others may read the text in another way.
    if resource.contains(is_ambiguous_in_url) {
        return false;
    }
    let Ok(resource) = Url::parse(resource) else {
        return false;
    };
    let has_credentials = !resource.username().is_empty() || resource.password().is_some();
    let is_same_query = resource.query().is_none() || resource.query() == server.query();
    if has_credentials || resource.fragment().is_some() || !is_same_query {
        return false;
    }
    let path = resource.path();
    let parent = path.strip_suffix('/').unwrap_or(path);
    let rest = server.path().strip_prefix(parent);
    let is_parent = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.has_host() && resource.origin() == server.origin() && is_parent
}

#[cfg(test)]
mod tests {
    use super::*;

    // requirement: d4a3005447e4
    #[test]
    fn a_resource_is_the_server_or_a_parent_of_it() {
        let server = Url::parse("https://mcp.example.com/a/mcp").unwrap();
        for resource in [
            "https://mcp.example.com/a/mcp",
            "https://mcp.example.com/a/mcp/",
            "https://mcp.example.com/a",
            "https://mcp.example.com/a/",
            "https://mcp.example.com/",
            "https://mcp.example.com",
            "HTTPS://MCP.Example.com:443/a/mcp",
        ] {
            assert!(covers(resource, &server), "{resource}");
        }
        for resource in [
            "https://evil.example.com/a/mcp",
            "https://mcp.example.com.evil.example/a/mcp",
            "https://mcp.example.com@evil.example/a/mcp",
            "https://user@mcp.example.com/a/mcp",
            "http://mcp.example.com/a/mcp",
            "https://mcp.example.com:8443/a/mcp",
            "https://mcp.example.com/a/mc",
            "https://mcp.example.com/a/mcp2",
            "https://mcp.example.com/a/mcp/tool",
            "https://mcp.example.com/A/mcp",
            "https://mcp.example.com/b",
            "https://mcp.example.com/a/mcp?x=1",
            "https://mcp.example.com/a/mcp#x",
            "https://mcp.example.com//",
            "https://mcp.example.com/a//",
            "https://mcp.exa\nmple.com/a",
            "https://mcp.example.com\\@evil.example/a/mcp",
            "https://mcp.example.com/a/mcp/../../b",
            " https://mcp.example.com/a/mcp",
            "mcp.example.com",
            "urn:mcp",
            "data:a/mcp",
            "",
        ] {
            assert!(!covers(resource, &server), "{resource}");
        }
    }

    // requirement: 397e8ba9452e fadf8689de39
    #[test]
    fn candidates_are_announced_then_path_then_root() {
        let urls = |server: &str, announced| -> Vec<String> {
            let candidates = candidates(&Url::parse(server).unwrap(), announced);
            candidates
                .into_iter()
                .map(|candidate| candidate.url)
                .collect()
        };
        let well_known = "https://a.example/.well-known/oauth-protected-resource";
        assert_eq!(
            urls("https://a.example/x/mcp", Some("https://b.example/prm")),
            [
                "https://b.example/prm",
                &format!("{well_known}/x/mcp"),
                well_known
            ]
        );
        assert_eq!(urls("https://a.example", None), [well_known]);
        assert_eq!(
            urls("https://a.example/mcp/?k=v", None),
            [
                &format!("{well_known}/mcp/?k=v"),
                &format!("{well_known}/mcp?k=v"),
                well_known
            ]
        );
    }
}
