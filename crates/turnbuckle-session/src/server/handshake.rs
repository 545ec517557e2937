//! The handshake of the legacy era, and discovery in the modern era. Both describe the server by
//! its [`ServerIdentity`].
//!
//! Specification: basic/lifecycle (2025-11-25), server/discover (2026-07-28).

use turnbuckle_types::{
    CacheScope, ClientCapabilities, DiscoverResult, ElicitationCapability, Implementation,
    InitializeRequestParams, InitializeResult, ProtocolError, RootsCapability, SamplingCapability,
    ServerCapabilities, Settings,
};
use turnbuckle_wire::era::params::raw_params;
use turnbuckle_wire::era::{Project, Reply, negotiate_revision};
use turnbuckle_wire::revision::Revision;

use crate::server::dispatch::ServerIdentity;
use crate::server::legacy_state::LegacyState;

/// The most characters of an error about the parameters of `initialize`.
const MAX_ERROR_CHARS: usize = 200;

/// Answers `initialize`. Returns the state of the session, and the reply. A session keeps about
/// `max_bytes` of the client's parameters. Without memory it is offered nothing that needs a session
/// between its messages.
pub(crate) fn initialize(
    identity: &ServerIdentity,
    text: &str,
    keep: usize,
    has_memory: bool,
) -> Result<(LegacyState, Reply), ProtocolError> {
    let raw = raw_params(text)
        .ok_or_else(|| ProtocolError::invalid_params("\"initialize\" needs parameters"))?;
    let mut params: InitializeRequestParams = raw.decode().map_err(|error| {
        // The error quotes what the client sent.
        let why: String = error.to_string().chars().take(MAX_ERROR_CHARS).collect();
        ProtocolError::invalid_params(format!("\"initialize\": {why}"))
    })?;
    let revision = negotiate_revision(&params.protocol_version);
    if raw.as_str().len() > keep {
        params.client_info = shorten_implementation(&params.client_info);
        params.capabilities = shorten_capabilities(&params.capabilities, keep);
    }
    // A capability that the revision does not know was not declared. Extensions are negotiated
    // apart from revisions: clients declare them in handshakes of any age.
    if !params.capabilities.fits(revision.features()) {
        let extensions = std::mem::take(&mut params.capabilities.extensions);
        params.capabilities.project(revision.features());
        params.capabilities.extensions = extensions;
    }
    let state = LegacyState::new(
        revision.features(),
        params.capabilities,
        Some(params.client_info),
    )
    .with_reachable(has_memory);
    let capabilities = match has_memory {
        true => identity.capabilities.clone(),
        false => without_notifications(&identity.capabilities),
    };
    let mut result = InitializeResult::new(revision.as_str(), capabilities, identity.info.clone());
    result.instructions.clone_from(&identity.instructions);
    Ok((state, Reply::complete(result)))
}

/// Returns capabilities without those that need a session between the messages of its client: log levels,
/// subscriptions and notifications of changes.
fn without_notifications(declared: &ServerCapabilities) -> ServerCapabilities {
    let mut kept = declared.clone();
    kept.logging = None;
    for list in [&mut kept.tools, &mut kept.prompts].into_iter().flatten() {
        list.list_changed = None;
    }
    if let Some(resources) = &mut kept.resources {
        resources.list_changed = None;
        resources.subscribe = None;
    }
    kept
}

/// Characters that are kept of the client's name and of its version, if the handshake is too long.
const NAME: usize = 128;

/// Returns a client's name and version, shortened and without further information.
fn shorten_implementation(info: &Implementation) -> Implementation {
    let beginning = |text: &str| text.chars().take(NAME).collect::<String>();
    Implementation::new(beginning(&info.name), beginning(&info.version))
}

/// Returns a client's capabilities in as few bytes as possible: those of the specification without
/// their settings, and the extensions that fit into `max_bytes`.
fn shorten_capabilities(declared: &ClientCapabilities, keep: usize) -> ClientCapabilities {
    let bare = |settings: &Option<Settings>| settings.as_ref().map(|_| Settings::new());
    let mut kept = ClientCapabilities::new();
    kept.roots = declared.roots.as_ref().map(|roots| {
        let mut outline = RootsCapability::new();
        outline.list_changed = roots.list_changed;
        outline
    });
    kept.sampling = declared.sampling.as_ref().map(|sampling| {
        let mut outline = SamplingCapability::new();
        outline.tools = bare(&sampling.tools);
        outline.context = bare(&sampling.context);
        outline
    });
    kept.elicitation = declared.elicitation.as_ref().map(|elicitation| {
        let mut outline = ElicitationCapability::new();
        outline.form = bare(&elicitation.form);
        outline.url = bare(&elicitation.url);
        outline
    });
    let mut room = keep;
    for (id, settings) in declared.extensions.iter() {
        if let Some(rest) = room.checked_sub(id.len() + settings.as_str().len()) {
            room = rest;
            kept.extensions.insert(id, settings.clone());
        }
    }
    kept
}

/// Answers `server/discover`.
pub(crate) fn discover(identity: &ServerIdentity) -> Reply {
    let supported: Vec<String> = Revision::modern()
        .map(|revision| revision.as_str().to_owned())
        .collect();
    let mut result = DiscoverResult::new(supported, identity.capabilities.clone());
    result.instructions.clone_from(&identity.instructions);
    result.ttl_ms = Some(identity.ttl_ms);
    let scope = if identity.public {
        CacheScope::Public
    } else {
        CacheScope::Private
    };
    result.cache_scope = Some(scope);
    if identity.include_in_results {
        result.meta.set_server_info(identity.info.clone());
    }
    Reply::complete(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is kept, within `keep` bytes, of a client that sends long values everywhere.
    fn shortened_state(keep: usize) -> LegacyState {
        let long = "x".repeat(1 << 16);
        let noise = format!(r#""a":"{long}","b":{{"{long}":1}}"#);
        let settings = format!("{{{noise}}}");
        let revision = Revision::NEWEST_LEGACY.as_str();
        let text = format!(
            r#"{{"method":"initialize","params":{{"protocolVersion":"{revision}","clientInfo":{{"name":"n{long}","version":"v{long}",
                "title":"{long}","description":"{long}","websiteUrl":"a:{long}",
                "icons":[{{"src":"a:{long}"}}],{noise}}},
            "capabilities":{{"roots":{{"listChanged":true,{noise}}},
                "sampling":{{"tools":{settings},"context":{settings},{noise}}},
                "elicitation":{{"form":{settings},"url":{settings},{noise}}},
                "extensions":{{"a.b/long":{settings},"a.b/short":{{"k":1}}}},
                "experimental":{settings},{noise}}}}}}}"#
        );
        let identity = ServerIdentity {
            info: Implementation::new("s", "1"),
            capabilities: ServerCapabilities::new(),
            instructions: None,
            include_in_results: false,
            ttl_ms: 0,
            public: false,
        };
        initialize(&identity, &text, keep, true)
            .expect("a handshake")
            .0
    }

    #[test]
    fn a_long_handshake_is_kept_in_few_bytes_and_with_all_that_can_be_done() {
        const KEEP: usize = 4096;
        let state = shortened_state(KEEP);
        let info = state.client_info().expect("who it is");
        let name = (info.name.len(), info.name.capacity());
        assert_eq!(name, (NAME, NAME));
        let version = (info.version.len(), info.version.capacity());
        assert_eq!(version, (NAME, NAME));
        let whole = serde_json::to_string(info).expect("JSON");
        assert!(whole.len() < KEEP, "{whole}");

        let can = state.capabilities();
        let written = serde_json::to_string(can).expect("JSON");
        let wanted = concat!(
            r#"{"roots":{"listChanged":true},"sampling":{"tools":{},"context":{}},"#,
            r#""elicitation":{"form":{},"url":{}},"extensions":{"a.b/short":{"k":1}}}"#
        );
        assert_eq!(written, wanted);
    }

    #[test]
    fn extensions_are_kept_as_far_as_there_is_room() {
        let declared = |keep| {
            let state = shortened_state(keep);
            let extensions = &state.capabilities().extensions;
            extensions.iter().count()
        };
        let short = r#"a.b/short{"k":1}"#.len();
        assert_eq!((declared(short), declared(short - 1)), (1, 0));
    }
}
