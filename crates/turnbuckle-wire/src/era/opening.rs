//! Which era does a message belong to? One table, for every binding.
//!
//! Specification: basic/versioning, "Backward Compatibility with Initialization-Based Versions"
//! (2026-07-28); basic/transports/streamable-http, "Protocol Version Header" (2026-07-28).

use turnbuckle_types::{Error, ErrorKind, RawJson};

use super::params::Params;
use crate::revision::{EraKind, Method, Revision};

/// The revision that a message names somewhere: in a header, or in its envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark<'a> {
    /// It names none.
    None,
    /// One of the legacy era.
    Legacy(Revision),
    /// One of the modern era.
    Modern(Revision),
    /// Something that is no revision known here, or has the wrong form.
    Unknown(&'a str),
}

impl<'a> Mark<'a> {
    /// The mark of that text; `None` when there is none.
    #[must_use]
    pub fn of(text: Option<&'a str>) -> Self {
        let Some(text) = text else { return Self::None };
        match Revision::parse(text) {
            Some(revision) if revision.features().era == EraKind::Modern => Self::Modern(revision),
            Some(revision) => Self::Legacy(revision),
            None => Self::Unknown(text),
        }
    }

    fn spelled(self) -> &'a str {
        match self {
            Self::None => "",
            Self::Legacy(revision) | Self::Modern(revision) => revision.as_str(),
            Self::Unknown(text) => text,
        }
    }
}

/// Where the version header of a message is to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header<'a> {
    /// The binding has no headers.
    NotCarried,
    /// The binding mirrors the revision in a header, and this is it.
    Carried(Mark<'a>),
}

/// The era that a message belongs to.
#[derive(Debug)]
pub enum Opening {
    /// The legacy era; what it speaks is its session's business.
    Legacy,
    /// The modern era, at this revision.
    Modern(Revision),
    /// The modern era, but not as its page says: answered with this error.
    Refused(Error),
}

/// Judges a request or notification.
#[must_use]
pub fn of_opening(header: Header<'_>, method: &str, params: &Params<'_>) -> Opening {
    let named = params.meta.protocol_version.map(RawJson::text);
    let envelope = Mark::of(named.as_ref().and_then(Option::as_deref));
    let discovers = method == Method::Discover.as_str();
    let carried = match header {
        Header::NotCarried => Mark::None,
        Header::Carried(mark) => mark,
    };
    let modern = params.meta.is_envelope() || discovers || matches!(carried, Mark::Modern(_));
    if !modern {
        return Opening::Legacy;
    }
    if envelope == Mark::None {
        return Opening::Refused(missing(
            "io.modelcontextprotocol/protocolVersion",
            "a string",
        ));
    }
    match header {
        Header::Carried(Mark::None) if matches!(envelope, Mark::Modern(_)) => {
            return Opening::Refused(Error::new(
                ErrorKind::HeaderMismatch,
                "the MCP-Protocol-Version header is missing",
            ));
        }
        Header::Carried(mark) if mark != Mark::None && mark != envelope => {
            return Opening::Refused(Error::new(
                ErrorKind::HeaderMismatch,
                format!(
                    "the MCP-Protocol-Version header says {:?}, the request's _meta {:?}",
                    mark.spelled(),
                    envelope.spelled()
                ),
            ));
        }
        _ => {}
    }
    let revision = match envelope {
        Mark::Modern(revision) => revision,
        other => return Opening::Refused(unsupported(other.spelled())),
    };
    match params.meta.client_capabilities {
        Some(capabilities) if capabilities.is_object() => Opening::Modern(revision),
        _ => Opening::Refused(missing(
            "io.modelcontextprotocol/clientCapabilities",
            "an object",
        )),
    }
}

fn missing(key: &str, form: &str) -> Error {
    Error::new(
        ErrorKind::Envelope,
        format!("every request needs {key:?} in its _meta, as {form}"),
    )
}

fn unsupported(requested: &str) -> Error {
    let supported = Revision::modern()
        .map(|revision| revision.as_str().to_owned())
        .collect();
    Error::new(
        ErrorKind::UnsupportedVersion {
            supported,
            requested: requested.to_owned(),
        },
        "unsupported protocol version",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: Mark<'_> = Mark::Modern(Revision::NEWEST);
    const OLD: Mark<'_> = Mark::Legacy(Revision::NEWEST_LEGACY);
    const ODD: Mark<'_> = Mark::Unknown("v999.0.0");

    #[derive(Debug, PartialEq)]
    enum Judged {
        Legacy,
        Modern,
        Envelope,
        Mismatch,
        Version,
    }
    use Judged::*;

    fn judge(header: Header<'_>, envelope: Mark<'_>, method: &str) -> Judged {
        let mut meta = serde_json::Map::new();
        if envelope != Mark::None {
            meta.insert(
                "io.modelcontextprotocol/protocolVersion".into(),
                envelope.spelled().into(),
            );
            meta.insert(
                "io.modelcontextprotocol/clientCapabilities".into(),
                serde_json::json!({}),
            );
        }
        let json = serde_json::json!({ "_meta": meta }).to_string();
        let params: Params<'_> = serde_json::from_str(&json).unwrap();
        match of_opening(header, method, &params) {
            Opening::Legacy => Legacy,
            Opening::Modern(_) => Modern,
            Opening::Refused(error) => match error.kind() {
                ErrorKind::Envelope => Envelope,
                ErrorKind::HeaderMismatch => Mismatch,
                ErrorKind::UnsupportedVersion { supported, .. } => {
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
            (Mark::None, [Legacy, Legacy, Envelope, Legacy]),
            (OLD, [Version, Version, Mismatch, Mismatch]),
            (NEW, [Mismatch, Mismatch, Modern, Mismatch]),
            (ODD, [Version, Mismatch, Mismatch, Version]),
        ];
        for (envelope, row) in table {
            for (header, expected) in [Mark::None, OLD, NEW, ODD].into_iter().zip(row) {
                let judged = judge(Header::Carried(header), envelope, "tools/list");
                assert_eq!(judged, expected, "header {header:?}, envelope {envelope:?}");
            }
        }
    }

    #[test]
    fn without_headers_the_envelope_alone_decides() {
        let row = [
            (Mark::None, Legacy),
            (OLD, Version),
            (NEW, Modern),
            (ODD, Version),
        ];
        for (envelope, expected) in row {
            assert_eq!(judge(Header::NotCarried, envelope, "tools/list"), expected);
        }
    }

    #[test]
    fn discovery_is_always_modern() {
        assert_eq!(
            judge(Header::NotCarried, Mark::None, "server/discover"),
            Envelope
        );
        assert_eq!(
            judge(Header::Carried(Mark::None), Mark::None, "server/discover"),
            Envelope
        );
        assert_eq!(
            judge(Header::Carried(OLD), Mark::None, "server/discover"),
            Envelope
        );
        assert_eq!(judge(Header::NotCarried, NEW, "server/discover"), Modern);
    }

    #[test]
    fn capabilities_must_be_there_and_an_object() {
        let key = "io.modelcontextprotocol/protocolVersion";
        let version = Revision::NEWEST.as_str();
        for capabilities in ["", r#","io.modelcontextprotocol/clientCapabilities":[]"#] {
            let json = format!(r#"{{"_meta":{{"{key}":"{version}"{capabilities}}}}}"#);
            let params: Params<'_> = serde_json::from_str(&json).unwrap();
            assert!(matches!(
                of_opening(Header::NotCarried, "tools/list", &params),
                Opening::Refused(error) if *error.kind() == ErrorKind::Envelope
            ));
        }
    }

    #[test]
    fn the_version_must_be_there_and_a_string() {
        for version in ["", r#""io.modelcontextprotocol/protocolVersion":5,"#] {
            let key = "io.modelcontextprotocol/clientCapabilities";
            let json = format!(r#"{{"_meta":{{{version}"{key}":{{}}}}}}"#);
            let params: Params<'_> = serde_json::from_str(&json).unwrap();
            for header in [Header::NotCarried, Header::Carried(NEW)] {
                assert!(matches!(
                    of_opening(header, "tools/list", &params),
                    Opening::Refused(error) if *error.kind() == ErrorKind::Envelope
                ));
            }
        }
    }
}
