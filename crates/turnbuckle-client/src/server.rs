//! What is known of the server.

use turnbuckle_session::LinkKind;
use turnbuckle_types::{Implementation, ServerCapabilities};
use turnbuckle_wire::revision::{EraKind, Revision};

/// What a server said of itself, and how it is spoken with.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerInfo {
    /// Who it is; a modern server may not say so.
    pub implementation: Option<Implementation>,
    /// What it can do.
    pub capabilities: ServerCapabilities,
    /// How to use it, for a model.
    pub instructions: Option<String>,
    /// The revision that is spoken.
    pub revision: Revision,
    /// The revisions of the modern era that it names; empty for a legacy server.
    pub supported: Vec<String>,
    /// How the connection delivers.
    pub binding: LinkKind,
}

impl ServerInfo {
    /// The era that is spoken.
    #[must_use]
    pub fn era(&self) -> EraKind {
        self.revision.features().era
    }

    /// What this server turned out to be, to be handed in at the next connection.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.era() {
            EraKind::Modern => Verdict::Modern,
            EraKind::Legacy => Verdict::Legacy,
        }
    }
}

/// What a server turned out to be: a property of the server that may be kept and handed in the next
/// time, to save the probe. One that no longer holds is found out.
///
/// Specification: basic/versioning, "Backward Compatibility" (2026-07-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Requests carry their own envelope.
    Modern,
    /// A handshake opens a session.
    Legacy,
}

/// Which eras and revisions a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Era {
    /// Whichever the server speaks, the modern one first.
    #[default]
    Auto,
    /// As [`Era::Auto`], beginning with what the server turned out to be before.
    Known(Verdict),
    /// The modern era alone.
    Modern,
    /// The legacy era alone.
    Legacy,
    /// This revision alone.
    Only(Revision),
}
