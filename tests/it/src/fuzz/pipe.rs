//! A pipe: whatever stands on its lines, everything asked is answered at most once, and the
//! connection lives.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use turnbuckle_wire::rpc::{self, RequestId};

use super::converse::{answer, converse, request};
use super::members::Members;

/// The most frames of an input.
const MAX_FRAMES: usize = 64;

/// The most messages of a batch, as both sides have it.
const MAX_BATCH: usize = 100;

/// The id of the last request.
const LAST: usize = 1_000_000_007;

/// Runs the target on `input`: lines, each a frame.
pub fn pipe(input: &[u8]) {
    let frames = input.split(|byte| *byte == b'\n').take(MAX_FRAMES);
    let frames: Vec<&[u8]> = frames.collect();
    let mut asked: HashMap<RequestId, usize> = HashMap::new();
    for id in frames.iter().flat_map(|frame| ids(frame)) {
        *asked.entry(id).or_default() += 1;
    }
    let last_id = i64::try_from(LAST).expect("a small number").into();
    let last = request(LAST, "tools/list", "");
    let answers = converse(frames.into_iter().chain([last.as_slice()]));
    if let Entry::Vacant(last) = asked.entry(last_id) {
        assert!(answer(&answers, LAST).is_ok(), "the connection is dead");
        last.insert(1);
    }
    for message in answers.iter().flat_map(|frame| messages(frame)) {
        let members = Members::parse(message).expect("a message is an object");
        assert_eq!(members.get("jsonrpc"), Some("\"2.0\""));
        let id = members.get("id").filter(|id| *id != "null");
        let Some(id) = id.filter(|_| members.get("method").is_none()) else {
            continue;
        };
        let id = RequestId::from_json(id).expect("an id");
        let left = asked.get_mut(&id).expect("only what was asked is answered");
        *left = left
            .checked_sub(1)
            .expect("what was asked is answered once");
    }
}

/// Returns the ids of everything in a frame that could be a request.
pub(super) fn ids(frame: &[u8]) -> Vec<RequestId> {
    let text = std::str::from_utf8(frame).unwrap_or_default();
    let id = |message: &str| RequestId::from_json(Members::parse(message)?.get("id")?);
    messages(text).into_iter().filter_map(id).collect()
}

/// Returns the messages of a frame: those of its batch, or the frame itself.
fn messages(frame: &str) -> Vec<&str> {
    rpc::split_batch(frame, MAX_BATCH).unwrap_or_else(|_| vec![frame])
}
