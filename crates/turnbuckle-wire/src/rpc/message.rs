//! One JSON-RPC message, borrowed from its frame.

use std::borrow::Cow;

use turnbuckle_types::{ErrorObject, RawJson, RequestId};

/// A JSON-RPC message. The members that are present decide on the variant.
#[derive(Debug)]
pub enum Message<'a, P> {
    /// A request: it has a method and an id.
    Request(Request<'a, P>),
    /// A notification: it has a method and no id.
    Notification(Notification<'a, P>),
    /// A response: it has a result or an error.
    Response(Response<'a>),
}

/// A message that is answered.
#[derive(Debug)]
pub struct Request<'a, P> {
    /// The id, which the response repeats.
    pub id: RequestId,
    /// The name of the method.
    pub method: Cow<'a, str>,
    /// The captured parameters.
    pub params: P,
}

/// A message that is not answered.
#[derive(Debug)]
pub struct Notification<'a, P> {
    /// The name of the method.
    pub method: Cow<'a, str>,
    /// The captured parameters.
    pub params: P,
}

/// The answer to a request of this side.
#[derive(Debug)]
pub struct Response<'a> {
    /// The request's id; none where the peer could not read it.
    pub id: Option<RequestId>,
    /// The result as raw JSON, or the error.
    pub outcome: Result<RawJson<'a>, ErrorObject>,
}
