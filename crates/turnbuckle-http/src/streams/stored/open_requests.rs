//! The requests of a stream that have no response yet.

use bytes::Bytes;
use turnbuckle_types::{ProtocolError, RequestId};
use turnbuckle_wire::era::{Params, write_error};
use turnbuckle_wire::revision::Features;
use turnbuckle_wire::rpc::{self, Message};

/// The most requests of one stream that are told of their end, and the most bytes of their errors.
/// Requests beyond end without an error.
const MAX_REQUESTS: usize = 512;
const MAX_BYTES: usize = 256 << 10;

/// The message of the error that ends a request whose instance has ended.
pub(super) const INSTANCE_ENDED: &str = "the instance of the server that served this request has ended before its response; \
     the request may have had its effect";

/// The requests of a stream that have no response yet, each with the error that ends it if the instance
/// that serves it has ended.
#[derive(Debug, Clone, Default)]
#[cfg_attr(test, derive(Hash))]
pub(crate) struct OpenRequests(Vec<OpenRequest>);

#[derive(Debug, Clone)]
#[cfg_attr(test, derive(Hash))]
struct OpenRequest {
    id: RequestId,
    error: Bytes,
}

impl OpenRequests {
    /// Creates the requests with these ids, of a client of the revision with these `features`.
    pub(crate) fn new(ids: impl IntoIterator<Item = RequestId>, features: &Features) -> Self {
        let failure = ProtocolError::internal(INSTANCE_ENDED);
        let mut bytes = 0;
        let requests = ids.into_iter().take(MAX_REQUESTS).map(|id| {
            let mut error = Vec::new();
            write_error(&mut error, &id, &failure, features);
            OpenRequest {
                id,
                error: error.into(),
            }
        });
        let fits = |request: &OpenRequest| {
            bytes += request.error.len();
            bytes <= MAX_BYTES
        };
        Self(requests.take_while(fits).collect())
    }

    /// Reads the requests that [`errors`](Self::errors) are for. Returns `None` if one is not an error
    /// response to a request, or if there are too many.
    pub(super) fn from_errors(errors: Vec<Bytes>) -> Option<Self> {
        if errors.len() > MAX_REQUESTS {
            return None;
        }
        let requests = errors.into_iter().map(|error| {
            let id = response_id(&error)?;
            Some(OpenRequest { id, error })
        });
        requests.collect::<Option<_>>().map(Self)
    }

    /// Returns the error of each request.
    pub(super) fn errors(&self) -> impl Iterator<Item = &Bytes> {
        self.0.iter().map(|request| &request.error)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes the request that a message is the response to, if it is one.
    pub(super) fn remove_answered(&mut self, message: &[u8]) {
        if !self.is_empty()
            && let Some(id) = response_id(message)
        {
            self.0.retain(|request| request.id != id);
        }
    }
}

/// Returns the id of a response; `None` for any other message.
fn response_id(message: &[u8]) -> Option<RequestId> {
    let text = std::str::from_utf8(message).ok()?;
    match rpc::decode::<Params<'_>>(text).ok()? {
        Message::Response(response) => response.id,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use turnbuckle_wire::revision::Revision;

    use super::*;

    fn features() -> &'static Features {
        Revision::NEWEST_LEGACY.features()
    }

    #[test]
    fn a_response_closes_its_request_and_nothing_else_does() {
        let ids = [RequestId::from(1), RequestId::from("a\"b")];
        let mut open = OpenRequests::new(ids, features());
        for other in [
            r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"id":1}}"#,
            "no JSON",
        ] {
            open.remove_answered(other.as_bytes());
            assert_eq!(open.errors().count(), 2, "{other}");
        }
        open.remove_answered(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        assert_eq!(open.errors().count(), 1);
        let error = br#"{"jsonrpc":"2.0","id":"a\"b","error":{"code":-32603,"message":"x"}}"#;
        open.remove_answered(error);
        assert!(open.is_empty());
    }

    #[test]
    fn what_is_kept_of_requests_is_bounded() {
        let many = (0..1000).map(RequestId::from);
        let many = OpenRequests::new(many, features());
        assert!(many.errors().map(Bytes::len).sum::<usize>() <= MAX_BYTES);
        assert_eq!(many.errors().count(), MAX_REQUESTS);
        let long = RequestId::from("x".repeat(MAX_BYTES));
        let long = OpenRequests::new([1.into(), long, 2.into()], features());
        assert_eq!(long.errors().count(), 1);
        let errors: Vec<_> = many.errors().cloned().collect();
        assert!(OpenRequests::from_errors(errors.clone()).is_some());
        let errors = [errors.clone(), errors].concat();
        assert!(OpenRequests::from_errors(errors).is_none());
    }
}
