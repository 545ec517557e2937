//! An answer in the spelling that nearly all peers use, read without looking into it.

use turnbuckle_types::RequestId;

use crate::json::value_len;

/// The id and the result of a response that is spelled as we would: no space, the members in the
/// usual order, a number as its id. `None` for every other message, which
/// `decode` reads.
#[must_use]
pub fn plain_result(text: &str) -> Option<(RequestId, &str)> {
    let text = text.strip_prefix("{\"jsonrpc\":\"2.0\",\"id\":")?;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (id, text) = text.split_at_checked(digits).filter(|_| digits < 19)?;
    if digits > 1 && id.starts_with('0') {
        return None;
    }
    let id: i64 = id.parse().ok()?;
    let text = text.strip_prefix(",\"result\":")?;
    let (result, end) = text.split_at_checked(value_len(text)?)?;
    (end == "}").then(|| (id.into(), result))
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::rpc::{Message, decode};

    #[test]
    fn what_it_reads_is_what_decode_reads() {
        let mut read = 0;
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":0,"result":{"a":[1,"}"]}}"#,
            r#"{"jsonrpc":"2.0","id":999999999999999999,"result":null}"#,
        ] {
            let (id, result) = plain_result(text).unwrap();
            let Ok(Message::Response(response)) = decode::<Option<&RawValue>>(text) else {
                panic!("{text}");
            };
            assert_eq!(Some(id), response.id);
            assert_eq!(result, response.outcome.unwrap().get());
            read += 1;
        }
        assert_eq!(read, 3);
    }

    #[test]
    fn everything_else_is_left_to_decode() {
        for text in [
            r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":-1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":01,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":9999999999999999999,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}} "#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{]}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{}}"#,
            r#"{"id":1,"jsonrpc":"2.0","result":{}}"#,
        ] {
            assert_eq!(plain_result(text), None, "{text}");
        }
    }
}
