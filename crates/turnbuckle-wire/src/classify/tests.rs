use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::era::MetaFields;
use crate::revision::Revision;
use crate::rpc::{DecodeErrorKind, decode_strict};

/// Returns a classification as text, because messages have no equality.
fn classify_text(frame: &[u8], header: VersionHeader<'_>) -> String {
    format!("{:?}", classify(frame, header))
}

/// Returns the classification without the fast path: the first character decides what is a batch,
/// and the strict decoder what is a message.
fn strictly(frame: &[u8], header: VersionHeader<'_>) -> String {
    let kind = match std::str::from_utf8(frame) {
        Err(_) => FrameKind::Invalid(DecodeError::not_utf8()),
        Ok(text) if text.trim_matches([' ', '\t', '\n', '\r']).starts_with('[') => {
            FrameKind::Batch(text)
        }
        Ok(text) => match decode_strict::<Params<'_>>(text) {
            Err(error) => FrameKind::Invalid(error),
            Ok(message) => {
                let era = expected_era(&message, header);
                FrameKind::Message { text, message, era }
            }
        },
    };
    format!("{kind:?}")
}

fn expected_era(message: &Message<'_, Params<'_>>, header: VersionHeader<'_>) -> MessageEra {
    let of = |method: &str, params| message_era(header, method, params);
    match (message, header) {
        (Message::Request(request), _) => of(&request.method, &request.params),
        (Message::Notification(_), VersionHeader::NotApplicable) => MessageEra::Legacy,
        (Message::Notification(note), VersionHeader::Http(_)) => of(&note.method, &note.params),
        (Message::Response(_), VersionHeader::Http(NamedRevision::Modern(revision))) => {
            MessageEra::Modern(revision)
        }
        (Message::Response(_), _) => MessageEra::Legacy,
    }
}

fn headers() -> [VersionHeader<'static>; 5] {
    [
        VersionHeader::NotApplicable,
        VersionHeader::Http(NamedRevision::None),
        VersionHeader::Http(NamedRevision::Legacy(Revision::NEWEST_LEGACY)),
        VersionHeader::Http(NamedRevision::Modern(Revision::NEWEST)),
        VersionHeader::Http(NamedRevision::Unknown("2020-01-01")),
    ]
}

/// Makes members of messages: mostly of the right type, sometimes of any other.
fn member() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        Just("1".to_owned()),
        Just("null".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
        Just("\"x\"".to_owned()),
        Just("\"\\u0070ing\"".to_owned()),
        Just("{\"a\":1,\"a\":2}".to_owned()),
        Just("{\"name\":\"x\",\"name\":\"y\"}".to_owned()),
        Just(r#"{"code":-32601,"message":"no"}"#.to_owned()),
        (0usize..4).prop_map(|depth| "[".repeat(depth * 60) + &"]".repeat(depth * 60)),
    ];
    let name = prop_oneof![
        Just("jsonrpc"),
        Just("id"),
        Just("method"),
        Just("params"),
        Just("result"),
        Just("error"),
        Just("\\u0069d"),
        Just("other"),
    ];
    let usual = prop_oneof![
        Just(r#""jsonrpc":"2.0""#),
        Just(r#""jsonrpc": "2.0""#),
        Just(r#""jsonrpc":"1.0""#),
        Just(r#""id":7"#),
        Just(r#""id":"seven""#),
        Just(r#""method":"tools/call""#),
        Just(r#""method":"server/discover""#),
        Just(r#""method":"notifications/initialized""#),
        Just(r#""params":{"name":"add","arguments":{"a":1}}"#),
        Just(r#""params":{"_meta":{"progressToken":1}}"#),
        Just(
            r#""params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#
        ),
        Just(
            r#""params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":[]}}"#
        ),
        Just(r#""result":{"content":[]}"#),
        Just(r#""error":{"code":1,"message":"m"}"#),
    ];
    prop_oneof![
        4 => usual.prop_map(str::to_owned),
        1 => (name, value).prop_map(|(name, value)| format!("\"{name}\":{value}")),
    ]
}

fn message() -> impl Strategy<Value = String> {
    let blank = prop_oneof![4 => Just(""), 1 => Just("\t"), 1 => Just(" \n"), 1 => Just("\r")];
    let begun = any::<bool>();
    let members = proptest::collection::vec((member(), blank.clone()), 0..6);
    (blank.clone(), begun, members, blank).prop_map(|(before, begun, members, after)| {
        let mut list: Vec<String> = members
            .iter()
            .map(|(member, blank)| format!("{blank}{member}"))
            .collect();
        if begun {
            list.insert(0, r#""jsonrpc":"2.0""#.to_owned());
        }
        format!("{before}{{{}}}{after}", list.join(","))
    })
}

fn frame() -> impl Strategy<Value = Vec<u8>> {
    let blank = prop_oneof![
        Just(""),
        Just(" "),
        Just("\t"),
        Just("\n"),
        Just("\r\n"),
        Just("\u{c}"),
        Just("\u{a0}"),
    ];
    let batch = (blank, proptest::collection::vec(message(), 0..3))
        .prop_map(|(blank, list)| format!("{blank}[{}]", list.join(",")).into_bytes());
    let mutated =
        (message(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(message, at, byte)| {
            let mut bytes = message.into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes
        });
    let cut = (message(), any::<prop::sample::Index>()).prop_map(|(message, at)| {
        let mut bytes = message.into_bytes();
        bytes.truncate(at.index(bytes.len()));
        bytes
    });
    prop_oneof![
        4 => message().prop_map(String::into_bytes),
        1 => batch,
        2 => mutated,
        1 => cut,
        1 => proptest::collection::vec(any::<u8>(), 0..24),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn classification_equals_the_strict_decoder(frame in frame()) {
        for header in headers() {
            prop_assert_eq!(classify_text(&frame, header), strictly(&frame, header));
        }
    }
}

#[test]
fn batch_is_recognized_after_any_json_white_space_only() {
    for blank in ["", " ", "\t", "\n", "\r", " \t\r\n "] {
        let frame = format!("{blank}[]");
        let kind = classify(frame.as_bytes(), VersionHeader::NotApplicable);
        assert!(
            matches!(kind, FrameKind::Batch(text) if text == frame),
            "{blank:?}"
        );
    }
    for odd in ["\u{c}[]", "\u{a0}[]", "\u{feff}[]"] {
        let kind = classify(odd.as_bytes(), VersionHeader::NotApplicable);
        assert!(
            matches!(kind, FrameKind::Invalid(error) if error.kind == DecodeErrorKind::ParseError),
            "{odd:?}"
        );
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_a_parse_error() {
    let kind = classify(
        b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}",
        VersionHeader::NotApplicable,
    );
    let FrameKind::Invalid(error) = kind else {
        panic!("{kind:?}");
    };
    assert_eq!(error.kind, DecodeErrorKind::ParseError);
    assert_eq!(error.id, None);
}

#[test]
fn envelope_is_judged_for_requests_and_with_a_header_for_notifications() {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{{meta}}}}}"#);
    let notification = format!(r#"{{"jsonrpc":"2.0","method":"n","params":{{{meta}}}}}"#);
    let response = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let newest = VersionHeader::Http(NamedRevision::Modern(Revision::NEWEST));
    let none = VersionHeader::NotApplicable;
    let is_modern = |frame: &str, header| match classify(frame.as_bytes(), header) {
        FrameKind::Message {
            era: MessageEra::Modern(revision),
            ..
        } => revision == Revision::NEWEST,
        FrameKind::Message {
            era: MessageEra::Legacy,
            ..
        } => false,
        kind => panic!("{kind:?}"),
    };
    assert!(is_modern(&request, none) && is_modern(&request, newest));
    assert!(!is_modern(&notification, none) && is_modern(&notification, newest));
    assert!(!is_modern(response, none) && is_modern(response, newest));
}

#[test]
fn parameters_are_captured() {
    let frame = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","_meta":{"progressToken":4}}}"#;
    let kind = classify(frame, VersionHeader::NotApplicable);
    let FrameKind::Message {
        message: Message::Request(request),
        ..
    } = kind
    else {
        panic!("{kind:?}");
    };
    let MetaFields { progress_token, .. } = request.params.meta;
    assert_eq!(progress_token.map(|raw| raw.as_str()), Some("4"));
    let name: Option<Value> = request.params.name.and_then(|raw| raw.decode().ok());
    assert_eq!(name, Some("add".into()));
}
