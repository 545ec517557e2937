//! Messages out, as bytes on one line.

use serde::Serialize;
use serde_json::value::RawValue;
use turnbuckle_types::RequestId;

use crate::json::{self, Unwritable};

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
pub fn result_head(out: &mut Vec<u8>, id: &RequestId) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    write_id(out, id);
    out.extend_from_slice(b",\"result\":");
}

/// Appends an error response.
pub fn error(out: &mut Vec<u8>, id: &RequestId, code: i64, message: &str, data: Option<&RawValue>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    write_id(out, id);
    error_tail(out, code, message, data);
}

/// Appends an error response to a message whose id could not be read: with `id: null`, or with
/// none, as the peer's revision has it.
pub fn error_without_id(out: &mut Vec<u8>, null_id: bool, code: i64, message: &str) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
    if null_id {
        out.extend_from_slice(b",\"id\":null");
    }
    error_tail(out, code, message, None);
}

fn error_tail(out: &mut Vec<u8>, code: i64, message: &str, data: Option<&RawValue>) {
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

/// A notification as a frame.
///
/// # Errors
/// When `params` have no JSON form.
pub fn notification<P: Serialize + ?Sized>(
    method: &str,
    params: Option<&P>,
) -> Result<Vec<u8>, Unwritable> {
    let mut out = Vec::with_capacity(128);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
    method_and_params(&mut out, method, params)?;
    Ok(out)
}

/// A request as a frame.
///
/// # Errors
/// When `params` have no JSON form.
pub fn request<P: Serialize + ?Sized>(
    id: &RequestId,
    method: &str,
    params: Option<&P>,
) -> Result<Vec<u8>, Unwritable> {
    let mut out = Vec::with_capacity(128);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    write_id(&mut out, id);
    method_and_params(&mut out, method, params)?;
    Ok(out)
}

/// Appends the opening of a request; `,"params":` with an object may follow, and a closing brace
/// completes it.
pub(crate) fn request_head(out: &mut Vec<u8>, id: &RequestId, method: &str) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    write_id(out, id);
    out.extend_from_slice(b",\"method\":");
    json::write_str(out, method);
}

fn method_and_params<P: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    method: &str,
    params: Option<&P>,
) -> Result<(), Unwritable> {
    out.extend_from_slice(b",\"method\":");
    json::write_str(out, method);
    if let Some(params) = params {
        out.extend_from_slice(b",\"params\":");
        json::write(out, params)?;
    }
    out.push(b'}');
    Ok(())
}
