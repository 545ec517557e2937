//! Errors that requests are answered with.

use serde_json::{Value, json};
use turnbuckle_wire::revision::Revision;

use super::session::Session;

/// An error that a request is answered with.
pub(super) struct Refusal {
    code: i64,
    message: String,
    data: Value,
}

impl Refusal {
    pub(super) fn new(code: i64, message: &str) -> Self {
        Self {
            code,
            message: message.to_owned(),
            data: Value::Null,
        }
    }

    pub(super) fn with(self, data: Value) -> Self {
        Self { data, ..self }
    }

    pub(super) fn into_error(self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if !self.data.is_null() {
            error["data"] = self.data;
        }
        error
    }
}

/// The answer to a request.
pub(super) type Answer = Result<Value, Refusal>;

/// Returns the error response to a request, or to something whose id cannot be read (null).
pub(super) fn error_to(session: &Session, id: &Value, refusal: Refusal) -> Value {
    let mut response = json!({"jsonrpc": "2.0", "id": id, "error": refusal.into_error()});
    let revision = session.revision().unwrap_or(Revision::NEWEST);
    if id.is_null() && !revision.features().null_error_id {
        response.as_object_mut().map(|members| members.remove("id"));
    }
    response
}
