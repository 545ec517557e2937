//! The expected-failures file of the official conformance suite.

use saphyr_parser::{Event, Parser};
use turnbuckle_types::base::text::shorten;

use crate::files::FileError;
use crate::report::Kind;

/// The most scenarios of a file.
const MAX_SCENARIOS: usize = 1000;

/// The scenarios of the suite for servers that checks are counterparts of. A check is finer than a
/// scenario: an entry for the scenario covers all of its checks.
const SERVER: &[(&str, &[&str])] = &[
    (
        "server-initialize",
        &[
            "start.version-offer",
            "rpc.schema-valid",
            "start.server-info",
            "http.session-id-ascii",
        ],
    ),
    (
        "server-session-lifecycle",
        &["http.delete", "http.session-ended-404"],
    ),
    ("logging-set-level", &["logging.set-level"]),
    ("server-sse-polling", &["http.priming-event", "http.resume"]),
    ("resources-subscribe", &["resources.subscribe-updates"]),
    ("resources-unsubscribe", &["resources.unsubscribe-stops"]),
    ("completion-complete", &["completion.answers"]),
    (
        "tools-list",
        &[
            "tools.names",
            "tools.description",
            "tools.input-schema-object",
            "tools.order-stable",
        ],
    ),
    ("tools-call-error", &["tools.error-is-result"]),
    (
        "tools-call-with-progress",
        &["progress.token-echoed", "progress.increasing"],
    ),
    ("resources-list", &["resources.uris"]),
    ("resources-read-text", &["resources.read-matches-list"]),
    ("resources-read-binary", &["resources.blob-base64"]),
    ("resources-templates-read", &["resources.templates-expand"]),
    ("prompts-get-simple", &["prompts.get"]),
    ("prompts-get-with-args", &["prompts.get"]),
    (
        "server-sse-multiple-streams",
        &["http.one-stream-per-message"],
    ),
    (
        "dns-rebinding-protection",
        &["http.origin-403", "http.foreign-host"],
    ),
    ("sep-2164-resource-not-found", &["resources.unknown-uri"]),
    ("caching", &["cache.ttl", "cache.hints"]),
    (
        "http-header-validation",
        &["http.header-method", "http.header-name", "http.header-case"],
    ),
    (
        "http-custom-header-server-validation",
        &["http.header-param"],
    ),
    (
        "input-required-result-tampered-state",
        &["ask.state-tampered-refused"],
    ),
    (
        "input-required-result-capability-check",
        &["ask.only-declared"],
    ),
    (
        "input-required-result-missing-input-response",
        &["ask.missing-answer-asked-again"],
    ),
    (
        "server-stateless",
        &[
            "envelope.discover",
            "envelope.unknown-version-32022",
            "envelope.missing-field-32602",
            "envelope.unknown-version-32022",
            "envelope.result-type",
            "envelope.no-server-requests",
            "envelope.server-info-in-results",
            "listen.acknowledged-first",
            "listen.subscription-id",
            "listen.only-asked-kinds",
        ],
    ),
    (
        "tasks-lifecycle",
        &[
            "tasks.created-before-answer",
            "tasks.status-fields",
            "tasks.protocol-error-failed",
            "tasks.cancel-ack",
            "tasks.tool-error-completed",
        ],
    ),
    ("tasks-wire-fields", &["tasks.status-fields"]),
    ("tasks-required-task-error", &["tasks.undeclared-32021"]),
    ("tasks-capability-negotiation", &["tasks.undeclared-32021"]),
    (
        "sep-2640-skills-enumeration",
        &["skills.list", "skills.get"],
    ),
    (
        "sep-2640-skills-manifest",
        &["skills.frontmatter-identical", "skills.names"],
    ),
    ("sep-2640-skills-directory", &["skills.directory"]),
];

/// The scenarios of the suite for clients that checks are counterparts of.
const CLIENT: &[(&str, &[&str])] = &[
    (
        "initialize",
        &["client.initialize-first", "client.initialized-sent"],
    ),
    ("sse-retry", &["client.resumes-with-id"]),
    (
        "request-metadata",
        &["client.envelope-complete", "client.version-header"],
    ),
    ("http-standard-headers", &["client.mirrored-headers"]),
    ("http-custom-headers", &["client.mirrored-headers"]),
    (
        "http-invalid-tool-headers",
        &["client.invalid-header-tools-dropped"],
    ),
    ("json-schema-ref-no-deref", &["client.no-remote-ref"]),
    (
        "auth/metadata-default",
        &["client.pkce", "client.resource-parameter"],
    ),
    (
        "auth/metadata-issuer-mismatch",
        &["client.metadata-issuer-checked"],
    ),
    ("auth/iss-wrong-issuer", &["client.issuer-checked"]),
    (
        "auth/scope-from-www-authenticate",
        &["client.challenge-scope"],
    ),
    ("auth/scope-step-up", &["client.step-up"]),
    ("sep-2322-client-request-state", &["client.input-keys-once"]),
];

/// Returns the ids of the checks that are counterparts of a scenario.
pub(super) fn counterparts(scenario: &str, kind: Kind) -> &'static [&'static str] {
    let table = match kind {
        Kind::Server => SERVER,
        Kind::Client => CLIENT,
    };
    let found = table.iter().find(|(name, _)| *name == scenario);
    found.map_or(&[], |(_, checks)| checks)
}

/// Parses the list of a kind: `server:` or `client:`, each a list of scenarios. An entry may name one
/// check of a scenario after a colon; the whole scenario counts then.
pub(super) fn parse(text: &str, kind: Kind) -> Result<Vec<(usize, String)>, FileError> {
    let wanted = match kind {
        Kind::Server => "server",
        Kind::Client => "client",
    };
    let mut scenarios = Vec::new();
    let mut depth = 0;
    // The key whose list is read, once there is one.
    let mut list: Option<String> = None;
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| {
            FileError::new(
                Some(error.marker().line()),
                format!("no YAML: {}", error.info()),
            )
        })?;
        let line = span.start.line();
        let fail = |reason: &str| Err(FileError::new(Some(line), reason));
        match (event, depth) {
            (Event::MappingStart(..), 0) => depth = 1,
            (Event::SequenceStart(..), 1) if list.is_some() => depth = 2,
            (Event::SequenceEnd, 2) => {
                depth = 1;
                list = None;
            }
            (Event::MappingEnd, 1) => depth = 0,
            (Event::Scalar(text, ..), 1) if list.is_none() => match &*text {
                key @ ("server" | "client") => list = Some(key.to_owned()),
                key => return fail(&format!("{:?} is neither server nor client", shorten(key))),
            },
            // An empty list may be left out.
            (Event::Scalar(text, ..), 1) if matches!(&*text, "" | "~" | "null") => list = None,
            (Event::Scalar(text, ..), 2) => {
                let scenario = text.split(':').next().unwrap_or_default();
                if scenario.is_empty() {
                    return fail("an entry without the name of a scenario");
                }
                if scenarios.len() == MAX_SCENARIOS {
                    return fail(&format!("more than {MAX_SCENARIOS} scenarios"));
                }
                if list.as_deref() == Some(wanted) {
                    scenarios.push((line, scenario.to_owned()));
                }
            }
            (Event::MappingStart(..), 2) => {
                return fail("an entry is a mapping: write scenario:check without a space");
            }
            (Event::Scalar(text, ..), 0) if text.is_empty() => {}
            (
                Event::Nothing
                | Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentStart(_)
                | Event::DocumentEnd,
                0,
            ) => {}
            _ => return fail("expected the lists server and client, each of names of scenarios"),
        }
    }
    Ok(scenarios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Checker, ClientChecker};

    #[test]
    fn every_counterpart_of_a_scenario_is_a_check() {
        for (table, checks) in [
            (SERVER, Checker::checks()),
            (CLIENT, ClientChecker::checks()),
        ] {
            let ids: Vec<_> = checks.iter().map(|check| check.id).collect();
            let counterparts = table.iter().flat_map(|(_, checks)| *checks);
            let unknown: Vec<_> = counterparts.filter(|id| !ids.contains(id)).collect();
            assert_eq!(unknown, [&""; 0]);
        }
    }
}
