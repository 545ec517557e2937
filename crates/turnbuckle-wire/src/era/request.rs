//! Requests as bytes: the parameters in the revision of the server, with the envelope.
//!
//! Specification: basic/index, "`_meta`" (2026-07-28).

use serde::Serialize;
use turnbuckle_types::meta as meta_key;
use turnbuckle_types::{ClientCapabilities, Implementation, LoggingLevel, RequestId};

use super::Project;
use super::project::project_copy;
use crate::json::{self, Additions, WriteError};
use crate::revision::{Features, Revision};
use crate::rpc;

/// The envelope of one client's modern requests, encoded once.
#[derive(Debug, Clone)]
pub struct RequestEnvelope {
    version: Vec<u8>,
    info: Vec<u8>,
    capabilities: Vec<u8>,
}

impl RequestEnvelope {
    /// Returns the envelope of a client in `revision`, without members that the revision lacks.
    ///
    /// # Errors
    /// If the name or the capabilities of the client have no JSON form.
    pub fn new(
        revision: Revision,
        info: &Implementation,
        capabilities: &ClientCapabilities,
    ) -> Result<Self, WriteError> {
        let features = revision.features();
        Ok(Self {
            version: json::to_vec(revision.as_str())?,
            info: json::to_vec(&*project_copy(info, features))?,
            capabilities: json::to_vec(&*project_copy(capabilities, features))?,
        })
    }
}

/// The members that are added to the parameters of one request.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestAdditions<'a> {
    /// The envelope, in the modern era.
    pub envelope: Option<&'a RequestEnvelope>,
    /// The capabilities of the client that the request is for, as JSON, instead of those of the envelope.
    pub capabilities: Option<&'a str>,
    /// `true` to ask for progress, with the request's own id as the token.
    pub progress: bool,
    /// The least level of log messages, in revisions where each request states it.
    pub log_level: Option<LoggingLevel>,
    /// The members of `_meta` for the trace that the request belongs to, three at most, with their
    /// values as JSON.
    pub trace: &'a [(&'static str, Vec<u8>)],
}

/// The parameters of a request, of any type, so that one function writes them all.
pub trait WriteParams: Sync {
    /// Appends the parameters as JSON, with `additions` and without members that `features` lack.
    ///
    /// # Errors
    /// When the parameters have no JSON form, or are no object.
    fn write(
        &self,
        out: &mut Vec<u8>,
        features: &Features,
        additions: Additions<'_>,
    ) -> Result<(), WriteError>;
}

impl<P: Serialize + Project + Clone + Sync> WriteParams for P {
    fn write(
        &self,
        out: &mut Vec<u8>,
        features: &Features,
        additions: Additions<'_>,
    ) -> Result<(), WriteError> {
        json::write_object(out, &*project_copy(self, features), additions)
    }
}

/// Returns a request as a frame, without members that `features` lack. Members of `_meta` that the
/// parameters have themselves stay.
///
/// # Errors
/// When `params` have no JSON form, or are no object.
pub fn write_request(
    id: &RequestId,
    method: &str,
    params: Option<&dyn WriteParams>,
    features: &Features,
    added: RequestAdditions<'_>,
) -> Result<Vec<u8>, WriteError> {
    let (mut digits, text);
    let token: &[u8] = match (added.progress, id) {
        (false, _) => &[],
        (true, RequestId::Int(number)) => {
            digits = itoa::Buffer::new();
            digits.format(*number).as_bytes()
        }
        (true, id) => {
            text = json::to_vec(id)?;
            &text
        }
    };
    let level = match added.log_level.filter(|_| features.log_by_request) {
        Some(level) => json::to_vec(&level)?,
        None => Vec::new(),
    };
    let mut meta: [(&'static str, &[u8]); 8] = [("", &[]); 8];
    let mut count = 0;
    let mut add = |name, value| {
        meta[count] = (name, value);
        count += 1;
    };
    if let Some(envelope) = added.envelope {
        add(meta_key::PROTOCOL_VERSION, &*envelope.version);
        add(meta_key::CLIENT_INFO, &*envelope.info);
        let capabilities = added.capabilities.map(str::as_bytes);
        add(
            meta_key::CLIENT_CAPABILITIES,
            capabilities.unwrap_or(&envelope.capabilities),
        );
    }
    if !token.is_empty() {
        add(meta_key::PROGRESS_TOKEN, token);
    }
    if !level.is_empty() {
        add(meta_key::LOG_LEVEL, &*level);
    }
    for (name, value) in added.trace.iter().take(3) {
        add(name, value);
    }
    let additions = Additions {
        members: &[],
        meta: &meta[..count],
    };

    let mut out = Vec::with_capacity(512);
    rpc::write_request_head(&mut out, id, method);
    match params {
        Some(params) => {
            out.extend_from_slice(b",\"params\":");
            params.write(&mut out, features, additions)?;
        }
        None if count == 0 => {}
        None => {
            out.extend_from_slice(b",\"params\":{");
            additions.append_to_empty(&mut out);
            out.push(b'}');
        }
    }
    out.push(b'}');
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use turnbuckle_types::CallToolRequestParams;

    use super::*;

    fn envelope() -> RequestEnvelope {
        let capabilities = ClientCapabilities::new();
        RequestEnvelope::new(
            Revision::NEWEST,
            &Implementation::new("c", "1"),
            &capabilities,
        )
        .unwrap()
    }

    fn written(
        params: Option<&dyn WriteParams>,
        revision: Revision,
        added: RequestAdditions<'_>,
    ) -> Value {
        let frame = write_request(&7.into(), "m", params, revision.features(), added).unwrap();
        let mut message: Value = serde_json::from_slice(&frame).unwrap();
        assert_eq!(message["id"], 7);
        assert_eq!(message["method"], "m");
        message["params"].take()
    }

    #[test]
    fn a_modern_request_has_its_envelope_beside_its_own_meta() {
        let envelope = envelope();
        let added = RequestAdditions {
            envelope: Some(&envelope),
            capabilities: None,
            progress: true,
            log_level: Some(LoggingLevel::Info),
            trace: &[
                ("traceparent", br#""00-1-2-01""#.to_vec()),
                ("tracestate", br#""a=1""#.to_vec()),
            ],
        };
        let mut params: CallToolRequestParams =
            serde_json::from_str(r#"{"name":"t","_meta":{"com.example/a":1}}"#).unwrap();
        let expected = json!({
            "com.example/a": 1,
            "progressToken": 7,
            "traceparent": "00-1-2-01",
            "tracestate": "a=1",
            "io.modelcontextprotocol/protocolVersion": Revision::NEWEST.as_str(),
            "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/logLevel": "info",
        });
        let params_json = written(Some(&params), Revision::NEWEST, added);
        assert_eq!(params_json["_meta"], expected);
        assert_eq!(params_json["name"], "t");

        params.meta = turnbuckle_types::Meta::new();
        let params_json = written(Some(&params), Revision::NEWEST, added);
        assert_eq!(params_json["_meta"].as_object().unwrap().len(), 7);
        let params_json = written(None, Revision::NEWEST, added);
        assert_eq!(params_json["_meta"].as_object().unwrap().len(), 7);

        let added = RequestAdditions {
            capabilities: Some(r#"{"roots":{}}"#),
            ..added
        };
        let params_json = written(Some(&params), Revision::NEWEST, added);
        let declared = &params_json["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert_eq!(*declared, json!({"roots": {}}));
    }

    #[test]
    fn a_legacy_request_says_no_more_than_it_has_to() {
        let added = RequestAdditions {
            log_level: Some(LoggingLevel::Info),
            ..RequestAdditions::default()
        };
        assert_eq!(written(None, Revision::NEWEST_LEGACY, added), Value::Null);
        let progress = RequestAdditions {
            progress: true,
            ..added
        };
        assert_eq!(
            written(None, Revision::NEWEST_LEGACY, progress),
            json!({"_meta": {"progressToken": 7}})
        );
    }
}
