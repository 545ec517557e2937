//! JSON-RPC: what decodes says what the text says, and no valid request is refused.

use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use turnbuckle_types::RawJson;
use turnbuckle_wire::era::{Params, VersionHeader, params};
use turnbuckle_wire::rpc::{
    self, DecodeError, DecodeErrorKind, Message, Notification, Request, RequestId, Response,
};
use turnbuckle_wire::{FrameKind, classify};

use super::envelope::judge;
use super::members::Members;

/// The most messages of a batch.
const MAX_BATCH: usize = 16;

/// Runs the target on `input`: one frame.
pub fn rpc(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    batch(text);
    match rpc::decode::<Params<'_>>(text) {
        Ok(message) => check_decoded(text, &message),
        Err(refusal) => check_refusal(text, &refusal),
    }
}

fn batch(text: &str) {
    let Ok(elements) = rpc::split_batch(text, MAX_BATCH) else {
        let list: Option<Vec<IgnoredAny>> = serde_json::from_str(text).ok();
        assert!(list.is_none_or(|list| list.len() > MAX_BATCH));
        return;
    };
    let kind = classify(text.as_bytes(), VersionHeader::NotApplicable);
    assert!(
        matches!(kind, FrameKind::Batch(_)),
        "a batch that is not taken for one"
    );
    assert!(elements.len() <= MAX_BATCH);
    for element in elements {
        serde_json::from_str::<IgnoredAny>(element).expect("an element is JSON");
    }
}

fn check_decoded(text: &str, message: &Message<'_, Params<'_>>) {
    let members = Members::parse(text).expect("a message is an object");
    assert_eq!(members.get("jsonrpc"), Some("\"2.0\""));
    match message {
        Message::Request(request) => {
            assert_eq!(
                members.get("id").and_then(RequestId::from_json).as_ref(),
                Some(&request.id)
            );
            check_method(&members, &request.method);
            judge(&request.method, &request.params, None);
        }
        Message::Notification(notification) => {
            assert_eq!(members.get("id"), None);
            check_method(&members, &notification.method);
            judge(&notification.method, &notification.params, None);
        }
        Message::Response(_) => assert_eq!(members.get("method"), None),
    }
    written_again(text, message);
}

fn check_method(members: &Members<'_>, method: &str) {
    let text = members.get("method").map(serde_json::from_str::<String>);
    assert_eq!(text.expect("a method").expect("a string"), method);
    assert!(
        members
            .get("params")
            .is_none_or(|params| params.starts_with('{'))
    );
}

/// Asserts that a decoded message can be encoded and decoded again to the same message.
fn written_again(text: &str, message: &Message<'_, Params<'_>>) {
    let params = params::raw_params(text);
    let raw = params.map(RawJson::to_json);
    let frame = match message {
        Message::Request(Request { id, method, .. }) => {
            rpc::encode_request(id, method, raw.as_ref(), &[]).expect("JSON has a JSON form")
        }
        Message::Notification(Notification { method, .. }) => {
            rpc::encode_notification(method, raw.as_ref()).expect("JSON has a JSON form")
        }
        Message::Response(response) => answer(response),
    };
    assert!(!frame.contains(&b'\n'), "a frame is one line");
    let again = std::str::from_utf8(&frame).expect("a frame is text");
    let message_again: Message<'_, Params<'_>> =
        rpc::decode(again).expect("what is written can be read");
    match (message, &message_again) {
        (Message::Request(one), Message::Request(other)) => {
            assert_eq!((&one.id, &one.method), (&other.id, &other.method));
        }
        (Message::Notification(one), Message::Notification(other)) => {
            assert_eq!(one.method, other.method);
        }
        (Message::Response(one), Message::Response(other)) => {
            assert_eq!(one.id, other.id);
            match (&one.outcome, &other.outcome) {
                (Ok(one), Ok(other)) => same(*one, *other),
                (Err(one), Err(other)) => {
                    assert_eq!((one.code, &one.message), (other.code, &other.message));
                }
                outcomes => panic!("{outcomes:?}"),
            }
        }
        kinds => panic!("{kinds:?}"),
    }
    if !matches!(message, Message::Response(_)) {
        match (params, params::raw_params(again)) {
            (Some(one), Some(other)) => same(one, other),
            (one, other) => assert_eq!(one.is_some(), other.is_some()),
        }
    }
}

fn answer(response: &Response<'_>) -> Vec<u8> {
    let mut frame = Vec::new();
    match (&response.id, &response.outcome) {
        (Some(id), Ok(result)) => {
            rpc::write_result_head(&mut frame, id);
            turnbuckle_wire::json::write(&mut frame, &result.to_json())
                .expect("JSON has a JSON form");
            frame.push(b'}');
        }
        (None, Ok(_)) => panic!("a result without an id"),
        (Some(id), Err(error)) => {
            let data = error
                .data
                .as_ref()
                .map(|data| serde_json::from_str(data.as_str()));
            let data: Option<&RawValue> = data.transpose().expect("data are JSON");
            rpc::write_error_response(&mut frame, id, error.code, &error.message, data);
        }
        (None, Err(error)) => {
            rpc::write_error_response_without_id(&mut frame, true, error.code, &error.message);
        }
    }
    frame
}

fn same(one: RawJson<'_>, other: RawJson<'_>) {
    let value = |raw: RawJson<'_>| raw.decode::<Value>().ok();
    assert_eq!(value(one), value(other));
}

fn check_refusal(text: &str, refusal: &DecodeError) {
    let json = serde_json::from_str::<IgnoredAny>(text).is_ok();
    assert_eq!(
        refusal.kind == DecodeErrorKind::ParseError,
        !json,
        "{refusal:?}"
    );
    let Some(members) = Members::parse(text) else {
        return;
    };
    if let Some(id) = &refusal.id {
        assert_eq!(
            members.get("id").and_then(RequestId::from_json).as_ref(),
            Some(id)
        );
    }
    assert!(
        !is_request(&members),
        "a valid request is refused: {refusal:?}"
    );
}

/// Returns whether these are the members of a valid request or notification.
fn is_request(members: &Members<'_>) -> bool {
    let distinct_object =
        |text: &str| Members::parse(text).is_some_and(|members| members.are_distinct());
    let params = members.get("params");
    let meta = params
        .and_then(Members::parse)
        .and_then(|params| params.get("_meta"));
    members.are_distinct()
        && members.get("jsonrpc") == Some("\"2.0\"")
        && members
            .get("method")
            .is_some_and(|method| serde_json::from_str::<String>(method).is_ok())
        && members
            .get("id")
            .is_none_or(|id| RequestId::from_json(id).is_some())
        && params.is_none_or(distinct_object)
        && meta.is_none_or(distinct_object)
        && members.get("result").is_none()
        && members.get("error").is_none()
}
