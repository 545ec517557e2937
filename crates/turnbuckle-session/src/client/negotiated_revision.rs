//! The revision that a client uses with its server, and the envelope and headers of its requests.

use turnbuckle_types::base::debug_fields;

use serde::ser::{Serialize, Serializer};
use turnbuckle_types::{ClientCapabilities, Implementation, ProtocolError, RawJson, RawObject};
use turnbuckle_wire::era::headers::{self, mirror_param_headers};
use turnbuckle_wire::era::{ParamHeader, Project, RequestEnvelope};
use turnbuckle_wire::json::WriteError;
use turnbuckle_wire::revision::{Features, Method, MethodRole, Party, Revision};

use crate::client::outbound_message::Header;

/// The revision of a connection, and the envelope that requests of the modern era carry.
#[derive(Debug, Clone)]
pub struct NegotiatedRevision {
    features: &'static Features,
    envelope: Option<RequestEnvelope>,
}

/// Returns whether servers of `revision` accept requests of this method. Methods that the
/// specification does not define are always accepted.
#[must_use]
pub fn is_server_method(method: &str, revision: Revision) -> bool {
    Method::parse(method).is_none_or(|method| method.is_received_by(Party::Server, revision))
}

/// Parameters that are sent unchanged in every revision.
#[derive(Clone)]
pub struct RawParams(pub RawObject);

impl Serialize for RawParams {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

debug_fields!(RawParams { bytes = |it| it.0.as_str().len() });

impl Project for RawParams {
    fn fits(&self, _: &Features) -> bool {
        true
    }

    fn project(&mut self, _: &Features) {}
}

/// Fields of a request that HTTP headers mirror.
///
/// Specification: basic/transports/streamable-http, "Standard MCP Request Headers" (2026-07-28).
#[derive(Clone, Copy, Default)]
pub struct MirroredFields<'a> {
    /// The name of the tool or prompt, or the URI of the resource.
    pub name: Option<&'a str>,
    /// The headers that mirror arguments of the tool.
    pub param_headers: &'a [ParamHeader],
    /// The tool's arguments.
    pub arguments: Option<RawJson<'a>>,
}

debug_fields!(MirroredFields<'a> { name });

impl NegotiatedRevision {
    /// Creates a revision of the modern era: every request carries the client's information and
    /// capabilities.
    ///
    /// # Errors
    /// Fails when these cannot be written as JSON.
    pub fn modern(
        revision: Revision,
        info: &Implementation,
        capabilities: &ClientCapabilities,
    ) -> Result<Self, WriteError> {
        Ok(Self {
            features: revision.features(),
            envelope: Some(RequestEnvelope::new(revision, info, capabilities)?),
        })
    }

    /// Creates a revision of the legacy era, which a handshake negotiated.
    #[must_use]
    pub fn legacy(revision: Revision) -> Self {
        Self {
            features: revision.features(),
            envelope: None,
        }
    }

    /// Returns the features of the revision.
    #[must_use]
    pub fn features(&self) -> &'static Features {
        self.features
    }

    /// Returns the envelope of requests; `None` in the legacy era.
    pub(crate) fn envelope(&self) -> Option<&RequestEnvelope> {
        self.envelope.as_ref()
    }

    /// Returns the HTTP headers of a message.
    ///
    /// # Errors
    /// Fails when an argument that a header mirrors has no header form.
    pub(crate) fn headers(
        &self,
        method: &str,
        mirrored: MirroredFields<'_>,
    ) -> Result<Vec<Header>, ProtocolError> {
        let version = self.features.revision.as_str().into();
        if self.envelope.is_none() {
            // A handshake negotiates the revision: before it there is none to name.
            return Ok(match Method::role_of(method) {
                MethodRole::Handshake => Vec::new(),
                _ => vec![(headers::PROTOCOL_VERSION.into(), version)],
            });
        }
        let mut out = Vec::with_capacity(3 + mirrored.param_headers.len());
        out.push((headers::PROTOCOL_VERSION.into(), version));
        let method = match Method::parse(method) {
            Some(method) => method.as_str().into(),
            None => method.to_owned().into(),
        };
        out.push((headers::METHOD.into(), method));
        if let Some(name) = mirrored.name {
            let name = headers::encode_value(name).into_owned();
            out.push((headers::NAME.into(), name.into()));
        }
        for (name, value) in mirror_param_headers(mirrored.param_headers, mirrored.arguments)? {
            out.push((name.to_owned().into(), value.into()));
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use turnbuckle_types::RequestId;
    use turnbuckle_wire::era::{RequestAdditions, write_request};

    use super::*;

    #[test]
    fn raw_params_are_sent_unchanged() {
        let added = RequestAdditions {
            progress: true,
            ..RequestAdditions::default()
        };
        for (given, sent) in [
            (
                r#"{"z": [1, 2], "a": 1.50, "C:\\dir": {"b": 1, "a": 2}}"#,
                r#"{"z":[1, 2],"a":1.50,"C:\\dir":{"b": 1, "a": 2},"_meta":{"progressToken":7}}"#,
            ),
            (
                r#"{"twice":1,"_m\u0065ta":{"x":1},"twice":2}"#,
                r#"{"twice":1,"_meta":{"x":1,"progressToken":7},"twice":2}"#,
            ),
            ("{}", r#"{"_meta":{"progressToken":7}}"#),
        ] {
            let given: RawObject = serde_json::from_str(given).unwrap();
            let (id, features) = (RequestId::from(7), Revision::NEWEST.features());
            let frame = write_request(&id, "x/y", Some(&RawParams(given)), features, added);
            let frame = String::from_utf8(frame.unwrap()).unwrap();
            let expected = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x/y","params":{sent}}}"#);
            assert_eq!(frame, expected);
        }
    }
}
