use std::collections::BTreeMap;

use proptest::prelude::*;
use turnbuckle_types::RawJson;

use super::*;
use crate::era::Params;
use crate::json::Reader;

type Raw<'a> = Option<RawJson<'a>>;

impl<'a> Capture<'a> for Raw<'a> {
    fn read(from: &mut Reader<'a>) -> Option<Self> {
        from.value().map(Some)
    }
}

type Object = BTreeMap<String, IgnoredAny>;

impl Capture<'_> for Object {
    fn read(_: &mut Reader<'_>) -> Option<Self> {
        None
    }
}

fn refusal(text: &str) -> DecodeError {
    decode::<Raw<'_>>(text).expect_err(text)
}

#[test]
fn no_parameter_may_be_repeated() {
    let params = |members: &str| {
        let method = r#""method":"tools/call""#;
        format!(r#"{{"jsonrpc":"2.0","id":1,{method},"params":{{{members}}}}}"#)
    };
    for name in [
        "name",
        "uri",
        "arguments",
        "cursor",
        "requestState",
        "_meta",
    ] {
        let member = format!(r#""{name}":{{}}"#);
        let once = params(&member);
        assert!(decode::<Params<'_>>(&once).is_ok(), "{once}");
        let twice = params(&format!("{member},{member}"));
        let refusal = decode::<Params<'_>>(&twice).expect_err(&twice);
        assert_eq!(refusal.kind, DecodeErrorKind::InvalidParams, "{name}");
        assert!(refusal.message.contains("named twice"), "{name}");
    }
}

#[test]
fn the_present_fields_tell_the_kind() {
    let request = decode::<Raw<'_>>(r#"{"params":{"a":1},"id":"x","method":"m","jsonrpc":"2.0"}"#);
    match request.unwrap() {
        Message::Request(request) => {
            assert_eq!(request.id, RequestId::from("x"));
            assert_eq!(request.method, "m");
            assert_eq!(request.params.unwrap().as_str(), r#"{"a":1}"#);
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        decode::<Raw<'_>>(r#"{"jsonrpc":"2.0","method":"m"}"#).unwrap(),
        Message::Notification(_)
    ));
    assert!(matches!(
        decode::<Raw<'_>>(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).unwrap(),
        Message::Response(Response {
            id: Some(_),
            outcome: Ok(_)
        })
    ));
    assert!(matches!(
        decode::<Raw<'_>>(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}"#)
            .unwrap(),
        Message::Response(Response {
            id: None,
            outcome: Err(_)
        })
    ));
}

#[test]
fn invalid_json_is_a_parse_error() {
    for text in [
        "",
        "{",
        "nonsense",
        r#"{"jsonrpc":"2.0"} trailing"#,
        "\u{1}",
    ] {
        assert_eq!(refusal(text).kind, DecodeErrorKind::ParseError, "{text:?}");
    }
}

#[test]
fn an_invalid_message_is_refused_with_its_id_if_it_has_one() {
    for (text, id) in [
        (r"{}", None),
        (r"1", None),
        (r"null", None),
        (r#""x""#, None),
        (r#"{"jsonrpc":"2.0","id":1}"#, None),
        (
            r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#,
            Some(RequestId::from(1)),
        ),
        (r#"{"id":1,"method":"m"}"#, Some(RequestId::from(1))),
        (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, None),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, None),
        (r#"{"jsonrpc":"2.0","id":1e3,"method":"m"}"#, None),
        (r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, None),
        (r#"{"jsonrpc":"2.0","id":[],"method":"m"}"#, None),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
            Some(RequestId::from(1)),
        ),
        (
            r#"{"method":{"a":"b"},"params":[],"id":"x","jsonrpc":"2.0"}"#,
            Some(RequestId::from("x")),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#,
            Some(RequestId::from(1)),
        ),
        (r#"{"jsonrpc":"2.0","method":5}"#, None),
        (r#"{"jsonrpc":"2.0","id":[],"method":5}"#, None),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#, None),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#,
            None,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#,
            Some(RequestId::from(1)),
        ),
        (r#"{"jsonrpc":"2.0","result":{}}"#, None),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":""}}"#,
            None,
        ),
    ] {
        let refusal = refusal(text);
        assert_eq!(
            (refusal.kind, refusal.id),
            (DecodeErrorKind::InvalidRequest, id),
            "{text}"
        );
    }
}

#[test]
fn parameters_that_are_not_an_object_are_invalid() {
    for params in ["[]", "5", "\"x\""] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{params}}}"#);
        let refusal = decode::<Object>(&text).map(|_| ()).expect_err(&text);
        assert_eq!(
            (refusal.kind, refusal.id),
            (DecodeErrorKind::InvalidParams, Some(RequestId::from(7)))
        );
        let text = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{params}}}"#);
        let refusal = decode::<Object>(&text).map(|_| ()).expect_err(&text);
        assert_eq!(
            (refusal.kind, refusal.id),
            (DecodeErrorKind::InvalidNotification, None)
        );
    }
}

#[test]
fn a_message_whose_method_is_not_a_string_is_invalid() {
    for (text, id) in [
        (
            r#"{"jsonrpc":"2.0","id":7,"method":5,"params":[]}"#,
            Some(RequestId::from(7)),
        ),
        (r#"{"jsonrpc":"2.0","method":5,"params":[]}"#, None),
    ] {
        let refusal = decode::<Object>(text).map(|_| ()).expect_err(text);
        assert_eq!(
            (refusal.kind, refusal.id),
            (DecodeErrorKind::InvalidRequest, id),
            "{text}"
        );
    }
}

#[test]
fn a_batch_is_split_and_bounded() {
    assert!(is_batch(" \n[1]"));
    assert!(!is_batch("{}"));
    assert_eq!(
        split_batch(" [ {\"a\":1} , 2 ]", 2).unwrap(),
        ["{\"a\":1}", "2"]
    );
    assert_eq!(split_batch("[]", 2).unwrap(), [""; 0]);
    assert_eq!(
        split_batch("[1,2,3]", 2).unwrap_err().kind,
        DecodeErrorKind::InvalidRequest
    );
    assert_eq!(
        split_batch("[1,2", 9).unwrap_err().kind,
        DecodeErrorKind::ParseError
    );
}

/// Generates the members of a plain message, some of them spelled in unusual ways.
fn member_text() -> impl Strategy<Value = String> {
    let value = prop::sample::select(vec![
        "1",
        "-7",
        "\"x\"",
        "\"2.0\"",
        "\"a\\nb\"",
        "\"a\nb\"",
        "\"a\u{1}\"",
        "null",
        "true",
        "1.5",
        "01",
        "{}",
        "[]",
        "[1,{}]",
        "{\"name\":\"echo\",\"arguments\":{\"a\":[1, 2]}}",
        "{\"_meta\":{\"progressToken\":1,\"io.modelcontextprotocol/logLevel\":\"x\"}}",
        "{\"_meta\":null}",
        "{\"_meta\":{},\"_meta\":{\"progressToken\":2}}",
        "{\"cursor\":1,\"cursor\":2}",
        "{\"na\\u006de\":\"y\", \"uri\" : \"z\" }",
        "{",
        "\"",
        "",
    ]);
    let name = prop::sample::select(vec![
        "jsonrpc",
        "id",
        "method",
        "params",
        "result",
        "error",
        "other",
        "meth\\u006fd",
    ]);
    let space = prop::sample::select(vec!["", "", " ", "\n\t"]);
    let member = (name, space.clone(), value)
        .prop_map(|(name, space, value)| format!("{space}\"{name}\"{space}:{space}{value}{space}"));
    let usual = prop::sample::select(vec![
        "",
        "\"jsonrpc\":\"2.0\"",
        "\"jsonrpc\":\"2.0\",\"id\":7",
        "\"jsonrpc\":\"2.0\",\"method\":\"m\"",
        "\"id\":\"i\",\"method\":\"m\",\"jsonrpc\":\"2.0\"",
    ]);
    let members = prop::collection::vec(member, 0..4);
    (usual, members, space).prop_map(|(usual, members, space)| {
        let usual = (!usual.is_empty()).then(|| usual.to_owned());
        let members: Vec<_> = usual.into_iter().chain(members).collect();
        format!("{space}{{{}}}{space}", members.join(","))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_096))]

    #[test]
    fn the_fast_reader_agrees_with_the_complete_one(text in member_text()) {
        if let Some(message) = fast::decode_fast::<Params<'_>>(&text) {
            let careful = decode_strict::<Params<'_>>(&text);
            prop_assert_eq!(format!("{message:?}"), format!("{:?}", careful.expect("a message")));
        }
    }
}

#[test]
fn the_usual_spellings_are_read_quickly() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#,
        r#" { "method" : "m", "id" : "x", "jsonrpc" : "2.0", "params" : { "_meta" : {} } } "#,
        r#"{"jsonrpc":"2.0","method":"m","params":{"name":"n","arguments":{"a":"\""}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":[1,"}"]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":null,"more":[]}"#,
    ] {
        assert!(fast::decode_fast::<Params<'_>>(text).is_some(), "{text}");
    }
}

#[test]
fn the_fast_reader_leaves_unusual_messages_to_the_complete_one() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m"} x"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m",}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m""#,
        r#"{"jsonrpc":"2.0","id":01,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","error":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#,
        r#"{"id":1,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":1,"meth\u006fd":"m"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"\u006d"}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\n\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\u{1},\"a\":1}",
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":1,"name":2}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":null}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{]}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
        r#"{"jsonrpc":"2.0"}"#,
        "{}",
        "[]",
        "",
    ] {
        assert!(fast::decode_fast::<Params<'_>>(text).is_none(), "{text}");
    }
}
