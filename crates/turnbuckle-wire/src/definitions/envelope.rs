//! The frames of JSON-RPC, its errors, and the metadata of the protocol.

use serde_json::{Value, json};
use turnbuckle_types::describe::{Describe, Shape};
use turnbuckle_types::{
    ClientCapabilities, ErrorKind, ErrorObject, Implementation, LoggingLevel,
    MissingRequiredClientCapabilityData, UnsupportedProtocolVersionData,
    UrlElicitationRequiredData, meta,
};

use super::builder::{Builder, any_of};
use super::members::Members;
use super::names::is_draft_07;
use crate::era::code_of;

/// Adds the definitions that every message is made of.
pub(super) fn define(builder: &mut Builder) {
    let id = json!({"type": ["string", "integer"]});
    builder.define("RequestId", id.clone());
    builder.define("ProgressToken", id);
    builder.define("Cursor", text());
    if builder.features.result_envelope {
        builder.define("ResultType", text());
        define_json(builder);
        define_meta(builder);
    }
    define_frames(builder);
    define_errors(builder);
}

/// Adds the members of a request or notification that has been framed, where typed messages are.
pub(super) fn frame(members: &mut Members, builder: &Builder, has_id: bool) {
    if !is_draft_07(builder.features) {
        version(members);
        if has_id {
            members.add("id", builder.reference("RequestId"), true);
        }
    }
}

/// Adds the response with this result.
pub(super) fn define_response(builder: &mut Builder, name: &str, result: Value) {
    let mut members = Members::default();
    version(&mut members);
    members.add("id", builder.reference("RequestId"), true);
    members.add("result", result, true);
    builder.define(name, members.into_schema());
}

fn text() -> Value {
    json!({"type": "string"})
}

fn version(members: &mut Members) {
    members.add("jsonrpc", json!({"type": "string", "const": "2.0"}), true);
}

fn define_json(builder: &mut Builder) {
    let value = builder.reference("JSONValue");
    let list = json!({"type": "array", "items": value});
    let object = json!({"type": "object", "additionalProperties": value});
    let object = builder.define("JSONObject", object);
    builder.define("JSONArray", list.clone());
    let scalar = json!({"type": ["string", "number", "boolean", "null"]});
    builder.define("JSONValue", any_of(vec![object, list, scalar]));
}

fn define_meta(builder: &mut Builder) {
    builder.define("MetaObject", json!({"type": "object"}));
    let mut request = Members::default();
    for (key, shape, is_required) in [
        (meta::PROGRESS_TOKEN, Shape::ProgressToken, false),
        (meta::PROTOCOL_VERSION, Shape::String(None), true),
        (meta::CLIENT_INFO, Implementation::shape(), false),
        (meta::CLIENT_CAPABILITIES, ClientCapabilities::shape(), true),
        (meta::LOG_LEVEL, LoggingLevel::shape(), false),
    ] {
        request.add(key, builder.schema(&shape), is_required);
    }
    builder.define("RequestMetaObject", request.into_schema());

    let id = builder.reference("RequestId");
    let server_info = builder.schema(&Implementation::shape());
    let mut notification = Members::default();
    notification.add(meta::SUBSCRIPTION_ID, id.clone(), false);
    builder.define("NotificationMetaObject", notification.into_schema());
    let mut result = Members::default();
    result.add(meta::SERVER_INFO, server_info.clone(), false);
    builder.define("ResultMetaObject", result.into_schema());
    let mut end = Members::default();
    end.add(meta::SERVER_INFO, server_info, false);
    end.add(meta::SUBSCRIPTION_ID, id, true);
    builder.define("SubscriptionsListenResultMetaObject", end.into_schema());
}

/// Returns the parameters of any request or notification.
fn any_params(builder: &Builder, has_token: bool) -> Value {
    let mut members = Members::default();
    if is_draft_07(builder.features) {
        let mut meta = Members::default();
        if has_token {
            meta.add("progressToken", builder.reference("ProgressToken"), false);
        }
        members.add("_meta", meta.into_schema(), false);
    }
    members.into_schema()
}

fn define_frames(builder: &mut Builder) {
    let is_draft_07 = is_draft_07(builder.features);
    for (name, has_id) in [("Request", true), ("Notification", false)] {
        let params = any_params(builder, has_id);
        let mut members = Members::default();
        members.add("method", text(), true);
        members.add("params", params.clone(), false);
        builder.define(name, members.into_schema());

        let mut framed = Members::default();
        version(&mut framed);
        if has_id {
            framed.add("id", builder.reference("RequestId"), true);
        }
        framed.add("method", text(), true);
        framed.add("params", params, false);
        builder.define(&format!("JSONRPC{name}"), framed.into_schema());
    }

    let mut result = Members::default();
    if builder.features.result_envelope {
        result.add("_meta", builder.reference("ResultMetaObject"), false);
        result.add("resultType", text(), true);
    } else {
        result.add("_meta", json!({"type": "object"}), false);
    }
    let result = builder.define("Result", result.into_schema());
    builder.define("EmptyResult", result.clone());

    let (success, failure) = match is_draft_07 {
        true => ("JSONRPCResponse", "JSONRPCError"),
        false => ("JSONRPCResultResponse", "JSONRPCErrorResponse"),
    };
    define_response(builder, success, result);
    let mut error = builder.schema(&ErrorObject::shape());
    if is_draft_07 {
        error = builder.take_definition("Error");
    }
    define_failure(builder, failure, error);

    let [request, notification] =
        ["JSONRPCRequest", "JSONRPCNotification"].map(|name| builder.reference(name));
    let responses = [success, failure].map(|name| builder.reference(name));
    if !is_draft_07 {
        builder.define("JSONRPCResponse", any_of(responses.to_vec()));
    }
    let mut messages = vec![request.clone(), notification.clone()];
    messages.extend(responses.clone());
    if builder.features.batching {
        let batch = |of: Vec<Value>| json!({"type": "array", "items": any_of(of)});
        let (requests, responses) = (batch(vec![request, notification]), batch(responses.into()));
        messages.extend([requests.clone(), responses.clone()]);
        builder.define("JSONRPCBatchRequest", requests);
        builder.define("JSONRPCBatchResponse", responses);
    }
    builder.define("JSONRPCMessage", any_of(messages));
}

/// Adds a response with this error.
fn define_failure(builder: &mut Builder, name: &str, error: Value) {
    let mut members = Members::default();
    version(&mut members);
    members.add(
        "id",
        builder.reference("RequestId"),
        builder.features.null_error_id,
    );
    members.add("error", error, true);
    builder.define(name, members.into_schema());
}

/// Adds the errors that the revision defines by their code.
fn define_errors(builder: &mut Builder) {
    let features = builder.features;
    let code = |kind: &ErrorKind| json!({"type": "integer", "const": code_of(kind, features)});
    if features.result_envelope {
        for (name, kind) in [
            ("ParseError", ErrorKind::ParseError),
            ("InvalidRequestError", ErrorKind::InvalidRequest),
            ("MethodNotFoundError", ErrorKind::MethodNotFound),
            ("InvalidParamsError", ErrorKind::InvalidParams),
            ("InternalError", ErrorKind::Internal),
        ] {
            let Shape::Struct(object) = ErrorObject::shape() else {
                continue;
            };
            let mut members = builder.members(&object, &|_| true);
            members.add("code", code(&kind), false);
            builder.define(name, members.into_schema());
        }
    }
    let unsupported = ErrorKind::UnsupportedProtocolVersion {
        supported: Vec::new(),
        requested: String::new(),
    };
    let missing = ErrorKind::MissingRequiredClientCapability(Box::default());
    let errors = [
        ("HeaderMismatchError", ErrorKind::HeaderMismatch, None),
        (
            "UnsupportedProtocolVersionError",
            unsupported,
            Some(UnsupportedProtocolVersionData::shape()),
        ),
        (
            "MissingRequiredClientCapabilityError",
            missing,
            Some(MissingRequiredClientCapabilityData::shape()),
        ),
        (
            "URLElicitationRequiredError",
            ErrorKind::UrlElicitationRequired(Vec::new()),
            Some(UrlElicitationRequiredData::shape()),
        ),
    ];
    let general = code_of(&ErrorKind::InvalidParams, features);
    for (name, kind, data) in errors {
        if code_of(&kind, features) == general {
            continue;
        }
        let mut members = Members::default();
        members.add("code", code(&kind), true);
        if let Some(data) = data {
            members.add("data", builder.schema(&data), true);
        }
        let error = json!({"allOf": [builder.reference("Error"), members.into_schema()]});
        define_failure(builder, name, error);
    }
}
