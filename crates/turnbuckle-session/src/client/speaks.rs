//! How a client speaks to its server: the revision, and what every request of it says.

use std::fmt;

use serde::ser::{Serialize, Serializer};
use turnbuckle_types::{ClientCapabilities, Error, Implementation, RawJson, RawObject};
use turnbuckle_wire::era::headers::{self, mirror_params};
use turnbuckle_wire::era::{Envelope, ParamHeader, Project};
use turnbuckle_wire::json::Unwritable;
use turnbuckle_wire::revision::{Features, Method, Party, Revision};

use crate::client::link::Header;

/// The revision in which requests are made, and the envelope of those of the modern era.
#[derive(Debug, Clone)]
pub struct Speaks {
    features: &'static Features,
    envelope: Option<Envelope>,
}

/// Whether `revision` has a core method of that spelling as one that servers get. A method that is
/// not of the core is not judged.
#[must_use]
pub fn reaches_server(method: &str, revision: Revision) -> bool {
    Method::parse(method).is_none_or(|method| method.reaches(Party::Server, revision))
}

/// Parameters that are sent as they are, whatever the revision.
#[derive(Clone)]
pub struct Verbatim(pub RawObject);

impl Serialize for Verbatim {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl fmt::Debug for Verbatim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verbatim")
            .field("bytes", &self.0.as_str().len())
            .finish_non_exhaustive()
    }
}

impl Project for Verbatim {
    fn fits(&self, _: &Features) -> bool {
        true
    }

    fn project(&mut self, _: &Features) {}
}

/// What a request is about, for the headers that mirror it.
#[derive(Clone, Copy, Default)]
pub struct About<'a> {
    /// The tool's or prompt's name, or the resource's URI.
    pub name: Option<&'a str>,
    /// The arguments of the tool that headers mirror.
    pub mirrored: &'a [ParamHeader],
    /// The tool's arguments.
    pub arguments: Option<RawJson<'a>>,
}

impl fmt::Debug for About<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("About")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Speaks {
    /// Speaks a revision of the modern era: every request says who asks, and what they can do.
    ///
    /// # Errors
    /// When that has no JSON form.
    pub fn modern(
        revision: Revision,
        info: &Implementation,
        capabilities: &ClientCapabilities,
    ) -> Result<Self, Unwritable> {
        Ok(Self {
            features: revision.features(),
            envelope: Some(Envelope::new(revision, info, capabilities)?),
        })
    }

    /// Speaks a revision of the legacy era, as a handshake negotiated it.
    #[must_use]
    pub fn legacy(revision: Revision) -> Self {
        Self {
            features: revision.features(),
            envelope: None,
        }
    }

    /// What holds in the revision.
    #[must_use]
    pub fn features(&self) -> &'static Features {
        self.features
    }

    pub(crate) fn envelope(&self) -> Option<&Envelope> {
        self.envelope.as_ref()
    }

    /// The headers that a binding with headers shows of a message.
    pub(crate) fn headers(&self, method: &str, about: About<'_>) -> Result<Vec<Header>, Error> {
        let version = self.features.revision.as_str().into();
        if self.envelope.is_none() {
            // A handshake negotiates the revision: before it there is none to name.
            let opens = method == Method::Initialize.as_str();
            return Ok(match opens {
                true => Vec::new(),
                false => vec![(headers::PROTOCOL_VERSION.into(), version)],
            });
        }
        let mut out = Vec::with_capacity(3 + about.mirrored.len());
        out.push((headers::PROTOCOL_VERSION.into(), version));
        let method = match Method::parse(method) {
            Some(method) => method.as_str().into(),
            None => method.to_owned().into(),
        };
        out.push((headers::METHOD.into(), method));
        if let Some(name) = about.name {
            let name = headers::encode_value(name).into_owned();
            out.push((headers::NAME.into(), name.into()));
        }
        for (name, value) in mirror_params(about.mirrored, about.arguments)? {
            out.push((name.to_owned().into(), value.into()));
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use turnbuckle_types::RequestId;
    use turnbuckle_wire::era::{Added, write_request};

    use super::*;

    #[test]
    fn parameters_are_sent_as_they_are() {
        let added = Added {
            progress: true,
            ..Added::default()
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
            let frame = write_request(&id, "x/y", Some(&Verbatim(given)), features, added);
            let frame = String::from_utf8(frame.unwrap()).unwrap();
            let expected = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x/y","params":{sent}}}"#);
            assert_eq!(frame, expected);
        }
    }
}
