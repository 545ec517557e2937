//! The envelope: which era a message belongs to, and whether its headers say what it says.

use std::sync::LazyLock;

use turnbuckle_types::{ErrorKind, RawJson, Schema};
use turnbuckle_wire::era::headers::{self, HeaderValues};
use turnbuckle_wire::era::{
    MessageEra, NamedRevision, ParamHeader, Params, VersionHeader, message_era, param_headers,
};
use turnbuckle_wire::revision::{EraKind, Method};
use turnbuckle_wire::rpc::{self, Message};

use super::written::Written;

/// Runs the target on `input`: a request with headers and a body; see `Written`.
pub fn envelope(input: &[u8]) {
    let request = Written::read(input);
    for (_, value) in &request.headers {
        if let Ok(text) = headers::decode_value(value) {
            check_header_value(&text);
        }
    }
    let Some(body) = request.text() else { return };
    check_header_value(body);
    let (method, params) = match rpc::decode::<Params<'_>>(body) {
        Ok(Message::Request(request)) => (request.method, request.params),
        Ok(Message::Notification(notification)) => (notification.method, notification.params),
        Ok(Message::Response(_)) | Err(_) => return,
    };
    let version = request.values(headers::PROTOCOL_VERSION).next();
    let version = version.map(|version| std::str::from_utf8(version).unwrap_or_default());
    judge(&method, &params, version);
    judge(&method, &params, None);
    check_mirroring(&method, &params, &request);
    arguments(&params, &request);
}

/// Asserts that every text survives a header.
fn check_header_value(text: &str) {
    let value = headers::encode_value(text);
    let visible = |byte| matches!(byte, b' '..=b'~');
    assert!(
        value.bytes().all(visible),
        "{value:?} cannot be a header's value"
    );
    let decoded = headers::decode_value(value.as_bytes());
    assert_eq!(decoded.as_deref(), Ok(text));
}

/// Checks the era that a message is given against the rules of its table.
pub(super) fn judge(method: &str, params: &Params<'_>, version: Option<&str>) {
    let meta = &params.meta;
    let named = meta.protocol_version.and_then(RawJson::text);
    let envelope = NamedRevision::parse(named.as_deref());
    let mark = NamedRevision::parse(version);
    for header in [VersionHeader::NotApplicable, VersionHeader::Http(mark)] {
        let modern_header = matches!(header, VersionHeader::Http(NamedRevision::Modern(_)));
        match message_era(header, method, params) {
            MessageEra::Legacy => {
                assert!(!meta.marks_modern_era() && !modern_header);
                assert_ne!(method, Method::Discover.as_str());
            }
            MessageEra::Modern(revision) => {
                assert_eq!(revision.features().era, EraKind::Modern);
                assert_eq!(envelope, NamedRevision::Modern(revision));
                assert!(matches!(header, VersionHeader::NotApplicable) || mark == envelope);
                let capabilities = meta.client_capabilities.expect("capabilities");
                assert!(capabilities.is_object());
            }
            MessageEra::Invalid(error) => match error.kind() {
                ErrorKind::HeaderMismatch => assert!(header == VersionHeader::Http(mark)),
                ErrorKind::UnsupportedProtocolVersion { requested, .. } => {
                    assert_eq!(*requested, named.as_deref().unwrap_or_default());
                    assert!(!matches!(envelope, NamedRevision::Modern(_)));
                }
                ErrorKind::InvalidEnvelope => {}
                other => panic!("{other:?}"),
            },
        }
    }
}

/// Asserts that the headers our client would send are accepted and that all others are a mismatch.
fn check_mirroring(method: &str, params: &Params<'_>, request: &Written<'_>) {
    let name = Method::parse(method).and_then(|method| headers::mirrored_name(method, params));
    let found = headers::check_headers(
        method,
        name,
        request
            .values(headers::METHOD)
            .collect::<HeaderValues<'_>>(),
        request.values(headers::NAME).collect::<HeaderValues<'_>>(),
    );
    if let Err(error) = found {
        assert_eq!(*error.kind(), ErrorKind::HeaderMismatch);
    }
    let Some(member) = name else {
        return;
    };
    let ours = member.and_then(RawJson::text);
    let value = ours.as_deref().map(headers::encode_value);
    let value = value.as_deref().map(str::as_bytes);
    let accepted = headers::check_headers(method, name, Some(method.as_bytes()), value);
    assert_eq!(accepted.is_ok(), ours.is_some(), "{accepted:?}");
}

/// Checks the headers of a tool's arguments as [`check_mirroring`] does for the standard ones.
fn arguments(params: &Params<'_>, request: &Written<'_>) {
    static DECLARED: LazyLock<Vec<ParamHeader>> = LazyLock::new(|| {
        let schema = r#"{"type":"object","properties":{
            "text":{"type":"string","x-mcp-header":"Text"},
            "count":{"type":"integer","x-mcp-header":"Count"},
            "inner":{"type":"object","properties":{
                "yes":{"type":"boolean","x-mcp-header":"Yes"},
                "text":{"type":"string","x-mcp-header":"Inner"}}}}}"#;
        let schema: Schema = schema.parse().expect("a schema");
        param_headers(&schema).expect("headers that can be")
    });

    let found = headers::check_param_headers(&DECLARED, params.arguments, |name| {
        request.values(name).collect()
    });
    if let Err(error) = found {
        assert_eq!(*error.kind(), ErrorKind::HeaderMismatch);
    }
    let Ok(ours) = headers::mirror_param_headers(&DECLARED, params.arguments) else {
        return;
    };
    let accepted = headers::check_param_headers(&DECLARED, params.arguments, |name| {
        let value = ours.iter().find(|(other, _)| *other == name);
        HeaderValues::from(value.map(|(_, value)| value.as_bytes()))
    });
    accepted.expect("what we mirror is what we accept");
}
