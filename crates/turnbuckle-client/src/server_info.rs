//! The client's knowledge of its server.

use turnbuckle_session::transport::LinkKind;
use turnbuckle_types::{Implementation, ServerCapabilities};
use turnbuckle_wire::revision::{EraKind, Revision};

/// A server's description of itself, and the revision that is spoken with it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerInfo {
    /// The name and version of the server. A modern server may leave them out.
    pub implementation: Option<Implementation>,
    /// The capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// Instructions for using the server, meant for a model.
    pub instructions: Option<String>,
    /// The revision that is spoken.
    pub revision: Revision,
    /// The modern revisions that the server supports; empty for a legacy server.
    pub supported_versions: Vec<String>,
    /// The kind of link that the connection uses.
    pub link_kind: LinkKind,
    /// True if the server was reached by the older transport that the connector falls back to.
    pub uses_fallback: bool,
}

impl ServerInfo {
    /// Returns the era that is spoken. It may be stored and passed to [`EraPreference::StartWith`] for the
    /// next connection.
    #[must_use]
    pub fn era(&self) -> EraKind {
        self.revision.features().era
    }
}

/// The eras and revisions that a client may speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EraPreference {
    /// Any era, the modern one first.
    ///
    /// A command that ends at the first request is started again, for a legacy handshake: a server may
    /// not bear a request that it does not know. One that ended before it has read anything is not.
    #[default]
    Auto,
    /// Any era, beginning with the one that the server spoke before ([`ServerInfo::era`]). That saves
    /// the probe; if the server has changed since, its era is found out anew.
    StartWith(EraKind),
    /// The modern era only.
    Modern,
    /// The legacy era only.
    Legacy,
    /// One revision only.
    Only(Revision),
}
