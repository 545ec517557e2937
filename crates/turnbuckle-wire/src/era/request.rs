//! A request on its way to a server: its parameters as the server's revision knows them, with what
//! the envelope adds.
//!
//! Specification: basic/index, "`_meta`" (2026-07-28).

use serde::Serialize;
use turnbuckle_types::meta as meta_key;
use turnbuckle_types::{ClientCapabilities, Implementation, LogLevel, RequestId};

use super::Project;
use crate::json::{self, Additions, Unwritable};
use crate::revision::{Features, Revision};
use crate::rpc;

/// What every modern request of one client says, encoded once.
#[derive(Debug, Clone)]
pub struct Envelope {
    version: Vec<u8>,
    info: Vec<u8>,
    capabilities: Vec<u8>,
}

impl Envelope {
    /// The envelope of a client that speaks `revision`, without what that lacks.
    ///
    /// # Errors
    /// When what the client says of itself has no JSON form.
    pub fn new(
        revision: Revision,
        info: &Implementation,
        capabilities: &ClientCapabilities,
    ) -> Result<Self, Unwritable> {
        let features = revision.features();
        Ok(Self {
            version: json::to_vec(revision.as_str())?,
            info: laid(info, features)?,
            capabilities: laid(capabilities, features)?,
        })
    }
}

fn laid<T: Serialize + Project + Clone>(
    said: &T,
    features: &Features,
) -> Result<Vec<u8>, Unwritable> {
    if said.fits(features) {
        return json::to_vec(said);
    }
    let mut less = said.clone();
    less.project(features);
    json::to_vec(&less)
}

/// What is added to the parameters of one request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Added<'a> {
    /// Who asks, in the modern era.
    pub envelope: Option<&'a Envelope>,
    /// Whether progress is to be told, under the request's own id.
    pub progress: bool,
    /// From which level on log messages are wanted, where a request says so.
    pub log_level: Option<LogLevel>,
}

/// A request as a frame. What `features` lack is not said; members of `_meta` that the parameters
/// have themselves stay.
///
/// # Errors
/// When `params` have no JSON form, or are no object.
pub fn write_request<P>(
    id: &RequestId,
    method: &str,
    params: Option<&P>,
    features: &Features,
    added: Added<'_>,
) -> Result<Vec<u8>, Unwritable>
where
    P: Serialize + Project + Clone,
{
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
    let mut meta: [(&'static str, &[u8]); 5] = [("", &[]); 5];
    let mut count = 0;
    let mut add = |name, value| {
        meta[count] = (name, value);
        count += 1;
    };
    if let Some(envelope) = added.envelope {
        add(meta_key::PROTOCOL_VERSION, &*envelope.version);
        add(meta_key::CLIENT_INFO, &*envelope.info);
        add(meta_key::CLIENT_CAPABILITIES, &*envelope.capabilities);
    }
    if !token.is_empty() {
        add(meta_key::PROGRESS_TOKEN, token);
    }
    if !level.is_empty() {
        add(meta_key::LOG_LEVEL, &*level);
    }
    let additions = Additions {
        members: &[],
        meta: &meta[..count],
    };

    let mut out = Vec::with_capacity(512);
    rpc::request_head(&mut out, id, method);
    match params {
        Some(params) => {
            out.extend_from_slice(b",\"params\":");
            if params.fits(features) {
                json::write_object(&mut out, params, additions)?;
            } else {
                let mut older = params.clone();
                older.project(features);
                json::write_object(&mut out, &older, additions)?;
            }
        }
        None if count == 0 => {}
        None => {
            out.extend_from_slice(b",\"params\":{");
            additions.append_all(&mut out);
            out.push(b'}');
        }
    }
    out.push(b'}');
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use turnbuckle_types::{CallToolParams, PaginatedParams};

    use super::*;

    fn envelope() -> Envelope {
        let capabilities = ClientCapabilities::new();
        Envelope::new(
            Revision::NEWEST,
            &Implementation::new("c", "1"),
            &capabilities,
        )
        .unwrap()
    }

    fn written<P: Serialize + Project + Clone>(
        params: Option<&P>,
        revision: Revision,
        added: Added<'_>,
    ) -> Value {
        let frame = write_request(&7.into(), "m", params, revision.features(), added).unwrap();
        let mut message: Value = serde_json::from_slice(&frame).unwrap();
        assert_eq!(message["id"], 7);
        assert_eq!(message["method"], "m");
        message["params"].take()
    }

    #[test]
    fn a_modern_request_carries_its_envelope_beside_what_its_author_said() {
        let envelope = envelope();
        let added = Added {
            envelope: Some(&envelope),
            progress: true,
            log_level: Some(LogLevel::Info),
        };
        let mut params: CallToolParams =
            serde_json::from_str(r#"{"name":"t","_meta":{"com.example/a":1}}"#).unwrap();
        let expected = json!({
            "com.example/a": 1,
            "progressToken": 7,
            "io.modelcontextprotocol/protocolVersion": Revision::NEWEST.as_str(),
            "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/logLevel": "info",
        });
        let told = written(Some(&params), Revision::NEWEST, added);
        assert_eq!(told["_meta"], expected);
        assert_eq!(told["name"], "t");

        params.meta = turnbuckle_types::Meta::new();
        let told = written(Some(&params), Revision::NEWEST, added);
        assert_eq!(told["_meta"].as_object().unwrap().len(), 5);
        let nothing: Option<&PaginatedParams> = None;
        let told = written(nothing, Revision::NEWEST, added);
        assert_eq!(told["_meta"].as_object().unwrap().len(), 5);
    }

    #[test]
    fn a_legacy_request_says_no_more_than_it_has_to() {
        let added = Added {
            log_level: Some(LogLevel::Info),
            ..Added::default()
        };
        let nothing: Option<&PaginatedParams> = None;
        assert_eq!(
            written(nothing, Revision::NEWEST_LEGACY, added),
            Value::Null
        );
        let progress = Added {
            progress: true,
            ..added
        };
        assert_eq!(
            written(nothing, Revision::NEWEST_LEGACY, progress),
            json!({"_meta": {"progressToken": 7}})
        );
    }
}
