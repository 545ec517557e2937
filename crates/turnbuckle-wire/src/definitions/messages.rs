//! Requests, notifications and results, from the table of methods.

use serde_json::{Value, json};
use turnbuckle_types::describe::{Describe, Shape};
use turnbuckle_types::{CreateLegacyTaskResult, InputRequest, InputRequiredResult, RelatedTask};

use super::builder::{Builder, any_of};
use super::envelope::{define_response, frame};
use super::members::Members;
use crate::revision::{Method, Party};

/// Adds the messages of the revision, and the unions of those that each side sends.
pub(super) fn define(builder: &mut Builder) {
    let features = builder.features;
    for sender in [Party::Client, Party::Server] {
        let receiver = match sender {
            Party::Client => Party::Server,
            Party::Server => Party::Client,
        };
        let (mut requests, mut notifications) = (Vec::new(), Vec::new());
        // The results are those of the requests that this side receives.
        let mut results = vec![builder.reference("Result")];
        if sender == Party::Server && features.result_envelope {
            results.push(builder.schema(&InputRequiredResult::shape()));
        }
        for &method in Method::ALL {
            if method.is_received_by(receiver, features.revision) {
                let message = define_message(builder, method, true);
                match method.is_notification() {
                    true => notifications.push(message),
                    false => requests.push(message),
                }
            }
            if method.is_received_by(sender, features.revision) {
                let result = define_result(builder, method);
                results.extend(result.filter(|result| !results.contains(result)));
            }
        }
        define_union(builder, &format!("{sender:?}Request"), requests);
        define_union(builder, &format!("{sender:?}Notification"), notifications);
        let results = match &results[..] {
            [only] => only.clone(),
            _ => any_of(results),
        };
        builder.define(&format!("{sender:?}Result"), results);
    }
    if features.core_tasks {
        builder.schema(&CreateLegacyTaskResult::shape());
        builder.schema(&RelatedTask::shape());
    }
    if !features.server_requests {
        define_questions(builder);
    }
}

/// Adds a union of messages. A union of one is written as its member.
fn define_union(builder: &mut Builder, name: &str, members: Vec<Value>) {
    match &members[..] {
        [] => {}
        [only] => {
            let schema = builder.resolve(only);
            builder.define(name, schema);
        }
        _ => {
            builder.define(name, any_of(members));
        }
    }
}

/// Adds the questions that a server asks inside of its results, and their answers.
fn define_questions(builder: &mut Builder) {
    let is_question = |method: &&Method| {
        let name = format!("{method:?}");
        InputRequest::VARIANTS.contains(&&*name)
    };
    let (mut questions, mut answers) = (Vec::new(), Vec::new());
    for &method in Method::ALL.iter().filter(is_question) {
        questions.push(define_message(builder, method, false));
        answers.extend(define_result(builder, method));
    }
    for (name, members) in [("InputRequest", questions), ("InputResponse", answers)] {
        let one = builder.define(name, any_of(members));
        let map = json!({"type": "object", "additionalProperties": one});
        builder.define(&format!("{name}s"), map);
    }
}

/// Returns the beginning of the names of a method's definitions.
fn base_name(method: Method) -> String {
    match method {
        Method::LegacyGetTask => "GetTask".into(),
        Method::TaskResult => "GetTaskPayload".into(),
        Method::LegacyCancelTask => "CancelTask".into(),
        Method::TaskStatusNotification => "TaskStatus".into(),
        method => format!("{method:?}"),
    }
}

/// Adds a request or notification. One that is a message of its own has a frame.
fn define_message(builder: &mut Builder, method: Method, is_framed: bool) -> Value {
    let mut members = Members::default();
    let name = json!({"type": "string", "const": method.as_str()});
    members.add("method", name, true);
    if is_framed {
        frame(&mut members, builder, !method.is_notification());
    }
    let (params, is_optional) = params(builder, method, is_framed);
    members.add("params", params, !is_optional);
    let kind = match method.is_notification() {
        true => "Notification",
        false => "Request",
    };
    builder.define(
        &format!("{}{kind}", base_name(method)),
        members.into_schema(),
    )
}

/// Parameters that may be left out where none of their members is required.
const OPTIONAL: [&str; 3] = [
    "NotificationParams",
    "PaginatedRequestParams",
    "RequestParams",
];

/// Returns the parameters of a method, and whether they may be left out.
fn params(builder: &mut Builder, method: Method, is_framed: bool) -> (Value, bool) {
    let shape = method.params_shape();
    match &shape {
        Shape::Struct(object) if object.name == "LegacyTask" => {
            let parts = vec![
                builder.reference("NotificationParams"),
                builder.schema(&shape),
            ];
            let name = format!("{}NotificationParams", base_name(method));
            (builder.define(&name, json!({"allOf": parts})), false)
        }
        Shape::Struct(object) if object.name == "RequestParams" && !is_framed => {
            let mut members = Members::default();
            members.add("_meta", builder.reference("MetaObject"), false);
            (members.into_schema(), true)
        }
        Shape::Struct(object) => {
            let is_demanded =
                builder.features.result_envelope && object.name != "NotificationParams";
            let is_optional = OPTIONAL.contains(&object.name) && !is_demanded;
            (builder.schema(&shape), is_optional)
        }
        shape => (builder.schema(shape), false),
    }
}

/// Adds the result of a request, and where responses are typed, its response. Returns `None` for a
/// notification.
fn define_result(builder: &mut Builder, method: Method) -> Option<Value> {
    let shape = method.result_shape()?;
    let base = base_name(method);
    let result = match &shape {
        Shape::Struct(object) if object.name == "EmptyResult" => builder.reference("Result"),
        Shape::Struct(object) if object.name == "LegacyTask" => {
            let parts = vec![builder.reference("Result"), builder.schema(&shape)];
            builder.define(&format!("{base}Result"), json!({"allOf": parts}))
        }
        Shape::Object => {
            let any = builder.resolve(&builder.reference("Result"));
            builder.define(&format!("{base}Result"), any)
        }
        shape => builder.schema(shape),
    };
    if builder.features.result_envelope
        && method.is_received_by(Party::Server, builder.features.revision)
    {
        let answer = match method.can_require_input() {
            true => {
                let input = builder.schema(&InputRequiredResult::shape());
                any_of(vec![input, result.clone()])
            }
            false => result.clone(),
        };
        define_response(builder, &format!("{base}ResultResponse"), answer);
    }
    Some(result)
}
