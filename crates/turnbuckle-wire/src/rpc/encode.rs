//! Encoding of JSON-RPC messages, as bytes on one line.

use serde::Serialize;
use serde_json::value::RawValue;
use turnbuckle_types::RequestId;

use crate::json::{self, Additions, WriteError};

/// Appends an id as JSON.
fn write_id(out: &mut Vec<u8>, id: &RequestId) {
    match id {
        RequestId::Int(number) => {
            out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes());
        }
        RequestId::Big(digits) => out.extend_from_slice(digits.as_str().as_bytes()),
        RequestId::Str(text) => json::write_str(out, text),
    }
}

/// Appends the opening of a result response; a JSON object and a closing brace complete it.
pub fn write_result_head(out: &mut Vec<u8>, id: &RequestId) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    write_id(out, id);
    out.extend_from_slice(b",\"result\":");
}

/// Appends an error response.
pub fn write_error_response(
    out: &mut Vec<u8>,
    id: &RequestId,
    code: i64,
    message: &str,
    data: Option<&RawValue>,
) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    write_id(out, id);
    write_error_tail(out, code, message, data);
}

/// Appends an error response to a message whose id could not be read: with `id: null`, or with
/// none, as the peer's revision has it.
pub fn write_error_response_without_id(out: &mut Vec<u8>, null_id: bool, code: i64, message: &str) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
    if null_id {
        out.extend_from_slice(b",\"id\":null");
    }
    write_error_tail(out, code, message, None);
}

fn write_error_tail(out: &mut Vec<u8>, code: i64, message: &str, data: Option<&RawValue>) {
    out.extend_from_slice(b",\"error\":{\"code\":");
    out.extend_from_slice(itoa::Buffer::new().format(code).as_bytes());
    out.extend_from_slice(b",\"message\":");
    json::write_str(out, message);
    if let Some(data) = data {
        out.extend_from_slice(b",\"data\":");
        json::write_raw(out, data.get());
    }
    out.extend_from_slice(b"}}");
}

/// Returns a notification as a frame.
///
/// # Errors
/// When `params` have no JSON form.
pub fn encode_notification<P: Serialize + ?Sized>(
    method: &str,
    params: Option<&P>,
) -> Result<Vec<u8>, WriteError> {
    let mut out = Vec::with_capacity(128);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
    write_method_and_params(&mut out, method, params)?;
    Ok(out)
}

/// Returns a request as a frame. `meta` are members of `_meta` with their values as JSON; those that
/// the params have already stay.
///
/// # Errors
/// When `params` have no JSON form, or there are members of `_meta` and `params` are no object.
pub fn encode_request<P: Serialize + ?Sized>(
    id: &RequestId,
    method: &str,
    params: Option<&P>,
    meta: &[(&'static str, &[u8])],
) -> Result<Vec<u8>, WriteError> {
    let mut out = Vec::with_capacity(128);
    if meta.is_empty() {
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        write_id(&mut out, id);
        write_method_and_params(&mut out, method, params)?;
        return Ok(out);
    }
    let additions = Additions { members: &[], meta };
    write_request_head(&mut out, id, method);
    out.extend_from_slice(b",\"params\":");
    match params {
        Some(params) => json::write_object(&mut out, params, additions)?,
        None => {
            out.push(b'{');
            additions.append_to_empty(&mut out);
            out.push(b'}');
        }
    }
    out.push(b'}');
    Ok(out)
}

/// Appends the opening of a request; `,"params":` with an object may follow, and a closing brace
/// completes it.
pub(crate) fn write_request_head(out: &mut Vec<u8>, id: &RequestId, method: &str) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    write_id(out, id);
    out.extend_from_slice(b",\"method\":");
    json::write_str(out, method);
}

fn write_method_and_params<P: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    method: &str,
    params: Option<&P>,
) -> Result<(), WriteError> {
    out.extend_from_slice(b",\"method\":");
    json::write_str(out, method);
    if let Some(params) = params {
        out.extend_from_slice(b",\"params\":");
        json::write(out, params)?;
    }
    out.push(b'}');
    Ok(())
}
