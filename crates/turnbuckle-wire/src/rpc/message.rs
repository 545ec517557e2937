//! One JSON-RPC message, borrowed from its frame.

use std::borrow::Cow;

use turnbuckle_types::{ErrorObject, RawJson, RequestId};

/// A message, told apart by which fields are present.
#[derive(Debug)]
pub enum Message<'a, P> {
    /// Has a method and an id: wants an answer.
    Request(Request<'a, P>),
    /// Has a method and no id: wants none.
    Notification(Notification<'a, P>),
    /// Has a result or an error: is an answer.
    Response(Response<'a>),
}

/// A message that wants an answer.
#[derive(Debug)]
pub struct Request<'a, P> {
    /// What its answer will carry.
    pub id: RequestId,
    /// What is asked for.
    pub method: Cow<'a, str>,
    /// What was captured of its parameters.
    pub params: P,
}

/// A message that wants no answer.
#[derive(Debug)]
pub struct Notification<'a, P> {
    /// What happened.
    pub method: Cow<'a, str>,
    /// What was captured of its parameters.
    pub params: P,
}

/// An answer to a request of ours.
#[derive(Debug)]
pub struct Response<'a> {
    /// The request's id; none where the peer could not read it.
    pub id: Option<RequestId>,
    /// The result as raw JSON, or the error.
    pub outcome: Result<RawJson<'a>, ErrorObject>,
}
