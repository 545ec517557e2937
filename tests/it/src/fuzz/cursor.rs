//! Cursors: any text and any JSON in place of one is a page or a refusal.

use serde::de::IgnoredAny;
use turnbuckle_wire::rpc::code;

use super::converse::{answer, converse, request};
use super::server::PAGE;

/// The lists that have pages: method and member.
const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

/// Runs the target on `input`: a cursor as text, or any JSON in its place.
pub fn cursor(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    ask(&serde_json::to_string(text).expect("a text has a JSON form"));
    if serde_json::from_str::<IgnoredAny>(text).is_ok() {
        ask(text);
    }
}

fn ask(cursor: &str) {
    let params = format!(r#""cursor":{cursor},"#);
    let requests = LISTS.iter().enumerate();
    let requests: Vec<_> = requests
        .map(|(id, (method, _))| request(id, method, &params))
        .collect();
    let answers = converse(requests.iter().map(Vec::as_slice));
    for (id, (_, member)) in LISTS.iter().enumerate() {
        match answer(&answers, id) {
            Ok(result) => {
                let items = result[member].as_array().expect("a list");
                assert!(items.len() <= PAGE);
                let next = result.get("nextCursor");
                assert!(next.is_none_or(|next| next.is_string() && items.len() == PAGE));
            }
            Err(failure) => assert_eq!(failure, code::INVALID_PARAMS),
        }
    }
}
