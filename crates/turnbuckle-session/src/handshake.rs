//! The opening of a legacy session, and discovery in the modern era: what both say of the server
//! comes from its [`Identity`].
//!
//! Specification: basic/lifecycle (2025-11-25), server/discover (2026-07-28).

use turnbuckle_types::{CacheScope, DiscoverResult, Error, InitializeParams, InitializeResult};
use turnbuckle_wire::era::params::raw_params;
use turnbuckle_wire::era::{Project, Reply, offer};
use turnbuckle_wire::revision::Revision;

use crate::{Identity, LegacyState};

/// Answers a handshake: the session that it opens, and the result that says so.
pub(crate) fn open(
    identity: &Identity,
    text: &str,
    keep: usize,
) -> Result<(LegacyState, Reply), Error> {
    let raw =
        raw_params(text).ok_or_else(|| Error::invalid_params("\"initialize\" needs parameters"))?;
    let mut params: InitializeParams = raw
        .decode()
        .map_err(|error| Error::invalid_params(format!("\"initialize\": {error}")))?;
    let revision = offer(&params.protocol_version);
    if raw.as_str().len() > keep {
        // What is long in a handshake is decoration: it is not kept for the session's life.
        params.client_info.icons = None;
        params.client_info.description = None;
        params.client_info.extra = turnbuckle_types::Extra::new();
        params.capabilities.experimental = turnbuckle_types::Map::new();
        params.capabilities.extensions = turnbuckle_types::Map::new();
        params.capabilities.extra = turnbuckle_types::Extra::new();
        for text in [
            &mut params.client_info.name,
            &mut params.client_info.version,
        ] {
            if let Some((end, _)) = text.char_indices().nth(128) {
                text.truncate(end);
            }
        }
        params.client_info.title = None;
        params.client_info.website_url = None;
    }
    // What the revision has no word for was not declared: nothing may rest on it. Extensions are
    // negotiated apart from revisions; hosts declare theirs in handshakes of any age.
    if !params.capabilities.fits(revision.features()) {
        let extensions = std::mem::take(&mut params.capabilities.extensions);
        params.capabilities.project(revision.features());
        params.capabilities.extensions = extensions;
    }
    let state = LegacyState::new(
        revision.features(),
        params.capabilities,
        Some(params.client_info),
    );
    let mut result = InitializeResult::new(
        revision.as_str(),
        identity.capabilities.clone(),
        identity.info.clone(),
    );
    result.instructions.clone_from(&identity.instructions);
    Ok((state, Reply::complete(result)))
}

/// Answers a discovery.
pub(crate) fn discover(identity: &Identity) -> Reply {
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
    if identity.in_every_result {
        result.meta.set_server_info(identity.info.clone());
    }
    Reply::complete(result)
}
