//! A shared handle to a server, with what is the same for all of its requests.

use std::sync::Arc;

use turnbuckle_types::RequestId;
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Features;

use crate::server::dispatch::Dispatch;
use crate::shared::reply_sink::EncodedResponse;

/// A [`Dispatch`] with its encoded server information.
pub(crate) struct DispatchHandle {
    pub(crate) dispatch: Arc<dyn Dispatch>,
    server_info: Option<Vec<u8>>,
}

impl DispatchHandle {
    pub(crate) fn new(dispatch: Arc<dyn Dispatch>) -> Self {
        let server_info = dispatch.identity().to_server_info();
        Self {
            dispatch,
            server_info,
        }
    }

    /// Encodes the response to a request for a client of the revision with these `features`.
    pub(crate) fn encode(
        &self,
        id: &RequestId,
        reply: &Reply,
        features: &'static Features,
    ) -> EncodedResponse {
        EncodedResponse::encode(id, reply, features, self.server_info.as_deref())
    }
}
