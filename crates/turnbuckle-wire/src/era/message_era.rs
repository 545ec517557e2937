//! The era that a message belongs to, decided by one table for every transport.
//!
//! Specification: basic/versioning, "Backward Compatibility with Initialization-Based Versions"
//! (2026-07-28); basic/transports/streamable-http, "Protocol Version Header" (2026-07-28).

use turnbuckle_types::{ErrorKind, ProtocolError, RawJson};

use super::params::Params;
use crate::revision::{EraKind, Method, MethodRole, Revision};

/// The revision that a message names somewhere: in a header, or in its envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedRevision<'a> {
    /// No revision is named.
    None,
    /// A revision of the legacy era.
    Legacy(Revision),
    /// A revision of the modern era.
    Modern(Revision),
    /// A text that is no known revision, or a value of another form.
    Unknown(&'a str),
}

impl<'a> NamedRevision<'a> {
    /// Returns the revision that `text` names; without a text none.
    #[must_use]
    pub fn parse(text: Option<&'a str>) -> Self {
        let Some(text) = text else { return Self::None };
        match Revision::parse(text) {
            Some(revision) if revision.features().era == EraKind::Modern => Self::Modern(revision),
            Some(revision) => Self::Legacy(revision),
            None => Self::Unknown(text),
        }
    }

    fn as_str(self) -> &'a str {
        match self {
            Self::None => "",
            Self::Legacy(revision) | Self::Modern(revision) => revision.as_str(),
            Self::Unknown(text) => text,
        }
    }
}

/// The version header that a message came with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionHeader<'a> {
    /// The transport has no headers.
    NotApplicable,
    /// The transport is HTTP, and its header names this.
    Http(NamedRevision<'a>),
}

/// The era that a message belongs to.
#[derive(Debug)]
pub enum MessageEra {
    /// The legacy era; the session knows the revision.
    Legacy,
    /// The modern era, at this revision.
    Modern(Revision),
    /// The modern era with a wrong envelope, which is answered with this error.
    Invalid(ProtocolError),
}

/// Returns the era of a request or notification, by its envelope and its version header.
#[must_use]
pub fn message_era(header: VersionHeader<'_>, method: &str, params: &Params<'_>) -> MessageEra {
    let named = params.meta.protocol_version.map(RawJson::text);
    let envelope = NamedRevision::parse(named.as_ref().and_then(Option::as_deref));
    let carried = match header {
        VersionHeader::NotApplicable => NamedRevision::None,
        VersionHeader::Http(mark) => mark,
    };
    let modern = params.meta.marks_modern_era()
        || matches!(carried, NamedRevision::Modern(_))
        || Method::role_of(method) == MethodRole::Discovery;
    if !modern {
        return MessageEra::Legacy;
    }
    if envelope == NamedRevision::None {
        return MessageEra::Invalid(missing(
            "io.modelcontextprotocol/protocolVersion",
            "a string",
        ));
    }
    match header {
        VersionHeader::Http(NamedRevision::None)
            if matches!(envelope, NamedRevision::Modern(_)) =>
        {
            return MessageEra::Invalid(ProtocolError::new(
                ErrorKind::HeaderMismatch,
                "the MCP-Protocol-Version header is missing",
            ));
        }
        VersionHeader::Http(mark) if mark != NamedRevision::None && mark != envelope => {
            return MessageEra::Invalid(ProtocolError::new(
                ErrorKind::HeaderMismatch,
                format!(
                    "the MCP-Protocol-Version header says {:?}, the request's _meta {:?}",
                    mark.as_str(),
                    envelope.as_str()
                ),
            ));
        }
        _ => {}
    }
    let revision = match envelope {
        NamedRevision::Modern(revision) => revision,
        other => return MessageEra::Invalid(unsupported_version(other.as_str())),
    };
    match params.meta.client_capabilities {
        Some(capabilities) if capabilities.is_object() => MessageEra::Modern(revision),
        _ => MessageEra::Invalid(missing(
            "io.modelcontextprotocol/clientCapabilities",
            "an object",
        )),
    }
}

fn missing(key: &str, form: &str) -> ProtocolError {
    ProtocolError::new(
        ErrorKind::InvalidEnvelope,
        format!("every request needs {key:?} in its _meta, as {form}"),
    )
}

fn unsupported_version(requested: &str) -> ProtocolError {
    let supported = Revision::modern()
        .map(|revision| revision.as_str().to_owned())
        .collect();
    ProtocolError::new(
        ErrorKind::UnsupportedProtocolVersion {
            supported,
            requested: requested.to_owned(),
        },
        "unsupported protocol version",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: NamedRevision<'_> = NamedRevision::Modern(Revision::NEWEST);
    const OLD: NamedRevision<'_> = NamedRevision::Legacy(Revision::NEWEST_LEGACY);
    const ODD: NamedRevision<'_> = NamedRevision::Unknown("v999.0.0");

    #[derive(Debug, PartialEq)]
    enum Judged {
        Legacy,
        Modern,
        Envelope,
        Mismatch,
        Version,
    }
    use Judged::*;

    fn judge(header: VersionHeader<'_>, envelope: NamedRevision<'_>, method: &str) -> Judged {
        let mut meta = serde_json::Map::new();
        if envelope != NamedRevision::None {
            meta.insert(
                "io.modelcontextprotocol/protocolVersion".into(),
                envelope.as_str().into(),
            );
            meta.insert(
                "io.modelcontextprotocol/clientCapabilities".into(),
                serde_json::json!({}),
            );
        }
        let json = serde_json::json!({ "_meta": meta }).to_string();
        let params: Params<'_> = serde_json::from_str(&json).unwrap();
        match message_era(header, method, &params) {
            MessageEra::Legacy => Legacy,
            MessageEra::Modern(_) => Modern,
            MessageEra::Invalid(error) => match error.kind() {
                ErrorKind::InvalidEnvelope => Envelope,
                ErrorKind::HeaderMismatch => Mismatch,
                ErrorKind::UnsupportedProtocolVersion { supported, .. } => {
                    assert_eq!(supported, &[Revision::NEWEST.as_str()]);
                    Version
                }
                other => panic!("{other:?}"),
            },
        }
    }

    #[test]
    fn the_table_over_header_and_envelope() {
        let table = [
            // header: none, legacy, modern, unknown
            (NamedRevision::None, [Legacy, Legacy, Envelope, Legacy]),
            (OLD, [Version, Version, Mismatch, Mismatch]),
            (NEW, [Mismatch, Mismatch, Modern, Mismatch]),
            (ODD, [Version, Mismatch, Mismatch, Version]),
        ];
        for (envelope, row) in table {
            for (header, expected) in [NamedRevision::None, OLD, NEW, ODD].into_iter().zip(row) {
                let judged = judge(VersionHeader::Http(header), envelope, "tools/list");
                assert_eq!(judged, expected, "header {header:?}, envelope {envelope:?}");
            }
        }
    }

    #[test]
    fn without_headers_the_envelope_alone_decides() {
        let row = [
            (NamedRevision::None, Legacy),
            (OLD, Version),
            (NEW, Modern),
            (ODD, Version),
        ];
        for (envelope, expected) in row {
            assert_eq!(
                judge(VersionHeader::NotApplicable, envelope, "tools/list"),
                expected
            );
        }
    }

    #[test]
    fn discovery_is_always_modern() {
        assert_eq!(
            judge(
                VersionHeader::NotApplicable,
                NamedRevision::None,
                "server/discover"
            ),
            Envelope
        );
        assert_eq!(
            judge(
                VersionHeader::Http(NamedRevision::None),
                NamedRevision::None,
                "server/discover"
            ),
            Envelope
        );
        assert_eq!(
            judge(
                VersionHeader::Http(OLD),
                NamedRevision::None,
                "server/discover"
            ),
            Envelope
        );
        assert_eq!(
            judge(VersionHeader::NotApplicable, NEW, "server/discover"),
            Modern
        );
    }

    #[test]
    fn capabilities_must_be_there_and_an_object() {
        let key = "io.modelcontextprotocol/protocolVersion";
        let version = Revision::NEWEST.as_str();
        for capabilities in ["", r#","io.modelcontextprotocol/clientCapabilities":[]"#] {
            let json = format!(r#"{{"_meta":{{"{key}":"{version}"{capabilities}}}}}"#);
            let params: Params<'_> = serde_json::from_str(&json).unwrap();
            assert!(matches!(
                message_era(VersionHeader::NotApplicable, "tools/list", &params),
                MessageEra::Invalid(error) if *error.kind() == ErrorKind::InvalidEnvelope
            ));
        }
    }

    #[test]
    fn the_version_must_be_there_and_a_string() {
        for version in ["", r#""io.modelcontextprotocol/protocolVersion":5,"#] {
            let key = "io.modelcontextprotocol/clientCapabilities";
            let json = format!(r#"{{"_meta":{{{version}"{key}":{{}}}}}}"#);
            let params: Params<'_> = serde_json::from_str(&json).unwrap();
            for header in [VersionHeader::NotApplicable, VersionHeader::Http(NEW)] {
                assert!(matches!(
                    message_era(header, "tools/list", &params),
                    MessageEra::Invalid(error) if *error.kind() == ErrorKind::InvalidEnvelope
                ));
            }
        }
    }
}
